"""`python -m tools.shape`: the product by kind of line and by room, and how long its files are."""

from __future__ import annotations

import ast
import statistics
from collections.abc import Iterable, Iterator
from pathlib import Path

from msgspec import Struct

ROOT = Path(__file__).resolve().parents[1]
ROOMS = ("zuno_tui", "agents", "chain")
_LONG = 450


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


def _shapes(paths: Iterable[Path]) -> Iterator[FileShape]:
    return (shape_of(path.read_text("utf-8")) for path in paths)


if __name__ == "__main__":
    main()
