"""Uniswap v3 on the embedded chain: its real contracts, at the addresses they have on Ethereum.

They are placed after the world is written, without a block or a transaction, so that nothing of
v4 is otherwise for it. What their constructors would have stored is stored here; a test compares
it with contracts that were deployed.
"""

import json
import os
from collections.abc import Mapping
from typing import Literal, get_args

from chain.contracts import abi
from chain.contracts.addresses import keccak
from chain.contracts.networks import EMBEDDED, NATIVE, Address, network_named
from chain.devnet.json_rpc import NodeClient
from chain.devnet.npm_packages import PackageError, bundled_lock, ensure_package
from chain.devnet.world.accounts import DEPLOYER
from chain.devnet.world.deployment import WETH

V3Name = Literal["UniswapV3Factory", "NonfungiblePositionManager", "SwapRouter"]
_NAMES: Mapping[str, V3Name] = {name: name for name in get_args(V3Name)}

SWAP_ROUTER: Address = "0xe592427a0aece92de3edee1f18e0157c05861564"
FEE_TIERS = {100: 1, 500: 10, 3000: 60, 10_000: 200}
"""With the tick spacing of each; the lowest came by a vote, the others with the constructor."""

_FACTORY_OWNER_SLOT = 3
_FACTORY_TIERS_SLOT = 4
_INTERFACES_SLOT = 0
_NAME_SLOT = 6
_SYMBOL_SLOT = 7
_NEXT_IDS_SLOT = 13
_ROUTER_CACHE_SLOT = 0
_FIRST_IDS = 1 << 176 | 1
"""The first token id and, above its 176 bits, the first number of a pool."""
_INTERFACES = ("01ffc9a7", "80ac58cd", "5b5e139f", "780e9d63")
"""ERC-165 itself, and ERC-721 with its metadata and its enumeration."""


def v3_codes(environment: Mapping[str, str] = os.environ) -> dict[V3Name, bytes]:
    """The creation code of every contract, fetched if need be."""
    codes: dict[V3Name, bytes] = {}
    for package in bundled_lock().v3:
        folder = ensure_package(package, environment)
        for file in package.files:
            content = json.loads((folder / file.file_name).read_bytes())
            codes[_NAMES[file.name]] = bytes.fromhex(str(content["bytecode"]).removeprefix("0x"))
    return codes


def v3_addresses() -> dict[V3Name, Address]:
    contracts = network_named(EMBEDDED).v3
    if contracts is None:
        raise PackageError("networks.toml names no contracts of v3 for the embedded chain.")
    return {
        "UniswapV3Factory": contracts.factory,
        "NonfungiblePositionManager": contracts.position_manager,
        "SwapRouter": SWAP_ROUTER,
    }


def constructor_arguments() -> dict[V3Name, tuple[Address, ...]]:
    """Nobody draws pictures of positions here: the manager has no descriptor."""
    factory = v3_addresses()["UniswapV3Factory"]
    return {
        "UniswapV3Factory": (),
        "NonfungiblePositionManager": (factory, WETH.address, NATIVE),
        "SwapRouter": (factory, WETH.address),
    }


def constructor_storage() -> dict[V3Name, dict[int, int]]:
    """By slot, what the constructors store; the factory's with the tier that was voted for."""
    tiers = {_mapped(fee, _FACTORY_TIERS_SLOT): spacing for fee, spacing in FEE_TIERS.items()}
    interfaces = {
        _mapped(int(selector, 16) << 224, _INTERFACES_SLOT): 1 for selector in _INTERFACES
    }
    return {
        "UniswapV3Factory": {_FACTORY_OWNER_SLOT: int(DEPLOYER.address, 16), **tiers},
        "NonfungiblePositionManager": {
            **interfaces,
            _NAME_SLOT: _short_text("Uniswap V3 Positions NFT-V1"),
            _SYMBOL_SLOT: _short_text("UNI-V3-POS"),
            _NEXT_IDS_SLOT: _FIRST_IDS,
        },
        "SwapRouter": {_ROUTER_CACHE_SLOT: 2**256 - 1},
    }


def place_v3(node: NodeClient, codes: Mapping[V3Name, bytes]) -> None:
    """Put what the constructors make at the contracts' addresses.

    Run as if it were the code there, a constructor returns what it would leave there.
    """
    arguments, storage = constructor_arguments(), constructor_storage()
    for name, address in v3_addresses().items():
        parties = arguments[name]
        creation = codes[name] + abi.encode(("address",) * len(parties), parties)
        made = node.ask(
            "eth_call", {"to": address}, "latest", {address: {"code": "0x" + creation.hex()}}
        )
        node.ask_all(
            [
                ("anvil_setCode", (address, made)),
                ("anvil_setNonce", (address, "0x1")),
                *(
                    ("anvil_setStorageAt", (address, hex(slot), f"0x{value:064x}"))
                    for slot, value in storage[name].items()
                ),
            ]
        )


def _mapped(key: int, slot: int) -> int:
    """Where Solidity puts `mapping[key]` for a mapping at `slot`."""
    return int.from_bytes(keccak(key.to_bytes(32, "big") + slot.to_bytes(32, "big")), "big")


def _short_text(text: str) -> int:
    """A text of less than 32 bytes, as Solidity stores it."""
    return int.from_bytes(text.encode().ljust(31, b"\0") + bytes([2 * len(text)]), "big")
