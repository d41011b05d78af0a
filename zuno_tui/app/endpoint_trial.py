"""What an endpoint is good for, found out by asking it: each answer as a check of its own."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator
from enum import StrEnum
from typing import TYPE_CHECKING

from msgspec import Struct

from chain.contracts.abi import selector
from chain.contracts.networks import Network, all_networks
from chain.rpc import requests
from chain.rpc.errors import ErrorKind, HttpFault, RangeTooWide, RpcError, WrongChain
from chain.rpc.records import LogFilter
from chain.rpc.requests import RequestLimits

if TYPE_CHECKING:
    from chain.rpc.client import RpcClient

IMPATIENT = RequestLimits(connect_seconds=3.0, answer_seconds=4.0, total_seconds=5.0, rounds=1)
"""For somebody who waits at a field."""
_SPANS = (100_000, 10_000, 1_000, 100, 10)
_ENOUGH_BLOCKS = 1_000
"""Of logs at once; with fewer, owners are asked for instead, which takes longer."""
_OLD_BLOCKS = 100_000
_NEXT_TOKEN_ID = selector("nextTokenId()")
_NEVER_LOGGED = "0x" + "00" * 31 + "01"


class CheckState(StrEnum):
    WELL = "ok"
    CAUTION = "caution"
    BROKEN = "broken"


CHECK_MARKS = {CheckState.WELL: "✓", CheckState.CAUTION: "!", CheckState.BROKEN: "✗"}


class Check(Struct, frozen=True):
    name: str
    state: CheckState
    finding: str
    next_step: str = ""
    about_network: bool = False


async def endpoint_checks(client: RpcClient, name: str = "RPC") -> AsyncIterator[Check]:
    """Latency, chain, head, logs and past state; an RpcError where it does not answer at all."""
    network, began = client.network, client.monotonic()
    chain_id = await client.ask(requests.chain_id())
    milliseconds = (client.monotonic() - began) * 1000
    yield Check(name, CheckState.WELL, f"answers in {milliseconds:.0f} ms")
    yield Check("chain id", CheckState.WELL, f"{chain_id}, as {network.title} should")
    head = await client.head()
    yield Check("head", CheckState.WELL, f"block {head.number:,}, {_age(network, head.timestamp)}")
    yield await _logs_check(client, head.number)
    yield await _archive_check(client, head.number)


async def tried_endpoint(network: Network, url: str) -> AsyncIterator[Check]:
    """The same for a URL that somebody types; what fails is the last check."""
    from chain.rpc.client import RpcClient

    async with RpcClient(network, (url,), limits=IMPATIENT) as client:
        try:
            async for check in endpoint_checks(client):
                yield check
        except RpcError as error:
            yield failed_check(error)


def failed_check(error: RpcError) -> Check:
    sentence = error.sentence
    if isinstance(error, WrongChain):
        sentence = f"It answers for chain {error.answered}, not {error.expected}."
    return Check("RPC", CheckState.BROKEN, sentence, _what_to_do(error), about_network=True)


def _what_to_do(error: RpcError) -> str:
    match error:
        case WrongChain(answered=answered):
            names = [one.title for one in all_networks() if one.chain_id == answered]
            its = f"That is {names[0]}'s: go back and choose it" if names else "Go back"
            return f"{its}, or give another URL."
        case HttpFault(status=401 | 403):
            return "Check the key in the URL."
        case HttpFault(status=404 | 405 | 501):
            return _BY_KIND[ErrorKind.MALFORMED]
        case _:
            return _BY_KIND.get(error.kind, "Try again, or give another URL.")


_BY_KIND = {
    ErrorKind.UNREACHABLE: "Check the name and the port, and that the node runs.",
    ErrorKind.TIMED_OUT: "Try again, or give another URL.",
    ErrorKind.MALFORMED: "That is no JSON-RPC endpoint: copy the URL your provider shows.",
    ErrorKind.RATE_LIMITED: "Wait a little, or give a URL with a key of your own.",
    ErrorKind.STALE_HEAD: "The node is behind: wait for it, or give another URL.",
}


async def _logs_check(client: RpcClient, head: int) -> Check:
    spans = [span for span in _SPANS if span <= max(head, _SPANS[-1])]
    for span in spans:
        wanted = LogFilter(
            client.network.contracts.pool_manager,
            (_NEVER_LOGGED, _NEVER_LOGGED),
            max(0, head - span + 1),
            head,
        )
        try:
            await client.ask(requests.logs(wanted))
        except RangeTooWide as error:
            if error.suggested_span is not None and error.suggested_span < span:
                return _span_check(error.suggested_span)
        except RpcError as error:
            return Check("logs", CheckState.CAUTION, error.sentence, _WITHOUT_LOGS)
        else:
            return _span_check(span)
    return Check("logs", CheckState.CAUTION, "gives next to none at once", _WITHOUT_LOGS)


_WITHOUT_LOGS = "Positions are then found by asking for owners, which takes longer."


def _span_check(span: int) -> Check:
    words = f"of {span:,} blocks at once"
    if span >= _ENOUGH_BLOCKS:
        return Check("logs", CheckState.WELL, words)
    return Check("logs", CheckState.CAUTION, words, _WITHOUT_LOGS)


async def _archive_check(client: RpcClient, head: int) -> Check:
    old = max(1, head - _OLD_BLOCKS)
    contracts = client.network.contracts
    try:
        await client.ask(requests.call(contracts.position_manager, _NEXT_TOKEN_ID, old))
    except RpcError as error:
        if error.kind is ErrorKind.REVERTED:
            return Check("archive", CheckState.WELL, f"has the state of block {old:,}")
        words = "no state of old blocks"
        return Check("archive", CheckState.CAUTION, words, "The past is told from logs alone.")
    return Check("archive", CheckState.WELL, f"has the state of block {old:,}")


def _age(network: Network, timestamp: int) -> str:
    if network.clock == "head":
        return "by its own clock"
    return f"{max(0, time.time() - timestamp):.0f} s old"
