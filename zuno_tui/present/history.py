"""Every change of a position: in rows, in lines and as CSV."""

import csv
import io
from collections.abc import Iterable, Iterator, Sequence
from datetime import UTC, datetime
from fractions import Fraction
from typing import Literal, TypeAlias

from msgspec import Struct

from chain.base.units import Known, Quantity, Unknown, combine, signed_percent
from chain.bookkeeping.facts import PositionLife
from chain.bookkeeping.ledger import EntryKind, LedgerAccount, LedgerEntry
from chain.bookkeeping.results import StoryResult
from chain.bookkeeping.wallet_history import WalletHistory
from chain.contracts.addresses import checksum
from chain.contracts.pool_key import PoolKey
from chain.prices.price import WorthUnit
from chain.protocols.reference import PositionRef, position_label, position_name
from chain.tokens import Token
from chain.tokens.pair import pair_of
from chain.tokens.token import decimal_text
from zuno_tui.present.portfolio import PortfolioEntry
from zuno_tui.present.position import KeyFigure, gain_tone
from zuno_tui.present.words import (
    UNKNOWN,
    fee_text,
    money,
    short_gain,
    worth,
)


class HistoryChapter(Struct, frozen=True):
    """One wallet on one network."""

    entry: PortfolioEntry
    history: WalletHistory | None
    """None where it could not be read; the entry or `trouble` says why."""
    trouble: str = ""

    def story_of(self, position: PositionRef | None) -> str:
        """The name of the story a position belongs to; empty where it is of none."""
        found = (story.story for story in self.stories if position in story.story.refs)
        return next((story.name for story in found), "")

    @property
    def stories(self) -> tuple[StoryResult, ...]:
        return () if self.history is None else self.history.results


class HistoryFilter(Struct, frozen=True):
    """Which of it is told; times are Unix seconds, the last one not included."""

    position: PositionRef | None = None
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
            chapter.entry.whole and chapter.history is not None and not chapter.history.gaps
            for chapter in self.chapters
        )

    def results(self) -> Iterator[tuple[HistoryChapter, StoryResult]]:
        for chapter in self.chapters:
            for result in chapter.stories:
                if self.told.position in (None, *result.story.refs):
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
    stories = (story.story.refs for story in row.chapter.stories)
    story = next((story for story in stories if told.position in story), (told.position,))
    return entry.position in story


def _life_of(chapter: HistoryChapter, position: PositionRef | None) -> PositionLife | None:
    if chapter.history is None or position is None:
        return None
    lives = chapter.history.facts.lives
    return next((live for live in lives if live.identity.ref == position), None)


def pool_of(chapter: HistoryChapter, position: PositionRef | None) -> PoolKey | None:
    life = _life_of(chapter, position)
    return None if life is None else life.identity.pool_key


def pool_words(chapter: HistoryChapter, position: PositionRef | None) -> str:
    life = _life_of(chapter, position)
    if chapter.history is None or life is None:
        return ""
    facts, key = chapter.history.facts, life.identity.pool_key
    tokens = facts.tokens[key.currency0], facts.tokens[key.currency1]
    prices = (change.sqrt_price for change in life.changes)
    price = next((price.value for price in prices if isinstance(price, Known)), 1 << 96)
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
    return checksum(chapter.entry.wallet)


CsvFormat: TypeAlias = Literal["csv", "koinly", "cointracking"]

LEDGER_COLUMNS = (
    "date",
    "network",
    "chain_id",
    "wallet",
    "label",
    "kind",
    "account",
    "position",
    "story",
    "pool",
    "token",
    "token_address",
    "amount",
    "price_usd",
    "price_source",
    "usd",
    "transaction",
    "block",
)
KOINLY_COLUMNS = (
    "Date",
    "Sent Amount",
    "Sent Currency",
    "Received Amount",
    "Received Currency",
    "Fee Amount",
    "Fee Currency",
    "Net Worth Amount",
    "Net Worth Currency",
    "Label",
    "Description",
    "TxHash",
)
COINTRACKING_COLUMNS = (
    "Type",
    "Buy Amount",
    "Buy Currency",
    "Sell Amount",
    "Sell Currency",
    "Fee",
    "Fee Currency",
    "Exchange",
    "Trade-Group",
    "Comment",
    "Date",
    "Tx-ID",
)
_FORMULA_STARTS = ("=", "+", "-", "@", "\t", "\r")
# Koinly sets its tags for liquidity itself and takes none, and its pool tags are not for liquidity.
_KOINLY_LABELS = {EntryKind.COLLECT: "reward", EntryKind.WRAP: "swap", EntryKind.GAS: "cost"}
_COINTRACKING_TYPES = {
    EntryKind.MINT: "Expense (non taxable)",
    EntryKind.INCREASE: "Expense (non taxable)",
    EntryKind.DECREASE: "Income (non taxable)",
    EntryKind.COLLECT: "Reward / Bonus",
    EntryKind.SWAP: "Trade",
    EntryKind.WRAP: "Swap (non taxable)",
    EntryKind.GAS: "Other Fee",
}
_EXCHANGED = (EntryKind.SWAP, EntryKind.WRAP)


def history_csv(whole: WholeHistory, form: CsvFormat) -> str:
    rows = history_rows(whole)
    if form == "csv":
        return _text(LEDGER_COLUMNS, map(_ledger_cells, rows))
    moved = _movements(row for row in rows if row.entry.account is LedgerAccount.WALLET)
    if form == "koinly":
        return _text(KOINLY_COLUMNS, map(_koinly_cells, moved))
    return _text(COINTRACKING_COLUMNS, map(_cointracking_cells, moved))


def harmless(text: str) -> str:
    """A cell of somebody else's words, which no spreadsheet takes for a formula."""
    return f"'{text}" if text.startswith(_FORMULA_STARTS) else text


def _text(columns: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    written = io.StringIO()
    writer = csv.writer(written)
    writer.writerow(columns)
    writer.writerows(rows)
    return written.getvalue()


def _ledger_cells(row: HistoryRow) -> tuple[str, ...]:
    entry, place = row.entry, row.chapter.entry
    return (
        moment_text(entry.time),
        place.network.name,
        str(place.network.chain_id),
        wallet_address(row.chapter),
        harmless(place.label),
        entry.kind.value,
        entry.account.value,
        "" if entry.position is None else position_name(entry.position),
        row.story,
        harmless(row.pool),
        harmless(entry.token.label),
        entry.token.address,
        exact_amount(entry.amount, entry.token),
        price_text(entry.price),
        harmless(price_source(entry.price)),
        dollars(row.usd),
        entry.transaction,
        str(entry.block),
    )


def _movements(rows: Iterable[HistoryRow]) -> Iterator[tuple[HistoryRow, ...]]:
    """What a tax program takes as one: both sides of an exchange, everything else alone."""
    waiting: HistoryRow | None = None
    for row in rows:
        if not row.entry.transaction:
            continue
        if row.entry.kind not in _EXCHANGED:
            yield (row,)
        elif waiting is None:
            waiting = row
        else:
            yield waiting, row
            waiting = None


def _sides(movement: tuple[HistoryRow, ...]) -> tuple[HistoryRow | None, HistoryRow | None]:
    """What left the wallet, and what came."""
    left = next((row for row in movement if row.entry.amount < 0), None)
    came = next((row for row in movement if row.entry.amount > 0), None)
    return left, came


def _amount(row: HistoryRow | None) -> tuple[str, str]:
    if row is None:
        return "", ""
    entry = row.entry
    return exact_amount(abs(entry.amount), entry.token), harmless(entry.token.label)


def _koinly_cells(movement: tuple[HistoryRow, ...]) -> tuple[str, ...]:
    first = movement[0]
    left, came = _sides(movement)
    valued = next((row for row in (left, came) if row is not None and row.usd is not None), None)
    worth = None if valued is None or valued.usd is None else abs(valued.usd)
    return (
        f"{moment_text(first.entry.time)} UTC",
        *_amount(left),
        *_amount(came),
        "",
        "",
        dollars(worth),
        "" if worth is None else "USD",
        _KOINLY_LABELS.get(first.entry.kind, ""),
        _description(first),
        first.entry.transaction,
    )


def _cointracking_cells(movement: tuple[HistoryRow, ...]) -> tuple[str, ...]:
    first = movement[0]
    left, came = _sides(movement)
    return (
        _COINTRACKING_TYPES[first.entry.kind],
        *_amount(came),
        *_amount(left),
        "",
        "",
        f"Uniswap v4 {first.chapter.entry.network.name}",
        first.story,
        _description(first),
        moment_text(first.entry.time),
        first.entry.transaction,
    )


def _description(row: HistoryRow) -> str:
    entry = row.entry
    about = "" if entry.position is None else f" {position_label(entry.position)} {row.pool}"
    wallet = row.chapter.entry.label or wallet_address(row.chapter)
    return harmless(f"{entry.kind.value}{about} of {wallet} on {row.chapter.entry.network.name}")


_NOTHING = Fraction(0)


def profit_figures(
    result: StoryResult, against_holding: Quantity[Fraction]
) -> tuple[KeyFigure, ...]:
    """The same on a position's page; what is unknown says why.

    Of a position that was never moved also why its result is another than that against holding.
    """
    if isinstance(result.result, Unknown):
        return (
            KeyFigure("now + fees", worth(result.held, WorthUnit.USD)),
            KeyFigure("profit since entry", f"{UNKNOWN}: {result.result.reason}", "dim"),
        )
    unit, yearly = WorthUnit.USD, result.per_year
    put_in, came_out, now, costs = (
        _cents(part)
        for part in (
            result.paid_in,
            combine(Fraction.__add__, result.paid_out, result.fees),
            result.held,
            result.costs,
        )
    )
    # Of the parts as they are shown, which a reader adds up.
    whole = came_out + now - put_in - costs
    told: tuple[KeyFigure, ...] = (
        KeyFigure("put in", money(put_in, unit)),
        KeyFigure("came out", money(came_out, unit)),
        KeyFigure("now + fees", money(now, unit)),
        KeyFigure("costs", money(costs, unit)),
        KeyFigure("profit", short_gain(Known(whole, ""), unit), gain_tone(Known(whole, ""))),
    )
    if isinstance(yearly, Known):
        told = (*told, KeyFigure("a year", signed_percent(yearly.value)))
    if len(result.story.refs) > 1 or isinstance(against_holding, Unknown):
        return (KeyFigure("profit", result.story.name), *told)
    prices = Known(whole - _cents(against_holding), "")
    return (
        *told,
        KeyFigure("= vs holding", short_gain(against_holding, unit)),
        KeyFigure("+ token prices", short_gain(prices, unit), gain_tone(prices)),
    )


def _cents(value: Quantity[Fraction]) -> Fraction:
    """Nothing where it is unknown: then the result is, too."""
    return _NOTHING if isinstance(value, Unknown) else Fraction(round(100 * value.value), 100)
