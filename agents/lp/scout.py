"""Scout observes: reads the world at one block, names the regime, says why. It never proposes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from agents.bus.worker import Outgoing, StageFailedError
from agents.lp.briefing import asked_model, briefed
from agents.lp.closing import settled_sentence
from agents.lp.facts import CreateContext
from agents.lp.payloads import (
    STRATEGIST,
    ContextObserved,
    DebateKind,
    FlowCreateStart,
    FlowStart,
    context_hash,
)
from agents.lp.price_words import price_now, ticks_as_prices
from agents.lp.replies import ScoutReply
from agents.lp.services import observation, past_fact
from agents.lp.settled import settled
from agents.lp.spoken_tables import pools_table
from agents.lp.tools.scout_tools import ScoutTools
from agents.model.speaking import model_thought, thought
from agents.model.tool_questions import ask_with_tools
from agents.numbers.advice import ENTER_OVER
from chain.base.number_words import percent, usd
from chain.base.units import GWEI

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Iterator

    from agents.bus.envelope import Envelope
    from agents.bus.worker import HandlerContext
    from agents.lp.facts import MarketContext, ObservedPool
    from agents.lp.services import DebateServices


async def scout(
    envelope: Envelope, context: HandlerContext[DebateServices]
) -> AsyncGenerator[Outgoing, None]:
    start = envelope.payload
    eyes = context.services.eyes
    seen: MarketContext | CreateContext
    if isinstance(start, FlowStart):
        position = await eyes.observe_position(start.token_id, start.profile)
        seen = _with_desk_knowledge(position, start)
    elif isinstance(start, FlowCreateStart):
        seen = await eyes.survey(start.goal, start.owner, start.profile)
        seen = seen.model_copy(update={"allowed_hooks": start.allowed_hooks})
    else:
        return
    await context.say(observation(seen))
    if isinstance(seen, CreateContext) and not seen.surveyed_pools:
        raise StageFailedError(
            "No pool on this network holds what was asked for. "
            "Name another pair or fee, or see what there is: zuno pools"
        )
    model = asked_model(context, seen)
    if context.services.model is None:
        yield thought(0, "rules", "The rules speak: no model is asked.")
    for line in _findings(seen):
        yield line
    brief = briefed(context, seen, start.memory)
    tools = ScoutTools(seen, brief, eyes.position_past, lambda past: context.say(past_fact(past)))
    spoken = await ask_with_tools(context, model, brief, ScoutReply, tools)
    if spoken.silence:
        yield thought(0, "silence", spoken.silence)
    if spoken.reply is None:
        summary = _summary(seen)
        yield thought(0, "summary", summary)
    else:
        summary = brief.plain(spoken.reply.summary)
        yield model_thought(0, "summary", spoken.reply.summary, brief)
    decided = settled(seen)
    if decided is not None:
        asked = context.services.model is not None
        yield thought(0, "settled", settled_sentence(seen, decided.reasons, asked=asked))
    whole = seen.model_copy(update={"summary": summary})
    yield Outgoing(
        DebateKind.CONTEXT_OBSERVED,
        STRATEGIST,
        ContextObserved(
            context=whole,
            context_hash=context_hash(whole),
            max_rounds=start.max_rounds,
            memory=start.memory,
            own_range=start.own_range,
        ),
    )


def _with_desk_knowledge(seen: MarketContext, start: FlowStart) -> MarketContext:
    """What the person's desk knows beside the chain."""
    held = seen.position.model_copy(update={"last_action_time": start.last_action_time})
    return seen.model_copy(update={"position": held, "allowed_hooks": start.allowed_hooks})


def _findings(seen: MarketContext | CreateContext) -> Iterator[Outgoing]:
    gas = f"gas is {seen.gas.wei_per_gas / GWEI:.3g} gwei"
    if isinstance(seen, CreateContext):
        many = len(seen.surveyed_pools)
        told = "1 pool can take" if many == 1 else f"{many} pools can take"
        words = f"Block {seen.block:,}: {told} this capital; {gas}."
        yield thought(0, "market", words, table=pools_table(seen))
        for index, observed in enumerate(seen.surveyed_pools):
            yield from _hook(observed, f"Pool {index}: its")
        return
    market = seen.observed.market
    assumed = ", assumed" if market.sigma_assumed else ""
    yield thought(
        0,
        "market",
        f"Block {seen.block:,}: {_place(seen)}. Volatility is {percent(market.sigma)} a day "
        f"({market.sigma_source}{assumed}), the pool's fees of 24 h are "
        f"{usd(market.fees_24h_usd)}, {gas}.",
    )
    yield from _hook(seen.observed, "The")


def _place(seen: MarketContext) -> str:
    """Where the price stands against the range that is held."""
    position, observed = seen.position, seen.observed
    held = ticks_as_prices(seen, observed, position.tick_lower, position.tick_upper)
    price = price_now(seen, observed)
    now = "the price" if price is None else f"the price is {price}"
    return f"{now}, the range {held}" if price is not None else f"the range is {held} of {now}"


def _hook(observed: ObservedPool, where: str) -> Iterator[Outgoing]:
    if observed.pool.hook_danger != "none":
        powers = " ".join(observed.pool.hook_powers)
        yield thought(
            0, "hook", f"{where} hook's passport says {observed.pool.hook_danger}: {powers}"
        )


def _summary(seen: MarketContext | CreateContext) -> str:
    if isinstance(seen, CreateContext):
        paid = sum((pool.market.edge_7d or 0) > ENTER_OVER for pool in seen.surveyed_pools)
        line = f"over {ENTER_OVER:g} ×"
        if paid > 1:
            return f"{paid} of them pay {line} their risk, from where on a pool is entered."
        many = "One of them pays" if paid else "None of them pays"
        return f"{many} {line} its risk, from where on a pool is entered."
    observed, position = seen.observed, seen.position
    inside = position.tick_lower <= observed.pool.tick < position.tick_upper
    place = "inside its range" if inside else "outside its range, where it earns nothing"
    state = f"The price is {place}." if position.liquidity else "The position is empty."
    reason = observed.regime_reason.rstrip(".")
    reason = f"{reason[:1].lower()}{reason[1:]}"
    return f"The market is {observed.regime.value}: {reason}. {state}"
