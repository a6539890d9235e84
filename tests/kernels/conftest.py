"""Kernels against the stand-in for libcuda."""

from tests.runtime.conftest import drive, library, stub_torch

__all__ = ["drive", "library", "stub_torch"]
