"""The policy: a pure judgment of decoded transactions, from which nothing is signed unless allowed.

Leaving a pool is judged by its minimums alone; entering one also by its hook, its fee and the day's
limit.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from fractions import Fraction
from typing import NamedTuple

from msgspec import Struct

from chain.base.units import COIN
from chain.contracts.delegation import DELEGATION_MANAGER, NOBODY, NONCES, BatchForm, delegate_named
from chain.contracts.networks import NATIVE, Address
from chain.execution import protocols
from chain.execution.decode.decoder import single_calls
from chain.execution.decode.titles import step_title
from chain.execution.plan.bounds import code_faults
from chain.execution.plan.context import PolicyContext
from chain.execution.plan.effects import Provision, Withdrawal
from chain.execution.plan.records import (
    Batch,
    Call,
    CancelAllOrders,
    CancelOrder,
    DecodedStep,
    Delegation,
    Deposit,
    Permit2Approval,
    PlainCall,
    TokenApproval,
    Withdraw,
    name_of,
)
from chain.execution.transaction import UnsignedTransaction

Pulls = Counter[tuple["Address", "Address"]]
"""What steps may move out of the wallet, by token and spender."""


def pulls(steps: Sequence[DecodedStep], context: PolicyContext) -> Pulls:
    """All that the steps of a plan may move out of the wallet."""
    total: Pulls = Counter()
    for step in steps:
        protocol = protocols.of_call(step.call)
        if protocol is None or not isinstance(step.call, PlainCall):
            continue
        for token, amount in protocol.pulls(step.call, context):
            total[token, step.transaction.to] += amount
    return total


def approval_faults(
    call: TokenApproval | Permit2Approval, to: Address, needed: Pulls, context: PolicyContext
) -> Iterator[str]:
    contracts, direct = context.network.contracts, protocols.direct_spenders(context.network)
    if isinstance(call, Permit2Approval) and call.token not in context.tokens:
        yield f"it allows {call.token}, which is not a token of the pair"
    # To take an allowance back is right whoever had it.
    if call.amount == 0:
        return
    if isinstance(call, TokenApproval):
        moved = {
            who: amount
            for (token, who), amount in needed.items()
            if token == to and (who == call.spender or who not in direct)
        }
        if call.spender in direct:
            wanted = moved.get(call.spender, 0)
        else:
            wanted = sum(moved.values())
            if call.spender != contracts.permit2:
                yield f"it lets {call.spender} move tokens, which is not Permit2"
        if call.amount != wanted:
            yield f"it allows {call.amount} units where the plan moves {wanted}"
        return
    routers = [protocol.router(context.network) for protocol in protocols.ALL]
    if call.spender not in (contracts.position_manager, *routers):
        yield f"it lets {call.spender} move tokens, which no step of a plan needs"
    wanted = needed[call.token, call.spender]
    if call.amount != wanted:
        yield f"it allows {call.amount} units where the plan moves {wanted}"
    latest = context.head_time + context.limits.expiry_seconds
    if not context.head_time < call.expiration <= latest:
        yield "the allowance does not expire within half an hour"


class Notional(NamedTuple):
    known: Fraction
    """Micro-dollars that go into ranges, counted at the most the steps may take."""
    unpriced: tuple[Address, ...]
    """Tokens of it whose worth nobody knows."""


def notional(steps: Sequence[DecodedStep], context: PolicyContext) -> Notional:
    """What the steps put into ranges; what they take out is never limited."""
    total = Fraction(0)
    unpriced: dict[Address, None] = {}
    for effect in (effect for step in steps for effect in protocols.effects_of(step.call)):
        if not isinstance(effect, Provision):
            continue
        for token, amount in zip(_entered_pair(effect, context), effect.most, strict=False):
            price = context.worth.get(token)
            if price is None:
                unpriced[token] = None
            else:
                total += price * amount
    return Notional(total, tuple(unpriced))


def _entered_pair(provision: Provision, context: PolicyContext) -> tuple[Address, ...]:
    """The tokens of the pool; none of a position that the plan is not about."""
    if provision.pool is not None:
        return provision.pool.currency0, provision.pool.currency1
    held = None if provision.ref is None else context.positions.get(provision.ref)
    return () if held is None else (held.pool.key.currency0, held.pool.key.currency1)


def notional_faults(entered: Notional, context: PolicyContext) -> Iterator[str]:
    limit = context.limits.daily_notional
    if limit is None:
        return
    if entered.unpriced:
        tokens = ", ".join(entered.unpriced)
        yield f"The worth of {tokens} is unknown, so the day's limit cannot be held."
    if context.notional_today + entered.known > limit:
        yield (
            f"This would put ${float(entered.known) / 1e6:,.2f} into ranges, past the day's limit "
            f"of ${limit / 1e6:,.2f}. Raise it in the settings or wait."
        )


_MOST_GAS = 16_000_000
"""Of one step, however many positions it changes."""

VERSION = 2
"""Part of what an approval's hash stands for."""


class Allowed(Struct, frozen=True):
    notional: Fraction
    """Micro-dollars that go into ranges, counted at the most the steps may take."""


class PolicyRefused(Struct, frozen=True):
    reasons: tuple[str, ...]


def check(steps: Sequence[DecodedStep], context: PolicyContext) -> Allowed | PolicyRefused:
    """Whether these steps, together and in this order, may be signed."""
    calls = single_calls(steps)
    needed = pulls(calls, context)
    reasons = [
        f"Step {place + 1} ({step_title(step.transaction)}): {fault}."
        for place, step in enumerate(steps)
        for fault in _step_faults(step, place, needed, context)
    ]
    if not steps:
        reasons.append("There is nothing to sign.")
    if len(steps) > 1 and any(isinstance(step.call, Batch | Delegation) for step in steps):
        match tuple(step.call for step in steps):
            case (CancelAllOrders(), Delegation(delegate)) if delegate == NOBODY:
                pass  # else an account that is lent again would revive what was signed before
            case _:
                reasons.append("A batch, or a delegation, is a plan of one transaction.")
    entered = notional(calls, context)
    reasons += notional_faults(entered, context)
    return PolicyRefused(tuple(reasons)) if reasons else Allowed(entered.known)


def _step_faults(
    step: DecodedStep, place: int, needed: Pulls, context: PolicyContext
) -> Iterator[str]:
    yield from _envelope_faults(step, place, context)
    match step.call:
        case Batch():
            yield from batch_faults(step, context)
            for number, single in enumerate(single_calls([step])):
                name = step_title(single.transaction)
                for fault in _call_faults(single, needed, context):
                    yield f"call {number + 1} ({name}): {fault}"
        case Delegation():
            yield from delegation_faults(step.transaction, step.call, context)
        case _:
            yield from _call_faults(step, needed, context)


def _call_faults(step: DecodedStep, needed: Pulls, context: PolicyContext) -> Iterator[str]:
    to = step.transaction.to
    if to not in _targets(step.call, context):
        yield f"{name_of(step.call)} is not to be sent to {to}"
        return
    yield from code_faults(to, context)
    match step.call:
        case TokenApproval() | Permit2Approval() as call:
            yield from approval_faults(call, to, needed, context)
            yield from _no_value(step)
        case Withdraw() | CancelOrder() | CancelAllOrders() as call:
            yield from _cancel_faults(call, context)
            yield from _no_value(step)
        case Deposit():
            if step.transaction.value == 0:
                yield "there is nothing to wrap"
        case call if (protocol := protocols.of_call(call)) is not None:
            yield from protocol.faults(call, step.transaction.value, context)
        case _:
            yield "it is no call of a plan"


def _cancel_faults(call: Call, context: PolicyContext) -> Iterator[str]:
    if isinstance(call, CancelOrder) and call.delegation.delegator != context.owner:
        yield f"the order is one of {call.delegation.delegator}, not of the wallet"
    if isinstance(call, CancelAllOrders) and call.manager != DELEGATION_MANAGER:
        yield f"it is about orders that {call.manager} keeps"


def _envelope_faults(step: DecodedStep, place: int, context: PolicyContext) -> Iterator[str]:
    transaction, limits = step.transaction, context.limits
    if transaction.chain_id != context.network.chain_id:
        yield f"it is for chain {transaction.chain_id}, not {context.network.title}"
    if transaction.chain_id not in context.allowed_chain_ids:
        yield f"chain {transaction.chain_id} is not among the networks allowed"
    if transaction.sender != context.owner:
        yield f"it would be sent by {transaction.sender}, not by the wallet"
    if transaction.nonce != context.nonce + place:
        yield f"its nonce is {transaction.nonce}, not {context.nonce + place}"
    most = min(limits.gas * _changes(step.call), _MOST_GAS)
    if not 0 < transaction.gas <= most:
        yield f"its gas limit of {transaction.gas} is over {most}"
    if transaction.max_fee_per_gas > limits.max_fee_per_gas:
        yield f"it may pay {transaction.max_fee_per_gas} wei a gas, over {limits.max_fee_per_gas}"
    if transaction.max_priority_fee_per_gas > transaction.max_fee_per_gas:
        yield "its tip is larger than its whole fee"
    value = transaction.value + sum(single.transaction.value for single in _batched(step))
    if not 0 <= value <= limits.value:
        coin = context.network.native_symbol
        yield (
            f"it sends {value / COIN:.6g} {coin} along, over the"
            f" {limits.value / COIN:.6g} {coin} that limits.value_usd in the settings lets go"
        )


def _changes(call: Call) -> int:
    """How many positions a step changes, or calls a batch makes."""
    if isinstance(call, Batch):
        return sum(_changes(each.call) for each in call.calls)
    changed = {
        effect.ref
        for effect in protocols.effects_of(call)
        if isinstance(effect, Withdrawal | Provision) and effect.ref is not None
    }
    return max(1, len(changed))


def _batched(step: DecodedStep) -> tuple[DecodedStep, ...]:
    return single_calls([step]) if isinstance(step.call, Batch) else ()


def _targets(call: Call, context: PolicyContext) -> frozenset[Address | None]:
    network = context.network
    fixed: dict[type[Call], Address | None] = {
        Permit2Approval: network.contracts.permit2,
        Deposit: network.wrapped_native,
        Withdraw: network.wrapped_native,
        CancelOrder: DELEGATION_MANAGER,
        CancelAllOrders: NONCES,
    }
    match call:
        case TokenApproval():
            return context.tokens - {NATIVE}
        case PlainCall() if (protocol := protocols.of_call(call)) is not None:
            return frozenset({protocol.target(call, network)})
        case _:
            return frozenset({fixed.get(type(call), context.owner)})


def _no_value(step: DecodedStep) -> Iterator[str]:
    if step.transaction.value:
        yield "it sends ETH along for no reason"


_FEWEST, _MOST = 2, 64


def batch_faults(step: DecodedStep, context: PolicyContext) -> Iterator[str]:
    """Of the whole; each of its calls is judged by itself besides."""
    singles = single_calls([step])
    if step.transaction.to != context.owner or step.transaction.value:
        yield "a batch is sent to the wallet itself, with nothing along"
    if not _FEWEST <= len(singles) <= _MOST:
        yield f"a batch has {_FEWEST} to {_MOST} calls, and this {len(singles)}"
    runs = delegate_named(context.network, context.delegate)
    if runs is None:
        yield "the account does not run the code that carries out batches"
    else:
        if runs.form != _form_of(step.call):
            yield f"the account runs {runs.name}, which would do nothing with a batch in this form"
        yield from code_faults(runs.address, context)
    if all(_takes_back(single) for single in singles):
        return
    places = [_place(single, number, singles) for number, single in enumerate(singles)]
    if places != sorted(places):
        yield "its calls are not in the order of allowances, close, open, allowances taken back"


def delegation_faults(
    transaction: UnsignedTransaction, call: Delegation, context: PolicyContext
) -> Iterator[str]:
    """Lent to the known code and by a plain account alone, or taken back from whoever has it."""
    given, delegate, whose = transaction.authorization, call.delegate, context.lender
    lender = "" if whose is None else whose.address
    if call.lender != lender:
        yield f"the account of {call.lender or 'the sender'} would be delegated, which none asked"
        return
    nonce = transaction.nonce + 1 if whose is None else whose.nonce
    runs = context.delegate if whose is None else whose.runs
    if (transaction.to, transaction.value, transaction.data) != (context.owner, 0, b""):
        yield "the account is delegated by a transaction that does something else, too"
    if given is None or given.chain_id != context.network.chain_id:
        yield "the account would be delegated on another chain, or on all of them"
    if given is not None and given.nonce != nonce:
        yield f"it is delegated with nonce {given.nonce}, not {nonce}"
    if delegate == NOBODY:
        if runs is None:
            yield "the account runs no contract's code that could be taken back"
        return
    if delegate_named(context.network, delegate) is None:
        yield f"the code at {delegate} is none that an account is delegated to"
        return
    if runs is not None:
        yield f"the account runs the code of {runs} already"
    elif whose is not None and whose.has_code:
        yield "the account is a contract"
    yield from code_faults(delegate, context)


def _form_of(call: Call) -> BatchForm | None:
    return call.form if isinstance(call, Batch) else None


def _takes_back(single: DecodedStep) -> bool:
    return isinstance(single.call, TokenApproval | Permit2Approval) and single.call.amount == 0


def _place(
    single: DecodedStep, number: int, singles: tuple[DecodedStep, ...]
) -> tuple[int, Address, int]:
    """Where a call belongs: what allows before what moves, what takes back behind it."""
    call = single.call
    match call:
        case TokenApproval(spender, amount):
            behind = amount == 0 and _moves_before(number, singles)
            # A token may have to be set to nothing before it is set to something else.
            whose = single.transaction.to + spender
            return 6 if behind else 0, whose, 1 if behind else int(amount > 0)
        case Permit2Approval(token, _, amount):
            whose = token + single.transaction.to
            return (0, whose, 2) if amount else (6, whose, 0)
        case _ if _takes_out(single):
            return 3, "", 0
        case Deposit() if any(map(_takes_out, singles[:number])):
            # What the close paid as the coin, for a pool that takes it wrapped.
            return 3, "", 0
        case _:
            return 1 if _dismisses(call) else _PLACES.get(type(call), _ENTERS), "", 0


_PLACES: dict[type[Call], int] = {Deposit: 2, CancelOrder: 5}
_ENTERS = 4


def _takes_out(single: DecodedStep) -> bool:
    return isinstance(next(iter(protocols.effects_of(single.call)), None), Withdrawal)


def _dismisses(call: Call) -> bool:
    protocol = protocols.of_call(call)
    return (
        protocol is not None
        and isinstance(call, PlainCall)
        and bool(protocol.dismissed_positions(call))
    )


def _moves_before(number: int, singles: tuple[DecodedStep, ...]) -> bool:
    waits = (TokenApproval, Permit2Approval, Deposit)
    return any(
        not isinstance(single.call, waits) and not _dismisses(single.call)
        for single in singles[:number]
    )
