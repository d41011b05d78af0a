"""The demo's own home: gone with the demo, unless a crash left a log in it to be read."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from zuno_tui.cli import main
from zuno_tui.present.exit_codes import DONE, FAILED

if TYPE_CHECKING:
    from pathlib import Path

    from chain.base.home import Home

_HUNG_UP = 129


@pytest.mark.parametrize(("code", "stays"), [(DONE, False), (_HUNG_UP, False), (FAILED, True)])
def test_only_a_crash_leaves_its_home_behind(
    code: int, stays: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def desk(home: Home, *_: object) -> int:
        home.log.write_text("where it happened", "utf-8")
        return code

    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    monkeypatch.setattr("zuno_tui.cli.demo.no_desk_here", lambda: None)
    monkeypatch.setattr("zuno_tui.screen.app.running.run_desk", desk)

    assert main(["demo"]) == code
    left = [log.read_text("utf-8") for log in tmp_path.glob("zuno-run-demo-*/desk.log")]
    assert left == (["where it happened"] if stays else [])
    assert len(list(tmp_path.iterdir())) == stays
