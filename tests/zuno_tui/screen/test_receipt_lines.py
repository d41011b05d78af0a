"""How the receipt and the steps fill the cells there are."""

import pytest
from msgspec.structs import replace

from tests.zuno_tui.screen.scenes import APPLIED, APPROVAL
from zuno_tui.present.charts import plain
from zuno_tui.present.receipt_lines import cost_words, receipt_lines, receipt_width, step_lines
from zuno_tui.present.views import StepPermission, StepProgress, StepView
from zuno_tui.screen.panes.result import applied_lines, copied_hashes

PROGRESS = tuple(
    StepProgress(f"{step.name}: included in block {place}", "done", 31_204_118 + place)
    for place, step in enumerate(APPROVAL.steps)
)


@pytest.mark.parametrize("width", [60, 75, 120, 200])
def test_dollars_end_in_one_column_not_far_from_their_words(width: int) -> None:
    assert APPROVAL.receipt is not None
    told = [plain(line) for line in receipt_lines(APPROVAL, width)]
    ends = tuple(line.dollars for line in APPROVAL.receipt.lines if line.dollars)
    priced = [line for line in told if line.endswith(ends)]

    assert max(map(len, told)) <= min(width, receipt_width(APPROVAL))
    assert len(priced) == len(ends)
    assert len({len(line) for line in priced}) == 1


@pytest.mark.parametrize("width", [40, 60, 75, 200])
def test_no_line_ends_between_a_figure_and_its_unit(width: int) -> None:
    for line in (*receipt_lines(APPROVAL, width), *step_lines(APPROVAL, (), width)):
        assert not plain(line).strip().startswith(("WETH", "USDC", "UTC", "–"))


@pytest.mark.parametrize("width", [50, 75, 200])
def test_the_block_of_a_step_has_a_column_of_its_own(width: int) -> None:
    _, *told = (plain(line) for line in step_lines(APPROVAL, PROGRESS, width))
    blocks = [line for line in told if "block" in line]

    assert len(blocks) == len(APPROVAL.steps)
    assert {len(line) for line in blocks} == {len(blocks[0])}
    assert all("✓ " in line for line in blocks)
    assert max(map(len, told)) <= width


def test_why_a_step_stopped_is_told_whole() -> None:
    why = "the pool refused it, and said at length what it would have taken instead"
    stopped = StepProgress(f"close #7: reverted ({why})", "stopped", 7)

    told = " ".join(" ".join(plain(line) for line in step_lines(APPROVAL, (stopped,), 60)).split())

    assert f"✗ 1 close #7 · reverted ({why})" in told


def test_a_hash_is_short_a_link_or_whole_by_what_the_terminal_can() -> None:
    assert APPLIED.result is not None
    known, unknown = APPLIED.result.sent

    def drawn(*, links: bool, whole: bool = False) -> str:
        lines = applied_lines(APPLIED, result, 120, links=links, whole=whole)
        return "\n".join(line.plain for line in lines)

    result = replace(APPLIED.result, sent=(known, unknown))
    assert known.url is not None
    assert known.url in drawn(links=False)
    assert known.url not in drawn(links=True)
    assert unknown.hash not in drawn(links=False)
    assert unknown.hash in drawn(links=False, whole=True)
    assert copied_hashes(result.sent) == f"{known.url}\n{unknown.hash}"


@pytest.mark.parametrize("width", [50, 75, 120])
def test_what_was_sent_is_told_whole_however_narrow_it_is(width: int) -> None:
    assert APPLIED.result is not None
    step = "close #26, sell 1.2 WETH, open 2,910.3 – 3,290.1 in WETH/USDC 0.05%"
    sent = tuple(replace(each, step=step) for each in APPLIED.result.sent)

    result = replace(APPLIED.result, lines=(), sent=sent)
    lines = [line.plain for line in applied_lines(APPLIED, result, width, links=True)]

    assert max(map(len, lines)) <= width
    told = "\n".join(lines)
    for words in step.split():
        assert told.count(words) >= len(sent)
    assert told.count("block ") >= len([each for each in sent if each.block is not None])


def test_steps_of_one_transaction_share_what_becomes_of_it() -> None:
    together = replace(APPROVAL, as_one=True)
    count = len(APPROVAL.steps)
    heading, *_ = (plain(line) for line in step_lines(together, (), 75))
    done, *rows = (plain(line) for line in step_lines(together, PROGRESS[:1], 75))

    assert heading == f"1 TRANSACTION, {count} STEPS  all or nothing"
    assert done == f"{count} OF {count} DONE"
    # The two permissions are one row.
    assert sum("block 31,204,118" in row for row in rows) == count - 1


def test_permissions_that_end_in_one_transaction_are_one_row_and_else_a_row_each() -> None:
    ending = tuple(
        StepView(name, (), f"take back {name}", "revoke", (spender, token))
        for name, spender, token in (
            ("a", "UniversalRouter", "WETH"),
            ("b", "Permit2", "WETH"),
            ("c", "UniversalRouter", "USDC"),
        )
    )
    steps = (*APPROVAL.steps, *ending)
    together = replace(APPROVAL, steps=steps, as_one=True)

    folded, apart = (
        [plain(line).strip() for line in step_lines(approval, (), 120)]
        for approval in (together, replace(APPROVAL, steps=steps))
    )

    words = "revoke the WETH and USDC allowances of UniversalRouter and Permit2"
    assert f"revoke      5–7 {words}" in folded
    assert "allow       2–3 let PositionManager move up to 2.4152 WETH and 4,415.3 USDC" in folded
    assert not any("stays open" in line for line in folded)
    assert not any("○" in line for line in folded)
    assert [line[-11:] for line in apart if "take back " in line] == [
        "take back a",
        "take back b",
        "take back c",
    ]
    assert "may stop half-way" in apart[0]


def test_two_permissions_of_one_amount_are_one_row_until_they_are_sent() -> None:
    twice = tuple(
        StepView(
            spender,
            (),
            f"let {spender}",
            "approve",
            allows=StepPermission(spender, "2 WETH", until),
        )
        for spender, until in (("Permit2", ""), ("UniversalRouter", "09:39 UTC"))
    )
    approval = replace(APPROVAL, steps=(*twice, *APPROVAL.steps[-1:]))
    waiting, sent = (
        [plain(line) for line in step_lines(approval, progress, 120)]
        for progress in ((), PROGRESS[:1])
    )

    words = "○ 1–2 up to 2 WETH: Permit2 (no expiry), UniversalRouter (until 09:39 UTC)"
    assert words in waiting[1]
    assert "○ 3 sell" in waiting[2]
    assert [line.split()[-1] for line in sent[2:3]] == ["UniversalRouter"]


def test_permissions_that_stay_open_are_said_with_their_end_and_how_to_end_them() -> None:
    drawn = " ".join(plain(line).strip() for line in step_lines(APPROVAL, (), 120))

    assert "let PositionManager move 2.4152 WETH until 2026-01-12 09:39 UTC" in drawn
    assert "unused ones stay" in drawn
    assert drawn.endswith("until you run zuno revoke --all")


def test_permissions_of_unlike_amounts_are_not_put_into_one_sentence() -> None:
    unlike = tuple(
        replace(step, allows=StepPermission(f"spender {place}", f"{place} WETH"))
        if step.allows is not None
        else step
        for place, step in enumerate(APPROVAL.steps)
    )
    together = replace(APPROVAL, steps=unlike, as_one=True)

    rows = [plain(line) for line in step_lines(together, (), 120)]

    assert sum("let PositionManager move" in row for row in rows) == 2


def test_the_contract_of_a_delegated_account_is_named_and_how_that_ends() -> None:
    together = replace(APPROVAL, as_one=True, executor="0x63c0e32B (batch executor)")

    lines = [*step_lines(together, (), 120)]
    drawn = " ".join(plain(line).strip() for line in lines)

    assert "The delegation to 0x63c0e32B (batch executor). It acts only" in drawn
    assert "zuno wallet undelegate" in drawn
    assert "If 4 fails after 1" not in drawn
    amber = [line for line in lines if any(piece.tone == "warn" for piece in line)]
    assert "0x63c0e32B" in plain(amber[0])


def test_what_is_held_where_a_later_transaction_fails_is_amber() -> None:
    (amber,) = [
        plain(line).strip()
        for line in step_lines(APPROVAL, (), 120)
        if any(piece.tone == "warn" for piece in line)
    ]

    held = "If 4 fails after 1, you hold 2.42331 WETH + 4,424.9 USDC and no position."
    assert amber.split(maxsplit=1) == ["half-way", held]


def test_the_title_tells_what_it_costs_and_at_most_or_that_nothing_bounds_it() -> None:
    assert APPROVAL.receipt is not None
    assert cost_words(APPROVAL) == "costs $17.81, at most $24.12"
    unbound = replace(APPROVAL.receipt, most_cost=None)
    words = cost_words(replace(APPROVAL, receipt=unbound))
    assert words == "costs $17.81, no known maximum"
    assert cost_words(replace(APPROVAL, receipt=None)) == ""
