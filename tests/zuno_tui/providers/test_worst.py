"""Providers at their worst, by command: each ends with its answer or a sentence of its own."""

import asyncio
import io
import os
import re
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from dataclasses import dataclass, field, replace
from itertools import pairwise
from pathlib import Path

import pytest

from chain.devnet.launch import DevnetReady
from chain.read.logs import ScanProgress
from tests.fakes.providers.profile import Profile, RateLimit, Refusal
from tests.fakes.providers.served import ServedProvider, WallClock
from tests.fork_server import fork_server
from tests.printed import printed
from tests.virtual_time import VirtualLoop
from tests.waiting import HUNG_SECONDS
from tests.zuno_tui.conftest import CommandLine
from tests.zuno_tui.gate.desk import Desk
from tests.zuno_tui.gate.taken_back import desk_at
from tests.zuno_tui.providers.cells import ProviderWalk
from zuno_tui.app.positions import reading_progress
from zuno_tui.cli import main

LONGEST_SILENCE = 30.0
_USED_UP = Refusal(-32005, "daily request count exceeded, request rate limited")
_PAGE = Refusal(0, "<title>Welcome to nginx!</title>", page=True)
_NOTHING = Refusal(0, "", empty=True)
_LIMIT = "<title>Access denied</title> Error 1015 You are being rate limited"
MIDDLE = {"positions": 3, "portfolio": 3, "recommend": 6, "approve": 6, "apply": 18}
"""About half of the requests that each command needs."""


def _worst(name: str, **habits: object) -> Profile:
    return Profile(name, network="devnet", latency=0.0, **habits)  # type: ignore[arg-type]


WORST: tuple[Profile, ...] = (
    _worst("quota used up", quota=(0, _USED_UP)),
    _worst("quota in the middle"),
    _worst(
        "429, Retry-After",
        each_request=(4, Refusal(429, "Too Many Requests", 429, page=True, retry_after=1)),
    ),
    _worst("429", each_request=(4, Refusal(429, "Too Many Requests", 429, page=True))),
    _worst("429 always", each_request=(1, Refusal(429, "Too Many Requests", 429, page=True))),
    _worst(
        "1015 page",
        rate=RateLimit(10, 20, each_item=False, refusal=Refusal(1015, _LIMIT, 429, page=True)),
    ),
    _worst(
        "-32090",
        rate=RateLimit(
            10, 20, each_item=True, refusal=Refusal(-32090, "Too many requests, retry in 10s")
        ),
    ),
    _worst("1,000 blocks", most_blocks=1_000),
    _worst("10 blocks", most_blocks=10),
    _worst("few logs", most_logs=10),
    _worst("HTML", each_request=(1, _PAGE)),
    _worst("HTML now and then", some_requests=(0.2, _PAGE)),
    _worst("empty", each_request=(1, _NOTHING)),
    _worst("empty now and then", some_requests=(0.2, _NOTHING)),
    _worst("a block behind", share_behind=0.3),
    _worst("drops of a batch", drops_of_batch=True),
)
A_SLICE = ("quota in the middle", "1015 page", "empty", "drops of a batch")
ANSWERED = {
    *("429, Retry-After", "429", "1015 page", "-32090", "1,000 blocks", "10 blocks", "few logs"),
    *("HTML now and then", "empty now and then", "a block behind", "drops of a batch"),
}
"""Where patience or another way to ask gets the answer: a sentence would be too little."""


@dataclass
class Told(io.TextIOBase):
    """What is said, and when by the clock of the loop that runs."""

    words: str = ""
    at: list[tuple[int, float]] = field(default_factory=list)

    def write(self, text: str) -> int:
        try:
            loop = asyncio.get_running_loop()
            self.at.append((id(loop), loop.time()))
        except RuntimeError:
            pass
        self.words += text
        return len(text)


class _Remembered(asyncio.DefaultEventLoopPolicy):
    def __init__(self) -> None:
        super().__init__()
        self.loops: list[tuple[float, asyncio.AbstractEventLoop]] = []

    def new_event_loop(self) -> asyncio.AbstractEventLoop:
        here = threading.current_thread() is threading.main_thread()
        loop = VirtualLoop() if here else super().new_event_loop()
        self.loops.append((loop.time(), loop))
        return loop


class LastLoopsClock:
    """A rate refills while the command that runs waits."""

    @property
    def now(self) -> float:
        policy = asyncio.get_event_loop_policy()
        loops = policy.loops if isinstance(policy, _Remembered) else []
        return sum(loop.time() - began for began, loop in loops)

    @now.setter
    def now(self, _: float) -> None:
        """Nobody moves it."""


@contextmanager
def remembered() -> Iterator[_Remembered]:
    before, policy = asyncio.get_event_loop_policy(), _Remembered()
    asyncio.set_event_loop_policy(policy)
    try:
        yield policy
    finally:
        asyncio.set_event_loop_policy(before)


@dataclass(frozen=True)
class Cell:
    command: str
    code: int
    out: str
    words: str
    silence: float
    requests: int

    @property
    def text(self) -> str:
        mark = "" if self.code == 0 else " ✗"
        return f"{self.command} {self.requests}, {self.silence:.0f} s{mark}"


def here(desk: Desk, served: ServedProvider, name: str, *words: str) -> Cell:
    out, told = io.StringIO(), Told()
    arguments = [*words, "--network", "devnet", "--rpc", served.url]
    with remembered() as policy, redirect_stdout(out), redirect_stderr(told):
        code = main([*arguments, "--home", str(desk.command.home)])
    silences = [0.0]
    for began, loop in policy.loops:
        said = [moment for known, moment in told.at if known == id(loop)]
        moments = [began, *said, loop.time()]
        silences += [after - before for before, after in pairwise(moments)]
    return Cell(name, code, out.getvalue(), told.words, max(silences), served.provider.requests)


def applied(desk: Desk, served: ServedProvider, *words: str) -> Cell:
    """In a process of its own, by the wall's clock."""
    read, write = os.pipe()
    began, said, longest = time.monotonic(), b"", 0.0
    with Path(os.devnull).open("r+") as nothing:
        process = fork_server().start(
            "zuno_tui",
            *("apply", *words, "--network", "devnet", "--rpc", served.url),
            environment={**os.environ, "ZUNO_HOME": str(desk.command.home)},
            files=[nothing.fileno(), nothing.fileno(), write],
        )
    os.close(write)
    while chunk := os.read(read, 4_096):
        now = time.monotonic()
        longest, began, said = max(longest, now - began), now, said + chunk
    os.close(read)
    code = process.ended(HUNG_SECONDS)
    longest = max(longest, time.monotonic() - began)
    assert code is not None
    return Cell("apply", code, "", said.decode(), longest, served.provider.requests)


def row(profile: Profile, devnet: DevnetReady, folder: Path, capture: object) -> list[Cell]:
    assert isinstance(capture, pytest.CaptureFixture)
    cells = []
    with desk_at(devnet, folder, capture) as desk:
        if profile.most_blocks:
            desk.ask("anvil_mine", hex(3 * profile.most_blocks), "0x1")
        ids = {state: str(desk.token_id(state)) for state in ("near the edge", "transferred in")}
        commands = {
            "positions": ("positions", "--json"),
            "portfolio": ("portfolio", "--json"),
            "recommend": ("recommend", ids["near the edge"], "--deterministic", "--json"),
            "approve": ("collect", ids["transferred in"], "--json"),
        }
        for name, words in commands.items():
            fresh = replace(desk, command=CommandLine(folder / name))
            with served_for(profile, name, devnet) as served:
                cells.append(here(fresh, served, name, *words))
        shown = desk.approved("collect", ids["transferred in"])
        with served_for(profile, "apply", devnet) as served:
            cells.append(applied(desk, served, shown["planId"], "--confirm", shown["hash"]))
    with capture.disabled():
        print(f"{profile.name:<20}{' · '.join(cell.text for cell in cells)}", flush=True)  # noqa: T201
    return cells


@contextmanager
def served_for(profile: Profile, command: str, devnet: DevnetReady) -> Iterator[ServedProvider]:
    if profile.name == "quota in the middle":
        profile = replace(profile, quota=(MIDDLE[command], _USED_UP))
    clock = WallClock() if command == "apply" else LastLoopsClock()
    with ServedProvider(profile, devnet.url, clock=clock) as served:
        yield served


def judge(cells: list[Cell], profile: Profile) -> None:
    for cell in cells:
        about = (profile.name, cell)
        assert "nexpected" not in cell.words, about
        assert "Traceback" not in cell.words, about
        assert "0.0 s" not in cell.words, about
        assert cell.silence <= LONGEST_SILENCE, about
        assert cell.code in (0, 1, 3, 4), about
        # A program reads the reason in the document.
        assert cell.code == 0 or "zuno " in cell.words or '"trouble": "' in cell.out, about
        if profile.name in ANSWERED:
            assert cell.code == 0, about


@pytest.mark.parametrize(
    "profile", [each for each in WORST if each.name in A_SLICE], ids=lambda each: each.name
)
def test_some_of_the_worst(
    profile: Profile, devnet: DevnetReady, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    judge(row(profile, devnet, tmp_path, capsys), profile)


@pytest.mark.soak
@pytest.mark.parametrize("profile", WORST, ids=lambda each: each.name)
def test_all_of_the_worst(
    profile: Profile, devnet: DevnetReady, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Requests of each command, and its longest silence in virtual seconds; apply's are real."""
    judge(row(profile, devnet, tmp_path, capsys), profile)


NEVER_ANSWERED = (
    *(("positions",), ("portfolio", "--json"), ("recommend", "27", "--deterministic")),
    *(("collect", "27"), ("pools",), ("history", "27"), ("order", "close", "27", "below", "9")),
    *(("wallet", "delegate"), ("range", "27")),
)


def heard_from(words: tuple[str, ...], flags: tuple[str, ...]) -> tuple[int, str, float]:
    """How it ended, what it said, and its longest silence."""
    command = (sys.executable, "-m", "zuno_tui", *words, *flags)
    said, longest, before = b"", 0.0, time.monotonic()
    # As a person has it, who has not said how long to wait.
    given = {name: value for name, value in os.environ.items() if name != "ZUNO_ANSWER_SECONDS"}
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, env=given
    ) as process:
        assert process.stdout is not None
        while chunk := os.read(process.stdout.fileno(), 4_096):
            now = time.monotonic()
            longest, before, said = max(longest, now - before), now, said + chunk
    return process.returncode, said.decode(), longest


@pytest.mark.soak
def test_one_that_never_answers_is_given_up_in_a_sentence(tmp_path: Path) -> None:
    """By the wall's clock, two at a time."""
    with socket.create_server(("127.0.0.1", 0)) as silent, ThreadPoolExecutor(2) as pool:
        flags = ("--network", "devnet", "--rpc", f"http://127.0.0.1:{silent.getsockname()[1]}")
        asked = [
            pool.submit(heard_from, words, (*flags, "--home", str(tmp_path / str(place))))
            for place, words in enumerate(NEVER_ANSWERED)
        ]
        ended = [future.result() for future in asked]

    longest = max(silence for *_, silence in ended)
    for (code, words, silence), asked_for in zip(ended, NEVER_ANSWERED, strict=True):
        printed(f"{' '.join(asked_for)}: silent for at most {silence:.1f} s")
        assert "Waiting for 127.0.0.1" in words, (asked_for, words)
        assert "did not finish its answer" in " ".join(words.split()), (asked_for, words)
        assert code == 4, (asked_for, words)
    printed(f"an endpoint that never answers: the longest silence was {longest:.1f} s")


def test_a_reading_in_parts_never_tells_less_than_before() -> None:
    told: list[str] = []
    seconds = iter(range(0, 100_000, 100))
    hear = reading_progress(told.append, lambda: next(seconds))
    for first, scanned, found in ((0, 39, 7), (0, 79, 9), (50, 54, 1), (50, 94, 12)):
        hear(ScanProgress(first, 99, scanned, found))

    assert [words.split(".")[0].split(": ")[1] for words in told] == [
        "40%, 7 so far",
        "80%, 9 so far",
        "80%, 9 so far",
        "90%, 12 so far",
    ]


@pytest.mark.soak
async def test_a_busy_pool_is_read_cold_in_ranges_of_a_thousand_blocks(
    capsys: pytest.CaptureFixture[str],
) -> None:
    """420,000 swaps: 60,000 a day, in a week of 302,400 blocks."""
    profile = Profile("1,000 blocks", most_blocks=1_000, most_logs=10_000)
    walk = ProviderWalk(profile, [20.0], 60_000)
    cold = await walk.cost(walk.recommend)
    walk.clock.now += 600
    warm = await walk.cost(walk.recommend)
    with capsys.disabled():
        print(f"cold {cold.text}, ten minutes later {warm.text}")  # noqa: T201

    assert (cold.sentence, warm.sentence) == (None, None)
    assert cold.requests < 200
    assert cold.seconds < 60
    assert warm.requests <= 10


@pytest.mark.soak
async def test_a_busy_pool_is_read_cold_though_every_other_request_is_refused(
    capsys: pytest.CaptureFixture[str],
) -> None:
    """The same week, with 429 for half of the requests and no word of when to come back."""
    refusal = Refusal(429, "Too Many Requests", 429, page=True)
    habits: dict[str, object] = {"most_blocks": 1_000, "most_logs": 10_000}
    profile = Profile("429 for half", each_request=(2, refusal), **habits)  # type: ignore[arg-type]
    walk = ProviderWalk(profile, [20.0], 60_000)
    cold = await walk.cost(walk.recommend)
    parts = [int(share) for words in walk.told for share in re.findall(r": (\d+)%", words)]
    walk.clock.now += 600
    warm = await walk.cost(walk.recommend)
    with capsys.disabled():
        print(f"cold {cold.text}, {len(parts)} lines of progress; later {warm.text}")  # noqa: T201

    assert (cold.sentence, warm.sentence) == (None, None)
    assert parts == sorted(parts)
    assert len(parts) > 10
    assert cold.seconds < 2_400
    assert warm.seconds < 60
