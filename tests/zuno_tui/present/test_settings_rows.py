"""What the desk tells of the settings: who said what, and never a secret."""

import argparse
import os
from pathlib import Path

import pytest
from msgspec.structs import replace

from chain.base.home import Home
from chain.contracts.networks import network_named
from tests.zuno_tui.desk.sitting import opening
from zuno_tui.app.session import Session
from zuno_tui.app.setting import session_after
from zuno_tui.app.settings_rows import change_words, setting_rows
from zuno_tui.settings import Flags, Settings, load_settings

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
    assert rows["unit"] == ("eth", "environment (ZUNO_UNIT)")
    assert rows["address"][1] == "flag --address"
    assert rows["limits.daily_usd"] == ("no limit", "default")
    assert rows["limits.value_usd"] == ("250,000", "default")
    assert rows["debate.rounds"] == ("2", "default")
    assert rows["model.name"] == ("gpt-4o-mini", "settings.toml")
    assert rows["screen.theme"] == ("zuno-light", "settings.toml")


def test_secrets_are_only_said_to_be_set(rows: dict[str, tuple[str, str]]) -> None:
    assert rows["rpc.base"] == ("https://node.example/v2/…", "settings.toml")
    assert rows["model.key"] == ("set", "environment (OPENAI_API_KEY)")
    assert rows["telegram.token"] == ("set", "settings.toml")
    assert rows["telegram.chat"] == ("77", "settings.toml")
    assert rows["webhook.url"] == ("https://hook.example/…", "settings.toml")
    assert not [row for row in rows.items() if CANARY in str(row)]


@pytest.mark.parametrize(
    ("place", "typed", "environment", "counts"),
    [
        ("limits.daily_usd", "500", {}, True),
        ("screen.bell", "false", {}, True),
        ("debate.profile", "aggressive", {"ZUNO_RISK_PROFILE": "conservative"}, False),
        ("network", "arbitrum", {"ZUNO_NETWORK": "base"}, False),
        ("telegram.token", "1:a", {}, False),
    ],
)
def test_a_change_says_whether_it_counts(
    tmp_path: Path, place: str, typed: str, environment: dict[str, str], *, counts: bool
) -> None:
    settings = load_settings(tmp_path / "settings.toml", environment, Flags())
    home = Home.locate({}, tmp_path)
    session = Session(home, settings, settings.chosen_network(), as_json=False)
    after = session_after(session, environment, place, typed)
    assert change_words(after, environment, place).counts is counts


def test_what_was_chosen_in_this_run_stays_when_something_else_is_changed(tmp_path: Path) -> None:
    settings = replace(Settings(), network="optimism")
    session = Session(Home.locate({}, tmp_path), settings, network_named("optimism"), as_json=False)
    after = session_after(session, {}, "limits.daily_usd", "500")
    assert (after.network.name, after.settings.limits.daily_usd) == ("optimism", 500)
    rows = {row.name: row.origin for row in setting_rows(after, {})}
    assert rows["network"] == "this run"
    assert session_after(after, {}, "network", "base").network.name == "base"


def test_what_a_run_was_told_by_its_flags_goes_before_the_file(tmp_path: Path) -> None:
    opened = replace(opening(tmp_path, "http://127.0.0.1:9"), transport="local")
    rows = {row.name: row for row in setting_rows(opened.session, {}, opened.by_flags)}

    alone, where = rows["debate.deterministic"], rows["debate.transport"]
    assert (alone.value, alone.origin) == ("on", "flag --deterministic")
    assert (where.value, where.origin) == ("local", "flag --transport")
    assert alone.is_overruled
    words = change_words(opened.session, {}, where.name, by_flags=opened.by_flags)
    assert not words.counts
