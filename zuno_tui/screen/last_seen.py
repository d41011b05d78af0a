"""The last thing the desk told of each kind, for whoever starts to listen later."""

from msgspec import Struct, field

from zuno_tui.desk.events import (
    AlertsChanged,
    DebateChanged,
    Event,
    OutageChanged,
    PlanChanged,
    PositionsChanged,
    StatusChanged,
)
from zuno_tui.present.outage import OutageView
from zuno_tui.present.views import AlertsView, DebateView, PlanView, PositionsView, StatusView


class LastSeen(Struct):
    positions: PositionsView = field(default_factory=PositionsView)
    alerts: AlertsView = field(default_factory=AlertsView)
    status: StatusView = field(default_factory=lambda: StatusView(network="", wallet=""))
    outage: OutageView | None = None
    debate: DebateView | None = None
    plan: PlanView | None = None

    def hear(self, event: Event) -> None:
        match event:
            case PositionsChanged(view):
                self.positions = view
            case AlertsChanged(view):
                self.alerts = view
            case StatusChanged(view):
                self.status = view
            case OutageChanged(view):
                self.outage = view
            case DebateChanged(view):
                self.debate = view
            case PlanChanged(view):
                self.plan = view
            case _:
                pass
