"""The embedded chain: the real Uniswap v4 contracts and a living market, on Anvil."""
