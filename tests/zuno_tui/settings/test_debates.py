"""What the person chose for debates: each mistake is named, and no limit is silently void."""

from decimal import Decimal
from pathlib import Path
from typing import get_args

import pytest

from agents.lp.payloads import ARBITER, CRITIC, SCOUT
from agents.model.budget import BudgetLimits, TokenRate
from agents.model.interface import (
    ANSWER_TOKENS,
    DEBATE_SECONDS,
    DEFAULT_MODEL,
    OPENAI_URL,
    PROVIDERS,
    ModelSettings,
    RoleModels,
)
from agents.numbers.rules import RiskProfile
from tests.zuno_tui.settings.strict_loading import load_strictly
from zuno_tui.settings import SettingsError
from zuno_tui.settings.debates import DebateSettings, SetValue, debate_settings
from zuno_tui.settings.schema import ProviderName

KEY = "sk-canary-SETTINGS-0123456789abcdef"
PRICED = '[model.prices]\n"gpt-4o-mini" = [0.2, 0.7]\n"own" = [0, 0]\n'


def chosen(
    folder: Path,
    text: str = "",
    profile: str | None = None,
    deterministic: bool = False,
    /,
    **environment: str,
) -> DebateSettings:
    file = folder / "settings.toml"
    file.write_text(text)
    settings = load_strictly(file, environment)
    return debate_settings(settings, environment, profile=profile, deterministic=deterministic)


def model_of(folder: Path, text: str = "", /, **environment: str) -> RoleModels:
    model = chosen(folder, text, OPENAI_API_KEY=KEY, **environment).model
    assert model is not None
    return model


def test_without_a_word_the_rules_speak_in_two_balanced_rounds(tmp_path: Path) -> None:
    settings = chosen(tmp_path)
    assert (settings.profile, settings.max_rounds) == (RiskProfile.BALANCED, 2)
    assert settings.model is None
    assert settings.limits == BudgetLimits(60_000, 1_000_000)
    assert settings.seconds == DEBATE_SECONDS
    assert settings.choices[0].values["key"].shown == "OPENAI_API_KEY is not set"


def test_with_a_key_the_default_model_is_asked(tmp_path: Path) -> None:
    model = model_of(tmp_path).of(SCOUT)
    assert (model.api_key, model.base_url, model.model) == (KEY, OPENAI_URL, DEFAULT_MODEL)


def test_every_provider_of_the_table_can_be_named() -> None:
    names = get_args(get_args(ProviderName)[0])
    assert set(names) == set(PROVIDERS)
    for name, provider in PROVIDERS.items():
        assert ModelSettings("", provider.base_url).host != "the endpoint", name


def test_flags_beat_the_environment_and_the_environment_the_file(tmp_path: Path) -> None:
    text = '[debate]\nprofile = "aggressive"\nrounds = 3\ndeterministic = true\n'
    file = chosen(tmp_path, text, OPENAI_API_KEY=KEY)
    assert (file.profile, file.max_rounds, file.model) == (RiskProfile.AGGRESSIVE, 3, None)
    told = chosen(
        tmp_path,
        text,
        OPENAI_API_KEY=KEY,
        ZUNO_RISK_PROFILE="balanced",
        ZUNO_MAX_DEBATE_ROUNDS="4",
        ZUNO_DETERMINISTIC="False",
    )
    assert (told.profile, told.max_rounds) == (RiskProfile.BALANCED, 4)
    assert told.model is not None
    flagged = chosen(tmp_path, "", "conservative", ZUNO_RISK_PROFILE="balanced")
    assert flagged.profile is RiskProfile.CONSERVATIVE


@pytest.mark.parametrize("told", ["true", "True", "TRUE"])
def test_the_rules_alone_can_be_asked_for(tmp_path: Path, told: str) -> None:
    assert chosen(tmp_path, OPENAI_API_KEY=KEY, ZUNO_DETERMINISTIC=told).model is None
    assert chosen(tmp_path, "", None, True, OPENAI_API_KEY=KEY).model is None
    assert chosen(tmp_path, OPENAI_API_KEY="  ").model is None


def test_a_model_for_each_role_and_an_endpoint_of_ones_own(tmp_path: Path) -> None:
    text = """
[model]
name = "big"
seconds = 200
temperature = 0.5

[model.roles.critic]
name = "careful"
seconds = 20
max_tokens = 900

[model.roles.arbiter]
provider = "ollama"
name = "wise"
"""
    model = model_of(tmp_path, text, OPENAI_BASE_URL="http://localhost:9/v1")
    scout, critic, arbiter = (model.of(role) for role in (SCOUT, CRITIC, ARBITER))
    assert [one.model for one in (scout, critic, arbiter)] == ["big", "careful", "wise"]
    assert [one.limits.total_seconds for one in (scout, critic, arbiter)] == [200, 20, 200]
    assert [one.max_tokens for one in (scout, critic)] == [ANSWER_TOKENS, 900]
    assert [one.temperature for one in (scout, critic, arbiter)] == [0.5] * 3
    assert scout.base_url == critic.base_url == "http://localhost:9/v1"
    assert arbiter.base_url == PROVIDERS["ollama"].base_url
    assert (critic.api_key, arbiter.api_key) == (KEY, "none")
    assert model_of(tmp_path, text, ZUNO_AGENT_MODEL="other").of(SCOUT).model == "other"


@pytest.mark.parametrize("name", sorted(PROVIDERS))
def test_a_provider_brings_its_url_and_looks_for_its_own_key(tmp_path: Path, name: str) -> None:
    provider = PROVIDERS[name]
    text = f'[model]\nprovider = "{name}"\nname = "one"\n'
    environment = {provider.key_variable: "sk-canary-own"} if provider.key_variable else {}
    model = chosen(tmp_path, text, **environment).model
    assert model is not None
    settings = model.of(SCOUT)
    assert settings.base_url == provider.base_url
    assert settings.api_key == (environment.get(provider.key_variable) or "none")
    if provider.key_variable not in ("", "OPENAI_API_KEY"):
        assert chosen(tmp_path, text, OPENAI_API_KEY=KEY).model is None


def test_no_providers_key_is_sent_to_a_server_that_the_file_names(tmp_path: Path) -> None:
    text = '[model]\nbase_url = "https://box.example/v1"\nname = "one"\n'
    alone = model_of(tmp_path, text).of(SCOUT)
    assert (alone.base_url, alone.api_key) == ("https://box.example/v1", "none")
    assert model_of(tmp_path, text, ZUNO_MODEL_KEY="sk-box-1").of(SCOUT).api_key == "sk-box-1"
    named = text + 'key = "env:BOX"\n'
    assert chosen(tmp_path, named).model is None
    assert model_of(tmp_path, named, BOX="sk-box-2").of(SCOUT).api_key == "sk-box-2"
    kept = chosen(tmp_path, text + 'key = "keyring"\n')
    assert kept.model is not None
    assert kept.model.of(SCOUT).keyring_name == "model:box.example"


def test_where_each_value_came_from_is_known_and_the_key_is_not_told(tmp_path: Path) -> None:
    text = '[model]\nname = "big"\n[model.roles.critic]\nseconds = 20\n'
    scout, _, critic, _ = chosen(tmp_path, text, OPENAI_API_KEY=KEY).choices
    assert scout.values["name"] == SetValue("big", "settings.toml")
    assert scout.values["seconds"] == SetValue("90", "default")
    assert critic.values["seconds"] == SetValue("20", "settings.toml, role critic")
    assert scout.values["key"] == SetValue("set", "OPENAI_API_KEY")
    assert scout.values["server"] == SetValue("OpenAI", "default")
    assert KEY not in repr(scout.values)


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ('provider = "anthropic"', "model.name"),
        ('provider = "acme"', "model.provider"),
        ('provider = "openai"\nbase_url = "http://CANARY"', "model"),
        ('key = "sk-CANARY"', "model.key"),
        ("seconds = 1", "model.seconds"),
        ("temperature = 3", "model.temperature"),
        ("max_tokens = 1", "model.max_tokens"),
        ("[model.roles.jester]", "model.roles.jester"),
        ('[model.roles.critic]\nnam = "x"', "model.roles.critic.nam"),
    ],
)
def test_a_mistake_about_models_is_named_by_its_place(
    tmp_path: Path, text: str, place: str
) -> None:
    with pytest.raises(SettingsError) as refused:
        chosen(tmp_path, f"[model]\n{text}\n")
    assert refused.value.place == place
    assert "CANARY" not in str(refused.value)


def test_budget_and_prices_are_exact(tmp_path: Path) -> None:
    text = PRICED + (
        "[model.budget]\ndebate_tokens = 5000\nday_tokens = 0\ndebate_usd = 0.05\nday_usd = 1\n"
    )
    settings = chosen(tmp_path, text, OPENAI_API_KEY=KEY)
    assert settings.limits == BudgetLimits(5_000, 0, 50_000_000, 10**9)
    assert settings.prices["gpt-4o-mini"] == TokenRate.per_million(Decimal("0.2"), Decimal("0.7"))
    assert settings.prices["gpt-4o"] == TokenRate.per_million(Decimal("2.5"), Decimal(10))


@pytest.mark.parametrize(
    ("environment", "said"),
    [
        ({"ZUNO_RISK_PROFILE": "bold"}, "'bold', but it may be conservative"),
        ({"ZUNO_MAX_DEBATE_ROUNDS": "0"}, "ZUNO_MAX_DEBATE_ROUNDS must be"),
        ({"ZUNO_MAX_DEBATE_ROUNDS": "٣"}, "ZUNO_MAX_DEBATE_ROUNDS must be"),
        ({"ZUNO_MAX_DEBATE_ROUNDS": "many"}, "ZUNO_MAX_DEBATE_ROUNDS must be"),
        ({"ZUNO_DETERMINISTIC": "1"}, "ZUNO_DETERMINISTIC is '1', but it may be true or false"),
        ({"ZUNO_AGENT_MODEL": " "}, "ZUNO_AGENT_MODEL must be"),
        ({"OPENAI_BASE_URL": "localhost/CANARY"}, "OPENAI_BASE_URL must be a URL"),
        ({"OPENAI_BASE_URL": "ftp://CANARY"}, "OPENAI_BASE_URL must be a URL"),
        ({"OPENAI_API_KEY": "sk-CANARY 2"}, "OPENAI_API_KEY holds a character that no key has"),
        ({"OPENAI_API_KEY": "sk-CANARY\n2"}, "OPENAI_API_KEY holds a character"),
        ({"OPENAI_API_KEY": "ключ-CANARY"}, "OPENAI_API_KEY holds a character"),
    ],
)
def test_a_bad_variable_is_named_and_no_secret_repeated(
    tmp_path: Path, environment: dict[str, str], said: str
) -> None:
    with pytest.raises(SettingsError) as refused:
        chosen(tmp_path, **environment)
    assert said in str(refused.value)
    assert "CANARY" not in str(refused.value)


def test_a_limit_in_dollars_needs_the_price_of_every_model_that_is_asked(tmp_path: Path) -> None:
    limit = "[model.budget]\nday_usd = 2\n"
    own, careful = '[model]\nname = "own"\n', '[model.roles.critic]\nname = "careful"\n'
    with pytest.raises(SettingsError, match=r"no price is set for 'own'.*\[model\.pri"):
        model_of(tmp_path, own + limit)
    with pytest.raises(SettingsError, match="no price is set for 'careful'"):
        model_of(tmp_path, own + careful + limit + PRICED)
    model_of(tmp_path, own + limit + PRICED)
    model_of(tmp_path, limit)
    assert chosen(tmp_path, own + limit).model is None


def test_the_key_and_the_url_are_in_no_repr(tmp_path: Path) -> None:
    told = chosen(tmp_path, OPENAI_API_KEY=f" {KEY}\n", OPENAI_BASE_URL="https://h/CANARY")
    assert told.model is not None
    assert told.model.default.api_key == KEY
    assert KEY not in repr(told)
    assert "CANARY" not in repr(told)
