"""Random small kernels, whole and legal, drawn through the public surface and compared: NumPy, emulator, GPU.

Each module of a family has FIELDS, the choices behind each name (see `drawing`), and ``build(**fields)``, which makes a `Case` of them.
``python -m tests.random_kernels --help`` draws and compares as many as you like; `test_random_kernels` some in every run of the suite.
"""
