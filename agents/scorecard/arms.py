"""Does arguing help? The same recorded situations decided in several ways at equal tokens.

Every decision is replayed over the swaps that followed, whatever its range. An arm is compared with
the rules, and with what its own choices in other situations would have come to in this one: that
takes out what comes of always going wider or narrower, and leaves what it saw in the situation.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from enum import StrEnum
from statistics import fmean, median, median_low, mode
from typing import Literal, NamedTuple, TypeAlias

from msgspec import Struct
from msgspec.structs import replace

from agents.backtest.report import TOLD_PER
from agents.bus.envelope import Role
from agents.bus.record import RecordWriter
from agents.bus.worker import Ambient, BusLimits
from agents.lp import payloads
from agents.lp.advice_words import option_letter
from agents.lp.briefing import ALONE, AloneReply, brief_of
from agents.lp.conclude import eligible, rules_alone
from agents.lp.critic import with_judgment
from agents.lp.debate import hold_debate
from agents.lp.evaluation import evaluate, exit_candidate, hold_candidate
from agents.lp.evaluation_context import evaluation_of
from agents.lp.facts import NO_MEMORY, DeskMemory, ObservedPool, ScoutContext
from agents.lp.judge import judged_round
from agents.lp.plan import Candidate, ShapeChoice
from agents.lp.propose import FULL_RANGE, candidates_of, shapes_by_rules
from agents.lp.services import Eyes
from agents.model.budget import Spent
from agents.model.claims import Unit
from agents.model.interface import (
    Answer,
    Model,
    ModelPrompt,
    ModelUnavailable,
    Reply,
    Unavailability,
)
from agents.model.speaking import Brief
from agents.numbers.edges import TickRange, price_tick
from agents.numbers.outlook import Stake
from agents.numbers.shapes import MAX_CENTER_OFFSET_TICKS, bounded_multiplier
from agents.scorecard.score import DRAWS, FEWEST_WEEKS, SEED
from agents.scorecard.scoring import PriceCourse, earned_fees, lost_to_arbitrage, price_course
from chain.base.units import DAY
from chain.history.hours import HourRow
from chain.math.liquidity import LiquidityError

_WEEK = 7 * DAY
_MOST_CALLS = 9
_ITS_OWN_FAULT = frozenset(
    (Unavailability.MALFORMED, Unavailability.INVALID, Unavailability.REFUSED)
)
"""A model that answers so has answered."""


class Arm(StrEnum):
    RULES = "rules"
    DEBATE = "debate"
    NOISE = "noise"
    ONE = "one"
    VOTE = "vote"
    SELF = "self"


ARM_WORDS = {
    Arm.RULES: "no model",
    Arm.DEBATE: "the debate as it is held",
    Arm.NOISE: "the debate, its Critic's model asked about another situation",
    Arm.ONE: "one question to one model, with all facts",
    Arm.VOTE: "the same question several times: most voices, of ranges the median",
    Arm.SELF: "the same question, then asked to find its own mistake",
}
MEASURES = {
    "overRules": "hedged dollars (fees − LVR − cost) for each $10,000, under the rules' filter, "
    "less those of the rules; the first measure",
    "skill": "the same less what the arm's choices in other situations would have come to in this",
    "asSaid": "as overRules, of the choice before the rules' filter",
    "brier": "of the chance to stay a day in one range, the same for every arm; debates give "
    "code's",
    "flips": "asked again about the same facts, another choice or range",
    "falseNumbers": "numbers in words that are none of those given, of all that were written",
    "interval": f"95% by bootstrap over calendar weeks, {DRAWS} draws, seed {SEED}, none under "
    f"{FEWEST_WEEKS} weeks; arms × measures are not corrected for their number",
    "tokens": "vote and self ask while what they used stays within the same situation's debate, "
    f"at most {_MOST_CALLS} questions",
    "left out": "situations in which the rule lets no range win, and those an arm did not finish",
}

Kind: TypeAlias = Literal["hold", "exit", "move"]


class JudgedSituation(Struct, frozen=True, eq=False, weakref=True):
    """What was recorded, and every hour with a swap that followed, by pool."""

    request_id: str
    start: payloads.FlowStart | payloads.FlowCreateStart
    context: ScoutContext
    eyes: Eyes
    rows: Mapping[str, Sequence[HourRow]]
    days: int

    @property
    def week(self) -> int:
        return self.context.time // _WEEK

    def course(self, pool_id: str, days: int) -> PriceCourse:
        pools = _pools(self.context)
        pool = next(observed.pool for observed in pools if observed.pool.pool_id == pool_id)
        return price_course(pool.sqrt_price_x96, self.context.time, days, self.rows[pool_id])


class ChosenForm(Struct, frozen=True):
    """A choice that can be tried in another situation, too."""

    kind: Kind
    width_multiplier: float = 1.0
    center_offset_ticks: int = 0
    pool_index: int = 0
    full_range: bool = False

    def shape(self) -> ShapeChoice:
        if self.full_range:
            return FULL_RANGE.model_copy(update={"pool_index": self.pool_index})
        return ShapeChoice(
            width_multiplier=self.width_multiplier,
            center_offset_ticks=self.center_offset_ticks,
            pool_index=self.pool_index,
        )


class TakenRange(Struct, frozen=True):
    """What would be done, with all that a replay needs."""

    kind: Kind
    pool_id: str
    tick_lower: int | None
    tick_upper: int | None
    liquidity: str
    """A whole number."""
    cost_usd: float | None

    @property
    def stake(self) -> Stake | None:
        if self.tick_lower is None or self.tick_upper is None or not int(self.liquidity):
            return None
        return Stake(TickRange(self.tick_lower, self.tick_upper), int(self.liquidity))


class ArmAnswer(Struct, frozen=True):
    situation: str
    arm: Arm
    attempt: int
    taken: TakenRange
    """Under the rules' filter."""
    said: TakenRange
    form: ChosenForm
    chance: float | None
    """That the price stays a day in the range everybody is asked about."""
    numbers: int = 0
    false_numbers: int = 0
    calls: int = 0
    silences: int = 0
    """Replies nobody could use: the rules spoke instead."""
    tokens: int = 0
    nano_usd: int | None = 0


class ArmSilentError(Exception):
    """A question did not reach a model: nothing is concluded from that, it can be asked later."""


OpenModel: TypeAlias = Callable[
    [JudgedSituation], AbstractAsyncContextManager[tuple["Model", Callable[[], "Spent"]]]
]


class DebateTerms(NamedTuple):
    """What a debate of the check is held with."""

    writer: Callable[[JudgedSituation], RecordWriter]
    ambient: Ambient
    limits: BusLimits | None = None


class ArmQuestion(NamedTuple):
    arm: Arm
    attempt: int
    situation: JudgedSituation
    other: JudgedSituation
    """What an unrelated critique is of."""
    allowance: int
    """Tokens that the same situation's debate took."""


class _Choice(NamedTuple):
    form: ChosenForm
    taken: Candidate
    said: Candidate
    chance: float | None
    numbers: int = 0
    false_numbers: int = 0


async def answer_question(
    question: ArmQuestion, open_model: OpenModel, terms: DebateTerms
) -> ArmAnswer:
    """One arm's decision about one situation."""
    arm, situation = question.arm, question.situation
    if arm is Arm.RULES:
        return _answer(question, _as_rules(situation))
    async with open_model(situation) as (model, spent):
        asked = _CountedModel(model, _unrelated_prompt(question) if arm is Arm.NOISE else None)
        if arm in (Arm.DEBATE, Arm.NOISE):
            choice = await _argued(situation, asked, terms)
        else:
            choice = await _alone(question, asked, spent)
        used = spent()
    if asked.unreached:
        raise ArmSilentError(asked.unreached)
    return replace(
        _answer(question, choice),
        calls=asked.calls,
        silences=asked.silences,
        tokens=used.tokens,
        nano_usd=None if used.unpriced_tokens else used.nano_usd,
    )


def _answer(question: ArmQuestion, choice: _Choice) -> ArmAnswer:
    return ArmAnswer(
        question.situation.request_id,
        question.arm,
        question.attempt,
        taken_of(choice.taken),
        taken_of(choice.said),
        choice.form,
        choice.chance,
        choice.numbers,
        choice.false_numbers,
    )


def _as_rules(situation: JudgedSituation) -> _Choice:
    own, code = _own(situation), reference(situation.context).survival
    form = form_of(situation.context, own)
    return _Choice(form, own, own, None if code is None else code.day)


async def _argued(situation: JudgedSituation, model: Model, terms: DebateTerms) -> _Choice:
    ended = await hold_debate(
        situation.start,
        situation.eyes,
        model,
        terms.writer(situation),
        ambient=terms.ambient,
        request_id=situation.request_id,
        limits=terms.limits,
    )
    if ended.plan is None:
        raise ArmSilentError("The debate ended without a plan.")
    taken = ended.plan.recommended
    thoughts = [turn.thought for turn in ended.transcript]
    struck = sum(len(thought.struck) for thought in thoughts)
    return _as_rules(situation)._replace(
        form=form_of(situation.context, taken),
        taken=taken,
        said=taken,
        numbers=struck + sum(thought.cited for thought in thoughts),
        false_numbers=struck,
    )


async def _alone(
    question: ArmQuestion, model: _CountedModel, spent: Callable[[], Spent]
) -> _Choice:
    arm, context = question.arm, question.situation.context
    replies: list[AloneReply] = []
    numbers = struck = 0
    for number in range(1 if arm is Arm.ONE else _MOST_CALLS):
        used = spent().tokens
        if number and used + used // number > question.allowance:
            break
        before = replies[-1] if replies and arm is Arm.SELF else None
        brief = alone_brief(context, question.situation.start.memory, before)
        try:
            reply = (
                await model.ask(payloads.STRATEGIST, brief.prompt, AloneReply, lambda _: None)
            ).value
        except ModelUnavailable:
            if model.unreached:
                break
            continue
        report = brief.ledger.check(reply.rationale)
        numbers += report.matched + len(report.flags)
        struck += len(report.flags)
        replies.append(reply)
    if not replies:
        return _as_rules(question.situation)
    form = _voted(replies) if arm is Arm.VOTE else _form(replies[-1])
    taken = guard_choice(question.situation, form)
    chance = fmean(reply.stays_day for reply in replies[0 if arm is Arm.VOTE else -1 :])
    return _Choice(form, taken, _named_range(context, form) or taken, chance, numbers, struck)


def _form(reply: AloneReply) -> ChosenForm:
    return ChosenForm(
        reply.choice, reply.width_multiplier, reply.center_offset_ticks, reply.pool_index
    )


def _voted(replies: Sequence[AloneReply]) -> ChosenForm:
    """What most would do, the first named of equals; of ranges in one pool the median."""
    kind = mode(reply.choice for reply in replies)
    alike = [reply for reply in replies if reply.choice == kind]
    pool = mode(reply.pool_index for reply in alike)
    same = [reply for reply in alike if reply.pool_index == pool]
    return ChosenForm(
        kind,
        median(reply.width_multiplier for reply in same),
        median_low(reply.center_offset_ticks for reply in same),
        pool,
    )


def alone_brief(
    context: ScoutContext, memory: DeskMemory = NO_MEMORY, before: AloneReply | None = None
) -> Brief:
    """What everybody is told, in one question."""
    brief = brief_of(ALONE, context, memory, _judged_by_rules(context))
    named = reference(context)
    letter = option_letter(named.index or 0)
    about = "the range that is held" if named.kind == "hold" else f"the range of candidate {letter}"
    chance = None if named.survival is None else named.survival.day
    brief.say(f"staysDay is about {about}; code gives it {brief.number(chance, Unit.FRACTION)}.")
    if before is not None:
        brief.say(f"You answered before: {before.choice}, {brief.quote(before.rationale)}")
    return brief


def reference(context: ScoutContext) -> Candidate:
    """What every arm's chance is about: the range that holds the price, else the narrowest move."""
    held = hold_candidate(context)
    if evaluation_of(context).in_range:
        return held
    moves = [move.candidate for move in candidates_of(context, shapes_by_rules(context, ()))]
    return min(
        moves, key=lambda move: (move.tick_upper or 0) - (move.tick_lower or 0), default=held
    )


def guard_choice(situation: JudgedSituation, form: ChosenForm) -> Candidate:
    """What the desk would do with such a choice: the rules' own plan, or a range no worse."""
    context = situation.context
    own = _own(situation)
    if form.kind != "move" or form.pool_index >= len(_pools(context)):
        return own
    alone = rules_alone(context, situation.start.max_rounds)
    shapes = (*filter(None, [alone.shape]), form.shape(), *shapes_by_rules(context, ()))
    judged = judged_round(context, candidates_of(context, shapes), {})
    ticks = evaluation_of(context, form.pool_index).ticks(form.shape())
    pool_id = _pools(context)[form.pool_index].pool.pool_id
    for move in eligible(context, judged, alone.move):
        found = move.candidate
        if (found.pool_id, found.tick_lower, found.tick_upper) == (pool_id, *ticks):
            return found
    return own


def hedge_score(situation: JudgedSituation, taken: TakenRange) -> float | None:
    """Fees less what arbitrage took less cost, in dollars for each $10,000; None is unknown."""
    pools = [observed.pool.pool_id for observed in _pools(situation.context)]
    evaluation = evaluation_of(situation.context, pools.index(taken.pool_id))
    unit1 = evaluation.market.unit1_value
    worth = 0.0 if unit1 is None else evaluation.worth1(evaluation.available) * unit1
    if unit1 is None or taken.cost_usd is None or worth <= 0:
        return None
    course = situation.course(taken.pool_id, situation.days)
    fees = earned_fees(course, taken.stake, evaluation.hold).worth1(course.last)
    lost = lost_to_arbitrage(course, taken.stake)
    return ((fees - lost) * unit1 - taken.cost_usd) / worth * TOLD_PER


def form_of(context: ScoutContext, candidate: Candidate) -> ChosenForm:
    """A range told by its width and centre, so that it can be tried elsewhere."""
    if candidate.tick_lower is None or candidate.tick_upper is None or candidate.kind == "hold":
        return ChosenForm("exit" if candidate.kind == "exit" else "hold")
    pools = [observed.pool.pool_id for observed in _pools(context)]
    index = pools.index(candidate.pool_id)
    evaluation = evaluation_of(context, index)
    half = (candidate.tick_upper - candidate.tick_lower) / 2
    if (candidate.tick_lower, candidate.tick_upper) == evaluation.ticks(FULL_RANGE):
        return ChosenForm("move", pool_index=index, full_range=True)
    offset = round(candidate.tick_lower + half - price_tick(evaluation.sqrt_price))
    return ChosenForm(
        "move",
        bounded_multiplier(half / evaluation.base_half_width),
        max(-MAX_CENTER_OFFSET_TICKS, min(MAX_CENTER_OFFSET_TICKS, offset)),
        index,
    )


class _CountedModel:
    """Counts what is asked; its Critic may be asked about another situation, for as much."""

    def __init__(self, model: Model, critic_prompt: ModelPrompt | None) -> None:
        self._model = model
        self._critic_prompt = critic_prompt
        self.calls = 0
        self.silences = 0
        self.unreached = ""
        """Why the last question that reached nobody did not."""

    async def ask(
        self, role: Role, prompt: ModelPrompt, schema: type[Reply], on_prose: Callable[[str], None]
    ) -> Answer[Reply]:
        self.calls += 1
        asked = self._critic_prompt if role == payloads.CRITIC and self._critic_prompt else prompt
        try:
            return await self._model.ask(role, asked, schema, on_prose)
        except ModelUnavailable as error:
            self.silences += 1
            if error.reason not in _ITS_OWN_FAULT:
                self.unreached = str(error)
            raise


def _unrelated_prompt(question: ArmQuestion) -> ModelPrompt:
    other = question.other
    debate = _judged_by_rules(other.context)
    return brief_of(payloads.CRITIC, other.context, other.start.memory, debate).prompt


def _judged_by_rules(context: ScoutContext) -> payloads.Critique:
    """The table after one round in which only the rules spoke."""
    moves = candidates_of(context, shapes_by_rules(context, ()))
    bare = payloads.DebateRound(
        number=1,
        candidates=tuple(move.candidate for move in moves),
        rationale="",
        answers=(),
        proposed_by="rules",
    )
    proposal = payloads.Proposal(
        context=context,
        context_hash=payloads.context_hash(context),
        max_rounds=1,
        hold=hold_candidate(context),
        exit=exit_candidate(context),
        rounds=(bare,),
    )
    return with_judgment(proposal, judged_round(context, moves, {}), "", ())


def taken_by_rules(situation: JudgedSituation) -> TakenRange:
    return taken_of(_own(situation))


def _own(situation: JudgedSituation) -> Candidate:
    """What the rules alone would do."""
    context = situation.context
    alone = rules_alone(context, situation.start.max_rounds)
    if alone.move is not None:
        return alone.move
    leaves = exit_candidate(context) if alone.choice.kind == "exit" else None
    return leaves or hold_candidate(context)


def _named_range(context: ScoutContext, form: ChosenForm) -> Candidate | None:
    """The range as it was named; None where there is none."""
    if form.kind == "hold":
        return hold_candidate(context)
    if form.kind == "exit":
        return exit_candidate(context) or hold_candidate(context)
    if form.pool_index >= len(_pools(context)):
        return None
    try:
        return evaluate(evaluation_of(context, form.pool_index), form.shape(), 0).candidate
    except LiquidityError:
        return None


def taken_of(candidate: Candidate) -> TakenRange:
    kind: Kind = (
        "hold" if candidate.kind == "hold" else "exit" if candidate.kind == "exit" else "move"
    )
    return TakenRange(
        kind,
        candidate.pool_id,
        candidate.tick_lower,
        candidate.tick_upper,
        str(candidate.liquidity),
        candidate.cost_usd,
    )


def _pools(context: ScoutContext) -> Sequence[ObservedPool]:
    return context.pools
