"""Contracts and nodes are those in the lock file, or nothing of a package is used at all."""

import base64
import hashlib
import io
import re
import tarfile
from pathlib import Path

import pytest

from chain.devnet.anvil import (
    LockedFile,
    LockedPackage,
    PackageError,
    bundled_lock,
    ensure_package,
    package_folder,
)
from chain.devnet.world.deployment import code_in, contract_codes

CONTENT = b'{"bytecode": {"object": "0x6001"}}'


def tarball(files: dict[str, bytes]) -> bytes:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w:gz") as archive:
        for path, content in files.items():
            entry = tarfile.TarInfo(f"package/{path}")
            entry.size = len(content)
            archive.addfile(entry, io.BytesIO(content))
    return buffer.getvalue()


def integrity(content: bytes) -> str:
    return "sha512-" + base64.b64encode(hashlib.sha512(content).digest()).decode()


def locked(package: bytes, path: str = "out/Pool.json") -> LockedPackage:
    file = LockedFile("PoolManager", path, hashlib.sha256(CONTENT).hexdigest())
    return LockedPackage("@some/pool", "1.2.3", integrity(package), (file,))


class Registry:
    """A stand-in for npm on PATH that delivers one package and counts how often it is asked."""

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.delivery = folder / "delivery.tgz"
        self.calls = folder / "calls"
        self.npm = folder / "npm"
        monkeypatch.setenv("PATH", f"{folder}:/usr/bin:/bin")

    def deliver(self, package: bytes) -> None:
        self.delivery.write_bytes(package)
        self._answer(f'cp "{self.delivery}" some-pool-1.2.3.tgz')

    def fail(self, complaint: str) -> None:
        self._answer(f"printf '{complaint}' >&2\nexit 1")

    @property
    def asked(self) -> list[str]:
        return self.calls.read_text().splitlines() if self.calls.exists() else []

    def _answer(self, script: str) -> None:
        self.npm.write_text(f'#!/bin/sh\necho "$@" >> "{self.calls}"\n{script}\n')
        self.npm.chmod(0o755)


def cache_of(folder: Path) -> dict[str, str]:
    return {"ZUNO_CACHE": str(folder / "cache")}


def kept_files(folder: Path) -> list[Path]:
    return [path for path in (folder / "cache").rglob("*") if path.suffix == ".json"]


@pytest.fixture
def registry(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Registry:
    return Registry(tmp_path, monkeypatch)


def test_what_is_needed_is_fetched_once_and_kept(registry: Registry, tmp_path: Path) -> None:
    package = tarball({"README": b"x", "out/Pool.json": CONTENT, "huge": bytes(10_000)})
    registry.deliver(package)
    folder = ensure_package(locked(package), cache_of(tmp_path))
    ensure_package(locked(package), cache_of(tmp_path))
    assert (folder / "PoolManager.json").read_bytes() == CONTENT
    assert [path.name for path in folder.iterdir()] == ["PoolManager.json"]
    assert registry.asked == ["pack --ignore-scripts --loglevel=error @some/pool@1.2.3"]


def test_a_damaged_file_is_fetched_again(registry: Registry, tmp_path: Path) -> None:
    package = tarball({"out/Pool.json": CONTENT})
    registry.deliver(package)
    folder = ensure_package(locked(package), cache_of(tmp_path))
    (folder / "PoolManager.json").write_bytes(b"{}")
    ensure_package(locked(package), cache_of(tmp_path))
    assert (folder / "PoolManager.json").read_bytes() == CONTENT
    assert len(registry.asked) == 2


def test_a_package_with_another_digest_is_refused(registry: Registry, tmp_path: Path) -> None:
    registry.deliver(tarball({"out/Pool.json": b"something else"}))
    with pytest.raises(PackageError, match=r"@some/pool@1\.2\.3 is not the package"):
        ensure_package(locked(tarball({"out/Pool.json": CONTENT})), cache_of(tmp_path))
    assert kept_files(tmp_path) == []


def test_a_file_with_another_digest_is_refused(registry: Registry, tmp_path: Path) -> None:
    package = tarball({"out/Pool.json": b"something else"})
    registry.deliver(package)
    with pytest.raises(PackageError, match=r"out/Pool\.json of @some/pool@1\.2\.3"):
        ensure_package(locked(package), cache_of(tmp_path))
    assert kept_files(tmp_path) == []


def test_a_package_without_the_file_is_refused(registry: Registry, tmp_path: Path) -> None:
    package = tarball({"README": b"x"})
    registry.deliver(package)
    with pytest.raises(PackageError, match=r"lacks package/out/Pool\.json"):
        ensure_package(locked(package), cache_of(tmp_path))


def test_without_npm_the_message_says_what_to_install(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(PackageError, match=r"Install Node\.js .* make setup"):
        ensure_package(locked(b""), cache_of(tmp_path))


def test_a_missing_package_is_named_without_repeating_what_npm_said(
    registry: Registry, tmp_path: Path
) -> None:
    registry.fail("npm error code E404\\nnpm error 404 secret-token@registry.example\\n")
    with pytest.raises(PackageError, match=r"@some/pool@1\.2\.3 \(E404\)") as caught:
        ensure_package(locked(b""), cache_of(tmp_path))
    assert "secret" not in str(caught.value)


def test_the_lock_names_every_contract_and_node_by_hash_and_no_host() -> None:
    lock = bundled_lock()
    assert sum(len(package.files) for package in lock.contracts) == 17
    for package in (*lock.contracts, *lock.anvil):
        assert package.integrity.startswith("sha512-")
        assert all(re.fullmatch("[0-9a-f]{64}", file.sha256) for file in package.files)
        assert "/" not in package.version
        assert ":" not in package.name
    seen = lock.anvil_for("linux-amd64")
    assert seen is not None
    assert [file.name for file in seen.files] == ["anvil"]
    assert lock.anvil_for("plan9-mips") is None


def test_the_cache_holds_what_the_lock_says() -> None:
    codes = contract_codes()
    folder = package_folder({"ZUNO_CACHE": "/nowhere"}, bundled_lock().contracts[0])
    assert folder == Path("/nowhere/npm/uniswap-v4-core@1.0.2")
    assert len(codes["PoolManager"]) == 24_194
    # Multicall3's runtime begins like any Solidity contract and ends in its metadata.
    assert codes["Multicall3"].startswith(bytes.fromhex("6080604052"))
    assert b"ipfs" in codes["Multicall3"]
    assert len(codes["Permit2"]) == 9_152


def test_a_multicall_with_another_constructor_is_refused() -> None:
    with pytest.raises(PackageError, match="constructor"):
        code_in("Multicall3", b"exports.multicall3Bytecode = '0x6001';")
