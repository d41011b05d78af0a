"""A history under the columns of tax programs: exchanges in one line, words made harmless."""

import csv
import io
from fractions import Fraction
from typing import cast

import pytest
from msgspec.structs import replace

from chain.base.units import Known, Unknown
from chain.bookkeeping.facts import WalletFacts
from chain.bookkeeping.ledger import (
    EntryKind,
    LedgerAccount,
    LedgerEntry,
    LedgerPlace,
    LedgerSubject,
    TokenAtPrice,
    ledger_entry,
)
from chain.bookkeeping.wallet_history import WalletHistory
from chain.contracts.networks import NATIVE, network_named
from chain.tokens import Token
from zuno_tui.app.history import history_filter
from zuno_tui.present.history import (
    CsvFormat,
    HistoryChapter,
    HistoryFilter,
    WholeHistory,
    history_csv,
    history_rows,
)
from zuno_tui.present.portfolio import PortfolioEntry
from zuno_tui.settings import SettingsError

WALLET = "0x" + "ab" * 20
ETH = Token(NATIVE, "ETH", 18, verified=True, suspicious=False)
USDC = Token("0x" + "11" * 20, "USDC", 6, verified=True, suspicious=False)
FORMULA = Token("0x" + "22" * 20, "=1+1", 0, verified=True, suspicious=False)
DAY = 86_400


def _entry(
    kind: EntryKind, token: Token, amount: int, price: int | None, *, time: int = 0, tx: str = "0x1"
) -> LedgerEntry:
    subject = LedgerSubject(LedgerAccount.WALLET, None)
    known = Unknown("nobody knows") if price is None else Known(Fraction(price), "pool")
    return ledger_entry(LedgerPlace(time, 1, tx), kind, subject, TokenAtPrice(token, known), amount)


def _whole(*entries: LedgerEntry, told: HistoryFilter | None = None) -> WholeHistory:
    facts = cast("WalletFacts", None)
    history = WalletHistory(facts, entries, (), ())
    place = PortfolioEntry(network_named("base"), WALLET, "@mine", None)
    return WholeHistory((HistoryChapter(place, history),), told or HistoryFilter())


def _read(whole: WholeHistory, form: CsvFormat) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(history_csv(whole, form), newline="")))


TRADE = (
    _entry(EntryKind.SWAP, ETH, -(10**18), 3_000),
    _entry(EntryKind.SWAP, USDC, 2_990 * 10**6, 1),
    _entry(EntryKind.GAS, ETH, -(10**15), 3_000),
    _entry(EntryKind.ELSEWHERE, ETH, 7, 3_000, tx=""),
)


def test_both_sides_of_a_swap_are_one_line_for_koinly() -> None:
    swap, gas = _read(_whole(*TRADE), "koinly")

    assert (swap["Sent Amount"], swap["Sent Currency"]) == ("1", "ETH")
    assert (swap["Received Amount"], swap["Received Currency"]) == ("2990", "USDC")
    assert (swap["Net Worth Amount"], swap["Net Worth Currency"]) == ("3000.000000", "USD")
    assert (gas["Sent Amount"], gas["Label"], gas["TxHash"]) == ("0.001", "cost", "0x1")


def test_both_sides_of_a_swap_are_one_line_for_cointracking() -> None:
    swap, gas = _read(_whole(*TRADE), "cointracking")

    assert (swap["Type"], swap["Buy Amount"], swap["Sell Amount"]) == ("Trade", "2990", "1")
    assert (gas["Type"], gas["Sell Amount"], gas["Sell Currency"]) == ("Other Fee", "0.001", "ETH")


def test_what_has_no_price_has_no_dollars() -> None:
    [row] = _read(_whole(_entry(EntryKind.COLLECT, USDC, 5, None)), "csv")

    assert (row["usd"], row["price_usd"], row["amount"]) == ("", "", "0.000005")
    assert row["price_source"] == "unknown: nobody knows"


def test_names_that_look_like_formulas_are_words_in_every_format() -> None:
    whole = _whole(_entry(EntryKind.COLLECT, FORMULA, 5, 1))
    cells = [cell for form in ("csv", "koinly", "cointracking") for cell in _cells(whole, form)]

    assert "'=1+1" in cells
    assert "'@mine" in cells
    assert not [cell for cell in cells if cell.startswith(("=", "@", "+"))]


def _cells(whole: WholeHistory, form: str) -> list[str]:
    return list(_read(whole, cast("CsvFormat", form))[0].values())


def test_rounded_rows_sum_to_the_rounded_sum() -> None:
    third = [_entry(EntryKind.COLLECT, FORMULA, 1, None) for _ in range(3)]
    thirds = [_with_usd(one, Fraction(1, 3)) for one in third]
    rows = list(history_rows(_whole(*thirds)))

    assert sum(row.usd or 0 for row in rows) == 1


def _with_usd(entry: LedgerEntry, usd: Fraction) -> LedgerEntry:
    return replace(entry, usd=Known(usd, "pool"))


def test_days_are_whole_and_the_last_is_included() -> None:
    told = history_filter(None, "1970-01-02", "1970-01-02")
    entries = [_entry(EntryKind.COLLECT, USDC, 1, 1, time=time) for time in (DAY - 1, DAY, 2 * DAY)]

    times = [row.entry.time for row in history_rows(_whole(*entries, told=told))]

    assert times == [DAY]


@pytest.mark.parametrize("day", ["yesterday", "2026-02-30", "2026/01/01", ""])
def test_what_is_no_day_is_refused(day: str) -> None:
    with pytest.raises(SettingsError, match="not a day"):
        history_filter(None, day, None)
