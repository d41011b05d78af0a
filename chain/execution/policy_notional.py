"""What a plan puts at stake, held against the limit of the day."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING, NamedTuple

from chain.execution.decoding_records import Execute, Increase, Mint, ModifyLiquidities
from chain.execution.policy_shapes import swap_and_enter

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from chain.execution.decoding_records import Action, Call, DecodedStep
    from chain.execution.policy_context import PolicyContext
    from chain.networks import Address


class Notional(NamedTuple):
    known: Fraction
    """Micro-dollars that go into ranges, counted at the most the steps may take."""
    unpriced: tuple[Address, ...]
    """Tokens of it whose worth nobody knows."""


def notional(steps: Sequence[DecodedStep], context: PolicyContext) -> Notional:
    """What the steps put into ranges; what they take out is never limited."""
    total = Fraction(0)
    unpriced: dict[Address, None] = {}
    for token, amount in _entered(steps, context):
        price = context.worth.get(token)
        if price is None:
            unpriced[token] = None
        else:
            total += price * amount
    return Notional(total, tuple(unpriced))


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


def _entered(steps: Sequence[DecodedStep], context: PolicyContext) -> Iterator[tuple[Address, int]]:
    for step in steps:
        for action in _all_actions(step.call):
            match action:
                case Mint(pool, _, _, _, most0, most1):
                    yield from ((pool.currency0, most0), (pool.currency1, most1))
                case Increase(token_id, _, most0, most1) if token_id in context.positions:
                    key = context.positions[token_id].pool.key
                    yield from ((key.currency0, most0), (key.currency1, most1))
                case _:
                    pass


def _all_actions(call: Call) -> tuple[Action, ...]:
    if isinstance(call, ModifyLiquidities):
        return call.actions
    if isinstance(call, Execute):
        recipe = swap_and_enter(call)
        return () if recipe is None else recipe.enter.actions
    return ()
