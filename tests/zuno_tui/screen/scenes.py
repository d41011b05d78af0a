"""Views as a busy morning would bring them, and a desk behind the screen that only listens."""

from collections.abc import Callable
from dataclasses import dataclass, field

from msgspec.structs import replace
from textual.pilot import Pilot
from textual.widgets import Static

from chain.protocols.reference import stored_position, v4_position
from chain.wallet.secrets import Passphrase
from tests.waiting import pauses
from zuno_tui.desk.events import (
    AlertsChanged,
    DebateChanged,
    Event,
    HintChanged,
    PlanChanged,
    PositionsChanged,
    Said,
    StatusChanged,
)
from zuno_tui.intents.intent import Intent
from zuno_tui.present.views import (
    AlertRow,
    AlertsView,
    ApprovalView,
    ChartView,
    DebateView,
    GlanceView,
    JobView,
    OptionView,
    PlanView,
    PositionRow,
    PositionsView,
    RangeView,
    ReceiptLine,
    ReceiptView,
    ResultView,
    SentTransaction,
    Standing,
    StatusView,
    StepPermission,
    StepProgress,
    StepView,
    Struck,
    Tone,
    TurnView,
)
from zuno_tui.screen.app.app import ZunoApp
from zuno_tui.screen.kept_view import KeptView
from zuno_tui.screen.themes import DEFAULT

NOW = 1_790_000_000.0


@dataclass
class ScriptedLink:
    """Collects what the screen asks for."""

    intents: list[Intent] = field(default_factory=list)
    confirmed: list[tuple[str, str]] = field(default_factory=list)
    closed: bool = False

    def ask(self, intent: Intent) -> None:
        self.intents.append(intent)

    def confirm(self, approval_hash: str, word: str, passphrase: Passphrase | None) -> None:
        self.confirmed.append((approval_hash, word))

    def close(self) -> None:
        self.closed = True


def desk_app(link: ScriptedLink | None = None, theme: str = DEFAULT, **chosen: object) -> ZunoApp:
    """The app with a clock that stands still, a theme that asks no terminal, rows by number."""
    link = link or ScriptedLink()
    chosen.setdefault("kept", KeptView(order="by number"))
    return ZunoApp(link, clock=lambda: NOW, theme=theme, **chosen)  # type: ignore[arg-type]


async def play(pilot: Pilot[None], *events: Event) -> None:
    app = pilot.app
    assert isinstance(app, ZunoApp)
    for event in events:
        app.hear(event)
    await pilot.pause()


async def until(pilot: Pilot[None], true: Callable[[], bool]) -> None:
    """As soon as it is true; a busy machine takes its time."""
    for pause in pauses():
        if true():
            return
        await pilot.pause(pause)


def position(
    name: int | str,
    pair: str = "WETH/USDC",
    fee: str = "0.05%",
    standing: Standing = "in range",
    progress: float = 0.5,
    value: str = "$18,204.51",
    against: tuple[str, Tone] = ("+$41.20", "good"),
    notes: tuple[str, ...] = (),
) -> PositionRow:
    ref = stored_position(str(name))
    return PositionRow(
        ref=ref,
        pair=pair,
        fee=fee,
        standing=standing,
        notes=notes,
        progress=progress,
        low="1,620.42",
        high="1,980.77",
        price="1,812.09",
        value=value,
        fees="$12.40",
        against_holding=against[0],
        against_holding_tone=against[1],
        net_a_day="+$3.18",
        fee_apr="18.2%",
        holds="4.1203 WETH + 10,738 USDC",
        chart=ChartView(
            times=tuple(float(hour * 3600) for hour in range(25)),
            prices=tuple(1_812.09 - 0.24 * (24 - hour) ** 2 for hour in range(25)),
            low=1_620.42,
            high=1_980.77,
        ),
        worth=None if value == "unknown" else float(value.replace("$", "").replace(",", "")),
        fees_worth=float(ref.token_id),
        gained=-float(ref.token_id),
        apr=1 / ref.token_id,
    )


GLANCE = GlanceView(
    worth="$94,121",
    day="+$16 in 24 h",
    day_tone="good",
    fees="$212",
    in_range="4 of 5 in range",
    all_in=False,
    ether="ETH $1,812",
    ether_change="▲0.4% 24 h",
    gas="1.1 gwei",
    by_hour=tuple(
        (NOW - 86_400 + 3_600 * hour, (hour * 7) % 5 - 1.3, (hour * 3) % 7 / 4)
        for hour in range(24)
    ),
    by_day=tuple((f"{day:02} Nov", (day * 13) % 17 * 4.1) for day in range(11, 18)),
)


POSITIONS = PositionsView(
    rows=(
        position(7, progress=0.84, standing="near edge", value="$18,204.51"),
        position(9, standing="out of range", progress=1.3, against=("−$212.90", "bad")),
        position(12, "ETH/USDC", "0.3%", progress=0.42, value="$4,031.00"),
        position(15, "USDC/USDT", "0.01%", progress=0.55, value="$50,000.12"),
        position(21, "WETH/HKD", "dynamic", progress=0.2, value="unknown", notes=("hook",)),
        position(26, "WETH/USDC", "1%", "empty", -0.4, "$0.00", ("unknown", "dim")),
    ),
    total="$94,120.88",
    fees="$212.04",
    found="6 of 6 found",
    block=31_204_113,
    read_at=NOW - 4,
    glance=GLANCE,
)

BOTH_PROTOCOLS = replace(
    POSITIONS,
    rows=(
        *POSITIONS.rows,
        position("3:12", "WETH/USDC", "0.05%", progress=0.61, value="$7,400.30"),
        position("3:948213", "WETH/USDC", "0.3%", "out of range", -0.2, "$1,204.00"),
    ),
    total="$102,725.18",
    found="8 of 8 found",
)

ALERTS = AlertsView(
    rows=(
        AlertRow(
            "1",
            "critical",
            "open",
            v4_position(9),
            NOW - 7_300,
            "#9 ETH/USDC is out of range: 1,812.1, below 1,850. The range is 1,850 – 2,100.",
            "recommend 9",
            kind="out_of_range",
        ),
        AlertRow(
            "2",
            "warning",
            "open",
            v4_position(7),
            NOW - 400,
            "The price is 0.8% from the upper edge",
            "recommend 7",
        ),
        AlertRow(
            "3",
            "info",
            "acked",
            v4_position(12),
            NOW - 90_000,
            "#12 ETH/USDC has $12.00 of fees to collect; collecting costs about $0.40.",
            "collect 12",
            fees=12.0,
            kind="fees_worth_collecting",
            numbers={"gasUsd": 0.4},
        ),
        *(
            AlertRow(
                str(number),
                "info",
                "open",
                v4_position(token_id),
                NOW - 4_000,
                f"#{token_id} WETH/USDC has ${token_id}.00 of fees to collect; "
                "collecting costs $0.40.",
                f"collect {token_id}",
                fees=float(token_id),
            )
            for number, token_id in ((4, 15), (5, 7), (6, 21))
        ),
    ),
    revision=3,
    watched_by="desk",
    last_seen=NOW - 5,
)

TURNS = (
    TurnView(
        "scout",
        1,
        "The pool has been trending up: 1.9% a day over 24 h against 1.2% over 7 d. The price is"
        " 0.8% below the upper edge, and the range survives the next day with 38%.",
        sourced="The pool has been trending up: 1.9% [vol.24h] a day over 24 h against 1.2%"
        " [vol.7d] over 7 d.",
    ),
    TurnView(
        "strategist",
        1,
        "I propose a wider range around the price, and one leaning up that needs no swap. The"
        " wide one earns $9.10 a day.",
        struck=(Struck(100, 105, "not the number given"),),
    ),
    TurnView("critic", 1, "Option A holds: 41 h of buffer against a floor of 24 h. Accepted."),
)
DEBATE = DebateView("req_1", "#7 WETH/USDC 0.05%", TURNS)


def option(
    name: str,
    candidate: str | None,
    edges: tuple[int, int] | None,
    *,
    recommended: bool = False,
    day: float | None = 0.38,
    week: float | None = 0.06,
    verdict: str = "accepted",
    cost: str = "$4.10",
) -> OptionView:
    return OptionView(
        name=name,
        candidate=candidate,
        recommended=recommended,
        verdict=verdict,
        low="1,620.42" if edges else "",
        high="1,980.77" if edges else "",
        progress=0.5 if edges else None,
        survives_day=day,
        survives_week=week,
        figures={
            "net next 7 d": "$18.16" if edges else f"−{cost}",
            "over Keep": "–" if candidate is None else "+$6.08" if edges else "−$14.10",
            "cost": cost,
            "earned back": "19.0 h" if candidate not in (None, "close") else "–",
            "8 weeks in 10": "−$2.1 to 48" if edges else f"−{cost}",
            "fees a day": "$3.3–12" if edges else "$0.00",
            "LVR a day": "$3.02" if edges else "$0.00",
            "swaps": "0.41 WETH" if candidate not in (None, "close") else "–",
            "lasts (95%)": "9.0 h" if edges else "–",
        },
        edges=edges,
        does=f"{name} #7.",
    )


PLAN = PlanView(
    plan_id="plan_3fa29c11",
    headline="#7 WETH/USDC 0.05%",
    recommendation="Widen #7 to 1,575.10 – 2,084.30. Costs $4.10, earned back in 19 h; 9 of 14"
    " such moves beat keeping it after 7 days.",
    decided="The pool paid 2.10 × its risk in the past 7 days · decided by critic, 2 rounds",
    options=(
        option("Keep", None, (-1120, 160), verdict="below floor", cost="$0.00"),
        option("A widen", "A", (-1400, 1400), recommended=True, day=0.94, week=0.61),
        option("B tighten", "B", (-650, 650), day=0.71, week=0.12, verdict="revise"),
        option("C shift", "C", (-300, 1700), day=0.66, week=0.41),
        option("Close", "close", None, day=None, week=None, verdict="possible", cost="$2.02"),
    ),
    reasons=(
        "The move wins: after its cost of $4.10 it gains $18.16 over HOLD in 7 days.",
        "The choice holds if volatility is half to twice as high; not if fees halve.",
    ),
    made_at=NOW - 70,
    ref=v4_position(7),
)

APPROVAL = ApprovalView(
    plan_id=PLAN.plan_id,
    headline="rebalance #7 to 1,575.10 – 2,084.30",
    hash="0x7f3a9c51d0e4b2a6f1c8e07d5b93a4c2e6f8091a2b3c4d5e6f708192a3b4c5d6",
    expires_at=NOW + 540,
    steps=(
        StepView(
            "close #7",
            ("Burn position #7; receive at least 2.41 WETH and 4,402.10 USDC.",),
            "close #7",
        ),
        *(
            StepView(
                f"permit2-{token}",
                (f"Allow the PositionManager to move at most {amount} {token} until then.",),
                f"let PositionManager move {amount} {token} until 2026-01-12 09:39 UTC",
                "approve",
                allows=StepPermission(
                    "PositionManager", f"{amount} {token}", "2026-01-12 09:39 UTC"
                ),
            )
            for token, amount in (("WETH", "2.4152"), ("USDC", "4,415.3"))
        ),
        StepView(
            "sell, open",
            ("Mint a position in WETH/USDC 0.05% from 1,575.10 to 2,084.30 for your wallet.",),
            "sell 0.412 WETH for at least 742.91 USDC, open 1,575.10 – 2,084.30",
        ),
    ),
    receipt=ReceiptView(
        (
            ReceiptLine("give", "position #7: 2.42331 WETH + 4,424.9 USDC", "$8,815.91"),
            ReceiptLine("get", "a position of 2.0031 WETH + 5,145.2 USDC", "$8,775.00"),
            ReceiptLine("wallet", "+0.0119822 WETH  +3.20114 USDC", "+$25.00"),
            ReceiptLine("swap", "fee and price impact", "$15.91"),
            ReceiptLine("network", "about 0.00105 ETH", "$1.90"),
            ReceiptLine("pay", "simulated just now; the plan estimated $18.02", "≈ $17.81"),
            ReceiptLine("pool", "WETH/USDC 0.05% · no hook · #7 → new position"),
            ReceiptLine(
                "bound",
                "#7 pays, beside its fees, at least 2.41112 WETH + 4,402.1 USDC",
                "≥ $8,771",
                "comes out",
            ),
            ReceiptLine(
                "bound",
                "the new position takes at most this; the rest comes to your wallet",
                "≤ $8,776",
                "goes in",
            ),
            ReceiptLine("bound", "at most 0.0021 ETH", "≤ $3.80", "network"),
            ReceiptLine(
                "bound",
                "swap $19.29 + price move $1.03 + network $3.80",
                "≤ $24.12",
                "worst case",
            ),
        ),
        RangeView("1,575.10", "2,084.30", "1,812.09", 0.47),
        swap_cost=14.01,
        network_cost=3.80,
        most_cost=24.12,
        prices="WETH $1,812.40",
        halfway="If 4 fails after 1, you hold 2.42331 WETH + 4,424.9 USDC and no position.",
    ),
    seconds_left=540.0,
    outcome=("WETH −0.012 within 0.5%", "Gas at most 0.0021 ETH ($3.80)"),
    wallet="0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266",
    signs_with="keystore file",
    can_sign=True,
    needs_passphrase=True,
    recipients=("0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266",),
    terms=(
        ("spender", "Permit2 0x0000…78BA3, UniversalRouter 0x6fF5…eB43"),
        ("calls", "PositionManager 0x7C5f…9bDc, UniversalRouter 0x6fF5…eB43"),
        ("deadline", "2026-01-12 09:24:00 UTC"),
        ("expires", "2026-01-12 09:39:00 UTC"),
        ("gas", "at most 0.002100 ETH"),
    ),
)
APPROVED = replace(PLAN, approval=APPROVAL)
APPLYING = replace(
    APPROVED,
    progress=(
        StepProgress("close #7: included in block 31,204,118", "done", 31_204_118),
        StepProgress("let Uniswap move tokens: sent"),
    ),
)
APPLIED = replace(
    APPLYING,
    result=ResultView(
        PLAN.plan_id,
        "included",
        (
            "  Network cost 0.000835 ETH ($1.51): 412,002 gas.",
            "",
            "WALLET  EXPECTED  ACTUAL  DIFFERENCE",
            "WETH   −0.012   −0.0119     +0.0001",
        ),
        v4_position(41),
        done=True,
        sent=(
            SentTransaction(
                "close #7",
                "0x" + "51" * 32,
                "https://explorer.test/tx/0x" + "51" * 32,
                31_204_118,
            ),
            SentTransaction("sell, open", "0x" + "c2" * 32, None, 31_204_121),
        ),
        headline="#7 is now #41",
    ),
)

STATUS = StatusView(
    network="devnet",
    wallet="0xf39F…2266",
    block=31_204_113,
    seen_at=NOW - 4,
    model="rules alone",
    market="market ×60, calm",
)
BUSY = replace(STATUS, jobs=(JobView("recommend 7", "critic is judging, round 1"),))

MORNING: tuple[Event, ...] = (
    StatusChanged(STATUS),
    PositionsChanged(POSITIONS),
    AlertsChanged(ALERTS),
    DebateChanged(replace(DEBATE, ended="Critic accepted option A in round 1.")),
    PlanChanged(PLAN),
    HintChanged("Press r on #9 to let the agents argue about it."),
    Said("The plan for #7 is ready.", "good", "zuno recommend 7"),
)


def text_of(pilot: Pilot[None], selector: str) -> str:
    """The words of a line or a card, whatever their style."""
    return str(pilot.app.screen.query_one(selector, Static).content)
