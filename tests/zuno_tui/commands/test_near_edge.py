"""Near its edge is what the person's own setting says, on the command line as at the desk."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.zuno_tui.desk.sitting import opening, sitting
from zuno_tui.cli import main
from zuno_tui.desk.events import PositionsChanged

if TYPE_CHECKING:
    from pathlib import Path

    from chain.devnet.launch import DevnetReady


@pytest.mark.parametrize(("share", "near"), [("0.0", False), ("1.0", True)])
def test_the_command_line_follows_the_setting(
    share: str,
    near: bool,
    on_devnet: tuple[str, ...],
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    _set(tmp_path, share)
    main(["positions", *on_devnet, "--home", str(tmp_path)])

    printed = capsys.readouterr().out
    assert ("near edge" in printed, " in range" in printed) == (near, not near)


async def test_the_desk_follows_the_setting(devnet: DevnetReady, tmp_path: Path) -> None:
    _set(tmp_path, "1.0")
    async with sitting(opening(tmp_path, devnet.url)) as desk:
        told = await desk.until(PositionsChanged, lambda told: bool(told.view.rows))

    states = {row.standing for row in told.view.rows}
    assert "near edge" in states
    assert "in range" not in states


def _set(home: Path, share: str) -> None:
    home.chmod(0o700)
    path = home / "settings.toml"
    path.write_text(f"[monitor]\nnear_edge = {share}\n", "utf-8")
    path.chmod(0o600)
