"""What an expert or the judge may say: the fields, their bounds, and what is refused."""

import ast
from pathlib import Path

import pytest
from pydantic import ValidationError

import agents.trade
from agents.trade.findings import (
    ConflictMap,
    GeometryFinding,
    KeyLevels,
    LiquidityFinding,
    MacroFinding,
    MicrostructureFinding,
    RegimeCall,
)
from agents.trade.payloads import ROLES
from agents.trade.plan import DraftReasoning, TradeDraft
from agents.trade.terms import Bias, MarketRegime, TradeDecision
from tests.agents.trade.cases import finding

REASONING = dict.fromkeys(DraftReasoning.model_fields, "words")
DRAFT = {
    "decision": "LONG",
    "allocation_pct": 40.0,
    "leverage": 2.0,
    "entry_price": 3000.0,
    "stop_loss": 2950.0,
    "take_profit": 3100.0,
    "hold_duration": "24 h",
    "reasoning": REASONING,
    "win_probability_pct": 55.0,
    "expected_profit_pct": 3.0,
    "expected_loss_pct": 2.0,
    "ev_rationale": "words",
    "key_factors": ["one"],
}


def draft(**changes: object) -> TradeDraft:
    return TradeDraft.model_validate({**DRAFT, **changes}, strict=False)


def test_a_draft_has_every_field_of_the_given_schema() -> None:
    assert set(TradeDraft.model_fields) == set(DRAFT)
    assert set(DraftReasoning.model_fields) == {
        "counter_scenario",
        "meta_agent_context",
        "technical",
        "derivatives",
        "experts",
        "narrative",
        "final_logic",
    }
    assert draft().decision is TradeDecision.LONG
    assert [one.value for one in TradeDecision] == ["LONG", "SHORT", "HOLD", "CANCEL_AND_CLOSE"]


@pytest.mark.parametrize(
    "changes",
    [
        {"decision": "BUY"},
        {"allocation_pct": 100.1},
        {"allocation_pct": -1.0},
        {"leverage": 3.1},
        {"leverage": 0.9},
        {"win_probability_pct": 101.0},
        {"stop_loss": 3001.0},
        {"take_profit": 2999.0},
        {"decision": "SHORT"},
        {"entry_price": None},
        {"expected_profit_pct": float("nan")},
        {"reasoning": {**REASONING, "counter_scenario": ""}},
        {"surprise": 1},
    ],
)
def test_what_is_out_of_bounds_is_refused(changes: dict[str, object]) -> None:
    with pytest.raises(ValidationError):
        draft(**changes)


def test_findings_have_the_given_fields_and_words() -> None:
    for expert, kind, named in (
        ("liquidity", LiquidityFinding, {"anomaly", "confidence", "target_entry", "rationale"}),
        (
            "microstructure",
            MicrostructureFinding,
            {"anomaly", "confidence", "directional_bias", "rationale"},
        ),
        ("macro", MacroFinding, {"anomaly", "options_bias", "confidence", "rationale"}),
        (
            "vlm_geometry",
            GeometryFinding,
            {
                "anomaly",
                "directional_bias",
                "confidence",
                "key_levels",
                "fibonacci_context",
                "pattern",
                "cvd_signal",
                "funding_visual",
                "rationale",
            },
        ),
    ):
        one = finding(expert, Bias.BULLISH, 0.4)
        assert isinstance(one, kind)
        assert named <= set(kind.model_fields)
        for wrong in ({"confidence": 1.1}, {"anomaly": "moon"}):
            with pytest.raises(ValidationError):
                kind.model_validate({**one.model_dump(), **wrong})
    assert len(KeyLevels.model_fields) == 7


def test_a_regime_and_a_conflict_map_have_the_given_fields() -> None:
    assert [one.value for one in MarketRegime] == [
        "BULL_MOMENTUM",
        "BEAR_MOMENTUM",
        "RANGE_BOUND",
        "VOLATILITY_PANIC",
        "SIDEWAYS_ACCUMULATION",
    ]
    told = {"regime", "rationale", "trust_directive", "risk_budget_pct", "risk_bias"}
    assert told <= set(RegimeCall.model_fields)
    assert set(ConflictMap.model_fields) == {
        "consensus_signals",
        "conflicts",
        "dominant_signal",
        "highest_confidence_expert",
        "key_uncertainty",
        "regime_note",
        "fallback",
    }


def test_the_guard_is_arithmetic_without_a_class_of_its_own_or_a_model() -> None:
    source = Path(agents.trade.__file__).with_name("leverage_guard.py").read_text("utf-8")
    imported = {
        node.module or ""
        for node in ast.walk(ast.parse(source))
        if isinstance(node, ast.ImportFrom)
    }

    assert imported == {
        "agents.trade.terms",
        "enum",
        "math",
        "msgspec",
    }


def test_nobody_argues_for_a_side_by_office() -> None:
    assert not [role for role in ROLES if "bull" in role or "bear" in role]
