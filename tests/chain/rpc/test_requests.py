"""Questions as they are written, and their checks under every answer one can think of."""

import contextlib
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chain.rpc import requests
from chain.rpc.records import AccountOverride, InvalidValueError, LogFilter
from chain.rpc.requests import Request
from tests.chain.rpc.test_values import ANYTHING, HEX_LIKE
from tests.fakes.honest_node import LOG_TOPIC, HonestNode

HOLDER = "0x" + "11" * 20
HASH = "0x" + "ab" * 32
SENDER = "0x" + "22" * 20
PINNED = {"blockHash": HASH, "requireCanonical": True}
NODE = HonestNode()


def told(method: str, *params: object) -> Any:
    return NODE.answer({"id": 1, "method": method, "params": list(params)})["result"]


BLOCK = told("eth_getBlockByNumber", "0x5", False)
LOG = told("eth_getLogs", {"fromBlock": "0x5", "toBlock": "0x5"})[0]
TRANSACTION = {
    "hash": HASH,
    "nonce": "0x1",
    "from": HOLDER,
    "to": None,
    "value": "0x0",
    "input": "0x60",
    "gas": "0x5208",
    "gasPrice": "0x1",
    "maxFeePerGas": "0x2",
    "maxPriorityFeePerGas": "0x1",
    "blockNumber": None,
    "blockHash": None,
    "transactionIndex": None,
}
RECEIPT = {
    "transactionHash": HASH,
    "transactionIndex": "0x0",
    "blockNumber": "0x5",
    "blockHash": HASH,
    "from": HOLDER,
    "to": HOLDER,
    "contractAddress": None,
    "status": "0x1",
    "gasUsed": "0x5208",
    "cumulativeGasUsed": "0x5208",
    "effectiveGasPrice": "0x1",
    "l1Fee": "0x7b",
    "logs": [LOG],
}
HISTORY = {
    "oldestBlock": "0x4",
    "baseFeePerGas": ["0x1", "0x2"],
    "gasUsedRatio": [0.25],
    "reward": [["0x3"]],
}
RIGHT: list[tuple[Request[Any], object]] = [
    (requests.chain_id(), "0x1"),
    (requests.block(5), BLOCK),
    (requests.call(HOLDER, b""), "0x12"),
    (requests.estimate_gas(HOLDER, b""), "0x5208"),
    (requests.logs(LogFilter((), (LOG_TOPIC,), 5, 5)), [LOG]),
    (requests.balance(HOLDER), "0x5"),
    (requests.code(HOLDER), "0x60"),
    (requests.storage(HOLDER, 0), HASH),
    (requests.transaction_count(HOLDER), "0x5"),
    (requests.gas_price(), "0x5"),
    (requests.max_priority_fee(), "0x5"),
    (requests.fee_history(1, "latest", [50]), HISTORY),
    (requests.transaction(HASH), TRANSACTION),
    (requests.receipt(HASH), RECEIPT),
]


@pytest.mark.parametrize(("request_", "answer"), RIGHT, ids=lambda x: getattr(x, "method", ""))
def test_right_answers_are_taken(request_: Request[Any], answer: object) -> None:
    assert request_.parse(answer) is not None


RECORDS = [(one, answer) for one, answer in RIGHT if isinstance(answer, dict)]


@given(answer=ANYTHING | HEX_LIKE | st.lists(ANYTHING, max_size=3))
def test_any_answer_is_taken_or_refused(answer: object) -> None:
    for request_, _ in RIGHT:
        with contextlib.suppress(InvalidValueError):
            request_.parse(answer)


@given(st.sampled_from(RECORDS), st.data())
def test_a_record_with_one_field_changed_is_taken_or_refused(
    right: tuple[Request[Any], dict[str, object]], data: st.DataObject
) -> None:
    request_, answer = right
    name = data.draw(st.sampled_from(sorted(answer)))
    value = data.draw(ANYTHING | HEX_LIKE | st.sampled_from([*answer.values()]))
    with contextlib.suppress(InvalidValueError):
        request_.parse({**answer, name: value})


OPTIONAL = {
    *("baseFeePerGas", "to", "contractAddress", "l1Fee", "gasPrice", "maxFeePerGas"),
    *("maxPriorityFeePerGas", "blockNumber", "blockHash", "transactionIndex"),
}


@pytest.mark.parametrize(("request_", "answer"), RECORDS, ids=lambda x: getattr(x, "method", ""))
def test_a_record_without_a_field_it_needs_is_refused(
    request_: Request[Any], answer: dict[str, object]
) -> None:
    for missing in set(answer) - OPTIONAL:
        with pytest.raises(InvalidValueError, match=missing if missing != "reward" else "rewards"):
            request_.parse({name: value for name, value in answer.items() if name != missing})


@pytest.mark.parametrize(
    ("ref", "plain", "state"),
    [
        (0, "0x0", "0x0"),
        (255, "0xff", "0xff"),
        ("latest", "latest", "latest"),
        ("finalized", "finalized", "finalized"),
        (HASH, HASH, PINNED),
    ],
)
def test_how_blocks_are_named(ref: int | str, plain: str, state: object) -> None:
    assert requests.block(ref).params[0] == plain
    assert requests.balance(HOLDER, ref).params == (HOLDER, state)
    assert requests.storage(HOLDER, 9, ref).params == (HOLDER, "0x9", state)
    assert requests.call(HOLDER, b"\x01").at(ref).params[1] == state


@pytest.mark.parametrize("wrong", ["newest", "0x12", "", "0X" + "ab" * 32])
def test_what_is_no_block_is_refused_before_it_is_asked(wrong: str) -> None:
    with pytest.raises(ValueError, match="is not a block's number, tag or hash"):
        requests.balance(HOLDER, wrong)


def test_a_pending_block_is_no_block() -> None:
    with pytest.raises(ValueError, match="pending"):
        requests.block("pending")


def test_calls_are_written_in_full() -> None:
    override = {
        HOLDER: AccountOverride(balance=1, nonce=2, code=b"\x60", storage={HASH: HASH}),
        SENDER: AccountOverride(),
    }
    asked = requests.call(
        HOLDER, b"\x12", 7, sender=SENDER, value=5, gas=21_000, state_override=override
    )
    assert asked.params == (
        {"data": "0x12", "to": HOLDER, "from": SENDER, "value": "0x5", "gas": "0x5208"},
        "0x7",
        {
            HOLDER: {"balance": "0x1", "nonce": "0x2", "code": "0x60", "stateDiff": {HASH: HASH}},
            SENDER: {},
        },
    )
    assert requests.estimate_gas(None, b"\x60").params == ({"data": "0x60"}, "latest")


def test_log_filters_are_written_in_full() -> None:
    wanted = LogFilter(
        (HOLDER.upper().replace("X", "x"), SENDER), (None, (HASH, HASH), HASH), 1, 255
    )
    assert requests.logs(wanted).params == (
        {
            "fromBlock": "0x1",
            "toBlock": "0xff",
            "topics": [None, [HASH, HASH], HASH],
            "address": [HOLDER, SENDER],
        },
    )
    assert requests.logs(LogFilter(HOLDER, (), 0, "latest")).params == (
        {"fromBlock": "0x0", "toBlock": "latest", "topics": [], "address": HOLDER},
    )
