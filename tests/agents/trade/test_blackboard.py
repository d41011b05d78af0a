"""What the trade agents share: a board, data, requirements, routes."""

import json
import re
from functools import partial
from pathlib import Path

import pytest
from pydantic import BaseModel

from agents.memory.lesson_writing import FeedbackReply, PostMortemReply
from agents.memory.memory import TradeMemory
from agents.model.reply_text import StructuredReply, strict_schema
from agents.trade import findings
from agents.trade.observe.news import ExtractionReply, MemoryIngestion, NarrativeReply
from agents.trade.observe.observer import section
from agents.trade.payloads import JUDGE, META
from agents.trade.routing import FLASH, ROLE_ROUTES, ROUTES, SONNET, VISION, falls_back, provider_of
from agents.trade.terms import ExpertName, SectionName
from tests.agents.trade.cases import NOW
from tests.agents.trade.offices import Offices, answers, held, plan_of, rising_market, sections
from tests.printed import printed
from zuno_tui.features.trade.report import case_lines, report_lines


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


ROOT = Path(__file__).parent.parent.parent.parent
_SPAN = re.compile(r"F(\d+)(?:–F(\d+))?")


def _rows() -> list[list[str]]:
    page = (Path(__file__).parent / "requirements.md").read_text("utf-8")
    lines = [line for line in page.splitlines() if line.startswith("| F")]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]


def test_every_requirement_is_named_once() -> None:
    named: list[int] = []
    for row in _rows():
        for first, last in _SPAN.findall(row[0]):
            named += range(int(first), int(last or first) + 1)

    assert sorted(named) == list(range(1, 154))


def test_every_test_that_is_named_exists() -> None:
    sources = "".join(
        path.read_text("utf-8")
        for folder in (
            "agents/trade",
            "agents/memory",
            "agents/model",
            "chain/exchange",
            "zuno_tui/charts",
            "zuno_tui/commands",
            "zuno_tui/gate",
        )
        for path in (ROOT / "tests" / folder).glob("test_*.py")
    )
    holding = {row[0]: re.findall(r"`(test_\w+)`", row[1]) for row in _rows()}
    named = {name for names in holding.values() for name in names}

    printed(f"G1: F1 to F153, held by {len(named)} tests")
    assert all(holding.values())
    assert not {name for name in named if f"def {name}(" not in sources}


def test_the_router_knows_every_office_its_model_and_its_cap() -> None:
    known = {name.value: tuple(route) for name, route in ROUTES.items()}

    assert known["judge"] == (SONNET, 25_000) == ("claude-sonnet-4-6", 25_000)
    for name in ("liquidity", "microstructure", "macro"):
        assert known[name] == (FLASH, 15_000) == ("gemini-3-flash-preview", 15_000)
    assert known["vlm_geometric"] == (VISION, 15_000) == ("gemini-3.1-pro-preview", 15_000)
    assert known["self_correction"] == (SONNET, 10_000)
    assert known["post_mortem"] == (FLASH, 10_000)
    assert known["rag_extraction"] == (FLASH, 5_000)
    assert {role: route.value for role, route in ROLE_ROUTES.items()} == {
        "meta": "macro",
        "liquidity": "liquidity",
        "microstructure": "microstructure",
        "macro": "macro",
        "vlm_geometry": "vlm_geometric",
        "synthesis": "liquidity",
        "judge": "judge",
        "risk_manager": "macro",
    }


@pytest.mark.parametrize(
    ("model", "provider", "fallback"),
    [
        ("claude-sonnet-4-6", "anthropic", True),
        ("gpt-5.1", "openai", True),
        ("o4-mini", "openai", True),
        ("gemini-3-flash-preview", "gemini", False),
        ("llama3:70b", None, False),
        ("google/gemini-3", None, False),
    ],
)
def test_the_beginning_of_a_name_picks_its_provider(
    model: str, provider: str | None, fallback: bool
) -> None:
    assert provider_of(model) == provider
    assert falls_back(model) is fallback


async def test_every_request_fits_in_the_record_as_its_hash() -> None:
    offices = Offices()
    one = await held(offices)
    bodies = [json.loads(line)["body"] for line in one.lines]
    prompts = {body["payload"]["prompt"] for body in bodies if body.get("kind") == "model_reply"}

    assert prompts == {prompt.digest for _, prompt in offices.asked}
    assert SectionName.NEWS not in plan_of(one).missing


def test_every_reply_can_be_asked_of_a_server() -> None:
    offices = [one for name, one in vars(findings).items() if name.endswith("Reply")]
    schemas = [strict_schema(one) for one in offices if one is not StructuredReply]
    others: tuple[type[BaseModel], ...] = (
        NarrativeReply,
        ExtractionReply,
        PostMortemReply,
        FeedbackReply,
    )
    schemas += [strict_schema(one) for one in others]

    assert len(schemas) == 13
    assert all(schema["additionalProperties"] is False for schema in schemas)
