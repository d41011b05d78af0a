"""Numbers keep their origin, and the unknown stays unknown."""

from __future__ import annotations

from chain.base.units import Known, Quantity, Unknown, combine


def test_what_is_computed_keeps_its_source() -> None:
    price = Known(3000, "CoinGecko", time=100.0)
    assert price.map(lambda value: value * 2) == Known(6000, "CoinGecko", time=100.0)
    assert price.age(now=160.0) == 60.0
    assert price.age(now=90.0) == 0.0
    assert Known(1, "PoolManager storage", block=5).age(now=1.0) is None


def test_a_combination_is_as_old_as_its_oldest_part() -> None:
    amount = Known(2, "PoolManager storage", block=7, time=200.0)
    price = Known(3000, "CoinGecko", time=100.0)
    again = Known(5, "CoinGecko", time=300.0)
    value: Quantity[int] = combine(lambda a, b, c: a * b + c, amount, price, again)
    assert value == Known(6005, "PoolManager storage + CoinGecko", block=7, time=100.0)


def test_the_unknown_stays_unknown_with_its_reason() -> None:
    missing = Unknown("no price source lists this token")
    assert missing.map(lambda value: value) is missing
    value: Quantity[int] = combine(lambda a, b: a * b, Known(2, "chain"), missing)
    assert value is missing
