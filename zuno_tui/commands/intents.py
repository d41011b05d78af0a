"""What a person can ask of the desk, whichever way it was asked; each has a command-line twin."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING, Literal, TypeAlias

from msgspec import Struct

if TYPE_CHECKING:
    from zuno_tui.phrases.remaining import ProfileName

PlanVerb = Literal["plan", "diff", "explain", "simulate", "export"]
PageName = Literal["balances", "pools", "doctor", "exit-drill", "locate", "revoke"]
ChangeVerb = Literal[
    "collect", "compound", "close", "increase", "decrease", "wrap", "unwrap", "revoke"
]
ViewName = Literal["positions", "alerts", "debate", "plan", "records", "outbox", "settings"]


class Show(Struct, frozen=True):
    """Bring a pane or a list to the front, freshly read."""

    view: ViewName

    @property
    def twin(self) -> str:
        named = {"debate": "explain", "records": "replay", "settings": "locate"}
        return f"zuno {named.get(self.view, self.view)}"


class Inspect(Struct, frozen=True):
    token_id: int

    @property
    def twin(self) -> str:
        return f"zuno inspect {self.token_id}"


class Recommend(Struct, frozen=True):
    token_id: int
    profile: ProfileName | None = None

    @property
    def twin(self) -> str:
        profile = "" if self.profile is None else f" --profile {self.profile}"
        return f"zuno recommend {self.token_id}{profile}"


class CreatePosition(Struct, frozen=True):
    phrase: str
    profile: ProfileName | None = None

    @property
    def twin(self) -> str:
        profile = "" if self.profile is None else f" --profile {self.profile}"
        return f"zuno create {shlex.quote(self.phrase)}{profile}"


class AboutPlan(Struct, frozen=True):
    """Read what a plan holds, says or would do; nothing is approved."""

    verb: PlanVerb
    plan_id: str | None = None
    candidate: str | None = None

    @property
    def twin(self) -> str:
        return f"zuno {self.verb}{_of_plan(self.plan_id, self.candidate)}"


class Approve(Struct, frozen=True):
    plan_id: str | None = None
    candidate: str | None = None
    """A move's number or `exit`, instead of what is recommended."""

    @property
    def twin(self) -> str:
        return f"zuno approve{_of_plan(self.plan_id, self.candidate)}"


class Apply(Struct, frozen=True):
    """Opens the confirmation of what is approved; only the word typed there signs."""

    plan_id: str | None = None

    @property
    def twin(self) -> str:
        return f"zuno apply{_of_plan(self.plan_id, None)}"


class ChangePosition(Struct, frozen=True):
    """Approve a change of a position or of the wallet that needs no debate."""

    verb: ChangeVerb
    arguments: tuple[str, ...] = ()
    """As the command line takes them: an id, a percent, an amount."""

    @property
    def twin(self) -> str:
        return shlex.join(("zuno", self.verb, *self.arguments))


ALL_ALERTS = "all"


class Acknowledge(Struct, frozen=True):
    alert_id: str
    """Or all of them."""

    @property
    def twin(self) -> str:
        return f"zuno alerts ack {shlex.quote(self.alert_id)}"


class MuteAlert(Struct, frozen=True):
    alert_id: str
    seconds: int

    @property
    def twin(self) -> str:
        return f"zuno alerts mute {shlex.quote(self.alert_id)} --for {self.seconds}s"


class Replay(Struct, frozen=True):
    record: str

    @property
    def twin(self) -> str:
        return f"zuno replay {shlex.quote(self.record)}"


class OpenOutbox(Struct, frozen=True):
    action: Literal["look", "resume", "cancel", "speed-up", "resolve"]
    """A look sends nothing; all others ask for a word first, or only write down."""
    plan_id: str | None = None

    @property
    def twin(self) -> str:
        if self.action == "look":
            return "zuno outbox"
        return f"zuno outbox {self.action}{_of_plan(self.plan_id, None)}"


class ShowPage(Struct, frozen=True):
    """A command whose answer is lines of text, read on a page of its own."""

    name: PageName

    @property
    def twin(self) -> str:
        return f"zuno {self.name}"


class SwitchNetwork(Struct, frozen=True):
    name: str

    @property
    def twin(self) -> str:
        return f"zuno --network {shlex.quote(self.name)}"


class UseWallet(Struct, frozen=True):
    """Look at another address; a key for it is only needed to sign."""

    address: str

    @property
    def twin(self) -> str:
        how = "--address" if "." in self.address else "wallet use"
        return f"zuno {how} {shlex.quote(self.address)}"


class SetMarketClock(Struct, frozen=True):
    """The embedded chain's own clock."""

    action: Literal["pause", "resume", "step", "faster", "slower"]

    @property
    def twin(self) -> str:
        return f"zuno devnet (zuno_{self.action})"


class Prefer(Struct, frozen=True):
    """Keep how the screen should look."""

    name: Literal["theme"]
    value: str

    @property
    def twin(self) -> str:
        return f'[screen] {self.name} = "{self.value}" in settings.toml'


class Refresh(Struct, frozen=True):
    @property
    def twin(self) -> str:
        return "zuno positions"


class Cancel(Struct, frozen=True):
    """End the work that is under way; a transaction already sent is not called back."""

    job: str | None = None

    @property
    def twin(self) -> str:
        return "Ctrl-C"


class Help(Struct, frozen=True):
    topic: str | None = None

    @property
    def twin(self) -> str:
        return "zuno --help" if self.topic is None else f"zuno {self.topic} --help"


class Quit(Struct, frozen=True):
    @property
    def twin(self) -> str:
        return "Ctrl-D"


Intent: TypeAlias = (
    Show
    | Inspect
    | Recommend
    | CreatePosition
    | AboutPlan
    | Approve
    | Apply
    | ChangePosition
    | Acknowledge
    | MuteAlert
    | Replay
    | OpenOutbox
    | ShowPage
    | SwitchNetwork
    | UseWallet
    | SetMarketClock
    | Prefer
    | Refresh
    | Cancel
    | Help
    | Quit
)


def _of_plan(plan_id: str | None, candidate: str | None) -> str:
    plan = "" if plan_id is None else f" {plan_id}"
    return plan if candidate is None else f"{plan} --candidate {candidate}"
