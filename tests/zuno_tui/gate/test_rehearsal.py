"""Rehearsals: what they foretell is what apply then does, and what cannot be copied is said."""

import json
import os
import signal
import socket
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from tests.fakes.proxy import Answer, Call, Proxy
from tests.fork_server import fork_server
from tests.samples import some_of
from tests.waiting import HUNG_SECONDS, wait_until
from tests.zuno_tui.gate.desk import Desk

FAILED, REFUSED, NETWORK = 1, 3, 4

pytestmark = pytest.mark.real_time  # a node of its own copies what an endpoint still has
STATE_READS = ("eth_getStorageAt", "eth_getCode", "eth_getBalance")


@pytest.fixture
def desk(desk: Desk) -> Iterator[Desk]:
    yield desk
    assert not _copies(), "a copy of the chain is left behind"


def _copies() -> list[int]:
    """Nodes of ours that copy a chain."""
    found = []
    for place in Path("/proc").glob("[0-9]*"):
        try:
            words = (place / "cmdline").read_bytes().split(b"\0")
        except OSError:
            continue
        if b"--fork-url" in words and not _of_another_worker(int(place.name)):
            found.append(int(place.name))
    return found


def _of_another_worker(pid: int) -> bool:
    """Whether it descends from a process that tests beside this one, of this run or another."""
    while pid not in (0, 1, os.getpid()):
        try:
            parent = int(
                (Path("/proc") / str(pid) / "stat").read_text().rpartition(")")[2].split()[1]
            )
            words = (Path("/proc") / str(parent) / "cmdline").read_bytes()
        except OSError:
            return False
        if parent == os.getppid() or (parent != os.getpid() and b"pytest" in words):
            return True
        pid = parent
    return False


def _ordered(desk: Desk, recipe: tuple[str, ...]) -> dict[str, Any]:
    """What is approved for a recipe, its positions named by their state."""
    words = [str(desk.token_id(word[1:])) if word.startswith("@") else word for word in recipe]
    ordered = desk.approved(*words)
    # A range of one's own is a plan first, as a recommended one is.
    if words[0] != "move":
        return ordered
    return desk.approved("approve", ordered["planId"], "--candidate", "A")


RECIPES: dict[str, tuple[str, ...]] = {
    "collect": ("collect", "@native"),
    "collect with a hook": ("collect", "@hooked"),
    "close": ("close", "@below its range"),
    "close of two coins": ("close", "@transferred in"),
    "close native": ("close", "@native"),
    "decrease": ("decrease", "@healthy", "40"),
    "decrease stable": ("decrease", "@stable", "10"),
    "compound": ("compound", "@healthy"),
    "compound native": ("compound", "@native"),
    "increase": ("increase", "@healthy", "0.5 WETH"),
    "wrap": ("wrap", "1.5"),
    "unwrap": ("unwrap", "0.25"),
    "swap": ("swap", "0.3", "WETH", "USDC"),
    "swap back": ("swap", "500", "USDC", "WETH"),
    "move": ("move", "@below its range", "2800", "3300"),
    "move dynamic": ("move", "@dynamic fee", "2600", "3700"),
    "move above": ("move", "@above its range", "2700", "3500"),
    "move healthy": ("move", "@healthy", "2700", "3400"),
    "move near the edge": ("move", "@near the edge", "2700", "3500"),
    "close stable": ("close", "@stable"),
}
QUICK = ("close native", "move")


def _agrees(desk: Desk, recipe: str) -> None:
    approval = _ordered(desk, RECIPES[recipe])
    rehearsed = desk.here("rehearse", approval["planId"], "--json")
    assert rehearsed.code == 0, (rehearsed.words, rehearsed.out)
    foretold = rehearsed.data
    nonce = desk.nonce()
    applied = desk.apply_here(
        approval["planId"], "--confirm", approval["hash"], "--json", "--anyway"
    )
    assert applied.code == 0, applied.words
    done = applied.data

    assert foretold["asApproved"] is True
    assert nonce + len(done["transactions"]) == desk.nonce()
    for fact in ("realised", "newTokenId"):
        assert foretold[fact] == done[fact], fact
    for fact in ("step", "state", "gasUsed"):
        assert [one[fact] for one in foretold["transactions"]] == [
            one[fact] for one in done["transactions"]
        ]
    if foretold["position"] is not None:
        token_id = foretold["position"]["tokenId"]
        afterwards = desk.here("inspect", token_id, "--json").data
        for fact in ("liquidity", "tickLower", "tickUpper", "owner"):
            assert foretold["position"][fact] == afterwards[fact], fact


@pytest.mark.parametrize("recipe", QUICK)
def test_what_is_foretold_is_what_apply_does(desk: Desk, recipe: str) -> None:
    _agrees(desk, recipe)


@pytest.mark.soak
@pytest.mark.parametrize("recipe", [name for name in RECIPES if name not in QUICK])
def test_every_recipe_is_foretold(desk: Desk, recipe: str) -> None:
    _agrees(desk, recipe)


def test_a_chain_that_moved_on_shows_the_difference(desk: Desk) -> None:
    approval = _ordered(desk, RECIPES["close native"])
    position = desk.positions()[str(desk.token_id("native"))]
    desk.raise_price(position["poolId"], bips=-30)

    rehearsed = desk.here("rehearse", approval["planId"], "--json")

    assert rehearsed.code == FAILED
    assert rehearsed.data["asApproved"] is False


def test_without_an_approval_there_is_nothing_to_rehearse(desk: Desk) -> None:
    assert desk.here("rehearse").code == REFUSED


def _through(desk: Desk, proxy: Proxy, *arguments: str) -> Any:
    from dataclasses import replace

    return replace(desk, rpc=proxy.url).here(*arguments)


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        ({"error": {"code": -32000, "message": "missing trie node 0xab (path )"}}, "block"),
        ({"status": 503}, "block"),
    ],
    ids=["prunes its state", "is overloaded"],
)
def test_an_endpoint_that_cannot_be_copied_is_said_and_leaves_nothing(
    desk: Desk, answer: Answer, words: str
) -> None:
    approval, nonce = _ordered(desk, RECIPES["collect"]), desk.nonce()

    def answers(call: Call) -> Answer | None:
        return answer if call["method"] in STATE_READS else None

    with Proxy(desk.devnet.url, answers) as proxy:
        spoken = _through(desk, proxy, "rehearse", approval["planId"])

    assert spoken.code == FAILED, spoken
    assert words in spoken.words
    assert "Nothing was signed or sent" in spoken.words
    assert "a-key-that-is-never-shown" not in spoken.words
    assert desk.nonce() == nonce


def test_an_endpoint_that_dies_midway_is_said(desk: Desk) -> None:
    approval = _ordered(desk, RECIPES["move"])
    asked = 0

    def dies(call: Call) -> Answer | None:
        nonlocal asked
        asked += call["method"] in STATE_READS
        return {"status": 0} if asked > 25 else None

    with Proxy(desk.devnet.url, dies) as proxy:
        spoken = _through(desk, proxy, "rehearse", approval["planId"])

    assert spoken.code in (FAILED, NETWORK), spoken
    assert spoken.out == ""


def test_nothing_is_sent_through_the_door_and_no_key_is_on_a_command_line(desk: Desk) -> None:
    approval = _ordered(desk, RECIPES["collect"])
    lines: list[bytes] = []

    def looks(_call: Call) -> Answer | None:
        for pid in _copies():
            lines.append((Path("/proc") / str(pid) / "cmdline").read_bytes())
        return None

    with Proxy(desk.devnet.url, looks) as proxy:
        assert _through(desk, proxy, "rehearse", approval["planId"]).code == 0
        assert not {name for name in proxy.asked if "send" in name.lower()}

    assert lines
    assert not any(b"a-key-that-is-never-shown" in line for line in lines)


def _port(pid: int) -> int | None:
    """Where the process listens; None where it does not yet."""
    sockets = set()
    with suppress(OSError):
        for each in (Path("/proc") / str(pid) / "fd").iterdir():
            with suppress(OSError):
                sockets.add(str(each.readlink()).removeprefix("socket:[").removesuffix("]"))
    rows = (line.split() for line in Path("/proc/net/tcp").read_text().splitlines()[1:])
    ports = [
        int(row[1].partition(":")[2], 16) for row in rows if row[3] == "0A" and row[9] in sockets
    ]
    return ports[0] if ports else None


_COIN, _WORD = "0x" + "11" * 20, "0x" + "00" * 31 + "01"


MEDDLING: list[tuple[object, ...]] = [
    ("anvil_setBalance", (_COIN, "0x7")),
    ("anvil_setStorageAt", (_COIN, "0x0", _WORD)),
    ("hardhat_setCode", (_COIN, "0x60")),
    ("anvil_setNonce", (_COIN, "0x9")),
    ("evm_increaseTime", (3_600,)),
    ("anvil_setLoggingEnabled", (False,)),
]


@pytest.mark.parametrize(("method", "params"), some_of(MEDDLING, 2, seed=44))
def test_state_that_another_program_set_on_the_copy_is_noticed(
    desk: Desk, method: str, params: tuple[object, ...]
) -> None:
    approval = _ordered(desk, RECIPES["collect"])
    body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": method, "params": params})
    head = "POST / HTTP/1.1\r\nhost: x\r\ncontent-type: application/json"
    request = f"{head}\r\ncontent-length: {len(body)}\r\n\r\n{body}".encode()
    asked: list[socket.socket] = []

    def meddles(call: Call) -> Answer | None:
        """While the copy waits for a piece of state; its answer is not waited for."""
        for port in filter(None, map(_port, _copies())) if len(asked) < 3 else ():
            with suppress(OSError):
                asked.append(socket.create_connection(("127.0.0.1", port)))
                asked[-1].sendall(request)
        return None

    with Proxy(desk.devnet.url, meddles) as proxy:
        spoken = _through(desk, proxy, "rehearse", approval["planId"])
    for each in asked:
        each.close()

    assert asked
    assert (spoken.code, spoken.out) == (FAILED, ""), spoken
    assert "Another program changed the copy" in spoken.words


def test_killed_while_it_rehearses_leaves_no_node(desk: Desk) -> None:
    approval = _ordered(desk, RECIPES["move"])
    with Path(os.devnull).open("r+") as nothing:
        process = fork_server().start(
            "zuno_tui",
            *("rehearse", approval["planId"], *desk.flags),
            environment={**os.environ, "ZUNO_HOME": str(desk.command.home)},
            files=[nothing.fileno()] * 3,
        )
    wait_until(_copies)
    os.kill(process.pid, signal.SIGKILL)
    process.ended(HUNG_SECONDS)
    wait_until(lambda: not _copies())


def test_the_desk_opens_on_a_copy(desk: Desk) -> None:
    shown = desk.here("positions", "--json").data
    copied = desk.here("demo", "--fork", "--text", "--json")

    assert copied.code == 0, copied.words
    ids = {one["tokenId"]: one["liquidity"] for one in copied.data["positions"]}
    assert ids == {one["tokenId"]: one["liquidity"] for one in shown["positions"]}
