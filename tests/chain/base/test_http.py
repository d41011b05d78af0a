"""One request over real HTTP: how much of an answer is read, how long one is waited for."""

import asyncio
import logging
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager

import pytest
from msgspec.structs import replace

from chain.base.http import HttpAnswer, HttpClient, HttpError, HttpFailure, HttpLimits
from tests.virtual_time import pass_time

NOW = 1_800_000_000.0
MOST = 64_000
FIRST_PART = HttpLimits(connect_seconds=5.0, answer_seconds=5.0, most_bytes=MOST, cut=True)


@asynccontextmanager
async def answering(*pieces: bytes, endless: bool = False) -> AsyncIterator[str]:
    """A server that answers with these bytes, piece by piece."""

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            await reader.readuntil(b"\r\n\r\n")
            for piece in pieces:
                writer.write(piece)
                await writer.drain()
                await pass_time(0.02)
            if endless:
                await asyncio.sleep(60)
        finally:
            writer.close()

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    async with server:
        yield f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/CANARY"


async def posted(url: str, limits: HttpLimits = FIRST_PART) -> HttpAnswer:
    client = HttpClient(url)
    try:
        return await client.post(url, b"{}", limits)
    finally:
        await client.close()


def head(status: str, *fields: str) -> bytes:
    return "\r\n".join((f"HTTP/1.1 {status}", *fields, "", "")).encode()


async def test_an_answer_in_pieces_is_read_whole() -> None:
    async with answering(head("200 OK", "content-length: 6"), b"abc", b"def") as url:
        assert await posted(url) == HttpAnswer(200, b"abcdef")


@pytest.mark.parametrize(
    ("sizes", "kept"),
    [((MOST,), MOST), ((MOST, 1), MOST), ((MOST - 1,), MOST - 1), ((MOST, MOST, MOST), MOST)],
)
async def test_of_a_long_answer_only_the_first_part_is_kept(
    sizes: Sequence[int], kept: int
) -> None:
    length = f"content-length: {sum(sizes)}"
    async with answering(head("200 OK", length), *(b"x" * size for size in sizes)) as url:
        assert len((await posted(url)).body) == kept


async def test_an_answer_without_end_is_left_when_it_is_too_long() -> None:
    long = b"x" * (MOST + 1)
    async with answering(head("200 OK", f"content-length: {10**9}"), long, endless=True) as url:
        answer = await posted(url)

    assert (answer.status, len(answer.body)) == (200, MOST)


async def test_an_answer_that_is_wanted_whole_is_refused_when_it_is_too_long() -> None:
    async with answering(head("200 OK", f"content-length: {MOST + 1}"), b"x" * (MOST + 1)) as url:
        with pytest.raises(HttpError) as refused:
            await posted(url, replace(FIRST_PART, cut=False))

    assert refused.value.failure is HttpFailure.TOO_LARGE


async def test_a_url_goes_over_the_wire_in_ascii_and_without_its_user() -> None:
    heads: list[bytes] = []

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        heads.append(await reader.readuntil(b"\r\n\r\n"))
        writer.write(head("200 OK", "content-length: 0"))
        writer.close()

    async with await asyncio.start_server(serve, "127.0.0.1", 0) as server:
        place = f"127.0.0.1:{server.sockets[0].getsockname()[1]}"
        client = HttpClient()
        await client.get(f"http://me:CANARY@{place}/a b/é?q=%20x&y=1", {}, FIRST_PART)
        await client.close()

    assert heads[0].startswith(b"GET /a%20b/%C3%A9?q=%20x&y=1 HTTP/1.1\r\n")
    assert f"host: {place}\r\n".encode() in heads[0].lower()
    assert b"CANARY" not in heads[0]


async def test_an_unknown_compression_is_not_read() -> None:
    async with answering(head("200 OK", "content-encoding: br", "content-length: 1"), b"x") as url:
        with pytest.raises(HttpError) as refused:
            await posted(url)

    assert refused.value.failure is HttpFailure.UNKNOWN_COMPRESSION


async def test_who_stays_silent_is_left_in_time_and_not_named() -> None:
    async with answering(endless=True) as url:
        with pytest.raises(HttpError) as refused:
            await posted(url, replace(FIRST_PART, answer_seconds=0.2))

    assert refused.value.failure is HttpFailure.TIMED_OUT
    assert "CANARY" not in repr(refused.value)
    assert refused.value.__context__ is None


async def test_who_is_not_there_is_not_named() -> None:
    with pytest.raises(HttpError) as refused:
        await posted("http://127.0.0.1:9/CANARY")

    assert refused.value.failure is HttpFailure.NOT_REACHABLE
    assert "CANARY" not in repr(refused.value)


async def test_a_redirect_is_an_answer_and_a_wait_is_read() -> None:
    fields = ("location: /elsewhere", "retry-after: 40", "content-length: 0")
    async with answering(head("302 There", *fields)) as url:
        answer = await posted(url)

    assert (answer.status, answer.body, answer.wait(NOW)) == (302, b"", 40.0)


async def test_nothing_is_taken_from_the_environment_or_logged(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:9")
    monkeypatch.setenv("ALL_PROXY", "http://127.0.0.1:9")
    for name in ("httpx2", "httpcore2"):
        logging.getLogger(name).setLevel(logging.INFO)
    with caplog.at_level(logging.INFO):
        async with answering(head("204 Taken", "content-length: 0")) as url:
            assert (await posted(url)).status == 204

    assert "CANARY" not in caplog.text
