"""The libraries that sign, loaded without the curve of validators, with which nothing is signed."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from types import ModuleType

_WITHHELD: dict[str, dict[str, object]] = {
    "py_ecc": {},
    "py_ecc.bls": {"G2ProofOfPossession": None},
    "py_ecc.bls12_381": {"curve_order": 0},
    "py_ecc.secp256k1": {"N": 0xFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFEBAAEDCE6AF48A03BBFD25E8CD0364141},
}
"""What eth_keyfile takes from py_ecc. Of these values keys of ours are held to the last alone."""


@contextmanager
def without_other_curves() -> Iterator[None]:
    """To be held while eth_account, eth_keyfile, ens or web3 is imported.

    py_ecc, below them all, computes for longer than all the others take to load. It also asks for
    100,000 frames, with which a server's body of nothing but brackets overflows the C stack of the
    JSON parser, and the process is gone.
    """
    if "py_ecc" in sys.modules:
        yield
        return
    for name, values in _WITHHELD.items():
        module = ModuleType(name)
        vars(module).update(values)
        sys.modules[name] = module
    try:
        yield
    finally:
        for name in _WITHHELD:
            sys.modules.pop(name, None)
