"""What the panes draw: frozen, cleaned, already in words; no pane computes a number."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Literal, NamedTuple

from msgspec import Struct, field

from chain.protocols.reference import PositionRef, position_label
from zuno_tui.present.words import cent_sum

if TYPE_CHECKING:
    from agents.bus.envelope import SpokenTable

Standing = Literal["in range", "near edge", "out of range", "empty"]
Tone = Literal["plain", "good", "warn", "bad", "dim"]

ViewName = Literal[
    "positions", "alerts", "debate", "plan", "records", "outbox", "settings", "trade"
]


class ChartView(Struct, frozen=True):
    """A line of prices through time with a range across it."""

    times: tuple[float, ...]
    prices: tuple[float, ...]
    low: float
    high: float
    fees: tuple[tuple[float, float], ...] = ()
    """When an hour began and what it earned, in the unit the desk counts in."""
    changes: tuple[tuple[float, int], ...] = ()
    """When liquidity came (1) or went (−1)."""
    marks: tuple[tuple[float, str, Tone], ...] = ()
    """Other prices that are drawn across it, with their names; where there are any, the axis has
    dates."""


class PositionRow(Struct, frozen=True):
    ref: PositionRef = field(name="token_id")
    pair: str
    fee: str
    standing: Standing
    notes: tuple[str, ...]
    """What else must be known at a glance: hook, approved, subscribed."""
    progress: float
    """Where the price is: 0 the lower edge, 1 the upper one, beyond them outside."""
    low: str
    high: str
    price: str
    value: str
    fees: str
    against_holding: str
    against_holding_tone: Tone
    net_a_day: str
    """Fees less LVR, a day."""
    against_holding_old: bool = False
    """Whether it is of an earlier read than worth and fees."""
    share: str = "–"
    """Of the liquidity that earns fees now."""
    holds: str = ""
    dollars: str = ""
    """By which prices it is worth what it is, where they are not its own pool's."""
    """What is in it now, of either token."""
    fee_apr: str = "…"
    """What the last day's fees would be of its worth in a year."""
    chart: ChartView | None = None
    """The price of the last day with the range across it."""
    week: ChartView | None = None
    """The same of seven days, with fees and changes; None where they were not read."""
    worth: float | None = None
    """For sorting: its value, its fees and its result, None where unknown."""
    fees_worth: float | None = None
    gained: float | None = None
    apr: float | None = None
    figures: tuple[str, ...] = ()
    """Value, fees, result against holding and net a day where the head names their unit."""


class GlanceView(Struct, frozen=True):
    """The whole desk in a line; what is unknown is empty."""

    worth: str
    """Of positions, their uncollected fees and the wallet."""
    day: str
    """What the last 24 closed hours brought the positions, and the fees in that."""
    day_tone: Tone
    fees: str
    """Uncollected."""
    in_range: str
    all_in: bool
    ether: str
    ether_change: str
    gas: str
    apart: str = ""
    """What waits beside the fees, as `, $4,790 withdrawn`."""
    beside: str = ""
    """How much of the worth is in positions; empty where the wallet was not read yet."""
    wallet: str = ""
    """The rest of it."""
    by_hour: tuple[tuple[float, float, float], ...] = ()
    """When a closed hour of the day began, what it gained, and the fees in that; oldest first."""
    by_day: tuple[tuple[str, float], ...] = ()
    """UTC days of the week with the fees of all positions; nothing where they were not read."""


class PositionsView(Struct, frozen=True):
    rows: tuple[PositionRow, ...] = ()
    total: str = ""
    fees: str = ""
    found: str = ""
    """Proof that discovery was complete: "11 of 11 found"."""
    block: int | None = None
    read_at: float | None = None
    """Wall clock; a pane shows the age of data coarsely."""
    results_at: float | None = None
    """When what took longer was read: APR, result against holding, net and chart."""
    stale: str | None = None
    """Why nothing newer could be read; the rows are then drawn grey."""
    remembered: bool = False
    """Painted from what the last run knew."""
    glance: GlanceView | None = None
    unit: str = ""
    """What the heads of money name; empty for dollars, which every cell has a sign for."""


class AlertRow(Struct, frozen=True):
    alert_id: str
    severity: Literal["info", "warning", "critical"]
    state: Literal["open", "acked", "resolved", "reopened"]
    ref: PositionRef | None
    since: float
    message: str
    next_command: str
    """As the prompt takes it: "recommend 7"."""
    muted_until: float | None = None
    place: str = ""
    """Network and wallet, where they are not the desk's own."""
    fees: float | None = None
    """Dollars of fees that wait to be collected, where it is about those alone."""
    waiting: float | None = None
    """All dollars that wait to be collected, withdrawn ones too, where it is about that."""
    members: tuple[str, ...] = ()
    """The numbers of the alerts it stands for, where it stands for several."""
    kind: str = ""
    numbers: Mapping[str, object] = field(default_factory=dict)
    """Its figures, by their names in a document."""


class AlertsView(Struct, frozen=True):
    rows: tuple[AlertRow, ...] = ()
    revision: int = 0
    watched_by: Literal["desk", "daemon", "nobody"] = "nobody"
    last_seen: float | None = None
    trouble: str | None = None
    unseen: str | None = "Nothing has been checked yet."
    """Why an empty list does not mean that all is well; None when everything was seen."""


class Struck(Struct, frozen=True):
    start: int
    end: int
    why: str


class TurnView(Struct, frozen=True):
    role: str
    round: int
    text: str
    struck: tuple[Struck, ...] = ()
    sourced: str = ""
    """The same words with the ids of their numbers, for who wants to see the sources."""
    sourced_struck: tuple[Struck, ...] = ()
    """What is struck in those."""
    table: SpokenTable | None = None
    by_model: bool = False
    """Whether the words are a model's own, and not code's."""
    concludes: bool = False
    """Whether its first words are what the speaker comes to."""


class DebateView(Struct, frozen=True):
    request_id: str
    subject: str
    turns: tuple[TurnView, ...] = ()
    ended: str | None = None
    """How it ended, in a sentence; None while it runs."""
    place: str = ""
    """Where the agents run, and who speaks from where."""
    chosen: str = ""
    """The letter of the move that was chosen, or Keep or Close; empty where nothing was."""
    from_start: bool = False
    """Opened at its beginning, to be read; else it is followed as it grows."""


class OptionView(Struct, frozen=True):
    """One column of the plan card: hold, a move, or exit."""

    name: str
    candidate: str | None
    """What `approve` takes for it, a move's letter; None for hold, which has nothing to approve."""
    recommended: bool
    verdict: str
    low: str
    high: str
    progress: float | None
    survives_day: float | None
    survives_week: float | None
    figures: Mapping[str, str] = field(default_factory=dict)
    """Label to words, the same labels in the same order for every option."""
    edges: tuple[int, int] | None = None
    """The range's edges in ticks from the price, the lower first in the pair's shown direction;
    what puts every option's range on one scale. None where there is no range."""
    does: str = ""
    """What it does to which position, in a sentence."""


class StepPermission(Struct, frozen=True):
    spender: str
    amount: str
    until: str = ""
    """Empty where it stays until it is taken back."""


class StepView(Struct, frozen=True):
    name: str
    sentences: tuple[str, ...]
    """Drawn from the decoder, never from the plan."""
    brief: str = ""
    """The same in a line, out of the same bytes."""
    part: Literal["approve", "execute", "revoke"] = "execute"
    """Steps of one part stand together."""
    ends: tuple[str, str] | None = None
    """Who may move which token no more, where that is all it does."""
    allows: StepPermission | None = None
    """Who may move how much, where that is all it does."""


Expected = Literal[
    "pool", "give", "collect", "get", "wallet", "trade", "result", "swap", "fees", "network", "pay"
]


class ReceiptLine(Struct, frozen=True):
    part: Expected | Literal["bound"]
    """What is expected; a bound is what the bytes guarantee, whatever the price does."""
    words: str
    dollars: str = ""
    """What it is worth now; empty where that is unknown."""
    bounds: Literal["", "comes out", "goes in", "network", "worst case", "at the stop"] = ""
    """What a bound is of."""


class RangeView(Struct, frozen=True):
    """A range as it is drawn: its edges and the price between or beyond them."""

    low: str
    high: str
    price: str
    progress: float


class ReceiptView(Struct, frozen=True):
    """What is given, got and paid, out of the bytes and a trial of them."""

    lines: tuple[ReceiptLine, ...]
    range: RangeView | None = None
    """Of the position that is opened."""
    swap_cost: float | None = None
    """Dollars that swap fee and price impact, or an exchange's fees, are expected to take; None
    where unknown."""
    network_cost: float | None = None
    most_cost: float | None = None
    """Dollars that all of it may cost by the bytes; None where that is unknown or has no bound."""
    planned_cost: float | None = None
    """What the plan expected all of it to cost; None where no plan did."""
    profit: float | None = None
    """Dollars that what is closed brings, fees not counted; None where nothing is closed."""
    prices: str = ""
    """At which prices dollars are counted."""
    halfway: str = ""
    """What is held where a transaction fails after one that paid out."""

    @property
    def cost(self) -> float | None:
        """Dollars that all of it is expected to cost; None where a part is unknown."""
        if self.swap_cost is None or self.network_cost is None:
            return None
        return cent_sum(self.swap_cost, self.network_cost)


class StepProgress(Struct, frozen=True):
    """How far a step of an apply has come."""

    words: str
    state: Literal["under way", "done", "stopped"] = "under way"
    block: int | None = None
    """The one that holds it."""


class SentTransaction(Struct, frozen=True):
    step: str
    hash: str
    url: str | None
    """Where people look at it; None where nobody shows it."""
    block: int | None = None


SENT_AS = "sent as"
"""The term's label that says in how many transactions."""
UNDOING = "to undo"
"""The term's label that says how a permission over the whole account is taken back."""


class PageWords(Struct, frozen=True):
    """How the page that waits for the typed word speaks of what the word does."""

    doing: str = "Sign and send"
    verb: str = "sign"
    done: str = "signed"
    asks: str = "and press Enter to sign and send"
    confirmed: str = "Confirmed. Reading the chain again before anything is signed …"
    over: str = "The approval has expired. Nothing was signed. Type approve again."
    steps: tuple[str, str] | None = None
    """Over its steps, and beside that; None where they are transactions."""
    limits: str = "the chain enforces these"
    terms: str = "CONTRACTS AND DEADLINES"
    all_terms: bool = False
    """Whether its terms are on the page even where that has to be scrolled."""


class ApprovalView(Struct, frozen=True):
    plan_id: str
    headline: str
    hash: str
    expires_at: float
    """By the network's clock; by the wall's where it is sent to a venue."""
    steps: tuple[StepView, ...]
    outcome: tuple[str, ...]
    """What leaves, what comes, within which bounds, at what cost."""
    wallet: str
    """Who signs and sends."""
    signs_with: str
    """Which store holds the key, or why nothing here can sign."""
    can_sign: bool
    needs_passphrase: bool
    word: str = "apply"
    """What must be typed; what waits in the outbox is cancelled or sped up by other words."""
    recipients: tuple[str, ...] = ()
    """Everybody the bytes give tokens or a position to."""
    terms: tuple[tuple[str, str], ...] = ()
    """Labels and words out of the bytes: spenders, contracts called, ends, gas."""
    receipt: ReceiptView | None = None
    """None where nothing is built anew, as for what waits in the outbox."""
    seconds_left: float | None = None
    """By the network's clock when this was told; None where that is the wall's."""
    as_one: bool = False
    """Whether its steps are one transaction, all of them or none."""
    could_be_one: bool = False
    """Whether they could be, were the account delegated."""
    executor: str = ""
    """The contract that the account is delegated to, where its steps are one transaction."""
    venue: str = ""
    """Where orders are sent; empty where a wallet signs."""
    below: tuple[str, ...] = ()
    """What it changes, drawn in lines."""
    page: PageWords = PageWords()

    @property
    def has_transactions(self) -> bool:
        """Whether it can be tried on a copy of the chain."""
        return self.page.steps is None


class ResultView(Struct, frozen=True):
    plan_id: str
    state: str
    lines: tuple[str, ...]
    new_ref: PositionRef | None
    done: bool = False
    """Whether every step did what it was made for."""
    sent: tuple[SentTransaction, ...] = ()
    headline: str = ""
    """Which position came of which, else what was to be done, in a few words."""


class PlanView(Struct, frozen=True):
    plan_id: str
    headline: str
    recommendation: str
    """The choice in a sentence: what, what it costs, and what it is worth."""
    options: tuple[OptionView, ...]
    reasons: tuple[str, ...]
    made_at: float
    ref: PositionRef | None
    decided: str = ""
    """How sure, what the pool pays, and who decided."""
    decides: str = ""
    """The figure by which it was chosen over what passes too."""
    price: str = ""
    """Of the pool when it was made; empty where it speaks of several."""
    approval: ApprovalView | None = None
    progress: tuple[StepProgress, ...] = ()
    """What an apply has done so far, one for each step that has begun."""
    result: ResultView | None = None
    others: tuple[PositionRef, ...] = ()
    """The positions that it is about besides the first."""
    lapsed: bool = False
    """Whether it was approved and nobody applied it in time."""
    approves: bool = False
    """Whether there is something to approve without an option to choose."""

    @property
    def can_approve(self) -> bool:
        return self.approves or bool(self.options)

    @property
    def about(self) -> str:
        """`#27`, or `#27 and 9 more`."""
        first = "" if self.ref is None else position_label(self.ref)
        return f"{first} and {len(self.others)} more" if self.others else first


class JobView(Struct, frozen=True):
    name: str
    words: str
    cancellable: bool = True
    opens_page: bool = False
    """Whether a page opens when it is done."""
    asked: bool = True
    """Whether a person asked for it; what the desk began by itself keeps nobody waiting."""
    again: object | None = None
    """What to ask for again where the desk opens anew meanwhile."""


class StatusView(Struct, frozen=True):
    network: str
    wallet: str
    block: int | None = None
    seen_at: float | None = None
    model: str = "advice: rules"
    """The model's name with its budget, or that the rules speak alone."""
    mesh: str = ""
    """How the last debate found the mesh; empty where none is set up."""
    mesh_at: float | None = None
    market: str | None = None
    """The embedded chain's clock in words; None on a real network."""
    market_paused: bool = False
    subscription: Literal["none", "live", "lost"] = "none"
    """Whether new blocks are announced; without that the chain is polled."""
    trouble: str | None = None
    jobs: tuple[JobView, ...] = ()
    demo: bool = False
    """Whether everything that is shown ends with zuno."""


class RangeFigure(NamedTuple):
    """What a range is judged by: as it is held, as it would be, and whether that is better."""

    label: str
    now: str
    own: str
    change: str = ""
    tone: Tone = "plain"
    own_tone: Tone = "plain"


class RangePreview(Struct, frozen=True):
    """What a range would bring, told from one reading."""

    low: str
    high: str
    parts: tuple[str, str]
    """How far each edge is from the price."""
    edges: tuple[float, float]
    figures: tuple[RangeFigure, ...] = ()
    """As it would be is empty where that is the range it has now."""
    amounts: tuple[RangeFigure, ...] = ()
    """Of tokens: what is in it, and what is swapped for that."""
    objections: tuple[str, ...] = ()
    """What the profile's floors have against it."""
    trouble: str = ""
    """Why it cannot be planned; empty where it can."""


class RecordRow(Struct, frozen=True):
    request_id: str
    when: float
    subject: str
    outcome: str


DispatchAction = Literal["resume", "cancel", "speed-up", "resolve"]


class DispatchView(Struct, frozen=True):
    """One plan in the outbox and where it stands."""

    plan_id: str
    time: float
    """When it was signed, or approved where it was not."""
    headline: str
    state: str
    steps: tuple[tuple[str, str, str], ...]
    """Name, state, transaction hash."""
    advice: tuple[str, ...]
    actions: tuple[DispatchAction, ...]
    most_gas: str = ""
    """What the network may take for all of its steps at most, by their bytes."""

    @property
    def was_sent(self) -> bool:
        """Whether anything of it left: what is only approved never did."""
        return any(transaction for _, _, transaction in self.steps)


THE_DEMO = "the demo"


class SettingRow(Struct, frozen=True):
    name: str
    value: str
    """In words; of a secret only that it is set."""
    origin: str
    expects: str = ""
    """What it may be."""
    choices: tuple[str, ...] = ()
    """All that it may be, where that can be listed."""
    choice: str = ""
    """Which of those it is."""
    typed: Literal["seen", "masked", "unseen"] = "seen"
    """How what is typed for it is drawn: a URL may hold a key, a token is one."""
    means: str = ""
    later: bool = False
    """Whether a change counts when zuno is opened again."""

    @property
    def is_overruled(self) -> bool:
        """Whether something goes before the file, so that a change there would not count."""
        return self.origin.startswith(("environment", "flag")) or self.origin == THE_DEMO
