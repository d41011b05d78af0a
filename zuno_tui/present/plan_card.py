"""The plan card in text: hold, the moves and exit side by side, and what was decided."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING

from agents.lp.advice_words import assumption_words, edge_figure, option_letter
from agents.numbers.survival import WEEK_TOO_HIGH_POINTS
from agents.scorecard.track_record import TrackRecord, track_record
from chain.base.units import UNKNOWN, hours, percent, usd
from zuno_tui.present.answer import CommandAnswer
from zuno_tui.present.argued_plan import ArguedPlan, silences_in
from zuno_tui.present.drawing.pieces import bar
from zuno_tui.present.exit_codes import DONE, FAILED
from zuno_tui.present.output import OutputColumn, table
from zuno_tui.present.plan_sentence import PlanPool, decided_words, plan_pools, plan_sentence
from zuno_tui.present.transcript import wrapped
from zuno_tui.present.words import amount_of, fee_text, round_usd, short_amount, short_interval

if TYPE_CHECKING:
    from agents.lp.plan import Candidate, MoveJudgment, Plan, ReplayedRange
    from chain.base.store import Store

    Tell = Callable[[Candidate, PlanPool | None], str]

_BAR_CELLS = 8
_DAYS_A_YEAR = 365


def plan_answer(argued: ArguedPlan, store: Store | None = None) -> CommandAnswer:
    """What was edited since it was made is said to be, and is no success."""
    edited, record = argued.edited, track_record(argued.plan, store)
    shown = {
        **argued.document,
        **({"edited": True} if edited else {}),
        **({} if record is None else {"trackRecord": record.document}),
    }
    return CommandAnswer(
        lines=tuple(plan_lines(argued, plan_pools(argued.plan, store), record)),
        document=shown,  # type: ignore[arg-type]
        remarks=(edited_words(argued.plan),) if edited else (),
        code=FAILED if edited else DONE,
    )


def plan_lines(
    argued: ArguedPlan, pools: Mapping[str, PlanPool], record: TrackRecord | None = None
) -> Iterator[str]:
    plan = argued.plan
    yield f"{plan.plan_id} · {headline(plan)}"
    yield wrapped(plan_sentence(plan, pools, record), indent=0)
    yield decided_words(plan, pools)
    yield ""
    options = {
        "HOLD": plan.hold,
        **{move_name(move).upper(): move for move in plan.candidates},
        **({} if plan.exit is None else {"EXIT": plan.exit}),
    }
    columns = [OutputColumn(""), *(OutputColumn(name, "right") for name in options)]
    rows = [
        [label, *(tell(one, pools.get(one.pool_id)) for one in options.values())]
        for label, tell in figures_of(plan).items()
    ]
    yield from table(columns, rows)
    yield ""
    for sentence in (*reasons(plan, pools), *model_talk(argued), *record_words(argued)):
        yield wrapped(f"  {sentence}", indent=2)


def edited_words(plan: Plan) -> str:
    return (
        f"The file of {plan.plan_id} was changed since it was made: nobody argued for what "
        "it says now, and it cannot be approved. Ask for a new plan: zuno recommend ID"
    )


def record_words(argued: ArguedPlan) -> Iterator[str]:
    """Where it was argued, and the hash that tells whether that record is still the same."""
    if argued.record_hash is not None:
        yield (
            f"Argued on the record {argued.request_id}, whose last hash is {argued.record_hash}."
        )


def reasons(plan: Plan, pools: Mapping[str, PlanPool]) -> Iterator[str]:
    """Why this was chosen, what it takes, what it survives, and what the rules alone would do."""
    for reason in plan.choice.reasons:
        yield _sentence(reason)
    yield from _swap_words(plan, pools)
    yield from _outside_words(plan, pools)
    yield f"The choice {assumption_words(plan.assumptions)}."
    yield f"The rules alone, with nobody arguing, would have chosen {_rules_words(plan)}."
    yield (
        "Chances to stay 24 h came true as said over past hours; those of 7 d were up to "
        f"{WEEK_TOO_HIGH_POINTS} points too high."
    )


def _rules_words(plan: Plan) -> str:
    alone, move = plan.rules_alone, plan.rules_move
    if alone.kind == plan.choice.kind and move in (None, plan.recommended):
        return "the same"
    if move is None:
        return alone.kind
    return _named("move", move.index) if move in plan.candidates else "another move"


def _sentence(reason: str) -> str:
    return f"{reason[0].upper()}{reason[1:].rstrip('.')}."


def _swap_words(plan: Plan, pools: Mapping[str, PlanPool]) -> Iterator[str]:
    """What is sold and bought for the move that is recommended."""
    one, swap = plan.recommended, plan.recommended.prep_action
    pool = pools.get(one.pool_id)
    if swap is None or pool is None:
        return
    sold, bought = pool.sold_and_bought(zero_for_one=swap.zero_for_one)
    yield (
        f"First {amount_of(swap.amount_in, sold)} {sold.label} are swapped for "
        f"{amount_of(swap.amount_out, bought)} {bought.label}: fee and slippage take "
        f"{usd(swap.cost_usd)}, and minting at the price that moves takes "
        f"{usd(swap.minting_loss_usd)}."
    )
    if plan.bought is not None:
        yield f"You named no second token: this would buy {bought.label}."


def _outside_words(plan: Plan, pools: Mapping[str, PlanPool]) -> Iterator[str]:
    """That what HOLD is expected to earn out of range hangs on the price coming back."""
    hold, pool = plan.hold, pools.get(plan.hold.pool_id)
    if pool is not None and _is_outside(hold, pool) and hold.fee_yield_24h:
        yield (
            f"HOLD earns nothing now: {usd(hold.fee_yield_24h)} a day if the price comes back, "
            f"with {percent(hold.in_range_share)} of the day expected inside."
        )


def model_talk(argued: ArguedPlan) -> Iterator[str]:
    """What the model took and how it kept to its numbers, where there was one."""
    used = argued.model
    if used is not None:
        most = "" if used.most_tokens is None else f" of {used.most_tokens:,}"
        price = f", ${used.dollars:.4f}" if used.dollars is not None and used.tokens else ""
        yield f"The model took {used.tokens:,}{most} tokens{price}."
        yield f"Of the numbers it cited {used.cited} were given to it; {used.struck} were struck."
    if silences := silences_in(argued):
        times = "once" if len(silences) == 1 else f"{len(silences)} times"
        yield f"The rules spoke in place of the model {times}. {silences[-1]}"


def headline(plan: Plan) -> str:
    what = f"position #{plan.position}" if plan.position is not None else "a new position"
    return f"{what} · {circumstances(plan)}"


def circumstances(plan: Plan) -> str:
    """For whom, in what market and when it was argued."""
    return f"{plan.profile.value} · {plan.regime.value} market · block {plan.block:,}"


def _named(kind: str, index: int | None) -> str:
    return kind if index is None else f"option {option_letter(index)}"


def move_name(move: Candidate) -> str:
    """`B widen`: by its letter, and by what it does."""
    done = "open" if move.kind == "create" else move.kind
    return done if move.index is None else f"{option_letter(move.index)} {done}"


def _is_outside(one: Candidate, pool: PlanPool) -> bool:
    if one.tick_lower is None or one.tick_upper is None:
        return False
    return not one.tick_lower <= pool.tick < one.tick_upper


def _pool(one: Candidate, pool: PlanPool | None) -> str:
    return (
        "–" if pool is None or one.tick_lower is None else f"{pool.pair.name} {fee_text(pool.fee)}"
    )


def _edge(one: Candidate, pool: PlanPool | None) -> str:
    if one.tick_lower is None:
        return "–"
    return UNKNOWN if pool is None else edge_figure(pool.edge_7d)


def _bound(place: int) -> Tell:
    def tell(one: Candidate, pool: PlanPool | None) -> str:
        if one.tick_lower is None or one.tick_upper is None:
            return "–"
        if pool is None:
            return f"tick {(one.tick_lower, one.tick_upper)[place]}"
        return pool.pair.bounds(one.tick_lower, one.tick_upper)[place]

    return tell


def _buffer(multiple: int) -> Tell:
    def tell(one: Candidate, _pool: PlanPool | None) -> str:
        if one.buffer_hours is None:
            return "–"
        buffers = (one.buffer_hours.at_1x, one.buffer_hours.at_2x, one.buffer_hours.at_3x)
        return hours(buffers[multiple - 1])

    return tell


def _day(one: Candidate, _pool: PlanPool | None) -> str:
    if one.survival is None:
        return "–"
    return f"{bar(one.survival.day, _BAR_CELLS)} {percent(one.survival.day)}"


def _week(one: Candidate, _pool: PlanPool | None) -> str:
    if one.survival is None:
        return "–"
    return f"{bar(one.survival.week, _BAR_CELLS)} {percent(one.survival.week)}"


def _fees(one: Candidate, pool: PlanPool | None) -> str:
    """Both ends: tomorrow's volume is not known."""
    if one.fee_low_24h is None or one.fee_high_24h is None:
        return UNKNOWN
    if one.fee_high_24h == 0:
        return usd(0.0)
    back = " if back" if pool is not None and _is_outside(one, pool) else ""
    return f"{short_interval(one.fee_low_24h, one.fee_high_24h)}{back}"


def _interval(one: Candidate, _pool: PlanPool | None) -> str:
    if one.net_low_7d is None or one.net_high_7d is None:
        return UNKNOWN
    if one.net_low_7d == one.net_high_7d:
        return "–"
    return short_interval(one.net_low_7d, one.net_high_7d)


def _yearly(part: Callable[[Candidate], float | None]) -> Tell:
    """A day's dollars as a share of worth a year, the figure people compare."""

    def tell(one: Candidate, _pool: PlanPool | None) -> str:
        if one.tick_lower is None:
            return "–"
        amount = part(one)
        if amount is None or not one.value_usd:
            return UNKNOWN
        return percent(_DAYS_A_YEAR * amount / one.value_usd).replace("-", "−")

    return tell


def _net_24h(one: Candidate) -> float | None:
    if one.fee_yield_24h is None or one.lvr_24h is None:
        return None
    return one.fee_yield_24h - one.lvr_24h


def _swap(one: Candidate, pool: PlanPool | None) -> str:
    swap = one.prep_action
    if swap is None:
        return "–"
    if pool is None:
        return f"costs {usd(swap.cost_usd)}"
    sold, _ = pool.sold_and_bought(zero_for_one=swap.zero_for_one)
    return f"{short_amount(swap.amount_in, sold)} {sold.label}"


def _break_even(one: Candidate, _pool: PlanPool | None) -> str:
    """Nothing is earned back by what loses all the same, though it loses less than HOLD."""
    if one.index is None:
        return "–"
    if one.net_7d is not None and one.net_7d < 0:
        return "never"
    return hours(one.break_even_hours) if one.breaks_even else "never"


def _replayed(past: Callable[[MoveJudgment], ReplayedRange | None]) -> Tell:
    """What the range would have netted, had it been there, and how much of the way it was."""

    def tell(one: Candidate, _pool: PlanPool | None) -> str:
        found = None if one.judgment is None else past(one.judgment)
        if found is None:
            return "–"
        net = round_usd(found.fees_usd - found.lvr_usd)
        return f"{net} · {100 * found.in_range_share:.0f}%"

    return tell


def _judged(one: Candidate, _pool: PlanPool | None) -> str:
    return "–" if one.judgment is None else one.judgment.verdict.value


FIGURES: dict[str, Tell] = {
    "pool": _pool,
    "pays 7 d": _edge,
    "from": _bound(0),
    "to": _bound(1),
    "stays 24 h": _day,
    "stays 7 d": _week,
    "net in 7 d": _interval,
    "cost": lambda one, _: usd(one.cost_usd),
    "earned back": _break_even,
    "expected": lambda one, _: usd(one.net_7d),
    "fees a day": _fees,
    "LVR a day": lambda one, _: usd(one.lvr_24h),
    "swaps": _swap,
    "buffer": _buffer(1),
    "buffer at 2σ": _buffer(2),
    "buffer at 3σ": _buffer(3),
    "fees APR": _yearly(lambda one: one.fee_yield_24h),
    "LVR APR": _yearly(lambda one: one.lvr_24h),
    "net APR": _yearly(_net_24h),
    "past 24 h": _replayed(lambda judgment: judgment.replay_24h),
    "past 7 d": _replayed(lambda judgment: judgment.replay_7d),
    "judged": _judged,
}
_OF_POOLS = ("pool", "pays 7 d")


def figures_of(plan: Plan) -> dict[str, Tell]:
    """The card's rows; which pool an option is in is told only where there are several."""
    several = len({one.pool_id for one in plan.candidates}) > 1
    return {label: tell for label, tell in FIGURES.items() if several or label not in _OF_POOLS}
