"""`zuno backtest --bars`: tables, a document and a picture of one file, and what it refuses."""

import gzip
import json
import sys
from datetime import UTC, datetime
from math import exp
from pathlib import Path
from random import Random

import pytest

from chain.devnet.launch import DevnetReady
from tests import node_rpc
from zuno_tui.cli import main
from zuno_tui.features.lab.commands.backtest import RunBacktest, read_hours
from zuno_tui.present.exit_codes import DONE, FAILED, USAGE

HEADER = "time,price,low,high,fees_usd,liquidity_usd"
START = 1_700_000_000
POLICIES = {"advice", "never", "wide", "full_range", "recentre", "placebo"}


def _rows(hours: int = 24 * 22) -> list[str]:
    """A little over three weeks of a walk."""
    random = Random(3)
    price = 2000.0
    rows = []
    for hour in range(1, hours + 1):
        before, price = price, price * exp(random.gauss(0, 0.008))
        low, high = min(before, price), max(before, price)
        rows.append(f"{START + 3600 * hour},{price},{low},{high},{random.uniform(1, 9)},1000000")
    return rows


def _write(path: Path, rows: list[str], header: str = HEADER) -> str:
    path.write_text("\n".join((header, *rows, "")), "utf-8")
    return str(path)


@pytest.fixture
def bars(tmp_path: Path) -> str:
    return _write(tmp_path / "bars.csv", _rows())


def _document(capsys: pytest.CaptureFixture[str], *words: str) -> dict[str, object]:
    week = () if "--window" in words else ("--window", "7d")
    assert main(["backtest", *words, *week, "--json"]) == DONE
    document = json.loads(capsys.readouterr().out)
    assert isinstance(document, dict)
    return document


def test_the_document_has_every_policy_and_difference(
    bars: str, capsys: pytest.CaptureFixture[str]
) -> None:
    document = _document(capsys, "--bars", bars)

    assert (document["windows"], document["bars"]) == (2, 336)
    policies, differences = document["policies"], document["differences"]
    assert isinstance(policies, dict)
    assert isinstance(differences, dict)
    assert policies.keys() == POLICIES
    for policy in policies.values():
        assert policy.keys() == {
            *("hedged", "unhedged", "actions_per_week", "in_range", "costs_per_week", "shares")
        }
        assert policy["shares"].keys() == {"hold", "move", "exit"}
        assert sum(policy["shares"].values()) == pytest.approx(1)
        for told in (policy["hedged"], policy["unhedged"]):
            assert told["low"] <= told["mean"] <= told["high"]
    assert differences.keys() == {f"advice-{name}" for name in POLICIES - {"advice"}}
    means = {name: policy["hedged"]["mean"] for name, policy in policies.items()}
    for name, found in differences.items():
        other = means[name.removeprefix("advice-")]
        assert found["mean"] == pytest.approx(means["advice"] - other, abs=1e-5)


def test_ablations_stand_beside_the_rest(bars: str, capsys: pytest.CaptureFixture[str]) -> None:
    policies = _document(capsys, "--bars", bars, "--ablate")["policies"]

    assert isinstance(policies, dict)
    assert policies.keys() == POLICIES | {"without_critic", "without_dead_band"}


def test_order_of_columns_iso_times_and_gzip_change_nothing(
    bars: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    turned = tmp_path / "turned.csv.gz"
    lines = ["venue,liquidity_usd,HIGH,low,fees_usd,price,time"]
    for row in _rows():
        time, price, low, high, fees, liquidity = row.split(",")
        moment = datetime.fromtimestamp(int(time), UTC).isoformat()
        lines.append(f"x,{liquidity},{high},{low},{fees},{price},{moment}")
    turned.write_bytes(gzip.compress("\n".join(lines).encode()))

    assert _document(capsys, "--bars", str(turned)) == _document(capsys, "--bars", bars)


def test_flags_reach_the_backtest(bars: str, capsys: pytest.CaptureFixture[str]) -> None:
    daily = _document(capsys, "--bars", bars, "--window", "1d", "--every", "6h")
    assert daily["windows"] == 15
    for flags in (
        ("--capital", "1000000"),
        ("--profile", "aggressive"),
        ("--tick-spacing", "200"),
    ):
        assert _document(capsys, "--bars", bars, *flags) != _document(capsys, "--bars", bars)


def test_capital_and_fees_are_dollars_whatever_token1_is_worth(
    bars: str, capsys: pytest.CaptureFixture[str]
) -> None:
    dollar = _document(capsys, "--bars", bars)

    assert _document(capsys, "--bars", bars, "--token1-usd", "3") == dollar


def test_dearer_acting_costs_more(bars: str, capsys: pytest.CaptureFixture[str]) -> None:
    def costs(*flags: str) -> float:
        policies = _document(capsys, "--bars", bars, "--profile", "aggressive", *flags)["policies"]
        assert isinstance(policies, dict)
        return float(policies["recentre"]["costs_per_week"])

    plain = costs()
    assert plain > 0
    for flags in (("--gas-usd", "5"), ("--fee-pips", "10000"), ("--slippage-bp", "100")):
        assert costs(*flags) > plain


def test_people_get_tables_and_a_line_a_policy(
    bars: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["backtest", "--bars", bars, "--window", "7d"]) == DONE

    shown = capsys.readouterr().out.splitlines()
    drawn = [line for line in shown if set(line) & set("▁▂▃▄▅▆▇█")]
    assert len(drawn) == len(POLICIES)
    assert any(line.startswith("POLICY") for line in shown)


def test_a_picture_is_a_png(bars: str, tmp_path: Path) -> None:
    pytest.importorskip("matplotlib", reason="the extra `charts` is not installed")
    picture = tmp_path / "backtest.png"

    words = ["backtest", "--bars", bars, "--window", "7d", "--png", str(picture)]
    assert main(words) == DONE
    assert picture.read_bytes().startswith(b"\x89PNG")


def test_without_the_extra_a_picture_says_what_installs_it(
    bars: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(sys.modules, "PIL", None)
    monkeypatch.setitem(sys.modules, "matplotlib", None)

    assert main(["backtest", "--bars", bars, "--png", "x.png"]) == FAILED
    assert "[charts]" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("row", "words"),
    [
        ("{time},-1,1,2,1,5", "price"),
        ("{time},0,0,2,1,5", "price"),
        ("{time},2,3,1,1,5", "low"),
        ("{time},2,-3,3,1,5", "low"),
        ("{time},2,1,3,-1,5", "fees"),
        ("{time},2,1,3,1,0", "liquidity"),
        ("{time},2,1,3,nan,5", "fees_usd"),
        ("{time},2,1,3,,5", "fees_usd"),
        ("{time},2,1,3,1,inf", "liquidity_usd"),
        ("yesterday,2,1,3,1,5", "time"),
        ("{earlier},2,1,3,1,5", "time"),
        ("{time},2,1,3,1", "cells"),
    ],
)
def test_a_row_that_cannot_be_is_named_by_its_line(
    row: str, words: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rows = _rows(30)
    rows[20] = row.format(time=START + 21 * 3600, earlier=START + 3 * 3600 + 60)

    assert main(["backtest", "--bars", _write(tmp_path / "bars.csv", rows)]) == USAGE
    told = capsys.readouterr().err
    assert "line 22" in told
    assert words in told


def test_a_missing_column_and_a_missing_file_are_usage(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    lacking = _write(tmp_path / "bars.csv", ["1,2,1,3,1"], HEADER.removesuffix(",liquidity_usd"))

    assert main(["backtest", "--bars", lacking]) == USAGE
    assert "liquidity_usd" in capsys.readouterr().err
    assert main(["backtest", "--bars", str(tmp_path / "nothing.csv")]) == USAGE
    assert main(["backtest", "--bars", _write(tmp_path / "short.csv", _rows(300))]) == USAGE


@pytest.mark.parametrize(
    "flags", [("--every", "30m"), ("--window", "0d"), ("--capital", "0"), ("--slippage-bp", "1e4")]
)
def test_flags_that_cannot_be_are_usage(flags: tuple[str, str], bars: str) -> None:
    with pytest.raises(SystemExit) as stopped:
        main(["backtest", "--bars", bars, *flags])
    assert stopped.value.code == USAGE


def test_a_rule_that_would_never_be_asked_is_usage(bars: str) -> None:
    assert main(["backtest", "--bars", bars, "--every", "8d"]) == USAGE


def test_a_pool_and_a_file_are_one_or_the_other(bars: str) -> None:
    for words in ((), ("0xab", "--bars", bars)):
        with pytest.raises(SystemExit) as stopped:
            main(["backtest", *words])
        assert stopped.value.code == USAGE


def test_a_pool_of_the_chain_is_walked_on_its_own_swaps(
    devnet: DevnetReady, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    flags = ("--network", "devnet", "--rpc", devnet.url, "--home", str(tmp_path))
    assert main(["pools", *flags, "--json"]) == DONE
    pools = json.loads(capsys.readouterr().out)["pools"]
    pool = next(one["poolId"] for one in pools if "WETH" in (one["symbol0"], one["symbol1"]))
    node_rpc.wait_until_later(devnet.url, 9 * 86_400)

    found = _document(capsys, pool[:12], *flags, "--window", "1d", "--days", "20")

    windows, counted = found["windows"], found["bars"]
    assert isinstance(windows, int)
    assert windows >= 2
    assert counted == windows * 24
    policies = found["policies"]
    assert isinstance(policies, dict)
    # Nobody swapped in the windows: nothing was paid, nothing was lost.
    for name in ("never", "wide", "full_range"):
        assert policies[name]["hedged"]["mean"] == pytest.approx(0, abs=1e-3)
        assert policies[name]["in_range"] == 1

    assert main(["backtest", pool, *flags, "--days", "1"]) == USAGE
    assert "--days" in capsys.readouterr().err
    assert main(["backtest", pool, *flags, "--window", "30d"]) == USAGE
    assert "--window" in capsys.readouterr().err
    assert main(["backtest", "0xnone", *flags]) == USAGE
    assert main(["backtest", "0x", *flags]) == USAGE


def test_times_are_written_as_they_are_read(tmp_path: Path) -> None:
    assert [read_hours(text) for text in ("4h", "7d", "2w")] == [4, 168, 336]
    asked = RunBacktest(bars=tmp_path, window=48, every=6)
    assert asked.twin == f"zuno backtest --bars {tmp_path} --every 6h --window 2d"
