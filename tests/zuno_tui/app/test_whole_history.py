"""Three wallets on two networks: one sum, and a history whose rows add up to it."""

import csv
import io
from collections import defaultdict
from collections.abc import Iterator
from contextlib import closing
from decimal import Decimal, localcontext
from fractions import Fraction
from functools import partial
from pathlib import Path

import pytest

from agents.monitor.alerts.alert import AlertKind, AlertSubject, Raised
from agents.monitor.alerts.store import AlertStore
from agents.monitor.alerts.store_page import Poll, WatchCursor, WatchPlace
from chain.base.home import Home
from chain.base.units import Known
from chain.bookkeeping.ledger import EntryKind
from chain.devnet.launch import DevnetReady
from chain.devnet.world.accounts import DEMO_WALLET, MEDIUM_PROVIDER, NEIGHBOUR
from chain.devnet.world.deployment import ETHER, USDC, USDT, WBTC, WETH
from chain.protocols.reference import v4_position
from chain.wallet.address_book import AddressBook, KeyStorage, Wallet, change_book
from tests.agents.monitor.made_up_alerts import finding
from tests.embedded_chain import embedded_chain
from zuno_tui.app.history import read_whole_history
from zuno_tui.app.portfolio import read_portfolio
from zuno_tui.app.session import Session
from zuno_tui.present.history import (
    COINTRACKING_COLUMNS,
    KOINLY_COLUMNS,
    CsvFormat,
    HistoryChapter,
    HistoryFilter,
    WholeHistory,
    harmless,
    history_csv,
    history_rows,
)
from zuno_tui.settings import Flags, load_settings

OTHER_CHAIN = 31338
WALLETS = {"demo": DEMO_WALLET, "medium": MEDIUM_PROVIDER, "neighbour": NEIGHBOUR}
CENT = Fraction(1, 100)


@pytest.fixture(scope="module")
def other_devnet() -> Iterator[DevnetReady]:
    """Another market on another chain, so that nothing of one can pass for the other's."""
    with embedded_chain(seed=8, chain_id=OTHER_CHAIN) as ready:
        yield ready


@pytest.fixture
def home(tmp_path: Path) -> Home:
    home = Home.locate({}, tmp_path / "home")
    home.prepare()
    for name, account in WALLETS.items():
        wallet = Wallet(account.address, name, KeyStorage.NOWHERE)
        change_book(home.keystore, partial(AddressBook.with_wallet, wallet=wallet))
    return home


def _session(home: Home, **endpoints: str) -> Session:
    lines = [f'{name.replace("_", "-")} = "{url}"' for name, url in endpoints.items()]
    home.settings.write_text("\n".join(['network = "devnet"', "[rpc]", *lines]))
    settings = load_settings(home.settings, {}, Flags())
    return Session(home, settings, settings.chosen_network(), as_json=False, narrate=lambda _: None)


async def test_three_wallets_on_two_networks_add_up(
    home: Home, devnet: DevnetReady, other_devnet: DevnetReady
) -> None:
    session = _session(home, devnet=devnet.url, devnet_31338=other_devnet.url)

    portfolio = await read_portfolio(session)
    history = await read_whole_history(session)

    assert portfolio.whole
    assert history.whole
    assert (portfolio.wallets, portfolio.networks, len(portfolio.entries)) == (3, 2, 6)
    assert {one.label for one in portfolio.entries} == set(WALLETS)
    rows = list(history_rows(history))
    usd = sum((row.usd or Fraction(0) for row in rows), Fraction(0))
    assert abs(usd - portfolio.total) < CENT / 2
    for chapter in history.chapters:
        assert _ledger_amounts(chapter) == _owned(chapter)
    _check_funding(history)
    with localcontext(prec=60):
        _check_csv(history, portfolio.total)


def _ledger_amounts(chapter: HistoryChapter) -> dict[str, int]:
    sums: dict[str, int] = defaultdict(int)
    assert chapter.history is not None
    for entry in chapter.history.entries:
        sums[entry.token.address] += entry.amount
    return dict(sums)


def _owned(chapter: HistoryChapter) -> dict[str, int]:
    worth = chapter.entry.worth
    assert worth is not None
    owned = {address: worth.total_of(address) for address in _ledger_amounts(chapter)}
    return {address: one.value for address, one in owned.items() if isinstance(one, Known)}


def _check_funding(history: WholeHistory) -> None:
    """What the ledger cannot explain is just what the world once gave the demo wallet."""
    for chapter in history.chapters:
        if chapter.entry.wallet != DEMO_WALLET.address or chapter.history is None:
            continue
        found = {
            one.token.address: one.amount
            for one in chapter.history.entries
            if one.kind is EntryKind.ELSEWHERE
        }
        assert found[WETH.address] == 30 * ETHER
        assert found[USDC.address] == 180_000 * 10**6
        assert found[USDT.address] == 40_000 * 10**6
        assert found[WBTC.address] == 10**8


def _check_csv(history: WholeHistory, total: Fraction) -> None:
    rows = _read_csv(history, "csv")
    usd = sum((Decimal(row["usd"]) for row in rows if row["usd"]), Decimal(0))
    assert round(usd, 2) == round(Decimal(total.numerator) / Decimal(total.denominator), 2)
    amounts: dict[tuple[str, str, str], Decimal] = defaultdict(Decimal)
    for row in rows:
        place = row["chain_id"], row["wallet"].lower(), row["token_address"]
        amounts[place] += Decimal(row["amount"])
    for chapter in history.chapters:
        assert chapter.history is not None
        for address, units in _owned(chapter).items():
            decimals = chapter.history.facts.tokens[address].decimals
            place = str(chapter.entry.network.chain_id), chapter.entry.wallet, address
            assert amounts[place].scaleb(decimals or 0) == units
    assert tuple(_read_csv(history, "koinly")[0]) == KOINLY_COLUMNS
    assert tuple(_read_csv(history, "cointracking")[0]) == COINTRACKING_COLUMNS


def _read_csv(history: WholeHistory, form: CsvFormat) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(history_csv(history, form), newline="")))


async def test_a_network_that_cannot_be_read_is_an_entry_that_says_so(
    home: Home, devnet: DevnetReady
) -> None:
    session = _session(home, devnet=devnet.url, devnet_31338="http://127.0.0.1:9")

    portfolio = await read_portfolio(session, ["demo"])
    history = await read_whole_history(session, ["demo"], HistoryFilter(position=v4_position(27)))

    seen, unseen = portfolio.entries
    assert not portfolio.whole
    assert seen.worth is not None
    assert portfolio.total == seen.worth.total
    assert unseen.worth is None
    assert unseen.trouble
    assert not history.whole
    positions = {row.entry.position for row in history_rows(history)}
    assert positions == {v4_position(27)}


async def test_alerts_of_every_wallet_stand_in_one_list(home: Home, devnet: DevnetReady) -> None:
    wanted = [(31337, DEMO_WALLET.address), (31337, NEIGHBOUR.address)]
    foreign = [(OTHER_CHAIN, DEMO_WALLET.address), (31337, "0x" + "ab" * 20)]
    with closing(AlertStore.open(home, now=1.0)) as store:
        for chain_id, wallet in (*wanted, *foreign):
            subject = AlertSubject(chain_id, wallet, v4_position(27), AlertKind.OUT_OF_RANGE)
            change = Raised(subject, "devnet", finding(), 1, 1.0)
            cursor = WatchCursor(1, f"0x{1:064x}", 1)
            store.apply((Poll(WatchPlace(chain_id, wallet), (change,), cursor),), 1.0)

    portfolio = await read_portfolio(_session(home, devnet=devnet.url))

    assert {(one.chain_id, one.wallet_address) for one in portfolio.alerts} == {*wanted}


@pytest.mark.parametrize("text", ["=1+1", "+1", "-1", "@SUM(A1)", "\t=1", "\r=1"])
def test_no_cell_of_others_words_is_a_formula(text: str) -> None:
    assert harmless(text) == f"'{text}"
    assert harmless(f"a{text}") == f"a{text}"
