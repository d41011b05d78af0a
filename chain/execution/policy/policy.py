"""The policy: a pure judgment of decoded transactions, from which nothing is signed unless allowed.

Leaving a pool is judged by its minimums alone; entering one also by its hook, its fee and the day's
limit.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from fractions import Fraction

from msgspec import Struct

from chain.base.units import COIN
from chain.contracts.delegation import DELEGATION_MANAGER, NOBODY, NONCES
from chain.contracts.networks import NATIVE, Address
from chain.execution.decode.decoder import single_calls
from chain.execution.decode.parties import parts_of
from chain.execution.decode.records import (
    Action,
    Batch,
    Call,
    CancelAllOrders,
    CancelOrder,
    DecodedBurn,
    DecodedDecrease,
    DecodedIncrease,
    DecodedMint,
    DecodedPoolKey,
    DecodedStep,
    DecodedSweep,
    Delegation,
    Deposit,
    Execute,
    ModifyLiquidities,
    Multicall,
    Permit2Approval,
    TokenApproval,
    Unsubscribe,
    Withdraw,
    name_of,
)
from chain.execution.decode.titles import step_title
from chain.execution.policy import shapes
from chain.execution.policy.bounds import (
    amount_faults,
    code_faults,
    hook_data_faults,
    notional,
    notional_faults,
    quoted,
    swap_faults,
    worth_faults,
)
from chain.execution.policy.shapes import PolicyContext, key_of
from chain.execution.transaction import UnsignedTransaction

Pulls = Counter[tuple["Address", "Address"]]
"""What steps may move out of the wallet, by token and spender."""


def pulls(steps: Sequence[DecodedStep], context: PolicyContext) -> Pulls:
    """All that the steps of a plan may move through Permit2."""
    total: Pulls = Counter()
    for step in steps:
        spender = step.transaction.to
        match step.call:
            case ModifyLiquidities(actions):
                for part in parts_of(actions):
                    for token, amount in _entering(part, context):
                        total[token, spender] += amount
            case Execute() as call:
                recipe, alone = shapes.swap_and_enter(call), shapes.plain_swap(call)
                if recipe is not None:
                    total[recipe.settle.currency, spender] += recipe.swap.amount_in
                    for transfer in recipe.transfers:
                        total[transfer.token, spender] += transfer.amount
                if alone is not None:
                    total[alone.settle.currency, spender] += alone.swap.amount_in
            case _:
                pass
    return total


def approval_faults(
    call: TokenApproval | Permit2Approval, to: Address, needed: Pulls, context: PolicyContext
) -> Iterator[str]:
    contracts = context.network.contracts
    if isinstance(call, Permit2Approval) and call.token not in context.tokens:
        yield f"it allows {call.token}, which is none of the pair's tokens"
    # To take an allowance back is right whoever had it.
    if call.amount == 0:
        return
    if isinstance(call, TokenApproval):
        if call.spender != contracts.permit2:
            yield f"it lets {call.spender} move tokens, which is not Permit2"
        wanted = sum(amount for (token, _), amount in needed.items() if token == to)
        if call.amount != wanted:
            yield f"it allows {call.amount} units where the plan moves {wanted}"
        return
    if call.spender not in (contracts.position_manager, contracts.universal_router):
        yield f"it lets {call.spender} move tokens, which no step of a plan needs"
    wanted = needed[call.token, call.spender]
    if call.amount != wanted:
        yield f"it allows {call.amount} units where the plan moves {wanted}"
    latest = context.head_time + context.limits.expiry_seconds
    if not context.head_time < call.expiration <= latest:
        yield "the allowance does not expire within half an hour"


def _entering(actions: tuple[Action, ...], context: PolicyContext) -> Iterator[tuple[Address, int]]:
    first = actions[0] if actions else None
    # A mint that follows a burn is paid by it, and a compound by the fees: neither needs leave.
    if isinstance(first, DecodedMint):
        yield from _amounts(first.pool, first)
    elif isinstance(first, DecodedIncrease):
        position = context.positions.get(first.token_id)
        if position is not None:
            key = position.pool.key
            yield from _amounts((key.currency0, key.currency1), first)


def _amounts(
    pool: DecodedPoolKey | tuple[Address, Address], entry: DecodedMint | DecodedIncrease
) -> Iterator[tuple[Address, int]]:
    amounts = (entry.amount0_max, entry.amount1_max)
    for token, amount in zip(pool[:2], amounts, strict=True):
        if token != NATIVE and amount:
            yield token, amount


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
        case Delegation(delegate):
            yield from delegation_faults(step.transaction, delegate, context)
        case _:
            yield from _call_faults(step, needed, context)


def _call_faults(step: DecodedStep, needed: Pulls, context: PolicyContext) -> Iterator[str]:
    to = step.transaction.to
    if to not in _targets(step.call, context):
        yield f"{name_of(step.call)} is not to be sent to {to}"
        return
    yield from code_faults(to, context)
    match step.call:
        case ModifyLiquidities() as call:
            yield from _direct_faults(call, step.transaction.value, context)
        case Execute() as call:
            yield from _router_faults(call, step.transaction.value, context)
        case TokenApproval() | Permit2Approval() as call:
            yield from approval_faults(call, to, needed, context)
            yield from _no_value(step)
        case Unsubscribe(token_id):
            if token_id not in context.positions:
                yield f"the plan is not about position #{token_id}"
            yield from _no_value(step)
        case Multicall():
            yield "no recipe bundles calls"
        case Withdraw() | CancelOrder() | CancelAllOrders() as call:
            yield from _cancel_faults(call, context)
            yield from _no_value(step)
        case Deposit():
            if step.transaction.value == 0:
                yield "there is nothing to wrap"


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
    return len(parts_of(call.actions)) if isinstance(call, ModifyLiquidities) else 1


def _batched(step: DecodedStep) -> tuple[DecodedStep, ...]:
    return single_calls([step]) if isinstance(step.call, Batch) else ()


def _targets(call: Call, context: PolicyContext) -> frozenset[Address | None]:
    contracts = context.network.contracts
    match call:
        case ModifyLiquidities() | Unsubscribe() | Multicall():
            allowed: set[Address | None] = {contracts.position_manager}
        case Execute():
            allowed = {contracts.universal_router}
        case Permit2Approval():
            allowed = {contracts.permit2}
        case TokenApproval():
            allowed = set(context.tokens - {NATIVE})
        case Deposit() | Withdraw():
            allowed = {context.network.wrapped_native}
        case CancelOrder():
            allowed = {DELEGATION_MANAGER}
        case CancelAllOrders():
            allowed = {NONCES}
        case Batch() | Delegation():
            allowed = {context.owner}
    return frozenset(allowed)


def _direct_faults(call: ModifyLiquidities, value: int, context: PolicyContext) -> Iterator[str]:
    faults = [*shapes.direct_faults(call, context), *hook_data_faults(call.actions)]
    yield from faults
    yield from _deadline_faults(call.deadline, context)
    if faults:
        return
    for action in call.actions:
        yield from amount_faults(action, context)
    swept = any(isinstance(action, DecodedSweep) for action in call.actions)
    if bool(value) != swept:
        yield "value is sent without being swept back, or swept without being sent"
    if value and value != _native_maximum(call.actions[0], context):
        yield f"it sends {value} wei along, which is not the most that may be taken"


def _router_faults(call: Execute, value: int, context: PolicyContext) -> Iterator[str]:
    recipe, alone = shapes.swap_and_enter(call), shapes.plain_swap(call)
    yield from _deadline_faults(call.deadline, context)
    if alone is not None:
        yield from _swap_alone_faults(alone, value, context)
        return
    if recipe is None:
        yield "the router's commands are neither a swap nor the swap-and-enter recipe"
        return
    faults = [*shapes.router_faults(recipe, context), *hook_data_faults((recipe.swap, recipe.mint))]
    yield from faults
    yield from _deadline_faults(recipe.enter.deadline, context)
    if faults:
        return
    yield from swap_faults(recipe.swap, recipe.mint.pool, context)
    quote = quoted(recipe.swap, context)
    moved = quote is not None and recipe.swap.pool == recipe.mint.pool
    yield from amount_faults(recipe.mint, context, quote[1] if quote and moved else None)
    yield from _funding_faults(recipe, value)


def _swap_alone_faults(
    recipe: shapes.PlainSwap, value: int, context: PolicyContext
) -> Iterator[str]:
    faults = [*shapes.plain_swap_faults(recipe, context), *hook_data_faults((recipe.swap,))]
    yield from faults
    if faults:
        return
    swap = recipe.swap
    yield from swap_faults(swap, swap.pool, context)
    yield from worth_faults(swap, context)
    if value != (swap.amount_in if recipe.settle.currency == NATIVE else 0):
        yield f"it sends {value} wei along, which is not what the swap sells"


def _funding_faults(recipe: shapes.SwapAndEnter, value: int) -> Iterator[str]:
    """Whether no more is brought to the mint than it may take besides what the swap buys."""
    pool, swap = recipe.mint.pool, recipe.swap
    most = {pool.currency0: recipe.mint.amount0_max, pool.currency1: recipe.mint.amount1_max}
    for transfer in recipe.transfers:
        if not 0 < transfer.amount <= most[transfer.token]:
            yield f"it moves {transfer.amount} units of {transfer.token} that the range cannot take"
    native = most.get(NATIVE, 0) if pool.currency0 == NATIVE else 0
    sold = swap.amount_in if pool.currency0 == NATIVE and swap.zero_for_one else 0
    if not sold <= value <= sold + native:
        yield f"it sends {value} wei along, which is not what swap and range take"


def _native_maximum(action: Action, context: PolicyContext) -> int:
    pool: DecodedPoolKey | None = None
    if isinstance(action, DecodedMint):
        pool = action.pool
    elif isinstance(action, DecodedIncrease):
        pool = key_of(context.positions[action.token_id].pool.key)
    if (
        pool is None
        or pool.currency0 != NATIVE
        or not isinstance(action, DecodedMint | DecodedIncrease)
    ):
        return 0
    return action.amount0_max


def _deadline_faults(deadline: int, context: PolicyContext) -> Iterator[str]:
    latest = context.head_time + context.limits.deadline_seconds
    if not context.head_time < deadline <= latest:
        yield f"its deadline {deadline} is not within {context.limits.deadline_seconds} s"


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
    if context.delegate is None or context.delegate != context.network.contracts.delegate:
        yield "the account does not run the code that carries out batches"
    else:
        yield from code_faults(context.delegate, context)
    if all(_takes_back(single) for single in singles):
        return
    places = [_place(single, number, singles) for number, single in enumerate(singles)]
    if places != sorted(places):
        yield "its calls are not in the order of allowances, close, open, allowances taken back"


def delegation_faults(
    transaction: UnsignedTransaction, delegate: Address, context: PolicyContext
) -> Iterator[str]:
    """Lent to the known code and by a plain account alone, or taken back from whoever has it."""
    given = transaction.authorization
    if (transaction.to, transaction.value, transaction.data) != (context.owner, 0, b""):
        yield "the account is delegated by a transaction that does something else, too"
    if given is None or given.chain_id != context.network.chain_id:
        yield "the account would be delegated on another chain, or on all of them"
    if given is not None and given.nonce != transaction.nonce + 1:
        yield f"it is delegated with nonce {given.nonce}, not {transaction.nonce + 1}"
    if delegate == NOBODY:
        if context.delegate is None:
            yield "the account runs no contract's code that could be taken back"
        return
    if delegate != context.network.contracts.delegate:
        yield f"the code at {delegate} is none that an account is delegated to"
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
