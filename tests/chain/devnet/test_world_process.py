"""The embedded chain as others meet it: a child process, its clock, its end."""

from __future__ import annotations

import json
import os
import signal
import stat
import subprocess
import sys
import time
import urllib.request
from typing import TYPE_CHECKING, Any

import pytest

from chain.contracts.abi import decode, encode_call
from chain.contracts.pool_key import PoolKey
from chain.contracts.storage import decode_position_info
from chain.devnet.launch import DevnetError, DevnetReady, devnet_process, running_devnet
from chain.devnet.world.accounts import DEMO_WALLET
from chain.devnet.world.demo_life import DemoLife
from chain.devnet.world.deployment import CONTRACTS
from chain.devnet.world.keystore import DEMO_PASSPHRASE
from chain.devnet.world.market import HISTORY_ENDS
from chain.devnet.world.phases import Mood
from tests.chain.devnet.conftest import SEED

if TYPE_CHECKING:
    from collections.abc import Iterator

    from chain.devnet.world.worlds import World

HOUR = 3600


@pytest.fixture(scope="module")
def devnet(small_world: World) -> Iterator[DevnetReady]:
    assert small_world.seed == SEED
    with devnet_process(seed=SEED, world="small") as ready:
        yield ready


def ask(devnet: DevnetReady, method: str, *params: object) -> Any:
    body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": method, "params": params}).encode()
    request = urllib.request.Request(devnet.url, body, headers={"Content-Type": "application/json"})
    with urllib.request.urlopen(request, timeout=60) as response:
        answer = json.loads(response.read())
    assert "error" not in answer, answer
    return answer["result"]


def head(devnet: DevnetReady) -> tuple[int, str, int]:
    block = ask(devnet, "eth_getBlockByNumber", "latest", False)
    return int(block["number"], 16), block["hash"], int(block["timestamp"], 16)


async def test_from_launch_to_the_first_answer_takes_seconds(
    small_world: World, capsys: pytest.CaptureFixture[str]
) -> None:
    begun = time.monotonic()
    async with running_devnet(seed=SEED, world="small") as devnet:
        number, block_hash, _ = head(devnet)
        taken = time.monotonic() - begun
    with capsys.disabled():
        sys.stdout.write(f"\nlaunch to first answer: {taken:.2f} s\n")
    assert (number, block_hash) == (small_world.ledger.head.number, small_world.ledger.head.hash)
    # The promise is 3 s; a machine busy with other tests is given more.
    assert taken < 10


def test_the_ready_line_says_where_everything_is(devnet: DevnetReady) -> None:
    assert devnet.chain_id == 31337 == int(ask(devnet, "eth_chainId"), 16)
    assert devnet.wallet == DEMO_WALLET.address
    assert devnet.seed == SEED
    assert devnet.contracts == CONTRACTS


def test_the_keystore_opens_with_its_passphrase_and_is_private(devnet: DevnetReady) -> None:
    from eth_keyfile.keyfile import decode_keyfile_json

    assert stat.S_IMODE(devnet.keystore.stat().st_mode) == 0o600
    content = json.loads(devnet.keystore.read_bytes())
    assert decode_keyfile_json(content, DEMO_PASSPHRASE.encode()) == DEMO_WALLET.key


def test_paused_nothing_happens_until_a_step_and_steps_repeat_exactly(
    devnet: DevnetReady,
) -> None:
    before = head(devnet)
    time.sleep(0.3)
    assert head(devnet) == before
    heads = []
    for _ in range(2):
        snapshot = ask(devnet, "evm_snapshot")
        status = ask(devnet, "zuno_step", HOUR // 2)
        assert status["time"] == before[2] + HOUR // 2
        assert status["swaps"] > 150
        heads.append(head(devnet))
        assert ask(devnet, "evm_revert", snapshot)
        assert head(devnet) == before
    assert heads[0] == heads[1]
    assert heads[0][0] > before[0] + 3


def test_two_steps_or_one_lead_to_the_same_prices(devnet: DevnetReady) -> None:
    ends = []
    for steps in ((HOUR // 2,), (HOUR // 4, HOUR // 4)):
        snapshot = ask(devnet, "evm_snapshot")
        for seconds in steps:
            status = ask(devnet, "zuno_step", seconds)
        ends.append((status["time"], status["swaps"]))
        ask(devnet, "evm_revert", snapshot)
    assert ends[0] == ends[1]


def test_the_near_position_leaves_its_range_when_foretold(
    devnet: DevnetReady, small_world: World
) -> None:
    status = ask(devnet, "zuno_status")
    assert Mood(status["phase"])
    near = status["positions"]["near the edge"]
    assert near == small_world.positions["near the edge"]
    snapshot = ask(devnet, "evm_snapshot")
    assert _in_range(devnet, near)
    ask(devnet, "zuno_step", DemoLife(small_world.market).edge().leaves - HISTORY_ENDS)
    assert not _in_range(devnet, near)
    ask(devnet, "evm_revert", snapshot)


def test_after_a_leap_of_time_the_market_goes_on_from_where_it_is(devnet: DevnetReady) -> None:
    snapshot = ask(devnet, "evm_snapshot")
    swaps = ask(devnet, "zuno_status")["swaps"]
    ask(devnet, "evm_increaseTime", 12 * HOUR)
    ask(devnet, "evm_mine")
    assert ask(devnet, "zuno_status")["swaps"] == swaps
    assert swaps < ask(devnet, "zuno_step", 600)["swaps"] < swaps + 60
    ask(devnet, "evm_revert", snapshot)


def test_the_clock_can_be_started_sped_up_and_paused(devnet: DevnetReady) -> None:
    snapshot = ask(devnet, "evm_snapshot")
    assert ask(devnet, "zuno_setSpeed", 120)["speed"] == 120
    _, _, begun = head(devnet)
    deadline = time.monotonic() + 20
    while head(devnet)[2] < begun + 240:
        assert time.monotonic() < deadline
        time.sleep(0.1)
    assert ask(devnet, "zuno_pause")["speed"] == 0
    stopped = head(devnet)
    time.sleep(0.3)
    assert head(devnet) == stopped
    assert ask(devnet, "zuno_resume")["speed"] == 120
    ask(devnet, "zuno_pause")
    assert ask(devnet, "evm_revert", snapshot)


def test_the_guard_hook_can_be_told_to_refuse_exits(devnet: DevnetReady) -> None:
    snapshot = ask(devnet, "evm_snapshot")
    for refusing in (True, False):
        sent = ask(devnet, "zuno_setHookFlag", refusing)
        assert ask(devnet, "eth_getTransactionReceipt", sent)["status"] == "0x1"
    ask(devnet, "evm_revert", snapshot)


@pytest.mark.parametrize("method", ["zuno_setSpeed", "zuno_step"])
@pytest.mark.parametrize("value", [-1, "fast", 10**9, True, None])
def test_nonsense_is_refused(devnet: DevnetReady, method: str, value: object) -> None:
    with pytest.raises(AssertionError, match="-32602"):
        ask(devnet, method, value)


def test_it_ends_when_told_to(small_world: World) -> None:
    command = [sys.executable, "-m", "chain.devnet", "--world", "small", "--speed", "0"]
    for number in (signal.SIGTERM, signal.SIGINT):
        with subprocess.Popen(
            [*command, "--seed", str(small_world.seed)], stdout=subprocess.PIPE
        ) as child:
            assert child.stdout is not None
            assert json.loads(child.stdout.readline())["seed"] == small_world.seed
            child.send_signal(number)
            assert child.wait(10) == 0
            assert child.stdout.read() == b""


def test_it_does_not_outlive_the_process_that_launched_it(small_world: World) -> None:
    script = (
        "import time\n"
        "from chain.devnet.launch import devnet_process\n"
        f"with devnet_process(seed={small_world.seed}, world='small') as devnet:\n"
        "    print(devnet.url, flush=True)\n"
        "    time.sleep(60)\n"
    )
    with subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE) as parent:
        assert parent.stdout is not None
        url = parent.stdout.readline().decode().strip()
        assert url
        os.kill(parent.pid, signal.SIGKILL)
    deadline = time.monotonic() + 10
    while _answers(url):
        assert time.monotonic() < deadline
        time.sleep(0.1)


def test_a_taken_port_is_said_in_words(devnet: DevnetReady) -> None:
    port = int(devnet.url.rsplit(":", 1)[1])
    with (
        pytest.raises(DevnetError, match="before it was ready"),
        devnet_process(seed=SEED, world="small", port=port),
    ):
        pass


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
        with urllib.request.urlopen(request, timeout=2):
            return True
    except OSError:
        return False
