"""Uniswap v3 in bytes: recipes, their reading back, the shapes that may be signed, and words."""
