"""Positions that are one story, and what it came to: realised and still open, in dollars."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction
from itertools import pairwise
from types import MappingProxyType

from msgspec import Struct

from chain.base.units import DAY, HOUR, Known, Quantity, Unknown, combine
from chain.bookkeeping.facts import PositionLife, WalletFacts
from chain.bookkeeping.ledger import EntryKind, LedgerEntry, entry_value
from chain.contracts.networks import NATIVE
from chain.math.liquidity import Amounts
from chain.protocols.past import NOT_ADDED_UP, LiquidityChange
from chain.protocols.reference import PositionRef, position_label

YEAR = 365 * DAY


SOON_SECONDS = HOUR // 2
"""So soon after leaving a pair one comes back to it when the range alone is to be another."""


class PositionStory(Struct, frozen=True):
    lives: tuple[PositionLife, ...]
    """In the order in which they were opened."""

    @property
    def name(self) -> str:
        return " → ".join(position_label(life.identity.ref) for life in self.lives)

    @property
    def seconds(self) -> int:
        """From the first change to now, or to the last one where nothing is left."""
        times = [change.timestamp for life in self.lives for change in life.changes]
        held = [life.held.block.timestamp for life in self.lives if life.held is not None]
        return max((*times, *held), default=0) - min(times, default=0)

    @property
    def refs(self) -> tuple[PositionRef, ...]:
        return tuple(life.identity.ref for life in self.lives)


def stories(lives: Sequence[PositionLife], plans: Mapping[str, str]) -> tuple[PositionStory, ...]:
    """Each position in one story; `plans` tells by transaction which plan it was a step of."""
    ordered = sorted((life for life in lives if life.changes), key=_opened)
    successor: dict[PositionRef, PositionLife] = {}
    taken: set[PositionRef] = set()
    for life in ordered:
        if (following := _successor(life, ordered, taken, plans)) is not None:
            successor[life.identity.ref] = following
            taken.add(following.identity.ref)
    told = []
    for life in ordered:
        if life.identity.ref in taken:
            continue
        chain = [life]
        while (following := successor.get(chain[-1].identity.ref)) is not None:
            chain.append(following)
        told.append(PositionStory(tuple(chain)))
    # One that came from another wallet and was never changed since is a story of its own.
    return (*told, *(PositionStory((life,)) for life in lives if not life.changes))


def _successor(
    life: PositionLife,
    ordered: Sequence[PositionLife],
    taken: set[PositionRef],
    plans: Mapping[str, str],
) -> PositionLife | None:
    """The first opened after this one was left: by the same plan, or soon and in the same pair."""
    if sum(change.liquidity_delta for change in life.changes) != 0:
        return None
    left = life.changes[-1]
    plan = plans.get(left.place.transaction_hash)
    later = [
        other
        for other in ordered
        if other.identity.ref not in taken
        and other is not life
        and (other.changes[0].timestamp, other.changes[0].place.log_index)
        > (left.timestamp, left.place.log_index)
        and other.changes[0].timestamp >= left.timestamp
    ]
    for other in later:
        opened = other.changes[0].place.transaction_hash
        if plan is not None and plans.get(opened) == plan:
            return other
    return next(
        (
            other
            for other in later
            if _pair(other) == _pair(life)
            and other.changes[0].timestamp - left.timestamp <= SOON_SECONDS
        ),
        None,
    )


def _pair(life: PositionLife) -> tuple[str, str]:
    key = life.identity.pool_key
    return key.currency0, key.currency1


def _opened(life: PositionLife) -> tuple[int, int, int]:
    place = life.changes[0].place
    return life.changes[0].timestamp, place.block_number, place.log_index


# What was put in is the cost; taking a part of the liquidity out realises that part of it. Fees
# are realised when they are collected, gas when it is spent.
class StoryResult(Struct, frozen=True):
    """In US dollars, each part at the prices of its time."""

    story: PositionStory
    paid_in: Quantity[Fraction]
    """From the wallet; what went from one of its positions into the next is neither in nor out."""
    paid_out: Quantity[Fraction]
    fees: Quantity[Fraction]
    """Collected."""
    gas: Quantity[Fraction]
    held: Quantity[Fraction]
    """What is there now, uncollected fees included."""
    realised: Quantity[Fraction]
    unrealised: Quantity[Fraction]
    uncollected: Quantity[Fraction]
    swap_costs: Quantity[Fraction]
    """What the swaps on the way into a range paid less than they took, at the prices of then."""
    capital_seconds: Quantity[Fraction]
    """Dollars put in and not taken out, times the seconds they were there."""

    @property
    def result(self) -> Quantity[Fraction]:
        """Taken out, fees and what is there now, less put in, gas and swap costs."""
        gained = combine(Fraction.__add__, self.realised, self.unrealised)
        return combine(Fraction.__sub__, gained, self.swap_costs)

    @property
    def costs(self) -> Quantity[Fraction]:
        return combine(Fraction.__add__, self.gas, self.swap_costs)

    @property
    def fees_earned(self) -> Quantity[Fraction]:
        return combine(Fraction.__add__, self.fees, self.uncollected)

    @property
    def worth_now(self) -> Quantity[Fraction]:
        """Without uncollected fees, so that all parts sum to the result; with them where nobody
        can tell them from what was withdrawn."""
        if isinstance(self.uncollected, Unknown):
            return self.held
        return combine(Fraction.__sub__, self.held, self.uncollected)

    @property
    def per_year(self) -> Quantity[Fraction]:
        """The result as a share of the capital that was in it, a year of it."""
        begun = self.story.lives[0].changes
        if isinstance(self.capital_seconds, Known) and not self.capital_seconds.value:
            return Unknown("nothing was put in")
        if not begun or self.story.seconds < YEARLY_FROM:
            return Unknown("it is younger than 30 days")
        return combine(lambda gain, used: gain * YEAR / used, self.result, self.capital_seconds)


YEARLY_FROM = 30 * DAY
"""A rate of a year says nothing of a position that is younger."""


class _RunningAccount(Struct):
    """One position's account while its changes are gone through."""

    paid_in: Quantity[Fraction]
    paid_out: Quantity[Fraction]
    fees: Quantity[Fraction]
    gas: Quantity[Fraction]
    realised: Quantity[Fraction]
    cost: Quantity[Fraction]


def story_result(
    facts: WalletFacts,
    story: PositionStory,
    entries: Sequence[LedgerEntry] = (),
    plans: Mapping[str, str] = MappingProxyType({}),
    sharing: Mapping[str, int] = MappingProxyType({}),
) -> StoryResult:
    """`entries` is the ledger, which knows the swaps; `plans` as in `stories`.

    `sharing` tells of how many stories a transaction was: each bears its part of what it cost.
    """
    accounts = [_account(facts, life) for life in story.lives]
    held = [_held(facts, life) for life in story.lives]
    open_results = [
        combine(Fraction.__sub__, worth, account.cost)
        for account, worth in zip(accounts, held, strict=True)
    ]
    changed = _changed_by(story)
    own = changed | _planned_with(changed, plans)
    beside = _spent(entries, EntryKind.GAS, own - changed, sharing)
    rolled = _total(
        *(combine(min, left.paid_out, entered.paid_in) for left, entered in pairwise(accounts))
    )
    return StoryResult(
        story=story,
        paid_in=combine(_less, _total(*(account.paid_in for account in accounts)), rolled),
        paid_out=combine(_less, _total(*(account.paid_out for account in accounts)), rolled),
        fees=_total(*(account.fees for account in accounts)),
        gas=_total(beside, *(account.gas for account in accounts)),
        held=_total(*held),
        realised=combine(_less, _total(*(account.realised for account in accounts)), beside),
        unrealised=_total(*open_results),
        uncollected=_total(*(_held(facts, life, fees_alone=True) for life in story.lives)),
        swap_costs=_spent(entries, EntryKind.SWAP, own, sharing),
        capital_seconds=_total(*(_capital_seconds(facts, life) for life in story.lives)),
    )


def stories_sharing(told: Iterable[PositionStory], plans: Mapping[str, str]) -> Counter[str]:
    """Of how many stories each transaction was, with those of the same plan."""
    shared = Counter[str]()
    for story in told:
        changed = _changed_by(story)
        shared.update(changed | _planned_with(changed, plans))
    return shared


def _changed_by(story: PositionStory) -> set[str]:
    return {change.place.transaction_hash for life in story.lives for change in life.changes}


def _planned_with(transactions: set[str], plans: Mapping[str, str]) -> set[str]:
    """Those of the same plans: permissions, and swaps of their own."""
    planned = {plans[transaction] for transaction in transactions if transaction in plans}
    return {transaction for transaction, plan in plans.items() if plan in planned}


def _spent(
    entries: Sequence[LedgerEntry],
    kind: EntryKind,
    transactions: set[str],
    sharing: Mapping[str, int],
) -> Quantity[Fraction]:
    """What entries of these transactions took from the wallet, less what they brought."""
    moved = [
        _part(entry.usd, Fraction(1, sharing.get(entry.transaction, 1)))
        for entry in entries
        if entry.kind is kind and entry.transaction in transactions
    ]
    return _total(*moved).map(lambda gained: -gained)


def _capital_seconds(facts: WalletFacts, life: PositionLife) -> Quantity[Fraction]:
    """Up to now, or to the change with which it was closed."""
    total: Quantity[Fraction] = Known(Fraction(0), "ledger")
    for change in life.changes:
        end = life.changes[-1].timestamp if life.held is None else life.held.block.timestamp
        seconds = (end - change.timestamp) * (1 if change.liquidity_delta > 0 else -1)
        if change.liquidity_delta:
            value = _worth(facts, life, change, change.amounts)
            total = _total(total, _part(value, Fraction(seconds)))
    return total


_CAME = Unknown("it came from another wallet: its cost is unknown")
_LEFT = Unknown("it came from another wallet or left for one: its cost is unknown")


def _account(facts: WalletFacts, life: PositionLife) -> _RunningAccount:
    if life.left_out:
        why = NOT_ADDED_UP
        return _RunningAccount(why, why, why, why, why, why)
    nothing: Quantity[Fraction] = Known(Fraction(0), "ledger")
    cost = (_LEFT if life.held is None else _CAME) if life.given else nothing
    running = _RunningAccount(cost, nothing, nothing, nothing, cost, cost)
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
            entry_value(facts.tokens[token], amount, facts.price_then(token, block, life, change))
            for token, amount in pairs
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


def _held(
    facts: WalletFacts, life: PositionLife, *, fees_alone: bool = False
) -> Quantity[Fraction]:
    if life.held is None:
        return Known(Fraction(0), "nothing is left")
    snapshot, key = life.held, life.identity.pool_key
    if fees_alone and isinstance(snapshot.withdrawn, Unknown):
        return snapshot.withdrawn
    inside = (0, 0) if fees_alone else (snapshot.amount0, snapshot.amount1)
    amounts = (inside[0] + snapshot.fees0, inside[1] + snapshot.fees1)
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
    nothing = Known(Fraction(0), "ledger")
    return combine(lambda *values: sum(values, Fraction(0)), nothing, *parts)
