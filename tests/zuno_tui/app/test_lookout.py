"""What is watched, what changes from the next round on, and what pools paid day by day."""

import asyncio
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import httpx2
import pytest

from agents.monitor.alerts.store import AlertStore
from agents.monitor.heartbeat import Note, SubscriptionChanged, Troubled
from agents.scorecard.pool_days import PoolDayStore, chains_to_look_at
from chain.base.home import Home
from chain.base.store import Store
from chain.base.units import DAY
from chain.devnet.launch import DevnetReady
from chain.wallet.address_book import AddressBook, KeyStorage, Wallet
from tests.fakes.tcp_line import tcp_line
from zuno_tui.app.session import SettingsSource
from zuno_tui.app.watchlist import HomeWatchlist, targets
from zuno_tui.cli import main
from zuno_tui.features.lab.pool_watch import keep_pool_days
from zuno_tui.present.exit_codes import DONE
from zuno_tui.settings import Flags, Settings, SettingsError
from zuno_tui.settings.channels import channel_settings
from zuno_tui.settings.schema import TelegramTable, WebhookTable

NOBODY = "0x" + "77" * 20


@pytest.fixture
def home(tmp_path: Path) -> Home:
    home = Home(tmp_path / "home", tmp_path / "cache")
    home.prepare()
    return home


def _settings(home: Home, devnet: DevnetReady, *sockets: str, address: str, more: str = "") -> None:
    urls = [devnet.url, *sockets]
    endpoint = f"[rpc]\ndevnet = {urls}"
    text = f'network = "devnet"\naddress = "{address}"\n{endpoint}\n{more}'
    home.settings.write_text(text, "utf-8")


@asynccontextmanager
async def _watchlist(
    home: Home, tell: Callable[[Note], None], **chosen: float
) -> AsyncIterator[HomeWatchlist]:
    book = AlertStore.open(home, now=time.time())
    watchlist = HomeWatchlist(SettingsSource(home, Flags(), {}, **chosen), book, tell=tell)
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
    async with _watchlist(home, notes.append) as watchlist:
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
    async with _watchlist(home, notes.append, interval_seconds=7.0) as watchlist:
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


async def test_a_new_block_is_announced_and_a_cut_socket_is_told(
    home: Home, devnet: DevnetReady
) -> None:
    notes: asyncio.Queue[Note] = asyncio.Queue()
    async with tcp_line(devnet.url) as line:
        _settings(home, devnet, line.socket_url, address=NOBODY)
        async with _watchlist(home, notes.put_nowait) as watchlist:
            waiting = asyncio.create_task(watchlist.new_block())
            assert await notes.get() == SubscriptionChanged("devnet", None)
            assert not waiting.done()
            await _mine(devnet)
            await waiting

            line.cut()
            lost = await notes.get()
            (report,) = await watchlist.look()

    assert isinstance(lost, SubscriptionChanged)
    assert lost.trouble
    assert (report.network, report.trouble) == ("devnet", None)


async def _mine(devnet: DevnetReady) -> None:
    body = {"jsonrpc": "2.0", "id": 1, "method": "evm_mine", "params": []}
    async with httpx2.AsyncClient(trust_env=False) as http:
        (await http.post(devnet.url, json=body)).raise_for_status()


MINE = "0x" + "11" * 20
OTHER = "0x" + "22" * 20
BOOK = AddressBook(
    (Wallet(MINE, "mine", KeyStorage.KEYRING), Wallet(OTHER, "watched", KeyStorage.NOWHERE)), MINE
)
BOTH = {"ethereum": ("https://one.example",), "base": ("https://two.example",)}


def _watched(settings: Settings, book: AddressBook, flags: Flags) -> dict[str, tuple[str, ...]]:
    return {one.network.name: one.wallets for one in targets(settings, book, flags, {})}


def test_every_wallet_of_the_book_is_watched_on_every_network_with_an_endpoint() -> None:
    settings = Settings(address=OTHER, endpoints=BOTH)

    assert _watched(settings, BOOK, Flags()) == {"ethereum": (OTHER, MINE), "base": (OTHER, MINE)}


def test_what_this_run_names_is_watched_alone() -> None:
    settings = Settings(network="base", address=MINE, endpoints=BOTH)

    assert _watched(settings, BOOK, Flags(network="base", address=MINE)) == {"base": (MINE,)}


def test_the_chosen_network_is_watched_by_its_public_endpoints() -> None:
    settings = Settings(network="base", endpoints={"ethereum": BOTH["ethereum"]})

    assert _watched(settings, BOOK, Flags()).keys() == {"ethereum", "base"}


def test_the_embedded_chain_has_a_wallet_of_its_own() -> None:
    (only,) = targets(Settings(network="devnet"), AddressBook(), Flags(), {})

    assert only.wallets == (only.network.default_address,)


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        (Settings(), "No RPC endpoint is known for Ethereum"),
        (Settings(network="base"), "No wallet is there to watch"),
    ],
)
def test_nothing_to_watch_is_said_with_what_to_do(settings: Settings, said: str) -> None:
    with pytest.raises(SettingsError, match=said):
        targets(settings, AddressBook(), Flags(), {})


def test_channels_come_from_the_settings_and_the_environment_beats_them() -> None:
    settings = Settings(
        telegram=TelegramTable(token="12:abc", chat=-100200),
        webhook=WebhookTable(url="https://hooks.example/CANARY", secret="CANARY"),
    )

    chosen = channel_settings(settings, {"ZUNO_TELEGRAM_TOKEN": "34:def"})

    assert chosen.telegram is not None
    assert (chosen.telegram.token, chosen.telegram.chat) == ("34:def", "-100200")
    assert [one.name for one in chosen.channels()] == ["Telegram", "webhook"]
    assert "CANARY" not in repr((settings, chosen))
    assert "34:def" not in repr(chosen)
    assert channel_settings(Settings(), {}).channels() == ()


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
