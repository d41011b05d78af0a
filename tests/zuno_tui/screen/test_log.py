"""The desk's log tells where something failed, and keeps every value to itself."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from zuno_tui.screen.app.running import close_log, open_log

if TYPE_CHECKING:
    from pathlib import Path

KEY = "4c0883a69102937d6231471b5dbb6204fe5129617082792ae468d01a3f362318"
URL = "https://base.example/v2/AbCdEf"


def _written(path: Path, *words: str, error: Exception | None = None) -> str:
    handler = open_log(path)
    for line in words:
        logging.getLogger("zuno.desk").error(line, exc_info=error)
    close_log(handler)
    return path.read_text("utf-8")


def _failing() -> Exception:
    secret = KEY
    try:
        try:
            raise ConnectionError(f"cannot reach {URL}")
        except ConnectionError as cause:
            raise ValueError(f"secret {secret}\x1b[2J") from cause
    except ValueError as error:
        return error


def test_frames_and_kinds_without_words(tmp_path: Path) -> None:
    text = _written(tmp_path / "log", "it failed", error=_failing())

    assert "ConnectionError" in text
    assert "led to" in text
    assert "ValueError" in text
    assert "_failing" in text
    assert KEY not in text
    assert "base.example" not in text
    assert "\x1b" not in text


def test_what_is_said_by_mistake_is_hidden(tmp_path: Path) -> None:
    text = _written(tmp_path / "log", f"reading {URL} with {KEY}\x07 done")

    assert "reading (a URL) with (hidden) done" in text


def test_the_file_is_its_owners_and_stays_small(tmp_path: Path) -> None:
    path = tmp_path / "log"
    _written(path, *("x" * 1_000 for _ in range(400)))

    assert path.stat().st_mode & 0o777 == 0o600
    assert path.stat().st_size < 200_000
    assert {each.name for each in tmp_path.iterdir()} == {"log", "log.1"}
    assert (tmp_path / "log.1").stat().st_mode & 0o777 == 0o600


def test_a_log_that_cannot_be_written_keeps_nobody_waiting(tmp_path: Path) -> None:
    (tmp_path / "log").mkdir()

    assert open_log(tmp_path / "log") is None
    close_log(None)
