"""Installs the pinned SDK once per lockfile and asks it questions in bulk."""

import hashlib
import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterable
from pathlib import Path

from msgspec import Struct

from chain.base.home import cache_folder, hold_lock

HERE = Path(__file__).parent
FILES = ("package.json", "package-lock.json", ".npmrc")


class NodeMissingError(RuntimeError):
    """Node or npm is not on PATH, or the SDK was never installed and there is no network."""


_UNREACHABLE = ("ENOTFOUND", "EAI_AGAIN", "ENETUNREACH", "ECONNREFUSED", "ETIMEDOUT")


class Sdk(Struct, frozen=True):
    modules: Path

    def answers(self, questions: Iterable[str]) -> list[str]:
        """One answer per question; see `answer.js` for what can be asked."""
        with tempfile.TemporaryFile("w+") as asked, tempfile.TemporaryFile("w+") as answered:
            count = 0
            for question in questions:
                asked.write(question + "\n")
                count += 1
            asked.seek(0)
            subprocess.run(
                ["node", HERE / "answer.js"],
                stdin=asked,
                stdout=answered,
                env={**os.environ, "NODE_PATH": str(self.modules)},
                check=True,
            )
            answered.seek(0)
            lines = answered.read().splitlines()
        if len(lines) != count:
            raise RuntimeError(f"The SDK answered {len(lines)} of {count} questions.")
        return lines


def installed() -> Sdk:
    """The SDK of the lockfile, from the cache when it was installed before."""
    missing = [tool for tool in ("node", "npm") if shutil.which(tool) is None]
    if missing:
        raise NodeMissingError(f"{' and '.join(missing)} not found; install Node 18 or newer")
    digest = hashlib.sha256(b"".join((HERE / name).read_bytes() for name in FILES)).hexdigest()
    target = cache_folder(os.environ) / "sdk" / digest[:16]
    # Test workers start together: the first installs, the others wait for it.
    with hold_lock(target.with_suffix(".lock")):
        if not target.exists():
            _install(target)
    return Sdk(target / "node_modules")


def _install(target: Path) -> None:
    with tempfile.TemporaryDirectory(dir=target.parent) as scratch:
        folder = Path(scratch) / "sdk"
        folder.mkdir()
        for name in FILES:
            shutil.copy(HERE / name, folder)
        done = subprocess.run(
            ["npm", "ci"], cwd=folder, capture_output=True, text=True, timeout=300, check=False
        )
        if any(word in done.stderr for word in _UNREACHABLE):
            raise NodeMissingError("the SDK was never installed here, and npm reaches no registry")
        if done.returncode != 0:
            raise RuntimeError(f"npm ci of the SDK failed:\n{done.stdout}\n{done.stderr}")
        folder.rename(target)
