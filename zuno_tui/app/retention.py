"""Lets go of old plans, records and memory, once a day, and never of what is still needed."""

from collections.abc import Iterable
from pathlib import Path

from msgspec import Struct

from chain.base import strict_json
from chain.base.home import Home
from chain.base.store import Store, StoreError
from chain.base.units import DAY, MEGABYTE
from chain.execution.outbox.journal import OutboxError
from chain.execution.outbox.outbox import Outbox
from chain.execution.outbox.records import Dispatch
from chain.history.hour_reader import forget_hours
from zuno_tui.settings.schema import RetentionSettings

_NAMESPACE, _KEY = "retention", "last"


class StoredFile(Struct, frozen=True):
    path: Path
    modified: float
    size: int


class LetGo(Struct, frozen=True):
    plans: int
    records: int
    pools: int
    """Whose swaps were forgotten."""


def let_go_when_due(
    home: Home, store: Store, settings: RetentionSettings, *, now: float
) -> str | None:
    """At most once a day; what was let go in a sentence, None where nothing was.

    To be called where something was just written, never by what only reads.
    """
    try:
        if not _due(store, now):
            return None
        store.put(_NAMESPACE, _KEY, now, now=now)
        gone = let_go(home, store, settings, now=now)
    except (OutboxError, StoreError, OSError) as error:
        # Without the journal nobody knows what is still needed, so nothing is let go.
        return f"Old plans and records were not cleaned up: {error}"
    if not gone.plans and not gone.records:
        return None
    return (
        f"Deleted {gone.plans} plans and {gone.records} records, as [retention] in "
        f"{home.settings} says."
    )


def let_go(home: Home, store: Store, settings: RetentionSettings, *, now: float) -> LetGo:
    """Delete what is older or more than the settings say; what is unfinished stays."""
    needed, before = _needed(home), now - settings.days * DAY
    most = settings.megabytes * MEGABYTE
    logs, plan_files = _files(home.records, "*.jsonl"), _files(home.plans, "plan_*.json")
    records = surplus(logs, before=before, most_bytes=most, needed=needed)
    plans = surplus(plan_files, before=before, most_bytes=None, needed=needed)
    reported = _files(home.reports, "plan_*")
    reports = surplus(reported, before=before, most_bytes=most, needed=frozenset())
    for file in (*records, *plans, *reports):
        file.path.unlink(missing_ok=True)
    for record in records:
        record.path.with_suffix(".png").unlink(missing_ok=True)
    pools = forget_hours(store, before=now - settings.memory_days * DAY)
    return LetGo(len(plans), len(records), pools)


def surplus(
    files: Iterable[StoredFile], *, before: float, most_bytes: int | None, needed: frozenset[Path]
) -> tuple[StoredFile, ...]:
    """Those from before a moment, and the oldest of those beyond so many bytes in all."""
    gone: list[StoredFile] = []
    total = 0
    for path in sorted(files, key=lambda file: file.modified, reverse=True):
        total += path.size
        too_many = most_bytes is not None and total > most_bytes
        if (path.modified < before or too_many) and path.path not in needed:
            gone.append(path)
    return tuple(gone)


def _needed(home: Home) -> frozenset[Path]:
    """The plans of everything approved or sent that can still change, and their records."""
    if not home.outbox.exists():
        return frozenset()
    with Outbox.open(home.outbox) as outbox:
        open_ids = [dispatch.plan_id for dispatch in outbox.dispatches() if _open(dispatch)]
    open_plans = [home.plans / f"{plan_id}.json" for plan_id in open_ids]
    records = (home.records / f"{_request_of(path)}.jsonl" for path in open_plans)
    return frozenset((*open_plans, *records))


def _open(dispatch: Dispatch) -> bool:
    return not dispatch.is_finished or dispatch.needs_attention


def _request_of(plan: Path) -> str:
    try:
        document = strict_json.loads(plan.read_bytes())
    except (OSError, strict_json.InvalidJsonError):
        return ""
    return str(document.get("requestId")) if isinstance(document, dict) else ""


def _files(folder: Path, pattern: str) -> list[StoredFile]:
    found = []
    for path in folder.glob(pattern):
        if path.is_file() and not path.is_symlink():
            status = path.stat()
            found.append(StoredFile(path, status.st_mtime, status.st_size))
    return found


def _due(store: Store, now: float) -> bool:
    last = store.get(_NAMESPACE, _KEY)
    # A clock that was set back must not stop it for good.
    return not isinstance(last, int | float) or not 0 <= now - last < DAY
