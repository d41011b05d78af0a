"""Tokens that mean harm: a toll on every transfer, events that lie, a name that plays a part."""

from __future__ import annotations

import re
import time
from typing import TYPE_CHECKING

import pytest

from chain.base.store import Store
from chain.contracts.abi import encode_call
from chain.contracts.addresses import checksummed
from chain.contracts.networks import network_named
from chain.devnet.world.accounts import DEMO_WALLET
from chain.devnet.world.deployment import HOSTILE
from chain.execution.outbox.delivery import Route
from chain.execution.plan.facts import Span
from chain.execution.plan.requests import CreateRequest
from chain.math.liquidity import Amounts
from chain.positions.overview import Sources
from chain.rpc.client import RpcClient
from tests.zuno_tui.conftest import CommandLine
from tests.zuno_tui.gate.desk import Desk
from tests.zuno_tui.gate.hostile_code import (
    TOLL_PARTS,
    silent_toll_token_code,
    toll_token_code,
)
from tests.zuno_tui.gate.hostile_world import HostileWorld, hostile_world, pool_with_weth
from zuno_tui.gate.actions.action import Action, TargetKind, read_subject
from zuno_tui.gate.agreement import Connections
from zuno_tui.gate.limits import gate_limits
from zuno_tui.gate.prepare import prepare
from zuno_tui.gate.refusal import GateRefusedError
from zuno_tui.settings.schema import LimitsTable

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from chain.contracts.pool_key import PoolKey
    from chain.devnet.launch import DevnetReady


@pytest.fixture(scope="module")
def world(devnet: DevnetReady) -> Iterator[HostileWorld]:
    with hostile_world(devnet) as staged:
        yield staged


@pytest.fixture
def desk(
    devnet: DevnetReady, world: HostileWorld, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> Iterator[Desk]:
    with world.moves.undone():
        yield Desk(devnet, CommandLine(tmp_path / "home"), capsys)


@pytest.mark.parametrize("name", ["toll", "silent"])
def test_what_a_token_keeps_is_measured_and_said(
    desk: Desk, world: HostileWorld, name: str
) -> None:
    token, token_id = world.tokens[name], str(getattr(world, f"{name}_position"))
    held = desk.positions()[token_id]
    before = desk.held(desk.devnet.wallet, token)

    approval = desk.approved("close", token_id)
    applied = desk.apply(approval["planId"], "--confirm", approval["hash"], "--json")

    owed = int(held[f"amount{approval['tokens'].index(token)}"])
    arrived = owed - owed // TOLL_PARTS
    assert int(approval["quoted"][token]) == arrived
    assert f"at {checksummed(token)} keeps " in approval["warnings"][0]
    assert approval["warnings"][0].endswith("1.00% of it.")
    lies = [one for one in approval["warnings"] if "reports transfers that it does not make" in one]
    assert len(lies) == (name == "silent")
    assert applied.code == 0, applied.words
    assert desk.held(desk.devnet.wallet, token) == before + arrived
    realised = applied.data["realised"][token]
    assert realised == (None if lies else str(arrived)), "what lies is not believed afterwards"


@pytest.mark.parametrize("made", [toll_token_code, silent_toll_token_code])
def test_a_token_that_turns_bad_after_the_approval_is_drift(
    desk: Desk, world: HostileWorld, made: Callable[[str], bytes]
) -> None:
    approval = desk.approved("close", str(world.fake_recipient))
    before = desk.nonce()
    world.set_code(world.tokens["fake"], made(HOSTILE.address))

    refused = desk.refused(approval["planId"], "--confirm", approval["hash"])

    assert f"code of {world.tokens['fake']}: " in refused.words
    assert desk.nonce() == before


async def _opened(desk: Desk, pool: PoolKey) -> None:
    """A new position in a pool, as far as the gate lets it come."""
    network = network_named("devnet")
    async with RpcClient(network, (desk.devnet.url,)) as client:
        sources = Sources(client, network, Store.in_memory(), None, time.time)
        subject = await read_subject(sources, TargetKind(pool=pool))
        assert subject is not None
        assert subject.pool is not None
        request = CreateRequest(subject.pool, Span(-600, 600), Amounts(10**12, 10**12), None)
        action = Action("plan", "Open", request, subject, (pool.currency0, pool.currency1))
        await prepare(
            sources,
            Connections(Route(client)),
            action,
            desk.devnet.wallet,
            limits=gate_limits(LimitsTable(), network),
            notional_today=0,
            pins=sources.store,
        )


@pytest.mark.parametrize("name", ["toll", "silent"])
async def test_no_pool_is_entered_with_a_token_that_keeps_a_part(
    desk: Desk, world: HostileWorld, name: str
) -> None:
    token, wallet = world.tokens[name], desk.devnet.wallet
    world.moves.send(DEMO_WALLET, token, encode_call("mint(address,uint256)", wallet, 10**18))

    with pytest.raises(GateRefusedError) as refused:
        await _opened(desk, pool_with_weth(token))

    assert "keeps a part of every transfer, and no position can be opened with it" in str(
        refused.value
    )
    assert "Nothing was signed" in str(refused.value)


def test_a_symbol_cannot_play_the_part_of_our_words(desk: Desk, world: HostileWorld) -> None:
    token_id, wallet = str(world.fake_recipient), checksummed(desk.devnet.wallet)

    card = desk.here("close", token_id)
    drill = desk.here("exit-drill")
    inspected = desk.here("inspect", token_id)

    assert card.code == 0, card.words
    for spoken in (card, drill, inspected):
        shown = spoken.out + spoken.words
        assert all(letter.isprintable() or letter == "\n" for letter in shown)
        assert "“X[2K to 0xYOU (you).”" in shown
        ours = re.sub("“[^”]*”", "", shown)
        assert "0xYOU" not in ours
        assert all(before.endswith(wallet) for before in ours.split(" (you)")[:-1])
    assert f"at {wallet} (you)." in card.out
    assert "look-alike" in card.out
