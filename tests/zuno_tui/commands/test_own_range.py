"""Ranges of one's own, near an edge too, and plain questions."""

from fractions import Fraction
from math import isqrt
from pathlib import Path

import pytest
from msgspec import Struct

from agents.lp.evaluation_context import own_ticks
from agents.lp.plan import OwnRange
from agents.numbers.shapes import ShapeError
from chain.base.spelling import one_slip_apart
from chain.base.units import DAY
from chain.contracts.networks import NATIVE, network_named
from chain.devnet.launch import DevnetReady
from chain.math.ticks import sqrt_price_at_tick
from chain.positions.by_day import DayOfRange
from chain.tokens import Token
from chain.tokens.pair import Pair
from tests.zuno_tui.desk.sitting import opening, sitting
from zuno_tui.app.earned import days_in
from zuno_tui.app.range import range_of_pair
from zuno_tui.app.what_if import moved_sqrt_price
from zuno_tui.catalog.interpret import interpret
from zuno_tui.catalog.registry import registry
from zuno_tui.cli import main
from zuno_tui.commands.catalog.saying import interpretation_document
from zuno_tui.commands.glossary import glossary_answer
from zuno_tui.commands.what_if import read_change, read_level
from zuno_tui.desk.events import PositionsChanged
from zuno_tui.intents.context import PhraseContext
from zuno_tui.intents.phrase_error import PhraseError
from zuno_tui.present.glossary import GLOSSARY, term_named
from zuno_tui.prompt.create_phrase import parse_create
from zuno_tui.settings import SettingsError

WETH, USDC = "0x" + "11" * 20, "0x" + "22" * 20
ETHEREUM = network_named("ethereum")


class _Pool(Struct, frozen=True):
    currency0: str
    currency1: str
    tick_spacing: int = 60


def _pair(*, inverted: bool) -> Pair:
    weth = Token(WETH, "WETH", 18, verified=True, suspicious=False)
    usdc = Token(USDC, "USDC", 6, verified=True, suspicious=False)
    return Pair(usdc, weth, inverted=True) if inverted else Pair(weth, usdc, inverted=False)


@pytest.mark.parametrize("inverted", [False, True])
def test_the_edges_lie_where_the_prices_were_named(inverted: bool) -> None:
    pair = _pair(inverted=inverted)
    pool = _Pool(pair.token0.address, pair.token1.address)

    ticks = own_ticks(range_of_pair(pair, ("3,300", "$2.9k")), pool)  # type: ignore[arg-type]

    edges = sorted(
        float(pair.price_text(sqrt_price_at_tick(tick)).replace(",", ""))
        for tick in (ticks.lower, ticks.upper)
    )
    assert ticks.lower < ticks.upper
    assert ticks.lower % pool.tick_spacing == ticks.upper % pool.tick_spacing == 0
    assert edges == pytest.approx([2900, 3300], rel=0.004)


def test_a_range_within_one_tick_is_none() -> None:
    own = OwnRange(token=WETH, quote=USDC, low=2.9e-9, high=2.9001e-9)

    with pytest.raises(ShapeError):
        own_ticks(own, _Pool(WETH, USDC))  # type: ignore[arg-type]


def test_a_coin_stands_for_what_wraps_it() -> None:
    own = OwnRange(token=NATIVE, quote=USDC, low=2.9e-9, high=3.3e-9)
    wrapped = OwnRange(token=WETH, quote=USDC, low=2.9e-9, high=3.3e-9)
    pools = (_Pool(WETH, USDC), _Pool(USDC, WETH))

    for pool in pools:
        assert own_ticks(own, pool) == own_ticks(wrapped, pool)  # type: ignore[arg-type]


@pytest.mark.parametrize("prices", [("2900", "2900"), ("0", "3300"), ("-5", "3300"), ("x", "1")])
def test_what_is_no_range_is_refused(prices: tuple[str, str]) -> None:
    with pytest.raises(SettingsError):
        range_of_pair(_pair(inverted=False), prices)


@pytest.mark.parametrize(
    "phrase",
    [
        "0.5 WETH/USDC between 2900 and 3300",
        "0.5 WETH with USDC from 2.9k to 3.3k",
        "1,000 USDC with WETH, between $3,300-$2,900",
    ],
)
def test_create_takes_a_range_of_ones_own(phrase: str) -> None:
    read = parse_create(phrase, ETHEREUM)

    assert read.own_range is not None
    assert (read.own_range.low, read.own_range.high) == (2.9e-9, 3.3e-9)
    assert parse_create(read.understood, ETHEREUM).own_range == read.own_range


@pytest.mark.parametrize(
    "phrase", ["0.5 WETH between 1 and 2", "0.5 WETH/USDC between 2900", "1 WETH/USDC from cheap"]
)
def test_half_a_range_is_refused(phrase: str) -> None:
    with pytest.raises(PhraseError):
        parse_create(phrase, ETHEREUM)


@pytest.mark.parametrize(("share", "near"), [("0.0", False), ("1.0", True)])
def test_the_command_line_follows_the_setting(
    share: str,
    near: bool,
    on_devnet: tuple[str, ...],
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    _set(tmp_path, share)
    main(["positions", *on_devnet, "--home", str(tmp_path)])

    printed = capsys.readouterr().out
    assert ("near edge" in printed, " in range" in printed) == (near, not near)


async def test_the_desk_follows_the_setting(devnet: DevnetReady, tmp_path: Path) -> None:
    _set(tmp_path, "1.0")
    async with sitting(opening(tmp_path, devnet.url)) as desk:
        told = await desk.until(PositionsChanged, lambda told: bool(told.view.rows))

    states = {row.standing for row in told.view.rows}
    assert "near edge" in states
    assert "in range" not in states


def _set(home: Path, share: str) -> None:
    home.chmod(0o700)
    path = home / "settings.toml"
    path.write_text(f"[monitor]\nnear_edge = {share}\n", "utf-8")
    path.chmod(0o600)


def test_a_price_moves_by_the_square_of_its_root() -> None:
    now = sqrt_price_at_tick(1_000)
    up, same = Fraction(4), Fraction(1)

    assert moved_sqrt_price(now, up, same) == 2 * now
    assert moved_sqrt_price(now, same, up) == isqrt(now * now // 4)
    assert moved_sqrt_price(now, up, up) == now


def test_a_week_has_the_present_day_and_six_before_it() -> None:
    days = [DayOfRange(day * DAY, 10, 4) for day in range(20)]
    now = 19 * DAY + 5_000

    assert days_in(days, now, 1) == days[-1:]
    assert days_in(days, now, 7) == days[-7:]
    assert days_in(days, now, 30) == days


def test_yesterday_is_the_day_before_the_present_one_alone() -> None:
    days = [DayOfRange(day * DAY, day, 1) for day in range(20)]

    assert days_in(days, 19 * DAY + 5_000, 2, without=1) == days[18:19]


@pytest.mark.parametrize("text", ["-100", "-250", "ten", "", "1e9"])
def test_no_price_falls_by_all_of_itself(text: str) -> None:
    with pytest.raises(ValueError, match="not a change"):
        read_change(text)


def test_changes_and_levels_are_read_as_they_are_said() -> None:
    assert read_change("+12.5%") == "12.5"
    assert read_level("$2.5k") == "2500"


def test_every_term_is_found_by_every_name_and_none_twice() -> None:
    names = [name for term in GLOSSARY for name in (term.name.lower(), *term.also)]

    assert len(names) == len(set(names))
    for term in GLOSSARY:
        assert all(term_named(name) is term for name in (term.name, *term.also))


def test_a_word_the_glossary_lacks_is_refused() -> None:
    with pytest.raises(PhraseError):
        glossary_answer("flux capacitor")


@pytest.mark.parametrize(
    ("phrase", "understood", "commands", "asks"),
    [
        ("exit 26", True, ["zuno close 26"], False),
        ("undo", True, [], False),
        ("decrease 26", True, [], True),
        ("exit", True, [], True),
        ("frob the wibble", False, [], False),
    ],
)
def test_what_a_phrase_comes_to_as_a_document(
    phrase: str, *, understood: bool, commands: list[str], asks: bool
) -> None:
    document = interpretation_document(interpret(phrase, PhraseContext(), registry()))

    assert document["understood"] is understood
    assert document["commands"] == commands
    assert (document["question"] is not None) is asks


@pytest.mark.parametrize(
    ("typed", "apart"),
    [
        ("colect", True),
        ("collectt", True),
        ("cloect", False),
        ("ocllect", True),
        ("collect", False),
    ],
)
def test_one_slip_is_one_letter(typed: str, apart: bool) -> None:
    assert one_slip_apart(typed, "collect") is apart
