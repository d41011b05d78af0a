"""Merkle proofs of accounts and storage against a block's state root."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from eth.rlp.accounts import Account
from msgspec import Struct
from rlp.codec import decode as rlp_decode
from rlp.sedes.big_endian_int import big_endian_int
from trie.hexary import HexaryTrie

from chain.contracts.keccak import keccak
from chain.devnet.node.block import encode_rlp
from chain.devnet.node.records import from_hex

if TYPE_CHECKING:
    from collections.abc import Sequence

    from chain.contracts.networks import Address


class SlotProof(Struct, frozen=True):
    slot: int
    value: int
    nodes: tuple[bytes, ...]


class AccountProof(Struct, frozen=True):
    balance: int
    nonce: int
    code_hash: bytes
    storage_hash: bytes
    nodes: tuple[bytes, ...]
    storage: tuple[SlotProof, ...]


def account_proof(
    trie_nodes: dict[bytes, bytes], root: bytes, address: Address, slots: Sequence[int]
) -> AccountProof:
    value, nodes = _prove(trie_nodes, root, from_hex(address))
    account = _decoded(value, Account) or Account()
    return AccountProof(
        balance=account.balance,
        nonce=account.nonce,
        code_hash=account.code_hash,
        storage_hash=account.storage_root,
        nodes=nodes,
        storage=tuple(_slot_proof(trie_nodes, account.storage_root, slot) for slot in slots),
    )


def _slot_proof(trie_nodes: dict[bytes, bytes], storage_hash: bytes, slot: int) -> SlotProof:
    value, nodes = _prove(trie_nodes, storage_hash, slot.to_bytes(32, "big"))
    return SlotProof(slot, _decoded(value, big_endian_int) or 0, nodes)


def _prove(
    trie_nodes: dict[bytes, bytes], root: bytes, key: bytes
) -> tuple[bytes, tuple[bytes, ...]]:
    trie = HexaryTrie(trie_nodes, root)
    hashed = keccak(key)
    proof = trie.get_proof(hashed)  # type: ignore[no-untyped-call]
    return trie[hashed], tuple(encode_rlp(node) for node in proof)


def _decoded(value: bytes, sedes: object) -> Any:  # noqa: ANN401 - as rlp types it
    return rlp_decode(value, sedes) if value else None  # type: ignore[no-untyped-call]
