"""A pool read once, from which every range in it is told at once: what the range form shows."""

from collections.abc import Callable, Iterator
from math import exp, log

from msgspec import Struct
from msgspec.structs import replace

from agents.lp.advice_words import edge_figure
from agents.lp.evaluation import Evaluated, evaluate, hold_candidate
from agents.lp.evaluation_context import EvaluationContext, evaluation_of
from agents.lp.facts import MarketContext, ScoutContext, path_steps
from agents.lp.plan import Candidate, OwnRange, ShapeChoice
from agents.numbers.edges import TICK_LOG, TickRange, price_tick
from agents.numbers.rules import PROFILES, judge_move
from chain.math.liquidity import LiquidityError
from chain.math.ticks import nearest_usable_tick, sqrt_price_at_tick, usable_ticks
from chain.protocols.reference import PositionRef, position_label
from chain.tokens.pair import Pair
from zuno_tui.present.charts import liquidity_points, survival_bar
from zuno_tui.present.plan_card import FIGURES, PlanPool
from zuno_tui.present.views import ChartView, RangeFigure, RangePreview, Tone
from zuno_tui.present.words import dollar_gain, fee_text, short_amount

_CHANCES: dict[str, Callable[[Candidate], float | None]] = {
    "stays 24 h": lambda one: None if one.survival is None else one.survival.day,
    "stays 7 d": lambda one: None if one.survival is None else one.survival.week,
}
_MONEY: dict[str, Callable[[Candidate], float | None]] = {
    "fees a day": lambda one: one.fee_yield_24h,
    "net next 7 d": lambda one: one.net_7d,
    "cost": lambda _: None,
    "earned back": lambda _: None,
}
"""What is told in figures, and what of it can be better or worse in dollars."""
_BAR = 8
_SAME = "same"
_STEPS_ACROSS = 40
"""How many steps of a key it takes across the range one begins with."""
_MARGIN = 1.25
_LEAST_REACH = 200
_ROOT_ONE = 1 << 96


class RangeForm(Struct, frozen=True, eq=False):
    """Nothing is read for a preview: the same reading and range give the same figures."""

    context: ScoutContext
    evaluation: EvaluationContext
    pair: Pair
    held: Candidate | None
    past: tuple[tuple[float, float], ...]
    """Times and prices of a week, the oldest first, up to now."""
    phrase: str = ""
    """What is to be opened, in the words of `create`, without its prices."""
    named: TickRange | None = None
    """The range it begins with, where one was named."""

    @property
    def ref(self) -> PositionRef | None:
        """The position that is to be moved; None where one is to be opened."""
        return self.context.position.token_id if isinstance(self.context, MarketContext) else None

    @property
    def title(self) -> str:
        pool = self.evaluation.observed.pool
        what = "a new position" if self.ref is None else position_label(self.ref)
        paid = edge_figure(self.evaluation.market.edge_7d)
        return (
            f"Your range for {what} · {self.pair.name} {fee_text(pool.lp_fee)} · pool paid {paid}"
        )

    @property
    def begins(self) -> TickRange:
        """The range that was named or is held now, or the profile's own around the price."""
        held = self.named or self.evaluation.current
        return held or self.centre(round(2 * self.evaluation.base_half_width))

    @property
    def step(self) -> int:
        spacing = self.evaluation.observed.pool.tick_spacing
        return max(1, round(self.begins.width / _STEPS_ACROSS / spacing)) * spacing

    def move_edges(self, ticks: TickRange, low: int, high: int) -> TickRange:
        """Both edges moved by ticks of the shown price; they stay apart and on usable ticks."""
        spacing = self.evaluation.observed.pool.tick_spacing
        down, up = (-high, -low) if self.pair.inverted else (low, high)
        lowest, highest = usable_ticks(spacing)
        lower = min(max(ticks.lower + down, lowest), highest - spacing)
        upper = min(max(ticks.upper + up, lowest + spacing), highest)
        if lower < upper:
            return TickRange(lower, upper)
        # An edge that meets the other stops one usable tick before it.
        if down:
            return TickRange(upper - spacing, upper)
        return TickRange(lower, lower + spacing)

    def centre(self, width: int) -> TickRange:
        """So wide, with the price in its middle."""
        pool = self.evaluation.observed.pool
        spacing = pool.tick_spacing
        lowest, highest = usable_ticks(spacing)
        half = max(width // 2, spacing)
        lower = max(nearest_usable_tick(max(pool.tick - half, lowest), spacing), lowest)
        upper = min(nearest_usable_tick(min(pool.tick + half, highest), spacing), highest)
        return TickRange(lower, max(upper, lower + spacing))

    def preview(self, ticks: TickRange) -> RangePreview:
        told = RangePreview(*self.pair.bounds(*ticks), self._parts(ticks), self._edges(ticks))
        if ticks == self.evaluation.current:
            told = self._with_figures(told, None)
            return replace(told, trouble="This is the range it has now.")
        try:
            own = self.evaluate_range(ticks)
        except LiquidityError:
            words = "That is more than a pool can hold in so narrow a range."
            return replace(told, trouble=words)
        judged = judge_move(own.numbers, PROFILES[self.context.profile])
        return replace(
            self._with_figures(told, own.candidate),
            objections=tuple(objection.words for objection in judged.objections),
        )

    def evaluate_range(self, ticks: TickRange) -> Evaluated:
        """By the arithmetic of every candidate; LiquidityError where a pool cannot hold it."""
        return evaluate(self.evaluation, _named_range(self.evaluation, ticks), 0)

    def reach(self, ticks: TickRange) -> int:
        """Ticks to either side of the price that show this range and a week of prices."""
        pool = self.evaluation.observed.pool
        now = self.past[-1][1]
        past = (abs(log(price / now)) / TICK_LOG for _, price in self.past)
        far = max(abs(ticks.lower - pool.tick), abs(ticks.upper - pool.tick), *past, _LEAST_REACH)
        return round(far * _MARGIN)

    def span(self, reach: int) -> tuple[float, float]:
        """The prices at the ends of a picture."""
        tick = self.evaluation.observed.pool.tick
        lowest, highest = usable_ticks(1)
        return self._edges(TickRange(max(tick - reach, lowest), min(tick + reach, highest)))

    def chart(self, ticks: TickRange) -> ChartView:
        times, prices = zip(*self.past, strict=True)
        low, high = self._edges(ticks)
        return ChartView(times, prices, low, high)

    def liquidity(self, reach: int) -> tuple[tuple[float, float], ...]:
        """Price and the liquidity active there, without what is to be moved."""
        depth = self.evaluation.terms.depth
        return () if depth is None else liquidity_points(self.pair, depth, reach)

    def _edges(self, ticks: TickRange) -> tuple[float, float]:
        first, last = sorted(_price(self.pair, sqrt_price_at_tick(tick)) for tick in ticks)
        return first, last

    def _parts(self, ticks: TickRange) -> tuple[str, str]:
        """How far the edges are from the price."""
        now = price_tick(self.evaluation.sqrt_price)
        away = [tick - now for tick in ticks]
        low, high = (-away[1], -away[0]) if self.pair.inverted else (away[0], away[1])
        return _part(low), _part(high)

    def _with_figures(self, told: RangePreview, own: Candidate | None) -> RangePreview:
        held = self.held
        return replace(
            told,
            figures=tuple(self._figures(held, own)),
            amounts=(
                RangeFigure("puts in", self._amounts(held), self._amounts(own)),
                RangeFigure("swaps", "", self._swap(own)),
            ),
        )

    def _figures(self, held: Candidate | None, own: Candidate | None) -> Iterator[RangeFigure]:
        pool = self.evaluation.observed.pool
        facts = PlanPool(self.pair, pool.tick, pool.lp_fee, self.evaluation.market.edge_7d)
        for label, chance in _CHANCES.items():
            before, after = (
                None if candidate is None else chance(candidate) for candidate in (held, own)
            )
            now, would = (
                "" if candidate is None else survival_bar(chance(candidate), _BAR)
                for candidate in (held, own)
            )
            change = _points(before, after)
            yield RangeFigure(label, now, would, change, _better(change))
        for label, dollars in _MONEY.items():
            now, would = (
                "" if candidate is None else FIGURES[label](candidate, facts)
                for candidate in (held, own)
            )
            before, after = (
                None if candidate is None else dollars(candidate) for candidate in (held, own)
            )
            change = "" if before is None or after is None else _dollars(after - before)
            never: Tone = "warn" if would == "never" else "plain"
            yield RangeFigure(label, now, would, change, _better(change), never)

    def _amounts(self, candidate: Candidate | None) -> str:
        if candidate is None:
            return ""
        pair = self.pair
        amounts = zip(
            (candidate.amount0, candidate.amount1), (pair.token0, pair.token1), strict=True
        )
        parts = [f"{short_amount(amount, token)} {token.label}" for amount, token in amounts]
        return " + ".join(reversed(parts) if pair.inverted else parts)

    def _swap(self, own: Candidate | None) -> str:
        if own is None:
            return ""
        swap = own.prep_action
        if swap is None:
            return "nothing"
        tokens = (self.pair.token0, self.pair.token1)
        sold, bought = tokens if swap.zero_for_one else tokens[::-1]
        return (
            f"{short_amount(swap.amount_in, sold)} {sold.label} → "
            f"{short_amount(swap.amount_out, bought)} {bought.label}"
        )


def range_form(
    context: ScoutContext,
    pair: Pair,
    *,
    phrase: str = "",
    pool_index: int = 0,
    named: TickRange | None = None,
) -> RangeForm:
    """For a pair whose decimals are known: without them there is no price to choose."""
    evaluation = evaluation_of(context, pool_index)
    held = hold_candidate(context) if evaluation.hold is not None else None
    past = tuple(_past(context.time, evaluation, pair))
    return RangeForm(context, evaluation, pair, held, past, phrase, named)


def _past(now: int, evaluation: EvaluationContext, pair: Pair) -> Iterator[tuple[float, float]]:
    observed = evaluation.observed
    path = observed.week_path or observed.day_path
    steps = () if path is None else path_steps(path, evaluation.sqrt_price)
    for step in steps:
        yield float(now - step.age), _price(pair, round(step.close * _ROOT_ONE))
    yield float(now), _price(pair, evaluation.sqrt_price)


def _price(pair: Pair, root: int) -> float:
    price = pair.price(root)
    if price is None:
        raise ValueError(f"{pair.name} has no price without decimals.")
    return price.value


def _named_range(evaluation: EvaluationContext, ticks: TickRange) -> ShapeChoice:
    """The same shape that a range named in prices becomes."""
    pool = evaluation.observed.pool
    low, high = (exp(tick * TICK_LOG) for tick in ticks)
    own = OwnRange(token=pool.currency0, quote=pool.currency1, low=low, high=high)
    return ShapeChoice(width_multiplier=1.0, center_offset_ticks=0, own_range=own)


def _points(before: float | None, after: float | None) -> str:
    if before is None or after is None:
        return ""
    # Of what stands beside it: a difference that does not add up looks like a mistake.
    shown = [float(f"{100 * part:.3g}") for part in (before, after)]
    points = round(shown[1] - shown[0], 1)
    return f"{points:+.1f} pts".replace("-", "−") if points else _SAME


def _dollars(by: float) -> str:
    return dollar_gain(by) if round(by, 2) else _SAME


def _better(change: str) -> Tone:
    if change == _SAME:
        return "dim"
    return "bad" if change.startswith("−") else "good"


def _part(ticks: float) -> str:
    change = 100 * (exp(ticks * TICK_LOG) - 1)
    return f"{change:+.3g}%".replace("-", "−") if abs(change) < 1e6 else "far off"
