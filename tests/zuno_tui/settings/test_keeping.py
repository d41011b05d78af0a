"""A value kept in settings.toml: the rest of the file stays what the person wrote."""

import tomllib
from pathlib import Path

import pytest

from zuno_tui.settings import SettingsError
from zuno_tui.settings.edit import change_setting, keep_setting, with_setting

HOOK = "0x" + "ab" * 20
BOTH = ["https://a.example", "https://b.example"]
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


@pytest.mark.parametrize(
    ("place", "typed", "value"),
    [
        ("network", "arbitrum", "arbitrum"),
        ("limits.daily_usd", "5,000", 5000),
        ("limits.max_fee_gwei", "1.5", 1.5),
        ("screen.bell", "TRUE", True),
        ("screen.bell", "off", False),
        ("model.name", "on", "on"),
        ("debate.rounds", "3", 3),
        ("telegram.chat", "-100123", -100123),
        ("model.name", "4", "4"),
        ("limits.allowed_hooks", HOOK, [HOOK]),
        ("screen.theme", "zuno-16", "zuno-16"),
        ("rpc.base", "https://a.example, https://b.example", BOTH),
    ],
)
def test_what_is_typed_becomes_what_the_setting_is(
    tmp_path: Path, place: str, typed: str, value: object
) -> None:
    path = tmp_path / "settings.toml"
    path.write_text(WRITTEN, "utf-8")
    change_setting(path, place, typed)
    *tables, name = place.split(".")
    found: object = tomllib.loads(path.read_text("utf-8"))
    for part in (*tables, name):
        assert isinstance(found, dict)
        found = found[part]
    assert found == value
    assert "# mine" in path.read_text("utf-8")
    assert path.stat().st_mode & 0o077 == 0


@pytest.mark.parametrize(
    ("place", "typed"),
    [
        ("limits.daily_usd", "-5"),
        ("network", "nowhere"),
        ("rpc.base", "ftp://x"),
        ("debate.profile", "bold"),
        ("limits.nothing", "1"),
        ("screen.bell", "maybe"),
        ("screen.theme", "pink"),
        ("wallet", "main"),
        ("rpc.nowhere", "https://a.example"),
        ("network = 1\nunit", "usd"),
    ],
)
def test_what_does_not_fit_is_refused_and_nothing_is_written(
    tmp_path: Path, place: str, typed: str
) -> None:
    path = tmp_path / "settings.toml"
    path.write_text(WRITTEN, "utf-8")
    with pytest.raises(SettingsError):
        change_setting(path, place, typed)
    assert path.read_text("utf-8") == WRITTEN


def test_nothing_typed_takes_a_setting_out(tmp_path: Path) -> None:
    path = tmp_path / "settings.toml"
    path.write_text(WRITTEN, "utf-8")
    change_setting(path, "rpc.base", "")
    change_setting(path, "network", " ")
    change_setting(path, "limits.daily_usd", "")
    left = tomllib.loads(path.read_text("utf-8"))
    assert left == {"screen": {"bell": False}, "rpc": {}}


REMARKS = "[limits]\ndaily_usd = 5  # not more\n\n# how it looks\n[screen]\nbell = true\n"


def test_what_is_said_beside_a_value_stays_with_it(tmp_path: Path) -> None:
    path = tmp_path / "settings.toml"
    path.write_text(REMARKS)
    change_setting(path, "limits.daily_usd", "7")
    change_setting(path, "limits.value_usd", "9")
    assert path.read_text() == REMARKS.replace("5  # not more", "7  # not more\nvalue_usd = 9")


def test_a_list_over_several_lines_is_one_value(tmp_path: Path) -> None:
    path = tmp_path / "settings.toml"
    path.write_text('[rpc]\nbase = [\n  "https://a.example",\n  "https://b.example",\n]\n')
    change_setting(path, "rpc.base", "https://c.example")
    assert path.read_text() == '[rpc]\nbase = "https://c.example"\n'


def test_a_network_is_changed_under_the_name_the_file_has_for_it(tmp_path: Path) -> None:
    path = tmp_path / "settings.toml"
    path.write_text('[rpc]\nEthereum = "https://a.example"\n')
    change_setting(path, "rpc.ethereum", "https://b.example")
    assert tomllib.loads(path.read_text()) == {"rpc": {"Ethereum": "https://b.example"}}


def test_a_header_inside_a_text_is_no_place_to_write(tmp_path: Path) -> None:
    path = tmp_path / "settings.toml"
    before = "address = '''\n[screen]\n'''\n"
    path.write_text(before)
    with pytest.raises(SettingsError):
        keep_setting(path, "screen", "theme", "zuno-light")
    assert path.read_text() == before
