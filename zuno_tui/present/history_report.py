"""A history in words and as a document: what moved, and what each story came to."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from typing import TYPE_CHECKING

from chain.base.quantity import Quantity, Unknown
from chain.prices.price import WorthUnit
from zuno_tui.present.history_rows import (
    HistoryChapter,
    HistoryRow,
    WholeHistory,
    exact_amount,
    history_rows,
    moment_text,
    pool_words,
    price_source,
)
from zuno_tui.present.output import Json, OutputColumn, table
from zuno_tui.present.portfolio_report import wallet_words
from zuno_tui.present.words import money, number, signed_money, worth

if TYPE_CHECKING:
    from chain.bookkeeping.results import StoryResult

_ROW_COLUMNS = (
    OutputColumn("TIME (UTC)"),
    OutputColumn("NETWORK"),
    OutputColumn("WALLET"),
    OutputColumn("#", "right"),
    OutputColumn("WHAT"),
    OutputColumn("WHERE"),
    OutputColumn("AMOUNT", "right"),
    OutputColumn("TOKEN"),
    OutputColumn("VALUE THEN", "right"),
)
_STORY_COLUMNS = (
    OutputColumn("STORY"),
    OutputColumn("POOL"),
    OutputColumn("NETWORK"),
    OutputColumn("WALLET"),
    OutputColumn("PAID IN", "right"),
    OutputColumn("PAID OUT", "right"),
    OutputColumn("FEES", "right"),
    OutputColumn("GAS", "right"),
    OutputColumn("NOW", "right"),
    OutputColumn("REALISED", "right"),
    OutputColumn("UNREALISED", "right"),
    OutputColumn("RESULT", "right"),
)
_PLACES = 6
_USD = WorthUnit.USD
_NOTHING = Fraction(0)


def history_heading(whole: WholeHistory) -> tuple[str, ...]:
    return (_sum_words(whole), *_missing(whole))


def history_lines(whole: WholeHistory) -> tuple[str, ...]:
    rows = [_row_cells(one) for one in history_rows(whole)]
    results = [_story_cells(*one) for one in whole.results()]
    return (
        *(table(_ROW_COLUMNS, rows) if rows else ["Nothing happened."]),
        *(["", *table(_STORY_COLUMNS, results)] if results else []),
    )


def history_document(whole: WholeHistory) -> dict[str, Json]:
    rows = list(history_rows(whole))
    return {
        "unit": _USD.value,
        "whole": whole.whole,
        "total": round(sum(float(row.usd or 0) for row in rows), _PLACES),
        "portfolio": _portfolio_total(whole),
        "missing": list(_missing(whole)),
        "stories": [_story_document(*one) for one in whole.results()],
        "entries": [_row_document(row) for row in rows],
    }


def _sum_words(whole: WholeHistory) -> str:
    rows = list(history_rows(whole))
    if not whole.told.tells_all:
        return f"{len(rows)} entries are told of the part that was asked for"
    total = sum((row.usd or _NOTHING for row in rows), _NOTHING)
    return f"{len(rows)} entries sum to {money(total, _USD)}, what is owned now"


def _missing(whole: WholeHistory) -> Iterator[str]:
    for chapter in whole.chapters:
        where = f"{wallet_words(chapter.entry)} on {chapter.entry.network.name}"
        for trouble in filter(None, (chapter.entry.trouble, chapter.trouble)):
            yield f"Not whole: {where} ({trouble})"
        if chapter.history is not None:
            yield from (f"Not whole: {where} ({gap})" for gap in chapter.history.gaps)
            unknown = sum(isinstance(one.usd, Unknown) for one in chapter.history.entries)
            if unknown:
                yield f"{where}: {unknown} entries have no price of their time"


def _portfolio_total(whole: WholeHistory) -> float:
    worths = (one.entry.worth for one in whole.chapters)
    return round(sum(float(one.total) for one in worths if one is not None), _PLACES)


def _row_cells(row: HistoryRow) -> tuple[str, ...]:
    entry = row.entry
    return (
        moment_text(entry.time),
        row.chapter.entry.network.name,
        wallet_words(row.chapter.entry),
        "" if entry.position is None else str(entry.position),
        entry.kind.value,
        entry.account.value,
        exact_amount(entry.amount, entry.token),
        entry.token.label,
        signed_money(entry.usd, _USD),
    )


def _story_cells(chapter: HistoryChapter, one: StoryResult) -> tuple[str, ...]:
    return (
        one.story.name,
        pool_words(chapter, one.story.token_ids[-1]),
        chapter.entry.network.name,
        wallet_words(chapter.entry),
        *(worth(part, _USD) for part in (one.paid_in, one.paid_out, one.fees, one.gas, one.held)),
        *(signed_money(part, _USD) for part in (one.realised, one.unrealised, one.result)),
    )


def _story_document(chapter: HistoryChapter, one: StoryResult) -> dict[str, Json]:
    return {
        "story": one.story.name,
        "positions": [str(token_id) for token_id in one.story.token_ids],
        "pool": pool_words(chapter, one.story.token_ids[-1]),
        "network": chapter.entry.network.name,
        "chainId": chapter.entry.network.chain_id,
        "wallet": chapter.entry.wallet,
        "paidIn": number(one.paid_in),
        "paidOut": number(one.paid_out),
        "fees": number(one.fees),
        "gas": number(one.gas),
        "held": number(one.held),
        "realised": number(one.realised),
        "unrealised": number(one.unrealised),
        "result": number(one.result),
        "unknown": _reason(one.result),
    }


def _reason(value: Quantity[Fraction]) -> str | None:
    return value.reason if isinstance(value, Unknown) else None


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
        "position": None if entry.position is None else str(entry.position),
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
