"""Ethereum and Uniswap: networks, RPC, exact math, positions, pools, the embedded chain."""
