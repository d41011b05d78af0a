"""Questions, markets and findings whose every number a test chooses."""

from agents.trade.facts import (
    AccountFacts,
    CandleSeries,
    ContextSection,
    DeskQuestion,
    DeskRecord,
    DeskSettings,
    HedgeFacts,
    MarketSnapshot,
    TradeContext,
)
from agents.trade.findings import (
    AnyFinding,
    GeometryFinding,
    KeyLevels,
    LiquidityFinding,
    MacroFinding,
    MicrostructureFinding,
)
from agents.trade.terms import (
    Bias,
    Objective,
    SectionName,
    SectionStatus,
    TradeMode,
)
from chain.exchange.public.market import Candle
from chain.protocols.reference import v4_position

NOW = 1_768_181_400
HOUR = 3_600
ETH = "ETHUSDT"


def hours(
    count: int = 130, *, price: float = 3000.0, span: float = 10.0, volume: float = 100.0
) -> list[Candle]:
    """Closed hours that go nowhere, each as wide and as busy as the other."""
    first = NOW // HOUR * HOUR - count * HOUR
    return [
        Candle(
            first + HOUR * place,
            price,
            price + span / 2,
            price - span / 2,
            price,
            volume,
            volume / 2,
        )
        for place in range(count)
    ]


def account(
    equity: float | None = 10_000.0, held: float = 0.0, mark: float | None = 3000.0
) -> AccountFacts:
    positions = (
        [{"venue": "paper", "symbol": ETH, "quantity": held, "entry": 3000.0, "mark": mark}]
        if held
        else []
    )
    return AccountFacts.model_validate(
        {
            "venue": "paper",
            "time": NOW,
            "equity": equity,
            "positions": positions,
            "waiting": [],
            "maker_fee": 0.0002,
            "taker_fee": 0.0005,
        },
        strict=False,
    )


HEDGED = HedgeFacts(
    token_id=v4_position(28),
    chain_id=31_337,
    network="devnet",
    block=1,
    pair="WETH/USDC",
    coin="ETH",
    delta=0.5,
    gamma=-0.002,
    lower=2700.0,
    upper=3300.0,
    worth_usd=3000.0,
    price=3000.0,
)


PROVEN = DeskRecord(resolved=200, won=160, fair_wins=80.0, brier=None, proved=0.3)
"""Of a desk whose trades won twice as often as chance would have."""


def question(
    *,
    mode: TradeMode = TradeMode.SWING,
    of: AccountFacts | None = None,
    hedge: HedgeFacts | None = None,
    record: DeskRecord = PROVEN,
) -> DeskQuestion:
    return DeskQuestion(
        asked_at=NOW,
        symbol=ETH,
        coin="ETH",
        mode=mode,
        objective=Objective.TRADE if hedge is None else Objective.HEDGE,
        account=of or account(),
        settings=DeskSettings(order_usd=2_000.0, account_leverage=2.0),
        hedge=hedge,
        record=record,
    )


def snapshot(candles: list[Candle] | None = None, mark: float = 3000.0) -> MarketSnapshot:
    rows = tuple(candles if candles is not None else hours())
    return MarketSnapshot(
        symbol=ETH,
        venue="test",
        time=NOW,
        mark=mark,
        price_step=0.01,
        quantity_step=0.001,
        least_notional=20.0,
        hours=CandleSeries(interval="1h", rows=rows),
        slow=CandleSeries(interval="4h", rows=rows),
        book=None,
        interest_change=None,
    )


def context(**numbers: dict[str, float]) -> TradeContext:
    """Sections with these numbers; all others are missing."""
    return TradeContext(
        sections=tuple(
            ContextSection(
                name=name,
                status=SectionStatus.OK if name.value in numbers else SectionStatus.UNAVAILABLE,
                source="test",
                as_of=NOW,
                text="",
                numbers=numbers.get(name.value, {}),
            )
            for name in SectionName
        )
    )


def finding(expert: str, bias: Bias, confidence: float) -> AnyFinding:
    words = f"{expert} says {bias.value}"
    if expert == "liquidity":
        return LiquidityFinding(
            anomaly="none",
            confidence=confidence,
            target_entry=None,
            directional_bias=bias,
            rationale=words,
            fallback=True,
        )
    if expert == "microstructure":
        return MicrostructureFinding.model_validate(
            {
                "anomaly": "none",
                "confidence": confidence,
                "directional_bias": {1: "UP", -1: "DOWN", 0: "NEUTRAL"}[bias.sign],
                "rationale": words,
                "fallback": True,
            }
        )
    if expert == "macro":
        return MacroFinding(
            anomaly="none",
            confidence=confidence,
            options_bias=bias,
            rationale=words,
            fallback=True,
        )
    return GeometryFinding(
        anomaly="none",
        directional_bias=bias,
        confidence=confidence,
        key_levels=KeyLevels(
            immediate_support=2990.0,
            immediate_resistance=3010.0,
            major_support=None,
            major_resistance=None,
            liquidation_pool_above=None,
            liquidation_pool_below=None,
            volume_poc=None,
        ),
        fibonacci_context="",
        pattern="none",
        cvd_signal="neutral",
        funding_visual="neutral",
        rationale=words,
        fallback=True,
    )
