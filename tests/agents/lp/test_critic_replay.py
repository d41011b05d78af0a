"""The Critic's second method: what really happened, run through the proposed range."""

from pathlib import Path

import pytest

from agents.bus.replay import read_record
from agents.lp.debate import replay_debate
from agents.lp.facts import RATE_PARTS, ROOT_PARTS, MarketContext, PricePathFacts
from agents.lp.judge import JudgedCandidate
from agents.numbers.rules import JudgmentVerdict, Rule
from tests.agents.lp.debating import argue_over
from tests.agents.lp.made_up import Market
from tests.agents.lp.one_round import judged
from tests.agents.lp.second_opinion import check_argued

OUTSIDE = Market(0.02, 1.6, half_width=0.1, off_centre=2.5, gwei=0.05, dollars=800)


def with_day(context: MarketContext, times: float, away: float = 0.0) -> MarketContext:
    """A day of 24 swaps to and fro that paid so many times the week's rate, so far from here."""
    observed = context.observed
    rate = observed.market.fee_rate_7d
    assert rate is not None
    here, there = (int(part * ROOT_PARTS) for part in (away, away + 0.002))
    paid = round(rate * times / 24 * RATE_PARTS)
    liquidity = observed.pool.liquidity // 10**6
    steps = tuple(
        (
            3_600 * (23 - place),
            (there, here)[place % 2],
            min(here, there),
            max(here, there),
            paid,
            10**6,
        )
        for place in range(24)
    )
    path = PricePathFacts(opening=here, liquidity_unit=liquidity, swaps=24, steps=steps)
    return context.model_copy(update={"observed": observed.model_copy(update={"day_path": path})})


def found(move: JudgedCandidate) -> list[JudgmentVerdict]:
    return [one.verdict for one in move.judgment.findings if one.rule is Rule.REPLAY]


@pytest.mark.parametrize(
    ("times", "verdict"),
    [(1.0, JudgmentVerdict.ACCEPT), (0.2, JudgmentVerdict.REVISE), (5.0, JudgmentVerdict.ACCEPT)],
)
def test_a_day_that_paid_less_than_nine_in_ten_sends_a_move_back(
    times: float, verdict: JudgmentVerdict
) -> None:
    context = with_day(OUTSIDE.position(), times)
    for move in judged(context).moves:
        if move.evaluated.numbers.entry is not None:
            assert found(move) == [], "what waits beside the price was not there"
            continue
        assert found(move) == [verdict]
        replayed = move.judgment.replay_24h
        assert replayed is not None
        assert replayed.in_range_share == 1.0
        expected = move.evaluated.candidate.fee_yield_24h
        share = move.evaluated.candidate.in_range_share
        assert expected is not None
        assert share is not None
        # The week's own rate is what the day paid; what is expected is drawn towards the usual.
        assert replayed.fees_usd > expected / share * times
        if verdict is JudgmentVerdict.REVISE:
            assert move.judgment.by_rules is not JudgmentVerdict.ACCEPT


def test_a_range_the_price_was_not_in_says_nothing() -> None:
    context = with_day(OUTSIDE.position(), 0.2, away=0.5)
    for move in judged(context).moves:
        assert found(move) == []
        assert move.judgment.replay_24h is not None
        assert move.judgment.replay_24h.fees_usd == 0


async def test_the_second_method_is_on_the_record_and_replays(tmp_path: Path) -> None:
    context = with_day(OUTSIDE.position(), 0.2)
    argued = await argue_over(context)
    check_argued(context, argued)
    assert argued.plan.decided_by == "arbiter"
    assert argued.plan.verdict != "approve"
    file = tmp_path / "record.jsonl"
    file.write_bytes(argued.record)
    report, again = await replay_debate(read_record(file))
    assert report.matches
    assert again.plan == argued.plan
