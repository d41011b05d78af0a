"""`zuno history`: everything that moved, at the prices of its time."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

from zuno_tui.app.reading_progress import reading_progress
from zuno_tui.app.whole_history import read_whole_history
from zuno_tui.present.answer import CommandAnswer
from zuno_tui.present.exit_codes import DONE, FAILED, NETWORK
from zuno_tui.present.history_csv import history_csv
from zuno_tui.present.history_report import history_document, history_heading, history_lines
from zuno_tui.present.whole_history import HistoryFilter
from zuno_tui.settings import SettingsError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from zuno_tui.app.session import Session
    from zuno_tui.present.history_csv import CsvFormat


def history_filter(token_id: int | None, since: str | None, until: str | None) -> HistoryFilter:
    """Of one position's story, and of whole UTC days."""
    first = None if since is None else _day(since, "--from")
    end = None if until is None else _day(until, "--to") + timedelta(days=1)
    return HistoryFilter(token_id, _seconds(first), _seconds(end))


async def told_history(
    session: Session, named: Sequence[str], form: CsvFormat | None, selection: HistoryFilter
) -> CommandAnswer:
    watch = reading_progress(session.narrate, what="what happened to positions")
    whole = await read_whole_history(session, named, selection, watch=watch)
    lines = history_lines(whole) if form is None else _csv_lines(history_csv(whole, form))
    heading = history_heading(whole)
    seen = any(one.history is not None for one in whole.chapters)
    code = DONE if seen else NETWORK
    if seen and selection.position is not None and not any(whole.results()):
        heading, lines = (*heading, f"No wallet looked at ever held #{selection.position}."), ()
        code = FAILED
    return CommandAnswer(
        heading=heading,
        lines=lines,
        document=history_document(whole),
        code=code,
        exact=form is not None,
    )


def _csv_lines(text: str) -> tuple[str, ...]:
    return tuple(text.removesuffix("\r\n").split("\r\n"))


def _day(text: str, flag: str) -> datetime:
    try:
        return datetime.strptime(text.strip(), "%Y-%m-%d").replace(tzinfo=UTC)
    except ValueError:
        raise SettingsError(f"{text!r} is no day. Write it like: {flag} 2026-01-31") from None


def _seconds(moment: datetime | None) -> int | None:
    return None if moment is None else int(moment.timestamp())
