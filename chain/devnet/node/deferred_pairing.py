"""The pairing of curve BLS12-381, loaded when a contract first asks for it.

py-evm imports it with its precompiles, and loading it raises twelve elements of a large field to a
381-bit power: the longest part of starting a chain, for an operation no contract here uses.
"""

from __future__ import annotations

import sys
from functools import cache
from importlib.util import find_spec, module_from_spec
from types import ModuleType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

_PACKAGE = "py_ecc.optimized_bls12_381"
_NAME = f"{_PACKAGE}.optimized_pairing"
_FUNCTIONS = ("pairing", "final_exponentiate")


@cache
def _loaded() -> ModuleType:
    del sys.modules[_NAME]
    spec = find_spec(_NAME)
    assert spec is not None
    assert spec.loader is not None
    module = module_from_spec(spec)
    sys.modules[_NAME] = module
    spec.loader.exec_module(module)
    return module


def _deferred(name: str) -> Callable[..., object]:
    def call(*arguments: object, **options: object) -> object:
        function: Callable[..., object] = getattr(_loaded(), name)
        return function(*arguments, **options)

    return call


def defer_pairing() -> None:
    """To be called before anything of py-evm is imported; later it does nothing."""
    if _PACKAGE in sys.modules:
        return
    module = ModuleType(_NAME)
    for name in _FUNCTIONS:
        setattr(module, name, _deferred(name))
    sys.modules[_NAME] = module
