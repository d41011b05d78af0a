"""The worlds on Anvil against what another EVM made of the same seeds, to the unit."""

import gzip
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Literal

import pytest

from chain.contracts.abi import encode_call, topic
from chain.devnet.json_rpc import NodeClient
from chain.devnet.launch import DevnetReady
from chain.devnet.world.accounts import MEDIUM_PROVIDER, WIDE_PROVIDER
from chain.devnet.world.deployment import CONTRACTS, USDC, WETH
from chain.devnet.world.v3_life import V3_POOLS
from chain.devnet.world.worlds import opened_world
from tests import node_rpc
from tests.embedded_chain import embedded_chain
from zuno_tui.cli import main

Size = Literal["week", "small"]

RECORDED = Path(__file__).parents[2] / "recorded" / "week"
WORLDS: list[tuple[Size, int]] = [("week", 3), ("small", 7)]
UNCOMPARED = {
    "listedAt",
    "blockHash",
    "daily",
    "perYear",
    "swapCosts",
    "uncollected",
    "orders",
    "protocol",
    "feesAYear7d",
    "volatility7d",
    "closed",
    "withdrawnValue",
    "waiting",
    "waitingValue",
    "undivided",
    "edge7d",
    "rewards",
    "rewardsValue",
}
"""A time of the machine and what another node makes differently, which were not recorded; a day,
which is measured over closed hours since; what a pool pays, which went by closing liquidity and is
recomputed from logs in `tests/zuno_tui/commands/test_pays.py`; and what is told besides by now."""
BY_SWAP = {"fees", "result", "net", "vsHold", "basis", "missing"}
"""Of days: they were estimates by the hour, and are exact since (tests/chain/positions). What was
given away is named since, as what is closed is counted."""
REWORDED = (
    ("can refuse that you take liquidity out", "can stop you from taking liquidity out"),
    ("can refuse that you add liquidity", "can stop you from adding liquidity"),
)
OF_A_POSITION = {"withdrawn", "unknown"}
"""Told besides where a position or a wallet is; a position's past had both before."""
OF_A_STRANGERS = {"fees", "gas", "paidOut", "unknown"}
"""Told since of a position that came from another wallet, of which nothing was."""
OF_A_TOKEN = {"suspicious", "disputes", "unknown"}
OF_A_RANGE = {"pair", "pool", "token0", "token1", "unknown"}
PAGES = {
    "earned": BY_SWAP | OF_A_RANGE | {"byDay", "closedFees", "closedNet"},
    "balances": OF_A_TOKEN,
    "inspect": {"unknown"},
    "portfolio": OF_A_TOKEN | {"token", "symbol", "verified"},
    "what-if": OF_A_RANGE | {"amount0Then", "amount1Then"},
    "exit-drill": OF_A_RANGE | {"words", "held", "value", "gas", "total", "unit"},
    "history": {"everything", "poolId", "seconds", "costs", "now", "ofPutIn", "unknown", "fees"},
}
"""Told besides or otherwise since these are pages: a pool by its fee, and sums."""
OF_A_POOL = {"pair", "dynamic", "feeTier", "feesADayUsd", "verified", "unknown"}
RENAMED = {
    "operators_known_from_block": "operatorsKnownFromBlock",
    "result": "profit",
    "againstHolding1": "againstHolding",
}
POOL_STATES = {
    "slot0": "getSlot0(bytes32)",
    "liquidity": "getLiquidity(bytes32)",
    "feeGrowthGlobals": "getFeeGrowthGlobals(bytes32)",
}


def recorded(name: str) -> Any:
    return json.loads(gzip.decompress((RECORDED / f"{name}.json.gz").read_bytes()))


@pytest.mark.parametrize(("size", "seed"), WORLDS)
def test_blocks_transactions_and_logs_are_those_recorded(size: Size, seed: int) -> None:
    expected = recorded(f"{size}-{seed}")
    with opened_world(seed, size) as world:
        blocks, transactions, logs = _written(world.node)
    # A block's hash is of the whole state, which two EVMs lay out differently.
    assert blocks == [row[:-1] for row in expected["blocks"]]
    assert transactions == expected["transactions"]
    assert logs == expected["logs"]
    assert len(logs) > 1_000


@pytest.mark.parametrize(("size", "seed"), WORLDS)
def test_v3_beside_it_changes_nothing_of_v4(size: Size, seed: int) -> None:
    expected = recorded(f"{size}-{seed}")
    with opened_world(seed, size, v3=True) as world:
        blocks, transactions, logs = _written(world.node)
    number_time_and_fee = slice(0, 3)
    assert [row[number_time_and_fee] for row in blocks] == [
        row[number_time_and_fee] for row in expected["blocks"]
    ]
    hashes = {row[1] for row in expected["transactions"]}
    assert [row for row in transactions if row[1] in hashes] == expected["transactions"]
    beside = [row for row in transactions if row[1] not in hashes]
    assert {row[2] for row in beside} == {MEDIUM_PROVIDER.address, WIDE_PROVIDER.address}
    assert all(row[4] == 1 for row in beside)
    known = {(row[0], row[1]) for row in expected["logs"]}
    assert [row for row in logs if (row[0], row[1]) in known] == expected["logs"]
    tokens = {WETH.address, USDC.address}
    of_v3 = {row[3] for row in logs if (row[0], row[1]) not in known} - tokens
    assert len(of_v3) == len(("factory", "manager", *V3_POOLS))


def _written(node: NodeClient) -> tuple[list[Any], list[Any], list[Any]]:
    """In the columns of the recording."""
    heights = range(node.ask_number("eth_blockNumber") + 1)
    found: list[Any] = node.ask_all(
        [("eth_getBlockByNumber", (hex(height), False)) for height in heights]
    )
    receipts: list[Any] = node.ask_all([("eth_getBlockReceipts", (hex(each),)) for each in heights])
    blocks, transactions, logs = [], [], []
    for height, block in zip(heights, found, strict=True):
        fields = (block[each] for each in ("number", "timestamp", "baseFeePerGas", "gasUsed"))
        blocks.append([*(int(field, 16) for field in fields), len(block["transactions"])])
        for receipt in receipts[height]:
            outcome = (int(receipt["status"], 16), int(receipt["gasUsed"], 16))
            parties = (receipt["transactionHash"], receipt["from"], receipt["to"])
            transactions.append([height, *parties, *outcome])
            logs += [
                [
                    height,
                    int(log["logIndex"], 16),
                    int(log["transactionIndex"], 16),
                    log["address"],
                    log["topics"],
                    log["data"],
                ]
                for log in receipt["logs"]
            ]
    return blocks, transactions, logs


@pytest.fixture(params=WORLDS, ids=["week", "small"])
def paused(request: pytest.FixtureRequest) -> Iterator[tuple[DevnetReady, dict[str, Any]]]:
    size, seed = request.param
    with embedded_chain(seed=seed, world=size) as devnet:
        yield devnet, recorded(f"{size}-{seed}-figures")


def test_every_figure_is_the_one_recorded(
    paused: tuple[DevnetReady, dict[str, Any]], capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    devnet, expected = paused
    flags = ("--home", str(tmp_path), "--network", "devnet", "--rpc", devnet.url)
    assert len(expected["commands"]) == 9 + 11
    for command, figures in expected["commands"].items():
        capsys.readouterr()
        assert main([*command.split(), *flags, "--address", devnet.wallet, "--json"]) == 0
        told = json.loads(capsys.readouterr().out)
        besides = PAGES.get(command.split()[0], set())
        assert _compared(told, besides) == _compared(figures, besides), command


def test_every_pool_stands_where_it_stood(paused: tuple[DevnetReady, dict[str, Any]]) -> None:
    devnet, expected = paused
    opened = topic("Initialize(bytes32,address,address,uint24,int24,address,uint160,int24)")
    wanted = {"address": CONTRACTS.pool_manager, "topics": [opened], "fromBlock": "0x0"}
    pools = [log["topics"][1] for log in node_rpc.ask(devnet.url, "eth_getLogs", wanted)]
    assert len(pools) == 9
    states = {
        pool: {name: _state(devnet, pool, call) for name, call in POOL_STATES.items()}
        for pool in pools
    }
    assert states == expected["pools"]


def _state(devnet: DevnetReady, pool: str, signature: str) -> str:
    data = "0x" + encode_call(signature, bytes.fromhex(pool[2:])).hex()
    call = {"to": CONTRACTS.state_view, "data": data}
    answer: str = node_rpc.ask(devnet.url, "eth_call", call, "latest")
    return answer


def _compared(content: Any, besides: set[str]) -> Any:
    if isinstance(content, dict):
        if "hookDanger" in content:
            besides = besides | OF_A_POOL
        if "story" in content and content.get("profit", content.get("result", 0)) is None:
            besides = besides | OF_A_STRANGERS
        if isinstance(token := content.get("token"), dict):
            content = {**content, **token}
            content.pop("token")
        return {
            RENAMED.get(name, name): _compared(value, besides)
            for name, value in content.items()
            if name not in UNCOMPARED | besides
            and not ({"feesValue", "balanceOf"} & content.keys() and name in OF_A_POSITION)
        }
    if isinstance(content, list):
        return [_compared(value, besides) for value in content]
    if not isinstance(content, str):
        return content
    # A percentage is written without a space by now, and what a hook can do in plainer words.
    for before, now in ((" %", "%"), *REWORDED):
        content = content.replace(before, now)
    return content
