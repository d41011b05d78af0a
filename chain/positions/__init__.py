"""Everything a wallet can know about its Uniswap v4 positions, from the chain alone."""
