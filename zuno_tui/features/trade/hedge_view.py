"""A hedge in figures: exposure, what moves bring, a usual week, the account, past weeks."""

from collections.abc import Iterator
from datetime import UTC, datetime
from math import ceil, log10

from agents.trade.opinions import RangeExposure
from agents.trade.plan import HedgeOutlook, HedgePlan, TradePlan
from zuno_tui.features.trade.drawing import LIQUIDATION
from zuno_tui.features.trade.run_parts import FigureRow, FigureTable, Payoff
from zuno_tui.present.words import dollar_gain


def entry_price(plan: TradePlan) -> float | None:
    """What it would trade at; a hedge's by its own order."""
    resting = (order.price for order in plan.trading_orders if order.price is not None)
    return next(resting, None) if plan.entry is None else plan.entry


def hedge_payoff(plan: TradePlan) -> Payoff | None:
    hedge = plan.hedge
    if hedge is None or not hedge.position.delta or not hedge.reached or not plan.mark:
        return None
    facts, mark = hedge.position, plan.mark
    # As far as the liquidation, where that is not out of all reach.
    reach = 0.0 if plan.liquidation is None else plan.liquidation / mark * 1.03
    most = max(_PAYOFF_TO, reach) if reach < _PAYOFF_REACH else _PAYOFF_TO
    part = (most - _PAYOFF_FROM) / _PAYOFF_STEPS
    prices = tuple(mark * (_PAYOFF_FROM + part * step) for step in range(_PAYOFF_STEPS + 1))
    moved = [_moved_by(plan, hedge, price / mark - 1) for price in prices]
    marks = [(mark, "now")]
    if facts.price_range is not None:
        marks += [(facts.lower, "range low"), (facts.upper, "range high")]
    if (entry := entry_price(plan)) is not None and abs(entry / mark - 1) > _SAME_PRICE:
        marks.append((entry, "entry"))
    if plan.liquidation is not None:
        marks.append((plan.liquidation, LIQUIDATION))
    return Payoff(
        prices,
        tuple(float(alone) for alone, _ in moved),
        tuple(float(alone + short) for alone, short in moved),
        tuple(marks),
    )


_PAYOFF_FROM, _PAYOFF_TO, _PAYOFF_REACH = 0.6, 1.4, 2.2


_PAYOFF_STEPS = 100


_SAME_PRICE = 0.001


def hedge_tables(plan: TradePlan) -> Iterator[FigureTable]:
    if plan.hedge is not None:
        yield FigureTable("EXPOSURE", "now", "after", tuple(_exposure(plan.hedge)))
        if plan.hedge.position.delta:
            title = f"IF {plan.hedge.position.coin} MOVES"
            moved = tuple(_moved(plan, plan.hedge))
            note = "Position and short, before fees."
            yield FigureTable(title, "not hedged", "hedged", moved, beside=True, note=note)
        if account := tuple(_account_rows(plan, plan.hedge)):
            yield FigureTable("ACCOUNT", "now", "after", account)
        if plan.hedge.outlook is not None:
            rows = tuple(_usual_week(plan.hedge.outlook))
            note = (
                "By past days' moves, before the pool's fees. Re-hedged whenever the short is "
                f"{plan.hedge.position.band:.0%} off, trading fees paid.{_paid_words(plan.hedge)}"
            )
            yield FigureTable("A USUAL WEEK", "on average", "swings", rows, note=note)
        yield from _past_tables(plan.hedge)


def _paid_words(hedge: HedgePlan) -> str:
    """What stands against the average."""
    fees, lost = hedge.position.fees_a_day_usd, hedge.position.lvr_a_day_usd
    if fees is None or lost is None:
        return ""
    return f" In the past 24 h its pool paid ${fees:,.2f} and arbitrage took ${lost:,.2f}."


def _past_tables(hedge: HedgePlan) -> Iterator[FigureTable]:
    if hedge.weeks:
        rows = tuple(
            FigureRow(
                f"from {_day(begun)}",
                _whole_gain(round(alone)),
                _whole_gain(round(often)),
                f"left alone {_whole_gain(round(once))}",
            )
            for begun, alone, once, often in hedge.weeks
        )
        note = "The same range around the price of then, before the pool's fees and funding."
        yield FigureTable("PAST WEEKS", "not hedged", "re-hedged", rows, note=note, large=True)
    if hedge.funding_days:
        days = tuple(
            FigureRow(_day(day), "", dollar_gain(dollars)) for day, dollars in hedge.funding_days
        )
        note = "What was paid for as much short as there is after this plan."
        yield FigureTable("FUNDING BY DAY", "", "received", days, note=note, large=True)


def _day(moment: int) -> str:
    return datetime.fromtimestamp(moment, UTC).strftime("%b %d")


def _exposure(hedge: HedgePlan) -> Iterator[FigureRow]:
    """In coins, all of them with as many decimals."""
    position, coin = hedge.position, hedge.position.coin
    places = _places(max(position.delta, hedge.held, hedge.reached))

    def row(name: str, before: float, after: float, beside: str = "") -> FigureRow:
        first, second = (f"{value:,.{places}f}".replace("-", "−") for value in (before, after))
        return FigureRow(name, first, second, beside)

    if position.delta:
        yield row(f"{coin} held", position.delta, position.delta)
    target = f"target {hedge.ratio:.0%}" if position.delta else ""
    yield row(f"{coin} short", hedge.held, hedge.reached, target)
    if position.delta:
        risen = hedge.net_delta + position.gamma * 100
        moves = f"{risen:+.3g} {coin} after a $100 rise".replace("-", "−")
        yield row("net", position.delta - hedge.held, hedge.net_delta, moves)


def _places(largest: float) -> int:
    """Decimals that leave the largest figure four digits, and none of them over six."""
    whole = len(f"{largest:.0f}") if largest >= 1 else 0 if largest <= 0 else ceil(log10(largest))
    return min(6, max(0, 4 - whole))


def _account_rows(plan: TradePlan, hedge: HedgePlan) -> Iterator[FigureRow]:
    if plan.liquidation is not None and hedge.reached > 0:
        others = ", all else there as far" if plan.leverage_before else ""
        risen = f"{hedge.position.coin} {plan.liquidation / plan.mark - 1:+.0%}{others}"
        yield FigureRow(LIQUIDATION, "", f"${plan.liquidation:,.0f}", f"where {risen}")
    if plan.leverage_before is not None and plan.leverage_after is not None:
        yield FigureRow(
            "leverage",
            f"{plan.leverage_before:.2f}×",
            f"{plan.leverage_after:.2f}×",
            f"of an account of ${plan.equity or 0:,.0f}",
        )
    if hedge.cost_usd_a_day is not None:
        yield FigureRow("funding", "", f"{dollar_gain(-hedge.cost_usd_a_day)}", "a day")


def _moved(plan: TradePlan, hedge: HedgePlan) -> Iterator[FigureRow]:
    """What position and short together gain or lose, as the range would have it."""
    for part in _MOVES:
        alone, short = _moved_by(plan, hedge, part)
        yield FigureRow(
            f"{part:+.0%}".replace("-", "−") if part else "±0%",
            _whole_gain(alone),
            _whole_gain(alone + short),
            dollars=(alone, alone + short),
        )


def hedge_effect(plan: TradePlan) -> str:
    """What it does to a fall and to a rise of a tenth; empty where none is opened."""
    hedge = plan.hedge
    if hedge is None or not hedge.position.delta or not plan.decision.opens:
        return ""
    told = []
    for part, verb in ((-_EFFECT, "falls"), (_EFFECT, "rises")):
        alone, short = _moved_by(plan, hedge, part)
        told.append(f"{verb} {_EFFECT:.0%}: {_whole_gain(alone + short)}, not {_whole_gain(alone)}")
    return f"if {hedge.position.coin} {'; if it '.join(told)}"


def _whole_gain(dollars: int) -> str:
    return dollar_gain(dollars).removesuffix(".00") if dollars else "$0"


def _moved_by(plan: TradePlan, hedge: HedgePlan, part: float) -> tuple[int, int]:
    """Whole dollars that the position and the short gain: readers add up what they see."""
    facts, mark = hedge.position, plan.mark
    exposure = RangeExposure.from_coins(facts.delta, mark, facts.lower, facts.upper)
    alone = facts.delta * mark * part
    if exposure is not None:
        alone = exposure.worth(mark * (1 + part)) - exposure.worth(mark)
    return round(alone), -round(hedge.reached * mark * part)


_EFFECT = 0.1


_MOVES = (-0.2, -0.1, 0.0, 0.1, 0.2)


def _usual_week(outlook: HedgeOutlook) -> Iterator[FigureRow]:
    most = max(outlook.unhedged_usd, outlook.once_usd, outlook.adjusted_usd) or 1.0
    for name, mean, moves, cost in (
        ("not hedged", outlook.unhedged_mean_usd, outlook.unhedged_usd, 0.0),
        ("hedged", outlook.once_mean_usd, outlook.once_usd, outlook.once_cost_usd),
        (
            f"re-hedged ×{outlook.adjustments:.0f}",
            outlook.adjusted_mean_usd,
            outlook.adjusted_usd,
            outlook.adjusted_cost_usd,
        ),
    ):
        beside = f"${cost:,.2f} fees" if cost else ""
        part = moves / most
        yield FigureRow(name, _whole_gain(round(mean)), f"±${moves:,.0f}", beside, part=part)
