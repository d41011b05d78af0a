"""Changes inside an expression: a comparison, a constant, an operator, a name with a twin."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator, Mapping, Sequence
from copy import copy, deepcopy
from typing import cast

Enums = Mapping[str, Sequence[str]]
Put = Callable[[ast.expr], None]

_COMPARISONS: dict[type[ast.cmpop], tuple[type[ast.cmpop], ...]] = {
    ast.Lt: (ast.LtE, ast.GtE),
    ast.LtE: (ast.Lt, ast.Gt),
    ast.Gt: (ast.GtE, ast.LtE),
    ast.GtE: (ast.Gt, ast.Lt),
    ast.Eq: (ast.NotEq,),
    ast.NotEq: (ast.Eq,),
    ast.In: (ast.NotIn,),
    ast.NotIn: (ast.In,),
    ast.Is: (ast.IsNot,),
    ast.IsNot: (ast.Is,),
}
_OPERATORS: dict[type[ast.operator], type[ast.operator]] = {
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.FloorDiv,
    ast.FloorDiv: ast.Mult,
    ast.Div: ast.Mult,
    ast.Mod: ast.FloorDiv,
    ast.LShift: ast.RShift,
    ast.RShift: ast.LShift,
    ast.BitAnd: ast.BitOr,
    ast.Pow: ast.Mult,
}
_TWINS = {"min": "max", "max": "min", "any": "all", "all": "any"}
_PAIRS = (("0", "1"), ("lower", "upper"), ("low", "high"), ("first", "last"), ("before", "after"))
_BLOCKS = ("body", "orelse", "finalbody", "handlers", "cases", "decorator_list", "returns")
_TYPES = ("annotation", "decorator_list", "returns", "type_params")


def changed_within(statement: ast.stmt, enums: Enums) -> Iterator[ast.stmt]:
    """The statement once for every change to one of its expressions; each holds until the next."""
    whole = deepcopy(statement)
    for node, put in _places(whole):
        for other in _changed(node, enums):
            put(other)
            yield copy(whole)
        put(node)


def _places(statement: ast.stmt) -> Iterator[tuple[ast.expr, Put]]:
    """Every expression that is logic, and a way to put another in its place."""
    for field, value in ast.iter_fields(statement):
        if field in _TYPES or (field in _BLOCKS and isinstance(value, list)):
            continue
        if isinstance(statement, ast.Raise):
            continue
        yield from _expressions(statement, field, value)


def _expressions(parent: ast.AST, field: str, value: object) -> Iterator[tuple[ast.expr, Put]]:
    if isinstance(value, list):
        for place, each in enumerate(value):
            if isinstance(each, ast.AST):
                yield from _walk(each, _list_put(value, place))
    elif isinstance(value, ast.AST):
        yield from _walk(value, _field_put(parent, field))


def _walk(node: ast.AST, put: Put) -> Iterator[tuple[ast.expr, Put]]:
    """Neither the words of a message nor `strict`, which only guards against our own errors."""
    if isinstance(node, ast.JoinedStr) or (isinstance(node, ast.keyword) and node.arg == "strict"):
        return
    if isinstance(node, ast.expr):
        yield node, put
    for field, value in ast.iter_fields(node):
        if field not in _TYPES:
            yield from _expressions(node, field, value)


def _field_put(parent: ast.AST, field: str) -> Put:
    return lambda other: setattr(parent, field, other)


def _list_put(values: list[object], place: int) -> Put:
    def put(other: ast.expr) -> None:
        values[place] = other

    return put


def _changed(node: ast.expr, enums: Enums) -> Iterator[ast.expr]:
    match node:
        case ast.Compare(ops=ops):
            yield from _compared(node, ops)
        case ast.BoolOp(op=op, values=values):
            other = ast.Or() if isinstance(op, ast.And) else ast.And()
            yield ast.BoolOp(other, values)
            yield values[0]
            yield values[-1]
        case ast.UnaryOp(op=ast.Not() | ast.USub(), operand=operand):
            yield operand
        case ast.BinOp(left=left, op=op, right=right):
            if type(op) in _OPERATORS and not (_is_sequence(left) or _is_sequence(right)):
                yield ast.BinOp(left, _OPERATORS[type(op)](), right)
        case ast.Constant(value=bool() as value):
            yield ast.Constant(not value)
        case ast.Constant(value=int() | float() as value):
            yield ast.Constant(value + 1)
            yield ast.Constant(value - 1)
        case ast.IfExp(test=test, body=body, orelse=orelse):
            yield ast.IfExp(test, orelse, body)
        case ast.Name(id=name) if name in _TWINS:
            yield ast.Name(_TWINS[name])
        case ast.Attribute():
            yield from _attributes(node, enums)
        case ast.ListComp() | ast.SetComp() | ast.GeneratorExp():
            yield from _unfiltered(node)
        case _:
            return


def _compared(node: ast.Compare, ops: list[ast.cmpop]) -> Iterator[ast.expr]:
    for place, op in enumerate(ops):
        for other in _COMPARISONS[type(op)]:
            yield ast.Compare(
                node.left, [*ops[:place], other(), *ops[place + 1 :]], node.comparators
            )


def _attributes(node: ast.Attribute, enums: Enums) -> Iterator[ast.expr]:
    """The next member of the same enum, or the other of a pair such as lower and upper."""
    if isinstance(node.value, ast.Name) and node.attr in enums.get(node.value.id, ()):
        members = enums[node.value.id]
        following = members[(members.index(node.attr) + 1) % len(members)]
        yield ast.Attribute(node.value, following)
        return
    for one, other in (*_PAIRS, *((b, a) for a, b in _PAIRS)):
        if node.attr == one or node.attr.endswith(one):
            yield ast.Attribute(node.value, node.attr.removesuffix(one) + other)
            return


def _unfiltered(node: ast.ListComp | ast.SetComp | ast.GeneratorExp) -> Iterator[ast.expr]:
    for place, each in enumerate(node.generators):
        if each.ifs:
            whole = deepcopy(node)
            whole.generators[place].ifs = []
            yield whole


def _is_sequence(node: ast.expr) -> bool:
    """Whether arithmetic on it would fail at once, which tells nothing of the tests."""
    match node:
        case ast.Constant(value=value):
            return isinstance(value, str | bytes)
        case ast.Call(func=ast.Attribute(attr=name)):
            return name in {"join", "hex", "encode", "decode", "to_bytes", "strip", "lower"}
        case _:
            return isinstance(node, ast.JoinedStr | ast.List | ast.Tuple | ast.ListComp | ast.Dict)


def enums_of(source: str) -> dict[str, tuple[str, ...]]:
    """The enums a file defines, with their members."""
    if "Enum" not in source:
        return {}
    return {
        node.name: members
        for node in ast.walk(ast.parse(source))
        if isinstance(node, ast.ClassDef)
        and any("Enum" in ast.unparse(base) for base in node.bases)
        and len(members := _members(node)) > 1
    }


def _members(node: ast.ClassDef) -> tuple[str, ...]:
    assigned = (each for each in node.body if isinstance(each, ast.Assign))
    return tuple(cast("ast.Name", each.targets[0]).id for each in assigned)
