"""The chain on disk: one compressed file, checked against its own hash; loading runs no code."""

from __future__ import annotations

import hashlib
import json
import struct
import zlib
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from msgspec import Struct

from chain.base.home import write_atomically
from chain.contracts.keccak import keccak
from chain.devnet.node.block import encode_header
from chain.devnet.node.records import Header, MinedBlock, MinedLog, MinedReceipt, from_hex, to_hex

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

MAGIC = b"zuno chain 1\n"
_LENGTH = struct.Struct(">I")


class ArchiveError(ValueError):
    """A saved chain that cannot be trusted."""

    def __init__(self, path: Path, reason: str) -> None:
        super().__init__(f"The saved chain {path.name} {reason}. Delete it and build it again.")


class Archive(Struct, frozen=True):
    store: dict[bytes, bytes]
    """The state tries and codes of every block, by hash."""
    blocks: list[MinedBlock]
    roots: list[bytes]
    """The state each block left, which differs from its header's after an irregular change."""


def write_archive(path: Path, archive: Archive) -> None:
    """Replace the file whole or not at all."""
    payload = zlib.compress(_pack(archive), level=1)
    write_atomically(path, MAGIC + hashlib.sha256(payload).digest() + payload)


def read_archive(path: Path) -> Archive:
    content = path.read_bytes()
    if not content.startswith(MAGIC):
        raise ArchiveError(path, "was written by another version")
    digest, payload = content[len(MAGIC) : len(MAGIC) + 32], content[len(MAGIC) + 32 :]
    if hashlib.sha256(payload).digest() != digest:
        raise ArchiveError(path, "is damaged: its hash does not match")
    try:
        return _unpack(zlib.decompress(payload))
    except (zlib.error, struct.error, KeyError, TypeError, ValueError) as error:
        raise ArchiveError(path, f"cannot be read ({type(error).__name__})") from error


def _pack(archive: Archive) -> bytes:
    pieces = [_LENGTH.pack(len(archive.store))]
    for key in sorted(archive.store):
        value = archive.store[key]
        pieces += (_LENGTH.pack(len(key)), key, _LENGTH.pack(len(value)), value)
    blocks = [
        _block_to_json(block, root)
        for block, root in zip(archive.blocks, archive.roots, strict=True)
    ]
    pieces.append(json.dumps(blocks, separators=(",", ":")).encode())
    return b"".join(pieces)


def _unpack(data: bytes) -> Archive:
    (count,) = _LENGTH.unpack_from(data)
    offset = _LENGTH.size
    store: dict[bytes, bytes] = {}
    for _ in range(count):
        key, offset = _take(data, offset)
        store[key], offset = _take(data, offset)
    entries = json.loads(data[offset:])
    blocks = [_block_from_json(entry) for entry in entries]
    for parent, child in pairwise(blocks):
        if child.header.parent_hash != parent.header.hash:
            raise ValueError("a block does not follow its parent")
    head = blocks[-1].header
    if to_hex(keccak(encode_header(head))) != head.hash:
        raise ValueError("the head does not match its hash")
    return Archive(store, blocks, [from_hex(entry["root"]) for entry in entries])


def _take(data: bytes, offset: int) -> tuple[bytes, int]:
    (length,) = _LENGTH.unpack_from(data, offset)
    start = offset + _LENGTH.size
    return data[start : start + length], start + length


def _block_to_json(block: MinedBlock, root: bytes) -> Mapping[str, object]:
    header = block.header
    return {
        "number": header.number,
        "hash": header.hash,
        "parent": header.parent_hash,
        "timestamp": header.timestamp,
        "stateRoot": header.state_root,
        "transactionsRoot": header.transactions_root,
        "receiptsRoot": header.receipts_root,
        "bloom": hex(header.logs_bloom),
        "gasUsed": header.gas_used,
        "gasLimit": header.gas_limit,
        "baseFee": header.base_fee_per_gas,
        "root": to_hex(root),
        "transactions": [to_hex(raw) for raw in block.transactions],
        "receipts": [_receipt_to_json(receipt) for receipt in block.receipts],
    }


def _receipt_to_json(receipt: MinedReceipt) -> Sequence[object]:
    return [
        receipt.transaction_hash,
        receipt.transaction_type,
        receipt.sender,
        receipt.to,
        receipt.contract_address,
        receipt.success,
        receipt.gas_used,
        receipt.cumulative_gas_used,
        receipt.effective_gas_price,
        to_hex(receipt.output),
        [[log.address, log.topics, to_hex(log.data)] for log in receipt.logs],
    ]


def _block_from_json(entry: Mapping[str, Any]) -> MinedBlock:
    header = Header(
        number=entry["number"],
        hash=entry["hash"],
        parent_hash=entry["parent"],
        timestamp=entry["timestamp"],
        state_root=entry["stateRoot"],
        transactions_root=entry["transactionsRoot"],
        receipts_root=entry["receiptsRoot"],
        logs_bloom=int(entry["bloom"], 16),
        gas_used=entry["gasUsed"],
        gas_limit=entry["gasLimit"],
        base_fee_per_gas=entry["baseFee"],
    )
    receipts: list[MinedReceipt] = []
    logs_before = 0
    for index, fields in enumerate(entry["receipts"]):
        receipts.append(_receipt_from_json(fields, index, header, logs_before))
        logs_before += len(receipts[-1].logs)
    transactions = tuple(from_hex(raw) for raw in entry["transactions"])
    return MinedBlock(header, transactions, tuple(receipts))


def _receipt_from_json(
    fields: Sequence[Any], index: int, header: Header, logs_before: int
) -> MinedReceipt:
    (hash_, kind, sender, to, created, success, gas_used, cumulative, price, output, logs) = fields
    return MinedReceipt(
        transaction_hash=hash_,
        transaction_index=index,
        transaction_type=kind,
        block_number=header.number,
        block_hash=header.hash,
        sender=sender,
        to=to,
        contract_address=created,
        success=success,
        gas_used=gas_used,
        cumulative_gas_used=cumulative,
        effective_gas_price=price,
        output=from_hex(output),
        logs=tuple(
            MinedLog(
                address=address,
                topics=tuple(topics),
                data=from_hex(data),
                block_number=header.number,
                block_hash=header.hash,
                transaction_hash=hash_,
                transaction_index=index,
                log_index=log_index,
            )
            for log_index, (address, topics, data) in enumerate(logs, start=logs_before)
        ),
    )
