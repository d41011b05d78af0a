"""Settings from flags, the environment and the file."""

import re
from argparse import Namespace
from collections.abc import Mapping
from datetime import time
from pathlib import Path
from typing import get_args

import pytest

from agents.monitor.alerts.alert import Severity
from agents.monitor.deliver.pace import EVERYTHING, FOR_PEOPLE, Pace, QuietHours
from chain.contracts.networks import network_named
from chain.rpc.requests import RequestLimits
from zuno_tui.screen.look import Look, read_look
from zuno_tui.screen.themes import THEME_NAMES
from zuno_tui.settings import Flags, Settings, SettingsError, load_settings
from zuno_tui.settings.channels import channel_settings
from zuno_tui.settings.check import check_as, expected_at
from zuno_tui.settings.debates import debate_settings, rules_only
from zuno_tui.settings.load import VARIABLES, variable_of
from zuno_tui.settings.schema import (
    ScreenTable,
    SettingsFile,
    TelegramTable,
    ThemeName,
    WebhookTable,
)

WALLET = "0x" + "Ab" * 20


def _load(path: Path, text: str = "", flags: Flags | None = None, **environment: str) -> Settings:
    file = path / "settings.toml"
    if text:
        file.write_text(text)
    return load_settings(file, environment, flags or Flags())


def test_flags_beat_the_environment_and_the_environment_the_file(tmp_path: Path) -> None:
    text = f'network = "base"\naddress = "{WALLET}"\n'

    assert _load(tmp_path, text).network == "base"
    assert _load(tmp_path, text, ZUNO_NETWORK="optimism").network == "optimism"
    flags = Flags(network="unichain")
    assert _load(tmp_path, text, flags, ZUNO_NETWORK="optimism").network == "unichain"


def test_without_a_file_everything_has_a_default(tmp_path: Path) -> None:
    assert _load(tmp_path) == Settings()


def test_an_address_is_kept_in_lower_case(tmp_path: Path) -> None:
    assert _load(tmp_path, ZUNO_ADDRESS=WALLET).address == WALLET.lower()


def test_a_socket_announces_blocks_and_the_others_are_read_through(tmp_path: Path) -> None:
    base = network_named("base")
    settings = _load(tmp_path, '[rpc]\nbase = ["wss://one/key", "https://two", "ws://three"]\n')

    assert settings.endpoints_for(base) == ("https://two",)
    assert settings.sockets_for(base) == ("wss://one/key", "ws://three")


@pytest.mark.parametrize("text", ['[rpc]\nbase = "wss://one"\n', '[send]\nbase = "wss://one"\n'])
def test_a_socket_alone_reads_and_sends_nothing(tmp_path: Path, text: str) -> None:
    with pytest.raises(SettingsError, match="https://"):
        _load(tmp_path, text)


def test_an_endpoint_for_this_run_belongs_to_the_network_of_this_run(tmp_path: Path) -> None:
    text = '[rpc]\nbase = "http://one"\nethereum = ["http://two", "http://three"]\n'
    settings = _load(tmp_path, text, Flags(network="base", rpc="http://flag,http://second"))

    assert settings.endpoints["base"] == ("http://flag", "http://second")
    assert settings.endpoints["ethereum"] == ("http://two", "http://three")


def test_an_endpoint_for_sends_is_one_by_network_or_the_environments(tmp_path: Path) -> None:
    text = '[send]\nbase = "https://private/KEY"\n'
    base, ethereum = network_named("base"), network_named("ethereum")

    written = _load(tmp_path, text)
    flags = Flags(network="base")
    given = _load(tmp_path, text, flags, ZUNO_SEND_RPC="https://other", ZUNO_RPC="https://reads")

    assert written.send_endpoint_for(base) == "https://private/KEY"
    assert written.send_endpoint_for(ethereum) is None
    assert given.send_endpoint_for(base) == "https://other"
    assert given.endpoints_for(base) == ("https://reads",)
    assert "KEY" not in repr(written)


def test_the_file_holds_addresses_and_no_names(tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match="zuno wallet import"):
        _load(tmp_path, 'address = "alice.eth"\n')


def test_secrets_in_urls_and_keys_are_in_no_repr(tmp_path: Path) -> None:
    text = '[rpc]\nbase = "https://host/v2/CANARY"\n[coingecko]\nkey = "CANARY"\n'

    assert "CANARY" not in repr(_load(tmp_path, text))
    assert "CANARY" not in repr(Flags(rpc="https://host/v2/CANARY"))
    with pytest.raises(SettingsError) as refused:
        _load(tmp_path, '[rpc]\nbase = "wss://host/CANARY"\n')
    assert "CANARY" not in str(refused.value)


def test_how_long_endpoints_are_waited_for_is_a_setting(tmp_path: Path) -> None:
    path = tmp_path / "settings.toml"
    path.write_text("[limits]\nanswer_seconds = 30\n")
    usual, patient = RequestLimits(), load_settings(path, {}, Flags()).request_limits
    assert load_settings(tmp_path / "none.toml", {}, Flags()).request_limits == usual
    assert (patient.answer_seconds, patient.total_seconds) == (30, 31)
    assert patient.connect_seconds > usual.connect_seconds
    told = {"ZUNO_ANSWER_SECONDS": "45"}
    assert load_settings(path, told, Flags()).request_limits.answer_seconds == 45
    with pytest.raises(SettingsError, match=r"ZUNO_ANSWER_SECONDS.*from 1 to 600 seconds"):
        load_settings(path, {"ZUNO_ANSWER_SECONDS": "soon"}, Flags())


def _flags(**chosen: object) -> Namespace:
    return Namespace(**{"ascii": False, "no_bell": False, "theme": None, **chosen})


def test_nothing_chosen_is_the_default() -> None:
    assert read_look(Settings(), {}, _flags()) == Look()


def test_the_last_word_wins() -> None:
    settings = Settings(
        screen=ScreenTable(theme="zuno-light", ascii=True, bell=False), keys={"desk.zoom": "f11"}
    )

    written = read_look(settings, {}, _flags())
    told = read_look(settings, {"ZUNO_THEME": "colourless"}, _flags())
    flagged = read_look(settings, {"ZUNO_THEME": "colourless"}, _flags(theme="zuno-dark"))

    assert written == Look(True, False, "zuno-light", {"desk.zoom": "f11"})
    assert told.theme == "colourless"
    assert flagged.theme == "zuno-dark"


def test_a_debate_is_shown_at_the_pace_that_was_chosen() -> None:
    settings = Settings(screen=ScreenTable(reading_pace=200))
    assert read_look(settings, {}, _flags()).reading_pace == 200
    assert read_look(settings, {"ZUNO_READING_PACE": "0"}, _flags()).reading_pace == 0
    with pytest.raises(SettingsError, match="ZUNO_READING_PACE"):
        read_look(settings, {"ZUNO_READING_PACE": "slow"}, _flags())


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        (Settings(keys={"desk.zom": "z"}), "Did you mean 'desk.zoom'"),
    ],
)
def test_a_mistake_is_named(settings: Settings, words: str) -> None:
    with pytest.raises(SettingsError, match=words):
        read_look(settings, {}, _flags())


def test_themes_are_those_of_the_schema() -> None:
    assert get_args(get_args(ThemeName)[0]) == THEME_NAMES
    with pytest.raises(SettingsError, match="no theme called 'pink'"):
        read_look(Settings(), {"ZUNO_THEME": "pink"}, _flags())


def test_pictures_are_shown_the_way_the_terminal_knows_unless_one_is_chosen() -> None:
    kitty = {"TERM": "xterm-kitty"}
    assert read_look(Settings(), kitty, _flags()).pictures == "kitty"
    assert read_look(Settings(), kitty, _flags(ascii=True)).pictures == "blocks"
    chosen = Settings(screen=ScreenTable(pictures="sixel"))
    assert read_look(chosen, kitty, _flags()).pictures == "sixel"


TELEGRAM = {"token": "12:abc", "chat": 1}
WEBHOOK = {"url": "https://hooks.example/x"}


def paces(telegram: Mapping[str, object], webhook: Mapping[str, object]) -> tuple[Pace, Pace]:
    settings = Settings(
        telegram=check_as(TelegramTable, {**TELEGRAM, **telegram}),
        webhook=check_as(WebhookTable, {**WEBHOOK, **webhook}),
    )
    first, second = channel_settings(settings, {}).channels()
    return first.pace, second.pace


def test_people_are_spared_and_programs_are_told_everything() -> None:
    assert paces({}, {}) == (FOR_PEOPLE, EVERYTHING)
    assert FOR_PEOPLE.least_severity is Severity.WARNING
    assert (FOR_PEOPLE.most_a_day, FOR_PEOPLE.critical_passes) == (3, True)


def test_every_channel_has_its_own() -> None:
    telegram, webhook = paces(
        {
            "least_severity": "critical",
            "quiet_hours": "22:00-7:30",
            "time_zone": "Europe/Berlin",
            "critical_in_quiet_hours": False,
            "cooldown_minutes": 30,
            "most_a_day": 5,
            "remind_hours": 0,
        },
        {"least_severity": "warning", "remind_hours": 2.5},
    )

    assert telegram == Pace(
        least_severity=Severity.CRITICAL,
        quiet_hours=QuietHours(time(22), time(7, 30), "Europe/Berlin"),
        critical_passes=False,
        cooldown_seconds=1_800,
        most_a_day=5,
        remind_seconds=0,
        for_people=True,
    )
    assert webhook == Pace(least_severity=Severity.WARNING, remind_seconds=9_000)


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
