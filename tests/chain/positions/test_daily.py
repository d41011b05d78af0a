"""What positions earn and lose a day, against the chain's own past."""

from __future__ import annotations

from bisect import bisect_right
from itertools import pairwise
from typing import TYPE_CHECKING

import pytest

from chain.base.quantity import Known, Unknown
from chain.base.units import DAY
from chain.contracts.storage import decode_slot0
from chain.devnet.world.accounts import DEMO_WALLET, MEDIUM_PROVIDER
from chain.devnet.world.pools import STABLE
from chain.positions.batch_reader import read_positions
from chain.positions.change_reader import ChangeReader
from chain.positions.circumstances import read_past_words
from chain.positions.identity import layout_of
from chain.positions.performance import read_daily_results
from chain.positions.profit import worth
from chain.rpc import requests
from chain.rpc.client import RpcClient
from chain.rpc.records import Block
from tests.chain.between import Door, without_archive

if TYPE_CHECKING:
    from chain.devnet.launch import DevnetReady
    from chain.positions.performance import DailyResult
    from chain.positions.snapshot import PositionSnapshot
    from tests.chain.conftest import Desk
    from tests.chain.moves import Moves

HOUR = 3600


async def daily(
    desk: Desk, client: RpcClient | None = None, owner: str = DEMO_WALLET.address
) -> list[tuple[PositionSnapshot, DailyResult]]:
    wallet = await desk.discovery.read(owner)
    reader = ChangeReader(desk.client, desk.network, desk.memory, desk.changes)
    accounts = await reader.since_entry(wallet.positions)
    results = await read_daily_results(
        client or desk.client, desk.network, wallet.positions, accounts, memory=desk.hours
    )
    return [(one, results[one.token_id]) for one in wallet.positions]


async def block_times(desk: Desk) -> list[int]:
    """The time of each block up to the head."""
    head = await desk.client.head()
    blocks = await desk.client.settle([requests.block(one) for one in range(head.number + 1)])
    return [block.timestamp for block in blocks if isinstance(block, Block)]


def block_at(times: list[int], timestamp: int) -> int:
    """The newest block that is not younger."""
    return bisect_right(times, timestamp) - 1


async def test_fees_are_what_accrued_since_then(desk: Desk) -> None:
    compared = 0
    times = await block_times(desk)
    for snapshot, result in await daily(desk):
        assert isinstance(result.fees, Known)
        assert result.measured_seconds > 0
        start = block_at(times, snapshot.block.timestamp - result.measured_seconds)
        then = (
            await read_positions(
                desk.client, desk.network, desk.memory, [snapshot.token_id], at=start
            )
        )[snapshot.token_id]
        if then.liquidity != snapshot.liquidity:
            continue
        scale = DAY / result.measured_seconds
        for now, before, rate in (
            (snapshot.fees0, then.fees0, result.fees.value.amount0),
            (snapshot.fees1, then.fees1, result.fees.value.amount1),
        ):
            assert rate == pytest.approx((now - before) * scale, abs=2 * scale + 1)
        compared += max(result.fees.value) > 0
    assert compared >= 6


async def test_loss_is_that_of_the_hourly_prices(desk: Desk) -> None:
    manager = desk.network.contracts.position_manager
    lost = 0
    times = await block_times(desk)
    for snapshot, result in await daily(desk):
        layout = layout_of(snapshot.identity, manager)
        until = snapshot.block.timestamp
        begin = until - result.measured_seconds
        moments = [begin, *sorted(range(until, begin, -HOUR))]
        blocks = [block_at(times, moment) for moment in moments]
        words = await read_past_words(
            desk.client, desk.network, {number: [layout.pool.slot0] for number in blocks}
        )
        roots: list[float] = []
        for number in blocks:
            read = words[number]
            assert isinstance(read, Known)
            roots.append(decode_slot0(read.value[layout.pool.slot0]).sqrt_price_x96 / 2**96)
        expected = sum(
            _loss(snapshot.liquidity, layout.sqrt_price_lower, layout.sqrt_price_upper, a, b)
            for a, b in pairwise(roots)
        )
        assert isinstance(result.lvr, Known)
        scale = DAY / result.measured_seconds
        assert float(result.lvr.value) == pytest.approx(expected * scale, rel=1e-4, abs=2 * scale)
        assert isinstance(result.net, Known)
        assert isinstance(result.fees, Known)
        price = snapshot.pool.sqrt_price_x96
        assert result.net.value == worth(result.fees.value, price) - result.lvr.value
        lost += result.lvr.value > 0
    assert lost >= 6


def _loss(liquidity: int, lower: int, upper: int, before: float, after: float) -> float:
    """V(p₀) + x(p₀)·(p₁ − p₀) − V(p₁), V = L(2c − a − p/b)."""
    low, high = lower / 2**96, upper / 2**96

    def value(root: float) -> float:
        inside = min(max(root, low), high)
        return liquidity * ((inside - low) + root * root * (1 / inside - 1 / high))

    inside = min(max(before, low), high)
    amount0 = liquidity * (1 / inside - 1 / high)
    return value(before) + amount0 * (after * after - before * before) - value(after)


async def test_without_an_archive_fees_come_from_the_swaps(desk: Desk, devnet: DevnetReady) -> None:
    exact = await daily(desk)
    head = exact[0][0].block.number
    async with (
        Door(devnet.url, without_archive(head, kept=0)) as door,
        RpcClient(desk.network, [door.url]) as client,
    ):
        estimated = await daily(desk, client)
    compared = 0
    for (snapshot, known), (_, guessed) in zip(exact, estimated, strict=True):
        assert isinstance(known.fees, Known)
        assert isinstance(guessed.fees, Known)
        assert guessed.fees.source.endswith("pool swaps")
        price = snapshot.pool.sqrt_price_x96
        truth = float(worth(known.fees.value, price))
        if snapshot.share > 0 and truth > 10_000:
            assert float(worth(guessed.fees.value, price)) == pytest.approx(truth, rel=0.02)
            compared += 1
    assert compared >= 4


async def test_a_position_of_this_very_block_has_no_day_yet(desk: Desk, changing: Moves) -> None:
    owner = "0x" + "0d" * 20
    changing.mint(MEDIUM_PROVIDER, STABLE.key, [(-7, 7)], 10**9, owner)
    [(_, result)] = await daily(desk, owner=owner)
    assert isinstance(result.fees, Unknown)
    assert isinstance(result.net, Unknown)
