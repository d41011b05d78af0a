"""Uniswap's own JavaScript SDK, run in Node as the reference for our arithmetic."""
