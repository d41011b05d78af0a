"""Arithmetic disposes: the veto, the budget, the six rules, the guard, and what they never do."""

from random import Random

import pytest
from msgspec.structs import replace

from agents.trade.facts import DeskRecord
from agents.trade.judging import (
    TradeCosts,
    expected_value,
    fair_probability_pct,
    funding_cost,
    is_vetoed,
    outlook,
    recorded_odds_pct,
    scaled_allocation,
)
from agents.trade.leverage_guard import GuardFacts, GuardReason, VenueExposure, guard
from agents.trade.risk_rules import HOLD, RiskFacts, RiskRule, Sizing, VenueLimits, judge_risk
from agents.trade.terms import (
    DeskLimits,
    ExecutionStyle,
    MarketAnomaly,
    TradeDecision,
    TradeMode,
)
from tests.printed import printed

LIMITS = DeskLimits()
LONG, SHORT = TradeDecision.LONG, TradeDecision.SHORT
FACTS = RiskFacts(mode=TradeMode.SWING, venue=VenueLimits(), equity=1_000.0, funding_rate=0.0001)


@pytest.mark.parametrize(
    ("probability", "profit", "loss", "expected", "vetoed"),
    [(0.55, 4.0, 2.0, 1.30, False), (0.40, 2.0, 2.0, -0.40, True), (0.5, 2.0, 2.0, 0.0, True)],
)
def test_the_expected_value_vetoes_what_brings_nothing(
    probability: float, profit: float, loss: float, expected: float, vetoed: bool
) -> None:
    found = expected_value(probability, profit, loss)

    assert found == pytest.approx(expected)
    assert is_vetoed(found) is vetoed


def test_costs_take_from_the_profit_and_add_to_the_loss() -> None:
    costs = TradeCosts(fees=0.001, slippage=0.0005, funding=funding_cost(0.0001, 1, 24.0))
    seen = outlook(3000.0, 2940.0, 3090.0, 50.0, costs)

    assert costs.funding == pytest.approx(0.0003)
    assert seen.profit_pct == pytest.approx(3.0 - 0.18)
    assert seen.loss_pct == pytest.approx(2.0 + 0.18)
    assert fair_probability_pct(3000.0, 2940.0, 3090.0) == pytest.approx(40.0)
    assert expected_value(seen.break_even_pct / 100, seen.profit_pct, seen.loss_pct) == (
        pytest.approx(0.0)
    )


def record(resolved: int, won: int, fair: float, proved: float = 0.0) -> DeskRecord:
    return DeskRecord(
        resolved=resolved, won=won, fair_wins=fair * resolved, brier=None, proved=proved
    )


@pytest.mark.parametrize(
    ("past", "pct"),
    [
        (record(0, 0, 0.0), 40.0),
        (record(10, 4, 0.4), 40.0),
        (record(10, 7, 0.4), 40.0),  # more than chance, and nothing is proved by it
        (record(1_000, 500, 0.4, 0.03), 43.0),
        (record(10, 2, 0.4), 20.0),
        (record(100, 30, 0.4), 30.0),
    ],
)
def test_odds_start_at_chance_and_move_by_the_record_alone(past: DeskRecord, pct: float) -> None:
    assert recorded_odds_pct(40.0, past) == pytest.approx(pct)


def test_with_an_empty_record_nothing_without_drift_passes() -> None:
    draws, empty = Random(1), DeskRecord(resolved=0, won=0, brier=None)
    passed = 0
    for _ in range(100_000):
        risk, reward = draws.uniform(0.2, 5.0), draws.uniform(0.2, 40.0)
        fair = fair_probability_pct(100.0, 100.0 - risk, 100.0 + reward)
        costs = TradeCosts(draws.uniform(1e-5, 0.002), draws.uniform(0.0, 0.002), 0.0)
        seen = outlook(100.0, 100.0 - risk, 100.0 + reward, recorded_odds_pct(fair, empty), costs)
        passed += not is_vetoed(seen.expected_pct)
    assert passed == 0


def test_the_budget_scales_the_allocation() -> None:
    assert scaled_allocation(40.0, 50.0) == 20.0


@pytest.mark.parametrize(
    ("mode", "leverage", "after"),
    [(TradeMode.SWING, 5.0, 3.0), (TradeMode.POSITION, 2.0, 1.0), (TradeMode.SWING, 2.0, 2.0)],
)
def test_rule_1_caps_leverage_by_mode(mode: TradeMode, leverage: float, after: float) -> None:
    judged = judge_risk(Sizing(LONG, 10.0, leverage), replace(FACTS, mode=mode), LIMITS)

    assert judged.after.leverage == after
    assert (RiskRule.LEVERAGE in judged.fired) is (after < leverage)


@pytest.mark.parametrize(
    "facts",
    [
        replace(FACTS, options_panic=True),
        replace(FACTS, curve_spread=-0.01),
        replace(FACTS, curve_change=-0.25),
    ],
)
def test_rule_2_taxes_volatility_by_half(facts: RiskFacts) -> None:
    assert judge_risk(Sizing(LONG, 40.0, 1.0), facts, LIMITS).after.allocation_pct == 20.0


def test_rule_2_leaves_calm_markets_alone() -> None:
    calm = replace(FACTS, curve_spread=0.0, curve_change=-0.24)

    assert judge_risk(Sizing(LONG, 40.0, 1.0), calm, LIMITS).after.allocation_pct == 40.0


@pytest.mark.parametrize(
    ("side", "rate", "decision"),
    [
        (LONG, 0.00031, TradeDecision.HOLD),
        (LONG, 0.00030, LONG),
        (SHORT, 0.00031, SHORT),
        (SHORT, -0.00030, TradeDecision.HOLD),
        (SHORT, -0.00029, SHORT),
        (LONG, None, TradeDecision.HOLD),
    ],
)
def test_rule_3_refuses_the_crowded_side(
    side: TradeDecision, rate: float | None, decision: TradeDecision
) -> None:
    judged = judge_risk(Sizing(side, 10.0, 1.0), replace(FACTS, funding_rate=rate), LIMITS)

    assert judged.after.decision is decision
    if decision is TradeDecision.HOLD:
        assert judged.after == HOLD


@pytest.mark.parametrize(
    ("side", "longs", "shorts", "after"),
    [
        (LONG, 50_000_001.0, 0.0, 5.0),
        (LONG, 50_000_000.0, 0.0, 10.0),
        (LONG, 0.0, 90_000_000.0, 10.0),
        (SHORT, 0.0, 50_000_001.0, 5.0),
    ],
)
def test_rule_4_shrinks_what_stands_against_liquidations(
    side: TradeDecision, longs: float, shorts: float, after: float
) -> None:
    facts = replace(FACTS, long_liquidations_usd=longs, short_liquidations_usd=shorts)

    assert judge_risk(Sizing(side, 10.0, 1.0), facts, LIMITS).after.allocation_pct == after


def test_rule_5_binance_takes_both_sides_up_to_2000_dollars() -> None:
    rich = replace(FACTS, equity=100_000.0)
    for side in (LONG, SHORT):
        judged = judge_risk(Sizing(side, 50.0, 3.0), rich, LIMITS)

        assert judged.after.notional(rich.equity) == pytest.approx(2_000.0)
        assert judged.after.leverage == 3.0


def test_rule_5_upbit_is_spot_long_unlevered_and_2m_won() -> None:
    limits = VenueLimits(spot=True, leverage=1.0, rests=False, most_usd=2_000_000 / 1_400)
    upbit = replace(FACTS, venue=limits, equity=100_000.0, funding_rate=None)
    judged = judge_risk(Sizing(LONG, 50.0, 3.0), upbit, LIMITS)

    assert judged.after.leverage == 1.0
    assert judged.after.notional(upbit.equity) * 1_400 == pytest.approx(2_000_000.0)
    assert judge_risk(Sizing(SHORT, 50.0, 1.0), upbit, LIMITS).after == HOLD
    unknown = replace(upbit, venue=replace(limits, most_usd=None))
    assert judge_risk(Sizing(LONG, 50.0, 1.0), unknown, LIMITS).after == HOLD


@pytest.mark.parametrize(
    ("decision", "changes", "style"),
    [
        (LONG, {}, ExecutionStyle.PASSIVE_MAKER),
        (LONG, {"thin_book": True}, ExecutionStyle.SMART_DCA),
        (
            LONG,
            {"anomalies": (MarketAnomaly.TRUE_BREAKOUT,)},
            ExecutionStyle.MOMENTUM_SNIPER,
        ),
        (TradeDecision.CANCEL_AND_CLOSE, {}, ExecutionStyle.CASINO_EXIT),
    ],
)
def test_rule_6_chooses_a_style(
    decision: TradeDecision, changes: dict[str, object], style: ExecutionStyle
) -> None:
    sizing = Sizing(decision, 10.0, 1.0)

    assert judge_risk(sizing, replace(FACTS, **changes), LIMITS).style is style


@pytest.mark.parametrize("decision", [TradeDecision.HOLD, TradeDecision.CANCEL_AND_CLOSE])
def test_hold_and_exit_pass_at_once_whatever_the_rules_say(decision: TradeDecision) -> None:
    worst = replace(FACTS, funding_rate=None, options_panic=True, equity=0.0)

    judged = judge_risk(Sizing(decision, 0.0, 1.0), worst, LIMITS)

    assert judged.after.decision is decision
    assert judged.fired == ()


def _drawn_facts(draws: Random) -> RiskFacts:
    def perhaps(low: float, high: float) -> float | None:
        return None if draws.random() < 0.2 else draws.uniform(low, high)

    return RiskFacts(
        mode=draws.choice(list(TradeMode)),
        venue=VenueLimits(
            draws.random() < 0.5, draws.choice([1.0, 3.0]), draws.random() < 0.5, perhaps(10, 9e3)
        ),
        equity=draws.choice([0.0, 10 ** draws.uniform(0, 7)]),
        funding_rate=perhaps(-0.001, 0.001),
        options_panic=draws.random() < 0.3,
        curve_spread=perhaps(-1, 2),
        curve_change=perhaps(-0.5, 0.5),
        long_liquidations_usd=perhaps(0, 1e8),
        short_liquidations_usd=perhaps(0, 1e8),
        anomalies=tuple(draws.sample(list(MarketAnomaly), draws.randrange(3))),
    )


def _never_looser(count: int) -> None:
    draws, changed = Random(17), 0
    for _ in range(count):
        draft = Sizing(
            draws.choice(list(TradeDecision)), draws.uniform(0, 500), draws.uniform(1, 9)
        )
        judged = judge_risk(draft, _drawn_facts(draws), LIMITS).after
        assert judged.decision in (draft.decision, TradeDecision.HOLD)
        assert judged.allocation_pct <= draft.allocation_pct
        assert judged.leverage <= draft.leverage
        assert judged.leverage >= 1
        changed += judged != draft
    printed(f"G4: {count:,} drafts, {changed:,} made smaller or held, none larger or turned")


def test_the_rules_never_loosen_and_never_flip() -> None:
    _never_looser(2_000)


@pytest.mark.soak
def test_the_rules_never_loosen_and_never_flip_at_length() -> None:
    _never_looser(100_000)


def _never_past_the_cap(count: int) -> None:
    draws, allowed, highest = Random(18), 0, 0.0
    for _ in range(count):
        equity = draws.choice([None, -5.0, 0.0, 10 ** draws.uniform(0, 8)])
        exposures = tuple(
            VenueExposure(
                draws.choice(["paper", "binance", "upbit"]),
                draws.choice(["ETHUSDT", "BTCUSDT"]),
                None if draws.random() < 0.03 else draws.uniform(-1, 1) * 10 ** draws.uniform(0, 8),
            )
            for _ in range(draws.randrange(6))
        )
        asked = draws.choice([0.0, 10 ** draws.uniform(0, 9), float("inf")])
        facts = GuardFacts(equity, exposures, draws.choice([0.0, 20.0]))
        judged = guard(asked, facts, LIMITS)
        assert 0 <= judged.notional <= asked
        if judged.allows:
            assert equity is not None
            held = sum(abs(one.notional or 0.0) for one in exposures)
            assert all(one.notional is not None for one in exposures)
            assert held + judged.notional <= LIMITS.account_leverage * equity
            assert judged.notional >= facts.least_notional
            allowed += 1
            highest = max(highest, (held + judged.notional) / equity)
    printed(
        f"G3: {count:,} accounts and drafts, {allowed:,} allowed, at most {highest:.6f} x equity"
    )


def test_no_book_and_draft_lead_past_twice_the_account() -> None:
    _never_past_the_cap(2_000)


@pytest.mark.soak
def test_no_book_and_draft_lead_past_twice_the_account_at_length() -> None:
    _never_past_the_cap(100_000)


@pytest.mark.parametrize(
    ("equity", "held", "asked", "reason", "notional"),
    [
        (1_000.0, 0.0, 500.0, GuardReason.PASSED, 500.0),
        (1_000.0, -1_500.0, 800.0, GuardReason.SCALED, 500.0),
        (1_000.0, 2_000.0, 800.0, GuardReason.FULL, 0.0),
        (1_000.0, 1_990.0, 800.0, GuardReason.TOO_SMALL, 0.0),
        (None, 0.0, 800.0, GuardReason.UNKNOWN_EQUITY, 0.0),
        (1_000.0, None, 800.0, GuardReason.UNKNOWN_EXPOSURE, 0.0),
    ],
)
def test_the_guard_scales_or_refuses_and_fails_closed(
    equity: float | None,
    held: float | None,
    asked: float,
    reason: GuardReason,
    notional: float,
) -> None:
    facts = GuardFacts(equity, (VenueExposure("paper", "ETHUSDT", held),), 20.0)

    judged = guard(asked, facts, LIMITS)

    assert judged.reason is reason
    assert judged.notional == pytest.approx(notional)
