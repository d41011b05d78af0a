"""The liquidity debate: from a position or a goal to a plan or a reason.

cli ── flow_start ──▸ scout ── context_observed ──▸ strategist ◂── critique ──┐
 ▴                                                     └── proposal ──▸ critic ┤
 ├── plan_ready ◂──────────────────────────────────────────────────────────────┤
 └── plan_ready ◂── arbiter ◂── deadlock ──────────────────────────────────────┘
"""

from collections.abc import AsyncGenerator, Callable, Iterator, Mapping, Sequence

from agents.bus import run
from agents.bus.bus import FlowSpec
from agents.bus.envelope import CLI, Envelope, Role
from agents.bus.record import RecordWriter
from agents.bus.replay import Record, ReplayReport
from agents.bus.worker import Ambient, BusLimits, HandlerContext, Outgoing, StageFailedError
from agents.lp import FLOW, payloads, services
from agents.lp.advice_words import option_letter
from agents.lp.advising import advice_without_debate
from agents.lp.briefing import ArbiterReply, ScoutReply, StrategistReply, asked_model, brief_agent
from agents.lp.conclude import (
    chosen_move,
    eligible,
    overruling_reason,
    own_move,
    plan_of,
    rules_alone,
)
from agents.lp.critic import critic, standing_opinions
from agents.lp.evaluation import exit_candidate, hold_candidate
from agents.lp.facts import CreateContext, MarketContext, ObservedPool, ScoutContext
from agents.lp.judge import (
    JudgedCandidate,
    NumbersDifferError,
    judged_round,
    recompute,
)
from agents.lp.payloads import (
    ARBITER,
    CRITIC,
    AnsweredPoint,
    ContextObserved,
    Critique,
    DebateKind,
    DebateRound,
    Objection,
    Proposal,
)
from agents.lp.plan import Dissent, OwnRange, Plan, ShapeChoice
from agents.lp.propose import candidates_of, own_shapes, shapes_by_rules
from agents.lp.role_tools import ArbiterTools, StrategistTools
from agents.lp.scout_tools import ScoutTools
from agents.lp.spoken import (
    closing_statement,
    pools_table,
    position_table,
    proposal_table,
    settled_sentence,
    stance_statement,
)
from agents.model.interface import Model
from agents.model.speaking import Brief, about_the_model, model_thought, thought_message
from agents.model.tools import ask_with_tools
from agents.numbers.advice import ENTER_OVER
from agents.numbers.shapes import ExposureBias, ShapeError
from chain.base.clean_text import clean_text
from chain.base.units import GWEI, list_words, usd

_NEW_ROUNDS = 2
"""After them the rules would only propose again what they proposed before."""


async def strategist(
    envelope: Envelope, context: HandlerContext[services.DebateServices]
) -> AsyncGenerator[Outgoing, None]:
    heard = envelope.payload
    if isinstance(heard, ContextObserved) and heard.own_range is not None:
        for named in _as_named(heard, heard.own_range):
            yield named
        return
    if isinstance(heard, ContextObserved):
        debate = _opened(heard)
    elif isinstance(heard, Critique):
        debate = Proposal.model_construct(**dict(heard))
    else:
        return
    number = len(debate.rounds) + 1
    brief = brief_agent(context, debate.context, debate.memory, debate)
    model = asked_model(context, debate.context)
    tools = StrategistTools(debate.context, brief)
    spoken = await ask_with_tools(context, model, brief, StrategistReply, tools)
    for aside in about_the_model(number, spoken):
        yield aside
    tag = "propose" if number == 1 else "revise"
    if spoken.reply is None:
        moves = candidates_of(debate.context, shapes_by_rules(debate.context, debate.rounds))
        rationale, answers = _proposed_by_rules(debate)
        saying = thought_message(
            number, tag, rationale, table=proposal_table(debate.context, moves)
        )
        answering = list(_answers_by_rules(number, answers))
    else:
        moves = candidates_of(
            debate.context, _beside_the_rules(debate, _chosen(debate.context, spoken.reply))
        )
        said = _answers_by_point(debate, spoken.reply)
        rationale = brief.plain(spoken.reply.rationale)
        answers = tuple(
            AnsweredPoint(point=point, words=brief.plain(words)) for point, words in said.items()
        )
        table = proposal_table(debate.context, moves)
        saying = model_thought(number, tag, spoken.reply.rationale, brief, table=table)
        answering = [
            _answer(number, objections, words, brief)
            for words, objections in _answered_alike(debate, said).items()
        ]
        answering += _unanswered(number, debate, said)
    if advice_without_debate(debate.context) is None:
        yield saying
        for turn in answering:
            yield turn
        judged = judged_round(debate.context, moves, {})
        own = own_move(debate) if number > 1 else None
        stance = stance_statement(number, debate.context, judged, own)
        yield thought_message(number, "stance", stance.words, claims=stance.claims)
    this_round = DebateRound(
        number=number,
        candidates=tuple(move.candidate for move in moves),
        rationale=rationale,
        answers=answers,
        proposed_by="rules" if spoken.reply is None else "model",
    )
    yield Outgoing(
        DebateKind.PROPOSAL if number == 1 else DebateKind.REVISION,
        CRITIC,
        debate.model_copy(update={"rounds": (*debate.rounds, this_round)}),
    )


def _beside_the_rules(debate: Proposal, chosen: tuple[ShapeChoice, ...]) -> tuple[ShapeChoice, ...]:
    """The rules' own choice first, then a model's shapes, then what else the rules propose."""
    own = rules_alone(debate.context, debate.max_rounds).shape
    rest = shapes_by_rules(debate.context, debate.rounds)
    first = rest[:1] if own is None else (own,)
    return (*first, *chosen, *rest)


def _opened(heard: ContextObserved) -> Proposal:
    return Proposal(
        context=heard.context,
        context_hash=heard.context_hash,
        max_rounds=heard.max_rounds,
        hold=hold_candidate(heard.context),
        exit=exit_candidate(heard.context),
        rounds=(),
        memory=heard.memory,
    )


def _as_named(heard: ContextObserved, own: OwnRange) -> Iterator[Outgoing]:
    """A range the person named is put on the table as it is, and nobody is asked for another."""
    try:
        moves = candidates_of(heard.context, own_shapes(heard.context, own))
    except ShapeError as error:
        raise StageFailedError(str(error)) from None
    if not moves:
        raise StageFailedError("There is nothing to put into that range, or it is held already.")
    rationale = "Only the range you asked for is judged."
    yield thought_message(1, "propose", rationale, table=proposal_table(heard.context, moves))
    only = DebateRound(
        number=1,
        candidates=tuple(move.candidate for move in moves),
        rationale=rationale,
        answers=(),
        proposed_by="rules",
    )
    debate = _opened(heard).model_copy(update={"rounds": (only,), "max_rounds": 1})
    yield Outgoing(DebateKind.PROPOSAL, CRITIC, debate)


def _chosen(context: ScoutContext, reply: StrategistReply) -> tuple[ShapeChoice, ...]:
    """The model's shapes; one that names a pool nobody surveyed is left out."""
    creating, first = isinstance(context, CreateContext), context.first_pool
    return tuple(
        ShapeChoice(
            width_multiplier=shape.width_multiplier,
            center_offset_ticks=shape.center_offset_ticks,
            pool_index=shape.pool_index,
            exposure=ExposureBias(shape.exposure) if creating else ExposureBias.NEUTRAL,
            by_model=True,
        )
        for shape in reply.shapes
        if first <= shape.pool_index < len(context.pools)
    )


def _objections(debate: Proposal) -> tuple[Objection, ...]:
    return debate.rounds[-1].objections if debate.rounds else ()


def _answers_by_point(debate: Proposal, reply: StrategistReply) -> dict[int, str]:
    """The model's first answer to each point; one to a point nobody made is left out."""
    points = [objection.point for objection in _objections(debate)]
    said: dict[int, str] = {}
    for answer in reply.answers:
        if answer.point in points:
            said.setdefault(answer.point, answer.words)
    return said


def _answered_alike(debate: Proposal, said: dict[int, str]) -> dict[str, list[Objection]]:
    """What is answered to several points alike is one answer."""
    alike: dict[str, list[Objection]] = {}
    for objection in _objections(debate):
        if objection.point in said:
            alike.setdefault(said[objection.point], []).append(objection)
    return alike


def _answer(number: int, objections: Sequence[Objection], words: str, brief: Brief) -> Outgoing:
    points = list_words([str(objection.point) for objection in objections])
    letters = dict.fromkeys(option_letter(objection.candidate) for objection in objections)
    lead = f"Point{'s' * (len(objections) > 1)} {points}, on {list_words([*letters])}: "
    return model_thought(number, "answer", words, brief, lead=lead)


def _unanswered(number: int, debate: Proposal, said: dict[int, str]) -> Iterator[Outgoing]:
    points = [
        str(objection.point) for objection in _objections(debate) if objection.point not in said
    ]
    if points and not said:
        yield thought_message(number, "answer", "The Strategist answered no point of the Critic.")
    elif len(points) == 1:
        yield thought_message(number, "answer", f"Point {points[0]} is left unanswered.")
    elif points:
        yield thought_message(number, "answer", f"Points {list_words(points)} are left unanswered.")


def _answers_by_rules(number: int, answers: Sequence[AnsweredPoint]) -> Iterator[Outgoing]:
    """One line for all the points together: the rules have but two answers."""
    said = dict.fromkeys(answer.words for answer in answers)
    if said:
        yield thought_message(number, "answer", " ".join(f"{words}." for words in said))


def _proposed_by_rules(debate: Proposal) -> tuple[str, tuple[AnsweredPoint, ...]]:
    number = len(debate.rounds) + 1
    if number == 1:
        return _first_by_rules(debate), ()
    answers = tuple(
        AnsweredPoint(
            point=objection.point,
            words="Where the buffer failed, wider as the floor asks and a little more"
            if objection.needed_multiplier is not None
            else "Where it was the cost, the narrowest that the floor allows earns the most",
        )
        for objection in debate.rounds[-1].objections
    )
    if number > _NEW_ROUNDS:
        return f"The rules have nothing new for round {number}.", answers
    return "The widths the floors ask for, and two with room to spare.", answers


def _first_by_rules(debate: Proposal) -> str:
    if isinstance(debate.context, MarketContext) and debate.context.into:
        return "The range that is held, in the best pools elsewhere, and what is advised there."
    if isinstance(debate.context, CreateContext):
        return "In each of the best pools, as wide as the profile asks or wider where it pays more."
    return "Wider, tighter and centred ranges, with what each is expected to bring."


_LONGEST_NAME = 40


async def scout(
    envelope: Envelope, context: HandlerContext[services.DebateServices]
) -> AsyncGenerator[Outgoing, None]:
    start = envelope.payload
    eyes = context.services.eyes
    seen: ScoutContext
    if isinstance(start, payloads.FlowStart):
        position = await eyes.observe_position(start.token_id, start.profile, start.into)
        seen = _with_desk_knowledge(position, start)
    elif isinstance(start, payloads.FlowCreateStart):
        seen = await eyes.survey(start.goal, start.owner, start.profile)
        seen = seen.model_copy(update={"allowed_hooks": start.allowed_hooks})
    else:
        return
    await context.say(services.observation(seen))
    if isinstance(seen, CreateContext) and not seen.surveyed_pools:
        raise StageFailedError(
            "No pool on this network holds what was asked for. "
            "Name another pair or fee, or see what there is: zuno pools"
        )
    model = asked_model(context, seen)
    for line in _findings(seen, "" if context.services.model is not None else _NO_MODEL):
        yield line
    if isinstance(start, payloads.FlowStart) and start.keep_words is not None:
        yield thought_message(0, "goal", _goal_sentence(*start.keep_words))
    brief = brief_agent(context, seen, start.memory)
    tools = ScoutTools(
        seen, brief, eyes.position_past, lambda past: context.say(services.past_fact(past))
    )
    spoken = await ask_with_tools(context, model, brief, ScoutReply, tools)
    for aside in about_the_model(0, spoken):
        yield aside
    if spoken.reply is None:
        summary = _summary(seen)
        yield thought_message(0, "summary", summary)
    else:
        summary = brief.plain(spoken.reply.summary)
        yield model_thought(0, "summary", spoken.reply.summary, brief)
    decided = advice_without_debate(seen)
    if decided is not None:
        asked = context.services.model is not None
        yield thought_message(0, "settled", settled_sentence(seen, decided.reasons, asked=asked))
    whole = seen.model_copy(update={"summary": summary})
    yield Outgoing(
        payloads.DebateKind.CONTEXT_OBSERVED,
        payloads.STRATEGIST,
        payloads.ContextObserved(
            context=whole,
            context_hash=payloads.context_hash(whole),
            max_rounds=start.max_rounds,
            memory=start.memory,
            own_range=start.own_range,
        ),
    )


def _with_desk_knowledge(seen: MarketContext, start: payloads.FlowStart) -> MarketContext:
    """What the person's desk knows beside the chain."""
    held = seen.position.model_copy(update={"last_action_time": start.last_action_time})
    known = {"position": held, "allowed_hooks": start.allowed_hooks, "keep": start.keep}
    return seen.model_copy(update=known)


_NO_MODEL = "No AI model is set up: the agents follow fixed rules. "


def _findings(seen: ScoutContext, before: str) -> Iterator[Outgoing]:
    if isinstance(seen, CreateContext):
        many = len(seen.surveyed_pools)
        told = "1 pool can take" if many == 1 else f"{many} pools can take"
        gas = f"{seen.gas.wei_per_gas / GWEI:.3g} gwei"
        words = f"{before}Block {seen.block:,}: {told} this capital; gas is {gas}."
        yield thought_message(0, "market", words, table=pools_table(seen))
        for index, observed in enumerate(seen.surveyed_pools):
            yield from _hook(observed, f"Pool {index}: its")
        return
    market = seen.observed.market
    assumed = " (assumed)" if market.sigma_assumed else ""
    words = f"{before}Block {seen.block:,}; volatility from {market.sigma_source}{assumed}."
    yield thought_message(0, "market", words, table=position_table(seen))
    if seen.into:
        many = len(seen.into)
        count = "1 pool" if many == 1 else f"{many} pools"
        yield thought_message(
            0, "pools", f"{count} elsewhere can take it.", table=pools_table(seen)
        )
    yield from _hook(seen.observed, "The")


def _goal_sentence(token: str, until: str) -> str:
    name = clean_text(token, limit=_LONGEST_NAME)
    if not until:
        return f"Your goal is to keep {name}: a move that sells it is vetoed."
    day = clean_text(until, limit=_LONGEST_NAME)
    return (
        f"Your goal is to have {name} by {day}: a move that sells it, or that has not paid back by "
        "then, is vetoed."
    )


def _hook(observed: ObservedPool, where: str) -> Iterator[Outgoing]:
    if observed.pool.hook_danger != "none":
        powers = " ".join(observed.pool.hook_powers)
        call = "is dangerous" if observed.pool.hook_danger == "dangerous" else "needs caution"
        yield thought_message(0, "hook", f"{where} hook {call}: {powers}")


def _summary(seen: ScoutContext) -> str:
    if isinstance(seen, CreateContext):
        paid = sum((pool.market.edge_7d or 0) > ENTER_OVER for pool in seen.surveyed_pools)
        line = f"over {ENTER_OVER:g} ×"
        if paid > 1:
            return f"{paid} of them pay {line} their risk, enough to open a position."
        if paid:
            return f"One of them pays {line} its risk, enough to open a position."
        return f"None of them pays {line} its risk, which a new position needs."
    observed, position = seen.observed, seen.position
    inside = position.tick_lower <= observed.pool.tick < position.tick_upper
    state = "In range." if inside else "Out of range: no fees."
    state = state if position.liquidity else "The position is empty."
    reason = observed.regime_reason.rstrip(".")
    reason = f"{reason[:1].lower()}{reason[1:]}"
    return f"The market is {observed.regime.value}: {reason}. {state}"


async def arbiter(
    envelope: Envelope, context: HandlerContext[services.DebateServices]
) -> AsyncGenerator[Outgoing, None]:
    deadlock = envelope.payload
    if not isinstance(deadlock, payloads.Deadlock):
        return
    try:
        moves = recompute(deadlock)
    except NumbersDifferError as error:
        raise StageFailedError(f"The Arbiter refuses the debate. {error}") from None
    judged = judged_round(deadlock.context, moves, standing_opinions(deadlock.latest))
    own = own_move(deadlock)
    choice = chosen_move(deadlock.context, judged, own)
    number = len(deadlock.rounds)
    brief = brief_agent(context, deadlock.context, deadlock.memory, deadlock)
    reply = None
    dissent: tuple[Dissent, ...] = ()
    if choice is not None:
        model = asked_model(context, deadlock.context)
        tools = ArbiterTools(deadlock.memory, brief)
        spoken = await ask_with_tools(context, model, brief, ArbiterReply, tools)
        for aside in about_the_model(number, spoken):
            yield aside
        reply = spoken.reply
    if reply is None:
        yield thought_message(number, "decision", _by_rules(deadlock, choice))
    else:
        yield thought_message(number, "deadlock", f"{_after(deadlock)}: the Arbiter decides.")
        yield model_thought(number, "decision", reply.rationale, brief)
        named = next(iter(judged.moves[reply.chosen_index :]), None)
        if named in eligible(deadlock.context, judged, own):
            choice = named
        else:
            taken = None if choice is None else choice.candidate
            why = overruling_reason(deadlock.context, judged, reply.chosen_index, taken)
            letter = option_letter(reply.chosen_index)
            wanted = reply.chosen_index if named is not None else None
            dissent = (Dissent(role=ARBITER, verdict="choose", wanted=wanted, overruled=why),)
            yield thought_message(number, "floor", f"Overruled: {letter} cannot be chosen, {why}.")
    plan = plan_of(deadlock, judged, choice, decided_by="arbiter", dissent=dissent)
    closing = closing_statement(deadlock.context, plan, judged)
    yield thought_message(number, "closing", closing.words, claims=closing.claims)
    yield Outgoing(payloads.DebateKind.PLAN_READY, CLI, payloads.PlanReady(plan=plan))


def _by_rules(deadlock: payloads.Deadlock, choice: JudgedCandidate | None) -> str:
    """The choice among what nobody vetoed, in a sentence."""
    after = _after(deadlock)
    if choice is None:
        return f"{after}, and the rules let none of the last ranges win."
    net, letter = choice.candidate.net_7d, option_letter(choice.candidate.index or 0)
    best = "stands best by the profile" if net is None else f"should net the most, {usd(net)}"
    return f"{after}; of what the rules allow {letter} {best}."


def _after(deadlock: payloads.Deadlock) -> str:
    many = len(deadlock.rounds)
    return f"After {'one round' if many == 1 else f'{many} rounds'} nothing was accepted"


DEFAULT_ROUNDS = 2
HANDLERS = {
    payloads.SCOUT: scout,
    payloads.STRATEGIST: strategist,
    payloads.CRITIC: critic,
    payloads.ARBITER: arbiter,
}
LP_FLOW = FlowSpec(
    name=FLOW,
    package="agents.lp",
    registry=payloads.DEBATE,
    handlers=HANDLERS,
    first=payloads.SCOUT,
    starts=(payloads.DebateKind.FLOW_START, payloads.DebateKind.FLOW_CREATE_START),
    recorded_services=services.recorded_services,
    services_of=services.DebateServices.of_role,
)


async def hold_debate(
    start: payloads.FlowStart | payloads.FlowCreateStart,
    eyes: services.Eyes,
    model: Model | None,
    record: RecordWriter,
    *,
    ambient: Ambient,
    request_id: str,
    limits: BusLimits | None = None,
    tokens: int | None = None,
    remote: run.RemoteAgents | None = None,
    places: Mapping[str, str] | None = None,
    listener: run.Listener | None = None,
    on_crash: Callable[[Role, Exception], None] | None = None,
) -> run.ArgumentEnd[Plan]:
    """Argue until there is a plan; everything said and seen goes into the record."""
    outcome = await run.run_flow(
        LP_FLOW,
        start,
        services.DebateServices(eyes, model),
        record,
        ambient=ambient,
        request_id=request_id,
        inputs={
            services.MODEL_INPUT: _asking(model, remote),
            **({services.PLACES_INPUT: dict(places)} if places else {}),
        },
        limits=limits,
        tokens=tokens,
        remote=remote,
        listener=listener,
        on_crash=on_crash,
    )
    return _ended(outcome)


def _asking(model: Model | None, remote: run.RemoteAgents | None) -> list[str] | bool:
    """Whether models are asked, or by whom, where not all agents do alike."""
    if remote is None or remote.asking is None:
        return model is not None
    here = () if model is None else (role for role in HANDLERS if role not in remote.roles)
    return sorted((*remote.asking, *here)) or False


async def replay_debate(record: Record) -> tuple[ReplayReport, run.ArgumentEnd[Plan]]:
    """The debate again from its record, with no model and no chain, and whether it is the same."""
    report, outcome = await run.replay_flow(LP_FLOW, record)
    return report, _ended(outcome)


def debate_start(record: Record) -> payloads.FlowStart | payloads.FlowCreateStart:
    """What a recorded debate was about."""
    start = run.recorded_start(LP_FLOW, record)
    if isinstance(start, payloads.FlowStart | payloads.FlowCreateStart):
        return start
    raise LookupError("The record does not begin with a debate.")


def _ended(outcome: run.FlowOutcome) -> run.ArgumentEnd[Plan]:
    plan = outcome.result.plan if isinstance(outcome.result, payloads.PlanReady) else None
    return run.argument_end(outcome, plan)
