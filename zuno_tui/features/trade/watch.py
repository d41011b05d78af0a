"""The trade desk on a clock: triage at every tick, the whole desk on a spike or at its hour.

It argues and reports. No order is sent from here: nothing of the gate is imported.
"""

import asyncio
import time
from argparse import Namespace
from collections.abc import Awaitable, Callable
from contextlib import suppress
from datetime import UTC, datetime
from typing import Protocol

import msgspec
from msgspec import Struct, field, to_builtins
from msgspec.structs import replace

from agents.model.budget import BudgetLimits, Spent
from agents.monitor.alerts.alert import Finding, Severity
from agents.monitor.rules.features import FeatureNews
from agents.trade.plan import TradePlan
from agents.trade.terms import TradeMode
from chain.base.clean_text import clean_text
from chain.base.errors import ZunoError
from chain.base.home import Home, locked_if_free, write_atomically
from chain.base.units import HOUR
from chain.contracts.networks import Network
from chain.exchange.public.market import contract_symbol
from chain.prices.market_http import MarketError
from zuno_tui.app.session import Session
from zuno_tui.features.trade.alert_kinds import TradeAlert
from zuno_tui.features.trade.intents import Trade
from zuno_tui.features.trade.report import report_run
from zuno_tui.features.trade.run_view import verdict
from zuno_tui.features.trade.trading import argue_trade, open_trading, triage_now
from zuno_tui.present.answer import CommandAnswer, print_answer
from zuno_tui.present.failures import explain
from zuno_tui.settings import SettingsError

DESK_EVERY = 4 * HOUR
"""The whole desk argues about each coin at least so often, whatever triage finds."""
_COOLDOWN = 4 * HOUR
"""For so long the same anomaly of a coin calls the desk once."""
_RUN_TOKENS = 60_000
"""Counted for a run before it begins, and again as what it really took."""
_LEAST_TOKENS = 2_000
_NANO = 1_000_000_000
_RETRY = 15.0


class WatchOrder(Struct, frozen=True):
    """What a person asked for."""

    coins: tuple[str, ...]
    every: int
    chain_id: int
    mode: str = "swing"
    tokens: int | None = None
    """Of a day, by UTC."""
    nano_usd: int | None = None


class CoinWatch(Struct, frozen=True):
    looked: int = 0
    """The tick that was begun last."""
    done: int = 0
    """The tick that came to its end last."""
    argued: int = 0
    """The tick at which the whole desk was called last."""
    called: dict[str, int] = field(default_factory=dict)
    """By anomaly, when it called the desk last."""
    headline: str = ""
    plan_id: str = ""
    until: int = 0
    """How long its plan may be approved; 0 where it opens nothing."""


class TradeWatchState(Struct, frozen=True):
    order: WatchOrder
    coins: dict[str, CoinWatch] = field(default_factory=dict)
    day: str = ""
    spent: Spent = Spent()
    """Of that day; what a run under way may take is counted in full."""
    over: bool = False
    """Whether it was told that the day's budget is used."""


class DeskRun(Struct, frozen=True):
    words: str
    spent: Spent
    plan: TradePlan | None = None


class DeskCaller(Protocol):
    """What a watch asks of the desk."""

    async def look(self, coin: str) -> tuple[str, ...]:
        """What triage finds unusual; a MarketError or ZunoError where the market is not read."""

    async def argue(self, coin: str, mode: str, most: BudgetLimits | None) -> DeskRun:
        """The whole desk, within a budget; by its rules alone where there is none left."""


def read_watch(home: Home) -> TradeWatchState | None:
    """None where nothing is watched."""
    with suppress(FileNotFoundError, msgspec.DecodeError):
        return msgspec.json.decode(home.trade_watch.read_bytes(), type=TradeWatchState)
    return None


class TradeWatch:
    def __init__(
        self,
        home: Home,
        desk: DeskCaller,
        tell: Callable[[str], None],
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._home = home
        self._desk = desk
        self._tell = tell
        self._clock = clock

    async def run(self, sleep: Callable[[float], Awaitable[None]] = asyncio.sleep) -> None:
        """Until nobody wants it any more; of several processes one does it, the next goes on."""
        while (state := read_watch(self._home)) is not None:
            wait = min(_RETRY, float(state.order.every))
            with locked_if_free(self._home.trade_watch_lock) as mine:
                if mine:
                    await self.tick()
                    now = self._clock()
                    wait = min(wait, state.order.every - now % state.order.every)
            await sleep(max(wait, 0.1))

    async def tick(self) -> None:
        """Every coin that is due; a coin's tick is begun once, whatever becomes of it."""
        state = read_watch(self._home)
        for coin in () if state is None else state.order.coins:
            await self._look_at(coin)

    async def _look_at(self, coin: str) -> None:
        state = read_watch(self._home)
        if state is None or coin not in state.order.coins:
            return
        every, now = state.order.every, self._clock()
        slot = int(now // every * every)
        known = state.coins.get(coin, CoinWatch())
        if slot <= known.looked:
            return
        self._tell_gap(coin, known, slot, every)
        self._keep_coin(coin, looked=slot)
        try:
            found = await self._desk.look(coin)
        except (MarketError, ZunoError) as error:
            self._tell(f"{coin} {_clock_words(slot)}: the market is not read: {error}")
        else:
            await self._heard(coin, slot, found)
        self._keep_coin(coin, done=slot)

    async def _heard(self, coin: str, slot: int, found: tuple[str, ...]) -> None:
        state = read_watch(self._home)
        if state is None:
            return
        known = state.coins[coin]
        new = [name for name in found if slot - known.called.get(name, 0) >= _COOLDOWN]
        if not new and slot // DESK_EVERY == known.argued // DESK_EVERY:
            usual = ", ".join(name.replace("_", " ") for name in found) or "nothing unusual"
            self._tell(f"{coin} {_clock_words(slot)}: {usual}")
            return
        called = {**known.called, **dict.fromkeys(new, slot)}
        self._keep_coin(coin, argued=slot, called=called)
        why = ", ".join(name.replace("_", " ") for name in new) or "its hour"
        most, held = self._reserve()
        try:
            run = await self._desk.argue(coin, state.order.mode, most)
        except Exception as error:
            # Whatever it was, the other coins and the next tick go on.
            words = clean_text(explain(error)[1])
            self._tell(f"{coin} {_clock_words(slot)} ({why}): no decision: {words}")
            return
        self._settle(held, run.spent)
        self._tell(
            f"{coin} {_clock_words(slot)} ({why}): {run.words} ({run.spent.tokens:,} tokens)"
        )
        opens = run.plan is not None and bool(run.plan.orders)
        self._keep_coin(
            coin,
            headline=run.words,
            plan_id="" if run.plan is None else run.plan.plan_id,
            until=run.plan.expires_at if opens and run.plan is not None else 0,
        )

    def _tell_gap(self, coin: str, known: CoinWatch, slot: int, every: int) -> None:
        if known.looked != known.done:
            self._tell(f"{coin} {_clock_words(known.looked)}: cut off; it is not repeated")
        missed = (slot - known.looked) // every - 1 if known.looked else 0
        if missed > 0:
            first, last = _clock_words(known.looked + every), _clock_words(slot - every)
            self._tell(f"{coin}: {missed} ticks missed, {first} to {last}")

    def _reserve(self) -> tuple[BudgetLimits | None, Spent]:
        """What a run may take, counted before it begins: a crash must not make it free."""
        state = read_watch(self._home)
        if state is None:
            return None, Spent()
        today = datetime.fromtimestamp(self._clock(), UTC).date().isoformat()
        if state.day != today:
            state = replace(state, day=today, spent=Spent(), over=False)
        order = state.order
        left = None if order.tokens is None else order.tokens - state.spent.tokens
        dollars = None if order.nano_usd is None else order.nano_usd - state.spent.nano_usd
        if (left is not None and left < _LEAST_TOKENS) or (dollars is not None and dollars <= 0):
            if not state.over:
                self._tell("Today's budget is used: until midnight UTC the desk goes by its rules.")
            self._keep(replace(state, over=True))
            return None, Spent()
        tokens = _RUN_TOKENS if left is None else min(left, _RUN_TOKENS)
        held = Spent(tokens, dollars or 0)
        self._keep(replace(state, spent=state.spent.plus(held)))
        return BudgetLimits(tokens, None, dollars, None), held

    def _settle(self, held: Spent, real: Spent) -> None:
        state = read_watch(self._home)
        if state is not None:
            self._keep(replace(state, spent=state.spent.minus(held).plus(real)))

    def _keep_coin(self, coin: str, **news: object) -> None:
        state = read_watch(self._home)
        if state is not None:
            known = replace(state.coins.get(coin, CoinWatch()), **news)
            self._keep(replace(state, coins={**state.coins, coin: known}))

    def _keep(self, state: TradeWatchState) -> None:
        keep_watch(self._home, state)


def keep_watch(home: Home, state: TradeWatchState) -> None:
    write_atomically(home.trade_watch, msgspec.json.encode(state))


def _clock_words(moment: int) -> str:
    return datetime.fromtimestamp(moment, UTC).strftime("%H:%M")


class HomeDesk:
    """The desk of a home, with its settings as they are at each call."""

    def __init__(self, session: Callable[[], Session]) -> None:
        self._session = session

    async def look(self, coin: str) -> tuple[str, ...]:
        async with open_trading(self._session(), coin=coin) as trading:
            found = await triage_now(trading.market, contract_symbol(coin))
        return tuple(anomaly.value for anomaly in found)

    async def argue(self, coin: str, mode: str, most: BudgetLimits | None) -> DeskRun:
        session = self._session()
        if most is None:
            session = replace(session, flags=replace(session.flags, deterministic=True))
        async with open_trading(session, coin=coin) as trading:
            done = await argue_trade(session, trading, coin, TradeMode(mode), most=most)
        plan, failure = done.ended.plan, done.ended.failure
        if plan is None or done.document is None:
            reason = "" if failure is None else f": {failure.stage}, {failure.reason}"
            return DeskRun(clean_text(f"no decision{reason}"), done.spent)
        await report_run(session, plan, done.document)
        told = verdict(plan)
        return DeskRun(clean_text(f"{told.headline}: {told.reason}"), done.spent, plan)


def watch_news(home: Home, network: Network, now: float) -> tuple[FeatureNews, ...]:
    """Plans of a watch that may still be approved."""
    state = read_watch(home)
    if state is None or state.order.chain_id != network.chain_id:
        return ()
    return tuple(
        FeatureNews(
            Finding(
                TradeAlert.TRADE_WATCH,
                Severity.INFO,
                f"The trade desk on {coin}: {known.headline}",
                "a plan of the trade watch waits",
                f"zuno approve {known.plan_id}",
            ),
            coin,
        )
        for coin, known in state.coins.items()
        if now < known.until
    )


def take_order(session: Session, asked: Trade) -> CommandAnswer:
    """Begin, change, end or show what is watched."""
    home, known = session.home, read_watch(session.home)
    if asked.coins == ("OFF",):
        home.trade_watch.unlink(missing_ok=True)
        return CommandAnswer(("The trade desk watches no coin any more.",), {"watch": None})
    if asked.coins:
        order = WatchOrder(
            tuple(dict.fromkeys(asked.coins)),
            asked.every,
            session.network.chain_id,
            asked.mode,
            asked.tokens,
            None if asked.dollars is None else round(asked.dollars * _NANO),
        )
        home.prepare()
        known = TradeWatchState(order) if known is None else replace(known, order=order)
        keep_watch(home, known)
    if known is None:
        words = "The trade desk watches no coin. Begin: zuno trade watch ETH BTC --every 15m"
        return CommandAnswer((words,), {"watch": None})
    return CommandAnswer(tuple(_state_lines(known)), {"watch": to_builtins(known)})


def _state_lines(state: TradeWatchState) -> list[str]:
    order = state.order
    most = "no limit" if order.tokens is None else f"{order.tokens:,}"
    dollars = "" if order.nano_usd is None else f", ${order.nano_usd / _NANO:,.2f}"
    lines = [
        f"The trade desk looks at {', '.join(order.coins)} every {order.every // 60} minutes. All "
        f"of it argues every {DESK_EVERY // HOUR} hours and on a spike. It sends no order.",
        f"Tokens today: {state.spent.tokens:,} of {most}{dollars}",
    ]
    for coin, known in state.coins.items():
        if known.headline:
            lines.append(f"{coin} {_clock_words(known.argued)}: {known.headline}")
    return [*lines, "zuno monitor goes on with it. To end it: zuno trade watch off"]


def run(arguments: Namespace) -> int:
    """In a shell: until told to end; the monitor goes on with it."""
    session, asked = Session.start(arguments), Trade.from_namespace(arguments)
    if not isinstance(asked, Trade):
        raise SettingsError("That is no question to the trade desk.")
    answer = take_order(session, asked)
    code = print_answer(answer, as_json=session.as_json)
    if not asked.coins or asked.coins == ("OFF",):
        return code
    watch = TradeWatch(session.home, HomeDesk(lambda: Session.start(arguments)), session.narrate)
    asyncio.run(watch.tick() if asked.once else watch.run())
    return code
