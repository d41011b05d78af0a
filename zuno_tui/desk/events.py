"""What the desk tells whoever listens: a screen, or a test."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, TypeAlias

if TYPE_CHECKING:
    from zuno_tui.desk.intents import ViewName
    from zuno_tui.desk.views import (
        AlertRow,
        AlertsView,
        ApprovalView,
        DebateView,
        DetailView,
        DispatchView,
        PlanView,
        PoolRow,
        PositionsView,
        RecordRow,
        SettingRow,
        StatusView,
        TurnView,
    )


@dataclass(frozen=True, slots=True)
class PositionsChanged:
    view: PositionsView


@dataclass(frozen=True, slots=True)
class AlertsChanged:
    view: AlertsView


@dataclass(frozen=True, slots=True)
class AlertRaised:
    """A new or reopened alert, for the bell and the eye."""

    row: AlertRow


@dataclass(frozen=True, slots=True)
class DebateChanged:
    """A debate began, ended or was opened from a record: all of it."""

    view: DebateView


@dataclass(frozen=True, slots=True)
class ProseHeard:
    """A piece of what an agent is saying, as it is written."""

    role: str
    text: str


@dataclass(frozen=True, slots=True)
class TurnEnded:
    """The whole turn; it takes the place of the prose heard of it."""

    turn: TurnView


@dataclass(frozen=True, slots=True)
class PlanChanged:
    view: PlanView | None


@dataclass(frozen=True, slots=True)
class ConfirmationAsked:
    """The screen that shows the bytes' own words and waits for the typed one."""

    approval: ApprovalView


@dataclass(frozen=True, slots=True)
class ConfirmationEnded:
    """An approval that can be confirmed no more: it expired, was replaced, or was refused.

    Told whenever `confirm` ends without a result, so that no confirmation waits for ever; what
    was applied is told by PlanChanged with its result.
    """

    approval_hash: str
    words: str
    """Why, and what to do next."""


@dataclass(frozen=True, slots=True)
class StatusChanged:
    view: StatusView


@dataclass(frozen=True, slots=True)
class Said:
    """One calm line: what was understood, done or refused, with the next step."""

    words: str
    tone: Literal["plain", "good", "warn", "bad"] = "plain"
    twin: str = ""
    """The command line that does the same."""


@dataclass(frozen=True, slots=True)
class HintChanged:
    """The guide's next line; empty when it has nothing to say."""

    words: str


@dataclass(frozen=True, slots=True)
class ViewAsked:
    """A pane or list to bring to the front."""

    view: ViewName


@dataclass(frozen=True, slots=True)
class DetailReady:
    view: DetailView


@dataclass(frozen=True, slots=True)
class PoolsReady:
    rows: tuple[PoolRow, ...]


@dataclass(frozen=True, slots=True)
class RecordsReady:
    rows: tuple[RecordRow, ...]


@dataclass(frozen=True, slots=True)
class OutboxReady:
    rows: tuple[DispatchView, ...]


@dataclass(frozen=True, slots=True)
class SettingsReady:
    rows: tuple[SettingRow, ...]
    path: str


@dataclass(frozen=True, slots=True)
class PageReady:
    """A command's printed answer, line by line."""

    title: str
    lines: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class HelpAsked:
    topic: str | None


@dataclass(frozen=True, slots=True)
class QuitAsked:
    pass


Event: TypeAlias = (
    PositionsChanged
    | AlertsChanged
    | AlertRaised
    | DebateChanged
    | ProseHeard
    | TurnEnded
    | PlanChanged
    | ConfirmationAsked
    | ConfirmationEnded
    | StatusChanged
    | Said
    | HintChanged
    | ViewAsked
    | DetailReady
    | PoolsReady
    | RecordsReady
    | OutboxReady
    | SettingsReady
    | PageReady
    | HelpAsked
    | QuitAsked
)
