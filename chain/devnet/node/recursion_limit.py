"""How deep Python may call while py-evm is loaded."""

from __future__ import annotations

import sys

from eth import EVM_RECURSION_LIMIT


def limit_recursion() -> None:
    """To be called by every module that is the first to import py-evm's machine or transactions.

    py-evm asks for 12,288 frames, enough for 1,024 nested calls; a library below it raises that to
    100,000, with which a body of brackets would overflow the C stack of the JSON parser.
    """
    sys.setrecursionlimit(EVM_RECURSION_LIMIT)
