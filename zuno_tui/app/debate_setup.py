"""Holding a debate: what the home knows, the record, the model, the plan that is kept."""

import asyncio
import time
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from agents.bus.envelope import FailureCause, FlowFailed, Role, Thought
from agents.bus.plan_store import DamagedPlanError, NoSuchPlanError, PlanDocument, PlanStore
from agents.bus.record import FileSink, MemorySink, RecordWriter, running_versions
from agents.bus.replay import RecordBrokenError, read_record
from agents.bus.run import ArgumentEnd, Listener, SpokenTurn
from agents.bus.worker import Ambient, BusLimits, StageFailedError
from agents.lp.debate import LP_FLOW, hold_debate
from agents.lp.facts import AdviceRecord, DeskMemory, EarlierAdvice, KeepGoal, ScoutContext
from agents.lp.observe import ChainObserver
from agents.lp.payloads import CRITIC, FlowCreateStart, FlowStart
from agents.lp.plan import Plan
from agents.lp.plan_document import plan_document, plan_in
from agents.lp.rebuild import (
    PlanRefusedError,
    ask_second_critic,
    last_proposal,
    refuse_unless_rebuilt,
    stricter_plan,
)
from agents.model.budget import Budget, BudgetReport, DebateBudget
from agents.model.interface import Model, ModelSettings, RoleModels
from agents.scorecard.score import AdviceKind, ScoreStore
from agents.scorecard.track_record import record_of
from chain.base.clean_text import Redactor
from chain.base.store import Store
from chain.contracts.networks import NATIVE
from chain.execution.outbox.outbox import Outbox
from chain.execution.outbox.receipts import minted_positions
from chain.positions.overview import Sources
from chain.protocols.reference import PositionRef
from chain.rpc import requests
from chain.rpc.records import Block, Receipt
from chain.tokens.pair import Pair
from chain.tokens.token import Token
from chain.wallet.errors import KeyringUnusableError
from zuno_tui.app.agent_places import AgentPlaces, Gathering, SecondCritic
from zuno_tui.app.agents_elsewhere import gathered_agents
from zuno_tui.app.outside_words import with_outside_words
from zuno_tui.app.plans import signed_plans
from zuno_tui.app.positions import reading_progress
from zuno_tui.app.range import own_range_of, pair_of_position
from zuno_tui.app.retention import let_go_when_due
from zuno_tui.app.session import Session
from zuno_tui.gate.limits import gate_limits
from zuno_tui.prompt.days import read_day
from zuno_tui.settings import SettingsError
from zuno_tui.settings.debates import DebateSettings
from zuno_tui.settings.load import TransportChoice

SECOND = "second opinion"
"""The tag of what two Critics come to together."""


async def with_second_opinion(
    ended: ArgumentEnd[Plan],
    record_path: Path,
    sources: Sources,
    second: SecondCritic,
    *,
    limits: BusLimits,
    tokens: int | None,
    listener: Listener,
    tell: Callable[[str], None],
) -> ArgumentEnd[Plan]:
    """The same end, or one in which the stricter of both Critics counts; both are in its words."""
    proposal = last_proposal(read_record(record_path))
    if ended.plan is None or proposal is None:
        return ended
    request_id = f"{ended.request_id}-second"
    # It is no debate of its own that could be run again: what it comes to stands in the plan.
    record = RecordWriter(
        MemorySink(), request_id, running_versions(LP_FLOW.package), Redactor(), flow=LP_FLOW.name
    )
    said: list[SpokenTurn] = []
    heard = await ask_second_critic(
        proposal,
        ChainObserver(sources),
        record,
        second.gather(),
        ambient=Ambient(sources.clock, lambda: request_id),
        request_id=request_id,
        limits=limits,
        tokens=tokens,
        listener=_labelled(listener, second.name, said.append),
    )
    stricter = None
    if heard is None:
        words = f"{second.name} was asked for a second opinion and gave none."
    else:
        stricter = stricter_plan(proposal, ended.plan, heard, second.name)
        words = (
            f"A second Critic, {second.name}, is nowhere stricter than the first."
            if stricter is None
            else f"A second Critic, {second.name}, is stricter than the first, and counts."
        )
    tell(words)
    closing = SpokenTurn(CRITIC, Thought(round=proposal.latest.number, tag=SECOND, text=words))
    transcript = (*ended.transcript, *said, closing)
    return replace(ended, plan=stricter or ended.plan, transcript=transcript)


def _labelled(listener: Listener, name: str, keep: Callable[[SpokenTurn], None]) -> Listener:
    """Hears the second Critic as one who is told apart from the first."""

    def on_turn(turn: SpokenTurn) -> None:
        lead = f"{name}: "
        struck = tuple(
            claim.model_copy(
                update={"start": claim.start + len(lead), "end": claim.end + len(lead)}
            )
            for claim in turn.thought.struck
        )
        said = turn.thought.model_copy(update={"text": lead + turn.thought.text, "struck": struck})
        labelled = SpokenTurn(turn.role, said)
        keep(labelled)
        listener.on_turn(labelled)

    return Listener(on_turn=on_turn, on_prose=listener.on_prose)


async def seen_here(sources: Sources, start: FlowStart | FlowCreateStart) -> ScoutContext:
    """The position, or the pools for a new one, as this desk sees them."""
    observer = ChainObserver(sources)
    if isinstance(start, FlowStart):
        return await observer.observe_position(start.token_id, start.profile, start.into)
    return await observer.survey(start.goal, start.owner, start.profile)


async def judged_here(
    ended: ArgumentEnd[Plan],
    record: Path,
    start: FlowStart | FlowCreateStart,
    chain_id: int,
    seeing: asyncio.Task[ScoutContext],
) -> ArgumentEnd[Plan]:
    """The same end, or a failure in place of a plan that is not what its facts give."""
    if ended.plan is None:
        return ended
    try:
        await refuse_unless_rebuilt(ended.plan, read_record(record), start, chain_id, await seeing)
    except (PlanRefusedError, RecordBrokenError) as error:
        return _without_plan(ended, FailureCause.REFUSED, f"is refused. {error}")
    except StageFailedError as error:
        # Where the chain cannot be read here, nobody here can say whether it is true.
        return _without_plan(ended, error.cause, f"cannot be checked here. {error}")
    return ended


def _without_plan(ended: ArgumentEnd[Plan], cause: FailureCause, why: str) -> ArgumentEnd[Plan]:
    reason = f"The plan that came from the mesh {why}"
    stage = "" if ended.plan is None else ended.plan.decided_by
    failure = FlowFailed(stage=stage, cause=cause, reason=reason)
    return replace(ended, plan=None, failure=failure)


_READ_ON = (
    "Progress is saved: run it again to continue. Wait longer: "
    "reading_seconds under [debate] in settings.toml"
)
_FINISHING_SECONDS = 30.0
_QUIET_ELSEWHERE = 5.0
"""An agent of the mesh that died is noticed within twice this."""


class Debating(Struct, frozen=True):
    """What a debate is held with."""

    session: Session
    settings: DebateSettings
    request_id: str
    listener: Listener
    on_crash: Callable[[Role, Exception], None]
    on_places: Callable[[AgentPlaces], None] = lambda _: None
    """Told where the agents run, and again where they were begun anew."""


class Debated(Struct, frozen=True):
    ended: ArgumentEnd[Plan]
    document: PlanDocument | None
    """The plan as it was put on the shelf; None when the debate ended without one."""
    spent: BudgetReport | None
    """None when no model was asked."""


async def debate(
    debating: Debating, sources: Sources, start: FlowStart | FlowCreateStart
) -> Debated:
    """Argue on the record and keep the plan that comes of it."""
    start = await with_desk_knowledge(debating.session, sources, start)
    if debating.settings.model is not None:
        start = await with_outside_words(debating.session, sources, start)
    choice = debating.settings.transport
    async with gathered_agents(debating.session, choice) as gathering:
        debating.on_places(gathering.places)
        if gathering.remote is None:
            return await _debate(debating, sources, start, gathering)
        debated = await _debate_elsewhere(debating, sources, start, gathering)
    failure = debated.ended.failure
    if choice is not TransportChoice.AUTO or failure is None or not never_began(debated.ended):
        return debated
    here = Gathering(None, AgentPlaces(reason=failure.reason))
    debating.on_places(here.places)
    again = replace(debating, request_id=f"{debating.request_id}-here")
    return await _debate(again, sources, start, here)


def never_began(ended: ArgumentEnd[Plan]) -> bool:
    """Whether a debate failed before any agent had said a word, and nobody wanted it to."""
    failure = ended.failure
    wanted = (FailureCause.CANCELLED, FailureCause.UNREADABLE, FailureCause.UNRECORDED)
    return failure is not None and failure.cause not in wanted and not ended.transcript


async def _debate_elsewhere(
    debating: Debating, sources: Sources, start: FlowStart | FlowCreateStart, gathering: Gathering
) -> Debated:
    """Listen to agents elsewhere, and read the chain meanwhile to judge what they come to."""
    seeing = asyncio.create_task(seen_here(sources, start), name="see for oneself")
    try:
        return await _debate(debating, sources, start, gathering, seeing)
    finally:
        seeing.cancel()


async def _debate(
    debating: Debating,
    sources: Sources,
    start: FlowStart | FlowCreateStart,
    gathering: Gathering,
    seeing: asyncio.Task[ScoutContext] | None = None,
) -> Debated:
    session, request_id = debating.session, debating.request_id
    remote = gathering.remote
    # Whoever is elsewhere asks a model of its own, or none.
    model = None if remote is not None else await with_keys(debating.settings.model)
    path = session.home.records / f"{request_id}.jsonl"
    record = RecordWriter(
        FileSink(path),
        request_id,
        running_versions(LP_FLOW.package),
        Redactor(_secrets(session, model)),
        flow=LP_FLOW.name,
    )
    try:
        settings = replace(debating.settings, model=model)
        async with live_model(settings, sources.store, debating.listener) as (asked, budget):
            ended = await hold_debate(
                start,
                ChainObserver(sources, reading_progress(session.narrate)),
                asked,
                record,
                ambient=Ambient(sources.clock, lambda: request_id),
                request_id=request_id,
                limits=debate_limits(settings, elsewhere=remote is not None),
                tokens=settings.limits.debate_tokens,
                remote=remote,
                places=gathering.places.peers,
                listener=debating.listener,
                on_crash=debating.on_crash,
            )
            spent = None if budget is None else budget.report()
    finally:
        await asyncio.to_thread(record.close)
    if seeing is not None:
        ended = await judged_here(ended, path, start, session.network.chain_id, seeing)
    if gathering.second is not None and ended.plan is not None:
        ended = await with_second_opinion(
            ended,
            path,
            sources,
            gathering.second,
            limits=debate_limits(settings, elsewhere=True),
            tokens=settings.limits.debate_tokens,
            listener=debating.listener,
            tell=session.narrate,
        )
    if ended.plan is None:
        return Debated(ended, None, spent)
    document = plan_document(ended, spent, record.last_hash)
    PlanStore(session.home.plans).keep(document)
    retention = session.settings.retention
    told = let_go_when_due(session.home, sources.store, retention, now=sources.clock())
    if told is not None:
        session.narrate(told)
    return Debated(ended, document, spent)


def debate_limits(settings: DebateSettings, *, elsewhere: bool = False) -> BusLimits:
    """The clock starts when the chain was read, and the rules have time to finish behind it."""
    usual = BusLimits()
    return BusLimits(
        quiet_seconds=_QUIET_ELSEWHERE if elsewhere else usual.quiet_seconds,
        deadline_seconds=settings.seconds + _FINISHING_SECONDS,
        reading_seconds=settings.reading_seconds,
        reading_advice=_READ_ON,
        finishing_seconds=_FINISHING_SECONDS,
    )


def longest_debate(settings: DebateSettings) -> float:
    """Seconds after which the bus has ended a debate, whatever happened."""
    limits = debate_limits(settings)
    return limits.reading_seconds + limits.deadline_seconds


async def with_keys(models: RoleModels | None) -> RoleModels | None:
    """The same with the keys that the system's keyring keeps; it may ask a person to unlock it."""
    if models is None or not any(model.keyring_name for model in models.each()):
        return models
    return await asyncio.to_thread(_from_keyring, models)


def _from_keyring(models: RoleModels) -> RoleModels:
    from chain.wallet.keyring_store import find_keyring

    try:
        keyring = find_keyring()
        keys = {
            name: keyring.text_of(name) for model in models.each() if (name := model.keyring_name)
        }
    except KeyringUnusableError as error:
        raise SettingsError(f"The key of the model cannot be read. {error}", "model.key") from None
    missing = next((name for name, key in keys.items() if key is None), None)
    if missing is not None:
        raise SettingsError(
            f"The keyring holds no key for {missing.removeprefix('model:')}. "
            "Put it there: zuno model key",
            "model.key",
        )

    def with_key(model: ModelSettings) -> ModelSettings:
        return replace(model, api_key=keys.get(model.keyring_name) or model.api_key)

    return RoleModels(
        with_key(models.default), {role: with_key(model) for role, model in models.roles.items()}
    )


@asynccontextmanager
async def live_model(
    settings: DebateSettings, store: Store, listener: Listener
) -> AsyncIterator[tuple[Model | None, DebateBudget | None]]:
    """The person's models with this debate's own budget, or nobody."""
    if settings.model is None:
        yield None, None
        return
    from agents.model.abilities import AbilityMemory
    from agents.model.client import OpenAIModel
    from agents.model.connection import ModelConnections

    budget = Budget(settings.limits, settings.prices, store, clock=time.time).debate()
    async with ModelConnections() as connections:
        await connections.load(settings.model)
        model = OpenAIModel(
            settings.model,
            connections,
            budget,
            AbilityMemory(store, time.time),
            clock=time.time,
            on_thinking=listener.on_thinking,
        )
        yield model, budget


def _secrets(session: Session, models: RoleModels | None) -> tuple[str, ...]:
    """Everything known to be secret, so that none of it can reach the record."""
    settings = session.settings
    urls = [url for chosen in settings.endpoints.values() for url in chosen]
    keys = [settings.coingecko_key, *(() if models is None else _keys(models))]
    return tuple(secret for secret in (*urls, *keys) if secret)


def _keys(models: RoleModels) -> tuple[str, ...]:
    return tuple(model.api_key for model in models.each())


LONG = "long"
"""Stands for the token whose price the pair tells."""


async def keep_goal_of(sources: Sources, ref: PositionRef, words: tuple[str, str]) -> KeepGoal:
    pair, block = await pair_of_position(sources, ref)
    named, day = words
    until = read_day(day, block.timestamp) if day else None
    if day and (until is None or until <= block.timestamp):
        raise SettingsError(
            f"{day!r} is not a day in the future. Like: --until 2027-03-01 or --until March"
        )
    return KeepGoal(token=_token(sources, pair, named).address, until=until)


def _token(sources: Sources, pair: Pair, named: str) -> Token:
    if named.lower() == LONG:
        return pair.base
    ether = (NATIVE, sources.network.wrapped_native)
    for token in (pair.base, pair.quote):
        also = sources.network.native_symbol.lower() if token.address in ether else ""
        if named.lower() in (token.label.lower(), token.address.lower(), also):
            return token
    raise SettingsError(
        f"The position holds {pair.base.label} and {pair.quote.label}. Keep one of them: "
        f"--keep {pair.base.label}"
    )


_RECENT = 24
"""How many of the newest transactions are looked at: a day between actions leaves few."""

_MOST_EARLIER = 3
_KINDS = (AdviceKind.MOVE, AdviceKind.HOLD, AdviceKind.EXIT)
_CREATE_KINDS = (AdviceKind.CREATE, AdviceKind.KEEP)


async def with_desk_knowledge(
    session: Session, sources: Sources, start: FlowStart | FlowCreateStart
) -> FlowStart | FlowCreateStart:
    """The start of a debate with what only this home knows."""
    limits = gate_limits(session.settings.limits, session.network)
    holding = isinstance(start, FlowStart)
    known: dict[str, object] = {"allowed_hooks": tuple(sorted(limits.allowed_hooks))}
    earlier: tuple[EarlierAdvice, ...] = ()
    if isinstance(start, FlowStart):
        known["last_action_time"] = await last_action_time(session, sources, start.token_id)
        earlier = tuple(_earlier_advice(session, sources, start.token_id))
        if start.own_prices is not None:
            known["own_range"] = await own_range_of(sources, start.token_id, start.own_prices)
        if start.keep_words is not None:
            known["keep"] = await keep_goal_of(sources, start.token_id, start.keep_words)
    records = tuple(_records(sources, _KINDS if holding else _CREATE_KINDS))
    known["memory"] = DeskMemory(earlier_advice=earlier, advice_records=records)
    return start.model_copy(update=known)


def _records(sources: Sources, kinds: tuple[AdviceKind, ...]) -> Iterator[AdviceRecord]:
    """How this network's plans of each kind did, of those that were judged."""
    scores = ScoreStore(sources.store, sources.network.chain_id, sources.clock).scores()
    for kind in kinds:
        found = record_of(kind, scores)
        if found is not None:
            count = found.beaten
            yield AdviceRecord(
                kind=kind.value, days=found.days, beat=count.beat, judged=count.judged
            )


def _earlier_advice(
    session: Session, sources: Sources, ref: PositionRef
) -> Iterator[EarlierAdvice]:
    """What was advised for the position before; a plan that cannot be read is no advice."""
    sent = signed_plans(session)
    for document in PlanStore(session.home.plans).about(ref, _MOST_EARLIER):
        try:
            plan = plan_in(document)
        except (DamagedPlanError, NoSuchPlanError):
            continue
        if plan.chain_id == sources.network.chain_id:
            yield EarlierAdvice(
                time=plan.time, choice=plan.choice.kind, carried_out=plan.plan_id in sent
            )


async def last_action_time(session: Session, sources: Sources, ref: PositionRef) -> int | None:
    """The time of the block in which a plan of this home made the position.

    Moving a position makes a new one, so its own beginning is the last thing that was done to it
    or to the one it was made of.
    """
    if not session.home.outbox.exists():
        return None
    with Outbox.open(session.home.outbox) as outbox:
        # By hash, not by the journal's state: what was sent may be in a block nobody looked for.
        sent = [
            (dispatch.sender, version.transaction.hash)
            for dispatch in outbox.dispatches()
            if dispatch.chain_id == sources.network.chain_id
            for step in dispatch.steps
            for version in step.versions
        ][-_RECENT:]
    receipts = await sources.client.settle([requests.receipt(sent_hash) for _, sent_hash in sent])
    for (sender, _), receipt in zip(sent, receipts, strict=True):
        if isinstance(receipt, Receipt) and ref in minted_positions(
            receipt, sender, sources.network
        ):
            block = await sources.client.ask(requests.block(receipt.block_hash))
            return block.timestamp if isinstance(block, Block) else None
    return None
