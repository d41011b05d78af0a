"""Every change of a position: in rows, in lines and as CSV."""

import csv
import io
from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import UTC, datetime
from fractions import Fraction
from typing import Literal, TypeAlias

from msgspec import Struct

from chain.base.units import Known, Quantity, Unknown, combine
from chain.bookkeeping.ledger import EntryKind, LedgerAccount, LedgerEntry
from chain.bookkeeping.results import YEAR, YEARLY_FROM, StoryResult
from chain.bookkeeping.wallet_history import WalletHistory
from chain.contracts.addresses import checksummed
from chain.prices.price import WorthUnit
from chain.protocols.reference import PositionRef, position_label, position_name
from chain.tokens import Token
from chain.tokens.pair import pair_of
from chain.tokens.token import decimal_text
from zuno_tui.present.output import Json, OutputColumn, table
from zuno_tui.present.portfolio import PortfolioEntry, wallet_words
from zuno_tui.present.position import KeyFigure, gain_tone
from zuno_tui.present.words import (
    UNKNOWN,
    fee_text,
    money,
    number,
    round_usd,
    short_amount,
    short_gain,
    signed_money,
    signed_percent,
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


def pool_words(chapter: HistoryChapter, position: PositionRef | None) -> str:
    if chapter.history is None or position is None:
        return ""
    facts = chapter.history.facts
    life = next((live for live in facts.lives if live.identity.ref == position), None)
    if life is None:
        return ""
    key = life.identity.pool_key
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
    return checksummed(chapter.entry.wallet)


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


_ROW_COLUMNS = (
    OutputColumn("TIME (UTC)"),
    OutputColumn("#", "right"),
    OutputColumn("WHAT"),
    OutputColumn("AMOUNT", "right"),
    OutputColumn("VALUE THEN", "right"),
)
_STORY_COLUMNS = (
    OutputColumn("POSITION"),
    OutputColumn("POOL"),
    OutputColumn("PUT IN", "right"),
    OutputColumn("OUT", "right"),
    OutputColumn("FEES", "right"),
    OutputColumn("NOW", "right"),
    OutputColumn("COSTS", "right"),
    OutputColumn("PROFIT", "right"),
    OutputColumn("A YEAR", "right"),
)
_PROFIT = (
    "profit = out + fees + now − put in − costs (network and swaps, since the first opening), "
    "each at the price of its time"
)
_WHAT = {
    EntryKind.MINT: "open",
    EntryKind.INCREASE: "add",
    EntryKind.DECREASE: "remove",
    EntryKind.GAS: "network cost",
    EntryKind.TRADED: "traded by others",
    EntryKind.LEFT_OUT: "logs missing",
    EntryKind.FEES: "fees to collect",
    EntryKind.ELSEWHERE: "other transfers",
    EntryKind.REVALUED: "price changes",
}
_BOTH_SIDES = (EntryKind.MINT, EntryKind.INCREASE, EntryKind.DECREASE)
_PLACES = 6
_USD = WorthUnit.USD
_NOTHING = Fraction(0)


def history_heading(whole: WholeHistory) -> tuple[str, ...]:
    return (_sum_words(whole), *_missing(whole))


def history_lines(whole: WholeHistory) -> tuple[str, ...]:
    """What it came to, and then what happened, a line for each thing that was done."""
    rows = list(_movement_cells(history_rows(whole)))
    results = list(_profit_cells(whole))
    return (
        *([*table(_STORY_COLUMNS, results), *_why_unknown(whole), _PROFIT, ""] if results else []),
        *(table(_ROW_COLUMNS, rows) if rows else ["Nothing happened."]),
    )


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


def _profit_cells(whole: WholeHistory) -> Iterator[tuple[str, ...]]:
    """Position by position through every move, then each pool with several, then all."""
    by_pool: dict[str, list[StoryResult]] = {}
    for chapter, result in whole.results():
        pool = pool_words(chapter, result.story.refs[-1])
        by_pool.setdefault(pool, []).append(result)
        yield (result.story.name, pool, *_result_cells([result]))
    for pool, several in by_pool.items():
        if len(several) > 1 and len(by_pool) > 1:
            yield (f"{len(several)} positions", pool, *_result_cells(several))
    every = [result for several in by_pool.values() for result in several]
    if len(every) > 1:
        unknown = sum(isinstance(result.result, Unknown) for result in every)
        yield (f"all but {unknown}" if unknown else "all", "", *_result_cells(every))


def _why_unknown(whole: WholeHistory) -> Iterator[str]:
    """`#27, 3:4: it came from another wallet: its cost is unknown`."""
    reasons: dict[str, list[str]] = {}
    for _, result in whole.results():
        if isinstance(result.result, Unknown):
            reasons.setdefault(result.result.reason, []).append(result.story.name)
    for reason, names in reasons.items():
        yield f"{', '.join(names)}: {reason}"


def _result_cells(results: Sequence[StoryResult]) -> tuple[str, ...]:
    """Of those whose result is known; of one alone as much as is."""
    known = [result for result in results if not isinstance(result.result, Unknown)]
    if not known:
        last = results[-1]
        told = (last.paid_in, last.paid_out, last.fees_earned, last.worth_now, last.costs)
        alone = len(results) == 1
        return (*(_rounded(part) if alone else UNKNOWN for part in told), UNKNOWN, "–")

    def summed(part: Callable[[StoryResult], Quantity[Fraction]]) -> Fraction:
        return sum(
            (value.value for result in known if isinstance(value := part(result), Known)), _NOTHING
        )

    sums = (
        summed(lambda one: one.paid_in),
        summed(lambda one: one.paid_out),
        summed(lambda one: one.fees_earned),
        summed(lambda one: one.worth_now),
        summed(lambda one: one.costs),
    )
    result, used = summed(lambda one: one.result), summed(lambda one: one.capital_seconds)
    old = known and all(result.story.seconds >= YEARLY_FROM for result in known)
    yearly = Known(result * YEAR / used, "") if old and used else None
    return (
        *(round_usd(float(part)) for part in sums),
        f"{'+' if result >= 0 else ''}{round_usd(float(result))}",
        "–" if yearly is None else signed_percent(yearly.value),
    )


def _rounded(part: Quantity[Fraction]) -> str:
    return UNKNOWN if isinstance(part, Unknown) else round_usd(float(part.value))


def _movement_cells(rows: Iterable[HistoryRow]) -> Iterator[tuple[str, ...]]:
    """Both tokens of one thing in one line; of what moves between two accounts, the wallet's."""
    told = (
        row
        for row in rows
        if row.entry.kind not in _BOTH_SIDES or row.entry.account is LedgerAccount.WALLET
    )
    groups: dict[tuple[int, str, str, PositionRef | None], list[HistoryRow]] = {}
    for row in told:
        entry = row.entry
        key = (entry.time, entry.transaction, entry.kind.value, entry.position)
        groups.setdefault(key, []).append(row)
    for together in groups.values():
        first = together[0].entry
        amounts = (
            short_amount(abs(row.entry.amount), row.entry.token) + f" {row.entry.token.label}"
            for row in together
            if row.entry.amount
        )
        values = [row.usd for row in together]
        yield (
            moment_text(first.time)[:-3],
            "" if first.position is None else position_name(first.position),
            _WHAT.get(first.kind, first.kind.value),
            " + ".join(amounts),
            UNKNOWN
            if None in values
            else signed_money(Known(sum((v or _NOTHING for v in values), _NOTHING), ""), _USD),
        )


def history_document(whole: WholeHistory) -> dict[str, Json]:
    rows = list(history_rows(whole))
    return {
        "unit": _USD.value,
        "whole": whole.whole,
        "total": round(sum(float(row.usd or 0) for row in rows), _PLACES),
        "portfolio": _portfolio_total(whole),
        "missing": list(_missing(whole)),
        "stories": [_story_document(*result) for result in whole.results()],
        "entries": [_row_document(row) for row in rows],
    }


def _sum_words(whole: WholeHistory) -> str:
    rows = list(history_rows(whole))
    if not whole.told.tells_all:
        return f"{len(rows)} entries in the part you asked for"
    total = sum((row.usd or _NOTHING for row in rows), _NOTHING)
    return f"{len(rows)} entries sum to {money(total, _USD)}, what is owned now"


def _missing(whole: WholeHistory) -> Iterator[str]:
    for chapter in whole.chapters:
        where = f"{wallet_words(chapter.entry)} on {chapter.entry.network.name}"
        for trouble in filter(None, (chapter.entry.trouble, chapter.trouble)):
            yield f"Not whole: {where} ({trouble})"
        if chapter.history is not None:
            yield from (f"Not whole: {where} ({gap})" for gap in chapter.history.gaps)
            unknown = sum(isinstance(entry.usd, Unknown) for entry in chapter.history.entries)
            if unknown:
                yield f"{where}: {unknown} entries have no price of their time"


def _portfolio_total(whole: WholeHistory) -> float:
    worths = (chapter.entry.worth for chapter in whole.chapters)
    return round(sum(float(worth.total) for worth in worths if worth is not None), _PLACES)


def _story_document(chapter: HistoryChapter, result: StoryResult) -> dict[str, Json]:
    return {
        "story": result.story.name,
        "positions": [position_name(ref) for ref in result.story.refs],
        "pool": pool_words(chapter, result.story.refs[-1]),
        "network": chapter.entry.network.name,
        "chainId": chapter.entry.network.chain_id,
        "wallet": chapter.entry.wallet,
        "paidIn": number(result.paid_in),
        "paidOut": number(result.paid_out),
        "fees": number(result.fees),
        "gas": number(result.gas),
        "swapCosts": number(result.swap_costs),
        "uncollected": number(result.uncollected),
        "perYear": number(result.per_year),
        "held": number(result.held),
        "realised": number(result.realised),
        "unrealised": number(result.unrealised),
        "profit": number(result.result),
        "unknown": result.result.reason if isinstance(result.result, Unknown) else None,
    }


def _row_document(row: HistoryRow) -> dict[str, Json]:
    entry, place = row.entry, row.chapter.entry
    return {
        "time": entry.time,
        "network": place.network.name,
        "chainId": place.network.chain_id,
        "wallet": place.wallet,
        "label": place.label or None,
        "kind": entry.kind.value,
        "account": entry.account.value,
        "position": None if entry.position is None else position_name(entry.position),
        "story": row.story or None,
        "token": entry.token.label,
        "address": entry.token.address,
        "decimals": entry.token.decimals,
        "amount": str(entry.amount),
        "price": number(entry.price),
        "priceSource": price_source(entry.price),
        "usd": None if row.usd is None else round(float(row.usd), _PLACES),
        "transaction": entry.transaction or None,
        "block": entry.block,
    }
