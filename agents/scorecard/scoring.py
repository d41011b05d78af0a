"""A plan judged by the hours that followed it: nothing here reads a chain, a clock or a file."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple

from msgspec import Struct

from agents.numbers.advice import WIDE_HALF_WIDTH
from agents.numbers.edges import TICK_LOG, TickRange
from agents.numbers.fees import dilute_rate
from agents.numbers.outlook import Stake, loss_along, share_of_way
from agents.numbers.shapes import Shape, snapped_range
from agents.scorecard import score
from chain.base.units import DAY, HOUR, PIPS
from chain.history.hours import HourRow, hour_of
from chain.math.liquidity import Amounts, amounts_for_liquidity
from chain.math.ticks import sqrt_price_at_tick

if TYPE_CHECKING:
    from agents.lp.plan import Candidate, Plan, PlanPoolFacts

ROOT_ONE = float(1 << 96)


class JudgedHours(NamedTuple):
    """From the first full hour after a plan to as many days later, Unix seconds.

    Whole hours, because swaps are kept by the hour: whenever it is judged, the result is the same.
    """

    begin: int
    end: int


class CourseHour(NamedTuple):
    """An hour in which somebody swapped; prices are square roots, as plain numbers."""

    low: float
    high: float
    """What was reached since the hour before ended."""
    growth0: float
    growth1: float
    """What a unit of liquidity earned wherever the price went; so is `growth0`."""
    active: float
    """The liquidity the hour's fees were paid to."""
    start: float
    close: float
    """From where to where the price went."""


class PriceCourse(NamedTuple):
    first: int
    """The price a plan was made at, a square root as the contract keeps it; so is `last`."""
    last: int
    low: int
    high: int
    """The lowest and highest of all that was reached from then to the end."""
    hours: tuple[CourseHour, ...]

    def stays_in(self, ticks: TickRange) -> bool:
        """Whether the price never left a range; at its upper edge it is outside."""
        lowest, above = sqrt_price_at_tick(ticks.lower), sqrt_price_at_tick(ticks.upper)
        return lowest <= self.low and self.high < above


def judged_hours(made_at: int, days: int) -> JudgedHours:
    begin = -(-made_at // HOUR) * HOUR
    return JudgedHours(begin, begin + days * DAY)


def price_course(sqrt_price: int, made_at: int, days: int, rows: Sequence[HourRow]) -> PriceCourse:
    """From the price of a plan on; what was swapped in the rest of its hour moves only the price.

    `rows` have every hour with a swap since the plan was made.
    """
    begin, end = judged_hours(made_at, days)
    before = [row.close for row in rows if hour_of(made_at) <= row.hour < begin]
    opening = before[-1] if before else sqrt_price
    within = [row for row in rows if begin <= row.hour < end]
    hours = []
    start = opening
    for row in within:
        hours.append(_course_hour(row, start))
        start = row.close
    return PriceCourse(
        first=sqrt_price,
        last=start,
        low=min(sqrt_price, opening, *(row.low for row in within)),
        high=max(sqrt_price, opening, *(row.high for row in within)),
        hours=tuple(hours),
    )


def _course_hour(row: HourRow, start: int) -> CourseHour:
    root = row.close / ROOT_ONE
    growth = row.growth0 * root + row.growth1 / root
    paid = row.fees0 * root + row.fees1 / root
    return CourseHour(
        low=min(row.low, start) / ROOT_ONE,
        high=max(row.high, start) / ROOT_ONE,
        growth0=row.growth0,
        growth1=row.growth1,
        active=paid / growth if growth > 0 else 0.0,
        start=start / ROOT_ONE,
        close=root,
    )


class PlanOption(NamedTuple):
    """What could be done with what was there: a range or none, tokens beside it, and its gas."""

    stake: Stake | None
    beside: Amounts
    """In the wallet, or fees that were already earned."""
    gas1: float | None
    """In units of currency1; None is unknown."""
    cost1: float | None
    """Its whole cost, with what its swap and its mint lose; None is unknown."""


class EarnedFees(NamedTuple):
    fees0: float
    fees1: float

    def worth1(self, sqrt_price: int) -> float:
        return self.fees0 * price_of(sqrt_price) + self.fees1


def price_of(sqrt_price: int) -> float:
    """Units of currency1 for one of currency0."""
    return (sqrt_price / ROOT_ONE) ** 2


def worth1(amounts: Amounts, sqrt_price: int) -> float:
    return amounts.amount0 * price_of(sqrt_price) + amounts.amount1


def amounts_of(stake: Stake, sqrt_price: int) -> Amounts:
    """What liquidity pays when it is taken out."""
    lower, upper = (sqrt_price_at_tick(tick) for tick in stake.ticks)
    return amounts_for_liquidity(sqrt_price, lower, upper, stake.liquidity, round_up=False)


def earned_fees(course: PriceCourse, stake: Stake | None, in_pool: Stake | None) -> EarnedFees:
    """What a range was paid along the way.

    An hour pays by how much of the way between its lowest and highest price lies in the range. What
    was in the pool is taken to have been paid its part; any other range would have come in its
    place, and shares what was paid with everybody else's liquidity.
    """
    if stake is None:
        return EarnedFees(0.0, 0.0)
    fees0 = fees1 = 0.0
    for hour in course.hours:
        part = (
            stake.liquidity * _share_inside(hour, stake.ticks) * _share_left(hour, stake, in_pool)
        )
        fees0 += hour.growth0 * part
        fees1 += hour.growth1 * part
    return EarnedFees(fees0, fees1)


def lost_to_arbitrage(course: PriceCourse, stake: Stake | None) -> float:
    """In units of currency1, hour by hour: what holding the hour's tokens would have kept."""
    if stake is None or not course.hours:
        return 0.0
    return loss_along([course.hours[0].start, *(hour.close for hour in course.hours)], stake)


def worth_at_end(course: PriceCourse, option: PlanOption, in_pool: Stake | None) -> float | None:
    """In units of currency1, tokens at the pool's last price; None where its gas is unknown."""
    if option.gas1 is None:
        return None
    last = course.last
    held = Amounts(0, 0) if option.stake is None else amounts_of(option.stake, last)
    fees = earned_fees(course, option.stake, in_pool).worth1(last)
    return worth1(held, last) + worth1(option.beside, last) + fees - option.gas1


def hedged_result(course: PriceCourse, option: PlanOption, in_pool: Stake | None) -> float | None:
    """Fees less what arbitrage took less cost, in units of currency1: what the price did to the
    tokens that are held is no merit of whoever advised."""
    if option.cost1 is None:
        return None
    fees = earned_fees(course, option.stake, in_pool).worth1(course.last)
    return fees - lost_to_arbitrage(course, option.stake) - option.cost1


class KeptOrClosed(NamedTuple):
    """What a closed range came to, in units of currency1."""

    then: float
    """What came out, at the price of that moment; fees it had earned by then are left out."""
    closed: float
    """The same, held since, at the last price."""
    kept: float
    """The range, had it stayed in the pool, with the fees it would have earned."""


def kept_or_closed(course: PriceCourse, stake: Stake) -> KeptOrClosed:
    """Since a range was closed; it would have shared what was paid with everybody's liquidity."""
    paid = amounts_of(stake, course.first)
    kept = worth_at_end(course, PlanOption(stake, Amounts(0, 0), 0.0, 0.0), None)
    assert kept is not None
    return KeptOrClosed(worth1(paid, course.first), worth1(paid, course.last), kept)


def changed_or_not(before: KeptOrClosed, entered: KeptOrClosed) -> KeptOrClosed:
    """Since a range became another one, or fees went into one: as it was done, and as it was."""
    put = KeptOrClosed(0, 0, 0) if before.then else entered
    return KeptOrClosed(
        before.then + put.then,
        before.closed + put.closed + entered.kept - entered.closed,
        before.kept + put.closed,
    )


def wide_stake(
    available: Amounts, sqrt_price: int, tick: int, tick_spacing: int, fee_pips: int
) -> Stake:
    """All of it in a range of ±20 %, after a swap that pays the pool's fee and moves no price."""
    ticks = snapped_range(tick, Shape(1.0, 0), WIDE_HALF_WIDTH / TICK_LOG, tick_spacing)
    lower, upper = _roots(ticks)
    root, price = sqrt_price / ROOT_ONE, price_of(sqrt_price)
    # Of each currency for a unit of liquidity.
    need0, need1 = 1 / root - 1 / upper, root - lower
    kept = 1 - fee_pips / PIPS
    have0, have1 = available
    surplus = have0 * need1 - have1 * need0
    if surplus > 0:
        sold0 = surplus / (need1 + need0 * price * kept)
        return Stake(ticks, int((have0 - sold0) / need0))
    sold1 = -surplus / (need0 + need1 * kept / price)
    return Stake(ticks, int((have1 - sold1) / need1))


def _share_inside(hour: CourseHour, ticks: TickRange) -> float:
    return share_of_way(hour.low, hour.high, *_roots(ticks))


def _share_left(hour: CourseHour, stake: Stake, in_pool: Stake | None) -> float:
    """What is left of the hour's rate to a range that was not there."""
    if stake == in_pool:
        return 1.0
    own = 0.0 if in_pool is None else in_pool.liquidity * _share_inside(hour, in_pool.ticks)
    return dilute_rate(hour.active, max(0.0, hour.active - own), stake.liquidity)


def _roots(ticks: TickRange) -> tuple[float, float]:
    return sqrt_price_at_tick(ticks.lower) / ROOT_ONE, sqrt_price_at_tick(ticks.upper) / ROOT_ONE


_SURVIVAL_DAYS = (1, 7)


class DecidedPlan(Struct, frozen=True):
    plan: Plan
    decided_by: score.DecidedBy
    """Whether a model was asked."""


def kind_of(plan: Plan) -> score.AdviceKind:
    if plan.kind == "create":
        return score.AdviceKind.CREATE if plan.choice.kind == "move" else score.AdviceKind.KEEP
    return score.AdviceKind(plan.choice.kind)


def pool_of(plan: Plan) -> PlanPoolFacts:
    """The pool a plan is judged in: that of what it recommends."""
    return next(pool for pool in plan.pools if pool.pool_id == plan.recommended.pool_id)


def score_plan(
    decided: DecidedPlan, days: int, rows: Sequence[HourRow], read_at: score.JudgedBlock
) -> score.HorizonScore:
    """By every hour with a swap since the plan was made, of the pool it is judged in."""
    plan = decided.plan
    scoring = _Scoring(plan, price_course(pool_of(plan).sqrt_price_x96, plan.time, days, rows))
    return score.HorizonScore(
        plan_id=plan.plan_id,
        chain_id=plan.chain_id,
        kind=kind_of(plan),
        decided_by=decided.decided_by,
        days=days,
        made_at=plan.time,
        read_at=read_at,
        worth_before=worth1(scoring.available, scoring.pool.sqrt_price_x96),
        unit1_usd=scoring.unit1_usd,
        worths=scoring.each(worth_at_end),
        hedged=scoring.each(hedged_result),
        objected=bool(plan.dissent),
        rules_same=_rules_chose_the_same(plan),
        stays=tuple(scoring.stays(days)),
        fees=tuple(scoring.fees()) if days == 1 else (),
    )


def _rules_chose_the_same(plan: Plan) -> bool:
    return plan.rules_alone.kind == plan.choice.kind and plan.rules_move in (None, plan.recommended)


_Measured = Callable[[PriceCourse, PlanOption, "Stake | None"], "float | None"]


class _Scoring:
    def __init__(self, plan: Plan, course: PriceCourse) -> None:
        self._plan = plan
        self._course = course
        self.pool = pool_of(plan)
        self.available = _available(plan)
        self.unit1_usd = _unit1_usd(plan.recommended, self.pool.sqrt_price_x96)
        self._in_pool = _stake(plan.hold)

    def each(self, measured: _Measured) -> score.OptionWorths:
        """Every option in one measure; None where it is not there or nobody knows."""
        plan = self._plan

        def worth_of(option: PlanOption | None) -> float | None:
            return None if option is None else measured(self._course, option, self._in_pool)

        return score.OptionWorths(
            choice=worth_of(self._option(plan.recommended)),
            hold=worth_of(self._hold()),
            exit=None if plan.exit is None else worth_of(self._option(plan.exit)),
            wide=worth_of(self._wide()),
            rules=worth_of(self._rules()),
            wanted=worth_of(self._wanted()) if plan.dissent else None,
        )

    def stays(self, days: int) -> Iterator[score.StayOutcome]:
        """Every chance the card gives a range that the price was in."""
        if days not in _SURVIVAL_DAYS:
            return
        for candidate, stake in self._ranges():
            if candidate.survival is not None:
                said = candidate.survival.day if days == 1 else candidate.survival.week
                if said is not None:
                    yield score.StayOutcome(said, self._course.stays_in(stake.ticks))

    def fees(self) -> Iterator[score.FeeOutcome]:
        """Every interval of fees the card gives such a range, where dollars are known."""
        for candidate, stake in self._ranges():
            low, high = candidate.fee_low_24h, candidate.fee_high_24h
            if not high or low is None or self.unit1_usd is None:
                continue
            earned = earned_fees(self._course, stake, self._in_pool)
            yield score.FeeOutcome(low, high, earned.worth1(self._course.last) * self.unit1_usd)

    def _ranges(self) -> Iterator[tuple[Candidate, Stake]]:
        """Those the price was in: what the card says of others holds if it comes back."""
        for option in (self._plan.hold, *self._plan.candidates):
            stake = _stake(option)
            if option.pool_id != self.pool.pool_id or stake is None:
                continue
            if stake.ticks.lower <= self.pool.tick < stake.ticks.upper:
                yield option, stake

    def _hold(self) -> PlanOption:
        """Fees that were earned already stay with what is held."""
        held = self._plan.hold
        stake = _stake(held)
        if stake is None:
            return PlanOption(None, self.available, 0.0, 0.0)
        beside = Amounts(
            self.available.amount0 - held.amount0, self.available.amount1 - held.amount1
        )
        return PlanOption(stake, beside, 0.0, 0.0)

    def _option(self, candidate: Candidate) -> PlanOption:
        """What its swap and its mint lost is no longer in its liquidity: gas is what is left."""
        if candidate.kind == "hold":
            return self._hold()
        gas1, cost1 = map(self._in_currency1, (candidate.gas_usd, candidate.cost_usd))
        stake = _stake(candidate)
        if stake is None:
            return PlanOption(None, self.available, gas1, cost1)
        return PlanOption(stake, candidate.comes_back, gas1, cost1)

    def _wide(self) -> PlanOption | None:
        """At the gas of the dearest move of the plan; unknown where there was nothing to move."""
        gas = [candidate.gas_usd for candidate in self._plan.candidates]
        known = [cost for cost in gas if cost is not None]
        if not any(self.available) or not gas or len(known) < len(gas):
            return None
        pool = self.pool
        stake = wide_stake(
            self.available, pool.sqrt_price_x96, pool.tick, pool.tick_spacing, pool.lp_fee
        )
        gas1, root = self._in_currency1(max(known)), pool.sqrt_price_x96
        lost = worth1(self.available, root) - worth1(amounts_of(stake, root), root)
        return PlanOption(stake, Amounts(0, 0), gas1, None if gas1 is None else gas1 + lost)

    def _rules(self) -> PlanOption | None:
        """None where the rules would have gone to another pool."""
        plan = self._plan
        if plan.rules_move is not None:
            move = plan.rules_move
            return self._option(move) if move.pool_id == self.pool.pool_id else None
        if plan.rules_alone.kind == "exit" and plan.exit is not None:
            return self._option(plan.exit)
        return self._hold()

    def _wanted(self) -> PlanOption | None:
        """What the last model that objected would have done; Keep where it would do nothing."""
        wanted = self._plan.dissent[-1].wanted
        if wanted is None:
            return self._hold()
        option = self._plan.candidates[wanted]
        return self._option(option) if option.pool_id == self.pool.pool_id else None

    def _in_currency1(self, dollars: float | None) -> float | None:
        if dollars == 0:
            return 0.0
        if dollars is None or not self.unit1_usd:
            return None
        return dollars / self.unit1_usd


def _available(plan: Plan) -> Amounts:
    """What could be used, in the currencies of the pool the plan is judged in."""
    chosen = plan.recommended
    if plan.exit is not None:
        return Amounts(plan.exit.amount0, plan.exit.amount1)
    if chosen.tick_lower is None:
        return Amounts(chosen.amount0, chosen.amount1)
    # Before its swap: a pool of other tokens than the first has its own way to count the capital.
    amount0, amount1 = chosen.amount0 + chosen.residual0, chosen.amount1 + chosen.residual1
    swap = chosen.prep_action
    if swap is None:
        return Amounts(amount0, amount1)
    if swap.zero_for_one:
        return Amounts(amount0 + swap.amount_in, amount1 - swap.amount_out)
    return Amounts(amount0 - swap.amount_out, amount1 + swap.amount_in)


def _stake(candidate: Candidate) -> Stake | None:
    if candidate.tick_lower is None or candidate.tick_upper is None or not candidate.liquidity:
        return None
    return Stake(TickRange(candidate.tick_lower, candidate.tick_upper), candidate.liquidity)


def _unit1_usd(candidate: Candidate, sqrt_price: int) -> float | None:
    """What the plan took a unit of currency1 to be worth."""
    stake = _stake(candidate)
    amounts = (
        Amounts(candidate.amount0, candidate.amount1)
        if stake is None
        else amounts_of(stake, sqrt_price)
    )
    worth = worth1(amounts, sqrt_price)
    return candidate.value_usd / worth if candidate.value_usd and worth > 0 else None
