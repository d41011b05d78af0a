"""What the desk tells whoever listens: a screen, or a test."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, TypeAlias

from msgspec import Struct

if TYPE_CHECKING:
    from zuno_tui.catalog.intents import ChooseRange
    from zuno_tui.present.outage import OutageView
    from zuno_tui.present.portfolio import PortfolioView
    from zuno_tui.present.position import DetailView
    from zuno_tui.present.range_form import RangeForm
    from zuno_tui.present.trade.views import TradeApprovalView, TradeRunView
    from zuno_tui.present.views import (
        AlertRow,
        AlertsView,
        ApprovalView,
        DebateView,
        DispatchView,
        PlanView,
        PoolRow,
        PositionsView,
        RecordRow,
        SettingRow,
        StatusView,
        TurnView,
        ViewName,
    )


class PositionsChanged(Struct, frozen=True):
    view: PositionsView


class AlertsChanged(Struct, frozen=True):
    view: AlertsView


class AlertRaised(Struct, frozen=True):
    """A new or reopened alert, for the bell and the eye."""

    row: AlertRow


class DebateChanged(Struct, frozen=True):
    """A debate began, ended or was opened from a record: all of it."""

    view: DebateView


class ProseHeard(Struct, frozen=True):
    """A piece of what an agent is saying, as it is written."""

    role: str
    text: str


class ThinkingHeard(Struct, frozen=True):
    """A model thinks before it speaks, for so long already."""

    role: str
    seconds: int


class TurnEnded(Struct, frozen=True):
    """The whole turn; it takes the place of the prose heard of it."""

    turn: TurnView


class PlanChanged(Struct, frozen=True):
    view: PlanView | None


class ConfirmationAsked(Struct, frozen=True):
    """The screen that shows the bytes' own words and waits for the typed one."""

    approval: ApprovalView


class ConfirmationEnded(Struct, frozen=True):
    """An approval that can be confirmed no more: it expired, was replaced, or was refused.

    Told whenever `confirm` ends without a result, so that no confirmation waits for ever; what
    was applied is told by PlanChanged with its result.
    """

    approval_hash: str
    words: str
    """Why, and what to do next."""


class TradeOpened(Struct, frozen=True):
    """A run of the trade desk that somebody wants to see: it began, or was asked for."""

    view: TradeRunView


class TradeChanged(Struct, frozen=True):
    """The same run a step further, for whoever looks at it."""

    view: TradeRunView


class TradeConfirmationAsked(Struct, frozen=True):
    """The screen that shows the orders and waits for the typed word."""

    approval: TradeApprovalView


class StatusChanged(Struct, frozen=True):
    view: StatusView


class OutageChanged(Struct, frozen=True):
    """The chain cannot be read, and why; None when it can."""

    view: OutageView | None


class Said(Struct, frozen=True):
    """One calm line: what was understood, done or refused, with the next step."""

    words: str
    tone: Literal["plain", "good", "warn", "bad"] = "plain"
    twin: str = ""
    """The command line that does the same."""


class HintChanged(Struct, frozen=True):
    """The guide's next line; empty when it has nothing to say."""

    words: str


class ViewAsked(Struct, frozen=True):
    """A pane or list to bring to the front."""

    view: ViewName


class DetailReady(Struct, frozen=True):
    view: DetailView


class PoolsReady(Struct, frozen=True):
    rows: tuple[PoolRow, ...]


class RangeReady(Struct, frozen=True):
    """A pool was read for a range of the person's own; several where any of them would do."""

    asked: ChooseRange
    forms: tuple[RangeForm, ...]


class PortfolioChanged(Struct, frozen=True):
    """What was read so far of all wallets on all networks."""

    view: PortfolioView
    opens: bool = False
    """Whether somebody asked to see it; what is read later brings nobody back to it."""


class RecordsReady(Struct, frozen=True):
    rows: tuple[RecordRow, ...]


class OutboxReady(Struct, frozen=True):
    rows: tuple[DispatchView, ...]


class SettingsReady(Struct, frozen=True):
    rows: tuple[SettingRow, ...]
    path: str


class PageReady(Struct, frozen=True):
    """A command's printed answer, line by line."""

    title: str
    lines: tuple[str, ...]


class PhraseProposed(Struct, frozen=True):
    """What a model takes a phrase for that nobody understood; for the prompt, to be sent or not."""

    typed: str
    phrase: str


class HelpAsked(Struct, frozen=True):
    topic: str | None


class QuitAsked(Struct, frozen=True):
    pass


Event: TypeAlias = (
    PositionsChanged
    | AlertsChanged
    | AlertRaised
    | DebateChanged
    | ProseHeard
    | ThinkingHeard
    | TurnEnded
    | PlanChanged
    | ConfirmationAsked
    | ConfirmationEnded
    | TradeOpened
    | TradeChanged
    | TradeConfirmationAsked
    | StatusChanged
    | OutageChanged
    | Said
    | HintChanged
    | ViewAsked
    | DetailReady
    | PoolsReady
    | RangeReady
    | PortfolioChanged
    | RecordsReady
    | OutboxReady
    | SettingsReady
    | PageReady
    | PhraseProposed
    | HelpAsked
    | QuitAsked
)
