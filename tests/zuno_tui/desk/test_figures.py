"""Every figure of the desk found by another path: raw amounts, raw hours, and floats."""

import re
from collections.abc import Mapping
from math import sqrt
from pathlib import Path
from typing import NamedTuple

import httpx2
import pytest

from chain.base.units import Known
from chain.contracts.calldata import Burn, CloseCurrency, Mint
from chain.contracts.networks import NATIVE
from chain.devnet.launch import DevnetReady
from chain.devnet.world.accounts import DEMO_WALLET
from chain.history.events import read_marks
from chain.history.hours import PoolHours
from chain.positions.overview import Overview, Sources, read_overview, read_worths
from chain.positions.performance import Performance, read_performance
from chain.prices.pool_prices import pool_name
from chain.prices.price import WorthUnit
from chain.protocols.past import LiquidityChange
from chain.protocols.reference import position_label, v4_token_id
from chain.protocols.snapshot import PositionSnapshot
from tests.chain.moves import Moves
from tests.embedded_chain import embedded_chain
from tests.zuno_tui.desk.conftest import Node
from tests.zuno_tui.desk.sitting import opening, sitting
from zuno_tui.app.earned import wallet_earned
from zuno_tui.commands.position_actions import CollectFees
from zuno_tui.desk.context import DeskOpening
from zuno_tui.desk.events import DetailReady, PlanChanged, PortfolioChanged, PositionsChanged
from zuno_tui.intents.intents import Inspect, Refresh, ShowPortfolio
from zuno_tui.present.pages.earned import EarningPeriod
from zuno_tui.present.portfolio import EarnedRow, PortfolioView

HOUR, DAY, YEAR = 3_600, 86_400, 365
_CENT = 0.0051


def figure(words: str) -> float:
    """`+$1,204.50`, `−$3`, `34.1%` as a number."""
    sign = -1 if "−" in words else 1
    return sign * float(re.sub(r"[^\d.]", "", words))


class Prices(NamedTuple):
    """Dollars for the smallest unit of each token of a pair, and for a wei."""

    token0: float
    token1: float
    wei: float


def prices_of(overview: Overview, one: PositionSnapshot) -> Prices:
    each = []
    for address in (one.pool.key.currency0, one.pool.key.currency1):
        price, decimals = overview.prices.price(address), overview.tokens[address].decimals
        assert isinstance(price, Known)
        assert decimals is not None
        each.append(float(price.value) / 10**decimals)
    assert isinstance(overview.prices.ether, Known)
    return Prices(each[0], each[1], float(overview.prices.ether.value) / 10**18)


def held(lower: int, upper: int, liquidity: float, root: float) -> tuple[float, float]:
    """x = L(1/c − 1/b), y = L(c − a), by the book."""
    low, high = (sqrt(1.0001**tick) for tick in (lower, upper))
    inside = min(max(root, low), high)
    return liquidity * (1 / inside - 1 / high), liquidity * (inside - low)


def average_liquidity(changes: tuple[LiquidityChange, ...], begin: int) -> float:
    """By the minute."""
    moments = range(begin, begin + HOUR, 60)
    return sum(
        sum(one.liquidity_delta for one in changes if one.timestamp <= moment) for moment in moments
    ) / len(moments)


class Day(NamedTuple):
    fees: float
    lvr: float
    moved: float


async def price_before(sources: Sources, hours: PoolHours) -> float:
    """Of a pool before the first swap that is kept."""
    if not hours.recent:
        return 0.0
    at = hours.recent[0].block_number - 1
    marks = await read_marks(sources.client, sources.network, [hours.pool_id], at)
    return marks[hours.pool_id].sqrt_price_x96 / 2**96


def day_of(
    one: PositionSnapshot, performance: Performance, prices: Prices, began: Mapping[str, float]
) -> Day:
    """Of 24 closed hours in dollars, for pairs against dollars: their price is that of now."""
    hours = performance.hours[one.pool.pool_id]
    changes = performance.accounts[one.ref].changes
    end = hours.last.timestamp // HOUR * HOUR
    ticks = one.identity.tick_lower, one.identity.tick_upper
    low, high = (sqrt(1.0001**tick) for tick in ticks)
    fees = lvr = moved = 0.0
    before: float | None = None
    for row in hours.rows:
        close = row.close / 2**96
        start = began[one.pool.pool_id] if before is None else before
        if end - DAY <= row.hour < end:
            liquidity = average_liquidity(changes, row.hour)
            root = start
            for swap in hours.recent:
                if not row.hour <= swap.time < row.hour + HOUR:
                    continue
                # What was there sold its part of the way, and was paid the fee of that.
                there = sum(x.liquidity_delta for x in changes if x.timestamp <= swap.time)
                after = swap.sqrt_price_x96 / 2**96
                first, last = (min(max(each, low), high) for each in (root, after))
                taken = one.pool.protocol_fee.towards(zero_for_one=swap.zero_for_one)
                ratio = there * (swap.fee - taken) / (10**6 - swap.fee)
                paid0, paid1 = (1 / last - 1 / first), last - first
                fees += ratio * (paid0 * close**2 if swap.zero_for_one else paid1)
                root = after
            was, now = held(*ticks, liquidity, start), held(*ticks, liquidity, close)
            value = now[0] * close**2 + now[1]
            lvr += was[0] * close**2 + was[1] - value
            moved += value - (was[0] * start**2 + was[1])
        before = close
    return Day(fees * prices.token1, lvr * prices.token1, moved * prices.token1)


def against_holding(one: PositionSnapshot, performance: Performance, prices: Prices) -> float:
    account = performance.accounts[one.ref]
    total = (one.amount0 + one.fees0) * prices.token0 + (one.amount1 + one.fees1) * prices.token1
    for change in account.changes:
        assert isinstance(change.amounts, Known)
        assert isinstance(change.fees, Known)
        assert isinstance(change.gas, Known)
        sign = -1 if change.liquidity_delta > 0 else 1
        for amount, fee, price in zip(
            change.amounts.value, change.fees.value, prices, strict=False
        ):
            total += (sign * amount + fee) * price
        total -= change.gas.value * prices.wei
    return total


@pytest.mark.usefixtures("changed_world")
async def test_every_figure_of_the_desk_is_found_by_another_path(
    devnet: DevnetReady, tmp_path: Path
) -> None:
    await every_figure(devnet.url, tmp_path)


@pytest.mark.soak
@pytest.mark.parametrize("seed", [7, 11, 13])
async def test_so_it_is_after_a_week_of_any_market(seed: int, tmp_path: Path) -> None:
    with embedded_chain(seed=seed, world="week") as chain:
        await every_figure(chain.url, tmp_path)


async def every_figure(url: str, home: Path) -> None:
    here = opening(home, url)
    async with sitting(here) as desk:
        told = await desk.until(
            PositionsChanged, lambda told: bool(told.view.glance and told.view.glance.day)
        )
        async with here.session.sources() as sources:
            wallet = here.session.address
            overview = await read_overview(sources, wallet, WorthUnit.USD)
            performance = await read_performance(sources, overview.wallet.positions)
            began = {
                pool: await price_before(sources, hours)
                for pool, hours in performance.hours.items()
            }
            (book,) = await read_worths(sources, [wallet], WorthUnit.USD)
        checked = aprs = elsewhere = 0
        rows = {row.ref: row for row in told.view.rows}
        gained = fees_of_day = worth = to_collect = followed = followed_fees = 0.0
        left_out = 0.0
        for one in overview.wallet.positions:
            row, prices = rows[one.ref], prices_of(overview, one)
            value = one.amount0 * prices.token0 + one.amount1 * prices.token1
            waiting = one.fees0 * prices.token0 + one.fees1 * prices.token1
            worth, to_collect = worth + value, to_collect + waiting
            if one.custody.subscriber is not None:
                left_out += waiting  # `collect all` ends no subscription
            assert figure(row.value) == pytest.approx(value, abs=_CENT)
            assert figure(row.fees) == pytest.approx(waiting, abs=_CENT)
            # Whose dollars are not its own pool's says whose they are.
            own_pool = f"pool {pool_name(here.session.network, one.pool)}"
            pair = (one.pool.key.currency0, one.pool.key.currency1)
            told_by = {
                known.source
                for address in pair
                if isinstance(known := overview.prices.price(address), Known)
                and address != here.session.network.stable
            }
            assert all(source in row.dollars for source in told_by - {own_pool})
            assert bool(row.dollars) is bool(told_by - {own_pool})
            elsewhere += bool(row.dollars)
            day = day_of(one, performance, prices, began)
            fees_of_day += day.fees
            quote = overview.tokens[one.pool.key.currency1].symbol
            if quote != "USDC" and quote != "USDT":
                # Its dollars follow another pool, hour by hour: here they are those of now.
                followed += value
                followed_fees += day.fees
                continue
            # The result counts in the pool's own price, the worth in the market's.
            own = prices._replace(token0=(one.pool.sqrt_price_x96 / 2**96) ** 2 * prices.token1)
            expected = against_holding(one, performance, own)
            assert figure(row.against_holding) == pytest.approx(expected, abs=0.02)
            assert figure(row.net_a_day) == pytest.approx(day.fees - day.lvr, abs=0.02)
            if row.fee_apr != "–":
                yearly = 100 * day.fees * YEAR / value
                assert figure(row.fee_apr) == pytest.approx(yearly, rel=0.006, abs=0.051)
                aprs += 1
            gained += day.fees + day.moved
            checked += 1
        assert checked >= 7
        assert aprs >= 4
        assert 4 <= elsewhere < len(rows)
        glance = told.view.glance
        assert glance is not None
        assert figure(glance.fees) == pytest.approx(to_collect, abs=0.51)
        assert figure(glance.beside) == pytest.approx(worth + to_collect, abs=0.51)
        idle = float(book.idle_value)
        assert figure(glance.worth) == pytest.approx(worth + to_collect + idle, abs=0.51)

        ether = {here.session.network.wrapped_native, NATIVE}
        deepest = max(
            (one for one in overview.wallet.positions if one.pool.key.currency0 in ether),
            key=lambda one: one.pool.liquidity,
        )
        chart = rows[deepest.ref].chart
        assert chart is not None
        went = 100 * (chart.prices[-1] / chart.prices[0] - 1)
        change, _, _ = glance.ether_change.partition("%")
        assert figure(change.replace("▲", "").replace("▼", "−")) == pytest.approx(went, abs=0.051)

        day_words, fees_words = glance.day.removesuffix(" fees)").split(" in 24 h (")
        assert figure(fees_words) == pytest.approx(fees_of_day, abs=0.51 + followed_fees * 0.06)
        # Of what is followed through another pool only how far ether went at most is known here.
        assert figure(day_words) == pytest.approx(gained, abs=1.01 + followed * 0.06)

        # On the page of a position the same figures stand as in its row.
        token_id = next(one for one, row in rows.items() if row.standing == "in range")
        await desk.ask(Inspect(token_id))
        page = (await desk.until(DetailReady)).view
        shown = {each.label: each.words for each in page.figures}
        row = rows[token_id]
        assert (shown["worth before fees"], shown["to collect"]) == (row.value, row.fees)
        assert (shown["fee APR 24 h"], shown["vs holding"]) == (row.fee_apr, row.against_holding)

        # The portfolio adds up to the header, position by position.
        await desk.ask(ShowPortfolio())
        await desk.desk.idle()
        portfolio = desk.heard_last(PortfolioChanged).view
        named = [one for one in portfolio.rows if is_position(one)]
        for window in ("today", "week", "month"):
            told_each = [figure(getattr(one, window)) for one in named]
            total = figure(getattr(portfolio.total, window))
            assert total == pytest.approx(sum(told_each), abs=_CENT * (len(named) + 1))

        # The page that signs gives what the header says waits, and costs its gas.
        await desk.ask(CollectFees(("all",)))
        plan = await desk.until(PlanChanged, lambda told: bool(told.view and told.view.approval))
        assert plan.view is not None
        assert plan.view.approval is not None
        receipt = plan.view.approval.receipt
        assert receipt is not None
        given = [figure(line.dollars) for line in receipt.lines if line.part == "collect"]
        (wallet_line,) = [line for line in receipt.lines if line.part == "wallet"]
        assert sum(given) == pytest.approx(to_collect - left_out, abs=0.51 * len(given))
        assert figure(wallet_line.dollars) == pytest.approx(to_collect - left_out, abs=0.51)
        # Nothing is swapped: no row for it, however many lines were rounded.
        assert receipt.swap_cost == 0.0
        assert all(line.part != "swap" for line in receipt.lines)


@pytest.mark.usefixtures("changed_world")
async def test_the_result_against_holding_is_of_the_same_read_as_worth_and_fees(
    devnet: DevnetReady, node: Node, tmp_path: Path
) -> None:
    here = opening(tmp_path, devnet.url)
    async with sitting(here) as desk:
        first = await desk.until(
            PositionsChanged, lambda told: bool(told.view.glance and told.view.glance.day)
        )
        node("zuno_step", 1_800)
        await desk.ask(Refresh())
        later = await desk.until(
            PositionsChanged,
            lambda told: (
                (told.view.block or 0) > (first.view.block or 0)
                and told.view.results_at == first.view.results_at
            ),
        )
        async with here.session.sources() as sources:
            overview = await read_overview(sources, here.session.address, WorthUnit.USD)
            performance = await read_performance(sources, overview.wallet.positions)
    assert overview.wallet.block.number == later.view.block
    before, rows = ({row.ref: row for row in told.view.rows} for told in (first, later))
    moved = 0
    for one in overview.wallet.positions:
        token1 = overview.tokens[one.pool.key.currency1]
        won = performance.gains(one.ref, token1, overview.prices, WorthUnit.USD)
        assert isinstance(won.against_holding, Known)
        shown = rows[one.ref].against_holding
        assert figure(shown) == pytest.approx(float(won.against_holding.value), abs=_CENT)
        moved += shown != before[one.ref].against_holding
    assert moved >= 4


@pytest.mark.usefixtures("changed_world")
async def test_moving_a_position_fifty_times_moves_the_header_by_its_gas_alone(
    devnet: DevnetReady, node: Node, tmp_path: Path
) -> None:
    here = opening(tmp_path, devnet.url)
    network = here.session.network
    moves = Moves(httpx2.Client(), devnet.url, network)
    token_id = node("zuno_status")["positions"]["healthy"]
    async with sitting(here) as desk:
        first = await desk.until(
            PositionsChanged, lambda told: bool(told.view.glance and told.view.glance.day)
        )
        async with here.session.sources() as sources:
            overview = await read_overview(sources, here.session.address, WorthUnit.USD)
        one = next(one for one in overview.wallet.positions if one.ref.token_id == token_id)
        key, spacing = one.pool.key, one.pool.key.tick_spacing
        lower, upper = one.identity.tick_lower, one.identity.tick_upper
        liquidity, balance = (
            one.liquidity,
            int(node("eth_getBalance", DEMO_WALLET.address, "latest"), 16),
        )
        most = 2**127
        for turn in range(50):
            liquidity = liquidity * 97 // 100
            away = spacing * (turn % 2)
            moves.modify(
                DEMO_WALLET,
                Burn(token_id, 0, 0),
                Mint(key, lower - away, upper + away, liquidity, most, most, DEMO_WALLET.address),
                CloseCurrency(key.currency0),
                CloseCurrency(key.currency1),
            )
            token_id = moves.next_token_id() - 1
        paid = balance - int(node("eth_getBalance", DEMO_WALLET.address, "latest"), 16)
        await desk.ask(Refresh())
        last = await desk.until(
            PositionsChanged,
            lambda told: (
                any(row.ref.token_id == token_id for row in told.view.rows)
                and told.view.results_at is not None
                and told.view.results_at > (first.view.read_at or 0.0)
            ),
        )
    before, after = first.view.glance, last.view.glance
    assert before is not None
    assert after is not None
    assert after.day == before.day
    cost = paid * prices_of(overview, one).wei
    assert 0 < cost < 200
    # Both are whole dollars, and each mint rounds by a unit of either token.
    assert figure(before.worth) - figure(after.worth) == pytest.approx(cost, abs=1.5)


_WINDOWS = ("today", "week", "month", "entry")
_PERIODS: tuple[EarningPeriod, ...] = ("today", "week", "month", "all")


def is_position(row: EarnedRow) -> bool:
    """One, or all that are closed by now."""
    return row.name.strip().startswith("#") or row.key.endswith("/closed")


def closed_row(view: PortfolioView) -> EarnedRow:
    (row,) = [row for row in view.rows if row.key.endswith("/closed")]
    return row


async def portfolio_of(here: DeskOpening) -> PortfolioView:
    async with sitting(here) as desk:
        await desk.ask(ShowPortfolio())
        await desk.desk.idle()
        return desk.heard_last(PortfolioChanged).view


@pytest.mark.usefixtures("changed_world")
async def test_moving_and_closing_forget_nothing_that_was_earned(
    devnet: DevnetReady, node: Node, tmp_path: Path
) -> None:
    here = opening(tmp_path, devnet.url)
    moves = Moves(httpx2.Client(), devnet.url, here.session.network)
    before = await portfolio_of(here)
    async with here.session.sources() as sources:
        overview = await read_overview(sources, here.session.address, WorthUnit.USD)
    positions, most = node("zuno_status")["positions"], 2**127
    moved, closed = (
        next(one for one in overview.wallet.positions if one.ref.token_id == positions[name])
        for name in ("healthy", "near the edge")
    )
    for one in (moved, closed):
        key, ticks = one.pool.key, (one.identity.tick_lower, one.identity.tick_upper)
        liquidity = one.liquidity * 97 // 100
        opened = Mint(key, *ticks, liquidity, most, most, DEMO_WALLET.address)
        moves.modify(
            DEMO_WALLET,
            Burn(v4_token_id(one.ref), 0, 0),
            *((opened,) if one is moved else ()),
            CloseCurrency(key.currency0),
            CloseCurrency(key.currency1),
        )
    after = await portfolio_of(here)

    for window in _WINDOWS:
        was, now = (figure(getattr(view.total, window)) for view in (before, after))
        # Whole dollars from a thousand on; below that a block or two more of fees.
        assert now >= was - 0.51
        assert now <= was + 25
    over, was_over = closed_row(after), closed_row(before)
    count = int(was_over.name.split()[0]) + 2
    assert over.name.strip() == f"{count} closed or moved"
    for row_name in ("today", "week", "month", "entry", "result"):
        parts = [figure(getattr(row, row_name)) for row in after.rows if is_position(row)]
        assert figure(getattr(after.total, row_name)) == pytest.approx(sum(parts), abs=0.51)
    # Each closed position's part of it is what its own row told before; once it is closed its hours
    # need not be read back to its beginning, and what changed within one is weighed by its time.
    names = [f"{position_label(one.ref)} " for one in (moved, closed)]
    rows = [row for row in before.rows if row.name.strip().startswith(tuple(names))]
    assert len(rows) == 2
    for window in _WINDOWS:
        earned = sum(figure(getattr(row, window)) for row in (*rows, was_over))
        assert figure(getattr(over, window)) == pytest.approx(earned, abs=0.3, rel=0.02)

    # The command line comes to the same sums.
    for period, window in zip(_PERIODS, _WINDOWS, strict=True):
        document = (await wallet_earned(here.session, period)).document
        assert isinstance(document, dict)
        assert document["fees"] == pytest.approx(figure(getattr(after.total, window)), abs=0.51)
        assert isinstance(document["closed"], list)
        assert len(document["closed"]) >= 2


async def test_windows_lie_within_one_another(devnet: DevnetReady, tmp_path: Path) -> None:
    async with sitting(opening(tmp_path, devnet.url)) as desk:
        await desk.ask(ShowPortfolio())
        await desk.desk.idle()
        view = desk.heard_last(PortfolioChanged).view
    rows = [row for row in view.rows if row.name.strip().startswith("#")]
    known = [
        [figure(words) for words in (row.today, row.week, row.month, row.entry)]
        for row in (*rows, view.total)
        if "unknown" not in (row.today, row.week, row.month, row.entry)
    ]
    assert len(known) >= 8
    for today, week, month, entry in known:
        assert today <= week + 0.01
        assert week <= month + 0.01
        assert month <= entry + 0.01
