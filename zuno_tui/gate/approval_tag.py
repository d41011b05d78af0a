"""Proof that an approval was given here: a tag that whoever edits the journal cannot make.

The hash of an approval is over everything it stands for, and anybody can compute it. The tag is
made with a key that is kept outside the home, where no backup, no sync and no other machine has it,
for as long as this machine runs: an approval lasts ten minutes.
"""

import hashlib
import hmac
import os
import secrets
import stat
import tempfile
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

from zuno_tui.gate.refusal import GateRefusedError

_FILE = "approval.key"
_KEY_BYTES = 32


def make_tag(approval_hash: str, environment: Mapping[str, str] = os.environ) -> str:
    """Vouches for an approval that was just shown."""
    return _tag(_key(environment, create=True), approval_hash)


def is_tagged(approval_hash: str, tag: str, environment: Mapping[str, str] = os.environ) -> bool:
    """Whether it was approved on this machine since it started."""
    return hmac.compare_digest(tag, _tag(_key(environment, create=False), approval_hash))


def _tag(key: bytes, approval_hash: str) -> str:
    return hmac.new(key, approval_hash.encode(), hashlib.sha256).hexdigest()


def _key(environment: Mapping[str, str], *, create: bool) -> bytes:
    """This machine's key; without one, a fresh key that vouches for nothing."""
    folder = _folder(environment)
    path = folder / _FILE
    if create:
        _begin(path)
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW)
    except FileNotFoundError:
        return secrets.token_bytes(_KEY_BYTES)
    except OSError:
        # A link, or what only another user may read.
        _refuse_foreign(path.lstat(), path)
        raise
    with os.fdopen(descriptor, "rb") as file:
        _refuse_foreign(os.fstat(file.fileno()), path)
        return file.read(_KEY_BYTES)


def _begin(path: Path) -> None:
    """Write a new key whole, unless one is there; of several processes the first wins."""
    if path.exists():
        return
    descriptor, temporary = tempfile.mkstemp(prefix=f".{_FILE}.", dir=path.parent)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(secrets.token_bytes(_KEY_BYTES))
            file.flush()
            os.fsync(file.fileno())
        with suppress(FileExistsError):
            os.link(temporary, path)
    finally:
        Path(temporary).unlink()


def _folder(environment: Mapping[str, str]) -> Path:
    """The user's own folder for as long as the machine runs, or one like it."""
    runtime = environment.get("XDG_RUNTIME_DIR")
    base = Path(runtime) if runtime and Path(runtime).is_dir() else None
    folder = base / "zuno" if base else Path(tempfile.gettempdir()) / f"zuno-{os.getuid()}"
    folder.mkdir(mode=0o700, exist_ok=True)
    _refuse_foreign(folder.lstat(), folder)
    return folder


def _refuse_foreign(found: os.stat_result, path: Path) -> None:
    """Refuse what another user made or may read."""
    foreign = found.st_uid != os.getuid() or found.st_mode & 0o077 or stat.S_ISLNK(found.st_mode)
    if foreign:
        raise GateRefusedError(
            f"{path} is not this user's alone, so no approval can be vouched for. "
            "Nothing was signed. Remove it and approve again."
        )
