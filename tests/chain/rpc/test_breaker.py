"""The circuit breaker on a clock of its own."""

from __future__ import annotations

from chain.rpc.endpoint import Breaker
from chain.rpc.requests import RequestLimits

LIMITS = RequestLimits(faults_to_rest=3, rest_seconds=5.0, most_rest_seconds=60.0)


def test_it_rests_after_so_many_faults_and_longer_each_time() -> None:
    breaker, now = Breaker(LIMITS), 100.0
    for _ in range(2):
        assert breaker.admit(now)
        breaker.failed(now)
        assert breaker.wait(now) == 0
    rests = []
    for _ in range(7):
        assert breaker.admit(now)
        breaker.failed(now)
        assert not breaker.admit(now)
        rests.append(breaker.wait(now))
        now += breaker.wait(now)
    assert rests == [5, 10, 20, 40, 60, 60, 60]


def test_after_a_rest_one_probe_is_let_through() -> None:
    breaker = Breaker(LIMITS)
    for _ in range(3):
        breaker.failed(0.0)
    assert not breaker.admit(4.9)
    assert breaker.admit(5.0)
    assert not breaker.admit(5.0)
    breaker.released()
    assert breaker.admit(5.0)
    breaker.succeeded()
    assert breaker.faults == 0
    assert all(breaker.admit(5.0) for _ in range(3))


def test_a_success_between_faults_starts_the_count_anew() -> None:
    breaker = Breaker(LIMITS)
    for _ in range(10):
        breaker.failed(0.0)
        breaker.failed(0.0)
        breaker.succeeded()
    assert breaker.wait(0.0) == 0
