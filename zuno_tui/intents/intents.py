"""What a person asks that the desk does itself; everything else it shows as a page."""

from __future__ import annotations

import re
import shlex
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar, Literal, TypeAlias

from zuno_tui.intents.arguments import (
    ALERT,
    CANDIDATE,
    CONFIRM,
    DETERMINISTIC,
    KEEP,
    PASSPHRASE_FILE,
    PLAN,
    POSITION,
    PROFILE,
    STREAM,
    TRANSPORT,
    UNTIL,
    read_address,
    read_duration,
    read_without_key,
)
from zuno_tui.intents.intent import Argument, Intent, OneOf, read_ref

if TYPE_CHECKING:
    from chain.protocols.reference import PositionRef
    from zuno_tui.intents.remaining import ProfileName
    from zuno_tui.present.views import ViewName


MarketAction: TypeAlias = Literal["pause", "resume", "step", "faster", "slower"]


_VIEW_COMMANDS = {
    "debate": "explain",
    "records": "replay",
    "settings": "setting",
    "trade": "trade report",
}
"""What prints a view on the command line, where it is called otherwise."""


class Show(Intent, frozen=True):
    """Bring a pane or a list to the front, freshly read."""

    view: ViewName

    @property
    def twin(self) -> str:
        return f"zuno {_VIEW_COMMANDS.get(self.view, self.view)}"

    @property
    def title(self) -> str:
        return "trade desk" if self.view == "trade" else self.view


class Inspect(Intent, frozen=True):
    command: ClassVar = ("inspect",)
    arguments: ClassVar = (POSITION,)

    ref: PositionRef


class Recommend(Intent, frozen=True):
    command: ClassVar = ("recommend",)
    arguments: ClassVar = (POSITION, PROFILE, KEEP, UNTIL, STREAM, DETERMINISTIC, TRANSPORT)

    ref: PositionRef
    profile: ProfileName | None = None
    keep: str | None = None
    """A token that no move may sell."""
    until: str | None = None
    """The day it is needed."""
    stream: bool = False
    deterministic: bool = False
    transport: str | None = None


class CreatePosition(Intent, frozen=True):
    command: ClassVar = ("create",)
    arguments: ClassVar = (
        Argument(
            "phrase",
            'like "0.5 WETH with USDC, conservative"; or 1 ETH sell at 3500',
            metavar="PHRASE",
            joined=True,
        ),
        PROFILE,
        STREAM,
        DETERMINISTIC,
        TRANSPORT,
    )

    phrase: str
    profile: ProfileName | None = None
    stream: bool = False
    deterministic: bool = False
    transport: str | None = None


class MovePosition(Intent, frozen=True):
    command: ClassVar = ("move",)
    arguments: ClassVar = (
        POSITION,
        Argument("low", "the lower price, as zuno inspect writes prices", metavar="LOW"),
        Argument("high", "the upper price", metavar="HIGH"),
        Argument("--no-swap", "to the range that takes what it holds as it is", switch=True),
        PROFILE,
        STREAM,
    )

    ref: PositionRef
    low: str | None = None
    """With its other end left out where no range is named, which only a move without a swap is."""
    high: str | None = None
    no_swap: bool = False
    profile: ProfileName | None = None
    stream: bool = False


class MigratePosition(Intent, frozen=True):
    command: ClassVar = ("migrate",)
    arguments: ClassVar = (
        POSITION,
        Argument(
            "to",
            "the protocol, the pool's fee or both, like: to v4 0.3%",
            metavar="TO",
            several=True,
        ),
        PROFILE,
        STREAM,
        DETERMINISTIC,
    )

    ref: PositionRef
    to: tuple[str, ...] = ()
    profile: ProfileName | None = None
    stream: bool = False
    deterministic: bool = False


_POSITION = re.compile(r"(?:#|3:)?[0-9]{1,77}", re.ASCII)


class ChooseRange(Intent, frozen=True):
    command: ClassVar = ("range",)
    arguments: ClassVar = (
        Argument(
            "what",
            'a position, like 38, or what to open, like "0.5 WETH/USDC"',
            metavar="ID|PHRASE",
        ),
        Argument("low", "the lower price", metavar="LOW"),
        Argument("high", "the upper price", metavar="HIGH"),
        PROFILE,
    )

    what: str
    low: str | None = None
    high: str | None = None
    profile: ProfileName | None = None

    @property
    def prices(self) -> tuple[str, str] | None:
        return (self.low, self.high) if self.low and self.high else None

    @property
    def phrase(self) -> str:
        """What is to be opened, in the words of `create`; empty for a position."""
        return self.what if self.ref is None else ""

    @property
    def ref(self) -> PositionRef | None:
        """The position; None where something is to be opened."""
        found = _POSITION.fullmatch(self.what.strip())
        return None if found is None else read_ref(found[0])


class OfPlan(Intent, frozen=True):
    arguments: ClassVar[tuple[Argument | OneOf, ...]] = (PLAN,)

    plan_id: str | None = None


class OfCandidate(OfPlan, frozen=True):
    arguments: ClassVar = (PLAN, CANDIDATE)

    candidate: str | None = None
    """A move's letter or number, or `close`, instead of what is recommended."""


class ShowPlan(OfPlan, frozen=True):
    command: ClassVar = ("plan",)


class ExplainPlan(OfPlan, frozen=True):
    command: ClassVar = ("explain",)


class DiffPlan(OfCandidate, frozen=True):
    command: ClassVar = ("diff",)


class SimulatePlan(OfCandidate, frozen=True):
    command: ClassVar = ("simulate",)


class RehearsePlan(OfPlan, frozen=True):
    command: ClassVar = ("rehearse",)


class Approve(OfCandidate, frozen=True):
    command: ClassVar = ("approve",)


class Apply(Intent, frozen=True):
    """At the desk it opens the confirmation; only the word typed there signs."""

    command: ClassVar = ("apply",)
    arguments: ClassVar = (
        Argument("--anyway", "with --confirm: even if gas exceeds what it moves", switch=True),
        Argument("--owner", "of a Safe: whose key signs", metavar="WALLET"),
        CONFIRM,
        PASSPHRASE_FILE,
        PLAN,
    )

    plan_id: str | None = None
    confirm: str | None = None
    anyway: bool = False
    owner: str | None = None
    passphrase_file: Path | None = None


OutboxAction: TypeAlias = Literal["resume", "cancel", "speed-up", "resolve"]
OUTBOX_ACTIONS: tuple[OutboxAction, ...] = ("resume", "cancel", "speed-up", "resolve")


class OpenOutbox(Intent, frozen=True):
    command: ClassVar = ("outbox",)
    arguments: ClassVar = (
        Argument("action", "without one it only looks, and sends nothing", choices=OUTBOX_ACTIONS),
        CONFIRM,
        PASSPHRASE_FILE,
        PLAN,
    )

    action: OutboxAction | None = None
    """None only looks; all others ask for a word first, or only write down."""
    plan_id: str | None = None
    confirm: str | None = None
    passphrase_file: Path | None = None


ALL_ALERTS = "all"


class ShowAlert(Intent, frozen=True):
    command: ClassVar = ("alerts", "show")
    arguments: ClassVar = (ALERT,)

    alert_id: str


class Acknowledge(Intent, frozen=True):
    command: ClassVar = ("alerts", "ack")
    arguments: ClassVar = (ALERT,)

    alert_id: str
    """Or all of them."""


def _read_duration(text: str) -> int:
    seconds = read_duration(text)
    if seconds is None:
        raise ValueError(f"{text!r} is not a length of time. Write it like: --for 2h, --for 30min")
    return seconds


class MuteAlert(Intent, frozen=True):
    command: ClassVar = ("alerts", "mute")
    arguments: ClassVar = (
        ALERT,
        OneOf(
            (
                Argument(
                    "--for",
                    "like 2h, 30min or 1d",
                    metavar="TIME",
                    field="seconds",
                    read=_read_duration,
                    write=lambda seconds: f"{seconds}s",
                ),
                Argument("--until", "like 2026-12-01T08:00, by your own clock", metavar="WHEN"),
            ),
            required=True,
        ),
    )

    alert_id: str
    seconds: int = 0
    until: str | None = None


class Replay(Intent, frozen=True):
    command: ClassVar = ("replay",)
    arguments: ClassVar = (Argument("record", "a record's file or request id", metavar="RECORD"),)

    record: str


class ListPools(Intent, frozen=True):
    command: ClassVar = ("pools",)
    arguments: ClassVar = (
        Argument("token", "only pools that hold this token", metavar="SYMBOL"),
        Argument("--refresh", "ask the chain, not the memory", switch=True),
        Argument("--pays", "read what each pool paid over its risk", switch=True),
        Argument(
            "--by",
            "rank by this figure of 7 days",
            metavar="FIGURE",
            choices=("pays", "fees", "calm", "depth"),
        ),
    )

    token: str | None = None
    refresh: bool = False
    pays: bool = False
    by: str = "pays"


class ShowPortfolio(Intent, frozen=True):
    command: ClassVar = ("portfolio",)
    arguments: ClassVar = (
        Argument(
            "wallets",
            "addresses, ENS names or the names wallets are kept under; all where none is given",
            metavar="WALLET",
            several=True,
        ),
    )

    wallets: tuple[str, ...] = ()


class SayPhrase(Intent, frozen=True):
    command: ClassVar = ("say",)
    arguments: ClassVar = (
        Argument("phrase", 'like "take half out of 26"', metavar="PHRASE"),
        Argument("--dry-run", "show the commands, run none", switch=True),
    )

    phrase: str
    dry_run: bool = False


_HIDDEN = (
    *("telegram.token", "webhook.", "rpc.", "send.", "coingecko.", "model.base_url"),
    "model.key",
)
"""What may hold a key: the line that does the same leaves it out."""


class ChangeSetting(Intent, frozen=True):
    command: ClassVar = ("setting",)
    arguments: ClassVar = (
        Argument("name", "like limits.daily_usd", metavar="NAME"),
        Argument(
            "value",
            'what it is from now on; "" takes it out of the file',
            metavar="VALUE",
            read=read_without_key,
        ),
    )

    name: str | None = None
    value: str | None = None

    @property
    def twin(self) -> str:
        if self.name is not None and self.name.startswith(_HIDDEN):
            return f"zuno setting {self.name} …"
        return super().twin


WALLET = Argument("wallet", "a name or an address", metavar="WALLET", read=read_without_key)


class UseWallet(Intent, frozen=True):
    """Look at another wallet; a key for it is only needed to sign."""

    command: ClassVar = ("wallet", "use")
    arguments: ClassVar = (WALLET,)

    wallet: str

    @property
    def twin(self) -> str:
        # An ENS name is looked up anew each time: only an address or a wallet's name is kept.
        by_name = shlex.join(("zuno", "--address", self.wallet))
        return by_name if "." in self.wallet else super().twin


class SwitchNetwork(Intent, frozen=True):
    name: str

    @property
    def twin(self) -> str:
        return shlex.join(("zuno", "--network", self.name))


MARKET_ACTIONS: tuple[MarketAction, ...] = ("pause", "resume", "step", "faster", "slower")


class SetMarketClock(Intent, frozen=True):
    """The embedded chain's own clock."""

    command: ClassVar = ("market",)
    arguments: ClassVar = (
        Argument("action", "of the embedded chain's market", choices=MARKET_ACTIONS),
    )

    action: MarketAction

    @property
    def title(self) -> str:
        return f"market: {self.action}"


class Doctor(Intent, frozen=True):
    command: ClassVar = ("doctor",)
    arguments: ClassVar = (
        Argument(
            "--forget", "forget what is stored about a contract", metavar="0x…", read=read_address
        ),
    )

    forget: str | None = None


class Help(Intent, frozen=True):
    topic: str | None = None

    @property
    def twin(self) -> str:
        return "zuno --help" if self.topic is None else f"zuno {self.topic} --help"


class Cancel(Intent, frozen=True):
    """A transaction already sent is not called back."""

    job: str | None = None

    @property
    def twin(self) -> str:
        return "Ctrl-C"

    @property
    def title(self) -> str:
        return "cancel the work under way"


class Refresh(Intent, frozen=True):
    command: ClassVar = ("positions",)

    @property
    def title(self) -> str:
        return "refresh"


class Quit(Intent, frozen=True):
    @property
    def twin(self) -> str:
        return "Ctrl-D"
