"""The arithmetic of an account: impermanent loss by the book, and what the unknown spoils."""

import pytest
from msgspec.structs import replace

from chain.base.units import Known, Quantity, Unknown
from chain.math.fees import FeeGrowth, ProtocolFee
from chain.math.ticks import sqrt_price_at_tick
from chain.positions.by_day import SinceEntry, since_entry
from chain.positions.performance import earning_since
from chain.protocols.past import LogPlace
from chain.protocols.snapshot import PositionSnapshot, RangeStatus, range_status
from chain.protocols.v4.circumstances import ChangeCircumstances, change_amounts
from chain.protocols.v4.events import ModifyLiquidityEvent
from tests.chain.positions.examples import BLOCK, KEY, LIQUIDITY, OWNER, position, tick_of

ENTRY = 3000.0
ENTRY_SQRT_PRICE = sqrt_price_at_tick(tick_of(ENTRY))
FULL_RANGE = (1e-30, 1e30)


def event(delta: int, number: int) -> ModifyLiquidityEvent:
    place = LogPlace(number, 0, "0x", f"0x{number:064x}")
    return ModifyLiquidityEvent(place, KEY.pool_id, OWNER, 0, 0, delta, 7)


def seen(
    number: int,
    growth: Quantity[FeeGrowth],
    sqrt_price: int = ENTRY_SQRT_PRICE,
) -> ChangeCircumstances:
    price = Known(sqrt_price, "pool swaps", number)
    return ChangeCircumstances(
        BLOCK.timestamp - 1000 + number, price, growth, Known(21_000, "receipt")
    )


def growth(value: int) -> Quantity[FeeGrowth]:
    return Known(FeeGrowth(value << 128, 0), "PoolManager storage")


def account(snapshot: PositionSnapshot, *changes: tuple[int, ChangeCircumstances]) -> SinceEntry:
    events = [(event(delta, number), one) for number, (delta, one) in enumerate(changes)]
    return since_entry(snapshot, change_amounts(snapshot.identity, events))


@pytest.mark.parametrize(
    ("width", "up", "down", "move"),
    [
        (None, -0.11, -0.14, 0.10),
        (0.50, -0.48, -0.58, 0.10),
        (0.20, -1.18, -1.43, 0.10),
        (0.10, -2.32, -2.83, 0.10),
        (None, -0.62, -1.03, 0.25),
        (0.50, -2.67, -4.17, 0.25),
        (0.20, -6.28, -9.97, 0.25),
        (0.10, -8.55, -12.47, 0.25),
    ],
)
def test_impermanent_loss_by_the_book(
    width: float | None, up: float, down: float, move: float
) -> None:
    lower, upper = FULL_RANGE
    if width is not None:
        lower, upper = ENTRY * (1 - width), ENTRY * (1 + width)
    for price, expected in ((ENTRY * (1 + move), up), (ENTRY * (1 - move), down)):
        result = account(position(price, lower, upper), (LIQUIDITY, seen(0, growth(0))))
        assert isinstance(result.impermanent_loss, Known)
        assert float(result.impermanent_loss.value) * 100 == pytest.approx(expected, abs=0.011)


def test_a_position_that_never_moved_lost_nothing_but_dust() -> None:
    result = account(position(ENTRY, 2500, 3500), (LIQUIDITY, seen(0, growth(0))))
    assert isinstance(result.impermanent_loss, Known)
    assert -1e-15 < result.impermanent_loss.value <= 0
    assert isinstance(result.age_seconds, Known)
    assert result.age_seconds.value == 1000


def test_fees_of_each_change_are_those_of_the_liquidity_before_it() -> None:
    half = LIQUIDITY // 2
    result = account(
        position(ENTRY, 2500, 3500, fees=(5, 6)),
        (half, seen(0, growth(10))),
        (half, seen(1, growth(13))),
        (-half, seen(2, growth(14))),
        (half, seen(3, growth(14))),
    )
    assert isinstance(result.fees_collected, Known)
    assert result.fees_collected.value == (3 * half + 1 * LIQUIDITY, 0)
    assert isinstance(result.fees_earned, Known)
    assert result.fees_earned.value == (5 * half + 5, 6)
    assert isinstance(result.gas, Known)
    assert result.gas.value == 4 * 21_000


def test_fee_growth_may_wrap_around() -> None:
    top = Known(FeeGrowth((1 << 256) - (1 << 128), 0), "PoolManager storage")
    result = account(
        position(ENTRY, 2500, 3500),
        (LIQUIDITY, seen(0, top)),
        (0, seen(1, growth(1))),
    )
    assert isinstance(result.fees_collected, Known)
    assert result.fees_collected.value == (2 * LIQUIDITY, 0)


def test_what_is_withdrawn_is_neither_lost_nor_won() -> None:
    whole = account(position(ENTRY * 1.1, 2500, 3500), (LIQUIDITY, seen(0, growth(0))))
    moved = sqrt_price_at_tick(tick_of(ENTRY * 1.1))
    halved = account(
        position(ENTRY * 1.1, 2500, 3500, liquidity=LIQUIDITY // 2),
        (LIQUIDITY, seen(0, growth(0))),
        (-LIQUIDITY // 2, seen(1, growth(0), moved)),
    )
    assert isinstance(whole.impermanent_loss, Known)
    assert isinstance(halved.impermanent_loss, Known)
    assert float(halved.impermanent_loss.value) == pytest.approx(
        float(whole.impermanent_loss.value), rel=1e-12
    )


def test_earning_begins_anew_after_a_break() -> None:
    snapshot = position(ENTRY, 2500, 3500)
    steps = [(LIQUIDITY, 0), (-LIQUIDITY, 1), (5, 2), (LIQUIDITY - 5, 3)]
    result = account(snapshot, *((delta, seen(number, growth(0))) for delta, number in steps))
    assert earning_since(result) == seen(2, growth(0)).timestamp


def test_logs_that_do_not_add_up_tell_nothing() -> None:
    snapshot = position(ENTRY, 2500, 3500)
    for changes in ((), ((LIQUIDITY - 1, seen(0, growth(0))),)):
        result = account(snapshot, *changes)
        assert isinstance(result.deposited, Unknown)
        assert isinstance(result.impermanent_loss, Unknown)
        assert result.changes == ()


def test_the_unknown_spoils_only_what_rests_on_it() -> None:
    gone = Unknown("the state of block 1 needs an archive node")
    result = account(
        position(ENTRY, 2500, 3500),
        (LIQUIDITY // 2, seen(0, growth(0))),
        (LIQUIDITY // 2, seen(1, gone)),
    )
    assert result.fees_collected == gone
    assert result.against_holding == gone
    assert isinstance(result.impermanent_loss, Known)
    assert isinstance(result.deposited, Known)


def test_range_status_is_that_of_the_tick() -> None:
    assert range_status(99, 100, 200) is RangeStatus.BELOW
    assert range_status(100, 100, 200) is RangeStatus.IN_RANGE
    assert range_status(199, 100, 200) is RangeStatus.IN_RANGE
    assert range_status(200, 100, 200) is RangeStatus.ABOVE


def test_share_and_fee_of_the_moment() -> None:
    inside = position(ENTRY, 2500, 3500, active=4 * LIQUIDITY, protocol_fee=ProtocolFee(1000, 500))
    assert inside.share * 4 == 1
    assert inside.pool.state.swap_fee(zero_for_one=True) == 1000 + 3000 - 3
    assert inside.pool.state.swap_fee(zero_for_one=False) == 500 + 3000 - 1
    outside = position(4000, 2500, 3500, active=4 * LIQUIDITY)
    assert outside.share == 0
    assert replace(inside, pool=replace(inside.pool, liquidity=0)).share == 0
