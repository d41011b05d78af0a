"""Which block a call means: a number, a tag, or a hash (EIP-1898)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import Struct

from chain.devnet.node.rpc.faults import failed, invalid
from chain.devnet.node.rpc.fields import flag, optional, quantity, shown, table, word

if TYPE_CHECKING:
    from collections.abc import Mapping

    from chain.contracts.networks import Address
    from chain.devnet.node.execution import BlockState
    from chain.devnet.node.messages import Override
    from chain.devnet.node.node import Node
    from chain.devnet.node.rpc.faults import Json

SAFE_DEPTH = 32
FINALIZED_DEPTH = 64
WORD_CHARACTERS = 66


class Reference(Struct, frozen=True):
    number: int | None = None
    tag: str | None = None
    block_hash: str | None = None
    require_canonical: bool = False

    @property
    def is_pending(self) -> bool:
        return self.tag == "pending"


LATEST = Reference(tag="latest")


def reference(value: Json) -> Reference:
    """A block named in any way a state query allows."""
    if isinstance(value, dict):
        fields = table(value)
        block_hash = optional(fields, "blockHash", word)
        block_number = optional(fields, "blockNumber", quantity)
        if (block_hash is None) == (block_number is None):
            raise invalid("exactly one of blockHash and blockNumber must be given")
        return Reference(
            number=block_number,
            block_hash=block_hash,
            require_canonical=optional(fields, "requireCanonical", flag) or False,
        )
    if isinstance(value, str) and len(value) == WORD_CHARACTERS:
        return Reference(block_hash=word(value))
    return number_or_tag(value)


def number_or_tag(value: Json) -> Reference:
    if isinstance(value, str) and value in ("latest", "pending", "earliest", "safe", "finalized"):
        return Reference(tag=value)
    if isinstance(value, str) and not value.startswith("0x"):
        raise invalid(f"{shown(value)} is not a block number or tag")
    return Reference(number=quantity(value))


def height(node: Node, wanted: Reference) -> int | None:
    """The number of the canonical block meant, or None when there is none; pending is the head."""
    head = node.ledger.head.number
    if wanted.block_hash is not None:
        return node.ledger.block_number(wanted.block_hash)
    if wanted.number is not None:
        return wanted.number if wanted.number <= head else None
    match wanted.tag:
        case "earliest":
            return 0
        case "safe":
            return max(head - SAFE_DEPTH, 0)
        case "finalized":
            return max(head - FINALIZED_DEPTH, 0)
        case _:
            return head


def state_at(
    node: Node,
    wanted: Reference,
    overrides: Mapping[Address, Override] | None = None,
) -> BlockState:
    """The state a call means to read, or the fault that there is none."""
    if wanted.is_pending:
        return node.pending_state(overrides)
    at: int | str | None = height(node, wanted)
    if at is None and wanted.block_hash is not None:
        if not node.ledger.is_orphan(wanted.block_hash):
            raise failed("header for hash not found")
        if wanted.require_canonical:
            raise failed("hash is not currently canonical")
        at = wanted.block_hash
    if at is None:
        raise failed("header not found")
    return node.ledger.fork(at, overrides=overrides) if overrides else node.ledger.state(at)
