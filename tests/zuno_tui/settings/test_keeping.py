"""A value kept in settings.toml: the rest of the file stays what the person wrote."""

from __future__ import annotations

import tomllib
from typing import TYPE_CHECKING

import pytest

from zuno_tui.settings import SettingsError
from zuno_tui.settings.edit import keep_setting, with_setting

if TYPE_CHECKING:
    from pathlib import Path

WRITTEN = """# mine
network = "base"

[screen]  # how it looks
bell = false

[rpc]
base = "https://example.org"
"""


@pytest.mark.parametrize(
    "text",
    ["", WRITTEN, WRITTEN.replace("bell", 'theme = "zuno-dark"\nbell'), 'network = "base"'],
)
def test_only_the_value_changes(text: str) -> None:
    before = tomllib.loads(text)
    after = tomllib.loads(with_setting(text, "screen", "theme", "zuno-light"))
    assert after.pop("screen") == {**before.pop("screen", {}), "theme": "zuno-light"}
    assert after == before


def test_comments_stay() -> None:
    after = with_setting(WRITTEN, "screen", "theme", "zuno-light")
    assert [line for line in after.splitlines() if line != 'theme = "zuno-light"'] == (
        WRITTEN.splitlines()
    )


def test_a_file_that_cannot_be_changed_line_by_line_is_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "settings.toml"
    path.write_text('screen = { theme = "zuno-dark" }\n')
    with pytest.raises(SettingsError, match="Write it there yourself"):
        keep_setting(path, "screen", "theme", "zuno-light")
    assert path.read_text() == 'screen = { theme = "zuno-dark" }\n'


def test_what_was_kept_is_read_again(tmp_path: Path) -> None:
    path = tmp_path / "settings.toml"
    keep_setting(path, "screen", "theme", "zuno-light")
    keep_setting(path, "screen", "theme", "zuno-high-contrast")
    assert tomllib.loads(path.read_text()) == {"screen": {"theme": "zuno-high-contrast"}}
    assert path.stat().st_mode & 0o777 == 0o600
