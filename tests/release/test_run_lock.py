"""What `make run` installs is the closure of what the program declares, and nothing for tests."""

from __future__ import annotations

import re
import tomllib

from tools.release.python_lock import read_lock
from tools.release.run_lock import run_lock
from tools.release.sbom import ROOT

LOCK = (ROOT / "requirements.lock").read_text("utf-8")
PROJECT = (ROOT / "pyproject.toml").read_text("utf-8")


def _names(requirements: list[str]) -> set[str]:
    return {re.split(r"[<>=!~;\[ ]", entry, maxsplit=1)[0] for entry in requirements}


def test_it_has_what_running_needs_by_the_same_hashes_and_none_of_the_tools() -> None:
    project = tomllib.loads(PROJECT)["project"]
    chosen, known = read_lock(run_lock(LOCK, PROJECT)), set(read_lock(LOCK))
    names = {package.name for package in chosen}

    assert set(chosen) <= known
    assert _names(project["dependencies"]) <= names
    extras = project["optional-dependencies"]
    tools = _names(extras["dev"]) - {"hatchling", "editables"}
    assert not names & (tools | _names(extras["charts"]) | _names(extras["trade"]))


def test_nothing_it_needs_is_left_out() -> None:
    names = {package.name for package in read_lock(run_lock(LOCK, PROJECT))}

    left_out = [package for package in read_lock(LOCK) if package.name not in names]
    assert not [package.name for package in left_out if names & set(package.needed_by)]
