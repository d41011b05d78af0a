"""Which positions are one story, and what a story came to, by hand."""

from fractions import Fraction
from typing import cast

import pytest

from chain.base.units import DAY, Known, Unknown
from chain.bookkeeping.facts import PaidTransaction, PositionLife, WalletFacts
from chain.bookkeeping.ledger import (
    EntryKind,
    LedgerAccount,
    LedgerPlace,
    LedgerSubject,
    TokenAtPrice,
    ledger_entry,
)
from chain.bookkeeping.results import SOON_SECONDS, stories, stories_sharing, story_result
from chain.contracts.networks import NATIVE, network_named
from chain.contracts.pool_key import PoolKey
from chain.math.liquidity import Amounts
from chain.positions.overview import WalletWorth
from chain.protocols.past import LiquidityChange, LogPlace
from chain.protocols.reference import v4_position
from chain.protocols.snapshot import identify
from chain.tokens import Token

OWNER = "0x" + "aa" * 20
DOLLAR, APPLE = "0x" + "11" * 20, "0x" + "22" * 20
KEY = PoolKey(DOLLAR, APPLE, 3000, 60, NATIVE)
OTHER = PoolKey(DOLLAR, "0x" + "33" * 20, 3000, 60, NATIVE)


def _change(
    time: int, delta: int, amounts: tuple[int, int] = (0, 0), fee: int = 0
) -> LiquidityChange:
    return LiquidityChange(
        place=LogPlace(time, 1, "0x0", f"0x{time:064x}"),
        timestamp=time,
        liquidity_delta=delta,
        amounts=Known(Amounts(*amounts), "logs"),
        fees=Known(Amounts(fee, 0), "logs"),
        gas=Known(1, "receipt"),
        sqrt_price=Unknown("nobody asked"),
    )


def _life(token_id: int, *changes: LiquidityChange, key: PoolKey = KEY) -> PositionLife:
    return PositionLife(identify(v4_position(token_id), key, -60, 60), changes, None)


def _names(*lives: PositionLife, plans: dict[str, str] | None = None) -> list[str]:
    return [one.name for one in stories(lives, plans or {})]


def test_a_range_entered_soon_after_the_last_was_left_goes_on_with_its_story() -> None:
    first = _life(26, _change(100, 5), _change(200, -5))
    second = _life(39, _change(200 + SOON_SECONDS, 7), _change(90_000, -7))
    third = _life(40, _change(90_001, 3))

    assert _names(third, first, second) == ["#26 → #39 → #40"]


@pytest.mark.parametrize(
    "other",
    [
        _life(39, _change(201 + SOON_SECONDS, 7)),
        _life(39, _change(150, 7)),
        _life(39, _change(210, 7), key=OTHER),
    ],
)
def test_what_is_late_early_or_of_another_pair_is_a_story_of_its_own(other: PositionLife) -> None:
    first = _life(26, _change(100, 5), _change(200, -5))

    assert sorted(_names(first, other)) == ["#26", "#39"]


def test_one_plan_makes_one_story_however_late_and_in_whichever_pair() -> None:
    first = _life(26, _change(100, 5), _change(200, -5))
    second = _life(39, _change(99_000, 7), key=OTHER)
    plans = {f"0x{200:064x}": "plan", f"0x{99_000:064x}": "plan"}

    assert _names(first, second, plans=plans) == ["#26 → #39"]


def test_what_was_left_in_part_goes_on_alone_and_none_is_followed_twice() -> None:
    part = _life(1, _change(100, 5), _change(200, -4))
    one, two = (
        _life(2, _change(90, 5), _change(201, -5)),
        _life(3, _change(80, 5), _change(202, -5)),
    )
    new = _life(4, _change(210, 7))

    assert sorted(_names(part, one, two, new)) == ["#1", "#2", "#3 → #4"]


def test_a_part_taken_out_realises_that_part_of_the_cost() -> None:
    life = _life(
        1,
        _change(100, 10, amounts=(1_000, 0)),
        _change(200, -4, amounts=(500, 0), fee=30),
    )
    token = Token(DOLLAR, "USD", 0, verified=True, suspicious=False)
    coin = Token(NATIVE, "ETH", 0, verified=True, suspicious=False)
    prices = {
        time: {DOLLAR: Known(Fraction(1), "x"), NATIVE: Known(Fraction(2), "x")}
        for time in (100, 200)
    }
    sent = {
        f"0x{time:064x}": PaidTransaction(
            f"0x{time:064x}", time, time, OWNER, Known(1, "receipt"), (), 0, ()
        )
        for time in (100, 200)
    }
    facts = WalletFacts(
        network_named("base"),
        OWNER,
        _no_worth(),
        (life,),
        sent,
        {},
        {DOLLAR: token, APPLE: token, NATIVE: coin},
        prices,
    )

    [story] = stories((life,), {})
    result = story_result(facts, story)

    assert _value(result.realised) == 500 - 400 + 30 - 4
    assert _value(result.unrealised) == -600
    assert _value(result.result) == 500 + 30 - 4 - 1_000
    assert _value(result.capital_seconds) == 1_000 * 100
    assert isinstance(result.per_year, Unknown)  # a hundred seconds are no day
    parts = (result.paid_out, result.fees_earned, result.worth_now)
    less = (result.paid_in, result.costs)
    assert sum(map(_value, parts)) - sum(map(_value, less)) == _value(result.result)


def test_a_swap_of_the_same_plan_is_a_cost_and_a_year_is_of_the_capital_that_was_in_it() -> None:
    first = _life(26, _change(0, 10, amounts=(1_000, 0)), _change(DAY, -10, amounts=(1_100, 0)))
    second = _life(
        39, _change(DAY + 1, 5, amounts=(1_080, 0)), _change(3 * DAY, -5, amounts=(1_090, 0))
    )
    token = Token(DOLLAR, "USD", 0, verified=True, suspicious=False)
    priced = {DOLLAR: Known(Fraction(1), "x")}
    times = (0, DAY, DAY + 1, 3 * DAY)
    facts = WalletFacts(
        network_named("base"),
        OWNER,
        _no_worth(),
        (first, second),
        {},
        {},
        {DOLLAR: token, APPLE: token},
        dict.fromkeys(times, priced),
    )
    plans = {f"0x{time:064x}": "plan" for time in (DAY, DAY + 1)} | {"0xswap": "plan"}
    place = LedgerPlace(DAY, DAY, "0xswap")
    swap = [
        ledger_entry(
            place,
            EntryKind.SWAP,
            LedgerSubject(LedgerAccount.WALLET, None),
            TokenAtPrice(token, Known(Fraction(1), "x")),
            amount,
        )
        for amount in (-500, 480)
    ]

    [story] = stories((first, second), plans)
    result = story_result(facts, story, swap, plans)
    shared = story_result(facts, story, swap, plans, {"0xswap": 4})

    assert story.name == "#26 → #39"
    assert _value(result.swap_costs) == 20
    assert _value(shared.swap_costs) == 5
    assert _value(result.paid_in) == 1_000
    assert _value(result.paid_out) == 1_110
    assert _value(result.result) == 1_100 - 1_000 + 1_090 - 1_080 - 20
    assert isinstance(result.per_year, Unknown), "three days old"


def test_what_one_plan_did_for_several_positions_is_borne_by_each_in_part() -> None:
    both = [_life(number, _change(0, 10), _change(DAY, 0, amounts=(10, 0))) for number in (26, 28)]
    collected = f"0x{DAY:064x}"
    plans = {collected: "plan", "0xdismissed": "plan", "0xelsewhere": "another"}

    told = stories(both, plans)

    assert [story.name for story in told] == ["#26", "#28"]
    assert stories_sharing(told, plans) == {f"0x{0:064x}": 2, collected: 2, "0xdismissed": 2}


def _no_worth() -> WalletWorth:
    """Of a wallet that holds nothing, nothing is asked."""
    return cast("WalletWorth", None)


def _value(known: object) -> Fraction:
    assert isinstance(known, Known)
    value = known.value
    assert isinstance(value, Fraction)
    return value
