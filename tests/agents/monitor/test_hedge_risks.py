"""A hedge is watched: when it drifts, when its position is gone, and while nobody can tell."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from msgspec.structs import replace

from agents.monitor.alerts.alert import AlertKind, EventKind
from agents.monitor.alerts.store import AlertStore
from agents.monitor.rules.risks import HeldHedge, judge_kind
from agents.monitor.rules.thresholds import Thresholds, WatchSettings
from tests.agents.monitor.made_up_alerts import NOW, WALLET
from tests.agents.monitor.made_up_positions import KEY, position, situation
from tests.agents.monitor.made_up_readings import MadeUpChain

if TYPE_CHECKING:
    from agents.monitor.alerts.alert import AlertEvent
    from chain.base.home import Home

COIN = 10**18


def hedge(short: float, ratio: float = 0.5, wallet: str = WALLET) -> HeldHedge:
    return HeldHedge(wallet, "ONE", KEY.currency0, ratio, short)


@pytest.mark.parametrize(
    ("coins", "short", "ratio", "standing", "told"),
    [
        (2.0, 1.0, 0.5, False, False),
        (2.0, 0.81, 0.5, False, False),
        (2.0, 0.79, 0.5, False, True),
        (2.0, 1.21, 0.5, False, True),
        (2.0, 0.83, 0.5, True, True),
        (2.0, 0.85, 0.5, True, False),
        (0.0, 1.0, 0.5, False, True),
        (0.0, 0.0, 0.5, False, False),
        (2.0, 0.0, 0.5, False, True),
        (2.0, 0.0, 0.0, False, False),
        (2.0, 0.3, 0.0, False, True),
    ],
)
def test_a_hedge_has_drifted_by_the_coins_held_now(
    coins: float, short: float, ratio: float, standing: bool, told: bool
) -> None:
    held = replace(situation().position, amount0=int(coins * COIN))
    moment = replace(situation(), position=held, hedge=hedge(short, ratio))
    found = judge_kind(AlertKind.HEDGE_DRIFTED, moment, Thresholds(), standing)

    assert (found is not None) is told
    assert found is None or found.next_command == "zuno --network ethereum hedge 7"
    off = judge_kind(AlertKind.HEDGE_DRIFTED, moment, Thresholds(hedge_drift=0.0), standing)
    assert off is None


@pytest.fixture
def chain(home: Home) -> MadeUpChain:
    made = MadeUpChain(AlertStore.open(home, now=NOW), WatchSettings(Thresholds(near_edge=0.0)))
    assert made.poll() == ()
    return made


def told(events: tuple[AlertEvent, ...]) -> list[tuple[EventKind, AlertKind]]:
    return [(one.kind, one.alert.kind) for one in events]


def test_an_alert_about_a_hedge_stays_while_the_venue_is_silent(chain: MadeUpChain) -> None:
    chain.hedges = {7: hedge(1.0)}
    assert told(chain.poll()) == [(EventKind.OPENED, AlertKind.HEDGE_DRIFTED)]
    chain.hedges = None
    assert chain.poll() == ()
    chain.hedges = {7: hedge(0.0)}
    assert told(chain.poll()) == [(EventKind.RESOLVED, AlertKind.HEDGE_DRIFTED)]


def test_moving_a_position_marks_its_hedge_stale_until_another_takes_it_over(
    chain: MadeUpChain,
) -> None:
    chain.hedges = {7: hedge(1.0), 5: hedge(2.0, wallet="0x" + "55" * 20)}
    moved = [position(0, number=31)]
    first = told(chain.poll())
    assert first == [(EventKind.OPENED, AlertKind.HEDGE_DRIFTED)]

    events = told(chain.poll(positions=moved, gone={7: None}))
    assert (EventKind.OPENED, AlertKind.HEDGE_STALE) in events
    assert (EventKind.RESOLVED, AlertKind.HEDGE_DRIFTED) in events
    assert chain.poll(positions=moved) == ()
    chain.hedges = None
    assert chain.poll(positions=moved) == ()
    chain.hedges = {7: hedge(0.0), 31: hedge(0.0)}
    assert told(chain.poll(positions=moved)) == [(EventKind.RESOLVED, AlertKind.HEDGE_STALE)]


def test_a_hedge_that_is_stale_stays_so_when_its_position_is_back_and_the_venue_is_silent(
    chain: MadeUpChain,
) -> None:
    chain.hedges = {7: hedge(1.0)}
    chain.poll()
    away = [position(0, number=31)]
    assert (EventKind.OPENED, AlertKind.HEDGE_STALE) in told(
        chain.poll(positions=away, gone={7: None})
    )
    chain.hedges = None
    assert (EventKind.RESOLVED, AlertKind.HEDGE_STALE) not in told(chain.poll())
    chain.hedges = {7: hedge(0.0)}
    assert (EventKind.RESOLVED, AlertKind.HEDGE_STALE) in told(chain.poll())
