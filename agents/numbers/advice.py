"""Whether to hold, move or leave, by what the pool paid over what arbitrage took in seven days.

That ratio, ρ₇, is the edge. A range of half-width h around the price, as a logarithm, works its
worth 2/h times over, so a day in it nets (ρ − 1)·σ²/8 · 2/h of its worth, it is left after h²/σ²
days, and re-centring it each time costs the fraction c. What is left, 2κ/h − cσ²/h² a day with
κ = (ρ − 1)σ²/8, is above nothing from ρ = 1 + 4c/h on and largest at h = cσ²/κ.
"""

from enum import StrEnum
from math import exp, log
from typing import NamedTuple

from chain.base.units import Quantity, Unknown
from chain.history.fee_rate import HourSums, hour_sums
from chain.history.hours import PoolHours
from chain.history.volatility import WEEK

HORIZON_DAYS = 7.0
"""No gain is counted for longer: the edge of a week says little of the month after it."""

LEAVE_UNDER = 0.85
"""Between .8 and .9 the line decides how often leaving is advised, not how right it is."""
ENTER_OVER = 1.25
"""Re-centring at exit beat leaving the range alone from .93–1.30 upwards, by pool and gas."""
HOURS_BETWEEN_ACTIONS = 24.0
"""Out at hour 44, in at 48, out at 52 is what a rule without a pause advised."""
COST_MULTIPLE = 2.0
"""What a move gains, or leaving saves, is more than this many times its whole cost."""
LEAST_WEEKLY_LOSS = 0.00125
"""Of worth, below which a pool that does not pay is no reason to leave: .1–.15 %."""
WIDE_HALF_WIDTH = log(1.2)
"""±20 %: from here on a range loses too little to be left for it."""

USUAL_LOG_EDGE = -0.13
"""Of pools with real liquidity; what a week showed is believed as far as it departs from it."""
EDGE_PERSISTENCE = 0.25
"""Of ln ρ₇ in the next seven days: .24 [.08, .38] over 985 days of real liquidity."""
HIGH_EDGE_PERSISTENCE = 0.6
"""Of what lies beyond the line of entering: weeks over it (1.4 on average) were followed by 1.10,
median 1.03. Drawn in by .25 they would say .99, drawn in whole by .6 they would say 1.19."""
MOST_EDGE_MEASURED = 1.76
"""The highest ρ₇ of any week of real liquidity that we measured (four pools, 1,043 days, 2021–25):
dollars of a pool that paid more are computed as if it had paid this, and the card says so."""
MOST_HALF_WIDTH_SIGMAS = 9.0


class AdvisedAction(StrEnum):
    HOLD = "hold"
    MOVE = "move"
    EXIT = "exit"


class AdviceReason(StrEnum):
    """What decided, and what is said beside it."""

    DANGER = "danger"
    EDGE_UNKNOWN = "edge_unknown"
    WORTH_UNKNOWN = "worth_unknown"
    MOVE_UNKNOWN = "move_unknown"
    POOL_DOES_NOT_PAY = "pool_does_not_pay"
    STAYING_LOSES = "staying_loses"
    LOSES_LITTLE = "loses_little"
    WIDE_RANGE = "wide_range"
    IN_RANGE = "in_range"
    OUT_OF_RANGE = "out_of_range"
    ACTED_RECENTLY = "acted_recently"
    IN_DEAD_BAND = "in_dead_band"
    THIN_BUFFER = "thin_buffer"
    NO_CANDIDATE = "no_candidate"
    GAIN_UNDER_COST = "gain_under_cost"
    WORSE_THAN_EXIT = "worse_than_exit"
    MOVE_PAYS = "move_pays"


DECIDES_ALONE = frozenset(
    (
        AdviceReason.DANGER,
        AdviceReason.EDGE_UNKNOWN,
        AdviceReason.STAYING_LOSES,
        AdviceReason.LOSES_LITTLE,
        AdviceReason.WIDE_RANGE,
        AdviceReason.OUT_OF_RANGE,
        AdviceReason.ACTED_RECENTLY,
    )
)
"""What holds or leaves a position whatever move is proposed."""


class AdviceLines(NamedTuple):
    """Where the edge makes leaving or entering advisable; between them nothing is touched."""

    leave_under: float = LEAVE_UNDER
    enter_over: float = ENTER_OVER
    hours_between: float = HOURS_BETWEEN_ACTIONS


DEAD_BAND = AdviceLines()
WITHOUT_DEAD_BAND = AdviceLines(leave_under=1.0, enter_over=1.0)
"""What the band is compared with in a backtest."""


class AdvisedMove(NamedTuple):
    """The best move that was allowed; None is unknown."""

    half_width: float
    """Half the logarithm of upper over lower price."""
    net: float | None
    """Fees − LVR in dollars over its `horizon_days`, before its cost."""
    cost: float | None
    """Gas of all steps, swap fee, impact and minting at the moved price, in dollars."""


class AdviceInputs(NamedTuple):
    """What is known of a position; None is unknown. Capital yet to enter is out of range."""

    inside: bool
    half_width: float
    """Half the logarithm of upper over lower price."""
    edge_7d: float | None
    worth: float | None
    hold_net: float | None
    """Fees − LVR in dollars that staying is expected to bring: in seven days where it is in range,
    else in those of the move it is compared with."""
    exit_cost: float | None
    week_again: float | None = None
    """Fees − LVR in dollars of seven days like the last, which leaving is judged by."""
    move: AdvisedMove | None = None
    hours_since_action: float | None = None
    """On this position or the one it was made of; None when nobody acted on it yet."""
    thin: bool = False
    """Whether its buffer is under the profile's floor: then it is about to be out of range."""
    dangerous: bool = False
    """A hook that can shut the door, a drained pool, a token that lost its peg."""


class Advice(NamedTuple):
    action: AdvisedAction
    reasons: tuple[AdviceReason, ...]
    """The one that decided first."""
    edge_7d: float | None
    week: float | None
    """What staying is expected to bring, in dollars; in range that is of seven days."""
    exit_beside: bool
    """Whether leaving is offered beside it."""

    @property
    def is_known(self) -> bool:
        """Whether everything the advice rests on was known."""
        return _UNKNOWN.isdisjoint(self.reasons)


_UNKNOWN = {AdviceReason.EDGE_UNKNOWN, AdviceReason.WORTH_UNKNOWN, AdviceReason.MOVE_UNKNOWN}


def advise(asked: AdviceInputs, lines: AdviceLines = DEAD_BAND) -> Advice:
    """One action with its reasons; what is unknown never moves anything."""
    action, reason = _decided(asked, lines)
    unpaid = asked.edge_7d is not None and asked.edge_7d < 1
    reasons = (reason, AdviceReason.POOL_DOES_NOT_PAY) if unpaid else (reason,)
    beside = action is AdvisedAction.HOLD and asked.inside and unpaid
    return Advice(action, reasons, asked.edge_7d, asked.hold_net, beside)


def edge_ratio(fee_rate: float, squared_returns: float) -> float | None:
    """ρ: what full-range worth was paid over Σ r²/8; None where the price never moved."""
    return 8 * fee_rate / squared_returns if squared_returns > 0 else None


def expected_edge(edge_7d: float) -> float:
    """ρ̂: next week's edge, this week's drawn towards what pools usually pay."""
    if edge_7d <= 0:
        return 0.0
    edge_7d = min(edge_7d, MOST_EDGE_MEASURED)
    beyond = max(0.0, log(edge_7d / ENTER_OVER))
    believed = EDGE_PERSISTENCE * (log(edge_7d) - beyond - USUAL_LOG_EDGE)
    return exp(USUAL_LOG_EDGE + believed + HIGH_EDGE_PERSISTENCE * beyond)


def enter_line(cost_share: float, half_width: float, lines: AdviceLines = DEAD_BAND) -> float:
    """The edge from which on entering pays: 1 + 4c/h, and never under the dead band."""
    return max(lines.enter_over, 1 + 4 * cost_share / half_width)


def horizon_days(half_width: float, daily_sigma: float) -> float:
    """How long a centred range's gain is counted: its mean life h²/σ², at most seven days."""
    return min(HORIZON_DAYS, (half_width / daily_sigma) ** 2)


def advised_half_width(
    cost_share: float, edge_7d: float, daily_sigma: float, base_sigmas: float
) -> float:
    """cσ²/κ = 8c/(ρ̂ − 1), held between the profile's base and nine daily σ."""
    base, most = base_sigmas * daily_sigma, MOST_HALF_WIDTH_SIGMAS * daily_sigma
    excess = expected_edge(edge_7d) - 1
    return min(max(8 * cost_share / excess, base), most) if excess > 0 else most


def _decided(asked: AdviceInputs, lines: AdviceLines) -> tuple[AdvisedAction, AdviceReason]:
    if asked.dangerous:
        return AdvisedAction.EXIT, AdviceReason.DANGER
    if asked.edge_7d is None:
        return AdvisedAction.HOLD, AdviceReason.EDGE_UNKNOWN
    since = asked.hours_since_action
    if since is not None and since < lines.hours_between:
        return AdvisedAction.HOLD, AdviceReason.ACTED_RECENTLY
    if not asked.inside:
        return _out_of_range(asked, lines)
    action, reason = _in_range(asked, lines)
    # Moving each time a buffer is thin made 2 to 6 moves a week: it is offered, not advised.
    near = asked.thin and reason in _WAITING
    return action, AdviceReason.THIN_BUFFER if near else reason


def _in_range(asked: AdviceInputs, lines: AdviceLines) -> tuple[AdvisedAction, AdviceReason]:
    """Leave or stay: a position in range is never moved for a better yield."""
    if asked.worth is None or asked.week_again is None or asked.exit_cost is None:
        return AdvisedAction.HOLD, AdviceReason.WORTH_UNKNOWN
    if asked.edge_7d is None or asked.edge_7d >= 1:
        return AdvisedAction.HOLD, AdviceReason.IN_RANGE
    if asked.edge_7d >= lines.leave_under:
        return AdvisedAction.HOLD, AdviceReason.IN_DEAD_BAND
    if asked.half_width >= WIDE_HALF_WIDTH:
        return AdvisedAction.HOLD, AdviceReason.WIDE_RANGE
    loss = -asked.week_again
    if loss <= LEAST_WEEKLY_LOSS * asked.worth or loss <= COST_MULTIPLE * asked.exit_cost:
        return AdvisedAction.HOLD, AdviceReason.LOSES_LITTLE
    return AdvisedAction.EXIT, AdviceReason.STAYING_LOSES


def _out_of_range(asked: AdviceInputs, lines: AdviceLines) -> tuple[AdvisedAction, AdviceReason]:
    """Move or wait: out of range nothing is lost by waiting."""
    if asked.edge_7d is None or asked.edge_7d <= 1:
        return AdvisedAction.HOLD, AdviceReason.OUT_OF_RANGE
    if asked.edge_7d <= lines.enter_over:
        return AdvisedAction.HOLD, AdviceReason.IN_DEAD_BAND
    if asked.move is None:
        return AdvisedAction.HOLD, AdviceReason.NO_CANDIDATE
    against = _against(asked.move, asked, asked.edge_7d, lines)
    if against is not None:
        return AdvisedAction.HOLD, against
    return AdvisedAction.MOVE, AdviceReason.MOVE_PAYS


def _against(
    move: AdvisedMove, asked: AdviceInputs, edge: float, lines: AdviceLines
) -> AdviceReason | None:
    """What speaks against a move: it must pay for itself, and beat both HOLD and EXIT."""
    if not asked.worth or asked.hold_net is None or asked.exit_cost is None:
        return AdviceReason.WORTH_UNKNOWN
    if move.net is None or move.cost is None:
        return AdviceReason.MOVE_UNKNOWN
    enough = edge > enter_line(move.cost / asked.worth, move.half_width, lines)
    if not enough or move.net - asked.hold_net <= COST_MULTIPLE * move.cost:
        return AdviceReason.GAIN_UNDER_COST
    if move.net - move.cost <= -asked.exit_cost:
        return AdviceReason.WORSE_THAN_EXIT
    return None


_WAITING = {AdviceReason.IN_RANGE, AdviceReason.IN_DEAD_BAND, AdviceReason.LOSES_LITTLE}


def week_edge(hours: PoolHours) -> Quantity[float]:
    return edge_of(hour_sums(hours, WEEK))


def edge_of(week: Quantity[HourSums]) -> Quantity[float]:
    """Unknown also where the price never moved: nothing was risked."""
    if isinstance(week, Unknown):
        return week
    edge = edge_ratio(week.value.fee_rate, week.value.squared_returns)
    if edge is None:
        return Unknown(f"the price did not move in the last {WEEK} hours")
    return week.map(lambda _: edge)
