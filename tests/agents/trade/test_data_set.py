"""The data set: valid lines of numbers and codes, only ever added to, and bounded."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from agents.trade.data_set import DataSet, EndedRow, RunRow, run_row
from tests.agents.trade.cases import HEDGED, question
from tests.agents.trade.desks import Seen, argue
from tests.agents.trade.offices import rising_market

if TYPE_CHECKING:
    from pathlib import Path

    from agents.trade.plan import TradePlan

SECRET = "sk-live-abcdef0123456789"


async def _plan() -> TradePlan:
    seen = rising_market()
    told = tuple(one.model_copy(update={"text": SECRET}) for one in seen.sections)
    asked = question(hedge=HEDGED)
    done = await argue(asked, Seen(seen.model_copy(update={"sections": told})))
    assert done.ended.plan is not None
    return done.ended.plan


async def test_a_run_is_one_valid_line_without_anybody_s_words(tmp_path: Path) -> None:
    plan = await _plan()
    DataSet(tmp_path).add(run_row(plan, "req_1"))

    [line] = (tmp_path / "data-set.jsonl").read_bytes().splitlines()
    row = msgspec.json.decode(line, type=RunRow)

    assert (row.plan_id, row.request_id, row.decision) == (plan.plan_id, "req_1", plan.decision)
    assert len(row.sources) == 12
    assert len(row.experts) == 4
    assert [one.stage for one in row.stages] == [one.stage for one in plan.ladder]
    assert SECRET.encode() not in line
    assert plan.reason.encode() not in line
    assert (tmp_path / "data-set.jsonl").stat().st_mode & 0o077 == 0


def test_lines_are_added_and_the_oldest_file_is_let_go(tmp_path: Path) -> None:
    rows = [EndedRow(f"plan_{number}", number, "stop", 3000.0, 2950.0, -1.7) for number in range(9)]
    size = len(msgspec.json.encode(rows[0])) + 1
    kept = DataSet(tmp_path, most_bytes=3 * size)
    for row in rows[:7]:
        kept.add(row)

    assert list(kept.rows()) == rows[3:7]
    assert {path.name for path in tmp_path.glob("*.jsonl")} == {
        "data-set.jsonl",
        "data-set.older.jsonl",
    }
    with (tmp_path / "data-set.jsonl").open("ab") as file:
        file.write(b'{"row":"ended","planId')
    kept.add(rows[7])
    assert list(kept.rows()) == [*rows[3:7], rows[7]]
