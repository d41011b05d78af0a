"""Closed positions, their hours and their days."""

from collections.abc import Sequence
from fractions import Fraction
from pathlib import Path

from msgspec.structs import replace

from chain.base.store import Store
from chain.base.units import DAY, HOUR, Known, Unknown
from chain.contracts.networks import network_named
from chain.devnet.launch import DevnetReady
from chain.prices.price import WorthUnit
from chain.protocols.reference import v4_position
from chain.wallet.keystore import watch
from tests.zuno_tui.desk.sitting import Sitting, opening
from zuno_tui.desk.context import DeskOpening
from zuno_tui.desk.details import days_sum
from zuno_tui.desk.events import OutageChanged, PageReady, PositionsChanged, Said, StatusChanged
from zuno_tui.desk.portfolio import ClosedHours
from zuno_tui.intents.intents import Doctor, Recommend, SwitchNetwork, UseWallet
from zuno_tui.present.past_day import MILLION, HourGain
from zuno_tui.present.position import KeyFigure

STRANGER = "0x" + "11" * 20


def nowhere(home: Path, url: str) -> DeskOpening:
    """No wallet, on a network that has none of its own."""
    opened = opening(home, url)
    settings = replace(opened.session.settings, network="ethereum")
    session = replace(opened.session, settings=settings, network=network_named("ethereum"))
    return replace(opened, session=session)


async def test_a_desk_without_a_wallet_names_the_way_to_one(
    devnet: DevnetReady, tmp_path: Path
) -> None:
    desk = Sitting(nowhere(tmp_path, devnet.url))
    async with desk.desk:
        await desk.ask(Recommend(v4_position(7)))
        closed = desk.heard_last(Said)
        outage = desk.heard_last(OutageChanged).view
        await desk.ask(Doctor())
        page = desk.heard_last(PageReady)
        await desk.ask(SwitchNetwork("devnet"))
        await desk.until(PositionsChanged, lambda told: bool(told.view.rows))

    first = desk.all_heard(StatusChanged)[0].view
    assert first.trouble is not None
    assert "zuno wallet import" in first.trouble
    assert "The desk is not open" in closed.words
    assert outage is not None
    assert outage.next_at is None
    assert any("RPC" in line for line in page.lines)
    assert desk.heard_last(OutageChanged).view is None
    assert desk.heard_last(StatusChanged).view.network == "Embedded chain"


async def test_another_wallet_is_looked_at_by_its_name(devnet: DevnetReady, tmp_path: Path) -> None:
    opened = opening(tmp_path, devnet.url)
    watch(opened.session.home, STRANGER, name="stranger")
    opened = replace(
        opened,
        session=replace(
            opened.session,
            settings=replace(opened.session.settings, address=devnet.wallet),
        ),
    )
    desk = Sitting(opened)
    async with desk.desk:
        await desk.until(PositionsChanged, lambda told: bool(told.view.rows))
        since = len(desk.heard)
        await desk.ask(UseWallet("stranger"))
        empty = await desk.until(
            PositionsChanged, lambda told: told.view.found == "0 of 0 found", since=since
        )
        status = desk.heard_last(StatusChanged).view
        await desk.ask(UseWallet("not an address"))

    assert empty.view.rows == ()
    assert status.wallet == "stranger 0x1111…1111"
    assert desk.heard_last(Said).tone == "bad"


END = 1_768_003_200


def gains(token_id: int, *hours: int, fees: int = 2, moved: int = 5) -> list[HourGain]:
    return [
        HourGain(END - back * HOUR, v4_position(token_id), fees * MILLION, moved * MILLION)
        for back in hours
    ]


def test_a_day_is_what_its_hours_brought_by_fees_and_prices() -> None:
    day = ClosedHours(Store.in_memory(), "k").day(gains(26, *range(1, 25)), END, 24, now=0.0)
    assert day is not None
    assert (day.gained, day.fees, day.hours) == (Fraction(24 * 7), Fraction(24 * 2), 24)


def test_closing_or_moving_a_position_takes_nothing_away() -> None:
    hours = ClosedHours(Store.in_memory(), "k")
    before = hours.day(gains(26, *range(1, 25)), END, 24, now=0.0)
    for new in range(39, 89):  # moved fifty times within the hour: none of these closed one yet
        assert hours.day(gains(new), END, 24, now=0.0) == before


def test_an_hour_that_was_told_is_never_told_otherwise() -> None:
    store = Store.in_memory()
    first = ClosedHours(store, "k").day(gains(26, 1, 2), END, 24, now=0.0)
    again = ClosedHours(store, "k").day(gains(26, 1, 2, moved=-400), END, 24, now=0.0)
    assert again == first


def test_hours_leave_after_a_day_and_a_chain_that_begins_anew_has_none() -> None:
    hours = ClosedHours(Store.in_memory(), "k")
    hours.day(gains(26, 1, 2), END, 24, now=0.0)
    later = hours.day((), END + DAY - HOUR, 24, now=0.0)
    assert later is not None
    assert later.gained == 7
    assert hours.day((), END - DAY, 24, now=0.0) is None


DAYS = (("01 Nov", 5.0, 2.0), ("02 Nov", 4.0, 8.5))


def figures(told: Sequence[KeyFigure]) -> list[float]:
    return [float(one.words.replace("$", "").replace("−", "-")) for one in told]


def test_the_sum_the_whole_and_the_rest() -> None:
    held = Known(Fraction(3), "storage")
    told = days_sum(DAYS, held, WorthUnit.USD, since_opened=True)
    together, rest, whole = figures(told)
    assert (together, whole) == (-1.5, 3.0)
    assert together + rest == whole
    assert [one.tone for one in told] == ["bad", "good", "good"]
    odd = days_sum(
        (("01 Nov", 1.004, 0.0),),
        Known(Fraction("2.009"), "storage"),
        WorthUnit.USD,
        since_opened=True,
    )
    assert figures(odd) == [1.0, 1.01, 2.01], "what is shown adds up"
    assert not any("01 Nov" in one.label for one in told)
    _, rest_since, _ = days_sum(DAYS, held, WorthUnit.USD, since_opened=False)
    assert "before 01 Nov" in rest_since.label


def test_nothing_is_made_of_what_is_unknown() -> None:
    told = days_sum(DAYS, Unknown("no archive"), WorthUnit.USD, since_opened=True)
    assert figures(told) == [-1.5]
    assert days_sum((), Known(Fraction(3), "storage"), WorthUnit.USD, since_opened=True) == ()
