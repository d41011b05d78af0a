"""Each rule at its edge, and how a standing alert is left less easily than it is raised."""

import pytest
from msgspec.structs import replace

from agents.monitor.alerts.alert import AlertKind, Finding, Severity
from agents.monitor.rules.baseline import INSIDE, OUTSIDE
from agents.monitor.rules.risks import RULES, findings, judge_kind
from agents.monitor.rules.situation import Situation
from agents.monitor.rules.thresholds import Thresholds
from chain.base.units import Unknown
from chain.history.volatility import Volatility, VolatilityStep
from tests.agents.monitor.made_up_positions import at_tick, situation

USUAL = Thresholds()
MOVING = Volatility(VolatilityStep.MARKET, 0.05, 24, "CoinGecko", None, None, ())


def judged(kind: AlertKind, at: Situation, *, standing: bool = False) -> Finding | None:
    return judge_kind(kind, at, USUAL, standing)


def test_a_quiet_position_is_not_risky() -> None:
    quiet = situation()

    assert findings(quiet, USUAL) == []


def test_out_of_range_is_told_with_its_side_and_what_to_type() -> None:
    out = replace(at_tick(1_001), standing=OUTSIDE, out_since=1_000.0)

    found = judged(AlertKind.OUT_OF_RANGE, out)
    assert found is not None
    assert found.severity is not Severity.INFO
    assert found.reason == "the price is above the range"
    assert found.next_command == "zuno --network ethereum recommend 7"


def test_how_long_and_how_far_it_is_out() -> None:
    moment = at_tick(1_333)
    since = moment.position.block.timestamp - 100.0

    found = judged(AlertKind.OUT_OF_RANGE, replace(moment, standing=OUTSIDE, out_since=since))

    assert found is not None
    assert found.numbers == {
        "tick": 1_333,
        "tickLower": -1_000,
        "tickUpper": 1_000,
        "minutesOut": 1.7,
        "widthsBeyond": 0.167,
    }


def test_for_how_long_it_is_out_is_left_to_the_age_beside_it() -> None:
    """A sentence is written once a change; a figure in it would stand still beside the clock."""
    moment = replace(at_tick(1_333), standing=OUTSIDE)
    end = moment.position.block.timestamp

    told = {
        found.message
        for minutes in (0, 5, 245)
        if (
            found := judged(AlertKind.OUT_OF_RANGE, replace(moment, out_since=end - 60.0 * minutes))
        )
    }

    assert len(told) == 1


@pytest.mark.parametrize(
    ("tick", "minutes", "severity"),
    [
        (1_000, 59, Severity.WARNING),
        (1_038, 60, Severity.WARNING),
        (1_039, 60, Severity.CRITICAL),
        (1_039, 59, Severity.WARNING),
        (1_998, 0, Severity.WARNING),
        (1_999, 0, Severity.CRITICAL),
        (-2_000, 0, Severity.CRITICAL),
    ],
)
def test_time_and_distance_make_it_worse(tick: int, minutes: int, severity: Severity) -> None:
    moment = at_tick(tick)
    since = moment.position.block.timestamp - minutes * 60.0
    found = judged(AlertKind.OUT_OF_RANGE, replace(moment, standing=OUTSIDE, out_since=since))

    assert found is not None
    assert found.severity is severity


@pytest.mark.parametrize(
    ("tick", "standing", "near"),
    [(700, False, False), (701, False, True), (701, True, True), (550, True, False)],
)
def test_near_an_edge_by_the_share_of_the_width(tick: int, standing: bool, near: bool) -> None:
    found = judged(AlertKind.NEAR_BOUNDARY, at_tick(tick), standing=standing)

    assert (found is not None) is near


def test_the_reason_does_not_change_with_every_tick() -> None:
    reasons = {
        found.reason
        for tick in range(720, 1_000, 7)
        if (found := judged(AlertKind.NEAR_BOUNDARY, at_tick(tick))) is not None
    }

    assert reasons == {"the price is near the upper edge"}


def test_an_unlikely_day_inside_is_told_only_with_a_known_volatility() -> None:
    narrow = at_tick(900)

    assert judged(AlertKind.LIKELY_TO_LEAVE, narrow) is None
    found = judged(AlertKind.LIKELY_TO_LEAVE, replace(narrow, volatility=MOVING))
    assert found is not None
    assert "chance to stay in range for 24 h" in found.message
    assert "5% a day (CoinGecko)" in found.message


def test_out_of_range_silences_what_it_contains() -> None:
    out = replace(at_tick(1_200), standing=OUTSIDE, volatility=MOVING)

    assert {one.kind for one in findings(out, USUAL)} == {AlertKind.OUT_OF_RANGE}


def test_what_was_withdrawn_is_told_apart_from_fees_or_not_at_all() -> None:
    rich = replace(
        situation(), fees_usd=72.0, withdrawn_usd=4_790.0, waiting_usd=4_862.0, collect_usd=0.5
    )
    found = judged(AlertKind.WITHDRAWN_WAITS, rich)
    assert found is not None
    assert "$4,862.00 waits: $4,790.00 you withdrew + $72.00 fees" in found.message
    assert (found.numbers["withdrawnUsd"], found.numbers["waitingUsd"]) == (4_790.0, 4_862.0)
    assert judged(AlertKind.WITHDRAWN_WAITS, replace(rich, withdrawn_usd=0.0)) is None

    blind = replace(rich.position, withdrawn=Unknown("no logs"))
    unsure = replace(rich, position=blind, fees_usd=None, withdrawn_usd=None)
    found = judged(AlertKind.WITHDRAWN_WAITS, unsure)
    assert found is not None
    assert found.numbers["withdrawnUsd"] is None
    assert "fees or what you withdrew" in found.message
    assert judged(AlertKind.FEES_WORTH_COLLECTING, unsure) is None


def test_other_code_behind_the_hook_is_critical() -> None:
    moment = replace(situation(), hook_code="0xabc 0xdef")

    found = judged(AlertKind.HOOK_CHANGED, moment)

    assert found is not None
    assert found.next_command.endswith("exit-drill 7")


def test_every_kind_that_a_position_alone_can_have_is_in_the_table() -> None:
    elsewhere = {
        AlertKind.OWNER_CHANGED,
        AlertKind.BLIND,
        AlertKind.PRICE_CROSSED,
        AlertKind.SETTING_UNKNOWN,
    }

    assert {kind for kind, rule in RULES.items() if rule.judge} == set(AlertKind) - elsewhere
    assert RULES.keys() == set(AlertKind)
    assert situation().standing == INSIDE


def test_the_figures_of_a_finding_are_rounded_for_people() -> None:
    volatility = replace(MOVING, daily_sigma=0.123456789)
    found = judged(AlertKind.LIKELY_TO_LEAVE, replace(situation(), volatility=volatility))
    near = judged(AlertKind.NEAR_BOUNDARY, at_tick(777))

    assert found is not None
    assert near is not None
    assert found.numbers["dailySigma"] == 0.123457
    assert found.numbers["survival24h"] == round(float(str(found.numbers["survival24h"])), 4)
    assert near.numbers == {
        "tick": 777,
        "tickLower": -1_000,
        "tickUpper": 1_000,
        "shareToEdge": 0.1115,
    }
