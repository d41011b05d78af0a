"""Receipts late, lost, doubled, and disks that fill at any write: what is said is what happened."""

import os
import resource
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import replace
from functools import partial
from pathlib import Path
from random import Random
from typing import Any

import pytest

from chain.devnet.launch import DevnetReady
from tests import node_rpc
from tests.fakes.proxy import Answer, Call, Proxy
from tests.zuno_tui.conftest import CommandLine, Spoken
from tests.zuno_tui.gate.desk import Desk
from tests.zuno_tui.gate.lie_table import balances, false_outcome, given_up_after
from tests.zuno_tui.gate.taken_back import desk_at

Habit = Callable[[Call], Answer | None]

RECEIPT, TRANSACTION = "eth_getTransactionReceipt", "eth_getTransactionByHash"
SEND = "eth_sendRawTransaction"
SLICES, EACH = 6, 50
GIVEN_UP_SECONDS = 8.0
DISK_STEP = 4096
"""A page of the journal: one more at each try, until all of it fits."""
MOST_DISK = 60 * DISK_STEP
RECIPES = (("wrap", "0.04"), ("unwrap", "0.04"), ("collect", "transferred in"))


def _none_until(seconds: float, *methods: str) -> Habit:
    """Nothing of a transaction before so long after it was first asked about."""
    began: list[float] = []

    def answer(call: Call) -> Answer | None:
        if call["method"] not in methods:
            return None
        began.append(time.monotonic())
        return {"result": None} if began[-1] - began[0] < seconds else None

    return answer


def _of_another_block_first(desk: Desk, times: int) -> Habit:
    """A receipt twice over: of a block that went, then of the one that stayed."""
    asked: Counter[str] = Counter()

    def answer(call: Call) -> Answer | None:
        asked[call["method"]] += 1
        if call["method"] != RECEIPT or asked[RECEIPT] > times:
            return None
        true = desk.ask(RECEIPT, *call["params"])
        return {"result": true and {**true, "blockHash": "0x" + "cd" * 32}}

    return answer


def _sent_twice(desk: Desk) -> Habit:
    def answer(call: Call) -> Answer | None:
        if call["method"] == SEND:
            desk.ask(SEND, *call["params"])
        return None

    return answer


def _habit(desk: Desk, chance: Random) -> tuple[str, Habit]:
    late = chance.uniform(0.2, 5.0)
    match chance.randrange(6):
        case 0:
            return "receipt late", _none_until(late, RECEIPT)
        case 1:
            return "receipt lost", _none_until(3600, RECEIPT)
        case 2:
            return "receipt and transaction late", _none_until(late, RECEIPT, TRANSACTION)
        case 3:
            return "receipt and transaction lost", _none_until(3600, RECEIPT, TRANSACTION)
        case 4:
            return "receipt doubled", _of_another_block_first(desk, chance.randint(1, 4))
        case _:
            return "sent twice", _sent_twice(desk)


def _words(desk: Desk, recipe: tuple[str, str]) -> tuple[str, str]:
    name, about = recipe
    return name, str(desk.token_id(about)) if name == "collect" else about


def _on_small_disk(desk: Desk, most_bytes: int, approval: dict[str, Any]) -> Spoken:
    """No file of the home may grow beyond so much while it is applied."""
    confirmed = (approval["planId"], "--confirm", approval["hash"], "--json")
    done = subprocess.run(
        [sys.executable, "-m", "zuno_tui", "apply", *confirmed, *desk.flags],
        env={**os.environ, "ZUNO_HOME": str(desk.command.home)},
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (most_bytes, most_bytes)),
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    return Spoken(done.returncode, done.stdout, done.stderr)


class Run:
    """One plan carried out under one fault, and what was said of it then and afterwards."""

    def __init__(self, desk: Desk, home: Path) -> None:
        self.desk = replace(desk, command=CommandLine(home))
        self.nonce = desk.nonce()
        self.ended = "not approved"

    def faults(self, recipe: tuple[str, str], carry_out: Callable[[dict[str, Any]], Spoken]) -> str:
        """What is wrong with what was said; empty where all of it is so."""
        approval = self.desk.approved(*_words(self.desk, recipe))
        before = balances(self.desk, approval["tokens"])
        applied = carry_out(approval)
        mined = self.desk.nonce() - self.nonce
        self.ended = f"{'mined' if mined else 'not mined'}, exit {applied.code}"
        said = applied.out + applied.words
        if mined and any(words in said for words in ("Nothing was sent", "nothing happened")):
            return f"said that nothing was sent, and {mined} were mined: {said[-300:]}"
        if "Traceback" in said or "Unexpected" in said:
            return said[-300:]
        if applied.code == 0 and not mined:
            return f"said to be done, and nothing was mined: {said[-300:]}"
        if self._journal() and (false := false_outcome(self.desk, applied, before)) is not None:
            return false
        return self._afterwards(approval, mined)

    def _journal(self) -> bool:
        return (self.desk.command.home / "outbox.db").exists()

    def _afterwards(self, approval: dict[str, Any], mined: int) -> str:
        """By an honest endpoint, on a disk with room: the truth, and never a second effect."""
        found = self.desk.here("outbox", "--json")
        if found.code != 0:
            return f"outbox: {found.words}"
        [told] = [one for one in found.data["dispatches"] if one["hash"] == approval["hash"]]
        states = {step["state"] for step in told["steps"]}
        if mined:
            right = states <= {"included", "final"}
            return "" if right else f"mined, and the outbox says {told['state']}: {states}"
        if states & {"signed", "sent", "dropped", "unclear"}:
            again = self.desk.here("outbox", "resume", "--confirm", approval["hash"])
            once = self.desk.nonce() - self.nonce
            return "" if again.code == 0 and once == 1 else f"resume: {again.words}, {once} mined"
        right = states <= {"planned", "approved", "discarded"}
        return "" if right else f"not mined, and the outbox says {states}"


def _through(run: Run, habit: Habit, *, beside: bool) -> Callable[[dict[str, Any]], Spoken]:
    def carry_out(approval: dict[str, Any]) -> Spoken:
        with ExitStack() as stack:
            # Approved by honest answers: the fault begins with the sending.
            faulty = stack.enter_context(Proxy(run.desk.devnet.url, habit))
            urls = [faulty.url]
            if beside:
                urls.append(stack.enter_context(Proxy(run.desk.devnet.url)).url)
            lied_to = replace(run.desk, rpc=",".join(urls))
            with given_up_after(GIVEN_UP_SECONDS):
                confirmed = ("--confirm", approval["hash"], "--json")
                return lied_to.here("apply", approval["planId"], *confirmed)

    return carry_out


def _tried(
    desk: Desk, folder: Path, seeds: range, capsys: pytest.CaptureFixture[str]
) -> list[tuple[str, str]]:
    kinds: Counter[str] = Counter()
    wrong: list[tuple[str, str]] = []
    for seed in seeds:
        chance = Random(seed)
        snapshot = desk.ask("evm_snapshot")
        run, recipe = Run(desk, folder / f"home-{seed}"), chance.choice(RECIPES)
        if seed % 3 == 2:
            most = DISK_STEP * (seed // 3 % (MOST_DISK // DISK_STEP))
            kind = "full disk"
            fault = run.faults(recipe, partial(_on_small_disk, run.desk, most))
        else:
            kind, habit = _habit(desk, chance)
            fault = run.faults(recipe, _through(run, habit, beside=chance.random() < 0.5))
        kinds[f"{kind}: {run.ended}"] += 1
        if fault:
            wrong.append((f"seed {seed}, {kind}, {recipe[0]}", fault))
        node_rpc.take_back(desk.devnet.url, snapshot)
    with capsys.disabled():
        told = dict(sorted(kinds.items()))
        print(f"\n{len(seeds)} runs, {len(wrong)} told otherwise: {told}", flush=True)  # noqa: T201
    return wrong


def test_what_is_said_of_a_plan_is_what_happened(
    devnet: DevnetReady, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with desk_at(devnet, tmp_path, capsys) as desk:
        assert _tried(desk, tmp_path, range(3), capsys) == []


@pytest.mark.soak
@pytest.mark.parametrize("part", range(SLICES))
def test_in_three_hundred_runs(
    devnet: DevnetReady, tmp_path: Path, capsys: pytest.CaptureFixture[str], part: int
) -> None:
    with desk_at(devnet, tmp_path, capsys) as desk:
        assert _tried(desk, tmp_path, range(part * EACH, (part + 1) * EACH), capsys) == []
