"""What an agent on the mesh works with: its own settings, its own store, and no wallet."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

from msgspec.structs import replace

from agents.bus.worker import StageFailedError
from agents.lp.observe import ChainObserver
from agents.lp.services import DebateServices, Eyes
from agents.model.budget import Budget
from agents.model.connection import ModelConnections
from chain.base.store import Store
from chain.contracts.networks import Network, UnknownNetworkError, network_named
from chain.positions.overview import Sources
from chain.prices.coingecko import CoinGecko, CoinGeckoSettings
from chain.rpc.client import RpcClient

if TYPE_CHECKING:
    from agents.bus.envelope import FlowTerms
    from agents.lp.facts import CreateContext, CreateGoal, MarketContext, PositionPast
    from agents.model.interface import Model
    from agents.numbers.profiles import RiskProfile
    from chain.base.home import Home
    from zuno_tui.settings import Settings
    from zuno_tui.settings.debates import DebateSettings


@asynccontextmanager
async def agent_services(
    home: Home, settings: Settings, debates: DebateSettings
) -> AsyncIterator[Callable[[str, FlowTerms], DebateServices]]:
    """Makes what a request is worked on with, for as long as the block lasts."""
    home.prepare()
    store, _ = Store.open(home.database, now=time.time())
    with store:
        async with ModelConnections() as connections:

            def model(tokens: int | None) -> Model | None:
                if debates.model is None:
                    return None
                from agents.model.abilities import AbilityMemory
                from agents.model.client import OpenAIModel

                own = debates.limits.debate_tokens
                both = [one for one in (own, tokens) if one is not None]
                limits = replace(debates.limits, debate_tokens=min(both) if both else None)
                return OpenAIModel(
                    debates.model,
                    connections,
                    Budget(limits, debates.prices, store, clock=time.time).debate(),
                    AbilityMemory(store, time.time),
                    clock=time.time,
                )

            def services(_request_id: str, terms: FlowTerms) -> DebateServices:
                eyes: Eyes = AgentEyes(settings, _network(settings, terms.about), store)
                return DebateServices(eyes, model(terms.tokens))

            yield services


class AgentEyes:
    """Sees the chain by the agent's own endpoints."""

    def __init__(self, settings: Settings, network: Network, store: Store) -> None:
        self._settings = settings
        self._network = network
        self._store = store

    async def observe_position(self, token_id: int, profile: RiskProfile) -> MarketContext:
        async with self._sources() as sources:
            return await ChainObserver(sources).observe_position(token_id, profile)

    async def survey(self, goal: CreateGoal, owner: str, profile: RiskProfile) -> CreateContext:
        async with self._sources() as sources:
            return await ChainObserver(sources).survey(goal, owner, profile)

    async def position_past(self, token_id: int) -> PositionPast:
        async with self._sources() as sources:
            return await ChainObserver(sources).position_past(token_id)

    @asynccontextmanager
    async def _sources(self) -> AsyncIterator[Sources]:
        settings, network = self._settings, self._network
        endpoints = settings.endpoints_for(network)
        if not endpoints:
            raise StageFailedError(
                f"The Scout has no endpoint for {network.title}. Its settings.toml takes one "
                f"under [rpc]."
            )
        async with RpcClient(network, endpoints) as client:
            if network.testnet:
                yield Sources(client, network, self._store, None, time.time)
                return
            chosen = CoinGeckoSettings(settings.coingecko_url, settings.coingecko_key)
            async with CoinGecko(chosen) as coingecko:
                yield Sources(client, network, self._store, coingecko, time.time)


def _network(settings: Settings, name: str) -> Network:
    """The one a desk asks about; without its word, the agent's own."""
    try:
        return network_named(name) if name else settings.chosen_network()
    except UnknownNetworkError as error:
        raise StageFailedError(str(error)) from None
