"""The few shapes a call of v4 may have: which actions, in which order, to whom.

Anything else is refused, however harmless each of its parts may look.
"""

from collections.abc import Iterator

from msgspec import Struct

from chain.contracts.networks import NATIVE, Address
from chain.contracts.pool_key import CalldataPool, DecodedPoolKey
from chain.execution.plan.bounds import (
    deadline_faults,
    exit_faults,
    find_quote,
    provision_faults,
    swap_faults,
    worth_faults,
)
from chain.execution.plan.context import PolicyContext, key_of
from chain.execution.plan.effects import Effect, Provision, Sale, Withdrawal
from chain.execution.plan.records import DecodedPermit2Transfer, Execute, name_of
from chain.execution.v4.records import (
    SENDER,
    Action,
    DecodedBurn,
    DecodedCloseCurrency,
    DecodedDecrease,
    DecodedIncrease,
    DecodedMint,
    DecodedPositionManagerCall,
    DecodedSettle,
    DecodedSettlePair,
    DecodedSwapExactIn,
    DecodedSweep,
    DecodedTake,
    DecodedTakePair,
    DecodedV4Swap,
    ModifyLiquidities,
    parts_of,
)
from chain.math.drift import Span
from chain.math.liquidity import Amounts
from chain.protocols.reference import v4_position


def effect_of(action: Action) -> Effect | None:
    """None for what only settles what another action did."""
    match action:
        case DecodedBurn(token_id, least0, least1):
            return Withdrawal(v4_position(token_id), None, Amounts(least0, least1), ends=True)
        case DecodedDecrease(token_id, liquidity, least0, least1):
            return Withdrawal(v4_position(token_id), liquidity, Amounts(least0, least1))
        case DecodedIncrease(token_id, liquidity, most0, most1):
            most = Amounts(most0, most1)
            return Provision(v4_position(token_id), None, None, liquidity, most)
        case DecodedMint(pool, lower, upper, liquidity, most0, most1, owner):
            span, most = Span(lower, upper), Amounts(most0, most1)
            return Provision(None, pool, span, liquidity, most, owner=owner)
        case DecodedSwapExactIn(pool, zero_for_one, amount_in, least):
            return Sale(pool, zero_for_one, amount_in, least)
        case _:
            return None


def sale_of(swap: DecodedSwapExactIn) -> Sale:
    return Sale(swap.pool, swap.zero_for_one, swap.amount_in, swap.amount_out_minimum)


def amount_faults(
    action: Action, context: PolicyContext, sqrt_price_after: int | None = None
) -> Iterator[str]:
    """Whether the amounts of one action can drift no further than the limit on slippage."""
    match effect_of(action):
        case Withdrawal() as withdrawal:
            yield from exit_faults(withdrawal, context)
        case Provision() as provision:
            yield from provision_faults(provision, context, sqrt_price_after)


def hook_data_faults(actions: tuple[Action, ...]) -> Iterator[str]:
    if any(getattr(action, "hook_data", b"") for action in actions):
        yield "it hands data to a hook"


_DIRECT = {
    (DecodedBurn, DecodedMint, DecodedCloseCurrency, DecodedCloseCurrency),
    (DecodedBurn, DecodedTakePair),
    (DecodedDecrease, DecodedTakePair),
    *((DecodedDecrease, *(DecodedMint,) * count, DecodedTakePair) for count in range(1, 9)),
    (DecodedIncrease, DecodedCloseCurrency, DecodedCloseCurrency),
    (DecodedIncrease, DecodedCloseCurrency, DecodedCloseCurrency, DecodedSweep),
    (DecodedMint, DecodedSettlePair),
    (DecodedMint, DecodedSettlePair, DecodedSweep),
}
_REPEATABLE = {
    (DecodedBurn, DecodedTakePair),
    (DecodedDecrease, DecodedTakePair),
    (DecodedIncrease, DecodedCloseCurrency, DecodedCloseCurrency),
}
"""Recipes that leave nothing open, so that the same of another position may follow."""
_MOST_TRANSFERS = 2


class PlainSwap(Struct, frozen=True):
    """The parts of a swap that enters nothing."""

    swap: DecodedSwapExactIn
    settle: DecodedSettle
    take: DecodedTake


class SwapAndEnter(Struct, frozen=True):
    """The parts of a swap whose proceeds enter a range."""

    swap: DecodedSwapExactIn
    settle: DecodedSettle
    take: DecodedTake
    transfers: tuple[DecodedPermit2Transfer, ...]
    enter: ModifyLiquidities
    mint: DecodedMint


def _form_faults(call: ModifyLiquidities, context: PolicyContext) -> Iterator[str]:
    """What is wrong with the form of a call to the PositionManager."""
    parts = parts_of(call.actions)
    shapes = {tuple(type(action) for action in part) for part in parts}
    if not shapes <= (_DIRECT if len(parts) == 1 else _REPEATABLE) or len(shapes) != 1:
        yield f"the actions {_names(call.actions)} are none of the known recipes"
        return
    changed = [getattr(part[0], "token_id", None) for part in parts]
    if len(set(changed)) != len(changed):
        yield "it changes a position twice"
    for part in parts:
        yield from _part_faults(ModifyLiquidities(part, call.deadline), context)


def _part_faults(call: ModifyLiquidities, context: PolicyContext) -> Iterator[str]:
    """Each position of a call is judged as if it were the only one."""
    pool = pool_of(call, context)
    if pool is None:
        yield "it names a position or a pool that the plan is not about"
        return
    pair = (pool.currency0, pool.currency1)
    if _currencies(call.actions) != pair:
        yield "it balances other currencies than the pool's"
    minted = [action.pool for action in call.actions if isinstance(action, DecodedMint)]
    if any(each != pool for each in minted):
        yield "it would open in another pool than the one it closes in"
    yield from _recipients(call.actions, {context.owner, SENDER})
    swept = [action.currency for action in call.actions if isinstance(action, DecodedSweep)]
    if swept and swept != [NATIVE]:
        yield "only what is left of the value sent may be swept"


def pool_of(call: ModifyLiquidities, context: PolicyContext) -> CalldataPool | None:
    """The pool of a call's first action, when it is one the plan is about."""
    first = call.actions[0]
    if isinstance(first, DecodedMint):
        return first.pool if first.pool in context.pools else None
    if isinstance(first, DecodedBurn | DecodedDecrease | DecodedIncrease):
        position = context.positions.get(v4_position(first.token_id))
        return None if position is None else key_of(position.pool.key)
    return None


def swap_and_enter(call: Execute) -> SwapAndEnter | None:
    """The recipe's parts, or None when the commands are not exactly those."""
    match call.commands:
        case (DecodedV4Swap(swapping), *between, DecodedPositionManagerCall(enter)):
            transfers = tuple(each for each in between if isinstance(each, DecodedPermit2Transfer))
        case _:
            return None
    if len(transfers) != len(between) or len(transfers) > _MOST_TRANSFERS:
        return None
    match swapping, enter.actions:
        case (
            (DecodedSwapExactIn() as swap, DecodedSettle() as settle, DecodedTake() as take),
            (
                DecodedMint() as mint,
                DecodedSettle(),
                DecodedSettle(),
                DecodedSweep(),
                DecodedSweep(),
            ),
        ):
            return SwapAndEnter(swap, settle, take, transfers, enter, mint)
    return None


def plain_swap(call: Execute) -> PlainSwap | None:
    """The recipe's parts, or None when the commands are not exactly those."""
    match call.commands:
        case (DecodedV4Swap((DecodedSwapExactIn() as swap, settle, take)),):
            if isinstance(settle, DecodedSettle) and isinstance(take, DecodedTake):
                return PlainSwap(swap, settle, take)
    return None


def _plain_swap_form(recipe: PlainSwap, context: PolicyContext) -> Iterator[str]:
    """What is wrong with the form of a swap that enters nothing."""
    pool = recipe.swap.pool
    if pool not in context.pools:
        yield "it names a pool that the plan is not about"
    pair = (pool.currency0, pool.currency1)
    sold, bought = pair if recipe.swap.zero_for_one else pair[::-1]
    if recipe.settle != DecodedSettle(sold, 0, payer_is_user=True):
        yield "the swap is not paid by the wallet in the currency sold"
    if recipe.take != DecodedTake(bought, context.owner, 0):
        yield "what the swap buys does not all go to the wallet"


def _router_form(recipe: SwapAndEnter, context: PolicyContext) -> Iterator[str]:
    """What is wrong with the form of a swap-and-enter."""
    manager = context.network.contracts.position_manager
    pool, swap = recipe.mint.pool, recipe.swap
    pair = (pool.currency0, pool.currency1)
    if pool not in context.pools or swap.pool not in context.pools:
        yield "it names a pool that the plan is not about"
    if (swap.pool.currency0, swap.pool.currency1) != pair:
        yield "it swaps other currencies than the pool's"
    sold, bought = pair if swap.zero_for_one else pair[::-1]
    if recipe.settle != DecodedSettle(sold, 0, payer_is_user=True):
        yield "the swap is not paid by the wallet in the currency sold"
    if recipe.take != DecodedTake(bought, manager, 0):
        yield "what the swap buys does not all go to the PositionManager"
    tokens = [transfer.token for transfer in recipe.transfers]
    if len(set(tokens)) != len(tokens) or not set(tokens) <= set(pair) - {NATIVE}:
        yield "it moves other tokens than the pool's, or one of them twice"
    if any(transfer.recipient != manager for transfer in recipe.transfers):
        yield "it moves tokens to another place than the PositionManager"
    settles = tuple(DecodedSettle(currency, 0, payer_is_user=False) for currency in pair)
    if recipe.enter.actions[1:3] != settles:
        yield "the position is not paid from what was moved there"
    if recipe.enter.actions[3:] != tuple(DecodedSweep(each, context.owner) for each in pair):
        yield "what is left is not all swept to the wallet"
    # Called through the router, "the sender" is the router itself.
    yield from _recipients((recipe.mint,), {context.owner})


def _recipients(actions: tuple[Action, ...], own: set[Address]) -> Iterator[str]:
    for action in actions:
        if isinstance(action, DecodedTakePair | DecodedSweep) and action.recipient not in own:
            yield f"it sends tokens to {action.recipient}, which is not the wallet"
        if isinstance(action, DecodedMint) and action.owner not in own:
            yield f"the new position would belong to {action.owner}, which is not the wallet"


def _currencies(actions: tuple[Action, ...]) -> tuple[Address, ...]:
    for action in actions:
        if isinstance(action, DecodedTakePair | DecodedSettlePair):
            return action.currency0, action.currency1
    return tuple(action.currency for action in actions if isinstance(action, DecodedCloseCurrency))


def _names(actions: tuple[Action, ...]) -> str:
    return ", ".join(name_of(action) for action in actions) or "(none)"


def direct_faults(call: ModifyLiquidities, value: int, context: PolicyContext) -> Iterator[str]:
    faults = [*_form_faults(call, context), *hook_data_faults(call.actions)]
    yield from faults
    yield from deadline_faults(call.deadline, context)
    if faults:
        return
    for action in call.actions:
        yield from amount_faults(action, context)
    swept = any(isinstance(action, DecodedSweep) for action in call.actions)
    if bool(value) != swept:
        yield "value is sent without being swept back, or swept without being sent"
    if value and value != _native_maximum(call.actions[0], context):
        yield f"it sends {value} wei along, which is not the most that may be taken"


def router_faults(call: Execute, value: int, context: PolicyContext) -> Iterator[str]:
    recipe, alone = swap_and_enter(call), plain_swap(call)
    yield from deadline_faults(call.deadline, context)
    if alone is not None:
        yield from _swap_alone_faults(alone, value, context)
        return
    if recipe is None:
        yield "the router's commands are neither a swap nor the swap-and-enter recipe"
        return
    faults = [*_router_form(recipe, context), *hook_data_faults((recipe.swap, recipe.mint))]
    yield from faults
    yield from deadline_faults(recipe.enter.deadline, context)
    if faults:
        return
    yield from swap_faults(sale_of(recipe.swap), recipe.mint.pool, context)
    quote = find_quote(sale_of(recipe.swap), context)
    moved = quote is not None and recipe.swap.pool == recipe.mint.pool
    yield from amount_faults(recipe.mint, context, quote[1] if quote and moved else None)
    yield from _funding_faults(recipe, value)


def _swap_alone_faults(recipe: PlainSwap, value: int, context: PolicyContext) -> Iterator[str]:
    faults = [*_plain_swap_form(recipe, context), *hook_data_faults((recipe.swap,))]
    yield from faults
    if faults:
        return
    swap = recipe.swap
    yield from swap_faults(sale_of(swap), swap.pool, context)
    yield from worth_faults(sale_of(swap), context)
    if value != (swap.amount_in if recipe.settle.currency == NATIVE else 0):
        yield f"it sends {value} wei along, which is not what the swap sells"


def _funding_faults(recipe: SwapAndEnter, value: int) -> Iterator[str]:
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
    pool: CalldataPool | None = None
    if isinstance(action, DecodedMint):
        pool = action.pool
    elif isinstance(action, DecodedIncrease):
        pool = key_of(context.positions[v4_position(action.token_id)].pool.key)
    if (
        pool is None
        or pool.currency0 != NATIVE
        or not isinstance(action, DecodedMint | DecodedIncrease)
    ):
        return 0
    return action.amount0_max


def pulls(
    call: ModifyLiquidities | Execute, context: PolicyContext
) -> Iterator[tuple[Address, int]]:
    """What it may move through Permit2."""
    if isinstance(call, ModifyLiquidities):
        for part in parts_of(call.actions):
            yield from _entering(part, context)
        return
    recipe, alone = swap_and_enter(call), plain_swap(call)
    if recipe is not None:
        yield recipe.settle.currency, recipe.swap.amount_in
        for transfer in recipe.transfers:
            yield transfer.token, transfer.amount
    if alone is not None:
        yield alone.settle.currency, alone.swap.amount_in


def _entering(actions: tuple[Action, ...], context: PolicyContext) -> Iterator[tuple[Address, int]]:
    first = actions[0] if actions else None
    # A mint that follows a burn is paid by it, and a compound by the fees: neither needs leave.
    if isinstance(first, DecodedMint):
        yield from _amounts(first.pool, first)
    elif isinstance(first, DecodedIncrease):
        position = context.positions.get(v4_position(first.token_id))
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
