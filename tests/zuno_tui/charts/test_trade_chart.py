"""The desk's chart: four panels, the same bytes for the same facts, and no global state."""

from __future__ import annotations

import sys
from collections.abc import Callable
from hashlib import sha256
from pathlib import Path

import pytest

from agents.trade.concluding import failed_plan
from agents.trade.indicators import largest_pools
from agents.trade.services import chart_facts
from tests.agents.trade.cases import HEDGED, question
from tests.agents.trade.offices import rising_market

pytest.importorskip("matplotlib", reason="the extra `charts` is not installed")


async def test_four_panels_are_drawn_alike_each_time_and_kept_beside_the_record(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from matplotlib.figure import Figure

    from zuno_tui.features.trade.chart import PngArtist, trade_chart

    panels: list[int] = []
    save: Callable[..., None] = Figure.savefig

    def noting(figure: Figure, *values: object, **named: object) -> None:
        panels.append(len(figure.axes))
        save(figure, *values, **named)

    monkeypatch.setattr(Figure, "savefig", noting)
    market = rising_market().market
    assert market is not None
    facts, artist = chart_facts(market), PngArtist(tmp_path / "req.png")

    digest = await artist.draw(facts)
    png = (tmp_path / "req.png").read_bytes()

    assert png.startswith(b"\x89PNG\r\n\x1a\n")
    assert artist.picture(digest).png == png == trade_chart(facts)
    assert digest == sha256(png).hexdigest()
    assert panels == [4, 4]
    assert "matplotlib.pyplot" not in sys.modules


async def test_a_plan_is_drawn_into_the_file_and_not_into_what_a_model_saw(tmp_path: Path) -> None:
    from zuno_tui.features.trade.chart import PlannedPrices, PngArtist, trade_chart

    market = rising_market().market
    assert market is not None
    facts = chart_facts(market, HEDGED)
    artist = PngArtist(tmp_path / "req.png")
    digest = await artist.draw(facts)
    plan = failed_plan(question(), "", (), 0).model_copy(update={"entry": market.mark})

    await artist.finish(plan)

    kept = (tmp_path / "req.png").read_bytes()
    assert kept == trade_chart(facts, PlannedPrices(market.mark, None, None))
    assert artist.picture(digest).png == trade_chart(facts) != kept
    assert facts.earning == (HEDGED.lower, HEDGED.upper)
    assert trade_chart(chart_facts(market)) != trade_chart(facts)


def test_the_chart_names_its_pools_where_leverage_would_break() -> None:
    market = rising_market().market
    assert market is not None
    facts = chart_facts(market)
    below, above = largest_pools(facts.pools, facts.mark)
    named = {one.name: one.price for one in facts.levels}

    assert below is not None
    assert above is not None
    assert below.price < facts.mark < above.price
    assert named["liquidation pool below"] == below.price
    assert named["liquidation pool above"] == above.price
    low = min(candle.low for candle in market.hours.candles[-24:])
    high = max(candle.high for candle in market.hours.candles[-24:])
    inside = [one for one in facts.pools if low < one.price < high]
    # Whoever would have been liquidated there has been, or entered within the day.
    assert sum(one.coins for one in inside) < sum(one.coins for one in facts.pools)
