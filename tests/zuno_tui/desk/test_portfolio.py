"""Every wallet on every network, with one that does not answer said in its row."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from msgspec.structs import replace

from chain.base.units import DAY
from chain.protocols.reference import position_label, read_position_ref
from tests.zuno_tui.desk.sitting import opening, sitting
from zuno_tui.catalog.intents import ShowPortfolio
from zuno_tui.desk.events import PortfolioChanged, PositionsChanged
from zuno_tui.settings.load import Flags

if TYPE_CHECKING:
    from pathlib import Path

    from chain.devnet.launch import DevnetReady

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
