"""The emulator against a GPU, statement by statement: every form that the GPU's target has, on random and special values."""
