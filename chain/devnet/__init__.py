"""The embedded chain: the real Uniswap v4 contracts and a living market, behind JSON-RPC."""

import os

# py-evm hashes through eth-hash, whose first choice of backend is six times slower.
os.environ.setdefault("ETH_HASH_BACKEND", "pysha3")
