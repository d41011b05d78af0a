"""Modules that are loaded when they are first used, as in `app.positions`."""

from collections.abc import Callable
from importlib import import_module
from types import ModuleType


def late_modules(package: str) -> Callable[[str], ModuleType]:
    """The `__getattr__` of a package whose commands need one of its modules each."""

    def load(name: str) -> ModuleType:
        if name.startswith("_"):
            raise AttributeError(name)
        return import_module(f"{package}.{name}")

    return load
