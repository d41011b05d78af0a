"""A desk that has nothing to open: it says what is missing, and opens when it is there."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec.structs import replace

from chain.contracts.networks import network_named
from chain.protocols.reference import v4_position
from chain.wallet.keystore import watch
from tests.zuno_tui.desk.sitting import Sitting, opening
from zuno_tui.catalog.intents import Doctor, Recommend, SwitchNetwork, UseWallet
from zuno_tui.desk.events import OutageChanged, PageReady, PositionsChanged, Said, StatusChanged

if TYPE_CHECKING:
    from pathlib import Path

    from chain.devnet.launch import DevnetReady
    from zuno_tui.desk.context import DeskOpening

STRANGER = "0x" + "11" * 20


def nowhere(home: Path, url: str) -> DeskOpening:
    """No wallet, on a network that has none of its own."""
    opened = opening(home, url)
    settings = replace(opened.session.settings, network="ethereum")
    session = replace(opened.session, settings=settings, network=network_named("ethereum"))
    return replace(opened, session=session)


async def test_a_desk_without_a_wallet_names_the_way_to_one(
    devnet: DevnetReady, tmp_path: Path
) -> None:
    desk = Sitting(nowhere(tmp_path, devnet.url))
    async with desk.desk:
        await desk.ask(Recommend(v4_position(7)))
        closed = desk.heard_last(Said)
        outage = desk.heard_last(OutageChanged).view
        await desk.ask(Doctor())
        page = desk.heard_last(PageReady)
        await desk.ask(SwitchNetwork("devnet"))
        await desk.until(PositionsChanged, lambda told: bool(told.view.rows))

    first = desk.all_heard(StatusChanged)[0].view
    assert first.trouble is not None
    assert "zuno wallet import" in first.trouble
    assert "The desk is not open" in closed.words
    assert outage is not None
    assert outage.next_at is None
    assert any("RPC" in line for line in page.lines)
    assert desk.heard_last(OutageChanged).view is None
    assert desk.heard_last(StatusChanged).view.network == "Embedded chain"


async def test_another_wallet_is_looked_at_by_its_name(devnet: DevnetReady, tmp_path: Path) -> None:
    opened = opening(tmp_path, devnet.url)
    watch(opened.session.home, STRANGER, name="stranger")
    opened = replace(
        opened,
        session=replace(
            opened.session,
            settings=replace(opened.session.settings, address=devnet.wallet),
        ),
    )
    desk = Sitting(opened)
    async with desk.desk:
        await desk.until(PositionsChanged, lambda told: bool(told.view.rows))
        since = len(desk.heard)
        await desk.ask(UseWallet("stranger"))
        empty = await desk.until(
            PositionsChanged, lambda told: told.view.found == "0 of 0 found", since=since
        )
        status = desk.heard_last(StatusChanged).view
        await desk.ask(UseWallet("not an address"))

    assert empty.view.rows == ()
    assert status.wallet == "stranger 0x1111…1111"
    assert desk.heard_last(Said).tone == "bad"
