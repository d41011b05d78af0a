"""Settings of another version: a renamed one holds, an unknown one stops no read and no watch."""

from __future__ import annotations

import tarfile
from argparse import Namespace
from pathlib import Path

import pytest

from chain.base.units import COIN
from chain.contracts.networks import network_named
from zuno_tui.app.session import Session
from zuno_tui.gate.limits import gate_limits
from zuno_tui.settings import Flags, Settings, SettingsError, load_settings

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
