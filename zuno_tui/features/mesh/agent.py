"""`zuno agent ROLE`: listens for desks, plays its role, and writes down what it heard and sent."""

import asyncio
import os
import signal
import sys
import time
from argparse import Namespace
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import msgspec
from msgspec.structs import replace

from agents.bus.envelope import CLI, Envelope, FlowFailed, FlowTerms, Payload, Role, Thought
from agents.bus.host import AgentHost
from agents.bus.record import running_versions
from agents.bus.worker import Ambient, StageFailedError
from agents.lp.debate import LP_FLOW
from agents.lp.facts import CreateContext, CreateGoal, IntoGoal, MarketContext, PastFacts
from agents.lp.observe import ChainObserver
from agents.lp.services import DebateServices, Eyes
from agents.mesh.endpoint import MeshEndpoint
from agents.mesh.joining import join_mesh
from agents.mesh.peers import PEER_FILE, MeshFileError, Peer
from agents.mesh.transport import AgentTransport
from agents.model.budget import Budget
from agents.model.connection import ModelConnections
from agents.model.interface import Model
from agents.monitor.heartbeat import Supervisor
from agents.numbers.rules import RiskProfile
from chain.base.clean_text import clean_text
from chain.base.errors import error_kind
from chain.base.home import Home, locked_if_free
from chain.base.store import Store
from chain.contracts.networks import Network, UnknownNetworkError, network_named
from chain.positions.overview import Sources
from chain.prices.coingecko import CoinGecko, CoinGeckoSettings
from chain.protocols.reference import PositionRef
from chain.rpc.client import RpcClient
from zuno_tui.present.document import parts
from zuno_tui.present.exit_codes import DONE, FAILED
from zuno_tui.settings import Flags, Settings, SettingsError, load_settings
from zuno_tui.settings.debates import DebateSettings, debate_settings


@asynccontextmanager
async def agent_services(
    home: Home, settings: Settings, debates: DebateSettings
) -> AsyncIterator[Callable[[str, FlowTerms], DebateServices]]:
    """Makes what a request is worked on with, for as long as the block lasts."""
    home.prepare()
    store, _ = Store.open(home.database, now=time.time())
    with store:
        async with ModelConnections() as connections:
            if debates.model is not None:
                await connections.load(debates.model)

            def model(tokens: int | None) -> Model | None:
                if debates.model is None:
                    return None
                from agents.model.abilities import AbilityMemory
                from agents.model.client import OpenAIModel

                own = debates.limits.debate_tokens
                both = [limit for limit in (own, tokens) if limit is not None]
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

    async def observe_position(
        self, ref: PositionRef, profile: RiskProfile, into: IntoGoal | None = None
    ) -> MarketContext:
        async with self._sources() as sources:
            return await ChainObserver(sources).observe_position(ref, profile, into)

    async def survey(self, goal: CreateGoal, owner: str, profile: RiskProfile) -> CreateContext:
        async with self._sources() as sources:
            return await ChainObserver(sources).survey(goal, owner, profile)

    async def position_past(self, ref: PositionRef) -> PastFacts:
        async with self._sources() as sources:
            return await ChainObserver(sources).position_past(ref)

    @asynccontextmanager
    async def _sources(self) -> AsyncIterator[Sources]:
        settings, network = self._settings, self._network
        endpoints = settings.endpoints_for(network)
        if not endpoints:
            raise StageFailedError(
                f"The Scout has no endpoint for {network.title}. Its settings.toml takes one "
                f"under [rpc]."
            )
        async with RpcClient(network, endpoints, limits=settings.request_limits) as client:
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


DEFAULT_FOLDER = ".zuno-mesh"
_ENDING = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)
_LOCK = "agent.lock"
_MOST_SAID = 2_000
_BETWEEN_LOOKS = 2.0
"""Seconds between two looks at the peer file."""
_PATIENCE = 30.0
"""Seconds that an agent waits for its NATS server, which may be starting too."""


def agent_folder(arguments: Namespace) -> Path:
    """Its own home, which is never the desk's."""
    chosen: Path | None = arguments.home
    folder = chosen or Path.home() / DEFAULT_FOLDER / str(arguments.role)
    return folder.expanduser().absolute()


def run(arguments: Namespace) -> int:
    folder = agent_folder(arguments)
    home = Home(folder, folder / "cache")
    home.require_own()
    if home.keystore.exists():
        raise MeshFileError(
            f"{folder} holds a wallet's keystore, and an agent has no business near one. "
            "Give it a folder of its own: zuno mesh init"
        )
    flags = Flags(arguments.network, arguments.rpc, None, None)
    settings = load_settings(home.settings, os.environ, flags)
    debates = debate_settings(
        settings, os.environ, profile=None, deterministic=arguments.deterministic
    )
    if debates.model is not None and any(model.keyring_name for model in debates.model.each()):
        raise SettingsError(
            "An agent does not open the system's keyring. "
            'Give its model\'s key by the environment: key = "env:NAME"',
            "model.key",
        )
    with locked_if_free(folder / _LOCK) as free:
        if not free:
            sys.stderr.write(f"Another process plays {arguments.role} from {folder} already.\n")
            return FAILED
        while True:
            known = _book_of(folder)
            if asyncio.run(_play(Role(arguments.role), home, settings, debates, known)):
                return DONE


def _book_of(folder: Path) -> bytes:
    try:
        return (folder / PEER_FILE).read_bytes()
    except OSError:
        return b""


async def _until_peers_change(folder: Path, known: bytes) -> None:
    changed = False
    while not changed:
        await asyncio.sleep(_BETWEEN_LOOKS)
        changed = _book_of(folder) not in (known, b"")
    _log({"event": "the peer file has changed"})


async def _play(
    role: Role, home: Home, settings: Settings, debates: DebateSettings, known: bytes
) -> bool:
    """Whether it was told to end; else the peer file has changed, and it begins again by that."""
    versions = running_versions(LP_FLOW.package)
    asks = "" if debates.model is None else debates.model.of(role).model
    endpoint, me, member = join_mesh(home.root, versions, asks=asks, patience=_PATIENCE)
    if me.role != role:
        raise MeshFileError(
            f"The key in {home.root} is bound to {me.role}, not to {role}. "
            f"Run: zuno agent {me.role} --home {home.root}"
        )
    stop = asyncio.Event()
    for number in _ENDING:
        asyncio.get_running_loop().add_signal_handler(number, stop.set)
    supervisor = Supervisor.from_environment(os.environ)
    async with endpoint, agent_services(home, settings, debates) as services:
        transport = AgentTransport(
            endpoint, LP_FLOW.registry, role, clock=time.time, log=_log_message
        )
        host = AgentHost(
            LP_FLOW,
            role,
            transport,
            services,
            ambient=Ambient(time.time, lambda: "unused"),
            on_crash=_log_crash,
        )
        playing = asyncio.create_task(host.run(), name=f"play {role}")
        greeting = asyncio.create_task(_greet(endpoint, me), name="greet")
        _log(
            {
                "event": "ready",
                "role": role,
                **parts(me, "name", "key"),
                "engine": member.engine,
                **versions,
            }
        )
        supervisor.ready(f"plays {role}")
        waiting = asyncio.create_task(stop.wait(), name="stop")
        changing = asyncio.create_task(_until_peers_change(home.root, known), name="peers")
        tasks = (greeting, playing, waiting, changing)
        await asyncio.wait(tasks[1:], return_when=asyncio.FIRST_COMPLETED)
        again = changing.done() and not stop.is_set()
        if not again:
            supervisor.report_stop()
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        _log({"event": "stopped", "dropped": dict(endpoint.dropped)})
    return not again


async def _greet(endpoint: MeshEndpoint, me: Peer) -> None:
    """Tell everybody that this process is new, so that nobody waits for the one before it."""
    others = tuple(peer for peer in endpoint.book.peers if peer != me)
    met = await endpoint.meet(others, seconds=10.0)
    agents = [peer for peer in met if peer.role != CLI]
    _log({"event": "met", "peers": [peer.name for peer in agents]})


def _log_message(way: str, envelope: Envelope, peer: Peer) -> None:
    _log(
        {
            "event": way,
            "kind": envelope.kind,
            "request": envelope.request_id,
            "from": envelope.sender,
            "to": envelope.recipient,
            "peer": peer.name,
            **_said(envelope.payload),
            "bytes": len(envelope.wire),
            "hash": envelope.content_id[:16],
        }
    )


def _said(payload: Payload) -> dict[str, str]:
    """What a person would read of it; a proposal's figures are in the desk's record."""
    match payload:
        case Thought(text=words) | FlowFailed(reason=words) if words:
            return {"says": clean_text(words, limit=_MOST_SAID)}
        case _:
            return {}


def _log_crash(role: Role, error: Exception) -> None:
    # The error's text may hold a URL or a key: only its kind is written down.
    _log({"event": "crashed", "role": role, "error": error_kind(error)})


def _log(line: dict[str, object]) -> None:
    sys.stdout.buffer.write(msgspec.json.encode({"time": round(time.time(), 3), **line}) + b"\n")
    sys.stdout.buffer.flush()
