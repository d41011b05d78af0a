"""Settings of other versions, of models for trades, and of plain HTTP."""

import tarfile
from argparse import Namespace
from fractions import Fraction
from pathlib import Path

import pytest

from agents.bus.envelope import Role
from agents.monitor.rules.thresholds import WatchSettings
from agents.trade.routing import FALLBACK_MODEL, ROLE_ROUTES, ROUTES
from chain.base.units import COIN
from chain.contracts.networks import network_named
from chain.protocols.reference import v4_position
from tests.zuno_tui.settings.strict_loading import load_strictly
from zuno_tui.app.session import Session
from zuno_tui.features.trade.models import DeskModels, desk_models
from zuno_tui.gate.limits import gate_limits
from zuno_tui.settings import Flags, Settings, SettingsError, load_settings
from zuno_tui.settings.channels import channel_settings
from zuno_tui.settings.check import is_plain
from zuno_tui.settings.debates import role_choice
from zuno_tui.settings.monitor import monitor_settings
from zuno_tui.settings.schema import ModelTable, RoleModelTable

RECORDED = Path(__file__).parents[2] / "recorded" / "homes"


def load(folder: Path, text: str) -> Settings:
    path = folder / "settings.toml"
    path.write_text(text, "utf-8")
    return load_settings(path, {}, Flags())


def test_a_setting_of_another_version_is_left_out_and_told(tmp_path: Path) -> None:
    settings = load(tmp_path, 'unit = "eth"\n[limits]\ndaily_usd = 5\ndayly_usd = 7\n')

    assert settings.limits.daily_usd == 5
    [unknown] = settings.not_understood
    assert unknown.place == "limits.dayly_usd"
    assert "Did you mean 'daily_usd'?" in unknown.sentence
    assert settings.warnings == (unknown.sentence,)


def test_nothing_is_signed_while_a_setting_is_not_understood(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    load(tmp_path, 'network = "devnet"\n[limits]\ndayly_usd = 7\n')
    names = {"network": None, "rpc": None, "address": None, "unit": None, "alone": False}
    session = Session.start(Namespace(home=tmp_path, json=False, **names))
    assert "dayly_usd" in capsys.readouterr().err

    with pytest.raises(SettingsError, match="Nothing is approved or signed"):
        session.connections(None)  # type: ignore[arg-type]


def test_an_old_name_holds_and_the_new_one_is_told(tmp_path: Path) -> None:
    settings = load(tmp_path, '[model]\ncritic = "gpt-4o"\n')

    assert settings.model.roles.critic.name == "gpt-4o"
    assert settings.not_understood == ()
    [told] = settings.renamed
    assert "model.roles.critic.name" in told


def test_what_is_written_by_the_new_name_wins(tmp_path: Path) -> None:
    text = '[model]\ncritic = "old"\n[model.roles.critic]\nname = "new"\n'
    assert load(tmp_path, text).model.roles.critic.name == "new"


@pytest.mark.parametrize("usd_per_wei", [None, 3000 / COIN, 1 / COIN])
def test_a_limit_in_coins_still_holds(tmp_path: Path, usd_per_wei: float | None) -> None:
    settings = load(tmp_path, "[limits]\nvalue_eth = 0.5\n")
    limits = gate_limits(settings.limits, network_named("base"))
    assert limits.at_price(usd_per_wei).value == COIN // 2
    [warning] = settings.warnings
    assert "limits.value_eth" in warning
    assert "limits.value_usd" in warning


@pytest.mark.parametrize("home", ["2de4571", "f118b784"])
def test_recorded_homes_are_understood_whole(tmp_path: Path, home: str) -> None:
    with tarfile.open(RECORDED / f"{home}.tar.gz") as recorded:
        recorded.extractall(tmp_path, filter="data")
    assert load_settings(tmp_path / "settings.toml", {}, Flags()).not_understood == ()


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


KEYS = {"ANTHROPIC_API_KEY": "sk-ant-1", "GEMINI_API_KEY": "g-1", "OPENAI_API_KEY": "sk-1"}


def chosen(folder: Path, text: str, environment: dict[str, str]) -> DeskModels:
    path = folder / "settings.toml"
    path.write_text(text + "\n")
    return desk_models(load_strictly(path), environment)


def hosts(models: DeskModels) -> dict[str, str]:
    return {role: models.choices[role].settings.host for role in models.roles}


def test_where_nobody_chose_every_office_asks_its_usual_model(tmp_path: Path) -> None:
    models = chosen(tmp_path, "", KEYS)

    assert models.names == {role: ROUTES[route].model for role, route in ROLE_ROUTES.items()}
    assert hosts(models)["judge"] == "api.anthropic.com"
    assert hosts(models)["vlm_geometry"] == "generativelanguage.googleapis.com"
    assert models.falling_back == {"judge", "self_correction"}
    assert models.fallback is not None
    assert models.fallback.model == FALLBACK_MODEL


def test_nobody_is_asked_without_a_key_and_those_with_one_alone(tmp_path: Path) -> None:
    assert chosen(tmp_path, "", {}).models is None
    only = chosen(tmp_path, "", {"GEMINI_API_KEY": "g-1"})

    assert set(only.names) == set(ROLE_ROUTES) - {"judge"}
    assert chosen(tmp_path, "", {"OPENAI_API_KEY": "sk-1"}).fallback is None


def test_what_the_person_chose_for_all_is_not_overruled(tmp_path: Path) -> None:
    text = '[model]\nbase_url = "http://127.0.0.1:9/v1"\nname = "own"'
    models = chosen(tmp_path, text, KEYS)

    assert set(models.names.values()) == {"own"}
    assert set(hosts(models).values()) == {"127.0.0.1"}
    assert models.falling_back == frozenset()


def test_a_name_alone_picks_its_provider_and_an_office_may_have_its_own(tmp_path: Path) -> None:
    text = (
        '[model]\nprovider = "ollama"\nname = "llama"\n'
        '[trade.models.judge]\nname = "gpt-9"\n'
        '[trade.models.macro]\nname = "mine"\nbase_url = "http://127.0.0.1:9/v1"\n'
        '[trade.models.fallback]\nname = "claude-x"\n'
        '[trade.narrative]\nname = "sonar-pro"\nbase_url = "https://api.perplexity.ai"\n'
        'key = "env:PPLX"'
    )
    models = chosen(tmp_path, text, {**KEYS, "PPLX": "p-1"})

    assert models.names["judge"] == "gpt-9"
    assert hosts(models)["judge"] == "api.openai.com"
    assert models.names["macro"] == models.names["meta"] == "mine"
    assert models.names["liquidity"] == "llama"
    assert models.falling_back == {"judge"}
    assert models.fallback is not None
    assert models.fallback.host == "api.anthropic.com"
    assert models.narrative is not None
    assert (models.narrative.host, models.narrative.api_key) == ("api.perplexity.ai", "p-1")
    assert "sk-1" not in repr(models)


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ('[trade.models.moon]\nname = "x"', "[trade.models]"),
        ("[trade.models.judge]\nname = 3", "trade.models.judge.name"),
        ('[trade]\nnews = ["ftp://CANARY"]', "trade.news"),
        ('[trade]\nnews = "CANARY"', "trade.news"),
    ],
)
def test_a_mistake_is_named_by_its_place(tmp_path: Path, text: str, place: str) -> None:
    with pytest.raises(SettingsError) as refused:
        chosen(tmp_path, text, {})

    assert place in str(refused.value)
    assert "CANARY" not in str(refused.value)


def read(tmp_path: Path, text: str) -> WatchSettings:
    path = tmp_path / "settings.toml"
    path.write_text(text)
    return monitor_settings(load_settings(path, {}, Flags()))


def test_without_a_word_everything_has_a_default(tmp_path: Path) -> None:
    watching = read(tmp_path, "")

    assert watching.interval_seconds == 60
    assert watching.thresholds("base", v4_position(7)).near_edge == 0.15


def test_a_position_has_thresholds_of_its_own_on_one_network_or_any(tmp_path: Path) -> None:
    watching = read(
        tmp_path,
        """
        [monitor]
        interval = 15
        near_edge = 0.1
        [monitor.positions.7]
        survival = 0.8
        [monitor.positions."base:7"]
        price_below = 2500.5
        """,
    )

    assert watching.interval_seconds == 15
    assert watching.thresholds("ethereum", v4_position(7)).survival == 0.8
    assert watching.thresholds("ethereum", v4_position(7)).near_edge == 0.1
    assert watching.thresholds("base", v4_position(7)).price_below == Fraction("2500.5")
    assert watching.thresholds("base", v4_position(8)) == watching.everywhere


def test_a_network_has_thresholds_of_its_own_and_a_position_departs_from_them(
    tmp_path: Path,
) -> None:
    watching = read(
        tmp_path,
        """
        [monitor]
        loss = 0.1
        [monitor.networks.base]
        loss = 0.2
        near_edge = 0.05
        [monitor.positions.7]
        survival = 0.8
        [monitor.positions."base:8"]
        loss = 0.3
        """,
    )

    named = [("ethereum", 1), ("base", 1), ("ethereum", 7), ("base", 7), ("base", 8)]
    places = [(network, v4_position(number)) for network, number in named]
    assert [watching.thresholds(*place).loss for place in places] == [0.1, 0.2, 0.1, 0.2, 0.3]
    assert [watching.thresholds(*place).near_edge for place in places[2:]] == [0.15, 0.05, 0.05]
    assert [watching.thresholds(*place).survival for place in places[2:]] == [0.8, 0.8, 0.5]
