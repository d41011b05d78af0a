"""Models in every office: what they are told, what is made of it, and the same from the record."""

from pathlib import Path

import pytest

from agents.bus.replay import read_record
from agents.trade.facts import Lesson, PastDecision, SetupRecord
from agents.trade.flow import replay_desk
from agents.trade.payloads import GEOMETRY, JUDGE, META
from agents.trade.routing import (
    ROLE_ROUTES,
    most_characters,
)
from agents.trade.terms import ExpertName, MarketRegime, TradeDecision, TradeMode
from tests.agents.trade.cases import HEDGED, question
from tests.agents.trade.desks import Seen, argue
from tests.agents.trade.offices import (
    NAMES,
    PNG,
    Drawn,
    Offices,
    held,
    plan_of,
    rising_market,
    sections,
)
from tests.printed import printed


async def test_every_office_argues_with_its_model_and_the_plan_says_so() -> None:
    offices = Offices()
    one = await held(offices)
    plan = plan_of(one)

    assert {role for role, _ in offices.asked} == set(ROLE_ROUTES)
    assert plan.decision is TradeDecision.LONG
    assert plan.decided_by == "model"
    assert not any(finding.fallback for finding in plan.findings)
    assert plan.conflicts is not None
    assert plan.conflicts.key_uncertainty == "Does the book stay?"
    assert plan.reasoning is not None
    assert plan.reasoning.counter_scenario == "The book may be pulled."


async def test_offices_are_told_what_they_argue_from_and_the_most_important_first() -> None:
    offices = Offices()
    seen = rising_market().model_copy(
        update={"sections": sections(news="Something happened\nand more", narrative="A tale")}
    )
    lesson = Lesson(
        memory_id="plan_1",
        time=1,
        symbol="ETHUSDT",
        setup="LONG in a range",
        outcome="lost by stop",
        constraint="ask for a wider stop",
        score=1.0,
    )
    previous = PastDecision(
        plan_id="plan_0",
        time=1,
        decision=TradeDecision.SHORT,
        regime=MarketRegime.BEAR_MOMENTUM,
        mark=3100.0,
    )
    kind = SetupRecord(
        decision="LONG", regime="RANGE_BOUND", ended=9, won=2, mean_pct=-0.7, mean_win_pct=55.0
    )
    asked = question().model_copy(
        update={
            "lessons": (lesson,),
            "previous": previous,
            "kinds": (kind,),
            "feedback": "Longs in a range lost: doubt them",
        }
    )
    plan = plan_of(await held(offices, asked=asked, seen=seen))
    told: dict[str, str] = {role: prompt.user for role, prompt in offices.asked}
    assert plan.regime is not None

    judge = told[JUDGE]
    assert judge.startswith("Conflict map")
    assert plan.regime.trust_directive in judge
    assert all(expert.value in judge for expert in ExpertName)
    for name in ("funding", "cvd", "liquidations", "options", "macro", "fear_greed"):
        assert f"\n{name} (" in judge
    for role in (META, JUDGE):
        assert "«Something happened»" in told[role]
        assert "«A tale»" in told[role]
        assert "«ask for a wider stop»" in told[role]
        assert "SHORT in BEAR_MOMENTUM" in told[role]
        assert "«Longs in a range lost: doubt them»" in told[role]
        assert "LONG in RANGE_BOUND: " in told[role]
    others = {role: text for role, text in told.items() if role not in (META, JUDGE)}
    assert not [role for role, text in others.items() if "Something" in text or "A tale" in text]
    experts = [told[role] for role in ("liquidity", "microstructure", "macro", "vlm_geometry")]
    assert all("Triage found:" in text and "swing mode" in text for text in experts)


async def test_what_is_too_long_loses_its_end_and_never_the_conflict_map() -> None:
    offices = Offices()
    flood = "\n".join("a headline of some length " * 10 for _ in range(400))
    seen = rising_market().model_copy(update={"sections": sections(news=flood)})
    plan = plan_of(await held(offices, seen=seen))
    told = {role: prompt.user for role, prompt in offices.asked}
    assert plan.regime is not None

    for role, text in told.items():
        assert len(text) <= most_characters(role)
    assert told[JUDGE].startswith("Conflict map")
    assert plan.regime.trust_directive in told[JUDGE]
    assert "Levels:" in told[JUDGE]


async def test_a_picture_is_in_one_request_alone() -> None:
    offices = Offices()
    await held(offices)
    await held(offices, asked=question(hedge=HEDGED))

    seeing = [(role, prompt.image.png) for role, prompt in offices.asked if prompt.image]
    printed(f"G2: a picture in {len(seeing)} of {len(offices.asked)} requests of two runs")
    assert seeing == [(GEOMETRY, PNG), (GEOMETRY, PNG)]


async def test_without_a_picture_its_reader_is_not_asked() -> None:
    offices = Offices()
    one = await argue(question(), Seen(rising_market()), model=offices, names=NAMES)

    assert GEOMETRY not in {role for role, _ in offices.asked}
    found = next(one for one in plan_of(one).findings if one.expert is ExpertName.GEOMETRY)
    assert found.fallback


async def test_levels_read_off_the_picture_are_the_charts_own_or_left_out() -> None:
    artist = Drawn()
    await argue(question(), Seen(rising_market()), artist=artist)
    mark = artist.facts[0].mark
    below = max(one.price for one in artist.facts[0].levels if one.price < mark)

    def claims(name: str, _told: str) -> dict[str, object]:
        levels = {
            "immediateSupport": below + 1,
            "immediateResistance": below,
            "majorSupport": 1.0,
            "volumePoc": 9e9,
        }
        return {"keyLevels": levels} if name == "GeometryReply" else {}

    plan = plan_of(await held(Offices(claims)))
    found = next(one for one in plan.findings if one.expert is ExpertName.GEOMETRY)

    assert found.expert is ExpertName.GEOMETRY
    assert found.key_levels.immediate_support == pytest.approx(below)
    assert found.key_levels.immediate_resistance is None
    assert found.key_levels.volume_poc is None
    assert set(found.unverified) == {"immediate_resistance", "major_support", "volume_poc"}


async def test_numbers_nobody_gave_are_struck_from_what_offices_say() -> None:
    words = "It will reach 4,321 within days, says everybody."

    def invents(name: str, _told: str) -> dict[str, object]:
        return {"rationale": words} if name in ("LiquidityReply", "RegimeReply") else {}

    one = await held(Offices(invents))
    plan = plan_of(one)
    turns = [turn.thought for turn in one.ended.transcript if "4,321" in turn.thought.text]

    assert "4,321" not in plan.findings[0].rationale
    assert plan.regime is not None
    assert "4,321" not in plan.regime.rationale
    assert len(turns) == 2
    assert all(turn.struck for turn in turns)


async def test_five_models_replay_byte_for_byte_with_no_model_and_no_venue(tmp_path: Path) -> None:
    names: dict[str, str] = {
        **NAMES,
        "microstructure": "gpt-five",
        "macro": "deepseek-chat",
        "risk_manager": "local",
    }

    class Five(Offices):
        async def ask(self, role, prompt, schema, on_prose):  # type: ignore[no-untyped-def]
            answer = await super().ask(role, prompt, schema, on_prose)
            return type(answer)(answer.value, answer.usage, answer.raw, names[role])

    for asked in (question(), question(hedge=HEDGED, mode=TradeMode.POSITION)):
        first = await argue(asked, Seen(rising_market()), model=Five(), names=names, artist=Drawn())
        path = tmp_path / f"{asked.mode.value}-{asked.objective.value}.jsonl"
        path.write_bytes(b"".join(first.lines))
        record = read_record(path)
        models = {reply.model for reply in record.replies().values()}

        report, ended = await replay_desk(record)

        assert len(models) >= 5
        assert report.matches
        assert ended.plan == first.ended.plan
        assert PNG not in path.read_bytes()
