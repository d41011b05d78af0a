"""The same chain state, clock and ids: the same plan and record, byte for byte."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from agents.lp.payloads import FlowStart
from agents.numbers.rules import RiskProfile
from chain.base.store import Store
from chain.protocols.reference import v4_position
from tests.agents.conftest import positions_by_state
from tests.agents.lp.debate_bytes import all_debated, debated
from tests.agents.lp.debating import watching

if TYPE_CHECKING:
    from chain.devnet.launch import DevnetReady

STATES = ("near the edge", "above its range", "healthy", "hooked", "stable", "emptied")


@pytest.fixture(scope="module")
def token_ids(devnet: DevnetReady) -> list[int]:
    found = positions_by_state(devnet.url)
    return [found[state] for state in STATES]


async def test_run_after_run_gives_the_same_bytes(
    devnet: DevnetReady, token_ids: list[int]
) -> None:
    start = FlowStart(
        token_id=v4_position(token_ids[0]), profile=RiskProfile.AGGRESSIVE, max_rounds=2
    )
    async with watching(devnet.url) as eyes:
        runs = {await debated(eyes, start) for _ in range(15)}
    assert len(runs) == 1


async def test_another_process_and_a_full_memory_give_the_same_bytes(
    devnet: DevnetReady, token_ids: list[int]
) -> None:
    elsewhere = _in_another_process(devnet.url, token_ids)
    store, here = Store.in_memory(), []
    for _ in range(2):
        async with watching(devnet.url, store) as eyes:
            here.append(await all_debated(eyes, token_ids))
    assert here == [elsewhere, elsewhere]
    assert len(set(elsewhere)) == len(STATES) + 1


@pytest.mark.soak
async def test_a_hundred_runs_of_every_state_give_the_same_bytes(
    devnet: DevnetReady, token_ids: list[int]
) -> None:
    runs = set()
    for _ in range(100):
        async with watching(devnet.url) as eyes:
            runs.add(tuple(await all_debated(eyes, token_ids)))
    assert len(runs) == 1


def _in_another_process(url: str, token_ids: list[int]) -> list[str]:
    command = [sys.executable, "-m", "tests.agents.lp.debate_bytes", url, *map(str, token_ids)]
    environment = {**os.environ, "PYTHONHASHSEED": "1"}
    done = subprocess.run(command, check=True, capture_output=True, env=environment)
    found: list[str] = json.loads(done.stdout)
    return found
