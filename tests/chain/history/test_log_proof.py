"""An endpoint that leaves logs out: what it says is not kept and colours no later read."""

import random
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, suppress
from dataclasses import dataclass, field
from typing import cast

import pytest

from chain.base.store import Store
from chain.base.units import DAY
from chain.devnet.world.pools import POOLS
from chain.history.events import FeeTerms, LogProof, growth_fault
from chain.history.hour_reader import HourMemory, read_hours
from chain.history.hours import PoolHours
from chain.math.fees import ProtocolFee
from chain.protocols.past import PoolMark
from chain.rpc.client import RpcClient
from chain.rpc.errors import LogsLeftOut, StatePruned
from chain.rpc.records import Log
from chain.rpc.requests import Request
from tests.chain.history.conftest import DEVNET, LiveWorld
from tests.chain.history.test_hours import header

LiveWorlds = Callable[..., AbstractAsyncContextManager[LiveWorld]]

WEEK = 8 * DAY
TERMS = {pool.key.pool_id: FeeTerms(pool.key.fee, ProtocolFee(0, 0)) for pool in POOLS}

Logs = tuple["Log", ...]


def empty(_logs: Logs, _random: random.Random) -> Logs:
    return ()


def capped(logs: Logs, _random: random.Random) -> Logs:
    return logs[:6]


def newest(logs: Logs, _random: random.Random) -> Logs:
    return logs[-6:]


def sometimes(logs: Logs, chance: random.Random) -> Logs:
    return () if chance.random() < 0.3 else logs


def late(logs: Logs, _random: random.Random) -> Logs:
    """The last blocks' are not there yet."""
    last = max((log.block_number for log in logs), default=0)
    return tuple(log for log in logs if log.block_number < last - 4)


def sieve(logs: Logs, chance: random.Random) -> Logs:
    return tuple(log for log in logs if chance.random() < 0.8)


OMISSIONS = (empty, capped, newest, sometimes, late, sieve)


@dataclass
class Omitting:
    """A client whose endpoint answers every call for logs with fewer than there are."""

    client: RpcClient
    omit: Callable[[Logs, random.Random], Logs]
    chance: random.Random = field(default_factory=lambda: random.Random(7))

    def __getattr__(self, name: str) -> object:
        return getattr(self.client, name)

    async def settle(self, requests: Sequence[Request[object]]) -> list[object]:
        outcomes = await self.client.settle(requests)
        return [
            self.omit(outcome, self.chance)
            if request.method == "eth_getLogs" and isinstance(outcome, tuple)
            else outcome
            for request, outcome in zip(requests, outcomes, strict=True)
        ]


def memory(store: Store) -> HourMemory:
    return HourMemory(store, DEVNET, clock=lambda: 0.0)


def all_alike(found: Mapping[str, PoolHours], fresh: Mapping[str, PoolHours]) -> bool:
    """Whether they tell of the same earnings, up to the same price.

    A swap left out of a steady move is counted with the next one: the first of a pool by what it
    paid alone.
    """
    told, expected = ({pool: _earned(one) for pool, one in all_.items()} for all_ in (found, fresh))
    return told.keys() == expected.keys() and all(
        told[pool] == pytest.approx(expected[pool], rel=5e-3) for pool in expected
    )


def _earned(hours: PoolHours) -> tuple[float, float, float]:
    rows = hours.rows
    return (
        sum(row.growth0 for row in rows),
        sum(row.growth1 for row in rows),
        float(rows[-1].close if rows else 0),
    )


@pytest.mark.parametrize("widest", [pytest.param(None, marks=pytest.mark.soak), 20])
@pytest.mark.parametrize("omit", OMISSIONS, ids=lambda omit: omit.__name__)
async def test_what_is_left_out_is_noticed_and_forgotten(
    live_world: LiveWorlds, omit: Callable[[Logs, random.Random], Logs], widest: int | None
) -> None:
    async with live_world(widest) as live:
        fresh = await read_hours(live.client, DEVNET, TERMS, WEEK, memory=memory(Store.in_memory()))
        store = Store.in_memory()
        liar = cast("RpcClient", Omitting(live.client, omit))
        for _ in range(2):
            with suppress(LogsLeftOut):
                found = await read_hours(liar, DEVNET, TERMS, WEEK, memory=memory(store))
                assert all_alike(found, fresh), "nothing was left out that time"
        found = await read_hours(live.client, DEVNET, TERMS, WEEK, memory=memory(store))
        assert all_alike(found, fresh)


async def test_what_was_proved_before_is_not_read_again(live_world: LiveWorlds) -> None:
    async with live_world() as live:
        store, head = Store.in_memory(), live.chain.head.number
        earlier = await header(live, head - 30)
        await read_hours(live.client, DEVNET, TERMS, WEEK, memory=memory(store), head=earlier)
        liar = cast("RpcClient", Omitting(live.client, empty))
        with pytest.raises(LogsLeftOut):
            await read_hours(liar, DEVNET, TERMS, WEEK, memory=memory(store))
        live.log_ranges.clear()
        await read_hours(live.client, DEVNET, TERMS, WEEK, memory=memory(store))
        assert max(live.log_ranges) <= 30


@dataclass
class Unproved(Omitting):
    """Without the state of the past, beside a second endpoint that gives all logs."""

    labels: tuple[str, ...] = ("one", "other")
    compared: int = 0

    async def settle(self, requests: Sequence[Request[object]]) -> list[object]:
        outcomes = await super().settle(requests)
        return [
            StatePruned("missing trie node")
            if request.method == "eth_call" and isinstance(request.params[1], str)
            else outcome
            for request, outcome in zip(requests, outcomes, strict=True)
        ]

    async def ask_each(self, request: Request[object]) -> dict[str, object]:
        self.compared += 1
        [own], [all_] = await self.settle([request]), await self.client.settle([request])
        return dict(zip(self.labels, (own, all_), strict=False))


def but_the_last(logs: Logs, _random: random.Random) -> Logs:
    """Half of the swaps, the last among them: the price is right, and nobody knows the fees."""
    return logs[len(logs) % 2 == 0 :: 2]


@pytest.mark.parametrize("endpoints", [1, 2])
async def test_what_state_cannot_prove_is_held_against_a_second_endpoint(
    live_world: LiveWorlds, endpoints: int
) -> None:
    one = {pool.key.pool_id: TERMS[pool.key.pool_id] for pool in POOLS[:1]}
    async with live_world() as live:
        liar = Unproved(live.client, but_the_last, labels=("one", "other")[:endpoints])
        client, kept = cast("RpcClient", liar), memory(Store.in_memory())
        if endpoints == 1:
            [found] = (await read_hours(client, DEVNET, one, DAY, memory=kept)).values()
            assert found.swaps
            assert not liar.compared
            return
        with pytest.raises(LogsLeftOut, match="different swaps of the same blocks"):
            await read_hours(client, DEVNET, one, DAY, memory=kept)
        liar.omit = lambda logs, _random: logs
        [found] = (await read_hours(client, DEVNET, one, DAY, memory=kept)).values()
        [whole] = (
            await read_hours(live.client, DEVNET, one, DAY, memory=memory(Store.in_memory()))
        ).values()
        # Where the first swap began only the state tells.
        assert found.rows[1:] == whole.rows[1:]
        assert found.swaps == whole.swaps


def _proof_of(*, told: int, fee_units: int, liquidity: int) -> LogProof:
    """After so many like swaps of which some were told, each of a fee rounded up to a unit."""
    exact = (fee_units - 0.5) / liquidity
    return LogProof(1, PoolMark(1, 0, 0)).with_swaps(exact * told, 0.0, 3 * told / liquidity)


@pytest.mark.parametrize("fee_units", [1, 30, 5_000])
def test_fees_of_a_few_units_are_no_fault_and_half_of_many_is(fee_units: int) -> None:
    """A coin of six or eight decimals pays a small swap's fee in very few units."""
    liquidity = 10**9
    mark = PoolMark(1, 1_000 * fee_units * (1 << 128) // liquidity, 0)
    whole = _proof_of(told=1_000, fee_units=fee_units, liquidity=liquidity)
    half = _proof_of(told=500, fee_units=fee_units, liquidity=liquidity)
    assert growth_fault(whole, mark) == ""
    assert bool(growth_fault(half, mark)) is (fee_units > 3)


def test_a_jump_over_prices_where_nobody_provides_is_no_fault() -> None:
    proof = LogProof(1, PoolMark(1, 0, 0)).with_swaps(2.0, 0.0, 0.0)
    assert growth_fault(proof, PoolMark(1, 1 << 128, 0)) == ""
