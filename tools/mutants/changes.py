"""Every small change that can be made to the logic of one source file."""

from __future__ import annotations

import ast
from copy import copy
from itertools import chain, takewhile
from textwrap import indent
from typing import TYPE_CHECKING

from msgspec import Struct

from tools.mutants import expressions, statements

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

MODULE = "<module>"
"""The scope of what runs when a file is imported."""

_HEADED = ("body", "orelse", "finalbody", "handlers", "cases")
_AROUND = 30
"""Characters shown before and after what differs."""


class Block(Struct, frozen=True):
    """Where a line stands: its function, and which of the function's blocks of lines."""

    scope: str
    number: int


class Change(Struct, frozen=True):
    """One statement of one file, as it is and as it would be."""

    path: str
    line: int
    block: Block
    before: str
    after: str
    text: str
    """What stands in the place of the statement's lines."""
    last: int
    """The last of those lines."""

    @property
    def name(self) -> str:
        """What tells it from others, wherever the file's lines move to."""
        return "\n".join((self.path, self.block.scope, *self.shown))

    @property
    def shown(self) -> tuple[str, str]:
        """Both sides, cut to where they differ."""
        start = _alike(self.before, self.after)
        end = _alike(self.before[start:][::-1], self.after[start:][::-1])
        return _cut(self.before, start, end), _cut(self.after, start, end)

    def applied(self, source: str) -> str:
        """The whole file with the change made."""
        lines = source.splitlines(keepends=True)
        return "".join((*lines[: self.line - 1], self.text, *lines[self.last :]))


def changes_of(path: str, source: str, enums: Mapping[str, Sequence[str]]) -> Iterator[Change]:
    """All of them, in the order of the lines."""
    lines = source.splitlines()
    for block, body in blocks_of(ast.parse(source)):
        for statement in body:
            if _is_left_alone(statement, block):
                continue
            head = _head(statement)
            before = _one_line(head)
            for changed in _variants(head, enums):
                yield Change(
                    path=path,
                    line=_first_line(statement),
                    block=block,
                    before=before,
                    after=_one_line(changed),
                    text=_written(_whole(changed, statement), statement, lines),
                    last=statement.end_lineno or statement.lineno,
                )


def blocks_of(tree: ast.Module) -> Iterator[tuple[Block, list[ast.stmt]]]:
    """Every list of statements, by the function that holds it; outer ones first."""
    yield from _blocks(tree.body, MODULE, [0])


def _blocks(
    body: list[ast.stmt], scope: str, count: list[int]
) -> Iterator[tuple[Block, list[ast.stmt]]]:
    yield Block(scope, count[0]), body
    count[0] += 1
    for statement in body:
        if isinstance(statement, ast.FunctionDef | ast.AsyncFunctionDef):
            yield from _blocks(statement.body, _inside(scope, statement.name), [0])
        elif isinstance(statement, ast.ClassDef):
            for block, inner in _blocks(statement.body, _inside(scope, statement.name), [0]):
                # A class's own lines run when its file is imported.
                own = block.scope == _inside(scope, statement.name)
                yield (Block(MODULE, 0) if own else block), inner
        else:
            for inner in _inner_bodies(statement):
                yield from _blocks(inner, scope, count)


def _inner_bodies(statement: ast.stmt) -> Iterator[list[ast.stmt]]:
    if _is_for_types(statement):
        return
    for field in ("body", "orelse", "finalbody"):
        inner = getattr(statement, field, None)
        if inner:
            yield inner
    for handler in getattr(statement, "handlers", ()):
        yield handler.body
    for case in getattr(statement, "cases", ()):
        yield case.body


def _inside(scope: str, name: str) -> str:
    return name if scope == MODULE else f"{scope}.{name}"


def _is_for_types(statement: ast.stmt) -> bool:
    return isinstance(statement, ast.If) and ast.unparse(statement.test) == "TYPE_CHECKING"


def _is_left_alone(statement: ast.stmt, block: Block) -> bool:
    """What has no logic: imports, docstrings, types, and functions that only word a message."""
    if isinstance(statement, ast.Import | ast.ImportFrom | ast.ClassDef | ast.Pass):
        return True
    if isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant):
        return True
    return _is_for_types(statement) or "words" in _named(statement, block).lower()


def _named(statement: ast.stmt, block: Block) -> str:
    """The function that holds it, or the constant it sets."""
    match statement:
        case ast.AnnAssign(target=ast.Name(id=name)) | ast.Assign(targets=[ast.Name(id=name)]):
            return name
        case _:
            return block.scope.rsplit(".", 1)[-1]


def _head(statement: ast.stmt) -> ast.stmt:
    """A statement without the blocks it heads."""
    head = copy(statement)
    for field in _HEADED:
        if isinstance(getattr(head, field, None), list):
            setattr(head, field, [])
    return head


def _whole(head: ast.stmt, statement: ast.stmt) -> ast.stmt:
    """The head with the blocks of the statement it was made from."""
    if type(head) is type(statement):
        for field in _HEADED:
            if isinstance(getattr(head, field, None), list):
                setattr(head, field, getattr(statement, field))
    return head


def _one_line(head: ast.stmt) -> str:
    return " ".join(line.strip() for line in ast.unparse(head).splitlines())


def _variants(statement: ast.stmt, enums: Mapping[str, Sequence[str]]) -> Iterator[ast.stmt]:
    seen = {ast.unparse(statement)}
    for changed in chain(
        statements.changed(statement), expressions.changed_within(statement, enums)
    ):
        text = ast.unparse(ast.fix_missing_locations(changed))
        if text not in seen:
            seen.add(text)
            yield changed


def _written(changed: ast.stmt, statement: ast.stmt, lines: Sequence[str]) -> str:
    margin = " " * statement.col_offset
    text = indent(ast.unparse(changed), margin) + "\n"
    is_elif = lines[statement.lineno - 1].startswith("elif ", statement.col_offset)
    return text.replace(margin + "if ", margin + "elif ", 1) if is_elif else text


def _first_line(statement: ast.stmt) -> int:
    if isinstance(statement, ast.FunctionDef | ast.AsyncFunctionDef):
        return min((statement.lineno, *(each.lineno for each in statement.decorator_list)))
    return statement.lineno


def _alike(one: str, other: str) -> int:
    pairs = zip(one, other, strict=False)
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], pairs))


def _cut(text: str, start: int, end: int) -> str:
    first, last = max(0, start - _AROUND), len(text) - max(0, end - _AROUND)
    return ("…" if first else "") + text[first:last] + ("…" if last < len(text) else "")
