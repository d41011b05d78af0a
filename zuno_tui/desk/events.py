"""What the desk tells whoever listens: a screen, or a test."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from msgspec import Struct

from zuno_tui.present.outage import OutageView

if TYPE_CHECKING:
    from zuno_tui.intents.intents import ChooseRange
    from zuno_tui.present.pages.page import Page
    from zuno_tui.present.pages.pools import ListedPool
    from zuno_tui.present.portfolio import PortfolioView
    from zuno_tui.present.position import DetailView
    from zuno_tui.present.range_form import RangeForm
    from zuno_tui.present.views import (
        AlertRow,
        AlertsView,
        ApprovalView,
        DebateView,
        DispatchView,
        PlanView,
        PositionsView,
        RecordRow,
        SettingRow,
        StatusView,
        TurnView,
        ViewName,
    )


class Event(Struct, frozen=True):
    """Anything that is told; a feature has events of its own."""


class PositionsChanged(Event, frozen=True):
    view: PositionsView


class AlertsChanged(Event, frozen=True):
    view: AlertsView


class AlertRaised(Event, frozen=True):
    """A new or reopened alert, for the bell and the eye."""

    row: AlertRow


class DebateChanged(Event, frozen=True):
    """A debate began, ended or was opened from a record: all of it."""

    view: DebateView


class ProseHeard(Event, frozen=True):
    """A piece of what an agent is saying, as it is written."""

    role: str
    text: str


class ThinkingHeard(Event, frozen=True):
    """A model thinks before it speaks, for so long already."""

    role: str
    seconds: int


class TurnEnded(Event, frozen=True):
    """The whole turn; it takes the place of the prose heard of it."""

    turn: TurnView


class PlanChanged(Event, frozen=True):
    view: PlanView | None


class ConfirmationAsked(Event, frozen=True):
    """The screen that shows the bytes' own words and waits for the typed one."""

    approval: ApprovalView


class ConfirmationEnded(Event, frozen=True):
    """An approval that can be confirmed no more: it expired, was replaced, or was refused.

    Told whenever `confirm` ends without a result, so that no confirmation waits for ever; what
    was applied is told by PlanChanged with its result.
    """

    approval_hash: str
    words: str
    """Why, and what to do next."""


class StatusChanged(Event, frozen=True):
    view: StatusView


class OutageChanged(Event, frozen=True):
    """The chain cannot be read, and why; None when it can."""

    view: OutageView | None


class Said(Event, frozen=True):
    """One calm line: what was understood, done or refused, with the next step."""

    words: str
    tone: Literal["plain", "good", "warn", "bad"] = "plain"
    twin: str = ""
    """The command line that does the same."""


class HintChanged(Event, frozen=True):
    """The guide's next line; empty when it has nothing to say."""

    words: str


class ViewAsked(Event, frozen=True):
    """A pane or list to bring to the front."""

    view: ViewName


class DetailReady(Event, frozen=True):
    view: DetailView
    opens: bool = True
    """Whether it is the first answer; what is read later fills the page while it is open."""


class PoolsReady(Event, frozen=True):
    rows: tuple[ListedPool, ...]
    narrowed: str = ""
    """What they are narrowed by at first."""


class RangeReady(Event, frozen=True):
    """A pool was read for a range of the person's own; several where any of them would do."""

    asked: ChooseRange
    forms: tuple[RangeForm, ...]


class PortfolioChanged(Event, frozen=True):
    """What was read so far of all wallets on all networks."""

    view: PortfolioView
    opens: bool = False
    """Whether somebody asked to see it; what is read later brings nobody back to it."""


class RecordsReady(Event, frozen=True):
    rows: tuple[RecordRow, ...]


class OutboxReady(Event, frozen=True):
    rows: tuple[DispatchView, ...]


class SettingsReady(Event, frozen=True):
    rows: tuple[SettingRow, ...]
    path: str


class PageReady(Event, frozen=True):
    """A command's answer: drawn by the screen, or lines as they were printed."""

    title: str
    lines: tuple[str, ...]
    view: Page | None = None


class PhraseProposed(Event, frozen=True):
    """What a model takes a phrase for that nobody understood; for the prompt, to be sent or not."""

    typed: str
    phrase: str


class HelpAsked(Event, frozen=True):
    topic: str | None


class QuitAsked(Event, frozen=True):
    pass
