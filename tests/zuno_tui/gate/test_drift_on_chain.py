"""Every kind of drift made on the chain between `approve` and `apply`, at its edge and in sizes."""

from __future__ import annotations

from typing import TYPE_CHECKING

import httpx2
import pytest

from chain.networks import network_named
from tests.chain.moves import Moves
from tests.fakes.proxy import Proxy
from tests.zuno_tui.conftest import CommandLine
from tests.zuno_tui.gate.desk import Desk
from tests.zuno_tui.gate.drift_kinds import KINDS, LET_THROUGH, Drifting

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from chain.devnet.launch import DevnetReady

EDGE, MANY = 2, 50


@pytest.fixture
def moves(devnet: DevnetReady) -> Iterator[Moves]:
    with httpx2.Client() as http:
        made = Moves(http, devnet.url, network_named("devnet"))
        with made.undone():
            yield made


@pytest.fixture
def desk(devnet: DevnetReady, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Desk:
    return Desk(devnet, CommandLine(tmp_path / "home"), capsys)


@pytest.fixture
def proxy(devnet: DevnetReady) -> Iterator[Proxy]:
    with Proxy(devnet.url) as between:
        yield between


def _judged(drifting: Drifting, kind: str, sizes: int) -> Iterator[tuple[str, bool, bool]]:
    """The size, whether it may pass, and whether it did; a refusal tells before and after."""
    for change in drifting.changes(kind, sizes):
        words = drifting.verdict(kind, change)
        passed = LET_THROUGH in words
        if not passed:
            (told,) = [line for line in words.splitlines() if line.startswith(f"  {kind}: ")]
            assert " when approved, " in told
            assert told.endswith(" now")
            assert "Nothing was sent." in words
        yield change.size, change.allowed, passed


@pytest.mark.parametrize("state", KINDS)
def test_each_is_let_through_at_its_bound_and_refused_one_past_it(
    state: str, desk: Desk, moves: Moves, proxy: Proxy
) -> None:
    drifting = Drifting.approved(state, desk, moves, proxy)
    before = desk.nonce()

    for kind in KINDS[state]:
        judged = [(allowed, passed) for _, allowed, passed in _judged(drifting, kind, EDGE)]
        assert judged[:2] == [(True, True), (False, False)], kind
        assert judged[2:] in ([], [(True, True), (False, False)]), kind
    assert desk.nonce() == before


@pytest.mark.soak
@pytest.mark.parametrize(
    ("state", "kind"), [(state, kind) for state, kinds in KINDS.items() for kind in kinds]
)
def test_fifty_sizes_of_each_have_the_verdict_specified(
    state: str,
    kind: str,
    desk: Desk,
    moves: Moves,
    proxy: Proxy,
    capsys: pytest.CaptureFixture[str],
) -> None:
    drifting = Drifting.approved(state, desk, moves, proxy)
    before = desk.nonce()

    judged = list(_judged(drifting, kind, MANY))

    let = [size for size, _, passed in judged if passed]
    held = [size for size, _, passed in judged if not passed]
    wrong = [size for size, allowed, passed in judged if allowed != passed]
    with capsys.disabled():
        print(  # noqa: T201 - the table it is to show
            f"{kind:20} {len(judged)} sizes: {len(let):2} let through (to {let[0]}), "
            f"{len(held):2} refused (from {held[0]}), {len(wrong)} otherwise than specified"
        )
    assert len(judged) == MANY
    assert wrong == []
    assert desk.nonce() == before
