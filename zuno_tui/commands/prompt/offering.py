"""What may be offered back: a deed only where a word of the sentence itself names it."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from msgspec.structs import replace

from zuno_tui.commands.registry import registry
from zuno_tui.phrases.spoken.lexicon import forms
from zuno_tui.phrases.spoken.plain import plain_words
from zuno_tui.phrases.spoken.slips import forms_but_for_slip
from zuno_tui.phrases.spoken.topics import Topic
from zuno_tui.phrases.spoken.whole_sentence import topics_of_whole

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from zuno_tui.commands.prompt.interpretation import Interpretation

NAMED_BY: dict[str, tuple[Topic, ...]] = {
    "apply": (),
    "approve": (Topic.APPROVE, Topic.AGREE),
    "cancel transaction": (Topic.SENT,),
    "close": (Topic.LEAVE, Topic.TAKE, Topic.REMOVE, Topic.EMPTY, Topic.SWAP),
    "collect": (Topic.COLLECT, Topic.FEES, Topic.EARNED),
    "compound": (Topic.COMPOUND, Topic.FEES, Topic.EARNED),
    "create": (Topic.OPEN, Topic.NEW, Topic.PUT, Topic.MORE, Topic.POSITION),
    "decrease": (
        *(Topic.LESS, Topic.TAKE, Topic.REMOVE, Topic.LEAVE, Topic.KEEP),
        *(Topic.SWAP, Topic.EMPTY),
    ),
    "increase": (Topic.MORE, Topic.PUT, Topic.DOUBLE, Topic.INTO),
    "move": (
        Topic.MOVE,
        Topic.WIDTH,
        Topic.RANGE,
        Topic.BOUND,
        Topic.SET,
        Topic.AROUND,
        Topic.BETWEEN,
    ),
    "outbox": (Topic.SENT,),
    "revoke": (Topic.ALLOWANCES,),
    "speed up": (Topic.SENT,),
    "swap": (Topic.SWAP, Topic.BUY, Topic.SET),
    "unwrap": (Topic.UNWRAP, Topic.SWAP),
    "wrap": (Topic.WRAP, Topic.SWAP, Topic.MORE, Topic.PUT),
}
"""What the words say by which each verb that moves tokens is named."""
_NUMBER = re.compile(r"[0-9.]+")
_MOST_WORDS = 5
_SHORTEST_MENDED = 4
_ASKED = "Is that a question, or is it to be prepared? An order ends without a question mark."
_UNNAMED = "I am not sure what is to be done. Say it with its own word, like: collect 7"


def only_named(
    found: Interpretation, words: Iterable[str], *, asking: bool = False
) -> Interpretation:
    """Without the choices and the offer whose deed no word names, and without any in a question."""
    typed = tuple(words)
    offered = (*found.choices, *([found.misunderstood.offer] if found.misunderstood else ()))
    if not any(map(deed_in, offered)):
        return found
    named = frozenset() if asking else _named_in(typed)
    exact = " ".join(typed).lower()
    choices = tuple(one for one in found.choices if _may_offer(one, named, exact))
    offer = found.misunderstood.offer if found.misunderstood is not None else ""
    invented = bool(deed_in(offer)) and not set(_NUMBER.findall(offer)) <= set(
        _NUMBER.findall(exact)
    )
    if found.misunderstood is not None and (invented or not _may_offer(offer, named, exact)):
        return replace(found, misunderstood=replace(found.misunderstood, offer=""))
    if found.choices and not choices:
        return replace(found, question=_ASKED if asking else _UNNAMED, choices=())
    return replace(found, choices=choices)


def deed_in(line: str) -> str:
    """The verb of a line that would move tokens; empty where it only looks."""
    verb = registry().verb_at_start(line.removeprefix("zuno ").split())
    return verb[0].name if verb is not None and verb[0].name in NAMED_BY else ""


def _may_offer(line: str, named: frozenset[Topic], exact: str) -> bool:
    deed = deed_in(line)
    typed_so = line.removeprefix("zuno ").lower() == exact
    return not deed or typed_so or bool(named.intersection(NAMED_BY[deed]))


def _named_in(words: tuple[str, ...]) -> frozenset[Topic]:
    plain = plain_words(words)
    return frozenset((*_topics_in(plain), *topics_of_whole(plain), *_begun_with_slip(plain)))


def _topics_in(words: tuple[str, ...]) -> Iterator[Topic]:
    for start in range(len(words)):
        for count in range(1, _MOST_WORDS + 1):
            yield from forms().get(words[start : start + count], ())


def _begun_with_slip(words: tuple[str, ...]) -> Iterator[Topic]:
    """`collekt 26`: the first word of an order, but for one letter; no word further on."""
    first = words[0] if words else ""
    if len(first) < _SHORTEST_MENDED:
        return
    for form in forms_but_for_slip(first):
        yield from forms()[form,]
