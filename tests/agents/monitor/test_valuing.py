"""What a position is worth by prices that are known, unknown or disputed."""

from fractions import Fraction

import pytest
from msgspec.structs import replace

from agents.monitor.judge import Valuing
from agents.monitor.reader import Reading
from agents.monitor.rules.baseline import INSIDE
from agents.monitor.rules.situation import Situation
from agents.monitor.rules.worth_risks import Losses
from chain.base.units import Known
from chain.positions.search import WalletPositions
from chain.prices.ladder import price_book
from chain.protocols.reference import v4_position
from tests.agents.monitor.made_up_alerts import WALLET
from tests.agents.monitor.made_up_positions import NETWORK, ONE, TWO, at_tick, block, position

UNIT = 10**18


def situation(
    market: tuple[int | None, int | None],
    pools: tuple[int | None, int | None] = (None, None),
    amounts: tuple[int, int] = (2 * UNIT, 3 * UNIT),
) -> Situation:
    """Of a position that holds these amounts, by prices in dollars of each token."""
    by_market, by_pools = (
        {
            token.address: Known(Fraction(price), "somebody")
            for token, price in zip((ONE, TWO), prices, strict=True)
            if price is not None
        }
        for prices in (market, pools)
    )
    held = replace(position(0), amount0=amounts[0], amount1=amounts[1], fees0=UNIT, fees1=0)
    wallet = WalletPositions(WALLET, block(100), (held,), 1, (), None, (), {})
    reading = Reading(
        wallet=wallet,
        tokens={one.address: one for one in (ONE, TWO)},
        prices=price_book(NETWORK, by_market, by_pools),
        ticks=None,
        owners_of_gone={},
        volatilities={},
        collect_usd={},
        losses=Losses({v4_position(7): 0.25}, {}),
    )
    return Valuing(NETWORK, reading).situation(held, INSIDE, None, at_tick(0).baseline, 5)


def test_principal_and_fees_are_added_up() -> None:
    found = situation((10, 100))

    assert found.principal_usd == pytest.approx(320)
    assert found.fees_usd == pytest.approx(10)
    assert (found.loss, found.others_there, found.price_difference) == (0.25, 5, None)


@pytest.mark.parametrize(
    ("market", "amounts", "principal"),
    [
        ((None, 100), (2 * UNIT, 3 * UNIT), None),
        ((10, None), (2 * UNIT, 3 * UNIT), None),
        ((10, None), (2 * UNIT, 0), 20),
        ((None, 100), (0, 3 * UNIT), 300),
        ((None, None), (0, 0), 0),
    ],
)
def test_what_is_held_of_an_unknown_price_is_unknown(
    market: tuple[int | None, int | None], amounts: tuple[int, int], principal: float | None
) -> None:
    assert situation(market, amounts=amounts).principal_usd == principal


@pytest.mark.parametrize(
    ("pools", "difference"),
    [((10, 150), 0.5), ((15, 100), 0.5), ((None, 100), 0), ((10, None), 0), ((11, 150), 0.5)],
)
def test_of_two_disputes_the_larger_counts(
    pools: tuple[int | None, int | None], difference: float
) -> None:
    found = situation((10, 100), pools)

    assert found.price_difference is not None
    assert found.price_difference == pytest.approx(difference, abs=0.2)
    assert (found.price_difference > 0.2) is (difference > 0.2)
