"""The few shapes a call of v3 may have: which calls, in which order, to whom.

Anything else is refused, however harmless each of its parts may look. A minimum of `collect` there
is none: what it pays is what is owed, and all of it goes to the wallet, at once or, as the coin
itself, by way of the manager and within the same call.
"""

from collections.abc import Iterator, Sequence

from msgspec import Struct
from msgspec.structs import replace

from chain.contracts.networks import NATIVE, Address
from chain.execution.plan.bounds import (
    deadline_faults,
    exit_faults,
    moved_price,
    provision_faults,
    swap_faults,
    worth_faults,
)
from chain.execution.plan.context import PolicyContext
from chain.execution.plan.effects import Effect, Provision, Sale, Withdrawal
from chain.execution.plan.facts import PositionFacts
from chain.execution.plan.records import Execute, Multicall, PlainCall, name_of
from chain.execution.v3.records import (
    EVERYTHING,
    BurnToken,
    Collect,
    DecodedV3Swap,
    DecreaseLiquidity,
    IncreaseLiquidity,
    MintPosition,
    RefundCoin,
    SweepToken,
    UnwrapWeth,
)
from chain.math.drift import Span
from chain.math.liquidity import Amounts
from chain.protocols.reference import position_label, v3_in_bytes
from chain.protocols.v3.pool_key import DecodedV3Pool

NOTHING = Amounts(0, 0)
_ROUNDING = 2
"""Units by which what is owed may come out smaller."""


def calls_of(call: PlainCall) -> tuple[PlainCall, ...]:
    return call.calls if isinstance(call, Multicall) else (call,)


def effects_of(call: PlainCall) -> tuple[Effect, ...]:
    """What the calls come to: taking out, collecting and burning are one withdrawal."""
    if isinstance(call, Execute):
        return tuple(sale_of(each) for each in call.commands if isinstance(each, DecodedV3Swap))
    found: list[Effect] = []
    for each in calls_of(call):
        last = found[-1] if found else None
        match each:
            case DecreaseLiquidity(token_id, liquidity, least0, least1):
                found.append(Withdrawal(v3_in_bytes(token_id), liquidity, Amounts(least0, least1)))
            case Collect(token_id) if not _is_of(last, token_id):
                found.append(Withdrawal(v3_in_bytes(token_id), 0, NOTHING))
            case BurnToken(token_id) if isinstance(last, Withdrawal) and _is_of(last, token_id):
                found[-1] = replace(last, ends=True)
            case BurnToken(token_id):
                found.append(Withdrawal(v3_in_bytes(token_id), 0, NOTHING, ends=True))
            case SweepToken(token) if isinstance(last, Withdrawal):
                found[-1] = replace(last, beside_coin=token)
            case IncreaseLiquidity() | MintPosition():
                found.append(provision_of(each))
            case _:
                pass
    return tuple(found)


def _is_of(effect: Effect | None, token_id: int) -> bool:
    return isinstance(effect, Withdrawal) and effect.ref == v3_in_bytes(token_id)


def sale_of(swap: DecodedV3Swap) -> Sale:
    return Sale(swap.pool, swap.zero_for_one, swap.amount_in, swap.amount_out_minimum)


def provision_of(call: IncreaseLiquidity | MintPosition) -> Provision:
    most = Amounts(call.amount0_desired, call.amount1_desired)
    least = Amounts(call.amount0_min, call.amount1_min)
    if isinstance(call, IncreaseLiquidity):
        return Provision(v3_in_bytes(call.token_id), None, None, None, most, least)
    pool = DecodedV3Pool(call.token0, call.token1, call.fee)
    span = Span(call.tick_lower, call.tick_upper)
    return Provision(None, pool, span, None, most, least, call.recipient)


class Leaving(Struct, frozen=True):
    """The calls that take from one position and pay it out."""

    decrease: DecreaseLiquidity | None
    collect: Collect
    burn: BurnToken | None = None
    unwrap: UnwrapWeth | None = None
    sweep: SweepToken | None = None


class ManagerRecipe(Struct, frozen=True):
    """The parts of a call to the manager, where they are those of a recipe."""

    leaving: tuple[Leaving, ...] = ()
    entering: tuple[IncreaseLiquidity | MintPosition, ...] = ()
    """After each withdrawal one, or a single one."""
    refund: bool = False


def recipe_of(call: PlainCall) -> ManagerRecipe | None:
    """The recipe's parts, or None when the calls are not exactly those."""
    if isinstance(call, Multicall) and len(call.calls) == 1:
        return None
    leaving: list[Leaving] = []
    entering: list[IncreaseLiquidity | MintPosition] = []
    rest: Sequence[PlainCall] = calls_of(call)
    while rest and (found := _leaving(rest)) is not None:
        part, rest = found
        leaving.append(part)
        if rest and isinstance(rest[0], IncreaseLiquidity):
            entering.append(rest[0])
            rest = rest[1:]
    match rest:
        case ():
            whole = not entering or len(entering) == len(leaving)
            return ManagerRecipe(tuple(leaving), tuple(entering)) if leaving and whole else None
        case (MintPosition() as minted,) if len(leaving) < 2 and not entering:
            return ManagerRecipe(tuple(leaving), (minted,))
        case (IncreaseLiquidity() as added,) if not leaving:
            return ManagerRecipe((), (added,))
        case (IncreaseLiquidity() | MintPosition() as one, RefundCoin()) if not leaving:
            return ManagerRecipe((), (one,), refund=True)
        case _:
            return None


def _leaving(calls: Sequence[PlainCall]) -> tuple[Leaving, Sequence[PlainCall]] | None:
    """The withdrawal that the calls begin with, and what follows it."""
    decrease = burn = None
    if isinstance(calls[0], DecreaseLiquidity):
        decrease, calls = calls[0], calls[1:]
    match calls:
        case (Collect() as collect, *rest):
            pass
        case _:
            return None
    if rest and isinstance(rest[0], BurnToken):
        burn, rest = rest[0], rest[1:]
    match rest:
        case (UnwrapWeth() as unwrap, SweepToken() as sweep, *rest):
            return Leaving(decrease, collect, burn, unwrap, sweep), tuple(rest)
        case _:
            return Leaving(decrease, collect, burn), tuple(rest)


def manager_faults(call: PlainCall, value: int, context: PolicyContext) -> Iterator[str]:
    """What is wrong with a call to the position manager."""
    recipe = recipe_of(call)
    if recipe is None:
        names = ", ".join(map(name_of, calls_of(call)))
        yield f"the calls {names or '(none)'} are none of the known recipes"
        return
    changed = [part.collect.token_id for part in recipe.leaving]
    if len(set(changed)) != len(changed):
        yield "it changes a position twice"
    for part in recipe.leaving:
        yield from _leaving_faults(part, context)
    for place, call_in in enumerate(recipe.entering):
        paid_by = recipe.leaving[place] if place < len(recipe.leaving) else None
        yield from _entering_faults(call_in, paid_by, context)
    yield from _value_faults(recipe, value, context)


def _leaving_faults(part: Leaving, context: PolicyContext) -> Iterator[str]:
    collect, decrease = part.collect, part.decrease
    position = context.positions.get(v3_in_bytes(collect.token_id))
    if position is None:
        yield f"the plan is not about position {position_label(v3_in_bytes(collect.token_id))}"
        return
    if {collect.amount0_max, collect.amount1_max} != {EVERYTHING}:
        yield "it leaves a part of what is owed"
    least, liquidity = NOTHING, 0
    if decrease is not None:
        least, liquidity = Amounts(decrease.amount0_min, decrease.amount1_min), decrease.liquidity
        yield from deadline_faults(decrease.deadline, context)
        if decrease.token_id != collect.token_id:
            yield "it takes out of one position and collects of another"
        if liquidity == 0:
            yield "it takes nothing out"
        yield from exit_faults(Withdrawal(position.ref, liquidity, least), context)
    if part.burn is not None:
        if part.burn.token_id != collect.token_id:
            yield "it ends another position than it empties"
        if liquidity != position.liquidity:
            yield "it ends a position that is not emptied"
    if part.unwrap is None or part.sweep is None:
        if collect.recipient != context.owner:
            yield f"it sends tokens to {collect.recipient}, which is not the wallet"
        return
    if collect.recipient != NATIVE:
        yield "it unwraps what was not left with the manager"
    yield from _coin_faults(part.unwrap, part.sweep, position, least, context)


def _coin_faults(
    unwrap: UnwrapWeth,
    sweep: SweepToken,
    position: PositionFacts,
    least: Amounts,
    context: PolicyContext,
) -> Iterator[str]:
    """Whether what is left with the manager for a moment surely comes to the wallet.

    A token of the pair may run code of its own when it is moved, and what the manager holds then
    is anybody's: the minimums see to it that all is undone.
    """
    pair = (position.pool.key.currency0, position.pool.key.currency1)
    wrapped = context.network.wrapped_native
    if wrapped not in pair or sweep.token not in pair or sweep.token == wrapped:
        yield "it pays out other tokens than the pool's"
        return
    owed = dict(zip(pair, zip(least, position.amounts_owed, strict=True), strict=True))
    paid: tuple[tuple[Address, UnwrapWeth | SweepToken], ...]
    paid = ((wrapped, unwrap), (sweep.token, sweep))
    for token, call in paid:
        if call.recipient != context.owner:
            yield f"it sends tokens to {call.recipient}, which is not the wallet"
        minimum, waiting = owed[token]
        # What waits may have grown since the minimum was written.
        floor = minimum + waiting // 2 - _ROUNDING
        if call.amount_min < floor:
            yield f"it accepts {call.amount_min} of {token}, less than {floor}"


def _entering_faults(
    call: IncreaseLiquidity | MintPosition, paid_by: Leaving | None, context: PolicyContext
) -> Iterator[str]:
    yield from deadline_faults(call.deadline, context)
    provision = provision_of(call)
    if isinstance(call, MintPosition):
        if call.recipient != context.owner:
            yield f"the new position would belong to {call.recipient}, which is not the wallet"
        if provision.pool not in context.pools:
            yield "it names a pool that the plan is not about"
            return
        if paid_by is not None:
            held = context.positions.get(v3_in_bytes(paid_by.collect.token_id))
            if held is not None and held.pool.key.as_written != provision.pool:
                yield "it would open in another pool than the one it closes in"
            if paid_by.burn is None:
                yield "it opens a position without closing the other"
    elif provision.ref not in context.positions:
        yield "it names a position that the plan is not about"
        return
    elif paid_by is not None:
        yield from _compound_faults(call, paid_by, context.positions[v3_in_bytes(call.token_id)])
    if paid_by is not None and paid_by.unwrap is not None:
        yield "it pays out as the coin what it would put in"
    yield from provision_faults(provision, context, moved_price(provision.pool, context))


def _compound_faults(
    call: IncreaseLiquidity, paid_by: Leaving, position: PositionFacts
) -> Iterator[str]:
    if paid_by.collect.token_id != call.token_id or paid_by.decrease or paid_by.burn:
        yield "it puts the fees of one position into another"
    if (
        call.amount0_desired > position.amounts_owed[0]
        or call.amount1_desired > position.amounts_owed[1]
    ):
        yield "it puts in more than is owed to the position"


def _value_faults(recipe: ManagerRecipe, value: int, context: PolicyContext) -> Iterator[str]:
    if bool(value) != recipe.refund:
        yield "value is sent without being refunded, or refunded without being sent"
    if not value:
        return
    (entered,) = recipe.entering
    given = dict(_given(entered, context))
    if value != given.get(context.network.wrapped_native or NATIVE):
        yield f"it sends {value} wei along, which is not the most that may be taken"


def pulls(call: PlainCall, context: PolicyContext) -> Iterator[tuple[Address, int]]:
    """What it may move by leave of each token; what is sent along it does not."""
    if isinstance(call, Execute):
        for command in call.commands:
            if isinstance(command, DecodedV3Swap):
                yield command.token_in, command.amount_in
        return
    coin = any(isinstance(each, RefundCoin) for each in calls_of(call))
    for each in calls_of(call):
        if isinstance(each, IncreaseLiquidity | MintPosition):
            for token, amount in _given(each, context):
                if amount and not (coin and token == context.network.wrapped_native):
                    yield token, amount


def _given(
    call: IncreaseLiquidity | MintPosition, context: PolicyContext
) -> Iterator[tuple[Address, int]]:
    if isinstance(call, MintPosition):
        pair = (call.token0, call.token1)
    else:
        held = context.positions.get(v3_in_bytes(call.token_id))
        if held is None:
            return
        pair = (held.pool.key.currency0, held.pool.key.currency1)
    yield from zip(pair, (call.amount0_desired, call.amount1_desired), strict=True)


def swap_call_faults(call: Execute, value: int, context: PolicyContext) -> Iterator[str]:
    """What is wrong with a swap, which sells what the wallet has and pays it what it buys."""
    yield from deadline_faults(call.deadline, context)
    match call.commands:
        case (DecodedV3Swap() as swap,):
            pass
        case _:
            yield "the router's commands are not one swap"
            return
    if swap.pool not in context.pools:
        yield "it names a pool that the plan is not about"
        return
    if not swap.payer_is_user:
        yield "the swap is not paid by the wallet"
    if swap.recipient != context.owner:
        yield "what the swap buys does not all go to the wallet"
    if value:
        yield f"it sends {value} wei along, which is not what the swap sells"
    yield from swap_faults(sale_of(swap), swap.pool, context)
    yield from worth_faults(sale_of(swap), context)
