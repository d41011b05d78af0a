"""The desk when something else fails: one calm line, the last rows, and it goes on."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from msgspec import Struct
from msgspec.structs import asdict

from chain.base.store import Store, StoreError
from chain.devnet.launch import DevnetReady
from chain.protocols.reference import v4_position
from chain.rpc.requests import RequestLimits
from tests.fakes.proxy import Answer, Call, Proxy
from tests.zuno_tui.desk.sitting import opening, sitting
from zuno_tui.commands.position_actions import CollectFees
from zuno_tui.desk.events import OutageChanged, PositionsChanged, QuitAsked, Said, StatusChanged
from zuno_tui.intents.intents import Inspect, Quit, Recommend, Refresh, SwitchNetwork

_KEY = "a-key-that-is-never-shown"


async def test_an_rpc_that_dies_leaves_its_rows_and_comes_back(
    devnet: DevnetReady, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    impatient = RequestLimits(total_seconds=1.0, rounds=1, rest_seconds=0.1)
    monkeypatch.setattr("chain.rpc.client.RequestLimits", lambda: impatient)
    proxy = Proxy(devnet.url)
    with proxy:
        async with sitting(opening(tmp_path, proxy.url)) as desk:
            fresh = await desk.until(PositionsChanged, lambda told: bool(told.view.rows))
            proxy.__exit__(None, None, None)
            since = len(desk.heard)
            await desk.ask(Refresh())
            stale = await desk.until(
                PositionsChanged, lambda told: told.view.stale is not None, since=since
            )
            troubled = await desk.until(
                StatusChanged, lambda told: told.view.trouble is not None, since=since
            )
            lost = await desk.until(OutageChanged, lambda told: told.view is not None, since=since)
            since = len(desk.heard)
            with proxy:
                await desk.ask(Refresh())
                again = await desk.until(
                    PositionsChanged, lambda told: told.view.stale is None, since=since
                )
                await desk.until(OutageChanged, lambda told: told.view is None, since=since)
                well = await desk.until(
                    StatusChanged, lambda told: told.view.trouble is None, since=since
                )

    assert {row.ref for row in stale.view.rows} == {row.ref for row in fresh.view.rows}
    assert "zuno doctor" in (troubled.view.trouble or "")
    assert lost.view is not None
    assert "127.0.0.1" in lost.view.endpoints
    assert lost.view.known_at == fresh.view.read_at
    assert again.view.rows
    assert well.view.block is not None
    assert all(_KEY not in str(event) for event in desk.heard)


async def test_a_wrong_chain_is_named_with_the_way_out(devnet: DevnetReady, tmp_path: Path) -> None:
    def elsewhere(call: Call) -> Answer | None:
        return {"result": "0x1"} if call["method"] == "eth_chainId" else None

    with Proxy(devnet.url, elsewhere) as proxy:
        async with sitting(opening(tmp_path, proxy.url)) as desk:
            told = await desk.until(PositionsChanged, lambda told: told.view.stale is not None)
            await desk.ask(Inspect(v4_position(28)))
            await desk.desk.idle()
            await desk.ask(Quit())

    assert "The RPC answered for chain 1" in (told.view.stale or "")
    assert "The RPC answered for chain 1" in desk.heard_last(Said).words
    assert QuitAsked() in desk.heard


async def test_a_full_disk_is_said_and_the_last_rows_stay(
    devnet: DevnetReady, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object, **__: object) -> None:
        raise StoreError("Nothing could be saved: database or disk is full.")

    async with sitting(opening(tmp_path, devnet.url)) as desk:
        await desk.until(PositionsChanged, lambda told: bool(told.view.rows))
    monkeypatch.setattr(Store, "put_many", full)
    async with sitting(opening(tmp_path, devnet.url)) as desk:
        stale = await desk.until(PositionsChanged, lambda told: told.view.stale is not None)

    assert stale.view.rows
    assert "disk is full. Make room" in (stale.view.stale or "")


async def test_a_network_that_cannot_be_opened_leaves_the_desk_where_it_was(
    devnet: DevnetReady, tmp_path: Path
) -> None:
    async with sitting(opening(tmp_path, devnet.url)) as desk:
        await desk.until(PositionsChanged, lambda told: bool(told.view.rows))
        await desk.ask(SwitchNetwork("atlantis"))
        unknown = desk.heard_last(Said)
        await desk.ask(SwitchNetwork("ethereum"))
        without_wallet = desk.heard_last(Said)
        since = len(desk.heard)
        await desk.ask(Refresh())
        await desk.until(StatusChanged, since=since)

    assert "There is no network called 'atlantis'" in unknown.words
    assert "No wallet is chosen" in without_wallet.words
    assert desk.heard_last(StatusChanged).view.network == "Embedded chain"


async def test_a_position_nobody_has_ends_the_debate_in_words(
    devnet: DevnetReady, tmp_path: Path
) -> None:
    async with sitting(opening(tmp_path, devnet.url)) as desk:
        await desk.ask(Recommend(v4_position(999_999)))
        await desk.desk.idle()

    assert "999999" in desk.heard_last(Said).words
    assert desk.heard_last(Said).tone == "bad"


async def test_whatever_a_node_says_is_told_in_clean_words(
    devnet: DevnetReady, tmp_path: Path
) -> None:
    evil = "\x1b]52;c;ZXZpbA==\x07\x9b2J\u202egnorw\n[bold]recipient: 0xEVIL"

    def hostile(call: Call) -> Answer | None:
        if call["method"] in ("eth_call", "eth_getLogs"):
            return {"error": {"code": -32000, "message": evil}}
        return None

    with Proxy(devnet.url, hostile) as proxy:
        async with sitting(opening(tmp_path, proxy.url)) as desk:
            await desk.until(PositionsChanged, lambda told: told.view.stale is not None)
            for intent in (
                Inspect(v4_position(28)),
                Recommend(v4_position(28)),
                CollectFees((v4_position(28),)),
            ):
                await desk.ask(intent)
                await desk.desk.idle()

    told = [text for event in desk.heard for text in _texts(event)]
    assert any("0xEVIL" in text for text in told)
    assert all(text.isprintable() for text in told)
    assert all("\u202e" not in text for text in told)


def _texts(value: object) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, tuple | list):
        for part in value:
            yield from _texts(part)
    elif isinstance(value, Struct):
        for part in asdict(value).values():
            yield from _texts(part)
