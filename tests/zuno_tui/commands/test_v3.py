"""A wallet with positions of Uniswap v3 and v4: in every command, by names that never meet."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import pytest

from chain.contracts.networks import network_named
from tests.embedded_chain import embedded_chain
from tests.zuno_tui.desk.sitting import opening, sitting
from zuno_tui.catalog.command import Intent, flat
from zuno_tui.catalog.intents import Inspect, Recommend
from zuno_tui.catalog.registry import registry
from zuno_tui.commands.position_actions import ClosePosition
from zuno_tui.desk.events import DetailReady, PositionsChanged, Said
from zuno_tui.present.only_read import OnlyReadError, page_of, refuse_v3
from zuno_tui.prompt.context import PhraseContext, SpokenPosition
from zuno_tui.prompt.interpret import interpret

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from chain.devnet.launch import DevnetReady
    from tests.zuno_tui.conftest import CommandLine
    from zuno_tui.catalog.command import Command

FIGURES = ("liquidity", "amount0", "amount1", "fees0", "fees1", "tick", "sqrtPriceX96")
ANSWER = {"inspect"}
"""The commands that take a position of v3."""


@pytest.fixture(scope="module")
def both() -> Iterator[DevnetReady]:
    with embedded_chain(v3=True) as ready:
        yield ready


@pytest.fixture
def there(both: DevnetReady) -> tuple[str, ...]:
    return ("--network", "devnet", "--rpc", both.url)


def test_one_list_one_sum_and_v4_as_it_is_without_v3(
    zuno: CommandLine, there: tuple[str, ...], on_devnet: tuple[str, ...]
) -> None:
    mixed = zuno("positions", *there, "--json").data
    alone = zuno("positions", *on_devnet, "--json").data
    of = {name: [p for p in mixed["positions"] if p["protocol"] == name] for name in ("v3", "v4")}
    assert mixed["found"] == mixed["balanceOf"] == len(alone["positions"]) + 4
    before = {one["tokenId"]: one for one in alone["positions"]}
    for one in of["v4"]:
        assert {name: one[name] for name in FIGURES} == {
            name: before[one["tokenId"]][name] for name in FIGURES
        }
    assert all(one["tokenId"].startswith("3:") for one in of["v3"])
    worth = sum(one["value"] + one["feesValue"] for one in mixed["positions"])
    assert mixed["total"] == pytest.approx(worth, abs=1e-4)
    standing = [(one["inRange"], one["fees0"] != "0") for one in of["v3"]]
    assert standing == [(True, True), (False, True), (True, True), (True, True)]


def test_people_see_the_protocol_in_the_number(zuno: CommandLine, there: tuple[str, ...]) -> None:
    spoken = zuno("positions", *there, "--since-entry")
    assert spoken.code == 0, spoken.words
    assert "15 of 15 found" in spoken.words
    firsts = [line.split()[0] for line in spoken.out.splitlines() if line.strip()]
    assert [first for first in firsts if first.startswith("3:")] == ["3:3", "3:4", "3:5", "3:6"]


def test_the_same_number_names_two_positions(zuno: CommandLine, there: tuple[str, ...]) -> None:
    three = zuno("inspect", "3:4", *there, "--json").data
    four = zuno("inspect", "4", *there, "--json").data
    assert (three["tokenId"], three["protocol"]) == ("3:4", "v3")
    assert (four["tokenId"], four["protocol"]) == ("4", "v4")
    assert three["poolId"] != four["poolId"]
    assert three["sinceEntry"]["unknown"] == []


@pytest.mark.parametrize(
    "words",
    [
        ("close", "3:4"),
        ("collect", "26", "3:4"),
        ("decrease", "3:4", "25"),
        ("recommend", "3:4"),
        ("range", "3:4"),
        ("history", "3:4"),
    ],
)
def test_what_is_for_v4_says_so(
    zuno: CommandLine, there: tuple[str, ...], words: tuple[str, ...]
) -> None:
    spoken = zuno(*words, *there)
    assert spoken.code == 1
    assert spoken.out == ""
    assert spoken.words.startswith("3:4 is a Uniswap v3 position")
    assert page_of(-4, network_named("devnet")) in spoken.words


def test_sums_count_both(zuno: CommandLine, there: tuple[str, ...]) -> None:
    whole = zuno("portfolio", *there, "--json").data
    listed = zuno("positions", *there, "--json").data
    [entry] = whole["wallets"]
    assert entry["positions"]["found"] == listed["found"]
    moved = zuno("what-if", "ETH", "-10", *there, "--json").data
    assert len(moved["positions"]) == listed["found"]
    earned = zuno("earned", *there, "--json").data
    assert not [one for one in earned["missing"] if one.startswith("3:")]
    drill = zuno("exit-drill", *there)
    assert "4 positions of v3 were not tried." in drill.words


def test_alerts_name_the_protocol_and_thresholds_find_it(
    zuno: CommandLine, there: tuple[str, ...], both: DevnetReady
) -> None:
    zuno.home.mkdir(parents=True, exist_ok=True)
    (zuno.home / "settings.toml").write_text(
        '[monitor.positions."3:4"]\nfees_usd = 1000000\nloss = 0.05\n', "utf-8"
    )
    polled = zuno("monitor", "--once", *there, "--address", both.wallet)
    assert polled.code == 0, polled.words
    alerts: list[dict[str, Any]] = zuno("alerts", *there, "--json").data["alerts"]
    mine = [one for one in alerts if one["positionId"] == "3:4"]
    assert [one["kind"] for one in mine] == ["out_of_range"]
    assert all(one["nextCommand"].endswith("inspect 3:4") for one in mine)
    assert not [one for one in alerts if one["positionId"] == "4"]
    assert "The loss of" not in polled.words + polled.out


def _with_positions() -> list[Command]:
    commands = [command for each in registry().commands for command in (each, *each.subcommands)]
    return [
        command
        for command in commands
        if {"token_id", "token_ids"}
        & {argument.value_name for argument in flat(command.intent.arguments)}
    ]


@pytest.mark.pure
def test_no_command_takes_a_position_of_v3_unless_it_says_so() -> None:
    network = network_named("base")
    taking = {command.name for command in _with_positions() if command.takes_v3}
    assert taking == ANSWER
    for command in _with_positions():
        names = {argument.value_name for argument in flat(command.intent.arguments)}
        asked = _OfSeveral() if "token_ids" in names else _OfOne()
        if command.name in ANSWER:
            refuse_v3(command, asked, network)
            continue
        with pytest.raises(
            OnlyReadError, match=re.escape("https://app.uniswap.org/positions/v3/base/7")
        ):
            refuse_v3(command, asked, network)


class _OfOne(Intent, frozen=True):
    token_id: int = -7


class _OfSeveral(Intent, frozen=True):
    token_ids: tuple[int, ...] = (7, -7)


@pytest.mark.pure
@pytest.mark.parametrize(
    ("typed", "intent"),
    [
        ("inspect 3:12", Inspect(-12)),
        ("3:12", Inspect(-12)),
        ("close 3:12", ClosePosition((-12,))),
        ("recommend 3:12", Recommend(-12)),
        ("close 12", ClosePosition((12,))),
    ],
)
def test_what_is_typed_names_one_protocol(typed: str, intent: object) -> None:
    context = PhraseContext(positions=(3, 12), held=())
    assert interpret(typed, context, registry()).intents == (intent,)
    assert intent.twin.split()[-1] == typed.rsplit(maxsplit=1)[-1]  # type: ignore[attr-defined]


async def test_the_desk_shows_both_and_refuses_what_is_for_v4(
    both: DevnetReady, tmp_path: Path
) -> None:
    async with sitting(opening(tmp_path, both.url)) as desk:
        told = await desk.until(PositionsChanged, lambda told: told.view.block is not None)
        assert [row.token_id for row in told.view.rows][-4:] == [-3, -4, -5, -6]
        assert told.view.found == "15 of 15 found"
        await desk.ask(Inspect(-4))
        detail = await desk.until(DetailReady)
        assert detail.view.title.startswith("3:4 WETH/USDC 0.05%")
        for intent in (ClosePosition((-4,)), Recommend(-4)):
            place = len(desk.heard)
            await desk.ask(intent)
            said = await desk.until(Said, since=place)
            assert said.words.startswith("3:4 is a Uniswap v3 position")


@pytest.mark.pure
@pytest.mark.parametrize(
    "said",
    [
        "please close 3:12 and 26",
        "take half out of 3:12",
        "close all my positions",
        "collect everything",
        "how is 3:12 doing",
        "what should i do with 3:12",
        "mute alerts for 3:12 for 2h",
    ],
)
def test_a_sentence_never_takes_one_protocol_for_the_other(said: str) -> None:
    """Position 12 of v4 is held, and 12 of v3 is not 12 of v4."""
    held = tuple(SpokenPosition(number, "WETH/USDC", "0.3%", "in range") for number in (3, 12, 26))
    context = PhraseContext(positions=(3, 12, 26), held=held, alerts=("1",), alerts_of=(("1", 12),))
    meant = interpret(said, context, registry())
    numbers = {
        one
        for intent in meant.intents
        for one in (getattr(intent, "token_id", None), *getattr(intent, "token_ids", ()))
    }
    lines = " ".join(word for line in meant.lines for word in line.split())
    if "3:12" in said:
        assert not {3, 12} & numbers
        assert not {"3", "12", "#3", "#12", "1"} & set(lines.split())
    else:
        assert not [one for one in numbers if isinstance(one, int) and one < 0]
        assert "3:" not in lines
