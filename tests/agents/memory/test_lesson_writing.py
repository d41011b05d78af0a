"""Lessons in a model's words: bounded by what happened, the rules' where no model answers."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from agents.memory.lesson_writing import FEEDBACK, POST_MORTEM, feedback, kind_records, worded
from agents.memory.memory import EndedTrade, PostMortem, TradeSetup, written
from agents.model.interface import Answer, ModelUnavailable, Unavailability, Usage
from agents.model.reply_text import parse_reply
from agents.trade.routing import RouteName
from chain.base.clean_text import Redactor

if TYPE_CHECKING:
    from collections.abc import Callable

    from agents.bus.envelope import Role
    from agents.model.interface import ModelPrompt, Reply


def ended(plan: str, decision: str, pnl: float, win: float | None = 55.0) -> PostMortem:
    setup = TradeSetup(plan, "ETHUSDT", "swing", "trade", decision, "RANGE_BOUND", (), (), win)
    return written(setup, EndedTrade(1, 3000.0, 2950.0, "stop", pnl))


class Writing:
    def __init__(self, **reply: str) -> None:
        self.reply = reply
        self.asked: list[tuple[Role, str]] = []

    async def ask(
        self, role: Role, prompt: ModelPrompt, schema: type[Reply], on_prose: Callable[[str], None]
    ) -> Answer[Reply]:
        self.asked.append((role, prompt.user))
        if not self.reply:
            raise ModelUnavailable(Unavailability.UNREACHABLE, "Nobody is there.")
        read = parse_reply(json.dumps(self.reply), schema, Redactor())
        return Answer(read.value, Usage(1, 1, estimated=False), read.text, "writer")


async def test_a_model_words_the_constraint_and_nothing_else() -> None:
    one = ended("plan_a", "LONG", -1.7)
    model = Writing(constraint="Ask for a stop wider than 97.5 dollars.")
    said = await worded(one, model)

    assert said.constraint.startswith("Ask for a stop")
    assert "97.5" not in said.constraint
    assert (said.setup, said.outcome, said.pnl_pct) == (one.setup, one.outcome, one.pnl_pct)
    assert [role for role, _ in model.asked] == [POST_MORTEM]
    assert await worded(one, Writing()) == one
    assert await worded(one, None) == one


async def test_a_model_words_what_many_trades_taught() -> None:
    past = [
        ended("plan_a", "LONG", -1.7),
        ended("plan_b", "LONG", 2.1),
        ended("plan_c", "SHORT", 1.0, None),
    ]
    records = kind_records(past)
    model = Writing(lesson="Longs won [n1] 1 of [n2] 2, and 88 % is a dream.")
    said = await feedback(records, model)

    assert [(one.decision, one.ended, one.won) for one in records] == [
        ("LONG", 2, 1),
        ("SHORT", 1, 1),
    ]
    assert (records[0].mean_win_pct, records[1].mean_win_pct) == (55.0, None)
    assert said.startswith("Longs won 1 of 2")
    assert "88" not in said
    assert [role for role, _ in model.asked] == [FEEDBACK]
    assert await feedback(records, Writing()) == ""
    assert await feedback((), model) == ""


def test_offices_outside_the_flow_have_their_row_in_the_router() -> None:
    assert {POST_MORTEM, FEEDBACK} <= {name.value for name in RouteName}
