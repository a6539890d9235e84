"""Turns a Python function into IR: the function runs once a specialisation, and what it does to traced values is written down."""

from __future__ import annotations
