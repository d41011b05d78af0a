"""Whether allowances are exact and expire: an approval is judged by the steps that follow it."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from chain.contracts.networks import NATIVE
from chain.execution.decode.records import (
    DecodedIncrease,
    DecodedMint,
    Execute,
    ModifyLiquidities,
    Permit2Approval,
    TokenApproval,
)
from chain.execution.policy.shapes import plain_swap, swap_and_enter

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from chain.contracts.networks import Address
    from chain.execution.decode.records import Action, DecodedPoolKey, DecodedStep
    from chain.execution.policy.context import PolicyContext

Pulls = Counter[tuple["Address", "Address"]]
"""What steps may move out of the wallet, by token and spender."""


def pulls(steps: Sequence[DecodedStep], context: PolicyContext) -> Pulls:
    """All that the steps of a plan may move through Permit2."""
    total: Pulls = Counter()
    for step in steps:
        spender = step.transaction.to
        match step.call:
            case ModifyLiquidities(actions):
                for token, amount in _entering(actions, context):
                    total[token, spender] += amount
            case Execute() as call:
                recipe, alone = swap_and_enter(call), plain_swap(call)
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
