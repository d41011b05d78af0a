"""`python -m tools.shape`: the product by kind of line and by room, its names and its circles."""

from __future__ import annotations

import ast
import re
import statistics
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

from msgspec import Struct

ROOT = Path(__file__).resolve().parents[1]
ROOMS = ("zuno_tui", "agents", "chain")
_LONG = 450
# What a reader of the rest may leave unread.
BESIDE_THE_CORE = re.compile(
    r"/(trade|orders|standing_orders|exchange|safe|ledger|devnet|mesh|mcp|lab|memory|backtest|"
    r"calibration|scorecard)/|/wallet/(devices|json_rpc|watch_key)|contracts/(safe|signed_deleg)|"
    r"app/(device_wallets|safe_wallet|watch_key|market|demo_place)|commands/(demo|devnet|market)"
)
_PARTICIPLE = re.compile(
    r"(?!(?:bed|bleed|breed|exceed|feed|heed|need|proceed|read|seed|shed|speed|succeed)$)"
    r"(?!(?:bring|funding|heading|listing|mapping|opening|string)$)"
    r"(?:[a-z]{2,}(?:ed|ing)|beaten|become|been|begun|bent|bitten|blown|borne?|bought|broken|brought|"
    r"built|burnt|caught|chosen|clung|crept|dealt|done|drawn|driven|dug|eaten|fallen|felt|fled|flown|"
    r"forbidden|foreseen|forgotten|forgiven|fought|found|frozen|given|gone|got|grown|heard|held|"
    r"hidden|hung|kept|known|laid|lain|learnt|led|left|lent|lost|made|meant|met|mistaken|overtaken|"
    r"owed|paid|proven|ridden|risen|rung|said|seen|sent|sewn|shaken|shone|shot|shown|shrunk|shut|"
    r"slept|slid|sold|sought|spelt|spent|split|spoken|sprung|spun|stolen|stood|struck|stuck|sung|"
    r"sunk|swept|sworn|swum|swung|taken|taught|thought|thrown|told|took|torn|undone|unforeseen|"
    r"unknown|wept|withdrawn|woken|won|worn|woven|written|wrung|"
    r"(?:un|re|mis|over)(?:told|kept|made|held|known|seen|given|sent|said|paid|sold|read|done))"
)
"""A bare `-ing` is one, too, where it is no noun of the field."""


class FileShape(Struct, frozen=True):
    lines: int
    imports: int
    blanks: int
    heads: int
    """Signatures, decorators, class heads and bare fields."""
    words: int
    """Docstrings and comments."""
    functions: tuple[int, ...]

    @property
    def code(self) -> int:
        return self.lines - self.imports - self.blanks - self.heads - self.words


def shape_of(source: str) -> FileShape:
    rows = source.splitlines()
    tree = ast.parse(source)
    nodes = list(ast.walk(tree))
    return FileShape(
        len(rows),
        sum(map(_import_lines, nodes)),
        sum(not row.strip() for row in rows),
        sum(map(_head_lines, nodes)),
        sum(row.lstrip().startswith("#") for row in rows) + sum(_prose_lines(tree)),
        tuple(_span(node) for node in nodes if isinstance(node, _FUNCTIONS)),
    )


_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)


def _span(node: ast.stmt) -> int:
    return (node.end_lineno or node.lineno) - node.lineno + 1


def _import_lines(node: ast.AST) -> int:
    if isinstance(node, ast.Import | ast.ImportFrom):
        return _span(node)
    return isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test)


def _head_lines(node: ast.AST) -> int:
    if isinstance(node, ast.AnnAssign):
        return node.value is None
    if not isinstance(node, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
        return 0
    first = min([node.lineno, *(one.lineno for one in node.decorator_list)])
    return max(node.body[0].lineno - first, 1)


def _prose_lines(tree: ast.Module) -> Iterator[int]:
    """Of strings that stand alone: blank lines inside are counted as blank."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
            text = node.value.value
            if isinstance(text, str):
                yield sum(bool(row.strip()) for row in text.splitlines()) or 1


def report(room: str, shapes: list[FileShape]) -> str:
    lines = sum(one.lines for one in shapes)
    parts = (
        sum(one.code for one in shapes),
        sum(one.imports for one in shapes),
        sum(one.blanks for one in shapes),
        sum(one.heads for one in shapes),
        sum(one.words for one in shapes),
    )
    scaffolding = sum(parts[1:4])
    shares = "  ".join(f"{100 * part / lines:5.1f}" for part in (*parts, scaffolding))
    return f"{room:<10} {len(shapes):>6} {lines:>8}  {shares}"


def main(root: Path = ROOT) -> None:
    found = {room: list(_shapes((root / room).rglob("*.py"))) for room in ROOMS}
    whole = [one for shapes in found.values() for one in shapes]
    print("room        files    lines   code  import  blank   head  words  scaffolding, in %")
    for room, shapes in found.items():
        print(report(room, shapes))
    print(report("all", whole))
    sizes = sorted(one.lines for one in whole)
    short = sum(size < _LONG for size in sizes) / len(sizes)
    functions = [span for one in whole for span in one.functions]
    print(
        f"files: median {statistics.median(sizes):g} lines, {short:.1%} under {_LONG}, longest "
        f"{sizes[-1]}; functions: {len(functions)}, median {statistics.median(functions):g} lines"
    )
    main_names(root)


def is_participle(name: str) -> bool:
    """`told` and `kept` say neither what is done nor what is returned."""
    return _PARTICIPLE.fullmatch(name) is not None


def statements(tree: ast.Module, *, within_functions: bool = True) -> Iterator[ast.stmt]:
    """All of them, without the expressions they are made of, which are ten times as many."""
    waiting: list[ast.AST] = list(tree.body)
    while waiting:
        node = waiting.pop()
        if isinstance(node, ast.stmt):
            yield node
        if within_functions or not isinstance(node, _FUNCTIONS):
            waiting += filter(_may_hold_statements, ast.iter_child_nodes(node))


def _may_hold_statements(node: ast.AST) -> bool:
    return isinstance(node, ast.stmt | ast.excepthandler | ast.match_case)


def bare_participles(tree: ast.Module) -> Iterator[str]:
    """Functions and methods called so, those inside a function among them."""
    for node in statements(tree):
        if isinstance(node, _FUNCTIONS) and is_participle(node.name):
            yield node.name


def repeated_classes(trees: Iterable[ast.Module]) -> list[str]:
    names = Counter(
        node.name for tree in trees for node in statements(tree) if isinstance(node, ast.ClassDef)
    )
    return sorted(name for name, times in names.items() if times > 1)


def copied_records(tree: ast.Module) -> Iterator[int]:
    """Lines of dictionaries that say three fields of a record over again, under the same names."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Dict):
            repeated = sum(
                isinstance(key, ast.Constant) and _field(value) == key.value
                for key, value in zip(node.keys, node.values, strict=True)
            )
            if repeated >= _COPY:
                yield node.lineno


_COPY = 3


def _field(value: ast.expr) -> str:
    """`str(step.gas_used)` is `gasUsed`, as is `None if step is None else step.gas_used`."""
    match value:
        case ast.IfExp(body=body, orelse=other):
            return _field(other) or _field(body)
        case ast.Call(func=ast.Name(), args=[only]):
            return _field(only)
        case ast.Attribute(value=ast.Attribute() as of, attr="value"):
            return _field(of)
        case ast.Attribute(attr=name):
            first, *others = name.split("_")
            return first + "".join(part.capitalize() for part in others)
    return ""


def named_dictionaries(tree: ast.Module) -> Iterator[int]:
    """Lines of dictionaries of three names or more inside functions, whatever they are for."""
    inside = {
        inner for node in ast.walk(tree) if isinstance(node, _FUNCTIONS) for inner in ast.walk(node)
    }
    for node in inside:
        if isinstance(node, ast.Dict):
            names = [key for key in node.keys if isinstance(key, ast.Constant)]
            if sum(isinstance(key.value, str) for key in names) >= _COPY:
                yield node.lineno


def called_once(tree: ast.Module) -> int:
    """Private functions and methods that one place alone refers to."""
    private = {
        node.name
        for node in ast.walk(tree)
        if isinstance(node, _FUNCTIONS) and re.match("_[^_]", node.name)
    }
    named = Counter(
        node.id if isinstance(node, ast.Name) else node.attr
        for node in ast.walk(tree)
        if isinstance(node, ast.Name | ast.Attribute)
    )
    return sum(named[name] == 1 for name in private)


def circles(trees: Mapping[str, ast.Module]) -> Iterator[tuple[str, ...]]:
    """Of modules that import each other, for types too; what a function imports is left out."""
    arrows = {name: set(_imports(tree, trees)) - {name} for name, tree in trees.items()}
    while True:
        try:
            TopologicalSorter(arrows).prepare()
        except CycleError as error:
            circle: list[str] = error.args[1]
            yield tuple(circle)
            arrows[circle[1]].discard(circle[0])
        else:
            return


def _imports(tree: ast.Module, known: Mapping[str, object]) -> Iterator[str]:
    for node in statements(tree, within_functions=False):
        if isinstance(node, ast.ImportFrom) and node.module:
            for name in node.names:
                inside = f"{node.module}.{name.name}"
                if inside in known or node.module in known:
                    yield inside if inside in known else node.module


def main_names(root: Path) -> None:
    paths = [path for room in ROOMS for path in sorted((root / room).rglob("*.py"))]
    trees = {
        ".".join(path.relative_to(root).with_suffix("").parts).removesuffix(".__init__"): ast.parse(
            path.read_text("utf-8")
        )
        for path in paths
    }
    functions = sum(
        isinstance(node, _FUNCTIONS) for tree in trees.values() for node in ast.walk(tree)
    )
    once = sum(map(called_once, trees.values()))
    core = sum(
        len(path.read_text("utf-8").splitlines())
        for path in paths
        if BESIDE_THE_CORE.search(path.relative_to(root).as_posix()) is None
    )
    bare = sorted(name for tree in trees.values() for name in bare_participles(tree))
    print(f"bare participles: {len(bare)} {' '.join(bare)}".rstrip())
    print("class names used twice:", *(repeated_classes(trees.values()) or ("0",)))
    named = sum(len(list(named_dictionaries(tree))) for tree in trees.values())
    copied = sum(
        len(list(copied_records(tree)))
        for name, tree in trees.items()
        if not name.startswith("chain.")
    )
    print(
        f"dictionaries of three names: {named}; {copied} copy a record, not counting chain, where "
        "nodes and wallets fix the names"
    )
    print(f"private functions called once: {once}, {once / functions:.1%} of all")
    found = list(circles(trees))
    print(f"circles, types counted: {len(found)}", *(" -> ".join(circle) for circle in found))
    print(f"core: {core:,} lines")


def _shapes(paths: Iterable[Path]) -> Iterator[FileShape]:
    return (shape_of(path.read_text("utf-8")) for path in paths)


if __name__ == "__main__":
    main()
