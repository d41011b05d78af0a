"""How much of the other token goes beside an amount that is added to a position."""

from __future__ import annotations

from typing import Any, cast

import pytest

from chain.base.units import Known, Quantity, Unknown
from chain.execution.build.facts import Tolerance, position_facts
from chain.execution.build.sizing import drift_band, most_taken
from chain.math.liquidity import liquidity_for_amounts
from tests.agents.monitor.made_up_positions import LOWER, ONE, TWO, UPPER, position
from zuno_tui.gate.actions import position as actions
from zuno_tui.gate.refusal import GateRefusedError
from zuno_tui.gate.worth import ActionWorth

WALLET = "0x" + "aa" * 20
PLENTY = 2**127 - 1
UNITS = 10**15


def held(tick: int = 200) -> actions.HeldPosition:
    snapshot = position(tick)
    tokens = {ONE.address: ONE, TWO.address: TWO}
    return actions.HeldPosition(
        snapshot, position_facts(snapshot), ActionWorth(tokens, {}, None), tuple(tokens)
    )


def beside(place: int) -> tuple[int, int]:
    """What is needed of the other token now, and at most within the drift that is survived."""
    facts = held().facts
    price, span = facts.pool.sqrt_price_x96, facts.span
    given = (UNITS, PLENTY) if place == 0 else (PLENTY, UNITS)
    liquidity = liquidity_for_amounts(price, *span.sqrt_prices, *given)
    most = most_taken(span, liquidity, drift_band(price, Tolerance().slippage_bips, span))
    return span.holds(price, liquidity, round_up=True)[1 - place], most[1 - place]


async def budget(
    monkeypatch: pytest.MonkeyPatch,
    place: int,
    balance: int | None,
    mine: actions.HeldPosition | None = None,
) -> tuple[int, int]:
    async def read_balance(*_: object) -> Quantity[int]:
        return Unknown("silent") if balance is None else Known(balance, "told")

    monkeypatch.setattr(actions, "_balance", read_balance)
    found = await actions._budget(cast("Any", None), mine or held(), WALLET, place, UNITS)
    return found.amount0, found.amount1


@pytest.mark.parametrize("place", [0, 1])
async def test_it_is_the_most_that_drift_may_ask_for_or_all_that_is_there(
    monkeypatch: pytest.MonkeyPatch, place: int
) -> None:
    now, most = beside(place)
    assert 0 < now < most
    for balance, expected in (
        (most + 1, most),
        (most, most),
        (most - 1, most - 1),
        (now, now),
        # Too little in any case: the plan is built as if there were enough, and refused for it.
        (now - 1, most),
        (0, most),
        (None, most),
    ):
        pair = (UNITS, expected) if place == 0 else (expected, UNITS)
        assert await budget(monkeypatch, place, balance) == pair


@pytest.mark.parametrize(("tick", "place"), [(LOWER - 10, 1), (UPPER + 10, 0)])
async def test_of_a_token_that_the_range_does_not_take_none_is_added(
    monkeypatch: pytest.MonkeyPatch, tick: int, place: int
) -> None:
    with pytest.raises(GateRefusedError, match="alone"):
        await budget(monkeypatch, place, 10**30, held(tick))


def test_a_token_is_named_by_its_address_or_a_symbol_that_is_vouched_for() -> None:
    mine = held()

    assert actions._place_of(mine, ONE.address.upper().replace("0X", "0x")) == 0
    assert (actions._place_of(mine, "one"), actions._place_of(mine, "TWO")) == (0, 1)
    with pytest.raises(GateRefusedError, match="not 'THREE'"):
        actions._place_of(mine, "THREE")
