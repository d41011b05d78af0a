"""A lease on a real NATS server: one holder at a time, and nothing forged is taken for one."""

import asyncio
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest

from agents.mesh.lease import BUCKET, LeaseHolder, NatsLease
from agents.mesh.peers import Engine, Member
from tests.agents.mesh.nats_servers import nats_server
from tests.agents.mesh.processes import nats_program

pytestmark = [
    pytest.mark.real_time,
    pytest.mark.skipif(nats_program() is None, reason="no nats-server: make nats-server"),
]
SECRET = b"of the watch key"
EVIL = "\x1b]52;c;aGk=\x07[red]evil\u202e"


@pytest.fixture
def member(tmp_path: Path) -> Iterator[Member]:
    with nats_server(tmp_path) as (port, _):
        yield Member("desk", Engine.NATS, f"nats://127.0.0.1:{port}")


def lease(member: Member, machine: str, *, secret: bytes = SECRET, host: str = "") -> NatsLease:
    return NatsLease(member, secret, LeaseHolder(machine, host or machine, 0.0), lambda: 1_000.0)


def test_the_first_holds_it_until_it_lets_it_go(member: Member) -> None:
    async def take_turns() -> list[str]:
        one, two = lease(member, "one"), lease(member, "two")
        found = [await one.renew(), await two.renew()]
        again = lease(member, "one")
        found.append(await again.renew())
        await again.close()
        after = lease(member, "two")
        found.append(await after.renew())
        for each in (one, two, after):
            await each.close()
        return [view.holder.machine if view.holder else "nobody" for view in found]

    assert asyncio.run(take_turns()) == ["one", "one", "one", "two"]


def test_who_lacks_the_secret_holds_nothing_and_a_name_is_only_text(member: Member) -> None:
    async def forge() -> tuple[LeaseHolder | None, ...]:
        from nats.aio.client import Client

        honest = lease(member, "one", host=EVIL)
        await honest.renew()
        client = Client()
        await client.connect(servers=[member.url])
        bucket = await client.jetstream().key_value(BUCKET)
        [key] = await bucket.keys()
        seen = (await lease(member, "two").renew()).holder
        told = msgspec.json.decode((await bucket.get(key)).value or b"")
        told["holder"]["machine"] = "evil"
        found = []
        for content in (msgspec.json.encode(told), b"{", b"x" * 1_000):
            await bucket.put(key, content)
            found.append((await lease(member, "two").renew()).holder)
        await client.close()
        await honest.close()
        return seen, *found

    seen, *found = asyncio.run(forge())
    assert seen is not None
    assert seen.machine == "one"
    assert seen.host.isprintable()
    assert "\x1b" not in seen.host
    assert [holder.machine for holder in found if holder] == ["two"] * 3


def test_without_its_server_nobody_is_said_to_hold_it(tmp_path: Path) -> None:
    async def cut_off() -> tuple[object, ...]:
        with nats_server(tmp_path) as (port, cut):
            mine = lease(Member("desk", Engine.NATS, f"nats://127.0.0.1:{port}"), "one")
            held = await mine.renew()
            cut()
            other = lease(Member("desk", Engine.NATS, f"nats://127.0.0.1:{port}"), "one")
            lost = await other.renew()
            await mine.close()
            return held.holder, lost.holder, lost.trouble

    held, lost, trouble = asyncio.run(cut_off())
    assert held is not None
    assert lost is None
    assert "cannot be reached" in str(trouble)
