"""`zuno venue`: which venue is set and whether its keys are kept; keys go into the keyring."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from chain.exchange.orders.ccxt_client import VenueKeys
from chain.wallet.errors import KeyringUnusableError
from zuno_tui.app.open_venue import keyring_name
from zuno_tui.app.session import Session, say
from zuno_tui.present.exit_codes import DONE
from zuno_tui.present.output import print_json, print_lines
from zuno_tui.settings import SettingsError

if TYPE_CHECKING:
    from argparse import Namespace

_MODES = ("demo", "live", "upbit")


def run(arguments: Namespace) -> int:
    session = Session.start(arguments)
    return _shown(session) if arguments.mode is None else _kept(session, arguments.mode)


def _shown(session: Session) -> int:
    """What is set, without a word of any key."""
    mode = session.settings.trade.venue
    kept = {one: _has_keys(one) for one in _MODES}
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
