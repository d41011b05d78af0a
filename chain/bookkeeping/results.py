"""What a story of positions came to: realised and still open, in dollars of their times.

What was put in is the cost; taking a part of the liquidity out realises that part of it. Fees are
realised when they are collected, gas when it is spent.
"""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING

from msgspec import Struct

from chain.base.quantity import Known, Quantity, Unknown, combine
from chain.bookkeeping.entry import entry_value
from chain.contracts.networks import NATIVE

if TYPE_CHECKING:
    from chain.bookkeeping.lineage import PositionLife, PositionStory, WalletFacts
    from chain.math.liquidity import Amounts
    from chain.positions.circumstances import LiquidityChange


class StoryResult(Struct, frozen=True):
    """In US dollars, each part at the prices of its time."""

    story: PositionStory
    paid_in: Quantity[Fraction]
    paid_out: Quantity[Fraction]
    fees: Quantity[Fraction]
    """Collected."""
    gas: Quantity[Fraction]
    held: Quantity[Fraction]
    """What is there now, uncollected fees included."""
    realised: Quantity[Fraction]
    unrealised: Quantity[Fraction]

    @property
    def result(self) -> Quantity[Fraction]:
        return combine(Fraction.__add__, self.realised, self.unrealised)


class _Running(Struct):
    """One position's account while its changes are gone through."""

    paid_in: Quantity[Fraction]
    paid_out: Quantity[Fraction]
    fees: Quantity[Fraction]
    gas: Quantity[Fraction]
    realised: Quantity[Fraction]
    cost: Quantity[Fraction]


def story_result(facts: WalletFacts, story: PositionStory) -> StoryResult:
    accounts = [_account(facts, life) for life in story.lives]
    held = [_held(facts, life) for life in story.lives]
    open_results = [
        combine(Fraction.__sub__, worth, one.cost)
        for one, worth in zip(accounts, held, strict=True)
    ]
    return StoryResult(
        story=story,
        paid_in=_total(*(one.paid_in for one in accounts)),
        paid_out=_total(*(one.paid_out for one in accounts)),
        fees=_total(*(one.fees for one in accounts)),
        gas=_total(*(one.gas for one in accounts)),
        held=_total(*held),
        realised=_total(*(one.realised for one in accounts)),
        unrealised=_total(*open_results),
    )


def _account(facts: WalletFacts, life: PositionLife) -> _Running:
    if life.given:
        reason = Unknown("it was given from wallet to wallet, and its worth then is not known")
        return _Running(reason, reason, reason, reason, reason, reason)
    nothing = Known(Fraction(0), "ledger")
    running = _Running(nothing, nothing, nothing, nothing, nothing, nothing)
    liquidity = 0
    for change in life.changes:
        value = _worth(facts, life, change, change.amounts)
        fees = _worth(facts, life, change, change.fees)
        gas = _gas(facts, life, change)
        if change.liquidity_delta > 0:
            running.paid_in = _total(running.paid_in, value)
            running.cost = _total(running.cost, value)
        elif change.liquidity_delta < 0:
            share = Fraction(-change.liquidity_delta, liquidity or -change.liquidity_delta)
            part = _part(running.cost, share)
            running.paid_out = _total(running.paid_out, value)
            running.realised = combine(_less, _total(running.realised, value), part)
            running.cost = combine(_less, running.cost, part)
        running.fees = _total(running.fees, fees)
        running.gas = _total(running.gas, gas)
        running.realised = combine(_less, _total(running.realised, fees), gas)
        liquidity += change.liquidity_delta
    return running


def _worth(
    facts: WalletFacts, life: PositionLife, change: LiquidityChange, amounts: Quantity[Amounts]
) -> Quantity[Fraction]:
    if isinstance(amounts, Unknown):
        return amounts
    key, block = life.identity.pool_key, change.place.block_number
    pairs = zip((key.currency0, key.currency1), amounts.value, strict=True)
    return _total(
        *(
            entry_value(facts.tokens[one], amount, facts.price_then(one, block, life, change))
            for one, amount in pairs
        )
    )


def _gas(facts: WalletFacts, life: PositionLife, change: LiquidityChange) -> Quantity[Fraction]:
    """This position's part of the transaction's cost, where the wallet itself paid it."""
    if not facts.is_own(change.place.transaction_hash):
        return Known(Fraction(0), "paid by another")
    if isinstance(change.gas, Unknown):
        return change.gas
    price = facts.price_then(NATIVE, change.place.block_number, life, change)
    return entry_value(facts.tokens[NATIVE], change.gas.value, price)


def _held(facts: WalletFacts, life: PositionLife) -> Quantity[Fraction]:
    if life.held is None:
        return Known(Fraction(0), "nothing is left")
    one, key = life.held, life.identity.pool_key
    amounts = (one.amount0 + one.fees0, one.amount1 + one.fees1)
    return _total(
        *(
            entry_value(facts.tokens[address], amount, facts.price_now(address))
            for address, amount in zip((key.currency0, key.currency1), amounts, strict=True)
        )
    )


def _part(whole: Quantity[Fraction], share: Fraction) -> Quantity[Fraction]:
    return whole.map(lambda value: value * share)


def _less(one: Fraction, other: Fraction) -> Fraction:
    return one - other


def _total(*parts: Quantity[Fraction]) -> Quantity[Fraction]:
    return combine(lambda *values: sum(values, Fraction(0)), *parts)
