"""What a command or a desk works with: settings, home, memory and the way to a network."""

from __future__ import annotations

import os
import sys
import time
from argparse import Namespace
from collections.abc import AsyncIterator, Callable, Mapping, MutableMapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import TYPE_CHECKING

from msgspec import Struct

from chain.base.home import Home
from chain.base.store import Store, StoreError
from chain.contracts.networks import Address, Network
from chain.positions.overview import Sources
from chain.wallet.address_book import read_book
from zuno_tui.settings import Flags, Settings, SettingsError, load_settings

if TYPE_CHECKING:
    from argparse import Namespace

    from chain.contracts.networks import Network
    from chain.positions.overview import Sources
    from chain.prices.coingecko import CoinGecko
    from chain.rpc.client import RpcClient
    from chain.rpc.errors import StaleHead
    from chain.wallet.devices import Devices
    from zuno_tui.gate.agreement import Connections
    from zuno_tui.settings import Settings


class SettingsSource(Struct, frozen=True):
    """Where settings come from in this process."""

    home: Home
    flags: Flags
    environment: Mapping[str, str]
    interval_seconds: float | None = None
    """Instead of the settings' own."""


def say(words: str) -> None:
    """Narration goes to stderr, so that stdout stays data."""
    sys.stderr.write(words + "\n")
    sys.stderr.flush()


def flags_of(arguments: Namespace) -> Flags:
    return Flags(
        arguments.network,
        arguments.rpc,
        arguments.address,
        arguments.unit,
        alone=bool(arguments.alone),
        transactions=getattr(arguments, "transactions", None),
        deterministic=bool(getattr(arguments, "deterministic", False)),
    )


def name_anvil(settings: Settings, environment: MutableMapping[str, str]) -> None:
    """Let every process of this run find the node that the settings name."""
    if settings.demo.anvil is not None:
        environment.update(ZUNO_ANVIL=settings.demo.anvil)


class Session(Struct, frozen=True):
    home: Home
    settings: Settings
    network: Network
    as_json: bool
    narrate: Callable[[str], None] = say
    """Where words go that are not the answer; a screen has no stderr to write on."""
    flags: Flags = Flags()
    """What was named for this run alone."""
    tell_stale: Callable[[StaleHead], None] | None = None
    """Who hears that reads are of an old block; None where there must be a new one."""

    @classmethod
    def start(cls, arguments: Namespace) -> Session:
        home = Home.locate(os.environ, arguments.home)
        home.require_own()
        flags = flags_of(arguments)
        settings = load_settings(home.settings, os.environ, flags)
        name_anvil(settings, os.environ)
        for warning in settings.warnings:
            say(warning)
        return cls(home, settings, settings.chosen_network(), bool(arguments.json), flags=flags)

    @property
    def address(self) -> Address:
        """Whose positions are meant: the one named, the current wallet, or the network's own."""
        address = self.settings.address or read_book(self.home.keystore).current
        address = address or self.network.default_address
        if address is None:
            raise SettingsError(
                "No wallet is chosen. Name one with --address 0x…, or save one: "
                "zuno wallet import 0x…"
            )
        return address

    @property
    def devices(self) -> Devices:
        from chain.wallet.devices import Devices

        table = self.settings.wallet
        return Devices(table.ledger or "usb", table.signer, table.signer_hosts)

    @property
    def endpoints(self) -> tuple[str, ...]:
        endpoints = self.settings.endpoints_for(self.network)
        if not endpoints:
            raise SettingsError(
                f"No RPC endpoint is known for {self.network.title}. Give one with --rpc URL, "
                f'or write {self.network.name} = "URL" under [rpc] in {self.home.settings}.'
            )
        return endpoints

    @property
    def sockets(self) -> tuple[str, ...]:
        return self.settings.sockets_for(self.network)

    def open_store(self) -> Store:
        self.home.prepare()
        store, aside = Store.open(self.home.database, now=time.time())
        if aside is not None:
            self.narrate(
                f"{self.home.database} was damaged. It is kept as {aside.name}; there is a new one."
            )
        return store

    def _readable_store(self) -> Store:
        """The home's, or one in memory where a disk is full or may not be written."""
        try:
            return self.open_store()
        except StoreError as error:
            self.narrate(f"{error} What is read now is not saved.")
            return Store.in_memory()

    @asynccontextmanager
    async def connect(self, store: Store | None = None) -> AsyncIterator[RpcClient]:
        """What is learned of the endpoints is kept in the store."""
        from chain.rpc.client import RpcClient

        async with RpcClient(
            self.network,
            self.endpoints,
            limits=self.settings.request_limits,
            store=store,
            tell=self.narrate,
        ) as client:
            yield client if self.tell_stale is None else client.at_last_block(self.tell_stale)

    @asynccontextmanager
    async def market(self) -> AsyncIterator[CoinGecko | None]:
        """Market data, where the network's tokens are traded anywhere but on itself."""
        from chain.prices.coingecko import CoinGecko, CoinGeckoSettings
        from chain.prices.defillama import DefiLlama, DefiLlamaSettings

        if self.network.testnet:
            yield None
            return
        chosen = CoinGeckoSettings(self.settings.coingecko_url, self.settings.coingecko_key)
        second = DefiLlama(DefiLlamaSettings(self.settings.defillama_url))
        async with CoinGecko(chosen, second=second) as coingecko:
            yield coingecko

    def connections(self, sources: Sources) -> AbstractAsyncContextManager[Connections]:
        """Where sends go and who else is asked, for what approves, signs or sends."""
        from zuno_tui.gate.agreement import open_connections

        if self.tell_stale is not None:
            raise ValueError("Nothing is approved or signed on an old block's figures")
        for unknown in self.settings.not_understood:
            raise SettingsError(
                f"{unknown.sentence} Nothing is approved or signed until it is fixed.",
                unknown.place,
            )
        return open_connections(self.settings, self.network, sources.client)

    @asynccontextmanager
    async def sources(self) -> AsyncIterator[Sources]:
        """Everything that reads, for as long as the block lasts."""
        from chain.positions.overview import Sources

        with self._readable_store() as store:
            async with self.connect(store) as client, self.market() as coingecko:
                yield Sources(client, self.network, store, coingecko, time.time)
