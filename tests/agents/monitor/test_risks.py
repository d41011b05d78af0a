"""Each rule at its edge, freshly and while its alert stands, and what an alert says."""

from fractions import Fraction

import pytest
from msgspec.structs import replace

from agents.monitor.alerts.alert import AlertKind, Finding, Severity
from agents.monitor.rules.baseline import INSIDE, OUTSIDE
from agents.monitor.rules.risks import RULES, findings, judge_kind
from agents.monitor.rules.situation import Situation
from agents.monitor.rules.thresholds import Thresholds
from agents.monitor.rules.worth_risks import loss_is_unknown
from chain.base.units import Unknown
from chain.history.volatility import Volatility, VolatilityStep
from chain.math.fees import unpack_protocol_fee
from chain.protocols.custody import Custody
from tests.agents.monitor.made_up_alerts import WALLET
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


STRANGER, OTHER = "0x" + "66" * 20, "0x" + "77" * 20


def judged_by(
    kind: AlertKind, at: Situation, thresholds: Thresholds | None = None, *, standing: bool = False
) -> Finding | None:
    return judge_kind(kind, at, thresholds or Thresholds(), standing)


@pytest.mark.parametrize(
    ("fees", "gas", "standing", "told"),
    [
        (10.0, 0.5, False, True),
        (9.99, 0.5, False, False),
        (50.0, 5.0, False, True),
        (49.99, 5.0, False, False),
        (8.0, 0.5, True, True),
        (7.99, 0.5, True, False),
        (None, 0.5, False, False),
        (100.0, None, False, False),
    ],
)
def test_fees_against_dollars_and_gas(
    fees: float | None, gas: float | None, standing: bool, told: bool
) -> None:
    moment = replace(situation(), fees_usd=fees, collect_usd=gas)
    found = judged_by(AlertKind.FEES_WORTH_COLLECTING, moment, standing=standing)

    assert (found is not None) is told
    assert found is None or found.numbers == {"feesUsd": fees, "gasUsd": gas}


@pytest.mark.parametrize(
    ("difference", "standing", "told"),
    [(0.02, False, True), (0.0199, False, False), (0.015, True, True), (0.0149, True, False)],
)
def test_prices_that_disagree(difference: float, standing: bool, told: bool) -> None:
    moment = replace(situation(), price_difference=difference)
    found = judged_by(AlertKind.PRICE_DISAGREEMENT, moment, standing=standing)

    assert (found is not None) is told
    assert found is None or found.severity is Severity.WARNING
    assert judged_by(AlertKind.PRICE_DISAGREEMENT, situation()) is None


def price_now() -> Fraction:
    moment = at_tick(100)
    price = moment.pair.price(moment.position.pool.sqrt_price_x96)
    assert price is not None
    return Fraction(price.numerator, price.denominator)


TINY = Fraction(1, 10**12)


@pytest.mark.parametrize(
    ("below", "above", "standing", "told"),
    [
        (None, None, False, False),
        (price_now(), None, False, False),
        (price_now() * (1 + TINY), None, False, True),
        (None, price_now(), False, False),
        (None, price_now() * (1 - TINY), False, True),
        (price_now() / Fraction(201, 200), None, True, False),
        (price_now() / Fraction(201, 200) * (1 + TINY), None, True, True),
        (None, price_now() / Fraction(199, 200), True, False),
        (None, price_now() / Fraction(199, 200) * (1 - TINY), True, True),
    ],
)
def test_levels_of_the_price(
    below: Fraction | None, above: Fraction | None, standing: bool, told: bool
) -> None:
    levels = Thresholds(price_below=below, price_above=above)
    found = judged_by(AlertKind.PRICE_LEVEL, at_tick(100), levels, standing=standing)

    assert (found is not None) is told
    assert found is None or ("below" in found.reason) is (below is not None)


@pytest.mark.parametrize(
    ("worth", "standing", "told"),
    [(99.99, False, True), (100.0, False, False), (100.99, True, True), (101.0, True, False)],
)
def test_a_stop_loss_in_dollars(worth: float, standing: bool, told: bool) -> None:
    levels = Thresholds(value_below_usd=100.0)
    moment = replace(situation(), principal_usd=worth - 30.0, waiting_usd=30.0)
    found = judged_by(AlertKind.LOSS_LEVEL, moment, levels, standing=standing)

    assert (found is not None) is told
    assert found is None or found.next_command == "zuno --network ethereum close 7"
    for unknown in (replace(moment, principal_usd=None), replace(moment, waiting_usd=None)):
        assert judged_by(AlertKind.LOSS_LEVEL, unknown, levels) is None
        assert loss_is_unknown(unknown, levels)
        assert not loss_is_unknown(unknown, Thresholds())
    assert not loss_is_unknown(moment, levels)


@pytest.mark.parametrize(
    ("loss", "standing", "told"),
    [(0.25, False, True), (0.2499, False, False), (0.24, True, True), (0.2399, True, False)],
)
def test_a_stop_loss_by_share(loss: float, standing: bool, told: bool) -> None:
    levels = Thresholds(loss=0.25)
    moment = replace(situation(), loss=loss)

    assert (judged_by(AlertKind.LOSS_LEVEL, moment, levels, standing=standing) is not None) is told
    assert judged_by(AlertKind.LOSS_LEVEL, moment) is None
    assert loss_is_unknown(situation(), levels)
    assert not loss_is_unknown(moment, levels)


@pytest.mark.parametrize(
    ("others", "there", "standing", "told"),
    [
        (1_000, 200, False, True),
        (1_000, 201, False, False),
        (1_000, 359, True, True),
        (1_000, 361, True, False),
        (1_000, None, False, False),
        (1_000, 1_000, False, False),
        (0, 0, False, False),
        (1, 0, False, True),
    ],
)
def test_others_who_left(others: int, there: int | None, standing: bool, told: bool) -> None:
    moment = situation()
    moment = replace(moment, baseline=replace(moment.baseline, others=others), others_there=there)

    assert (judged_by(AlertKind.POOL_DRAINED, moment, standing=standing) is not None) is told


@pytest.mark.parametrize(
    ("before", "now", "told"),
    [
        (3_000, 3_000, False),
        (3_000, 5_999, False),
        (3_000, 6_000, True),
        (3_000, 1_501, False),
        (3_000, 1_500, True),
        (0, 1, True),
        (1, 0, True),
        (0, 0, False),
    ],
)
def test_a_fee_that_doubles_or_halves(before: int, now: int, told: bool) -> None:
    moment = situation()
    position = moment.position
    changed = replace(
        moment,
        position=replace(position, pool=replace(position.pool, lp_fee=now)),
        baseline=replace(moment.baseline, lp_fee=before),
    )
    found = judged_by(AlertKind.FEE_CHANGED, changed)

    assert (found is not None) is told
    assert found is None or found.reason == "the pool's fee changed"


def test_the_protocols_share_is_news_however_small() -> None:
    moment = situation()
    pool = replace(moment.position.pool, protocol_fee=unpack_protocol_fee(1))
    found = judged_by(
        AlertKind.FEE_CHANGED, replace(moment, position=replace(moment.position, pool=pool))
    )

    assert found is not None
    assert found.reason == "the protocol's share of the fee changed"


@pytest.mark.parametrize(
    ("before", "now", "severity"),
    [
        ((None, None), (None, None), None),
        ((STRANGER, OTHER), (STRANGER, OTHER), None),
        ((None, None), (STRANGER, None), Severity.CRITICAL),
        ((OTHER, None), (STRANGER, None), Severity.CRITICAL),
        ((None, None), (STRANGER, OTHER), Severity.CRITICAL),
        ((None, None), (None, OTHER), Severity.WARNING),
        ((STRANGER, None), (None, OTHER), Severity.WARNING),
        ((STRANGER, None), (None, None), Severity.INFO),
        ((None, OTHER), (None, None), Severity.INFO),
        ((STRANGER, OTHER), (STRANGER, None), Severity.INFO),
    ],
)
def test_who_may_touch_it(
    before: tuple[str | None, str | None],
    now: tuple[str | None, str | None],
    severity: Severity | None,
) -> None:
    moment = situation()
    custody = Custody(WALLET, now[0], now[1])
    changed = replace(
        moment,
        position=replace(moment.position, custody=custody),
        baseline=replace(moment.baseline, approved=before[0], subscriber=before[1]),
    )
    found = judged_by(AlertKind.APPROVAL_CHANGED, changed)

    assert (None if found is None else found.severity) == severity
    assert found is None or found.numbers == {
        "approved": custody.approved,
        "subscriber": custody.subscriber,
    }


def test_severities_are_in_order() -> None:
    assert [one.rank for one in (Severity.INFO, Severity.WARNING, Severity.CRITICAL)] == [0, 1, 2]
