"""Somebody rewrote the journal and sealed it anew: nothing of it is signed, whoever confirms it."""

from collections.abc import Iterator
from pathlib import Path
from random import Random

import pytest

from chain.devnet.launch import DevnetReady
from tests import node_rpc
from tests.embedded_chain import embedded_chain
from tests.zuno_tui.conftest import CommandLine
from tests.zuno_tui.desk.sitting import Sitting, opening, sitting
from tests.zuno_tui.gate.desk import Desk
from tests.zuno_tui.gate.forging import (
    Forged,
    HonestHome,
    ThiefAtHome,
    forgeries_in_turn,
    honest_home,
    thief_at,
)
from zuno_tui.desk.events import ConfirmationAsked
from zuno_tui.intents.intents import Apply
from zuno_tui.present.views import ApprovalView

DONE = 0
KINDS = (
    "close", "close with a subscriber", "collect", "decrease", "increase", "increase in the coin",
    "move", "move with a swap", "create", "wrap", "revoke",
)  # fmt: skip
A_FEW, A_SLICE, ON_THE_PAGE = 14, 100, 5


@pytest.fixture(scope="module")
def chain() -> Iterator[DevnetReady]:
    """Of this file alone: what makes the approvals stays on it from test to test."""
    with embedded_chain() as ready:
        yield ready


@pytest.fixture(scope="module")
def homes() -> dict[Path, HonestHome]:
    """The one home of this module, once it is there: eleven approvals take their time."""
    return {}


@pytest.fixture
def thief(
    chain: DevnetReady,
    homes: dict[Path, HonestHome],
    tmp_path_factory: pytest.TempPathFactory,
    capsys: pytest.CaptureFixture[str],
) -> Iterator[ThiefAtHome]:
    folder = next(iter(homes), None) or tmp_path_factory.mktemp("forged") / "home"
    desk = Desk(chain, CommandLine(folder), capsys)
    if folder not in homes:
        homes[folder] = honest_home(desk, KINDS)
    with thief_at(desk, homes[folder]) as made:
        yield made


def _signed(thief: ThiefAtHome, random: Random, count: int) -> list[str]:
    """What was signed of so many forgeries, confirmed by the honest hash and by the forged one."""
    signed = []
    for forged in forgeries_in_turn(thief, random, count):
        for confirmed in (forged.honest_hash, forged.hash):
            spoken = thief.applied(forged, confirmed)
            if spoken.code == DONE or thief.signed():
                signed.append(f"{forged.kind}: {forged.what} (exit {spoken.code})")
                break
    assert thief.desk.nonce() == thief.nonce
    return signed


def test_no_forged_journal_is_signed_on_the_command_line(thief: ThiefAtHome) -> None:
    assert _signed(thief, Random(7), A_FEW) == []


@pytest.mark.soak
@pytest.mark.parametrize("number", range(10))
def test_none_of_a_thousand_forged_journals_is_signed(
    thief: ThiefAtHome, number: int, capsys: pytest.CaptureFixture[str]
) -> None:
    signed = _signed(thief, Random(1_000 + number), A_SLICE)

    with capsys.disabled():
        print(f"\nslice {number}: {A_SLICE} forged journals, {len(signed)} signed")  # noqa: T201
    assert signed == []


@pytest.mark.parametrize("kind", ["collect", "move with a swap", "revoke"])
def test_an_honest_approval_is_signed_and_sent(thief: ThiefAtHome, kind: str) -> None:
    """What the others rest on: only the forgery keeps them from being signed."""
    desk, approval = thief.desk, thief.approvals[kind]
    before = desk.ask("evm_snapshot")
    spoken = desk.here("apply", approval["planId"], "--confirm", approval["hash"])
    signed, nonce = thief.signed(), desk.nonce()
    thief.put_back()
    node_rpc.take_back(desk.devnet.url, before)

    assert spoken.code == DONE, spoken.words
    assert signed == thief.draft(kind).steps
    assert nonce == thief.nonce + len(signed)


async def _shown(sitting: Sitting, forged: Forged) -> ApprovalView | None:
    """The page that asks for the word; None when it did not open."""
    since = len(sitting.heard)
    await sitting.ask(Apply(forged.plan_id))
    await sitting.desk.idle()
    asked = [one for one in sitting.heard[since:] if isinstance(one, ConfirmationAsked)]
    return asked[-1].approval if asked else None


async def test_no_forged_journal_is_signed_on_the_page(thief: ThiefAtHome) -> None:
    home, random = thief.desk.command.home, Random(11)
    opened: list[str] = []
    async with sitting(opening(home, thief.desk.devnet.url)) as desk:
        await desk.desk.idle()
        for forged in forgeries_in_turn(thief, random, ON_THE_PAGE):
            view = await _shown(desk, forged)
            if view is None:
                continue
            opened.append(f"{forged.kind}: {forged.what}")
            await desk.desk.confirm(view.hash, "apply", None)
            await desk.desk.idle()
            opened += ["signed"] * len(thief.signed())
        honest = await _shown(desk, _honest(thief, "collect"))

    assert opened == []
    assert honest is not None, "what nobody changed is still shown"


def _honest(thief: ThiefAtHome, kind: str) -> Forged:
    approval = thief.approvals[kind]
    sealed = approval["hash"]
    return Forged(kind, approval["planId"], sealed, sealed, "nothing", ())
