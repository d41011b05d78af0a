"""What a plan's gas may cost: parent chains included, held against the wallet and the plan."""

import pytest
from msgspec.structs import replace
from rlp.codec import encode_raw

from chain.contracts.abi import encode_call
from chain.contracts.networks import NATIVE, Network, network_named
from chain.devnet.world.deployment import assemble
from chain.execution.build.builder import Built, StepBounds
from chain.execution.build.gas_bill import (
    GasBill,
    coin_needed,
    unsigned_bytes,
    with_whole_gas,
    with_worth,
)
from chain.execution.plan.facts import FactsUnknownError, Tolerance
from chain.execution.plan.recipe import RecipeBounds
from chain.execution.simulate import Simulation, StepOutcome
from chain.execution.transaction import UnsignedTransaction
from chain.math.liquidity import Amounts
from chain.read.gas import GAS_PRICE_ORACLE, NODE_INTERFACE, PARENT_GAS
from chain.rpc.client import RpcClient
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
