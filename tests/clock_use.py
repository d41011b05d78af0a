"""Where a test's source waits for a few seconds of the machine, or asserts on how many it took."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import cache
from itertools import pairwise
from operator import add, floordiv, mul, pow, sub, truediv  # noqa: A004
from typing import NamedTuple

from tests.fork_server import ROOT

LEAST_SECONDS = 60
_WAITS = ("sleep", "wait_for", "timeout")
_POSITIONAL_WAITS = {"call_later", "join", "sigtimedwait", "wait"}
_MAY_BE_NOTHING = _POSITIONAL_WAITS | {"sleep"}
_CLOCKS = {"monotonic", "monotonic_ns", "perf_counter", "perf_counter_ns", "time"}
_MENTIONS = re.compile(
    r"sleep|wait_for|timeout|Timeout|call_later|sigtimedwait|monotonic|perf_counter"
    r"|time\(\)|[\w\])]\.(?:wait|join)\("
)
"""Most files need not be read any closer."""
_FIGURING = {"abs", "all", "any", "append", "approx", "float", "int", "max", "min", "round", "sum"}
_Function = ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda
_OPERATORS: dict[type[ast.operator], Callable[[float, float], float]] = {
    ast.Add: add,
    ast.Sub: sub,
    ast.Mult: mul,
    ast.Div: truediv,
    ast.FloorDiv: floordiv,
    ast.Pow: pow,
}


class Offence(NamedTuple):
    line: int
    why: str


@dataclass
class _Scope:
    """What is bound to a name in a module, a class or a function, by every statement that does."""

    parent: _Scope | None = None
    values: dict[str, list[ast.expr]] = field(default_factory=dict)

    def bind(self, target: ast.expr, value: ast.expr) -> None:
        if isinstance(target, ast.Tuple | ast.List):
            for place, one in enumerate(target.elts):
                if not isinstance(value, ast.Tuple | ast.List):
                    self.bind(one, ast.Subscript(value, ast.Constant(place), ast.Load()))
                elif place < len(value.elts):
                    self.bind(one, value.elts[place])
        elif name := _last_name(target):
            self.values.setdefault(name, []).append(value)

    def find(self, name: str) -> tuple[_Scope, list[ast.expr]] | None:
        if name in self.values:
            return self, self.values[name]
        return None if self.parent is None else self.parent.find(name)


class _Source:
    def __init__(self, tree: ast.Module) -> None:
        self.top = _Scope()
        self.attributes = _Scope()
        self.aliases: dict[str, str] = {}
        self.imports: dict[str, tuple[str, str]] = {}
        self.scopes: dict[ast.AST, _Scope] = {}
        self._enter(tree, self.top)

    def _enter(self, node: ast.AST, scope: _Scope) -> None:
        for child in ast.iter_child_nodes(node):
            inside = scope
            if isinstance(child, _Function):
                inside = _Scope(scope)
                _bind_defaults(child.args, inside)
                if not isinstance(child, ast.Lambda):
                    scope.values.setdefault(child.name, []).extend(_returned(child))
            self._bind(child, inside, in_class=isinstance(node, ast.ClassDef))
            self.scopes[child] = inside
            self._enter(child, inside)

    def _bind(self, node: ast.AST, scope: _Scope, *, in_class: bool) -> None:
        match node:
            case ast.Assign(targets=targets, value=value):
                for target in targets:
                    self._bind_one(target, value, scope, in_class=in_class)
            case (
                ast.AnnAssign(target=target, value=ast.expr() as value)
                | ast.NamedExpr(target=target, value=value)
                | ast.AugAssign(target=target, value=value)
            ):
                self._bind_one(target, value, scope, in_class=in_class)
            case ast.For(target=target, iter=ast.Tuple(elts=values) | ast.List(elts=values)):
                for value in values:
                    scope.bind(target, value)
            case ast.Import(names=names):
                for name in names:
                    self.imports[name.asname or name.name] = (name.name, "")
            case ast.ImportFrom(module=str() as module, names=names):
                for name in names:
                    self.aliases[name.asname or name.name] = name.name
                    self.imports[name.asname or name.name] = (module, name.name)

    def _bind_one(
        self, target: ast.expr, value: ast.expr, scope: _Scope, *, in_class: bool
    ) -> None:
        if in_class or isinstance(target, ast.Attribute):
            self.attributes.bind(target, value)
        if not isinstance(target, ast.Attribute):
            scope.bind(target, value)
        if isinstance(target, ast.Name) and isinstance(value, ast.Attribute | ast.Name):
            self.aliases.setdefault(target.id, self.called(value))

    def called(self, function: ast.expr) -> str:
        """What a function is called where it comes from."""
        name = _last_name(function)
        return self.aliases.get(name, name) if isinstance(function, ast.Name) else name

    def numbers(self, node: ast.expr, scope: _Scope, depth: int = 0) -> list[float]:
        """Every number that an expression may be, as far as the source tells."""
        if depth > 8:
            return []
        match node:
            case ast.Constant(value=bool()):
                return []
            case ast.Constant(value=int() | float() as number):
                return [number]
            case ast.NamedExpr(value=value):
                return self.numbers(value, scope, depth + 1)
            case ast.UnaryOp(op=ast.USub(), operand=operand):
                return [-number for number in self.numbers(operand, scope, depth + 1)]
            case ast.BinOp(left=left, op=operator, right=right) if type(operator) in _OPERATORS:
                return [
                    _OPERATORS[type(operator)](one, other)
                    for one in self.numbers(left, scope, depth + 1)
                    for other in self.numbers(right, scope, depth + 1)
                    if other or not isinstance(operator, ast.Div | ast.FloorDiv)
                ]
            case ast.IfExp(body=one, orelse=other) | ast.BoolOp(values=[one, other]):
                return [x for part in (one, other) for x in self.numbers(part, scope, depth + 1)]
            case ast.Call(func=ast.Name(id="float" | "int" | "min" | "max"), args=args):
                known = [self.numbers(part, scope, depth + 1) for part in args]
                return [x for part in known for x in part] if all(known) or _is_min(node) else []
            case ast.Name(id=name):
                if (bound := scope.find(name)) is not None:
                    where, values = bound
                    return [x for value in values for x in self.numbers(value, where, depth + 1)]
                return self._imported(*self.imports.get(name, ("", "")))
            case ast.Attribute(value=ast.Name(id=module), attr=name) if module in self.imports:
                return self._imported(".".join(filter(None, self.imports[module])), name)
            case ast.Attribute(attr=name):
                values = self.attributes.values.get(name, [])
                return [x for value in values for x in self.numbers(value, self.top, depth + 1)]
        return []

    def _imported(self, module: str, name: str) -> list[float]:
        return _constants(module).get(name, []) if name else []


@cache
def _constants(module: str) -> dict[str, list[float]]:
    """The numbers that one of our modules gives names to."""
    file = ROOT.joinpath(*module.split(".")).with_suffix(".py")
    if not file.is_file():
        return {}
    source = _Source(ast.parse(file.read_text()))
    return {
        name: [number for value in values for number in source.numbers(value, source.top)]
        for name, values in source.top.values.items()
    }


def _is_min(node: ast.Call) -> bool:
    return isinstance(node.func, ast.Name) and node.func.id == "min"


def _last_name(node: ast.expr) -> str:
    match node:
        case ast.Name(id=name) | ast.Attribute(attr=name):
            return name
        case ast.Call(func=function) | ast.Subscript(value=function):
            return _last_name(function)
    return ""


def _bind_defaults(arguments: ast.arguments, scope: _Scope) -> None:
    places = [*arguments.posonlyargs, *arguments.args]
    given = [*zip(reversed(places), reversed(arguments.defaults), strict=False)]
    given += [
        (one, value)
        for one, value in zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True)
        if value is not None
    ]
    for argument in (*places, *arguments.kwonlyargs):
        scope.values[argument.arg] = []
    for argument, value in given:
        scope.values[argument.arg].append(value)


def _returned(function: ast.FunctionDef | ast.AsyncFunctionDef) -> list[ast.expr]:
    nodes = [node for node in ast.walk(function) if isinstance(node, ast.Return)]
    return [node.value for node in nodes if node.value is not None]


def offences(text: str) -> list[Offence]:
    if not _MENTIONS.search(text):
        return []
    tree = ast.parse(text)
    source = _Source(tree)
    found: set[Offence] = set()
    for node, scope in source.scopes.items():
        if isinstance(node, ast.Call):
            found.update(_short_waits(source, scope, node))
        elif isinstance(node, ast.Assign | ast.AnnAssign):
            found.update(_short_limits(source, scope, node))
        elif isinstance(node, ast.Assert) and _is_timed(source, scope, node.test):
            found.add(Offence(node.lineno, "asserts on seconds"))
        elif (
            isinstance(node, ast.BinOp)
            and isinstance(node.op, ast.Add)
            and any(_is_clock(source, side) for side in (node.left, node.right))
            and any(
                number < LEAST_SECONDS
                for side in (node.left, node.right)
                for number in source.numbers(side, scope)
            )
        ):
            found.add(Offence(node.lineno, "a deadline in less than a minute"))
    return sorted(found)


def _short_limits(
    source: _Source, scope: _Scope, node: ast.Assign | ast.AnnAssign
) -> Iterator[Offence]:
    """What is called a timeout is one, whoever reads it."""
    targets = node.targets if isinstance(node, ast.Assign) else [node.target]
    for target in targets:
        if _last_name(target).lower().endswith("timeout") and node.value is not None:
            for seconds in source.numbers(node.value, scope):
                if seconds < LEAST_SECONDS:
                    yield Offence(node.lineno, f"a timeout of {seconds:g} s")


def _short_waits(source: _Source, scope: _Scope, call: ast.Call) -> Iterator[Offence]:
    name = source.called(call.func).lower()
    limits = [word.value for word in call.keywords if (word.arg or "").endswith("timeout")]
    if name.endswith(_WAITS) or name in _POSITIONAL_WAITS:
        limits += call.args[:1] if name in {"sleep", "call_later"} else call.args
        limits += [word.value for word in call.keywords]
    # `partial(sleep, 1)`, `to_thread(time.sleep, 1)`, `Thread(target=sleep, args=(1,))`
    given = [*call.args, *(word.value for word in call.keywords)]
    for function, after in pairwise(given):
        if isinstance(function, ast.Name | ast.Attribute) and source.called(function).endswith(
            _WAITS
        ):
            limits += after.elts if isinstance(after, ast.Tuple) else [after]
    for limit in limits:
        for seconds in source.numbers(limit, scope):
            if seconds < LEAST_SECONDS and not (seconds == 0 and name in _MAY_BE_NOTHING):
                yield Offence(call.lineno, f"{name} of {seconds:g} s")


def _is_clock(source: _Source, node: ast.expr) -> bool:
    """Whether it reads a clock: `perf_counter()`, `time.monotonic()`, `loop.time()`."""
    if not isinstance(node, ast.Call) or node.args:
        return False
    name = source.called(node.func)
    if name == "time" and isinstance(node.func, ast.Attribute):
        return _last_name(node.func.value).endswith(("loop", "time"))
    return name in _CLOCKS


def _is_timed(
    source: _Source, scope: _Scope, node: ast.AST, seen: frozenset[str] = frozenset()
) -> bool:
    """Whether an expression is computed from what a clock said, here or where a name got it."""
    match node:
        case ast.Call(func=ast.Attribute(value=ast.Name(id="time"), attr="time")):
            return False  # the date, not how long something took
        case ast.Call() if _is_clock(source, node):
            return True
        case ast.Call(func=function, args=arguments):
            name = _last_name(function)
            parts = arguments if name in _FIGURING else [function]
            if isinstance(function, ast.Attribute) and name not in _FIGURING:
                parts = []
            return any(_is_timed(source, scope, part, seen) for part in parts)
        case ast.Subscript(
            value=ast.Call() | ast.Await() as value, slice=ast.Constant(value=int() as place)
        ):
            return _is_timed_part(source, scope, value, place, seen)
        case ast.Name(id=name) | ast.Attribute(attr=name):
            bound = scope.find(name) if isinstance(node, ast.Name) else None
            where, values = bound or (source.top, source.attributes.values.get(name, []))
            return name not in seen and any(
                _is_timed(source, where, value, seen | {name}) for value in values
            )
    return any(_is_timed(source, scope, part, seen) for part in ast.iter_child_nodes(node))


def _is_timed_part(
    source: _Source, scope: _Scope, call: ast.expr, place: int, seen: frozenset[str]
) -> bool:
    """Of what one of this module's functions gives back as a tuple."""
    while isinstance(call, ast.Await):
        call = call.value
    name = _last_name(call)
    _, values = scope.find(name) or (scope, [])
    tuples = [value.elts for value in values if isinstance(value, ast.Tuple)]
    return name not in seen and any(
        _is_timed(source, source.top, parts[place], seen | {name})
        for parts in tuples
        if place < len(parts)
    )
