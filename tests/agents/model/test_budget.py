"""The fuse: nothing is asked that could pass a limit, and every token is counted once."""

import sqlite3
import subprocess
import sys
from decimal import Decimal
from pathlib import Path
from random import Random

import pytest

from agents.lp.payloads import CRITIC, DEBATE, SCOUT
from agents.model.budget import (
    NAMESPACE,
    Budget,
    BudgetLimits,
    DebateBudget,
    Spent,
    TokenRate,
    estimated_tokens,
)
from agents.model.interface import ModelUnavailable, Unavailability, Usage
from chain.base.store import Store, StoreError

MORNING = 1_700_000_000.0  # 2023-11-14 22:13:20 UTC
PRICES = {"known": TokenRate.per_million(Decimal("0.15"), Decimal("0.60"))}


def debate(limits: BudgetLimits, memory: Store | None = None, now: float = MORNING) -> DebateBudget:
    return Budget(limits, PRICES, memory or Store.in_memory(), clock=lambda: now).debate()


def day_of(budget: DebateBudget) -> Spent:
    day = budget.report().day
    assert day is not None
    return day


def refused(budget: DebateBudget, tokens: int, model: str = "known") -> str:
    with pytest.raises(ModelUnavailable) as caught:
        budget.reserve(SCOUT, model, tokens, 0)
    assert caught.value.reason == Unavailability.OVER_BUDGET
    return str(caught.value)


def test_a_call_that_could_pass_the_debates_tokens_is_not_made() -> None:
    budget = debate(BudgetLimits(debate_tokens=1000))
    budget.reserve(SCOUT, "known", 500, 400)
    assert "of the 1,000 for this debate, 900 are used" in refused(budget, 101)
    budget.reserve(CRITIC, "known", 100, 0)
    assert budget.report().debate.tokens == 1000


def test_what_a_call_really_took_replaces_what_was_set_aside() -> None:
    budget = debate(BudgetLimits(debate_tokens=1000))
    reservation = budget.reserve(SCOUT, "known", 500, 400)
    reservation.settle(Usage(300, 40, estimated=False))
    assert budget.report().debate == Spent(340, 300 * 150 + 40 * 600)
    budget.reserve(SCOUT, "known", 600, 0).release()
    assert budget.report().debate.tokens == 340
    budget.reserve(SCOUT, "known", 600, 0).settle(Usage(900, 0, estimated=False))
    assert budget.report().debate.tokens == 1240
    refused(budget, 1)


def test_dollars_bind_where_a_price_is_known_and_tokens_alone_where_not() -> None:
    budget = debate(BudgetLimits(debate_nano_usd=1_000_000, debate_tokens=None, day_tokens=None))
    budget.reserve(SCOUT, "known", 6_000, 0)
    assert "$0.0010 for this debate, $0.0009 are spent" in refused(budget, 1_000)
    budget.reserve(CRITIC, "unknown", 50_000, 0)
    report = budget.report()
    assert report.debate == Spent(56_000, 900_000, 50_000)
    assert report.by_role == {
        "scout": Spent(6_000, 900_000),
        "critic": Spent(50_000, 0, 50_000),
    }


def test_prices_are_whole_billionths_and_rounded_up() -> None:
    assert PRICES["known"] == TokenRate(150, 600)
    assert TokenRate.per_million(Decimal("0.0001"), Decimal(0)) == TokenRate(1, 0)
    assert (
        TokenRate.per_million(Decimal("2.5"), Decimal(10)).of(1_000_000, 1_000_000)
        == 12_500_000_000
    )


def test_the_day_is_shared_by_debates_and_by_runs(tmp_path: Path) -> None:
    path = tmp_path / "zuno.db"
    limits = BudgetLimits(debate_tokens=800, day_tokens=1000)
    with Store.open(path, now=0)[0] as store:
        debate(limits, store).reserve(SCOUT, "known", 700, 0)
        second = debate(limits, store)
        assert "for this day, 700 are used" in refused(second, 400)
        second.reserve(CRITIC, "known", 100, 0).settle(Usage(60, 0, estimated=False))
    with Store.open(path, now=0)[0] as store:
        third = debate(limits, store)
        assert third.report().day == Spent(760, 760 * 150)
        refused(third, 241)
        tomorrow = debate(limits, store, now=MORNING + 2 * 3600)
        tomorrow.reserve(SCOUT, "known", 800, 0)
        assert day_of(third).tokens == 760


def test_a_crash_in_the_middle_of_a_call_does_not_make_it_free() -> None:
    memory = Store.in_memory()
    debate(BudgetLimits(), memory).reserve(SCOUT, "known", 700, 300)
    assert day_of(debate(BudgetLimits(), memory)).tokens == 1000


def test_a_call_over_midnight_is_settled_on_the_day_it_began() -> None:
    memory = Store.in_memory()
    now = [MORNING]
    budget = Budget(BudgetLimits(), PRICES, memory, clock=lambda: now[0]).debate()
    reservation = budget.reserve(SCOUT, "known", 700, 300)
    now[0] += 24 * 3600
    reservation.settle(Usage(10, 5, estimated=False))
    assert memory.get(NAMESPACE, "2023-11-14") == {"scout": [15, 4500, 0]}
    assert memory.get(NAMESPACE, "2023-11-15") is None


@pytest.mark.parametrize("stored", [[], "much", {"scout": [1, 2]}, {"scout": [1, -2, 0]}, 7])
def test_a_count_that_cannot_be_read_is_no_licence_to_spend(stored: object) -> None:
    memory = Store.in_memory()
    memory.put(NAMESPACE, "2023-11-14", stored, now=MORNING)
    budget = debate(BudgetLimits(), memory)
    assert "zuno.db" in refused(budget, 1)
    assert budget.report().day is None


def test_a_count_that_cannot_be_saved_is_no_licence_to_spend() -> None:
    class FullDisk(Store):
        def change(self, *_: object, **__: object) -> None:
            raise StoreError("Nothing could be saved in zuno.db: disk is full.")

    connection = sqlite3.connect(":memory:")
    connection.execute("CREATE TABLE remembered (namespace, key, value, written_at)")
    assert "disk is full" in refused(debate(BudgetLimits(), FullDisk(connection)), 1)


SPENDING = """
import sys, time
from pathlib import Path
from agents.model.budget import Budget, BudgetLimits
from agents.model.interface import ModelUnavailable
from chain.base.store import Store

store, _ = Store.open(Path(sys.argv[1]), now=0)
budget = Budget(BudgetLimits(day_tokens=1_000), {}, store, clock=lambda: 1_700_000_000.0).debate()
granted = 0
sys.stdin.readline()
for _ in range(150):
    try:
        budget.reserve("scout", "any", 4, 3)
    except ModelUnavailable:
        break
    granted += 7
print(granted)
"""


def test_two_processes_at_once_lose_no_count_and_pass_no_limit(tmp_path: Path) -> None:
    path = tmp_path / "zuno.db"
    Store.open(path, now=0)[0].close()
    command = [sys.executable, "-c", SPENDING, str(path)]
    running = [
        subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        for _ in range(2)
    ]
    granted = [int(process.communicate("go\n", timeout=60)[0]) for process in running]

    store, _ = Store.open(path, now=0)
    with store:
        counted = day_of(debate(BudgetLimits(), store)).tokens
    assert counted == sum(granted) == 994


@pytest.mark.parametrize("seed", range(20))
def test_however_calls_end_no_limit_is_passed_before_a_call_and_all_sums_agree(seed: int) -> None:
    random = Random(seed)
    memory = Store.in_memory()
    limits = BudgetLimits(debate_tokens=5_000, day_tokens=9_000, day_nano_usd=3_000_000)
    budgets = [debate(limits, memory) for _ in range(3)]
    for _ in range(60):
        budget = random.choice(budgets)
        wanted = random.randrange(1, 900)
        try:
            reservation = budget.reserve(
                random.choice(DEBATE.roles),
                random.choice(["known", "unknown"]),
                wanted,
                wanted // 4,
            )
        except ModelUnavailable:
            continue
        assert budget.report().debate.tokens <= 5_000
        assert day_of(budget).tokens <= 9_000
        match random.randrange(3):
            case 0:
                reservation.release()
            case 1:
                used = random.randrange(wanted)
                reservation.settle(Usage(used, 0, estimated=False))
    day = day_of(budgets[0])
    assert day.tokens == sum(budget.report().debate.tokens for budget in budgets)
    assert day.nano_usd == sum(budget.report().debate.nano_usd for budget in budgets)


def test_estimates_count_a_token_for_two_letters_and_one_for_each_byte_of_other_scripts() -> None:
    assert estimated_tokens() == 0
    per_message = estimated_tokens("")
    assert estimated_tokens("a" * 1001) == per_message + 501
    assert estimated_tokens("市" * 10) == per_message + 30
    assert estimated_tokens("ab", "cd") == 2 * (per_message + 1)
    assert estimated_tokens("\ud800") == per_message + 1
