"""`zuno wallet`: whose keys there are, where each is, and what they are lent to."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

from zuno_tui.app.feature import ActionMaker
from zuno_tui.catalog.command import Command, Group, Verb
from zuno_tui.intents.arguments import (
    PASSPHRASE_FILE,
    read_address,
    read_file_name,
    read_without_key,
)
from zuno_tui.intents.intent import Argument, Intent, OneOf
from zuno_tui.intents.intents import WALLET, UseWallet

if TYPE_CHECKING:
    from zuno_tui.app.session import Session
    from zuno_tui.intents.remaining import Remaining

_NAME = Argument("--name", "what to call it", metavar="NAME", read=read_without_key)
_STORE = Argument(
    "--store",
    "best: the system's keyring, else an encrypted file",
    choices=("best", "keyring", "file"),
)


def _read_account(text: str) -> int:
    if not text.isascii() or not text.isdigit() or len(text) > 2:
        raise ValueError(f"{text!r} is not an account's number, from 0 to 99")
    return int(text)


class NewWallet(Intent, frozen=True):
    command: ClassVar = ("wallet", "new")
    arguments: ClassVar = (_NAME, _STORE, PASSPHRASE_FILE)

    name: str | None = None
    store: str = "best"
    passphrase_file: Path | None = None


class ImportWallet(Intent, frozen=True):
    command: ClassVar = ("wallet", "import")
    arguments: ClassVar = (
        Argument(
            "watched",
            "an address or ENS name to watch, without a key",
            metavar="ADDRESS",
            read=read_without_key,
        ),
        OneOf(
            (
                Argument("--keystore", "a keystore v3 file", metavar="FILE", read=read_file_name),
                Argument(
                    "--unsafe-key-file",
                    "a private key in plain text, 0600",
                    metavar="FILE",
                    read=read_file_name,
                ),
                Argument(
                    "--seed-phrase",
                    "ask for a seed phrase, hidden, and keep its account's key",
                    switch=True,
                ),
            )
        ),
        Argument("--account", "of the seed phrase, from 0", metavar="N", read=_read_account),
        _NAME,
        _STORE,
        PASSPHRASE_FILE,
    )

    watched: str | None = None
    keystore: Path | None = None
    unsafe_key_file: Path | None = None
    seed_phrase: bool = False
    account: int = 0
    name: str | None = None
    store: str = "best"
    passphrase_file: Path | None = None


class LedgerWallet(Intent, frozen=True):
    command: ClassVar = ("wallet", "ledger")
    arguments: ClassVar = (
        Argument("path", "the account to add, as listed", metavar="PATH", read=read_without_key),
        Argument(
            "--scheme",
            "how its accounts are counted",
            choices=("live", "bip44", "legacy"),
        ),
        Argument("--page", "the next five accounts", metavar="N", read=_read_account),
        _NAME,
    )

    path: str | None = None
    scheme: str | None = None
    page: int = 1
    name: str | None = None


class SignerWallet(Intent, frozen=True):
    command: ClassVar = ("wallet", "signer")
    arguments: ClassVar = (
        Argument("account", "the account to add, as listed", metavar="ADDRESS", read=read_address),
        _NAME,
    )

    account: str | None = None
    name: str | None = None


class SafeWallet(Intent, frozen=True):
    command: ClassVar = ("wallet", "safe")
    arguments: ClassVar = (
        Argument("safe", "the Safe's address", metavar="ADDRESS", read=read_address),
        _NAME,
    )

    safe: str
    name: str | None = None


_LENDER = Argument(
    "--for",
    "another wallet's account: its key signs, this one sends and pays",
    metavar="WALLET",
    field="lender",
)


class DelegateWallet(Intent, frozen=True):
    command: ClassVar = ("wallet", "delegate")
    arguments: ClassVar = (_LENDER,)

    lender: str | None = None


class UndelegateWallet(Intent, frozen=True):
    command: ClassVar = ("wallet", "undelegate")
    arguments: ClassVar = (_LENDER,)

    lender: str | None = None


class WatchKeyOf(Intent, frozen=True):
    command: ClassVar = ("wallet", "watch-key")
    arguments: ClassVar = (
        Argument(
            "what",
            "sweep sends back what is left for gas, remove deletes the key, export and import "
            "bring it to a second machine",
            metavar="sweep|remove|export|import",
            choices=("sweep", "remove", "export", "import"),
        ),
        Argument("file", "of export and import", metavar="FILE", read=read_file_name),
        Argument("--to", "where sweep sends it", metavar="ADDRESS", read=read_address),
        Argument(
            "--confirm", "without a terminal: the address", metavar="ADDRESS", read=read_address
        ),
        _STORE,
        PASSPHRASE_FILE,
    )

    what: str | None = None
    file: Path | None = None
    to: str | None = None
    confirm: str | None = None
    store: str = "best"
    passphrase_file: Path | None = None


class ListWallets(Intent, frozen=True):
    command: ClassVar = ("wallet", "list")


class CheckWallet(Intent, frozen=True):
    command: ClassVar = ("wallet", "check")
    arguments: ClassVar = (WALLET, PASSPHRASE_FILE)

    wallet: str
    passphrase_file: Path | None = None


class RemoveWallet(Intent, frozen=True):
    command: ClassVar = ("wallet", "remove")
    arguments: ClassVar = (
        WALLET,
        Argument(
            "--confirm",
            "without a terminal: its whole address",
            metavar="ADDRESS",
            read=read_without_key,
        ),
    )

    wallet: str
    confirm: str | None = None


def _running(action: str) -> Callable[[Namespace], int]:
    def run(arguments: Namespace) -> int:
        from zuno_tui.app.wallet import run_action

        return run_action(action, arguments)

    return run


def _read(said: Remaining) -> UseWallet:
    address = said.address() or said.ens_name()
    if address is None:
        said.refuse("which address: 0x and 40 hexadecimal digits, or an ENS name.", "settings")
    said.end("address", "account", "use")
    return UseWallet(address)


def _action(name: str, does: str, intent: type[Intent], *verbs: Verb) -> Command:
    run = _running(name)
    return Command(name=name, does=does, group=Group.SETUP, intent=intent, run=run, verbs=verbs)


def _read_delegating(
    intent: type[DelegateWallet | UndelegateWallet],
) -> Callable[[Remaining], Intent]:
    def read(said: Remaining) -> Intent:
        lender = said.address()
        said.end("wallet", "account", "my", "the", "plans", "transactions", "for", "--for")
        return intent(lender)

    return read


def _delegating(*, back: bool) -> Callable[[Session, Intent], ActionMaker]:
    def action(session: Session, intent: Intent) -> ActionMaker:
        from chain.standing_orders.book import StandingOrders
        from zuno_tui.app.device_wallets import delegates_by_device, lender_named
        from zuno_tui.gate.actions.wallet import action_to_delegate

        assert isinstance(intent, DelegateWallet | UndelegateWallet)
        lender = None if intent.lender is None else lender_named(session, intent.lender)
        account = session.address if lender is None else lender
        by_device = delegates_by_device(session, account) and not back
        # Whatever came of them: what a file says of that is not asked here.
        stand = back and any(
            kept.order.delegation_signed.delegator == account
            for kept in StandingOrders(session.home.orders).all()
            if kept.order.chain_id == session.network.chain_id
        )
        return lambda sources: action_to_delegate(
            sources,
            session.address,
            back=back,
            orders_stand=stand,
            by_device=by_device,
            lender=lender,
        )

    return action


COMMAND = Command(
    name="wallet",
    does="add wallets, choose one, delegate its account",
    group=Group.SETUP,
    reaches_network=False,
    needs_subcommand=True,
    subcommands=(
        _action("new", "make a new key", NewWallet),
        _action("import", "import a key, or an address to watch", ImportWallet),
        _action("ledger", "list a Ledger's accounts, or add one", LedgerWallet),
        _action("signer", "list the accounts of a program that signs, or add one", SignerWallet),
        _action("safe", "watch a Safe, whose owners sign what it does", SafeWallet),
        _action("list", "every wallet, where its key is, and which is current", ListWallets),
        _action(
            "use",
            "choose the wallet that is used when you name none",
            UseWallet,
            Verb(
                "watch", _read, "watch ADDRESS", does="look at another wallet", spoken=("wallet",)
            ),
        ),
        _action("check", "check that a wallet's key opens and fits, without signing", CheckWallet),
        _action("remove", "delete a wallet's key from this machine", RemoveWallet),
        _action("watch-key", "show or make the key that runs your orders", WatchKeyOf),
        Command(
            does="let the account send plans as one transaction",
            group=Group.SETUP,
            intent=DelegateWallet,
            action=_delegating(back=False),
            verbs=(
                Verb(
                    "delegate",
                    _read_delegating(DelegateWallet),
                    "delegate [for ADDRESS]",
                    spoken=(
                        "wallet delegate",
                        "delegate my account",
                        "one transaction",
                        "send plans as one transaction",
                        "batch",
                    ),
                ),
            ),
        ),
        Command(
            does="undo that: plans are sent in steps again",
            group=Group.SETUP,
            intent=UndelegateWallet,
            action=_delegating(back=True),
            verbs=(
                Verb(
                    "undelegate",
                    _read_delegating(UndelegateWallet),
                    "undelegate [for ADDRESS]",
                ),
            ),
        ),
    ),
)
