"""Sentences that only ask: lists, what is held, what was sent, what a word means."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from zuno_tui.phrases.named_networks import network_called, network_names
from zuno_tui.phrases.pieces import listed
from zuno_tui.phrases.spoken.desk import DESK_RULES, FIRST_DESK_RULES
from zuno_tui.phrases.spoken.figures import earned, gas, price, what_if
from zuno_tui.phrases.spoken.meaning import NOTHING_DONE, AnsweredPhrase, AskedBack, Rephrased
from zuno_tui.phrases.spoken.sentence import STABLE
from zuno_tui.phrases.spoken.targets import STATE_TOPICS
from zuno_tui.phrases.spoken.terms import asked_term
from zuno_tui.phrases.spoken.topics import DEEDS, QUESTIONS, Topic

if TYPE_CHECKING:
    from zuno_tui.phrases.context import PhraseContext
    from zuno_tui.phrases.spoken.asking import SentenceRule
    from zuno_tui.phrases.spoken.meaning import SpokenMeaning
    from zuno_tui.phrases.spoken.sentence import Sentence

_RANGE_STATES = (Topic.OUT_OF_RANGE, Topic.NEAR_EDGE, Topic.IN_RANGE)
_ANY_OF_THEM = frozenset(("which", "any", "anything", "did", "what", "who"))
_LEFT_OVER = frozenset(("have", "left", "remaining", "own", "hold", "holding", "spare", "got"))
_HEDGING = frozenset(("hedge", "hedging", "insure"))
_SIGNED_ELSEWHERE = frozenset(
    ("safe", "multisig", "gnosis", "ledger", "trezor", "hardware", "unsigned", "calldata")
)
_FEW_WORDS = 2
_SHORT = 4
_NFTS = frozenset(("nfts", "lps", "positions"))
_MY_POOL = re.compile(r"\b(?:my|our) (?:[a-z/]+ )?(?:pool|tier)\b")
_REGRETTED = re.compile(
    r"\b(?:i|we) (?:have )?(?:accidentally )?(?:collected|claimed|closed|swapped|sold|bought|moved"
    r"|added|compounded|withdrew|removed|opened|sent|wrapped|unwrapped|did)\b"
    r".*\b(?:wrong|mistake|accident|accidentally|back|not mean to|too much|oops)\b"
    r"|\bget (?:that|this|it) (?:\w+ )?back$"
    r"|\b(?:accidentally|by (?:mistake|accident)|oops i)\b"
)
"""Of what was done: nothing is asked for by it but to have it not done."""
_HELD_IN_POOLS = re.compile(
    r"\bmy (?:stake|share|part|money) in (?:\w+ )?pools?\b"
    r"|\b(?:am|are|do|have) (?:i|we)\b.*\bpools?\b"
    r"|\b(?:i|we) (?:am|are|have|hold|own)\b.*\bpools?\b"
)
_OPTION = re.compile(
    r"(?:do |take |pick |choose |go with |i (?:take|pick|choose|want|like) )?"
    r"(?:(?:option|choice|candidate|number) [a-e0-9]|(?<= )[b-e])"
)
_TOLD = frozenset(("status", "summary", "overview", "rundown", "recap", "report", "snapshot"))
_ANEW = frozenset(("redo", "remake", "recalculate", "recompute", "rerun", "fresh", "another"))
_EARNER = re.compile(r"\b(?:best|top|biggest|highest) earners?\b")
_RATED = frozenset(("better", "good", "other", "another", "decent", "alternative", "deeper"))
_ASKING_WHY = (Topic.WHY, Topic.SHOW, Topic.MEANS, Topic.TELL, Topic.WHAT)
_DEEDS = (Topic.LEAVE, Topic.TAKE, Topic.COLLECT, Topic.MORE, Topic.LESS, Topic.MOVE)
_HOW_TO = (
    (Topic.COLLECT, "collect"),
    (Topic.COMPOUND, "compound"),
    (Topic.MORE, "increase"),
    (Topic.LESS, "decrease"),
    (Topic.LEAVE, "close"),
    (Topic.TAKE, "decrease"),
    (Topic.REMOVE, "decrease"),
    (Topic.UNWRAP, "unwrap"),
    (Topic.WRAP, "wrap"),
    (Topic.BUY, "swap"),
    (Topic.MOVE, "recommend"),
    (Topic.OPEN, "create"),
    (Topic.SWAP, "swap"),
    (Topic.ALERT, "alert"),
)


def _balances(sentence: Sentence, _context: PhraseContext) -> SpokenMeaning | None:
    asking = sentence.first in (Topic.HOW, Topic.WHAT, Topic.WHETHER)
    having = bool(_LEFT_OVER & set(sentence.words)) and asking
    fetched = sentence.has(Topic.FEES, Topic.COLLECT)
    held = having and (sentence.symbols or sentence.has(Topic.LIQUIDITY))
    named = sentence.has(Topic.WALLET) and not (_NFTS | {"pools"}) & set(sentence.words)
    counted = bool(sentence.amounts or sentence.percents)
    named = named and not (counted and sentence.has(*DEEDS, Topic.PUT))
    enough = "enough" in sentence.words and bool(sentence.tokens)
    # "How much USDC?"
    bare = sentence.words[:2] == ("how", "much") and len(sentence.words) == _FEW_WORDS + 1
    enough = enough or (bare and not STABLE.isdisjoint(sentence.symbols))
    asked = named or enough or (held and not sentence.has(Topic.POSITIONS))
    return Rephrased(("balances",)) if asked and not sentence.ids and not fetched else None


def _how_to(sentence: Sentence, _context: PhraseContext) -> SpokenMeaning | None:
    if not sentence.has(Topic.HOW_TO) or sentence.has(Topic.THEME, Topic.ADVISE):
        return None
    if sentence.first is Topic.IF:
        return None
    hedged = "hedge" if _HEDGING & set(sentence.words) else None
    verb = hedged or next((verb for topic, verb in _HOW_TO if sentence.has(topic)), None)
    if sentence.ids and verb in (None, "recommend"):
        return None
    return Rephrased(("help" if verb is None else f"help {verb}",))


def _agree(sentence: Sentence, context: PhraseContext) -> SpokenMeaning | None:
    if sentence.first is not Topic.AGREE or sentence.ids or sentence.tokens or sentence.unknown:
        return None
    choices = ("approve",) if context.plan_id is not None else ()
    return AskedBack(
        "A yes signs nothing. `approve` builds what the plan on the card says and shows it; "
        "what signs it is typed by its own word.",
        choices,
    )


def _agree_with_plan(sentence: Sentence, context: PhraseContext) -> SpokenMeaning | None:
    if _OPTION.fullmatch(sentence.text):
        return AskedBack("To take it, type `approve` and its letter: nothing is signed by it.")
    return _agree(sentence, context) if sentence.has(Topic.PLAN, Topic.IT) else None


def _approve(sentence: Sentence, context: PhraseContext) -> SpokenMeaning | None:
    asking = sentence.first in (Topic.WHETHER, Topic.HOW)
    waiting = sentence.first is Topic.WHAT and sentence.has(Topic.SENT)
    if sentence.has(Topic.APPLY) and not (asking or waiting):
        return AskedBack(
            "Nothing is signed or sent by a sentence: `apply` is typed by hand, alone, and asks "
            "again."
        )
    if not sentence.has(Topic.APPROVE) or sentence.has(Topic.COMPARE):
        return None
    sure = sentence.first is Topic.APPROVE and not sentence.has(Topic.NOT, Topic.ALL, Topic.IF)
    choices = tuple(f"approve {one}" for one in context.candidates) if sure else ()
    known = f" The plan on the card has {listed(sorted(context.candidates))}." if choices else ""
    return AskedBack(f"I understood `approve`, but not which move.{known}", choices)


def _undo(sentence: Sentence, _context: PhraseContext) -> SpokenMeaning | None:
    regretted = _REGRETTED.search(sentence.text) is not None and not sentence.ids
    if not (sentence.has(Topic.UNDO) or regretted) or sentence.has(Topic.ALLOWANCES):
        return None
    return AnsweredPhrase(
        "What is on the chain cannot be undone. `cancel transaction` takes back what waits unsent, "
        "`revoke` lists permissions that can be taken back, and an approval ends by itself."
    )


def _sent(sentence: Sentence, _context: PhraseContext) -> SpokenMeaning | None:
    lasting = "stuck" in sentence.words and bool(sentence.ids or sentence.has(*STATE_TOPICS))
    hurried = sentence.has(Topic.HURRY) and len(sentence.words) <= _SHORT and not sentence.ids
    planned = sentence.has(Topic.PLAN) and sentence.first in QUESTIONS
    if not (sentence.has(Topic.SENT) or hurried) or lasting or planned:
        return None
    ended = sentence.has(Topic.CANCEL, Topic.LEAVE, Topic.REMOVE)
    if sentence.first in QUESTIONS:
        return Rephrased(("outbox",))
    if ended or sentence.first_word in ("stop", "halt"):
        return Rephrased(("cancel transaction",))
    hurrying = sentence.has(Topic.HURRY) and sentence.has(Topic.SENT)
    return Rephrased(("speed up",)) if hurrying else Rephrased(("outbox",))


def _send(sentence: Sentence, _context: PhraseContext) -> SpokenMeaning | None:
    if not sentence.has(Topic.SEND) or sentence.first in (Topic.WHAT, Topic.WHETHER):
        return None
    return AnsweredPhrase("zuno sends and bridges nothing to anybody: that is your wallet's to do.")


def _network(sentence: Sentence, _context: PhraseContext) -> SpokenMeaning | None:
    last = network_called(sentence.words[-1:]) if sentence.has(Topic.SWITCH) else None
    turned = sentence.has(Topic.SWITCH, Topic.SET, Topic.MOVE) and not sentence.amounts
    if turned and not sentence.ids:
        name = sentence.network or (None if last is None else last.name)
        if name is not None:
            return Rephrased((f"switch to {name}",))
    if sentence.network is not None and len(sentence.words) <= _FEW_WORDS and not sentence.ids:
        return Rephrased((f"switch to {sentence.network}",))
    if not sentence.has(Topic.NETWORK):
        return None
    choices = tuple(f"switch to {name}" for name in network_names())
    return AskedBack("The status line names the network. Switch to which?", choices)


def _keep(sentence: Sentence, _context: PhraseContext) -> SpokenMeaning | None:
    if sentence.first is not Topic.KEEP or sentence.percents:
        return None
    if sentence.first_word == "leave" and sentence.ids and len(sentence.words) == _FEW_WORDS:
        return AskedBack(
            "To stay as it is needs no words. To leave the position itself: "
            f"close {sentence.ids[0]}"
        )
    return AnsweredPhrase(NOTHING_DONE)


def _theme(sentence: Sentence, _context: PhraseContext) -> SpokenMeaning | None:
    if not sentence.has(Topic.THEME):
        return None
    return AnsweredPhrase("Press t in the settings, or start with: zuno --theme zuno-light")


def _about(*topics: Topic, phrase: str) -> SentenceRule:
    return lambda sentence, _context: Rephrased((phrase,)) if sentence.has(*topics) else None


def _portfolio(sentence: Sentence, _context: PhraseContext) -> SpokenMeaning | None:
    asking = sentence.first in (*QUESTIONS, Topic.PORTFOLIO)
    other = sentence.ids or (sentence.has(*DEEDS) and not asking)
    ranked = _EARNER.search(sentence.text) is not None or "exposure" in sentence.words
    asked = (sentence.has(Topic.PORTFOLIO) or ranked) and not other
    return Rephrased(("portfolio",)) if asked else None


def _alerts(sentence: Sentence, _context: PhraseContext) -> SpokenMeaning | None:
    troubled = sentence.has(Topic.TROUBLE) and not (sentence.ids or sentence.has(Topic.SENT))
    # "Which of mine fell out of range overnight?" asks for those.
    listing = sentence.first_word in _ANY_OF_THEM and sentence.has(*_RANGE_STATES)
    troubled = troubled and not listing
    asked = sentence.has(Topic.ALERTS) or (troubled and not sentence.has(*_DEEDS))
    return Rephrased(("alerts",)) if asked else None


def _scorecard(sentence: Sentence, _context: PhraseContext) -> SpokenMeaning | None:
    named = sentence.ids or sentence.tokens or sentence.has(Topic.ONE, Topic.POSITION, Topic.IT)
    named = named and not {"you", "your"} & set(sentence.words)
    return Rephrased(("scorecard",)) if sentence.has(Topic.TRACK_RECORD) and not named else None


def _plan(sentence: Sentence, context: PhraseContext) -> SpokenMeaning | None:
    """The one on the card; of a position that has none, one is asked for."""
    if not sentence.has(Topic.PLAN):
        return None
    profile = f" {sentence.profile}" if sentence.profile else ""
    others = [one for one in sentence.ids if profile or one != context.plan_position]
    if _ANEW & {*sentence.words} and context.plan_position is not None and not sentence.ids:
        others = [context.plan_position]
    return Rephrased(tuple(f"recommend {one}{profile}" for one in others) or ("plan",))


def _history(sentence: Sentence, _context: PhraseContext) -> SpokenMeaning | None:
    if not sentence.has(Topic.HISTORY, Topic.TAXES):
        return None
    if sentence.has(Topic.TAXES) and _SIGNED_ELSEWHERE & set(sentence.words):
        return Rephrased(("export",))
    named = f" {sentence.ids[0]}" if len(sentence.ids) == 1 else ""
    csv = " csv" if sentence.has(Topic.TAXES) else ""
    return Rephrased((f"history{named}{csv}",))


def _pools(sentence: Sentence, _context: PhraseContext) -> SpokenMeaning | None:
    paid = sentence.has(Topic.EARNED, Topic.OPEN, Topic.MORE, Topic.FEES)
    where = sentence.first_word in ("where", "find") and paid and not sentence.ids
    mine = {"have", "hold", "own"} & set(sentence.words) or _MY_POOL.search(sentence.text)
    judged = sentence.has(Topic.WHAT, Topic.BEST, Topic.COMPARE) or bool(_RATED & {*sentence.words})
    about = bool({"pool", "tier"} & {*sentence.words}) and not (sentence.amounts or sentence.ids)
    judged = judged or "find" in sentence.words
    which = about and not mine and judged and not sentence.has(*DEEDS)
    listed_ones = sentence.has(Topic.POOLS) and not sentence.ids
    looking = not sentence.has(*DEEDS, Topic.PUT, Topic.SHOULD, Topic.BEST)
    if listed_ones and looking and _HELD_IN_POOLS.search(sentence.text):
        return Rephrased(("positions",))
    return Rephrased(("pools",)) if listed_ones or where or which else None


def _why(sentence: Sentence, _context: PhraseContext) -> SpokenMeaning | None:
    planned = sentence.first in _ASKING_WHY or sentence.has(Topic.PLAN)
    asked = sentence.has(Topic.WHY) and planned
    return Rephrased(("why",)) if asked and not sentence.ids else None


def _positions(sentence: Sentence, _context: PhraseContext) -> SpokenMeaning | None:
    looking = (Topic.POSITIONS, *STATE_TOPICS, Topic.FEES, Topic.WORTH)
    shown = sentence.has(Topic.SHOW, Topic.WHAT, Topic.HOW) and sentence.has(Topic.ALL)
    shown = shown or (
        sentence.has(Topic.SHOW, Topic.WHAT)
        and sentence.has(Topic.LIQUIDITY)
        and not sentence.unknown
    )
    doing = sentence.first is Topic.HOW and ("things" in sentence.words or sentence.has(Topic.IT))
    # "Pos", "lemme see my LPs".
    alone = {*sentence.topics} <= {Topic.POSITION, Topic.SHOW, Topic.FILLING}
    alone = alone and sentence.has(Topic.POSITION) and not (sentence.unknown or sentence.numbers)
    # "Quick status, in a call."
    told = {*sentence.topics} <= {Topic.SHOW, Topic.FILLING} and bool(_TOLD & {*sentence.words})
    alone = alone or (told and not (sentence.tokens or sentence.numbers))
    asked = sentence.has(*looking) or shown or doing or alone
    return Rephrased(("positions",)) if asked else None


FIRST_RULES: tuple[SentenceRule, ...] = (
    *FIRST_DESK_RULES,
    _agree_with_plan,
    _approve,
    _how_to,
    _undo,
)
QUESTION_RULES: tuple[SentenceRule, ...] = (
    *DESK_RULES,
    what_if,
    gas,
    _scorecard,
    _about(Topic.DRILL, phrase="exit drill"),
    _about(Topic.CONNECTION, phrase="doctor"),
    _theme,
    _alerts,
    asked_term,
    _about(Topic.ALLOWANCES, phrase="revoke"),
    _balances,
    _history,
    _sent,
    _pools,
    earned,
    _why,
    price,
    _send,
    _about(Topic.DEBATES, phrase="records"),
    _portfolio,
    _plan,
    _network,
)
LAST_RULES: tuple[SentenceRule, ...] = (_keep, _agree, _positions)
