"""How a phrase that is being typed could go on: verbs first, then what the desk has to name."""

from collections.abc import Iterable

from msgspec import Struct

from chain.protocols.reference import position_name
from zuno_tui.catalog.command import Verb
from zuno_tui.catalog.registry import CommandRegistry
from zuno_tui.intents.context import PhraseContext
from zuno_tui.prompt.named_networks import network_names

MOST_SHOWN = 6


class PhraseCompletion(Struct, frozen=True):
    phrase: str
    """The whole line, as it would stand after it was taken."""
    means: str


def completions(
    text: str, context: PhraseContext, known: CommandRegistry
) -> tuple[PhraseCompletion, ...]:
    """The likeliest first; none for an empty line, or where only the person knows how to go on."""
    typed = text.lstrip()
    if not typed:
        return ()
    lowered = typed.lower()
    found = [
        PhraseCompletion(verb.name, known.purpose(verb.name))
        for verb in known.verbs
        if verb.name.startswith(lowered) and verb.name != lowered and verb.possible(context)
    ]
    begun = known.verb_at_start(typed.split())
    if begun is not None:
        verb, count = begun
        found += _arguments(typed, verb, typed.split()[count:], _names(verb, context, known))
    return tuple(found[:MOST_SHOWN])


def _arguments(
    typed: str, verb: Verb, after: list[str], names: tuple[str, ...]
) -> Iterable[PhraseCompletion]:
    ends_a_word = typed.endswith(" ")
    if len(after) > 1 or (after and ends_a_word):
        return
    begun = after[0].lower().removeprefix("#") if after else ""
    stem = typed[: len(typed) - len(after[0])] if after else f"{typed.rstrip()} "
    for name in names:
        if name.startswith(begun) and name != begun:
            yield PhraseCompletion(f"{stem}{name}", _describe(verb, name))


def _names(verb: Verb, context: PhraseContext, known: CommandRegistry) -> tuple[str, ...]:
    if verb.name == "help":
        return tuple(each.name for each in known.verbs)
    named = {
        "positions": _selected_first(context),
        "candidates": context.candidates,
        "alerts": context.alerts,
        "records": context.records,
        "sent": context.sent,
        "networks": network_names(),
        "none": (),
    }
    return named[verb.names]


def _selected_first(context: PhraseContext) -> tuple[str, ...]:
    # False sorts first: the position under the cursor is the one most likely meant.
    ordered = sorted(context.positions, key=lambda ref: ref != context.selected)
    return tuple(map(position_name, ordered))


_KINDS = {
    "positions": "position #{}",
    "candidates": "option {}",
    "alerts": "alert {}",
    "records": "record {}",
    "sent": "plan {}",
    "networks": "network {}",
    "none": "{}",
}


def _describe(verb: Verb, name: str) -> str:
    if verb.names == "candidates" and name == "close":
        return "close the position"
    return _KINDS[verb.names].format(name)
