"""A wallet's whole life with Uniswap v4: every movement with its price of then, summed to now."""
