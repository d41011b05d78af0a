"""A sentence as the one command line that it stands for, for a process that asks in a child."""

import json
import sys

from zuno_tui.catalog.interpret import interpret
from zuno_tui.catalog.looks import only_reads
from zuno_tui.catalog.registry import registry
from zuno_tui.catalog.typed_line import typed_line
from zuno_tui.intents.context import PhraseContext
from zuno_tui.intents.intents import Recommend
from zuno_tui.intents.phrase_error import NotReadYetError


def print_line(sentence: str) -> None:
    """`line` is what may be typed, `looks` whether it only reads, `words` what to say instead."""
    commands = registry()
    try:
        found = interpret(sentence, PhraseContext(), commands)
    except NotReadYetError as unread:
        line, looks, argues, words = "", False, False, f"{unread} Name it by its number."
    else:
        line = typed_line(found.lines[0]) if len(found.intents) == 1 else ""
        looks = bool(line) and only_reads(found.intents[0], commands)
        argues = bool(line) and isinstance(found.intents[0], Recommend)
        wrong = found.misunderstood
        words = found.question or found.answer or (wrong.words if wrong is not None else "")
    told = {"line": line, "looks": looks, "argues": argues, "words": words}
    sys.stdout.write(json.dumps(told, ensure_ascii=False))
