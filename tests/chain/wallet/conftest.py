"""Files that are encrypted in no time, by the same library."""

from __future__ import annotations

from typing import Any

import pytest


@pytest.fixture
def lightly_encrypted(monkeypatch: pytest.MonkeyPatch) -> None:
    """A key that is kept in a file costs thousands of steps, not hundreds of thousands."""
    from eth_keyfile import keyfile

    encrypt = keyfile.create_keyfile_json

    def lightly(*given: Any, **named: Any) -> object:
        return encrypt(*given, **{**named, "iterations": 2**12})

    monkeypatch.setattr(keyfile, "create_keyfile_json", lightly)
