"""The few shapes a call may have: which actions, in which order, to whom.

Anything else is refused, however harmless each of its parts may look.
"""

from collections.abc import Iterator, Mapping
from fractions import Fraction

from msgspec import Struct, field

from chain.base.units import COIN
from chain.contracts.networks import NATIVE, Address, Network
from chain.contracts.pool_key import PoolKey
from chain.execution.build.facts import PoolFacts, PositionFacts
from chain.execution.build.requests import QuotedSwap
from chain.execution.decode.parties import SENDER, parts_of
from chain.execution.decode.records import (
    Action,
    DecodedBurn,
    DecodedCloseCurrency,
    DecodedDecrease,
    DecodedIncrease,
    DecodedMint,
    DecodedPermit2Transfer,
    DecodedPoolKey,
    DecodedPositionManagerCall,
    DecodedSettle,
    DecodedSettlePair,
    DecodedSwapExactIn,
    DecodedSweep,
    DecodedTake,
    DecodedTakePair,
    DecodedV4Swap,
    Execute,
    ModifyLiquidities,
    name_of,
)

DEAREST_POOL_FEE = 50_000
"""Pips: a pool that takes more of every swap is not entered."""


class PolicyLimits(Struct, frozen=True):
    max_fee_per_gas: int
    gas: int = 2_000_000
    """Of one step, for each position it changes; a batch may take as much for each of its calls."""
    value: int = 100 * COIN
    """Of the chain's own coin sent along with one step."""
    slippage_bips: int = 100
    deadline_seconds: int = 15 * 60
    expiry_seconds: int = 30 * 60
    lp_fee_pips: int = DEAREST_POOL_FEE
    daily_notional: int | None = None
    """Micro-dollars put into ranges within a day; None is no limit."""


class PolicyContext(Struct, frozen=True):
    network: Network
    allowed_chain_ids: frozenset[int]
    owner: Address
    head_time: int
    nonce: int
    """Of the first step."""
    limits: PolicyLimits
    tokens: frozenset[Address]
    """The tokens of the pair, the only ones an allowance may be given of."""
    code_hashes: Mapping[Address, str]
    """As read now, of every contract a step calls or a hook that is entered."""
    pinned_code_hashes: Mapping[Address, str]
    pools: Mapping[DecodedPoolKey, PoolFacts]
    positions: Mapping[int, PositionFacts]
    """Those of the owner that the plan is about."""
    quotes: tuple[QuotedSwap, ...] = ()
    allowed_hooks: frozenset[Address] = frozenset()
    worth: Mapping[Address, Fraction] = field(default_factory=dict)
    """Micro-dollars for one unit of a token."""
    notional_today: int = 0
    drift_bips: int = 0
    """How far prices may have moved since the steps were built; none while they are built."""
    delegate: Address | None = None
    """Whose code the account runs now; None where it runs none."""


def key_of(pool: PoolKey) -> DecodedPoolKey:
    """A pool's key as the decoder reads it."""
    return DecodedPoolKey(*pool.values)


_DIRECT = {
    (DecodedBurn, DecodedMint, DecodedCloseCurrency, DecodedCloseCurrency),
    (DecodedBurn, DecodedTakePair),
    (DecodedDecrease, DecodedTakePair),
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


def direct_faults(call: ModifyLiquidities, context: PolicyContext) -> Iterator[str]:
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


def pool_of(call: ModifyLiquidities, context: PolicyContext) -> DecodedPoolKey | None:
    """The pool of a call's first action, when it is one the plan is about."""
    first = call.actions[0]
    if isinstance(first, DecodedMint):
        return first.pool if first.pool in context.pools else None
    if isinstance(first, DecodedBurn | DecodedDecrease | DecodedIncrease):
        position = context.positions.get(first.token_id)
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


def plain_swap_faults(recipe: PlainSwap, context: PolicyContext) -> Iterator[str]:
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


def router_faults(recipe: SwapAndEnter, context: PolicyContext) -> Iterator[str]:
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
