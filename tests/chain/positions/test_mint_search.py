"""When a position was opened, told by the ids of others in a few calls."""

import pytest
from msgspec.structs import replace

from chain.contracts.networks import network_named
from chain.protocols.reference import v4_position
from chain.protocols.v4.changes import find_mint_block, is_worth_searching
from chain.rpc.endpoint import KnownRange
from tests.fakes.providers.clock import VirtualClock
from tests.fakes.providers.profile import Profile
from tests.fakes.providers.profiles import profile_named
from tests.fakes.providers.provider import Provider, client_through
from tests.fakes.providers.virtual_chain import VirtualChain

BASE = replace(network_named("base"), first_block=1_000_000)
BLOCKS, WIDTH = 30_000_000, 5_000
HOLDER = "0x" + "11" * 20


async def _search(profile: Profile, ids: int, token_id: int, block: int) -> tuple[int | None, int]:
    """What was found and how many calls it took, with the position among so many."""
    clock = VirtualClock()
    chain = VirtualChain(BASE, BASE.first_block + BLOCKS, ids + 1, clock)
    chain.give(token_id, HOLDER, block)
    provider = Provider(profile, chain, clock)
    async with client_through(BASE, provider) as client:
        client.learn_log_range(KnownRange(WIDTH, most=True))
        assert is_worth_searching(client, BLOCKS)
        found = await find_mint_block(client, BASE, v4_position(token_id), chain.head)
    return found, provider.methods.count("eth_getLogs")


@pytest.mark.parametrize("part", [0.0, 0.001, 0.37, 0.5, 0.999, 1.0])
async def test_it_is_found_in_few_calls_wherever_it_is(part: float) -> None:
    ids = 1_000_100
    token_id, block = 100 + int(part * 1_000_000), BASE.first_block + int(part * BLOCKS)
    found, calls = await _search(profile_named("own besu"), ids, token_id, block)
    assert found == block
    assert calls <= 14


async def test_where_too_little_is_told_it_is_not_known() -> None:
    sparse, calls = await _search(profile_named("own besu"), 300, 150, BASE.first_block + 7_000_000)
    assert sparse is None
    assert calls <= 60
    without, calls = await _search(profile_named("no logs, small calls"), 9_000, 150, 1_100_000)
    assert (without, calls) == (None, 1)


async def test_where_all_logs_take_a_few_calls_it_is_not_looked_for() -> None:
    clock = VirtualClock()
    provider = Provider(profile_named("own geth"), VirtualChain(BASE, 2_000_000, 9, clock), clock)
    async with client_through(BASE, provider) as client:
        assert not is_worth_searching(client, BLOCKS)
        client.learn_log_range(KnownRange(10_000, most=False))
        assert not is_worth_searching(client, BLOCKS)
        client.learn_log_range(KnownRange(WIDTH, most=True))
        assert not is_worth_searching(client, 40 * WIDTH)
