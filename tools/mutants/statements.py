"""Changes to whole statements: one left out, a result forgotten, a loop left too early."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

_SILENT = {"print", "debug", "info", "warning", "exception", "log"}
"""Calls that only tell what happens."""


def changed(statement: ast.stmt) -> Iterator[ast.stmt]:
    """What could stand in the place of this statement."""
    match statement:
        case ast.Expr(value=ast.Yield() | ast.YieldFrom()):
            return
        case ast.Expr(value=value) if not _only_tells(value):
            yield ast.Pass()
        case ast.Raise() | ast.AugAssign() | ast.Delete():
            yield ast.Pass()
        case ast.Assign(targets=[ast.Attribute() | ast.Subscript()]):
            yield ast.Pass()
        case ast.Continue():
            yield ast.Break()
        case ast.Break():
            yield ast.Continue()
        case ast.Return(value=ast.Constant() | ast.JoinedStr() | None):
            return
        case ast.If(test=ast.Name() | ast.Attribute() | ast.Call() | ast.Await() as test):
            negated = ast.UnaryOp(ast.Not(), test)
            yield ast.If(negated, statement.body, statement.orelse)
        case ast.Return():
            yield ast.Return(value=ast.Constant(None))


def _only_tells(value: ast.expr) -> bool:
    match value:
        case ast.Call(func=ast.Name(id=name) | ast.Attribute(attr=name)):
            return name in _SILENT
        case _:
            return False
