"""What the first run leaves on disk: which network, which endpoint, whose positions, and a key."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from chain.base.redaction import SecretStruct
from chain.contracts.networks import Network, all_networks
from zuno_tui.settings import Settings, SettingsError, checked_url
from zuno_tui.settings.edit import keep_setting

if TYPE_CHECKING:
    from chain.base.home import Home
    from chain.names.ens import ResolvedName
    from chain.wallet.secrets import Passphrase, PrivateKey
    from zuno_tui.app.endpoint_trial import Check


class StartPlace(SecretStruct, frozen=True):
    """Where the desk will look."""

    network: Network
    # It may hold an API key, and so is part of no repr.
    endpoint: str = ""
    """Empty for the network's own."""


def networks_to_offer() -> tuple[Network, ...]:
    """Live ones with an endpoint that everybody may use first; the embedded chain is the demo's."""
    offered = (network for network in all_networks() if network.default_address is None)
    return tuple(sorted(offered, key=lambda network: (network.testnet, not network.endpoints)))


def try_place(place: StartPlace, found: Callable[[Check], None]) -> None:
    """Ask the endpoint what it is good for, in a thread that has no loop of its own."""
    from zuno_tui.app.endpoint_trial import tried_endpoint

    url = place.endpoint or place.network.endpoints[0]

    async def ask() -> None:
        async for check in tried_endpoint(place.network, url):
            found(check)

    asyncio.run(ask())


def checked_place(network: Network, endpoint: str) -> StartPlace:
    if endpoint.strip():
        return StartPlace(network, checked_url(endpoint.strip(), "The endpoint"))
    if not network.endpoints:
        raise SettingsError(f"{network.title} has no endpoint of its own: give the URL of one.")
    return StartPlace(network)


def watch_address(home: Home, place: StartPlace, address: str) -> None:
    from chain.wallet.address_book import change_book, parsed_address, read_book
    from chain.wallet.keystore import watch

    watched = parsed_address(address)
    if read_book(home.keystore).at(watched) is None:
        watch(home, watched, name=None)
    change_book(home.keystore, lambda book: book.choosing(watched))
    _keep_place(home, place)


def new_key() -> PrivateKey:
    from chain.wallet.secrets import PrivateKey

    return PrivateKey.generate()


def key_typed(typed: bytes) -> PrivateKey:
    from chain.wallet.secrets import PrivateKey

    return PrivateKey.from_text(typed.decode("ascii", "replace"))


def keys_of_seed(typed: bytes, accounts: Sequence[int]) -> tuple[PrivateKey, ...]:
    from chain.wallet.secrets import keys_of_phrase

    return keys_of_phrase(typed, accounts)


def key_in_keystore(path: Path, passphrase: Passphrase) -> PrivateKey:
    from chain.wallet.keystore_file import read_keystore

    return read_keystore(path, passphrase)


def looked_up_name(place: StartPlace, name: str) -> ResolvedName:
    """Whose address an ENS name is."""
    from zuno_tui.app.read_portfolio import looked_up

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
    from chain.wallet.address_book import change_book
    from chain.wallet.keystore import StoreChoice, keep_key

    def given(_: str) -> Passphrase:
        if passphrase is None:
            from chain.wallet.errors import WalletError

            raise WalletError("The keyring did not take the key. Nothing was kept; try again.")
        return passphrase

    choice = StoreChoice.BEST if passphrase is None else StoreChoice.FILE
    kept = keep_key(home, key, name=None, choice=choice, new_passphrase=given)
    change_book(home.keystore, lambda book: book.choosing(kept.wallet.address))
    _keep_place(home, place)
    return f"The key is in {kept.place}."


def _keep_place(home: Home, place: StartPlace) -> None:
    home.prepare()
    keep_setting(home.settings, "", "network", place.network.name)
    if place.endpoint:
        keep_setting(home.settings, "rpc", place.network.name, place.endpoint)
