"""Actions that would do nothing, or cannot be meant, are refused before anything is read."""

from collections.abc import AsyncIterator
from typing import Any

import pytest

from chain.base.store import Store
from chain.base.units import Numeral
from chain.contracts.networks import network_named
from chain.positions.overview import Sources
from chain.protocols.reference import v4_position
from chain.rpc.client import RpcClient
from chain.rpc.errors import RpcError
from chain.rpc.requests import RequestLimits
from zuno_tui.gate.actions.position import action_to_decrease
from zuno_tui.gate.actions.wallet import action_to_revoke, action_to_unwrap, action_to_wrap
from zuno_tui.gate.refusal import GateRefusedError

WALLET = "0x" + "aa" * 20


@pytest.fixture
async def silent() -> AsyncIterator[Sources]:
    """A chain that answers nothing."""
    network, quick = network_named("devnet"), RequestLimits(rounds=1, pause_seconds=0.0)
    with Store.in_memory() as store:
        async with RpcClient(network, ["http://127.0.0.1:9"], limits=quick) as client:
            yield Sources(client, network, store, None, lambda: 0.0)


async def test_taking_nothing_back_builds_no_plan(silent: Sources) -> None:
    with pytest.raises(GateRefusedError, match="no permission to take back"):
        await action_to_revoke(silent, ())


@pytest.mark.parametrize("action", [action_to_wrap, action_to_unwrap])
@pytest.mark.parametrize(
    ("digits", "places", "refused"),
    [
        (0, 18, True),
        (-1, 18, True),
        (1, 18, False),
        (1, 19, True),
        (2**128, 18, True),
        (2**128 - 1, 18, False),
    ],
)
async def test_an_amount_is_some_and_not_too_much(
    silent: Sources, action: Any, digits: int, places: int, refused: bool
) -> None:
    with pytest.raises(GateRefusedError if refused else RpcError):
        await action(silent, Numeral("so much", digits, places))


@pytest.mark.parametrize(
    ("percent", "refused"), [(-5, True), (0, True), (1, False), (99, False), (100, True)]
)
async def test_a_part_is_from_one_to_ninety_nine(
    silent: Sources, percent: int, refused: bool
) -> None:
    with pytest.raises(GateRefusedError if refused else RpcError):
        await action_to_decrease(silent, v4_position(7), WALLET, percent)
