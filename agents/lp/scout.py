"""Scout observes: reads the world at one block, names the regime, says why. It never proposes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from agents.bus.worker import Outgoing, StageFailedError
from agents.lp.advice_words import edge_words
from agents.lp.briefing import briefed
from agents.lp.facts import CreateContext
from agents.lp.payloads import (
    STRATEGIST,
    ContextObserved,
    DebateKind,
    FlowCreateStart,
    FlowStart,
    context_hash,
)
from agents.lp.replies import ScoutReply
from agents.lp.services import observation, past_fact
from agents.lp.tools.scout_tools import ScoutTools
from agents.model.speaking import model_thought, thought
from agents.model.tool_questions import ask_with_tools
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
    for line in _findings(seen):
        yield line
    brief = briefed(context, seen, start.memory)
    tools = ScoutTools(seen, brief, eyes.position_past, lambda past: context.say(past_fact(past)))
    spoken = await ask_with_tools(context, context.services.model, brief, ScoutReply, tools)
    if spoken.silence:
        yield thought(0, "silence", spoken.silence)
    if spoken.reply is None:
        summary = _summary(seen)
        yield thought(0, "summary", summary)
    else:
        summary = brief.plain(spoken.reply.summary)
        yield model_thought(0, "summary", spoken.reply.summary, brief)
    whole = seen.model_copy(update={"summary": summary})
    yield Outgoing(
        DebateKind.CONTEXT_OBSERVED,
        STRATEGIST,
        ContextObserved(
            context=whole,
            context_hash=context_hash(whole),
            max_rounds=start.max_rounds,
            memory=start.memory,
        ),
    )


def _with_desk_knowledge(seen: MarketContext, start: FlowStart) -> MarketContext:
    """What the person's desk knows beside the chain."""
    held = seen.position.model_copy(update={"last_action_time": start.last_action_time})
    return seen.model_copy(update={"position": held, "allowed_hooks": start.allowed_hooks})


def _findings(seen: MarketContext | CreateContext) -> Iterator[Outgoing]:
    yield thought(0, "chain", f"Read at block {seen.block:,}.")
    pools = seen.surveyed_pools if isinstance(seen, CreateContext) else (seen.observed,)
    for index, observed in enumerate(pools):
        where = f"Pool {index}: " if isinstance(seen, CreateContext) else ""
        market = observed.market
        assumed = ", assumed" if market.sigma_assumed else ""
        yield thought(
            0,
            "market",
            f"{where}volatility {percent(market.sigma)} a day ({market.sigma_source}{assumed}); "
            f"pool fees of the last 24 h {usd(market.fees_24h_usd)}; the pool "
            f"{edge_words(market.edge_7d)}.",
        )
        yield thought(0, "regime", f"{where}{observed.regime.value}: {observed.regime_reason}")
        yield from _hook(observed, where)
    gwei = seen.gas.wei_per_gas / GWEI
    yield thought(0, "gas", f"Gas is {gwei:.3g} gwei.")


def _hook(observed: ObservedPool, where: str) -> Iterator[Outgoing]:
    if observed.pool.hook_danger != "none":
        powers = " ".join(observed.pool.hook_powers)
        yield thought(
            0, "hook", f"{where}the hook's passport says {observed.pool.hook_danger}: {powers}"
        )


def _summary(seen: MarketContext | CreateContext) -> str:
    if isinstance(seen, CreateContext):
        regimes = ", ".join(pool.regime.value for pool in seen.surveyed_pools)
        return f"{len(seen.surveyed_pools)} pools can take this capital; they are {regimes}."
    observed, position = seen.observed, seen.position
    inside = position.tick_lower <= observed.pool.tick < position.tick_upper
    state = "inside its range" if inside else "outside its range: it earns nothing"
    if not position.liquidity:
        state = "beside the point: the position is empty"
    return f"The market is {observed.regime.value}. {observed.regime_reason} The price is {state}."
