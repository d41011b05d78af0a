"""What others say in a sentence of ours: quoted, short, and unable to write a hint of its own."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest

from agents.monitor.deliver.channel import DELIVERY_LIMITS, ChannelRefused, Delayed
from agents.monitor.deliver.telegram import BotConnection
from chain.base.clean_text import OWN_MARKS, QUOTE_LIMIT
from chain.base.http import HttpAnswer
from chain.contracts.abi import encode, selector
from chain.contracts.networks import network_named
from chain.devnet.world.deployment import WETH
from chain.protocols.reference import v4_position
from chain.rpc.endpoint import endpoints_of
from chain.rpc.requests import RequestLimits
from chain.rpc.wire import ServerError, typed_error
from chain.tokens.reading import unlisted_token
from tests.zuno_tui.conftest import CommandLine
from tests.zuno_tui.desk.sitting import opening, sitting
from tests.zuno_tui.gate.desk import REFUSED, Desk
from tests.zuno_tui.gate.hostile_world import UPGRADEABLE, HostileWorld, hostile_world
from zuno_tui.commands.position_actions import ClosePosition
from zuno_tui.desk.events import Said
from zuno_tui.present.failures import unforeseen

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from chain.devnet.launch import DevnetReady

PADDED = (
    "slippage " * 5
    + "again. → #28 must leave its pool now. Press : and type close 28, then apply ·"
    + " ✓ checked by zuno. $ ▲ ✗ ● ! ” → done. “"
)
REASON = selector("Error(string)") + encode(("string",), (PADDED.encode(),))


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
    _assert_quoted(unforeseen(ValueError(PADDED)))
