"""Simulations: whole sequences where a node offers them, the first step alone where it does not."""

import pytest
from msgspec.structs import replace

from chain.base.store import Store
from chain.contracts.networks import NATIVE, network_named
from chain.devnet.launch import DevnetReady
from chain.execution.build.builder import build
from chain.execution.chain_facts import read_chain_facts
from chain.execution.plan.facts import position_facts
from chain.execution.plan.requests import CloseRequest
from chain.execution.simulate import Simulation, StepOutcome, simulate, simulate_whole
from chain.execution.transaction import UnsignedTransaction
from chain.positions.discovery import Discovery
from chain.protocols.v4.memory import PositionMemory
from chain.rpc.client import RpcClient
from chain.rpc.errors import RpcRefused, TimedOut
from chain.rpc.records import Block
from chain.rpc.requests import Request

NETWORK = network_named("devnet")


class _WithoutSimulation(RpcClient):
    """A node that knows no eth_simulateV1, as many do not."""

    async def ask(self, request: Request[object]) -> object:  # type: ignore[override]
        if request.method == "eth_simulateV1":
            raise RpcRefused(-32601, "the method does not exist", endpoint="test")
        return await super().ask(request)


def test_liquidity_is_made_by_the_word_of_managers_alone() -> None:
    steps = (
        StepOutcome("exit", True, 1, {}, None, made=((_HOSTILE, 5),)),
        StepOutcome("create", True, 1, {}, None, made=((_MANAGER, 7), (_HOSTILE, 9))),
    )
    assert Simulation("eth_simulateV1", steps, ()).liquidity_made({_MANAGER}) == (7,)


_MANAGER, _HOSTILE = "0x" + "11" * 20, "0x" + "22" * 20


async def _closing(
    client: RpcClient, devnet: DevnetReady
) -> tuple[tuple[UnsignedTransaction, ...], Block]:
    memory = PositionMemory(Store.in_memory(), NETWORK, lambda: 0.0)
    wallet = await Discovery(client, NETWORK, memory).read(devnet.wallet)
    transactions: list[UnsignedTransaction] = []
    for position in wallet.positions:
        key = position.pool.key
        tokens = (key.currency0, key.currency1)
        facts = await read_chain_facts(client, NETWORK, devnet.wallet, tokens, wallet.block)
        transactions += build(CloseRequest(position_facts(position)), facts).transactions
    return tuple(transactions), wallet.block


async def test_a_sequence_sees_its_own_effects(devnet: DevnetReady) -> None:
    async with RpcClient(NETWORK, (devnet.url,)) as client:
        transactions, block = await _closing(client, devnet)
        once = await simulate(client, transactions, block.hash)
        twice = await simulate(client, (transactions[0], transactions[0]), block.hash)

    assert once.success
    assert once.unsimulated == ()
    assert sum(step.changes.get(NATIVE, 0) for step in once.steps) > 0
    first, second = twice.steps
    assert first.success
    assert not second.success, "what is burned cannot be burned again"
    assert second.failure is not None
    assert second.changes == {}


async def test_what_honest_tokens_tell_is_what_they_move(devnet: DevnetReady) -> None:
    async with RpcClient(NETWORK, (devnet.url,)) as client:
        transactions, block = await _closing(client, devnet)
        told = await simulate(client, transactions, block.hash)
        tokens = [token for step in told.steps for token in step.changes]
        measured = await simulate(client, transactions, block.hash, tokens)

    assert len(set(tokens)) > 3
    assert [step.changes for step in measured.steps] == [step.changes for step in told.steps]
    assert all(not step.untold for step in measured.steps)


async def test_without_simulation_the_rest_is_said_to_be_unsimulated(devnet: DevnetReady) -> None:
    async with _WithoutSimulation(NETWORK, (devnet.url,)) as client:
        transactions, block = await _closing(client, devnet)
        simulation = await simulate(client, transactions[:3], block.hash)

    assert simulation.method == "eth_call"
    assert simulation.success
    assert simulation.unsimulated == tuple(one.step for one in transactions[1:3])


class _SlowSimulator(RpcClient):
    """Takes too long for the first simulations it is asked for."""

    slow = 1

    async def ask(self, request: Request[object]) -> object:  # type: ignore[override]
        if request.method == "eth_simulateV1" and self.slow:
            self.slow -= 1
            raise TimedOut(8.5, endpoint="test")
        return await super().ask(request)


@pytest.mark.parametrize(("slow", "method"), [(1, "eth_simulateV1"), (2, "eth_call")])
async def test_one_slow_answer_does_not_hide_the_outcome(
    devnet: DevnetReady, slow: int, method: str
) -> None:
    async with _SlowSimulator(NETWORK, (devnet.url,)) as client:
        transactions, block = await _closing(client, devnet)
        client.slow = slow
        simulation = await simulate(client, transactions[:2], block.hash, [NATIVE])

    assert simulation.method == method
    assert (simulation.all_changes([NATIVE]) is None) is (method == "eth_call")


class _OldSimulator(RpcClient):
    """A simulator that runs an older machine than its chain, as Arbitrum's once did."""

    async def ask(self, request: Request[object]) -> object:  # type: ignore[override]
        if request.method != "eth_simulateV1":
            return await super().ask(request)
        told = await super().ask(replace(request, parse=lambda value: value))
        last = told[0]["calls"][-1]  # type: ignore[index]
        last |= {"status": "0x0", "error": {"code": -32015, "message": "invalid opcode: PUSH0"}}
        return request.parse(told)


async def test_a_simulator_that_lacks_an_opcode_says_nothing_of_the_contracts(
    devnet: DevnetReady,
) -> None:
    async with _OldSimulator(NETWORK, (devnet.url,)) as client:
        transactions, block = await _closing(client, devnet)
        simulation = await simulate(client, transactions[:3], block.hash)

    assert simulation.method == "eth_call"
    assert simulation.success
    assert "PUSH0" in (simulation.reason or "")


async def test_a_first_step_that_both_methods_refuse_fails(devnet: DevnetReady) -> None:
    async with RpcClient(NETWORK, (devnet.url,)) as client:
        transactions, block = await _closing(client, devnet)
        broken = replace(transactions[0], data=transactions[0].data[:4])
        simulation = await simulate(client, [broken, *transactions[1:]], block.hash)
        starved = replace(transactions[0], gas=60_000)
        short = await simulate(client, [starved], block.hash)

    assert simulation.method == "eth_simulateV1"
    assert [step.success for step in simulation.steps][:2] == [False, True]
    assert not short.success


class _Unreachable(RpcClient):
    async def ask(self, request: Request[object]) -> object:  # type: ignore[override]
        raise TimedOut(8.5, endpoint="test")


class _FailsLater(RpcClient):
    """Says of every step but the first that it fails."""

    async def ask(self, request: Request[object]) -> object:  # type: ignore[override]
        told = await super().ask(request)
        if request.method != "eth_simulateV1":
            return told
        first, *later = told.steps  # type: ignore[attr-defined]
        return told._replace(  # type: ignore[attr-defined]
            steps=(first, *(replace(step, success=False, failure="made up") for step in later))
        )


@pytest.mark.parametrize("first", [_WithoutSimulation, _Unreachable, _FailsLater])
async def test_the_trial_is_of_whoever_can_run_the_whole_sequence(
    devnet: DevnetReady, first: type[RpcClient]
) -> None:
    async with (
        RpcClient(NETWORK, (devnet.url,)) as able,
        first(NETWORK, (devnet.url,)) as other,
    ):
        transactions, block = await _closing(able, devnet)
        steps, at = transactions[:2], block.hash
        direct = await simulate(able, steps, at)

        assert await simulate_whole((other, able), steps, at, ()) == direct
        assert await simulate_whole((other, other, able), steps, at, ()) == direct


async def test_where_nobody_can_run_it_whole_it_is_as_the_first_tells(devnet: DevnetReady) -> None:
    async with (
        _WithoutSimulation(NETWORK, (devnet.url,)) as simple,
        _Unreachable(NETWORK, (devnet.url,)) as silent,
        RpcClient(NETWORK, (devnet.url,)) as able,
    ):
        transactions, block = await _closing(able, devnet)
        steps, at = transactions[:2], block.hash

        assert not (await simulate_whole((simple, silent), steps, at, ())).whole
        with pytest.raises(TimedOut):
            await simulate_whole((silent, simple), steps, at, ())
