"""Earlier plans are judged at the desk once a day is over, and a new plan says how they did."""

from __future__ import annotations

from typing import TYPE_CHECKING

from chain.base.units import DAY, HOUR
from chain.protocols.reference import v4_position
from tests.zuno_tui.desk.sitting import opening, sitting
from zuno_tui.catalog.intents import Recommend
from zuno_tui.desk.events import PageReady, PlanChanged
from zuno_tui.features.lab.commands.scorecard import ShowScorecard

if TYPE_CHECKING:
    from pathlib import Path

    from chain.devnet.launch import DevnetReady
    from tests.zuno_tui.desk.conftest import Node


def told(changed: PlanChanged) -> str:
    """What the plan's sentence ends with."""
    assert changed.view is not None
    return changed.view.recommendation.rsplit(". ", 1)[-1]


async def test_a_second_plan_says_how_the_first_did(
    devnet: DevnetReady, node: Node, tmp_path: Path
) -> None:
    token_id = v4_position(node("zuno_status")["positions"]["healthy"])
    async with sitting(opening(tmp_path, devnet.url)) as desk:
        await desk.ask(Recommend(token_id))
        first = await desk.until(PlanChanged)
        await desk.desk.idle()
        after_one = len(desk.heard)
        head = node("eth_getBlockByNumber", "latest", False)
        node("evm_mine", hex(int(head["timestamp"], 16) + DAY + HOUR))
        await desk.ask(Recommend(token_id))
        await desk.desk.idle()
        shown = [one for one in desk.heard[after_one:] if isinstance(one, PlanChanged)]
        await desk.ask(ShowScorecard())
        page = await desk.until(PageReady)

    assert " such " not in told(first)
    assert " such " not in told(shown[0])
    assert told(shown[1]) == "1 of 1 such plan to keep it beat closing after 1 day."
    assert shown[0].view is not None
    assert shown[1].view is not None
    assert shown[0].view.plan_id == shown[1].view.plan_id
    assert page.title == "zuno scorecard"
    assert any(line.startswith("keep") and "1 of 1" in line for line in page.lines)
