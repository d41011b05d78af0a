"""Settings that were renamed: the old name holds for two releases, with a warning."""

from collections.abc import Mapping

RENAMED = {
    f"model.{role}": f"model.roles.{role}.name"
    for role in ("scout", "strategist", "critic", "arbiter")
}
"""Old names, with the new ones; both written with dots."""
SUPERSEDED = {"limits.value_eth": "limits.value_usd"}
"""What still holds, with what takes its place: another unit, so nothing is carried over."""


def with_new_names(
    written: Mapping[str, object],
) -> tuple[dict[str, object], tuple[str, ...]]:
    """The file as today's names have it, and a warning for each old one."""
    tables, warnings = _copied(written), []
    for old, new in RENAMED.items():
        value = _take_out(tables, old)
        if value is None:
            continue
        warnings.append(f"{old} is called {new} now. The old name still holds: write the new one.")
        _put(tables, new, value)
    for old, new in SUPERSEDED.items():
        *path, name = old.split(".")
        if name in (_table(tables, path, make=False) or {}):
            warnings.append(f"{old} still holds, and {new} takes its place: write that one.")
    return tables, tuple(warnings)


def _copied(table: Mapping[str, object]) -> dict[str, object]:
    return {
        key: _copied(value) if isinstance(value, Mapping) else value for key, value in table.items()
    }


def _take_out(tables: dict[str, object], place: str) -> object | None:
    """The value, taken out; a table is no value."""
    *path, name = place.split(".")
    table = _table(tables, path, make=False)
    if table is None or isinstance(table.get(name), dict):
        return None
    return table.pop(name, None)


def _put(tables: dict[str, object], place: str, value: object) -> None:
    """What is written by the new name, too, is left as it is."""
    *path, name = place.split(".")
    table = _table(tables, path, make=True)
    if table is not None:
        table.setdefault(name, value)


def _table(tables: dict[str, object], path: list[str], *, make: bool) -> dict[str, object] | None:
    table = tables
    for name in path:
        inner = table.setdefault(name, {}) if make else table.get(name)
        if not isinstance(inner, dict):
            return None
        table = inner
    return table
