"""A whole mesh in processes of its own: nodes or a server, four agents, and a desk in this one."""

import json
import os
import shutil
import signal
import socket
import subprocess
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from agents.bus.envelope import FlowFailed
from agents.bus.run import Listener, SpokenTurn
from agents.lp.debate import LP_FLOW
from agents.lp.payloads import CRITIC, FlowStart
from agents.mesh.layout import DESK, MeshPlan, lay_out, planned_members
from agents.mesh.peers import Engine
from agents.numbers.rules import RiskProfile
from chain.base.home import Home, cache_folder
from chain.base.strict_json import canonical
from chain.contracts.networks import network_named
from chain.devnet.launch import DevnetReady
from chain.protocols.reference import v4_position
from tests.fork_server import ForkedProcess, fork_server
from tests.waiting import HUNG_SECONDS, wait_until
from zuno_tui.app.agent_places import AgentPlaces
from zuno_tui.app.debate_setup import Debated, Debating, debate
from zuno_tui.app.session import Session
from zuno_tui.settings import Settings
from zuno_tui.settings.debates import debate_settings


def nats_program() -> str | None:
    """A real server: where one is named, on the path, or where `make nats-server` puts it."""
    for one in (os.environ.get("ZUNO_NATS_SERVER"), shutil.which("nats-server")):
        if one:
            return one
    installed = cache_folder(os.environ) / "bin" / "nats-server"
    return str(installed) if installed.exists() else None


def free_ports(count: int) -> list[int]:
    sockets = [socket.socket() for _ in range(count)]
    for one in sockets:
        one.bind(("127.0.0.1", 0))
    ports = [one.getsockname()[1] for one in sockets]
    for one in sockets:
        one.close()
    return ports


@dataclass
class Mesh:
    """The processes of a mesh, by the names of its members."""

    folder: Path
    engine: Engine
    devnet: DevnetReady
    critics: int = 1
    agents: dict[str, ForkedProcess] = field(default_factory=dict)
    nodes: dict[str, ForkedProcess] = field(default_factory=dict)
    server: subprocess.Popen[bytes] | None = None
    server_port: int = 0
    environment: dict[str, str] = field(default_factory=dict)

    @property
    def home(self) -> Home:
        return Home(self.folder / "home", self.folder / "cache")

    def member_folder(self, name: str) -> Path:
        return self.home.root / "mesh" if name == DESK else self.folder / "members" / name

    def lay_out(self) -> None:
        members = planned_members(LP_FLOW.handlers, {}, critics=self.critics, critic=CRITIC)
        [self.server_port] = free_ports(1)
        server = f"nats://127.0.0.1:{self.server_port}"
        plan = MeshPlan("zuno", self.engine, members, 9600, server)
        folders = {member.name: self.member_folder(member.name) for member in members}
        self.home.prepare()
        lay_out(plan, folders)
        if self.engine is Engine.AXL:
            self._choose_ports([member.name for member in members])
        self.names = [member.name for member in members if member.name != DESK]
        self.roles = {member.name: str(member.role) for member in members}

    def _choose_ports(self, names: list[str]) -> None:
        ports = free_ports(2 * len(names))
        listens = [f"tls://127.0.0.1:{port}" for port in ports[len(names) :]]
        for index, name in enumerate(names):
            folder = self.member_folder(name)
            config = json.loads((folder / "node.json").read_bytes())
            config |= {"api_port": ports[index], "Listen": [listens[index]]}
            config["Peers"] = listens[:index]
            (folder / "node.json").write_text(json.dumps(config))
            member = json.loads((folder / "member.json").read_bytes())
            member["url"] = f"http://127.0.0.1:{ports[index]}"
            (folder / "member.json").write_text(json.dumps(member))

    def start_node(self, name: str) -> None:
        config = str(self.member_folder(name) / "node.json")
        self.nodes[name] = self._start(name, "tests.fakes.axl.node", "-config", config)

    def start_agent(self, name: str, *options: str) -> None:
        folder = str(self.member_folder(name))
        arguments = ("agent", self.roles[name], "--home", folder, *options)
        self.agents[name] = self._start(name, "zuno_tui", *arguments)

    def start_server(self) -> None:
        program = nats_program()
        assert program is not None
        store = self.folder / "nats"
        place = ("-a", "127.0.0.1", "-p", str(self.server_port))
        self.server = subprocess.Popen(
            [program, *place, "-js", "-sd", str(store)],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        _wait_until_listening(self.server_port)

    def stop_server(self) -> None:
        if self.server is not None:
            self.server.terminate()
            self.server.wait()

    def start(self) -> None:
        if self.engine is Engine.AXL:
            for name in (DESK, *self.names):
                self.start_node(name)
        else:
            self.start_server()
        for name in self.names:
            self.start_agent(name)
        for name in self.names:
            self.wait_until_ready(name)

    def wait_until_ready(self, name: str, times: int = 1) -> None:
        wait_until(lambda: self.log(name).count('"event":"ready"') >= times, lambda: self.log(name))

    def log(self, name: str) -> str:
        path = self.folder / f"{name}.log"
        return path.read_text() if path.exists() else ""

    def kill_agent(self, name: str) -> None:
        _end(self.agents[name])

    def restart_agent(self, name: str) -> None:
        """Kill it if it still lives, start it anew, and wait until it plays its part."""
        before = self.log(name).count('"event":"ready"')
        self.kill_agent(name)
        self.start_agent(name)
        self.wait_until_ready(name, before + 1)

    def restart_way(self) -> None:
        """The server, or where there is none a node that others go through."""
        if self.engine is Engine.NATS:
            self.stop_server()
            self.start_server()
        else:
            self.restart_nodes(self.names[1])

    def restart_nodes(self, *names: str) -> None:
        for name in names:
            _end(self.nodes[name])
            self.start_node(name)
        for name in names:
            _wait_until_listening(self._api_port(name))

    def _api_port(self, name: str) -> int:
        port: int = json.loads((self.member_folder(name) / "node.json").read_bytes())["api_port"]
        return port

    def spoil(self, **faults: float) -> None:
        """Make the way bad at every node."""
        for name in self.nodes:
            url = f"http://127.0.0.1:{self._api_port(name)}/faults"
            request = urllib.request.Request(url, json.dumps(faults).encode(), method="POST")
            urllib.request.urlopen(request).close()

    def stop(self) -> None:
        for process in (*self.agents.values(), *self.nodes.values()):
            _end(process)
        if self.server is not None and self.server.poll() is None:
            self.server.kill()
            self.server.wait()

    def _start(self, name: str, module: str, *arguments: str) -> ForkedProcess:
        environment = {
            "PATH": os.environ.get("PATH", ""),
            "HOME": str(self.folder),
            "ZUNO_RPC": self.devnet.url,
            "ZUNO_NETWORK": "devnet",
            "ZUNO_DETERMINISTIC": "true",
            **self.environment,
        }
        with ExitStack() as stack:
            stdin = stack.enter_context(Path(os.devnull).open())
            log = stack.enter_context((self.folder / f"{name}.log").open("ab"))
            files = [stdin.fileno(), log.fileno(), log.fileno()]
            return fork_server().start(module, *arguments, environment=environment, files=files)


def _end(process: ForkedProcess) -> None:
    if process.ended(0) is None:
        process.kill()
        process.ended(HUNG_SECONDS)


def _wait_until_listening(port: int) -> None:
    wait_until(lambda: is_listening(port), f"port {port}")


def is_listening(port: int) -> bool:
    try:
        socket.create_connection(("127.0.0.1", port)).close()
    except OSError:
        return False
    return True


@contextmanager
def running_mesh(
    folder: Path, engine: Engine, devnet: DevnetReady, *, critics: int = 1
) -> Iterator[Mesh]:
    mesh = Mesh(folder, engine, devnet, critics)
    mesh.lay_out()
    try:
        mesh.start()
        yield mesh
    finally:
        mesh.stop()


def session_on(home: Home, devnet: DevnetReady, told: list[str] | None = None) -> Session:
    network = network_named("devnet")
    settings = Settings(
        network="devnet", address=devnet.wallet, endpoints={network.name: (devnet.url,)}
    )
    said = [] if told is None else told
    return Session(home, settings, network, as_json=False, narrate=said.append)


@dataclass(frozen=True)
class Held:
    debated: Debated
    places: list[AgentPlaces]
    prose: list[tuple[str, str]]
    """Words as they were heard while they were written, and "" for every turn that ended."""

    @property
    def plan_bytes(self) -> bytes:
        plan = self.debated.ended.plan
        assert plan is not None, self.debated.ended.failure
        return canonical(plan.model_dump(mode="json", by_alias=True))

    @property
    def transcript(self) -> list[tuple[str, str]]:
        return [(turn.role, turn.thought.text) for turn in self.debated.ended.transcript]

    @property
    def failure(self) -> FlowFailed | None:
        return self.debated.ended.failure


async def hold(
    session: Session,
    token_id: int,
    transport: str,
    request_id: str,
    *,
    profile: RiskProfile = RiskProfile.BALANCED,
    on_places: Callable[[AgentPlaces], None] = lambda _: None,
    on_turn: Callable[[SpokenTurn], None] = lambda _: None,
) -> Held:
    """One debate about a position, on the record in the session's home."""
    settings = debate_settings(
        session.settings, {}, profile=profile.value, deterministic=True, transport=transport
    )
    places: list[AgentPlaces] = []
    prose: list[tuple[str, str]] = []

    def spoken(turn: SpokenTurn) -> None:
        prose.append((turn.role, ""))
        on_turn(turn)

    listener = Listener(
        on_turn=spoken,
        on_prose=lambda role, text: prose.append((role, text)),
    )

    def told(place: AgentPlaces) -> None:
        places.append(place)
        on_places(place)

    debating = Debating(session, settings, request_id, listener, lambda _role, _error: None, told)
    start = FlowStart(
        token_id=v4_position(token_id), profile=profile, max_rounds=settings.max_rounds
    )
    async with session.sources() as sources:
        return Held(await debate(debating, sources, start), places, prose)


def terminate(process: ForkedProcess) -> int | None:
    os.kill(process.pid, signal.SIGTERM)
    return process.ended(10)
