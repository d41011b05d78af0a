"""`zuno venue`: which venue is set and whether its keys are kept; keys go into the keyring."""

from __future__ import annotations

import sqlite3
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

import msgspec
from msgspec import Struct

from chain.base.errors import Failure, ZunoError
from chain.devnet.defaults import control_url
from chain.exchange.orders.ccxt_client import VenueKeys, VenuePackageError
from chain.exchange.orders.journal import TradeJournal
from chain.exchange.orders.paper_venue import PaperFees, PaperTerms, PaperVenue
from chain.exchange.public.binance import BASE_URL, SOURCE, BinancePublic, ExchangeAddress
from chain.prices.market_http import MarketError
from chain.wallet.errors import KeyringUnusableError, WalletError
from zuno_tui.app.session import Session, say
from zuno_tui.present.exit_codes import DONE
from zuno_tui.present.output import print_json, print_lines
from zuno_tui.settings import SettingsError
from zuno_tui.settings.plain_http import refuse_plain

if TYPE_CHECKING:
    from argparse import Namespace

    from chain.base.home import Home
    from chain.exchange.orders.binance_venue import BinanceVenue
    from chain.exchange.orders.upbit_venue import UpbitVenue
    from chain.exchange.orders.venue import Venue


CLOSED_TO_LOOKERS = (VenuePackageError, WalletError, sqlite3.Error)
"""What keeps somebody who only looks from a venue, beside what the venue itself says."""

UPBIT_FEES = PaperFees(maker=0.0005, taker=0.0005)
"""What Upbit charges for trades in won."""
EMBEDDED = "the demo's exchange"
DEMO_URL = "https://demo-fapi.binance.com"
DEMO_SOURCE = "Binance's demo trading"


class VenueUnreadError(ZunoError):
    """The venue did not answer, or not in a way that can be used."""

    failure = Failure.NETWORK


class VenueKeysError(WalletError):
    """Trading there needs keys that nobody has kept."""

    failure = Failure.REFUSED


class OpenVenue(Struct, frozen=True):
    """A market to read, what takes orders on it, and what was sent there."""

    market: BinancePublic
    venue: Venue
    journal: TradeJournal
    fees: PaperFees


def exchange_address(session: Session) -> ExchangeAddress:
    """The one that was set; on the embedded chain its own, else Binance."""
    if session.settings.trade.url is not None:
        return ExchangeAddress(session.settings.trade.url.strip(), "the exchange that is set")
    if session.network.clock == "head":
        return ExchangeAddress(control_url(session.endpoints[0]), EMBEDDED)
    if session.settings.trade.venue == "demo":
        return ExchangeAddress(DEMO_URL, DEMO_SOURCE)
    return ExchangeAddress(BASE_URL, SOURCE)


@asynccontextmanager
async def open_venue(session: Session) -> AsyncIterator[OpenVenue]:
    """To look alone: what a crash left between stays as it is."""
    session.home.prepare()
    table = session.settings.trade
    address = exchange_address(session)
    # Asked for before anything is opened: without keys there is nothing to open.
    keys = None if table.venue == "paper" else venue_keys(table.venue)
    if keys is not None:
        refuse_plain(address.base_url, "trade.url", "the account's key")
    terms = PaperTerms(start_usd=table.paper_usd or PaperTerms().start_usd)
    async with BinancePublic(address) as market:
        venue: PaperVenue | BinanceVenue | UpbitVenue
        if keys is None:
            venue = PaperVenue(session.home.paper, market, terms)
        else:
            venue = _account(table.venue, market, keys, address)
        try:
            with TradeJournal.open(session.home.trades) as journal:
                yield OpenVenue(market, venue, journal, _fees(table.venue, terms))
        except MarketError as error:
            raise VenueUnreadError(
                f"The market cannot be read: {error}. Try again, or name another server of "
                f"Binance's shapes: url under [trade] in {session.home.settings}"
            ) from None
        finally:
            await venue.close()


def _fees(mode: str, terms: PaperTerms) -> PaperFees:
    return UPBIT_FEES if mode == "upbit" else terms.fees


def has_hedges(home: Home) -> bool:
    """Whether there is any reason to open a venue for hedges."""
    if not home.trades.exists():
        return False
    with TradeJournal.open(home.trades) as journal:
        return journal.has_hedges()


def venue_keys(mode: str) -> VenueKeys:
    """From the keyring alone; refuses where there are none."""
    from chain.wallet.keyring_store import find_keyring

    kept = find_keyring().text_of(keyring_name(mode))
    if kept is None:
        raise VenueKeysError(
            f"No keys are kept for {mode} trading. Keep them: zuno venue {mode}. "
            'Or trade with made-up money: venue = "paper" under [trade].'
        )
    return msgspec.json.decode(kept, type=VenueKeys)


def keyring_name(mode: str) -> str:
    return "venue:upbit:live" if mode == "upbit" else f"venue:binance:{mode}"


def _account(
    mode: str, market: BinancePublic, keys: VenueKeys, address: ExchangeAddress
) -> BinanceVenue | UpbitVenue:
    if mode == "upbit":
        from chain.exchange.orders.upbit_venue import UpbitVenue

        return UpbitVenue(f"upbit:{market.name}", market, keys)
    from chain.exchange.orders.binance_venue import BinanceVenue

    return BinanceVenue(f"{mode}:{market.name}", market, keys, base_url=address.base_url)


_MODES = ("demo", "live", "upbit")


def run(arguments: Namespace) -> int:
    session = Session.start(arguments)
    return _shown(session) if arguments.mode is None else _kept(session, arguments.mode)


def _shown(session: Session) -> int:
    """What is set, without a word of any key."""
    mode = session.settings.trade.venue
    kept = {mode: _has_keys(mode) for mode in _MODES}
    if session.as_json:
        print_json({"venue": mode, "keys": kept})
        return DONE
    lines = [f"Orders go to {mode}: {_WHAT[mode]}."]
    lines += [f"  keys for {one}: {_WORDS[has]}" for one, has in kept.items()]
    print_lines(lines)
    say(
        'Set another: venue = "paper", "demo", "live" or "upbit" under [trade] in '
        f"{session.home.settings}"
    )
    return DONE


_WHAT = {
    "paper": "made-up money on the market that is read",
    "demo": "Binance's demo trading",
    "live": "your account at Binance, with real money",
    "upbit": "your account at Upbit, spot alone, with real money",
}
_WHOSE = {"demo": "Binance, demo", "live": "Binance, live", "upbit": "Upbit"}
_WORDS = {True: "kept", False: "none", None: "unknown, the keyring does not answer"}


def _has_keys(mode: str) -> bool | None:
    from chain.wallet.keyring_store import find_keyring

    try:
        return find_keyring().text_of(keyring_name(mode)) is not None
    except KeyringUnusableError:
        return None


def _kept(session: Session, mode: str) -> int:
    from chain.wallet.keyring_store import find_keyring
    from zuno_tui.app.wallet_secrets import ask_model_key

    keyring = find_keyring()
    keys = VenueKeys(
        _checked(ask_model_key(f"{_WHOSE[mode]}: the API key")),
        _checked(ask_model_key(f"{_WHOSE[mode]}: the secret")),
    )
    keyring.keep_text(keyring_name(mode), msgspec.json.encode(keys).decode())
    if session.as_json:
        print_json({"kept": keyring_name(mode), "in": keyring.title})
    say(
        f"{keyring.title} keeps the keys. A key that may trade and nothing else is enough. "
        f'To use it: venue = "{mode}" under [trade] in {session.home.settings}'
    )
    return DONE


def _checked(text: str) -> str:
    key = text.strip()
    if not key or not key.isascii() or not key.isprintable() or " " in key:
        raise SettingsError("That holds a character that no key has. Nothing was kept.")
    return key
