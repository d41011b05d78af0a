"""One value written into `settings.toml`, and everything else in it left as the person wrote it."""

import json
import re
import tomllib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TypeAlias

from chain.base.home import FOLDER_MODE, hold_lock, write_atomically
from zuno_tui.settings.check import SettingsError, UnfitError
from zuno_tui.settings.load import checked_file, read_settings_file
from zuno_tui.settings.schema import network_called

SettingValue: TypeAlias = str | bool | int | float | list[str]

_HEADER = re.compile(r"\s*\[")
_NUMBER = re.compile(r"-?[0-9]+(\.[0-9]+)?", re.ASCII)
_SWITCHES = {"true": True, "false": False, "on": True, "off": False}
_OF_NETWORKS = ("rpc", "send")
_LISTS = ("rpc.", "limits.allowed_hooks", "telegram.answer_to")
"""Settings that may hold several, typed with commas between."""
_REMARK = re.compile(r"""(?:"(?:[^"\\]|\\.)*"|'[^']*'|[^"'#])*?(\s*#.*)?""")


def change_setting(path: Path, place: str, typed: str) -> None:
    """Write what was typed for a setting like `limits.daily_usd`; nothing typed takes it out.

    The whole file is held to the schema first: what does not fit is refused, and nothing written.
    """
    with _alone_at(path):
        before = _written(path)
        table, name = _place_in(before, place)
        if not typed.strip():
            after = without_setting(before, table, name)
            checked_file(_parsed(after, path))
            _require_only(before, after, path, (table, name, None))
        else:
            after = _with_typed(before, path, f"{table}.{name}".lstrip("."), typed.strip())
        write_atomically(path, after.encode())


def keep_setting(path: Path, table: str, name: str, value: SettingValue) -> None:
    """Write `name = value` into `[table]`; refused where that cannot be done safely."""
    with _alone_at(path):
        before = _written(path)
        after = with_setting(before, table, name, value)
        _require_only(before, after, path, (table, name, value))
        write_atomically(path, after.encode())


def with_setting(text: str, table: str, name: str, value: SettingValue) -> str:
    """The file's text with the value in it; comments and order stay."""
    lines = text.splitlines()
    told = f"{name} = {json.dumps(value, ensure_ascii=False)}"
    begin, end = _place_of_table(lines, table)
    if begin is None:
        gap = [""] if lines and lines[-1].strip() else []
        return "\n".join([*lines, *gap, f"[{table}]", told]) + "\n"
    if (place := _place_of(lines, begin, end, name)) is not None:
        last = _last_line(lines, place, end)
        # What the person wrote behind a value.
        found = _REMARK.fullmatch(lines[last])
        remark = "" if found is None else found[1] or ""
        lines[place : last + 1] = [told + remark]
    else:
        lines.insert(_room_for_more(lines, begin, end), told)
    return "\n".join(lines) + "\n"


def without_setting(text: str, table: str, name: str) -> str:
    """The same without the value, where it is there."""
    lines = text.splitlines()
    begin, end = _place_of_table(lines, table)
    place = None if begin is None else _place_of(lines, begin, end, name)
    if place is not None:
        del lines[place : _last_line(lines, place, end) + 1]
    return "\n".join(lines) + "\n"


@contextmanager
def _alone_at(path: Path) -> Iterator[None]:
    """No other process of this home writes meanwhile."""
    path.parent.mkdir(mode=FOLDER_MODE, parents=True, exist_ok=True)
    with hold_lock(path.parent):
        yield


def _with_typed(before: str, path: Path, place: str, typed: str) -> str:
    """The file's text with what was typed, read as whatever the schema takes at its place."""
    table, _, name = place.rpartition(".")
    fault: SettingsError | None = None
    for value in _readings(place, typed):
        after = with_setting(before, table, name, value)
        try:
            checked_file(_parsed(after, path))
            _require_only(before, after, path, (table, name, value))
        except SettingsError as error:
            fault = fault or error
        else:
            return after
    raise fault or SettingsError(f"{place} cannot be changed here.", place)


def _readings(place: str, typed: str) -> list[SettingValue]:
    """What the words may be in TOML, the likeliest first; the schema takes the one that fits."""
    parts = [part.strip() for part in typed.split(",")]
    several: list[SettingValue] = [parts] if place.startswith(_LISTS) else []
    if several and "," in typed:
        return several
    readings: list[SettingValue] = []
    if (switch := _SWITCHES.get(typed.lower())) is not None:
        readings.append(switch)
    number = typed.replace(",", "")
    if _NUMBER.fullmatch(number):
        readings.append(float(number) if "." in number else int(number))
    return [*readings, typed, *several]


def _place_in(text: str, place: str) -> tuple[str, str]:
    """Table and name; a network's as the file calls it, where it names it otherwise."""
    table, _, name = place.rpartition(".")
    if table not in _OF_NETWORKS:
        return table, name
    try:
        meant = network_called(name, place)
        known = tomllib.loads(text).get(table, {})
        called = (name for name in known if network_called(name, place) == meant)
        return table, next(called, meant)
    except UnfitError as error:
        raise SettingsError(str(error), place) from None
    except tomllib.TOMLDecodeError:
        return table, name


def _written(path: Path) -> str:
    """The file's text, once it is known to be one that can be read."""
    try:
        read_settings_file(path)
        return path.read_text("utf-8")
    except FileNotFoundError:
        return ""


def _parsed(text: str, path: Path) -> dict[str, object]:
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError:
        raise SettingsError(f"{path} could not be changed safely. Change it there.") from None


def _require_only(
    before: str, after: str, path: Path, change: tuple[str, str, SettingValue | None]
) -> None:
    """Refuse a text in which anything but this one value is another than before."""
    table, name, value = change
    if not _differs_by(before, after, table, name, value):
        where = f"[{table}] " if table else ""
        raise SettingsError(
            f"{path} could not be changed safely. Write it there yourself: {where}{name}"
        )


def _differs_by(before: str, after: str, table: str, name: str, value: SettingValue | None) -> bool:
    try:
        wanted, found = tomllib.loads(before), tomllib.loads(after)
    except tomllib.TOMLDecodeError:
        return False
    within = wanted
    for part in filter(None, table.split(".")):
        within = within.setdefault(part, {})
    within.pop(name, None)
    if value is not None:
        within[name] = value
    return wanted == found or (value is None and _without_empty(wanted) == _without_empty(found))


def _without_empty(table: dict[str, object]) -> dict[str, object]:
    return {name: value for name, value in table.items() if value != {}}


def _place_of(lines: list[str], begin: int, end: int, name: str) -> int | None:
    written = re.compile(rf"\s*{re.escape(name)}\s*=")
    return next((place for place in range(begin, end) if written.match(lines[place])), None)


def _room_for_more(lines: list[str], begin: int, end: int) -> int:
    """Behind a table's last value; in an empty one behind what is said of it."""
    values = [place for place in range(begin, end) if lines[place].split("#")[0].strip()]
    if values:
        return values[-1] + 1
    remarks = (place for place in range(begin, end) if not lines[place].startswith("#"))
    return next(remarks, end)


def _last_line(lines: list[str], place: int, end: int) -> int:
    """The line on which a value ends that may go over several."""
    for last in range(place, end):
        try:
            tomllib.loads("\n".join(lines[place : last + 1]))
        except tomllib.TOMLDecodeError:
            continue
        return last
    return place


def _place_of_table(lines: list[str], table: str) -> tuple[int | None, int]:
    """Its first line after the header, and the line behind its last; the root has no header."""
    begin = 0 if not table else None
    if table:
        header = re.compile(rf"\s*\[\s*{re.escape(table)}\s*\]\s*(#.*)?")
        found = (place for place, line in enumerate(lines) if header.fullmatch(line))
        begin = next((place + 1 for place in found), None)
    if begin is None:
        return None, 0
    ends = (place for place in range(begin, len(lines)) if _HEADER.match(lines[place]))
    return begin, next(ends, len(lines))
