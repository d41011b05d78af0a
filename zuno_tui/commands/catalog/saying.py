"""`zuno say "PHRASE"`: what the prompt understands by a phrase; a look runs, the rest is shown."""

from __future__ import annotations

import asyncio
import os
import shlex
import subprocess
import time
from argparse import Namespace
from collections.abc import Iterator
from typing import TYPE_CHECKING

from msgspec.structs import replace

from chain.base.own_program import own_program
from zuno_tui.app.session import Session, say
from zuno_tui.catalog.interpret import interpret
from zuno_tui.catalog.registry import registry
from zuno_tui.catalog.typed_line import Interpretation
from zuno_tui.intents.context import PhraseContext, held_positions
from zuno_tui.intents.intent import Intent
from zuno_tui.intents.phrase_error import NotReadYetError
from zuno_tui.present.exit_codes import DONE, REFUSED, USAGE
from zuno_tui.present.failures import explain_known
from zuno_tui.present.output import Json, print_json, print_lines
from zuno_tui.prompt.slots import ALIASES

if TYPE_CHECKING:
    from chain.protocols.reference import PositionRef
    from zuno_tui.present.position import Won
    from zuno_tui.settings.debates import DebateSettings

_FLAGS = ("network", "rpc", "address", "unit", "home")
_SIGNING = frozenset(("apply", "outbox"))
_SWITCHES = ("alone", "json")


def run(parsed: Namespace) -> int:
    session = Session.start(parsed)
    found = interpret_phrase(session, parsed.phrase)
    if found.misunderstood is not None and not found.misunderstood.missing:
        found = _by_model(session, parsed.phrase) or found
    if parsed.dry_run or not found.intents:
        return _tell(found, as_json=session.as_json)
    if not found.runs:
        return _show_only(found, as_json=session.as_json)
    return _run_command(found.intents[0], parsed)


def interpret_phrase(session: Session, phrase: str) -> Interpretation:
    """With the positions and what they won read only where the phrase may be about them."""
    context = _with_alerts(session, PhraseContext(network=session.network.name))
    found = _interpret(phrase, context)
    if isinstance(found, Interpretation) and not may_name_positions(found):
        return found
    try:
        read = _with_read(session, context, since_entry=found == "results")
    except Exception as error:
        told = explain_known(error)
        if told is None or not isinstance(found, Interpretation):
            raise
        say(f"Your positions could not be read, so this was not checked against them: {told[1]}")
        return found
    found = _interpret(phrase, read)
    if found == "results":
        found = _interpret(phrase, _with_read(session, context, since_entry=True))
    return found if isinstance(found, Interpretation) else interpret(phrase, read, registry())


def _interpret(phrase: str, context: PhraseContext) -> Interpretation | str:
    """What a phrase comes to, or what must be read for that."""
    try:
        return interpret(phrase, context, registry())
    except NotReadYetError as unread:
        return unread.what


def may_name_positions(found: Interpretation) -> bool:
    """Whether what the wallet holds can change what a phrase came to without knowing it."""
    if found.answer is not None and not found.intents:
        return False
    return not found.intents or any(
        getattr(intent, "ref", None) is not None
        or getattr(intent, "refs", ())
        or registry().name_of(intent) == "create"
        or any(called in ALIASES for called in _tokens_of(intent))
        for intent in found.intents
    )


def _tokens_of(intent: Intent) -> Iterator[str]:
    """Tokens by the names people have for them; ETH is its own."""
    named = (getattr(intent, field, None) for field in ("symbol", "sold", "bought"))
    yield from (name.upper() for name in named if isinstance(name, str) and name.upper() != "ETH")


def _by_model(session: Session, phrase: str) -> Interpretation | None:
    """What a model takes the phrase for, where one is set; shown as a question, never run."""
    from zuno_tui.settings.debates import debate_settings

    settings = debate_settings(session.settings, os.environ, profile=None, deterministic=False)
    return None if settings.model is None else asyncio.run(_ask_model(session, settings, phrase))


async def _ask_model(
    session: Session, settings: DebateSettings, phrase: str
) -> Interpretation | None:
    from agents.bus.run import Listener
    from zuno_tui.app.debate_setup import live_model, with_keys
    from zuno_tui.catalog.model_phrase import phrase_of_model, proposed_question

    settings = replace(settings, model=await with_keys(settings.model))
    with session.open_store() as store:
        async with live_model(settings, store, Listener()) as (model, _budget):
            meant = None if model is None else await phrase_of_model(phrase, model, registry())
    return None if meant is None else proposed_question(meant, phrase, PhraseContext(), registry())


def interpretation_document(found: Interpretation) -> dict[str, Json]:
    question = found.question
    if found.misunderstood is not None and found.misunderstood.missing:
        question = found.misunderstood.sentence
    lines = [intent.twin for intent in found.intents]
    keys = [
        f"`{registry().command_of(intent).name}` is for the desk alone: {intent.twin} there."
        for intent in found.intents
        if not intent.twin.startswith("zuno ")
    ]
    return {
        "understood": bool(found.intents) or found.answer is not None or question is not None,
        "commands": [line for line in lines if line.startswith("zuno ")],
        "question": question,
        "choices": list(found.choices),
        "answer": found.answer or " ".join(keys) or None,
    }


def _tell(found: Interpretation, *, as_json: bool) -> int:
    document = interpretation_document(found)
    if as_json:
        print_json(document)
    else:
        print_lines(intent.twin for intent in found.intents)
        print_lines(filter(None, (found.answer, found.question)))
        print_lines(found.choices)
    if found.misunderstood is not None:
        say(found.misunderstood.words)
    return DONE if document["understood"] else USAGE


def _show_only(found: Interpretation, *, as_json: bool) -> int:
    """What a sentence would do beyond looking is typed as its own command."""
    _tell(found, as_json=as_json)
    say("Nothing was run. To run it, type the command itself.")
    return REFUSED


def _run_command(intent: Intent, parsed: Namespace) -> int:
    if registry().name_of(intent) in _SIGNING:
        say("What signs or sends must be typed as its own command:")
        print_lines((intent.twin,))
        return REFUSED
    if not intent.twin.startswith("zuno "):
        say("That is for the desk alone.")
        return USAGE
    say(f"$ {intent.twin}")
    words = [*shlex.split(intent.twin)[1:], *_shared(parsed)]
    return subprocess.run(own_program("zuno_tui", *words), check=False).returncode  # noqa: S603


def _shared(parsed: Namespace) -> Iterator[str]:
    for name in _FLAGS:
        if (value := getattr(parsed, name)) is not None:
            yield from (f"--{name}", str(value))
    yield from (f"--{name}" for name in _SWITCHES if getattr(parsed, name))


def _with_read(session: Session, context: PhraseContext, *, since_entry: bool) -> PhraseContext:
    return asyncio.run(_with_positions(session, context, since_entry=since_entry))


def _with_alerts(session: Session, context: PhraseContext) -> PhraseContext:
    from zuno_tui.app.alerts import standing_alerts

    alerts = standing_alerts(session, time.time())
    return replace(context, alerts=tuple(alert for alert, _ in alerts), alerts_of=alerts)


async def _with_positions(
    session: Session, context: PhraseContext, *, since_entry: bool
) -> PhraseContext:
    from chain.positions.overview import read_overview
    from chain.positions.performance import read_performance
    from zuno_tui.present.position import position_rows, won_by_position
    from zuno_tui.settings.monitor import monitor_settings

    async with session.sources() as sources:
        overview = await read_overview(sources, session.address, session.settings.unit)
        won: dict[PositionRef, Won] = {}
        if since_entry:
            performance = await read_performance(sources, overview.wallet.positions)
            won = won_by_position(overview, performance, session.settings.unit)
    rows = position_rows(session.network, overview, won, monitor_settings(session.settings))
    held = held_positions(rows)
    return replace(context, positions=tuple(position.ref for position in held), held=held)
