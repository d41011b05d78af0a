"""The monitor keeps what pools paid day by day, where somebody began to look."""

import time
from pathlib import Path

import pytest

from agents.monitor.alerts.store import AlertStore
from agents.scorecard.pool_days import PoolDayStore, chains_to_look_at
from chain.base.home import Home
from chain.base.store import Store
from chain.base.units import DAY
from chain.devnet.launch import DevnetReady
from zuno_tui.app.session import SettingsSource
from zuno_tui.app.watchlist import HomeWatchlist
from zuno_tui.cli import main
from zuno_tui.features.lab.pool_watch import keep_pool_days
from zuno_tui.present.exit_codes import DONE
from zuno_tui.settings import Flags

CHAIN = 31_337


def aged(home: Home) -> None:
    """As if the last look had been two days ago, and nothing was kept of it."""
    store, _ = Store.open(home.database, now=0.0)
    with store:
        PoolDayStore(store, CHAIN, lambda: time.time() - 2 * DAY).record_look()
        for key in store.items("pool days"):
            store.forget_key("pool days", key)


def kept(home: Home) -> int:
    store, _ = Store.open(home.database, now=0.0)
    with store:
        return len(PoolDayStore(store, CHAIN, time.time).days())


async def test_a_day_later_the_watch_looks_again_and_only_once(
    devnet: DevnetReady, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    home = Home(tmp_path / "home", tmp_path / "cache")
    home.prepare()
    settings = f'network = "devnet"\naddress = "{devnet.wallet}"\n[rpc]\ndevnet = "{devnet.url}"\n'
    home.settings.write_text(settings, "utf-8")
    chosen = SettingsSource(home, Flags(), {})
    assert keep_pool_days(chosen) is None

    store, _ = Store.open(home.database, now=0.0)
    with store:
        assert chains_to_look_at(store, time.time()) == ()
    await _looked_at(home, devnet)
    capsys.readouterr()
    pools = kept(home)
    assert pools > 3
    assert keep_pool_days(chosen) is None

    aged(home)
    assert kept(home) == 0
    book = AlertStore.open(home, now=time.time())
    watchlist = HomeWatchlist(chosen, book, tell=lambda _: None)
    try:
        await watchlist.look()
        await watchlist._beside["lab"]
        assert kept(home) == pools
        assert keep_pool_days(chosen) is None
    finally:
        await watchlist.close()
        book.close()


async def _looked_at(home: Home, devnet: DevnetReady) -> None:
    import asyncio

    flags = ["--home", str(home.root), "--network", "devnet", "--rpc", devnet.url]
    assert await asyncio.to_thread(main, [*flags, "pools", "--pays", "--json"]) == DONE
