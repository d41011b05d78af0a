"""kill −9 in the middle of an apply, then a restart, a reorg or a stranger's transaction.

After a restart nothing is sent without a new approval; every end names where the tokens are.
"""

import random
import shutil
import sys
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from tests.zuno_tui.conftest import CommandLine
from tests.zuno_tui.gate.desk import Desk
from tests.zuno_tui.gate.interrupted_plans import (
    FOREIGN,
    REORG,
    RESTART,
    ROLLBACK,
    Cut,
    Restartable,
    answered,
    assert_right,
    befall,
    copied,
    cut_off,
    look_and_try,
    template,
)

SLICES = 15
RUNS_A_SLICE = 20
STATES_A_STEP = 3
"""Signed, sent, included: each is a line of what an apply says."""


@pytest.fixture(scope="module")
def chain() -> Iterator[Restartable]:
    with ExitStack() as stack:
        yield Restartable(stack)


class Runs:
    """Plans cut off one after the other, each on the chain as it was at its start."""

    def __init__(self, chain: Restartable, desk: Desk, folder: Path, seed: int) -> None:
        self.chain = chain
        self.desk = desk
        self.folder = folder
        self.draw = random.Random(seed)
        self.plan, self.option = template(desk, folder / "template", "underpaid")
        self.reached: Counter[str] = Counter()
        self.ends: Counter[str] = Counter()
        self.restarts = 0
        self.kills = 0

    def cut(self, number: int) -> Cut:
        """Approve one of four kinds of plans, and kill its apply at a random moment."""
        home = self.folder / f"home-{number}"
        shutil.copytree(self.folder / "template", home)
        desk = Desk(self.desk.devnet, CommandLine(home), self.desk.capture)
        # No reorg reaches the start, to which a restart goes back.
        desk.ask("anvil_mine", hex(self.draw.randint(6, 8)))
        state = desk.ask("zuno_status")["positions"]
        actions = (
            ("approve", self.plan, "--candidate", self.option),
            ("approve", self.plan, "--candidate", "exit"),
            ("increase", str(state["healthy"]), "0.01", "WETH"),
            ("close", str(state["stable"])),
        )
        # Adding has five steps and is built fastest.
        action = self.draw.choice((*actions, actions[2], actions[2]))
        approval = answered(desk, *action, "--json").data
        lines = self.draw.randint(0, STATES_A_STEP * len(approval["transactions"]))
        # Before its first line it reads, judges and opens the key, which takes longer than a step.
        cut = cut_off(desk, approval, lines, self.draw.uniform(0, 0.2 if lines else 2.0))
        self.reached[cut.reached] += 1
        self.kills += cut.killed
        return cut

    def befallen(self, cut: Cut, what: str) -> None:
        here = copied(cut, what.replace(" ", "-"))
        befall(here.desk, what, self.draw)
        # What zuno died before it saw may be gone again: then its bytes can be sent once more.
        told = look_and_try(here, may_resume=what != FOREIGN)
        assert_right(here, told)
        self.ends[f"{what}: {told.state}" + (", resumed" if told.resumed else "")] += 1

    def restarted(self, cut: Cut) -> None:
        """The chain is back at its start: whatever was approved before is over."""
        told = look_and_try(cut, may_resume=False)
        assert_right(cut, told)
        assert told.dispatch["ended"] == "chain restarted"
        self.ends[f"{RESTART}: {told.state}"] += 1

    def run(self, count: int, *, real_restart_every: int) -> None:
        started = self.desk.ask("evm_snapshot")
        for number in range(count):
            cut = self.cut(number)
            before = self.desk.ask("evm_snapshot")
            self.befallen(cut, FOREIGN)
            assert self.desk.ask("evm_revert", before)
            self.befallen(cut, self.draw.choice((REORG, ROLLBACK)))
            if number % real_restart_every == 0:
                self.chain.restart()
                self.restarts += 1
            else:
                assert self.desk.ask("evm_revert", started)
            started = self.desk.ask("evm_snapshot")
            self.restarted(cut)
            for left in self.folder.glob(f"home-{number}*"):
                shutil.rmtree(left) if left.is_dir() else left.unlink()
        assert self.desk.ask("evm_revert", started)


@pytest.fixture
def desk(chain: Restartable, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Desk:
    return Desk(chain.ready, CommandLine(tmp_path / "unused"), capsys)


def test_some_plans_cut_off_and_befallen(chain: Restartable, desk: Desk, tmp_path: Path) -> None:
    Runs(chain, desk, tmp_path, seed=0).run(3, real_restart_every=3)


@pytest.mark.soak
@pytest.mark.parametrize("part", range(SLICES))
def test_three_hundred_plans_cut_off_and_befallen(
    chain: Restartable, desk: Desk, tmp_path: Path, part: int
) -> None:
    runs = Runs(chain, desk, tmp_path, seed=part + 1)
    runs.run(RUNS_A_SLICE, real_restart_every=10)
    reached, ends = dict(sorted(runs.reached.items())), dict(sorted(runs.ends.items()))
    with desk.capture.disabled():
        sys.stdout.write(
            f"\nslice {part}: {runs.reached.total()} plans, {runs.kills} killed, {runs.restarts} "
            f"restarts of the process, else a rewind to its start; reached {reached}; ends {ends}\n"
        )
