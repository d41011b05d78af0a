"""What a home's monitor watches: every wallet and network of the settings, read anew each round."""

import asyncio
import time
from collections.abc import Callable, Mapping
from contextlib import AsyncExitStack
from functools import partial

from msgspec import Struct

from agents.monitor.alerts.store import AlertStore
from agents.monitor.deliver.channel import Channel
from agents.monitor.heartbeat import Note, SubscriptionChanged, Troubled
from agents.monitor.poll import PollReport, Watch, Watcher
from agents.monitor.rules.features import AttachedWatch, FeatureNews, WatchedFeatures
from agents.monitor.rules.thresholds import WatchSettings
from chain.base.home import Home
from chain.base.store import Store, StoreError
from chain.contracts.networks import Address, Network, network_named
from chain.positions.overview import Sources
from chain.prices.coingecko import CoinGecko, CoinGeckoSettings
from chain.prices.defillama import DefiLlama, DefiLlamaSettings
from chain.rpc.client import RpcClient
from chain.rpc.errors import RpcError
from chain.wallet.address_book import AddressBook, read_book
from chain.wallet.errors import WalletError
from zuno_tui.app.feature import feature_alerts, features
from zuno_tui.app.session import SettingsSource
from zuno_tui.settings import Flags, Settings, SettingsError, load_settings
from zuno_tui.settings.channels import ChannelSettings, channel_settings
from zuno_tui.settings.load import environment_value
from zuno_tui.settings.monitor import monitor_settings


class Target(Struct, frozen=True):
    network: Network
    wallets: tuple[Address, ...]


def targets(
    settings: Settings, book: AddressBook, flags: Flags, environment: Mapping[str, str]
) -> tuple[Target, ...]:
    """All there is, or what was named for this run."""
    found = tuple(
        Target(network, wallets)
        for network in _networks(settings, flags, environment)
        if (wallets := _wallets(settings, book, network, flags))
    )
    if not found:
        raise SettingsError(
            "No wallet is there to watch. Name one with --address 0x…, or save one: "
            "zuno wallet import 0x…"
        )
    return found


def _networks(
    settings: Settings, flags: Flags, environment: Mapping[str, str]
) -> tuple[Network, ...]:
    chosen = settings.chosen_network()
    named = (
        flags.network,
        flags.rpc,
        environment_value(environment, "network"),
        environment_value(environment, "rpc"),
    )
    if any(named):
        networks = [chosen]
    else:
        networks = [network_named(name) for name in settings.endpoints]
        if chosen not in networks:
            networks.append(chosen)
    reachable = tuple(network for network in networks if settings.endpoints_for(network))
    if not reachable:
        raise SettingsError(
            f"No RPC endpoint is known for {chosen.title}. Give one with --rpc URL, or write "
            f'{chosen.name} = "URL" under [rpc] in settings.toml.'
        )
    return reachable


def _wallets(
    settings: Settings, book: AddressBook, network: Network, flags: Flags
) -> tuple[Address, ...]:
    if flags.address:
        return () if settings.address is None else (settings.address,)
    known = [settings.address] if settings.address else []
    known += [wallet.address for wallet in book.wallets]
    if not known and network.default_address:
        known = [network.default_address]
    return tuple(dict.fromkeys(known))


class _Wanted(Struct, frozen=True):
    """What the settings ask for; equal when nothing changed."""

    settings: Settings
    watching: WatchSettings
    targets: tuple[Target, ...]
    channels: ChannelSettings


_BETWEEN_HEADS = 2.0


class _Line:
    """Tells when a network's new blocks begin or cease to be announced."""

    def __init__(self, network: Network, tell: Callable[[Note], None]) -> None:
        self._network = network
        self._tell = tell
        self._live: bool | None = None

    def __call__(self, fault: RpcError | None) -> None:
        if self._live != (fault is None):
            self._live = fault is None
            trouble = None if fault is None else fault.sentence
            self._tell(SubscriptionChanged(self._network.name, trouble))


async def _ended(task: asyncio.Task[None]) -> None:
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)


def _feature_news(home: Home, network: Network) -> tuple[FeatureNews, ...]:
    tellers = (feature.news for feature in features())
    return tuple(item for tell in tellers if tell is not None for item in tell(home, network))


class HomeWatchlist:
    """Looks at everything a home's settings name; a change of them counts from the next round.

    Raises what is wrong with the settings when it is made. Later mistakes in them are told, and
    the last good ones stay in force.
    """

    def __init__(
        self,
        chosen: SettingsSource,
        book: AlertStore,
        *,
        tell: Callable[[Note], None],
        also: tuple[Channel, ...] = (),
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._chosen = chosen
        self._book = book
        self._tell = tell
        self._also = also
        self._clock = clock
        self._wanted = self._read()
        self._complained: str | None = None
        self._open = AsyncExitStack()
        self._watcher: Watcher | None = None
        self._announced = asyncio.Event()
        self._following = False
        self._beside: dict[str, asyncio.Task[None]] = {}
        """By feature, what runs while this watches."""

    @property
    def targets(self) -> tuple[Target, ...]:
        return self._wanted.targets

    @property
    def interval_seconds(self) -> float:
        return self._chosen.interval_seconds or self._wanted.watching.interval_seconds

    def channels(self) -> tuple[Channel, ...]:
        return (*self._wanted.channels.channels(), *self._also)

    async def look(self) -> tuple[PollReport, ...]:
        await self._renew()
        self._run_beside()
        if self._watcher is None:
            self._watcher = await self._connect()
        return await self._watcher.poll_all()

    async def new_block(self) -> None:
        if not self._following:
            self._following = True
            self._follow_heads()
        await self._announced.wait()
        self._announced.clear()

    def _run_beside(self) -> None:
        """Only who has the turn looks, so what a feature does beside it is done once."""
        for feature in features():
            running = self._beside.get(feature.name)
            if feature.beside_watch is None or (running is not None and not running.done()):
                continue
            work = feature.beside_watch(self._chosen, self._tell)
            if work is not None:
                self._beside[feature.name] = asyncio.create_task(work, name=feature.name)

    async def close(self) -> None:
        for task in self._beside.values():
            await _ended(task)
        self._beside.clear()
        await self._open.aclose()
        self._open = AsyncExitStack()
        self._watcher = None
        self._following = False

    def _follow_heads(self) -> None:
        for target in self._wanted.targets:
            network, urls = target.network, self._wanted.settings.sockets_for(target.network)
            if urls:
                from chain.rpc.new_heads import HeadListener, follow_heads

                line = _Line(network, self._tell)
                listener = HeadListener(lambda _: self._announced.set(), line, _BETWEEN_HEADS)
                following = asyncio.create_task(follow_heads(network, urls, listener))
                self._open.push_async_callback(_ended, following)

    async def _renew(self) -> None:
        try:
            wanted = self._read()
        except (SettingsError, WalletError) as error:
            if str(error) != self._complained:
                self._complained = str(error)
                self._tell(Troubled(f"{error} Until then the settings from before are in force."))
            return
        self._complained = None
        if wanted != self._wanted:
            self._wanted = wanted
            await self.close()

    def _read(self) -> _Wanted:
        home, flags, environment = self._chosen.home, self._chosen.flags, self._chosen.environment
        settings = load_settings(home.settings, environment, flags)
        return _Wanted(
            settings,
            monitor_settings(settings),
            targets(settings, read_book(home.keystore), flags, environment),
            channel_settings(settings, environment),
        )

    async def _connect(self) -> Watcher:
        settings = self._wanted.settings
        store = self._open.enter_context(self._store())
        second = DefiLlama(DefiLlamaSettings(settings.defillama_url))
        chosen = CoinGeckoSettings(settings.coingecko_url, settings.coingecko_key)
        market = CoinGecko(chosen, second=second)
        await self._open.enter_async_context(market)
        watches: list[Watch] = []
        unknown = {setting.place: setting.sentence for setting in settings.not_understood}
        for target in self._wanted.targets:
            network = target.network
            urls, limits = settings.endpoints_for(network), settings.request_limits
            client = RpcClient(network, urls, limits=limits, store=store)
            await self._open.enter_async_context(client)
            # Test coins are traded nowhere but on their own network.
            coingecko = None if network.testnet else market
            sources = Sources(client, network, store, coingecko, self._clock)
            # A setting is of no network: the first one tells of it.
            told = None if watches else unknown
            of_features = WatchedFeatures(
                alerts=feature_alerts(),
                attached=partial(self._attached, network),
                news=partial(_feature_news, self._chosen.home, network),
            )
            watches.append(Watch(sources, target.wallets, of_features, told))
        return Watcher(watches, self._wanted.watching, self._book, clock=self._clock)

    def _attached(self, network: Network) -> AttachedWatch | None:
        makers = (feature.watched for feature in features())
        make = next(filter(None, makers), None)
        return None if make is None else make(self._chosen.home, self._wanted.settings, network)

    def _store(self) -> Store:
        try:
            return Store.open(self._chosen.home.database, now=self._clock())[0]
        except (OSError, StoreError):
            # The book says that the home cannot be used; what is remembered can be read again.
            return Store.in_memory()
