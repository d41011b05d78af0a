"""Each variable goes before the setting it is listed with, and no reader asks for another."""

from __future__ import annotations

import re
from argparse import Namespace
from pathlib import Path

import pytest

from zuno_tui.screen.look import read_look
from zuno_tui.settings import Flags, load_settings
from zuno_tui.settings.channels import channel_settings
from zuno_tui.settings.check import expected_at
from zuno_tui.settings.debates import debate_settings, rules_only
from zuno_tui.settings.load import VARIABLES, variable_of
from zuno_tui.settings.schema import SettingsFile

ROOT = Path(__file__).parents[3] / "zuno_tui"
BESIDE = {
    "ZUNO_TELEGRAM_TOKEN": "1:a",
    "ZUNO_TELEGRAM_CHAT": "7",
    "ZUNO_WEBHOOK_URL": "https://hook.example",
    "ZUNO_AGENT_MODEL": "one",
    "OPENAI_API_KEY": "sk-test",
}
"""What only counts together with others."""
SAMPLES = {
    "network": "optimism",
    "address": "0x" + "ab" * 20,
    "unit": "eth",
    "limits.answer_seconds": "30",
    "debate.profile": "aggressive",
    "debate.rounds": "5",
    "debate.deterministic": "true",
    "debate.transport": "local",
    "telegram.token": "2:b",
    "telegram.chat": "8",
    "screen.theme": "zuno-light",
    "screen.reading_pace": "9",
}


def _heard(environment: dict[str, str]) -> object:
    """All that is made of the settings, in this environment."""
    settings = load_settings(Path("/nonexistent"), environment, Flags())
    flags = Namespace(theme=None, ascii=False, no_bell=False)
    channels = channel_settings(settings, environment)
    shown = tuple(getattr(settings, name) for name in settings.__struct_fields__)
    debate = debate_settings(settings, environment, profile=None, deterministic=False)
    models = [(choice.settings.model, choice.settings.base_url) for choice in debate.choices]
    told = (channels.telegram, channels.webhook)
    sent = [tuple(getattr(one, name) for name in one.__struct_fields__) for one in told if one]
    how = (debate.profile, debate.max_rounds, debate.transport, rules_only(settings, environment))
    return shown, sent, models, how, read_look(settings, environment, flags)


@pytest.mark.parametrize("place", VARIABLES)
def test_it_is_heard(place: str) -> None:
    value = SAMPLES.get(place, "https://told.example/")
    assert _heard({**BESIDE, VARIABLES[place]: value}) != _heard(BESIDE)


@pytest.mark.parametrize("place", VARIABLES)
def test_its_place_is_one_of_the_file(place: str) -> None:
    whole = f"{place}.base" if place in ("rpc", "send") else place
    assert expected_at(SettingsFile, whole)
    assert variable_of(whole) == VARIABLES[place]


def test_no_reader_asks_the_environment_for_a_setting_by_another_name() -> None:
    asked = re.compile(r"""environment(?:\.get\(|\[)\s*f?["'](ZUNO_\w*)""")
    found = {name for path in ROOT.rglob("*.py") for name in asked.findall(path.read_text("utf-8"))}
    assert found.isdisjoint(VARIABLES.values())
    assert {name for name in found if "{" in name} == set()
