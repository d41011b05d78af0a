"""A node: py-evm driven directly, a pool of pending transactions, JSON-RPC over HTTP."""

from chain.devnet.node.deferred_pairing import defer_pairing

defer_pairing()
