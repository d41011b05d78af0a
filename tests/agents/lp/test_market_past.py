"""What the way a price went tells: its trend, each day's edge, when a range was left."""

import pytest

from agents.lp.briefing import daily_edges, price_moves, range_left
from agents.lp.facts import PricePathFacts
from tests.agents.lp.made_up import Market

HOUR = 3_600
ROOT_PARTS, RATE_PARTS = 10**12, 10**18


def path(*steps: tuple[int, float, float], opening: float = 0.0) -> PricePathFacts:
    """Steps by age in hours, by how far their root lay above the present one, and their rate."""
    before, found = opening, []
    for age, root, rate in steps:
        close, low, high = (
            round(part * ROOT_PARTS) for part in (root, min(before, root), max(before, root))
        )
        found.append((age * HOUR, close, low, high, round(rate * RATE_PARTS), 1))
        before = root
    return PricePathFacts(
        opening=round(opening * ROOT_PARTS),
        liquidity_unit=1,
        swaps=len(found),
        steps=tuple(found),
    )


def test_how_far_a_price_came_is_told_with_its_sign() -> None:
    observed = Market(0.02).position().observed
    assert price_moves(observed) == (None, None)
    went = observed.model_copy(
        update={
            "day_path": path((1, 0.0, 0.0), opening=0.01),
            "week_path": path((100, -0.05, 0.0), (1, 0.0, 0.0), opening=-0.1),
        }
    )
    day, week = price_moves(went)
    assert day == pytest.approx(1 / 1.01**2 - 1)
    assert week == pytest.approx(1 / 0.9**2 - 1)


def test_each_day_has_an_edge_of_its_own_the_oldest_first() -> None:
    observed = Market(0.02).position().observed
    assert daily_edges(observed) == ()
    week = path((30, 0.01, 1e-5), (26, 0.0, 1e-5), (3, 0.01, 4e-5), (1, 0.0, 4e-5))
    older, newer = daily_edges(observed.model_copy(update={"week_path": week}))
    assert older > 0
    assert newer == pytest.approx(4 * older, rel=1e-6)
    still = path((3, 0.0, 1e-5))
    assert daily_edges(observed.model_copy(update={"week_path": still})) == ()


def test_when_a_range_was_left_is_seen_on_the_way_of_the_price() -> None:
    outside = Market(0.02, half_width=0.05, off_centre=2.0).position()
    assert range_left(Market(0.02).position()) is None
    assert range_left(outside) is None

    def after(**paths: PricePathFacts) -> object:
        observed = outside.observed.model_copy(update=paths)
        return range_left(outside.model_copy(update={"observed": observed}))

    left = path((90, -0.06, 0.0), (40, -0.05, 0.0), (5, 0.0, 0.0), opening=-0.06)
    assert after(week_path=left) == (5.0, True)
    long_gone = path((90, 0.01, 0.0), (5, 0.0, 0.0), opening=0.01)
    assert after(week_path=long_gone, day_path=path((5, 0.0, 0.0))) == (90.0, False)
    assert after(week_path=left, day_path=path((5, 0.0, 0.0))) == (5.0, True)
