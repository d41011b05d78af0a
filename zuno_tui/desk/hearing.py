"""What is heard of one debate, told as it is said."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from msgspec.structs import replace

from agents.model.speaking import SILENCE
from zuno_tui.desk.events import DebateChanged, Said, ThinkingHeard, TurnEnded
from zuno_tui.desk.prose import SpeakerProse, turn_view

if TYPE_CHECKING:
    from agents.bus.envelope import Role
    from agents.bus.run import Listener, SpokenTurn
    from zuno_tui.app.agents_elsewhere import AgentPlaces
    from zuno_tui.desk.context import DeskContext
    from zuno_tui.present.views import DebateView


class DebateHearing:
    """All that was said is kept for the end."""

    def __init__(self, desk_context: DeskContext, view: DebateView) -> None:
        self._desk_context = desk_context
        self._view = view
        self._prose = SpeakerProse(desk_context.tell)
        desk_context.tell(DebateChanged(view))

    def listener(self) -> Listener:
        from agents.bus.run import Listener

        return Listener(on_turn=self.on_turn, on_prose=self.on_prose, on_thinking=self.on_thinking)

    def on_prose(self, role: Role, text: str) -> None:
        self._prose.hear(role, text)

    def on_thinking(self, role: Role, seconds: float) -> None:
        self._desk_context.tell(ThinkingHeard(role, round(seconds)))

    def on_turn(self, turn: SpokenTurn) -> None:
        self._prose.forget(turn.role)
        view = turn_view(turn)
        self._view = replace(self._view, turns=(*self._view.turns, view))
        self._desk_context.tell(TurnEnded(view))
        if turn.thought.tag == SILENCE:
            self._desk_context.tell(Said(turn.thought.text, "warn"))

    def on_places(self, places: AgentPlaces) -> None:
        if places.peers or places.reason:
            self._view = replace(self._view, place=places.words)
        self._desk_context.status.meshed(places.summary, self._desk_context.clock())
        self._desk_context.tell(DebateChanged(self._view))
        if places.peers or places.reason:
            tone: Literal["plain", "warn"] = "warn" if places.reason else "plain"
            self._desk_context.tell(Said(f"The agents run {places.words}", tone))

    def on_crash(self, role: Role, error: Exception) -> None:
        self._desk_context.tell(Said(f"{role} stopped with {type(error).__name__}.", "bad"))

    def end(self, words: str) -> None:
        self._view = replace(self._view, ended=words)
        self._desk_context.tell(DebateChanged(self._view))
