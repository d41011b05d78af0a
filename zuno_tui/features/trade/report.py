"""A report of each run of the trade desk: text, JSON and its chart, kept and sent to Telegram."""

import os
import time
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from agents.bus.plan_store import PlanDocument
from agents.monitor.deliver.channel import DELIVERY_LIMITS, Delivered
from agents.monitor.deliver.delivery import unclickable
from agents.monitor.deliver.telegram import BotConnection, ChatReply, TelegramSettings, send_reply
from agents.trade.plan import TradePlan
from chain.base.clean_text import clean_text
from chain.base.home import Home, locked_in_turn, write_atomically
from chain.base.units import DAY
from zuno_tui.app.session import Session
from zuno_tui.features.trade.run_view import message_lines, run_lines, run_of_plan
from zuno_tui.features.trade.settings import TradeTable
from zuno_tui.present.output import json_text
from zuno_tui.present.transcript import wrap_text
from zuno_tui.present.words import role_title
from zuno_tui.settings.channels import channel_settings

_WIDTH = 100
_UNSENT = ".unsent"


class ReportFiles(Struct, frozen=True):
    text: Path
    document: Path
    chart: Path
    """Not there where no chart was drawn."""


def report_files(home: Home, plan_id: str) -> ReportFiles:
    folder = home.reports
    return ReportFiles(
        folder / f"{plan_id}.txt", folder / f"{plan_id}.json", folder / f"{plan_id}.png"
    )


async def report_run(
    session: Session, plan: TradePlan, document: PlanDocument, sent: tuple[str, ...] = ()
) -> None:
    """Keep the report and send it, of the plan or of what was sent for it.

    A plan is no worse for a report that fails.
    """
    try:
        _keep(session, plan, document, sent)
    except OSError as error:
        session.narrate(f"The report of {plan.plan_id} was not kept: {error.strerror}.")
        return
    telegram = report_channel(session)
    if telegram is not None:
        view = replace(run_of_plan(plan, ""), progress=sent)
        message = "\n".join(unclickable(line) for line in message_lines(view))
        write_atomically(session.home.reports / f"{plan.plan_id}{_UNSENT}", message.encode())
        trouble = await send_waiting(session.home, telegram)
        if trouble:
            session.narrate(f"{trouble} It is sent with the next one, or by: zuno telegram")


def report_lines(
    plan: TradePlan, document: PlanDocument, width: int, sent: tuple[str, ...] = ()
) -> list[str]:
    """All that is shown of a run, and all that was said in it."""
    turns = document.get("transcript")
    said = [
        wrap_text(_turn_words(turn), indent=2)
        for turn in (turns if isinstance(turns, list) else [])
        if isinstance(turn, dict)
    ]
    view = replace(run_of_plan(plan, ""), progress=sent)
    case = [wrap_text(line, indent=2) for line in case_lines(plan)]
    return [*run_lines(view, width), "", *case, *said]


def _turn_words(turn: Mapping[str, object]) -> str:
    return f"{role_title(str(turn.get('role')))} · {turn.get('tag')}: {turn.get('text')}"


def case_lines(plan: TradePlan) -> tuple[str, ...]:
    """What the judge drafted beside the decision itself."""
    told = {
        "meant to be held": plan.hold_duration,
        "what it should bring": plan.ev_rationale,
        "it rests on": ", ".join(plan.key_factors),
    }
    return tuple(f"{name}: {clean_text(words)}" for name, words in told.items() if words)


def report_channel(session: Session) -> TelegramSettings | None:
    """Where reports go; None where nothing is set, or they are not wanted."""
    if not session.settings.table(TradeTable).send_reports:
        return None
    return channel_settings(session.settings, os.environ).telegram


async def send_waiting(home: Home, telegram: TelegramSettings) -> str:
    """Send what was not sent yet, the oldest first; why it stopped, empty where it did not.

    Cut off between sending and noting it, a report is sent again: it names its plan.
    """
    home.reports.mkdir(mode=0o700, parents=True, exist_ok=True)
    connection = BotConnection(telegram.token, telegram.url, DELIVERY_LIMITS)
    try:
        async with locked_in_turn(home.reports / "sending.lock"):
            for marker in sorted(home.reports.glob(f"*{_UNSENT}"), key=_modified):
                if time.time() - _modified(marker) > DAY:
                    marker.unlink(missing_ok=True)
                    continue
                reply = ChatReply(marker.read_text("utf-8"), chart_of(home, marker.stem))
                outcome = await send_reply(connection, telegram.chat, reply, now=time.time())
                if not isinstance(outcome, Delivered):
                    return f"Telegram did not take the report of {marker.stem}: {outcome.reason}."
                marker.unlink(missing_ok=True)
    finally:
        await connection.close()
    return ""


def chart_of(home: Home, plan_id: str) -> bytes | None:
    with suppress(OSError):
        return report_files(home, plan_id).chart.read_bytes()
    return None


def _keep(session: Session, plan: TradePlan, document: PlanDocument, sent: tuple[str, ...]) -> None:
    files = report_files(session.home, plan.plan_id)
    text = "\n".join(report_lines(plan, document, _WIDTH, sent))
    whole = json_text({**document, "sent": list(sent)})  # type: ignore[dict-item]
    write_atomically(files.text, f"{text}\n".encode())
    write_atomically(files.document, f"{whole}\n".encode())
    drawn = session.home.records / f"{document.get('requestId')}.png"
    with suppress(FileNotFoundError):
        write_atomically(files.chart, drawn.read_bytes())


def _modified(path: Path) -> float:
    return path.stat().st_mtime
