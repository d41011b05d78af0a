"""On the real mainnet pool's state: a re-range and an exit, through the gate, end as shown."""

import asyncio
from pathlib import Path
from typing import Any

import pytest

from chain.devnet.launch import DevnetReady
from chain.devnet.world.accounts import DEMO_WALLET
from chain.devnet.world.deployment import ETHER
from chain.devnet.world.pools import ETH_USDC, WETH_USDC, WETH_USDC_LOW
from chain.rpc.client import RpcClient
from tests.chain.real_pool import DEVNET, REAL_POOL, RealPool, recorded_pool
from tests.zuno_tui.gate.desk import Desk
from tests.zuno_tui.gate.taken_back import applied, desk_at

LIQUIDITY = 5 * 10**15
"""About a twentieth of what is active at the pool's price."""


async def _staged(devnet: DevnetReady) -> int:
    """The pool with some trades behind it, others of its pair at its price; who is above it."""
    pool, recorded = RealPool(devnet), recorded_pool()
    pool.write()
    async with RpcClient(DEVNET, (devnet.url,)) as client:
        for other in (ETH_USDC, WETH_USDC, WETH_USDC_LOW):
            await pool.trade_to(client, other.key, recorded.sqrt_price_x96)
    spacing = REAL_POOL.tick_spacing
    above = (recorded.tick + 20 * spacing, recorded.tick + 80 * spacing)
    token_id = pool.mint(above, LIQUIDITY, DEMO_WALLET.address)
    for amount in (2, 1, 3):
        pool.swap(REAL_POOL, amount * ETHER, zero_for_one=True)
        pool.swap(REAL_POOL, amount * 2_000 * 10**6, zero_for_one=False)
    return token_id


def _moved(desk: Desk, token_id: int) -> tuple[dict[str, Any], dict[str, Any]]:
    """What was shown of a move to the first candidate, and what it did."""
    spoken = desk.here("recommend", str(token_id), "--json", "--deterministic")
    assert spoken.code == 0, spoken.words
    plan = spoken.data
    wanted = plan["candidates"][0]
    shown = desk.approved("approve", plan["planId"], "--candidate", str(wanted["index"]))
    result = applied(desk, shown)
    positions = desk.positions()
    assert str(token_id) not in positions
    new = positions[result["newTokenId"]]
    assert new["poolId"] == REAL_POOL.pool_id
    assert (new["tickLower"], new["tickUpper"]) == (wanted["tickLower"], wanted["tickUpper"])
    return shown, result


def test_a_re_range_with_a_swap_and_an_exit_end_as_shown(
    devnet: DevnetReady, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    recorded_pool()
    with desk_at(devnet, tmp_path, capsys) as desk:
        token_id = asyncio.run(_staged(devnet))
        shown, moved = _moved(desk, token_id)
        left = applied(desk, desk.approved("close", moved["newTokenId"]))

        assert shown["swap"]["poolId"] == REAL_POOL.pool_id
        assert shown["swap"]["amountOut"] == shown["swap"]["replayed"]
        assert moved["newTokenId"] not in desk.positions()
        assert all(int(amount) > 0 for amount in left["realised"].values())
