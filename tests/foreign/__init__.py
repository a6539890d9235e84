"""PTX that nvcc makes of CUDA C++: read, checked, rewritten, and run."""
