"""Lessons written, kept and found again."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from agents.bus.envelope import Role
from agents.memory.lesson_writing import FEEDBACK, POST_MORTEM, feedback, kind_records, word_lesson
from agents.memory.memory import (
    CHANNEL,
    EndedTrade,
    LexicalIndex,
    PostMortem,
    TradeMemory,
    TradeSetup,
    write_lesson,
)
from agents.model.interface import (
    Answer,
    ModelPrompt,
    ModelUnavailable,
    Reply,
    Unavailability,
    Usage,
)
from agents.model.reply_text import parse_reply
from agents.trade.routing import RouteName
from chain.base.clean_text import Redactor
from tests.printed import printed


def setup(plan: str, *words: str, symbol: str = "ETHUSDT", regime: str = "") -> TradeSetup:
    return TradeSetup(plan, symbol, "swing", "trade", "LONG", regime, words, (), 55.0)


def mortem(plan: str, time: int, *words: str, symbol: str = "ETHUSDT") -> PostMortem:
    ended = EndedTrade(time, 3000.0, 2950.0, "stop", -1.7)
    return write_lesson(setup(plan, *words, symbol=symbol), ended)


@pytest.mark.parametrize(("pnl", "how"), [(40.0, "take_profit"), (-51.0, "stop"), (-3.0, "close")])
def test_a_post_mortem_has_setup_outcome_and_constraint(pnl: float, how: str) -> None:
    ended = EndedTrade(9, 3000.0, 3040.0, how, pnl / 30)  # type: ignore[arg-type]

    one = write_lesson(setup("plan_a", "true_breakout", regime="BULL_MOMENTUM"), ended)

    assert one.setup
    assert one.outcome
    assert "BULL_MOMENTUM" in one.constraint
    assert one.won is (pnl > 0)
    assert one.channel == CHANNEL


def test_what_was_opened_elsewhere_is_neither_won_nor_lost() -> None:
    one = write_lesson(
        setup("plan_a", regime="BULL_MOMENTUM"), EndedTrade(9, None, 3040.0, "close", None)
    )

    assert (one.won, one.pnl_pct) == (None, None)
    assert one.outcome
    assert one.constraint
    assert kind_records([one]) == ()


def test_it_is_kept_in_lines_and_in_the_index_and_only_once(tmp_path: Path) -> None:
    memory = TradeMemory(tmp_path)
    one = mortem("plan_a", 1, "true_breakout")

    assert memory.keep(one)
    assert not memory.keep(one)
    memory.close()
    index = LexicalIndex(tmp_path / "index.db")
    again = TradeMemory(tmp_path)
    assert again.all() == [one]
    assert [match.memory_id for match in index.search("true_breakout", CHANNEL, 5)] == ["plan_a"]
    index.close()
    again.close()


def test_an_old_like_setup_beats_a_new_unlike_one_and_news_is_never_found(tmp_path: Path) -> None:
    memory = TradeMemory(tmp_path)
    memory.keep(mortem("plan_old", 1, "liquidation_cascade", "options_panic"))
    for place in range(5):
        memory.keep(mortem(f"plan_new{place}", 1_000 + place, "microstructure_imbalance"))
    memory.close()
    index = LexicalIndex(tmp_path / "index.db")
    index.add("news_1", "NEWS", "liquidation_cascade options_panic liquidation_cascade")
    index.close()
    memory = TradeMemory(tmp_path)

    found = memory.similar("ETHUSDT", "liquidation_cascade options_panic")

    printed(f"G11: most alike is {found[0].post_mortem.memory_id}, the oldest of six")
    assert found[0].post_mortem.memory_id == "plan_old"
    assert all(one.post_mortem.channel == CHANNEL for one in found)
    memory.close()


def test_without_an_index_the_three_newest_of_the_symbol_are_told(tmp_path: Path) -> None:
    memory = TradeMemory(tmp_path)
    for place in (3, 1, 4, 2):
        memory.keep(mortem(f"plan_{place}", place, "x"))
    memory.keep(mortem("plan_btc", 99, "x", symbol="BTCUSDT"))
    memory.close()
    (tmp_path / "index.db").unlink()
    for suffix in ("-wal", "-shm"):
        (tmp_path / f"index.db{suffix}").unlink(missing_ok=True)
    (tmp_path / "index.db").mkdir()

    without = TradeMemory(tmp_path)

    assert [one.post_mortem.memory_id for one in without.similar("ETHUSDT", "x")] == [
        "plan_4",
        "plan_3",
        "plan_2",
    ]
    without.keep(mortem("plan_5", 5, "x"))
    assert without.similar("ETHUSDT", "x")[0].post_mortem.memory_id == "plan_5"


def test_a_line_that_was_cut_off_is_passed_over(tmp_path: Path) -> None:
    memory = TradeMemory(tmp_path)
    memory.keep(mortem("plan_a", 1, "x"))
    memory.close()
    with (tmp_path / "post-mortems.jsonl").open("ab") as file:
        file.write(b'{"memory_id": "plan_b"')

    again = TradeMemory(tmp_path)

    assert [one.memory_id for one in again.all()] == ["plan_a"]
    again.close()


def ended(plan: str, decision: str, pnl: float, win: float | None = 55.0) -> PostMortem:
    setup = TradeSetup(plan, "ETHUSDT", "swing", "trade", decision, "RANGE_BOUND", (), (), win)
    return write_lesson(setup, EndedTrade(1, 3000.0, 2950.0, "stop", pnl))


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
    said = await word_lesson(one, model)

    assert said.constraint.startswith("Ask for a stop")
    assert "97.5" not in said.constraint
    assert (said.setup, said.outcome, said.pnl_pct) == (one.setup, one.outcome, one.pnl_pct)
    assert [role for role, _ in model.asked] == [POST_MORTEM]
    assert await word_lesson(one, Writing()) == one
    assert await word_lesson(one, None) == one


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
