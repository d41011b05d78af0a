"""What a sentence as a whole asks for, where no single word of it says so."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from zuno_tui.phrases.spoken.topics import QUESTIONS, Topic

if TYPE_CHECKING:
    from collections.abc import Iterator

_WANTED = frozenset(("get", "need", "want", "have", "give"))
_COUNTED = re.compile(
    r"[$%]|\bpercent\b|\b(?:half|third|quarter|fifth|tenth)\b|\b(?:need|want|get|give) [0-9.$]"
)
_OUT_OF_RANGE = re.compile(r"\bout (?:of )?(?:its |my |their )?(?:range|bounds)\b|\bnearly out\b")
_FROM_PRICE = re.compile(r"\bfrom \$?[0-9.,km]+ (?:up )?(?:to|until|till|-|and|through) \$?[0-9]")
_UNDECIDED = re.compile(
    r"\b(?:or not|yes or no|or (?:should i )?(?:leave|keep|hold|wait|stay)"
    r"|(?:good|bad|smart|dumb|stupid|terrible|great|wise) (?:idea|move|time|thing|call|choice)"
    r"|(?:be|is it|would be) (?:dumb|stupid|smart|wise|crazy|silly|foolish))\b"
)
_HOMECOMING = re.compile(r"\b(?:money|funds|capital|liquidity|tokens|stake|deposit) (?:back|out)\b")
_FROM_COIN = re.compile(r"\bfrom (?:my )?w?(?:eth|bnb|pol)\b")
_LACKING = re.compile(
    r"\b(?:am|are) (?:i|we) (?:running )?(?:out of|low on|short of|short on) [a-z]+$"
)
_BEGINNINGS = (
    (re.compile(r"lp\b(?! (?:status|overview|list|summary|info|positions?|nfts?))"), Topic.OPEN),
    (
        re.compile(
            r"(?:my )?(?:fees|rewards|interest|yield|dividends) (?:out of|off|from) "
            r"(?!.*\b(?:today|week|month|year|far|apr|apy|is|are|was|were|been|looks?|seems?"
            r"|low|high|good|bad|nice|small)\b)"
        ),
        Topic.COLLECT,
    ),
    (re.compile(r"(?:available|spare) [a-z]+$"), Topic.WALLET),
    (
        re.compile(r"(?:[0-9.]+ (?:%|percent)|half|quarter|third) (?:out of|off|from) "),
        Topic.TAKE,
    ),
    (re.compile(r"empty (?:\w+ ){0,2}(?:fees?|rewards?)\b"), Topic.COLLECT),
    (
        re.compile(
            r"(?:all|everything|all (?:my )?(?:money|funds|liquidity|capital|tokens))"
            r" (?:out of|off|from) "
        ),
        Topic.TAKE,
    ),
    (re.compile(r"end (?:#?[0-9]|(?:my |position|this position))"), Topic.LEAVE),
    (re.compile(r"free (?:half|third|quarter|[0-9])"), Topic.LESS),
)
"""What these say only where they begin a sentence."""
_BROUGHT_DOWN = re.compile(r"^(?:bring|take|get) (?:position )?#?[0-9]+ down by\b")
_PLAYED_BACK = re.compile(r"\bplay\b.* back\b")
_REPAIRED = re.compile(
    r"^bring (?:position )?#?[0-9]+ back$|"
    r"^(?:get|make|bring|put|have)\b.*"
    r"\b(?:earning|working|active|earn(?:$| again)|"
    r"back (?:to work|in(?:to)? (?:range|play|action)|on track))\b"
)


def topics_of_whole(words: tuple[str, ...]) -> Iterator[Topic]:
    text = " ".join(words)
    if _UNDECIDED.search(text):
        yield Topic.SHOULD
    if _PLAYED_BACK.search(text):
        yield Topic.REPLAY
    if _BROUGHT_DOWN.search(text):
        yield Topic.LESS
    if _LACKING.search(text):
        yield Topic.WALLET
    if _REPAIRED.search(text):
        yield Topic.ADVISE
    elif _fetching(set(_OUT_OF_RANGE.sub("", text).split()), text):
        yield Topic.TAKE
    yield from (topic for beginning, topic in _BEGINNINGS if beginning.match(text))


def in_order(topics: list[Topic], of_whole: int) -> tuple[Topic, ...]:
    """What the whole asks for comes first, but after what makes a question or a denial of it."""
    whole, said = topics[:of_whole], topics[of_whole:]
    first = next((topic for topic in said if topic is not Topic.FILLING), None)
    asking = first in QUESTIONS or first in (Topic.NOT, Topic.IF)
    return (*said, *whole) if asking and Topic.SHOULD not in whole else (*whole, *said)


def _fetching(words: set[str], text: str) -> bool:
    """`get 40% out of 27`, `i need $500 from 33`: what is to come out of a position."""
    wanted = bool(words & _WANTED) and not words.isdisjoint(("out", "from", "back"))
    counted = _COUNTED.search(text) is not None and _FROM_PRICE.search(text) is None
    counted = (counted or _HOMECOMING.search(text) is not None) and not _FROM_COIN.search(text)
    return {"get", "out"} <= words or (wanted and counted)
