"""Lessons in a model's words: what to mind after one trade, and after many of a kind."""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from msgspec.structs import replace
from pydantic import Field

from agents.bus.envelope import Role
from agents.memory.memory import PostMortem
from agents.model.claims import Unit
from agents.model.interface import Model, ModelUnavailable
from agents.model.reply_text import StructuredReply
from agents.model.speaking import Brief

POST_MORTEM, FEEDBACK = Role("post_mortem"), Role("self_correction")
_MOST_KINDS = 12
_NUMBERS = (
    "Every number you were given has an id like [n3]. When you use a number, copy it exactly and "
    "put its id right behind it. Use no other numbers."
)
_ONE = (
    "A trade of a desk has ended. From how it was set up and what came of it write one sentence: "
    "what the desk should demand before it takes such a trade again. Promise nothing. "
)
_MANY = (
    "These are the trades of a desk that have ended, by kind, with what they came to. Write two or "
    "three sentences for its judge: which kinds its past speaks against, and where the odds it "
    "claimed were wrong. A few trades prove nothing: say so where it is so. "
)


class PostMortemReply(StructuredReply):
    constraint: str = Field(min_length=1, max_length=400)


class FeedbackReply(StructuredReply):
    lesson: str = Field(min_length=1, max_length=600)


class KindRecord(NamedTuple):
    """How trades of one decision in one regime have ended."""

    decision: str
    regime: str
    ended: int
    won: int
    mean_pct: float
    """Of what was opened, after fees."""
    mean_win_pct: float | None
    """The odds that were claimed; None where none were."""


class _KnownOutcome(NamedTuple):
    """A trade of which it is known what it came to."""

    pnl_pct: float
    won: bool
    win_pct: float | None


def kind_records(ended: Iterable[PostMortem]) -> tuple[KindRecord, ...]:
    """The commonest kinds first; trades kept without their kind are left out."""
    kinds: dict[tuple[str, str], list[_KnownOutcome]] = defaultdict(list)
    for lesson in ended:
        if lesson.decision and lesson.regime and lesson.pnl_pct is not None:
            judged = _KnownOutcome(lesson.pnl_pct, won=bool(lesson.won), win_pct=lesson.win_pct)
            kinds[lesson.decision, lesson.regime].append(judged)
    found = []
    for (decision, regime), group in kinds.items():
        odds = [trade.win_pct for trade in group if trade.win_pct is not None]
        found.append(
            KindRecord(
                decision,
                regime,
                len(group),
                sum(trade.won for trade in group),
                sum(trade.pnl_pct for trade in group) / len(group),
                sum(odds) / len(odds) if odds else None,
            )
        )
    return tuple(sorted(found, key=lambda one: (-one.ended, one.decision, one.regime)))[
        :_MOST_KINDS
    ]


async def word_lesson(trade: PostMortem, model: Model | None) -> PostMortem:
    """With the model's constraint in place of the rules'; the rest is what happened."""
    if model is None or trade.pnl_pct is None:
        return trade
    brief = Brief(_ONE + _NUMBERS)
    odds = None if trade.win_pct is None else trade.win_pct / 100
    brief.say(f"Set up: {brief.quote(trade.setup)}")
    brief.say(
        f"It {'won' if trade.won else 'lost'} "
        f"{brief.number(trade.pnl_pct / 100, Unit.FRACTION)} after "
        f"fees; odds that were claimed: {brief.number(odds, Unit.FRACTION)}."
    )
    brief.say(f"The rules would say: {brief.quote(trade.constraint)}")
    try:
        answer = await model.ask(POST_MORTEM, brief.prompt, PostMortemReply, lambda _: None)
    except ModelUnavailable:
        return trade
    return replace(trade, constraint=brief.plain(answer.value.constraint))


async def feedback(records: Sequence[KindRecord], model: Model | None) -> str:
    """What the past says to the judge; empty where there is no model or no past."""
    if model is None or not records:
        return ""
    brief = Brief(_MANY + _NUMBERS)
    for record in records:
        claimed = None if record.mean_win_pct is None else record.mean_win_pct / 100
        brief.say(
            f"{record.decision} in {record.regime}: {brief.number(record.won, Unit.COUNT)} of "
            f"{brief.number(record.ended, Unit.COUNT)} won, on average "
            f"{brief.number(record.mean_pct / 100, Unit.FRACTION)} after fees; claimed odds "
            f"{brief.number(claimed, Unit.FRACTION)}."
        )
    try:
        answer = await model.ask(FEEDBACK, brief.prompt, FeedbackReply, lambda _: None)
    except ModelUnavailable:
        return ""
    return brief.plain(answer.value.lesson)
