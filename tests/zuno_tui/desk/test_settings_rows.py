"""What the desk tells of the settings: who said what, and never a secret."""

from __future__ import annotations

import argparse
import os
from typing import TYPE_CHECKING

import pytest

from zuno_tui.desk.settings_rows import setting_rows
from zuno_tui.session.session import Session

if TYPE_CHECKING:
    from pathlib import Path

CANARY = "canary-5f1e"
WRITTEN = f"""
network = "base"

[rpc]
base = "https://node.example/v2/{CANARY}"

[telegram]
token = "123:{CANARY}"
chat = "77"

[webhook]
url = "https://hook.example/{CANARY}"

[model]
name = "gpt-4o-mini"

[screen]
theme = "zuno-light"
"""


@pytest.fixture
def rows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, tuple[str, str]]:
    (tmp_path / "settings.toml").write_text(WRITTEN)
    monkeypatch.setenv("ZUNO_UNIT", "eth")
    monkeypatch.setenv("OPENAI_API_KEY", f"sk-{CANARY}")
    flags = argparse.Namespace(
        home=tmp_path,
        network=None,
        rpc=None,
        address="0x" + "ab" * 20,
        unit=None,
        alone=None,
        json=None,
    )
    told = setting_rows(Session.start(flags), os.environ)
    return {row.name: (row.value, row.origin) for row in told}


def test_each_setting_says_who_set_it(rows: dict[str, tuple[str, str]]) -> None:
    assert rows["network"] == ("Base", "settings.toml")
    assert rows["unit"] == ("eth", "environment")
    assert rows["address"][1] == "this run"
    assert rows["limits"] == ("the usual", "default")
    assert rows["screen"] == ("theme = zuno-light", "settings.toml")


def test_secrets_are_only_said_to_be_set(rows: dict[str, tuple[str, str]]) -> None:
    assert rows["rpc.base"] == ("node.example", "settings.toml")
    assert rows["model key"] == ("set", "OPENAI_API_KEY")
    assert rows["telegram"] == ("set", "settings.toml")
    assert rows["webhook"] == ("set", "settings.toml")
    assert not [row for row in rows.items() if CANARY in str(row)]
