"""A hedge is watched: when it drifts, when its position is gone, and while nobody can tell."""

from pathlib import Path

import pytest
from msgspec.structs import replace

from agents.monitor.alerts.alert import AlertEvent, EventKind, Finding
from agents.monitor.alerts.store import AlertStore
from agents.monitor.rules.situation import Situation
from agents.monitor.rules.thresholds import Thresholds, WatchSettings
from chain.base.home import Home
from chain.protocols.reference import v4_position
from tests.agents.monitor.made_up_alerts import NOW, WALLET
from tests.agents.monitor.made_up_positions import KEY, position, situation
from tests.agents.monitor.made_up_readings import MadeUpChain
from zuno_tui.features.trade.alert_kinds import ALERTS, TradeAlert
from zuno_tui.features.trade.hedge_alerts import AttachedHedges, HeldHedge

COIN = 10**18


def hedge(short: float, ratio: float = 0.5, wallet: str = WALLET) -> HeldHedge:
    return HeldHedge(wallet, "ONE", KEY.currency0, ratio, short)


def judged(
    kind: TradeAlert,
    hedge: HeldHedge,
    at: Situation | None = None,
    *,
    thresholds: Thresholds | None = None,
    standing: bool = False,
) -> Finding | None:
    at = at or situation()
    attached = AttachedHedges({at.position.ref: hedge})
    stands = {kind} if standing else set()
    found = attached.findings(at, thresholds or Thresholds(), stands)
    return next((each for each in found if each.kind == kind), None)


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
    moment = replace(situation(), position=held)
    found = judged(TradeAlert.HEDGE_DRIFTED, hedge(short, ratio), moment, standing=standing)

    assert (found is not None) is told
    flags = " --target 50%" if ratio else " --target 0%"
    assert found is None or found.next_command == f"zuno --network ethereum hedge 7{flags}"
    off = Thresholds(of_features={"hedge_drift": 0.0})
    assert judged(TradeAlert.HEDGE_DRIFTED, hedge(short, ratio), moment, thresholds=off) is None


@pytest.mark.parametrize(
    ("rise", "standing", "severity"),
    [
        (0.2, False, None),
        (0.14, False, "warning"),
        (0.2, True, "warning"),
        (0.05, False, "critical"),
    ],
)
def test_a_hedge_short_of_margin_is_told_before_the_venue_closes_it(
    rise: float, standing: bool, severity: str | None
) -> None:
    near = replace(hedge(1.0), to_liquidation=rise)
    found = judged(TradeAlert.HEDGE_MARGIN, near, standing=standing)

    assert (None if found is None else found.severity.value) == severity
    assert found is None or found.next_command == "zuno --network ethereum unhedge 7 50"


@pytest.mark.parametrize(("cost", "told"), [(0.0004, True), (0.0002, False), (-0.001, False)])
def test_funding_that_turned_is_told(cost: float, told: bool) -> None:
    found = judged(TradeAlert.HEDGE_FUNDING, replace(hedge(1.0), funding_a_day=cost))

    assert (found is not None) is told


def test_a_hedge_with_a_band_of_its_own_is_judged_by_it() -> None:
    held = replace(situation().position, amount0=2 * COIN)
    moment = replace(situation(), position=held)
    found = judged(TradeAlert.HEDGE_DRIFTED, replace(hedge(0.6), band=0.5), moment)
    drifted = judged(TradeAlert.HEDGE_DRIFTED, replace(hedge(0.9), band=0.05), moment)

    assert found is None
    assert drifted is not None
    assert drifted.next_command == "zuno --network ethereum hedge 7 --target 50% --band 5%"


def test_each_coin_of_a_pool_is_watched_by_a_hedge_of_its_own() -> None:
    held = replace(situation().position, amount0=2 * COIN, amount1=3 * COIN)
    other = HeldHedge(WALLET, "TWO", KEY.currency1, 1.0, 3.0)
    moment = replace(situation(), position=held)
    short = replace(other, short=2.0)
    drifted = replace(hedge(1.0), others=(short,))
    found = judged(TradeAlert.HEDGE_DRIFTED, drifted, moment)

    fits = replace(hedge(1.0), others=(other,))
    assert judged(TradeAlert.HEDGE_DRIFTED, fits, moment) is None
    assert found is not None
    assert "3 TWO and 2 is short" in found.message
    gone = AttachedHedges({v4_position(7): drifted})
    [stale] = gone.of_gone(situation().network, v4_position(7))
    assert "1 ONE and 2 TWO is still short" in stale.message


def test_a_closing_that_the_venue_did_not_hear_is_asked_for_again() -> None:
    found = judged(TradeAlert.HEDGE_WANTED, replace(hedge(1.0), wanted=" 50"))

    assert found is not None
    assert found.next_command == "zuno --network ethereum unhedge 7 50"
    assert judged(TradeAlert.HEDGE_WANTED, replace(hedge(0.0), wanted=" 50")) is None
    assert judged(TradeAlert.HEDGE_WANTED, hedge(1.0)) is None


def test_two_coins_of_one_contract_are_counted_together() -> None:
    """One staked coin is worth 1.5 of the contract's; what the pool swaps does not matter."""
    both = replace(hedge(4.5, 1.0), rate=1.5, other_rate=1.0)
    for staked, plain in ((2, 1.5), (1, 3), (3, 0)):
        held = replace(situation().position, amount0=staked * COIN, amount1=int(plain * COIN))
        moment = replace(situation(), position=held)
        assert judged(TradeAlert.HEDGE_DRIFTED, both, moment) is None


@pytest.fixture
def chain(tmp_path: Path) -> MadeUpChain:
    home = Home(tmp_path, tmp_path / "cache")
    settings = WatchSettings(Thresholds(near_edge=0.0))
    made = MadeUpChain(AlertStore.open(home, now=NOW), settings, of_features=ALERTS)
    assert made.poll() == ()
    return made


def told(events: tuple[AlertEvent, ...]) -> list[tuple[EventKind, str]]:
    return [(one.kind, one.alert.kind) for one in events]


def test_an_alert_about_a_hedge_stays_while_the_venue_is_silent(chain: MadeUpChain) -> None:
    chain.attached = AttachedHedges({v4_position(7): hedge(1.0)})
    assert told(chain.poll()) == [(EventKind.OPENED, TradeAlert.HEDGE_DRIFTED)]
    chain.attached = None
    assert chain.poll() == ()
    chain.attached = AttachedHedges({v4_position(7): hedge(0.0)})
    assert told(chain.poll()) == [(EventKind.RESOLVED, TradeAlert.HEDGE_DRIFTED)]


def test_moving_a_position_marks_its_hedge_stale_until_another_takes_it_over(
    chain: MadeUpChain,
) -> None:
    chain.attached = AttachedHedges(
        {v4_position(7): hedge(1.0), v4_position(5): hedge(2.0, wallet="0x" + "55" * 20)}
    )
    moved = [position(0, number=31)]
    first = told(chain.poll())
    assert first == [(EventKind.OPENED, TradeAlert.HEDGE_DRIFTED)]

    events = told(chain.poll(positions=moved, gone={v4_position(7): None}))
    assert (EventKind.OPENED, TradeAlert.HEDGE_STALE) in events
    assert (EventKind.RESOLVED, TradeAlert.HEDGE_DRIFTED) in events
    assert chain.poll(positions=moved) == ()
    chain.attached = None
    assert chain.poll(positions=moved) == ()
    chain.attached = AttachedHedges({v4_position(7): hedge(0.0), v4_position(31): hedge(0.0)})
    assert told(chain.poll(positions=moved)) == [(EventKind.RESOLVED, TradeAlert.HEDGE_STALE)]


def test_a_hedge_that_is_stale_stays_so_when_its_position_is_back_and_the_venue_is_silent(
    chain: MadeUpChain,
) -> None:
    chain.attached = AttachedHedges({v4_position(7): hedge(1.0)})
    chain.poll()
    away = [position(0, number=31)]
    assert (EventKind.OPENED, TradeAlert.HEDGE_STALE) in told(
        chain.poll(positions=away, gone={v4_position(7): None})
    )
    chain.attached = None
    assert (EventKind.RESOLVED, TradeAlert.HEDGE_STALE) not in told(chain.poll())
    chain.attached = AttachedHedges({v4_position(7): hedge(0.0)})
    assert (EventKind.RESOLVED, TradeAlert.HEDGE_STALE) in told(chain.poll())
