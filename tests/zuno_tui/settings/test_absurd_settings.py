"""Settings that nobody sane would write: each is refused as a setting, none as an accident."""

import itertools
from argparse import Namespace
from contextlib import suppress
from pathlib import Path

import pytest

from chain.contracts.networks import network_named
from zuno_tui.gate.limits import gate_limits
from zuno_tui.screen.look import read_look
from zuno_tui.settings import Flags, Settings, SettingsError, load_settings
from zuno_tui.settings.channels import channel_settings
from zuno_tui.settings.debates import debate_settings
from zuno_tui.settings.load import MOST_BYTES, MOST_NESTING
from zuno_tui.settings.monitor import monitor_settings

DEEP = 5_000


@pytest.mark.parametrize(
    "text",
    [
        "network = " + "[" * DEEP + "]" * DEEP,
        "debate = " + "{a=" * DEEP + "1" + "}" * DEEP,
        "debate" + ".a" * DEEP + " = 1",
        "[debate.deterministic" + ".a" * DEEP + "]",
        "[debate.deterministic" + ".a" * MOST_NESTING + "]",
        "unit = " + "9" * 5_000,
        "#" * (MOST_BYTES + 1),
    ],
    ids=["lists", "inline", "dotted", "table", "a little", "digits", "size"],
)
def test_an_absurd_file_is_refused_as_one(tmp_path: Path, text: str) -> None:
    path = tmp_path / "settings.toml"
    path.write_text(text)

    with pytest.raises(SettingsError) as refused:
        load_settings(path, {}, Flags())

    assert str(path) in str(refused.value)
    assert len(str(refused.value)) < 1_000


TABLES = (
    "debate",
    "model",
    "limits",
    "monitor",
    "telegram",
    "webhook",
    "screen",
    "keys",
    "rpc",
    "retention",
)
NAMES = {
    "debate": ("profile", "rounds", "deterministic"),
    "model": ("name", "prices", "budget", "roles", "key", "seconds", "base_url"),
    "limits": ("allowed_hooks", "max_fee_gwei", "value_usd", "daily_usd"),
    "monitor": ("loss", "interval", "blind_polls", "positions", "edge"),
    "telegram": ("token", "chat", "url"),
    "webhook": ("url", "secret"),
    "screen": ("theme", "ascii", "bell"),
    "keys": ("desk.quit",),
    "rpc": ("base",),
    "retention": ("days", "megabytes", "memory_days"),
}
VALUES = (
    *("true", "-1", "0", "nan", "inf", "-inf", "1e308", "9" * 400, "''", '"\\u0000"', "[]", "{}"),
    *("[[]]", "[{}]", "{a = 1}", "1979-05-27", "07:32:00", "1979-05-27T07:32:00Z", "[1, 'a']"),
)


@pytest.mark.parametrize("table", TABLES)
def test_an_absurd_value_is_a_setting_refused_or_taken(tmp_path: Path, table: str) -> None:
    path = tmp_path / "settings.toml"
    for name, value in itertools.product(NAMES[table], VALUES):
        path.write_text(f'[{table}]\n"{name}" = {value}\n')
        with suppress(SettingsError):
            _read_all(load_settings(path, {}, Flags()))


def _read_all(settings: Settings) -> None:
    for name in ("base", "devnet"):
        gate_limits(settings.limits, network_named(name))
    debate_settings(settings, {}, profile=None, deterministic=False)
    monitor_settings(settings)
    channel_settings(settings, {})
    read_look(settings, {}, Namespace(theme=None, ascii=False, no_bell=False))
