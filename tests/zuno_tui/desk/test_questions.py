"""Ten questions of a provider: within three keys at the desk, by one command in a shell, alike."""

import asyncio
import re
from collections.abc import Awaitable, Callable
from functools import partial
from pathlib import Path

import pytest

from chain.devnet.launch import DevnetReady
from tests.zuno_tui.desk.sitting import opening, sitting
from tests.zuno_tui.screen.scenes import MORNING, ScriptedLink, desk_app, play, text_of
from zuno_tui.catalog.interpret import FilledLine, understand
from zuno_tui.catalog.registry import registry
from zuno_tui.cli import main
from zuno_tui.desk.events import (
    AlertsChanged,
    DetailReady,
    PageReady,
    PortfolioChanged,
    PositionsChanged,
)
from zuno_tui.intents.context import PhraseContext
from zuno_tui.intents.intent import Intent
from zuno_tui.intents.intents import Inspect, ShowPortfolio
from zuno_tui.intents.phrase_error import Misunderstood
from zuno_tui.present.charts import plain
from zuno_tui.present.pages.page import draw_page
from zuno_tui.present.terminal import cell_width

PAGES = {
    "what did i earn this month": ("E", "zuno earned month"),
    "what has it cost me in all, and what is my profit": ("H", "zuno history"),
    "what would closing everything bring": ("X", "zuno exit-drill"),
    "am i better than holding, and what did today, the week and the month bring": (
        "P",
        "zuno portfolio",
    ),
    "what does this one hold, earn and lose": ("enter", "zuno inspect 7"),
}


@pytest.mark.parametrize("question", PAGES)
@pytest.mark.real_time
async def test_a_key_asks_what_the_command_asks(question: str) -> None:
    key, command = PAGES[question]
    link = ScriptedLink()
    async with desk_app(link).run_test(size=(120, 36)) as pilot:
        await play(pilot, *MORNING)
        await pilot.press("1", "g", key)
        await pilot.pause()

    [asked] = link.intents
    assert asked.twin.split()[:2] == command.split()[:2]


@pytest.mark.real_time
async def test_what_needs_no_key_stands_on_the_desk() -> None:
    """What all is worth, what waits, how many are in range, and what needs somebody."""
    async with desk_app(ScriptedLink()).run_test(size=(120, 36)) as pilot:
        await play(pilot, *MORNING)
        await pilot.pause()
        header = text_of(pilot, "#glance")

    assert re.search(r"\$[\d,]+", header)
    assert "to collect" in header
    assert "in range" in header


DRAWN = (
    *("earned month", "earned today", "earned all", "exit drill", "history", "history 26"),
    *("balances", "what-if ETH -10", "what-if ETH 10", "orders", "price ETH", "gas"),
    *("glossary lvr", "allowances"),
)
WIDTH = 118


def figures(words: str) -> list[str]:
    return re.findall(r"[+−]?\$[\d,.]+\d", words)


def typed(line: str) -> Intent:
    meant = understand(line, PhraseContext(), registry())
    assert not isinstance(meant, FilledLine | Misunderstood)
    return meant


@pytest.fixture
def shell(
    devnet: DevnetReady,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> Callable[[str], Awaitable[str]]:
    async def said(line: str) -> str:
        flags = ["--network", "devnet", "--rpc", devnet.url, "--home", str(tmp_path)]
        capsys.readouterr()
        assert await asyncio.to_thread(main, [*line.split(), *flags]) == 0
        shown = capsys.readouterr()
        return shown.out + shown.err

    return said


@pytest.mark.usefixtures("changed_world")
async def test_the_desk_and_the_shell_tell_the_same_figures(
    devnet: DevnetReady,
    tmp_path: Path,
    shell: Callable[[str], Awaitable[str]],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async with sitting(opening(tmp_path, devnet.url)) as desk:
        told = await desk.until(
            PositionsChanged, lambda told: bool(told.view.glance and told.view.glance.day)
        )
        alerts = await desk.until(AlertsChanged, lambda told: len(told.view.rows) > 2)
        rows = {row.ref: row for row in told.view.rows}
        glance = told.view.glance
        assert glance is not None

        # A page of the screen and the answer in a shell are the same lines.
        monkeypatch.setenv("COLUMNS", str(WIDTH))
        for line in DRAWN:
            await desk.ask(typed(line))
            page = await desk.until(PageReady, partial(_is_about, typed(line).twin))
            said = await shell(typed(line).twin.removeprefix("zuno "))
            if page.view is None:
                assert " ".join(" ".join(page.lines).split()) in " ".join(said.split()), line
                continue
            drawn = [plain(row).rstrip() for row in draw_page(page.view, WIDTH)]
            for width in (74, WIDTH, 194):
                lines = draw_page(page.view, width)
                assert max(cell_width(plain(row)) for row in lines) <= width
            assert "\n".join(drawn) in said, line

        monkeypatch.delenv("COLUMNS")

        # What has #26 cost, through every move: one row of the history.
        await desk.ask(typed("history"))
        page = await desk.until(PageReady, partial(_is_about, "history"))
        costs = next(row for row in (await shell("history 26")).splitlines() if "#26" in row)
        wanted = {"#26", *figures(costs)}
        assert any(wanted <= {"#26", *figures(row)} for row in page.lines if "#26" in row)

        # Am I better than holding: the portfolio's total, and the sum of the rows.
        await desk.ask(ShowPortfolio())
        await desk.desk.idle()
        total = desk.heard_last(PortfolioChanged).view.total
        assert f"vs hold {total.result}" in await shell("earned all")
        month = await shell("earned month")
        assert f"fees {total.month}" in month

        # What is it worth, what waits, what is out of range, and one position.
        whole = await shell("portfolio")
        assert glance.worth in whole.splitlines()[0]
        for earned in desk.heard_last(PortfolioChanged).view.rows:
            assert any(
                earned.name in line and earned.worth in line and earned.result in line
                for line in whole.splitlines()
            )
        listed = await shell("positions")
        assert glance.fees == whole_dollars(
            next(line for line in listed.splitlines() if "uncollected" in line)
        )
        out = [row for row in rows.values() if row.standing == "out of range"]
        assert listed.count("out of range") == len(out) > 0
        token_id = next(iter(rows))
        await desk.ask(Inspect(token_id))
        detail = (await desk.until(DetailReady)).view
        shown_worth = next(
            each.words for each in detail.figures if each.label == "worth before fees"
        )
        assert shown_worth == rows[token_id].value
        assert shown_worth in await shell(f"inspect {token_id}")

        # What needs me now.
        needs = await shell("alerts")
        for row in alerts.view.rows:
            if row.state == "open" and row.ref is not None:
                assert f"#{row.ref}" in needs


def _is_about(line: str, told: PageReady) -> bool:
    return line in told.title


def whole_dollars(words: str) -> str:
    amount = re.findall(r"\$([\d,]+\.\d+)", words)[-1].replace(",", "")
    return f"${float(amount):,.0f}"


async def test_a_csv_is_a_file_and_no_page(devnet: DevnetReady, tmp_path: Path) -> None:
    async with sitting(opening(tmp_path, devnet.url)) as desk:
        await desk.until(PositionsChanged, lambda told: bool(told.view.rows))
        await desk.ask(typed("history csv"))
        page = await desk.until(PageReady, partial(_is_about, "history"))

    [written] = (tmp_path / "exports").iterdir()
    told = page.lines[-1]
    assert written.suffix == ".csv"
    assert str(written) in told
    rows = written.read_text("utf-8").splitlines()
    assert told.startswith(f"Saved {len(rows):,} lines: ")
    assert len(rows) > 20
