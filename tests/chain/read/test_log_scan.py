"""Ranges of blocks as wide as a node allows, whatever the way it refuses."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import cast

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from chain.read.logs import RangeWidth, ScanProgress, scan_logs, scan_parts
from chain.rpc.client import RpcClient
from chain.rpc.endpoint import KnownRange
from chain.rpc.errors import LogsTooNarrow, RangeTooWide, RpcError, TimedOut, TooLarge, Unreachable
from chain.rpc.records import Block, Log
from chain.rpc.requests import Request

ADDRESS = "0x" + "99" * 20
TOPIC = "0x" + "ab" * 32


@dataclass
class Node:
    """Has one log in some blocks, and refuses ranges by width or by how much they hold."""

    logs_at: frozenset[int]
    widest: int
    most_logs: int
    names_its_limit: bool = False
    asked: list[int] = field(default_factory=list)
    requests: int = 0
    log_range: KnownRange | None = None
    calls_at_once: int = 10
    labels: tuple[str, ...] = ("node",)

    def learn_log_range(self, known: KnownRange) -> None:
        self.log_range = known

    async def settle(self, requests: Sequence[Request[object]]) -> list[object]:
        self.requests += 1
        return [self._answer(request) for request in requests]

    def _answer(self, request: Request[object]) -> object:
        if request.method == "eth_getBlockByNumber":
            number = int(str(request.params[0]), 16)
            return Block(number, f"0x{number:064x}", "0x", number, 0, 0, 0)
        query = request.params[0]
        assert isinstance(query, dict)
        first, last = int(query["fromBlock"], 16), int(query["toBlock"], 16)
        self.asked.append(last - first + 1)
        if last - first + 1 > self.widest:
            span = self.widest if self.names_its_limit else None
            return RangeTooWide("too wide", suggested_span=span)
        found = sorted(number for number in self.logs_at if first <= number <= last)
        if len(found) > self.most_logs:
            return TooLarge(1, endpoint="node")
        return tuple(
            Log(ADDRESS, (TOPIC,), b"", number, "0x", "0x", 0, 0, removed=False) for number in found
        )


async def scanned(node: Node, first: int, last: int) -> list[int]:
    numbers: list[int] = []
    expected = first
    async for part in scan_logs(cast("RpcClient", node), ADDRESS, [(TOPIC,)], first, last):
        assert part.last.number >= expected
        expected = part.last.number + 1
        numbers += [log.block_number for log in part.logs]
    assert expected == last + 1
    return numbers


@settings(max_examples=60)
@given(
    st.frozensets(st.integers(0, 3000), max_size=60),
    st.integers(1, 4000),
    st.integers(1, 20),
    st.booleans(),
)
def test_every_log_is_found_once(
    logs_at: frozenset[int], widest: int, most_logs: int, names_its_limit: bool
) -> None:
    node = Node(logs_at, widest, most_logs, names_its_limit)
    found = asyncio.run(scanned(node, 100, 2900))
    assert found == sorted(number for number in logs_at if 100 <= number <= 2900)


async def test_a_node_without_limits_is_asked_for_ever_more() -> None:
    node = Node(frozenset({5}), 10**9, 10)
    assert await scanned(node, 0, 10**6 - 1) == [5]
    assert node.asked == [10_000, 80_000, 640_000, 270_000]


async def test_a_limit_that_is_named_is_kept_to() -> None:
    node = Node(frozenset(), 500, 10, names_its_limit=True)
    await scanned(node, 0, 4_999)
    assert node.asked == [5_000, *[500] * 10]


async def test_a_limit_that_is_not_named_is_found_and_seldom_tried_again() -> None:
    node = Node(frozenset(), 1_000, 10)
    await scanned(node, 0, 127_999)
    refused = [width for width in node.asked if width > 1_000]
    assert refused[:4] == [10_000, 5_000, 2_500, 1_250]
    assert all(1_000 < width <= 1_250 for width in refused[4:])
    assert len(node.asked) <= 205 + 4 + 4 * 5


async def test_a_wider_range_that_is_refused_leaves_what_was_given_before() -> None:
    node = Node(frozenset(), 10_000, 10)
    await scanned(node, 0, 399_999)
    assert node.asked == [10_000, 80_000, *[10_000] * 39]


async def test_ranges_that_proved_good_share_a_request() -> None:
    node = Node(frozenset(), 100, 10, names_its_limit=True)
    await scanned(node, 0, 3_999)
    assert node.asked == [4_000, *[100] * 40]
    assert node.requests == 2 + 8


async def test_a_limit_that_is_not_named_is_tried_again_ever_more_seldom() -> None:
    """One range at a time: what is refused in a request of many was asked for in vain."""
    node = Node(frozenset(), 5_000, 10, log_range=KnownRange(5_000, most=True), calls_at_once=100)
    await scanned(node, 0, 5_000 * 2_000 - 1)
    refused = [width for width in node.asked if width > 5_000]
    assert set(refused) == {10_000}
    assert len(refused) == 5, "after some 50, 100, 200, 400 and 800 that were given"
    assert len(node.asked) == 2_000 + 5


async def test_a_header_for_each_request_is_enough_for_who_wants_logs_alone() -> None:
    node = Node(frozenset({5, 2_500}), 100, 10, log_range=KnownRange(100, most=True))
    scan = scan_parts(cast("RpcClient", node), ADDRESS, [(TOPIC,)], 0, 3_599)
    parts = [part async for part in scan]
    assert [part.end for part in parts] == list(range(99, 3_600, 100))
    assert [log.block_number for part in parts for log in part.logs] == [5, 2_500]
    headers = [part.header for part in parts if part.header is not None]
    assert [one.number for one in headers] == [899, 1_799, 2_699, 3_599]
    assert node.requests == 4


async def test_a_limit_that_is_known_is_not_found_out_again() -> None:
    node = Node(frozenset(), 100, 10, names_its_limit=True)
    await scanned(node, 0, 999)
    assert node.log_range == KnownRange(100, most=True)
    node.asked.clear()
    await scanned(node, 1_000, 1_999)
    assert node.asked == [100] * 10


async def test_so_small_a_limit_that_it_would_take_for_ever_is_said() -> None:
    node = Node(frozenset(), 10, 10, names_its_limit=True)
    parts = scan_logs(cast("RpcClient", node), ADDRESS, [(TOPIC,)], 0, 10**6 - 1, most_calls=3_000)
    with pytest.raises(LogsTooNarrow) as caught:
        await anext(parts)
    assert len(node.asked) == 1
    assert "100,000 calls" in caught.value.sentence
    assert "--rpc URL" in caught.value.next_step


async def test_a_crowded_stretch_is_left_behind() -> None:
    node = Node(frozenset(range(100)), 10**9, 10)
    await scanned(node, 0, 99_999)
    assert min(node.asked) < 11
    assert max(node.asked[-3:]) > 10_000


async def test_other_faults_are_not_hidden() -> None:
    class Broken(Node):
        async def settle(self, requests: Sequence[Request[object]]) -> list[object]:
            raise Unreachable("is gone", endpoint="node")

    with pytest.raises(Unreachable):
        await scanned(Broken(frozenset(), 1, 1), 0, 10)


async def test_one_block_that_is_too_much_ends_the_scan() -> None:
    with pytest.raises(TooLarge):
        await scanned(Node(frozenset({3}), 10**9, 0), 0, 10)


@given(st.integers(2, 10**8), st.sampled_from(["wide", "large", "slow"]))
def test_a_refusal_always_narrows(asked: int, kind: str) -> None:
    refusals: dict[str, RpcError] = {
        "wide": RangeTooWide("too wide", suggested=(0, asked * 3)),
        "large": TooLarge(1, endpoint="node"),
        "slow": TimedOut(1, endpoint="node"),
    }
    width = RangeWidth(asked, asked).after_refusal(refusals[kind], asked)
    assert 1 <= width.blocks < asked
    assert width.blocks <= width.ceiling


def test_progress_is_a_fraction_of_the_way() -> None:
    assert ScanProgress(100, 199, 149, 3).fraction == 0.5
    assert ScanProgress(100, 199, 199, 3).fraction == 1
