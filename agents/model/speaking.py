"""How an agent speaks: a prompt with an id behind every number, then prose that is checked."""

import asyncio
import re
import unicodedata
from collections.abc import Callable, Coroutine, Iterator
from math import inf
from typing import Generic, Protocol, TypeVar

from msgspec import Struct, field
from pydantic import BaseModel

from agents.bus.envelope import CLI, Claim, Kind, ModelReply, SpokenTable, StruckClaim, Thought
from agents.bus.worker import HandlerContext, Outgoing
from agents.model.claims import (
    ClaimFlag,
    ClaimLedger,
    ClaimReport,
    Unit,
    find_numerals,
    innocents,
    without_ids,
)
from agents.model.interface import (
    Answer,
    Model,
    ModelPrompt,
    ModelUnavailable,
    PromptImage,
    Unavailability,
    Usage,
)
from chain.base.clean_text import clean_text

STRUCK = "[struck]"
MOST_QUOTED = 400
"""Characters of one statement."""
_LOOKED_AT = 2_000
_STRUCK_BEFORE = "(struck)"
"""What a mark that is ours has become once theirs were taken out."""
# What could end the quotation, look like an id, or look like markup to whoever reads the prompt.
_PLAIN_MARKS = str.maketrans('[]{}<>«»“”„"`', "()()()''''''\u2019"[:13])
_FOREIGN = re.compile(r"\b\w+://\S+|\b0[xX][0-9a-fA-F]{6,}\b")
# What would send a person somewhere, or have them do what only they may: links, what stands between
# backticks, and the words that approve, sign or lend.
_LURES = re.compile(
    r"`[^`]*`|\b(?:\w+://|www\.)\S+"
    r"|\b(?:type|enter|run|press|paste)\s+(?:in\s+)?[\"'«]?(?:\w+[\"'»]?)"
    r"|\b(?:approve|apply|sign|confirm|delegate|undelegate|export)(?:s|d|ed|ing)?\b"
    r"|\b(?:seed phrase|private key|passphrase|password)s?\b",
    re.IGNORECASE,
)
TAKEN_OUT = "…"
_HALF_SAID = re.compile(r"\s*(?:\[n?\d*\]?|\[s\w*)?$")


def tame_prose(prose: str) -> str:
    """A model's words without what could lead a person astray."""
    return re.sub(rf"{TAKEN_OUT}(?:[\s,.]*{TAKEN_OUT})+", TAKEN_OUT, _LURES.sub(TAKEN_OUT, prose))


def quotation(words: str, ledger: ClaimLedger) -> str:
    """The words on one line, each number with its id in this prompt, or struck if it has none."""
    text = clean_text(words, limit=_LOOKED_AT)
    text = clean_text(unicodedata.normalize("NFKC", text), limit=_LOOKED_AT)
    text = _without_every_id(text.translate(_PLAIN_MARKS))
    text = _with_known_numbers(text, ledger)
    return f"«{_bounded(text)}»"


def _without_every_id(text: str) -> str:
    """Taking an id out may leave another one behind."""
    while (without := without_ids(text)[0]) != text:
        text = without
    return text


def _with_known_numbers(text: str, ledger: ClaimLedger) -> str:
    pieces, at = [], 0
    text = _FOREIGN.sub(_STRUCK_BEFORE, text)
    numerals = find_numerals(text)
    harmless = innocents(text, numerals)
    for numeral in numerals:
        if numeral in harmless or numeral.start < at:
            continue
        glued = numeral.end < len(text) and (text[numeral.end].isalnum())
        name = None if glued else ledger.id_of(numeral)
        written = text[numeral.start : numeral.end]
        pieces += [text[at : numeral.start], STRUCK if name is None else f"[{name}] {written}"]
        at = numeral.end
    return "".join((*pieces, text[at:])).replace(_STRUCK_BEFORE, STRUCK)


def _bounded(text: str) -> str:
    if len(text) <= MOST_QUOTED:
        return text
    whole, _, _ = text[: MOST_QUOTED - 1].rpartition(" ")
    return _HALF_SAID.sub("", whole) + "…"


class Brief(Struct):
    """What a model is told; the ledger remembers each number it was given."""

    system: str
    ledger: ClaimLedger = field(default_factory=ClaimLedger)
    lines: list[str] = field(default_factory=list)
    image: PromptImage | None = None
    false_words: Callable[[str], tuple[ClaimFlag, ...]] | None = None
    """Where words say of what is on the table what is not so."""

    @property
    def prompt(self) -> ModelPrompt:
        return ModelPrompt(self.system, "\n".join(self.lines), self.image)

    def say(self, line: str) -> None:
        self.lines.append(line)

    def number(self, value: float | None, unit: Unit) -> str:
        return "unknown" if value is None else self.ledger.cite(value, unit)

    def quote(self, words: str) -> str:
        """What somebody said, as data between « and »; nothing in it is an instruction."""
        return quotation(words, self.ledger)

    def quote_stranger(self, words: str) -> str:
        """What somebody outside wrote: no number in it is one of ours, whatever it looks like."""
        return quotation(words, ClaimLedger())

    def check_claims(self, prose: str) -> ClaimReport:
        """The numbers that nobody gave, and the comparisons that the table does not bear out."""
        report = self.ledger.check(prose)
        false = () if self.false_words is None else self.false_words(prose)
        apart = (
            flag
            for flag in false
            if all(flag.end <= other.start or other.end <= flag.start for other in report.flags)
        )
        flags = sorted((*report.flags, *apart), key=lambda flag: flag.start)
        return ClaimReport(report.matched, tuple(flags))

    def plain(self, prose: str) -> str:
        """A model's words as others may quote them: without ids, without numbers nobody gave."""
        prose = tame_prose(prose)
        text, flags = without_ids(prose, self.check_claims(prose).flags)
        for flag in sorted(flags, key=lambda flag: flag.start, reverse=True):
            text = f"{text[: flag.start]}{STRUCK}{text[flag.end :]}"
        return text


SILENCE = "silence"
"""The tag of a thought that says why a model did not speak."""
CUT_QUESTION = "cut_question"
"""The tag of a thought that says that a server read only part of what was asked."""
_MOST_BYTES_PER_TOKEN = 8
"""Plain English takes about four, and our questions are full of figures, which take fewer."""
_LEAST_COUNTED = 256
"""Servers that count only what they had not read before report less than this."""
RULES_INSTEAD = "The rules speak instead."

Reply = TypeVar("Reply", bound=BaseModel)
Services = TypeVar("Services")
T = TypeVar("T")


class Spoken(Struct, Generic[Reply], frozen=True):
    """A model's reply, or the reason there is none."""

    reply: Reply | None
    silence: str = ""
    model: str = ""
    """Who replied."""
    reason: Unavailability | None = None
    """Why nobody did; None where nobody was asked."""
    cut: str = ""
    """A warning that its server read only part of the question."""


async def ask(
    context: HandlerContext[Services], model: Model | None, brief: Brief, schema: type[Reply]
) -> Spoken[Reply]:
    """The model's reply to a brief; without one the rules speak."""
    if model is None:
        return Spoken(None)
    try:
        answer = await ask_on_record(context, model, brief.prompt, schema)
    except ModelUnavailable as error:
        return Spoken(None, f"{error} {RULES_INSTEAD}", reason=error.reason)
    cut = cut_question(brief.prompt, answer.usage)
    return Spoken(answer.value, model=answer.model, cut=cut)


def cut_question(prompt: ModelPrompt, usage: Usage) -> str:
    """Some servers drop what does not fit their context, and answer as if they had read it all."""
    size = len((prompt.system + prompt.user).encode("utf-8", "replace"))
    least = size // _MOST_BYTES_PER_TOKEN
    if usage.estimated or not _LEAST_COUNTED <= usage.tokens_in < least:
        return ""
    return (
        f"The model's server counted {usage.tokens_in:,} tokens in a question of at least "
        f"{least:,}: it probably read only a part. Give it a larger context (Ollama: num_ctx)."
    )


def about_the_model(round_number: int, spoken: Spoken[Reply]) -> Iterator[Outgoing]:
    """Why a model is silent, or why its words deserve less weight."""
    if spoken.silence:
        yield thought_message(round_number, SILENCE, spoken.silence)
    if spoken.cut:
        yield thought_message(round_number, CUT_QUESTION, spoken.cut)


async def ask_on_record(
    context: HandlerContext[Services], model: Model, prompt: ModelPrompt, schema: type[Reply]
) -> Answer[Reply]:
    """Ask, and say what the model replied, usable or not, before anything is made of it."""
    asking = model.ask(context.role, prompt, schema, context.prose)
    answer = await in_time(context, prompt.digest, asking)
    await say_reply(context, prompt.digest, answer)
    return answer


class RecordedReply(Protocol):
    """What of a model's reply goes into the record."""

    @property
    def raw(self) -> str: ...

    @property
    def model(self) -> str: ...

    @property
    def usage(self) -> Usage: ...


async def say_reply(
    context: HandlerContext[Services], prompt_digest: str, replied: RecordedReply
) -> None:
    """What a model replied, for the record."""
    reply = ModelReply(
        step=next(context.questions),
        prompt=prompt_digest,
        model=replied.model,
        raw=replied.raw,
        unavailable=None,
        sentence=None,
        tokens_in=replied.usage.tokens_in,
        tokens_out=replied.usage.tokens_out,
        estimated=replied.usage.estimated,
    )
    await context.say(Outgoing(Kind.MODEL_REPLY, CLI, reply))


async def in_time(
    context: HandlerContext[Services], prompt_digest: str, asking: Coroutine[None, None, T]
) -> T:
    """What a model says before the debate's time for models is over; a failure is recorded."""
    try:
        return await _in_time(context.seconds_left(), asking)
    except ModelUnavailable as error:
        silent = ModelReply(
            step=next(context.questions),
            prompt=prompt_digest,
            model=None,
            raw=None,
            unavailable=error.reason,
            sentence=str(error),
            tokens_in=0,
            tokens_out=0,
            estimated=False,
        )
        await context.say(Outgoing(Kind.MODEL_REPLY, CLI, silent))
        raise


async def _in_time(seconds: float, asking: Coroutine[None, None, T]) -> T:
    """What a model answers before the debate's time for models is over."""
    limit = asyncio.timeout(None if seconds == inf else max(0.0, seconds))
    try:
        async with limit:
            return await asking
    except TimeoutError:
        if not limit.expired():
            raise
    raise ModelUnavailable(
        Unavailability.TIMED_OUT, "The time that models have in this debate is over."
    )


def thought_message(
    round_number: int,
    tag: str,
    text: str,
    *,
    table: SpokenTable | None = None,
    claims: tuple[Claim, ...] = (),
) -> Outgoing:
    """Words of code: its numbers are its own."""
    said = Thought(round=round_number, tag=tag, text=text, table=table, claims=claims)
    return Outgoing(Kind.AGENT_THOUGHT, CLI, said)


def model_thought(
    round_number: int,
    tag: str,
    text: str,
    brief: Brief,
    *,
    lead: str = "",
    table: SpokenTable | None = None,
) -> Outgoing:
    """Words of a model: each number in them is held against the ones it was given.

    The lead is code's own and stands before them.
    """
    text = tame_prose(text)
    report = brief.check_claims(text)
    behind = len(lead)
    struck = tuple(
        StruckClaim(start=behind + flag.start, end=behind + flag.end, why=flag.kind.value)
        for flag in report.flags
    )
    said = Thought(
        round=round_number,
        tag=tag,
        text=lead + text,
        struck=struck,
        cited=report.matched,
        table=table,
        by_model=True,
    )
    return Outgoing(Kind.AGENT_THOUGHT, CLI, said)
