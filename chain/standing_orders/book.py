"""The orders of a home: a file each, and beside it what came of it."""

import hashlib
import hmac
import json
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from enum import StrEnum
from pathlib import Path
from typing import TypeVar

from msgspec import Struct, ValidationError, convert, to_builtins
from msgspec.structs import replace

from chain.base import strict_json
from chain.base.clean_text import clean_text
from chain.base.errors import ZunoError
from chain.base.home import hold_lock, locked_if_free, write_atomically
from chain.contracts.abi import AbiError
from chain.protocols.reference import PositionRef
from chain.standing_orders.order import PricePast, StandingOrder, StandingProgress, StandingState

T = TypeVar("T")
_STOP, _ROLE = "stop", "role"
_MOST_BYTES = 64_000


class MachineRole(StrEnum):
    """What this machine does where several have the same orders and the same watch key."""

    ALONE = "alone"
    FIRST = "first"
    STANDBY = "standby"
    """It waits whether another machine carries an order out before it tries."""


class StandingOrdersError(ZunoError):
    """An order that is not there or cannot be read; says what to do."""


class KeptOrder(Struct, frozen=True):
    order: StandingOrder
    progress: StandingProgress
    vouched: bool = True
    """Whether the progress is as this home's watch key wrote it down, or there is none yet."""

    @property
    def stands(self) -> bool:
        return self.progress.state in (StandingState.WAITING, StandingState.SENT)

    @property
    def without_vouching(self) -> "KeptOrder":
        """The same where nobody vouches for what its file says of it."""
        return KeptOrder(self.order, _told_of(self.progress), vouched=False)

    @property
    def is_final(self) -> bool:
        """Whether nothing is to be looked at any more."""
        return not self.stands and self.progress.settled_at is None


class StandingOrders:
    """Several processes may use one: every change is made under a lock, and whole.

    Without the watch key's seal it is for showing: then progress is what its file says.
    """

    def __init__(self, folder: Path, seal: bytes | None = None) -> None:
        self.folder = folder
        self._seal = seal

    def all(self) -> tuple[KeptOrder, ...]:
        """By number; what cannot be read is left out, and `damaged_files` names it."""
        return tuple(
            found for path in self._paths() if (found := self._read_order(path)) is not None
        )

    @property
    def damaged_files(self) -> tuple[Path, ...]:
        """Files of orders that cannot be read, or that are gone while their progress is there."""
        unread = [path for path in self._paths() if self._read_order(path) is None]
        names = (path.name.partition(".")[0] for path in self.folder.glob("*.progress.json"))
        gone = [self._path(int(name)) for name in names if name.isdigit()]
        return (*unread, *sorted(path for path in gone if not path.exists()))

    def standing_on(self, chain_id: int) -> tuple[KeptOrder, ...]:
        return tuple(kept for kept in self.all() if kept.stands and kept.order.chain_id == chain_id)

    def of_position(self, chain_id: int, ref: PositionRef) -> tuple[KeptOrder, ...]:
        from chain.standing_orders.call import position_in

        return tuple(
            kept
            for kept in self.standing_on(chain_id)
            if position_in(kept.order.delegation_signed) == ref
        )

    def find(self, number: int) -> KeptOrder:
        found = self._read_order(self._path(number))
        if found is None:
            raise StandingOrdersError(f"There is no order {number} here. See them: zuno orders")
        return found

    def add(self, order: StandingOrder) -> StandingOrder:
        """Kept under the next number; the same signature a second time is the same order."""
        return self.add_all((order,))[0]

    def add_all(
        self, orders: Sequence[StandingOrder], *, before: Callable[[], None] = lambda: None
    ) -> list[StandingOrder]:
        """In this order; what is done before them may refuse them, and no other comes between."""
        try:
            with self._locked():
                before()
                return self._put_all(orders)
        except OSError as error:
            same = [self._same(order) for order in orders]
            kept = [found for found in same if found is not None]
            # Numbers are given here, so the rest must be alike.
            if [replace(found, number=0) for found in kept] == [
                replace(order, number=0) for order in orders
            ]:
                return kept
            raise StandingOrdersError(
                f"The order could not be written to {self.folder} ({error.strerror}), so none was "
                "kept. Nothing was sent. Mend that, then ask for the order again."
            ) from error

    def _put_all(self, orders: Sequence[StandingOrder]) -> list[StandingOrder]:
        """All of them or none: a part of a page would act without the rest."""
        stood, put = set(self.folder.glob("*.json")), []
        try:
            for order in orders:
                put.append(self._put(order))
        except OSError:
            for order in put:
                if (path := self._path(order.number)) not in stood:
                    path.unlink(missing_ok=True)
            raise
        return put

    def _put(self, order: StandingOrder) -> StandingOrder:
        kept = self._same(order)
        # A copy mends what was changed here.
        number = self._next_number() if kept is None else kept.number
        numbered = replace(order, number=number)
        _write(self._path(number), numbered)
        return numbered

    def _same(self, order: StandingOrder) -> StandingOrder | None:
        return next(
            (kept.order for kept in self.all() if kept.order.delegation == order.delegation), None
        )

    def _next_number(self) -> int:
        # What came of an order may have outlived its file.
        taken = (path.name.partition(".")[0] for path in self.folder.glob("*.json"))
        return 1 + max((int(name) for name in taken if name.isdigit()), default=0)

    def note(
        self, number: int, change: Callable[[StandingProgress], StandingProgress]
    ) -> StandingProgress:
        """Write down what came of an order, so that nobody else could have."""
        if self._seal is None:
            raise StandingOrdersError("Without the watch key nothing of an order is written down.")
        with self._locked():
            kept = self.find(number)
            after = change(kept.progress)
            if after != kept.progress or not kept.vouched:
                tag = _tag(self._seal, kept.order, after)
                _write(self._progress(number), replace(after, tag=tag))
        return after

    def note_low_key(self, chain_id: int, words: str) -> None:
        """Write down what keeps the watch key from every order on a chain; no words: nothing."""
        path = self.folder / f"low-{chain_id}.txt"
        if words:
            write_atomically(path, words.encode())
        else:
            path.unlink(missing_ok=True)

    def forget_low_keys(self) -> None:
        for path in self.folder.glob("low-*.txt"):
            path.unlink(missing_ok=True)

    def low_key(self, chain_id: int) -> str:
        with suppress(OSError):
            return (self.folder / f"low-{chain_id}.txt").read_text("utf-8", "replace")
        return ""

    @property
    def is_stopped(self) -> bool:
        """Whether this machine is held back."""
        return (self.folder / _STOP).exists()

    def stop(self) -> None:
        self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        write_atomically(self.folder / _STOP, b"No order is carried out while this file is here.\n")

    def go_on(self) -> None:
        (self.folder / _STOP).unlink(missing_ok=True)

    @property
    def role(self) -> MachineRole:
        try:
            told = (self.folder / _ROLE).read_text("utf-8", "replace").strip()
        except OSError:
            return MachineRole.ALONE
        # Of what cannot be understood the one that waits is the safe one.
        return MachineRole(told) if told in list(MachineRole) else MachineRole.STANDBY

    def take_role(self, role: MachineRole) -> None:
        if role is MachineRole.ALONE:
            (self.folder / _ROLE).unlink(missing_ok=True)
            return
        self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        write_atomically(self.folder / _ROLE, f"{role.value}\n".encode())

    @contextmanager
    def turn(self) -> Iterator[bool]:
        """Whether this process is the one that carries out orders, while the block lasts."""
        self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        with locked_if_free(self.folder / ".turn") as ours:
            yield ours

    @contextmanager
    def _locked(self) -> Iterator[None]:
        self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        with hold_lock(self.folder / ".lock"):
            yield

    def _paths(self) -> list[Path]:
        found = [path for path in self.folder.glob("*.json") if path.stem.isdigit()]
        return sorted(found, key=lambda path: int(path.stem))

    def _path(self, number: int) -> Path:
        return self.folder / f"{number}.json"

    def _progress(self, number: int) -> Path:
        return self.folder / f"{number}.progress.json"

    def _read_order(self, path: Path) -> KeptOrder | None:
        order = _read(path, StandingOrder)
        if order is None or str(order.number) != path.stem:
            return None
        path = self._progress(order.number)
        if not path.exists():
            return KeptOrder(order, StandingProgress())
        progress = _read(path, StandingProgress)
        if progress is None:
            return KeptOrder(order, StandingProgress(reason=f"{path.name} is damaged."), False)
        vouched = self._seal is None or hmac.compare_digest(
            progress.tag.encode(), _tag(self._seal, order, progress).encode()
        )
        kept = KeptOrder(order, progress)
        return kept if vouched else kept.without_vouching


def _tag(seal: bytes, order: StandingOrder, progress: StandingProgress) -> str:
    content = (order.chain_id, order.delegation, to_builtins(replace(progress, tag="")))
    return hmac.new(seal, json.dumps(content).encode(), hashlib.sha256).hexdigest()


def _told_of(progress: StandingProgress) -> StandingProgress:
    """What is only shown, of what nobody vouches for: all else the chain tells again."""
    return StandingProgress(
        received=progress.received,
        results=progress.results,
        happened_at=progress.happened_at,
        closed=progress.closed,
        became=progress.became,
    )


def _is_sound(order: StandingOrder) -> bool:
    """Whether its words are words, and its delegation one."""
    order.delegation_signed  # noqa: B018 - raises for what is none
    stored = isinstance(order.condition, PricePast) and order.condition.words
    return all(clean_text(symbol) == symbol for symbol in order.pair) and not (
        stored and order.version > 1
    )


def read_order(content: bytes) -> StandingOrder | None:
    """An order out of a file; None where it is none."""
    return _parsed(content, StandingOrder)


def order_file(order: StandingOrder) -> bytes:
    return json.dumps(to_builtins(order), indent=2).encode() + b"\n"


def _write(path: Path, record: Struct) -> None:
    write_atomically(path, json.dumps(to_builtins(record), indent=2).encode() + b"\n")


def _read(path: Path, kind: type[T]) -> T | None:
    with suppress(OSError), path.open("rb") as file:
        return _parsed(file.read(_MOST_BYTES + 1), kind)
    return None


def _parsed(content: bytes, kind: type[T]) -> T | None:
    if len(content) > _MOST_BYTES:
        return None
    try:
        record = convert(strict_json.loads(content), kind)
        if isinstance(record, StandingOrder) and not _is_sound(record):
            return None
    except (strict_json.InvalidJsonError, ValidationError, AbiError, ValueError):
        return None
    return record
