"""`zuno glossary TERM`: what a word on the screen means."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from zuno_tui.catalog.command import Command, Group, Verb
from zuno_tui.intents.intent import Argument, Intent

if TYPE_CHECKING:
    from zuno_tui.app.session import Session
    from zuno_tui.intents.remaining import Remaining
    from zuno_tui.present.answer import CommandAnswer


class LookUpTerm(Intent, frozen=True):
    """Without a term, all of them."""

    command: ClassVar = ("glossary",)
    arguments: ClassVar = (Argument("term", 'like LVR or "against holding"', metavar="TERM"),)

    term: str | None = None


async def _answer(_session: Session, intent: LookUpTerm) -> CommandAnswer:
    return glossary_answer(intent.term)


def glossary_answer(said: str | None) -> CommandAnswer:
    from zuno_tui.intents.phrase_error import PhraseError
    from zuno_tui.present.answer import CommandAnswer
    from zuno_tui.present.glossary import GLOSSARY, term_named

    terms = GLOSSARY
    if said is not None:
        term = term_named(said)
        if term is None:
            raise PhraseError(f"The glossary has no {said!r}. All its words: zuno glossary", "")
        terms = (term,)
    return CommandAnswer(
        lines=tuple(f"{term.name}: {term.meaning}" for term in terms),
        document={"terms": [{"name": term.name, "meaning": term.meaning} for term in terms]},
    )


def _read(said: Remaining) -> LookUpTerm:
    from zuno_tui.present.glossary import term_named

    if not said:
        return LookUpTerm()
    term = term_named(said.text)
    if term is None:
        said.refuse(f"the word '{said.text}'.", "glossary")
    return LookUpTerm(term.name)


COMMAND = Command(
    does="what a word means",
    group=Group.SETUP,
    reaches_network=False,
    intent=LookUpTerm,
    answer=_answer,
    verbs=(Verb("glossary", _read, "glossary [TERM]", spoken=("define",)),),
)
