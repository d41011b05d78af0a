"""Every screen by the events and the keys that lead to it; the main ones have a snapshot."""

from msgspec.structs import replace

from chain.protocols.reference import v4_position
from tests.zuno_tui.screen.portfolio_scene import PORTFOLIO
from tests.zuno_tui.screen.range_scene import RANGE
from tests.zuno_tui.screen.scenes import (
    APPLIED,
    APPROVAL,
    APPROVED,
    BOTH_PROTOCOLS,
    BUSY,
    DEBATE,
    MORNING,
    NOW,
    POSITIONS,
)
from tests.zuno_tui.screen.trade_scenes import HEDGING
from tests.zuno_tui.screen.visit_scenes import DETAIL, POOLS, RECORDS, SENT, SETTINGS
from zuno_tui.desk.events import (
    AlertsChanged,
    ConfirmationAsked,
    DebateChanged,
    DetailReady,
    Event,
    OutageChanged,
    OutboxReady,
    PlanChanged,
    PoolsReady,
    PortfolioChanged,
    PositionsChanged,
    ProseHeard,
    RecordsReady,
    Said,
    SettingsReady,
    StatusChanged,
)
from zuno_tui.features.orders.events import OrderFormReady
from zuno_tui.features.orders.page import ORDER_PAGE
from zuno_tui.features.trade.events import TradeOpened
from zuno_tui.present.outage import OutageView
from zuno_tui.present.views import (
    AlertsView,
    ApprovalView,
    PositionsView,
    ReceiptLine,
    ReceiptView,
    StepView,
)

KEYLESS = replace(APPROVAL, needs_passphrase=False)
OUTAGE = OutageView(
    "Base cannot be read",
    "node.example did not finish its answer within 10.0 s. other.example is not reachable.",
    "https://node.example/v2/…, https://other.example",
    since=NOW - 400,
    tries=5,
    next_at=NOW + 30,
    known_at=NOW - 460,
)
OWNER = "0x70997970C51812dc3A010C7d01b50e0d17dc79C8"
ORDER_FORM = OrderFormReady(
    v4_position(28), "WETH/USDC", "3,093.95", "2,790.12", "3,430.88", "USDC per WETH", 1_790_000_000
)
ORDER = ApprovalView(
    "plan_1b4f0e9851971998",
    "Close #28 when the price is below 2,800 USDC per WETH",
    "ab" * 32,
    NOW + 540.0,
    (StepView("order", (), "close #28 once, and send everything to you"),),
    (
        "! If the price jumps, it closes at whatever price is reached, even far below 2,800.",
        "! This desk or zuno monitor must run with the watch key, or nothing happens.",
    ),
    OWNER,
    "the demo's key",
    can_sign=True,
    needs_passphrase=False,
    recipients=(OWNER,),
    terms=(
        (
            "when",
            "The price is below 2,800 USDC per WETH for 2 min. It is 3,091.6 now, 10.4% above "
            "that.",
        ),
        ("until", "2026-12-17 05:00 UTC"),
        (
            "sent by",
            "The watch key 0x3C44CdDdB6a900fa2b585dd299e03d12FA4293BC, which holds only gas.",
        ),
        (
            "enforced",
            "On chain only this one call is allowed, only below 2,800. The wait of 2 min is "
            "zuno's own.",
        ),
        ("price from", "3 endpoints; two must agree."),
        (
            "cancel",
            "Type order cancel and sign it. Quitting zuno or deleting files does not cancel it.",
        ),
    ),
    receipt=ReceiptView(
        (
            ReceiptLine("give", "#28, all of it"),
            ReceiptLine("get", "About 4.9711 WETH + 12.07 USDC, worth $13,931 then, plus fees."),
            ReceiptLine("network", "about 0.0005 ETH; the watch key pays", "$1.55"),
            ReceiptLine("pay", "", "$1.55"),
            ReceiptLine(
                "bound",
                "4.9711 WETH, or the transaction reverts. USDC has no minimum: it shrinks as the "
                "price falls.",
                bounds="comes out",
            ),
            ReceiptLine("bound", "0.005 ETH, set in your limits", "≤ $15.47", "network"),
        ),
        swap_cost=0.0,
        network_cost=1.55,
        most_cost=15.47,
    ),
    seconds_left=540.0,
    page=ORDER_PAGE,
)
STALE = replace(POSITIONS, stale="the RPC does not answer; trying again in 30 s")
SCENES: dict[str, tuple[tuple[Event, ...], tuple[str, ...]]] = {
    "order form": ((*MORNING, ORDER_FORM), ("enter", *"2800")),
    "order page": ((*MORNING, ConfirmationAsked(ORDER)), ()),
    "first second": ((), ()),
    "morning": (MORNING, ()),
    "without a plan": (MORNING[:3], ()),
    "both protocols": ((*MORNING[:3], PositionsChanged(BOTH_PROTOCOLS)), ("1", *"jjjjjj")),
    "cursor elsewhere": (MORNING, ("j",)),
    "alerts": (MORNING, ("2", "j")),
    "debate": (
        (
            *MORNING[:3],
            StatusChanged(BUSY),
            DebateChanged(DEBATE),
            ProseHeard("arbiter", "Both moves hold. I would take the wider one, since "),
            Said("", twin="zuno recommend 7"),
        ),
        ("3",),
    ),
    "plan": (MORNING, ("4",)),
    "approved": ((*MORNING, PlanChanged(APPROVED)), ("4",)),
    "applied": ((*MORNING, PlanChanged(APPLIED)), ("4", "z")),
    "confirmation": (
        (*MORNING, PlanChanged(replace(APPROVED, approval=KEYLESS)), ConfirmationAsked(KEYLESS)),
        ("a", "p"),
    ),
    "every byte": (
        (*MORNING, PlanChanged(replace(APPROVED, approval=KEYLESS)), ConfirmationAsked(KEYLESS)),
        ("f2",),
    ),
    "result": (
        (
            *MORNING,
            PlanChanged(replace(APPROVED, approval=KEYLESS)),
            ConfirmationAsked(KEYLESS),
            PlanChanged(replace(APPLIED, approval=KEYLESS)),
        ),
        (),
    ),
    "help": (MORNING, ("4", "question_mark")),
    "leaving": (MORNING, ("q",)),
    "trouble": (
        (
            StatusChanged(replace(BUSY, trouble="RPC down", jobs=())),
            PositionsChanged(STALE),
            OutageChanged(OUTAGE),
            AlertsChanged(AlertsView(trouble="alerts are not saved: the disk is full")),
        ),
        (),
    ),
    "nothing read": (
        (
            StatusChanged(replace(BUSY, trouble="RPC down", jobs=(), block=None)),
            PositionsChanged(PositionsView(stale="RPC down")),
            OutageChanged(replace(OUTAGE, known_at=None, tries=1, since=NOW)),
        ),
        (),
    ),
    "position": ((*MORNING, DetailReady(DETAIL)), ()),
    "pools": ((*MORNING, PoolsReady(POOLS)), ()),
    "range": ((*MORNING, RANGE), ("left", "left", "tab", "right", "right", "right")),
    "portfolio": ((*MORNING, PortfolioChanged(PORTFOLIO, opens=True)), ("j",)),
    "records": ((*MORNING, RecordsReady(RECORDS)), ()),
    "outbox": ((*MORNING, OutboxReady(SENT)), ()),
    "settings": ((*MORNING, SettingsReady(SETTINGS, "~/.zuno/settings.toml")), ()),
    "trade that acts": ((TradeOpened(HEDGING),), ()),
}

SNAPSHOTS = {
    "desk": "morning",
    "debate": "debate",
    "plan": "plan",
    "confirmation": "confirmation",
    "result": "result",
    "position": "position",
    "range": "range",
    "portfolio": "portfolio",
    "settings": "settings",
    "trade": "trade that acts",
}
"""The main screens: at 120×36 their snapshots show every word and every colour."""

PAGES = (
    *("confirmation", "every byte", "result", "position", "pools", "range", "portfolio"),
    *("records", "outbox", "settings", "trade that acts"),
)
"""They cover the whole desk."""
