"""Families of small kernels with NumPy's account of each: loads and stores, arithmetic on register tiles."""
