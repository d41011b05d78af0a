"""Pools that mean harm, through the real commands: each refused or handled, and said why."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

import pytest

from chain.base.store import Store
from chain.contracts.networks import network_named
from chain.devnet.world.deployment import EXIT_GUARD, SUBSCRIBER
from chain.execution.exit_tax import kept_back
from chain.execution.outbox.delivery import Route
from chain.execution.plan.facts import Span, position_facts
from chain.execution.plan.requests import ReRangeRequest
from chain.positions.overview import Sources
from chain.protocols.reference import v4_position
from chain.rpc.client import RpcClient
from tests.zuno_tui.conftest import CommandLine
from tests.zuno_tui.gate.desk import REFUSED, Desk
from tests.zuno_tui.gate.hostile_code import ALWAYS_REVERTS, BURNS_ALL_GAS, consenting_code
from tests.zuno_tui.gate.hostile_world import (
    EXIT_TAX,
    IMPLEMENTATIONS,
    HostileWorld,
    hostile_world,
)
from zuno_tui.gate.actions.action import Action, TargetKind, read_subject
from zuno_tui.gate.agreement import Connections
from zuno_tui.gate.limits import gate_limits
from zuno_tui.gate.prepare import Prepared, prepare
from zuno_tui.gate.refusal import GateRefusedError
from zuno_tui.settings.schema import LimitsTable

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path
    from typing import Any

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


def _drilled(desk: Desk, token_id: int) -> dict[str, Any]:
    drill = desk.here("exit-drill", "--json").data
    return next(one for one in drill["positions"] if one["tokenId"] == str(token_id))


def test_a_tax_on_leaving_is_told_before_and_kept_to(desk: Desk, world: HostileWorld) -> None:
    world.tax(200)
    untaxed = int(desk.positions()[str(world.taxed)]["amount0"])

    approval = desk.approved("close", str(world.taxed))
    drilled = _drilled(desk, world.taxed)
    inspected = desk.here("inspect", str(world.taxed))
    applied = desk.apply(approval["planId"], "--confirm", approval["hash"], "--json")

    (warning,) = approval["warnings"]
    assert warning.startswith("The pool's hook keeps ")
    assert warning.endswith(" WETH of what comes out, 2.00% of it.")
    assert (drilled["open"], drilled["warnings"]) == (True, [warning])
    assert "It can keep a part of what you take out." in inspected.out
    assert applied.code == 0, applied.words
    assert applied.data["realised"] == approval["quoted"]
    weth = approval["tokens"][0]
    assert int(approval["quoted"][weth]) == untaxed - untaxed * 200 // 10_000


def test_a_tax_that_rises_after_the_approval_is_drift(desk: Desk, world: HostileWorld) -> None:
    world.tax(100)
    approval = desk.approved("close", str(world.taxed))
    before = desk.nonce()

    unchanged = desk.refused(approval["planId"])
    world.tax(99)
    lower = desk.refused(approval["planId"])
    world.tax(101)
    higher = desk.refused(approval["planId"], "--confirm", approval["hash"])

    assert "no terminal" in unchanged.words, "nothing but the typed word is missing"
    assert "no terminal" in lower.words
    assert "that comes out: 1.00% when approved, 1.01% now" in higher.words
    assert desk.nonce() == before


def test_a_tax_past_the_minimums_is_refused_with_its_size(desk: Desk, world: HostileWorld) -> None:
    before = desk.nonce()
    approval = desk.approved("close", str(world.taxed))
    world.tax(1_000)

    refused = desk.here("close", str(world.taxed))
    late = desk.refused(approval["planId"], "--confirm", approval["hash"])
    drilled = _drilled(desk, world.taxed)

    assert (refused.code, refused.out) == (REFUSED, "")
    for said in (refused.words, late.words, drilled["words"]):
        assert "% less than the least that is asked for" in said
        assert "the pool's hook keeps a part" in said
        assert "zuno inspect" in said
    assert not drilled["open"]
    assert desk.nonce() == before


def test_a_door_shut_after_the_approval_stays_shut(desk: Desk) -> None:
    token_id = desk.token_id("hooked")
    approval = desk.approved("close", str(token_id))
    before = desk.nonce()
    desk.ask("zuno_setHookFlag", True)

    late = desk.refused(approval["planId"], "--confirm", approval["hash"])

    assert "the pool's hook 0x6A7d…c200 refuses it" in late.words
    assert "only whoever runs the hook can change that" in late.words
    assert desk.nonce() == before


def test_a_hook_whose_code_changed_is_left_only_after_another_look(
    desk: Desk, world: HostileWorld
) -> None:
    token_id = str(desk.token_id("hooked"))
    early = desk.approved("close", token_id)
    world.set_code(EXIT_GUARD, consenting_code(0))

    late = desk.refused(early["planId"], "--confirm", early["hash"])
    again = desk.approved("close", token_id)
    applied = desk.apply(again["planId"], "--confirm", again["hash"])

    assert "hook code: 0x" in late.words
    assert "Approve it again" in late.words
    assert applied.code == 0, applied.words


def test_an_upgrade_behind_a_proxy_is_a_change_of_code(desk: Desk, world: HostileWorld) -> None:
    token_id = str(world.upgradeable)
    early = desk.approved("close", token_id)
    confirmed = (early["planId"], "--confirm", early["hash"])
    before = desk.nonce()

    unchanged = desk.refused(early["planId"])
    world.upgrade(IMPLEMENTATIONS[1])
    named_anew = desk.refused(*confirmed)
    world.upgrade(IMPLEMENTATIONS[0])
    world.set_code(IMPLEMENTATIONS[0], consenting_code(7))
    rewritten = desk.refused(*confirmed)

    assert "no terminal" in unchanged.words, "nothing but the typed word is missing"
    assert "hook code: 0x" in named_anew.words
    assert "hook code: 0x" in rewritten.words
    assert desk.nonce() == before
    assert "Its owner can replace its code." in desk.here("inspect", token_id).out


def test_a_subscriber_that_refuses_everything_is_dismissed_first(
    desk: Desk, world: HostileWorld
) -> None:
    token_id = str(desk.token_id("stable"))
    world.set_code(SUBSCRIBER, BURNS_ALL_GAS)
    costly = desk.approved("close", token_id)
    world.set_code(SUBSCRIBER, ALWAYS_REVERTS)

    approval = desk.approved("close", token_id)
    applied = desk.apply(approval["planId"], "--confirm", approval["hash"], "--json")

    for each in (costly, approval):
        assert [one["step"] for one in each["transactions"]] == ["unsubscribe", "exit"]
        assert f"Dismiss the subscriber of position #{token_id}." in each["words"][0]
    assert applied.code == 0, applied.words
    assert token_id not in desk.positions()


def test_a_pool_that_takes_everything_can_be_left(desk: Desk, world: HostileWorld) -> None:
    held = desk.positions()[str(world.whole_fee)]
    approval = desk.approved("close", str(world.whole_fee))

    assert approval["warnings"] == []
    paid = [approval["quoted"][token] for token in approval["tokens"]]
    assert paid == [held["amount0"], held["amount1"]]


async def _moved(desk: Desk, token_id: int, limits: LimitsTable) -> Prepared:
    """A narrower range in the same pool, as far as the gate lets it come."""
    network = network_named("devnet")
    async with RpcClient(network, (desk.devnet.url,)) as client:
        sources = Sources(client, network, Store.in_memory(), None, time.time)
        subject = await read_subject(sources, TargetKind(ref=v4_position(token_id)))
        assert subject is not None
        assert subject.position is not None
        facts = position_facts(subject.position)
        spacing = facts.pool.key.tick_spacing
        span = Span(facts.span.tick_lower + spacing, facts.span.tick_upper - spacing)
        key = facts.pool.key
        action = Action(
            "plan",
            "Move",
            ReRangeRequest(facts, span, None),
            subject,
            (key.currency0, key.currency1),
        )
        return await prepare(
            sources,
            Connections(Route(client)),
            action,
            desk.devnet.wallet,
            limits=gate_limits(limits, network),
            notional_today=0,
            pins=sources.store,
        )


async def test_a_pool_that_takes_everything_is_not_entered(desk: Desk, world: HostileWorld) -> None:
    with pytest.raises(GateRefusedError, match=r"takes 100% of every swap.*zuno close") as refused:
        await _moved(desk, world.whole_fee, LimitsTable())

    assert "past the 5%" in str(refused.value)


async def test_a_hook_that_may_tax_is_entered_only_by_its_name_in_the_settings(
    desk: Desk, world: HostileWorld
) -> None:
    with pytest.raises(GateRefusedError, match=r"is dangerous.*allowed_hooks"):
        await _moved(desk, world.taxed, LimitsTable())
    with pytest.raises(GateRefusedError, match="is dangerous"):
        await _moved(desk, world.taxed, LimitsTable(allowed_hooks=(EXIT_GUARD,)))

    world.tax(10)
    moved = await _moved(desk, world.taxed, LimitsTable(allowed_hooks=(EXIT_TAX,)))

    assert [step.transaction.step for step in moved.steps] == ["move"]
    (kept,) = kept_back(moved.steps, moved.simulation, moved.action.subject.positions)
    assert (kept.by_hook, kept.millionths) == (True, 1_000)
