"""Readers of a position's and of a wallet's past that are killed at any moment go on from there."""

from collections.abc import Awaitable, Callable
from typing import TypeAlias, cast

import pytest
from msgspec.structs import replace

from chain.base.store import Store
from chain.bookkeeping.wallet_history import read_custody_log
from chain.contracts.networks import network_named
from chain.positions.overview import Sources
from chain.protocols.v4.changes import ChangeMemory, ChangeReader
from chain.protocols.v4.events import MODIFY_LIQUIDITY
from chain.protocols.v4.holdings import TRANSFER
from tests.chain.history.cut_off import AskedProvider, CutOffError, Moments, WrittenStore
from tests.fakes.providers.clock import VirtualClock
from tests.fakes.providers.profile import Profile, Refusal
from tests.fakes.providers.provider import client_through
from tests.fakes.providers.virtual_chain import VirtualChain

PastRead: TypeAlias = Callable[[Sources, VirtualChain], Awaitable[object]]

BASE = replace(network_named("base"), first_block=1_000_000)
HEAD = BASE.first_block + 24_000
FINAL = HEAD - 1_000
HOLDER = "0x" + "11" * 20
MINTED = {5: 2_000, 6: 9_000, 7: 15_000, 8: 23_500}
"""When each of the wallet's positions was opened, in blocks since the first."""

NARROW = Profile(
    "few blocks",
    most_blocks=400,
    too_many_blocks=Refusal(-32602, "maximum [from, to] blocks distance: {most}"),
)


async def _changes(sources: Sources, chain: VirtualChain) -> object:
    """Where nobody knows when they were opened, so that all logs are read."""
    memory = ChangeMemory(sources.store, sources.network, sources.clock)
    reader = ChangeReader(sources.client, sources.network, sources.memory, memory)
    held = {chain.identity(token_id): 10**15 for token_id in MINTED}
    return await reader.changes(held, HEAD)


async def _custody(sources: Sources, _chain: VirtualChain) -> object:
    return await read_custody_log(sources, HOLDER, HEAD)


async def _read(
    read: PastRead, topic: str, store: Store, moments: Moments
) -> tuple[object, list[list[range]]]:
    """What it read, or None where it was cut off; by request the blocks whose logs were given."""
    clock = VirtualClock()
    chain = VirtualChain(BASE, HEAD, 9, clock)
    for token_id, block in MINTED.items():
        chain.give(token_id, HOLDER, BASE.first_block + block)
    provider = AskedProvider(NARROW, chain, moments, topic)
    written = cast("Store", WrittenStore(store, moments))
    async with client_through(BASE, provider, store=written) as client:
        sources = Sources(client, BASE, written, None, clock.read)
        try:
            return await read(sources, chain), provider.told
        except CutOffError:
            return None, provider.told


@pytest.mark.parametrize(
    ("read", "topic"), [(_changes, MODIFY_LIQUIDITY), (_custody, TRANSFER)], ids=["past", "custody"]
)
async def test_killed_at_any_moment_it_goes_on_where_it_was(read: PastRead, topic: str) -> None:
    """Before every write and after every answer; only what the last request told is asked again."""
    undisturbed = Moments()
    whole, told = await _read(read, topic, Store.in_memory(), undisturbed)
    assert whole
    assert len(told) > 5
    assert undisturbed.passed > 2 * len(told)
    for moment in range(undisturbed.passed):
        store = Store.in_memory()
        cut, before = await _read(read, topic, store, Moments(last=moment))
        assert cut is None, moment
        found, after = await _read(read, topic, store, Moments())
        assert found == whole, moment
        settled = [request for request in before[:-1] if request[-1].stop <= FINAL + 1]
        heard = {block.start for request in settled for block in request}
        asked = {block.start for request in after for block in request}
        assert not heard & asked, moment


async def test_a_position_that_no_log_tells_of_is_looked_for_from_the_beginning_again() -> None:
    """The node may have lost its logs, and another may have them."""
    store = Store.in_memory()

    async def unheard_of(sources: Sources, chain: VirtualChain) -> object:
        memory = ChangeMemory(sources.store, sources.network, sources.clock)
        reader = ChangeReader(sources.client, sources.network, sources.memory, memory)
        found = await reader.changes({chain.identity(99): 1}, HEAD)
        return [*found.values()]

    first, told = await _read(unheard_of, MODIFY_LIQUIDITY, store, Moments())
    second, again = await _read(unheard_of, MODIFY_LIQUIDITY, store, Moments())
    assert first == second == [()]
    assert told[0][0].start == again[0][0].start == BASE.first_block
