"""Six minutes of a real book and its trades: how often it leans, what a taker pays, who took."""

import gzip
import json
import sys
from collections.abc import Iterator
from typing import Any

import pytest

from chain.exchange.public.book import (
    BookChange,
    BookSnapshot,
    StreamedBook,
    StreamGapError,
    imbalance,
    slippage_bips,
    walk_book,
)
from chain.exchange.public.market import BookLevel, Candle, OrderBook, cumulative_delta
from tests.market_data import market_data
from tests.printed import printed

_STREAM = "binance-ethusdt-perp-stream-2024-08-08.gz"
_KEPT = 200


def _messages() -> Iterator[tuple[str, dict[str, Any]]]:
    with gzip.open(market_data(_STREAM), "rt") as file:
        for line in file:
            if "@bookTicker" in line[:80]:
                continue
            message = json.loads(line.partition(" ")[2])
            if "lastUpdateId" in message:
                yield "snapshot", message
            else:
                yield message["stream"].split("@")[1], message["data"]


def _changes() -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """The snapshot, and every change that ends after it, those that came before it included."""
    snapshot: dict[str, Any] = {}
    changes = []
    for kind, message in _messages():
        if kind == "snapshot":
            snapshot = message
        elif kind == "depth":
            changes.append(message)
    return snapshot, [one for one in changes if one["u"] >= snapshot["lastUpdateId"]]


def _levels(rows: list[list[str]]) -> tuple[BookLevel, ...]:
    return tuple(BookLevel(float(price), float(size)) for price, size in rows)


def _change(message: dict[str, Any]) -> BookChange:
    return BookChange(
        message["U"],
        message["u"],
        message["pu"],
        message["E"] / 1000,
        _levels(message["b"]),
        _levels(message["a"]),
    )


def _begun(snapshot: dict[str, Any]) -> StreamedBook:
    book = OrderBook(0.0, _levels(snapshot["bids"]), _levels(snapshot["asks"]))
    return StreamedBook(BookSnapshot(snapshot["lastUpdateId"], book))


def _books() -> Iterator[OrderBook]:
    """Once a second: each change follows the one before it, or it fails."""
    snapshot, changes = _changes()
    kept, second = _begun(snapshot), 0
    for message in changes:
        kept.apply(_change(message))
        if message["E"] // 1000 > second:
            second = message["E"] // 1000
            yield kept.book(_KEPT)


@pytest.mark.soak
def test_a_change_missing_from_the_real_stream_is_noticed_at_the_next_one() -> None:
    snapshot, changes = _changes()
    for lost in range(1, len(changes) - 1, len(changes) // 40):
        kept = _begun(snapshot)
        for message in changes[:lost]:
            kept.apply(_change(message))
        with pytest.raises(StreamGapError):
            kept.apply(_change(changes[lost + 1]))


@pytest.mark.soak
def test_how_a_real_book_leans_and_what_a_hundred_thousand_dollars_pay(
    capsys: pytest.CaptureFixture[str],
) -> None:
    books = list(_books())
    leans = {
        levels: sum(abs(imbalance(book, levels) or 0) > 0.7 for book in books) / len(books)
        for levels in (5, 20, 100)
    }
    paid = sorted(
        one for book in books if (one := slippage_bips(book, buy=True, dollars=100_000)) is not None
    )
    with capsys.disabled():
        sys.stdout.write(
            f"\n{len(books)} books: |imbalance| > 70% on 5, 20, 100 levels in "
            f"{leans[5]:.1%}, {leans[20]:.1%}, {leans[100]:.1%}; $100k pays "
            f"{paid[len(paid) // 2]:.2f} bp in the middle, "
            f"{paid[len(paid) * 95 // 100]:.2f} at 95%\n"
        )
    assert len(books) > 300
    assert all(book.bids[0].price < book.asks[0].price for book in books)
    assert leans[5] > leans[20] > leans[100]
    deep = walk_book(books[-1], buy=True, quantity=1e9)
    printed(
        f"G7: of 1e9 ETH {deep.filled:,.1f} filled, insufficient_depth {deep.insufficient_depth}"
    )
    assert deep.insufficient_depth
    assert deep.filled + deep.unfilled == pytest.approx(1e9)


@pytest.mark.soak
def test_the_delta_of_real_trades_is_the_delta_of_their_candles() -> None:
    """Minutes are built from the trades as the venue builds them: volume, and what buyers took."""
    minutes: dict[int, list[tuple[float, float, bool]]] = {}
    total = 0.0
    for kind, message in _messages():
        if kind == "trade":
            price, size = float(message["p"]), float(message["q"])
            bought = not message["m"]
            total += size if bought else -size
            minutes.setdefault(message["T"] // 60_000, []).append((price, size, bought))
    candles = tuple(
        Candle(
            time=minute * 60,
            open=trades[0][0],
            high=max(price for price, _, _ in trades),
            low=min(price for price, _, _ in trades),
            close=trades[-1][0],
            volume=sum(size for _, size, _ in trades),
            taker_buy=sum(size for _, size, bought in trades if bought),
        )
        for minute, trades in sorted(minutes.items())
    )

    by_candles = cumulative_delta(candles)[-1]
    printed(f"G6: takers bought net {total:+.3f} ETH by trades, {by_candles:+.3f} by candles")
    assert len(candles) >= 6
    assert cumulative_delta(candles)[-1] == pytest.approx(total, abs=1e-6)
