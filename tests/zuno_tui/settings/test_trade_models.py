"""Whom the trade desk asks: what was set, what `[model]` says, and the usual where nobody chose."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from agents.trade.routing import FALLBACK_MODEL, ROLE_ROUTES, ROUTES
from tests.zuno_tui.settings.strict_loading import load_strictly
from zuno_tui.features.trade.models import DeskModels, desk_models
from zuno_tui.settings import SettingsError

if TYPE_CHECKING:
    from pathlib import Path

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
