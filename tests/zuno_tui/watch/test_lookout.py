"""The lookout of a home: what its settings say counts, from the next round on."""

from __future__ import annotations

import time
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from agents.monitor.alerts.store import AlertStore
from agents.monitor.notes import Troubled
from chain.base.home import Home
from zuno_tui.settings import Flags, SettingsError
from zuno_tui.watch.watchlist import HomeWatchlist, SettingsSource

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from agents.monitor.notes import Note
    from chain.devnet.launch import DevnetReady

NOBODY = "0x" + "77" * 20


@pytest.fixture
def home(tmp_path: Path) -> Home:
    home = Home(tmp_path / "home", tmp_path / "cache")
    home.prepare()
    return home


def _settings(home: Home, devnet: DevnetReady, *, address: str, more: str = "") -> None:
    endpoint = f'[rpc]\ndevnet = "{devnet.url}"'
    text = f'network = "devnet"\naddress = "{address}"\n{endpoint}\n{more}'
    home.settings.write_text(text, "utf-8")


@asynccontextmanager
async def _watchlist(
    home: Home, notes: list[Note], **chosen: float
) -> AsyncIterator[HomeWatchlist]:
    book = AlertStore.open(home, now=time.time())
    watchlist = HomeWatchlist(SettingsSource(home, Flags(), {}, **chosen), book, tell=notes.append)
    try:
        yield watchlist
    finally:
        await watchlist.close()
        book.close()


async def test_a_changed_wallet_interval_and_channel_count_from_the_next_round_on(
    home: Home, devnet: DevnetReady
) -> None:
    notes: list[Note] = []
    _settings(home, devnet, address=NOBODY)
    async with _watchlist(home, notes) as watchlist:
        (first,) = await watchlist.look()
        assert (first.wallet_address, first.positions, first.trouble) == (NOBODY, 0, None)
        assert (watchlist.interval_seconds, watchlist.channels()) == (60.0, ())

        more = '[monitor]\ninterval = 10\n[telegram]\ntoken = "1:a"\nchat = 5'
        _settings(home, devnet, address=devnet.wallet, more=more)
        (second,) = await watchlist.look()
        assert second.wallet_address == devnet.wallet
        assert second.positions > 0
        assert watchlist.interval_seconds == 10.0
        assert [channel.name for channel in watchlist.channels()] == ["Telegram"]
    assert notes == []


async def test_a_mistake_is_told_once_and_the_last_good_settings_stay(
    home: Home, devnet: DevnetReady
) -> None:
    notes: list[Note] = []
    _settings(home, devnet, address=devnet.wallet)
    async with _watchlist(home, notes, interval_seconds=7.0) as watchlist:
        home.settings.write_text("network = ", "utf-8")
        for _ in range(3):
            (report,) = await watchlist.look()
            assert report.wallet_address == devnet.wallet
        _settings(home, devnet, address=NOBODY)
        (mended,) = await watchlist.look()

        assert mended.wallet_address == NOBODY
        assert watchlist.interval_seconds == 7.0
    (told,) = notes
    assert isinstance(told, Troubled)
    assert "is not valid TOML" in told.sentence


def test_settings_that_are_wrong_from_the_start_are_refused(
    home: Home, devnet: DevnetReady
) -> None:
    _settings(home, devnet, address=NOBODY, more='[telegram]\ntoken = "1:a"')

    book = AlertStore.open(home, now=0)
    with pytest.raises(SettingsError, match="the chat is missing"):
        HomeWatchlist(SettingsSource(home, Flags(), {}), book, tell=lambda _: None)
    book.close()


async def test_a_home_that_cannot_be_written_is_looked_at_all_the_same(
    tmp_path: Path, devnet: DevnetReady
) -> None:
    """Where no folder can be made nothing can be kept, and everything can be seen."""
    home = Home(Path("/proc/zuno"), tmp_path)
    book = AlertStore.open(home, now=time.time())
    flags = Flags(network="devnet", rpc=devnet.url, address=devnet.wallet)
    watchlist = HomeWatchlist(SettingsSource(home, flags, {}), book, tell=lambda _: None)
    try:
        (report,) = await watchlist.look()
    finally:
        await watchlist.close()

    assert report.positions > 0
    assert report.trouble is not None
    assert any(alert.active for alert in book.current())
