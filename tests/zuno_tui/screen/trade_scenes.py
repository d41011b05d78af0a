"""Runs of the trade desk: under way, acting, holding by judgment and by failure."""

from msgspec.structs import replace

from chain.protocols.reference import v4_position
from tests.zuno_tui.screen.scenes import NOW
from zuno_tui.features.trade.drawing import rest_lines
from zuno_tui.features.trade.run_parts import (
    ConflictLine,
    ConflictMapView,
    ExpertCard,
    FigureRow,
    FigureTable,
    LadderRow,
    RegimeChip,
    SourceLamp,
    TradeRunView,
    TradeVerdict,
)
from zuno_tui.features.trade.trade import TRADE_PAGE
from zuno_tui.present.charts import plain
from zuno_tui.present.views import ApprovalView, ReceiptLine, ReceiptView, StepView

PLAN_ID = "plan_0ed9e62f50b89e47"
BEGUN = TradeRunView(
    "req_5b1f0c77a1d2e394", "Hedge of #28", "swing", "paper", working="reading the market"
)
LAMPS = (
    SourceLamp("market story", "stale", "6 h", "a search model", "Calm before the data."),
    SourceLamp("filed notes", "fresh", "4 min", "own memory"),
    SourceLamp("funding", "fresh", "12 s", "Binance", "Funding -0.0162% for 8 h."),
    SourceLamp("net buying", "fresh", "30 min", "Binance"),
    SourceLamp("liquidations", "missing", says="nobody has listened"),
    SourceLamp("past runs", "fresh", "0 s", "own memory"),
    SourceLamp("news", "missing", says="no source is set for it"),
    SourceLamp("lessons", "fresh", "0 s", "own record"),
    SourceLamp("order book", "fresh", "2 s", "Binance"),
    SourceLamp("macro", "fresh", "2 d", "FRED"),
    SourceLamp("options", "fresh", "41 min", "Deribit"),
    SourceLamp("fear and greed", "fresh", "9 h", "alternative.me"),
)
EXPERTS = (
    ExpertCard(
        "liquidity",
        "BEARISH",
        0.62,
        "whale cvd divergence",
        "In 24 h the price moved +0.90% and takers sold net 4.1%.",
        by_rules=True,
    ),
    ExpertCard(
        "microstructure",
        "BULLISH",
        0.31,
        "",
        "The fuller side leads by 18% over 20 levels in 3 samples.",
        by_rules=True,
    ),
    ExpertCard(
        "macro", "BEARISH", 0.48, "options panic", "Skew 6.2, puts to calls 1.31, curve inverted."
    ),
    ExpertCard(
        "geometry",
        "NEUTRAL",
        0.22,
        "",
        "It stands at 71% of two days' range of 7.8%.",
        "support 2,690.10, resistance 2,870.27, most traded 2,740.15",
        by_rules=True,
    ),
)
HEARD = replace(
    BEGUN,
    mark="2,765.90",
    working="hearing four experts",
    regime=RegimeChip(
        "BEAR_MOMENTUM",
        "60%",
        "risk_off",
        "of two days' way 52% led one way: down, below both means",
        "Trust liquidity and macro: selling feeds itself. Doubt bounces.",
    ),
    anomalies=("liquidation_cascade", "options_panic"),
    lamps=LAMPS,
    experts=(*EXPERTS[:2], ExpertCard("macro"), ExpertCard("geometry")),
)
VERDICT = TradeVerdict(
    "acts",
    "Hedge #28: sell 3.514 ETH ($10,873.62)",
    "The ETH it holds is sold short: a fall costs less, a rise pays less or costs",
    (
        FigureTable(
            "EXPOSURE",
            "now",
            "after",
            (
                FigureRow("ETH held", "3.515", "3.515"),
                FigureRow("ETH short", "0.000", "3.514", "target 100%"),
                FigureRow("net", "3.515", "0.001", "−1.45 if ETH rises $100"),
            ),
        ),
        FigureTable(
            "ACCOUNT",
            "now",
            "after",
            (
                FigureRow("liquidation", "", "5,940", "or earlier: ETH +92%"),
                FigureRow("leverage", "0.00×", "1.09×", "of an account of $10,000"),
                FigureRow("funding", "", "+$3.46", "a day"),
            ),
        ),
        FigureTable(
            "IF ETH MOVES",
            "not hedged",
            "hedged",
            (
                FigureRow("−20%", "−$4,181", "−$2,006", dollars=(-4_181, -2_006)),
                FigureRow("−10%", "−$1,806", "−$719", dollars=(-1_806, -719)),
                FigureRow("+10%", "+$442", "−$645", dollars=(442, -645)),
                FigureRow("+20%", "+$442", "−$1,733", dollars=(442, -1_733)),
            ),
            beside=True,
            note="Position and short, before fees.",
        ),
        FigureTable(
            "A USUAL WEEK",
            "swings",
            "costs",
            (
                FigureRow("not hedged", "±$771", "", part=1.0),
                FigureRow("hedged", "±$355", "$10.90", part=0.46),
                FigureRow("adjusted ×8", "±$86", "$20.40", part=0.11),
            ),
            note="You adjust when an alert says it is 20% off. Costs are trading fees; funding "
            "comes on top.",
        ),
    ),
    (),
    (
        "entry: sell 3.514 ETH at 3,094.38 or better, resting, for 30 seconds",
        "then: sell what is left, at most 3.514 ETH, at the market price",
    ),
    ("Above 3,350.90 #28 gains no more: the short loses $351 per $100 up.",),
    "You asked for 100%. The experts lean bearish (1 bullish, 2 bearish, 1 neutral) and would "
    "hedge nothing.",
    "unhedge 28",
)
HEDGING = replace(
    HEARD,
    subject="Hedge of #28 WETH/USDC · ETHUSDT",
    ref=v4_position(28),
    working="",
    experts=EXPERTS,
    conflicts=ConflictMapView(
        "BEARISH",
        "liquidity",
        (),
        (
            ConflictLine(
                "liquidity against microstructure",
                "BEARISH at 62%: In 24 h the price moved +0.90% and takers sold net 4.1%.",
                "BULLISH at 31%: The fuller side leads by 18% over 20 levels in 3 samples.",
                "microstructure decides on even votes in swing trading",
            ),
        ),
        "Who is right, liquidity or microstructure?",
        "BEAR_MOMENTUM: Trust liquidity and macro.",
    ),
    ladder=(
        LadderRow("judge", "SHORT", "40%", "2×", "$8,000"),
        LadderRow("expected value", "SHORT", "40%", "2×", "$8,000"),
        LadderRow(
            "budget", "SHORT", "40% → 24%", "2×", "$8,000 → $4,800", "regime budget", took=True
        ),
        LadderRow(
            "risk officer",
            "SHORT",
            "24% → 10%",
            "2× → 1×",
            "$4,800 → $1,037",
            "volatility tax, venue cap",
            took=True,
        ),
        LadderRow("leverage guard", "SHORT", "10.4%", "1×", "$1,037"),
    ),
    verdict=VERDICT,
    plan_id=PLAN_ID,
    made_at=NOW - 60,
    next_phrase="approve",
)
HOLDING = replace(
    HEDGING,
    subject="ETHUSDT",
    ref=None,
    ladder=(
        LadderRow("judge", "LONG", "30%", "2×", "$6,000"),
        LadderRow(
            "expected value",
            "LONG → HOLD",
            "30% → 0%",
            "2× → 1×",
            "$6,000 → $0",
            "not worth its costs",
            took=True,
            stopped=True,
        ),
        *(
            LadderRow(stage, "HOLD", "0%", "1×", "$0")
            for stage in ("budget", "risk officer", "leverage guard")
        ),
    ),
    verdict=TradeVerdict(
        "holds",
        "No trade",
        "the trade is expected to bring nothing after its costs",
        lines=("account $10,000.00, leverage 0.00× before, 0.00× after",),
        against=("What would have to happen for all of them to be wrong at once?",),
    ),
    lamps=tuple(replace(lamp, state="fresh", age="1 min") for lamp in LAMPS),
    next_phrase="",
)
FAILED = replace(
    BEGUN,
    subject="DOGEUSDT",
    working="",
    lamps=tuple(replace(lamp, state="missing", age="") for lamp in LAMPS),
    verdict=TradeVerdict("failed", "No decision", "the venue knows no such contract"),
    plan_id="plan_25497b3e21ca7c44",
)
APPROVAL = ApprovalView(
    PLAN_ID,
    VERDICT.headline,
    "5f" * 32,
    NOW + 540.0,
    (
        StepView("zuno-0ed9e62f50b89e47-0", (), VERDICT.orders[0]),
        StepView("zuno-0ed9e62f50b89e47-1", (), VERDICT.orders[1]),
    ),
    (),
    "",
    "",
    can_sign=True,
    needs_passphrase=False,
    word="trade",
    receipt=ReceiptView(
        (
            ReceiptLine("trade", "sell 3.514 ETH", "$10,873.62"),
            ReceiptLine("fees", "of the venue", "$2.10"),
            ReceiptLine("pay", "", "$2.10"),
            ReceiptLine("bound", "", "≤ $5.24", "worst case"),
        ),
        swap_cost=2.1,
        network_cost=0.0,
        most_cost=5.24,
    ),
    seconds_left=540.0,
    venue="paper · PAPER: no real money",
    below=tuple(plain(line).rstrip() for line in rest_lines(VERDICT, 74)),
    page=TRADE_PAGE,
)
