# ruff: noqa: N818 - each error is named by what happened, the way it reads in an except clause
"""What can go wrong between the desk and a node, each with a sentence and a next step.

No error holds a URL: URLs may hold API keys. An endpoint is named by its host alone, and text a
server sent is cleaned before it gets here, and stands in a sentence only between quotes.
"""

from enum import StrEnum
from typing import ClassVar

from chain.base.clean_text import quote_words
from chain.base.errors import Failure, ZunoError
from chain.base.units import MEGABYTE, age_text
from chain.contracts.networks import Network

_SET_URL = "Set another endpoint: zuno --network NAME --rpc URL"
_CHECK_DOCTOR = "See what answers and what does not: zuno doctor"
_SHOWN_BYTES = 36


class ErrorKind(StrEnum):
    REVERTED = "reverted"
    REFUSED = "refused"
    SEND_REFUSED = "send refused"
    SEND_UNCLEAR = "send unclear"
    RATE_LIMITED = "rate limited"
    UNREACHABLE = "unreachable"
    TIMED_OUT = "timed out"
    HTTP_FAULT = "http fault"
    MALFORMED = "malformed"
    WRONG_CHAIN = "wrong chain"
    STALE_HEAD = "stale head"
    FUTURE_HEAD = "future head"
    REORGED = "reorged"
    TOO_LARGE = "too large"
    RANGE_TOO_WIDE = "range too wide"
    STATE_PRUNED = "state pruned"
    BLOCK_MISSING = "block missing"
    NO_ENDPOINT = "no endpoint"


class RpcError(ZunoError):
    """A fault of an RPC endpoint or a refusal by it."""

    failure = Failure.NETWORK

    kind: ClassVar[ErrorKind]
    retryable: bool = True
    """Whether another endpoint, or the same a little later, may answer."""
    lasting: bool = False
    """Whether the same endpoint would say the same again a moment later."""
    retry_after: float | None = None
    """How many seconds the endpoint asks to be left alone."""

    def __init__(self, sentence: str, next_step: str = "", *, endpoint: str = "") -> None:
        super().__init__(sentence)
        self.sentence = sentence
        self.next_step = next_step
        self.endpoint = endpoint
        self.elsewhere: tuple[RpcError, ...] = ()
        """What the other endpoints said, when several were tried."""

    def __str__(self) -> str:
        lines = [self.sentence, *(f"Also: {error.sentence}" for error in self.elsewhere)]
        return "\n".join((*lines, self.next_step) if self.next_step else lines)


class Unreachable(RpcError):
    """No connection, or one that broke."""

    kind = ErrorKind.UNREACHABLE

    def __init__(self, what: str, *, endpoint: str, before_sending: bool = False) -> None:
        super().__init__(f"{endpoint} {what}.", _CHECK_DOCTOR, endpoint=endpoint)
        self.before_sending = before_sending


class TimedOut(RpcError):
    kind = ErrorKind.TIMED_OUT

    def __init__(self, seconds: float, *, endpoint: str, connecting: bool = False) -> None:
        done = "let a connection in" if connecting else "finish its answer"
        super().__init__(
            f"{endpoint} did not {done} within {seconds:.1f} s.",
            f"{_CHECK_DOCTOR}. Wait longer: answer_seconds under [limits] in settings.toml",
            endpoint=endpoint,
        )
        self.seconds = seconds
        self.before_sending = connecting


_OFTEN_PASSING = frozenset((403, 404, 408, 409, 425))
"""What gateways answer now and then, with a page of their own, though the endpoint is well."""


class HttpFault(RpcError):
    """An HTTP status other than success, without a JSON-RPC answer inside."""

    kind = ErrorKind.HTTP_FAULT

    def __init__(self, status: int, *, endpoint: str, retry_after: float | None = None) -> None:
        next_step = _CHECK_DOCTOR
        said = f"answered with HTTP status {status}"
        if 300 <= status < 400:
            said = f"answered with a redirect (HTTP {status}), which is never followed"
            next_step = "Set the address it really lives at: zuno --network NAME --rpc URL"
        elif status == 401:
            said = f"refused access (HTTP {status})"
            next_step = "Check the key in its URL: zuno --network NAME --rpc URL"
        elif status == 402:
            said = f"wants to be paid (HTTP {status})"
            next_step = (
                "Check your plan there, or set another endpoint: zuno --network NAME --rpc URL"
            )
        elif status in _OFTEN_PASSING:
            said = f"refused access (HTTP {status})" if status == 403 else said
            next_step = (
                "It may pass: try again. If not, check its address and the key in it: "
                "zuno --network NAME --rpc URL"
            )
        super().__init__(f"{endpoint} {said}.", next_step, endpoint=endpoint)
        self.status = status
        self.lasting = 300 <= status < 500 and status not in _OFTEN_PASSING
        self.retry_after = retry_after


class RateLimited(RpcError):
    kind = ErrorKind.RATE_LIMITED

    def __init__(
        self,
        *,
        endpoint: str,
        retry_after: float | None = None,
        used_up: bool = False,
        by_pace: bool = False,
    ) -> None:
        """`used_up` is whether a quota of a day or a month is gone: no pause helps.

        `by_pace` is whether the endpoint was not asked, as its turn comes too late.
        """
        when = "" if retry_after is None else f" It asks to wait {retry_after:.0f} s."
        said = f"{endpoint} limits how often it can be called.{when}"
        next_step = "Wait, or add an endpoint: zuno --network NAME --rpc URL"
        if used_up:
            said = f"The daily or monthly quota of {endpoint} is used up."
            next_step = "Check your plan there, or add an endpoint: zuno --network NAME --rpc URL"
        super().__init__(said, next_step, endpoint=endpoint)
        self.retry_after = retry_after
        self.lasting = used_up
        self.by_pace = by_pace


class Malformed(RpcError):
    """An answer that is not what the JSON-RPC of Ethereum says it must be."""

    kind = ErrorKind.MALFORMED

    def __init__(self, what: str, *, endpoint: str) -> None:
        super().__init__(f"{endpoint} sent a wrong answer: {what}.", _SET_URL, endpoint=endpoint)
        self.what = what


class TooLarge(RpcError):
    kind = ErrorKind.TOO_LARGE
    lasting = True

    def __init__(self, limit: int, *, endpoint: str) -> None:
        super().__init__(
            f"{endpoint} sent more than {limit / MEGABYTE:g} MB, and was cut off.",
            _SET_URL,
            endpoint=endpoint,
        )
        self.limit = limit


class WrongChain(RpcError):
    kind = ErrorKind.WRONG_CHAIN
    retryable = False

    def __init__(self, answered: int, network: Network, *, endpoint: str) -> None:
        super().__init__(
            f"The RPC answered for chain {answered}, but this desk is set to {network.title}"
            f" ({network.chain_id}). Nothing was read from {endpoint} and nothing was signed.",
            f"Set the right URL: zuno --network {network.name} --rpc URL",
            endpoint=endpoint,
        )
        self.answered = answered
        self.expected = network.chain_id


class StaleHead(RpcError):
    kind = ErrorKind.STALE_HEAD
    lasting = True

    def __init__(self, number: int, age: float, allowed: float, *, endpoint: str) -> None:
        super().__init__(
            f"The newest block of {endpoint}, {number}, is {age_text(int(age))} old;"
            f" more than {age_text(int(allowed))} is stale.",
            _SET_URL,
            endpoint=endpoint,
        )
        self.number = number
        self.age = age
        self.allowed = allowed


class FutureHead(RpcError):
    """A newest block from a time that has not come: every deadline would rest on it."""

    kind = ErrorKind.FUTURE_HEAD
    lasting = True

    def __init__(self, number: int, ahead: float, *, endpoint: str) -> None:
        super().__init__(
            f"The newest block of {endpoint}, {number}, is {ahead:.0f} s ahead of this machine's"
            " clock.",
            "Check the clock of this machine, or set another endpoint: zuno --rpc URL",
            endpoint=endpoint,
        )
        self.number = number
        self.ahead = ahead


REORG_DEPTH = 8
"""Blocks that a live network may take back, or an endpoint be behind, without being odd."""


class Reorged(RpcError):
    """The block that reads were pinned to is no longer part of the chain, or not on this node."""

    kind = ErrorKind.REORGED
    retryable = False

    def __init__(
        self, number: int, expected: str, found: str | None, *, endpoint: str = "the RPC"
    ) -> None:
        super().__init__(
            f"The chain was reorganised at block {number} while it was read from {endpoint}.",
            "Read again from the new head.",
            endpoint=endpoint,
        )
        self.number = number
        self.expected = expected
        self.found = found


class NoEndpoint(RpcError):
    """No endpoint is set, or every one is resting."""

    kind = ErrorKind.NO_ENDPOINT

    def __init__(self, sentence: str, next_step: str = _SET_URL) -> None:
        super().__init__(sentence, next_step)


class Reverted(RpcError):
    """The contract refused; `data` is what it returned, a custom error or `Error(string)`."""

    kind = ErrorKind.REVERTED
    retryable = False

    def __init__(self, data: bytes = b"", reason: str = "", *, endpoint: str = "") -> None:
        said = (
            f": {quote_words(reason)}"
            if quote_words(reason)
            else f" with {_shortened(data)}"
            if data
            else " without a reason"
        )
        super().__init__(f"The contract reverted{said}.", endpoint=endpoint)
        self.data = data
        self.reason = reason


class RpcRefused(RpcError):
    """Any other JSON-RPC error, with its code and cleaned message."""

    kind = ErrorKind.REFUSED
    retryable = False

    def __init__(
        self,
        code: int,
        message: str,
        *,
        endpoint: str = "",
        retryable: bool = False,
        lasting: bool = True,
    ) -> None:
        super().__init__(
            f"{endpoint or 'The RPC'} refused: {_reason_given(message)} ({code}).",
            _SET_URL,
            endpoint=endpoint,
        )
        self.code = code
        self.message = message
        self.retryable = retryable
        self.lasting = lasting


class RangeTooWide(RpcError):
    """Logs of too many blocks, or too many logs, were asked for at once."""

    kind = ErrorKind.RANGE_TOO_WIDE
    lasting = True

    def __init__(
        self,
        message: str,
        *,
        endpoint: str = "",
        suggested: tuple[int, int] | None = None,
        suggested_span: int | None = None,
        sure: bool = True,
        counted: bool = False,
    ) -> None:
        wants = "wants a smaller range of blocks" if sure else "did not give these logs"
        super().__init__(
            f"{endpoint or 'The RPC'} {wants}: {_reason_given(message)}.",
            _SET_URL,
            endpoint=endpoint,
        )
        self.message = message
        self.retryable = not sure
        """Where the server does not say that the range is the matter, another may give it."""
        self.suggested = suggested
        """The first and last block the server says would work, where it names them."""
        self.suggested_span = suggested_span
        """The most blocks the server says it takes at once, where it names a number."""
        self.counted = counted
        """Whether there were too many logs: where they are fewer, more blocks will do."""


class LogsTooNarrow(RpcError):
    """An endpoint gives logs in such small parts that what is wanted would take for ever."""

    kind = ErrorKind.RANGE_TOO_WIDE
    retryable = False

    def __init__(self, blocks: int, calls: int, *, endpoint: str) -> None:
        super().__init__(
            f"{endpoint} gives the logs of {blocks:,} blocks at once: what is needed would take"
            f" {calls:,} calls."
            if blocks > 1
            else f"{endpoint} gives no logs, or those of a single block at a time.",
            "Set an endpoint that gives the logs of 1,000 blocks or more: "
            "zuno --network NAME --rpc URL",
            endpoint=endpoint,
        )


class LogsLeftOut(RpcError):
    """An endpoint gave some logs and kept others back: what it told is not what happened."""

    kind = ErrorKind.MALFORMED
    retryable = False

    def __init__(self, why: str, *, endpoint: str) -> None:
        super().__init__(
            f"{endpoint} leaves logs out: {why}. Nothing of it was kept.",
            "Try again, or set another endpoint: zuno --network NAME --rpc URL",
            endpoint=endpoint,
        )
        self.why = why


class StatePruned(RpcError):
    """The node does not have the state, or the block, that was asked about."""

    kind = ErrorKind.STATE_PRUNED
    lasting = True

    def __init__(self, message: str, *, endpoint: str = "") -> None:
        super().__init__(
            f"{endpoint or 'The RPC'} does not have that block's state: {_reason_given(message)}.",
            "Past values need an archive node: zuno --network NAME --rpc URL",
            endpoint=endpoint,
        )
        self.message = message


class BlockMissing(StatePruned):
    """The node does not know the block at all: it is behind, or the block is long gone."""

    kind = ErrorKind.BLOCK_MISSING

    def __init__(self, message: str, *, endpoint: str = "") -> None:
        super().__init__(message, endpoint=endpoint)
        self.sentence = (
            f"{endpoint or 'The RPC'} does not have that block: {_reason_given(message)}."
        )
        self.next_step = (
            "It may be a moment behind: try again. "
            "Blocks long past need an archive node: zuno --network NAME --rpc URL"
        )


class SendRefusal(StrEnum):
    ALREADY_KNOWN = "already known"
    NONCE_TOO_LOW = "nonce too low"
    NONCE_TOO_HIGH = "nonce too high"
    UNDERPRICED = "underpriced"
    REPLACEMENT_UNDERPRICED = "replacement underpriced"
    INSUFFICIENT_FUNDS = "insufficient funds"
    GAS_LIMIT = "gas limit"
    IN_FLIGHT = "in flight"
    """Of a delegated account nodes hold one transaction at a time, or a few."""
    WRONG_CHAIN_ID = "wrong chain id"
    OTHER = "other"


class SendRefused(RpcError):
    """The node did not take the transaction; `reason` says why in one word."""

    kind = ErrorKind.SEND_REFUSED
    retryable = False

    def __init__(self, reason: SendRefusal, code: int, message: str, *, endpoint: str = "") -> None:
        super().__init__(
            f"{endpoint or 'The RPC'} holds one transaction of a delegated account at a time, and "
            "another one waits."
            if reason is SendRefusal.IN_FLIGHT
            else f"{endpoint or 'The RPC'} did not take the transaction: "
            f"{_reason_given(message)} ({code}).",
            endpoint=endpoint,
        )
        self.reason = reason
        self.code = code
        self.message = message


class SendUnclear(RpcError):
    """The transaction left the desk and no clear answer came back: it may or may not be taken."""

    kind = ErrorKind.SEND_UNCLEAR
    retryable = False

    def __init__(self, fault: RpcError) -> None:
        super().__init__(
            f"The transaction was sent, but it is unclear if it was taken: {fault.sentence}",
            "It is not sent again. Look it up by its hash: zuno outbox",
            endpoint=fault.endpoint,
        )
        self.fault_kind = fault.kind


def _reason_given(message: str) -> str:
    return quote_words(message) or "it gave no reason"


def _shortened(data: bytes) -> str:
    shown = "0x" + data[:_SHOWN_BYTES].hex()
    return shown if len(data) <= _SHOWN_BYTES else f"{shown}… ({len(data)} bytes)"
