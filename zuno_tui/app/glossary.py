"""`zuno glossary TERM`: what a word on the screen means."""

from zuno_tui.present.answer import CommandAnswer
from zuno_tui.present.glossary import GLOSSARY, GlossaryTerm, term_named
from zuno_tui.prompt.phrase_error import PhraseError


def glossary_answer(said: str | None) -> CommandAnswer:
    terms: tuple[GlossaryTerm, ...] = GLOSSARY
    if said is not None:
        term = term_named(said)
        if term is None:
            raise PhraseError(f"The glossary has no {said!r}. All its words: zuno glossary", "")
        terms = (term,)
    return CommandAnswer(
        lines=tuple(f"{term.name}: {term.meaning}" for term in terms),
        document={"terms": [{"name": term.name, "meaning": term.meaning} for term in terms]},
    )
