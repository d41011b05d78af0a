"""What a holder of positions asks in a chat: what they are worth, alerts, the newest plan."""

import re
import time
from collections.abc import Sequence

from agents.bus.plan_store import PlanStore
from chain.base.units import age_text
from chain.protocols.reference import PositionRef, position_label, position_name, read_position_ref
from chain.rpc.errors import RpcError
from zuno_tui.app.session import Session
from zuno_tui.catalog.interpret import interpret
from zuno_tui.catalog.registry import registry
from zuno_tui.catalog.typed_line import may_look
from zuno_tui.intents.context import PhraseContext, held_positions
from zuno_tui.intents.intent import Intent
from zuno_tui.intents.intents import Inspect, Recommend, ShowPlan
from zuno_tui.intents.phrase_error import NotReadYetError
from zuno_tui.prompt.positions import positions_meant
from zuno_tui.prompt.slots import read_sentence

_ADVICE = re.compile(
    r"\b(should i|what (do|to) (i )?do|agents?|advice|advise|recommend|rebalance|verdict|plan|say "
    r"about|argued?|move|keep|hold|close)\b"
)
_NUMBER = re.compile(r"(?<![\w.,$])#?((?:3:)?[0-9]{1,9})(?![\w.,%])")


class PlanAsked(Intent, frozen=True):
    """The newest plan of a position, with its age."""

    ref: PositionRef


async def chat_context(session: Session) -> PhraseContext:
    """With what the wallet holds and what alerts stand; of a chain that is silent, without."""
    from chain.positions.overview import read_overview
    from zuno_tui.app.alerts import standing_alerts
    from zuno_tui.present.position import position_rows
    from zuno_tui.settings.monitor import monitor_settings

    alerts = standing_alerts(session, time.time())
    plain = PhraseContext(
        alerts=tuple(alert for alert, _ in alerts),
        alerts_of=alerts,
        network=session.network.name,
    )
    try:
        async with session.sources() as sources:
            overview = await read_overview(sources, session.address, session.settings.unit)
    except RpcError:
        return plain
    rows = position_rows(session.network, overview, {}, monitor_settings(session.settings))
    held = held_positions(rows)
    refs = tuple(position.ref for position in held)
    return PhraseContext(refs, held, plain.alerts_of, alerts=plain.alerts, network=plain.network)


def named_position(text: str, context: PhraseContext) -> PositionRef | None:
    """The first number in it that is a position's of the wallet."""
    found = (read_position_ref(name) for name in _NUMBER.findall(text))
    return next((ref for ref in found if ref in context.positions), None)


def asked_look(text: str, context: PhraseContext) -> Intent | None:
    """What it asks to see; None where it asks for nothing that only looks."""
    ref = named_position(text, context) or _described(text, context)
    if ref is not None and _ADVICE.search(text.lower()):
        return PlanAsked(ref)
    commands = registry()
    try:
        found = interpret(text, context, commands)
    except NotReadYetError:
        found = None
    if found is not None and len(found.intents) == 1:
        (intent,) = found.intents
        if isinstance(intent, Recommend):
            return PlanAsked(intent.ref)
        if may_look(intent, commands):
            return intent
        return None
    return None if ref is None else Inspect(ref)


def _described(text: str, context: PhraseContext) -> PositionRef | None:
    """`my weth position`, where one of them is meant."""
    try:
        meant = positions_meant(read_sentence(text, context), context)
    except NotReadYetError:
        return None
    return meant.ids[0] if meant.sure and len(meant.ids) == 1 and meant.described else None


def newest_plan(session: Session, ref: PositionRef) -> tuple[Intent | None, Sequence[str]]:
    """What shows it, and what stands above: whose it is and how old, or that there is none."""
    label = position_label(ref)
    found = PlanStore(session.home.plans).about(ref, 1)
    plan_id = str(found[0].get("planId")) if found else ""
    path = session.home.plans / f"{plan_id}.json"
    if not found or not path.is_file():
        return None, (
            f"The agents have not argued about {label} yet. On your own machine:",
            f"zuno recommend {position_name(ref)}",
        )
    age = age_text(round(max(0.0, time.time() - path.stat().st_mtime)))
    return ShowPlan(plan_id), (f"The newest plan of {label}, {age} old:",)
