"""The network cost that a plan counts on and the gas that carrying it out takes, by protocol."""

from collections.abc import Iterator
from itertools import product
from pathlib import Path

import pytest

from agents.monitor.alerts.alert import AlertKind
from agents.monitor.alerts.store import AlertStore
from agents.monitor.poll import Watch, poll_once
from agents.monitor.rules.thresholds import Thresholds, WatchSettings
from agents.numbers.costs import UNSUBSCRIBING, CostedRecipe, gas_units
from chain.base.home import Home
from chain.devnet.launch import DevnetReady
from tests.agents.monitor.made_up_alerts import NOW
from tests.agents.monitor.test_several_wallets import sources_of
from tests.embedded_chain import embedded_chain
from tests.printed import printed
from tests.samples import some_of
from tests.zuno_tui.gate.desk import Desk

UNWRITTEN = {"3:3": 2, "3:4": 0, "3:5": 2, "3:6": 1}
"""In how many tokens each has fees that its manager did not write down yet."""
IN_V4 = ("27", "30", "37")
SUBSCRIBED = "29"
WAYS = ("in steps", "as one")
MOVES = [
    (*move, way)
    for way in WAYS
    for move in (*((name, True) for name in (*UNWRITTEN, *IN_V4)), ("3:3", False), ("3:5", False))
]


@pytest.fixture(scope="module")
def chain() -> Iterator[DevnetReady]:
    with embedded_chain(v3=True) as ready:
        yield ready


def used_by(desk: Desk, *words: str) -> int:
    """The gas of a plan, carried out."""
    approval = desk.approved(*words)
    confirmed = (approval["planId"], "--confirm", approval["hash"], "--anyway", "--json")
    spoken = desk.apply_here(*confirmed)
    assert spoken.code == 0, spoken.words
    return sum(int(each["gasUsed"]) for each in spoken.data["transactions"])


def assert_within(what: str, used: int, most: float) -> None:
    """What is promised covers it; in v4 it is one figure for new ticks and for those in use."""
    printed(f"{what}: {used:,} gas of {most:,.0f} expected")
    assert 0.72 * most <= used <= most


LEAVING = {"collect": CostedRecipe.COLLECT, "close": CostedRecipe.EXIT}


@pytest.mark.parametrize(
    ("command", "name"),
    some_of(product(LEAVING, [*UNWRITTEN, "26", SUBSCRIBED, "30", "34", "37"]), 1, seed=4),
)
def test_collecting_and_closing_take_what_is_expected(desk: Desk, command: str, name: str) -> None:
    protocol = "v3" if name in UNWRITTEN else "v4"
    most = gas_units(protocol, LEAVING[command], UNWRITTEN.get(name, 0), as_one=False)
    most += UNSUBSCRIBING if name == SUBSCRIBED else 0
    assert_within(f"{command} {name}", used_by(desk, command, name), most)


@pytest.mark.parametrize(
    ("way", "name"),
    some_of(product(WAYS, ["26", "27", SUBSCRIBED, "30", "34", "36", "37"]), 2, seed=5),
)
def test_a_move_without_a_swap_takes_what_is_expected(desk: Desk, name: str, way: str) -> None:
    if way == "as one":
        desk.delegate()
    price = float(desk.positions()[name]["price"])
    prices = (f"{price * 0.9:.6g}", f"{price * 1.1:.6g}")
    most = gas_units("v4", CostedRecipe.RERANGE, as_one=way == "as one")
    most += UNSUBSCRIBING if name == SUBSCRIBED else 0
    assert_within(f"move {name} {way}", used_by(desk, "move", name, *prices, "--no-swap"), most)


@pytest.mark.parametrize(("name", "swaps", "way"), some_of(MOVES, 2, seed=57))
def test_a_move_takes_what_its_plan_counts_on(desk: Desk, name: str, swaps: bool, way: str) -> None:
    if way == "as one":
        desk.delegate()
    plan = desk.approved("recommend", name, "--deterministic")
    move = next(
        one
        for one in plan["candidates"]
        if bool(one["prepAction"]) is swaps and one["judgment"]["verdict"] != "veto"
    )
    protocol = "v3" if name in UNWRITTEN else "v4"
    leaving = gas_units(protocol, CostedRecipe.EXIT, UNWRITTEN.get(name, 0), as_one=False)
    most = leaving * move["gasUsd"] / plan["exit"]["gasUsd"]
    used = used_by(desk, "approve", plan["planId"], "--candidate", str(move["index"]))
    assert_within(f"move {name} {way}, swap: {swaps}", used, most)


async def test_an_alert_counts_collecting_by_the_protocol_of_the_position(
    chain: DevnetReady, tmp_path: Path
) -> None:
    home = Home(root=tmp_path, cache=tmp_path / "cache")
    book = AlertStore.open(home, now=NOW)
    settings = WatchSettings(everywhere=Thresholds(fees_usd=0.01, fees_gas_multiple=0.01))
    async with sources_of(chain) as sources:
        await poll_once(Watch(sources, [chain.wallet]), settings, book, NOW)
    told = {
        str(one.position_id): float(str(one.numbers["gasUsd"]))
        for one in book.current()
        if one.kind == AlertKind.FEES_WORTH_COLLECTING
    }
    of_v4 = gas_units("v4", CostedRecipe.COLLECT, as_one=False)
    for name, unwritten in UNWRITTEN.items():
        of_v3 = gas_units("v3", CostedRecipe.COLLECT, unwritten, as_one=False)
        assert told[name] / told["27"] == pytest.approx(of_v3 / of_v4, rel=0.002)


@pytest.mark.parametrize(
    ("way", "words"),
    some_of(product(WAYS, [("3:3",), ("3:4",), ("27", "to", "v3", "0.05%"), ("33",)]), 2, seed=7),
)
def test_a_migration_takes_what_its_plan_counts_on(
    desk: Desk, words: tuple[str, ...], way: str
) -> None:
    if way == "as one":
        desk.delegate()
    plan = desk.approved("migrate", *words)
    move, name = plan["candidates"][0], words[0]
    protocol = "v3" if name in UNWRITTEN else "v4"
    leaving = gas_units(protocol, CostedRecipe.EXIT, UNWRITTEN.get(name, 0), as_one=False)
    most = leaving * move["gasUsd"] / plan["exit"]["gasUsd"]
    used = used_by(desk, "approve", plan["planId"], "--candidate", "A")
    assert_within(f"migrate {name} {way}", used, most)
