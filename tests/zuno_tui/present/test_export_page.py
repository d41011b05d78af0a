"""What is handed to another signer, as people see it."""

import pytest

from zuno_tui.present.charts import plain
from zuno_tui.present.pages.export import ExportedPlan, ExportedStep, export_page
from zuno_tui.present.pages.page import draw_page

_ROUTER, _TOKEN = "0x" + "ab" * 20, "0x" + "cd" * 20
_DEADLINE = 1_768_180_500


def _plan(*, for_safe: bool, has_own_key: bool = False) -> ExportedPlan:
    steps = (
        ExportedStep("approve WETH", _TOKEN, 0, None),
        ExportedStep("open WETH/USDC", _ROUTER, 15 * 10**17, _DEADLINE),
    )
    return ExportedPlan(
        plan_id="plan_77",
        headline="Open a position",
        coin="ETH",
        sender=_ROUTER,
        for_safe=for_safe,
        has_own_key=has_own_key,
        expires_at=_DEADLINE,
        steps=steps,
    )


@pytest.mark.parametrize("width", [80, 120, 200])
@pytest.mark.parametrize("for_safe", [True, False])
def test_each_transaction_stands_with_its_value_and_its_deadline(
    width: int, *, for_safe: bool
) -> None:
    lines = [plain(line) for line in draw_page(export_page(_plan(for_safe=for_safe)), width)]
    told = " ".join(" ".join(lines).split())
    assert max(map(len, lines)) <= width
    assert "2 transactions to sign elsewhere" in told
    assert "1.5 2026-01-12 01:15 UTC" in told
    assert "none" in told
    # The file is saved already: only another form of it has to be written.
    assert "batch.json" not in told
    assert ("zuno export plan_77 --format raw > transactions.json" in told) is for_safe


def test_a_batch_for_a_safe_says_so_to_a_wallet_that_is_none() -> None:
    def told(plan: ExportedPlan) -> str:
        return " ".join(plain(line) for line in draw_page(export_page(plan), 200))

    own = told(_plan(for_safe=True, has_own_key=True))
    assert "a Safe cannot send this batch" in own
    assert "zuno apply plan_77" in own
    assert "Transaction Builder" not in own
    unknown = told(_plan(for_safe=True))
    assert "only if that address is a Safe" in unknown
    assert "Transaction Builder" in unknown
    listed = told(_plan(for_safe=False, has_own_key=True))
    assert "Safe" not in listed
