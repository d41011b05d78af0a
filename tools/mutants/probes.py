"""Which blocks of lines each test runs, told by the lines themselves.

Put into a copy of the project, every block begins with a call to `ran`. It writes a block's name
down when a process first runs it, so that commands in processes of their own are seen as well.
"""

from __future__ import annotations

import ast
import os
from pathlib import Path

from tools.mutants.changes import MODULE, Block, blocks_of

LOG = "MUTANTS_LOG"
"""The environment's name for the file to write to."""

_seen: set[tuple[str, str]] = set()


def ran(name: str) -> None:
    """Note that this block was run, once for every log."""
    log = os.environ.get(LOG)
    if log is None or (log, name) in _seen:
        return
    _seen.add((log, name))
    with Path(log).open("a", encoding="utf-8") as file:
        file.write(name + "\n")


def name_of(path: str, block: Block) -> str:
    return f"{path}:{block.scope}:{block.number}"


def with_probes(path: str, source: str) -> str:
    """The file with every block of its functions telling that it runs."""
    tree = ast.parse(source)
    for block, body in list(blocks_of(tree)):
        if block.scope != MODULE:
            call = ast.parse(
                f"__import__({__name__!r}, fromlist=['ran']).ran({name_of(path, block)!r})"
            )
            body.insert(1 if _has_docstring(body) else 0, call.body[0])
    return ast.unparse(ast.fix_missing_locations(tree)) + "\n"


def _has_docstring(body: list[ast.stmt]) -> bool:
    match body[0]:
        case ast.Expr(value=ast.Constant(value=str())):
            return len(body) > 1
        case _:
            return False
