"""When blocks happened, in few requests: exact where it is affordable, else between exact ones."""

from bisect import bisect_left
from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise

from msgspec import Struct

from chain.contracts.networks import Network
from chain.read.block_reader import settle_in_parts
from chain.rpc import requests
from chain.rpc.client import RpcClient
from chain.rpc.errors import Malformed, Reorged, RpcError, StatePruned
from chain.rpc.records import Block, Hash

MOST_EXACT = 60
"""More headers than this are not fetched: the rest is interpolated, and said to be."""

_PROBES = 8
_TOLERANCE = 0.02


class BlockTimes(Struct, frozen=True):
    """Timestamps by block number, some of them estimated between their neighbours."""

    seconds: Mapping[int, int]
    estimated: frozenset[int]

    def __getitem__(self, block_number: int) -> int:
        return self.seconds[block_number]


def check_unmoved(found: Block, head: Block) -> None:
    """A head that was read again must be the block that was read up to."""
    if found.hash != head.hash:
        raise Reorged(head.number, head.hash, found.hash)


async def read_block_times(
    client: RpcClient,
    wanted: Mapping[int, Hash],
    known: Iterable[Block],
    *,
    most_exact: int = MOST_EXACT,
) -> BlockTimes:
    """The times of these blocks, each of which must still have this hash; `known` costs nothing."""
    headers = {block.number: block for block in known}
    missing = sorted(wanted.keys() - headers.keys())
    asked = pick_evenly(missing, most_exact)
    for block in await read_headers(client, asked) if asked else ():
        headers[block.number] = block
    for number, block in headers.items():
        if wanted.get(number, block.hash) != block.hash:
            raise Reorged(number, wanted[number], block.hash)
    anchors = sorted((number, block.timestamp) for number, block in headers.items())
    estimated = frozenset(missing) - frozenset(asked)
    guessed = {number: interpolate_time(anchors, number) for number in estimated}
    return BlockTimes({**dict(anchors), **guessed}, estimated)


async def first_block_since(client: RpcClient, network: Network, since: float, head: Block) -> int:
    """A block at or shortly before a time, or the network's first when that is later.

    "Shortly" is two hundredths of the way from there to the head: enough to start reading from.
    """
    if since >= head.timestamp:
        return head.number
    low, high = network.first_block, head.number
    low_time: float | None = None
    high_time = float(head.timestamp)
    slack = (high_time - since) * _TOLERANCE
    guess = round(high - (high_time - since) / network.block_seconds)
    # Where blocks come as evenly as they should, two of them are enough.
    probes = {guess, guess - int(slack / network.block_seconds / 2)}
    while high - low > 1 and (low_time is None or since - low_time > slack):
        probes = {min(max(probe, low + 1), high - 1) for probe in probes}
        for block in await read_headers(client, sorted(probes)):
            if block.timestamp <= since:
                if block.number > low:
                    low, low_time = block.number, float(block.timestamp)
            elif block.number < high:
                high, high_time = block.number, float(block.timestamp)
        if low_time is not None:
            share = (since - low_time) / max(1.0, high_time - low_time)
            guess = low + int((high - low) * share)
        step = max(1, (high - low) // (_PROBES + 1))
        probes = {guess, *range(low + step, high, step)}
    return low


async def read_headers(client: RpcClient, numbers: Sequence[int]) -> list[Block]:
    """The headers of these blocks."""
    headers: list[Block] = []
    outcomes = await settle_in_parts(client, [requests.block(number) for number in numbers])
    for number, outcome in zip(numbers, outcomes, strict=True):
        if isinstance(outcome, RpcError):
            raise outcome
        if outcome is None:
            raise StatePruned(f"it has no block {number}")
        headers.append(outcome)
    if any(late.timestamp < early.timestamp for early, late in pairwise(headers)):
        raise Malformed("blocks whose times run backwards", endpoint="The RPC")
    return headers


def pick_evenly(numbers: Sequence[int], most: int) -> list[int]:
    """At most so many of these, evenly, the first and the last among them."""
    if len(numbers) <= most:
        return list(numbers)
    if most < 2:
        return list(numbers[len(numbers) // 2 :][:most])
    last = len(numbers) - 1
    return [numbers[index * last // (most - 1)] for index in range(most)]


def interpolate_time(anchors: Sequence[tuple[int, int]], number: int) -> int:
    """The time of a block that lies between two known ones, as if blocks came evenly."""
    after = bisect_left(anchors, (number, 0))
    (low, low_time), (high, high_time) = anchors[after - 1], anchors[after]
    return low_time + (high_time - low_time) * (number - low) // (high - low)
