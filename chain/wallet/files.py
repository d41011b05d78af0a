"""The small files beside a wallet: read within a bound, some only if private, written once."""

import os
import stat
from pathlib import Path

from chain.base.home import FILE_MODE, FOLDER_MODE, sync_folder
from chain.wallet.errors import WalletError, WalletRefusedError

MOST_BYTES = 64 * 1024


def read_bounded(path: Path) -> bytes:
    """A small file's content, whoever may read it."""
    return _read(path, private=False)


def read_private(path: Path) -> bytes:
    """A small file's content, refused when others could have read it too."""
    return _read(path, private=True)


def write_once(path: Path, content: bytes) -> None:
    """The same in a folder that nobody else may look into, either."""
    path.parent.mkdir(mode=FOLDER_MODE, parents=True, exist_ok=True)
    path.parent.chmod(FOLDER_MODE)
    write_anywhere(path, content)


def write_anywhere(path: Path, content: bytes) -> None:
    """Create a file that only its owner can read, from its first moment; never replace one."""
    try:
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, FILE_MODE)
    except FileExistsError:
        raise WalletError(
            f"{path} is already there and is not overwritten. Move it away first."
        ) from None
    except OSError as error:
        raise WalletError(f"{path} cannot be written: {error.strerror}.") from None
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        if path.read_bytes() != content:
            raise WalletError(f"{path} did not keep what was written. Check the disk.")
        sync_folder(path.parent)
    except BaseException:
        path.unlink(missing_ok=True)
        raise


def _open_at_once(path: str, flags: int) -> int:
    """Without waiting: a named pipe must not hang the command."""
    return os.open(path, flags | os.O_NONBLOCK)


def _read(path: Path, *, private: bool) -> bytes:
    try:
        with open(path, "rb", opener=_open_at_once) as file:
            _refuse_unfit(path, os.fstat(file.fileno()), private=private)
            content = file.read(MOST_BYTES + 1)
    except OSError as error:
        raise WalletError(f"{path} cannot be read: {error.strerror}.") from None
    if len(content) > MOST_BYTES:
        raise WalletError(f"{path} is too large: at most {MOST_BYTES // 1024} KB are read.")
    return content


def _refuse_unfit(path: Path, status: os.stat_result, *, private: bool) -> None:
    if not stat.S_ISREG(status.st_mode):
        raise WalletError(f"{path} is not a file.")
    if private and status.st_mode & 0o077:
        raise WalletRefusedError(
            f"{path} can be read by others and was not used. Run: chmod 600 {path}"
        )
    if private and status.st_uid not in (os.getuid(), 0):
        raise WalletRefusedError(f"{path} belongs to somebody else and was not used.")
