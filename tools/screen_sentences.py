"""`python -m tools.screen_sentences`: every sentence a person may read, with its file and line."""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Iterator
from pathlib import Path

_ROOT = Path(__file__).parent.parent
_ROOMS = ("zuno_tui", "agents", "chain")
_WORDS = re.compile(r"[A-Za-z]{2,}[^A-Za-z]+[A-Za-z]{2,}")
_NO_PROSE = re.compile(r"^[\w./:{}-]+$|^SELECT |^INSERT |^CREATE |^UPDATE |^DELETE ")


def sentences(file: Path) -> Iterator[tuple[int, str]]:
    """Strings of two words or more that are no docstring, f-strings with their gaps as `{}`."""
    tree = ast.parse(file.read_text("utf-8"))
    silent = {id(part) for node in ast.walk(tree) for part in _unseen(node)}
    for node in ast.walk(tree):
        if id(node) in silent:
            continue
        if isinstance(node, ast.JoinedStr):
            text = "".join(
                str(part.value) if isinstance(part, ast.Constant) else "{}" for part in node.values
            )
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            text = node.value
        else:
            continue
        if _WORDS.search(text) and not _NO_PROSE.match(text):
            yield node.lineno, " ".join(text.split())


def _unseen(node: ast.AST) -> Iterator[ast.AST]:
    """Docstrings and other strings that stand alone, and the parts of an f-string."""
    if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
        yield node.value
    if isinstance(node, ast.JoinedStr):
        yield from node.values


def main() -> int:
    for room in _ROOMS:
        for file in sorted((_ROOT / room).rglob("*.py")):
            for line, text in sentences(file):
                sys.stdout.write(f"{file.relative_to(_ROOT)}:{line}: {text}\n")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
