"""Sentences that ask what to do with positions, or how they are."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from zuno_tui.phrases.spoken.asking import for_each
from zuno_tui.phrases.spoken.meaning import AskedBack, Rephrased
from zuno_tui.phrases.spoken.targets import PositionsMeant, held_as, positions_meant

if TYPE_CHECKING:
    from zuno_tui.phrases.context import PhraseContext
    from zuno_tui.phrases.spoken.asking import SentenceRule
    from zuno_tui.phrases.spoken.meaning import SpokenMeaning

_PROFILE = r"(?: (?:be )?(?P<profile>conservative|balanced|aggressive)(?:ly)?)?"
_REBALANCE = (
    r"(?:rebalance|rebalancing|re-balance|re-center|recenter|re-range|rerange|reposition|adjust"
    r"|optimi[sz]e|move|fix)"
)
_ACT = rf"(?:{_REBALANCE}|close|exit|leave|collect|claim|compound|keep|hold|withdraw|do)"
_PRICE = r"\$?[0-9][0-9.,]*k?"


def _recommend(match: re.Match[str], context: PhraseContext) -> SpokenMeaning | None:
    target, profile = match["target"], match.groupdict().get("profile")
    if target.strip() in ("", "position") and context.selected is not None:
        meant: PositionsMeant | None = PositionsMeant((context.selected,))
    else:
        meant = positions_meant(target, context)
    return for_each("recommend", meant, context, after=f" {profile}" if profile else "")


def _own_range(match: re.Match[str], context: PhraseContext) -> SpokenMeaning | None:
    meant = positions_meant(match["target"], context)
    said = for_each("recommend", meant, context)
    if said is None:
        return None
    choices = said.phrases if isinstance(said, Rephrased) else ()
    return AskedBack(
        "The width of a range is the agents' to propose; shall they look at it?", choices
    )


def _inspect(match: re.Match[str], context: PhraseContext) -> SpokenMeaning | None:
    if not match["target"].strip():
        return None
    meant = positions_meant(match["target"], context)
    if meant is not None and meant.sure and len(meant.ids) > 1 and "#" not in match["target"]:
        named = re.search("[0-9]", match["target"])
        return for_each("inspect", meant, context) if named else Rephrased(("positions",))
    return for_each("inspect", meant, context)


def _in_range(match: re.Match[str], context: PhraseContext) -> SpokenMeaning | None:
    said = _inspect(match, context)
    if not isinstance(said, Rephrased) or said.phrases == ("positions",):
        return said
    known = (held_as(int(phrase.split()[1]), context) for phrase in said.phrases)
    told = [f"{one.words}." for one in known if one is not None]
    return Rephrased(said.phrases, answer=" ".join(told))


ADVICE_RULES: tuple[tuple[re.Pattern[str], SentenceRule], ...] = tuple(
    (re.compile(pattern), rule)
    for pattern, rule in (
        (
            rf"(?:{_REBALANCE}|set|change|shift|widen|narrow|tighten)(?: range)?(?: of)?"
            rf"(?P<target> .+?)(?: range)?(?: (?:to|between|from|into))? {_PRICE}"
            rf"(?: ?- ?| to | and | – ){_PRICE}",
            _own_range,
        ),
        (r"(?:widen|narrow|tighten)(?: range)?(?: of)?(?P<target> .+?)(?: range)?", _own_range),
        (
            rf"(?:recommend|suggest|advise|advice|any advice|recommendation|{_REBALANCE})"
            rf"(?: {_REBALANCE})?(?: (?:for|on|about|of|what to do with))?"
            rf"(?P<target>.*?){_PROFILE}",
            _recommend,
        ),
        (
            rf"(?:should|shall|do|must|when should|is it time|does it make sense|is it worth)"
            rf"(?: (?:i|we))?(?: need)?(?: have)?(?: to)? (?:{_ACT})(?: something)?"
            r"(?: (?:with|about|from|on))?(?: fees)?(?: of| from)?(?P<target>.*)",
            _recommend,
        ),
        (
            r"what (?:(?:should|can|could|would|shall|do) (?:i|we|you) do|to do)"
            r"(?: (?:with|about|for|on|regarding))?(?P<target>.*)",
            _recommend,
        ),
        (
            r"what do you (?:think|recommend|suggest|advise)(?: (?:of|about|for|on))?"
            r"(?P<target>.*)",
            _recommend,
        ),
        (rf"(?P<target>(?:position )?#?[0-9]+) (?:{_REBALANCE}|recommend){_PROFILE}", _recommend),
        (
            rf"does(?P<target> .+?) need (?:to be )?(?:{_REBALANCE}|rebalanced|attention)",
            _recommend,
        ),
        (
            r"(?:is|are)(?P<target> .+?) (?:in|out of|within|inside|outside|outside of)"
            r"(?: its| their)? range",
            _in_range,
        ),
        (
            r"(?:is|are)(?P<target> .+?) (?:ok|fine|good|alright|earning|earning fees|active)",
            _in_range,
        ),
        (
            r"(?:show|tell|tell about|inspect|info|info on|info about|details|details on|details of"
            r"|details about|details for|look at|look into|open|view|see|display|check|check on"
            r"|status|status of|status on|how is|how are|how does|what is up with|what about"
            r"|what is status of|describe|more about|what is happening with|what is going on with"
            r"|how much is|what is|how did)"
            r"(?P<target> .+?)(?: doing| look| looking| going| details| info| status| worth"
            r"| perform| performing)?(?: like)?",
            _inspect,
        ),
        (
            r"(?:how much (?:has|did|does|is)|what (?:has|did))(?P<target> (?:position )?#?[0-9]+)"
            r" (?:earn|earned|make|made|earning|worth)",
            _inspect,
        ),
        (r"(?P<target>(?:position )?#?[0-9]+) (?:status|info|details|range|fees|pnl)", _inspect),
        (
            r"(?:show |what is |what are )?(?:fees|pnl|range|price range|value|worth|apr|apy)"
            r" (?:of|on|for|in)(?P<target> .+)",
            _inspect,
        ),
    )
)
