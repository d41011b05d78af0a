"""The past of v3 pools: by their own logs, proved like that of v4, and as real minutes tell it."""

import random
from collections.abc import Callable, Iterator
from statistics import median
from typing import cast

import pytest
from msgspec.structs import replace

from agents.numbers.advice import week_edge
from chain.base.store import Store
from chain.base.table_file import read_timed_table
from chain.base.units import DAY, HOUR, Known, Unknown
from chain.contracts import abi
from chain.contracts.networks import network_named
from chain.devnet.world.accounts import ARBITRAGEUR, DEMO_WALLET, DEPLOYER, MEDIUM_PROVIDER
from chain.devnet.world.deployment import USDC, WETH
from chain.devnet.world.pools import DevnetPool
from chain.devnet.world.v3_life import DEEP, V3_POOLS
from chain.devnet.world.worlds import opened_world
from chain.history.events import FeeTerms, fee_terms
from chain.history.hour_reader import HourMemory, read_given_hours, read_hours
from chain.history.hours import PoolHours, hour_rows, recent_swap
from chain.math.fees import ProtocolFee
from chain.math.ticks import sqrt_price_at_tick, tick_at_sqrt_price
from chain.pools.depth import read_depths, read_states
from chain.positions.discovery import Discovery
from chain.protocols.reference import V3, v3_position
from chain.protocols.snapshot import PositionSnapshot
from chain.protocols.v3.contract import V3_SWAP, v3_swap_event
from chain.protocols.v3.pool_key import v3_pool_key
from chain.protocols.v4.memory import PositionMemory
from chain.read.block_reader import OneBlock
from chain.rpc.client import RpcClient
from chain.rpc.errors import LogsLeftOut
from chain.rpc.records import Block, Log
from tests.chain.conftest import Desk
from tests.chain.history.test_log_proof import OMISSIONS, Logs, Omitting, all_alike
from tests.chain.moves import Moves
from tests.chain.pools.quoting import quote_exact_input
from tests.chain.v3_moves import V3Moves
from tests.chain_view import ChainView
from tests.fakes.providers.clock import VirtualClock
from tests.fakes.providers.embedded import EmbeddedChain
from tests.fakes.providers.profiles import PROFILES
from tests.fakes.providers.provider import Provider, client_through
from tests.market_data import market_data

DEVNET = network_named("devnet")
WEEK = 8 * DAY
_Q128 = 1 << 128
_SWAP_TYPES = ("int256", "int256", "uint160", "uint128", "int24")


@pytest.fixture(scope="module")
def market() -> Iterator[ChainView]:
    with opened_world(7, "small", v3=True) as world:
        yield ChainView(world.node)


def address(pool: DevnetPool) -> str:
    assert DEVNET.v3 is not None
    tokens = pool.currency0.address, pool.currency1.address
    return v3_pool_key(DEVNET.v3.factory, *tokens, pool.fee, pool.tick_spacing).pool


TERMS = {
    address(pool): FeeTerms(pool.fee, ProtocolFee(0, 0), pool.tick_spacing, protocol_within=True)
    for pool in V3_POOLS
}


def memory() -> HourMemory:
    return HourMemory(Store.in_memory(), DEVNET, clock=lambda: 0.0)


async def test_every_swap_is_counted_and_pays_what_the_pool_says(market: ChainView) -> None:
    async with RpcClient(DEVNET, [market.url]) as client:
        hours = await read_hours(client, DEVNET, TERMS, WEEK, memory=memory())
    for pool, found in hours.items():
        assert found.swaps == len(market.logs(pool, V3_SWAP)) > 10
        told = [
            int(market("eth_call", {"to": pool, "data": "0x" + abi.selector(name).hex()}), 16)
            / _Q128
            for name in ("feeGrowthGlobal0X128()", "feeGrowthGlobal1X128()")
        ]
        counted = [sum(getattr(row, name) for row in found.rows) for name in ("growth0", "growth1")]
        assert counted == pytest.approx(told, rel=1e-4)
    edge = week_edge(hours[address(DEEP)])
    assert isinstance(edge, Known)
    assert 0.5 < edge.value < 1.6


@pytest.mark.parametrize("omit", OMISSIONS, ids=lambda omit: omit.__name__)
async def test_what_is_left_out_is_noticed(
    market: ChainView, omit: Callable[[Logs, random.Random], Logs]
) -> None:
    async with RpcClient(DEVNET, [market.url]) as client:
        fresh = await read_hours(client, DEVNET, TERMS, WEEK, memory=memory())
        kept = memory()
        liar = cast("RpcClient", Omitting(client, omit))
        try:
            found = await read_hours(liar, DEVNET, TERMS, WEEK, memory=kept)
            assert all_alike(found, fresh), "nothing was left out that time"
        except LogsLeftOut:
            pass
        found = await read_hours(client, DEVNET, TERMS, WEEK, memory=kept)
        assert all_alike(found, fresh)


WITHOUT_LOGS = {"no logs, small calls"}


async def test_through_every_provider_it_is_the_same_or_said_to_be_unread(
    market: ChainView,
) -> None:
    """And positions of v3 stand as they do through a node of one's own."""
    async with RpcClient(DEVNET, [market.url]) as client:
        truth = await read_hours(client, DEVNET, TERMS, WEEK, memory=memory())
        head = await client.head()
        held = await _positions(client)
    assert [one.ref for one in held] == list(map(v3_position, (3, 4, 5, 6)))
    unread = set()
    # A block that was just read elsewhere is not everywhere at once; here all are long past.
    for profile in (one for one in PROFILES if one.serves and not one.share_behind):
        provider = Provider(profile, EmbeddedChain(market.url), VirtualClock())
        async with client_through(DEVNET, provider) as client:
            found = await read_given_hours(client, DEVNET, TERMS, WEEK, memory=memory(), head=head)
            for told, true in zip(await _positions(client), held, strict=True):
                assert told == true or _unsure(told, true), profile.name
        if any(one.unread for one in found.values()):
            unread.add(profile.name)
        else:
            assert all_alike(found, truth), profile.name
    assert unread == WITHOUT_LOGS


def _unsure(told: PositionSnapshot, true: PositionSnapshot) -> bool:
    """The same, but what was withdrawn is not told apart where the logs are not given."""
    same = replace(told, withdrawn=true.withdrawn, fees0=true.fees0, fees1=true.fees1)
    return (
        isinstance(told.withdrawn, Unknown)
        and same == true
        and told.collectable == true.collectable
    )


async def _positions(client: RpcClient) -> list[PositionSnapshot]:
    known = PositionMemory(Store.in_memory(), DEVNET, lambda: 0.0)
    wallet = await Discovery(client, DEVNET, known, every_protocol=True).read(DEMO_WALLET.address)
    return [one for one in wallet.positions if one.ref.protocol == V3]


PAIR = (WETH.address, USDC.address, 3000)


@pytest.fixture
def v3(changing: Moves) -> V3Moves:
    made = V3Moves(changing)
    for account in (MEDIUM_PROVIDER, ARBITRAGEUR):
        made.approve(account, WETH.address, USDC.address)
    made.create(MEDIUM_PROVIDER, *PAIR, sqrt_price_at_tick(-195_000))
    for ticks in ((-887_220, 887_220), (-196_200, -193_800), (-195_060, -194_940)):
        made.mint(MEDIUM_PROVIDER, PAIR, ticks, (10**20, 10**12), MEDIUM_PROVIDER.address)
    return made


async def test_the_protocols_part_is_left_out_and_its_change_is_no_fault(
    desk: Desk, v3: V3Moves
) -> None:
    pool = v3.pool(*PAIR)
    v3.swap(ARBITRAGEUR, (WETH.address, USDC.address), 3000, 10**18)
    parts = abi.encode_call("setFeeProtocol(uint8,uint8)", 4, 4)
    # Only the factory's owner may.
    v3.moves.send(DEPLOYER, pool, parts)
    v3.swap(ARBITRAGEUR, (WETH.address, USDC.address), 3000, 10**18)
    v3.swap(ARBITRAGEUR, (USDC.address, WETH.address), 3000, 10**9)
    key = v3_pool_key(v3.contracts.factory, *PAIR, 60)
    here = OneBlock(desk.client, desk.network)
    [state] = (await read_states(here, desk.network, [key])).states
    assert (state.protocol_fee, state.lp_fee) == (ProtocolFee(750, 750), 2250)
    terms = {pool: fee_terms(state)}
    hours = await read_hours(desk.client, desk.network, terms, WEEK, memory=memory())
    [row] = hours[pool].rows[-1:]
    assert (row.fees0, row.fees1) == (2 * 10**18 * 2250 // 10**6, 10**9 * 2250 // 10**6)


@pytest.mark.parametrize("part", [0, 4, 7])
async def test_a_swap_on_its_depth_pays_what_the_chain_pays(
    desk: Desk, v3: V3Moves, part: int
) -> None:
    set_part = abi.encode_call("setFeeProtocol(uint8,uint8)", part, part)
    v3.moves.send(DEPLOYER, v3.pool(*PAIR), set_part)
    key = v3_pool_key(v3.contracts.factory, *PAIR, 60)
    here = OneBlock(desk.client, desk.network)
    [state] = (await read_states(here, desk.network, [key])).states
    depth = (await read_depths(here, desk.network, [state], reach=3_000))[state.pool_id]
    assert [tick for tick, _ in depth.changes] == [-196_200, -195_060, -194_940, -193_800]
    for tokens, amount in (
        ((WETH.address, USDC.address), 7 * 10**18 + 13),
        ((WETH.address, USDC.address), 90 * 10**18),
        ((USDC.address, WETH.address), 250_000 * 10**6 + 7),
    ):
        quote = quote_exact_input(depth, amount, zero_for_one=tokens[0] == WETH.address)
        assert quote.amount_out == v3.bought(ARBITRAGEUR, tokens, 3000, amount)


@pytest.mark.soak
def test_real_minutes_give_the_edge_that_was_measured_on_them() -> None:
    """Each minute as two Swap logs of v3, up and down to its close: what the pool paid in a week.

    Coming in, a token moves √P by itself over the liquidity, so that the turn between is known.
    """
    table = read_timed_table(
        market_data("polygon-usdc-weth-500-minutes-2022-07-19-to-08-22.csv.gz"),
        ["closeTick", "inAmount0", "inAmount1", "currentLiquidity"],
    )
    swaps = []
    for number, (time, tick, *amounts, liquidity) in enumerate(
        zip(table.times, *table.columns.values(), strict=True)
    ):
        close = sqrt_price_at_tick(int(tick))
        down, up = map(int, amounts)
        for side, amount in ((1, up), (0, down)):
            if amount:
                paid = [0, 0]
                paid[side] = amount
                turn = close if side == 0 else _before(close, down, int(liquidity))
                log = _swap_log(number, paid, turn, int(liquidity))
                swaps.append(recent_swap(v3_swap_event(log, 500), int(time), estimated=False))
    first, last = swaps[0].time, swaps[-1].time
    rows = hour_rows(swaps, FeeTerms(500, ProtocolFee(0, 0), 10, protocol_within=True))
    edges = []
    for end in range(first + 7 * DAY - 1, last, DAY):
        block = Block(9, "0x" + "aa" * 32, "0x" + "bb" * 32, end, 1, 0, 1)
        past = tuple(row for row in rows if row.hour < end)
        edge = week_edge(PoolHours("0x" + "ab" * 20, first, block, past, (), end))
        assert isinstance(edge, Known)
        edges.append(edge.value)
    assert len(edges) == (last - first) // DAY - 6
    assert median(edges) == pytest.approx(0.85, abs=0.05)
    assert (last - first) // HOUR > 800


def _before(close: int, amount0: int, liquidity: int) -> int:
    """From where that much of currency0, its fee aside, moved the price down to this."""
    return (liquidity * close << 96) // ((liquidity << 96) - amount0 * close * 9_995 // 10_000)


def _swap_log(number: int, paid: list[int], sqrt_price_x96: int, liquidity: int) -> Log:
    """As a pool writes it: what it received, its price after."""
    tick = tick_at_sqrt_price(sqrt_price_x96)
    data = abi.encode(_SWAP_TYPES, (*paid, sqrt_price_x96, liquidity, tick))
    who = "0x" + "00" * 31 + "01"
    return Log(
        address="0x" + "ab" * 20,
        topics=(V3_SWAP, who, who),
        data=data,
        block_number=number,
        block_hash="0x" + "cc" * 32,
        transaction_hash="0x" + "dd" * 32,
        transaction_index=0,
        log_index=0,
        removed=False,
    )
