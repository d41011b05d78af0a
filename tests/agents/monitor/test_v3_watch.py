"""Positions of Uniswap v3 are watched beside those of v4, and the two are never one."""

from agents.monitor.alerts.alert import AlertKind
from agents.monitor.alerts.store import AlertStore
from agents.monitor.poll import Watch, poll_once
from agents.monitor.rules.thresholds import Thresholds, WatchSettings
from chain.base.home import Home
from chain.devnet.launch import DevnetReady
from chain.devnet.world.accounts import ARBITRAGEUR, MEDIUM_PROVIDER, NEIGHBOUR
from chain.devnet.world.deployment import USDC, WETH
from chain.math.ticks import sqrt_price_at_tick
from chain.positions.overview import read_one
from chain.prices.price import WorthUnit
from chain.protocols.reference import v3_position, v4_position
from tests.agents.monitor.made_up_alerts import NOW
from tests.agents.monitor.test_several_wallets import sources_of
from tests.chain.moves import Moves
from tests.chain.v3_moves import V3Moves

PAIR = (WETH.address, USDC.address, 3000)
ELSEWHERE = "0x" + "e1" * 20


async def test_it_leaves_its_range_and_its_wallet(
    devnet: DevnetReady, home: Home, changing: Moves
) -> None:
    v3 = V3Moves(changing)
    for account in (MEDIUM_PROVIDER, ARBITRAGEUR):
        v3.approve(account, WETH.address, USDC.address)
    v3.create(MEDIUM_PROVIDER, *PAIR, sqrt_price_at_tick(-195_000))
    ticks = (-195_600, -194_400)
    token_id = v3.mint(MEDIUM_PROVIDER, PAIR, ticks, (10**18, 10**10), NEIGHBOUR.address)
    number = v3_position(token_id)
    book = AlertStore.open(home, now=NOW)
    settings = WatchSettings(everywhere=Thresholds(loss=0.01))
    async with sources_of(devnet) as sources:
        watch = Watch(sources, [NEIGHBOUR.address])

        async def kinds(minute: int) -> set[str]:
            [report] = await poll_once(watch, settings, book, NOW + 60 * minute)
            assert report.block is not None
            about = [one for one in book.current() if one.position_id == number and one.active]
            assert all(one.message.startswith(f"3:{token_id} ") for one in about)
            return {one.kind for one in about}

        assert not {AlertKind.OUT_OF_RANGE, AlertKind.LOSS_LEVEL} & await kinds(0)
        v3.swap(ARBITRAGEUR, (USDC.address, WETH.address), 3000, 10**11)
        assert await kinds(1) >= {AlertKind.OUT_OF_RANGE, AlertKind.LOSS_LEVEL}
        v3.give(NEIGHBOUR, ELSEWHERE, token_id)
        assert await kinds(2) == {AlertKind.OWNER_CHANGED}
    assert not [one for one in book.current() if one.position_id == v4_position(token_id)]


async def test_an_excursion_between_two_polls_is_told(
    devnet: DevnetReady, home: Home, changing: Moves
) -> None:
    v3 = V3Moves(changing)
    for account in (MEDIUM_PROVIDER, ARBITRAGEUR):
        v3.approve(account, WETH.address, USDC.address)
    v3.create(MEDIUM_PROVIDER, *PAIR, sqrt_price_at_tick(-195_000))
    wide = (-887_220, 887_220)
    v3.mint(MEDIUM_PROVIDER, PAIR, wide, (10**20, 10**12), MEDIUM_PROVIDER.address)
    ticks = (-195_060, -194_940)
    token_id = v3.mint(MEDIUM_PROVIDER, PAIR, ticks, (10**17, 10**9), NEIGHBOUR.address)
    book = AlertStore.open(home, now=NOW)
    async with sources_of(devnet) as sources:
        watch = Watch(sources, [NEIGHBOUR.address])
        await poll_once(watch, WatchSettings(), book, NOW)
        v3.swap(ARBITRAGEUR, (USDC.address, WETH.address), 3000, 2 * 10**9)
        v3.swap(ARBITRAGEUR, (WETH.address, USDC.address), 3000, 6 * 10**17)
        await poll_once(watch, WatchSettings(), book, NOW + 60)
        one = await read_one(sources, v3_position(token_id), WorthUnit.USD)
    assert one is not None
    assert one.snapshot.in_range
    about = [one for one in book.current() if one.position_id == v3_position(token_id)]
    assert AlertKind.OUT_OF_RANGE in {one.kind for one in about}
