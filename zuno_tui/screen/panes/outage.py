"""The card above the panes while the chain cannot be read; gone when it can."""

from collections.abc import Mapping

from textual.content import Content

from zuno_tui.present.outage import OutageView, outage_facts
from zuno_tui.screen.panes.frame import frame, literal
from zuno_tui.screen.panes.text import TextLine

_LABEL = 10
_DO = {
    "desk.refresh": "try again now",
    "desk.settings": "change the endpoint",
    "desk.doctor": "see what answers",
}


class OutageCard(TextLine):
    fixed = False

    def __init__(self) -> None:
        super().__init__(id="outage")
        self.display = False

    def show(self, view: OutageView | None, keys: Mapping[str, str], now: float) -> None:
        self.display = view is not None
        if view is None:
            return
        frame(self, literal(f"▲ {view.title}"))
        facts = [
            Content.assemble(literal(f"{label:<{_LABEL}}", "$quiet"), literal(words))
            for label, words in outage_facts(view, now)
        ]
        press = Content("   ").join(
            Content.assemble((keys[name], "bold $primary"), f" {does}")
            for name, does in _DO.items()
            if name in keys
        )
        self.tell(Content("\n").join([literal(view.happened, "bold"), *facts, press]))
