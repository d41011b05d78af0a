"""What a position won, between a collect and the reading of the logs that tell of it."""

import asyncio
from pathlib import Path

import pytest

from chain.positions.overview import Overview, read_overview
from chain.positions.performance import Performance, read_performance
from chain.prices.price import WorthUnit
from chain.protocols.reference import v4_position
from tests.zuno_tui.desk.sitting import opening
from tests.zuno_tui.gate.desk import Desk
from zuno_tui.present.position import won_by_position, won_now


async def _read(home: Path, url: str) -> tuple[Overview, Performance]:
    session = opening(home, url).session
    async with session.sources() as sources:
        overview = await read_overview(sources, session.address, WorthUnit.USD)
        return overview, await read_performance(sources, overview.wallet.positions)


def test_fees_that_were_collected_are_not_counted_as_lost(desk: Desk, tmp_path: Path) -> None:
    ref, url = v4_position(desk.token_id("healthy")), desk.devnet.url
    overview, known = asyncio.run(_read(tmp_path / "first", url))
    before = won_by_position(overview, known, WorthUnit.USD)
    approval = desk.approved("collect", str(ref.token_id))
    assert desk.here("apply", approval["planId"], "--confirm", approval["hash"]).code == 0
    later, read_again = asyncio.run(_read(tmp_path / "second", url))
    meanwhile = won_now(later, known, before, WorthUnit.USD, old=False)
    afterwards = won_now(later, read_again, before, WorthUnit.USD, old=False)

    assert meanwhile[ref].against_holding == before[ref].against_holding
    assert afterwards[ref].gained == pytest.approx(before[ref].gained, abs=1.0)
