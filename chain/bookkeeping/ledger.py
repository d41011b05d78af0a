"""A wallet's ledger: its movements, then what closes it, so that it sums to what is owned now.

Each token's amounts, over the wallet and its positions, add up to the unit; the dollars, each at
the price of its time, add up to the present worth by the lines that say how prices changed.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fractions import Fraction
from typing import TYPE_CHECKING, NamedTuple

from msgspec.structs import replace

from chain.base.quantity import Known, Quantity, Unknown
from chain.bookkeeping.entry import (
    EntryKind,
    LedgerAccount,
    LedgerEntry,
    LedgerPlace,
    LedgerSubject,
    PricedToken,
    entry_value,
    ledger_entry,
)
from chain.contracts.networks import NATIVE, Address

if TYPE_CHECKING:
    from chain.bookkeeping.lineage import PositionLife, WalletFacts
    from chain.bookkeeping.transactions import SentTransaction
    from chain.positions.circumstances import LiquidityChange

_IN_WALLET = LedgerSubject(LedgerAccount.WALLET, None)


class _Balance(NamedTuple):
    amount: int
    usd: Fraction


def ledger_of(facts: WalletFacts) -> tuple[LedgerEntry, ...]:
    """Everything that moved, oldest first, and then what closes it."""
    lives = (one for life in facts.lives for one in _life_entries(facts, life))
    own = (one for one in facts.transactions.values() if one.sender == facts.owner)
    sent = (entry for one in own for entry in _sent_entries(facts, one))
    moved = sorted((*lives, *sent), key=lambda one: (one.time, one.block, one.transaction))
    closing = (one for life in facts.lives for one in _life_closing(facts, life, moved))
    return (*moved, *closing, *_wallet_closing(facts, moved))


def _life_entries(facts: WalletFacts, life: PositionLife) -> Iterator[LedgerEntry]:
    key = life.identity.pool_key
    inside = LedgerSubject(LedgerAccount.POSITION, life.identity.token_id)
    outside = LedgerSubject(LedgerAccount.WALLET, life.identity.token_id)
    for index, change in enumerate(life.changes):
        place = _place(change)
        own = facts.is_own(place.transaction)
        kind = _kind(index, change)
        sign = 1 if change.liquidity_delta > 0 else -1
        for side, address in enumerate((key.currency0, key.currency1)):
            price = facts.price_then(address, place.block, life, change)
            priced = PricedToken(facts.tokens[address], price)
            if amount := sign * _side(change.amounts, side):
                yield ledger_entry(place, kind, inside, priced, amount)
                if own:
                    yield ledger_entry(place, kind, outside, priced, -amount)
            if own and (fees := _side(change.fees, side)):
                yield ledger_entry(place, EntryKind.COLLECT, outside, priced, fees)


def _sent_entries(facts: WalletFacts, sent: SentTransaction) -> Iterator[LedgerEntry]:
    place = LedgerPlace(sent.time, sent.block, sent.hash)

    def entry(kind: EntryKind, address: Address, amount: int) -> LedgerEntry:
        price = facts.price_then(address, sent.block, None, None)
        return ledger_entry(
            place, kind, _IN_WALLET, PricedToken(facts.tokens[address], price), amount
        )

    for swap in sent.swaps:
        key = facts.pools.get(swap.pool_id)
        if key is not None:
            yield entry(EntryKind.SWAP, key.currency0, swap.amount0)
            yield entry(EntryKind.SWAP, key.currency1, swap.amount1)
    if sent.wrapped and facts.network.wrapped_native is not None:
        yield entry(EntryKind.WRAP, NATIVE, -sent.wrapped)
        yield entry(EntryKind.WRAP, facts.network.wrapped_native, sent.wrapped)
    if isinstance(sent.cost, Known):
        yield entry(EntryKind.GAS, NATIVE, -sent.cost.value)


def _life_closing(
    facts: WalletFacts, life: PositionLife, moved: Sequence[LedgerEntry]
) -> Iterator[LedgerEntry]:
    """What trades made of it, what it earned, and what prices did to it."""
    subject = LedgerSubject(LedgerAccount.POSITION, life.identity.token_id)
    last = life.changes[-1] if life.held is None and life.changes else None
    place = _now(facts) if last is None else _place(last)._replace(transaction="")
    kind = EntryKind.TRANSFERRED if life.given else EntryKind.TRADED
    mine = [one for one in moved if (one.account, one.position) == subject]
    key = life.identity.pool_key
    for side, address in enumerate((key.currency0, key.currency1)):
        price = (
            facts.price_now(address)
            if last is None
            else facts.price_then(address, place.block, life, last)
        )
        held, fees = _held(life, side)
        before = _balance(mine, address)
        gains = ((kind, held - before.amount), (EntryKind.FEES, fees))
        yield from _closing(
            place, subject, PricedToken(facts.tokens[address], price), before, gains
        )


def _wallet_closing(facts: WalletFacts, moved: Sequence[LedgerEntry]) -> Iterator[LedgerEntry]:
    """What came or left by other ways, and what prices did to what lies there."""
    idle = {one.token.address: one.amount for one in facts.worth.idle}
    mine = [one for one in moved if one.account is LedgerAccount.WALLET]
    for address in dict.fromkeys((*idle, *(one.token.address for one in mine))):
        present = idle.get(address, Known(0, "balanceOf"))
        # A balance that nobody tells is in no sum: then nothing of the token is.
        owned = 0 if isinstance(present, Unknown) else present.value
        before = _balance(mine, address)
        priced = PricedToken(facts.tokens[address], facts.price_now(address))
        gains = ((EntryKind.ELSEWHERE, owned - before.amount),)
        yield from _closing(_now(facts), _IN_WALLET, priced, before, gains)


def _closing(
    place: LedgerPlace,
    subject: LedgerSubject,
    priced: PricedToken,
    before: _Balance,
    gains: Sequence[tuple[EntryKind, int]],
) -> Iterator[LedgerEntry]:
    amount, usd = before
    for kind, units in gains:
        if units:
            entry = ledger_entry(place, kind, subject, priced, units)
            amount, usd = amount + units, usd + _known(entry.usd)
            yield entry
    change = _known(entry_value(priced.token, amount, priced.price)) - usd
    if change:
        entry = ledger_entry(place, EntryKind.REVALUED, subject, priced, 0)
        yield replace(entry, usd=Known(change, "prices that changed", place.block))


def _balance(entries: Sequence[LedgerEntry], address: Address) -> _Balance:
    mine = [one for one in entries if one.token.address == address]
    usd = sum((_known(one.usd) for one in mine), Fraction(0))
    return _Balance(sum(one.amount for one in mine), usd)


def _known(value: Quantity[Fraction]) -> Fraction:
    """What has no price is in no sum."""
    return value.value if isinstance(value, Known) else Fraction(0)


def _side(amounts: Quantity[tuple[int, int]], side: int) -> int:
    return 0 if isinstance(amounts, Unknown) else amounts.value[side]


def _held(life: PositionLife, side: int) -> tuple[int, int]:
    if life.held is None:
        return 0, 0
    return ((life.held.amount0, life.held.fees0), (life.held.amount1, life.held.fees1))[side]


def _kind(index: int, change: LiquidityChange) -> EntryKind:
    if change.liquidity_delta > 0:
        return EntryKind.INCREASE if index else EntryKind.MINT
    return EntryKind.DECREASE


def _place(change: LiquidityChange) -> LedgerPlace:
    where = change.place
    return LedgerPlace(change.timestamp, where.block_number, where.transaction_hash)


def _now(facts: WalletFacts) -> LedgerPlace:
    block = facts.worth.overview.wallet.block
    return LedgerPlace(block.timestamp, block.number, "")
