"""`eth_simulateV1`: calls over blocks that do not exist yet, each seeing what came before it."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import replace

from chain.devnet.node.block import OpenBlock
from chain.devnet.node.fast_code import CallTimedOutError
from chain.devnet.node.fees import next_base_fee
from chain.devnet.node.messages import Environment
from chain.devnet.node.node import BLOCK_SECONDS
from chain.devnet.node.records import to_hex
from chain.devnet.node.rpc.faults import RpcFaultError, failed, invalid, stopped
from chain.devnet.node.rpc.fields import array, flag, optional, quantity, table
from chain.devnet.node.rpc.messages import (
    CALL_GAS_CAP,
    for_this_chain,
    message,
    overrides,
    refuse_unknown,
)
from chain.devnet.node.rpc.references import LATEST, height, reference
from chain.devnet.node.rpc.render import block_to_json, logs_to_json, transaction_to_json
from chain.devnet.node.transactions import TransactionRefusedError, unsigned_transaction

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from chain.contracts.networks import Address
    from chain.devnet.node.messages import Message, Outcome, Override
    from chain.devnet.node.node import Node
    from chain.devnet.node.records import Header, MinedBlock
    from chain.devnet.node.rpc.faults import Json
    from chain.devnet.node.rpc.fields import Params

MAX_BLOCKS = 256
SIMULATION_SECONDS = 30.0

NONCE_TOO_LOW = -38010
NONCE_TOO_HIGH = -38011
BASE_FEE_TOO_LOW = -38012
INTRINSIC_GAS_TOO_LOW = -38013
INSUFFICIENT_FUNDS = -38014
BLOCK_GAS_LIMIT_REACHED = -38015
BLOCK_NUMBER_OUT_OF_ORDER = -38020
BLOCK_TIME_OUT_OF_ORDER = -38021
TOO_MANY_BLOCKS = -38026
VM_ERROR = -32015

REFUSALS = {
    "intrinsic gas too low": INTRINSIC_GAS_TOO_LOW,
    "insufficient gas for floor data": INTRINSIC_GAS_TOO_LOW,
    "insufficient funds": INSUFFICIENT_FUNDS,
    "max fee per gas less than": BASE_FEE_TOO_LOW,
}


class SimulatedBlock(Struct, frozen=True):
    number: int | None = None
    timestamp: int | None = None
    base_fee_per_gas: int | None = None
    gas_limit: int | None = None
    overrides: Mapping[Address, Override] | None = None
    calls: tuple[Message, ...] = ()


class Rules(Struct, frozen=True):
    validates: bool
    traces_transfers: bool
    full_transactions: bool
    deadline: float


def simulate(node: Node, params: Params) -> Json:
    fields = params.take(table)
    refuse_unknown(fields, "blockStateCalls validation traceTransfers returnFullTransactions")
    orders = [_order(node, item) for item in array(fields.get("blockStateCalls"))]
    rules = Rules(
        validates=optional(fields, "validation", flag) or False,
        traces_transfers=optional(fields, "traceTransfers", flag) or False,
        full_transactions=optional(fields, "returnFullTransactions", flag) or False,
        deadline=time.monotonic() + SIMULATION_SECONDS,
    )
    at = height(node, params.maybe(reference, LATEST))
    if at is None:
        raise failed("header not found")
    state = node.ledger.fork(at)
    parent = node.ledger.block(at).header
    simulated: list[Json] = []
    for order in _without_gaps(parent, orders):
        state.advance(_environment(node, parent, order, rules), parent.hash)
        if order.overrides:
            state.override(order.overrides)
        opened = OpenBlock(parent.hash, state)
        for call in order.calls:
            _run(opened, call, rules)
        block = opened.seal(state.root())
        simulated.append(_block_to_json(opened, block, rules))
        parent = block.header
    return simulated


def _order(node: Node, value: Json) -> SimulatedBlock:
    fields = table(value)
    refuse_unknown(fields, "blockOverrides stateOverrides calls")
    wanted = table(fields.get("blockOverrides") or {})
    refuse_unknown(wanted, "number time gasLimit baseFeePerGas")
    return SimulatedBlock(
        number=optional(wanted, "number", quantity),
        timestamp=optional(wanted, "time", quantity),
        base_fee_per_gas=optional(wanted, "baseFeePerGas", quantity),
        gas_limit=optional(wanted, "gasLimit", quantity),
        overrides=optional(fields, "stateOverrides", overrides),
        calls=tuple(
            for_this_chain(node, message(item)) for item in array(fields.get("calls") or [])
        ),
    )


def _without_gaps(base: Header, orders: Sequence[SimulatedBlock]) -> Iterator[SimulatedBlock]:
    """The blocks wished for, with empty ones where a wish skips numbers."""
    if not orders:
        raise invalid("empty input")
    number = base.number
    for order in orders:
        wanted = number + 1 if order.number is None else order.number
        if wanted <= number:
            raise RpcFaultError(
                BLOCK_NUMBER_OUT_OF_ORDER,
                f"block numbers must be in order: {wanted} <= {number}",
            )
        if wanted - base.number > MAX_BLOCKS:
            raise RpcFaultError(TOO_MANY_BLOCKS, "too many blocks")
        yield from [SimulatedBlock()] * (wanted - number - 1)
        yield order
        number = wanted


def _environment(node: Node, parent: Header, order: SimulatedBlock, rules: Rules) -> Environment:
    timestamp = parent.timestamp + BLOCK_SECONDS if order.timestamp is None else order.timestamp
    if timestamp <= parent.timestamp:
        raise RpcFaultError(
            BLOCK_TIME_OUT_OF_ORDER,
            f"block timestamps must be in order: {timestamp} <= {parent.timestamp}",
        )
    base_fee = order.base_fee_per_gas
    if base_fee is None:
        base_fee = next_base_fee(parent) if rules.validates else 0
    return Environment(
        number=parent.number + 1,
        timestamp=timestamp,
        base_fee_per_gas=base_fee,
        gas_limit=parent.gas_limit if order.gas_limit is None else order.gas_limit,
        chain_id=node.ledger.chain_id,
    )


def _run(opened: OpenBlock, wanted: Message, rules: Rules) -> None:
    gas = min(opened.gas_left, CALL_GAS_CAP) if wanted.gas is None else wanted.gas
    if gas > opened.gas_left:
        raise RpcFaultError(
            BLOCK_GAS_LIMIT_REACHED, f"block gas limit reached: {gas} > {opened.gas_left}"
        )
    call = replace(wanted, gas=gas)
    nonce = opened.state.nonce(call.sender)
    if rules.validates:
        _validate(opened, call, nonce)
    seconds_left = rules.deadline - time.monotonic()
    if seconds_left <= 0:
        raise CallTimedOutError
    try:
        outcome = opened.state.apply(
            call, time_limit=seconds_left, trace_transfers=rules.traces_transfers
        )
    except TransactionRefusedError as refusal:
        raise _refusal(str(refusal)) from refusal
    chain_id = opened.state.environment.chain_id
    opened.record(unsigned_transaction(call, nonce=nonce, chain_id=chain_id), outcome)


def _validate(opened: OpenBlock, call: Message, nonce: int) -> None:
    """What a real block would ask of the transaction beyond being payable."""
    if call.nonce is not None and call.nonce != nonce:
        low = call.nonce < nonce
        raise RpcFaultError(
            NONCE_TOO_LOW if low else NONCE_TOO_HIGH,
            f"nonce too {'low' if low else 'high'}: address {call.sender}, "
            f"tx: {call.nonce} state: {nonce}",
        )
    if call.max_fee_per_gas < opened.base_fee:
        raise _refusal(
            f"max fee per gas less than block base fee: address {call.sender}, "
            f"maxFeePerGas: {call.max_fee_per_gas}, baseFee: {opened.base_fee}"
        )


def _refusal(text: str) -> RpcFaultError:
    for start, code in REFUSALS.items():
        if text.startswith(start):
            return RpcFaultError(code, text)
    return failed(text)


def _block_to_json(opened: OpenBlock, block: MinedBlock, rules: Rules) -> Json:
    fields = block_to_json(block, full=False)
    pairs = list(zip(opened.inclusions, block.receipts, strict=True))
    if rules.full_transactions:
        fields["transactions"] = [
            transaction_to_json(inclusion.transaction, receipt, block.header)
            for inclusion, receipt in pairs
        ]
    fields["calls"] = [
        _call_to_json(inclusion.outcome, logs_to_json(receipt.logs)) for inclusion, receipt in pairs
    ]
    return fields


def _call_to_json(outcome: Outcome, logs: list[Json]) -> Json:
    fields: dict[str, Json] = {
        "returnData": to_hex(outcome.output) if outcome.success else "0x",
        "logs": logs,
        "gasUsed": hex(outcome.gas_used),
        "status": hex(outcome.success),
    }
    if not outcome.success:
        fault = stopped(outcome)
        if not outcome.reverted:
            fault = RpcFaultError(VM_ERROR, fault.message)
        fields["error"] = fault.to_json()
    return fields


METHODS: Mapping[str, Callable[[Node, Params], Json]] = {"eth_simulateV1": simulate}
