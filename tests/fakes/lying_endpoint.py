"""An endpoint that tells the truth but for one thing, on whichever way that thing is asked."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from chain.contracts.abi import decode, encode, selector
from chain.contracts.networks import Address
from chain.contracts.storage import EXTSLOAD
from chain.rpc.requests import decode_aggregate
from tests.fakes.proxy import Answer, Call, Proxy

Change = Callable[[Call, Any], Any]
"""From a call and its true result to the result that is told."""
BytesChange = Callable[[bytes], bytes]


class ToldError(Exception):
    """What is told instead of a result."""

    def __init__(self, code: int, message: str) -> None:
        super().__init__(message)
        self.answer: Answer = {"error": {"code": code, "message": message}}


@dataclass(frozen=True)
class Lie:
    """Which methods are answered otherwise, and how."""

    changes: Mapping[str, Change]
    instead: frozenset[str] = frozenset()
    """Methods that are answered without asking the chain, so that it never hears of them."""

    def __or__(self, other: Lie) -> Lie:
        return Lie({**self.changes, **other.changes}, self.instead | other.instead)


def lying_endpoint(chain: str, lie: Lie) -> Proxy:
    """Truthful about everything the lie does not touch."""

    def answer(call: Call) -> Answer | None:
        change = lie.changes.get(call["method"])
        if change is None:
            return None
        true = None if call["method"] in lie.instead else _truth(proxy, call)
        if true is not None and "result" not in true:
            return true
        try:
            return {"result": change(call, None if true is None else true["result"])}
        except ToldError as told:
            return told.answer

    proxy = Proxy(chain, answer)
    return proxy


def _truth(proxy: Proxy, call: Call) -> Answer:
    [reply] = proxy.ask([call])
    return {key: reply[key] for key in ("result", "error") if key in reply}


def results(method: str, change: Callable[[Any], Any]) -> Lie:
    """Every result of one method, changed the same way."""
    return Lie({method: lambda _call, true: change(true)})


def refused(method: str, code: int, message: str) -> Lie:
    def refuse(_call: Call, _true: Any) -> Any:
        raise ToldError(code, message)

    return Lie({method: refuse}, frozenset({method}))


def contract_reads(
    multicall3: Address, matches: Callable[[Address, bytes], bool], change: BytesChange
) -> Lie:
    """What a contract returns, asked for alone or among others in a multicall."""

    def changed(call: Call, true: Any) -> Any:
        to, data = call["params"][0]["to"].lower(), bytes.fromhex(call["params"][0]["data"][2:])
        if to != multicall3:
            return _hex(change(_bytes(true))) if matches(to, data) else true
        (inner,) = decode(("(address,bool,bytes)[]",), data[4:])
        outcomes = [
            (one.success, change(one.data) if one.success and matches(target, asking) else one.data)
            for one, (target, _, asking) in zip(decode_aggregate(_bytes(true)), inner, strict=True)
        ]
        return _hex(encode(("(bool,bytes)[]",), (tuple(outcomes),)))

    return Lie({"eth_call": changed})


def storage_words(
    multicall3: Address, pool_manager: Address, words: Mapping[int, Callable[[int], int]]
) -> Lie:
    """Words of the PoolManager's storage, by their slots."""
    reads = selector(EXTSLOAD)

    def changed(call: Call, true: Any) -> Any:
        to, data = call["params"][0]["to"].lower(), bytes.fromhex(call["params"][0]["data"][2:])
        if to == pool_manager and data[:4] == reads:
            return _hex(_with_words(data, _bytes(true), words))
        if to != multicall3:
            return true
        (inner,) = decode(("(address,bool,bytes)[]",), data[4:])
        outcomes = []
        for one, (target, _, asking) in zip(decode_aggregate(_bytes(true)), inner, strict=True):
            told = one.data
            if one.success and target == pool_manager and asking[:4] == reads:
                told = _with_words(asking, told, words)
            outcomes.append((one.success, told))
        return _hex(encode(("(bool,bytes)[]",), (tuple(outcomes),)))

    return Lie({"eth_call": changed})


def _with_words(asking: bytes, answer: bytes, words: Mapping[int, Callable[[int], int]]) -> bytes:
    (slots,) = decode(("bytes32[]",), asking[4:])
    (values,) = decode(("bytes32[]",), answer)
    told = [
        words[number](int.from_bytes(value, "big")).to_bytes(32, "big")
        if (number := int.from_bytes(slot, "big")) in words
        else value
        for slot, value in zip(slots, values, strict=True)
    ]
    return encode(("bytes32[]",), (tuple(told),))


def _bytes(text: str) -> bytes:
    return bytes.fromhex(text[2:])


def _hex(data: bytes) -> str:
    return "0x" + data.hex()
