"""How deep Python may call, kept as it was while a library that changes it is loaded."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def kept_recursion_limit() -> Iterator[None]:
    """To be held while eth_account, eth_keyfile, ens or web3 is imported.

    py_ecc, below them all, asks for 100,000 frames when it is loaded. With those a server's body of
    nothing but brackets overflows the C stack of the JSON parser, and the process is gone.
    """
    limit = sys.getrecursionlimit()
    try:
        yield
    finally:
        sys.setrecursionlimit(limit)
