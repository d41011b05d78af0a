"""Files out of npm packages: packed by npm, checked against a lock file, kept in the cache.

They are fetched, never bundled: `PoolManager` is under the Business Source License, and a node
has tens of megabytes. `npm.lock.json` fixes what may be fetched: a digest for each package and for
each file in it. A package that could not be looked at when the lock was written has none; there
npm's own check of what its registry says has to do, and the lock says so.
"""

import base64
import hashlib
import json
import re
import shutil
import subprocess
import tarfile
import tempfile
from collections.abc import Iterator, Mapping
from functools import cache
from importlib.resources import files
from pathlib import Path

from msgspec import Struct

from chain.base.errors import ZunoError
from chain.base.home import FILE_MODE, FOLDER_MODE, cache_folder, write_atomically
from chain.base.locks import locked

_SET_UP = "make setup"
_PACK_SECONDS = 300
_LARGEST_FILE = 128 * 1024 * 1024
_LARGEST_PACKAGE = 128 * 1024 * 1024


class PackageError(ZunoError):
    """A package cannot be had; the message says what is missing and what to do."""


class LockedFile(Struct, frozen=True):
    name: str
    """What it is called here, such as `PoolManager`."""
    path: str
    sha256: str | None
    """None where nobody could look at it when the lock was written."""

    @property
    def file_name(self) -> str:
        return f"{self.name}{Path(self.path).suffix}"

    @property
    def mode(self) -> int:
        return FOLDER_MODE if self.path.startswith("bin/") else FILE_MODE


class LockedPackage(Struct, frozen=True):
    name: str
    version: str
    integrity: str | None
    files: tuple[LockedFile, ...]

    @property
    def title(self) -> str:
        return f"{self.name}@{self.version}"


class Lock(Struct, frozen=True):
    contracts: tuple[LockedPackage, ...]
    v3: tuple[LockedPackage, ...]
    """Uniswap v3, which worlds are written without."""
    anvil: tuple[LockedPackage, ...]
    """One a platform, each with a file called `anvil`."""
    contracts_digest: str

    def anvil_for(self, platform: str) -> LockedPackage | None:
        """The package for a platform such as `linux-amd64`."""
        wanted = f"@foundry-rs/anvil-{platform}"
        return next((package for package in self.anvil if package.name == wanted), None)


@cache
def bundled_lock() -> Lock:
    return read_lock(files("chain.devnet").joinpath("npm.lock.json").read_bytes())


def read_lock(content: bytes) -> Lock:
    sections = json.loads(content)
    contracts, v3, anvil = (
        tuple(_locked_package(entry) for entry in sections[section])
        for section in ("contracts", "v3", "anvil")
    )
    digest = hashlib.sha256(json.dumps(sections["contracts"], sort_keys=True).encode())
    return Lock(contracts, v3, anvil, digest.hexdigest()[:16])


def _locked_package(entry: Mapping[str, object]) -> LockedPackage:
    integrity, listed = entry.get("integrity"), entry["files"]
    if not isinstance(listed, dict):
        raise PackageError("npm.lock.json must name the files of each package.")
    return LockedPackage(
        name=str(entry["name"]),
        version=str(entry["version"]),
        integrity=None if integrity is None else str(integrity),
        files=tuple(
            LockedFile(name, str(file["path"]), file.get("sha256")) for name, file in listed.items()
        ),
    )


def package_folder(environment: Mapping[str, str], package: LockedPackage) -> Path:
    stem = package.title.removeprefix("@").replace("/", "-")
    return cache_folder(environment) / "npm" / stem


def ensure_package(package: LockedPackage, environment: Mapping[str, str]) -> Path:
    """The folder with the package's files, fetched where one is missing or damaged."""
    folder = package_folder(environment, package)
    with locked(folder.with_suffix(".lock")):
        if not all(_is_sound(folder / file.file_name, file) for file in package.files):
            for file, content in _fetched(package):
                write_atomically(folder / file.file_name, content, mode=file.mode)
    return folder


def _is_sound(path: Path, file: LockedFile) -> bool:
    try:
        content = path.read_bytes()
    except FileNotFoundError:
        return False
    return file.sha256 is None or hashlib.sha256(content).hexdigest() == file.sha256


def _fetched(package: LockedPackage) -> Iterator[tuple[LockedFile, bytes]]:
    with tempfile.TemporaryDirectory(prefix="zuno-npm-") as scratch:
        tarball = _packed(package, Path(scratch))
        _check_integrity(package, tarball)
        with tarfile.open(tarball, "r:gz") as archive:
            wanted = {f"package/{file.path}": file for file in package.files}
            for member in archive:
                file = wanted.pop(member.name, None)
                if file is None:
                    continue
                yield file, _extracted(archive, member, file, package)
                if not wanted:
                    return
        raise PackageError(f"{package.title} lacks {', '.join(sorted(wanted))}.")


def _packed(package: LockedPackage, folder: Path) -> Path:
    npm = shutil.which("npm")
    if npm is None:
        raise PackageError(
            f"npm was not found, and {package.title} is not in the cache yet. "
            f"Install Node.js 18 or newer, then run: {_SET_UP}"
        )
    try:
        outcome = subprocess.run(  # noqa: S603 - the arguments come from our own lock file
            [npm, "pack", "--ignore-scripts", "--loglevel=error", package.title],
            cwd=folder,
            capture_output=True,
            text=True,
            timeout=_PACK_SECONDS,
            check=False,
        )
    except subprocess.TimeoutExpired as error:
        raise PackageError(
            f"npm did not deliver {package.title} within {_PACK_SECONDS} s. "
            f"Check the network, then run again: {_SET_UP}"
        ) from error
    tarballs = list(folder.glob("*.tgz"))
    if outcome.returncode != 0 or len(tarballs) != 1:
        raise PackageError(
            f"npm could not deliver {package.title} ({_npm_code(outcome.stderr)}). "
            f"Check the network and `npm ping`, then run again: {_SET_UP}"
        )
    return tarballs[0]


def _npm_code(stderr: str) -> str:
    """The short code npm gives, such as E404: the rest may name hosts and carry tokens."""
    found = re.search(r"^npm (?:error|ERR!) code ([A-Z0-9_]+)$", stderr, re.MULTILINE)
    return found[1] if found else "no reason given"


def _check_integrity(package: LockedPackage, tarball: Path) -> None:
    if tarball.stat().st_size > _LARGEST_PACKAGE:
        raise PackageError(f"{package.title} is larger than any package expected here.")
    if package.integrity is None:
        return
    digest = base64.b64encode(hashlib.sha512(tarball.read_bytes()).digest()).decode()
    if package.integrity != f"sha512-{digest}":
        raise PackageError(
            f"{package.title} is not the package in npm.lock.json (its sha512 differs). "
            "Nothing of it was used. Check which registry npm is set to: npm config get registry"
        )


def _extracted(
    archive: tarfile.TarFile, member: tarfile.TarInfo, file: LockedFile, package: LockedPackage
) -> bytes:
    opened = archive.extractfile(member) if 0 < member.size <= _LARGEST_FILE else None
    content = opened.read() if opened else b""
    if file.sha256 is not None and hashlib.sha256(content).hexdigest() != file.sha256:
        raise PackageError(f"{file.path} of {package.title} is not the file in npm.lock.json.")
    return content
