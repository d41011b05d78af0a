"""What a command answers: lines for people, a document for programs, and words beside them."""

import sys
from collections.abc import Iterable

from msgspec import Struct

from zuno_tui.present.exit_codes import DONE
from zuno_tui.present.output import Json, print_exactly, print_json, print_lines


class CommandAnswer(Struct, frozen=True):
    lines: tuple[str, ...]
    document: Json
    heading: tuple[str, ...] = ()
    """Said before the lines; a program that reads the document is spared it."""
    remarks: tuple[str, ...] = ()
    """Said after, whoever reads."""
    code: int = DONE
    exact: bool = False
    """Whether the lines are a file for a program, which no terminal may break."""

    @property
    def page(self) -> tuple[str, ...]:
        """Everything for one reader, in order."""
        return (*self.heading, *self.lines, *self.remarks)


def print_answer(answer: CommandAnswer, *, as_json: bool) -> int:
    """The data to stdout and the words to stderr; its exit code."""
    if as_json:
        print_json(answer.document)
    else:
        _print_words(answer.heading)
        (print_exactly if answer.exact else print_lines)(answer.lines)
    _print_words(answer.remarks)
    return answer.code


def _print_words(sentences: Iterable[str]) -> None:
    sys.stderr.write("".join(f"{words}\n" for words in sentences))
    sys.stderr.flush()
