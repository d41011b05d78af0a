"""What was put into positions of v3, taken out and collected, as their manager's logs tell."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence

from msgspec.structs import replace

from chain.base.units import Known, Quantity, Unknown
from chain.contracts import abi
from chain.contracts.networks import Address, Network
from chain.math.liquidity import Amounts
from chain.protocols.past import NOT_ADDED_UP, NOTHING, LiquidityChange, PositionPast, log_place
from chain.protocols.reference import PositionRef
from chain.protocols.snapshot import PositionSnapshot
from chain.read.block_reader import EventError, expect, settle_in_parts, sound_answers
from chain.read.logs import NARROWABLE
from chain.rpc import requests
from chain.rpc.client import RpcClient
from chain.rpc.errors import RpcError, RpcRefused, StatePruned
from chain.rpc.records import Block, Hash, Log, LogFilter, Receipt

INCREASED = abi.topic("IncreaseLiquidity(uint256,uint128,uint256,uint256)")
DECREASED = abi.topic("DecreaseLiquidity(uint256,uint128,uint256,uint256)")
COLLECTED = abi.topic("Collect(uint256,address,uint256,uint256)")

NARROW = Unknown("the endpoint does not give the logs of all blocks at once")
"""Nobody knows when a position of v3 was opened, so its logs are asked for from the first block."""

_LOGS = "NonfungiblePositionManager logs"
_UNPRICED = Unknown("the price at the time is not read")
_TOPICS = 2
_IDS_AT_ONCE = 100


async def v3_past(
    client: RpcClient, network: Network, snapshots: Sequence[PositionSnapshot]
) -> dict[PositionRef, PositionPast]:
    """What became of positions up to their snapshots' block."""
    if network.v3 is None or not snapshots:
        return {}
    head = snapshots[0].block
    token_ids = [snapshot.ref.token_id for snapshot in snapshots]
    logs = await _read_logs(client, network.v3.position_manager, token_ids, head)
    if isinstance(logs, Unknown):
        return {snapshot.ref: PositionPast(logs) for snapshot in snapshots}
    places = [log for group in logs.values() for log in group]
    numbers = sorted({log.block_number for log in places})
    transactions = list(dict.fromkeys(log.transaction_hash for log in places))
    answers = await settle_in_parts(
        client, [*map(requests.block, numbers), *map(requests.receipt, transactions)]
    )
    times = {
        block.number: block.timestamp
        for block in (expect(answer, Block) for answer in answers[: len(numbers)])
    }
    receipts = {
        transaction: answer if isinstance(answer, Receipt) else None
        for transaction, answer in zip(transactions, answers[len(numbers) :], strict=True)
    }
    with sound_answers():
        return {
            snapshot.ref: _past(logs[snapshot.ref.token_id], times, receipts, network)
            for snapshot in snapshots
        }


async def _read_logs(
    client: RpcClient, manager: Address, token_ids: Sequence[int], head: Block
) -> Mapping[int, list[Log]] | Unknown:
    """By token id, in the order in which they happened."""
    known = client.log_range
    if known is not None and known.most and known.blocks < head.number:
        return NARROW
    words = [f"0x{token_id:064x}" for token_id in token_ids]
    answers = await settle_in_parts(
        client,
        [
            requests.logs(
                LogFilter(
                    manager,
                    ((INCREASED, DECREASED, COLLECTED), tuple(words[at : at + _IDS_AT_ONCE])),
                    0,
                    head.number,
                )
            )
            for at in range(0, len(words), _IDS_AT_ONCE)
        ],
    )
    found: dict[int, list[Log]] = defaultdict(list)
    for answer in answers:
        if isinstance(answer, (*NARROWABLE, RpcRefused, StatePruned)):
            return NARROW
        if isinstance(answer, RpcError):
            raise answer
        for log in sorted(answer, key=lambda log: (log.block_number, log.log_index)):
            found[int(log.topics[1], 16)].append(log)
    return found


def _past(
    logs: Iterable[Log],
    times: Mapping[int, int],
    receipts: Mapping[Hash, Receipt | None],
    network: Network,
) -> PositionPast:
    changes: list[LiquidityChange] = []
    booked: list[LiquidityChange] = []
    owed, counted, taken_out = NOTHING, set[str](), 0
    for log in logs:
        liquidity, amounts = _read_change(log)
        fees = principal = NOTHING
        if log.topics[0] == COLLECTED:
            principal = _paid_first(owed, amounts)
            owed, fees, amounts = owed.less(principal), amounts.less(principal), NOTHING
        elif liquidity < 0:
            owed = owed.plus(amounts)
        gas = _gas(network, receipts[log.transaction_hash])
        changes.append(
            LiquidityChange(
                place=log_place(log),
                timestamp=times[log.block_number],
                liquidity_delta=liquidity,
                amounts=Known(amounts, _LOGS, log.block_number),
                fees=Known(fees, _LOGS, log.block_number),
                # Taking out and collecting are most often one transaction, paid for once.
                gas=Known(0, "receipt") if log.transaction_hash in counted else gas,
                sqrt_price=_UNPRICED,
            )
        )
        counted.add(log.transaction_hash)
        if liquidity > 0:
            booked.append(changes[-1])
            continue
        taken_out += liquidity
        leaves = taken_out if any(principal) else 0
        taken_out -= leaves
        paid_out = Known(principal, _LOGS, log.block_number)
        booked.append(replace(changes[-1], liquidity_delta=leaves, amounts=paid_out))
    return PositionPast(tuple(changes), tuple(booked))


async def read_withdrawn(
    client: RpcClient, manager: Address, liquidity: Mapping[int, int], head: Block
) -> dict[int, Quantity[Amounts]]:
    """By token what was taken out of its range and not collected, up to a block.

    They must add up to the liquidity that the block tells.
    """
    try:
        logs = await _read_logs(client, manager, list(liquidity), head)
    except RpcError as error:
        logs = Unknown(f"its logs could not be read: {error.sentence}")
    if isinstance(logs, Unknown):
        return dict.fromkeys(liquidity, logs)
    found: dict[int, Quantity[Amounts]] = {}
    for token_id, held in liquidity.items():
        owed, total = NOTHING, 0
        for log in logs[token_id]:
            delta, amounts = _read_change(log)
            total += delta
            if log.topics[0] == COLLECTED:
                owed = owed.less(_paid_first(owed, amounts))
            elif delta < 0:
                owed = owed.plus(amounts)
        found[token_id] = Known(owed, _LOGS, head.number) if total == held else NOT_ADDED_UP
    return found


def _paid_first(owed: Amounts, paid: Amounts) -> Amounts:
    """What was taken out of the range is paid first; the rest are fees."""
    return Amounts(*map(min, owed, paid))


def _read_change(log: Log) -> tuple[int, Amounts]:
    """By how much a log says the liquidity changed, and what moved."""
    if len(log.topics) != _TOPICS:
        raise EventError("A log of the v3 position manager lacks the token it is about.")
    if log.topics[0] == COLLECTED:
        _, amount0, amount1 = abi.decode(("address", "uint256", "uint256"), log.data)
        return 0, Amounts(amount0, amount1)
    liquidity, amount0, amount1 = abi.decode(("uint128", "uint256", "uint256"), log.data)
    return (-liquidity if log.topics[0] == DECREASED else liquidity), Amounts(amount0, amount1)


def _gas(network: Network, receipt: Receipt | None) -> Quantity[int]:
    """The transaction's cost, shared evenly by the tokens it changed."""
    if receipt is None:
        return Unknown("the node has no receipt of the transaction")
    if network.stack == "op" and receipt.l1_fee is None:
        return Unknown("the node does not report what the data cost on the parent chain")
    tokens = {
        log.topics[1]
        for log in receipt.logs
        if network.v3 is not None
        and log.address == network.v3.position_manager
        and log.topics[0] in (INCREASED, DECREASED, COLLECTED)
    }
    cost = receipt.gas_used * receipt.effective_gas_price + (receipt.l1_fee or 0)
    return Known(cost // max(1, len(tokens)), "receipt", receipt.block_number)
