"""The compiled Uniswap contracts: taken from their npm packages, checked, kept in the cache.

They are fetched, never bundled: `PoolManager` is under the Business Source License. What may be
fetched is fixed by `contracts.lock.json`: a digest for each package and for each file in it.
"""

from __future__ import annotations

import base64
import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Literal, get_args

from msgspec import Struct

from chain.base.home import cache_folder, write_atomically
from chain.base.locks import locked

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

ContractName = Literal[
    "PoolManager",
    "PositionManager",
    "StateView",
    "V4Quoter",
    "UniversalRouter",
    "Permit2",
    "Multicall3",
    "WETH",
    "MockERC20",
    "TickMathTest",
]

RUNTIME_ONLY: frozenset[ContractName] = frozenset({"Permit2", "Multicall3"})
"""Contracts known by what runs, not by what deploys: they stand at their canonical addresses."""

_SET_UP = "python -m chain.devnet.world.contracts"
_PACK_SECONDS = 180
_LARGEST_ARTIFACT = 4 * 1024 * 1024
_LARGEST_PACKAGE = 128 * 1024 * 1024

_PERMIT2_RUNTIME = re.compile(r'hex"([0-9a-f]+)"')
_MULTICALL3_CREATION = re.compile(r"multicall3Bytecode = '0x([0-9a-f]+)'")
_MULTICALL3_CONSTRUCTOR = bytes.fromhex(
    "608060405234801561001057600080fd5b506115b9806100206000396000f3fe"
)


class ContractsError(Exception):
    """The contracts cannot be had; the message says what is missing and what to do."""


class Artifact(Struct, frozen=True):
    name: ContractName
    path: str
    sha256: str

    @property
    def file_name(self) -> str:
        return f"{self.name}{Path(self.path).suffix}"


class Package(Struct, frozen=True):
    name: str
    version: str
    integrity: str
    artifacts: tuple[Artifact, ...]

    @property
    def title(self) -> str:
        return f"{self.name}@{self.version}"


class Lock(Struct, frozen=True):
    packages: tuple[Package, ...]
    digest: str

    @property
    def artifacts(self) -> Iterator[Artifact]:
        return (artifact for package in self.packages for artifact in package.artifacts)


@cache
def bundled_lock() -> Lock:
    return read_lock(files("chain.devnet.world").joinpath("contracts.lock.json").read_bytes())


def read_lock(content: bytes) -> Lock:
    known = get_args(ContractName)
    packages = tuple(
        Package(
            name=str(entry["name"]),
            version=str(entry["version"]),
            integrity=str(entry["integrity"]),
            artifacts=tuple(
                Artifact(name, str(artifact["path"]), str(artifact["sha256"]))
                for name, artifact in entry["artifacts"].items()
            ),
        )
        for entry in json.loads(content)["packages"]
    )
    names = sorted(artifact.name for package in packages for artifact in package.artifacts)
    if names != sorted(known):
        raise ContractsError(f"contracts.lock.json must name exactly {', '.join(sorted(known))}.")
    return Lock(packages, hashlib.sha256(content).hexdigest()[:16])


def contracts_folder(environment: Mapping[str, str], lock: Lock) -> Path:
    return cache_folder(environment) / "contracts" / lock.digest


def contract_codes(environment: Mapping[str, str] = os.environ) -> dict[ContractName, bytes]:
    """The creation code of every contract (runtime for `RUNTIME_ONLY`), fetched if need be."""
    lock = bundled_lock()
    folder = ensure_contracts(contracts_folder(environment, lock), lock)
    return {
        artifact.name: code_in(artifact.name, (folder / artifact.file_name).read_bytes())
        for artifact in lock.artifacts
    }


def ensure_contracts(folder: Path, lock: Lock) -> Path:
    """Fetch the packages with a file missing or damaged in the cache; the others stay untouched."""
    with locked(folder.with_suffix(".lock")):
        for package in lock.packages:
            if not all(_is_sound(folder / each.file_name, each) for each in package.artifacts):
                for artifact, content in _fetched(package):
                    write_atomically(folder / artifact.file_name, content)
    return folder


def code_in(name: ContractName, content: bytes) -> bytes:
    """The code an artifact's file holds."""
    if name == "Permit2":
        return _literal(_PERMIT2_RUNTIME, content, name)
    if name == "Multicall3":
        creation = _literal(_MULTICALL3_CREATION, content, name)
        if not creation.startswith(_MULTICALL3_CONSTRUCTOR):
            raise ContractsError("Multicall3's constructor is not the one that returns its tail.")
        return creation.removeprefix(_MULTICALL3_CONSTRUCTOR)
    bytecode = json.loads(content)["bytecode"]
    text = bytecode["object"] if isinstance(bytecode, dict) else bytecode
    return bytes.fromhex(str(text).removeprefix("0x"))


def _literal(pattern: re.Pattern[str], content: bytes, name: ContractName) -> bytes:
    found = pattern.search(content.decode("utf-8"))
    if found is None:
        raise ContractsError(f"The file of {name} holds no code in the form expected.")
    return bytes.fromhex(found[1])


def _is_sound(path: Path, artifact: Artifact) -> bool:
    try:
        return hashlib.sha256(path.read_bytes()).hexdigest() == artifact.sha256
    except FileNotFoundError:
        return False


def _fetched(package: Package) -> Iterator[tuple[Artifact, bytes]]:
    with tempfile.TemporaryDirectory(prefix="zuno-contracts-") as scratch:
        tarball = _packed(package, Path(scratch))
        _check_integrity(package, tarball)
        with tarfile.open(tarball, "r:gz") as archive:
            wanted = {f"package/{artifact.path}": artifact for artifact in package.artifacts}
            for member in archive:
                artifact = wanted.pop(member.name, None)
                if artifact is None:
                    continue
                yield artifact, _extracted(archive, member, artifact, package)
                if not wanted:
                    return
        raise ContractsError(f"{package.title} lacks {', '.join(sorted(wanted))}.")


def _packed(package: Package, folder: Path) -> Path:
    npm = shutil.which("npm")
    if npm is None:
        raise ContractsError(
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
        raise ContractsError(
            f"npm did not deliver {package.title} within {_PACK_SECONDS} s. "
            f"Check the network, then run again: {_SET_UP}"
        ) from error
    tarballs = list(folder.glob("*.tgz"))
    if outcome.returncode != 0 or len(tarballs) != 1:
        raise ContractsError(
            f"npm could not deliver {package.title} ({_npm_code(outcome.stderr)}). "
            f"Check the network and `npm ping`, then run again: {_SET_UP}"
        )
    return tarballs[0]


def _npm_code(stderr: str) -> str:
    """The short code npm gives, such as E404: the rest may name hosts and carry tokens."""
    found = re.search(r"^npm (?:error|ERR!) code ([A-Z0-9_]+)$", stderr, re.MULTILINE)
    return found[1] if found else "no reason given"


def _check_integrity(package: Package, tarball: Path) -> None:
    if tarball.stat().st_size > _LARGEST_PACKAGE:
        raise ContractsError(f"{package.title} is larger than any package expected here.")
    digest = base64.b64encode(hashlib.sha512(tarball.read_bytes()).digest()).decode()
    if package.integrity != f"sha512-{digest}":
        raise ContractsError(
            f"{package.title} is not the package in contracts.lock.json (its sha512 differs). "
            "Nothing of it was used. Check which registry npm is set to: npm config get registry"
        )


def _extracted(
    archive: tarfile.TarFile, member: tarfile.TarInfo, artifact: Artifact, package: Package
) -> bytes:
    file = archive.extractfile(member) if 0 < member.size <= _LARGEST_ARTIFACT else None
    content = file.read() if file else b""
    if hashlib.sha256(content).hexdigest() != artifact.sha256:
        raise ContractsError(
            f"{artifact.path} of {package.title} is not the file in contracts.lock.json."
        )
    return content


def main() -> int:
    try:
        codes = contract_codes()
    except ContractsError as error:
        sys.stderr.write(f"{error}\n")
        return 1
    sys.stderr.write(f"{len(codes)} contracts are in the cache and match contracts.lock.json.\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
