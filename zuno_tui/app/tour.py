"""`zuno tour`: what there is, step by step; at a terminal Enter runs each command."""

import shlex
import subprocess
import sys
from argparse import Namespace
from collections.abc import Iterator

from msgspec import Struct

from chain.base.own_program import own_program
from zuno_tui.app.session import say
from zuno_tui.present.answer import CommandAnswer
from zuno_tui.present.exit_codes import DONE
from zuno_tui.present.output import print_json, print_lines

_FLAGS = ("network", "rpc", "address", "home")


class TourStep(Struct, frozen=True):
    words: str
    command: str
    """Nothing of the tour signs or sends."""


STEPS = (
    TourStep(
        "What you hold, where the price is in each range, what you can collect.", "zuno positions"
    ),
    TourStep("What a word on the screen means; any of them.", "zuno glossary edge"),
    TourStep("What the positions earned and lost by day.", "zuno earned week"),
    TourStep("Every position at another price.", "zuno what-if ETH -10"),
    TourStep(
        "Plain sentences work, too. This shows which command a sentence means, and runs nothing.",
        'zuno say "what should i do with the one out of range" --dry-run',
    ),
    TourStep("Get an alert at a price, while a monitor runs.", "zuno alert ETH below 2500"),
    TourStep("What needs somebody.", "zuno alerts"),
    TourStep("The pools, and what the wallet holds.", "zuno pools"),
    TourStep("What closing every position would bring, tried without sending.", "zuno exit-drill"),
)
_CLOSING = (
    "From here: zuno recommend ID lets four agents argue about a position; zuno move ID LOW HIGH "
    "plans a range of your own. Then zuno approve, and zuno apply with the typed word: nothing "
    "is signed before it. The desk, zuno or zuno demo, has all of it on one screen."
)
_OPENING = "It needs a network to speak to: zuno demo in another shell is enough, with no key."


async def desk_tour() -> CommandAnswer:
    """The same at the desk, where each is typed at the prompt."""
    lines = ["Each of these is typed at the prompt (:). None signs or sends anything.", ""]
    for number, step in enumerate(STEPS, 1):
        typed = shlex.split(step.command.removeprefix("zuno ").removesuffix(" --dry-run"))
        line = typed[1] if typed[0] == "say" else " ".join(typed)
        lines += [f"{number}. {step.words}", f"   {line}"]
    document = [{"words": step.words, "command": step.command} for step in STEPS]
    return CommandAnswer(tuple(lines), document)


def run(arguments: Namespace) -> int:
    if arguments.json:
        print_json([{"words": step.words, "command": step.command} for step in STEPS])
        return DONE
    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        print_lines(_printed())
        return DONE
    say(_OPENING)
    for number, step in enumerate(STEPS, 1):
        say(f"\n{number} of {len(STEPS)}. {step.words}\n$ {step.command}")
        sys.stderr.write("Enter runs it, s skips it, q ends the tour: ")
        sys.stderr.flush()
        match sys.stdin.readline().strip().lower():
            case "q":
                return DONE
            case "":
                _run_step(step, arguments)
    say(f"\n{_CLOSING}")
    return DONE


def _printed() -> Iterator[str]:
    yield _OPENING
    for number, step in enumerate(STEPS, 1):
        yield f"{number}. {step.words}"
        yield f"   $ {step.command}"
    yield _CLOSING


def _run_step(step: TourStep, arguments: Namespace) -> None:
    chosen = [
        word
        for name in _FLAGS
        if (value := getattr(arguments, name)) is not None
        for word in (f"--{name}", str(value))
    ]
    words = [*shlex.split(step.command)[1:], *chosen]
    subprocess.run(own_program("zuno_tui", *words), check=False)  # noqa: S603
