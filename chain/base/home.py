"""Where zuno keeps its files, and the only way it writes them."""

from __future__ import annotations

import fcntl
import os
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager, suppress
from pathlib import Path

from msgspec import Struct

from chain.base.errors import ZunoError

FOLDER_MODE = 0o700
FILE_MODE = 0o600
_ROOT = 0


class HomeError(ZunoError):
    """The home folder cannot be used as it is; the message says what to do."""


class _HomePath:
    """A file or folder of a home, by its name there."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __get__(self, home: Home, _: type[Home]) -> Path:
        return home.root / self._name


class Home(Struct, frozen=True):
    """The folders of one person: what must last, and what can be made again."""

    root: Path
    cache: Path

    settings = _HomePath("settings.toml")
    database = _HomePath("zuno.db")
    outbox = _HomePath("outbox.db")
    """What was sent, in a file of its own: whatever happens to the rest, this must last."""
    trades = _HomePath("trades.db")
    """Trades that were approved, and orders that were sent to venues: this must last, too."""
    trades_lock = _HomePath("trades.lock")
    """Held by whoever is sending orders to a venue."""
    paper = _HomePath("paper.db")
    """The paper venue's account."""
    setups = _HomePath("setups.db")
    """Every setup that the trade desk drafted, and how it came out."""
    trade_watch = _HomePath("trade-watch.json")
    """Which coins the trade desk looks at on a clock, and how far it has come."""
    trade_watch_lock = _HomePath("trade-watch.lock")
    memory = _HomePath("memory")
    """What closed trades have taught."""
    alerts = _HomePath("alerts.json")
    monitor_lock = _HomePath("monitor.lock")
    history = _HomePath("history")
    """What was typed at the desk's prompt."""
    view = _HomePath("view.json")
    """How the desk was left: pane, order, filter."""
    log = _HomePath("desk.log")
    plans = _HomePath("plans")
    orders = _HomePath("orders")
    """Standing orders: a file each."""
    safe = _HomePath("safe")
    """Transactions that a Safe's owners sign: a file each."""
    telegram_lock = _HomePath("telegram.lock")
    """Held by whoever answers in the Telegram chats."""
    telegram_offset = _HomePath("telegram.json")
    """Which messages of those chats are done with."""
    exports = _HomePath("exports")
    """What was asked for as a file at the desk."""
    records = _HomePath("records")
    reports = _HomePath("reports")
    """Of runs of the trade desk: text, JSON and chart of each."""
    checks = _HomePath("checks")
    """Comparisons of ways to decide: the protocol and the answers of each."""
    keystore = _HomePath("keystore")

    @classmethod
    def locate(cls, environment: Mapping[str, str], chosen: Path | None = None) -> Home:
        root = chosen or Path(environment.get("ZUNO_HOME") or Path.home() / ".zuno")
        return cls(root=root.expanduser().absolute(), cache=cache_folder(environment))

    def require_own(self) -> None:
        """Refuse the home of somebody else, as `sudo zuno` would find it.

        What root writes there its owner can no longer change, and what stands there was set by
        whoever may write there: neither belongs under a signature.
        """
        user = os.geteuid()
        try:
            owner = _owner(self.root, even_above=user == _ROOT)
        except OSError as error:
            raise _unusable(self.root, error) from error
        if owner is not None and owner != user:
            raise HomeError(
                f"The home folder {self.root} belongs to {_user_name(owner)}, and this runs as "
                f"{_user_name(user)}. Run zuno without sudo, or choose a home of your own: "
                "--home DIR or ZUNO_HOME."
            )

    def prepare(self) -> None:
        """Create the home folder and close it to others, or refuse one that is not ours."""
        self.require_own()
        try:
            self.root.mkdir(mode=FOLDER_MODE, parents=True, exist_ok=True)
            if self.root.stat().st_mode & 0o077:
                self.root.chmod(FOLDER_MODE)
        except OSError as error:
            raise _unusable(self.root, error) from error


def _owner(root: Path, *, even_above: bool) -> int | None:
    """Whose folder it is; of one that is not there yet, whose it would be made in."""
    places = (root, *root.parents) if even_above else (root,)
    for place in places:
        with suppress(FileNotFoundError, NotADirectoryError):
            return place.stat().st_uid
    return None


def _user_name(user: int) -> str:
    import pwd

    try:
        return pwd.getpwuid(user).pw_name
    except KeyError:
        return f"user {user}"


def _unusable(root: Path, error: OSError) -> HomeError:
    return HomeError(
        f"The home folder {root} cannot be used: {error.strerror}. "
        "Choose another with --home DIR or ZUNO_HOME."
    )


def cache_folder(environment: Mapping[str, str]) -> Path:
    """What can be fetched or built again: contracts and worlds of the embedded chain."""
    chosen = environment.get("ZUNO_CACHE")
    if chosen:
        return Path(chosen).expanduser().absolute()
    base = environment.get("XDG_CACHE_HOME")
    return (Path(base) if base else Path.home() / ".cache") / "zuno"


def write_atomically(path: Path, content: bytes, *, mode: int = FILE_MODE) -> None:
    """Replace a file whole: a reader or a crash sees the old content or the new, never a part."""
    path.parent.mkdir(mode=FOLDER_MODE, parents=True, exist_ok=True)
    import tempfile

    descriptor, temporary = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
    try:
        with os.fdopen(descriptor, "wb") as file:
            os.fchmod(file.fileno(), mode)
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        Path(temporary).replace(path)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise
    sync_folder(path.parent)


def set_aside(path: Path, *, now: float) -> Path:
    """Move a corrupt file out of the way, keeping it, and return where it went."""
    aside = path.with_name(f"{path.name}.corrupt-{int(now)}")
    path.replace(aside)
    return aside


def sync_folder(folder: Path) -> None:
    """Make a new or changed name last: without this a power cut can bring the old one back."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def append_line(path: Path, line: bytes) -> None:
    """On disk when it returns; a line before it that was cut off in writing stays alone."""
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND, FILE_MODE)
    try:
        size = os.fstat(descriptor).st_size
        whole = size == 0 or os.pread(descriptor, 1, size - 1) == b"\n"
        rest = line + b"\n" if whole else b"\n" + line + b"\n"
        while rest:
            rest = rest[os.write(descriptor, rest) :]
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


_BETWEEN_TRIES = 0.05


def take_lock(path: Path, *, wait: bool = False, folder: bool = False) -> int | None:
    """A descriptor that holds the lock until it is closed; None while somebody else has it."""
    kind = os.O_RDONLY if folder else os.O_CREAT | os.O_RDWR | os.O_NOFOLLOW
    descriptor = os.open(path, kind | os.O_CLOEXEC, FILE_MODE)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX if wait else fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BaseException as error:
        os.close(descriptor)
        if isinstance(error, BlockingIOError):
            return None
        raise
    return descriptor


@contextmanager
def hold_lock(path: Path) -> Iterator[None]:
    """Wait until no other process holds the lock at this path, then hold it."""
    path.parent.mkdir(mode=FOLDER_MODE, parents=True, exist_ok=True)
    descriptor = take_lock(path, wait=True, folder=path.is_dir())
    try:
        yield
    finally:
        _end(descriptor)


@asynccontextmanager
async def locked_in_turn(path: Path) -> AsyncIterator[None]:
    """The same without holding up the event loop, on which the holder itself may be waiting."""
    import asyncio  # a command that waits for nobody does without it

    while (descriptor := take_lock(path)) is None:  # noqa: ASYNC110 - another process may hold it
        await asyncio.sleep(_BETWEEN_TRIES)
    try:
        yield
    finally:
        _end(descriptor)


@contextmanager
def locked_if_free(path: Path) -> Iterator[bool]:
    """Whether we hold the lock for as long as the block lasts; nobody is waited for."""
    descriptor = take_lock(path)
    try:
        yield descriptor is not None
    finally:
        _end(descriptor)


def holders_note(path: Path, most_bytes: int) -> bytes | None:
    """What the holder wrote into the locked file; None when nobody holds it."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
    except OSError:
        return None
    try:
        # Shared and for a moment: readers do not disturb each other, a taker tries again anyway.
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return os.pread(descriptor, most_bytes, 0)
    finally:
        os.close(descriptor)
    return None


def _end(descriptor: int | None) -> None:
    if descriptor is not None:
        os.close(descriptor)
