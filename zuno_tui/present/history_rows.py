"""A history as rows for a spreadsheet: exact amounts, dollars that sum to the portfolio."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from fractions import Fraction
from typing import TYPE_CHECKING

from msgspec import Struct

from chain.base.quantity import Known, Quantity, Unknown
from chain.contracts.addresses import checksummed
from chain.tokens.pair import pair_of
from chain.tokens.token import decimal_text
from zuno_tui.present.words import fee_text

if TYPE_CHECKING:
    from chain.bookkeeping.ledger import LedgerEntry
    from chain.bookkeeping.results import StoryResult
    from chain.bookkeeping.wallet_history import WalletHistory
    from chain.tokens import Token
    from zuno_tui.present.whole_portfolio import PortfolioEntry


class HistoryChapter(Struct, frozen=True):
    """One wallet on one network."""

    entry: PortfolioEntry
    history: WalletHistory | None
    """None where it could not be read; the entry or `trouble` says why."""
    trouble: str = ""

    def story_of(self, position: int | None) -> str:
        """The name of the story a position belongs to; empty where it is of none."""
        found = (one.story for one in self.stories if position in one.story.token_ids)
        return next((one.name for one in found), "")

    @property
    def stories(self) -> tuple[StoryResult, ...]:
        return () if self.history is None else self.history.results


class HistoryFilter(Struct, frozen=True):
    """Which of it is told; times are Unix seconds, the last one not included."""

    position: int | None = None
    since: int | None = None
    until: int | None = None

    @property
    def tells_all(self) -> bool:
        return self == HistoryFilter()


class WholeHistory(Struct, frozen=True):
    chapters: tuple[HistoryChapter, ...]
    told: HistoryFilter = HistoryFilter()

    @property
    def whole(self) -> bool:
        return all(
            one.entry.whole and one.history is not None and not one.history.gaps
            for one in self.chapters
        )

    def results(self) -> Iterator[tuple[HistoryChapter, StoryResult]]:
        for chapter in self.chapters:
            for result in chapter.stories:
                if self.told.position in (None, *result.story.token_ids):
                    yield chapter, result


USD_PLACES = 6
_UNIT = 10**USD_PLACES


class HistoryRow(Struct, frozen=True):
    chapter: HistoryChapter
    entry: LedgerEntry
    usd: Fraction | None
    """Rounded so that all rows of a wallet on a network sum to what it is worth."""

    @property
    def story(self) -> str:
        return self.chapter.story_of(self.entry.position)

    @property
    def pool(self) -> str:
        return pool_words(self.chapter, self.entry.position)


def history_rows(whole: WholeHistory) -> Iterator[HistoryRow]:
    """Those that are to be told, wallet by wallet, oldest first."""
    for chapter in whole.chapters:
        for row in _rows(chapter):
            if _is_told(whole, row):
                yield row


def _rows(chapter: HistoryChapter) -> Iterator[HistoryRow]:
    exact = Fraction(0)
    told = 0
    for entry in () if chapter.history is None else chapter.history.entries:
        if isinstance(entry.usd, Unknown):
            yield HistoryRow(chapter, entry, None)
            continue
        # Each sum is rounded, not each part: the last of them is the whole, to the last place.
        exact += entry.usd.value
        rounded = round(exact * _UNIT)
        yield HistoryRow(chapter, entry, Fraction(rounded - told, _UNIT))
        told = rounded


def _is_told(whole: WholeHistory, row: HistoryRow) -> bool:
    told, entry = whole.told, row.entry
    if told.since is not None and entry.time < told.since:
        return False
    if told.until is not None and entry.time >= told.until:
        return False
    if told.position is None:
        return True
    stories = (one.story.token_ids for one in row.chapter.stories)
    story = next((one for one in stories if told.position in one), (told.position,))
    return entry.position in story


def pool_words(chapter: HistoryChapter, position: int | None) -> str:
    if chapter.history is None or position is None:
        return ""
    facts = chapter.history.facts
    life = next((one for one in facts.lives if one.identity.token_id == position), None)
    if life is None:
        return ""
    key = life.identity.pool_key
    tokens = facts.tokens[key.currency0], facts.tokens[key.currency1]
    prices = (one.sqrt_price for one in life.changes)
    price = next((one.value for one in prices if isinstance(one, Known)), 1 << 96)
    pair = pair_of(facts.network, *tokens, price)
    return f"{pair.name} {'dynamic' if key.has_dynamic_fee else fee_text(key.fee)}"


def exact_amount(amount: int, token: Token) -> str:
    """Whole tokens to the last unit; smallest units where its decimals are unknown."""
    return str(amount) if token.decimals is None else decimal_text(amount, token.decimals)


def dollars(value: Fraction | None) -> str:
    """With six decimals, empty where unknown."""
    if value is None:
        return ""
    scaled = round(value * _UNIT)
    whole, rest = divmod(abs(scaled), _UNIT)
    return f"{'-' if scaled < 0 else ''}{whole}.{rest:0{USD_PLACES}d}"


def price_text(price: Quantity[Fraction]) -> str:
    """Twelve significant digits, written out."""
    if isinstance(price, Unknown):
        return ""
    return f"{float(price.value):.12g}" if price.value >= 1 else f"{float(price.value):.15f}"


def price_source(price: Quantity[Fraction]) -> str:
    return f"unknown: {price.reason}" if isinstance(price, Unknown) else price.source


def moment_text(seconds: int) -> str:
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%d %H:%M:%S")


def wallet_address(chapter: HistoryChapter) -> str:
    return checksummed(chapter.entry.wallet)
