"""Permissions as steps of their own: exact, expiring, and only where enough is not there yet."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from chain import actions
from chain.execution.building_facts import SpenderAllowance, TokenAllowances
from chain.execution.recipes import Recipe

if TYPE_CHECKING:
    from collections.abc import Iterator

    from chain.execution.building_facts import ChainFacts
    from chain.networks import Address

EXPIRY_SECONDS = 30 * 60

_NONE = SpenderAllowance(0, 0)


@dataclass(frozen=True, slots=True)
class Grant:
    """A permission that is there once the approvals are included, and what may be left of it."""

    token: Address
    spender: Address
    amount: int
    expiration: int


def approvals(recipe: Recipe, facts: ChainFacts) -> Iterator[Recipe]:
    """The steps without which the recipe may not move what it needs."""
    for token, amount in recipe.pulled:
        there = facts.allowances.get(token, TokenAllowances())
        if there.to_permit2 < amount:
            # Some tokens refuse to change an allowance that is not zero.
            if there.to_permit2:
                yield _token_approval("reset allowance", token, 0, facts)
            yield _token_approval("allow Permit2", token, amount, facts)
        if not _suffices(there.through_permit2.get(recipe.to, _NONE), amount, facts.deadline):
            data = actions.approve_through_permit2(
                token, recipe.to, amount, facts.head_time + EXPIRY_SECONDS
            )
            yield Recipe("allow through Permit2", facts.network.contracts.permit2, data)


def grants(recipe: Recipe, facts: ChainFacts) -> Iterator[Grant]:
    """What the recipe's contract may move when its turn comes."""
    for token, amount in recipe.pulled:
        there = facts.allowances.get(token, TokenAllowances()).through_permit2.get(recipe.to, _NONE)
        if _suffices(there, amount, facts.deadline):
            yield Grant(token, recipe.to, there.amount, there.expiration)
        else:
            yield Grant(token, recipe.to, amount, facts.head_time + EXPIRY_SECONDS)


def _suffices(there: SpenderAllowance, amount: int, deadline: int) -> bool:
    return there.amount >= amount and there.expiration >= deadline


def _token_approval(step: str, token: Address, amount: int, facts: ChainFacts) -> Recipe:
    data = actions.approve_token(facts.network.contracts.permit2, amount)
    return Recipe(step, token, data)
