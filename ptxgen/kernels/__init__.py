"""Kernels: the decorator, the signature that annotations state, one trace a specialisation, and what can be done with it."""

from __future__ import annotations
