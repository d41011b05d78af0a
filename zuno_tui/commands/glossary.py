"""`zuno glossary TERM`: what a word on the screen means."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from zuno_tui.catalog.command import Argument, Command, Group, Intent, Verb

if TYPE_CHECKING:
    from zuno_tui.app.session import Session
    from zuno_tui.present.answer import CommandAnswer
    from zuno_tui.prompt.remaining import Remaining


class LookUpTerm(Intent, frozen=True):
    """Without a term, all of them."""

    command: ClassVar = ("glossary",)
    arguments: ClassVar = (Argument("term", 'like LVR or "against holding"', metavar="TERM"),)

    term: str | None = None


async def _answer(_session: Session, intent: LookUpTerm) -> CommandAnswer:
    from zuno_tui.app.glossary import glossary_answer

    return glossary_answer(intent.term)


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
    group=Group.HOUSE,
    reaches_network=False,
    intent=LookUpTerm,
    answer=_answer,
    verbs=(Verb("glossary", _read, "glossary [TERM]", spoken=("define",)),),
)
