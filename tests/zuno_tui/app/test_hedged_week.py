"""A week of a hedged position on the embedded chain, day by day against an independent recount."""

import math
from contextlib import closing
from decimal import Decimal, localcontext
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from agents.monitor.alerts.alert import EventKind
from agents.monitor.alerts.store import AlertStore
from agents.monitor.poll import Watch, poll_once
from agents.monitor.rules.features import WatchedFeatures
from agents.monitor.rules.thresholds import Thresholds, WatchSettings
from agents.trade.facts import HedgeFacts
from agents.trade.opinions import floor_to_step
from chain.base.home import Home
from chain.contracts import abi
from chain.contracts.networks import network_named
from chain.devnet.defaults import control_url
from chain.devnet.world.accounts import MEDIUM_PROVIDER
from chain.devnet.world.pools import WETH_CURRENCY, WETH_USDC
from chain.exchange.orders.engine import send_orders
from chain.exchange.orders.hedge import HedgeStart
from chain.exchange.orders.order import OrderSide, OrderState, OrderType, VenueOrder
from chain.positions.overview import Sources, read_one, read_overview
from chain.protocols.reference import v4_position
from tests.agents.monitor.walked_market import WalkedPool
from tests.chain.moves import Moves
from zuno_tui.app.session import Session
from zuno_tui.features.trade.alert_kinds import ALERTS, TradeAlert
from zuno_tui.features.trade.hedged_position import hedge_legs
from zuno_tui.features.trade.hedges import read_hedge_results, read_hedges
from zuno_tui.features.trade.trading import open_trading
from zuno_tui.features.trade.watched_hedges import HomeHedges
from zuno_tui.settings import Settings

DAY = 86_400
OWNER = "0x" + "5b" * 20
DEVNET = network_named("devnet")
RATIO = 0.5
LIQUIDITY = 10**16
HALF_WIDTH = 300
"""In ticks: three percent to each side, so that a week's prices move its coins."""


class Held(NamedTuple):
    """A position's coins and dollars with fees, as the contracts tell them."""

    coins: Decimal
    dollars: Decimal
    price: Decimal

    @property
    def worth(self) -> Decimal:
        return self.coins * self.price + self.dollars


class Recount:
    """The position from raw contract reads, the hedge marked to market from event to event."""

    def __init__(self, moves: Moves, pool: WalkedPool, token_id: int, ticks: tuple[int, int]):
        self._moves, self._pool, self._token_id, self._ticks = moves, pool, token_id, ticks
        self.coins = Decimal(0)
        """Below 0 short."""
        self.hedge = Decimal(0)
        self.mark = Decimal(0)
        self._time = 0

    @property
    def coin_is_first(self) -> bool:
        return self._pool.key.currency0 == WETH_CURRENCY.address

    def slope(self) -> float:
        """dV/dP between two prices so near that nothing but the slope is left."""
        with localcontext(prec=60):
            root = Decimal(self._pool.state()[0]) / 2**96
            price = root * root if self.coin_is_first else 1 / (root * root)
            step = price * Decimal("1e-20")
            above, below = (self._worth_at(price + sign * step) for sign in (1, -1))
            return float((above - below) / (2 * step) * self._liquidity() / 10**18)

    def _worth_at(self, price: Decimal) -> Decimal:
        """Of one unit of liquidity without fees, in the dollars' smallest units."""
        low, high = (Decimal("1.0001") ** (Decimal(tick) / 2) for tick in self._ticks)
        root = price.sqrt() if self.coin_is_first else 1 / price.sqrt()
        inside = min(max(root, low), high)
        amount0, amount1 = 1 / inside - 1 / high, inside - low
        coins, dollars = (amount0, amount1) if self.coin_is_first else (amount1, amount0)
        return coins * price + dollars

    def _liquidity(self) -> int:
        return int(self._position()[0])

    def _position(self) -> tuple[int, int, int]:
        contracts = self._moves.network.contracts
        identity = bytes.fromhex(self._pool.key.pool_id[2:])
        salt = self._token_id.to_bytes(32, "big")
        found = self._read(
            contracts.state_view,
            "getPositionInfo(bytes32,address,int24,int24,bytes32)",
            (identity, contracts.position_manager, *self._ticks, salt),
            ("uint128", "uint256", "uint256"),
        )
        return found[0], found[1], found[2]

    def held(self) -> Held:
        with localcontext(prec=60):
            key, view = self._pool.key, self._moves.network.contracts.state_view
            identity = bytes.fromhex(key.pool_id[2:])
            liquidity, paid0, paid1 = self._position()
            grown0, grown1 = self._read(
                view,
                "getFeeGrowthInside(bytes32,int24,int24)",
                (identity, *self._ticks),
                ("uint256", "uint256"),
            )
            fees = [
                liquidity * ((grown - paid) % 2**256) // 2**128
                for grown, paid in ((grown0, paid0), (grown1, paid1))
            ]
            root = Decimal(self._pool.state()[0]) / 2**96
            low, high = (Decimal("1.0001") ** (Decimal(tick) / 2) for tick in self._ticks)
            inside = min(max(root, low), high)
            units0 = liquidity * (1 / inside - 1 / high) + fees[0]
            units1 = liquidity * (inside - low) + fees[1]
            if self.coin_is_first:
                return Held(units0 / 10**18, units1 / 10**6, root * root * 10**12)
            return Held(units1 / 10**18, units0 / 10**6, 10**12 / (root * root))

    def passed(self) -> int:
        """Marked to the price of now, with the funding since; the exchange's time."""
        shown = self._page("premiumIndex")
        mark, time = Decimal(shown["markPrice"]), shown["time"] // 1000
        for one in self._page("fundingRate", startTime=(self._time + 1) * 1000, limit=1000):
            if self._time < one["fundingTime"] // 1000 <= time:
                rate, price = Decimal(one["fundingRate"]), Decimal(one["markPrice"])
                self.hedge -= self.coins * price * rate
        self.hedge += self.coins * (mark - self.mark)
        self.mark, self._time = mark, time
        return int(time)

    def traded(self, coins: float, price: float) -> None:
        """Right after the clock has passed: bought above 0, at a taker's fee."""
        bought, paid = Decimal(repr(coins)), Decimal(repr(price))
        self.hedge += bought * (self.mark - paid) - abs(bought) * paid * Decimal("0.0005")
        self.coins += bought

    def _page(self, name: str, **asked: int) -> Any:
        words = "".join(f"&{key}={value}" for key, value in asked.items())
        target = f"{control_url(self._moves.url)}/fapi/v1/{name}?symbol=ETHUSDT{words}"
        return self._moves.http.get(target).raise_for_status().json()

    def _read(
        self, to: str, signature: str, values: tuple[object, ...], returns: tuple[str, ...]
    ) -> tuple[Any, ...]:
        call = {"to": to, "data": "0x" + abi.encode_call(signature, *values).hex()}
        return abi.decode(returns, bytes.fromhex(self._moves.rpc("eth_call", call, "latest")[2:]))


async def facts_of(sources: Sources, token_id: int) -> HedgeFacts:
    one = await read_one(sources, v4_position(token_id), Settings().unit)
    assert one is not None
    (facts,) = hedge_legs(DEVNET, one.snapshot, one.tokens)
    return facts


async def rehedge(
    session: Session, sources: Sources, token_id: int, name: str
) -> tuple[float, float]:
    """Sell or buy back to the ratio at once: coins, above 0 bought, and the price."""
    async with open_trading(session) as trading:
        facts = await facts_of(sources, token_id)
        hedges = await read_hedges(trading.journal, trading.venue)
        short = sum(one.short for one in hedges.values())
        wanted = floor_to_step(facts.delta * RATIO, 0.001)
        change = round(wanted - short, 3)
        side = OrderSide.SELL if change > 0 else OrderSide.BUY
        order = VenueOrder(
            client_id=name,
            symbol="ETHUSDT",
            side=side,
            type=OrderType.MARKET,
            quantity=abs(change),
            reduce_only=change < 0,
        )
        start = HedgeStart(
            chain_id=DEVNET.chain_id,
            token_id=str(token_id),
            wallet=facts.wallet,
            coin=facts.coin,
            symbol="ETHUSDT",
            token=facts.token,
            ratio=RATIO,
            amount0=str(facts.amount0),
            amount1=str(facts.amount1),
            sqrt_price_x96=str(facts.sqrt_price_x96),
            mark=facts.price,
            block=facts.block,
            time=0.0,
        )
        plan_id = f"plan_{name}"
        [sent] = await send_orders(trading.journal, trading.venue, plan_id, [order], start)
    assert sent.state is OrderState.FILLED
    assert sent.average is not None
    return side.sign * sent.filled, sent.average


class HedgedDay(NamedTuple):
    alone: float
    """The position's gain since it was first hedged."""
    together: float


async def hedged_days(
    moves: Moves, folder: Path, *, days: int, looks_a_day: int, most_drifts: int, drift: float = 0.2
) -> tuple[list[HedgedDay], int]:
    """On the exchange's own prices, hedged anew when the monitor says it drifted; how often."""
    pool = WalkedPool(moves, WETH_USDC.key)
    spacing, tick = pool.key.tick_spacing, pool.tick
    lower = (tick - HALF_WIDTH) // spacing * spacing
    ticks = (lower, lower + 2 * HALF_WIDTH)
    [token_id] = pool.moves.mint(MEDIUM_PROVIDER, pool.key, [ticks], LIQUIDITY, OWNER)
    settings = Settings(network="devnet", address=OWNER, endpoints={"devnet": (moves.url,)})
    session = Session(Home(folder, folder / "cache"), settings, DEVNET, as_json=True)
    session.home.prepare()
    recount = Recount(moves, pool, token_id, ticks)
    found: list[HedgedDay] = []
    watching = WatchSettings(Thresholds(of_features={"hedge_drift": drift}))
    async with session.sources() as sources:
        watch = Watch(
            sources,
            [OWNER],
            WatchedFeatures(ALERTS, lambda: HomeHedges(session.home, settings, DEVNET)),
        )
        with closing(AlertStore.open(session.home, now=0.0)) as book:
            start = recount.passed()
            recount.traded(*await rehedge(session, sources, token_id, "first"))
            before, begun, drifts = recount.held(), start, 0
            await poll_once(watch, watching, book, 0.0)
            for look in range(1, days * looks_a_day + 1):
                moves.rpc("evm_setNextBlockTimestamp", begun + look * DAY // looks_a_day)
                moves.rpc("evm_mine")
                follow(pool, recount.mark)
                recount.passed()
                [report] = await poll_once(watch, watching, book, float(look))
                assert report.trouble is None
                drifted = [
                    one
                    for one in report.events
                    if one.alert.kind == TradeAlert.HEDGE_DRIFTED
                    and one.kind in (EventKind.OPENED, EventKind.REOPENED)
                ]
                if drifted and drifts < most_drifts:
                    drifts += 1
                    assert drifted[0].alert.next_command.endswith(f"hedge {token_id} --target 50%")
                    traded = await rehedge(session, sources, token_id, f"drift-{drifts}")
                    recount.traded(*traded)
                    await poll_once(watch, watching, book, float(look))
                if look % looks_a_day == 0:
                    found.append(await one_day(session, sources, token_id, recount, before))
    return found, drifts


def follow(pool: WalkedPool, mark: Decimal) -> None:
    """Trade the pool to the exchange's price."""
    whole = float(mark) / 1e12
    aim = math.log(whole if pool.key.currency0 == WETH_CURRENCY.address else 1 / whole, 1.0001)
    for _ in range(3):
        pool.push(round(aim) - pool.tick)


async def one_day(
    session: Session, sources: Sources, token_id: int, recount: Recount, before: Held
) -> HedgedDay:
    """What the product says of this day is what was counted beside it."""
    overview = await read_overview(sources, OWNER, session.settings.unit)
    found = await read_hedge_results(session, sources, [overview])
    [(_, result)] = found.results
    now = recount.held()
    alone, hedge = float(now.worth - before.worth), float(recount.hedge)
    assert result.short == pytest.approx(-float(recount.coins), abs=1e-12)
    assert result.position_usd == pytest.approx(alone, abs=1e-5)
    assert result.hedge_usd == pytest.approx(hedge, abs=1e-5)
    assert result.together_usd == pytest.approx(alone + hedge, abs=1e-5)
    facts = await facts_of(sources, token_id)
    [position] = overview.wallet.positions
    coins = position.amount0 if recount.coin_is_first else position.amount1
    assert coins / 1e18 == pytest.approx(recount.slope(), rel=1e-9)
    assert facts.delta == pytest.approx(coins / 1e18, rel=1e-5)
    return HedgedDay(alone, alone + hedge)


async def test_hedged_days_are_what_an_independent_recount_says(
    moves: Moves, tmp_path: Path
) -> None:
    days, drifts = await hedged_days(
        moves, tmp_path, days=2, looks_a_day=1, most_drifts=1, drift=0.02
    )

    assert (len(days), drifts) == (2, 1)
    assert all(abs(day.together - day.alone) > 1 for day in days)


@pytest.mark.soak
async def test_a_hedged_week_with_three_drifts(moves: Moves, tmp_path: Path) -> None:
    days, drifts = await hedged_days(moves, tmp_path, days=7, looks_a_day=2, most_drifts=3)

    assert (len(days), drifts) == (7, 3)
    for number, day in enumerate(days, 1):
        print(f"day {number}: alone ${day.alone:+.2f}, with its hedge ${day.together:+.2f}")  # noqa: T201
