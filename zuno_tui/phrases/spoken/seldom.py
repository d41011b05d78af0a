"""Sentences about what is seldom asked for: hedges, trades, the mesh, the tour, own ranges."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from zuno_tui.phrases.spoken.asking import for_each
from zuno_tui.phrases.spoken.meaning import NOT_LATER, AnsweredPhrase, AskedBack, Rephrased
from zuno_tui.phrases.spoken.sentence import STABLE
from zuno_tui.phrases.spoken.targets import called, positions_meant
from zuno_tui.phrases.spoken.topics import DEEDS, Topic

if TYPE_CHECKING:
    from zuno_tui.phrases.context import PhraseContext
    from zuno_tui.phrases.spoken.asking import SentenceRule
    from zuno_tui.phrases.spoken.meaning import SpokenMeaning
    from zuno_tui.phrases.spoken.sentence import Sentence

_WATCHING = re.compile(
    r"\b(?:remember|observe|watch|watching|monitor|monitoring|track|tracking|follow|following"
    r"|(?:keep|have|with) (?:\w+ )?eye|keep (?:close |good )?(?:tabs|watch)|babysit|look after"
    r"|watch ?list|watched"
    r"|under (?:observation|surveillance)|lose sight|only (?:care about|look at|show|follow)"
    r"|look only at|care only about)\b"
)
_LISTED = re.compile(r"\b(?:watch ?list|under (?:observation|surveillance)|not lose sight)\b")
"""Where something is put, or not to be done, that moves nothing."""
_WATCHED_AGAIN = re.compile(r"\b(?:watch again|track record)\b")
_HEDGED = re.compile(
    r"\b(?:hedg\w+|hedge|insur\w+|protect\w*|neutrali[sz]\w*|neutral(?:-?ish)?|delta"
    r"|shield|offset\w*|downside|short)\b"
)
_ENDED = frozenset(("remove", "delete", "drop"))
_ARGUED = re.compile(
    r"\b(?:bull(?:ish)?|bear(?:ish)?|bulls|bears|long or short|short or long|longs?|shorts?"
    r"|go(?:ing)? (?:long|short)|directional|trade desk|trading desk|traders?)\b"
)
_TRADES = re.compile(r"\b(?:my|our|open) (?:\w+ )?trades\b")
_ARGUING = re.compile(
    r"\b(?:case|argue|argument|think|say|opinion|thesis|view|or|should|would|desk|debate|idea)\b"
)
_ELSEWHERE = re.compile(
    r"\b(?:machines?|computers?|servers?|hosts?|nodes?|peers?|remote(?:ly)?|elsewhere|online"
    r"|offline|alive|up|reachable|connected|box(?:es)?|laptops?|mesh|running|there|anyone|network)\b"
)
_AGENTS = re.compile(
    r"\b(?:agents?|peers?|nodes|other (?:machines?|computers?)|mesh"
    r"|scout|strategist|critic|arbiter)\b"
)
_ROUND = re.compile(
    r"\b(?:tour|tutorial|onboarding|walkthrough|walk-through|show around|show ropes"
    r"|walk (?:us )?(?:a?round|through (?:it|this|app|program|desk|everything|basics))"
    r"|(?:my )?first time (?:here|using|user|with)|newbie|beginner|noob"
    r"|teach (?:\w+ )?(?:how|basics|ropes|this)|learn (?:this|basics|ropes))\b"
)
_CHOSEN = re.compile(
    r"\b(?:pick|picking|choose|choosing|draw|drawing|select|selecting|decide|define|drag"
    r"|set|setting|edit|specify|enter|own|by hand|by eye|manual(?:ly)?|myself|custom"
    r"|picker|editor|form|designer)\b"
)
_SHAPE = re.compile(
    r"\b(?:ranges?|bounds?|borders?|edges?|boundar(?:y|ies)|corridor|band|brackets?"
    r"|(?:upper and lower|lower and upper)|limits?|prices?|ticks?)\b"
)
_OWN = re.compile(
    r"\b(?:own|by hand|manual(?:ly)?|by eye|myself|custom|draw|drawing|form|picker|pick|choose"
    r"|choosing|select|drag|editor|designer)\b"
)
_BROUGHT = re.compile(r"(?:what|how much|how) (?:would|will|does|do|can|could)\b.*\brange\b")
_FROM_AGENTS = re.compile(r"\b(?:agents?|you|best|better|good|for (?:us|our))\b")
_TOUR = "A guided tour of five minutes: type `zuno tour` in a shell. What can be typed here: help"


_STANDING = re.compile(
    r"\b(?:stop ?-?loss|trailing stop|take ?-?profit (?:at|order)|dca|limit (?:buy|sell))\b"
)
_SECRET = re.compile(
    r"\b(?:private keys?|secret keys?|seed phrase|recovery phrase|mnemonic|(?:my|export) keys?)\b"
)
_MODEL = re.compile(r"\b(?:which|what) (?:\w+ )?(?:model|llm)\b|\b(?:gpt|llm|claude)\b")


def _watch(sentence: Sentence, context: PhraseContext) -> SpokenMeaning | None:
    """`keep an eye on 30 and 36`: which positions are looked at; a price is an alert's."""
    text = sentence.text
    said = _WATCHING.search(text) is not None and _WATCHED_AGAIN.search(text) is None
    deeds = () if _LISTED.search(text) else (*(DEEDS - {Topic.OPEN}), Topic.NOT, Topic.EARNED)
    other = sentence.has(Topic.IF, Topic.PRICE, Topic.REPLAY, Topic.HISTORY, *deeds)
    counted = sentence.numbers or sentence.dollars or sentence.amounts or sentence.percents
    if not said or other or counted or sentence.has(Topic.MUTE):
        return None
    meant = positions_meant(sentence, context)
    if not meant.sure or not meant.said or not meant.ids:
        return None
    return Rephrased((f"watch-ids {' '.join(map(str, meant.ids))}",))


def _hedge(sentence: Sentence, context: PhraseContext) -> SpokenMeaning | None:
    """`what short would neutralise 37`: only argued about, and so also where it is asked."""
    said = _HEDGED.search(sentence.text)
    if said is None or sentence.has(Topic.HOW_TO, Topic.MEANS):
        return None
    exact = said[0].startswith(("hedg", "neutral", "insur", "protect", "shield"))
    # "Against a drop" removes nothing.
    other = sentence.has(*(DEEDS - {Topic.SWAP, Topic.REMOVE})) or sentence.first_word in _ENDED
    if other or sentence.amounts or sentence.seconds or not (sentence.ids or exact):
        return None
    meant = positions_meant(sentence, context)
    return for_each("hedge", meant, context) if meant.said else _hedged_row(sentence, context)


def _hedged_row(sentence: Sentence, context: PhraseContext) -> SpokenMeaning | None:
    if sentence.first in (Topic.WHAT, Topic.WHY):
        return None
    choices = tuple(f"hedge {one}" for one in context.positions)
    return AskedBack("Which position is to be hedged?", choices)


def _trade(sentence: Sentence, context: PhraseContext) -> SpokenMeaning | None:
    """`make the bull and bear case for eth`: the trade desk argues about a coin."""
    text = sentence.text
    past = sentence.has(Topic.TAXES, Topic.HISTORY)
    if _TRADES.search(text) and not (sentence.tokens or sentence.ids or past):
        return Rephrased(("trades",))
    sides = {one[:4] for one in _ARGUED.findall(text)}
    asked = sentence.first in (Topic.WHETHER, Topic.SHOULD, Topic.ADVISE)
    argued = bool(sides) and (_ARGUING.search(text) is not None or len(sides) > 1 or asked)
    coins = {called(one, context) for one in sentence.tokens} - STABLE
    other = sentence.ids or sentence.amounts or sentence.pairs or sentence.prices
    if not argued or other or len(coins) != 1 or sentence.has(Topic.ALERT, Topic.WHAT_IF):
        return None
    return Rephrased((f"trade {coins.pop()}",))


def _mesh(sentence: Sentence, _context: PhraseContext) -> SpokenMeaning | None:
    text = sentence.text
    said = _AGENTS.search(text) is not None and _ELSEWHERE.search(text) is not None
    other = sentence.ids or sentence.tokens or sentence.has(*DEEDS, Topic.ADVISE, Topic.WHY)
    return Rephrased(("mesh",)) if said and not other else None


def _tour(sentence: Sentence, _context: PhraseContext) -> SpokenMeaning | None:
    other = sentence.ids or sentence.tokens or sentence.has(*DEEDS, Topic.PLAN)
    return AnsweredPhrase(_TOUR) if _ROUND.search(sentence.text) and not other else None


def _range_form(sentence: Sentence, context: PhraseContext) -> SpokenMeaning | None:
    """`let me draw my own range on 36`: a form in which the edges are moved by keys."""
    text = sentence.text
    said = _CHOSEN.search(text) and _SHAPE.search(text) and _OWN.search(text)
    if sentence.prices and len(sentence.ids) == 1 and _BROUGHT.match(text):
        return Rephrased((f"range {sentence.ids[0]} {' '.join(sentence.prices)}",))
    told = sentence.prices or sentence.numbers or sentence.percents or sentence.amounts
    other = sentence.has(
        *(DEEDS - {Topic.MOVE, Topic.OPEN}), Topic.NOT, Topic.WIDTH, Topic.SHOULD, Topic.TELL
    )
    if not said or told or other or _FROM_AGENTS.search(text):
        return None
    meant = positions_meant(sentence, context)
    if meant.sure and len(meant.ids) == 1:
        return Rephrased((f"range {meant.ids[0]}",))
    return AskedBack(
        "Of which position? Like: range 7. A new one: range 0.5 WETH/USDC",
        tuple(f"range {one}" for one in meant.ids) if meant.said else (),
    )


def _standing_order(sentence: Sentence, _context: PhraseContext) -> SpokenMeaning | None:
    """`stop loss 27 at 2800`: nothing waits for a price to be done then."""
    asking = sentence.first is Topic.WHAT or sentence.has(Topic.MEANS)
    said = _STANDING.search(sentence.text) is not None and not asking
    return AskedBack(NOT_LATER) if said else None


def _secret(sentence: Sentence, _context: PhraseContext) -> SpokenMeaning | None:
    if _SECRET.search(sentence.text) is None or sentence.has(*DEEDS, Topic.SETTINGS):
        return None
    return AnsweredPhrase("A key is never shown. What is done with wallets: zuno wallet --help")


def _model(sentence: Sentence, _context: PhraseContext) -> SpokenMeaning | None:
    other = sentence.ids or sentence.tokens or sentence.has(*DEEDS)
    return Rephrased(("model",)) if _MODEL.search(sentence.text) and not other else None


SELDOM_RULES: tuple[SentenceRule, ...] = (
    _standing_order,
    _secret,
    _model,
    _watch,
    _hedge,
    _trade,
    _mesh,
    _tour,
    _range_form,
)
