"""What an alert says is what stands at its position: every word of a side, and every figure."""

import re
from fractions import Fraction
from random import Random

from msgspec.structs import replace

from agents.monitor.alerts.alert import Finding
from agents.monitor.rules.baseline import INSIDE, OUTSIDE
from agents.monitor.rules.risks import find_exit, findings
from agents.monitor.rules.situation import Situation
from agents.monitor.rules.thresholds import Thresholds
from agents.numbers.edges import TickRange, edges_of, price_tick
from agents.numbers.regime import daily_ticks
from agents.numbers.survival import survival
from chain.base.units import percent, usd
from chain.history.volatility import Volatility, VolatilityStep
from tests.agents.monitor.made_up_positions import LOWER, UPPER, at_tick
from tests.printed import printed

CASES, FEWEST_PLANTED = 400, 40
_FIGURE = re.compile(r"\$?\d[\d,]*(?:\.\d+)?(?:e-?\d+)?k?%?")
_HOURS = "24"
"""The one figure that is a rule's own."""
_OTHERWISE = {
    "below": "above",
    "above": "below",
    "lower": "upper",
    "upper": "lower",
    "is out of range": "is back at the edge",
    "is back at the edge": "is out of range",
}


def made_up(chance: Random) -> tuple[Situation, Thresholds]:
    tick = chance.choice((chance.randint(-1_600, 1_600), *(-990, 990, 1_000, -1_001)))
    at, sigma = at_tick(tick), chance.uniform(0.01, 0.2)
    situation = replace(
        at,
        pair=replace(at.pair, inverted=chance.random() < 0.5),
        # Whoever has left counts as out until the price is well inside again.
        standing=OUTSIDE if not LOWER + 20 <= tick < UPPER - 20 else INSIDE,
        volatility=Volatility(VolatilityStep.MARKET, sigma, 24, "CoinGecko", None, None, ()),
        principal_usd=chance.uniform(500, 5_000),
        fees_usd=chance.uniform(0, 90),
        waiting_usd=chance.uniform(0, 90),
        collect_usd=chance.uniform(0.01, 4),
        price_difference=chance.uniform(0, 0.1),
        loss=chance.uniform(-0.2, 0.5),
    )
    level = Fraction(chance.randint(80, 120), 100)
    return situation, Thresholds(
        loss=chance.choice((None, 0.1)),
        value_below_usd=chance.choice((None, 3_000.0)),
        price_below=chance.choice((None, level)),
        price_above=chance.choice((None, level)),
    )


def figures_at(situation: Situation, wanted: Thresholds) -> set[str]:
    """Every figure that stands at the position, as its page writes it."""
    pair, pool, moving = situation.pair, situation.position.pool, situation.volatility
    assert moving is not None
    assert situation.principal_usd is not None
    assert situation.waiting_usd is not None
    edges = edges_of(price_tick(pool.sqrt_price_x96), TickRange(LOWER, UPPER))
    dollars = (
        *(situation.fees_usd, situation.collect_usd, wanted.value_below_usd),
        situation.principal_usd + situation.waiting_usd,
    )
    stays = survival(edges, daily_ticks(moving.daily_sigma), 24.0)
    shares = (situation.price_difference, situation.loss, wanted.loss, stays, moving.daily_sigma)
    levels = (wanted.price_below, wanted.price_above)
    told = (
        *(situation.name, pair.price_text(pool.sqrt_price_x96), *pair.bounds(LOWER, UPPER), _HOURS),
        *(usd(value) for value in dollars if value is not None),
        *(percent(value) for value in shares if value is not None),
        *(f"{float(level):g}" for level in levels if level is not None),
    )
    return {figure for text in told for figure in _FIGURE.findall(text)}


def contradictions(found: Finding, situation: Situation, wanted: Thresholds) -> list[str]:
    """What its sentence claims and the position does not bear out."""
    pool, words = situation.position.pool, found.message
    price = situation.pair.price(pool.sqrt_price_x96)
    assert price is not None
    now, low, high = (
        float(text.replace(",", ""))
        for text in (price.digits(), *situation.pair.bounds(LOWER, UPPER))
    )
    inside = LOWER <= pool.tick < UPPER
    levels = [float(each) for each in (wanted.price_below, wanted.price_above) if each is not None]
    limit = levels if "you set" in words and "price" in words else [low, high]
    so = {
        "is out of range": not inside,
        "left its range": not inside,
        "is back at the edge": inside,
        "below": now < max(limit),
        "above": now > min(limit),
        "lower edge": abs(now - low) < abs(now - high),
        "upper edge": abs(now - high) < abs(now - low),
    }
    if limit == [low, high]:
        # On the edge itself both are written alike.
        so |= {"below": now <= low, "above": now >= high}
    wrong = [claim for claim, holds in so.items() if claim in words and not holds]
    known = figures_at(situation, wanted)
    return wrong + [figure for figure in _FIGURE.findall(words) if figure not in known]


def test_no_alert_contradicts_its_position_and_every_planted_one_is_found() -> None:
    chance, kinds, planted, missed = Random(47), set(), 0, []
    for _ in range(CASES):
        situation, wanted = made_up(chance)
        found = findings(situation, wanted)
        if not LOWER <= situation.position.pool.tick < UPPER:
            left = find_exit(situation, situation.position.pool.tick, 24)
            found = [*found, left]
        for each in found:
            kinds.add(each.kind)
            assert contradictions(each, situation, wanted) == [], each.message
            for false in falsified(each):
                planted += 1
                if not contradictions(false, situation, wanted):
                    missed.append(false.message)
    assert planted >= FEWEST_PLANTED
    assert missed == []
    printed(f"{CASES} situations, {len(kinds)} kinds of alert, {planted} planted, all found")


def falsified(found: Finding) -> list[Finding]:
    """The same alert with another side, and with each of its dollars and shares doubled."""
    words = found.message
    swapped = [words.replace(said, other, 1) for said, other in _OTHERWISE.items() if said in words]
    money = [figure for figure in _FIGURE.findall(words) if "$" in figure or "%" in figure]
    changed = [words.replace(figure, f"9{figure.strip('$')}", 1) for figure in money]
    return [replace(found, message=message) for message in (*swapped, *changed)]
