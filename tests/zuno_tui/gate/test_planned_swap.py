"""How much less than planned a swap may pay and still be the same plan's."""

import asyncio

import pytest

from agents.lp.plan import Candidate
from agents.numbers.inventory import PrepSwap
from chain.contracts.networks import NATIVE
from chain.contracts.pool_key import PoolKey
from chain.execution.plan.requests import QuotedSwap
from chain.math.drift import Span
from tests.agents.lp.debating import argue_over
from tests.agents.lp.made_up_markets import market_context
from zuno_tui.gate.actions.plan import planned_span, refuse_worse_than_planned
from zuno_tui.gate.refusal import GateRefusedError

KEY = PoolKey(NATIVE, "0x" + "22" * 20, 3_000, 60, NATIVE)


MOVE = asyncio.run(argue_over(market_context("outside"))).plan.candidates[0]


def planned(swap: PrepSwap | None) -> Candidate:
    return MOVE.model_copy(update={"prep_action": swap})


def quoted(amount_in: int, amount_out: int, *, zero_for_one: bool = True) -> QuotedSwap:
    return QuotedSwap(KEY, zero_for_one, amount_in, amount_out, 1)


@pytest.mark.parametrize(
    ("amount_in", "amount_out", "refused"),
    [
        (1_000, 2_000, False),
        (1_000, 1_980, False),
        (1_000, 1_979, True),
        (2_000, 3_960, False),
        (2_000, 3_959, True),
        (500, 990, False),
        (500, 989, True),
        (1_000, 9_000, False),
        (1_000_000, 1_980_000, False),
        (1_000_000, 1_979_999, True),
    ],
)
def test_it_may_pay_one_per_cent_less_for_each_unit(
    amount_in: int, amount_out: int, refused: bool
) -> None:
    candidate = planned(PrepSwap(True, 1_000, 2_000, 3_000, 1))
    swap = quoted(amount_in, amount_out)
    if refused:
        with pytest.raises(GateRefusedError, match="over 1% less"):
            refuse_worse_than_planned(candidate, swap)
    else:
        refuse_worse_than_planned(candidate, swap)


def test_a_swap_that_was_not_planned_or_goes_the_other_way_is_not_held_to_it() -> None:
    refuse_worse_than_planned(planned(None), quoted(1_000, 1))
    other_way = planned(PrepSwap(False, 1_000, 2_000, 3_000, 1))
    refuse_worse_than_planned(other_way, quoted(1_000, 1))
    with pytest.raises(GateRefusedError):
        refuse_worse_than_planned(other_way, quoted(1_000, 1, zero_for_one=False))


@pytest.mark.parametrize(("lower", "upper"), [(None, 60), (60, None), (None, None)])
def test_a_choice_without_a_range_is_refused(lower: int | None, upper: int | None) -> None:
    whole = MOVE.model_copy(update={"tick_lower": -60, "tick_upper": 60})
    part = MOVE.model_copy(update={"tick_lower": lower, "tick_upper": upper})

    assert planned_span(whole) == Span(-60, 60)
    with pytest.raises(GateRefusedError):
        planned_span(part)
