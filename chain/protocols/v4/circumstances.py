"""The price, the fees paid up to, the time and the gas of past changes of liquidity."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import TypeAlias

from msgspec import Struct

from chain.base.units import Known, Quantity, Unknown, combine
from chain.contracts.networks import Network
from chain.contracts.pool_key import PoolId
from chain.contracts.storage import decode_slot0
from chain.math.fees import FeeGrowth, fees_owed
from chain.math.liquidity import Amounts, amounts_for_liquidity
from chain.math.ticks import sqrt_price_at_tick
from chain.protocols.past import NOTHING, LiquidityChange, SwapEvent
from chain.protocols.reference import PositionRef
from chain.protocols.snapshot import PositionIdentity
from chain.protocols.v4.events import (
    DONATE,
    INITIALIZE,
    MODIFY_LIQUIDITY,
    SWAP,
    InitializeEvent,
    ModifyLiquidityEvent,
    initialize_event,
    modify_liquidity_event,
    swap_event,
)
from chain.protocols.v4.storage import PositionLayout, layout_of
from chain.read.block_reader import decode_words, expect, read_words, settle_in_parts
from chain.read.logs import scan_parts
from chain.rpc import requests
from chain.rpc.client import RpcClient
from chain.rpc.errors import StatePruned
from chain.rpc.records import Block, Hash, Log, LogFilter, Receipt
from chain.rpc.requests import CallOutcome

PastWords: TypeAlias = "dict[int, Quantity[Mapping[int, int]]]"
"""By block number; unknown where the node has thrown the block's state away."""


async def read_past_words(
    client: RpcClient, network: Network, wanted: Mapping[int, Sequence[int]]
) -> PastWords:
    """The values of these slots at these blocks, one call a block."""
    pool_manager = network.contracts.pool_manager
    calls = [
        requests.call(pool_manager, read_words(pool_manager, slots).data, number)
        for number, slots in wanted.items()
    ]
    words: PastWords = {}
    answers = await settle_in_parts(client, calls)
    for (number, slots), answer in zip(wanted.items(), answers, strict=True):
        if isinstance(answer, StatePruned):
            words[number] = Unknown(f"the state of block {number} needs an archive node")
            continue
        data = expect(answer, bytes)
        # Before the PoolManager existed there was nothing in its storage.
        outcome = CallOutcome(success=True, data=data)
        read = decode_words(slots, outcome) if data else dict.fromkeys(slots, 0)
        words[number] = Known(read, "PoolManager storage", number)
    return words


_FIRST_WINDOW = 1_000


def last_price(logs: Sequence[Log]) -> SwapEvent | InitializeEvent | None:
    """The last of these logs that tells a price."""
    for log in reversed(logs):
        if log.topics[0] == SWAP:
            return swap_event(log)
        if log.topics[0] == INITIALIZE:
            return initialize_event(log)
    return None


async def find_last_price(
    client: RpcClient, network: Network, pool_id: PoolId, last: int
) -> SwapEvent | InitializeEvent | None:
    """The last price up to a block, looked for further and further back."""
    window = _FIRST_WINDOW
    topics = ((SWAP, INITIALIZE), pool_id)
    while last >= network.first_block:
        first = max(network.first_block, last - window + 1)
        parts = scan_parts(client, network.contracts.pool_manager, [topics], first, last)
        found = last_price([log async for part in parts for log in part.logs])
        if found is not None:
            return found
        last, window = first - 1, window * 4
    return None


LOGS = "PoolManager logs"


class ChangeCircumstances(Struct, frozen=True):
    """What has to be known beside the log to tell what a change was worth."""

    timestamp: int
    sqrt_price: Quantity[int]
    growth_paid: Quantity[FeeGrowth]
    """The fee growth inside the range up to which the position is paid after the change."""
    gas: Quantity[int]
    """This position's part of what the transaction cost, in the smallest unit of the coin."""


def change_amounts(
    identity: PositionIdentity, events: Sequence[tuple[ModifyLiquidityEvent, ChangeCircumstances]]
) -> tuple[LiquidityChange, ...]:
    """What each change moved, from the first of the position on."""
    changes: list[LiquidityChange] = []
    liquidity = 0
    paid: Quantity[FeeGrowth] = Known(FeeGrowth(0, 0), LOGS)
    for event, seen in events:
        changes.append(
            LiquidityChange(
                place=event.place,
                timestamp=seen.timestamp,
                liquidity_delta=event.liquidity_delta,
                amounts=_amounts(identity, event.liquidity_delta, seen.sqrt_price),
                fees=_fees(seen.growth_paid, paid, liquidity),
                gas=seen.gas,
                sqrt_price=seen.sqrt_price,
            )
        )
        liquidity += event.liquidity_delta
        paid = seen.growth_paid
    return tuple(changes)


def _amounts(
    identity: PositionIdentity, delta: int, sqrt_price: Quantity[int]
) -> Quantity[Amounts]:
    if delta == 0:
        return Known(NOTHING, LOGS)
    lower = sqrt_price_at_tick(identity.tick_lower)
    upper = sqrt_price_at_tick(identity.tick_upper)
    return sqrt_price.map(
        lambda price: amounts_for_liquidity(price, lower, upper, abs(delta), round_up=delta > 0)
    )


def _fees(
    now: Quantity[FeeGrowth], before: Quantity[FeeGrowth], liquidity: int
) -> Quantity[Amounts]:
    if liquidity == 0:
        return Known(NOTHING, LOGS)
    return combine(lambda new, old: Amounts(*fees_owed(new, old, liquidity)), now, before)


Event: TypeAlias = "tuple[PositionIdentity, ModifyLiquidityEvent]"


class _Surroundings(Struct, frozen=True):
    """What lies around the events in the chain, read for all of them together."""

    blocks: Mapping[int, Block]
    logs: Mapping[tuple[PoolId, int], tuple[Log, ...]]
    """Whatever else moved a pool's price or fees in the blocks of its events."""
    words: PastWords
    receipts: Mapping[Hash, Receipt | None]


async def read_circumstances(
    client: RpcClient, network: Network, events: Sequence[Event]
) -> list[ChangeCircumstances]:
    """The circumstances of each event; what only an archive node can tell may be unknown."""
    around = await _read_surroundings(client, network, events)
    last_in_block: dict[tuple[PositionRef, int], int] = {}
    for identity, event in events:
        last_in_block[identity.ref, event.place.block_number] = event.place.log_index
    found: list[ChangeCircumstances] = []
    for identity, event in events:
        number = event.place.block_number
        layout = layout_of(identity, network.contracts.position_manager)
        beside = around.logs[identity.pool_id, number]
        price = _price_before(event, beside, around.words[number - 1], layout)
        if isinstance(price, Unknown):
            price = await _price_by_logs(client, network, identity.pool_id, number - 1)
        last = last_in_block[identity.ref, number]
        found.append(
            ChangeCircumstances(
                timestamp=around.blocks[number].timestamp,
                sqrt_price=price,
                growth_paid=_growth_paid(event, last, beside, around.words[number], layout),
                gas=_gas(network, around.receipts[event.place.transaction_hash]),
            )
        )
    return found


async def _read_surroundings(
    client: RpcClient, network: Network, events: Sequence[Event]
) -> _Surroundings:
    numbers = sorted({event.place.block_number for _, event in events})
    pool_blocks = sorted(
        {(identity.pool_id, event.place.block_number) for identity, event in events}
    )
    transactions = sorted({event.place.transaction_hash for _, event in events})
    answers = await settle_in_parts(
        client,
        [
            *(requests.block(number) for number in numbers),
            *(requests.receipt(transaction) for transaction in transactions),
            *(requests.logs(_movements(network, *pool_block)) for pool_block in pool_blocks),
        ],
    )
    blocks = [expect(answer, Block) for answer in answers[: len(numbers)]]
    receipts = answers[len(numbers) : len(numbers) + len(transactions)]
    logs = [expect(answer, tuple) for answer in answers[len(numbers) + len(transactions) :]]
    return _Surroundings(
        blocks={block.number: block for block in blocks},
        logs=dict(zip(pool_blocks, logs, strict=True)),
        words=await read_past_words(client, network, _words_wanted(network, events)),
        receipts={
            transaction: answer if isinstance(answer, Receipt) else None
            for transaction, answer in zip(transactions, receipts, strict=True)
        },
    )


def _movements(network: Network, pool_id: PoolId, block_number: int) -> LogFilter:
    topics = ((SWAP, INITIALIZE, DONATE), pool_id)
    return LogFilter(network.contracts.pool_manager, topics, block_number, block_number)


def _words_wanted(network: Network, events: Iterable[Event]) -> dict[int, list[int]]:
    """By block: the price before the events' blocks, and the growth paid up to after them."""
    wanted: dict[int, dict[int, None]] = defaultdict(dict)
    for identity, event in events:
        layout = layout_of(identity, network.contracts.position_manager)
        wanted[event.place.block_number - 1][layout.pool.slot0] = None
        wanted[event.place.block_number][layout.position.fee_growth_inside0_last] = None
        wanted[event.place.block_number][layout.position.fee_growth_inside1_last] = None
    return {number: list(slots) for number, slots in wanted.items()}


def _price_before(
    event: ModifyLiquidityEvent,
    beside: Sequence[Log],
    before: Quantity[Mapping[int, int]],
    layout: PositionLayout,
) -> Quantity[int]:
    """The pool's square-root price when the event happened."""
    place = event.place
    earlier = last_price([log for log in beside if log.log_index < place.log_index])
    if earlier is not None:
        return Known(earlier.sqrt_price_x96, "pool swaps", place.block_number)
    return before.map(lambda words: decode_slot0(words[layout.pool.slot0]).sqrt_price_x96)


async def _price_by_logs(
    client: RpcClient, network: Network, pool_id: PoolId, last: int
) -> Quantity[int]:
    found = await find_last_price(client, network, pool_id, last)
    if found is None:
        return Unknown("the node has no log of the pool's first price")
    return Known(found.sqrt_price_x96, "pool swaps", found.place.block_number)


def _growth_paid(
    event: ModifyLiquidityEvent,
    last: int,
    beside: Sequence[Log],
    after: Quantity[Mapping[int, int]],
    layout: PositionLayout,
) -> Quantity[FeeGrowth]:
    """The state at the block's end tells of its last change, and of any that saw no fee since."""
    number, index = event.place.block_number, event.place.log_index
    if any(index < log.log_index < last for log in beside):
        return Unknown(f"the position changed several times between swaps of block {number}")
    slots = layout.position
    return after.map(
        lambda words: FeeGrowth(
            words[slots.fee_growth_inside0_last], words[slots.fee_growth_inside1_last]
        )
    )


def _gas(network: Network, receipt: Receipt | None) -> Quantity[int]:
    """The transaction's cost, shared evenly by the positions it changed."""
    if receipt is None:
        return Unknown("the node has no receipt of the transaction")
    if network.stack == "op" and receipt.l1_fee is None:
        return Unknown("the node does not report what the data cost on the parent chain")
    manager = network.contracts.position_manager
    changes = [
        modify_liquidity_event(log)
        for log in receipt.logs
        if log.address == network.contracts.pool_manager and log.topics[0] == MODIFY_LIQUIDITY
    ]
    positions = {change.salt for change in changes if change.sender == manager}
    cost = receipt.gas_used * receipt.effective_gas_price + (receipt.l1_fee or 0)
    return Known(cost // max(1, len(positions)), "receipt", receipt.block_number)
