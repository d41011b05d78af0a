"""The record of one request: JSON lines, each chained to the one before by its hash.

Chaining shows any change, cut or insertion to whoever noted the last hash; a record that was
rewritten from its start has another one.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import cache
from hashlib import sha256
from importlib.metadata import version
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from msgspec import Struct

from agents.bus.envelope import Envelope, Kind
from chain.base import strict_json
from chain.base.clean_text import Redactor
from chain.base.errors import ZunoError
from chain.base.home import FILE_MODE, FOLDER_MODE
from chain.base.strict_json import canonical, digest

if TYPE_CHECKING:
    from importlib.resources.abc import Traversable


_RELEASE = re.compile(r"\d{1,4}(\.\d{1,4}){1,3}")
_HEAD_LINES = 8
_HEAD_BYTES = 16_384
_TAIL_BYTES = (65_536, 1 << 20)
"""How much of the end is read; more where the last message is longer than that."""


class RecordEnds(Struct, frozen=True):
    """The first and the last message of a record, by a look at its ends alone."""

    first: Mapping[str, object] | None
    last: Mapping[str, object] | None


def read_ends(path: Path) -> RecordEnds:
    size = path.stat().st_size
    with path.open("rb") as file:
        head = file.read(_HEAD_BYTES).split(b"\n")[:_HEAD_LINES]
        first, last = next(_messages(head), None), None
        for length in _TAIL_BYTES:
            file.seek(max(0, size - length))
            lines = file.read(length).split(b"\n")
            # The first line of a tail is most likely the rest of one.
            last = next(_messages(reversed(lines if size <= length else lines[1:])), None)
            if last is not None or size <= length:
                break
    return RecordEnds(first, last)


def _messages(lines: Iterable[bytes]) -> Iterator[Mapping[str, object]]:
    """Of those lines that can be read; a cut or damaged one is passed over."""
    for line in lines:
        try:
            value = strict_json.loads(line)
        except strict_json.InvalidJsonError:
            continue
        match value:
            case {"type": "envelope", "body": dict(body)}:
                yield body


ZUNO = "zuno"
RULES = "rules"

_LENGTH = 12
_RULES_OF_EVERY_FLOW = ("agents.bus", "agents.model", "agents.numbers", "chain.math")
# What reads the chain has no say in a flow that is run from its record.
_NO_RULES = frozenset(("observe", "__pycache__"))


@cache
def writing_versions(folder: Path) -> tuple[str, ...]:
    """The releases that wrote the records of a home, as their first lines say, the oldest first."""
    found = set()
    for path in folder.glob("*.jsonl"):
        with path.open("rb") as lines, suppress(strict_json.InvalidJsonError):
            named = strict_json.loads(lines.readline(_HEAD_BYTES))
            for name in ("body", "versions", ZUNO):
                named = named.get(name) if isinstance(named, dict) else None
            if isinstance(named, str) and _RELEASE.fullmatch(named):
                found.add(named)
    return tuple(sorted(found, key=lambda one: tuple(map(int, one.split(".")))))


def running_versions(flow_package: str) -> dict[str, str]:
    """The release, and a hash over the code and prompts that the outcome of a flow depends on."""
    found = sha256()
    for package in (flow_package, *_RULES_OF_EVERY_FLOW):
        for name, content in _sources(files(package), package):
            found.update(f"{name} {len(content)}\n".encode() + content)
    return {ZUNO: version("zuno-tui"), RULES: found.hexdigest()[:_LENGTH]}


def _sources(folder: Traversable, place: str) -> Iterator[tuple[str, bytes]]:
    for entry in sorted(folder.iterdir(), key=lambda one: one.name):
        if entry.is_dir():
            if entry.name not in _NO_RULES:
                yield from _sources(entry, f"{place}/{entry.name}")
        elif entry.name.endswith((".py", ".txt")):
            yield f"{place}/{entry.name}", entry.read_bytes()


FORMAT = 2
OLDEST_FORMAT = 1
"""In it facts and replies of models were lines of their own, and the header named no flow."""
MOST_BYTES = 64 << 20
KINDS = frozenset(("header", "input", "fact", "envelope", "reply", "end"))
FIRST_HASH = "0" * 64


class RecordError(ZunoError):
    """A record that cannot be written; the message says what to do."""


class Sink(Protocol):
    def write(self, line: bytes, /) -> None: ...

    def close(self) -> None: ...


class FileSink:
    """A new private file that is only ever added to."""

    def __init__(self, path: Path) -> None:
        path.parent.mkdir(mode=FOLDER_MODE, parents=True, exist_ok=True)
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_APPEND | os.O_NOFOLLOW
        try:
            self._descriptor = os.open(path, flags, FILE_MODE)
        except FileExistsError:
            raise RecordError(f"There is a record at {path} already.") from None

    def write(self, line: bytes) -> None:
        # Straight to the system, so that a crash of ours loses nothing that was said.
        while line:
            line = line[os.write(self._descriptor, line) :]

    def close(self) -> None:
        try:
            os.fsync(self._descriptor)
        finally:
            os.close(self._descriptor)


class MemorySink:
    def __init__(self) -> None:
        self.lines: list[bytes] = []

    def write(self, line: bytes) -> None:
        self.lines.append(line)

    def close(self) -> None:
        pass


class RecordWriter:
    """Writes one request's record: hand `envelope` to the bus as an observer."""

    def __init__(
        self,
        sink: Sink,
        request_id: str,
        versions: Mapping[str, str],
        redactor: Redactor,
        *,
        flow: str,
    ) -> None:
        self._sink = sink
        self._redactor = redactor
        self._count = 0
        self._kinds: set[str] = set()
        self.last_hash = FIRST_HASH
        header = {
            "flow": flow,
            "format": FORMAT,
            "requestId": request_id,
            "versions": dict(versions),
        }
        self._line("header", canonical(header))

    def input(self, name: str, value: object) -> None:
        """Something the request started from: settings, a snapshot of the chain."""
        self._line("input", canonical({"name": name, "value": value}))

    def envelope(self, envelope: Envelope) -> None:
        # Payloads are closed but for facts: the fields of any other kind are looked at once.
        names = envelope.kind not in self._kinds or envelope.kind == Kind.AGENT_FACT
        self._kinds.add(envelope.kind)
        self._line("envelope", envelope.wire, names=names)

    def close(self) -> None:
        """Say that this is all of it, and make it last; takes as long as the disk does."""
        try:
            self._line("end", canonical({"lines": self._count}))
        finally:
            self._sink.close()

    def _line(self, kind: str, body: bytes, *, names: bool = True) -> None:
        if self._redactor.suspects(body, names=names):
            body = canonical(self._redactor.value(strict_json.loads(body)))
        line_hash = _line_hash(self.last_hash, self._count, kind, body)
        # Put together by hand, in the order of canonical JSON: the body is canonical already.
        tail = f',"hash":"{line_hash}","n":{self._count},"type":"{kind}"}}\n'
        self._sink.write(b'{"body":' + body + tail.encode())
        self.last_hash = line_hash
        self._count += 1


class RecordLine(Struct, frozen=True):
    kind: str
    body: Mapping[str, object]

    @property
    def wire(self) -> bytes:
        return canonical(self.body)


class RecordCheck(Struct, frozen=True):
    """What reading a record through has shown."""

    lines: tuple[RecordLine, ...]
    """Those that are sound, up to the first that is not."""
    last_hash: str
    broken_line: int | None
    """Counted from 1, as editors do."""
    reason: str | None

    @property
    def ok(self) -> bool:
        return self.broken_line is None

    @property
    def complete(self) -> bool:
        """Whether its writer came to the end; a sound record without one was cut short."""
        return self.ok and bool(self.lines) and self.lines[-1].kind == "end"


def verify_record(path: Path) -> RecordCheck:
    """Read a record through and check every link of its chain."""
    with path.open("rb") as file:
        data = file.read(MOST_BYTES + 1)
    if len(data) > MOST_BYTES:
        return RecordCheck((), FIRST_HASH, 1, f"it has more than {MOST_BYTES} bytes")
    return check_lines(data.splitlines(keepends=True))


def check_lines(lines: Sequence[bytes]) -> RecordCheck:
    previous = FIRST_HASH
    sound: list[RecordLine] = []
    for number, data in enumerate(lines):
        try:
            line, previous = _checked(data, number, previous)
            if (line.kind == "header") != (number == 0):
                raise _BrokenError("a record has one header, at its top")
            if number and sound[-1].kind == "end":
                raise _BrokenError("it comes after the end")
        except (strict_json.InvalidJsonError, _BrokenError) as error:
            return RecordCheck(tuple(sound), previous, number + 1, str(error))
        sound.append(line)
    if not sound:
        return RecordCheck((), previous, 1, "it is empty")
    return RecordCheck(tuple(sound), previous, None, None)


class _BrokenError(Exception):
    pass


def _checked(data: bytes, number: int, previous: str) -> tuple[RecordLine, str]:
    if not data.endswith(b"\n"):
        raise _BrokenError("the line was cut off")
    value = strict_json.loads(data)
    if not isinstance(value, dict) or value.keys() != {"body", "hash", "n", "type"}:
        raise _BrokenError("it is not a line of a record")
    body, kind = value["body"], value["type"]
    if not isinstance(body, dict) or not isinstance(kind, str) or kind not in KINDS:
        raise _BrokenError("it is not a line of a record")
    expected = _line_hash(previous, number, kind, canonical(body))
    if canonical(value) + b"\n" != data or value["n"] != number or value["hash"] != expected:
        raise _BrokenError("it does not follow from the line before")
    return RecordLine(kind, body), expected


def _line_hash(previous: str, number: int, kind: str, body: bytes) -> str:
    tail = f',"n":{number},"type":"{kind}"}}'
    return digest(previous.encode() + b'{"body":' + body + tail.encode())
