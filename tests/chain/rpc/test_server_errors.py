"""The words of real nodes and providers, and what they mean to a caller."""

import pytest

from chain.base.http import seconds_asked
from chain.rpc.endpoint import endpoints_of
from chain.rpc.errors import ErrorKind, RangeTooWide, RateLimited, Reverted, RpcRefused
from chain.rpc.requests import RequestLimits
from chain.rpc.wire import ServerError, smaller_batch, typed_error
from tests.chain.rpc.conftest import assert_fit_to_show

[ENDPOINT] = endpoints_of(["https://rpc.example/key-of-mine-12345"], RequestLimits())
REASON = "08c379a0" + f"{32:064x}{9:064x}" + b"STF \x1b[31m".hex().ljust(64, "0")


@pytest.mark.parametrize(
    ("code", "message", "first_last", "span"),
    [
        (-32005, "query returned more than 10000 results", None, None),
        (
            -32005,
            "query returned more than 10000 results."
            " Try with this block range [0xBDE5F8, 0x102DBCC].",
            (0xBDE5F8, 0x102DBCC),
            None,
        ),
        (
            -32602,
            "Log response size exceeded. You can make eth_getLogs requests with up to a 2K block"
            " range and no limit on the response size, or you can request any block range with a"
            " cap of 10K logs in the response. Based on your parameters and the response size"
            " limit, this block range should work: [0x0, 0xd043b8]",
            (0, 0xD043B8),
            None,
        ),
        (-32602, "range 1000000 exceeds limit of 10000", None, 10_000),
        (-32614, "eth_getLogs is limited to a 10,000 range", None, 10_000),
        (-32000, "block range is too wide (maximum 1024)", None, 1_024),
        (-32000, "exceed maximum block range: 50000", None, 50_000),
        (-32000, "block range too large", None, None),
        (-32000, "ranges over 10000 blocks are not supported on freetier", None, 10_000),
        (
            -32000,
            "block range is larger than max block range, block range = 5120,"
            " max block range = 5000",
            None,
            5_000,
        ),
        (-32005, "limit exceeded", None, None),
        (-32602, "block range limit exceeded", None, None),
        (-32000, "query timeout exceeded", None, None),
        (-32000, "logs matched by query exceeds limit of 10000", None, None),
        (-32005, "please limit the query to at most 1000 blocks", None, 1_000),
        (-32000, "Maximum allowed number of requested blocks is 10000", None, 10_000),
        (-32602, "maximum [from, to] blocks distance: 2000", None, 2_000),
        (
            -32600,
            "Under the Free tier plan, you can make eth_getLogs requests with up to a 10 block"
            " range. Based on your parameters, this block range should work: [0x1, 0xa]."
            " Upgrade to PAYG for expanded block range.",
            (1, 10),
            10,
        ),
    ],
)
def test_a_range_that_is_too_wide(
    code: int, message: str, first_last: tuple[int, int] | None, span: int | None
) -> None:
    error = typed_error(ServerError(code, message), "eth_getLogs", ENDPOINT)
    assert isinstance(error, RangeTooWide)
    assert (error.suggested, error.suggested_span) == (first_last, span)
    assert_fit_to_show(error)


@pytest.mark.parametrize(
    ("code", "message"),
    [
        (-32011, "no backend is currently healthy to serve traffic"),
        (-32000, "log query timed out"),
        (30, "Request timeout on the free tier, please upgrade your tier to the paid one"),
        (-32000, "request timed out"),
        (-32002, "context deadline exceeded"),
        (-32000, "timeout"),
        (-32603, "Internal error"),
        (-32602, "words that nobody has heard before"),
    ],
)
def test_a_refusal_of_logs_that_may_be_about_the_range(code: int, message: str) -> None:
    error = typed_error(ServerError(code, message), "eth_getLogs", ENDPOINT)
    assert isinstance(error, RangeTooWide)
    assert error.retryable, "another endpoint may give the same range"
    assert error.next_step
    assert_fit_to_show(error)


@pytest.mark.parametrize(
    ("code", "message"),
    [
        (-32000, "invalid api key"),
        (-32001, "Unauthorized: authenticate with a project key"),
        (-32000, "payment required: this account is suspended"),
        (-32601, "the method eth_getLogs does not exist/is not available"),
        (-32001, "rpc method is not whitelisted"),
    ],
)
def test_keys_payment_and_missing_methods_are_not_narrowed(code: int, message: str) -> None:
    error = typed_error(ServerError(code, message), "eth_getLogs", ENDPOINT)
    assert isinstance(error, RpcRefused)
    assert error.lasting


def test_the_telling_words_may_hide_in_the_data() -> None:
    data = {"payload": "range 9009594 is bigger than range limit 2000"}
    error = typed_error(ServerError(-32602, "invalid params", data), "eth_getLogs", ENDPOINT)
    assert isinstance(error, RangeTooWide)
    assert error.suggested_span == 2_000


@pytest.mark.parametrize(
    ("method", "code", "message", "kind"),
    [
        (
            "eth_getLogs",
            -32005,
            "daily request count exceeded, request rate limited",
            "rate limited",
        ),
        ("eth_getLogs", 429, "Too Many Requests", "rate limited"),
        ("eth_getLogs", -32000, "invalid block range params", "refused"),
        ("eth_getLogs", -32000, "block range extends beyond current head block", "block missing"),
        ("eth_call", -32005, "limit exceeded", "rate limited"),
        ("eth_call", 429, "exceeded its compute units per second capacity", "rate limited"),
        ("eth_call", -32016, "over rate limit", "rate limited"),
        ("eth_call", -32000, "missing trie node 1a2b (path ) <nil>", "state pruned"),
        ("eth_call", -32000, "header not found", "block missing"),
        ("eth_call", -32000, "header for hash not found", "block missing"),
        ("eth_call", -32000, "hash 0xab is not currently canonical", "block missing"),
        ("eth_call", -32001, "Unknown block", "block missing"),
        ("eth_call", -32019, "block is out of range", "block missing"),
        (
            "eth_getStorageAt",
            -32602,
            "BlockOutOfRangeError: block height is 5 but requested was 9",
            "block missing",
        ),
        (
            "eth_getLogs",
            -32602,
            "BlockOutOfRangeError: block height is 5 but requested was 9",
            "block missing",
        ),
        ("eth_call", -32001, "Resource not found", "block missing"),
        (
            "eth_getLogs",
            -32001,
            "One of the blocks specified in filter (fromBlock, toBlock) cannot be found",
            "block missing",
        ),
        ("eth_feeHistory", -32000, "request beyond head block: 8 > 7", "block missing"),
        ("eth_call", -32000, "required historical state unavailable (reexec=128)", "state pruned"),
        ("eth_call", 4444, "pruned history unavailable", "state pruned"),
        ("eth_call", -32801, "state already pruned", "state pruned"),
        ("eth_call", 3, "execution reverted", "reverted"),
        ("eth_call", -32000, "execution reverted: STF", "reverted"),
        ("eth_call", -32603, "VM Exception while processing transaction: revert", "reverted"),
        ("eth_estimateGas", -32015, "VM execution error.", "reverted"),
        ("eth_call", -32000, "out of gas", "refused"),
        ("eth_call", -32603, "EVM error OutOfGas", "refused"),
        ("eth_call", -32601, "the method does not exist", "refused"),
        ("eth_call", -32603, "Internal error", "refused"),
    ],
)
def test_the_words_decide(method: str, code: int, message: str, kind: str) -> None:
    assert typed_error(ServerError(code, message), method, ENDPOINT).kind == ErrorKind(kind)


@pytest.mark.parametrize(
    ("code", "message", "retryable", "lasting"),
    [
        (-32601, "no such method", False, True),
        (-32602, "invalid params", False, True),
        (-32603, "internal error", True, True),
        (-32000, "server is busy, try again", True, False),
        (-32000, "context deadline: request timed out", True, False),
    ],
)
def test_which_refusals_another_try_may_mend(
    code: int, message: str, retryable: bool, lasting: bool
) -> None:
    error = typed_error(ServerError(code, message), "eth_call", ENDPOINT)
    assert isinstance(error, RpcRefused)
    assert (error.retryable, error.lasting) == (retryable, lasting)


@pytest.mark.parametrize(
    ("data", "expected", "words"),
    [
        (None, b"", "without a reason"),
        ("0x", b"", "without a reason"),
        ("0x486aa307", bytes.fromhex("486aa307"), "with 0x486aa307"),
        ("Reverted 0x486aa307", bytes.fromhex("486aa307"), "with 0x486aa307"),
        ({"data": "0x486aa307"}, bytes.fromhex("486aa307"), "with 0x486aa307"),
        ({"data": {"data": "0x12"}}, b"", "without a reason"),
        ("0x123", b"", "without a reason"),
        (7, b"", "without a reason"),
        ("0x" + REASON, bytes.fromhex(REASON), ": “STF [31m”"),
        (
            "0x4e487b71" + f"{0x11:064x}",
            bytes.fromhex("4e487b71" + f"{0x11:064x}"),
            ": “panic 0x11”",
        ),
    ],
)
def test_what_a_contract_said(data: object, expected: bytes, words: str) -> None:
    error = typed_error(ServerError(3, "execution reverted", data), "eth_call", ENDPOINT)
    assert isinstance(error, Reverted)
    assert error.data == expected
    assert words in error.sentence
    assert_fit_to_show(error)


def test_five_megabytes_of_revert_data_make_a_short_sentence() -> None:
    data = "0x" + "ab" * 5_000_000
    error = typed_error(ServerError(3, "execution reverted", data), "eth_call", ENDPOINT)
    assert isinstance(error, Reverted)
    assert len(error.data) == 5_000_000
    assert len(str(error)) < 200
    assert "(5000000 bytes)" in error.sentence


def test_a_provider_may_say_how_long_to_wait_inside_the_error() -> None:
    data = {"rate": {"backoff_seconds": 30}}
    error = typed_error(ServerError(-32005, "too many requests", data), "eth_call", ENDPOINT)
    assert isinstance(error, RateLimited)
    assert error.retry_after == 30


def test_the_key_a_server_quotes_is_hidden() -> None:
    quoted = "no access for https://rpc.example/key-of-mine-12345 (KEY key-of-mine-12345)"
    error = typed_error(ServerError(-32000, quoted), "eth_call", ENDPOINT)
    assert "key-of-mine" not in str(error)
    assert "[hidden]" in str(error)


@pytest.mark.parametrize(
    ("message", "size", "next_size"),
    [
        ("batch requests are not supported", 64, 1),
        ("batching is disabled", 64, 1),
        ("batch too large", 64, 50),
        ("batch too large", 31, 20),
        ("batch limit exceeded, max 10 calls", 64, 10),
        ("Batch of more than 3 requests are not allowed on free tier", 64, 3),
        ("you may send up to 100", 64, 50),
        ("", 3, 1),
        ("", 2, 1),
    ],
)
def test_the_next_batch_is_smaller(message: str, size: int, next_size: int) -> None:
    assert smaller_batch(ServerError(-32600, message), size) == next_size


@pytest.mark.parametrize(
    ("header", "seconds"),
    [
        (None, None),
        ("7", 7.0),
        (" 0 ", 0.0),
        ("99999999999999999999", 999_999_999.0),
        ("Tue, 14 Nov 2023 22:13:37 GMT", 17.0),
        ("Tue, 14 Nov 2023 22:13:00 GMT", 0.0),
        ("soon", None),
        ("-5", None),
        ("1.5", 1.5),
        ("1e3", None),
        ("٧", None),
        ("Fri, 99 Foo 99999 99:99:99 GMT", None),
    ],
)
def test_retry_after_is_seconds_or_a_date(header: str | None, seconds: float | None) -> None:
    assert seconds_asked(header, now=1_700_000_000.0) == seconds
