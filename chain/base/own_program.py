"""How a child of our own is started: by this very Python, wherever it is installed."""

import sys


def own_program(module: str, *words: str) -> list[str]:
    return [*_PYTHON, "-m", module, *words]


def own_script(script: str, *words: str) -> list[str]:
    return [*_PYTHON, "-c", script, *words]


# `-P`: without it Python runs modules that lie in the folder one happens to stand in.
_PYTHON = (sys.executable, "-P")
