"""Every rule one step before and at its threshold, freshly and while its alert stands."""

from fractions import Fraction

import pytest
from msgspec.structs import replace

from agents.monitor.alerts.alert import AlertKind, Finding, Severity
from agents.monitor.rules.risks import judge_kind
from agents.monitor.rules.situation import Situation
from agents.monitor.rules.thresholds import Thresholds
from agents.monitor.rules.worth_risks import loss_is_unknown
from chain.math.fees import unpack_protocol_fee
from chain.protocols.custody import Custody
from tests.agents.monitor.made_up_alerts import WALLET
from tests.agents.monitor.made_up_positions import at_tick, situation

STRANGER, OTHER = "0x" + "66" * 20, "0x" + "77" * 20


def judged(
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
    found = judged(AlertKind.FEES_WORTH_COLLECTING, moment, standing=standing)

    assert (found is not None) is told
    assert found is None or found.numbers == {"feesUsd": fees, "gasUsd": gas}


@pytest.mark.parametrize(
    ("difference", "standing", "told"),
    [(0.02, False, True), (0.0199, False, False), (0.015, True, True), (0.0149, True, False)],
)
def test_prices_that_disagree(difference: float, standing: bool, told: bool) -> None:
    moment = replace(situation(), price_difference=difference)
    found = judged(AlertKind.PRICE_DISAGREEMENT, moment, standing=standing)

    assert (found is not None) is told
    assert found is None or found.severity is Severity.WARNING
    assert judged(AlertKind.PRICE_DISAGREEMENT, situation()) is None


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
    found = judged(AlertKind.PRICE_LEVEL, at_tick(100), levels, standing=standing)

    assert (found is not None) is told
    assert found is None or ("below" in found.reason) is (below is not None)


@pytest.mark.parametrize(
    ("worth", "standing", "told"),
    [(99.99, False, True), (100.0, False, False), (100.99, True, True), (101.0, True, False)],
)
def test_a_stop_loss_in_dollars(worth: float, standing: bool, told: bool) -> None:
    levels = Thresholds(value_below_usd=100.0)
    moment = replace(situation(), principal_usd=worth - 30.0, waiting_usd=30.0)
    found = judged(AlertKind.LOSS_LEVEL, moment, levels, standing=standing)

    assert (found is not None) is told
    assert found is None or found.next_command == "zuno --network ethereum close 7"
    for unknown in (replace(moment, principal_usd=None), replace(moment, waiting_usd=None)):
        assert judged(AlertKind.LOSS_LEVEL, unknown, levels) is None
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

    assert (judged(AlertKind.LOSS_LEVEL, moment, levels, standing=standing) is not None) is told
    assert judged(AlertKind.LOSS_LEVEL, moment) is None
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

    assert (judged(AlertKind.POOL_DRAINED, moment, standing=standing) is not None) is told


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
    found = judged(AlertKind.FEE_CHANGED, changed)

    assert (found is not None) is told
    assert found is None or found.reason == "the pool's fee changed"


def test_the_protocols_share_is_news_however_small() -> None:
    moment = situation()
    pool = replace(moment.position.pool, protocol_fee=unpack_protocol_fee(1))
    found = judged(
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
    found = judged(AlertKind.APPROVAL_CHANGED, changed)

    assert (None if found is None else found.severity) == severity
    assert found is None or found.numbers == {
        "approved": custody.approved,
        "subscriber": custody.subscriber,
    }


def test_severities_are_in_order() -> None:
    assert [one.rank for one in (Severity.INFO, Severity.WARNING, Severity.CRITICAL)] == [0, 1, 2]
