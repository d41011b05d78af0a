"""The command palette: what is possible now, and never a signature."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from msgspec import Struct
from textual.command import DiscoveryHit, Hit, Provider
from textual.content import Content

from zuno_tui.commands.intents import (
    AboutPlan,
    Cancel,
    Inspect,
    Recommend,
    Refresh,
    SetMarketClock,
    Show,
    ShowPage,
)
from zuno_tui.screen.screens.desk import PANES, DeskScreen
from zuno_tui.screen.themes import THEME_NAMES

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from textual.command import Hits

    from zuno_tui.commands.intents import Intent


class Possible(Struct, frozen=True):
    name: str
    does: str
    do: Callable[[], None]


class DeskCommands(Provider):
    async def discover(self) -> Hits:
        for each in self._possible():
            yield DiscoveryHit(Content(each.name), each.do, each.name, each.does)

    async def search(self, query: str) -> Hits:
        matcher = self.matcher(query)
        for each in self._possible():
            if (score := matcher.match(each.name)) > 0:
                yield Hit(score, matcher.highlight(each.name), each.do, each.name, each.does)

    def _possible(self) -> Iterator[Possible]:
        desk = self.screen
        if not isinstance(desk, DeskScreen):
            return
        for intent, does in _intents(desk):
            yield Possible(_spoken(intent), does, partial(desk.ask, intent))
        for phrase, does in _phrases(desk):
            yield Possible(f"{phrase} …", does, partial(desk.offer, phrase))
        for pane in PANES:
            yield Possible(f"go to {pane}", "Focus this pane", partial(desk.action_front, pane))
        yield Possible("zoom", "Give the pane the whole screen, or put it back", desk.action_zoom)
        yield Possible("help", "The keys and phrases of this pane", desk.action_help)
        for theme in THEME_NAMES:
            if theme != self.app.theme:
                yield Possible(
                    f"theme {theme}", "Other colours", partial(setattr, self.app, "theme", theme)
                )
        yield Possible("quit", "Leave the desk", desk.action_leave)


def _intents(desk: DeskScreen) -> Iterator[tuple[Intent, str]]:
    context, told = desk.context, desk.told
    if context.selected is not None:
        yield Recommend(context.selected), "Let the agents argue about it"
        yield Inspect(context.selected), "All that is known of it"
    if told.plan is not None and told.plan.options:
        yield AboutPlan("diff", told.plan.plan_id), "The old range against the new one"
        yield AboutPlan("simulate", told.plan.plan_id), "Try it without approving anything"
        yield AboutPlan("export", told.plan.plan_id), "Unsigned, for a hardware wallet or a Safe"
    yield Show("records"), "The debates that were held"
    yield Show("outbox"), "What was sent, and where it stands"
    yield Show("settings"), "What is set, and where"
    yield ShowPage("balances"), "What the wallet holds"
    yield ShowPage("pools"), "Pools to enter"
    yield ShowPage("doctor"), "Is everything well here?"
    yield ShowPage("exit-drill"), "Try to leave every position, sending nothing"
    yield Refresh(), "Read everything anew"
    if told.status.market is not None:
        yield (
            SetMarketClock("resume" if told.status.market_paused else "pause"),
            "The demo's market",
        )
        yield SetMarketClock("step"), "One step of the demo's market"
        yield SetMarketClock("faster"), "A faster market"
        yield SetMarketClock("slower"), "A slower market"
    if any(job.cancellable for job in told.status.jobs):
        yield Cancel(), "End the work under way"


def _phrases(desk: DeskScreen) -> Iterator[tuple[str, str]]:
    """What leads to a signature is put in the prompt, to be read and sent by hand."""
    selected, plan = desk.context.selected, desk.told.plan
    if selected is not None:
        yield f"collect {selected}", "Take its fees"
        yield f"compound {selected}", "Put its fees back in"
        yield f"close {selected}", "Take everything out"
    if plan is not None and plan.result is None:
        for option in plan.options:
            if option.candidate is not None:
                yield f"approve {option.candidate}", "Build, decode and try its transactions"


def _spoken(intent: Intent) -> str:
    match intent:
        case SetMarketClock(action):
            return f"market: {action}"
        case Cancel():
            return "cancel the work under way"
        case Refresh():
            return "refresh"
        case Show(view):
            return view
        case AboutPlan(verb):
            return f"{verb} the plan"
        case _:
            return intent.twin.removeprefix("zuno ")
