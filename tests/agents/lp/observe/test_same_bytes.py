"""The same chain gives the same bytes: in another process, remembered or read anew."""

import asyncio
import os
import sys

from agents.lp.facts import CreateContext, MarketContext
from agents.numbers.rules import RiskProfile
from chain.base.strict_json import digest
from chain.protocols.reference import v4_position
from tests.agents.lp.observe.conftest import Chain
from tests.agents.lp.observe.facts_bytes import all_facts, facts_bytes

STATES = ("healthy", "near the edge", "stable", "native", "dynamic fee", "hooked", "emptied")


async def test_another_process_observes_the_same_bytes(chain: Chain) -> None:
    token_ids = [chain.positions[state] for state in STATES]
    command = [sys.executable, "-m", "tests.agents.lp.observe.facts_bytes", chain.ready.url]
    # Sets and dictionaries of another order must not show.
    environment = {**os.environ, "PYTHONHASHSEED": "4711"}
    other = await asyncio.create_subprocess_exec(
        *command, *map(str, token_ids), stdout=asyncio.subprocess.PIPE, env=environment
    )
    async with chain.opened() as scouting:
        here = await all_facts(scouting, token_ids)
        remembered = await all_facts(scouting, token_ids)
    told, _ = await asyncio.wait_for(other.communicate(), 60)
    assert remembered == here
    assert told.decode() == digest(here)


async def test_a_memory_from_earlier_blocks_changes_nothing(chain: Chain) -> None:
    token_ids = [chain.positions[state] for state in STATES]
    with chain.moves.undone():
        async with chain.opened() as old:
            before = await all_facts(old, token_ids)
            chain.moves.rpc("zuno_step", 1800)
            grown = await all_facts(old, token_ids)
        async with chain.opened() as new:
            fresh = await all_facts(new, token_ids)
    assert before != grown
    assert grown == fresh


async def test_a_memory_of_a_chain_that_was_cut_back_changes_nothing(chain: Chain) -> None:
    """As when the embedded chain is started anew under the same home."""
    token_ids = [chain.positions["healthy"]]
    async with chain.opened() as old:
        with chain.moves.undone():
            chain.moves.rpc("zuno_step", 1800)
            ahead = await all_facts(old, token_ids)
        back = await all_facts(old, token_ids)
    async with chain.opened() as new:
        fresh = await all_facts(new, token_ids)
    assert ahead != fresh
    assert back == fresh


async def test_facts_survive_the_wire_unchanged(chain: Chain) -> None:
    async with chain.opened() as scouting:
        context = await scouting.observer.observe_position(
            v4_position(chain.positions["native"]), RiskProfile.AGGRESSIVE
        )
    assert MarketContext.model_validate_json(facts_bytes(context)) == context
    assert context.profile is RiskProfile.AGGRESSIVE
    assert isinstance(context, MarketContext | CreateContext)
