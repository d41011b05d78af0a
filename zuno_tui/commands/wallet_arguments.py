"""The words of `zuno wallet`, and a parser that never repeats a key somebody typed by mistake."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

from chain.base.secrecy import LIKE_A_KEY

if TYPE_CHECKING:
    from collections.abc import Callable

_EXPOSED = (
    "a private key is never given on the command line: other programs and the shell's history "
    "see it there. Treat that key as exposed, and move what it holds. "
    "zuno wallet import asks for a key without showing it"
)


class DiscreetParser(argparse.ArgumentParser):
    """Complains without quoting what looks like a key."""

    def error(self, message: str) -> NoReturn:
        super().error(LIKE_A_KEY.sub("(hidden)", message))


def add_wallet(wallet: argparse.ArgumentParser, shared: argparse.ArgumentParser) -> None:
    actions = wallet.add_subparsers(dest="wallet_action", metavar="ACTION", required=True)

    def add(name: str, words: str) -> argparse.ArgumentParser:
        return actions.add_parser(name, parents=[shared], help=words)

    _add_new(add)
    _add_import(add)
    add("list", "every wallet, where its key is, and which is current")
    use = add("use", "choose whose positions are meant when no address is given")
    use.add_argument("wallet", metavar="WALLET", type=_no_key, help="a name or an address")
    check = add("check", "open a wallet's key and see that it fits, without signing")
    check.add_argument("wallet", metavar="WALLET", type=_no_key, help="a name or an address")
    passphrase_flag(check)
    remove = add("remove", "delete a wallet's key from this machine")
    remove.add_argument("wallet", metavar="WALLET", type=_no_key, help="a name or an address")
    remove.add_argument(
        "--confirm", metavar="ADDRESS", type=_no_key, help="without a terminal: its whole address"
    )


def _add_new(add: Callable[[str, str], argparse.ArgumentParser]) -> None:
    new = add("new", "make a new key")
    _kept_flags(new)


def _add_import(add: Callable[[str, str], argparse.ArgumentParser]) -> None:
    importing = add("import", "bring a key, or an address to watch")
    importing.add_argument(
        "watched",
        metavar="ADDRESS",
        nargs="?",
        type=_no_key,
        help="watch it, keyless; or its ENS name",
    )
    source = importing.add_mutually_exclusive_group()
    source.add_argument("--keystore", metavar="FILE", type=_file, help="a keystore v3 file")
    source.add_argument(
        "--unsafe-key-file", metavar="FILE", type=_file, help="a private key in plain text, 0600"
    )
    _kept_flags(importing)


def _kept_flags(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--name", metavar="NAME", type=_no_key, help="what to call it")
    parser.add_argument(
        "--store",
        choices=("best", "keyring", "file"),
        default="best",
        help="best: the system's keyring, else an encrypted file",
    )
    passphrase_flag(parser)


def passphrase_flag(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--passphrase-file",
        metavar="FILE",
        type=_file,
        help="without a terminal: the keystore's passphrase from a file only you can read (0600)",
    )


def _file(text: str) -> Path:
    return Path(_no_key(text))


def _no_key(text: str) -> str:
    if LIKE_A_KEY.search(text):
        raise argparse.ArgumentTypeError(_EXPOSED)
    return text
