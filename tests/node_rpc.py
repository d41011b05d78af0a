"""One question to the embedded chain, over connections that a test process keeps open.

A client of its own for each question would read the certificates of the system every time, which
takes longer than most answers.
"""

import time
from collections.abc import Sequence
from functools import cache
from typing import Any

import httpx2

from chain.devnet.defaults import control_door
from tests.waiting import HUNG_SECONDS, pauses


@cache
def http() -> httpx2.Client:
    return httpx2.Client(verify=False, trust_env=False, timeout=HUNG_SECONDS)


def answer_of(url: str, method: str, *params: object) -> dict[str, Any]:
    """The whole answer, with its result or its error."""
    body = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
    # What is no node's business is asked of the market's control, at the port beside it.
    server = control_door(url) if method.startswith("zuno_") else url
    answer: dict[str, Any] = http().post(server, json=body).json()
    return answer


def ask(url: str, method: str, *params: object) -> Any:
    answer = answer_of(url, method, *params)
    assert "result" in answer, answer
    return answer["result"]


def take_back(url: str, snapshot: object) -> None:
    """The chain as the snapshot has it, each transaction mined at once again."""
    # What waits to be mined is in no snapshot, and is mined as soon as that is allowed.
    ask(url, "evm_setAutomine", False)
    if _is_anything_waiting(url):
        ask(url, "anvil_dropAllTransactions")
        # It may be in a block that is just being made, and that would stand on the snapshot's.
        ask(url, "evm_mine")
    assert ask(url, "evm_revert", snapshot)
    # No snapshot has it: the next block would cost what the one that was taken back led to.
    head = ask(url, "eth_getBlockByNumber", "latest", False)
    ask(url, "anvil_setNextBlockBaseFeePerGas", head["baseFeePerGas"])
    ask(url, "evm_setAutomine", True)


def is_at_rest(url: str) -> bool:
    """Whether nothing waits to be mined, and what is sent next is mined at once."""
    return not _is_anything_waiting(url) and bool(ask(url, "anvil_getAutomine"))


def _is_anything_waiting(url: str) -> bool:
    return any(int(count, 16) for count in ask(url, "txpool_status").values())


def wait_until_later(url: str, seconds: int) -> None:
    """One block more, this much later than the head."""
    head = ask(url, "eth_getBlockByNumber", "latest", False)
    ask(url, "evm_setNextBlockTimestamp", int(head["timestamp"], 16) + seconds)
    ask(url, "evm_mine")


def receipt(url: str, transaction: str) -> dict[str, Any]:
    """Of a transaction that a node mines at once: it may answer before it has."""
    waits = pauses(transaction)
    while (mined := ask(url, "eth_getTransactionReceipt", transaction)) is None:
        time.sleep(next(waits))
    found: dict[str, Any] = mined
    return found


def broadcast(url: str, raw: str) -> str:
    """Send signed bytes; where the node mines at once, they are in a block when this returns."""
    sent: str = ask(url, "eth_sendRawTransaction", raw)
    if ask(url, "anvil_getAutomine"):
        receipt(url, sent)
    return sent


def ask_all(url: str, calls: Sequence[tuple[str, Sequence[object]]]) -> None:
    """Many in one request, of which none may fail."""
    body = [
        {"jsonrpc": "2.0", "id": place, "method": method, "params": params}
        for place, (method, params) in enumerate(calls)
    ]
    answers: list[dict[str, Any]] = http().post(url, json=body).json()
    assert not [one for one in answers if "result" not in one]
