"""A plan in one sentence, over every made-up market: what, for how much, and how such did."""

import re

import pytest

from agents.lp.advice_words import move_name, option_index, option_letter
from agents.lp.advising import advice_without_debate
from agents.numbers.advice import DECIDES_ALONE, MOST_EDGE_MEASURED, AdviceReason
from agents.numbers.rounding import gain_over
from agents.numbers.rules import JudgmentVerdict, Rule
from agents.scorecard.score import AdviceKind, BeatCount
from agents.scorecard.track_record import TrackRecord
from chain.base.units import usd
from chain.contracts.pool_key import DYNAMIC_FEE
from tests.agents.lp.debating import argue_over
from tests.agents.lp.made_up import Market
from tests.agents.lp.made_up_markets import STATES, TOKEN_ID, WISHES, create_context, market_context
from tests.agents.lp.second_opinion import waits_beside
from zuno_tui.gate.actions.plan import chosen_candidate
from zuno_tui.gate.refusal import GateRefusedError
from zuno_tui.present.argued_plan import just_argued
from zuno_tui.present.output import cell_width
from zuno_tui.present.plan_card import (
    FIGURES,
    decided_words,
    deciding_figure,
    figures_of,
    limits_broken,
    listed_options,
    option_words,
    plan_lines,
    plan_pools,
    plan_sentence,
    reasons,
)

RECORD = TrackRecord(AdviceKind.MOVE, 7, BeatCount(9, 14, None, None))
PRICES = r"[\d.,]+ – [\d.,]+"
BEGINNINGS = {
    "hold": rf"Keep #{TOKEN_ID} as it is\. ",
    "exit": rf"Close #{TOKEN_ID} and take its tokens back\. (It should|Its pool has) ",
    "move": rf"(Widen|Tighten|Shift) #{TOKEN_ID} to {PRICES}\. It should net \$",
}


@pytest.mark.parametrize("state", STATES)
async def test_a_position_plan_says_what_to_do_with_it(state: str) -> None:
    plan = (await argue_over(market_context(state))).plan
    told = plan_sentence(plan, plan_pools(plan), RECORD)

    assert re.match(BEGINNINGS[plan.choice.kind], told), told
    assert "9 of 14 such moves beat keeping it after 7 days" in told
    assert "approve" not in told
    assert told.endswith(".")
    assert ".." not in told
    # Of a danger it is said whose it is before it is said what it can do.
    danger = plan.choice.codes[0] is AdviceReason.DANGER
    assert ("hook" in told.partition(" It can")[0]) is danger, told


async def test_a_time_that_the_critic_does_not_judge_is_not_on_the_card() -> None:
    beside = 0
    for state in STATES:
        plan = (await argue_over(market_context(state))).plan
        pools = plan_pools(plan)
        for move in plan.candidates:
            assert move.judgment is not None
            judged = {finding.rule for finding in move.judgment.findings}
            cells = figures_of(plan)
            for rule, name in (
                (Rule.BUFFER_FLOOR, "lasts (95%)"),
                (Rule.BREAK_EVEN, "earned back"),
            ):
                cell = cells[name](move, pools.get(move.pool_id))
                assert (cell == "–") is (rule not in judged), (state, name, cell)
                beside += cell == "–"
    assert beside


@pytest.mark.parametrize("wish", [*WISHES, *STATES])
async def test_why_an_option_is_ruled_out_is_told_once(wish: str) -> None:
    context = create_context(wish) if wish in WISHES else market_context(wish)
    plan = (await argue_over(context)).plan
    told = [*reasons(plan, plan_pools(plan))]

    assert len({*told}) == len(told)
    for move in plan.candidates:
        for words in limits_broken(move):
            of_one = words.partition(": ")[2]
            assert sum(of_one in sentence for sentence in told) <= 1, told


@pytest.mark.parametrize("state", STATES)
async def test_what_the_rule_settles_is_decided_by_nobody_else(state: str) -> None:
    context = market_context(state)
    plan = (await argue_over(context)).plan
    told = decided_words(plan)

    by_rule = advice_without_debate(context) is not None and plan.choice.codes[0] in DECIDES_ALONE
    assert (f"decided by the {plan.decided_by}" in told.lower()) is not by_rule


_OFFERED = re.compile(
    r"(\w+) waits for the price, so it is offered, not advised: (\w+) should net (\S+) more\."
)
_HELD_BACK = re.compile(r"(\w) breaks no limit and looks (\S+) better, but .+")


@pytest.mark.parametrize("state", ["idle day", "near the edge", "outside"])
async def test_what_holds_back_an_option_stands_beside_figures_that_agree(state: str) -> None:
    plan = (await argue_over(market_context(state))).plan
    moves = {name.partition(" ")[0]: move for name, move in listed_options(plan).items()}
    nets = {name: move.net_7d for name, move in moves.items()}
    found = 0
    for sentence in reasons(plan, plan_pools(plan)):
        if (offered := _OFFERED.fullmatch(sentence)) is not None:
            less, more, told = offered.groups()
        elif (held := _HELD_BACK.match(sentence)) is not None:
            (more, told), less = held.groups(), "Keep"
            assert not limits_broken(moves[more])
        else:
            continue
        found += 1
        assert told == usd(gain_over(nets[more], nets[less]))
    assert found == 1


@pytest.mark.parametrize("state", ["outside", "near the edge", "stable", "unpriced"])
async def test_options_fit_the_terminal_and_each_stands_there_once(
    state: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    ended = (await argue_over(market_context(state))).ended
    for width in (80, 120, 200):
        monkeypatch.setenv("COLUMNS", str(width))
        lines = [*plan_lines(just_argued(ended, {"transcript": []}, None), {})]
        named = [name.upper() for name in listed_options(ended.plan)] if ended.plan else []
        heads = [line for line in lines if any(name in line for name in named)]
        assert [name for line in heads for name in named if name in line] == named
        assert max(cell_width(line) for text in lines for line in text.splitlines()) <= width


async def test_moves_are_named_by_their_own_widths() -> None:
    left_behind = Market(0.02, 1.6, half_width=0.1, off_centre=2.5, gwei=0.05).position()
    plan = (await argue_over(left_behind)).plan
    assert plan.choice.kind == "move"
    assert figures_of(plan)["judged"](plan.recommended, None) == "chosen"
    assert deciding_figure(plan) == "net next 7 d"
    names = [move_name(each, plan.candidates) for each in plan.candidates]
    kinds = [each.kind for each in plan.candidates]
    swapless = [waits_beside(each) for each in plan.candidates]
    assert [name.endswith("no swap") for name in names] == swapless
    assert ["%" in name for name in names] == [
        kinds.count(kind) > 1 and not waits for kind, waits in zip(kinds, swapless, strict=True)
    ]
    assert len({name.partition(" ")[2] for name in names}) == len(names), "each by its own width"


async def test_where_a_pool_does_not_pay_every_price_and_close_are_listed_first() -> None:
    unpaid = (await argue_over(Market(0.03, 0.9, half_width=0.1).position())).plan
    names = [*listed_options(unpaid)]
    assert names[0].endswith("all prices")
    assert names[1:3] == ["Close", "Keep"]
    paid = (await argue_over(Market(0.03, 1.3, half_width=0.1).position())).plan
    first, *_, last = listed_options(paid)
    assert (first, last) == ("Keep", "Close")


async def test_dollars_above_what_was_measured_say_so() -> None:
    for paid, told in ((1.3, True), (1.1, False)):
        context = Market(0.03, paid, half_width=0.1, off_centre=2.5, gwei=0.05).position()
        plan = (await argue_over(context)).plan
        words = " ".join(reasons(plan, plan_pools(plan)))
        assert plan.pools[0].edge_7d is not None
        assert (plan.pools[0].edge_7d > MOST_EDGE_MEASURED) is told
        assert ("we forecast with at most" in words) is told


@pytest.mark.parametrize(
    ("net", "breaks_even", "judged"),
    [(5.0, True, "allowed"), (-0.01, True, "still loses"), (-0.01, False, "still loses")],
)
async def test_what_never_earns_its_cost_back_is_not_called_passing(
    net: float, judged: str, *, breaks_even: bool
) -> None:
    left_behind = Market(0.02, 1.6, half_width=0.1, off_centre=2.5, gwei=0.05).position()
    plan = (await argue_over(left_behind)).plan
    (move, *_) = [
        each
        for each in plan.candidates
        if each.index != plan.choice.index
        and each.judgment is not None
        and each.judgment.verdict is JudgmentVerdict.ACCEPT
    ]
    told = move.model_copy(update={"net_7d": net, "breaks_even": breaks_even})
    figures = figures_of(plan)

    assert figures["judged"](told, None) == judged
    assert (figures["earned back"](told, None) == "never") is not breaks_even


@pytest.mark.parametrize(
    ("net", "breaks_even", "told"),
    [(5.0, True, "16.0 h"), (-5.0, True, "16.0 h"), (5.0, False, "never"), (None, True, "16.0 h")],
)
async def test_what_loses_earns_nothing_back(
    net: float | None, breaks_even: bool, told: str
) -> None:
    plan = (await argue_over(market_context("outside"))).plan
    figures = {"net_7d": net, "breaks_even": breaks_even, "break_even_hours": 16.0}
    move = plan.candidates[0].model_copy(update=figures)

    assert figures_of(plan)["earned back"](move, None) == told


async def test_a_time_that_is_not_the_weeks_says_what_it_counts() -> None:
    plan = (await argue_over(market_context("outside"))).plan
    figures = {"net_7d": (plan.hold.net_7d or 0.0) + 45.29, "cost_usd": 5.19}

    def told(needed: float) -> bool:
        move = plan.candidates[0].model_copy(update=figures | {"break_even_hours": needed})
        only = plan.model_copy(update={"candidates": (move,)})
        return any(words.startswith("Pay-back time assumes") for words in reasons(only, {}))

    assert told(14.0)
    assert not told(17.3)


@pytest.mark.parametrize("wish", WISHES)
async def test_a_new_position_is_opened_or_the_tokens_are_kept(wish: str) -> None:
    plan = (await argue_over(create_context(wish))).plan
    told = plan_sentence(plan, plan_pools(plan))

    kept = (
        r"Keep your tokens\. "
        if plan.choice.kind == "hold"
        else rf"Open .+ at {PRICES}\. It should net"
    )
    assert re.match(kept, told), told


async def test_moves_are_named_by_letter_and_by_number() -> None:
    plan = (await argue_over(market_context("outside"))).plan
    for move in plan.candidates:
        assert move.index is not None
        letter = option_letter(move.index)
        for named in (letter, letter.lower(), str(move.index)):
            assert chosen_candidate(plan, named) == move
    for named in ("Z", "", "AA", "-1", "٣", "ä", "99"):
        with pytest.raises(GateRefusedError):
            chosen_candidate(plan, named)


def test_letters_and_numbers_are_one_order() -> None:
    assert [option_index(option_letter(index)) for index in range(40)] == [*range(40)]
    assert [option_letter(index) for index in range(3)] == ["A", "B", "C"]


async def test_every_option_of_a_new_position_names_its_pool_and_a_fee_that_changes() -> None:
    argued = await argue_over(create_context(next(iter(WISHES))))
    plan, changing = argued.plan, argued.plan.pools[0].pool_id
    marked = [
        pool.model_copy(update={"fee": DYNAMIC_FEE} if pool.pool_id == changing else {})
        for pool in plan.pools
    ]
    pools = plan_pools(plan.model_copy(update={"pools": tuple(marked)}))
    for move in plan.candidates:
        name = FIGURES["pool"](move, pools[move.pool_id])
        assert name.endswith("%*") is (move.pool_id == changing)
        assert f"Open {name} at " in option_words(plan, move, pools)

    tables = [turn.thought.table for turn in argued.ended.transcript if turn.thought.table]
    options = [row.name for table in tables for row in table.rows if row.name[1:2] == " "]
    assert options
    assert all(
        re.fullmatch(r"[A-Z] pool \d · [\d.]+%(\*| hook)?( native)?", name) for name in options
    ), options
