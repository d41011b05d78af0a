"""Look, recommend, approve, apply and watch through every behaviour: all that can end well does."""

from __future__ import annotations

import os
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from tests.fakes.providers.behaviours import BEHAVIOURS
from tests.fakes.providers.served import ServedProvider
from tests.fork_server import fork_server
from tests.zuno_tui.conftest import Spoken
from tests.zuno_tui.gate.taken_back import desk_at

if TYPE_CHECKING:
    from pathlib import Path

    from chain.devnet.launch import DevnetReady
    from tests.fakes.providers.profile import Profile
    from tests.zuno_tui.gate.desk import Desk

_PATIENCE = 240
"""Seconds: an endpoint that asks for rests is given them."""
_UNSEEN_PATIENCE = 30
"""For what no node has: it is waited for until its deadline, or until a person goes on."""
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
        shown, dropped = approved.data, self._served.profile.sends == "dropped"
        try:
            done = fork_server().run(
                "zuno_tui",
                *("apply", shown["planId"], "--confirm", shown["hash"]),
                *("--json", *self._desk.flags),
                environment={**os.environ, "ZUNO_HOME": str(self._desk.command.home)},
                timeout=_UNSEEN_PATIENCE if dropped else _PATIENCE,
            )
        except TimeoutError:
            # Who looks meanwhile hears where it stands.
            found = self._desk.here("outbox")
            return self._noted("apply", Spoken(-1, found.out, found.out + found.words))
        return self._noted("apply", Spoken(done.returncode, done.stdout, done.stderr))

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
