"""What gas costs now, read from the chain in one request and priced in the network's own coin.

On OP-stack networks a transaction also pays for its data on the parent chain, and since the Isthmus
upgrade an operator fee: both are asked of the GasPriceOracle predeploy. Arbitrum charges for the
data in gas, which its NodeInterface tells.
"""

from collections.abc import Sequence
from hashlib import shake_128

from msgspec import Struct

from chain.base.units import Known, Quantity, Unknown
from chain.contracts.abi import WORD, AbiError, decode, encode_call
from chain.contracts.networks import Address, Network
from chain.rpc import requests
from chain.rpc.errors import Reverted, RpcError, StatePruned
from chain.rpc.records import Block, BlockTag, FeeHistory
from chain.rpc.requests import Reader, Request

NODE_INTERFACE: Address = "0x" + "00" * 19 + "c8"
"""Where Arbitrum answers what data costs; no contract is there."""
GAS_PRICE_ORACLE: Address = "0x420000000000000000000000000000000000000f"

PARENT_GAS = "gasEstimateL1Component(address,bool,bytes)"
_RECENT_BLOCKS = 10
_MIDDLE_PERCENTILE = 50.0
_NODE_SAYS = "gas price of the node"
_BESIDE_GAS = {"plain": "", "op": " + GasPriceOracle", "arbitrum": " + NodeInterface"}


class GasPrice(Struct, frozen=True):
    """Wei for a unit of gas."""

    base_fee: int | None
    """What the next block burns; None where the network has no base fee."""
    priority_fee: int
    """What goes to whoever builds the block: the whole price where there is no base fee."""

    @property
    def usual_price(self) -> int:
        return (self.base_fee or 0) + self.priority_fee

    @property
    def cap(self) -> int:
        """The `maxFeePerGas` that still pays after five full blocks in a row."""
        return 2 * (self.base_fee or 0) + self.priority_fee


class Weight(Struct, frozen=True):
    """What a transaction is charged for."""

    gas: int
    """For running it, without what Arbitrum charges for its data."""
    size: int
    """Bytes of the unsigned transaction."""
    unsigned: bytes | None = None
    """The transaction itself, where it exists: then the data fee is exact, not an upper bound."""


class GasCost(Struct, frozen=True):
    """Wei of the network's own coin."""

    execution: int
    data_fee: int
    """For the data on the parent chain; 0 where the network charges none beside the gas."""
    operator_fee: int

    @property
    def total(self) -> int:
        return self.execution + self.data_fee + self.operator_fee


async def read_gas_price(client: Reader, at: int | BlockTag = "latest") -> Quantity[GasPrice]:
    """The price of the block after this one, from the last ones."""
    return _price(await client.settle(_price_questions(at)))


async def read_gas_cost(
    client: Reader, network: Network, weights: Sequence[Weight], at: int | BlockTag = "latest"
) -> Quantity[GasCost]:
    """What these transactions would cost after this block, one after the other."""
    prices = _price_questions(at)
    outcomes = await client.settle([*prices, *_questions_beside(network, weights, at)])
    price = _price(outcomes[: len(prices)])
    answers = outcomes[len(prices) :]
    if isinstance(price, Unknown):
        return price
    operator_fee: int | Unknown = 0
    if network.stack == "arbitrum":
        data_fee = _parent_gas(answers, price.value.usual_price)
    else:
        data_fee = _fees(answers[0::2])
        # Before Isthmus the oracle knows no operator fee and reverts: then there is none.
        operator_fee = _fees(
            [answer for answer in answers[1::2] if not isinstance(answer, Reverted)]
        )
    if isinstance(data_fee, Unknown):
        return data_fee
    if isinstance(operator_fee, Unknown):
        return operator_fee
    execution = price.value.usual_price * sum(weight.gas for weight in weights)
    source = price.source + _BESIDE_GAS[network.stack]
    return Known(GasCost(execution, data_fee, operator_fee), source, price.block, price.time)


def _price_questions(at: int | BlockTag) -> list[Request[object]]:
    return [
        requests.block(at),
        requests.fee_history(_RECENT_BLOCKS, at, [_MIDDLE_PERCENTILE]),
        requests.max_priority_fee(),
        requests.gas_price(),
    ]


def _price(outcomes: Sequence[object]) -> Quantity[GasPrice]:
    head, history, suggested, whole = outcomes
    if isinstance(head, RpcError):
        raise head
    if not isinstance(head, Block):
        raise StatePruned("it has no such block")
    if head.base_fee_per_gas is None:
        price, source = _whole_price(whole, base_fee=None), _NODE_SAYS
    else:
        price, source = _two_part_price(head.base_fee_per_gas, history, suggested, whole)
    if price is None:
        return Unknown("the node does not report a gas price")
    return Known(price, source, head.number, head.timestamp)


def _two_part_price(
    base_fee: int, history: object, suggested: object, whole: object
) -> tuple[GasPrice | None, str]:
    """From what was paid, else what the node advises, else what is left of its whole price."""
    if isinstance(history, FeeHistory):
        base_fee = history.base_fees[-1]
        paid = _middle_priority_fee(history)
        if paid is not None:
            blocks = len(history.gas_used_ratios)
            said = f"base fee + median priority fee of {blocks} blocks"
            return GasPrice(base_fee, paid), said
    if isinstance(suggested, int):
        return GasPrice(base_fee, suggested), "base fee + priority fee of the node"
    return _whole_price(whole, base_fee=base_fee), _NODE_SAYS


def _whole_price(whole: object, *, base_fee: int | None) -> GasPrice | None:
    if not isinstance(whole, int):
        return None
    return GasPrice(base_fee, max(0, whole - (base_fee or 0)))


def _middle_priority_fee(history: FeeHistory) -> int | None:
    """Of the blocks that held transactions: an empty one reports a fee of 0 that nobody paid."""
    paid = [
        row[0]
        for row, used in zip(history.rewards, history.gas_used_ratios, strict=True)
        if used > 0
    ]
    return sorted(paid)[(len(paid) - 1) // 2] if paid else None


def _questions_beside(
    network: Network, weights: Sequence[Weight], at: int | BlockTag
) -> list[Request[object]]:
    match network.stack:
        case "op":
            return _fee_questions(weights, at)
        case "arbitrum":
            return [_parent_gas_question(weight, at) for weight in weights]
        case "plain":
            return []


def _parent_gas_question(weight: Weight, at: int | BlockTag) -> Request[object]:
    # Data is charged by what is left of it once compressed: bytes without a pattern cost the most.
    data = weight.unsigned or shake_128(b"data").digest(weight.size)
    asked = encode_call(PARENT_GAS, NODE_INTERFACE, False, data)
    return requests.call(NODE_INTERFACE, asked, at)


def _parent_gas(answers: Sequence[object], price: int) -> int | Unknown:
    gas = 0
    for answer in answers:
        if not isinstance(answer, bytes) or len(answer) < WORD:
            return Unknown("the NodeInterface did not say what data costs")
        gas += int.from_bytes(answer[:WORD], "big")
    return gas * price


def _fee_questions(weights: Sequence[Weight], at: int | BlockTag) -> list[Request[object]]:
    questions: list[Request[object]] = []
    for weight in weights:
        data_fee = (
            encode_call("getL1FeeUpperBound(uint256)", weight.size)
            if weight.unsigned is None
            else encode_call("getL1Fee(bytes)", weight.unsigned)
        )
        operator_fee = encode_call("getOperatorFee(uint256)", weight.gas)
        questions += [
            requests.call(GAS_PRICE_ORACLE, calldata, at) for calldata in (data_fee, operator_fee)
        ]
    return questions


def _fees(answers: Sequence[object]) -> int | Unknown:
    fees: list[int] = []
    for answer in answers:
        if not isinstance(answer, bytes):
            return Unknown("the GasPriceOracle did not answer")
        try:
            [fee] = decode(["uint256"], answer)
        except AbiError:
            return Unknown("the network has no GasPriceOracle where OP networks have it")
        fees.append(fee)
    return sum(fees)
