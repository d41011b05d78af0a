"""The whole file: the app's own tables, and what features keep in it, each found in its folder."""

from functools import cache
from importlib import import_module
from importlib.util import find_spec
from pkgutil import iter_modules
from types import GenericAlias, ModuleType
from typing import cast

from msgspec import defstruct, field
from msgspec.structs import fields

from zuno_tui.settings.schema import MonitorTable, SettingsFile, SettingsTable, ThresholdsTable

_FOLDER = "zuno_tui.features"


@cache
def feature_tables() -> dict[str, type[SettingsTable]]:
    """By the names that they have in the file."""
    return {name: table for module in _modules() for name, table in module.TABLES.items()}


@cache
def feature_thresholds() -> frozenset[str]:
    return frozenset(name for module in _modules() for name in module.THRESHOLDS.__struct_fields__)


@cache
def settings_file() -> type[SettingsFile]:
    """The type that a file is held to."""
    own = [
        (each.name, each.type, each.default)
        for module in _modules()
        for each in fields(module.THRESHOLDS)
    ]
    thresholds = defstruct("Thresholds", own, bases=(ThresholdsTable,), frozen=True)
    by_name = GenericAlias(dict, (str, thresholds))
    named: list[tuple[str, object, object]]
    named = [(name, by_name, field(default_factory=dict)) for name in ("networks", "positions")]
    monitor = defstruct("Monitor", [*own, *named], bases=(MonitorTable,), frozen=True)
    tables = {"monitor": monitor, **feature_tables()}
    whole = [(name, table, table()) for name, table in tables.items()]
    made = defstruct("WholeFile", whole, bases=(SettingsFile,), frozen=True)
    return cast("type[SettingsFile]", made)


@cache
def _modules() -> tuple[ModuleType, ...]:
    folders = iter_modules(import_module(_FOLDER).__path__)
    names = (f"{_FOLDER}.{folder.name}.settings" for folder in folders)
    return tuple(import_module(name) for name in names if find_spec(name) is not None)
