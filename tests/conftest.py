"""What every test shares: one embedded chain a worker, and the large counts left to `make soak`."""

from __future__ import annotations

import asyncio
import gc
import sys
from contextlib import suppress
from importlib import import_module
from pathlib import Path
from types import FunctionType, ModuleType
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import settings

from chain.base.other_curves import without_other_curves
from tests import node_rpc
from tests.chain_view import give_chains_back
from tests.embedded_chain import embedded_chain
from tests.environment import set_environment
from tests.fork_server import ROOT
from tests.virtual_time import VirtualLoop

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from chain.devnet.launch import DevnetReady

# Before anything that reads it while it is imported, and before any child.
set_environment()

# How long one example takes says more about the machine than about the code.
settings.register_profile("soak", deadline=None)
# The same examples every time: what draws others, and many more, is `make soak`.
settings.register_profile("test", settings.get_profile("soak"), derandomize=True)


def pytest_configure(config: pytest.Config) -> None:
    settings.load_profile("soak" if _is_soak(config) else "test")


def _is_soak(config: pytest.Config) -> bool:
    return "soak" in str(config.getoption("-m"))


def pytest_asyncio_loop_factories(
    item: pytest.Item,
) -> dict[str, Callable[[], asyncio.AbstractEventLoop]]:
    """Hours pass at once, but for whoever tests processes, terminals or sockets."""
    is_real = item.get_closest_marker("real_time") is not None
    return {"loop": asyncio.new_event_loop if is_real else VirtualLoop}


@pytest.fixture(scope="session")
def devnet() -> Iterator[DevnetReady]:
    """The small world, paused; a test that changes it takes the change back."""
    with embedded_chain() as ready:
        _SHARED[ready.url] = _head_hash(ready.url)
        yield ready
        del _SHARED[ready.url]


_SHARED: dict[str, str] = {}
"""By address of the shared chain the block it began with."""


@pytest.fixture(scope="module", autouse=True)
def _chain_left_by_module() -> Iterator[None]:
    """What a module's own fixtures leave on the shared chain would be another module's surprise."""
    yield
    for url, began in _SHARED.items():
        assert _head_hash(url) == began, "this module left blocks on the shared chain"


@pytest.fixture(autouse=True)
def _chain_left_as_found(request: pytest.FixtureRequest) -> Iterator[None]:
    """Blocks that a test leaves on the chain it shares are taken back, whoever forgot them."""
    if "devnet" not in request.fixturenames:
        yield
        return
    url = request.getfixturevalue("devnet").url
    taken, head = node_rpc.ask(url, "evm_snapshot"), _head_hash(url)
    yield
    # Not by the number: after a reorganisation another block may have it.
    if _head_hash(url) != head or not node_rpc.is_at_rest(url):
        node_rpc.take_back(url, taken)


def _head_hash(url: str) -> str:
    """Empty where blocks were taken away for good, which no snapshot brings back."""
    block = node_rpc.ask(url, "eth_getBlockByNumber", "latest", False)
    return "" if block is None else str(block["hash"])


@pytest.fixture(autouse=True)
def _nobody_left_alone() -> Iterator[None]:
    """A server that asked to be left alone may be another one on the same port in the next test."""
    yield
    if (http := sys.modules.get("chain.prices.market_http")) is not None:
        http.RESTING.clear()


@pytest.fixture(autouse=True)
def _chains_given_back() -> Iterator[None]:
    """A node with the small world that a test took for itself serves the next one."""
    yield
    give_chains_back()


@pytest.fixture
def lightly_encrypted(monkeypatch: pytest.MonkeyPatch) -> None:
    """A key that is kept in a file costs thousands of steps, not hundreds of thousands."""
    from eth_keyfile import keyfile

    encrypt = keyfile.create_keyfile_json

    def lightly(*given: Any, **named: Any) -> object:
        return encrypt(*given, **{**named, "iterations": 2**12})

    monkeypatch.setattr(keyfile, "create_keyfile_json", lightly)


# Whoever waits for terminals, processes and clocks goes first, so that no worker is left alone
# with one of them at the end.
_LONG_FIRST = (
    "tests/zuno_tui/gate/",
    "tests/agents/mesh/test_processes.py",
    "tests/zuno_tui/real_terminal/",
    "tests/zuno_tui/commands/",
    "tests/zuno_tui/app/",
    "tests/zuno_tui/test_",
    "tests/zuno_tui/screen/test_looks.py",
    "tests/zuno_tui/prompt/",
    "tests/test_architecture.py",
    "tests/zuno_tui/",
    "tests/test_",
    "tests/agents/",
    "tests/chain/",
)


# For `make quick`: tests that compute, and start neither a chain nor an app nor a child.
_PURE = tuple(
    f"tests/{room}/{name}/"
    for room, names in {
        "agents": ("backtest", "calibration", "memory", "numbers", "scorecard", "trade"),
        "chain": ("base", "bookkeeping", "contracts", "math", "positions", "prices", "tokens"),
        "zuno_tui": ("charts", "prompt", "settings", "shown"),
    }.items()
    for name in names
)
_NOT_PURE = (
    # matplotlib asks `fc-list` for fonts when it is first used in a home.
    "tests/zuno_tui/charts/test_trade_chart.py",
    "tests/zuno_tui/present/test_card_terms.py",
    "tests/zuno_tui/prompt/test_say.py",
)
_STARTING_FIXTURES = {"devnet", "live_world", "sdk", "served", "zuno"}
_STARTING_MODULES = {
    *("subprocess", "multiprocessing", "multiprocessing.context"),
    *("tests.chain_view", "tests.embedded_chain", "tests.fork_server", "tests.small_contracts"),
    "tests.sdk.reference",
}
_STARTING = {"subprocess.Popen", "os.fork", "os.forkpty", "os.posix_spawn"}


def _only_pure(config: pytest.Config) -> bool:
    return bool(config.getoption("-m") == "pure")


def _in_pure_folder(place: str) -> bool:
    return place.startswith(_PURE) and not place.startswith(_NOT_PURE)


def _is_pure(item: pytest.Item) -> bool:
    """By where it is, by the fixtures it asks for, and by what its module takes from others."""
    assert isinstance(item, pytest.Function)
    if not _in_pure_folder(item.nodeid) or not _STARTING_FIXTURES.isdisjoint(item.fixturenames):
        return False
    values = vars(item.module).values()
    sources = {getattr(value, "__module__", None) or "" for value in values}
    sources |= {value.__name__ for value in values if isinstance(value, ModuleType)}
    return sources.isdisjoint(_STARTING_MODULES)


def _refuse_to_start(event: str, _arguments: tuple[object, ...]) -> None:
    if event in _STARTING:
        pytest.fail(f"a pure test starts nothing ({event}): see tests/conftest.py")


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    if not _only_pure(config) or collection_path.suffix != ".py":
        return None
    return True if not _in_pure_folder(_place(collection_path)) else None


def pytest_pycollect_makeitem(collector: pytest.Collector, obj: object) -> list[pytest.Item] | None:
    """Large counts are not made by every worker, only to be left out."""
    marks: list[pytest.Mark] = getattr(obj, "pytestmark", None) or []
    if _is_soak(collector.config) or not isinstance(obj, FunctionType):
        return None
    return [] if any(mark.name == "soak" for mark in marks) else None


def pytest_collection(session: pytest.Session) -> None:
    """Workers import the tests from different places on, so that each file is compiled by one."""
    worker: dict[str, Any] | None = getattr(session.config, "workerinput", None)
    if worker is None:
        return
    with without_other_curves():
        import_module("eth_account")
    folders = [Path(place) for place in session.config.args]
    files = sorted(file for folder in folders for file in folder.glob("**/test_*.py"))
    if _only_pure(session.config):
        files = [file for file in files if _in_pure_folder(_place(file))]
    number = int(worker["workerid"].removeprefix("gw"))
    start = len(files) * number // worker["workercount"]
    for file in files[start:] + files[:start]:
        name = _place(file).removesuffix(".py").replace("/", ".")
        # One that cannot be imported, or skips itself, says so when it is collected.
        with suppress(Exception, pytest.skip.Exception):
            import_module(name)


def _place(file: Path) -> str:
    return file.absolute().relative_to(ROOT).as_posix()


def _turn(item: pytest.Item) -> int:
    turns = (turn for turn, place in enumerate(_LONG_FIRST) if item.nodeid.startswith(place))
    return next(turns, len(_LONG_FIRST))


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    items.sort(key=_turn)
    for item in items:
        if _is_pure(item):
            item.add_marker("pure")
    if _is_soak(config):
        return
    config.hook.pytest_deselected(items=[item for item in items if "soak" in item.keywords])
    items[:] = [item for item in items if "soak" not in item.keywords]


def pytest_collection_finish(session: pytest.Session) -> None:
    """Thousands of tests and what they import stay to the end: nobody need look through them."""
    if _only_pure(session.config) and (
        hasattr(session.config, "workerinput") or not session.config.getoption("numprocesses")
    ):
        sys.addaudithook(_refuse_to_start)
    gc.collect()
    gc.freeze()
    # Libraries that tests import at their top raise it; the product keeps it where it loads them.
    sys.setrecursionlimit(1_000)
