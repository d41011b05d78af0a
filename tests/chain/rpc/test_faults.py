"""Every fault of an endpoint: alone a typed, readable error; beside an honest one no matter."""

import logging
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest

from chain.contracts.networks import Network
from chain.rpc import requests
from chain.rpc.errors import ErrorKind, RpcError
from chain.rpc.records import LogFilter
from chain.rpc.requests import Request
from tests.chain.rpc.conftest import QUICK, assert_fit_to_show, client_of
from tests.fakes import faults
from tests.fakes.fault_server import SECRET, Behaviour, FaultServer
from tests.fakes.honest_node import GAS_PRICE, LOG_TOPIC, HonestNode
from tests.samples import some_of
from tests.virtual_time import virtual_now

EMITTER = "0x" + "cc" * 20
HOLDER = "0x" + "11" * 20
NODE = HonestNode()
LOG = NODE.answer(
    {"id": 0, "method": "eth_getLogs", "params": [{"fromBlock": "0x5", "toBlock": "0x5"}]}
)["result"][0]  # type: ignore[index]
BLOCK = NODE.block(5)
assert BLOCK is not None


@dataclass(frozen=True)
class Question:
    request: Request[Any]
    is_right: Callable[[Any], bool]


PRICE = Question(requests.gas_price(), lambda answer: answer == GAS_PRICE)
LOGS = Question(
    requests.logs(LogFilter(EMITTER, (LOG_TOPIC,), 5, 6)),
    lambda answer: [log.block_number for log in answer] == [5, 6],
)
BLOCK_5 = Question(requests.block(5), lambda answer: answer.hash == NODE.hash(5))
BALANCE = Question(requests.balance(HOLDER, 7), lambda answer: answer == 7_000)
CALL = Question(requests.call(HOLDER, b"echo"), lambda answer: answer == b"echo")


@dataclass(frozen=True)
class Fault:
    name: str
    behaviour: Behaviour
    kind: ErrorKind
    question: Question = PRICE


def logs_of(*changes: dict[str, object]) -> Behaviour:
    return faults.result([{**LOG, **change} for change in changes])


TIMED_OUT, UNREACHABLE = ErrorKind.TIMED_OUT, ErrorKind.UNREACHABLE
MALFORMED, HTTP_FAULT = ErrorKind.MALFORMED, ErrorKind.HTTP_FAULT

FAULTS = [
    Fault("never answers", faults.silence, TIMED_OUT),
    Fault("drips its answer", faults.slow_loris, TIMED_OUT),
    Fault("drips its headers", faults.slow_header, TIMED_OUT),
    Fault("resets the connection", faults.reset, UNREACHABLE),
    Fault("resets in the middle", faults.reset_in_the_middle, UNREACHABLE),
    Fault("hangs up", faults.hang_up, UNREACHABLE),
    Fault("does not speak HTTP", faults.not_http, UNREACHABLE),
    Fault(
        "429 with seconds",
        faults.status("429 Too Many Requests", headers={"Retry-After": "7"}),
        ErrorKind.RATE_LIMITED,
    ),
    Fault(
        "429 with a date",
        faults.status("429 X", headers={"Retry-After": "Tue, 14 Nov 2023 22:13:37 GMT"}),
        ErrorKind.RATE_LIMITED,
    ),
    Fault("429 without a time", faults.status("429 X"), ErrorKind.RATE_LIMITED),
    Fault("-32005 in a 200", faults.error(-32005, "slow down"), ErrorKind.RATE_LIMITED),
    Fault("500", faults.status("500 Oops", b"<h1>oops</h1>"), HTTP_FAULT),
    Fault("502", faults.status("502 Bad Gateway"), HTTP_FAULT),
    Fault("503 until later", faults.status("503 X", headers={"Retry-After": "9"}), HTTP_FAULT),
    Fault("401", faults.status("401 Unauthorized", b'{"error":"bad key"}'), HTTP_FAULT),
    Fault("404", faults.status("404 Not Found"), HTTP_FAULT),
    Fault("301", faults.status("301 X", headers={"Location": "http://127.0.0.1:1/"}), HTTP_FAULT),
    Fault("307", faults.status("307 X", headers={"Location": "http://127.0.0.1:1/"}), HTTP_FAULT),
    Fault("308", faults.status("308 X", headers={"Location": "//evil"}), HTTP_FAULT),
    Fault("HTML", faults.body(b"<!doctype html><title>Sign in</title>"), MALFORMED),
    Fault("empty", faults.body(b""), MALFORMED),
    Fault("blanks", faults.body(b"  \n "), MALFORMED),
    Fault("cut JSON", faults.cut(lambda whole: whole[:-9]), MALFORMED),
    Fault("text after JSON", faults.cut(lambda whole: whole + b"x"), MALFORMED),
    Fault("byte order mark", faults.cut(lambda whole: b"\xef\xbb\xbf" + whole), MALFORMED),
    Fault("not UTF-8", faults.cut(lambda whole: whole.replace(b"2.0", b"\xff")), MALFORMED),
    Fault("a key twice", faults.raw_result('"0x1","result":"0x2"'), MALFORMED),
    Fault("NaN", faults.raw_result("NaN"), MALFORMED),
    Fault("a number of 100,000 digits", faults.raw_result("9" * 100_000), MALFORMED),
    Fault("nested 100,000 deep", faults.raw_result("[" * 100_000 + "]" * 100_000), MALFORMED),
    Fault("a million empty lists", faults.raw_result("[" + "[]," * 999_999 + "[]]"), MALFORMED),
    Fault("null instead of replies", faults.body(b"null"), MALFORMED),
    Fault("a list of numbers", faults.body(b"[1,2]"), MALFORMED),
    Fault("wrong id", faults.last_reply(id=999_999), MALFORMED),
    Fault("id in words", faults.last_reply(id="two"), MALFORMED),
    Fault("id null", faults.last_reply(id=None), MALFORMED),
    Fault("id true", faults.last_reply(id=True), MALFORMED),
    Fault("one id twice", faults.replies(lambda all_: [all_[0], all_[0]]), MALFORMED),
    Fault("an id too many", faults.replies(lambda all_: [*all_, {**all_[0]}]), MALFORMED),
    Fault("an id missing", faults.replies(lambda all_: all_[:1]), MALFORMED),
    Fault("no replies", faults.replies(lambda _: []), MALFORMED),
    Fault("JSON-RPC 1.0", faults.last_reply(jsonrpc="1.0"), MALFORMED),
    Fault("no version", faults.last_reply(jsonrpc=...), MALFORMED),
    Fault("neither result nor error", faults.last_reply(result=...), MALFORMED),
    Fault("an error in words", faults.last_reply(result=..., error="boom"), MALFORMED),
    Fault("an error without a code", faults.error("x", "boom"), MALFORMED),
    Fault("an error without words", faults.error(-32000, 5), MALFORMED),
    Fault("a decimal quantity", faults.result("1"), MALFORMED),
    Fault("an integer", faults.result(1), MALFORMED),
    Fault("a float", faults.result(1.5), MALFORMED),
    Fault("null", faults.result(None), MALFORMED),
    Fault("true", faults.result(True), MALFORMED),
    Fault("a list", faults.result(["0x1"]), MALFORMED),
    Fault("a negative quantity", faults.result("-0x5"), MALFORMED),
    Fault("a leading zero", faults.result("0x01"), MALFORMED),
    Fault("no digits", faults.result("0x"), MALFORMED),
    Fault("257 bits", faults.result(hex(2**256)), MALFORMED),
    Fault("a quantity of a megabyte", faults.result("0x1" + "0" * 1_000_000), MALFORMED),
    Fault("digits of another script", faults.result("0x١"), MALFORMED),
    Fault("odd hex", faults.result("0x123"), MALFORMED, CALL),
    Fault("hex with spaces", faults.result("0x12 34"), MALFORMED, CALL),
    Fault("null for bytes", faults.result(None), MALFORMED, CALL),
    Fault("another block", faults.result({**BLOCK, "number": "0x6"}), MALFORMED, BLOCK_5),
    Fault("a block of 65 bits", faults.result({**BLOCK, "number": hex(2**64)}), MALFORMED, BLOCK_5),
    Fault("a short block hash", faults.result({**BLOCK, "hash": "0x12"}), MALFORMED, BLOCK_5),
    Fault("a time in floats", faults.result({**BLOCK, "timestamp": 1.7e9}), MALFORMED, BLOCK_5),
    Fault("a log of another address", logs_of({"address": HOLDER}), MALFORMED, LOGS),
    Fault("a log of another topic", logs_of({"topics": ["0x" + "00" * 32]}), MALFORMED, LOGS),
    Fault("a log without topics", logs_of({"topics": []}), MALFORMED, LOGS),
    Fault("a log of another block", logs_of({"blockNumber": "0x7"}), MALFORMED, LOGS),
    Fault("a removed log", logs_of({"removed": True}), MALFORMED, LOGS),
    Fault("logs out of order", logs_of({"logIndex": "0x2"}, {"logIndex": "0x1"}), MALFORMED, LOGS),
    Fault("a log twice", logs_of({}, {}), MALFORMED, LOGS),
    Fault(
        "logs of two histories",
        logs_of({}, {"logIndex": "0x1", "blockHash": "0x" + "99" * 32}),
        MALFORMED,
        LOGS,
    ),
    Fault("300 MB", faults.endless_body, ErrorKind.TOO_LARGE),
    Fault("300 MB for logs", faults.endless_body, ErrorKind.TOO_LARGE, LOGS),
    Fault("gzip bomb", faults.gzip_bomb, ErrorKind.TOO_LARGE),
    Fault("broken gzip", faults.body(b"no", {"Content-Encoding": "gzip"}), MALFORMED),
    Fault("gzip twice", faults.packed(2), MALFORMED),
    Fault("brotli", faults.body(b"no", {"Content-Encoding": "br"}), MALFORMED),
    Fault("another chain", faults.wrong_chain(1), ErrorKind.WRONG_CHAIN),
    Fault("no state", faults.error(-32000, "missing trie node"), ErrorKind.STATE_PRUNED, BALANCE),
    Fault(
        "escape codes and the key in an error",
        faults.error(-32000, f"\x1b]52;c;x\x07[red]\u202e[/] {SECRET} /v2/{SECRET}" + "A" * 5_000),
        ErrorKind.REFUSED,
    ),
]


@pytest.mark.parametrize(
    "fault", some_of(((each,) for each in FAULTS), 30, seed=44), ids=lambda fault: fault.name
)
async def test_alone_it_is_a_typed_error(
    fault: Fault, base: Network, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    async with FaultServer(fault.behaviour) as server, client_of(base, [server.url]) as client:
        began = virtual_now()
        with pytest.raises(RpcError) as caught:
            await client.ask(fault.question.request)
        assert virtual_now() - began <= QUICK.total_seconds
    assert caught.value.kind == fault.kind, caught.value
    assert_fit_to_show(caught.value)
    assert SECRET not in caplog.text


@pytest.mark.parametrize(
    "fault", some_of(((each,) for each in FAULTS), 30, seed=44), ids=lambda fault: fault.name
)
async def test_beside_an_honest_endpoint_the_answer_is_right(fault: Fault, base: Network) -> None:
    async with (
        FaultServer(fault.behaviour) as faulty,
        FaultServer() as honest,
        client_of(base, [faulty.url, honest.url]) as client,
    ):
        assert fault.question.is_right(await client.ask(fault.question.request))
        assert faulty.asked
        assert client.endpoints[0].last_fault is not None
