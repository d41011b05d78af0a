"""What the tests of the screen share."""

import asyncio
from collections.abc import Callable
from pathlib import Path

import pytest

from chain.base.home import Home


@pytest.fixture(autouse=True)
def keys_count_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """From the moment a page is drawn; the tests of that second bring a clock of their own."""
    monkeypatch.setattr("zuno_tui.screen.screens.typed_confirm.READING_SECONDS", 0.0)


@pytest.fixture
def home(tmp_path: Path) -> Home:
    from chain.base.home import Home

    return Home(tmp_path / "home", tmp_path / "cache")


@pytest.fixture
def endpoints_that_serve(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of the first run; what trying them finds is tried elsewhere."""
    from zuno_tui.app.first_steps import Check, CheckState

    serves = Check("RPC", CheckState.WELL, "answers")
    monkeypatch.setattr("zuno_tui.screen.panes.endpoint_trial.TRY_AFTER_SECONDS", 99.0)
    monkeypatch.setattr("zuno_tui.app.first_steps.try_place", lambda _, found: found(serves))


def pytest_asyncio_loop_factories() -> dict[str, Callable[[], asyncio.AbstractEventLoop]]:
    """Textual's timers read the machine's clock, and so does the loop beneath it."""
    return {"loop": asyncio.new_event_loop}
