"""Holds the contracts against ptxas, both ways: what they allow assembles, and what they refuse does not.

Statements are built from the contracts alone, in surroundings that declare all they name, and judged in batches.
"""
