"""A chain that stands still: the last known figures with their age, and nothing is signed."""

from pathlib import Path

import pytest
from msgspec.structs import replace

from chain.base.home import Home
from chain.contracts.networks import network_named
from chain.devnet.launch import DevnetReady
from chain.protocols.reference import v4_position
from chain.rpc.errors import StaleHead
from tests.samples import some_of
from tests.zuno_tui.desk.sitting import opening, sitting
from zuno_tui.app.session import Session
from zuno_tui.catalog.old_block import answer_of
from zuno_tui.catalog.registry import registry
from zuno_tui.cli.parser import build_parser
from zuno_tui.desk.events import (
    DetailReady,
    OutageChanged,
    PoolsReady,
    PortfolioChanged,
    PositionsChanged,
    Said,
)
from zuno_tui.gate.actions.action import read_wallet
from zuno_tui.intents.intents import Inspect, ListPools, ShowPortfolio
from zuno_tui.settings import Settings

STANDING = replace(network_named("devnet"), clock="wall")
"""Judged by the wall's clock the embedded chain's last block is months old."""
READS = (
    "positions --since-entry",
    "portfolio",
    "balances",
    "inspect 29",
    "earned",
    "history",
    "pools",
    "price WETH",
    "gas",
    "range 29",
    "revoke",
    "what-if ETH 10",
)


@pytest.fixture
def session(devnet: DevnetReady, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Session:
    # The whole wallet's commands find the network by its name.
    monkeypatch.setattr("zuno_tui.app.watchlist.network_named", lambda _name: STANDING)
    settings = Settings(
        network="devnet", address=devnet.wallet, endpoints={"devnet": (devnet.url,)}
    )
    return Session(Home.locate({}, tmp_path / "home"), settings, STANDING, as_json=False)


@pytest.mark.parametrize("line", some_of(((each,) for each in READS), 4, seed=44))
async def test_a_read_is_of_the_last_block_and_its_age_is_told(session: Session, line: str) -> None:
    parsed = build_parser(registry().on_command_line()).parse_args(line.split())

    answer = await answer_of(parsed.chosen, session, parsed.chosen.intent.from_namespace(parsed))

    assert answer.code == 0
    assert len(answer.page) > 1
    [told] = [words for words in answer.remarks if "These are the figures" in words]
    assert " d old; more than 2 min is stale." in told


def test_every_command_that_only_reads_the_chain_is_among_them() -> None:
    told = {command.name for command in registry().commands if command.tells_old_block}

    assert told == {line.split()[0] for line in READS} | {"diff"}


async def test_what_is_signed_rests_on_no_old_block(session: Session) -> None:
    async with session.sources() as sources:
        with pytest.raises(StaleHead):
            await read_wallet(sources)
    reading = replace(session, tell_stale=lambda _error: None)
    async with reading.sources() as sources:
        with pytest.raises(ValueError, match="old block"):
            reading.connections(sources)


async def test_the_desk_shows_the_last_blocks_rows_and_pages_with_their_age(
    session: Session, devnet: DevnetReady, tmp_path: Path
) -> None:
    begun = opening(tmp_path, devnet.url)
    begun = replace(begun, session=replace(begun.session, network=STANDING))
    async with sitting(begun) as desk:
        rows = await desk.until(PositionsChanged, lambda told: bool(told.view.rows))
        outage = await desk.until(OutageChanged, lambda told: told.view is not None)
        await desk.ask(Inspect(v4_position(29)))
        await desk.until(DetailReady, lambda told: told.view.price is not None)
        await desk.ask(ListPools())
        await desk.until(PoolsReady, lambda told: bool(told.rows))
        await desk.ask(ShowPortfolio())
        await desk.until(PortfolioChanged, lambda told: bool(told.view.rows))

    assert " d old; more than 2 min is stale." in (rows.view.stale or "")
    assert outage.view is not None
    assert outage.view.title == "Embedded chain has no new block"
    assert outage.view.known_at == rows.view.read_at
    assert rows.view.read_at is not None
    assert rows.view.read_at < begun.clock() - 120
    assert any(
        "These are the figures of that block." in said.words for said in desk.all_heard(Said)
    )
