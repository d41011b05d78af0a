"""What is wished for again and again, or later: the order that stands for it, or the nearest."""

from collections.abc import Sequence
from typing import NamedTuple

from chain.base.units import DAY, HOUR
from chain.protocols.reference import position_name, read_position_ref
from zuno_tui.intents.context import PhraseContext
from zuno_tui.prompt.slots import Sentence
from zuno_tui.prompt.unused import spoken_rhythms

_SPANS = {
    **dict.fromkeys(("hour", "hourly"), HOUR),
    **dict.fromkeys(("day", "night", "morning", "evening", "daily", "nightly"), DAY),
    **dict.fromkeys(("week", "weekly"), 7 * DAY),
    **dict.fromkeys(("month", "monthly"), 30 * DAY),
}
_OF_POSITIONS = frozenset(("collect", "compound", "close", "decrease", "move", "recommend"))
_WEEK = "7d"
_LEAST_WORTH = "$50"
_MOST_OFFERED = 5


class OrderOffer(NamedTuple):
    text: str
    choices: tuple[str, ...]


def order_instead(
    lines: Sequence[str], sentence: Sentence, context: PhraseContext
) -> OrderOffer | None:
    """None where nothing is to happen again and again."""
    rhythms = spoken_rhythms(sentence)
    if not rhythms or not lines:
        return None
    spoken = " ".join(rhythms)
    verb, *rest = lines[0].split()
    if verb not in _OF_POSITIONS:
        return OrderOffer(f"zuno has no order that does that «{spoken}». Once:", tuple(lines))
    numbers = [word for line in lines for word in line.split()[1:]]
    if "all" in numbers:
        numbers = [position_name(ref) for ref in context.positions]
    refs = [number for number in numbers if read_position_ref(number) is not None]
    does = "compound" if verb == "compound" else "collect"
    offers = [_repeating(does, number, sentence) for number in refs[:_MOST_OFFERED]]
    if verb == does and offers:
        text = f"`{verb}` is done once, now. For «{spoken}» there is an order"
        return OrderOffer(f"{text}, with the least that it is worth.", (*offers, *lines))
    closes = [f"order close {number} out-of-range 2h" for number in rest[:1]]
    nearest = closes if verb in ("close", "recommend", "move") else offers
    text = f"zuno has no order that does that «{spoken}»: one closes, collects, compounds or moves."
    return OrderOffer(f"{text} Nearest, or once:", (*nearest, *lines))


def _repeating(does: str, number: str, sentence: Sentence) -> str:
    """How much a compound waits for the fees of the past say, where nobody does."""
    said = f" over ${sentence.dollars[0]}" if len(sentence.dollars) == 1 else ""
    worth = said or ("" if does == "compound" else f" over {_LEAST_WORTH}")
    times = "" if sentence.times is None else f" times {sentence.times}"
    return f"order {does} {number} every {repeated_every(sentence) or _WEEK}{worth}{times}"


def repeated_every(sentence: Sentence) -> str | None:
    """How often in days or hours; None where nothing that long is said to come again."""
    rhythms = " ".join(spoken_rhythms(sentence)).split()
    named = next((_SPANS[word] for word in rhythms if word in _SPANS), None)
    counted = sentence.seconds if "every" in rhythms or "each" in rhythms else None
    seconds = named or counted
    if not seconds:
        return None
    return f"{seconds // DAY}d" if seconds % DAY == 0 else f"{max(1, seconds // HOUR)}h"
