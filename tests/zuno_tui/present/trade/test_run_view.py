"""A run of the trade desk as it is shown: message by message, and all of it from its plan."""

import re

import pytest
from msgspec.structs import replace

from agents.bus.run import Listener
from agents.trade.facts import HeldContract
from agents.trade.payloads import ContextGathered
from agents.trade.terms import Bias, ExpertName, SectionName, SectionStatus, TradeDecision
from tests.agents.trade.cases import HEDGED, NOW, context, question
from tests.agents.trade.desks import Seen, argue, observer
from tests.fakes.exchange import ExchangeDouble, Refusal
from tests.zuno_tui.screen.trade_scenes import HEDGING
from zuno_tui.features.trade.drawing import (
    bias_counts,
    conflict_lines,
    head_lines,
    is_in_columns,
    lamp_lines,
    sections,
    table_lines,
    without_orphan,
)
from zuno_tui.features.trade.run_parts import TradeRunView
from zuno_tui.features.trade.run_view import (
    run_begun,
    run_failed,
    run_heard,
    run_lines,
    run_of_plan,
)
from zuno_tui.present.charts import StyledText, plain
from zuno_tui.present.output import cell_width

EXPERTS_HEARD = 4
"""How many cards are filled when the map is drawn."""


async def _watched() -> list[TradeRunView]:
    """A run after each of its messages."""
    views = [run_begun("req_trade", "hedge of #28", "swing")]
    listener = Listener(on_message=lambda payload: views.append(run_heard(views[-1], payload)))
    asked = question(hedge=HEDGED)
    async with observer(ExchangeDouble()) as eyes:
        seen = await eyes.look(asked)
    done = await argue(asked, Seen(seen), listener=listener)
    assert done.ended.plan is not None
    assert views[-1] == run_of_plan(done.ended.plan, "req_trade")
    return views


async def test_a_run_fills_as_it_is_heard_and_ends_as_its_plan() -> None:
    views = await _watched()

    heard = [sum(bool(card.bias) for card in view.experts) for view in views]
    assert heard == sorted(heard)
    assert {1, 2, 3, EXPERTS_HEARD} <= set(heard)
    mapped = next(view for view in views if view.conflicts is not None)
    assert sum(bool(card.bias) for card in mapped.experts) == EXPERTS_HEARD
    rungs = [sum(bool(row.decision) for row in view.ladder) for view in views]
    assert rungs == sorted(rungs)
    assert {0, 3, 4, 5} <= set(rungs)
    assert [view.working for view in views][-1] == ""
    assert all(view.working for view in views[:-1])
    assert views[-1].next_phrase == "approve"
    assert views[-1].ref == HEDGED.token_id


async def _ended(double: ExchangeDouble) -> TradeRunView:
    async with observer(double) as eyes:
        plan = (await argue(question(), eyes)).ended.plan
    assert plan is not None
    assert plan.decision is TradeDecision.HOLD
    return run_of_plan(plan, "req")


async def test_a_hold_by_failure_is_no_hold_by_judgment() -> None:
    judged = await _ended(ExchangeDouble())
    failed = await _ended(ExchangeDouble(faults={"/fapi/v1/time": Refusal(451)}))
    ended = run_failed(run_begun("req", "ETHUSDT", "swing"), "it was ended")

    kinds = [view.verdict and view.verdict.kind for view in (judged, failed, ended)]
    assert kinds == ["holds", "failed", "failed"]
    first, second = (plain(head_lines(view, 80)[0]) for view in (judged, failed))
    assert first[0] != second[0], "by more than its colour"
    assert [row.decision for row in failed.ladder] == [""] * 5
    assert failed.next_phrase == ""


def test_every_source_is_a_lamp_with_its_age_and_none_where_nothing_was_read() -> None:
    begun = run_begun("req", "ETHUSDT", "swing")
    assert {lamp.state for lamp in begun.lamps} == {"waiting"}
    gathered = context(funding={"rate": 0.0001}, cvd={"cvd_24h": 1.0})
    aged = gathered.model_copy(
        update={
            "sections": tuple(
                one.model_copy(update={"as_of": NOW - 7_200, "status": SectionStatus.STALE})
                if one.name is SectionName.CVD
                else one
                for one in gathered.sections
            )
        }
    )
    view = run_heard(replace(begun, read_at=NOW), ContextGathered(context=aged))

    about = {lamp.title: lamp for lamp in view.lamps}
    assert len(about) == 12
    assert (about["funding"].state, about["funding"].age) == ("fresh", "0 s")
    assert (about["net buying"].state, about["net buying"].age) == ("stale", "2 h")
    assert (about["news"].state, about["news"].age) == ("missing", "")
    assert sum(plain(line).count("○") for line in lamp_lines(view, 80)) == 10


async def test_a_hedge_that_experts_would_not_make_bears_no_star_and_says_why() -> None:
    asked = question(hedge=HEDGED)
    async with observer(ExchangeDouble()) as eyes:
        plan = (await argue(asked, eyes)).ended.plan
    assert plan is not None
    hedge = plan.hedge
    assert hedge is not None

    def head(argued: float | None, liquidity: Bias = Bias.NEUTRAL) -> list[str]:
        judged = hedge.model_copy(update={"argued": argued})
        biases = {ExpertName.LIQUIDITY: liquidity, ExpertName.GEOMETRY: Bias.BULLISH}
        findings = tuple(
            finding.model_copy(update={"directional_bias": biases[finding.expert]})
            for finding in plan.findings
            if finding.expert in biases
        )
        assert plan.conflicts is not None
        leans = plan.conflicts.model_copy(update={"dominant_signal": Bias.BULLISH})
        told = {"hedge": judged, "findings": findings, "conflicts": leans}
        view = run_of_plan(plan.model_copy(update=told), "req")
        return [plain(line) for line in head_lines(view, 150)[:3]]

    star, less, nothing = (head(argued) for argued in (None, 0.5, 0.0))
    assert (star[0][0], less[0][0], nothing[0][0]) == ("★", "▸", "▸")
    assert less[2].endswith("and would hedge only 50%.")
    assert nothing[2].endswith("and would hedge nothing.")
    even, most = (head(0.0, bias)[2] for bias in (Bias.BEARISH, Bias.BULLISH))
    assert "The experts are split (1 bullish, 1 bearish) and would hedge" in even
    assert "The experts lean bullish (2 bullish) and would hedge" in most


async def test_coins_of_one_column_have_one_precision_and_gains_a_colour() -> None:
    view = (await _watched())[-1]
    assert view.verdict is not None
    exposure, moves = (
        next(table for table in view.verdict.tables if table.title.startswith(title))
        for title in ("EXPOSURE", "IF ")
    )

    decimals = {len(row.first.partition(".")[2]) for row in exposure.rows}
    assert decimals == {len(row.second.partition(".")[2]) for row in exposure.rows}
    assert len(decimals) == 1
    tones = {
        piece.text.strip()[:2]: piece.tone
        for line in table_lines(moves, 100)
        for piece in line
        if piece.text.strip()[:2] in ("−$", "+$")
    }
    assert tones == {"−$": "bad", "+$": "good"}


async def test_no_line_is_longer_than_there_is_room() -> None:
    for view in await _watched():
        for width in (76, 114, 194):
            assert max(map(cell_width, run_lines(view, width))) <= width


@pytest.mark.parametrize("other", [0.0, 2.0])
async def test_where_the_venue_would_close_is_told_with_all_that_is_held(
    other: float,
) -> None:
    asked = question(hedge=HEDGED)
    held = HeldContract(venue="paper", symbol="SOLUSDT", quantity=other, entry=150.0, mark=150.0)
    facts = asked.account.model_copy(update={"positions": (held,) if other else ()})
    asked = asked.model_copy(update={"account": facts})
    async with observer(ExchangeDouble()) as eyes:
        seen = await eyes.look(asked)
    plan = (await argue(asked, Seen(seen))).ended.plan
    assert plan is not None
    assert plan.hedge is not None
    assert plan.equity is not None
    told = run_of_plan(plan, "").verdict
    assert told is not None
    table = next(table for table in told.tables if table.title == "ACCOUNT")
    row = next(row for row in table.rows if row.name == "liquidation")

    price = float(row.second.lstrip("$").replace(",", ""))
    move = price / plan.mark - 1
    short, long = plan.hedge.reached * price, other * 150.0 * (1 - move)
    left = plan.equity - plan.hedge.reached * (price - plan.mark) - other * 150.0 * move
    # A dollar of the price.
    assert left == pytest.approx(0.005 * (short + long), abs=plan.hedge.reached + other)
    assert ("all else" in row.beside) is bool(other)


async def test_what_the_short_loses_beyond_the_range_is_what_is_sold() -> None:
    verdict = (await _watched())[-1].verdict
    assert verdict is not None
    exposure = next(table for table in verdict.tables if table.title == "EXPOSURE")
    short = next(row.second for row in exposure.rows if row.name.endswith("short"))

    lost, rise = (
        int(dollars.replace(",", "")) for dollars in re.findall(r"\$([\d,]+)", verdict.against[0])
    )

    assert lost == round(float(short.replace(",", "")) * rise)
    assert verdict.closed_by == f"unhedge {HEDGED.token_id}"


def test_a_conflict_repeats_no_sentence_of_its_experts_and_counts_all_of_them() -> None:
    drawn = "\n".join(plain(line) for line in conflict_lines(HEDGING, 120))

    assert "liquidity against microstructure" in drawn
    assert not any(card.says in drawn for card in HEDGING.experts)
    assert bias_counts(HEDGING.experts) == "1 bullish, 2 bearish, 1 neutral"
    assert bias_counts(HEDGING.experts) in drawn


def test_orders_stand_right_under_the_headline_and_made_up_money_is_called_so() -> None:
    real = [plain(line) for line in head_lines(replace(HEDGING, venue="binance"), 76)]
    paper = [plain(line) for line in head_lines(HEDGING, 76)]

    assert paper[0] == f"{real[0]} · PAPER: no real money"
    assert paper.index("ORDERS  to close it later: unhedge 28") < min(
        place for place, line in enumerate(paper) if line.startswith("EXPOSURE")
    )
    assert "at the market price" in " ".join(" ".join(paper).split())


def test_what_a_wide_hedge_does_stands_right_of_what_it_is() -> None:
    wide = [plain(line) for line in head_lines(HEDGING, 194)]

    (orders,) = [line for line in wide if line.startswith("ORDERS")]
    assert "IF ETH MOVES" in orders
    assert {line.find("A USUAL WEEK") for line in wide} == {-1, orders.find("IF ETH MOVES")}
    assert all(
        line.startswith(("ORDERS", "EXPOSURE", "ACCOUNT")) for line in wide if "now " in line
    )


def test_a_hedge_without_moves_keeps_its_experts_below_at_any_width() -> None:
    assert HEDGING.verdict is not None
    assert is_in_columns(HEDGING, 194)
    assert "EXPERTS" in "".join(plain(line) for line in head_lines(HEDGING, 194, whole=True))
    tables = tuple(table for table in HEDGING.verdict.tables if not table.beside)
    without = replace(HEDGING, verdict=replace(HEDGING.verdict, tables=tables))
    assert not is_in_columns(without, 194)
    assert [section.title for section in sections(without, whole=True)] == ["EXPERTS"]


def test_what_is_gained_and_lost_is_drawn_on_one_scale() -> None:
    assert HEDGING.verdict is not None
    (moves,) = [table for table in HEDGING.verdict.tables if table.title == "IF ETH MOVES"]

    def drawn(width: int) -> list[str]:
        return [plain(line)[38:] for line in table_lines(moves, width)]

    assert drawn(82)[1:5] == [
        "  ○─────────────────●                │    ",
        "                      ○────────●     │    ",
        "                                ●────┼───○",
        "                       ●─────────────┼───○",
    ]
    assert not any("●" in line for line in drawn(50))


def test_what_speaks_against_a_hedge_is_read_before_its_orders() -> None:
    assert HEDGING.verdict is not None
    for width in (76, 114, 194):
        lines = [plain(line) for line in head_lines(HEDGING, width)]
        (orders,) = [place for place, line in enumerate(lines) if line.startswith("ORDERS")]
        head = " ".join(" ".join(lines[:orders]).split())
        assert all(words in head for words in HEDGING.verdict.against)


def test_no_heading_is_the_last_line_in_sight() -> None:
    lines = [(StyledText("words"),), (StyledText("TITLE", "title"),), (StyledText("row"),)]

    assert [plain(line) for line in without_orphan(lines, 2)] == ["words", "", "TITLE", "row"]
    assert without_orphan(lines, 3) == lines
    assert without_orphan(lines, 1) == lines
