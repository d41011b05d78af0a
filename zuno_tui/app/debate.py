"""One debate on the command line: advice for a position, a new one, or a range of one's own."""

import asyncio
import os
import secrets
import traceback
from argparse import Namespace
from math import log

from msgspec.structs import replace

from agents.bus.envelope import FailureCause, Role
from agents.bus.run import Listener
from agents.lp.payloads import FlowCreateStart, FlowStart
from agents.numbers.edges import TICK_LOG
from chain.base.errors import error_kind
from chain.protocols.reference import PositionRef
from zuno_tui.app.agent_places import AgentPlaces
from zuno_tui.app.debate_setup import Debating, debate
from zuno_tui.app.feature import ActionMaker
from zuno_tui.app.range import read_price
from zuno_tui.app.session import Session, say
from zuno_tui.present.answer import print_answer
from zuno_tui.present.argued_plan import just_argued
from zuno_tui.present.exit_codes import FAILED, NETWORK
from zuno_tui.present.plan_card import plan_answer
from zuno_tui.present.transcript import LiveTranscript
from zuno_tui.prompt.create_phrase import parse_create
from zuno_tui.settings import SettingsError
from zuno_tui.settings.debates import DebateSettings, debate_settings


async def argue(
    session: Session, settings: DebateSettings, start: FlowStart | FlowCreateStart, *, stream: bool
) -> int:
    """Debate, keep the plan, print it; what failed is said with its stage and reason."""
    request_id = f"req_{secrets.token_hex(8)}"
    async with session.sources() as sources:
        listener = _live_listener() if stream else Listener()
        debating = Debating(session, settings, request_id, listener, _tell_crash, _tell_places)
        debated = await debate(debating, sources, start)
        answer = (
            None
            if debated.document is None
            else plan_answer(
                just_argued(debated.ended, debated.document, debated.spent), sources.store
            )
        )
    if answer is None:
        failure = debated.ended.failure
        reason = "" if failure is None else failure.reason
        stage = "" if failure is None else failure.stage
        say(f"The debate ended at {stage}: {reason}")
        unread = failure is not None and failure.cause is FailureCause.UNREADABLE
        return NETWORK if unread else FAILED
    return print_answer(answer, as_json=session.as_json)


def _live_listener() -> Listener:
    live = LiveTranscript()
    return Listener(on_turn=live.on_turn, on_prose=live.on_prose, on_thinking=live.on_thinking)


def _tell_places(places: AgentPlaces) -> None:
    if places.reason or places.peers:
        say(f"The agents run {places.words}")


def _tell_crash(role: Role, error: Exception) -> None:
    if os.environ.get("ZUNO_DEBUG"):
        traceback.print_exception(error)
    else:
        say(f"{role} stopped with {error_kind(error)}. ZUNO_DEBUG=1 shows where.")


def run_recommend(arguments: Namespace) -> int:
    session = Session.start(arguments)
    settings = debate_settings(
        session.settings,
        os.environ,
        profile=arguments.profile,
        deterministic=arguments.deterministic,
        transport=arguments.transport,
    )
    if arguments.until and not arguments.keep:
        raise SettingsError("Keep which token until that day? Like: --keep ETH --until March")
    start = FlowStart(
        token_id=arguments.ref,
        profile=settings.profile,
        max_rounds=settings.max_rounds,
        keep_words=(arguments.keep, arguments.until or "") if arguments.keep else None,
    )
    return asyncio.run(argue(session, settings, start, stream=arguments.stream))


def run_create(arguments: Namespace) -> int:
    session = Session.start(arguments)
    from zuno_tui.app.approve import approve_order
    from zuno_tui.gate.actions.limit import action_to_limit, limit_words

    if (limit := limit_words(arguments.phrase)) is not None:
        made = approve_order(session, lambda sources: action_to_limit(sources, limit))
        return print_answer(asyncio.run(made), as_json=session.as_json)
    phrase = parse_create(arguments.phrase, session.network)
    if arguments.network and phrase.network != session.network:
        raise SettingsError(
            f"The phrase says {phrase.network.title}, the flag says {session.network.title}."
            " Leave one of them out."
        )
    session = replace(session, network=phrase.network)
    say(f"Understood: {phrase.understood}")
    named = None if phrase.profile is None else phrase.profile.value
    if named and arguments.profile and named != arguments.profile:
        raise SettingsError(
            f"The phrase says {named}, the flag says {arguments.profile}. Leave one of them out."
        )
    settings = debate_settings(
        session.settings,
        os.environ,
        profile=named or arguments.profile,
        deterministic=arguments.deterministic,
        transport=arguments.transport,
    )
    start = FlowCreateStart(
        goal=phrase.goal,
        owner=session.address,
        profile=settings.profile,
        max_rounds=settings.max_rounds,
        own_range=phrase.own_range,
    )
    return asyncio.run(argue(session, settings, start, stream=arguments.stream))


def move_without_swap(
    session: Session, ref: PositionRef, low: str | None, high: str | None
) -> ActionMaker:
    """Of two prices how wide the range is to be: where it lies follows from what is held."""
    from zuno_tui.gate.actions.moving import action_to_move

    width = None
    if low is not None and high is not None:
        ends = sorted(float(read_price(price)) for price in (low, high))
        width = round(log(ends[1] / ends[0]) / TICK_LOG)
    return lambda sources: action_to_move(sources, ref, session.address, width)


def run_move(arguments: Namespace) -> int:
    session = Session.start(arguments)
    if arguments.no_swap:
        from zuno_tui.app.approve import approve_order

        made = move_without_swap(session, arguments.ref, arguments.low, arguments.high)
        return print_answer(asyncio.run(approve_order(session, made)), as_json=session.as_json)
    if arguments.low is None or arguments.high is None:
        raise SettingsError(
            "Between which two prices? Like: zuno move 7 2900 3300. "
            "To the range that needs no swap: zuno move 7 --no-swap"
        )
    # What is no price is said before anything is read.
    for price in (arguments.low, arguments.high):
        read_price(price)
    settings = debate_settings(
        session.settings, os.environ, profile=arguments.profile, deterministic=False
    )
    start = FlowStart(
        token_id=arguments.ref,
        profile=settings.profile,
        max_rounds=1,
        own_prices=(arguments.low, arguments.high),
    )
    return asyncio.run(argue(session, settings, start, stream=arguments.stream))


def run_migrate(arguments: Namespace) -> int:
    from zuno_tui.prompt.into_phrase import read_into

    session = Session.start(arguments)
    into = read_into(arguments.to)
    settings = debate_settings(
        session.settings,
        os.environ,
        profile=arguments.profile,
        deterministic=arguments.deterministic,
    )
    start = FlowStart(
        token_id=arguments.ref,
        profile=settings.profile,
        max_rounds=settings.max_rounds,
        into=into,
    )
    return asyncio.run(argue(session, settings, start, stream=arguments.stream))
