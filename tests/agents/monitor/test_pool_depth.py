"""A pool is drained when others left it, not when its price did."""

import pytest

from agents.monitor.alerts.alert import AlertKind
from chain.devnet.world.accounts import MEDIUM_PROVIDER
from chain.devnet.world.pools import WETH_USDC_LOW
from chain.protocols.reference import v4_position
from chain.protocols.snapshot import identify
from tests.agents.monitor.conftest import Watchtower
from tests.agents.monitor.walked_market import WalkedPool
from tests.chain.moves import Moves

WALLET = "0x" + "2e" * 20


@pytest.mark.parametrize(
    ("others_leave", "price_moves", "told"),
    [(False, True, False), (True, False, True), (True, True, True)],
)
async def test_liquidity_is_compared_where_the_price_was(
    watchtower: Watchtower,
    changing: Moves,
    others_leave: bool,
    price_moves: bool,
    told: bool,
) -> None:
    watchtower.wallet = WALLET
    pool = WalkedPool(changing, WETH_USDC_LOW.key)
    spacing, (_, tick, liquidity) = pool.key.tick_spacing, pool.state()
    near = tick // spacing * spacing
    wide = (near - 100 * spacing, near + 100 * spacing)
    # So much that it would hide that the others left, were it taken for theirs.
    changing.mint(MEDIUM_PROVIDER, pool.key, [wide], 5 * liquidity, WALLET)
    narrow = (near - 2 * spacing, near + 3 * spacing)
    [band] = changing.mint(
        MEDIUM_PROVIDER, pool.key, [narrow], 19 * liquidity, MEDIUM_PROVIDER.address
    )
    async with watchtower.running() as watchman:
        await watchman.poll()
        if others_leave:
            changing.burn(MEDIUM_PROVIDER, identify(v4_position(band), pool.key, *narrow))
        if price_moves:
            pool.push(2 * spacing)
            pool.push(2 * spacing)
            assert pool.tick > narrow[1]
        changing.rpc("evm_mine")
        report = await watchman.poll()
        again = await watchman.poll()
        drained = [one for one in watchman.book.current() if one.kind == AlertKind.POOL_DRAINED]

    assert report.trouble is None
    assert bool(drained) is told
    assert again.events == ()
    if not others_leave:
        assert again.requests <= 2
