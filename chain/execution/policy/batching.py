"""What a batch may be, and lending the account so that it can carry one out."""

from collections.abc import Iterator

from chain.contracts.delegation import NOBODY
from chain.contracts.networks import Address
from chain.execution.decode.batches import single_calls
from chain.execution.decode.records import (
    Call,
    CancelOrder,
    DecodedBurn,
    DecodedDecrease,
    DecodedStep,
    Deposit,
    ModifyLiquidities,
    Permit2Approval,
    TokenApproval,
    Unsubscribe,
)
from chain.execution.policy.bounds import code_faults
from chain.execution.policy.context import PolicyContext
from chain.execution.transaction import UnsignedTransaction

_FEWEST, _MOST = 2, 64


def batch_faults(step: DecodedStep, context: PolicyContext) -> Iterator[str]:
    """Of the whole; each of its calls is judged by itself besides."""
    singles = single_calls([step])
    if step.transaction.to != context.owner or step.transaction.value:
        yield "a batch is sent to the wallet itself, with nothing along"
    if not _FEWEST <= len(singles) <= _MOST:
        yield f"a batch has {_FEWEST} to {_MOST} calls, and this {len(singles)}"
    if context.delegate is None or context.delegate != context.network.contracts.delegate:
        yield "the account does not run the code that carries out batches"
    else:
        yield from code_faults(context.delegate, context)
    if all(_takes_back(single) for single in singles):
        return
    places = [_place(single, number, singles) for number, single in enumerate(singles)]
    if places != sorted(places):
        yield "its calls are not in the order of permissions, exit, entry, permissions taken back"


def delegation_faults(
    transaction: UnsignedTransaction, delegate: Address, context: PolicyContext
) -> Iterator[str]:
    """Lent to the known code and by a plain account alone, or taken back from whoever has it."""
    given = transaction.authorization
    if (transaction.to, transaction.value, transaction.data) != (context.owner, 0, b""):
        yield "the account is lent by a transaction that does something else, too"
    if given is None or given.chain_id != context.network.chain_id:
        yield "the account would be lent on another chain, or on all of them"
    if given is not None and given.nonce != transaction.nonce + 1:
        yield f"it is lent with nonce {given.nonce}, not {transaction.nonce + 1}"
    if delegate == NOBODY:
        if context.delegate is None:
            yield "the account runs no contract's code that could be taken back"
        return
    if delegate != context.network.contracts.delegate:
        yield f"the code at {delegate} is none that an account is lent to"
        return
    if context.delegate is not None:
        yield f"the account runs the code of {context.delegate} already"
    yield from code_faults(delegate, context)


def _takes_back(single: DecodedStep) -> bool:
    return isinstance(single.call, TokenApproval | Permit2Approval) and single.call.amount == 0


def _place(
    single: DecodedStep, number: int, singles: tuple[DecodedStep, ...]
) -> tuple[int, Address, int]:
    """Where a call belongs: what allows before what moves, what takes back behind it."""
    call = single.call
    match call:
        case TokenApproval(_, amount):
            behind = amount == 0 and _moves_before(number, singles)
            # A token may have to be set to nothing before it is set to something else.
            return 6 if behind else 0, single.transaction.to, 1 if behind else int(amount > 0)
        case Permit2Approval(token, _, amount):
            return (0, token, 2) if amount else (6, token, 0)
        case ModifyLiquidities(actions) if isinstance(actions[0], DecodedBurn | DecodedDecrease):
            return 3, "", 0
        case _:
            return _PLACES.get(type(call), _ENTERS), "", 0


_PLACES: dict[type[Call], int] = {Unsubscribe: 1, Deposit: 2, CancelOrder: 5}
_ENTERS = 4


def _moves_before(number: int, singles: tuple[DecodedStep, ...]) -> bool:
    waits = (TokenApproval, Permit2Approval, Deposit, Unsubscribe)
    return any(not isinstance(single.call, waits) for single in singles[:number])
