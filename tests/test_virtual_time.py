"""On the virtual clock hours pass at once, and nothing passes while anybody is at work."""

import asyncio
import socket
import sys
import threading

import pytest

from tests.virtual_time import pass_time, virtual_now


async def test_days_pass_at_once_and_in_order() -> None:
    began, woken = virtual_now(), list[int]()

    async def wake(hours: int) -> None:
        await pass_time(3600 * hours)
        woken.append(hours)

    await asyncio.gather(*map(wake, (48, 1, 24)))
    assert woken == [1, 24, 48]
    assert virtual_now() - began == pytest.approx(48 * 3600)


async def test_nothing_passes_while_a_thread_works() -> None:
    began, working = virtual_now(), threading.Event()
    async with asyncio.timeout(60):
        task = asyncio.create_task(asyncio.to_thread(working.wait))
        for _ in range(1_000):
            await asyncio.sleep(0)
        working.set()
        assert await task
    assert virtual_now() == began


async def test_nothing_passes_while_a_process_is_asked() -> None:
    began = virtual_now()
    async with asyncio.timeout(60):
        child = await asyncio.create_subprocess_exec(
            *(sys.executable, "-c", "print(input())"),
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
        )
        assert (await child.communicate(b"an answer\n"))[0] == b"an answer\n"
    assert virtual_now() == began


async def test_nothing_passes_while_a_server_elsewhere_is_asked() -> None:
    with socket.create_server(("127.0.0.1", 0)) as elsewhere:

        def serve() -> None:
            with elsewhere.accept()[0] as asked:
                asked.sendall(asked.recv(100))

        threading.Thread(target=serve, daemon=True).start()
        began = virtual_now()
        async with asyncio.timeout(60):
            reader, writer = await asyncio.open_connection(*elsewhere.getsockname())
            writer.write(b"question")
            assert await reader.read() == b"question"
        writer.close()
    assert virtual_now() == began


async def test_a_server_on_the_same_loop_that_is_silent_is_waited_for_in_vain() -> None:
    async def silent(_reader: asyncio.StreamReader, _writer: asyncio.StreamWriter) -> None:
        await asyncio.Event().wait()

    async with await asyncio.start_server(silent, "127.0.0.1", 0) as server:
        reader, writer = await asyncio.open_connection(*server.sockets[0].getsockname())
        began = virtual_now()
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(3600):
                await reader.read()
        writer.close()
    assert virtual_now() - began == pytest.approx(3600)


@pytest.mark.real_time
async def test_where_time_is_real_it_cannot_be_passed() -> None:
    with pytest.raises(AssertionError, match="real"):
        await pass_time(1)
