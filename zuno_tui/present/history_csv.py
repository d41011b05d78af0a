"""A history as CSV: our own ledger, or the columns that Koinly and CoinTracking import."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Iterator, Sequence
from typing import Literal, TypeAlias

from chain.bookkeeping.ledger import EntryKind, LedgerAccount
from zuno_tui.present.history_rows import (
    HistoryRow,
    WholeHistory,
    dollars,
    exact_amount,
    history_rows,
    moment_text,
    price_source,
    price_text,
    wallet_address,
)

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
_KOINLY_LABELS = {
    EntryKind.COLLECT: "reward",
    EntryKind.WRAP: "swap",
    EntryKind.GAS: "cost",
}
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
        "" if entry.position is None else str(entry.position),
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
    left = next((one for one in movement if one.entry.amount < 0), None)
    came = next((one for one in movement if one.entry.amount > 0), None)
    return left, came


def _amount(row: HistoryRow | None) -> tuple[str, str]:
    if row is None:
        return "", ""
    entry = row.entry
    return exact_amount(abs(entry.amount), entry.token), harmless(entry.token.label)


def _koinly_cells(movement: tuple[HistoryRow, ...]) -> tuple[str, ...]:
    first = movement[0]
    left, came = _sides(movement)
    valued = next((one for one in (left, came) if one is not None and one.usd is not None), None)
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
    about = "" if entry.position is None else f" #{entry.position} {row.pool}"
    wallet = row.chapter.entry.label or wallet_address(row.chapter)
    return harmless(f"{entry.kind.value}{about} of {wallet} on {row.chapter.entry.network.name}")
