"""What the gas of a whole plan may cost, and whether the wallet can pay it.

Beside the gas of every step an OP-stack network charges for the data on its parent chain and, since
Isthmus, an operator fee: no fee cap bounds either, so both are asked for the very bytes. Arbitrum
charges the data as gas, which a simulation does not count: there the limits are raised by it.
"""

from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction
from typing import TypeAlias

from msgspec import Struct
from msgspec.structs import replace

from chain.base.units import Units
from chain.contracts.abi import AbiError, address_bytes, decode, encode_call
from chain.contracts.networks import Address, Network
from chain.execution.build.builder import Built, raised_gas
from chain.execution.plan.facts import FactsUnknownError
from chain.execution.simulate import Simulation
from chain.execution.transaction import UnsignedTransaction
from chain.read.gas import GAS_PRICE_ORACLE, NODE_INTERFACE, PARENT_GAS
from chain.rpc import requests
from chain.rpc.errors import Reverted, RpcError
from chain.rpc.records import BlockRef
from chain.rpc.requests import Reader

Item: TypeAlias = "bytes | Sequence[Item]"

_DYNAMIC_FEE = b"\x02"
_SHORT = 55


def unsigned_bytes(transaction: UnsignedTransaction) -> bytes:
    """The type and the RLP of every field, with an empty access list."""
    return _DYNAMIC_FEE + _encoded(
        [
            _quantity(transaction.chain_id),
            _quantity(transaction.nonce),
            _quantity(transaction.max_priority_fee_per_gas),
            _quantity(transaction.max_fee_per_gas),
            _quantity(transaction.gas),
            address_bytes(transaction.to),
            _quantity(transaction.value),
            transaction.data,
            [],
        ]
    )


def _encoded(item: Item) -> bytes:
    if not isinstance(item, bytes):
        return _prefixed(b"".join(map(_encoded, item)), 0xC0)
    if len(item) == 1 and item[0] < 0x80:
        return item
    return _prefixed(item, 0x80)


def _prefixed(body: bytes, base: int) -> bytes:
    if len(body) <= _SHORT:
        return bytes([base + len(body)]) + body
    length = _quantity(len(body))
    return bytes([base + _SHORT + len(length)]) + length + body


def _quantity(value: int) -> bytes:
    return value.to_bytes((value.bit_length() + 7) // 8, "big")


_DATA_MARGIN = 2
"""What data costs follows the parent chain's fees, which may double until a plan is through."""
_PARENT_GAS_MARGIN = (3, 2)


class GasBill(Struct, frozen=True):
    """Wei of the network's own coin that all steps together may cost at most."""

    execution: Units
    l1_data: Units = 0
    """For the data on a parent chain."""
    operator: Units = 0
    moved: Units | None = None
    """What the plan moves or earns, in wei at the same prices; None where that is unknown."""

    @property
    def total(self) -> Units:
        return self.execution + self.l1_data + self.operator

    @property
    def exceeds_moved(self) -> bool:
        """Whether gas may cost more than the plan is about."""
        return self.moved is not None and self.total > self.moved


async def with_whole_gas(
    reader: Reader, network: Network, built: Built, at: BlockRef
) -> tuple[Built, GasBill]:
    """The transactions with limits that hold all of their gas, and what that may cost."""
    match network.stack:
        case "op":
            return built, await _op_bill(reader, built.transactions, at)
        case "arbitrum":
            parent = await _parent_gas(reader, built.transactions, at)
            raised = raised_gas(built, parent)
            data = sum(
                gas * transaction.max_fee_per_gas
                for gas, transaction in zip(parent, built.transactions, strict=True)
            )
            return raised, GasBill(_execution(built.transactions), l1_data=data)
        case "plain":
            return built, GasBill(_execution(built.transactions))


async def gas_bill(
    reader: Reader, network: Network, transactions: Sequence[UnsignedTransaction], at: BlockRef
) -> GasBill:
    """What transactions whose limits are fixed may cost; Arbitrum's data is within the limits."""
    if network.stack == "op":
        return await _op_bill(reader, transactions, at)
    return GasBill(_execution(transactions))


def with_worth(
    bill: GasBill,
    simulation: Simulation,
    usd_per_unit: Mapping[Address, float],
    usd_per_wei: float | None,
) -> GasBill:
    """The same beside the most that any step brings or takes, where all of that has a price."""
    changes = [step.changes for step in simulation.steps]
    tokens = {token for change in changes for token, amount in change.items() if amount}
    if simulation.unsimulated or not usd_per_wei or not tokens or not tokens <= {*usd_per_unit}:
        return bill
    worths = [
        [amount * Fraction(usd_per_unit[token]) for token, amount in change.items()]
        for change in changes
    ]
    most = max(max(_gained(worth), _gained(-each for each in worth)) for worth in worths)
    return replace(bill, moved=int(most / Fraction(usd_per_wei)))


def coin_needed(bill: GasBill, built: Built) -> int:
    """Wei the wallet must hold: all gas, and what is sent along that no exit pays for."""
    besides = {bound.step: bound.bounds.besides.amount0 for bound in built.bounds}
    needed, left = bill.total, False
    for transaction in built.transactions:
        needed += (
            min(transaction.value, besides.get(transaction.step, 0)) if left else transaction.value
        )
        left = left or transaction.step == "exit"
    return needed


def _gained(worth: Iterable[Fraction]) -> Fraction:
    return sum((each for each in worth if each > 0), Fraction(0))


def _execution(transactions: Iterable[UnsignedTransaction]) -> int:
    return sum(transaction.gas * transaction.max_fee_per_gas for transaction in transactions)


async def _op_bill(
    reader: Reader, transactions: Sequence[UnsignedTransaction], at: BlockRef
) -> GasBill:
    data = [
        encode_call("getL1Fee(bytes)", unsigned_bytes(transaction)) for transaction in transactions
    ]
    operator = [
        encode_call("getOperatorFee(uint256)", transaction.gas) for transaction in transactions
    ]
    answers = await reader.settle(
        [requests.call(GAS_PRICE_ORACLE, asked, at) for asked in (*data, *operator)]
    )
    count = len(transactions)
    # Before Isthmus the oracle knows no operator fee and reverts: then there is none.
    fees = [answer for answer in answers[count:] if not isinstance(answer, Reverted)]
    return GasBill(
        _execution(transactions),
        l1_data=_DATA_MARGIN * sum(_word(answer, "GasPriceOracle") for answer in answers[:count]),
        operator=sum(_word(answer, "GasPriceOracle") for answer in fees),
    )


async def _parent_gas(
    reader: Reader, transactions: Sequence[UnsignedTransaction], at: BlockRef
) -> tuple[int, ...]:
    """Gas that each transaction pays for its data, with room for dearer data."""
    more, of = _PARENT_GAS_MARGIN
    answers = await reader.settle(
        [
            requests.call(
                NODE_INTERFACE,
                encode_call(PARENT_GAS, transaction.to, False, transaction.data),
                at,
                sender=transaction.sender,
            )
            for transaction in transactions
        ]
    )
    return tuple(_word(answer, "NodeInterface") * more // of for answer in answers)


def _word(answer: bytes | RpcError, who: str) -> int:
    """The first word of an answer."""
    try:
        if isinstance(answer, RpcError):
            raise FactsUnknownError(f"What data costs is unknown: {answer.sentence}")
        (value,) = decode(["uint256"], answer[:32])
    except AbiError:
        raise FactsUnknownError(f"What data costs is unknown: no {who} answers.") from None
    return int(value)
