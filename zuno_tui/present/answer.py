"""What a command answers: a page or lines for people, a document for programs, and remarks."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import replace

from zuno_tui.present.exit_codes import DONE
from zuno_tui.present.output import Json, print_exactly, print_json, print_lines
from zuno_tui.present.terminal import terminal_of

if TYPE_CHECKING:
    from collections.abc import Iterable

    from zuno_tui.present.pages.page import Page


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
    to_write: str = ""
    """How to get the file, for people who see its page in a shell."""
    view: Page | None = None
    """What people see, in a shell and on the screen alike; lines and heading where there is
    none. Of what is a file, too, unless the output goes into one."""

    @property
    def page(self) -> tuple[str, ...]:
        """Everything for one reader, in order."""
        if self.view is None:
            return (*self.heading, *self.lines, *self.remarks)
        from zuno_tui.present.pages.page import page_lines

        return (*page_lines(self.view), *self.remarks)

    @property
    def whole_view(self) -> Page | None:
        """With the remarks, for a screen."""
        if self.view is None:
            return None
        from zuno_tui.present.pages.page import Words

        remarks = tuple(Words(words, "plain") for words in self.remarks)
        return replace(self.view, sections=(*self.view.sections, remarks))


def print_answer(answer: CommandAnswer, *, as_json: bool) -> int:
    """The data to stdout and the words to stderr; its exit code."""
    if as_json:
        print_json(answer.document)
    elif answer.view is not None and (sys.stdout.isatty() or not answer.exact):
        # Drawing is not loaded for what a program reads.
        from zuno_tui.present.pages.page import page_text

        sys.stdout.write(page_text(answer.view, terminal_of(sys.stdout)))
        sys.stdout.flush()
        _print_words((answer.to_write,) if answer.to_write else ())
    else:
        _print_words(answer.heading)
        (print_exactly if answer.exact else print_lines)(answer.lines)
    _print_words(answer.remarks)
    return answer.code


def _print_words(sentences: Iterable[str]) -> None:
    sys.stderr.write("".join(f"{words}\n" for words in sentences))
    sys.stderr.flush()
