"""The same seed makes the same chain to the byte; another seed another market, same places."""

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from msgspec.structs import replace

from chain.base.home import cache_folder
from chain.contracts.abi import topic
from chain.devnet.defaults import DEMO_SEED
from chain.devnet.world import worlds
from chain.devnet.world.deployment import CONTRACTS
from chain.devnet.world.market import HISTORY_ENDS
from chain.devnet.world.worlds import SavedWorld, making_digest, opened_world
from chain.devnet.world.writing import WorldError
from tests.chain.devnet.conftest import SEED
from tests.chain_view import ChainView


def world_file(cache: Path) -> Path:
    (file,) = (cache / "worlds").glob("*.world")
    return file


def saved(file: Path) -> SavedWorld:
    world = worlds._read(file)
    assert world is not None
    return world


def here(cache: Path) -> dict[str, str]:
    return {"ZUNO_CACHE": str(cache), "PATH": os.environ["PATH"]}


@pytest.fixture(scope="session")
def made() -> bytes:
    """The small world's file, as this machine has kept it."""
    with opened_world(SEED, "small"):
        folder = cache_folder(os.environ) / "worlds"
    return (folder / f"small-{SEED}-{making_digest()}.world").read_bytes()


@pytest.fixture
def cache(bare_cache: Path, made: bytes) -> Path:
    """A cache with that world."""
    (bare_cache / "worlds").mkdir()
    (bare_cache / "worlds" / f"small-{SEED}-{making_digest()}.world").write_bytes(made)
    return bare_cache


def test_the_same_seed_makes_the_same_chain_in_another_process(
    bare_cache: Path, made: bytes
) -> None:
    """Two processes ask for it at once: one makes it up, the other waits and writes it again."""
    options = ["--build-only", "--world", "small", "--seed", str(SEED)]
    environment = {**os.environ, "ZUNO_CACHE": str(bare_cache), "PYTHONHASHSEED": "123"}
    makers = [
        subprocess.Popen(
            [sys.executable, "-m", "chain.devnet", *options],
            env=environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for _ in range(2)
    ]
    told = [maker.communicate(timeout=120) for maker in makers]
    assert [maker.returncode for maker in makers] == [0, 0]
    assert told == [("", "")] * 2
    assert world_file(bare_cache).read_bytes() == made


@pytest.mark.soak
def test_a_week_has_most_of_its_swaps_in_its_last_day(bare_cache: Path) -> None:
    with opened_world(DEMO_SEED, "week", environment=here(bare_cache)) as world:
        swap = topic("Swap(bytes32,address,int128,int128,uint160,uint128,int24,uint24)")
        logs = ChainView(world.node).logs(CONTRACTS.pool_manager, swap)
    times = [int(log["blockTimestamp"], 16) for log in logs]
    assert len(times) <= 1_200
    last_day = sum(time > HISTORY_ENDS - 24 * 3600 for time in times)
    assert last_day > 3 * (len(times) - last_day) / 6
    assert times[-1] - times[0] > 6 * 24 * 3600


def test_a_damaged_world_is_made_anew_and_one_of_another_making_left_alone(
    cache: Path, made: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(worlds, "making_digest", lambda: "another making")
    left, file = world_file(cache), cache / "worlds" / f"small-{SEED}-another making.world"
    flipped = bytearray(made)
    flipped[len(made) // 2] ^= 1
    for damaged in (made[:-1], b"another " + made, b"", bytes(flipped)):
        file.write_bytes(damaged)
        assert worlds._read(file) is None
    with opened_world(SEED, "small", environment=here(cache)) as world:
        assert world.node.ask_number("eth_blockNumber") == len(saved(file).blocks)
    assert file.read_bytes() == left.read_bytes() == made


def _lacking_one(world: SavedWorld) -> SavedWorld:
    """Without the last transaction of its last block that has any."""
    place = max(at for at, block in enumerate(world.blocks) if block.transactions)
    block = world.blocks[place]
    less = replace(block, transactions=block.transactions[:-1])
    return replace(world, blocks=(*world.blocks[:place], less, *world.blocks[place + 1 :]))


def _refused(world: SavedWorld) -> SavedWorld:
    """With a transaction that no node takes a second time."""
    first = next(block for block in world.blocks if block.transactions)
    return replace(world, blocks=(*world.blocks, replace(first, timestamp=2**40)))


def _other_state(world: SavedWorld) -> SavedWorld:
    return replace(world, state_root="0x" + "00" * 32)


@pytest.mark.parametrize("changed", [_lacking_one, _refused, _other_state])
def test_a_world_that_comes_out_otherwise_is_refused_and_made_anew_next_time(
    cache: Path, changed: Callable[[SavedWorld], SavedWorld]
) -> None:
    file = world_file(cache)
    worlds._save(file, changed(saved(file)))
    with (
        pytest.raises(WorldError, match="came out otherwise"),
        opened_world(SEED, "small", environment=here(cache)),
    ):
        pass
    assert not file.exists()


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
        "chain.base.clean_text",
        "chain.base.errors",
        "chain.base.home",
        "chain.base.loopback_http",
        "chain.base.other_curves",
        "chain.base.scratch",
        "chain.base.strict_json",
        "chain.contracts",
        "chain.contracts.delegation",
        "chain.contracts.hooks",
        "chain.contracts.networks",
        "chain.contracts.safe",
        "chain.data",
        "chain.devnet",
        "chain.devnet.defaults",
        "chain.devnet.json_rpc",
        "chain.devnet.past_states",
        "chain.devnet.world",
        "chain.execution",
        "chain.execution.transaction",
        "chain.math",
        "chain.protocols",
        "chain.protocols.v3",
    }
    assert set(loaded) - harmless == named
