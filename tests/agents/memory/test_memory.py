"""Post-mortems: written once a trade, kept twice, found by likeness or else by age."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from agents.memory.lesson_writing import kind_records
from agents.memory.memory import (
    CHANNEL,
    EndedTrade,
    LexicalIndex,
    PostMortem,
    TradeMemory,
    TradeSetup,
    written,
)
from tests.printed import printed

if TYPE_CHECKING:
    from pathlib import Path


def setup(plan: str, *words: str, symbol: str = "ETHUSDT", regime: str = "") -> TradeSetup:
    return TradeSetup(plan, symbol, "swing", "trade", "LONG", regime, words, (), 55.0)


def mortem(plan: str, time: int, *words: str, symbol: str = "ETHUSDT") -> PostMortem:
    ended = EndedTrade(time, 3000.0, 2950.0, "stop", -1.7)
    return written(setup(plan, *words, symbol=symbol), ended)


@pytest.mark.parametrize(("pnl", "how"), [(40.0, "take_profit"), (-51.0, "stop"), (-3.0, "close")])
def test_a_post_mortem_has_setup_outcome_and_constraint(pnl: float, how: str) -> None:
    ended = EndedTrade(9, 3000.0, 3040.0, how, pnl / 30)  # type: ignore[arg-type]

    one = written(setup("plan_a", "true_breakout", regime="BULL_MOMENTUM"), ended)

    assert one.setup
    assert one.outcome
    assert "BULL_MOMENTUM" in one.constraint
    assert one.won is (pnl > 0)
    assert one.channel == CHANNEL


def test_what_was_opened_elsewhere_is_neither_won_nor_lost() -> None:
    one = written(
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
