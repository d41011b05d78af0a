"""The worlds on Anvil against what another EVM made of the same seeds, to the unit."""

import gzip
import json
from pathlib import Path
from typing import Any

from chain.devnet.json_rpc import NodeClient
from chain.devnet.world.accounts import MEDIUM_PROVIDER, WIDE_PROVIDER
from chain.devnet.world.deployment import USDC, WETH
from chain.devnet.world.v3_life import V3_POOLS
from chain.devnet.world.worlds import opened_world

RECORDED = Path(__file__).parents[2] / "recorded" / "week"


def recorded(name: str) -> Any:
    return json.loads(gzip.decompress((RECORDED / f"{name}.json.gz").read_bytes()))


def test_blocks_transactions_and_logs_are_those_recorded() -> None:
    expected = recorded("small-7")
    with opened_world(7, "small") as world:
        blocks, transactions, logs = _written(world.node)
    # A block's hash is of the whole state, which two EVMs lay out differently.
    assert blocks == [row[:-1] for row in expected["blocks"]]
    assert transactions == expected["transactions"]
    assert logs == expected["logs"]
    assert len(logs) > 1_000


def test_v3_beside_it_changes_nothing_of_v4() -> None:
    expected = recorded("week-3")
    with opened_world(3, "week", v3=True) as world:
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
