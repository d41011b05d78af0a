"""The trade desk on a clock: a day with kills, lost sources and a budget that is used up."""

import json
from collections import Counter
from pathlib import Path
from random import Random

import pytest

from agents.model.budget import BudgetLimits, Spent
from chain.base.home import Home, locked_if_free
from chain.contracts.networks import network_named
from chain.exchange.public.binance import BinancePublic, ExchangeAddress
from chain.exchange.public.market import contract_symbol
from tests.fakes.exchange import OPENS, WEEK, ExchangeDouble, Refusal
from tests.printed import printed
from zuno_tui.features.trade.trading import triage_now
from zuno_tui.features.trade.watch import (
    CoinWatch,
    DeskRun,
    TradeWatch,
    TradeWatchState,
    WatchOrder,
    keep_watch,
    read_watch,
    watch_news,
)

EVERY, DAY = 900, 86_400
MIDNIGHT = (OPENS + WEEK) // DAY * DAY
DEVNET = network_named("devnet")


class KilledError(BaseException):
    """Nothing of the process runs on after it, as after kill -9."""


class Day:
    """A desk whose triage reads the double exchange, and whose runs cost tokens."""

    def __init__(self, home: Home, double: ExchangeDouble, seed: int) -> None:
        self.home, self.double, self.draws = home, double, Random(seed)
        self.now = float(MIDNIGHT)
        self.told: list[str] = []
        self.runs: list[tuple[str, int, int | None]] = []
        self.finished: list[tuple[str, int]] = []
        self.kills = 0

    def clock(self) -> float:
        return self.now

    def killed(self, chance: float) -> None:
        if self.draws.random() < chance:
            self.kills += 1
            raise KilledError

    async def look(self, coin: str) -> tuple[str, ...]:
        self.double.now = int(self.now)
        self.killed(0.02)
        async with BinancePublic(ExchangeAddress(self.double.url, "the double")) as market:
            found = await triage_now(market, contract_symbol(coin))
        return tuple(anomaly.value for anomaly in found)

    async def argue(self, coin: str, _mode: str, most: BudgetLimits | None) -> DeskRun:
        self.runs.append((coin, int(self.now), None if most is None else most.debate_tokens))
        self.killed(0.1)
        tokens = 0 if most is None else min(21_000, most.debate_tokens or 0)
        self.finished.append((coin, tokens))
        return DeskRun("No trade", Spent(tokens))

    async def sleep(self, seconds: float) -> None:
        self.now += seconds
        self.killed(0.004)
        if self.now >= MIDNIGHT + DAY:
            (self.home.trade_watch).unlink()


@pytest.mark.parametrize("seed", [1, *(pytest.param(n, marks=pytest.mark.soak) for n in (2, 3))])
async def test_a_day_with_kills_lost_sources_and_a_used_up_budget(
    tmp_path: Path, seed: int
) -> None:
    home, double = Home(tmp_path, tmp_path / "cache"), ExchangeDouble()
    day = Day(home, double, seed)
    keep_watch(home, TradeWatchState(WatchOrder(("ETH", "BTC"), EVERY, 31_337, tokens=150_000)))
    spent: list[int] = []
    async with double.running():
        while (state := read_watch(home)) is not None:
            spent.append(state.spent.tokens)
            hour = int(day.now - MIDNIGHT) // 3600
            double.faults = {"/fapi/v1/klines": Refusal(503)} if 9 <= hour < 11 else {}
            try:
                watch = TradeWatch(home, day, day.told.append, day.clock)
                await watch.run(_once(day))
            except KilledError:
                day.now += day.draws.choice((5, 400, 3_000))  # until somebody starts it again
            except _NextHourError:
                pass
    slots = Counter((coin, int(when // EVERY)) for coin, when, _ in day.runs)
    unread = sum("not read" in words for words in day.told)
    cut = sum("cut off" in words for words in day.told)
    missed = sum(int(words.split()[1]) for words in day.told if "ticks missed" in words)
    looked = sum(words[:4] in ("ETH ", "BTC ") and "cut off" not in words for words in day.told)
    real, held = sum(tokens for _, tokens in day.finished), max(spent)
    printed(
        f"a day of two coins: {looked} ticks told, {unread} of them unread, {cut} cut off, "
        f"{missed} missed; {len(day.runs)} full runs, {day.kills} kills, {real:,} tokens"
    )

    assert max(slots.values()) == 1, "a tick was run twice"
    assert unread >= 8
    # Nothing is silent: every tick of the day is told once, as done, unread, cut off or missed.
    # What a kill left open at midnight is told by the next start.
    assert 2 * DAY // EVERY - 2 <= looked + cut + missed <= 2 * DAY // EVERY + 2
    assert real <= held <= 150_000, "more than the day's budget"
    assert any("budget is used" in words for words in day.told)
    assert sum("budget is used" in words for words in day.told) == 1
    assert None in {most for _, _, most in day.runs}, "by its rules once nothing is left"
    assert {coin for coin, _, _ in day.runs} == {"ETH", "BTC"}


class _NextHourError(Exception):
    """The day's weather may change."""


def _once(day: Day):  # type: ignore[no-untyped-def]
    begun = int(day.now // 3600)

    async def sleep(seconds: float) -> None:
        await day.sleep(seconds)
        if int(day.now // 3600) != begun:
            raise _NextHourError

    return sleep


async def test_one_process_does_it_and_a_plan_that_waits_is_an_alert(tmp_path: Path) -> None:
    home, double = Home(tmp_path, tmp_path / "cache"), ExchangeDouble()
    day = Day(home, double, 1)
    order = WatchOrder(("ETH",), EVERY, 31_337)
    keep_watch(home, TradeWatchState(order))

    async def end(_seconds: float) -> None:
        home.trade_watch.unlink()

    with locked_if_free(home.trade_watch_lock) as mine:
        assert mine
        await TradeWatch(home, day, day.told.append, day.clock).run(end)
    assert not day.told
    assert not day.runs
    waits = CoinWatch(headline="Long: buy 0.3 ETH", plan_id="plan_1", until=int(day.now) + 60)
    keep_watch(home, TradeWatchState(order, {"ETH": waits}))
    [news] = watch_news(home, DEVNET, day.now)
    assert news.finding.next_command == "zuno approve plan_1"
    assert watch_news(home, DEVNET, day.now + 61) == ()
    assert json.loads(home.trade_watch.read_bytes())["order"]["coins"] == ["ETH"]
