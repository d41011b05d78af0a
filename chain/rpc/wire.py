"""JSON-RPC on the wire: questions written, answers matched, errors sorted by what can be done."""

import re
from collections.abc import Mapping, Sequence
from typing import TypeAlias

from msgspec import Struct, json

from chain.base import strict_json
from chain.rpc import records
from chain.rpc.endpoint import Endpoint
from chain.rpc.errors import (
    BlockMissing,
    RangeTooWide,
    RateLimited,
    Reverted,
    RpcError,
    RpcRefused,
    SendRefusal,
    SendRefused,
    StatePruned,
)
from chain.rpc.requests import Request


class RpcResult(Struct, frozen=True):
    value: object


class ServerError(Struct, frozen=True):
    code: int
    message: str
    """As the server wrote it: to be cleaned before anyone sees it."""
    data: object = None


Reply: TypeAlias = RpcResult | ServerError


class InvalidRpcReplyError(ValueError):
    """A reply that does not answer the questions asked."""


class BatchRefusedError(Exception):
    """A server that answered a whole batch with one error."""

    def __init__(self, error: ServerError) -> None:
        super().__init__("the batch was refused")
        self.error = error


def encode_requests(requests: Sequence[Request[object]], first_id: int) -> bytes:
    """One question as an object, several as a batch, numbered from `first_id`."""
    calls = [
        {"jsonrpc": "2.0", "id": first_id + place, "method": asked.method, "params": asked.params}
        for place, asked in enumerate(requests)
    ]
    return json.encode(calls[0] if len(calls) == 1 else calls)


_WRITTEN_ID = re.compile(r"[0-9]{1,18}", re.ASCII)


def read(body: bytes, first_id: int, count: int) -> list[Reply]:
    """The answers in the order of the questions, each id exactly once."""
    try:
        reply = strict_json.loads(body)
    except strict_json.InvalidJsonError as error:
        reason = str(error)
    else:
        return [_reply(reply, first_id)] if count == 1 else _replies(reply, first_id, count)
    raise InvalidRpcReplyError(reason)


def _replies(reply: object, first_id: int, count: int) -> list[Reply]:
    refusal = _whole_refusal(reply)
    if refusal is not None:
        raise BatchRefusedError(refusal)
    if not isinstance(reply, list):
        raise InvalidRpcReplyError("a batch was not answered with a list")
    found: dict[int, Reply] = {}
    for entry in reply:
        number = _id(entry)
        if number in found:
            raise InvalidRpcReplyError("an id was answered twice")
        if not first_id <= number < first_id + count:
            raise InvalidRpcReplyError("an id was answered that was not asked")
        found[number] = _reply(entry, number)
    if len(found) != count:
        # One that drops calls of a batch answers them in smaller ones, or alone.
        raise BatchRefusedError(ServerError(0, "an id was left unanswered"))
    return [found[first_id + place] for place in range(count)]


def _whole_refusal(reply: object) -> ServerError | None:
    """Some refuse a batch with one error object, some with a list of one that has no id."""
    if isinstance(reply, list) and len(reply) == 1 and _id_is_missing(reply[0]):
        reply = reply[0]
    if not isinstance(reply, dict) or reply.get("error") is None:
        return None
    return _server_error(reply["error"])


def _id_is_missing(entry: object) -> bool:
    return isinstance(entry, dict) and entry.get("id") is None


def _reply(entry: object, expected_id: int) -> Reply:
    if not isinstance(entry, dict):
        raise InvalidRpcReplyError("it is not a JSON-RPC object")
    if entry.get("jsonrpc") != "2.0":
        raise InvalidRpcReplyError("it is not JSON-RPC 2.0")
    error = entry.get("error")
    if error is not None and entry.get("id", expected_id) is None:
        return _server_error(error)
    if _id(entry) != expected_id:
        raise InvalidRpcReplyError("another id was answered than was asked")
    if error is not None:
        return _server_error(error)
    if "result" not in entry:
        raise InvalidRpcReplyError("it has neither a result nor an error")
    return RpcResult(entry["result"])


def _id(entry: object) -> int:
    number = entry.get("id") if isinstance(entry, Mapping) else None
    if isinstance(number, str) and _WRITTEN_ID.fullmatch(number):
        number = int(number)  # some gateways give it back as text
    if isinstance(number, bool) or not isinstance(number, int):
        raise InvalidRpcReplyError("an answer has no proper id")
    return number


def _server_error(error: object) -> ServerError:
    if not isinstance(error, dict):
        raise InvalidRpcReplyError("its error is not an object")
    code, message = error.get("code"), error.get("message")
    if isinstance(code, bool) or not isinstance(code, int) or not isinstance(message, str):
        raise InvalidRpcReplyError("its error has no proper code and message")
    return ServerError(code, message, error.get("data"))


# Codes are not enough: -32000 is used for everything, so the words decide.
_ERROR = bytes.fromhex("08c379a0")  # Error(string)
_PANIC = bytes.fromhex("4e487b71")  # Panic(uint256)
_MOST_TEXT = 1_000


def revert_data(data: object, *, nested: bool = False) -> bytes:
    """The returned bytes; empty where a node sends none, or none that can be read."""
    if isinstance(data, dict) and not nested:
        return revert_data(data.get("data"), nested=True)
    if not isinstance(data, str):
        return b""
    try:
        return records.data(data.removeprefix("Reverted "))
    except records.InvalidValueError:
        return b""


def revert_reason(data: bytes) -> str:
    """The words of Solidity's two built-in errors, uncleaned; empty for custom errors."""
    if data[:4] == _PANIC and len(data) == 36:
        return f"panic {int.from_bytes(data[4:]):#04x}"
    if data[:4] != _ERROR or int.from_bytes(data[4:36]) != 32:
        return ""
    length = int.from_bytes(data[36:68])
    return data[68 : 68 + min(length, _MOST_TEXT)].decode("utf-8", errors="replace")


_LOOKED_AT = 2_000
_BATCH_SIZES = (1_000, 500, 200, 100, 50, 20, 10, 5, 3, 1)
"""What servers usually take at most, where they do not say."""
_REVERT_CODES = frozenset((3, -32015))
_LIMIT_EXCEEDED = -32005  # of requests, of blocks and of results alike
_RATE_CODES = frozenset((429, _LIMIT_EXCEEDED, -32029, -32097))

# Plain text, because most runs see no refusal: `re` compiles each at its first use and keeps it.
_REVERTED = r"\brevert(ed)?\b"
_RATE = (
    r"rate.?limit|too many requests|request(s)? (limit|rate)|throttl|quota|compute units|capacity"
    r"|per second|call rate"
)
_RANGE = (
    r"more than [\d,]+ (results|logs|blocks)|query returned more|block range|blocks range"
    r"|range is too|range too|ranges? (over|exceeds|[\d,]+ (exceeds|is bigger))"
    r"|exceeds? (the )?range|limited to|response size|response (is )?too (big|large)"
    r"|too many (results|logs|blocks)|limit exceeded|exceeds? max results|result set too large"
    r"|query (timeout|exceeds max|duration)|limit the query|logs matched by query"
    r"|number of requested blocks|blocks distance|at most [\d,]+ blocks"
)
_LOGS_COUNTED = r"logs matched|[\d,]+k? (results|logs)\b|response size"
_SLOW = r"time(d )?.?out|deadline exceeded|took too long"
_KEYS_OR_PAYMENT = (
    r"api.?key|not authori[sz]ed|unauthori[sz]ed|authenticat|forbidden|access denied|project id"
    r"|payment|billing|suspended|(out of|insufficient) (credits|funds)"
    r"|credits? (are |is )?(exhausted|exceeded|used)"
)
_NO_METHOD = (
    r"method .{0,60}(not (found|supported|available|allowed|enabled|whitelisted)|does not exist"
    r"|disabled)|(unsupported|unknown) method|not whitelisted"
)
_NO_METHOD_CODES = frozenset((-32601, -32004))
_NOT_RANGE = r"invalid block range|beyond (the )?(current )?head"
_NO_STATE = (
    r"missing trie node|state (is )?not available|no state available|pruned|pruning"
    r"|historical state|block .{0,70}not available|archive|exceeds maximum proof window"
    r"|state .{0,40}unavailable"
)
_NO_BLOCK = (
    r"header (for hash )?not found|unknown block|could not find block|block .{0,70}not found"
    r"|not (currently )?canonical|beyond (the )?(current )?head|block is out of range"
    r"|blocks? specified in filter .{0,60}cannot be found"
    # Anvil says the first of a number and the second of a hash.
    r"|blockoutofrange|resource not found"
)
_BRIEF = r"busy|time(d )?.?out|try again|overload|unavailable|temporar|cannot fulfill"
_OF_A_DAY = r"\b(daily|per day|a day|monthly|per month)\b"
_ONE_OF_A_METHOD = (
    r"(?:too many|only one|more than one) .{0,4}?((?:eth|debug|trace)_\w+).{0,4} "
    r"(?:methods?|calls?|requests?)"
)
_RANGE_NAMED = r"\[\s*(0x[0-9a-f]{1,16})\s*,\s*(0x[0-9a-f]{1,16})\s*\]"
_SPAN_NAMED = (
    r"(?:max(?:imum)?(?: is)?|max block range ?[:=]?|limited to(?: a)?|limit(?: of)?|up to(?: a)?"
    r"|over|range:|at most|requested blocks is|distance:)\s*([\d,]{1,12})(k?)\b"
)

_SEND_REFUSALS: tuple[tuple[str, SendRefusal], ...] = (
    (
        r"already (known|imported|exists|in mempool)|known transaction|alreadyknown",
        SendRefusal.ALREADY_KNOWN,
    ),
    (r"nonce (is )?too low|oldnonce", SendRefusal.NONCE_TOO_LOW),
    (r"nonce (is )?too high|nonce gap", SendRefusal.NONCE_TOO_HIGH),
    (
        r"replacement .{0,40}underpriced|replacementnotallowed|too low to replace",
        SendRefusal.REPLACEMENT_UNDERPRICED,
    ),
    (
        r"underpriced|fee ?too ?low|gas price too low|less than block base fee",
        SendRefusal.UNDERPRICED,
    ),
    (r"in-?flight transaction limit|delegated account", SendRefusal.IN_FLIGHT),
    (r"insufficient ?(funds|balance)", SendRefusal.INSUFFICIENT_FUNDS),
    (r"chain ?id|invalid sender", SendRefusal.WRONG_CHAIN_ID),
    (r"intrinsic gas|gas limit|gas too low|floor data gas", SendRefusal.GAS_LIMIT),
)


def typed_error(error: ServerError, method: str, endpoint: Endpoint) -> RpcError:
    """The error a caller can act on, with the server's words cleaned and cut."""
    words = error.message[:_LOOKED_AT].lower()
    shown = endpoint.clean(error.message)
    label = endpoint.label
    if method == "eth_sendRawTransaction":
        return _send_error(error, words, shown, label)
    if method == "eth_getLogs":
        return _logs_error(error, words, shown, label)
    if error.code in _REVERT_CODES or re.search(_REVERTED, words):
        data = revert_data(error.data)
        return Reverted(data, endpoint.clean(revert_reason(data)), endpoint=label)
    return _unanswered(error, words, shown, label)


def _logs_error(error: ServerError, words: str, shown: str, label: str) -> RpcError:
    """Any refusal of logs that fewer blocks may overcome is one of the range.

    Providers word it in too many ways to know them all, so what is known are the others.
    """
    told = f"{words} {_payload(error.data)}"
    if not re.search(_NOT_RANGE, told):
        if re.search(_RANGE, told) and not re.search(_RATE, told):
            first_last, span = _suggestion(told)
            return RangeTooWide(
                shown,
                endpoint=label,
                suggested=first_last,
                suggested_span=span,
                counted=bool(re.search(_LOGS_COUNTED, told)),
            )
        if re.search(_SLOW, told) or not _is_about_something_else(error, told):
            return RangeTooWide(shown, endpoint=label, sure=False)
    return _unanswered(error, words, shown, label)


def _is_about_something_else(error: ServerError, words: str) -> bool:
    if error.code in _NO_METHOD_CODES or error.code in _RATE_CODES - {_LIMIT_EXCEEDED}:
        return True
    others = (_RATE, _KEYS_OR_PAYMENT, _NO_METHOD, _NO_STATE, _NO_BLOCK)
    return any(re.search(pattern, words) for pattern in others)


def _unanswered(error: ServerError, words: str, shown: str, label: str) -> RpcError:
    if is_rate_limit(error):
        used_up = bool(re.search(_OF_A_DAY, words))
        return RateLimited(endpoint=label, retry_after=_backoff(error.data), used_up=used_up)
    if re.search(_NO_STATE, words):
        return StatePruned(shown, endpoint=label)
    if re.search(_NO_BLOCK, words):
        return BlockMissing(shown, endpoint=label)
    server_side = error.code == -32603 or -32099 <= error.code <= -32000
    return RpcRefused(
        error.code, shown, endpoint=label, retryable=server_side, lasting=not is_brief(error)
    )


def refuses_range(error: ServerError) -> bool:
    """Whether a refusal of a whole batch is one of the logs asked for in it."""
    words = error.message[:_LOOKED_AT].lower()
    return bool(re.search(_RANGE, words)) and "batch" not in words and not is_rate_limit(error)


def is_rate_limit(error: ServerError) -> bool:
    return error.code in _RATE_CODES or bool(re.search(_RATE, error.message[:_LOOKED_AT].lower()))


def is_brief(error: ServerError) -> bool:
    """Whether it says by itself that it will pass."""
    return bool(re.search(_BRIEF, error.message[:_LOOKED_AT].lower()))


def method_to_be_alone(error: ServerError) -> str | None:
    """The method of which a batch may hold one call, where it was refused for holding more."""
    found = re.search(_ONE_OF_A_METHOD, error.message[:_LOOKED_AT], re.IGNORECASE)
    return None if found is None else found[1]


def smaller_batch(error: ServerError, size: int) -> int:
    """How many to put into the next batch after one of `size` was refused."""
    words = error.message[:_LOOKED_AT].lower()
    named = re.search(r"(?:max\w*|limit\w*|up to|than)\D{0,30}(\d{1,6})", words)
    if named and 0 < int(named[1]) < size:
        return int(named[1])
    if re.search(r"not (supported|allowed|enabled|permitted)|unsupported|disabled", words):
        return 1
    return next(smaller for smaller in _BATCH_SIZES if smaller < max(2, size))


def _send_error(error: ServerError, words: str, shown: str, label: str) -> RpcError:
    for pattern, reason in _SEND_REFUSALS:
        if re.search(pattern, words):
            return SendRefused(reason, error.code, shown, endpoint=label)
    if is_rate_limit(error):
        return RateLimited(endpoint=label, retry_after=_backoff(error.data))
    if is_brief(error):
        return RpcRefused(error.code, shown, endpoint=label, retryable=True, lasting=False)
    return SendRefused(SendRefusal.OTHER, error.code, shown, endpoint=label)


def _suggestion(words: str) -> tuple[tuple[int, int] | None, int | None]:
    named = re.search(_RANGE_NAMED, words)
    first_last = (int(named[1], 16), int(named[2], 16)) if named else None
    if first_last and first_last[0] > first_last[1]:
        first_last = None
    spanned = None if re.search(_LOGS_COUNTED, words) else re.search(_SPAN_NAMED, words)
    digits = spanned[1].replace(",", "") if spanned else ""
    span = int(digits) * (1_000 if spanned and spanned[2] else 1) if digits else 0
    return first_last, span or None


def _payload(data: object) -> str:
    """Some providers put the telling words into `data`, plain or one level down."""
    if isinstance(data, dict):
        data = data.get("payload")
    return data[:_LOOKED_AT].lower() if isinstance(data, str) else ""


def _backoff(data: object) -> float | None:
    rate = data.get("rate") if isinstance(data, dict) else None
    seconds = rate.get("backoff_seconds") if isinstance(rate, dict) else None
    if isinstance(seconds, bool) or not isinstance(seconds, int | float) or seconds < 0:
        return None
    return float(seconds)
