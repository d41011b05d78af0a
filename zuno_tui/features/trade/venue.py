"""`zuno venue`: which venue is set and whether its keys are kept; keys go into the keyring."""

import sqlite3
import time
from argparse import Namespace
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager, suppress

import msgspec
from msgspec import Struct

from chain.base.errors import Failure, ZunoError
from chain.base.home import Home
from chain.devnet.defaults import control_url
from chain.exchange.orders.ccxt_client import VenuePackageError
from chain.exchange.orders.engine import OrderNotice, bare_trades, unfinished_plans
from chain.exchange.orders.journal import TradeJournal
from chain.exchange.orders.venue import Venue, VenueEntry, VenueFees, VenueKeys, VenueOpening
from chain.exchange.orders.venues import venue_entries
from chain.exchange.public.binance import BASE_URL, SOURCE, BinancePublic, ExchangeAddress
from chain.prices.market_http import RESTING, MarketError
from chain.wallet import keyring_store
from chain.wallet.errors import KeyringUnusableError, WalletError
from chain.wallet.keyring_store import Keyring
from zuno_tui.app.session import Session, say
from zuno_tui.features.trade.settings import TradeTable
from zuno_tui.present.exit_codes import DONE
from zuno_tui.present.output import print_json, print_lines
from zuno_tui.settings import SettingsError
from zuno_tui.settings.check import refuse_plain

CLOSED_TO_LOOKERS = (VenuePackageError, WalletError, sqlite3.Error)
"""What keeps somebody who only looks from a venue, beside what the venue itself says."""

EMBEDDED = "the demo's exchange"


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
    fees: VenueFees


def exchange_address(session: Session, entry: VenueEntry | None = None) -> ExchangeAddress:
    """The one that was set; on the embedded chain its own, else the venue's, or Binance."""
    url = session.settings.table(TradeTable).url
    if url is not None:
        return ExchangeAddress(url.strip(), "the exchange that is set")
    if session.network.clock == "head":
        return ExchangeAddress(control_url(session.endpoints[0]), EMBEDDED)
    entry = entry or venue_entry(session)
    return ExchangeAddress(*(entry.address or (BASE_URL, SOURCE)))


def venue_entry(session: Session, name: str | None = None) -> VenueEntry:
    """By its name, or the one that is set."""
    name = name or session.settings.table(TradeTable).venue
    found = venue_entries().get(name)
    if found is None:
        raise SettingsError(f"No venue is called {name}. There are: {', '.join(venue_entries())}")
    return found


@asynccontextmanager
async def open_venue(session: Session, name: str | None = None) -> AsyncIterator[OpenVenue]:
    """To look alone: what a crash left between stays as it is."""
    session.home.prepare()
    entry = venue_entry(session, name)
    address = exchange_address(session, entry)
    # Asked for before anything is opened: without keys there is nothing to open.
    keys = VenueKeys("", "") if entry.prompts is None else venue_keys(entry)
    if entry.prompts is not None:
        refuse_plain(address.base_url, "trade.url", "the account's key")
    async with BinancePublic(address) as market:
        paper, start = session.home.paper, session.settings.table(TradeTable).paper_usd
        venue = entry.open(VenueOpening(market, address.base_url, keys, paper, start))
        try:
            with TradeJournal.open(session.home.trades) as journal, _kept_bans(journal):
                yield OpenVenue(market, venue, journal, entry.fees)
        except MarketError as error:
            raise VenueUnreadError(
                f"The market cannot be read: {error}. Try again, or name another server of "
                f"Binance's shapes: url under [trade] in {session.home.settings}"
            ) from None
        finally:
            await venue.close()


@contextmanager
def _kept_bans(journal: TradeJournal) -> Iterator[None]:
    """A venue that wants to be left alone wants that of every process on this machine."""
    before = journal.rest_times()
    for host, until in before.items():
        RESTING[host] = max(until, RESTING.get(host, 0.0))
    try:
        yield
    finally:
        now = time.time()
        after = {host: until for host, until in RESTING.items() if until > now}
        if after != before:
            journal.keep_resting(after)


def has_hedges(home: Home) -> bool:
    """Whether there is any reason to open a venue for hedges."""
    if not home.trades.exists():
        return False
    with TradeJournal.open(home.trades) as journal:
        return journal.has_hedges()


def unfinished_venues(home: Home) -> tuple[str, ...]:
    """Where an order may still change, by the journal alone: also where none is sent any more."""
    with TradeJournal.open(home.trades) as journal:
        plans = unfinished_plans(journal.entries())
    return tuple(dict.fromkeys(rows[0].venue.partition(":")[0] for rows in plans))


def taken_urgent(home: Home) -> dict[str, str]:
    """What happened since somebody took it last, by plan."""
    with TradeJournal.open(home.trades) as journal:
        return journal.take_urgent()


def trades_by_journal(home: Home, name: str, reason: str) -> tuple[OrderNotice, ...]:
    """Trades without a stop by the journal alone; none where that cannot be read either."""
    with suppress(sqlite3.Error), TradeJournal.open(home.trades) as journal:
        entries = journal.entries()
        there = [entry for entry in entries if entry.venue.partition(":")[0] == name]
        return bare_trades(there, reason)
    return ()


def venue_keys(entry: VenueEntry) -> VenueKeys:
    """From the keyring alone; refuses where there are none."""
    kept = keyring_store.find_keyring().text_of(entry.keyring)
    if kept is None:
        raise VenueKeysError(
            f"No keys are kept for {entry.name} trading. Keep them: zuno venue {entry.name}. "
            'Or trade with made-up money: venue = "paper" under [trade].'
        )
    return msgspec.json.decode(kept, type=VenueKeys)


def _with_keys() -> dict[str, VenueEntry]:
    return {name: entry for name, entry in venue_entries().items() if entry.prompts is not None}


def run(arguments: Namespace) -> int:
    session = Session.start(arguments)
    if arguments.remove:
        return _removed(session, arguments.mode, anyway=arguments.anyway)
    return _show_venue(session) if arguments.mode is None else _keep_keys(session, arguments.mode)


def _removed(session: Session, mode: str | None, *, anyway: bool) -> int:
    """Without its keys nobody here can close what is held there: that is asked about first."""
    if mode is None:
        raise SettingsError(f"Whose keys? Name one: zuno venue {'|'.join(_with_keys())} --remove")
    name = _keyed(session, mode).keyring
    held = held_by_journal(session.home, mode)
    if held and not anyway:
        coins = ", ".join(f"{coins:+g} {symbol}" for symbol, coins in sorted(held.items()))
        raise VenueKeysError(
            f"By the journal {mode} still holds {coins}. Without its keys zuno cannot close it. "
            f"Close it first (zuno unhedge all), or: zuno venue {mode} --remove --anyway"
        )
    keyring = keyring_store.find_keyring()
    kept = keyring.text_of(name)
    if kept is not None:
        with suppress(msgspec.DecodeError):  # what cannot be read can be removed all the same
            _give_up(keyring, _keyed(session, mode), msgspec.json.decode(kept, type=VenueKeys))
    keyring.forget(name)
    if session.as_json:
        print_json({"removed": name, "from": keyring.title})
    say(f"{keyring.title} no longer keeps keys for {mode}. Revoke them at the venue, too.")
    return DONE


def held_by_journal(home: Home, mode: str) -> dict[str, float]:
    """By contract, what was bought less what was sold there; no venue is asked."""
    if not home.trades.exists():
        return {}
    sums: dict[str, float] = {}
    with TradeJournal.open(home.trades) as journal:
        for entry in journal.entries():
            if entry.answer is not None and entry.venue.partition(":")[0] == mode:
                filled = entry.answer.filled * entry.order.side.sign
                sums[entry.order.symbol] = sums.get(entry.order.symbol, 0.0) + filled
    return {symbol: coins for symbol, coins in sums.items() if abs(coins) > _DUST}


_DUST = 1e-9


def held_elsewhere(session: Session) -> dict[str, dict[str, float]]:
    """Real money that is held, by the journal, where no order goes any more."""
    table = session.settings.table(TradeTable)
    names = _with_keys().keys() - {table.venue, table.spot_venue}
    found = {name: held_by_journal(session.home, name) for name in sorted(names)}
    return {name: held for name, held in found.items() if held}


def _show_venue(session: Session) -> int:
    """What is set, without a word of any key."""
    entry = venue_entry(session)
    kept = {name: _has_keys(entry) for name, entry in _with_keys().items()}
    if session.as_json:
        print_json({"venue": entry.name, "keys": kept})
        return DONE
    lines = [f"Orders go to {entry.name}: {entry.what}."]
    lines += [f"  keys for {name}: {_WORDS[has]}" for name, has in kept.items()]
    print_lines(lines)
    names = ", ".join(f'"{name}"' for name in venue_entries())
    say(f"Set another under [trade] in {session.home.settings}: venue = one of {names}")
    return DONE


_WORDS = {True: "kept", False: "none", None: "unknown, the keyring does not answer"}


def _keyed(session: Session, name: str) -> VenueEntry:
    entry = venue_entry(session, name)
    if entry.prompts is None:
        raise SettingsError(f"{entry.name} needs no keys. Those that do: {', '.join(_with_keys())}")
    return entry


def _has_keys(entry: VenueEntry) -> bool | None:
    try:
        return keyring_store.find_keyring().text_of(entry.keyring) is not None
    except KeyringUnusableError:
        return None


def _keep_keys(session: Session, name: str) -> int:
    from zuno_tui.app.wallet_secrets import ask_model_key

    entry = _keyed(session, name)
    keyring = keyring_store.find_keyring()
    keys = VenueKeys(
        *(_checked(ask_model_key(f"{entry.title}: {words}")) for words in entry.prompts or ())
    )
    fault = entry.check_keys(keys) or _reused(keyring, entry, keys)
    if fault is not None:
        raise SettingsError(f"{fault} Nothing was kept.")
    keyring.keep_text(entry.keyring, msgspec.json.encode(keys).decode())
    if session.home.trades.exists():
        with TradeJournal.open(session.home.trades) as journal:
            journal.forget_key_ends()
    if session.as_json:
        print_json({"kept": entry.keyring, "in": keyring.title})
    say(
        f"{keyring.title} keeps the keys. {entry.advice} "
        f'To use it: venue = "{name}" under [trade] in {session.home.settings}'
    )
    return DONE


def _reused(keyring: Keyring, entry: VenueEntry, keys: VenueKeys) -> str | None:
    """A venue may forget what an identity signed that was given up: it could be sent again."""
    signer, before = entry.identity(keys), keyring.text_of(entry.keyring)
    given_up = (keyring.text_of(_given_up(entry)) or "").split()
    if signer in given_up:
        return f"{signer} was used here before and given up. Make a new one."
    if before is not None:
        _give_up(keyring, entry, msgspec.json.decode(before, type=VenueKeys), but=signer)
    return None


def _give_up(keyring: Keyring, entry: VenueEntry, keys: VenueKeys, but: str | None = None) -> None:
    signer, name = entry.identity(keys), _given_up(entry)
    if signer is not None and signer != but:
        keyring.keep_text(name, f"{keyring.text_of(name) or ''} {signer}".strip())


def _given_up(entry: VenueEntry) -> str:
    return f"{entry.keyring}:given-up"


def _checked(text: str) -> str:
    key = text.strip()
    if not key or not key.isascii() or not key.isprintable() or " " in key:
        raise SettingsError("A key cannot contain that character. Nothing was saved.")
    return key
