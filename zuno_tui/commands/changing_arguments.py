"""The words and flags of the commands that change a position or the wallet."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from chain.base.numerals import NumeralError, read_numeral

if TYPE_CHECKING:
    from collections.abc import Callable

    from chain.base.numerals import Numeral


def add_changing(
    commands: argparse._SubParsersAction[argparse.ArgumentParser],
    shared: argparse.ArgumentParser,
    token_id: Callable[[str], int],
) -> None:
    helps = {
        "collect": "approve taking fees out",
        "compound": "approve putting fees back into the range",
        "increase": "approve adding to a position",
        "decrease": "approve taking a part out",
        "close": "approve leaving a position",
    }
    changing = {
        name: commands.add_parser(name, parents=[shared], help=words)
        for name, words in helps.items()
    }
    for parser in changing.values():
        parser.add_argument("token_id", metavar="ID", type=token_id)
    changing["increase"].add_argument("amount", metavar="AMOUNT", help="at most this much, …")
    changing["increase"].add_argument(
        "token",
        metavar="TOKEN",
        nargs="?",
        help="… of this token, like 0.5 WETH; of the other, the wallet gives what the range takes",
    )
    changing["decrease"].add_argument(
        "percent", metavar="PCT", type=percent, help="from 1 to 99; for all of it: zuno close"
    )
    for name, words in (
        ("wrap", "approve turning the coin into its wrapped token"),
        ("unwrap", "approve turning it back"),
    ):
        turning = commands.add_parser(name, parents=[shared], help=words)
        turning.add_argument("amount", metavar="AMOUNT", type=amount, help="like 0.5")
    revoke = commands.add_parser(
        "revoke", parents=[shared], help="what is still allowed, and how to take it back"
    )
    revoke.add_argument("token", metavar="TOKEN", nargs="?", help="a symbol or an address")
    revoke.add_argument(
        "spender", metavar="SPENDER", nargs="?", help="Permit2, PositionManager, UniversalRouter"
    )
    revoke.add_argument("--all", action="store_true", help="approve taking everything back")
    export = commands.add_parser(
        "export", parents=[shared], help="the approved transactions for another signer"
    )
    export.add_argument("plan_id", metavar="PLAN", nargs="?")
    export.add_argument(
        "--format",
        choices=("safe", "raw"),
        default="safe",
        help="a batch for the Safe Transaction Builder (default), or a list for hardware wallets",
    )


def amount(text: str) -> Numeral:
    try:
        return read_numeral(text)
    except NumeralError as error:
        raise argparse.ArgumentTypeError(str(error)) from error


def percent(text: str) -> int:
    digits = text.removesuffix("%")
    if not digits.isascii() or not digits.isdigit():
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole percentage, like 25")
    return int(digits)
