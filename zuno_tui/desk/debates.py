"""Debates at the desk: one at a time, heard as they run, ending in the plan on the card."""

import asyncio
import re
from typing import Literal

from msgspec.structs import replace

from agents.bus.envelope import Role
from agents.bus.plan_store import PlanStore
from agents.bus.run import Listener, SpokenTurn
from agents.lp.payloads import FlowCreateStart, FlowStart
from agents.model.budget import BudgetReport
from agents.model.claims import ClaimFlag, FlagKind, without_ids
from agents.model.speaking import SILENCE
from agents.scorecard.score import ScoreStore
from agents.scorecard.scoring import DecidedPlan
from agents.scorecard.track_record import track_record
from chain.base.errors import error_kind
from chain.protocols.reference import position_label
from chain.rpc.errors import RpcError
from zuno_tui.app.agent_places import AgentPlaces
from zuno_tui.app.agents_elsewhere import agents_note
from zuno_tui.desk.card import Card, plan_view
from zuno_tui.desk.cleaning import clean_in_place
from zuno_tui.desk.context import DeskContext, Tell
from zuno_tui.desk.events import DebateChanged, ProseHeard, Said, ThinkingHeard, TurnEnded
from zuno_tui.intents.intents import CreatePosition, MigratePosition, MovePosition, Recommend
from zuno_tui.present.argued_plan import ArguedPlan, just_argued
from zuno_tui.present.plan_card import plan_pools
from zuno_tui.present.transcript import (
    WHY_STRUCK,
    describe_end,
    flagged_screen_words,
    screen_table,
)
from zuno_tui.present.views import DebateView, PlanView, Struck, TurnView
from zuno_tui.present.words import screen_words
from zuno_tui.settings.debates import DebateSettings, debate_settings
from zuno_tui.settings.load import TransportChoice


def turn_view(turn: SpokenTurn) -> TurnView:
    thought = turn.thought
    said = clean_in_place(thought.text)
    flags = tuple(
        ClaimFlag(struck.start, struck.end, FlagKind(struck.why), ()) for struck in thought.struck
    )
    read, moved = without_ids(said, flags)
    text, moved = flagged_screen_words(read, moved)
    return TurnView(
        role=turn.role,
        round=thought.round,
        text=text,
        struck=_struck(moved),
        sourced="" if said == read else said,
        sourced_struck=_struck(flags),
        table=None if thought.table is None else screen_table(thought.table),
        by_model=thought.by_model,
        concludes=thought.tag in _CONCLUSIONS,
    )


_CONCLUSIONS = frozenset({"stance", "critique", "closing", "decision"})


def _struck(flags: tuple[ClaimFlag, ...]) -> tuple[Struck, ...]:
    return tuple(Struck(flag.start, flag.end, WHY_STRUCK[flag.kind]) for flag in flags)


# What could still become the id of a number once more of it is heard, and the space before it.
# A word in capitals may still become HOLD or EXIT.
_UNFINISHED = re.compile(r"\b[A-Z]+\Z|\s*([\[(][^\])]{0,24})?$")


class SpeakerProse:
    """What can be read of each speaker's words so far; the pane gathers them before it draws."""

    def __init__(self, tell: Tell) -> None:
        self._tell = tell
        self._unfinished: dict[str, str] = {}

    def hear(self, role: str, text: str) -> None:
        words, unfinished = _readable(self._unfinished.get(role, "") + text)
        self._unfinished[role] = unfinished
        if words:
            self._tell(ProseHeard(role, words))

    def forget(self, role: str) -> None:
        """The whole turn is told instead."""
        self._unfinished.pop(role, None)


def _readable(heard: str) -> tuple[str, str]:
    """What can be read already, without the ids of its numbers, and what must wait for more."""
    unfinished = _UNFINISHED.search(heard)
    end = len(heard) if unfinished is None else unfinished.start()
    return screen_words(without_ids(heard[:end])[0]), heard[end:]


class DebateHearing:
    """Every turn of the debate is kept for the end."""

    def __init__(self, context: DeskContext, view: DebateView) -> None:
        self._context = context
        self._view = view
        self._prose = SpeakerProse(context.tell)
        context.tell(DebateChanged(view))

    def listener(self) -> Listener:
        return Listener(on_turn=self.on_turn, on_prose=self.on_prose, on_thinking=self.on_thinking)

    def on_prose(self, role: Role, text: str) -> None:
        self._prose.hear(role, text)

    def on_thinking(self, role: Role, seconds: float) -> None:
        self._context.tell(ThinkingHeard(role, round(seconds)))

    def on_turn(self, turn: SpokenTurn) -> None:
        self._prose.forget(turn.role)
        view = turn_view(turn)
        self._view = replace(self._view, turns=(*self._view.turns, view))
        self._context.tell(TurnEnded(view))
        if turn.thought.tag == SILENCE:
            self._context.tell(Said(turn.thought.text, "warn"))

    def on_places(self, places: AgentPlaces) -> None:
        if places.peers or places.reason:
            self._view = replace(self._view, place=places.words)
        self._context.status.show_mesh(places.summary, self._context.clock())
        self._context.tell(DebateChanged(self._view))
        if places.peers or places.reason:
            tone: Literal["plain", "warn"] = "warn" if places.reason else "plain"
            self._context.tell(Said(f"The agents run {places.words}", tone))

    def on_crash(self, role: Role, error: Exception) -> None:
        self._context.tell(Said(f"{role} stopped with {error_kind(error)}.", "bad"))

    def end(self, words: str, chosen: str = "") -> None:
        self._view = replace(self._view, ended=words, chosen=chosen)
        self._context.tell(DebateChanged(self._view))


DEBATE = "debate"
_PATIENCE = 60.0
"""Seconds after the bus has ended a debate: it can only be hanging then."""


class Debates:
    def __init__(self, context: DeskContext, card: Card) -> None:
        self._context = context
        self._card = card

    def introduce(self) -> None:
        """Who will speak and from where, told before anybody is asked to."""
        settings = self._settings(None)
        if settings.transport is not TransportChoice.LOCAL:
            found = agents_note(self._context.session.home)
            self._context.status.show_mesh(found, None)

    def recommend(self, intent: Recommend) -> None:
        settings = self._settings(intent.profile)
        start = FlowStart(
            token_id=intent.ref,
            profile=settings.profile,
            max_rounds=settings.max_rounds,
            keep_words=(intent.keep, intent.until or "") if intent.keep else None,
        )
        self._begin(settings, start, f"position {position_label(intent.ref)}", intent.twin)

    def move(self, intent: MovePosition) -> None:
        settings = self._settings(None)
        start = FlowStart(
            token_id=intent.ref,
            profile=settings.profile,
            max_rounds=1,
            own_prices=(intent.low or "", intent.high or ""),
        )
        self._begin(settings, start, f"position {position_label(intent.ref)}", intent.twin)

    def migrate(self, intent: MigratePosition) -> None:
        from zuno_tui.prompt.into_phrase import read_into

        settings = self._settings(intent.profile)
        start = FlowStart(
            token_id=intent.ref,
            profile=settings.profile,
            max_rounds=settings.max_rounds,
            into=read_into(intent.to),
        )
        self._begin(settings, start, f"position {position_label(intent.ref)}", intent.twin)

    def create(self, intent: CreatePosition) -> None:
        from zuno_tui.prompt.create_phrase import parse_create

        network = self._context.session.network
        phrase = parse_create(intent.phrase, network)
        if phrase.network != network:
            self._context.tell(
                Said(
                    f"The phrase says {phrase.network.title}, and the desk is on {network.title}. "
                    f"First: switch to {phrase.network.name}",
                    "warn",
                )
            )
            return
        named = None if phrase.profile is None else phrase.profile.value
        settings = self._settings(named or intent.profile)
        start = FlowCreateStart(
            goal=phrase.goal,
            owner=self._context.wallet,
            profile=settings.profile,
            max_rounds=settings.max_rounds,
            own_range=phrase.own_range,
        )
        self._context.tell(Said(f"Understood: {phrase.understood}"))
        self._begin(settings, start, "a new position", intent.twin)

    def _settings(self, profile: str | None) -> DebateSettings:
        opening = self._context.opening
        settings = debate_settings(
            self._context.session.settings,
            opening.environment,
            profile=profile,
            deterministic=opening.deterministic,
            transport=opening.transport,
        )
        self._context.status.show_model(_model_words(settings, None))
        return settings

    def _begin(
        self, settings: DebateSettings, start: FlowStart | FlowCreateStart, subject: str, twin: str
    ) -> None:
        from zuno_tui.app.debate_setup import longest_debate

        self._context.jobs.start(
            DEBATE,
            f"Arguing about {subject}",
            lambda _: self._hold(settings, start, subject, twin),
            seconds=longest_debate(settings) + _PATIENCE,
        )

    async def _hold(
        self, settings: DebateSettings, start: FlowStart | FlowCreateStart, subject: str, twin: str
    ) -> None:
        from zuno_tui.app.debate_setup import Debating, debate

        context = self._context
        request_id = context.opening.new_request_id()
        hearing = DebateHearing(context, DebateView(request_id, subject))
        listener = hearing.listener()
        debating = Debating(
            context.session, settings, request_id, listener, hearing.on_crash, hearing.on_places
        )
        began = context.clock()
        context.bring("debate", began)
        try:
            debated = await debate(debating, context.sources, start)
        except asyncio.CancelledError:
            hearing.end("It was ended before there was a plan.")
            raise
        except Exception:
            hearing.end("It ended without a plan.")
            raise
        context.status.show_model(_model_words(settings, debated.spent))
        if debated.document is None:
            hearing.end(describe_end(debated.ended))
            context.tell(Said(describe_end(debated.ended), "bad", twin))
            return
        argued = just_argued(debated.ended, debated.document, debated.spent)
        view = shown_plan(context, argued, made_at=began)
        chosen = next((option for option in view.options if option.recommended), None)
        told = view.recommendation
        if chosen is not None and chosen.candidate is not None:
            # What a move costs stands in the turns.
            told = f"{told.partition('. ')[0]}. {view.decided}"
        hearing.end(told, "" if chosen is None else chosen.name.partition(" ")[0])
        words = show_plan(context, self._card, argued, made_at=context.clock())
        context.bring("plan", began)
        context.tell(Said(words, "good", twin))
        await judge_earlier(context, self._card, argued)


def show_plan(context: DeskContext, card: Card, argued: ArguedPlan, *, made_at: float) -> str:
    """Put a plan on the card, and say so: what it advises is for the card to tell."""
    view = shown_plan(context, argued, made_at=made_at)
    card.show(view)
    about = "a new position" if view.ref is None else position_label(view.ref)
    return f"The plan for {about} is ready"


def _model_words(settings: DebateSettings, spent: BudgetReport | None) -> str:
    """Who speaks, and how much of the day's budget is gone."""
    if settings.model is None:
        return "advice: rules"
    name = settings.model.default.model
    if spent is None or spent.day is None:
        return name
    most = spent.limits.day_tokens
    of = "" if most is None else f" of {most:,}"
    return f"{name} · {spent.day.tokens:,}{of} tokens today"


JUDGING = "scorecard"
_READING_PATIENCE = 600.0
"""Seconds; what was read until then is kept, and read on from next time."""


def shown_plan(context: DeskContext, argued: ArguedPlan, *, made_at: float) -> PlanView:
    """A plan with how those like it did so far."""
    store = context.sources.store
    return plan_view(
        argued,
        plan_pools(argued.plan, store),
        made_at=made_at,
        record=track_record(argued.plan, store),
    )


async def judge_earlier(context: DeskContext, card: Card, argued: ArguedPlan) -> None:
    """Begin where an earlier plan's horizon is over; by this plan's time, so nobody is asked."""
    from agents.scorecard.judging import is_any_due

    plan = argued.plan
    scores = ScoreStore(context.sources.store, plan.chain_id, context.clock)
    plans = await asyncio.to_thread(_unfinished, context, plan.chain_id, scores.finished_plans())
    if is_any_due(plans, scores.scores(), plan.time) and not context.jobs.is_running(JUDGING):
        context.jobs.start(
            JUDGING,
            "Judging earlier plans",
            lambda _: _judge(context, card, argued, plans),
            seconds=_READING_PATIENCE,
            asked=False,
        )


def _unfinished(
    context: DeskContext, chain_id: int, finished: frozenset[str]
) -> tuple[DecidedPlan, ...]:
    from agents.scorecard.judging import past_plans

    return past_plans(PlanStore(context.session.home.plans), chain_id, finished).plans


async def _judge(
    context: DeskContext, card: Card, argued: ArguedPlan, plans: tuple[DecidedPlan, ...]
) -> None:
    from agents.scorecard.judging import judge_due
    from zuno_tui.app.positions import reading_progress

    try:
        judged = await judge_due(
            context.sources, plans, watch=reading_progress(context.session.narrate)
        )
    except RpcError:
        return  # nobody asked for it, and the next plan tries again
    if judged.new:
        card.say_anew(shown_plan(context, argued, made_at=context.clock()))
