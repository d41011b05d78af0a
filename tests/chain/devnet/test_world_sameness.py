"""The same seed makes the same chain, block for block; another seed another market, same places."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import time
from typing import TYPE_CHECKING

import pytest
from chain.devnet.node.index import LogQuery
from chain.devnet.node.ledger import ChainLedger

from chain.contracts.abi import topic
from chain.devnet.defaults import DEMO_SEED
from chain.devnet.world import worlds
from chain.devnet.world.contracts import bundled_lock, contract_codes, contracts_folder
from chain.devnet.world.deployment import CONTRACTS, TOKENS
from chain.devnet.world.founding import found
from chain.devnet.world.hook_code import EXIT_GUARD, FEE_STEWARD
from chain.devnet.world.market import HISTORY_ENDS, SimulatedMarket, point_of
from chain.devnet.world.pools import POOLS
from chain.devnet.world.price_path import seeded_path
from chain.devnet.world.worlds import WorldHistory, making_digest, open_world

if TYPE_CHECKING:
    from pathlib import Path

    from chain.devnet.world.worlds import World

OTHER_SEED = 8


@pytest.fixture
def fresh_cache(tmp_path: Path) -> Path:
    """A cache with the contracts and no worlds, so that building needs no network."""
    lock = bundled_lock()
    place = contracts_folder({"ZUNO_CACHE": str(tmp_path)}, lock)
    shutil.copytree(contracts_folder(os.environ, lock), place)
    return tmp_path


def test_the_same_seed_makes_the_same_chain_in_another_process(
    small_world: World, fresh_cache: Path
) -> None:
    """Two processes ask for it at once: one builds, the other waits and finds it built."""
    options = ["--build-only", "--world", "small", "--seed", str(small_world.seed)]
    environment = {**os.environ, "ZUNO_CACHE": str(fresh_cache), "PYTHONHASHSEED": "123"}
    builders = [
        subprocess.Popen(
            [sys.executable, "-m", "chain.devnet", *options],
            env=environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for _ in range(2)
    ]
    told = [builder.communicate(timeout=120) for builder in builders]
    assert [builder.returncode for builder in builders] == [0, 0]
    assert [output for output, _ in told] == ["", ""]
    assert sorted("Building the small world" in narration for _, narration in told) == [False, True]
    (chain,) = (fresh_cache / "worlds").glob("*.chain")
    other, ours = ChainLedger.load(chain), small_world.ledger
    assert other.head.hash == ours.head.hash
    for number in range(ours.head.number + 1):
        assert other.block(number).header.hash == ours.block(number).header.hash


@pytest.mark.soak
def test_a_week_is_built_within_two_minutes(fresh_cache: Path) -> None:
    begun = time.monotonic()
    world = open_world(DEMO_SEED, "week", environment={"ZUNO_CACHE": str(fresh_cache)})
    assert time.monotonic() - begun < 120
    swap = topic("Swap(bytes32,address,int128,int128,uint160,uint128,int24,uint24)")
    wanted = LogQuery(0, world.ledger.head.number, None, (frozenset({swap}),))
    times = [
        world.ledger.block(log.block_number).header.timestamp for log in world.ledger.logs(wanted)
    ]
    assert len(times) <= 1_200
    last_day = sum(time > HISTORY_ENDS - 24 * 3600 for time in times)
    assert last_day > 3 * (len(times) - last_day) / 6
    assert times[-1] - times[0] > 6 * 24 * 3600


def test_another_seed_is_another_market_at_the_same_addresses(small_world: World) -> None:
    market = SimulatedMarket(seeded_path(OTHER_SEED))
    other = found(contract_codes(), market)
    tokens = [token.address for token in TOKENS]
    for ledger in (small_world.ledger, other):
        for address in (CONTRACTS.pool_manager, *tokens, EXIT_GUARD, FEE_STEWARD):
            assert ledger.state().code(address)
        for pool in POOLS:
            assert point_of(ledger.state(), pool).liquidity
    ours, theirs = (each.prices(HISTORY_ENDS) for each in (small_world.market, market))
    assert all(pool.milliticks(ours) != pool.milliticks(theirs) for pool in POOLS)


def test_a_damaged_world_is_built_anew(
    small_world: World, fresh_cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    built: list[int] = []

    def rebuild(seed: int, *_: object) -> WorldHistory:
        built.append(seed)
        return WorldHistory(small_world.ledger, small_world.market, dict(small_world.positions))

    monkeypatch.setattr(worlds, "_history", rebuild)
    environment = {"ZUNO_CACHE": str(fresh_cache)}
    open_world(small_world.seed, "small", environment=environment)
    chain = fresh_cache / "worlds" / f"small-{small_world.seed}-{making_digest()}.chain"
    content = bytearray(chain.read_bytes())
    content[len(content) // 2] ^= 1
    chain.write_bytes(content)
    again = open_world(small_world.seed, "small", environment=environment)
    assert again.ledger.head.hash == small_world.ledger.head.hash
    assert built == [small_world.seed] * 2


def test_everything_that_decides_a_world_is_part_of_its_name() -> None:
    listing = (
        "import sys, chain.devnet.world.worlds;"
        "print(*sorted(name for name in sys.modules if name.startswith('chain.')))"
    )
    loaded = subprocess.run(
        [sys.executable, "-c", listing], capture_output=True, text=True, check=True
    ).stdout.split()
    named = {f"chain.{module.replace('/', '.')}" for module in worlds.DECIDING_MODULES}
    harmless = {
        "chain.base",
        "chain.base.home",
        "chain.base.locks",
        "chain.contracts",
        "chain.contracts.networks",
        "chain.devnet",
        "chain.devnet.node",
        "chain.devnet.node.archive",
        "chain.devnet.node.call_memory",
        "chain.devnet.node.deferred_pairing",
        "chain.devnet.node.recursion_limit",
        "chain.devnet.node.index",
        "chain.devnet.node.ledger",
        "chain.devnet.node.messages",
        "chain.devnet.world",
        "chain.devnet.world.contracts",
        "chain.math",
    }
    assert set(loaded) - harmless == named
