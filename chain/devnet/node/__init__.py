"""A node: py-evm driven directly, a pool of pending transactions, JSON-RPC over HTTP."""
