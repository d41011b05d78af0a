"""Positions of Uniswap v3: read beside those of v4, at the same block, in the same requests."""
