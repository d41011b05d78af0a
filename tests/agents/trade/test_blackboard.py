"""What one office finds reaches the next, whole, and the plan shows what was drafted with it."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import pytest

from agents.memory.memory import TradeMemory
from agents.trade.observe.news import MemoryIngestion
from agents.trade.observe.observer import section
from agents.trade.payloads import JUDGE, META
from agents.trade.terms import ExpertName, SectionName
from tests.agents.trade.cases import NOW
from tests.agents.trade.offices import Offices, answers, held, plan_of, rising_market, sections
from zuno_tui.features.trade.report import case_lines, report_lines

if TYPE_CHECKING:
    from pathlib import Path


async def test_the_judge_is_told_the_whole_blackboard() -> None:
    mark = rising_market().market
    assert mark is not None
    seen: dict[str, dict[str, object]] = {
        "GeometryReply": {
            "fibonacciContext": "It sits on a MARK-FIB.",
            "pattern": "double_top",
            "cvdSignal": "divergence_bearish",
            "fundingVisual": "high_positive",
            "keyLevels": {"majorSupport": 1.5},
        },
        "LiquidityReply": {"targetEntry": mark.mark * 0.999},
        "SynthesisReply": {"regimeNote": "Weigh the MARK-NOTE."},
    }
    offices = Offices(partial(answers, seen))
    await held(offices)
    [told] = [prompt.user for role, prompt in offices.asked if role == JUDGE]

    for words in ("MARK-FIB", "double_top", "divergence_bearish", "high_positive", "MARK-NOTE"):
        assert words in told
    assert "liquidity would enter at" in told
    assert "not borne out by its numbers: major support" in told
    assert "the chart's levels:" in told


async def test_a_chart_by_rules_tells_the_judge_its_levels() -> None:
    offices = Offices()
    plan = plan_of(await held(offices))
    [told] = [prompt.user for role, prompt in offices.asked if role == JUDGE]

    assert plan.conflicts is not None
    assert plan.conflicts.regime_note in told


async def test_a_report_says_how_long_why_and_on_what_it_rests() -> None:
    plan = plan_of(await held(Offices()))
    lines = case_lines(plan)
    report = "\n".join(report_lines(plan, {}, 100))

    assert plan.hold_duration == "a day"
    assert plan.key_factors == ("flow",)
    assert len(lines) == 3
    assert all(line in report.replace("\n    ", " ") or line in report for line in lines)


async def test_what_was_filed_is_found_again_when_it_fits(tmp_path: Path) -> None:
    clock, memory = [float(NOW)], TradeMemory(tmp_path)
    filing = MemoryIngestion(memory, lambda: clock[0])

    def news(words: str) -> dict[SectionName, object]:
        told = section(SectionName.NEWS, "test", words, {}, as_of=clock[0], now=clock[0])
        return {SectionName.NEWS: told}

    await filing.ingest(news("Staking withdrawals queue grows"), "ETH")  # type: ignore[arg-type]
    clock[0] += 3600
    await filing.ingest(news("A ballgame was won"), "ETH")  # type: ignore[arg-type]
    clock[0] += 3600
    found = await filing.ingest(news("Staking queue clears"), "ETH")  # type: ignore[arg-type]
    memory.close()
    offices = Offices()
    told = sections(ingestion=found.text)
    await held(offices, seen=rising_market().model_copy(update={"sections": told}))
    prompts = {role: prompt.user for role, prompt in offices.asked}

    assert found.text.splitlines()[1:] == ["Staking withdrawals queue grows"]
    for role in (META, JUDGE):
        assert "«Staking withdrawals queue grows»" in prompts[role]


@pytest.mark.parametrize("more", list(ExpertName))
async def test_meta_s_directive_changes_what_a_word_weighs_and_only_weakens(
    more: ExpertName,
) -> None:
    less = next(expert for expert in ExpertName if expert is not more)
    plain = plan_of(await held(Offices()))
    reply: dict[str, dict[str, object]] = {
        "RegimeReply": {"trustMore": more.value, "trustLess": less.value}
    }
    plan = plan_of(await held(Offices(partial(answers, reply))))

    assert plan.regime is not None
    assert plan.regime.directed is not None
    assert plan.regime.directed[less] == pytest.approx(plan.regime.weights[less] * 0.8)
    assert plan.regime.directed[more] <= plan.regime.weights[more] * 1.25 + 1e-9
    assert plan.ladder[0].allocation_pct <= plain.ladder[0].allocation_pct


async def test_the_argument_against_is_a_fact_and_no_question() -> None:
    for seen in (rising_market(), rising_market(60)):
        plan = plan_of(await held(None, seen=seen))
        assert plan.reasoning is not None
        assert not plan.reasoning.counter_scenario.endswith("?")
