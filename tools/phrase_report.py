"""How many of the recorded phrases still come to the command they came to when they were recorded.

    python -m tools.phrase_report [LIST ...] [--misses]

A list is a file of JSON lines: the phrase, what its author meant, and the command lines that were
understood; where none was, the lines that were offered back. A sentence that fills the line counts
as its command. Where nothing was understood then, a phrase may only be offered what was offered.
"""

from __future__ import annotations

import argparse
import json
import shlex
import sys
from fractions import Fraction
from pathlib import Path

from msgspec import Struct, convert

from chain.contracts.networks import all_networks
from chain.protocols.reference import v4_position
from zuno_tui.catalog.interpret import interpret
from zuno_tui.catalog.registry import registry
from zuno_tui.catalog.typed_line import may_look, words_of
from zuno_tui.intents.context import PhraseContext, SpokenPosition
from zuno_tui.intents.phrase_error import NotReadYetError, PhraseError
from zuno_tui.prompt.create_phrase import parse_create

LISTS = Path(__file__).parent.parent / "tests" / "zuno_tui" / "prompt" / "lists"
PROVIDERS, FRESH = "providers", "fresh"
"""The list with a wallet of its own, and the one nobody has tuned the grammar with."""

_WALLET = """
26 WBTC/USDC 0.3%    in_range      6960 31 29 95000
27 WETH/USDC 0.05%   in_range     23035 113 162 3100
29 USDC/USDT 0.01%   in_range     29998 9 9 1
30 WETH/USDC 0.3%    out_of_range  8585 26 26 3100
31 WETH/USDC 0.3%    empty            0 0 30 3100
33 ETH/USDC  0.3%    in_range     17794 182 151 3100
34 WETH/USDC dynamic in_range      9897 64 53 3100
35 WETH/USDC 0.3%    in_range      6043 32 31 3100
36 WETH/USDC 0.3%    out_of_range 15000 153 153 3100
37 WBTC/WETH 0.05%   in_range      8337 2 -40 30.65
38 WETH/USDC 0.05%   near_edge    12047 0 0 3100
"""
_PROVIDERS_WALLET = """
26 WETH/USDC 0.05% in_range     9000 50 10
27 ETH/USDC  0.3%  out_of_range 5000 20 5
28 WETH/USDC 0.3%  near_edge    4000 10 -40
33 WBTC/USDC 0.3%  in_range     3000 60 90
38 USDC/USDT 0.01% in_range     2000 70 20
"""


class RecordedPhrase(Struct, frozen=True):
    phrase: str
    meant: str
    lines: tuple[str, ...]
    choices: tuple[str, ...] = ()


class Outcome(Struct, frozen=True):
    """What a phrase comes to now."""

    lines: tuple[str, ...] = ()
    choices: tuple[str, ...] = ()
    runs: bool = False
    only_looks: bool = True
    exact: bool = False


class Share(Struct, frozen=True):
    name: str
    same: int
    count: int
    misses: tuple[str, ...]


def _position(line: str) -> SpokenPosition:
    number, pair, fee, state, *figures = line.split()
    return SpokenPosition(
        v4_position(int(number)), pair, fee, state.replace("_", " "), *map(Fraction, figures)
    )


def _desk(wallet: str, selected: int, alerts: tuple[tuple[str, int], ...]) -> PhraseContext:
    held = tuple(_position(line) for line in wallet.strip().splitlines())
    return PhraseContext(
        positions=tuple(position.ref for position in held),
        held=held,
        selected=v4_position(selected),
        plan_id="plan_0123456789abcdef",
        plan_position=v4_position(selected),
        candidates=("1", "exit"),
        argued=True,
        alerts=tuple(alert for alert, _ in alerts),
        alerts_of=tuple((alert, v4_position(token_id)) for alert, token_id in alerts),
    )


DESK = _desk(_WALLET, 30, (("1", 30), ("2", 36), ("3", 38), ("4", 26), ("5", 27)))
STRANGERS_DESK = _desk(
    f"{_WALLET}28 WETH/USDC 0.05% in_range 7000 20 10 3100\n"
    "32 WBTC/WETH 0.05% in_range 7000 20 10 30.65",
    28,
    (("1", 30), ("2", 36), ("3", 38), ("4", 26), ("5", 28)),
)
PROVIDERS_DESK = _desk(_PROVIDERS_WALLET, 28, (("3", 38), ("4", 26), ("5", 38)))


def list_names() -> list[str]:
    return sorted(path.stem for path in LISTS.glob("*.jsonl"))


def recorded(name: str) -> tuple[RecordedPhrase, ...]:
    lines = (LISTS / f"{name}.jsonl").read_text("utf-8").splitlines()
    return tuple(convert(json.loads(line), RecordedPhrase) for line in lines)


def desk_of(name: str) -> PhraseContext:
    return PROVIDERS_DESK if name == PROVIDERS else DESK


def outcome_of(phrase: str, desk: PhraseContext) -> Outcome:
    commands = registry()
    try:
        found = interpret(phrase, desk, commands)
    except NotReadYetError:
        return Outcome()
    lines = tuple(intent.twin for intent in found.intents)
    looks = all(may_look(intent, commands) for intent in found.intents)
    typed = " ".join(words_of(phrase)).lower()
    exact = any(typed.startswith(verb.name) for verb in commands.verbs)
    return Outcome(lines, found.choices, found.runs, looks, exact)


def is_same(record: RecordedPhrase, found: Outcome) -> bool:
    lines, then = [*map(_compared, found.lines)], [*map(_compared, record.lines)]
    if then:
        return lines == then
    offered = {*map(_compared, record.choices)}
    return all(line in offered for line in lines)


def _compared(line: str) -> str:
    """Letters in any case; a position to open by what its words come to."""
    program, *words = shlex.split(line)
    if words[:1] != ["create"]:
        return line.lower()
    try:
        phrase = parse_create(words[1], all_networks()[0])
    except PhraseError:
        return line.lower()
    goal = phrase.goal
    capital = sorted((part.token, part.amount) for part in goal.capital)
    return f"{program} {capital} {goal.pair} {goal.fee} {phrase.profile} {phrase.own_range}"


def share_of(name: str) -> Share:
    desk, same, misses = desk_of(name), 0, []
    records = recorded(name)
    for record in records:
        found = outcome_of(record.phrase, desk)
        if is_same(record, found):
            same += 1
        else:
            expected = record.lines or ("asked back",)
            misses.append(f"{record.phrase}  ->  {found.lines or 'asked back'}, not {expected}")
    return Share(name, same, len(records), tuple(misses))


def main(arguments: list[str]) -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("lists", nargs="*", metavar="LIST")
    parser.add_argument("--misses", action="store_true", help="print what differs")
    parsed = parser.parse_args(arguments)
    shares = [share_of(name) for name in parsed.lists or list_names()]
    for share in shares:
        print(f"{share.name:<20} {share.same:>5} of {share.count:<5} {_percent(share)}")
        if parsed.misses:
            print(*(f"  {miss}" for miss in share.misses), sep="\n")
    counted = [share for share in shares if share.name not in (PROVIDERS, FRESH)]
    if len(counted) < 2:
        return
    total = Share("recorded", sum(s.same for s in counted), sum(s.count for s in counted), ())
    print(f"{total.name:<20} {total.same:>5} of {total.count:<5} {_percent(total)}")


def _percent(share: Share) -> str:
    return f"{100 * share.same / max(1, share.count):.1f}%"


if __name__ == "__main__":
    main(sys.argv[1:])
