"""`zuno portfolio`: every wallet on every network, in one sum."""

import asyncio
import os
import time
from argparse import Namespace
from collections.abc import Callable, Sequence
from contextlib import closing

from msgspec.structs import replace

from agents.monitor.alerts.alert import Alert
from chain.base.clean_text import quote_words
from chain.base.home import Home
from chain.contracts.addresses import checksum
from chain.contracts.networks import Address, Network
from chain.names.ens import ResolvedName, is_name, network_of_names, resolve_name
from chain.positions.overview import WalletWorth, read_worths
from chain.protocols.v4.memory import SearchProgress
from chain.rpc.client import RpcClient
from chain.rpc.errors import RpcError
from chain.wallet.address_book import parsed_address, read_book
from chain.wallet.errors import NoSuchWalletError
from zuno_tui.app.feature import attachments, unknown_attachments
from zuno_tui.app.session import Session, flags_of, say
from zuno_tui.app.watchlist import Target, targets
from zuno_tui.present.portfolio import (
    PortfolioEntry,
    WholePortfolio,
)
from zuno_tui.settings import Settings, SettingsError, load_settings


def address_given(text: str, settings: Settings, network: Network) -> Address:
    """For commands; a name is told with the address that it stands for."""
    if not is_name(text):
        return parsed_address(text)
    found = asyncio.run(looked_up(text, settings, network))
    say(name_words(found))
    return found.address


def address_flag(arguments: Namespace) -> Address:
    """What `--address` names, by the settings that hold without it."""
    flags = replace(flags_of(arguments), address=None)
    home = Home.locate(os.environ, arguments.home)
    settings = load_settings(home.settings, os.environ, flags)
    return address_given(arguments.address, settings, settings.chosen_network())


async def looked_up(name: str, settings: Settings, network: Network) -> ResolvedName:
    keeper = network_of_names(network)
    endpoints = settings.endpoints_for(keeper)
    if not endpoints:
        raise SettingsError(
            f"Names are kept on {keeper.title}, and no endpoint is set for it. Write "
            f'{keeper.name} = "URL" under [rpc] in settings.toml, or give the address itself.'
        )
    async with RpcClient(keeper, endpoints, limits=settings.request_limits) as client:
        return await resolve_name(client, name)


def name_words(found: ResolvedName) -> str:
    """The address is what counts, and so it stands there whole."""
    told = f"{found.name} is {checksum(found.address)}."
    if found.reverse == found.name:
        return told
    if found.reverse is None:
        return f"{told} That address has no name of its own: make sure it is the one you mean."
    return f"{told} That address has another name of its own, {quote_words(found.reverse)}."


async def read_portfolio(
    session: Session,
    named: Sequence[str] = (),
    *,
    watch: Callable[[SearchProgress], None] = lambda _: None,
) -> WholePortfolio:
    """The wallets that are named, or all of the settings and the address book, on every network."""
    watched = await portfolio_targets(session, named)
    found = await asyncio.gather(*(_entries(session, target, watch) for target in watched))
    entries = tuple(entry for some in found for entry in some)
    return WholePortfolio(session.settings.unit, entries, _alerts(session, entries))


async def portfolio_targets(session: Session, named: Sequence[str]) -> tuple[Target, ...]:
    """Which wallets on which networks are meant."""
    book = read_book(session.home.keystore)
    settings = session.settings
    if not named:
        return targets(settings, book, session.flags, os.environ)
    wallets = tuple(dict.fromkeys([await _address(session, name) for name in named]))
    known = replace(settings, address=wallets[0])
    return tuple(
        Target(target.network, wallets)
        for target in targets(known, book, session.flags, os.environ)
    )


def wallet_labels(session: Session) -> dict[Address, str]:
    return {wallet.address: wallet.name for wallet in read_book(session.home.keystore).wallets}


async def _address(session: Session, named: str) -> Address:
    """By the name it is kept under, an ENS name, or its digits."""
    try:
        return read_book(session.home.keystore).find(named).address
    except NoSuchWalletError:
        if is_name(named):
            found = await looked_up(named, session.settings, session.network)
            session.narrate(name_words(found))
            return found.address
        if not named.lower().startswith("0x"):
            raise
        return parsed_address(named)


async def _entries(
    session: Session, target: Target, watch: Callable[[SearchProgress], None]
) -> list[PortfolioEntry]:
    unit, there = session.settings.unit, replace(session, network=target.network)
    try:
        async with there.sources() as sources:
            worths = await read_worths(
                sources, target.wallets, unit, watch=watch, every_protocol=True
            )
            attached = [await attachments(there, sources, [worth.overview]) for worth in worths]
    except RpcError as error:
        return unread_entries(session, target, error)
    entries = portfolio_entries(session, target, worths)
    return [
        replace(entry, attachments=attachments)
        for entry, attachments in zip(entries, attached, strict=True)
    ]


def portfolio_entries(
    session: Session, target: Target, worths: Sequence[WalletWorth]
) -> list[PortfolioEntry]:
    labels = wallet_labels(session)
    return [
        PortfolioEntry(
            target.network,
            owner,
            labels.get(owner, ""),
            worth,
            worth.overview.wallet.shortfall or "",
        )
        for owner, worth in zip(target.wallets, worths, strict=True)
    ]


def unread_entries(session: Session, target: Target, error: RpcError) -> list[PortfolioEntry]:
    labels = wallet_labels(session)
    return [
        PortfolioEntry(
            target.network,
            wallet,
            labels.get(wallet, ""),
            None,
            error.sentence,
            unknown_attachments(),
        )
        for wallet in target.wallets
    ]


def _alerts(session: Session, entries: Sequence[PortfolioEntry]) -> tuple[Alert, ...]:
    from agents.monitor.alerts.store import AlertStore

    about = {(entry.network.chain_id, entry.wallet) for entry in entries}
    with closing(AlertStore.open(session.home, now=time.time())) as store:
        return tuple(
            alert
            for alert in store.current()
            if alert.active and (alert.chain_id, alert.wallet_address) in about
        )
