"""Ethereum and Uniswap: networks, RPC, exact math, positions, pools, history, the embedded chain."""
