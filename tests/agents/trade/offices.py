"""Models for every office of the desk, and a market that lets a trade be opened."""

import json
from collections.abc import Callable
from hashlib import sha256
from math import sin

from agents.bus.envelope import Role
from agents.model.interface import Answer, ModelPrompt, ModelUnavailable, PromptImage, Reply, Usage
from agents.model.reply_text import parse_reply
from agents.trade.facts import BookFacts, BookSample, ContextSection, DeskQuestion
from agents.trade.plan import TradePlan
from agents.trade.routing import ROLE_ROUTES, ROUTES
from agents.trade.services import ChartFacts, DeskObservation
from agents.trade.terms import SectionName, SectionStatus
from chain.base.clean_text import Redactor
from tests.agents.trade.cases import NOW, hours, question, snapshot
from tests.agents.trade.desks import Argued, Seen, argue

NAMES: dict[str, str] = {role: ROUTES[route].model for role, route in ROLE_ROUTES.items()}
PNG = b"\x89PNG\r\n\x1a\nnot much of a picture"
WORDS = "The takers lean one way and the book with them."
REPLIES: dict[str, dict[str, object]] = {
    "RegimeReply": {
        "rationale": WORDS,
        "regime": "BULL_MOMENTUM",
        "trustDirective": "Trust geometry, doubt macro.",
        "riskBudgetPct": 100.0,
        "riskBias": "risk_on",
    },
    "LiquidityReply": {
        "rationale": WORDS,
        "anomaly": "none",
        "directionalBias": "BULLISH",
        "confidence": 0.8,
        "targetEntry": None,
    },
    "MicrostructureReply": {
        "rationale": WORDS,
        "anomaly": "none",
        "directionalBias": "UP",
        "confidence": 0.8,
    },
    "MacroReply": {
        "rationale": WORDS,
        "anomaly": "none",
        "optionsBias": "BULLISH",
        "confidence": 0.6,
    },
    "GeometryReply": {
        "rationale": WORDS,
        "anomaly": "none",
        "directionalBias": "BULLISH",
        "confidence": 0.7,
        "keyLevels": {},
        "fibonacciContext": "",
        "pattern": "bull_flag",
        "cvdSignal": "confirming",
        "fundingVisual": "neutral",
    },
    "SynthesisReply": {
        "summary": WORDS,
        "consensusSignals": ["All lean up."],
        "keyUncertainty": "Does the book stay?",
        "regimeNote": "Weigh geometry.",
    },
    "JudgeReply": {
        "counterScenario": "The book may be pulled.",
        "decision": "LONG",
        "allocationPct": 100.0,
        "leverage": 3.0,
        "stopLoss": None,
        "takeProfit": None,
        "holdDuration": "a day",
        "metaAgentContext": WORDS,
        "technical": WORDS,
        "derivatives": WORDS,
        "experts": WORDS,
        "narrative": WORDS,
        "finalLogic": WORDS,
        "winProbabilityPct": 100.0,
        "evRationale": WORDS,
        "keyFactors": ["flow"],
    },
    "HedgeReply": {
        "counterScenario": "It may rise.",
        "hedgeRatio": "1",
        "finalLogic": WORDS,
    },
    "RiskReply": {
        "rationale": WORDS,
        "verdict": "concur",
        "allocationPct": 100.0,
        "leverage": 3.0,
    },
}


class Offices:
    """Answers every office in this process and keeps what it was asked."""

    def __init__(
        self, change: Callable[[str, str], dict[str, object]] = lambda _reply, _told: {}
    ) -> None:
        """`change` may answer otherwise, by the reply's name and what was told."""
        self._change = change
        self.asked: list[tuple[Role, ModelPrompt]] = []

    async def ask(
        self,
        role: Role,
        prompt: ModelPrompt,
        schema: type[Reply],
        on_prose: Callable[[str], None],
    ) -> Answer[Reply]:
        self.asked.append((role, prompt))
        told = {**REPLIES[schema.__name__], **self._change(schema.__name__, prompt.user)}
        if (fault := told.get("fault")) is not None:
            assert isinstance(fault, ModelUnavailable)
            raise fault
        read = parse_reply(json.dumps(told), schema, Redactor())
        on_prose(WORDS)
        return Answer(read.value, Usage(100, 50, estimated=False), read.text, NAMES[role])


class Drawn:
    """Draws the same picture every time."""

    def __init__(self) -> None:
        self.facts: list[ChartFacts] = []

    async def draw(self, facts: ChartFacts) -> str:
        self.facts.append(facts)
        return sha256(PNG).hexdigest()

    def picture(self, digest: str) -> PromptImage:
        return PromptImage(digest, PNG)


def rising_market(count: int = 179) -> DeskObservation:
    """Hours that climb in waves, bought by takers, with every source fresh."""
    candles = []
    for place, one in enumerate(hours(count)):
        price = 2800 + place + 25 * sin(place / 6)
        candles.append(
            one._replace(
                open=price,
                close=price + 1,
                high=price + 6,
                low=price - 6,
                taker_buy=one.volume * 0.6,
            )
        )
    sample = BookSample(
        time=NOW, spread_bips=0.3, imbalance5=0.4, imbalance20=0.4, imbalance100=0.1
    )
    book = BookFacts(
        samples=(sample, sample, sample),
        bids=tuple((3000.0 - place, 20.0) for place in range(100)),
        asks=tuple((3001.0 + place, 10.0) for place in range(100)),
        buy_slippage_bips=0.5,
        sell_slippage_bips=0.4,
    )
    mark = candles[-1].close
    market = snapshot(candles, mark).model_copy(
        update={"book": book, "funding": ((NOW - 28_800, 0.0001), (NOW, 0.0001))}
    )
    return DeskObservation(time=NOW, market=market, unreadable="", sections=sections())


NUMBERS: dict[SectionName, dict[str, float]] = {
    SectionName.FUNDING: {"rate": 0.0001, "mark": 3000.0},
    SectionName.CVD: {"bought_24h": 0.2, "moved_24h": 0.01},
    SectionName.LIQUIDATIONS: {"long_usd": 20_000.0, "short_usd": 30_000.0},
    SectionName.MICROSTRUCTURE: {"imbalance20": 0.4},
    SectionName.MACRO: {"curve_spread": 0.4, "dollar_change": -0.006, "nasdaq_change": 0.011},
    SectionName.OPTIONS: {"dvol_z": 0.1, "put_call": 0.6},
    SectionName.FEAR_GREED: {"value": 60.0},
}


def sections(**texts: str) -> tuple[ContextSection, ...]:
    """All twelve, fresh; these with words of strangers in them."""
    return tuple(
        ContextSection(
            name=name,
            status=SectionStatus.OK,
            source="test",
            as_of=NOW,
            text=texts.get(name.value, f"about {name.value}"),
            numbers=NUMBERS.get(name, {}),
        )
        for name in SectionName
    )


async def held(
    offices: Offices | None,
    *,
    asked: DeskQuestion | None = None,
    seen: DeskObservation | None = None,
) -> Argued:
    eyes = Seen(seen or rising_market())
    return await argue(asked or question(), eyes, model=offices, names=NAMES, artist=Drawn())


def plan_of(one: Argued) -> TradePlan:
    assert one.ended.plan is not None, one.ended.failure
    return one.ended.plan


def answers(replies: dict[str, dict[str, object]], name: str, _told: str) -> dict[str, object]:
    return replies.get(name, {})


def obeys(
    poison: str, wild: dict[str, dict[str, object]], name: str, told: str
) -> dict[str, object]:
    return wild.get(name, {}) if poison in told else {}


def size(plan: TradePlan) -> tuple[float, float]:
    last = plan.ladder[-1]
    return last.allocation_pct, last.leverage
