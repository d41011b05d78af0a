"""The pool a plan's swap goes through: the one that pays most, by the replay and by V4Quoter."""

import dataclasses
from collections.abc import Iterator
from pathlib import Path

import pytest
from msgspec.structs import replace

from agents.lp.plan import Candidate, PrepAction
from agents.numbers.costs import CostedRecipe, gas_units
from chain.base.store import Store
from chain.contracts.networks import network_named
from chain.devnet.launch import DevnetReady
from chain.devnet.world.pools import WETH_USDC, WETH_USDC_LOW
from chain.execution.plan.facts import PoolFacts
from chain.execution.plan.requests import QuotedSwap
from chain.positions.overview import Sources
from chain.rpc.client import RpcClient
from tests import node_rpc
from tests.fakes.proxy import Answer, Call, Proxy
from tests.zuno_tui.conftest import CommandLine
from tests.zuno_tui.gate.desk import Desk
from zuno_tui.gate.actions.plan import refuse_worse_than_planned
from zuno_tui.gate.actions.swap import ask_quoter
from zuno_tui.gate.refusal import GateRefusedError


@pytest.fixture
def desk(devnet: DevnetReady, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Iterator[Desk]:
    made = Desk(devnet, CommandLine(tmp_path / "home"), capsys)
    snapshot = made.ask("evm_snapshot")
    yield made
    node_rpc.take_back(devnet.url, snapshot)


def _move(desk: Desk, state: str) -> tuple[str, str, str]:
    plan = desk.recommended(state)
    move = next(one for one in plan["candidates"] if one["prepAction"] is not None)
    return plan["planId"], "--candidate", str(move["index"])


def test_a_swap_goes_through_the_pool_that_pays_most(desk: Desk) -> None:
    chosen = _move(desk, "above its range")

    quotes = desk.approved("approve", *chosen)["swap"]
    shown = desk.here("simulate", *chosen)

    own, cheaper = WETH_USDC.key.pool_id, WETH_USDC_LOW.key.pool_id
    assert quotes["poolId"] == cheaper
    assert set(quotes["byQuoter"]) == {own, cheaper}
    assert int(quotes["byQuoter"][cheaper]) > int(quotes["byQuoter"][own])
    assert quotes["amountOut"] == quotes["replayed"] == quotes["byQuoter"][cheaper]
    assert "The swap goes through the 0.05% pool, the best of 2 that quote it" in shown.out


@pytest.mark.parametrize("state", ["above its range", "below its range", "near the edge", "native"])
def test_a_plan_counts_on_the_swap_and_the_gas_that_its_approval_takes(
    desk: Desk, state: str
) -> None:
    plan = desk.recommended(state)
    move = next(one for one in plan["candidates"] if one["prepAction"] is not None)
    approved = desk.approved("approve", plan["planId"], "--candidate", str(move["index"]))

    planned, taken = move["prepAction"], approved["swap"]
    through = planned.get("poolId", move["poolId"])
    assert (through, planned["amountIn"]) == (taken["poolId"], taken["amountIn"])
    assert planned["amountOut"] == taken["amountOut"]
    used = sum(step["gasUsed"] for step in approved["simulation"]["steps"])
    most = gas_units("v4", CostedRecipe.RERANGE_WITH_SWAP, as_one=False)
    assert 0.8 * most <= used <= most


def test_it_stays_in_the_pool_that_is_entered_where_no_other_pays_more(desk: Desk) -> None:
    quotes = desk.approved("approve", *_move(desk, "near the edge"))["swap"]

    own = WETH_USDC_LOW.key.pool_id
    assert quotes["poolId"] == own
    assert quotes["amountOut"] == quotes["replayed"]
    assert int(quotes["byQuoter"][own]) >= int(quotes["replayed"])


def test_without_a_quoter_the_replay_is_used_and_named(desk: Desk) -> None:
    chosen = _move(desk, "above its range")
    quoter = desk.devnet.contracts.quoter

    def has_no_quoter(call: Call) -> Answer | None:
        asked = call["method"] == "eth_call" and call["params"][0]["to"] == quoter
        return {"result": "0x"} if asked else None

    with Proxy(desk.devnet.url, has_no_quoter) as proxy:
        shown = dataclasses.replace(desk, rpc=proxy.url).here("simulate", *chosen)

    assert shown.code == 0, shown.words
    assert "No quoter answers here: the swap pays" in shown.out


@pytest.mark.parametrize(("amount_out", "refused"), [(990, False), (989, True)])
def test_a_swap_that_pays_much_less_than_planned_is_another_plan(
    amount_out: int, refused: bool
) -> None:
    planned = PrepAction(
        zero_for_one=True,
        amount_in=2000,
        amount_out=2000,
        fee_pips=500,
        cost_usd=None,
        price_moved=0.0,
        minting_loss_usd=None,
    )
    candidate = Candidate.model_construct(prep_action=planned)
    swap = QuotedSwap(WETH_USDC.key, True, 1000, amount_out, 1 << 96)

    if refused:
        with pytest.raises(GateRefusedError, match="over 1% less than planned"):
            refuse_worse_than_planned(candidate, swap)
    else:
        refuse_worse_than_planned(candidate, swap)


@pytest.mark.parametrize(
    ("permissions", "counted"),
    [(0x80, 900), (0x40, 900), (0x08, 900), (0x04, 900), (0x200, 1000), (0, 1000)],
    ids=["before", "after", "changes before", "changes after", "exits only", "none"],
)
async def test_in_a_pool_whose_hook_touches_swaps_the_quoter_is_believed(
    devnet: DevnetReady, permissions: int, counted: int
) -> None:
    """A replay knows neither the fee such a hook sets for one swap nor what it keeps."""
    key = replace(WETH_USDC.key, hooks=f"0x{permissions:040x}")
    answer = {"result": "0x" + (900).to_bytes(32, "big").hex() + bytes(32).hex()}

    def quotes_less(call: Call) -> Answer | None:
        asked = call["method"] == "eth_call" and call["params"][0]["to"] == devnet.contracts.quoter
        return answer if asked else None

    network = network_named("devnet")
    with Proxy(devnet.url, quotes_less) as proxy:
        async with RpcClient(network, [proxy.url]) as client:
            sources = Sources(client, network, Store.in_memory(), None, lambda: 0.0)
            head = await client.head()
            swap = QuotedSwap(key, True, 2000, 1000, 1 << 96)
            quotes = await ask_quoter(sources, swap, PoolFacts(key, 1 << 96, 0), (), head.hash)

    assert quotes.swap.amount_out == counted
    assert (quotes.replayed, quotes.by_quoter[key]) == (1000, 900)
