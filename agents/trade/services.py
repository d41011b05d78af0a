"""What the desk works with, live or from its record."""

from collections.abc import Iterator, Mapping
from typing import Protocol, TypeVar

from msgspec import Struct, field
from pydantic import BaseModel

from agents.bus.envelope import CLI, AgentFact, Kind, Payload
from agents.bus.replay import Record
from agents.bus.worker import HandlerContext, Outgoing
from agents.model.interface import Model, PromptImage
from agents.model.recorded import RecordedModel
from agents.model.speaking import Brief, Spoken, about_the_model, ask, thought_message
from agents.trade.facts import ContextSection, DeskQuestion, HedgeFacts, MarketSnapshot
from agents.trade.indicators import (
    LiquidationPool,
    PriceLevel,
    largest_pools,
    level_set,
    liquidation_map,
)
from agents.trade.payloads import CHART, DESK
from chain.exchange.public.market import Candle, cumulative_delta

_SHOWN = 168
"""Hours: a week."""


class ChartFacts(Struct, frozen=True):
    symbol: str
    mark: float
    candles: tuple[Candle, ...]
    volume_delta: tuple[float, ...]
    """Cumulated over the candles that are shown."""
    funding: tuple[tuple[int, float], ...]
    """When and how much was paid, the oldest first."""
    pools: tuple[LiquidationPool, ...]
    levels: tuple[PriceLevel, ...]
    earning: tuple[float, float] | None = None
    """Between which prices the position that is hedged earns."""


def chart_facts(market: MarketSnapshot, hedge: HedgeFacts | None = None) -> ChartFacts:
    candles = market.hours.candles[-_SHOWN:]
    pools = liquidation_map(market.hours.candles, market.mark)
    return ChartFacts(
        market.symbol,
        market.mark,
        candles,
        tuple(cumulative_delta(candles)),
        market.funding,
        pools,
        chart_levels(market, pools),
        None if hedge is None else hedge.price_range,
    )


def chart_levels(
    market: MarketSnapshot, pools: tuple[LiquidationPool, ...]
) -> tuple[PriceLevel, ...]:
    below, above = largest_pools(pools, market.mark)
    found = [
        PriceLevel(pool.price, name)
        for name, pool in (("liquidation pool below", below), ("liquidation pool above", above))
        if pool is not None
    ]
    return level_set(market.hours.candles[-_SHOWN:], found)


MODELS_INPUT = "models"
"""Who is asked for each role, as the record says it; empty where the rules speak alone."""
_OBSERVATION = "observation"
_PICTURE = "picture"


class DeskObservation(Payload):
    """Everything that was read for one question."""

    time: int
    market: MarketSnapshot | None
    unreadable: str
    """Why there is no market; empty where there is one."""
    sections: tuple[ContextSection, ...]


class DeskEyes(Protocol):
    """What the desk sees markets and the world with."""

    async def look(self, question: DeskQuestion) -> DeskObservation: ...


class ChartArtist(Protocol):
    """Who draws the chart."""

    async def draw(self, facts: ChartFacts) -> str:
        """The hash of the picture; empty where it cannot be drawn."""
        ...

    def picture(self, sha256: str) -> PromptImage:
        """A picture that was drawn."""
        ...


class TradeServices(Struct, frozen=True):
    """Without a model the rules speak, without an artist nobody sees a picture."""

    eyes: DeskEyes
    model: Model | None = None
    artist: ChartArtist | None = None
    names: Mapping[str, str] = field(default_factory=dict)
    """The model that each role asks first."""


def observation_fact(seen: DeskObservation) -> Outgoing:
    """What was seen, for the record: so that it can be seen again."""
    value = seen.model_dump(mode="json", by_alias=True)
    return Outgoing(Kind.AGENT_FACT, CLI, AgentFact(name=_OBSERVATION, value=value))


def picture_fact(sha256: str) -> Outgoing:
    """Which picture was drawn, for the record."""
    return Outgoing(Kind.AGENT_FACT, CLI, AgentFact(name=_PICTURE, value=sha256))


def drawn_picture(record: Record) -> str:
    """The hash of the picture that a record tells of; empty where none was drawn."""
    return str(record.fact(CHART, _PICTURE) or "")


def recorded_trade_services(record: Record) -> TradeServices:
    names = record.inputs().get(MODELS_INPUT)
    asked = (
        {str(role): str(name) for role, name in names.items()} if isinstance(names, dict) else {}
    )
    model = RecordedModel(record.replies()) if asked else None
    artist = None if record.fact(CHART, _PICTURE) is None else RecordedArtist(record)
    return TradeServices(RecordedDesk(record), model, artist, asked)


class RecordedArtist:
    """Knows the picture that was drawn by its hash alone."""

    def __init__(self, record: Record) -> None:
        self._sha256 = drawn_picture(record)

    async def draw(self, facts: ChartFacts) -> str:  # noqa: ARG002 - it was drawn before
        return self._sha256

    def picture(self, sha256: str) -> PromptImage:
        return PromptImage(sha256)


def recorded_market(record: Record) -> MarketSnapshot | None:
    """What was seen of the market; None where it could not be read."""
    seen = record.fact(DESK, _OBSERVATION)
    return None if seen is None else DeskObservation.model_validate(seen, strict=False).market


class RecordedDesk:
    """Sees what was seen when the record was written."""

    def __init__(self, record: Record) -> None:
        self._record = record

    async def look(self, question: DeskQuestion) -> DeskObservation:
        seen = self._record.fact(DESK, _OBSERVATION)
        found = DeskObservation.model_validate(seen, strict=False)
        if found.market is not None and found.market.symbol != question.symbol:
            raise LookupError("The record is of another contract.")
        return found


Reply = TypeVar("Reply", bound=BaseModel)
STAND_IN = "stand_in"
"""The tag of a thought that says which model answered in place of the one that was asked."""


def asked_model(context: HandlerContext[TradeServices]) -> Model | None:
    """Who is asked for this role, if anybody."""
    services = context.services
    return services.model if context.role in services.names else None


async def office_reply(
    context: HandlerContext[TradeServices], brief: Brief, schema: type[Reply]
) -> Spoken[Reply]:
    return await ask(context, asked_model(context), brief, schema)


def asides(context: HandlerContext[TradeServices], spoken: Spoken[Reply]) -> Iterator[Outgoing]:
    """Why a model is silent, or who stood in for it."""
    yield from about_the_model(0, spoken)
    first = context.services.names.get(context.role, "")
    if spoken.model and spoken.model != first:
        yield thought_message(
            0, STAND_IN, f"{first} could not answer; {spoken.model} speaks for it."
        )
