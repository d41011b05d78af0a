"""A decoded transaction in plain words, every number and address taken from its own bytes."""

from collections.abc import Iterator, Mapping
from typing import NamedTuple

from msgspec import Struct
from msgspec.structs import asdict

from chain.base.units import time_text
from chain.contracts.addresses import checksum
from chain.contracts.delegation import (
    DELEGATION_MANAGER,
    ENTRY_POINT,
    NOBODY,
    NONCES,
    SIMPLE_ACCOUNT,
    delegates_on,
)
from chain.contracts.networks import NATIVE, Address, Network
from chain.execution import protocols
from chain.execution.decode.decoder import single_calls
from chain.execution.plan import records
from chain.execution.plan.facts import PositionFacts
from chain.execution.plan.names import Names
from chain.protocols.reference import PositionRef
from chain.tokens.token import Token


class Field(NamedTuple):
    name: str
    value: str


def field_table(step: records.DecodedStep) -> tuple[Field, ...]:
    """No two transactions have the same table."""
    envelope = (
        Field(name, _text(value))
        for name, value in asdict(step.transaction).items()
        if name not in ("data", "authorization")
    )
    given = step.transaction.authorization
    lent = () if given is None else _rows("authorization", given)
    return (*envelope, *lent, *_rows("call", step.call))


def _rows(name: str, value: object) -> Iterator[Field]:
    if isinstance(value, Struct):
        yield Field(name, records.name_of(value))
        for part, inner in asdict(value).items():
            yield from _rows(f"{name}.{part}", inner)
    elif isinstance(value, tuple) and hasattr(value, "_fields"):
        for part, inner in zip(value._fields, value, strict=True):
            yield from _rows(f"{name}.{part}", inner)
    elif isinstance(value, tuple):
        for place, inner in enumerate(value):
            yield from _rows(f"{name}[{place}]", inner)
    else:
        yield Field(name, _text(value))


def _text(value: object) -> str:
    return "0x" + value.hex() if isinstance(value, bytes) else str(value)


def names_on(
    network: Network,
    you: Address,
    tokens: Mapping[Address, Token],
    positions: Mapping[PositionRef, PositionFacts] | None = None,
) -> Names:
    known = {
        address: name if name == "Permit2" else f"the {name}"
        for protocol in protocols.ALL
        for address, name in protocol.contracts(network).items()
    }
    known |= {
        DELEGATION_MANAGER: "the DelegationManager",
        NONCES: "the orders' nonces",
    }
    known |= {each.address: each.name for each in delegates_on(network)}
    held = (positions or {}).items()
    pairs = {ref: (each.pool.key.currency0, each.pool.key.currency1) for ref, each in held}
    return Names(you, tokens, known, pairs)


def describe(step: records.DecodedStep, names: Names) -> tuple[str, ...]:
    """What the transaction does, a sentence for each thing it does."""
    transaction = step.transaction
    if isinstance(step.call, records.SafeExecution) and not step.call.calls:
        return ("Use up this nonce of the Safe: nothing else that was signed for it can be done.",)
    if isinstance(step.call, records.Batch | records.SafeExecution):
        return tuple(line for each in single_calls([step]) for line in describe(each, names))
    lines = list(_call(step.call, transaction.to, transaction.value, names))
    if transaction.value and not isinstance(step.call, records.Deposit):
        sent = names.amount(transaction.value, NATIVE)
        lines.insert(0, f"Send {sent} along to {names.place(transaction.to)}.")
    return tuple(lines)


def _call(
    call: records.PlainCall | records.Delegation, to: Address, value: int, names: Names
) -> Iterator[str]:
    match call:
        case records.Delegation(delegate, lender):
            yield from _lending(delegate, checksum(lender) if lender else "this account", names)
        case records.TokenApproval() | records.Permit2Approval():
            yield _approval(call, to, names)
        case records.Deposit():
            yield f"Wrap {names.amount(value, NATIVE)} into {names.currency(to)}."
        case records.Withdraw(amount):
            yield f"Unwrap {names.amount(amount, to)}."
        case records.CancelOrder() | records.CancelAllOrders():
            yield _cancelling(call)
        case _:
            protocol = protocols.of_call(call)
            yield from () if protocol is None else protocol.describe(call, names)


def _cancelling(call: records.CancelOrder | records.CancelAllOrders) -> str:
    if isinstance(call, records.CancelAllOrders):
        return "Cancel every order signed so far, wherever its file is: the chain refuses them."
    key = checksum(call.delegation.delegate)
    return f"Cancel the order that was signed for {key}: the chain refuses it from then on."


def _lending(delegate: Address, account: str, names: Names) -> Iterator[str]:
    if delegate == NOBODY:
        yield f"Take {account} back: it runs no contract's code any more."
        yield "Plans go as several transactions again. Nothing else changes."
        return
    yield f"Let the code of {names.place(delegate)} run as {account}, on this chain alone."
    yield "Several calls then go in one transaction, all or nothing. The code keeps nothing itself."
    if delegate == SIMPLE_ACCOUNT.address:
        yield (
            f"EntryPoint {checksum(SIMPLE_ACCOUNT.entry_point)} may act on the whole account, "
            "but only on what its key has signed for it. zuno signs nothing for it."
        )
        yield "Standing orders do not work with this code."
    else:
        manager, entry = checksum(DELEGATION_MANAGER), checksum(ENTRY_POINT)
        yield (
            f"DelegationManager {manager} and EntryPoint {entry} may act on the whole account, but "
            "only on what its key has signed for them. zuno signs nothing for the EntryPoint."
        )
        yield "MetaMask can pause orders, never your own transactions."
    yield "To undo it: zuno wallet undelegate"


def _approval(
    call: records.TokenApproval | records.Permit2Approval, to: Address, names: Names
) -> str:
    token = to if isinstance(call, records.TokenApproval) else call.token
    spender = names.place(call.spender)
    if call.amount == 0:
        return f"Allow {spender} to move no more {names.currency(token)}."
    limit = f"Allow {spender} to move at most {names.amount(call.amount, token)}"
    if isinstance(call, records.TokenApproval):
        return f"{limit}."
    return f"{limit} until {time_text(call.expiration)}."
