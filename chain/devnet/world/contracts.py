"""The code of Uniswap's contracts, out of the compiled files that its npm packages hold."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Mapping
from typing import Literal, get_args

from chain.devnet.npm_packages import PackageError, bundled_lock, ensure_package

ContractName = Literal[
    "PoolManager",
    "PositionManager",
    "StateView",
    "V4Quoter",
    "UniversalRouter",
    "Permit2",
    "Multicall3",
    "WETH",
    "MockERC20",
    "TickMathTest",
]
_NAMES: Mapping[str, ContractName] = {name: name for name in get_args(ContractName)}

RUNTIME_ONLY: frozenset[ContractName] = frozenset({"Permit2", "Multicall3"})
"""Contracts known by what runs, not by what deploys: they stand at their canonical addresses."""

_PERMIT2_RUNTIME = re.compile(r'hex"([0-9a-f]+)"')
_MULTICALL3_CREATION = re.compile(r"multicall3Bytecode = '0x([0-9a-f]+)'")
_MULTICALL3_CONSTRUCTOR = bytes.fromhex(
    "608060405234801561001057600080fd5b506115b9806100206000396000f3fe"
)


def contract_codes(environment: Mapping[str, str] = os.environ) -> dict[ContractName, bytes]:
    """The creation code of every contract (runtime for `RUNTIME_ONLY`), fetched if need be."""
    codes: dict[ContractName, bytes] = {}
    for package in bundled_lock().contracts:
        folder = ensure_package(package, environment)
        for file in package.files:
            name = _NAMES[file.name]
            codes[name] = code_in(name, (folder / file.file_name).read_bytes())
    return codes


def code_in(name: ContractName, content: bytes) -> bytes:
    """The code a file of a package holds."""
    if name == "Permit2":
        return _literal(_PERMIT2_RUNTIME, content, name)
    if name == "Multicall3":
        creation = _literal(_MULTICALL3_CREATION, content, name)
        if not creation.startswith(_MULTICALL3_CONSTRUCTOR):
            raise PackageError("Multicall3's constructor is not the one that returns its tail.")
        return creation.removeprefix(_MULTICALL3_CONSTRUCTOR)
    bytecode = json.loads(content)["bytecode"]
    text = bytecode["object"] if isinstance(bytecode, dict) else bytecode
    return bytes.fromhex(str(text).removeprefix("0x"))


def _literal(pattern: re.Pattern[str], content: bytes, name: ContractName) -> bytes:
    match = pattern.search(content.decode("utf-8"))
    if match is None:
        raise PackageError(f"The file of {name} holds no code in the form expected.")
    return bytes.fromhex(match[1])
