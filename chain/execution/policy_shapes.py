"""The few shapes a call may have: which actions, in which order, to whom.

Anything else is refused, however harmless each of its parts may look.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from chain.execution.decoding_records import (
    Burn,
    CloseCurrency,
    Decrease,
    Execute,
    Increase,
    Key,
    Mint,
    ModifyLiquidities,
    Permit2Transfer,
    PositionManagerCall,
    Settle,
    SettlePair,
    SwapExactIn,
    Sweep,
    Take,
    TakePair,
    V4Swap,
)
from chain.execution.parties import SENDER
from chain.execution.policy_context import key_of
from chain.networks import NATIVE

if TYPE_CHECKING:
    from collections.abc import Iterator

    from chain.execution.decoding_records import Action
    from chain.execution.policy_context import PolicyContext
    from chain.networks import Address

_DIRECT = {
    (Burn, Mint, CloseCurrency, CloseCurrency),
    (Burn, TakePair),
    (Decrease, TakePair),
    (Increase, CloseCurrency, CloseCurrency),
    (Increase, CloseCurrency, CloseCurrency, Sweep),
    (Mint, SettlePair),
    (Mint, SettlePair, Sweep),
}
_MOST_TRANSFERS = 2


@dataclass(frozen=True, slots=True)
class SwapAndEnter:
    """The parts of the one recipe that goes through the router."""

    swap: SwapExactIn
    settle: Settle
    take: Take
    transfers: tuple[Permit2Transfer, ...]
    enter: ModifyLiquidities
    mint: Mint


def direct_faults(call: ModifyLiquidities, context: PolicyContext) -> Iterator[str]:
    """What is wrong with the form of a call to the PositionManager."""
    shape = tuple(type(action) for action in call.actions)
    if shape not in _DIRECT:
        yield f"the actions {_names(call.actions)} are none of the known recipes"
        return
    pool = pool_of(call, context)
    if pool is None:
        yield "it names a position or a pool that the plan is not about"
        return
    pair = (pool.currency0, pool.currency1)
    if _currencies(call.actions) != pair:
        yield "it balances other currencies than the pool's"
    minted = [action.pool for action in call.actions if isinstance(action, Mint)]
    if any(each != pool for each in minted):
        yield "it would enter another pool than the one it leaves"
    yield from _recipients(call.actions, {context.owner, SENDER})
    swept = [action.currency for action in call.actions if isinstance(action, Sweep)]
    if swept and swept != [NATIVE]:
        yield "only what is left of the value sent may be swept"


def pool_of(call: ModifyLiquidities, context: PolicyContext) -> Key | None:
    """The pool of a call's first action, when it is one the plan is about."""
    first = call.actions[0]
    if isinstance(first, Mint):
        return first.pool if first.pool in context.pools else None
    if isinstance(first, Burn | Decrease | Increase):
        position = context.positions.get(first.token_id)
        return None if position is None else key_of(position.pool.key)
    return None


def swap_and_enter(call: Execute) -> SwapAndEnter | None:
    """The recipe's parts, or None when the commands are not exactly those."""
    match call.commands:
        case (V4Swap(swapping), *between, PositionManagerCall(enter)):
            transfers = tuple(each for each in between if isinstance(each, Permit2Transfer))
        case _:
            return None
    if len(transfers) != len(between) or len(transfers) > _MOST_TRANSFERS:
        return None
    match swapping, enter.actions:
        case (
            (SwapExactIn() as swap, Settle() as settle, Take() as take),
            (Mint() as mint, Settle(), Settle(), Sweep(), Sweep()),
        ):
            return SwapAndEnter(swap, settle, take, transfers, enter, mint)
    return None


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
    if recipe.settle != Settle(sold, 0, payer_is_user=True):
        yield "the swap is not paid by the wallet in the currency sold"
    if recipe.take != Take(bought, manager, 0):
        yield "what the swap buys does not all go to the PositionManager"
    tokens = [transfer.token for transfer in recipe.transfers]
    if len(set(tokens)) != len(tokens) or not set(tokens) <= set(pair) - {NATIVE}:
        yield "it moves other tokens than the pool's, or one of them twice"
    if any(transfer.recipient != manager for transfer in recipe.transfers):
        yield "it moves tokens to another place than the PositionManager"
    settles = tuple(Settle(currency, 0, payer_is_user=False) for currency in pair)
    if recipe.enter.actions[1:3] != settles:
        yield "the position is not paid from what was moved there"
    if recipe.enter.actions[3:] != tuple(Sweep(each, context.owner) for each in pair):
        yield "what is left is not all swept to the wallet"
    # Called through the router, "the sender" is the router itself.
    yield from _recipients((recipe.mint,), {context.owner})


def _recipients(actions: tuple[Action, ...], own: set[Address]) -> Iterator[str]:
    for action in actions:
        if isinstance(action, TakePair | Sweep) and action.recipient not in own:
            yield f"it sends tokens to {action.recipient}, which is not the wallet"
        if isinstance(action, Mint) and action.owner not in own:
            yield f"the new position would belong to {action.owner}, which is not the wallet"


def _currencies(actions: tuple[Action, ...]) -> tuple[Address, ...]:
    for action in actions:
        if isinstance(action, TakePair | SettlePair):
            return action.currency0, action.currency1
    return tuple(action.currency for action in actions if isinstance(action, CloseCurrency))


def _names(actions: tuple[Action, ...]) -> str:
    return ", ".join(type(action).__name__ for action in actions) or "(none)"
