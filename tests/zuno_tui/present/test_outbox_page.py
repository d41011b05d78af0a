"""The outbox: what was only approved is told apart from what was sent."""

import pytest

from tests.zuno_tui.screen.visit_scenes import SENT
from zuno_tui.present.charts import plain
from zuno_tui.present.pages.outbox import outbox_page
from zuno_tui.present.pages.page import draw_page
from zuno_tui.present.views import DispatchView

APPROVED = DispatchView(
    "plan_00112233aabbccdd",
    1_768_250_000.0,
    "Close #26",
    "approved, not applied",
    (("close #26", "approved", ""),),
    (),
    (),
    most_gas="0.0004053 ETH",
)


@pytest.mark.parametrize("width", [80, 120, 200])
def test_what_was_only_approved_stands_apart_with_what_it_may_cost(width: int) -> None:
    lines = [plain(line) for line in draw_page(outbox_page((APPROVED, *SENT)), width)]
    assert max(map(len, lines)) <= width
    assert "2 sent · 1 approved and not sent" in " ".join(lines)
    approved, sent = (
        next(place for place, line in enumerate(lines) if title in line)
        for title in ("APPROVED, NOT SENT", "  SENT")
    )
    of_plan = next(place for place, line in enumerate(lines) if "Close #26" in line)
    others = [place for place, line in enumerate(lines) if "Collect the fees of #7" in line]
    assert approved < of_plan < sent < others[0]
    assert any("0.0004053 ETH" in line for line in lines[approved:sent])


def test_nothing_is_said_of_what_is_not_there() -> None:
    told = " ".join(plain(line) for line in draw_page(outbox_page(SENT), 120))
    assert "2 sent" in told
    assert "NOT SENT" not in told
