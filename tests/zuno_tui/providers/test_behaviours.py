"""Look, recommend, approve, apply and watch through every behaviour: all that can end well does."""

import os
import time
from dataclasses import replace
from pathlib import Path

import pytest

from chain.devnet.launch import DevnetReady
from tests.fakes.providers.behaviours import BEHAVIOURS
from tests.fakes.providers.profile import Profile
from tests.fakes.providers.served import ServedProvider
from tests.fork_server import fork_server
from tests.waiting import HUNG_SECONDS, pauses
from tests.zuno_tui.conftest import Spoken
from tests.zuno_tui.gate.desk import Desk
from tests.zuno_tui.gate.taken_back import desk_at

_PATIENCE = 240
"""Seconds: an endpoint that asks for rests is given them."""
IMPOSSIBLE = {
    "daily quota": "is used up",
    "402 after 12": "wants to be paid",
    "without a key": "refused access",
    "answers after 30 s": "did not finish its answer within",
    "send: 403": "zuno outbox resume",
    "send: dropped": "no endpoint has it",
}
"""What is said where no patience helps."""
A_SLICE = (
    "plain",
    "403 17 %",
    "null blocks 25 %",
    "no logs: -32005",
    "ids as text",
    "402 after 12",
)


class Walk:
    """One person's commands through one endpoint, each with what it asked for."""

    def __init__(self, desk: Desk, served: ServedProvider) -> None:
        self._desk, self._served = replace(desk, rpc=served.url), served
        self.cells: list[str] = []
        self.troubles: list[tuple[str, str]] = []

    def here(self, name: str, *words: str) -> Spoken:
        self._served.provider.forget_counts()
        spoken = self._desk.here(*words)
        return self._noted(name, spoken)

    def apply(self, approved: Spoken) -> Spoken | None:
        if approved.code != 0:
            return None
        self._served.provider.forget_counts()
        words = ("apply", approved.data["planId"], "--confirm", approved.data["hash"])
        words = (*words, "--json", *self._desk.flags)
        environment = {**os.environ, "ZUNO_HOME": str(self._desk.command.home)}
        if self._served.profile.sends == "dropped":
            return self._noted("apply", self._unseen(words, environment))
        done = fork_server().run("zuno_tui", *words, environment=environment, timeout=_PATIENCE)
        return self._noted("apply", Spoken(done.returncode, done.stdout, done.stderr))

    def _unseen(self, words: tuple[str, ...], environment: dict[str, str]) -> Spoken:
        """What no node has is waited for; who looks meanwhile hears where it stands."""
        with Path(os.devnull).open("r+") as nothing:
            process = fork_server().start(
                "zuno_tui", *words, environment=environment, files=[nothing.fileno()] * 3
            )
        for pause in pauses("the word of a dropped transaction"):
            found = self._desk.here("outbox")
            if IMPOSSIBLE["send: dropped"] in found.out + found.words:
                break
            time.sleep(pause)
        process.kill()
        process.ended(HUNG_SECONDS)
        return Spoken(-1, found.out, found.out + found.words)

    def _noted(self, name: str, spoken: Spoken) -> Spoken:
        provider = self._served.provider
        self.cells.append(f"{provider.requests}/{provider.calls}{'' if not spoken.code else ' ✗'}")
        if spoken.code:
            self.troubles.append((name, spoken.words))
        return spoken


def _walked(
    profile: Profile, devnet: DevnetReady, folder: Path, capsys: pytest.CaptureFixture[str]
) -> Walk:
    with (
        desk_at(devnet, folder, capsys) as desk,
        ServedProvider(profile, devnet.url) as served,
    ):
        desk.ask("evm_mine")
        walk = Walk(desk, served)
        token_id = str(desk.token_id("near the edge"))
        walk.here("positions", "positions", "--json")
        walk.here("recommend", "recommend", token_id, "--deterministic", "--json")
        walk.apply(walk.here("approve", "collect", str(desk.token_id("transferred in")), "--json"))
        walk.here("monitor", "monitor", "--once")
    with capsys.disabled():
        print(f"{profile.name:<22}{' · '.join(walk.cells)}", flush=True)  # noqa: T201
    return walk


def _judged(walk: Walk, profile: Profile) -> None:
    words = IMPOSSIBLE.get(profile.name)
    if words is None:
        assert walk.troubles == []
        return
    assert walk.troubles
    for name, said in walk.troubles:
        assert words in said, (name, said)


@pytest.mark.parametrize(
    "profile", [one for one in BEHAVIOURS if one.name in A_SLICE], ids=lambda one: one.name
)
def test_some_behaviours(
    profile: Profile, devnet: DevnetReady, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    _judged(_walked(profile, devnet, tmp_path, capsys), profile)


@pytest.mark.soak
@pytest.mark.parametrize("profile", BEHAVIOURS, ids=lambda one: one.name)
def test_every_behaviour(
    profile: Profile, devnet: DevnetReady, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Positions, recommend, approve, apply, monitor: HTTP requests / calls of each."""
    _judged(_walked(profile, devnet, tmp_path, capsys), profile)
