"""What a plan's gas may cost, and simulations of whole sequences or the first step alone."""

import pytest
from msgspec.structs import replace
from rlp.codec import encode_raw

from chain.base.store import Store
from chain.contracts.abi import encode_call
from chain.contracts.networks import NATIVE, Network, network_named
from chain.devnet.launch import DevnetReady
from chain.devnet.world.deployment import assemble
from chain.execution.build.builder import Built, StepBounds, build
from chain.execution.build.gas_bill import (
    GasBill,
    coin_needed,
    unsigned_bytes,
    with_whole_gas,
    with_worth,
)
from chain.execution.chain_facts import read_chain_facts
from chain.execution.plan.facts import FactsUnknownError, Tolerance, position_facts
from chain.execution.plan.recipe import RecipeBounds
from chain.execution.plan.requests import CloseRequest
from chain.execution.simulate import Simulation, StepOutcome, simulate, simulate_whole
from chain.execution.transaction import UnsignedTransaction
from chain.math.liquidity import Amounts
from chain.positions.discovery import Discovery
from chain.protocols.v4.memory import PositionMemory
from chain.read.gas import GAS_PRICE_ORACLE, NODE_INTERFACE, PARENT_GAS
from chain.rpc.client import RpcClient
from chain.rpc.errors import RpcRefused, TimedOut
from chain.rpc.records import Block
from chain.rpc.requests import Request
from tests.chain.read.test_gas import oracle
from tests.chain_view import bare_chain, contracts_at

PLAIN = network_named("devnet")
OP, ARBITRUM = replace(PLAIN, stack="op"), replace(PLAIN, stack="arbitrum")
GWEI, COIN = 10**9, 10**18
TOKEN = "0x" + "5a" * 20
STEPS = (
    UnsignedTransaction(
        PLAIN.chain_id, "0x" + "aa" * 20, TOKEN, 0, b"\x01" * 68, 100_000, 2 * GWEI, GWEI, 0, "exit"
    ),
    UnsignedTransaction(
        PLAIN.chain_id, "0x" + "aa" * 20, TOKEN, COIN, b"", 300_000, 2 * GWEI, GWEI, 1, "enter"
    ),
)
EXECUTION = 400_000 * 2 * GWEI

# The size of the question, as if every byte of it cost one unit of gas.
SIZE = assemble("CALLDATASIZE\nPUSH 0\nMSTORE\nPUSH 0x60\nPUSH 0\nRETURN")


def built(*bounds: StepBounds) -> Built:
    return Built(STEPS, bounds, (), 0, Tolerance())


async def billed(network: Network, code: dict[str, bytes]) -> tuple[Built, GasBill]:
    with bare_chain(contracts_at(code)) as chain:
        async with RpcClient(PLAIN, [chain.url]) as client:
            head = await client.head()
            return await with_whole_gas(client, network, built(), head.hash)


def test_the_bytes_are_those_that_are_signed() -> None:
    for one in STEPS:
        numbers = (
            one.chain_id,
            one.nonce,
            one.max_priority_fee_per_gas,
            one.max_fee_per_gas,
            one.gas,
        )
        fields = [number.to_bytes((number.bit_length() + 7) // 8, "big") for number in numbers]
        value = one.value.to_bytes((one.value.bit_length() + 7) // 8, "big")
        rest = [bytes.fromhex(one.to[2:]), value, one.data, []]
        encoded = encode_raw([*fields, *rest])  # type: ignore[no-untyped-call]
        assert unsigned_bytes(one) == b"\x02" + encoded


async def test_where_no_parent_chain_is_paid_gas_is_all() -> None:
    assert await billed(PLAIN, {}) == (built(), GasBill(EXECUTION))


@pytest.mark.parametrize("isthmus", [True, False])
async def test_an_op_network_charges_for_the_very_bytes_and_for_its_operator(
    isthmus: bool,
) -> None:
    same, bill = await billed(OP, {GAS_PRICE_ORACLE: oracle(isthmus=isthmus)})
    size = sum(len(unsigned_bytes(one)) for one in STEPS)

    assert same == built()
    assert bill.execution == EXECUTION
    assert bill.l1_data == 2 * (size << 8)
    assert bill.operator == (400_000 << 1 if isthmus else 0)
    assert bill.total == bill.execution + bill.l1_data + bill.operator


async def test_arbitrum_puts_what_data_costs_into_the_limits() -> None:
    raised, bill = await billed(ARBITRUM, {NODE_INTERFACE: SIZE})
    parent = [len(encode_call(PARENT_GAS, one.to, False, one.data)) * 3 // 2 for one in STEPS]

    assert [one.gas for one in raised.transactions] == [100_000 + parent[0], 300_000 + parent[1]]
    assert bill == GasBill(EXECUTION, l1_data=sum(parent) * 2 * GWEI)
    assert bill.total == sum(one.gas * one.max_fee_per_gas for one in raised.transactions)


@pytest.mark.parametrize("network", [OP, ARBITRUM], ids=["op", "arbitrum"])
async def test_what_data_costs_is_never_made_up(network: Network) -> None:
    with pytest.raises(FactsUnknownError):
        await billed(network, {})


def test_what_an_exit_pays_need_not_be_there_before() -> None:
    enter = RecipeBounds(besides=Amounts(COIN // 10, 0))
    assert coin_needed(GasBill(5), built()) == 5
    assert coin_needed(GasBill(5), built(StepBounds("enter", enter))) == 5 + COIN // 10
    alone = replace(built(), transactions=STEPS[1:])
    assert coin_needed(GasBill(5, 6, 7), alone) == 18 + COIN


def simulation(*changes: dict[str, int], method: str = "eth_simulateV1") -> Simulation:
    steps = tuple(StepOutcome("step", True, 1, each, None) for each in changes)
    return Simulation("eth_simulateV1", steps, () if method == "eth_simulateV1" else ("later",))


USD = {NATIVE: 2000 / COIN, TOKEN: 1e-6}
PER_WEI = 2000 / COIN


@pytest.mark.parametrize(
    ("changes", "moved"),
    [
        (({TOKEN: 10_000_000},), COIN // 200),
        (({}, {TOKEN: 10_000_000, NATIVE: COIN // 200}, {TOKEN: -2_000_000}), COIN // 100),
        (({TOKEN: -30_000_000, NATIVE: COIN // 200},), 3 * COIN // 200),
        (({},), None),
        (({"0x" + "77" * 20: 5},), None),
    ],
    ids=["earned", "the most of any step", "given", "nothing moves", "no price"],
)
def test_gas_is_held_against_what_moves(
    changes: tuple[dict[str, int], ...], moved: int | None
) -> None:
    bill = with_worth(GasBill(COIN // 125), simulation(*changes), USD, PER_WEI)
    assert bill.moved == (None if moved is None else pytest.approx(moved, abs=2))
    assert bill.exceeds_moved is (moved == COIN // 200)


def test_what_was_not_tried_or_has_no_price_is_compared_with_nothing() -> None:
    bill = GasBill(1)
    earned = {TOKEN: 10}
    assert with_worth(bill, simulation(earned, method="eth_call"), USD, PER_WEI) == bill
    assert with_worth(bill, simulation(earned), USD, None) == bill


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
