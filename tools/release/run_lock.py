"""The part of `requirements.lock` that `make run` installs: what the program itself imports.

Run by a bare Python, before anything is installed: python -m tools.release.run_lock > FILE
"""

from __future__ import annotations

import re
import sys
import tomllib
from pathlib import Path

from tools.release.python_lock import read_lock

_ROOT = Path(__file__).parent.parent.parent
_BUILDING = ("hatchling", "editables")
"""What puts this folder itself into the environment."""


def run_lock(lock: str, project: str) -> str:
    """The lines of the lock for the dependencies without extras, and for what those need."""
    declared = tomllib.loads(project)["project"]["dependencies"]
    wanted = {re.split(r"[<>=!~;\[ ]", entry, maxsplit=1)[0] for entry in declared}
    wanted.update(_BUILDING)
    packages = read_lock(lock)
    while more := {each.name for each in packages if wanted & set(each.needed_by)} - wanted:
        wanted |= more
    blocks = re.split(r"^(?=[a-z0-9])", lock, flags=re.MULTILINE)
    return "".join(block for block in blocks if block.partition("==")[0] in wanted)


if __name__ == "__main__":
    read = ((_ROOT / name).read_text("utf-8") for name in ("requirements.lock", "pyproject.toml"))
    sys.stdout.write(run_lock(*read))
