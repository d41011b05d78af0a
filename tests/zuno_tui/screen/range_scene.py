"""A pool that was read for a range of one's own: a week of prices, and liquidity around them."""

from math import exp, sin

from agents.lp.facts import ROOT_PARTS, MarketContext, PricePathFacts
from chain.tokens import Token
from chain.tokens.pair import Pair
from tests.agents.lp.made_up import Market
from zuno_tui.desk.events import RangeReady
from zuno_tui.intents.intents import ChooseRange
from zuno_tui.present.range_form import RangeForm, range_form

_HOURS = 168
_STEP = 200


def _week() -> PricePathFacts:
    roots = [
        round(ROOT_PARTS * (0.012 * sin(hour / 9) + 0.006 * sin(hour / 2.3) - 0.02 * part))
        for hour in range(_HOURS)
        for part in [1 - hour / (_HOURS - 1)]
    ]
    steps = tuple(
        (3_600 * (_HOURS - 1 - hour), root, root, root, 10**12, 1)
        for hour, root in enumerate(roots)
    )
    return PricePathFacts(opening=roots[0], liquidity_unit=10**15, swaps=_HOURS, steps=steps)


def market(*, dollars: int = 20_000) -> MarketContext:
    """A position in a pool whose liquidity is thickest around the price."""
    context = Market(0.03, dollars=dollars).position()
    pool = context.observed.pool
    nets = dict(pool.changes)
    for place in range(-12, 13):
        more = round(pool.liquidity * 0.3 * exp(-((place / 5) ** 2)))
        at = pool.tick // 10 * 10 + place * _STEP
        nets[at] = nets.get(at, 0) + more
        nets[at + _STEP] = nets.get(at + _STEP, 0) - more
    changed = pool.model_copy(update={"changes": tuple(sorted(nets.items()))})
    observed = context.observed.model_copy(update={"pool": changed, "week_path": _week()})
    return context.model_copy(update={"observed": observed})


def form_of(context: MarketContext) -> RangeForm:
    pool = context.observed.pool
    weth = Token(pool.currency0, "WETH", 18, verified=True, suspicious=False)
    usdc = Token(pool.currency1, "USDC", 6, verified=True, suspicious=False)
    return range_form(context, Pair(weth, usdc, inverted=False))


RANGE = RangeReady(ChooseRange("7"), (form_of(market()),))
