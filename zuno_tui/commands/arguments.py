"""The words and flags of the command line."""

from __future__ import annotations

import argparse
import re
from pathlib import Path

from zuno_tui.commands.alert_arguments import add_watching
from zuno_tui.commands.changing_arguments import add_changing
from zuno_tui.commands.wallet_arguments import DiscreetParser, add_wallet, passphrase_flag

_DESCRIPTION = (
    "A terminal desk for people who provide liquidity on Uniswap v4. "
    "Without a command it opens the desk."
)
_EPILOG = (
    "stdout is data, stderr is words. "
    "Exit codes: 0 done, 1 failed, 2 usage, 3 refused by policy, 4 network."
)


def build_parser() -> argparse.ArgumentParser:
    parser: argparse.ArgumentParser = DiscreetParser(
        prog="zuno", description=_DESCRIPTION, epilog=_EPILOG, parents=[_shared_flags(None)]
    )
    parser.add_argument("--version", action="store_true", help="print the version and stop")
    _desk_flags(parser)
    # A flag may stand before or after the command; suppressed, the second does not undo the first.
    shared = _shared_flags(argparse.SUPPRESS)
    commands = parser.add_subparsers(dest="command", metavar="COMMAND")

    positions = commands.add_parser("positions", parents=[shared], help="a wallet's positions")
    positions.add_argument("--since-entry", action="store_true", help="add profit against holding")

    inspect = commands.add_parser("inspect", parents=[shared], help="one position, everything")
    inspect.add_argument("token_id", metavar="ID", type=token_id)

    pools = commands.add_parser("pools", parents=[shared], help="pools of the network's tokens")
    pools.add_argument("--token", metavar="SYMBOL", help="only pools that hold this token")
    pools.add_argument("--refresh", action="store_true", help="ask the chain, not the memory")

    recommend = commands.add_parser("recommend", parents=[shared], help="argue about a position")
    recommend.add_argument("token_id", metavar="ID", type=token_id)
    create = commands.add_parser("create", parents=[shared], help="argue about a new position")
    create.add_argument("phrase", metavar="PHRASE", help='like "0.5 WETH with USDC, conservative"')
    for arguing in (recommend, create):
        arguing.add_argument("--profile", choices=("conservative", "balanced", "aggressive"))
        arguing.add_argument("--stream", action="store_true", help="print the debate as it runs")
        arguing.add_argument(
            "--deterministic",
            action="store_true",
            default=argparse.SUPPRESS,
            help="ask no model",
        )
    plan = commands.add_parser("plan", parents=[shared], help="show a plan, the latest by default")
    explain = commands.add_parser("explain", parents=[shared], help="show why: the whole debate")
    approve = commands.add_parser("approve", parents=[shared], help="see what would be signed")
    diff = commands.add_parser("diff", parents=[shared], help="the old range against the new")
    simulate = commands.add_parser("simulate", parents=[shared], help="try a plan, approve nothing")
    for choosing in (diff, simulate, approve):
        choosing.add_argument(
            "--candidate", metavar="N|exit", help="instead of the recommended one"
        )
    applying = commands.add_parser("apply", parents=[shared], help="sign and send what is approved")
    applying.add_argument(
        "--anyway", action="store_true", help="with --confirm: even if gas exceeds what it moves"
    )
    add_changing(commands, shared, token_id)
    outbox = commands.add_parser("outbox", parents=[shared], help="what was sent, where it stands")
    outbox.add_argument(
        "action",
        nargs="?",
        choices=("resume", "cancel", "speed-up", "resolve"),
        help="without one it only looks, and sends nothing",
    )
    for signing in (applying, outbox):
        signing.add_argument("--confirm", metavar="HASH", help="instead of the typed word")
        passphrase_flag(signing)
    for about in (plan, explain, diff, simulate, approve, applying, outbox):
        about.add_argument("plan_id", metavar="PLAN", nargs="?")
    replay = commands.add_parser("replay", parents=[shared], help="run a recorded debate again")
    replay.add_argument("record", metavar="RECORD", help="a record's file or request id")
    replay.add_argument("--rerun", metavar="N", type=int, default=0, help="ask the model N times")

    wallet = commands.add_parser("wallet", parents=[shared], help="keys, and who is watched")
    add_wallet(wallet, shared)
    add_watching(commands, shared)
    commands.add_parser("balances", parents=[shared], help="what the wallet holds")
    commands.add_parser("exit-drill", parents=[shared], help="try leaving every position now")
    doctor = commands.add_parser("doctor", parents=[shared], help="check all zuno depends on")
    doctor.add_argument(
        "--forget", metavar="0x…", type=address, help="let go of what is remembered of a contract"
    )
    commands.add_parser("locate", parents=[shared], help="where zuno keeps its files")
    _add_embedded(commands, shared)
    return parser


def _add_embedded(
    commands: argparse._SubParsersAction[argparse.ArgumentParser], shared: argparse.ArgumentParser
) -> None:
    demo = commands.add_parser("demo", parents=[shared], help="the desk on the embedded chain")
    demo.add_argument("--text", action="store_true", help="print the demo's positions, no screen")
    _desk_flags(demo, argparse.SUPPRESS)

    devnet = commands.add_parser("devnet", help="the embedded chain as a JSON-RPC server")
    devnet.add_argument("--port", type=int, default=8545, help="0 picks a free one (default 8545)")
    devnet.add_argument("--seed", type=int, default=None, help="which market history")
    devnet.add_argument(
        "--speed", type=float, default=None, help="market time per real time; 0 pauses"
    )
    devnet.add_argument("--world", choices=("week", "small"), default="week")
    devnet.add_argument("--build-only", action="store_true", help="build the world and stop")


def _desk_flags(parser: argparse.ArgumentParser, absent: str | None = None) -> None:
    desk = parser.add_argument_group("the desk", argument_default=absent)
    desk.add_argument("--theme", metavar="NAME", help="zuno-dark, zuno-light, … or colourless")
    for flag, does in (
        ("--ascii", "draw with plain characters only"),
        ("--no-bell", "no bell for critical alerts"),
        ("--deterministic", "ask no model"),
    ):
        desk.add_argument(flag, action="store_true", default=absent or False, help=does)


def address(text: str) -> str:
    if re.fullmatch(r"0x[0-9a-fA-F]{40}", text) is None:
        raise argparse.ArgumentTypeError("an address is 0x and 40 hexadecimal digits")
    return text.lower()


def token_id(text: str) -> int:
    digits = text.removeprefix("#")
    if not digits.isascii() or not digits.isdigit() or int(digits) >= 2**256:
        raise argparse.ArgumentTypeError(f"{text!r} is not a position's number, like 7 or #7")
    return int(digits)


def _shared_flags(absent: str | None) -> argparse.ArgumentParser:
    shared = argparse.ArgumentParser(add_help=False, argument_default=absent)
    shared.add_argument("--network", metavar="NAME", help="which network, by name or chain id")
    shared.add_argument("--rpc", metavar="URL", help="endpoints for this run, comma-separated")
    shared.add_argument("--address", metavar="0x…", help="whose positions; or an ENS name")
    shared.add_argument("--unit", choices=("usd", "eth"), help="show values in this")
    shared.add_argument(
        "--alone",
        action="store_const",
        const=True,
        help="let one endpoint vouch where others are silent",
    )
    shared.add_argument("--home", metavar="DIR", type=Path, help="instead of ~/.zuno")
    shared.add_argument(
        "--json", action="store_const", const=True, help="data for programs on stdout"
    )
    return shared
