"""What the first run leaves on disk: which network, which endpoint, whose positions, and a key."""

from __future__ import annotations

import asyncio
import json
from typing import TYPE_CHECKING

from chain.base.home import write_atomically
from chain.base.secret_struct import SecretStruct
from chain.contracts.networks import all_networks
from zuno_tui.settings import Settings, SettingsError, checked_url

if TYPE_CHECKING:
    from chain.base.home import Home
    from chain.contracts.networks import Network
    from chain.names.ens import ResolvedName
    from chain.wallet.secrets import Passphrase, PrivateKey


class StartPlace(SecretStruct, frozen=True):
    """Where the desk will look."""

    network: Network
    # It may hold an API key, and so is part of no repr.
    endpoint: str = ""
    """Empty for the network's own."""


def networks_to_offer() -> tuple[Network, ...]:
    """Live networks first; the embedded chain is the demo's."""
    offered = (network for network in all_networks() if network.default_address is None)
    return tuple(sorted(offered, key=lambda network: network.testnet))


def checked_place(network: Network, endpoint: str) -> StartPlace:
    if endpoint.strip():
        return StartPlace(network, checked_url(endpoint.strip(), "The endpoint"))
    if not network.endpoints:
        raise SettingsError(f"{network.title} has no endpoint of its own: give the URL of one.")
    return StartPlace(network)


def watch_address(home: Home, place: StartPlace, address: str) -> None:
    from chain.wallet.address_book import parsed_address
    from chain.wallet.keystore import watch

    watch(home, parsed_address(address), name=None)
    _write_settings(home, place)


def looked_up_name(place: StartPlace, name: str) -> ResolvedName:
    """Whose address an ENS name is."""
    from zuno_tui.session.names import looked_up

    endpoints = {place.network.name: (place.endpoint,)} if place.endpoint else {}
    settings = Settings(network=place.network.name, endpoints=endpoints)
    return asyncio.run(looked_up(name, settings, place.network))


def keyring_trouble() -> str | None:
    """Why a key cannot go into the system's keyring here; None where it can."""
    from chain.wallet.errors import KeyringUnusableError
    from chain.wallet.keyring_store import find_keyring

    try:
        find_keyring()
    except KeyringUnusableError as error:
        return str(error)
    return None


def keep_first_key(
    home: Home, place: StartPlace, key: PrivateKey, passphrase: Passphrase | None
) -> str:
    """Keep it in the keyring, or with a passphrase in a file; where it went, in a sentence."""
    from chain.wallet.keystore import StoreChoice, keep_key

    def given(_: str) -> Passphrase:
        if passphrase is None:
            from chain.wallet.errors import WalletError

            raise WalletError("The keyring did not take the key. Nothing was kept; try again.")
        return passphrase

    choice = StoreChoice.BEST if passphrase is None else StoreChoice.FILE
    kept = keep_key(home, key, name=None, choice=choice, new_passphrase=given)
    _write_settings(home, place)
    return f"The key is in {kept.place}."


def _write_settings(home: Home, place: StartPlace) -> None:
    lines = ["# Written by zuno's first run; change it as you like.", ""]
    lines.append(f"network = {json.dumps(place.network.name)}")
    if place.endpoint:
        lines += ["", "[rpc]", f"{place.network.name} = {json.dumps(place.endpoint)}"]
    write_atomically(home.settings, ("\n".join(lines) + "\n").encode())
