"""Reading call objects and state overrides."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec.structs import replace

from chain.contracts.networks import NATIVE
from chain.devnet.node.messages import Message, Override
from chain.devnet.node.rpc.faults import invalid
from chain.devnet.node.rpc.fields import (
    address,
    array,
    data,
    nonce,
    optional,
    quantity,
    slot,
    table,
)

if TYPE_CHECKING:
    from collections.abc import Mapping

    from chain.contracts.networks import Address
    from chain.devnet.node.node import Node
    from chain.devnet.node.rpc.faults import Json

CALL_GAS_CAP = 50_000_000
"""Enough for 500 positions in one multicall; the clock stops what would run for too long."""
CALL_SECONDS = 10.0


def message(value: Json) -> Message:
    fields = table(value)
    refuse_unknown(
        fields,
        "from to gas gasPrice maxFeePerGas maxPriorityFeePerGas value data input nonce accessList "
        "chainId type",
    )
    payload, alias = optional(fields, "input", data), optional(fields, "data", data)
    if payload is not None and alias is not None and payload != alias:
        raise invalid('both "data" and "input" are set and not equal. Please use "input"')
    price = optional(fields, "gasPrice", quantity)
    max_fee = optional(fields, "maxFeePerGas", quantity)
    tip = optional(fields, "maxPriorityFeePerGas", quantity)
    if price is not None and (max_fee is not None or tip is not None):
        raise invalid("both gasPrice and (maxFeePerGas or maxPriorityFeePerGas) specified")
    fee = price if price is not None else max_fee
    tip = price if price is not None else tip
    if (tip or 0) > (fee or 0):
        raise invalid(f"maxFeePerGas ({fee or 0}) < maxPriorityFeePerGas ({tip})")
    return Message(
        to=optional(fields, "to", address),
        data=payload or alias or b"",
        sender=optional(fields, "from", address) or NATIVE,
        value=optional(fields, "value", quantity) or 0,
        gas=optional(fields, "gas", quantity),
        nonce=optional(fields, "nonce", quantity),
        chain_id=optional(fields, "chainId", quantity),
        max_fee_per_gas=fee or 0,
        max_priority_fee_per_gas=tip or 0,
        access_list=tuple(_access(item) for item in array(fields.get("accessList") or [])),
    )


def for_this_chain(node: Node, wanted: Message) -> Message:
    """The message without its chain id, which must be the node's where one is given."""
    if wanted.chain_id not in (None, node.ledger.chain_id):
        raise invalid(f"chainId does not match node's (want={node.ledger.chain_id})")
    return replace(wanted, chain_id=None)


def overrides(value: Json) -> dict[Address, Override]:
    return {address(account): _override(wanted) for account, wanted in table(value).items()}


def refuse_unknown(fields: Mapping[str, Json], known: str) -> None:
    """A misspelt field that changes nothing would make the answer a lie."""
    unknown = sorted(set(fields) - set(known.split()))
    if unknown:
        raise invalid(f"unknown field {unknown[0]!r}")


def _override(value: Json) -> Override:
    fields = table(value)
    refuse_unknown(fields, "balance nonce code state stateDiff")
    storage, changed = optional(fields, "state", _slots), optional(fields, "stateDiff", _slots)
    if storage is not None and changed is not None:
        raise invalid("account has both 'state' and 'stateDiff'")
    return Override(
        balance=optional(fields, "balance", quantity),
        nonce=optional(fields, "nonce", nonce),
        code=optional(fields, "code", data),
        storage=storage,
        changed_slots=changed,
    )


def _slots(value: Json) -> Mapping[int, int]:
    return {slot(key): slot(content) for key, content in table(value).items()}


def _access(value: Json) -> tuple[Address, tuple[int, ...]]:
    fields = table(value)
    keys = array(fields.get("storageKeys") or [])
    return address(fields.get("address")), tuple(slot(key) for key in keys)
