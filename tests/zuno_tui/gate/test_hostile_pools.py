"""Pools, tokens and words that mean harm, through the real commands."""

import re
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from agents.monitor.deliver.channel import DELIVERY_LIMITS, ChannelRefused, Delayed
from agents.monitor.deliver.telegram import BotConnection
from chain.base.clean_text import OWN_MARKS, QUOTE_LIMIT
from chain.base.http import HttpAnswer
from chain.base.store import Store
from chain.contracts.abi import encode, encode_call, selector
from chain.contracts.addresses import checksum
from chain.contracts.networks import network_named
from chain.contracts.pool_key import PoolKey
from chain.devnet.launch import DevnetReady
from chain.devnet.world.accounts import DEMO_WALLET
from chain.devnet.world.deployment import EXIT_GUARD, HOSTILE, SUBSCRIBER, WETH
from chain.execution.exit_tax import kept_back
from chain.execution.outbox.delivery import Route
from chain.execution.plan.facts import position_facts
from chain.execution.plan.requests import CreateRequest, ReRangeRequest
from chain.math.drift import Span
from chain.math.liquidity import Amounts
from chain.positions.overview import Sources
from chain.protocols.reference import v4_position
from chain.rpc.client import RpcClient
from chain.rpc.endpoint import endpoints_of
from chain.rpc.requests import RequestLimits
from chain.rpc.wire import ServerError, typed_error
from chain.tokens.reading import unlisted_token
from tests.zuno_tui.conftest import CommandLine
from tests.zuno_tui.desk.sitting import opening, sitting
from tests.zuno_tui.gate.desk import REFUSED, Desk
from tests.zuno_tui.gate.hostile_code import (
    ALWAYS_REVERTS,
    BURNS_ALL_GAS,
    TOLL_PARTS,
    consenting_code,
    silent_toll_token_code,
    toll_token_code,
)
from tests.zuno_tui.gate.hostile_world import (
    EXIT_TAX,
    IMPLEMENTATIONS,
    UPGRADEABLE,
    HostileWorld,
    hostile_world,
    pool_with_weth,
)
from zuno_tui.commands.position_actions import ClosePosition
from zuno_tui.desk.events import Said
from zuno_tui.gate.actions.action import Action, TargetKind, read_subject
from zuno_tui.gate.agreement import Connections
from zuno_tui.gate.limits import gate_limits
from zuno_tui.gate.prepare import Prepared, prepare
from zuno_tui.gate.refusal import GateRefusedError
from zuno_tui.present.failures import explain_unexpected
from zuno_tui.settings.schema import LimitsTable


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
    applied = desk.apply_here(approval["planId"], "--confirm", approval["hash"], "--json")

    (warning,) = approval["warnings"]
    assert warning.startswith("The pool's hook keeps ")
    assert warning.endswith(" WETH of what comes out, 2.00% of it.")
    assert (drilled["open"], drilled["warnings"]) == (True, [warning])
    assert "It can keep part of what you withdraw." in inspected.out
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
    applied = desk.apply_here(again["planId"], "--confirm", again["hash"])

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
    applied = desk.apply_here(approval["planId"], "--confirm", approval["hash"], "--json")

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


@pytest.mark.parametrize("name", ["toll", "silent"])
def test_what_a_token_keeps_is_measured_and_said(
    desk: Desk, world: HostileWorld, name: str
) -> None:
    token, token_id = world.tokens[name], str(getattr(world, f"{name}_position"))
    held = desk.positions()[token_id]
    before = desk.held(desk.devnet.wallet, token)

    approval = desk.approved("close", token_id)
    applied = desk.apply_here(approval["planId"], "--confirm", approval["hash"], "--json")

    owed = int(held[f"amount{approval['tokens'].index(token)}"])
    arrived = owed - owed // TOLL_PARTS
    assert int(approval["quoted"][token]) == arrived
    assert f"at {checksum(token)} keeps " in approval["warnings"][0]
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
    token_id, wallet = str(world.fake_recipient), checksum(desk.devnet.wallet)

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


PADDED = (
    "slippage " * 5
    + "again. → #28 must leave its pool now. Press : and type close 28, then apply ·"
    + " ✓ checked by zuno. $ ▲ ✗ ● ! ” → done. “"
)
REASON = selector("Error(string)") + encode(("string",), (PADDED.encode(),))


def _reverting(data: bytes) -> bytes:
    """Code that answers every call with these bytes as its refusal."""
    copy_and_revert = bytes.fromhex(f"61{len(data):04x}80600c6000396000fd")
    return copy_and_revert + data


def _assert_quoted(words: str) -> None:
    said = re.findall("“([^”]*)”", words)
    assert said, words
    for inside in said:
        assert len(inside) <= QUOTE_LIMIT
        assert not any(ord(letter) in OWN_MARKS for letter in inside)
    ours = re.sub("“[^”]*”", "", words)
    for foreign in ("must leave", "checked by", "slippage slippage", "done."):
        assert foreign not in ours


def test_a_hooks_reason_cannot_write_a_hint_on_the_command_line(
    desk: Desk, world: HostileWorld
) -> None:
    world.set_code(UPGRADEABLE, _reverting(REASON))

    spoken = desk.here("close", str(world.upgradeable))

    assert (spoken.code, spoken.out) == (REFUSED, "")
    _assert_quoted(spoken.words)


async def test_nor_at_the_desk(desk: Desk, world: HostileWorld) -> None:
    world.set_code(UPGRADEABLE, _reverting(REASON))

    async with sitting(opening(desk.command.home, desk.devnet.url)) as person:
        await person.ask(ClosePosition((v4_position(world.upgradeable),)))
        told = await person.until(Said, lambda event: event.tone == "bad")

    _assert_quoted(told.words)


@pytest.mark.parametrize(
    ("method", "code", "message"),
    [
        ("eth_call", 3, "execution reverted"),
        ("eth_call", -32601, PADDED),
        ("eth_call", -32000, f"missing trie node {PADDED}"),
        ("eth_getLogs", -32005, f"block range {PADDED}"),
        ("eth_sendRawTransaction", -32000, f"nonce too low {PADDED}"),
        ("eth_sendRawTransaction", -32000, PADDED),
    ],
    ids=["reverted", "refused", "pruned", "range", "nonce", "not sent"],
)
def test_a_nodes_words_are_quoted_whatever_became_of_the_request(
    method: str, code: int, message: str
) -> None:
    (endpoint,) = endpoints_of(("http://127.0.0.1:1",), RequestLimits())

    error = typed_error(ServerError(code, message, "0x" + REASON.hex()), method, endpoint)

    _assert_quoted(str(error))


@pytest.mark.parametrize("status", [400, 403, 429, 500])
def test_telegrams_words_are_quoted(status: int) -> None:
    telegram = BotConnection("123:token", "http://127.0.0.1:9", DELIVERY_LIMITS)
    told = {"ok": False, "description": PADDED}

    outcome = telegram._outcome(HttpAnswer(status, b""), told, 0.0)

    assert isinstance(outcome, ChannelRefused | Delayed)
    _assert_quoted(outcome.reason)


@pytest.mark.parametrize("symbol", ["✓ USDC", "→ close 28", "$1000", "● in", "“USDC”", "!USDC"])
def test_a_tokens_name_has_none_of_our_marks(symbol: str) -> None:
    label = unlisted_token(network_named("devnet"), WETH.address, symbol.encode(), 18).label

    inside = label.removeprefix("?").replace("“", "").replace("”", "").partition(" 0x")[0]
    assert not any(ord(letter) in OWN_MARKS for letter in inside)


def test_an_error_nobody_foresaw_is_quoted_too() -> None:
    _assert_quoted(explain_unexpected(ValueError(PADDED)))
