"""Which wallets are watched where: everything the settings name, or what this run names."""

from __future__ import annotations

import pytest

from chain.wallet.address_book import AddressBook, KeyStorage, Wallet
from zuno_tui.app.watchlist import targets
from zuno_tui.settings import Flags, Settings, SettingsError
from zuno_tui.settings.channels import channel_settings
from zuno_tui.settings.schema import TelegramTable, WebhookTable

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
