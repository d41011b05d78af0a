"""ENS on the embedded chain: a registry, a resolver, and the door that web3 asks for both."""

from collections.abc import Callable
from typing import Any

from ens.constants import UNIVERSAL_RESOLVER_ADDR
from ens.utils import address_to_reverse_domain, raw_name_to_hash

from chain.contracts.abi import selector
from chain.contracts.networks import Address, network_named
from chain.devnet.world.deployment import assemble

Node = Callable[..., Any]

REGISTRY = network_named("devnet").ens_registry or ""
UNIVERSAL_RESOLVER = UNIVERSAL_RESOLVER_ADDR.lower()
RESOLVER = "0x" + "e5" * 20
"""Keeps what it is told on the chain."""
SERVER_RESOLVER = "0x" + "e6" * 20
"""Sends whoever asks to a server."""
OWNER = "0x" + "0a" * 20


def _number(signature: str) -> str:
    return "0x" + selector(signature).hex()


_REGISTRY_CODE = assemble(f"""
    PUSH 4
    CALLDATALOAD                    ; the node: its slot holds the owner, the next the resolver
    PUSH 0
    CALLDATALOAD
    PUSH 0xe0
    SHR
    PUSH {_number("resolver(bytes32)")}
    EQ
    ADD
    SLOAD
    PUSH 0
    MSTORE
    PUSH 0x20
    PUSH 0
    RETURN
""")

_RESOLVER_CODE = assemble(f"""
    PUSH 0
    CALLDATALOAD
    PUSH 0xe0
    SHR
    PUSH {_number("name(bytes32)")}
    EQ
    PUSH @name
    JUMPI
    PUSH 4
    CALLDATALOAD
    SLOAD
    PUSH 0
    MSTORE
    PUSH 0x20
    PUSH 0
    RETURN
name:                               ; a short text: its letters first, its length in the last byte
    PUSH 0x20
    PUSH 0
    MSTORE
    PUSH 4
    CALLDATALOAD
    SLOAD
    DUP1
    PUSH 0xf8
    SHL
    PUSH 0xf8
    SHR
    PUSH 0x20
    MSTORE
    PUSH 8
    SHR
    PUSH 8
    SHL
    PUSH 0x40
    MSTORE
    PUSH 0x60
    PUSH 0
    RETURN
""")

_UNIVERSAL_CODE = assemble(f"""
    PUSH {_number("resolver(bytes32)")}
    PUSH 0xe0
    SHL
    PUSH 0
    MSTORE
    PUSH 0x24
    CALLDATALOAD
    PUSH 0x28
    ADD
    CALLDATALOAD                    ; the node that the question within is about
    PUSH 4
    MSTORE
    PUSH 0x20
    PUSH 0x40
    PUSH 0x24
    PUSH 0
    PUSH 0
    PUSH {REGISTRY}
    GAS
    CALL
    POP
    PUSH 0x40
    MLOAD
    ISZERO
    PUSH @refused
    JUMPI
    PUSH 0x24                       ; put the question within to the resolver
    CALLDATALOAD
    PUSH 4
    ADD
    CALLDATALOAD
    PUSH 0x24
    CALLDATALOAD
    PUSH 0x24
    ADD
    PUSH 0x100
    CALLDATACOPY
    PUSH 0
    PUSH 0
    PUSH 0x24
    PUSH 0x100
    PUSH 0
    PUSH 0x40
    MLOAD
    GAS
    CALL
    ISZERO
    PUSH @refused
    JUMPI
    PUSH 0x40
    MLOAD
    PUSH 0x20
    MSTORE
    PUSH 0x40
    PUSH 0
    MSTORE
    RETURNDATASIZE
    PUSH 0x40
    MSTORE
    RETURNDATASIZE
    PUSH 0
    PUSH 0x60
    RETURNDATACOPY
    RETURNDATASIZE
    PUSH 0x60
    ADD
    PUSH 0
    RETURN
refused:
    RETURNDATASIZE
    PUSH 0
    PUSH 0
    RETURNDATACOPY
    RETURNDATASIZE
    PUSH 0
    REVERT
""")


class EnsOnChain:
    """Deployed when made; what is registered is written into the contracts' storage."""

    def __init__(self, node: Node) -> None:
        self._node = node
        for address, code in (
            (REGISTRY, _REGISTRY_CODE),
            (RESOLVER, _RESOLVER_CODE),
            (UNIVERSAL_RESOLVER, _UNIVERSAL_CODE),
        ):
            node("anvil_setCode", address, "0x" + code.hex())

    def register(self, name: str, address: Address | None, *, resolver: Address = RESOLVER) -> None:
        at = self._registered(name, resolver)
        if address is not None:
            self._write(resolver, at, int(address, 16))

    def go_by(self, address: Address, name: str) -> None:
        """Set the reverse record of an address."""
        letters = name.encode()
        word = int.from_bytes(letters.ljust(31, b"\0") + bytes([len(letters)]), "big")
        self._write(RESOLVER, self._registered(address_to_reverse_domain(address), RESOLVER), word)

    def keep_on_server(self, name: str, url: str) -> None:
        """A name whose resolver reverts with OffchainLookup (EIP-3668)."""
        from eth_abi.abi import encode

        data = encode(
            ["address", "string[]", "bytes", "bytes4", "bytes"],
            [UNIVERSAL_RESOLVER, [url], b"ask", bytes(4), b""],
        )
        told = bytes.fromhex("556f1830") + data
        lines = [
            f"PUSH {int.from_bytes(told[place : place + 32].ljust(32, bytes(1)), 'big')}\n"
            f"PUSH {place}\nMSTORE"
            for place in range(0, len(told), 32)
        ]
        code = assemble("\n".join([*lines, f"PUSH {len(told)}", "PUSH 0", "REVERT"]))
        self._node("anvil_setCode", SERVER_RESOLVER, "0x" + code.hex())
        self._registered(name, SERVER_RESOLVER)

    def _registered(self, name: str, resolver: Address) -> int:
        at = int.from_bytes(raw_name_to_hash(name), "big")
        self._write(REGISTRY, at, int(OWNER, 16))
        self._write(REGISTRY, at + 1, int(resolver, 16))
        return at

    def _write(self, contract: Address, slot: int, value: int) -> None:
        self._node("anvil_setStorageAt", contract, hex(slot), f"0x{value:064x}")
