"""Something a person wrote, held to its type; what does not fit is told in words."""

import re
from collections.abc import Iterator, Mapping
from types import UnionType
from typing import Annotated, Literal, TypeVar, Union, cast, get_args, get_origin, get_type_hints
from urllib.parse import urlsplit

from msgspec import Meta, Struct, ValidationError, convert

from chain.base.errors import Failure, ZunoError
from chain.base.spelling import nearest

T = TypeVar("T")
SWITCH = ("on", "off")
"""How a person says true and false."""
_PLACE = re.compile(r" - at `\$(.*)`$")
_STEP = re.compile(r"\.(\w+)|\[(\.\.\.)\]")
_A_NAME = re.compile(r"[a-z_.-]{1,40}")
"""What an unknown setting's name is repeated as: a misplaced key or token looks otherwise."""


class SettingsError(ZunoError, ValueError):
    """A setting that cannot be used; the message names it, its place and what it may be."""

    failure = Failure.USAGE

    def __init__(self, sentence: str, place: str = "") -> None:
        super().__init__(sentence)
        self.place = place
        """Like `limits.daily_usd`, where one setting of the file is to blame."""


class UnknownSetting(Struct, frozen=True):
    """A name in the file that this version has no setting for."""

    place: str
    sentence: str


class UnfitError(ValueError):
    """Settings that do not go together: a sentence, raised while a table is read."""


def check_as(kind: type[T], given: object, place: str = "") -> T:
    """What was given as this type; no message repeats it, since it may be a misplaced secret."""
    try:
        return convert(given, kind)
    except ValidationError as error:
        fault = _fault(kind, given, place, error)
    # Raised out here because the library's exception, as context, would show what was given.
    raise fault


def without_unknown(
    kind: object, given: object, place: str = ""
) -> tuple[object, tuple[UnknownSetting, ...]]:
    """What of it this version knows, and a sentence for each name that it does not."""
    if not isinstance(given, dict):
        return given, ()
    record = _record(kind)
    known: dict[str, object] = {}
    unknown: list[UnknownSetting] = []
    for key, value in given.items():
        if record is not None and key not in record.__struct_fields__:
            fault = _unknown(place, {key: value}, record.__struct_fields__)
            unknown.append(UnknownSetting(fault.place, str(fault)))
            continue
        inner = _field(kind, key) if record is not None else _entries(kind)
        known[key], more = without_unknown(inner, value, f"{place}.{key}".lstrip("."))
        unknown.extend(more)
    return known, tuple(unknown)


def _entries(kind: object) -> object:
    """What a table of free names holds under each; nothing known where it is no such table."""
    return next((get_args(arm)[-1] for arm in _arms(kind) if get_origin(arm) is dict), object)


def _fault(kind: object, given: object, place: str, error: ValidationError) -> SettingsError:
    found = _PLACE.search(str(error))
    steps = () if found is None else _STEP.findall(found[1])
    for name, _ in steps:
        table = cast("Mapping[str, object]", given)
        key = name or _failing(_inner(kind, dict), table)
        kind = _field(kind, name) if name else _inner(kind, dict)
        given, place = table[key], f"{place}.{key}".lstrip(".")
    if isinstance(error.__cause__, UnfitError):
        return SettingsError(f"{place}{error.__cause__}", place)
    record = _record(kind)
    if record is None:
        return SettingsError(f"{place} must be {_expected(kind)}.", place)
    if isinstance(given, dict):
        return _unknown(place, given, record.__struct_fields__)
    return SettingsError(f"[{place}] must be a table of settings.", place)


def expected_at(kind: object, place: str) -> str:
    """What a setting like `limits.daily_usd` may be, in words."""
    return _expected(_kind_at(kind, place))


def choices_at(kind: object, place: str) -> tuple[str, ...]:
    """Everything a setting like `screen.bell` may be, as one types it; empty where it is open."""
    for arm in _arms(_kind_at(kind, place)):
        if arm is bool:
            return SWITCH
        if get_origin(arm) is Literal:
            return tuple(map(str, get_args(arm)))
    return ()


def _kind_at(kind: object, place: str) -> object:
    for name in place.split("."):
        record = _record(kind)
        kind = _inner(kind, dict) if record is None else _field(kind, name)
    return kind


def _unknown(place: str, table: Mapping[str, object], known: tuple[str, ...]) -> SettingsError:
    key = next(str(key) for key in table if key not in known)
    shown = f" {key!r}" if _A_NAME.fullmatch(key) else ""
    meant = nearest(key, known)
    hint = "" if meant is None else f" Did you mean {meant!r}?"
    where = f"[{place}] has" if place else "There is"
    may = ", ".join(sorted(known))
    return SettingsError(
        f"{where} an unknown setting{shown}.{hint} It may hold {may}.",
        f"{place}{shown and '.' + key}".lstrip("."),
    )


def _failing(kind: object, table: Mapping[str, object]) -> str:
    """Which entry it is; the library does not say."""
    for key, value in table.items():
        try:
            convert(value, kind)
        except ValidationError:
            return key
    raise AssertionError("an entry that did not fit fits now")


def _arms(kind: object) -> Iterator[object]:
    """The type, and what it may be besides or stands for."""
    yield kind
    if get_origin(kind) is Annotated:
        yield from _arms(get_args(kind)[0])
    elif get_origin(kind) in (Union, UnionType):
        for arg in get_args(kind):
            yield from _arms(arg)


def _inner(kind: object, outer: type) -> object:
    return next(get_args(arm)[-1] for arm in _arms(kind) if get_origin(arm) is outer)


def _record(kind: object) -> type[Struct] | None:
    return next((x for x in _arms(kind) if isinstance(x, type) and issubclass(x, Struct)), None)


def _field(kind: object, name: str) -> object:
    return get_type_hints(_record(kind), include_extras=True)[name]


def _expected(kind: object) -> str:
    notes = (note for arm in _arms(kind) if get_origin(arm) is Annotated for note in get_args(arm))
    words = (note.description for note in notes if isinstance(note, Meta))
    return next((word for word in words if word), "of another kind")


THIS_MACHINE = frozenset(("127.0.0.1", "::1", "localhost"))


def is_plain(url: str) -> bool:
    """Whether it leaves this machine unencrypted."""
    parts = urlsplit(url.strip())
    host = (parts.hostname or "").rstrip(".")
    return parts.scheme in ("http", "ws") and host not in THIS_MACHINE


def refuse_plain(url: str, place: str, secret: str) -> None:
    """Refuse to send a secret where everybody on the line can read it."""
    if is_plain(url):
        raise SettingsError(
            f"{place} is plain http, and {secret} would travel over it for everybody on the line "
            "to read. Write an address that begins with https.",
            place,
        )
