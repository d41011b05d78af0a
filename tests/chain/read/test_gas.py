"""Gas from the chain: against the embedded chain, an oracle of our own on it, and odd nodes."""

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest
from msgspec.structs import replace

from chain.base.units import GWEI, Known, Unknown
from chain.contracts.abi import encode_call, selector
from chain.contracts.networks import network_named
from chain.devnet.world.deployment import assemble
from chain.read.gas import (
    GAS_PRICE_ORACLE,
    NODE_INTERFACE,
    PARENT_GAS,
    GasCost,
    GasPrice,
    Weight,
    read_gas_cost,
    read_gas_price,
)
from chain.rpc import requests
from chain.rpc.client import RpcClient
from chain.rpc.errors import HttpFault, StatePruned
from tests.chain.rpc.conftest import QUICK
from tests.chain_view import bare_chain, contracts_at
from tests.fakes import faults
from tests.fakes.fault_server import Asked, Connection, FaultServer
from tests.fakes.honest_node import HonestNode
from tests.small_contracts import ALICE, COUNTER, chain_of_small_contracts, signed

BASE = network_named("base")
PLAIN = network_named("devnet")
OP = replace(PLAIN, stack="op")
ARBITRUM = replace(PLAIN, stack="arbitrum")


def oracle(*, isthmus: bool) -> bytes:
    """Upper bounds are the size << 10, exact fees the length << 8, operator fees the gas << 1."""
    operator = (
        f"DUP1\nPUSH 0x{selector('getOperatorFee(uint256)').hex()}\nEQ\nPUSH @operator\nJUMPI"
    )
    return assemble(
        f"""
        PUSH 0
        CALLDATALOAD
        PUSH 0xe0
        SHR
        DUP1
        PUSH 0x{selector("getL1FeeUpperBound(uint256)").hex()}
        EQ
        PUSH @bound
        JUMPI
        DUP1
        PUSH 0x{selector("getL1Fee(bytes)").hex()}
        EQ
        PUSH @exact
        JUMPI
        {operator if isthmus else ""}
        PUSH 0
        PUSH 0
        REVERT
        bound:
        PUSH 4
        CALLDATALOAD
        PUSH 10
        PUSH @answer
        JUMP
        exact:
        PUSH 0x24
        CALLDATALOAD
        PUSH 8
        PUSH @answer
        JUMP
        operator:
        PUSH 4
        CALLDATALOAD
        PUSH 1
        answer:
        SHL
        PUSH 0
        MSTORE
        PUSH 32
        PUSH 0
        RETURN
        """
    )


@asynccontextmanager
async def client_of(codes: dict[str, bytes]) -> AsyncIterator[RpcClient]:
    with bare_chain(contracts_at(codes)) as chain:
        async with RpcClient(PLAIN, [chain.url]) as client:
            yield client


@pytest.fixture
async def plain() -> AsyncIterator[RpcClient]:
    with chain_of_small_contracts() as chain:
        chain("evm_setAutomine", False)
        for nonce, tip in enumerate((GWEI // 10, GWEI // 2, GWEI // 5)):
            chain("eth_sendRawTransaction", "0x" + signed(nonce=nonce, tip=tip).raw.hex())
            chain.mine()
        chain.mine()
        chain("anvil_setNextBlockBaseFeePerGas", hex(GWEI))
        chain("evm_setAutomine", True)
        async with RpcClient(PLAIN, [chain.url]) as client:
            yield client


@pytest.fixture(params=[True, False], ids=["isthmus", "before isthmus"])
async def op(request: pytest.FixtureRequest) -> AsyncIterator[tuple[RpcClient, bool]]:
    async with client_of({GAS_PRICE_ORACLE: oracle(isthmus=request.param)}) as client:
        yield client, request.param


async def test_the_price_is_the_next_base_fee_and_what_others_paid(plain: RpcClient) -> None:
    head = await plain.head()
    before = plain.round_trips
    price = await read_gas_price(plain)
    assert plain.round_trips == before + 1
    assert isinstance(price, Known)
    assert price.value == GasPrice(base_fee=GWEI, priority_fee=GWEI // 5)
    assert price.value.usual_price == GWEI + GWEI // 5
    assert price.value.cap == 2 * GWEI + GWEI // 5
    assert (price.block, price.time) == (head.number, head.timestamp)
    assert price.source == "base fee + median priority fee of 5 blocks"


async def test_a_transaction_on_a_plain_network_costs_its_gas(plain: RpcClient) -> None:
    weights = [Weight(gas=100_000, size=500), Weight(gas=50_000, size=100)]
    cost = await read_gas_cost(plain, PLAIN, weights)
    assert isinstance(cost, Known)
    assert cost.value == GasCost(150_000 * (GWEI + GWEI // 5), 0, 0)
    assert cost.value.total == cost.value.execution


async def test_arbitrum_charges_for_data_in_gas() -> None:
    # The size of the question, as if every byte of it cost one unit of gas.
    size = assemble("CALLDATASIZE\nPUSH 0\nMSTORE\nPUSH 0x60\nPUSH 0\nRETURN")
    async with client_of({NODE_INTERFACE: size}) as client:
        price = await read_gas_price(client)
        cost = await read_gas_cost(client, ARBITRUM, [Weight(gas=100_000, size=500)])
    assert isinstance(price, Known)
    assert isinstance(cost, Known)
    question = len(encode_call(PARENT_GAS, NODE_INTERFACE, False, bytes(500)))
    assert cost.value == GasCost(
        100_000 * price.value.usual_price, question * price.value.usual_price, 0
    )
    assert cost.source.endswith("+ NodeInterface")


async def test_arbitrum_without_its_interface_is_unknown_not_free(plain: RpcClient) -> None:
    cost = await read_gas_cost(plain, ARBITRUM, [Weight(gas=100_000, size=500)])
    assert isinstance(cost, Unknown)


async def test_an_op_network_adds_the_data_and_the_operator(op: tuple[RpcClient, bool]) -> None:
    client, isthmus = op
    weights = [Weight(gas=100_000, size=500), Weight(gas=7, size=0, unsigned=b"x" * 90)]
    cost = await read_gas_cost(client, OP, weights)
    assert client.round_trips == 1
    assert isinstance(cost, Known)
    assert cost.value.data_fee == (500 << 10) + (90 << 8)
    assert cost.value.operator_fee == (100_007 << 1 if isthmus else 0)
    assert cost.value.total == cost.value.execution + cost.value.data_fee + cost.value.operator_fee
    assert cost.source.endswith("+ GasPriceOracle")


async def test_an_op_network_without_its_oracle_is_unknown_not_free(plain: RpcClient) -> None:
    cost = await read_gas_cost(plain, OP, [Weight(gas=100_000, size=500)])
    assert cost == Unknown("the network has no GasPriceOracle where OP networks have it")


async def test_the_estimate_is_close_to_what_is_paid(plain: RpcClient) -> None:
    gas = await plain.ask(requests.estimate_gas(COUNTER, b"", sender=ALICE))
    cost = await read_gas_cost(plain, PLAIN, [Weight(gas=gas, size=100)])
    sent = await plain.ask(requests.send_raw(signed(nonce=3, tip=GWEI // 5).raw))
    # A node mines at once, and may answer before it has.
    while (receipt := await plain.ask(requests.receipt(sent))) is None:
        pass
    assert isinstance(cost, Known)
    paid = receipt.gas_used * receipt.effective_gas_price
    assert paid <= cost.value.total <= paid * 13 // 10


HISTORY = {
    "oldestBlock": "0x62",
    "baseFeePerGas": ["0x3b9aca00", "0x3b9aca00", "0x3b9aca00", "0x77359400"],
    "gasUsedRatio": [0, 0.5, 1],
    "reward": [["0x0"], ["0x5"], ["0x9"]],
}


def answering(**answers: object) -> Any:
    """An honest node whose answers about fees are these; None stands for "no such method"."""

    async def behave(asked: Asked, connection: Connection, node: HonestNode) -> None:
        replies = []
        for call in asked.calls:
            reply = node.answer(call)
            given = answers.get(str(call["method"]), ...)
            if given is None:
                reply = {**reply, "error": {"code": -32601, "message": "no such method"}}
            elif given is not ...:
                reply = {"jsonrpc": "2.0", "id": call["id"], "result": given}
            replies.append(reply)
        await connection.respond(json.dumps(replies).encode())

    return behave


NO_BASE_FEE = {
    "number": "0x64",
    "hash": "0x" + "12" * 32,
    "parentHash": "0x" + "13" * 32,
    "timestamp": "0x6553f100",
    "gasUsed": "0x0",
    "gasLimit": "0x1c9c380",
}


@pytest.mark.parametrize(
    ("answers", "price", "source"),
    [
        (
            {"eth_feeHistory": HISTORY},
            GasPrice(2 * GWEI, 5),
            "base fee + median priority fee of 3 blocks",
        ),
        (
            {"eth_feeHistory": None, "eth_maxPriorityFeePerGas": "0x7"},
            GasPrice(GWEI, 7),
            "base fee + priority fee of the node",
        ),
        (
            {
                "eth_feeHistory": {**HISTORY, "gasUsedRatio": [0, 0, 0]},
                "eth_maxPriorityFeePerGas": "0x7",
            },
            GasPrice(2 * GWEI, 7),
            "base fee + priority fee of the node",
        ),
        (
            {"eth_gasPrice": hex(GWEI + 3)},
            GasPrice(GWEI, 3),
            "gas price of the node",
        ),
        (
            {"eth_getBlockByNumber": NO_BASE_FEE, "eth_gasPrice": hex(5 * GWEI)},
            GasPrice(None, 5 * GWEI),
            "gas price of the node",
        ),
    ],
)
async def test_nodes_that_tell_less(
    answers: dict[str, object], price: GasPrice, source: str
) -> None:
    async with (
        FaultServer(answering(**answers)) as server,
        RpcClient(BASE, [server.url], limits=QUICK) as client,
    ):
        read = await read_gas_price(client)
        assert isinstance(read, Known)
        assert (read.value, read.source, read.block) == (price, source, 100)


async def test_a_node_that_tells_nothing_is_unknown() -> None:
    nothing = answering(eth_gasPrice=None, eth_getBlockByNumber=NO_BASE_FEE)
    async with (
        FaultServer(nothing) as server,
        RpcClient(BASE, [server.url], limits=QUICK) as client,
    ):
        assert await read_gas_price(client) == Unknown("the node does not report a gas price")
        server.behaviour = answering(eth_gasPrice=None)
        assert await read_gas_price(client) == Unknown("the node does not report a gas price")


async def test_a_node_that_is_down_is_an_error() -> None:
    async with (
        FaultServer(faults.status("500 X")) as server,
        RpcClient(BASE, [server.url], limits=QUICK) as client,
    ):
        with pytest.raises(HttpFault):
            await read_gas_price(client)


async def test_of_a_block_the_node_does_not_have_no_price_is_made_up(plain: RpcClient) -> None:
    with pytest.raises(StatePruned):
        await read_gas_price(plain, 10**6)


async def test_a_price_as_of_an_earlier_block(plain: RpcClient) -> None:
    earlier = await read_gas_price(plain, 1)
    assert isinstance(earlier, Known)
    assert earlier.block == 1
