"""The whole file is checked when it is read: every mistake is named by its place, none repeated."""

import itertools
import json
from argparse import Namespace
from contextlib import suppress
from pathlib import Path

import pytest

from agents.lp.debate import LP_FLOW
from agents.lp.payloads import MOST_ROUNDS as ROUNDS_OF_A_DEBATE
from agents.monitor.alerts.alert import Severity
from agents.monitor.rules.thresholds import LEAST_INTERVAL_SECONDS, Thresholds
from agents.numbers.rules import RiskProfile
from chain.contracts.networks import network_named
from tests.zuno_tui.settings.strict_loading import load_strictly
from zuno_tui.features.trade.hedge_alerts import HedgeThresholds
from zuno_tui.features.trade.settings import HedgeThresholdsTable
from zuno_tui.gate.limits import gate_limits
from zuno_tui.screen.look import read_look
from zuno_tui.settings import Flags, Settings, SettingsError, load_settings, schema
from zuno_tui.settings.channels import channel_settings
from zuno_tui.settings.check import check_as
from zuno_tui.settings.debates import debate_settings
from zuno_tui.settings.load import MOST_BYTES, MOST_NESTING
from zuno_tui.settings.monitor import monitor_settings
from zuno_tui.settings.schema import (
    DebateTable,
    LimitsTable,
    ModelRolesTable,
    PaceTable,
    ThresholdsTable,
)

HOOK = "0x" + "Ab" * 20


def load(folder: Path, text: str) -> Settings:
    path = folder / "settings.toml"
    path.write_text(text + "\n")
    return load_strictly(path)


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ("network = 7", "network"),
        ('network = ""', "network"),
        ('address = "0xCANARY"', "address"),
        ('unit = "gbp"', "unit"),
        ('alone = "yes"', "alone"),
        ("[rpc]\nbase = 3", "rpc.base"),
        ("[rpc]\nbase = []", "rpc.base"),
        ('[rpc]\nbase = "ftp://CANARY"', "rpc.base"),
        ('[rpc]\nbase = ["https://one", "CANARY"]', "rpc.base"),
        ('[rpc]\nnowhere = "http://one"', "rpc.nowhere"),
        ('[send]\nbase = ["http://CANARY", "http://two"]', "send.base"),
        ('[send]\nnowhere = "http://one"', "send.nowhere"),
        ('[coingecko]\ncolour = "CANARY"', "coingecko.colour"),
        ("debate = 3", "debate"),
        ("model = []", "model"),
        ("monitor = 1", "monitor"),
        ('[debate]\nprofil = "balanced"', "debate.profil"),
        ('[debate]\nprofile = "CANARY"', "debate.profile"),
        ('[debate]\nprofile = ""', "debate.profile"),
        ("[debate]\nprofile = 3", "debate.profile"),
        ("[debate]\nprofile = false", "debate.profile"),
        ("[debate]\nrounds = 0", "debate.rounds"),
        ("[debate]\nrounds = 7", "debate.rounds"),
        ("[debate]\nrounds = -1", "debate.rounds"),
        ("[debate]\nrounds = 2.5", "debate.rounds"),
        ("[debate]\nrounds = true", "debate.rounds"),
        ('[debate]\nrounds = "2"', "debate.rounds"),
        ("[debate]\nrounds = [2]", "debate.rounds"),
        ('[debate]\ndeterministic = "CANARY"', "debate.deterministic"),
        ("[debate]\ndeterministic = 1", "debate.deterministic"),
        ('[model]\nnmae = "x"', "model.nmae"),
        ('[model]\ncli = "x"', "model.cli"),
        ('[model]\napi_key = "CANARY"', "model.api_key"),
        ('[model]\nname = ""', "model.name"),
        ("[model]\nname = 4", "model.name"),
        ("[model]\ncritic = []", "model.roles.critic.name"),
        ('[model]\nscout = " "', "model.roles.scout.name"),
        ("[model]\nbudget = 5", "model.budget"),
        ("[model.budget]\ntokens = 5", "model.budget.tokens"),
        ("[model.budget]\ndebate_tokens = -1", "model.budget.debate_tokens"),
        ("[model.budget]\ndebate_tokens = 1.5", "model.budget.debate_tokens"),
        ("[model.budget]\nday_tokens = true", "model.budget.day_tokens"),
        ('[model.budget]\nday_tokens = "CANARY"', "model.budget.day_tokens"),
        ("[model.budget]\ndebate_usd = -0.1", "model.budget.debate_usd"),
        ("[model.budget]\ndebate_usd = nan", "model.budget.debate_usd"),
        ("[model.budget]\nday_usd = inf", "model.budget.day_usd"),
        ("[model.budget]\nday_usd = true", "model.budget.day_usd"),
        ('[model.budget]\nday_usd = "CANARY"', "model.budget.day_usd"),
        ("[model]\nprices = 3", "model.prices"),
        ("[model.prices]\nfast = 3", "model.prices.fast"),
        ("[model.prices]\nfast = [1]", "model.prices.fast"),
        ("[model.prices]\nfast = [1, 2, 3]", "model.prices.fast"),
        ("[model.prices]\nslow = [1, 2]\nfast = [1, -2]", "model.prices.fast"),
        ('[model.prices]\nfast = ["CANARY", 2]', "model.prices.fast"),
        ("[model.prices]\nfast = [nan, 2]", "model.prices.fast"),
        ("[limits]\ndaily_usd = 0", "limits.daily_usd"),
        ("[limits]\ndaily_usd = -1", "limits.daily_usd"),
        ('[limits]\ndaily_usd = "1000"', "limits.daily_usd"),
        ("[limits]\nmax_fee_gwei = true", "limits.max_fee_gwei"),
        ("[limits]\nmax_fee_gwei = nan", "limits.max_fee_gwei"),
        ("[limits]\nvalue_usd = inf", "limits.value_usd"),
        (f'[limits]\nallowed_hooks = "{HOOK}"', "limits.allowed_hooks"),
        (f'[limits]\nallowed_hooks = ["{HOOK}", "0xCANARY"]', "limits.allowed_hooks"),
        ("[limits]\nallowed_hooks = [7]", "limits.allowed_hooks"),
        ("[limits]\ndayly_usd = 5", "limits.dayly_usd"),
        ("[monitor]\ninterval = 4", "monitor.interval"),
        ("[monitor]\ninterval = 86401", "monitor.interval"),
        ("[monitor]\nnear_egde = 1", "monitor.near_egde"),
        ("[monitor]\nsurvival = 1.5", "monitor.survival"),
        ("[monitor]\nclearly_inside = 0.5", "monitor.clearly_inside"),
        ("[monitor]\nfees_usd = true", "monitor.fees_usd"),
        ("[monitor]\nfees_usd = -1", "monitor.fees_usd"),
        ("[monitor]\nblind_polls = 0", "monitor.blind_polls"),
        ("[monitor]\npositions = 7", "monitor.positions"),
        ("[monitor]\nnetworks = 3", "monitor.networks"),
        (
            "[monitor.positions.8]\nloss = 1\n[monitor.positions.7]\nloss = 2",
            "monitor.positions.7.loss",
        ),
        ("[monitor.positions.7]\ninterval = 9", "monitor.positions.7.interval"),
        ("[monitor.networks.base]\nlos = 0.1", "monitor.networks.base.los"),
        ("[monitor.networks]\nbase = 3", "monitor.networks.base"),
        ("[monitor.positions.seven]\nloss = 0.1", "monitor"),
        ('[monitor.positions."mars:7"]\nloss = 0.1', "monitor"),
        ("[monitor.networks.nowhere]\nloss = 0.1", "monitor"),
        ('[telegram]\ntoken = "CANARY"', "telegram.token"),
        ('[telegram]\nchat = "CANARY!"', "telegram.chat"),
        ("[telegram]\nchat = true", "telegram.chat"),
        ('[telegram]\nurl = "CANARY"', "telegram.url"),
        ('[telegram]\ntokn = "12:abc"', "telegram.tokn"),
        ('[telegram]\n"12:CANARY" = 1', "telegram"),
        ('[webhook]\nurl = "ftp://CANARY"', "webhook.url"),
        ('[webhook]\nsecret = ""', "webhook.secret"),
        ('[webhook]\nheaders = "CANARY"', "webhook.headers"),
        ('[screen]\ncolour = "CANARY"', "screen.colour"),
        ('[screen]\nbell = "no"', "screen.bell"),
        ("[keys]\n'desk.quit' = 3", "keys.desk.quit"),
        ("[retention]\ndays = 0", "retention.days"),
        ("[retention]\ndays = 1.5", "retention.days"),
        ("[retention]\ndays = true", "retention.days"),
        ("[retention]\nmegabytes = 1", "retention.megabytes"),
        ("[retention]\nmemory_days = 'x'", "retention.memory_days"),
        ("[retention]\nhours = 3", "retention.hours"),
    ],
)
def test_a_mistake_is_named_by_its_place_and_not_repeated(
    tmp_path: Path, text: str, place: str
) -> None:
    with pytest.raises(SettingsError) as refused:
        load(tmp_path, text)

    told = str(refused.value)
    assert refused.value.place == place
    assert str(tmp_path / "settings.toml") in told
    assert place in told.replace("] has an unknown setting '", ".").replace("[", "")
    assert "CANARY" not in told
    assert refused.value.__context__ is None or "CANARY" not in repr(refused.value.__context__)


@pytest.mark.parametrize(
    ("table", "key"),
    [
        ({"least_severity": "CANARY"}, "least_severity"),
        ({"least_severity": ["CANARY"]}, "least_severity"),
        ({"quiet_hours": "22-7", "time_zone": "UTC"}, "quiet_hours"),
        ({"quiet_hours": "22:00-24:00", "time_zone": "UTC"}, "quiet_hours"),
        ({"quiet_hours": "08:00-08:00", "time_zone": "UTC"}, "quiet_hours"),
        ({"quiet_hours": "8:00-08:00", "time_zone": "UTC"}, "quiet_hours"),
        ({"quiet_hours": 22, "time_zone": "UTC"}, "quiet_hours"),
        ({"quiet_hours": "22:00-07:00"}, "time_zone"),
        ({"quiet_hours": "22:00-07:00", "time_zone": "CANARY"}, "time_zone"),
        ({"quiet_hours": "22:00-07:00", "time_zone": "../../etc/passwd"}, "time_zone"),
        ({"quiet_hours": "22:00-07:00", "time_zone": ""}, "time_zone"),
        ({"time_zone": "UTC"}, "quiet_hours"),
        ({"critical_in_quiet_hours": "CANARY"}, "critical_in_quiet_hours"),
        ({"cooldown_minutes": -1}, "cooldown_minutes"),
        ({"cooldown_minutes": "CANARY"}, "cooldown_minutes"),
        ({"most_a_day": 2.5}, "most_a_day"),
        ({"most_a_day": True}, "most_a_day"),
        ({"remind_hours": 1_000}, "remind_hours"),
        ({"cooldown": 5}, "cooldown_minutes"),
    ],
)
def test_a_mistake_in_the_pace_of_a_channel(
    tmp_path: Path, table: dict[str, object], key: str
) -> None:
    lines = [f"{each} = {json.dumps(value)}" for each, value in table.items()]
    for name in ("telegram", "webhook"):
        with pytest.raises(SettingsError, match=key) as refused:
            load(tmp_path, "\n".join([f"[{name}]", *lines]))

        assert refused.value.place.split(".")[0] == name
        assert "CANARY" not in str(refused.value)


@pytest.mark.parametrize(
    ("text", "meant"),
    [
        ('netwrok = "base"', "network"),
        ("[limits]\ndayly_usd = 5", "daily_usd"),
        ("[monitor]\nnear_egde = 1", "near_edge"),
        ("[monitor.positions.7]\nprice_blow = 1", "price_below"),
        ('[telegram]\ntokn = "1"', "token"),
        ("[webhook]\nremind_hour = 1", "remind_hours"),
        ('[model.roles]\nstrategst = "x"', "strategist"),
        ("[retention]\nday = 1", "days"),
    ],
)
def test_the_nearest_known_name_is_offered(tmp_path: Path, text: str, meant: str) -> None:
    with pytest.raises(SettingsError, match=f"Did you mean '{meant}'"):
        load(tmp_path, text)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("[limits]\ndaily_usd = 0", "a number above 0"),
        ("[monitor]\nsurvival = 2", "a number from 0 to 1"),
        ('[debate]\nprofile = "bold"', "conservative, balanced or aggressive"),
        ('[telegram]\ntoken = "x"', "@BotFather"),
    ],
)
def test_what_is_expected_is_said(tmp_path: Path, text: str, expected: str) -> None:
    with pytest.raises(SettingsError, match=expected):
        load(tmp_path, text)


def test_no_value_of_a_table_is_in_its_repr(tmp_path: Path) -> None:
    settings = load(tmp_path, '[webhook]\nurl = "https://h/CANARY"\n[model]\nname = "CANARY"')

    assert "CANARY" not in repr((settings, settings.webhook, settings.model))


def test_a_limit_is_what_was_written(tmp_path: Path) -> None:
    settings = load(tmp_path, f'[limits]\ndaily_usd = 5\nallowed_hooks = ["{HOOK}"]')

    assert settings.limits == LimitsTable(daily_usd=5, allowed_hooks=(HOOK,))


def test_the_tables_know_what_is_decided_elsewhere() -> None:
    assert set(ModelRolesTable.__struct_fields__) == set(LP_FLOW.handlers)
    assert schema.MOST_ROUNDS == ROUNDS_OF_A_DEBATE
    assert {*ThresholdsTable.__struct_fields__, "of_features"} == {*Thresholds.__struct_fields__}
    assert HedgeThresholdsTable.__struct_fields__ == HedgeThresholds.__struct_fields__
    for profile in RiskProfile:
        assert check_as(DebateTable, {"profile": profile.value}).profile == profile
    for severity in Severity:
        assert check_as(PaceTable, {"least_severity": severity.value}).least_severity == severity
    assert check_as(schema.Interval, LEAST_INTERVAL_SECONDS) == LEAST_INTERVAL_SECONDS


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
