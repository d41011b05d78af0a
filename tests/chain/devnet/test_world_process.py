"""The embedded chain as others meet it: a child process, the same for the same seed."""

import json
import os
import signal
import stat
import subprocess
import sys
import time
import urllib.request
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from chain.base.home import cache_folder
from chain.base.units import GWEI
from chain.contracts.abi import decode, encode_call, topic
from chain.contracts.pool_key import PoolKey
from chain.contracts.storage import decode_position_info
from chain.devnet.defaults import DEMO_SEED, control_door, control_url
from chain.devnet.launch import DevnetError, DevnetReady, devnet_process, started_devnet, when_ready
from chain.devnet.world import worlds
from chain.devnet.world.accounts import DEMO_PASSPHRASE, DEMO_WALLET, NEIGHBOUR
from chain.devnet.world.demo_life import DemoLife
from chain.devnet.world.deployment import CONTRACTS
from chain.devnet.world.market import HISTORY_ENDS
from chain.devnet.world.price_path import Mood
from chain.devnet.world.worlds import SavedWorld, World, making_digest, opened_world
from chain.devnet.world.writing import WorldError, sign_transaction
from tests import node_rpc
from tests.chain.devnet.conftest import SEED
from tests.chain_view import ChainView
from tests.waiting import wait_until

HOUR = 3600


SWAP = topic("Swap(bytes32,address,int128,int128,uint160,uint128,int24,uint24)")


def ask(devnet: DevnetReady, method: str, *params: object) -> Any:
    return node_rpc.ask(devnet.url, method, *params)


def swaps(devnet: DevnetReady) -> list[str]:
    """What every swap did, in order."""
    wanted = {"address": CONTRACTS.pool_manager, "topics": [SWAP], "fromBlock": "0x0"}
    return [log["data"] for log in ask(devnet, "eth_getLogs", wanted)]


def head(devnet: DevnetReady) -> tuple[int, str, int]:
    block = ask(devnet, "eth_getBlockByNumber", "latest", False)
    return int(block["number"], 16), block["hash"], int(block["timestamp"], 16)


def test_from_launch_to_the_first_answer_takes_seconds(
    chain: ChainView, capsys: pytest.CaptureFixture[str]
) -> None:
    begun = time.monotonic()
    seen: list[tuple[int, int]] = []
    progress = partial(_collected, seen)
    with started_devnet(seed=SEED, world="small") as child:
        number, _, seconds = head(when_ready(child, progress))
        taken = time.monotonic() - begun
    with capsys.disabled():
        sys.stdout.write(f"\nlaunch to first answer: {taken:.2f} s\n")
    assert (number, seconds) == (chain.head.number, chain.head.timestamp)
    assert [done for done, _ in seen] == sorted({done for done, _ in seen})
    assert {total for _, total in seen} == {number}
    assert len(seen) > 10


def _collected(seen: list[tuple[int, int]], done: int, total: int) -> None:
    seen.append((done, total))


def test_the_ready_line_says_where_everything_is(devnet: DevnetReady) -> None:
    assert devnet.chain_id == 31337 == int(ask(devnet, "eth_chainId"), 16)
    assert devnet.wallet == DEMO_WALLET.address
    assert devnet.seed == SEED
    assert devnet.contracts == CONTRACTS
    assert devnet.control == control_url(devnet.url)


def test_the_keystore_opens_with_its_passphrase_and_is_private(devnet: DevnetReady) -> None:
    from eth_keyfile.keyfile import decode_keyfile_json

    assert stat.S_IMODE(devnet.keystore.stat().st_mode) == 0o600
    content = json.loads(devnet.keystore.read_bytes())
    assert decode_keyfile_json(content, DEMO_PASSPHRASE.encode()) == DEMO_WALLET.key


def test_paused_nothing_happens_until_a_step_and_steps_repeat_exactly(
    devnet: DevnetReady,
) -> None:
    before = head(devnet)
    ends = []
    for _ in range(2):
        snapshot = ask(devnet, "evm_snapshot")
        status = ask(devnet, "zuno_step", HOUR // 2)
        assert status["time"] == before[2] + HOUR // 2
        ends.append((head(devnet), swaps(devnet)))
        assert ask(devnet, "evm_revert", snapshot)
        assert head(devnet) == before
    assert ends[0] == ends[1]
    assert ends[0][0][0] > before[0] + 3
    assert len(ends[0][1]) > 150


def test_two_steps_or_one_lead_to_the_same_prices(devnet: DevnetReady) -> None:
    ends = []
    for steps in ((HOUR // 2,), (HOUR // 4, HOUR // 4)):
        snapshot = ask(devnet, "evm_snapshot")
        for seconds in steps:
            status = ask(devnet, "zuno_step", seconds)
        ends.append((status["time"], swaps(devnet)))
        assert ask(devnet, "evm_revert", snapshot)
    assert ends[0] == ends[1]


def test_the_near_position_leaves_its_range_when_foretold(
    devnet: DevnetReady, small_world: World
) -> None:
    status = ask(devnet, "zuno_status")
    assert Mood(status["phase"])
    near = status["positions"]["near the edge"]
    assert near == small_world.positions["near the edge"]
    assert _in_range(devnet, near)
    ask(devnet, "zuno_step", DemoLife(small_world.market).edge().leaves - HISTORY_ENDS)
    # The node may answer a moment before it has mined the last swap.
    wait_until(lambda: not _in_range(devnet, near))


def test_after_a_leap_of_time_the_market_goes_on_from_where_it_is(devnet: DevnetReady) -> None:
    before = len(swaps(devnet))
    leap = head(devnet)[2] + 12 * HOUR
    ask(devnet, "evm_setNextBlockTimestamp", leap)
    ask(devnet, "evm_mine")
    assert ask(devnet, "zuno_status")["time"] == leap
    assert len(swaps(devnet)) == before
    assert ask(devnet, "zuno_step", 600)["time"] == leap + 600
    assert before < len(swaps(devnet)) < before + 60


def test_the_clock_can_be_started_sped_up_and_paused(devnet: DevnetReady) -> None:
    assert ask(devnet, "zuno_setSpeed", 600)["speed"] == 600
    _, _, begun = head(devnet)
    wait_until(lambda: head(devnet)[2] >= begun + 1200)
    assert ask(devnet, "zuno_pause")["speed"] == 0
    stopped = head(devnet)
    assert ask(devnet, "zuno_status")["time"] == stopped[2]
    assert head(devnet) == stopped
    assert ask(devnet, "zuno_resume")["speed"] == 600
    assert ask(devnet, "zuno_pause")["speed"] == 0


def test_a_hold_slows_the_market_to_real_time_until_it_is_let_go_or_over(
    devnet: DevnetReady,
) -> None:
    until = ask(devnet, "zuno_step", 12)["time"] + 600
    assert not ask(devnet, "zuno_hold", "plan 1", until)["speed"]
    held = ask(devnet, "zuno_setSpeed", 600)
    assert (held["speed"], held["chosenSpeed"], held["held"]) == (1, 600, True)
    let_go = ask(devnet, "zuno_letGo", "plan 1")
    assert (let_go["speed"], let_go["held"]) == (600, False)
    ask(devnet, "zuno_pause")
    # One that nobody lets go of ends with its time.
    ask(devnet, "zuno_hold", "plan 2", head(devnet)[2] + 60)
    ask(devnet, "zuno_step", 120)
    ask(devnet, "zuno_resume")
    wait_until(lambda: not ask(devnet, "zuno_status")["held"])
    ask(devnet, "zuno_pause")


def test_gas_never_becomes_free(devnet: DevnetReady) -> None:
    """An empty block makes gas cheaper, and a node alone would let it fall to nothing."""
    for _ in range(5):
        ask(devnet, "evm_mine")
        wait_until(lambda: _next_fee(devnet) == GWEI)
    assert int(ask(devnet, "eth_getBlockByNumber", "latest", False)["baseFeePerGas"], 16) == GWEI


def _next_fee(devnet: DevnetReady) -> int:
    return int(ask(devnet, "eth_feeHistory", "0x1", "latest", [])["baseFeePerGas"][-1], 16)


def test_the_guard_hook_can_be_told_to_refuse_exits(devnet: DevnetReady) -> None:
    for refusing in (True, False):
        sent = ask(devnet, "zuno_setHookFlag", refusing)
        assert ask(devnet, "eth_getTransactionReceipt", sent)["status"] == "0x1"


def test_what_others_have_waiting_is_in_the_markets_next_block(devnet: DevnetReady) -> None:
    ask(devnet, "evm_setAutomine", False)
    fee, nonce = 10 * GWEI, int(ask(devnet, "eth_getTransactionCount", devnet.wallet, "latest"), 16)
    signed = sign_transaction(
        DEMO_WALLET.key, nonce=nonce, to=NEIGHBOUR.address, gas=21_000,
        max_fee_per_gas=fee, max_priority_fee_per_gas=GWEI, value=1,
    )  # fmt: skip
    ask(devnet, "eth_sendRawTransaction", "0x" + signed.raw.hex())
    try:
        status = ask(devnet, "zuno_step", 12)
        receipt = ask(devnet, "eth_getTransactionReceipt", signed.hash)
        assert receipt["status"] == "0x1"
        assert ask(devnet, "anvil_getAutomine") is False
    finally:
        ask(devnet, "evm_setAutomine", True)
    assert head(devnet)[2] == status["time"]


@pytest.mark.parametrize("method", ["zuno_setSpeed", "zuno_step"])
@pytest.mark.parametrize("value", [-1, "fast", 10**9, True, None])
def test_nonsense_is_refused(devnet: DevnetReady, method: str, value: object) -> None:
    assert node_rpc.answer_of(devnet.url, method, value)["error"]["code"] == -32602


@pytest.mark.parametrize(
    ("method", "params", "code"),
    [
        ("zuno_hold", ("",), -32602),
        ("zuno_hold", ("plan", "later"), -32602),
        ("zuno_letGo", (7,), -32602),
        ("zuno_setHookFlag", ("yes",), -32602),
        ("zuno_nothing", (), -32601),
        ("zuno_step", (), -32602),
    ],
)
def test_other_nonsense_is_refused_too(
    devnet: DevnetReady, method: str, params: tuple[object, ...], code: int
) -> None:
    assert node_rpc.answer_of(devnet.url, method, *params)["error"]["code"] == code


@pytest.mark.parametrize("body", [b"", b"{", b"[]", b'{"params": 7}', b"[" * 60_000])
def test_what_is_no_request_is_answered_and_harms_nothing(devnet: DevnetReady, body: bytes) -> None:
    answer = node_rpc.http().post(control_door(devnet.url), content=body).json()
    assert answer["error"]["code"] == -32600
    assert ask(devnet, "zuno_status")["seed"] == SEED


def test_it_ends_when_told_to(small_world: World) -> None:
    command = [sys.executable, "-m", "chain.devnet", "--world", "small", "--speed", "0"]
    for number in (signal.SIGTERM, signal.SIGINT):
        with subprocess.Popen(
            [*command, "--seed", str(small_world.seed)], stdout=subprocess.PIPE
        ) as child:
            assert child.stdout is not None
            assert json.loads(child.stdout.readline())["seed"] == small_world.seed
            child.send_signal(number)
            assert child.wait() == 0
            assert child.stdout.read() == b""


def test_it_does_not_outlive_the_process_that_launched_it(small_world: World) -> None:
    script = (
        "import time\n"
        "from chain.devnet.launch import devnet_process\n"
        f"with devnet_process(seed={small_world.seed}, world='small') as devnet:\n"
        "    print(devnet.url, flush=True)\n"
        "    time.sleep(3600)\n"
    )
    with subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE) as parent:
        assert parent.stdout is not None
        url = parent.stdout.readline().decode().strip()
        assert url
        os.kill(parent.pid, signal.SIGKILL)
    wait_until(lambda: not _answers(url))


@pytest.mark.parametrize("back", [0, 1, -1])
def test_a_taken_port_is_said_in_words(
    devnet: DevnetReady, back: int, capfd: pytest.CaptureFixture[str]
) -> None:
    """The node's own, the control's, and one before that would have its control there."""
    port = int(devnet.url.rsplit(":", 1)[1]) + back
    with (
        pytest.raises(DevnetError, match="before it was ready"),
        devnet_process(seed=SEED, world="small", port=port),
    ):
        pass
    assert "cannot be used" in capfd.readouterr().err


def _in_range(devnet: DevnetReady, token_id: int) -> bool:
    info = _call(
        devnet,
        CONTRACTS.position_manager,
        encode_call("getPoolAndPositionInfo(uint256)", token_id),
    )
    key, word = decode(("(address,address,uint24,int24,address)", "uint256"), info)
    position = decode_position_info(word)
    identity = bytes.fromhex(PoolKey(*key).pool_id[2:])
    slot0 = _call(devnet, CONTRACTS.state_view, encode_call("getSlot0(bytes32)", identity))
    _, tick, _, _ = decode(("uint160", "int24", "uint24", "uint24"), slot0)
    return bool(position.tick_lower <= tick < position.tick_upper)


def _call(devnet: DevnetReady, to: str, data: bytes) -> bytes:
    answer = ask(devnet, "eth_call", {"to": to, "data": "0x" + data.hex()}, "latest")
    return bytes.fromhex(answer[2:])


def _answers(url: str) -> bool:
    body = b'{"jsonrpc":"2.0","id":1,"method":"eth_chainId","params":[]}'
    request = urllib.request.Request(url, body, headers={"Content-Type": "application/json"})
    try:
        with urllib.request.urlopen(request):
            return True
    except OSError:
        return False


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
