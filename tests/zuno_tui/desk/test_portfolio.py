"""The portfolio and its past at the desk."""

import time
from pathlib import Path

import pytest
from msgspec.structs import replace

from chain.base.store import Store
from chain.base.units import DAY, HOUR
from chain.devnet.launch import DevnetReady
from chain.protocols.reference import position_label, read_position_ref
from tests.zuno_tui.desk.conftest import Node
from tests.zuno_tui.desk.sitting import opening, sitting
from zuno_tui.desk.events import PortfolioChanged, PositionsChanged
from zuno_tui.desk.portfolio import EtherHistory
from zuno_tui.intents.intents import Refresh, ShowPortfolio
from zuno_tui.present.charts import sparkline
from zuno_tui.present.glance import EtherSample, ether_change
from zuno_tui.settings.load import Flags

_NOWHERE = "http://127.0.0.1:1"


def _dollars(words: str) -> float:
    return float(words.strip("$").replace(",", ""))


async def test_what_all_earned_is_told_and_what_cannot_be_read_says_so(
    devnet: DevnetReady, tmp_path: Path
) -> None:
    from chain.devnet.world.accounts import DEMO_WALLET

    settings = tmp_path / "settings.toml"
    settings.write_text(f'[rpc]\nbase = "{_NOWHERE}"\n', "utf-8")
    settings.chmod(0o600)
    here = opening(tmp_path, devnet.url, address=DEMO_WALLET.address)
    # What a run names by its flags is looked at alone.
    everywhere = replace(here, session=replace(here.session, flags=Flags()))
    async with sitting(everywhere) as desk:
        await desk.ask(ShowPortfolio())
        await desk.desk.idle()
        told = desk.all_heard(PortfolioChanged)
        read = told[-1].view
        await desk.ask(ShowPortfolio())
        again = desk.all_heard(PortfolioChanged)[len(told)]

    assert [one.opens for one in told] == [True, *(False for _ in told[1:])]
    assert (again.opens, again.view) == (True, read)
    assert read.reading == ""
    assert read.heading.startswith("at least $")
    wallets = {row.name.split(" · ")[0]: row for row in read.rows if " · " in row.name}
    unread = wallets.pop("Base")
    assert unread.note
    assert {unread.worth, unread.today, unread.result} == {"unknown"}
    (demo,) = wallets.values()
    assert demo.note == ""
    positions = [row for row in read.rows if row.name.strip().startswith(("#", "3:"))]
    assert len(positions) > 5
    for row in positions:
        ref = read_position_ref(row.key.rpartition("/")[2])
        assert ref is not None
        assert row.name.split()[0] == position_label(ref), "its row leads to it"
    (idle,) = [row for row in read.rows if row.idle]
    assert (idle.today, idle.result, idle.line) == ("", "", None)
    total, inside, beside = (_dollars(word) for word in read.heading.split() if "$" in word)
    assert total == inside + beside == _dollars(read.total.worth)
    assert beside == _dollars(idle.worth)
    assert sum(_dollars(row.worth) for row in positions) == pytest.approx(
        inside, abs=len(positions)
    )
    for row in (read.total, demo):
        assert all(words.startswith("$") for words in (row.today, row.week, row.month, row.entry))
        assert row.line is not None
        assert len(row.line.times) > 24
    assert _dollars(demo.week) > _dollars(demo.today)


async def test_fees_by_day_at_the_desk_are_those_of_the_portfolio(
    devnet: DevnetReady, tmp_path: Path
) -> None:
    async with sitting(opening(tmp_path, devnet.url)) as desk:
        told = await desk.until(
            PositionsChanged, lambda told: bool(told.view.glance and told.view.glance.by_day)
        )
        await desk.ask(ShowPortfolio())
        await desk.desk.idle()
        week = desk.heard_last(PortfolioChanged).view.total.week

    assert told.view.glance is not None
    assert len(told.view.glance.by_day) == 7
    assert sum(fees for _, fees in told.view.glance.by_day) == pytest.approx(_dollars(week), abs=1)
    assert told.view.rows
    for row in told.view.rows:
        assert row.chart is not None
        assert row.week is not None
        assert row.week.prices[-1] == row.chart.prices[-1], "one price of now in both"
        assert 6 * DAY < row.week.times[-1] - row.week.times[0] <= 7 * DAY


@pytest.mark.usefixtures("changed_world")
async def test_fees_by_day_at_the_desk_go_on_with_its_rows(
    devnet: DevnetReady, node: Node, tmp_path: Path
) -> None:
    """Long before all days are read again: a minute is enough."""
    passed = [0.0]
    here = replace(opening(tmp_path, devnet.url), clock=lambda: time.time() + passed[0])
    async with sitting(here) as desk:
        first = await desk.until(
            PositionsChanged, lambda told: bool(told.view.glance and told.view.glance.by_day)
        )
        assert first.view.glance is not None
        before = first.view.glance.by_day
        node("zuno_step", 1_800)
        passed[0] = 60.0
        await desk.ask(Refresh())
        later = await desk.until(
            PositionsChanged,
            lambda told: bool(told.view.glance and told.view.glance.by_day not in ((), before)),
        )
        await desk.ask(ShowPortfolio())
        await desk.desk.idle()
        week = desk.heard_last(PortfolioChanged).view.total.week
    assert later.view.glance is not None
    after = later.view.glance.by_day
    assert [day for day in after if day[0] != after[-1][0]] == [*before[:-1]], "past days stand"
    assert sum(fees for _, fees in after) > sum(fees for _, fees in before)
    assert sum(fees for _, fees in after) == pytest.approx(_dollars(week), abs=0.011)


BEGIN = 1_768_003_200


def sample(hour: float, dollars: float = 3_000.0) -> EtherSample:
    return EtherSample(int(BEGIN + hour * HOUR), dollars)


def test_an_hour_is_one_sample_and_a_day_is_kept() -> None:
    store = Store.in_memory()
    history = EtherHistory(store, "31337:0x1")
    for quarter in range(4 * 24 * 3):
        history.add(sample(quarter / 4, float(quarter)), now=0.0)

    assert len(history.samples) == 26
    assert {
        (one.time - two.time) // HOUR
        for one, two in zip(history.samples[1:], history.samples, strict=False)
    } == {1}
    again = EtherHistory(store, "31337:0x1")
    assert len(again.samples) == 26
    assert again.samples[:-1] == history.samples[:-1]
    assert EtherHistory(store, "1:0x1").samples == ()


def test_before_what_was_seen_stands_what_others_tell() -> None:
    history = EtherHistory(Store.in_memory(), "k")
    before = [sample(hour, float(hour)) for hour in range(24)]
    assert history.after(before) == tuple(before)

    history.add(sample(22.5, 1.0), now=0.0)
    assert [one.dollars for one in history.after(before)] == [*map(float, range(22)), 1.0]


def test_a_chain_that_begins_anew_has_no_past() -> None:
    history = EtherHistory(Store.in_memory(), "k")
    history.add(sample(50), now=0.0)
    history.add(sample(2), now=0.0)
    assert [one.time for one in history.samples] == [sample(2).time]


def test_what_is_written_by_somebody_else_is_no_past() -> None:
    store = Store.in_memory()
    store.put("ether-hours", "k", {"samples": [{"time": "soon"}]}, now=0.0)
    assert EtherHistory(store, "k").samples == ()


def test_ether_is_compared_with_a_day_ago_or_what_is_known_of_it() -> None:
    assert ether_change([]) == ""
    assert ether_change([sample(0)]) == ""
    assert ether_change([sample(0), sample(0.5, 3_300.0)]) == ""
    assert ether_change([sample(0), sample(3, 3_030.0)]) == "▲1.0% 3 h"
    week = [sample(hour, 3_000.0 + hour) for hour in range(100)]
    assert ether_change([*week, sample(100, 2_000.0)]).startswith("▼")
    assert ether_change([*week, sample(100, 2_000.0)]).endswith(" 25 h")


def test_a_sparkline_fits_its_cells() -> None:
    assert sparkline([], 8) == sparkline([1.0], 8) == ""
    assert sparkline([1.0, 1.0], 8) == "▁▁"
    assert sparkline([float(n) for n in range(100)], 7) == "▁▂▃▄▅▆▇"
