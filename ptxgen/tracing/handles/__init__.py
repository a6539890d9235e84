"""Handles: objects and functions whose calls emit one named instruction each, for what has no tiles.

Barriers, fences, groups of asynchronous copies, warps and clusters. Names are PTX's own words.
"""
