"""A wallet with positions of Uniswap v3 and v4: in every command, by names that never meet."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from chain.contracts.networks import network_named
from chain.devnet.launch import DevnetReady
from chain.protocols.reference import PositionRef, v3_position, v4_position
from tests.embedded_chain import embedded_chain
from tests.zuno_tui.conftest import CommandLine
from tests.zuno_tui.desk.sitting import opening, sitting
from zuno_tui.catalog.command import Command
from zuno_tui.catalog.interpret import interpret
from zuno_tui.catalog.only_read import OtherProtocolError, refuse_other_protocols
from zuno_tui.catalog.registry import registry
from zuno_tui.commands.position_actions import ClosePosition
from zuno_tui.desk.events import DetailReady, PlanChanged, PositionsChanged
from zuno_tui.intents.context import PhraseContext, SpokenPosition
from zuno_tui.intents.intent import Intent, flat
from zuno_tui.intents.intents import Inspect, Recommend
from zuno_tui.prompt.create_phrase import parse_create

FIGURES = ("liquidity", "amount0", "amount1", "fees0", "fees1", "tick", "sqrtPriceX96")
ARGUED = "--deterministic"
READS: dict[str, tuple[str, ...]] = {
    "inspect": (),
    "history": (),
    "range": ("2500", "3700"),
    "recommend": (ARGUED,),
    "move": ("2500", "3700"),
    "migrate": (ARGUED,),
}
"""The commands that take a position of v3, with what else they are told."""
ACTS: dict[str, tuple[str, ...]] = {
    "close": (),
    "collect": (),
    "compound": ("3:5",),
    "decrease": ("25",),
    "increase": ("1", "USDC"),
}
"""Those that prepare something to sign; 3:4 alone is out of range."""
ONLY_V4: dict[str, tuple[str, ...]] = {
    "hedge": (),
    "unhedge": (),
    "watch-ids": (),
}
"""Those that are for positions of v4."""


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
    parts = ("value", "feesValue", "withdrawnValue")
    sums = [sum(one[part] for one in mixed["positions"]) for part in parts]
    assert mixed["total"] == pytest.approx(sum(sums), abs=1e-4)
    assert (mixed["uncollected"], mixed["withdrawn"]) == pytest.approx(sums[1:], abs=1e-4)
    # What #3:4 had taken out of its range is no fee.
    assert 0 < sums[1] < 1_000 < sums[2]
    standing = [(one["inRange"], one["fees1"] != "0") for one in of["v3"]]
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
    assert "unknown" not in three["sinceEntry"]


@pytest.mark.parametrize("command", ACTS)
def test_what_moves_money_is_built_for_the_manager_that_knows_the_position(
    zuno: CommandLine, there: tuple[str, ...], command: str
) -> None:
    """Position 4 of v4 is there, too, and is another's."""
    more = ACTS[command]
    approved = zuno(command, "3:4", *more, *there, "--json")
    assert approved.code == 0, approved.words
    v3 = network_named("devnet").v3
    assert v3 is not None
    steps = approved.data["transactions"]
    assert v3.position_manager in {step["to"].lower() for step in steps}
    other = zuno(command, "4", *(one for one in more if one != "3:5"), *there)
    assert other.code != 0
    assert "belongs to" in other.words


@pytest.mark.parametrize("command", ONLY_V4)
def test_what_is_for_v4_alone_says_so(
    zuno: CommandLine, there: tuple[str, ...], command: str
) -> None:
    verb, more = command.split(), ONLY_V4[command]
    spoken = zuno(*verb, "3:4", *more, *there)
    assert (spoken.code, spoken.out) == (1, "")
    assert f"`{verb[-1]}` works on v4 only so far, and 3:4 is of v3." in spoken.words
    other = zuno(*verb, "4", *more, *there)
    assert "v3" not in other.words + other.out


@pytest.mark.parametrize("command", READS)
def test_what_reads_takes_both_and_never_one_for_the_other(
    zuno: CommandLine, there: tuple[str, ...], command: str
) -> None:
    told = {name: zuno(command, name, *READS[command], *there, "--json") for name in ("3:4", "4")}
    assert told["3:4"].code == 0, told["3:4"].words
    named = {name: _about(one.data) for name, one in told.items()}
    assert named["3:4"] == "3:4"
    assert named["4"] in ("4", None)
    spoken = zuno(command, "3:4", *READS[command], *there)
    assert "#-" not in spoken.out + spoken.words
    assert "-4" not in (spoken.out + spoken.words).split()


def _about(document: dict[str, Any]) -> str | None:
    """The position a document is about; None where it says that there is nothing to tell."""
    if "stories" in document:
        return next((name for one in document["stories"] for name in one["positions"]), None)
    found: str = document["tokenId"] if "tokenId" in document else document["position"]
    return found


@pytest.mark.pure
def test_both_tables_name_every_command_that_takes_a_position() -> None:
    named = {name.split()[-1] for name in (*READS, *ACTS, *ONLY_V4)}
    # Orders have a file of their own; theirs are called close and collect, too.
    assert {command.name for command in _with_positions()} | {"range"} == named | {"form", "places"}


def test_a_plan_is_approved_as_one_of_v4_is(zuno: CommandLine, there: tuple[str, ...]) -> None:
    moved = zuno("move", "3:3", "2500", "3700", *there)
    assert "Uniswap's page" not in moved.out
    approved = zuno("approve", "--candidate", "A", *there, "--json")
    assert approved.code == 0, approved.words
    steps = [one["step"] for one in approved.data["transactions"]]
    assert [one for one in steps if not one.startswith("allow")] == ["exit", "swap", "create"]
    plan = zuno("recommend", "3:3", ARGUED, *there)
    assert "Keep 3:3 as it is" in plan.out
    shown = zuno("plan", *there, "--json").data
    assert shown["position"] == "3:3"
    assert shown["sources"]["pool"].startswith("the pool's contract, block")
    assert shown["pools"][0]["edge7d"] > 0


def test_history_and_its_csv_sum_to_what_is_owned(
    zuno: CommandLine, there: tuple[str, ...]
) -> None:
    whole = zuno("history", *there, "--json").data
    owned = zuno("portfolio", *there, "--json").data
    assert sum(one["usd"] for one in whole["entries"]) == pytest.approx(owned["total"], abs=0.05)
    assert {name for one in whole["stories"] for name in one["positions"]} >= {"3:3", "3:4"}
    rows = zuno("history", "3:3", "--csv", *there).out.splitlines()
    head, *told = [row.split(",") for row in rows]
    assert {row[head.index("position")] for row in told} == {"3:3"}


def test_sums_count_both(zuno: CommandLine, there: tuple[str, ...]) -> None:
    whole = zuno("portfolio", *there, "--json").data
    listed = zuno("positions", *there, "--json").data
    [entry] = whole["wallets"]
    assert entry["positions"]["found"] == listed["found"]
    moved = zuno("what-if", "ETH", "-10", *there, "--json").data
    assert len(moved["positions"]) == listed["found"]
    assert not any(one["inRangeNow"] for one in moved["positions"] if one["now"] == 0)
    counted = zuno("what-if", "ETH", "-10", *there, "--unit", "eth", "--json").data
    ether_then = 0.9 * moved["now"] / counted["now"]
    assert counted["then"] == pytest.approx(moved["then"] / ether_then, rel=1e-6)
    earned = zuno("earned", *there, "--json").data
    assert not [one for one in earned["missing"] if one.startswith("3:")]
    drill = zuno("exit-drill", *there)
    assert "14 of 14 positions can be closed now" in drill.out
    assert drill.out.count("3:") >= 4


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
    assert all(one["nextCommand"].endswith("recommend 3:4") for one in mine)
    assert not [one for one in alerts if one["positionId"] == "4"]
    assert "The loss of" not in polled.words + polled.out


def _with_positions() -> list[Command]:
    commands = [command for each in registry().commands for command in (each, *each.subcommands)]
    return [
        command
        for command in commands
        if {"ref", "refs"} & {argument.value_name for argument in flat(command.intent.arguments)}
    ]


@pytest.mark.pure
def test_a_command_takes_positions_of_every_protocol_unless_it_says_otherwise() -> None:
    for command in _with_positions():
        names = {argument.value_name for argument in flat(command.intent.arguments)}
        asked = _OfSeveral() if "refs" in names else _OfOne()
        if any(name.split()[-1] == command.name and name in ONLY_V4 for name in ONLY_V4) and (
            command.only_on
        ):
            with pytest.raises(OtherProtocolError):
                refuse_other_protocols(command, asked)
        else:
            refuse_other_protocols(command, asked)
    restricted = {command.name for command in _with_positions() if command.only_on}
    assert restricted == {name.split()[-1] for name in ONLY_V4}


class _OfOne(Intent, frozen=True):
    ref: PositionRef = v3_position(7)


class _OfSeveral(Intent, frozen=True):
    refs: tuple[PositionRef, ...] = (v4_position(7), v3_position(7))


@pytest.mark.pure
@pytest.mark.parametrize(
    ("typed", "intent"),
    [
        ("inspect 3:12", Inspect(v3_position(12))),
        ("3:12", Inspect(v3_position(12))),
        ("close 3:12", ClosePosition((v3_position(12),))),
        ("recommend 3:12", Recommend(v3_position(12))),
        ("close 12", ClosePosition((v4_position(12),))),
    ],
)
def test_what_is_typed_names_one_protocol(typed: str, intent: object) -> None:
    held = (v4_position(3), v4_position(12), v3_position(12))
    context = PhraseContext(positions=held, held=())
    assert interpret(typed, context, registry()).intents == (intent,)
    assert intent.twin.split()[-1] == typed.rsplit(maxsplit=1)[-1]  # type: ignore[attr-defined]


@pytest.mark.pure
@pytest.mark.parametrize(
    ("phrase", "protocol"),
    [
        ("0.5 WETH with USDC in a v3 pool", "v3"),
        ("0.5 WETH and 1500 USDC on v3 between 2800 and 3400", "v3"),
        ("0.5 WETH/USDC v4 0.3%", "v4"),
        ("0.5 WETH with USDC", None),
    ],
)
def test_where_a_position_is_opened_can_be_said(phrase: str, protocol: str | None) -> None:
    assert parse_create(phrase, network_named("devnet")).goal.protocol == protocol


async def test_the_desk_shows_both_and_acts_on_both(both: DevnetReady, tmp_path: Path) -> None:
    async with sitting(opening(tmp_path, both.url)) as desk:
        told = await desk.until(PositionsChanged, lambda told: told.view.block is not None)
        assert [row.ref for row in told.view.rows][-4:] == list(map(v3_position, (3, 4, 5, 6)))
        assert told.view.found == "15 of 15 found"
        await desk.ask(Inspect(v3_position(4)))
        detail = await desk.until(DetailReady)
        assert detail.view.title.startswith("3:4 WETH/USDC 0.05%")
        assert [told.view for told in desk.heard if isinstance(told, DetailReady)]
        place = len(desk.heard)
        await desk.ask(ClosePosition((v3_position(4),)))
        shown = await desk.until(
            PlanChanged,
            lambda told: told.view is not None and told.view.approval is not None,
            since=place,
        )
        assert shown.view is not None
        assert shown.view.approval is not None
        assert shown.view.approval.headline == "Close position 3:4"
        await desk.ask(Recommend(v3_position(4)))
        shown = await desk.until(
            PlanChanged, lambda told: told.view is not None and bool(told.view.options)
        )
        assert shown.view is not None
        assert shown.view.ref == v3_position(4)


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
    held = tuple(
        SpokenPosition(v4_position(number), "WETH/USDC", "0.3%", "in range")
        for number in (3, 12, 26)
    )
    context = PhraseContext(
        positions=(v4_position(3), v4_position(12), v4_position(26)),
        held=held,
        alerts=("1",),
        alerts_of=(("1", v4_position(12)),),
    )
    meant = interpret(said, context, registry())
    numbers = {
        one
        for intent in meant.intents
        for one in (getattr(intent, "ref", None), *getattr(intent, "refs", ()))
    }
    lines = " ".join(word for line in meant.lines for word in line.split())
    if "3:12" in said:
        assert not {3, 12} & numbers
        assert not {"3", "12", "#3", "#12", "1"} & set(lines.split())
    else:
        assert not [one for one in numbers if isinstance(one, int) and one < 0]
        assert "3:" not in lines


def test_a_position_is_opened_in_a_pool_of_v3(zuno: CommandLine, there: tuple[str, ...]) -> None:
    goal = "0.5 WETH with USDC in a v3 pool between 2700 and 3400"
    assert zuno("create", goal, *there).code == 0
    approved = zuno("approve", "--candidate", "A", *there, "--json")
    assert approved.code == 0, approved.words
    steps = [one["step"] for one in approved.data["transactions"]]
    assert [one for one in steps if not one.startswith("allow")] == ["swap", "create"]
    done = zuno(
        *("apply", approved.data["planId"], "--confirm", approved.data["hash"], "--anyway"),
        *there,
        "--json",
    )
    assert done.code == 0, done.words
    assert zuno("positions", *there, "--json").data["positions"][-1]["tokenId"] == "3:7"
