"""`zuno wallet`: new, import, list, use, check and remove."""

from __future__ import annotations

import asyncio
from argparse import Namespace
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import to_builtins

from chain.contracts.addresses import checksum
from chain.contracts.networks import Address
from chain.wallet.address_book import KeyStorage, Wallet, change_book, read_book
from chain.wallet.errors import WalletError, WalletRefusedError
from chain.wallet.secrets import Passphrase, PrivateKey, guard_process
from zuno_tui.app.session import Session, say
from zuno_tui.present.exit_codes import DONE
from zuno_tui.present.output import Json, print_json, print_lines, table
from zuno_tui.present.terminal import columns

if TYPE_CHECKING:
    from chain.wallet.keystore import StoredKey
    from zuno_tui.present.answer import CommandAnswer


def run_action(action: str, arguments: Namespace) -> int:
    guard_process()
    session = Session.start(arguments)
    return _ACTIONS[action](session, arguments)


def _new(session: Session, arguments: Namespace) -> int:
    with PrivateKey.generate() as key:
        return _keep(session, arguments, key, None)


def _import(session: Session, arguments: Namespace) -> int:
    from chain.wallet.keystore import watch
    from zuno_tui.app.portfolio import address_given

    if arguments.watched is not None:
        if arguments.keystore or arguments.unsafe_key_file or arguments.seed_phrase:
            raise WalletError("An address is watched without a key: give one or the other.")
        address = address_given(arguments.watched, session.settings, session.network)
        return _report_key(session, watch(session.home, address, name=arguments.name))
    if arguments.keystore:
        return _import_keystore(session, arguments)
    from zuno_tui.app.wallet_secrets import ask_key, ask_seed_phrase, key_in_file

    if arguments.seed_phrase:
        with ask_seed_phrase(arguments.account) as key:
            say(f"Account {arguments.account} of it is {checksum(key.address)}.")
            return _keep(session, arguments, key, None)
    plain: Path | None = arguments.unsafe_key_file
    with ask_key() if plain is None else key_in_file(plain) as key:
        code = _keep(session, arguments, key, None)
    if plain is not None:
        say(f"{plain} still holds the key in plain text. Delete it: shred -u {plain}")
    return code


def _import_keystore(session: Session, arguments: Namespace) -> int:
    from chain.wallet.keystore_file import read_keystore
    from zuno_tui.app.wallet_secrets import ask_passphrase

    with (
        ask_passphrase(arguments.keystore.name, arguments.passphrase_file) as opening,
        read_keystore(arguments.keystore, opening) as key,
    ):
        # Kept in a file, it opens with the passphrase its owner already knows.
        return _keep(session, arguments, key, Passphrase(opening.reveal()))


def _keep(session: Session, arguments: Namespace, key: PrivateKey, known: Passphrase | None) -> int:
    from chain.wallet.keystore import StoreChoice, keep_key
    from zuno_tui.app.wallet_secrets import ask_new_passphrase, is_long_enough

    def new_passphrase(why: str) -> Passphrase:
        say(f"{why} The key goes into a file, encrypted under a passphrase.")
        if known is not None and is_long_enough(known):
            say("The passphrase stays the same.")
            return known
        return ask_new_passphrase(arguments.passphrase_file)

    kept = keep_key(
        session.home,
        key,
        name=arguments.name,
        choice=StoreChoice(arguments.store),
        new_passphrase=new_passphrase,
    )
    return _report_key(session, kept)


def _report_key(session: Session, kept: StoredKey) -> int:
    wallet = kept.wallet
    if session.as_json:
        print_json(
            {
                **_document(wallet, current=kept.current),
                "place": kept.place or None,
                "why": kept.why or None,
            }
        )
        return DONE
    print_lines([checksum(wallet.address)])
    say(f"{wallet.name}: {_STORED[wallet.keeping].format(place=kept.place)}")
    if kept.current:
        say("It is the current wallet.")
    return DONE


_STORED = {
    KeyStorage.KEYRING: "the key is in {place}. It has no other copy here: keep one of your own.",
    KeyStorage.FILE: "the key is in {place}. Keep a copy of that file, and the passphrase.",
    KeyStorage.NOWHERE: "watched, without a key. It works everywhere except signing.",
    KeyStorage.LEDGER: "the key stays on the Ledger, which asks you to confirm each signature.",
    KeyStorage.PROGRAM: "the program that wallet.signer names signs for it.",
    KeyStorage.SAFE: "its owners sign. Add each owner whose key you have: zuno wallet",
}


def _ledger(session: Session, arguments: Namespace) -> int:
    from zuno_tui.app.device_wallets import ledger_accounts

    return _report_accounts(session, ledger_accounts(session, arguments))


def _signer(session: Session, arguments: Namespace) -> int:
    from zuno_tui.app.device_wallets import signer_accounts

    return _report_accounts(session, signer_accounts(session, arguments))


def _safe(session: Session, arguments: Namespace) -> int:
    from zuno_tui.app.safe_wallet import watch_safe

    return _report_accounts(session, asyncio.run(watch_safe(session, arguments)))


def _report_accounts(session: Session, found: StoredKey | CommandAnswer) -> int:
    from zuno_tui.present.answer import CommandAnswer, print_answer

    if isinstance(found, CommandAnswer):
        return print_answer(found, as_json=session.as_json)
    return _report_key(session, found)


def _list(session: Session, _: Namespace) -> int:
    from zuno_tui.app.delegation import account_words, read_account_codes

    book = read_book(session.home.keystore)
    addresses = [wallet.address for wallet in book.wallets]
    # Nobody is asked whom the person did not name: listing wallets tells no stranger of them.
    named = session.network.name in session.settings.endpoints
    codes: dict[Address, bytes | None] = dict.fromkeys(addresses)
    if named and addresses:
        codes = asyncio.run(read_account_codes(session, addresses))
    accounts = {each: account_words(session.network, code) for each, code in codes.items()}
    if session.as_json:
        print_json(
            {
                "current": book.current,
                "network": session.network.name,
                "wallets": [
                    {
                        **_document(wallet, current=wallet.address == book.current),
                        "account": accounts[wallet.address],
                    }
                    for wallet in book.wallets
                ],
            }
        )
        return DONE
    if not book.wallets:
        say("No wallets yet. Make a key with zuno wallet new, or import one: zuno wallet import")
        return DONE
    rows = [
        (
            "●" if wallet.address == book.current else "",
            wallet.name,
            checksum(wallet.address),
            wallet.keeping.value,
            _signs(wallet),
            accounts[wallet.address],
        )
        for wallet in book.wallets
    ]
    titles = columns(
        "", "NAME", "ADDRESS", "KEY IN", "SIGNS", f"ON {session.network.title.upper()}"
    )
    print_lines(table(titles, rows))
    return DONE


def _signs(wallet: Wallet) -> str:
    if wallet.keeping is KeyStorage.SAFE:
        return "its owners"
    return "no" if wallet.watch_only else "yes"


def _use(session: Session, arguments: Namespace) -> int:
    wallet = read_book(session.home.keystore).find(arguments.wallet)
    change_book(session.home.keystore, lambda book: book.with_current(wallet.address))
    chosen = session.settings.address
    overruled = chosen is not None and chosen != wallet.address
    if session.as_json:
        print_json(
            {**_document(wallet, current=True), "overruledBy": chosen if overruled else None}
        )
        return DONE
    say(f"{wallet.name} is the current wallet: {checksum(wallet.address)}")
    if overruled:
        say(f"But an address in {session.home.settings} or ZUNO_ADDRESS is used first.")
    return DONE


def _check(session: Session, arguments: Namespace) -> int:
    from chain.wallet.keystore import open_key
    from zuno_tui.app.device_wallets import check_device
    from zuno_tui.app.wallet_secrets import ask_passphrase

    wallet = read_book(session.home.keystore).find(arguments.wallet)
    if wallet.keeping in (KeyStorage.LEDGER, KeyStorage.PROGRAM):
        check_device(session.devices, wallet)
    else:
        open_key(
            session.home, wallet, lambda: ask_passphrase(wallet.name, arguments.passphrase_file)
        ).wipe()
    if session.as_json:
        print_json({**_document(wallet, current=None), "opens": True})
    else:
        where = wallet.keeping.value
        say(f"{wallet.name} is unlocked: its key is in the {where} and matches its address.")
    return DONE


def _remove(session: Session, arguments: Namespace) -> int:
    from chain.wallet.keystore import remove

    wallet = read_book(session.home.keystore).find(arguments.wallet)
    if not _confirmed(wallet, arguments.confirm):
        raise WalletRefusedError(
            f"{wallet.name} was not removed. Type its name when asked, "
            f"or without a terminal: --confirm {checksum(wallet.address)}"
        )
    remove(session.home, wallet)
    if session.as_json:
        print_json({**_document(wallet, current=None), "removed": True})
    else:
        say(f"{wallet.name} is removed: {_GONE[wallet.keeping]}")
    return DONE


_GONE = {
    KeyStorage.KEYRING: "its key is no longer in the keyring.",
    KeyStorage.FILE: "its keystore file is deleted.",
    KeyStorage.NOWHERE: "it is no longer watched.",
    KeyStorage.LEDGER: "its key is still on the Ledger.",
    KeyStorage.PROGRAM: "its key is still where it was.",
    KeyStorage.SAFE: "it is no longer watched.",
}


def _confirmed(wallet: Wallet, given: str | None) -> bool:
    from zuno_tui.app.wallet_secrets import typed_word

    if given is not None:
        return given.lower() == wallet.address
    say(f"{wallet.name}: {checksum(wallet.address)} ({wallet.keeping.value})")
    if wallet.keeping in (KeyStorage.KEYRING, KeyStorage.FILE):
        say("Its key will be deleted from this machine. Without a copy, what it holds is lost.")
    return typed_word(f"Type {wallet.name} to remove it: ") == wallet.name


def _document(wallet: Wallet, *, current: bool | None) -> dict[str, Json]:
    return {
        **to_builtins(wallet),
        "watchOnly": wallet.watch_only,
        **({} if current is None else {"current": current}),
    }


def _watch_key(session: Session, arguments: Namespace) -> int:
    from zuno_tui.app.watch_key import run

    return run(session, arguments)


_ACTIONS = {
    "watch-key": _watch_key,
    "ledger": _ledger,
    "signer": _signer,
    "safe": _safe,
    "new": _new,
    "import": _import,
    "list": _list,
    "use": _use,
    "check": _check,
    "remove": _remove,
}
