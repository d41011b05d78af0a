"""No secret travels over plain http, but to this machine."""

from __future__ import annotations

from pathlib import Path

import pytest

from agents.bus.envelope import Role
from zuno_tui.settings import Flags, SettingsError, load_settings
from zuno_tui.settings.channels import channel_settings
from zuno_tui.settings.check import is_plain
from zuno_tui.settings.debates import role_choice
from zuno_tui.settings.schema import ModelTable, RoleModelTable


@pytest.mark.parametrize(
    ("url", "plain"),
    [
        ("http://rpc.example", True),
        ("HTTP://rpc.example", True),
        ("ws://rpc.example", True),
        ("http://192.168.1.5:11434", True),
        ("http://127.0.0.1.example", True),
        ("https://rpc.example", False),
        ("wss://rpc.example", False),
        ("http://127.0.0.1:8545", False),
        ("http://localhost.:8545", False),
        ("http://[::1]:8545", False),
    ],
)
def test_what_leaves_this_machine_unencrypted_is_plain(url: str, plain: bool) -> None:
    assert is_plain(url) is plain


def test_a_models_key_does_not_travel_in_the_clear() -> None:
    table = ModelTable(name="one", base_url="http://models.example/v1")
    role_choice(Role("critic"), table, RoleModelTable(), {})
    with pytest.raises(SettingsError, match="plain http"):
        role_choice(Role("critic"), table, RoleModelTable(), {"ZUNO_MODEL_KEY": "sk-CANARY"})


def test_a_bots_token_does_not_travel_in_the_clear(tmp_path: Path) -> None:
    path = tmp_path / "settings.toml"
    token = "12345678:AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"
    path.write_text(f'[telegram]\ntoken = "{token}"\nchat = 1\nurl = "http://bots.example"\n')
    with pytest.raises(SettingsError, match="plain http") as refused:
        channel_settings(load_settings(path, {}, Flags()), {})
    assert token not in str(refused.value)


def test_a_price_sources_key_does_not_travel_in_the_clear(tmp_path: Path) -> None:
    path = tmp_path / "settings.toml"
    path.write_text('[coingecko]\nurl = "http://prices.example"\nkey = "CANARY"\n')
    with pytest.raises(SettingsError, match="plain http") as refused:
        load_settings(path, {}, Flags())
    assert "CANARY" not in str(refused.value)
