"""One file makes a command: on the command line, at the prompt, in the palette and in the help."""

import json
import shlex
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import zuno_tui.commands
from chain.base.units import read_numeral
from chain.protocols.reference import v4_position
from tests.zuno_tui.desk.sitting import opening, sitting
from tests.zuno_tui.screen.scenes import desk_app
from zuno_tui.catalog.command import Command
from zuno_tui.catalog.completion import completions
from zuno_tui.catalog.interpret import understand
from zuno_tui.catalog.registry import command_named, registry
from zuno_tui.cli import main
from zuno_tui.cli.parser import build_parser
from zuno_tui.commands.alerts import ListAlerts
from zuno_tui.commands.balances import ShowBalances
from zuno_tui.commands.devnet import RunDevnet
from zuno_tui.commands.export import ExportPlan
from zuno_tui.commands.position_actions import CollectFees, DecreasePosition, IncreasePosition
from zuno_tui.commands.revoke import Revoke
from zuno_tui.commands.wallet_actions import UnwrapEth
from zuno_tui.desk.events import PageReady
from zuno_tui.intents.context import PhraseContext
from zuno_tui.intents.intent import Intent, flat
from zuno_tui.intents.intents import (
    Acknowledge,
    Apply,
    Approve,
    CreatePosition,
    MuteAlert,
    OpenOutbox,
    Recommend,
    UseWallet,
)
from zuno_tui.present.exit_codes import DONE
from zuno_tui.screen.app.palette import DeskCommands
from zuno_tui.screen.screens.help import HelpScreen

_NEW_COMMAND = """
from typing import ClassVar

from zuno_tui.catalog.command import Command, Group, Verb
from zuno_tui.intents.intent import Argument, Intent
from zuno_tui.catalog.command import always


class Greet(Intent, frozen=True):
    command: ClassVar = ("greet",)
    arguments: ClassVar = (
        Argument("person", "whom", metavar="NAME"),
        Argument("--loudly", "in capitals", switch=True),
    )

    person: str
    loudly: bool = False


async def _answer(session, asked):
    from zuno_tui.present.answer import CommandAnswer

    words = f"Hello {asked.person}"
    words = words.upper() if asked.loudly else words
    return CommandAnswer(lines=(words,), document={"network": session.network.name, "words": words})


def _read(said):
    person = said.text
    said.restart("").end()
    return Greet(person)


COMMAND = Command(
    name="greet",
    does="say hello to somebody",
    group=Group.SETUP,
    intent=Greet,
    answer=_answer,
    verbs=(Verb("greet", _read, "greet NAME", spoken=("say hello to",)),),
    suggest=always(Greet("Ada")),
)
"""


@pytest.fixture
def greet(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Command]:
    folder = tmp_path / "more"
    folder.mkdir()
    (folder / "greet.py").write_text(_NEW_COMMAND, "utf-8")
    monkeypatch.setattr(zuno_tui.commands, "__path__", [*zuno_tui.commands.__path__, str(folder)])
    registry.cache_clear()
    yield next(one for one in registry().commands if one.name == "greet")
    registry.cache_clear()
    del sys.modules["zuno_tui.commands.greet"]
    del zuno_tui.commands.greet  # type: ignore[attr-defined]


def test_one_file_is_a_command_line_with_json_and_help(
    greet: Command, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    home = ("--home", str(tmp_path))

    assert main(["greet", "Ada", "--loudly", *home]) == DONE
    assert capsys.readouterr().out == "HELLO ADA\n"
    assert main(["greet", "Ada", "--json", "--network", "base", *home]) == DONE
    assert json.loads(capsys.readouterr().out) == {"network": "base", "words": "Hello Ada"}
    assert greet.does in build_parser(registry().on_command_line()).format_help()
    with pytest.raises(SystemExit):
        main(["greet", "--help"])
    assert "in capitals" in capsys.readouterr().out


async def test_one_file_is_a_phrase_with_its_page_at_the_desk(
    greet: Command, tmp_path: Path
) -> None:
    asked = understand("say hello to Ada", PhraseContext(), registry())

    assert isinstance(asked, Intent)
    assert asked == greet.intent(person="Ada")
    assert asked.twin == "zuno greet Ada"
    assert [one.means for one in completions("gre", PhraseContext(), registry())] == [greet.does]
    async with sitting(opening(tmp_path, "http://127.0.0.1:9")) as desk:
        await desk.ask(asked)
        page = await desk.until(PageReady)
    assert page.lines == ("Hello Ada",)
    assert page.title == asked.twin


@pytest.mark.real_time
async def test_one_file_is_in_the_palette_and_in_the_help(greet: Command) -> None:
    async with desk_app().run_test() as pilot:
        hits = [hit async for hit in DeskCommands(pilot.app.screen).discover()]
        offered = {hit.text: hit.help or "" for hit in hits}
        assert offered["greet Ada"] == f"{greet.does[0].upper()}{greet.does[1:]}"

        pilot.app.push_screen(HelpScreen(None))
        await pilot.pause()
        shown = str(pilot.app.screen.query("Static").first().render())
    assert "greet NAME" in shown
    assert greet.does in shown


def _everything(commands: tuple[Command, ...]) -> Iterator[Command]:
    for command in commands:
        yield command
        yield from command.subcommands


def test_every_command_can_be_run_and_every_argument_is_a_field_of_its_intent() -> None:
    opens_the_desk = {("desk",), ("demo",), ("init",), ("look",)}
    assert all(command_named(one.name) is one for one in registry().commands)
    for command in _everything(registry().commands):
        fields = command.intent.__struct_fields__
        assert {one.value_name for one in flat(command.intent.arguments)} <= set(fields)
        ways = (command.run, command.answer, command.action)
        if command.on_command_line and not command.needs_subcommand:
            assert any(ways) != (command.intent.command in opens_the_desk), command.name


def test_no_two_commands_share_a_phrase_or_an_intent() -> None:
    every = list(_everything(registry().commands))
    phrases = [
        phrase
        for command in every
        for verb in command.verbs
        for phrase in (verb.name, *verb.spoken)
    ]
    intents = [command.intent for command in every if not command.needs_subcommand]

    assert sorted(phrases) == sorted(set(phrases))
    assert len(intents) == len(set(intents))


@pytest.mark.parametrize(
    "asked",
    [
        Recommend(v4_position(7), "aggressive"),
        CreatePosition("0.5 WETH with USDC; rm -rf ~"),
        Approve("plan_00ff", "exit"),
        Apply("plan_00ff"),
        ExportPlan(format="raw"),
        CollectFees((v4_position(7),)),
        DecreasePosition(v4_position(7), 25),
        IncreasePosition(v4_position(7), "1500.25", "USDC"),
        UnwrapEth(read_numeral("2500")),
        Revoke("USDC", "Permit2"),
        Revoke(everything=True),
        OpenOutbox("speed-up", "plan_00ff"),
        ListAlerts(ended=True),
        Acknowledge("all"),
        MuteAlert("3", 7_200),
        UseWallet("0x" + "ab" * 20),
        RunDevnet(port=0),
        ShowBalances(),
    ],
    ids=lambda asked: asked.twin,
)
def test_a_twin_asks_for_the_same(asked: Intent) -> None:
    parsed = build_parser(registry().on_command_line()).parse_args(shlex.split(asked.twin)[1:])

    assert parsed.chosen.intent.from_namespace(parsed) == asked
