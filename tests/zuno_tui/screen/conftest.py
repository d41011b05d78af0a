"""A quiet terminal for the screen's tests: no colour wishes, no animations, no clock but ours."""

from __future__ import annotations

import os

import pytest

# Textual reads these while it is imported, so they go before anything imports it. What the
# pictures' own plugin tells its workers is no wish, and stays.
for name in list(os.environ):
    order = name.startswith("TEXTUAL_") and not name.startswith("TEXTUAL_SNAPSHOT_")
    if order or name == "NO_COLOR":
        del os.environ[name]
os.environ["TEXTUAL_ANIMATIONS"] = "none"


@pytest.fixture(autouse=True)
def keys_count_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """From the moment a page is drawn; the tests of that second bring a clock of their own."""
    monkeypatch.setattr("zuno_tui.screen.screens.confirm.READING_SECONDS", 0.0)
