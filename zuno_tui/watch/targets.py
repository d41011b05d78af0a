"""Which wallets are watched on which networks, by the settings and the wallet book."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from chain.networks import network_named
from zuno_tui.settings import SettingsError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from chain.networks import Address, Network
    from chain.wallet.book import WalletBook
    from zuno_tui.settings import Flags, Settings


@dataclass(frozen=True, slots=True)
class Target:
    network: Network
    wallets: tuple[Address, ...]


def targets(
    settings: Settings, book: WalletBook, flags: Flags, environment: Mapping[str, str]
) -> tuple[Target, ...]:
    """All there is, or what was named for this run."""
    found = tuple(
        Target(network, wallets)
        for network in _networks(settings, flags, environment)
        if (wallets := _wallets(settings, book, network, flags))
    )
    if not found:
        raise SettingsError(
            "No wallet is there to watch. Name one with --address 0x…, or keep one in mind: "
            "zuno wallet import 0x…"
        )
    return found


def _networks(
    settings: Settings, flags: Flags, environment: Mapping[str, str]
) -> tuple[Network, ...]:
    chosen = settings.chosen_network()
    named = (flags.network, flags.rpc, environment.get("ZUNO_NETWORK"), environment.get("ZUNO_RPC"))
    if any(named):
        networks = [chosen]
    else:
        networks = [network_named(name) for name in settings.endpoints]
        if chosen not in networks:
            networks.append(chosen)
    reachable = tuple(one for one in networks if settings.endpoints_for(one))
    if not reachable:
        raise SettingsError(
            f"No RPC endpoint is known for {chosen.title}. Give one with --rpc URL, or write "
            f'{chosen.name} = "URL" under [rpc] in settings.toml.'
        )
    return reachable


def _wallets(
    settings: Settings, book: WalletBook, network: Network, flags: Flags
) -> tuple[Address, ...]:
    if flags.address:
        return () if settings.address is None else (settings.address,)
    known = [settings.address] if settings.address else []
    known += [wallet.address for wallet in book.wallets]
    if not known and network.default_address:
        known = [network.default_address]
    return tuple(dict.fromkeys(known))
