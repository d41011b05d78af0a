"""A home that cannot be written stops no read; what is read is told as not kept."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tests.zuno_tui.conftest import CommandLine


def test_positions_are_read_without_a_database(
    zuno: CommandLine, on_devnet: tuple[str, ...]
) -> None:
    zuno.home.mkdir(mode=0o700)
    # No database can be where a folder is, whoever asks: as on a disk that takes nothing more.
    (zuno.home / "zuno.db").mkdir()

    spoken = zuno("positions", *on_devnet, "--json")

    assert spoken.code == 0, spoken.words
    assert spoken.data["positions"]
    assert "What is read now is not saved." in spoken.words
