"""What a person can ask of the desk, whichever way it was asked; each has a command-line twin."""

from __future__ import annotations

import shlex
from dataclasses import dataclass
from typing import Literal, TypeAlias

ProfileName = Literal["conservative", "balanced", "aggressive"]
PlanVerb = Literal["plan", "diff", "explain", "simulate", "export"]
PageName = Literal["balances", "pools", "doctor", "exit-drill", "locate", "revoke"]
ChangeVerb = Literal[
    "collect", "compound", "close", "increase", "decrease", "wrap", "unwrap", "revoke"
]
ViewName = Literal["positions", "alerts", "debate", "plan", "records", "outbox", "settings"]


@dataclass(frozen=True, slots=True)
class Show:
    """Bring a pane or a list to the front, freshly read."""

    view: ViewName

    @property
    def twin(self) -> str:
        named = {"debate": "explain", "records": "replay", "settings": "locate"}
        return f"zuno {named.get(self.view, self.view)}"


@dataclass(frozen=True, slots=True)
class Inspect:
    token_id: int

    @property
    def twin(self) -> str:
        return f"zuno inspect {self.token_id}"


@dataclass(frozen=True, slots=True)
class Recommend:
    token_id: int
    profile: ProfileName | None = None

    @property
    def twin(self) -> str:
        profile = "" if self.profile is None else f" --profile {self.profile}"
        return f"zuno recommend {self.token_id}{profile}"


@dataclass(frozen=True, slots=True)
class Create:
    phrase: str
    profile: ProfileName | None = None

    @property
    def twin(self) -> str:
        profile = "" if self.profile is None else f" --profile {self.profile}"
        return f"zuno create {shlex.quote(self.phrase)}{profile}"


@dataclass(frozen=True, slots=True)
class AboutPlan:
    """Read what a plan holds, says or would do; nothing is approved."""

    verb: PlanVerb
    plan_id: str | None = None
    candidate: str | None = None

    @property
    def twin(self) -> str:
        return f"zuno {self.verb}{_of_plan(self.plan_id, self.candidate)}"


@dataclass(frozen=True, slots=True)
class Approve:
    plan_id: str | None = None
    candidate: str | None = None
    """A move's number or `exit`, instead of what is recommended."""

    @property
    def twin(self) -> str:
        return f"zuno approve{_of_plan(self.plan_id, self.candidate)}"


@dataclass(frozen=True, slots=True)
class Apply:
    """Opens the confirmation of what is approved; only the word typed there signs."""

    plan_id: str | None = None

    @property
    def twin(self) -> str:
        return f"zuno apply{_of_plan(self.plan_id, None)}"


@dataclass(frozen=True, slots=True)
class Change:
    """Approve a change of a position or of the wallet that needs no debate."""

    verb: ChangeVerb
    arguments: tuple[str, ...] = ()
    """As the command line takes them: an id, a percent, an amount."""

    @property
    def twin(self) -> str:
        return shlex.join(("zuno", self.verb, *self.arguments))


ALL_ALERTS = "all"


@dataclass(frozen=True, slots=True)
class Acknowledge:
    alert_id: str
    """Or all of them."""

    @property
    def twin(self) -> str:
        return f"zuno alerts ack {shlex.quote(self.alert_id)}"


@dataclass(frozen=True, slots=True)
class Mute:
    alert_id: str
    seconds: int

    @property
    def twin(self) -> str:
        return f"zuno alerts mute {shlex.quote(self.alert_id)} --for {self.seconds}s"


@dataclass(frozen=True, slots=True)
class Replay:
    record: str

    @property
    def twin(self) -> str:
        return f"zuno replay {shlex.quote(self.record)}"


@dataclass(frozen=True, slots=True)
class Outbox:
    action: Literal["look", "resume", "cancel", "speed-up", "resolve"]
    """A look sends nothing; all others ask for a word first, or only write down."""
    plan_id: str | None = None

    @property
    def twin(self) -> str:
        if self.action == "look":
            return "zuno outbox"
        return f"zuno outbox {self.action}{_of_plan(self.plan_id, None)}"


@dataclass(frozen=True, slots=True)
class Page:
    """A command whose answer is lines of text, read on a page of its own."""

    name: PageName

    @property
    def twin(self) -> str:
        return f"zuno {self.name}"


@dataclass(frozen=True, slots=True)
class SwitchNetwork:
    name: str

    @property
    def twin(self) -> str:
        return f"zuno --network {shlex.quote(self.name)}"


@dataclass(frozen=True, slots=True)
class UseWallet:
    """Look at another address; a key for it is only needed to sign."""

    address: str

    @property
    def twin(self) -> str:
        return f"zuno wallet use {shlex.quote(self.address)}"


@dataclass(frozen=True, slots=True)
class Market:
    """The embedded chain's own clock."""

    action: Literal["pause", "resume", "step", "faster", "slower"]

    @property
    def twin(self) -> str:
        return f"zuno devnet (zuno_{self.action})"


@dataclass(frozen=True, slots=True)
class Prefer:
    """Keep how the screen should look."""

    name: Literal["theme"]
    value: str

    @property
    def twin(self) -> str:
        return f'[screen] {self.name} = "{self.value}" in settings.toml'


@dataclass(frozen=True, slots=True)
class Refresh:
    @property
    def twin(self) -> str:
        return "zuno positions"


@dataclass(frozen=True, slots=True)
class Cancel:
    """End the work that is under way; a transaction already sent is not called back."""

    job: str | None = None

    @property
    def twin(self) -> str:
        return "Ctrl-C"


@dataclass(frozen=True, slots=True)
class Help:
    topic: str | None = None

    @property
    def twin(self) -> str:
        return "zuno --help" if self.topic is None else f"zuno {self.topic} --help"


@dataclass(frozen=True, slots=True)
class Quit:
    @property
    def twin(self) -> str:
        return "Ctrl-D"


Intent: TypeAlias = (
    Show
    | Inspect
    | Recommend
    | Create
    | AboutPlan
    | Approve
    | Apply
    | Change
    | Acknowledge
    | Mute
    | Replay
    | Outbox
    | Page
    | SwitchNetwork
    | UseWallet
    | Market
    | Prefer
    | Refresh
    | Cancel
    | Help
    | Quit
)


def _of_plan(plan_id: str | None, candidate: str | None) -> str:
    plan = "" if plan_id is None else f" {plan_id}"
    return plan if candidate is None else f"{plan} --candidate {candidate}"
