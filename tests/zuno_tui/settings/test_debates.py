"""What the person chose for debates: each mistake is named, and no limit is silently void."""

from __future__ import annotations

from decimal import Decimal
from typing import TYPE_CHECKING

import pytest

from agents.lp.debate import LP_FLOW
from agents.lp.payloads import ARBITER, CRITIC, SCOUT
from agents.model.budget import BudgetLimits, TokenRate
from agents.model.settings import DEFAULT_MODEL, OPENAI_URL, ModelSettings
from agents.numbers.profiles import RiskProfile
from zuno_tui.settings import Flags, SettingsError, load_settings
from zuno_tui.settings.debates import DebateSettings, debate_settings
from zuno_tui.settings.schema import ModelTable

if TYPE_CHECKING:
    from pathlib import Path

KEY = "sk-canary-SETTINGS-0123456789abcdef"
PRICED = '[model.prices]\n"gpt-4o-mini" = [0.15, 0.6]\n'


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
    settings = load_settings(file, environment, Flags())
    return debate_settings(settings, environment, profile=profile, deterministic=deterministic)


def model_of(folder: Path, text: str = "", /, **environment: str) -> ModelSettings:
    model = chosen(folder, text, OPENAI_API_KEY=KEY, **environment).model
    assert model is not None
    return model


def test_without_a_word_the_rules_speak_in_two_balanced_rounds(tmp_path: Path) -> None:
    assert chosen(tmp_path) == DebateSettings(
        RiskProfile.BALANCED, 2, None, BudgetLimits(60_000, 1_000_000), {}
    )


def test_with_a_key_the_default_model_is_asked(tmp_path: Path) -> None:
    model = model_of(tmp_path)
    assert (model.api_key, model.base_url, model.default_model) == (KEY, OPENAI_URL, DEFAULT_MODEL)


def test_every_agent_of_the_debate_may_have_a_model_of_its_own() -> None:
    named = set(ModelTable.__struct_fields__) - {"name", "prices", "budget"}
    assert named == set(LP_FLOW.handlers)


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
    text = '[model]\nname = "big"\ncritic = "careful"\narbiter = "wise"\n'
    model = model_of(tmp_path, text, OPENAI_BASE_URL="http://localhost:11434/v1")
    assert [model.model_for(role) for role in (SCOUT, CRITIC, ARBITER)] == [
        "big",
        "careful",
        "wise",
    ]
    assert model.base_url == "http://localhost:11434/v1"
    assert model_of(tmp_path, text, ZUNO_AGENT_MODEL="other").model_for(SCOUT) == "other"


def test_budget_and_prices_are_exact(tmp_path: Path) -> None:
    text = PRICED + (
        "[model.budget]\ndebate_tokens = 5000\nday_tokens = 0\ndebate_usd = 0.05\nday_usd = 1\n"
    )
    settings = chosen(tmp_path, text, OPENAI_API_KEY=KEY)
    assert settings.limits == BudgetLimits(5_000, 0, 50_000_000, 10**9)
    assert settings.prices == {
        "gpt-4o-mini": TokenRate.per_million(Decimal("0.15"), Decimal("0.6"))
    }


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
    with pytest.raises(SettingsError, match=r"nobody said what 'gpt-4o-mini' costs.*\[model\.pri"):
        model_of(tmp_path, limit)
    with pytest.raises(SettingsError, match="nobody said what 'careful' costs"):
        model_of(tmp_path, f'[model]\ncritic = "careful"\n{limit}{PRICED}')
    model_of(tmp_path, limit + PRICED)
    assert chosen(tmp_path, limit).model is None


def test_the_key_and_the_url_are_in_no_repr(tmp_path: Path) -> None:
    told = chosen(tmp_path, OPENAI_API_KEY=f" {KEY}\n", OPENAI_BASE_URL="http://h/CANARY")
    assert told.model is not None
    assert told.model.api_key == KEY
    assert KEY not in repr(told)
    assert "CANARY" not in repr(told)
