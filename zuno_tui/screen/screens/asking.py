"""What the desk's keys and prompt ask for; what leads to a signature is only put in the prompt."""

from __future__ import annotations

from abc import abstractmethod
from typing import Literal, Protocol, cast

from textual.screen import Screen
from textual.widgets import Input

from chain.protocols.reference import position_name, read_position_ref
from zuno_tui.desk.events import Event, PhraseProposed, Said
from zuno_tui.desk.link import DeskLink
from zuno_tui.intents.context import PhraseContext
from zuno_tui.intents.intent import Intent
from zuno_tui.intents.intents import ChangeSetting
from zuno_tui.intents.phrase_error import Misunderstood
from zuno_tui.present.views import OptionView, ViewName
from zuno_tui.screen.last_seen import LastSeen
from zuno_tui.screen.panes.alerts import AlertsPane
from zuno_tui.screen.panes.plan import PlanPane
from zuno_tui.screen.panes.positions import PositionsPane
from zuno_tui.screen.panes.prompt import PromptPane
from zuno_tui.screen.panes.row_table import RowTable
from zuno_tui.screen.panes.text import MessageLine
from zuno_tui.screen.screens.active_keys import active_keys
from zuno_tui.screen.themes import choose_theme


class HoldsPages(Protocol):
    """The app, as far as a key asks it for the page that waits."""

    waiting_page: Event | None

    def open_waiting_page(self) -> None: ...


class Asking(Screen[None]):
    """The half of the desk's screen that speaks to the back room.

    Intents are imported with the first request: twenty of them cost as much as a pane to paint.
    """

    link: DeskLink
    told: LastSeen
    context: PhraseContext
    _filled = ""
    """The line that was put in the prompt for the person."""
    _still_to_do: tuple[str, ...] = ()
    """What follows it, where several were meant at once."""

    def say(self, said: Said) -> None:
        self.query_one(MessageLine).say(said)

    def offer(self, phrase: str) -> None:
        """Put a phrase where the person can read, change and send it."""
        prompt = self.query_one(PromptPane)
        prompt.offer(phrase)
        self.set_focus(prompt)

    def keep_to_mend(self, phrase: str) -> None:
        prompt = self.query_one(PromptPane)
        if not prompt.value:
            prompt.keep_to_mend(phrase)

    def ask(self, intent: Intent) -> None:
        """Ask at once, and echo the command line that does the same."""
        self.say(Said("", twin=intent.twin))
        self.link.ask(intent)
        if isinstance(intent, ChangeSetting) and intent.name == "screen.theme":
            choose_theme(self.app, intent.value or "")

    def on_prompt_pane_submitted(self, event: PromptPane.Submitted) -> None:
        """An exact command or a look is asked at once; anything else only fills the line."""
        from zuno_tui.catalog.interpret import FilledLine, understand
        from zuno_tui.catalog.registry import registry

        meant = understand(event.text, self.context, registry())
        if event.text != self._filled:
            self._still_to_do = ()
        if isinstance(meant, FilledLine):
            self._filled, self._still_to_do = meant.line, meant.others
            self.offer(meant.line)
            self.say(Said(meant.note))
        elif isinstance(meant, Misunderstood):
            self.say(Said(meant.words, "plain" if meant.answered else "warn"))
            if not meant.answered:
                self.keep_to_mend(event.text)
            # Where a verb was understood, or something is still to be said, no model is asked.
            if meant.offer and not (meant.answered or meant.missing or meant.understood):
                self._ask_model(event.text)
        else:
            self.focus_front()
            self.ask(meant)

    def go_on(self) -> None:
        """What was meant with what is done now: nothing of it is forgotten silently."""
        if self._still_to_do:
            self._filled, *rest = self._still_to_do
            self._still_to_do = tuple(rest)
            after = f" Then {len(rest)} more." if rest else " It is the last."
            self.offer(self._filled)
            self.say(Said(f"Next: {self._filled}. Press Enter to run.{after}"))

    @abstractmethod
    def focus_front(self) -> None:
        """Back to the pane in front: what was typed is done."""

    def _ask_model(self, phrase: str) -> None:
        from zuno_tui.intents.intents import SayPhrase

        self.link.ask(SayPhrase(phrase))

    def propose(self, event: PhraseProposed) -> None:
        """A model's line in the prompt, where what was typed still stands there; Enter sends."""
        from zuno_tui.catalog.model_phrase import proposed_line
        from zuno_tui.catalog.registry import registry

        line = proposed_line(event.phrase, event.typed, self.context, registry())
        if line is not None and self.waits_for(event.typed):
            self.offer(line)
            self.say(Said("The model suggests this. Enter runs it."))

    def waits_for(self, phrase: str) -> bool:
        """Whether the prompt holds nothing but what was not understood."""
        return self.query_one(PromptPane).value in ("", phrase)

    def on_row_table_chosen(self, event: RowTable.Chosen) -> None:
        from zuno_tui.intents.intents import Inspect

        match event.table:
            case PositionsPane() if (ref := read_position_ref(event.key)) is not None:
                self.ask(Inspect(ref))
            case AlertsPane() as alerts if alerts.selection is not None:
                if alerts.selection.next_command:
                    self.offer(alerts.selection.next_command)
                else:
                    self.say(Said("This alert is resolved: nothing to do."))
            case _:
                pass

    def on_alerts_pane_opened(self, event: AlertsPane.Opened) -> None:
        from zuno_tui.intents.intents import ShowAlert

        self.ask(ShowAlert(event.alert_id))

    def on_alerts_pane_acknowledged(self, event: AlertsPane.Acknowledged) -> None:
        from zuno_tui.intents.intents import Acknowledge

        self.ask(Acknowledge(event.alert_id))

    def on_alerts_pane_muted(self, event: AlertsPane.Muted) -> None:
        from zuno_tui.intents.intents import MuteAlert

        self.ask(MuteAlert(event.alert_id, event.seconds))

    def on_plan_pane_taken(self, event: PlanPane.Taken) -> None:
        self._offer_approval(f"approve {event.option.candidate}", event.option)

    def on_plan_pane_asked_about(self, event: PlanPane.AskedAbout) -> None:
        from zuno_tui.intents.intents import DiffPlan, RehearsePlan, SimulatePlan

        plan = self.told.plan
        candidate = None if event.option is None else event.option.candidate
        if plan is not None:
            match event.about:
                case "diff":
                    self.ask(DiffPlan(plan.plan_id, candidate))
                case "simulate":
                    self.ask(SimulatePlan(plan.plan_id, candidate))
                case "rehearse":
                    self.ask(RehearsePlan(plan.plan_id))

    def action_recommend(self) -> None:
        from zuno_tui.intents.intents import Recommend

        if self.context.selected is not None:
            self.ask(Recommend(self.context.selected))

    def action_range(self) -> None:
        from zuno_tui.intents.intents import ChooseRange

        if self.context.selected is not None:
            self.ask(ChooseRange(position_name(self.context.selected)))

    def action_portfolio(self) -> None:
        from zuno_tui.intents.intents import ShowPortfolio

        self.ask(ShowPortfolio())

    def action_collect(self) -> None:
        if self.context.selected is not None:
            self.offer(f"collect {position_name(self.context.selected)}")

    def action_approve(self) -> None:
        plan = self.told.plan
        if plan is not None and plan.approves:
            self.offer("approve")
            self.say(Said(f"Enter checks it again; nothing is sent: {plan.headline}"))
        for option in () if plan is None else plan.options:
            if option.recommended:
                self._offer_approval("approve", option)

    def _offer_approval(self, phrase: str, option: OptionView) -> None:
        """The phrase in the prompt, and in words what it would approve."""
        if option.candidate is None:
            self.say(Said(f"Nothing to sign: {option.does}"))
            return
        self.offer(phrase)
        self.say(Said(f"Enter simulates this; nothing is signed: {option.does}"))

    def action_show(self, view: ViewName) -> None:
        from zuno_tui.intents.intents import Show

        self.ask(Show(view))

    def action_line(self, line: str) -> None:
        """Ask for what this line at the prompt asks for."""
        from zuno_tui.catalog.interpret import FilledLine, understand
        from zuno_tui.catalog.registry import registry

        meant = understand(line, self.context, registry())
        if not isinstance(meant, FilledLine | Misunderstood):
            self.ask(meant)

    def action_refresh_views(self) -> None:
        from zuno_tui.intents.intents import Refresh

        self.ask(Refresh())

    def action_doctor(self) -> None:
        from zuno_tui.intents.intents import Doctor

        self.ask(Doctor())

    def action_cancel_work(self) -> None:
        from zuno_tui.intents.intents import Cancel

        self.ask(Cancel())

    def action_cancel_pages(self) -> None:
        """Pages under way; a debate or an approval is ended by a key of its own."""
        from zuno_tui.intents.intents import Cancel

        for job in self.told.status.jobs:
            if job.opens_page:
                self.ask(Cancel(job.name))

    def action_open_page(self) -> None:
        cast("HoldsPages", self.app).open_waiting_page()

    def action_help(self) -> None:
        self.open_help(None)

    def open_help(self, topic: str | None) -> None:
        """Help for what has the focus now; it asks nobody, so it is there at once."""
        from zuno_tui.screen.screens.help import HelpScreen

        pane = "" if self.focused is None or self.focused.id is None else self.focused.id
        self.app.push_screen(HelpScreen(topic, pane, active_keys(self)))

    def action_leave(self) -> None:
        from zuno_tui.screen.screens.quit import QuitScreen

        self.app.push_screen(QuitScreen(self.told), self._left)

    def _left(self, quits: bool | None) -> None:
        if quits:
            self.app.exit()

    def action_market(self, action: Literal["pause", "step", "faster", "slower"]) -> None:
        from zuno_tui.intents.intents import SetMarketClock

        if action == "pause" and self.told.status.market_paused:
            self.ask(SetMarketClock("resume"))
        else:
            self.ask(SetMarketClock(action))

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Only what is possible now is shown and done."""
        plan, jobs = self.told.plan, self.told.status.jobs
        match action:
            case "prompt":
                possible = not isinstance(self.focused, Input)
            case "recommend" | "range" | "collect":
                possible = self.context.selected is not None
            case "approve":
                done = plan is None or plan.result is not None
                options = () if plan is None or done else plan.options
                possible = any(
                    option.recommended and option.candidate is not None for option in options
                )
            case "market":
                possible = self.told.status.market is not None
            case "open_page":
                possible = cast("HoldsPages", self.app).waiting_page is not None
            case "cancel_pages":
                possible = any(job.opens_page for job in jobs)
            case "cancel_work":
                possible = any(job.cancellable for job in jobs)
            case _:
                return super().check_action(action, parameters)
        return possible
