"""Finding positions through every provider of the zoo: the right answer, and what it costs."""

import asyncio
import sys
from dataclasses import replace
from operator import attrgetter
from pathlib import Path

import pytest
from msgspec import Struct

from chain.base.store import Store
from chain.contracts.networks import NATIVE, network_named
from chain.positions.discovery import Discovery
from chain.positions.overview import price_words
from chain.positions.search import WalletPositions
from chain.protocols.reference import V3, v3_position, v4_position
from chain.protocols.v4.memory import PositionMemory
from chain.rpc import requests
from chain.rpc.endpoint import KnownRange
from chain.rpc.errors import HttpFault
from tests.fakes.providers.clock import VirtualClock
from tests.fakes.providers.profile import Profile
from tests.fakes.providers.profiles import PROFILES, profile_named
from tests.fakes.providers.provider import Provider, client_through
from tests.fakes.providers.virtual_chain import VirtualChain
from tests.samples import some_of

HOLDER = "0x" + "11" * 20
OTHER = "0x" + "22" * 20
DAY = 86_400
TWO_YEARS = 730 * DAY
MANY_IDS, FEW_IDS = 1_500_000, 9_000
FEW_BLOCKS = 5_000
MOST_REQUESTS = {"empty": 3, "one": 30, "forty": 450}


class Cost(Struct, frozen=True):
    requests: int
    calls: int
    seconds: float
    waited: float


class Looked(Struct, frozen=True):
    wallet: WalletPositions
    first: Cost
    second: Cost


def chain_of(profile: Profile, ages: list[float]) -> VirtualChain:
    """Two years of blocks, with positions minted so many days ago."""
    network = network_named(profile.network)
    blocks = int(TWO_YEARS / network.block_seconds)
    hopeless = profile.most_blocks is not None and profile.most_blocks <= FEW_BLOCKS
    few_calls = hopeless or profile.logs_kept is not None or (profile.most_in_batch or 10) < 10
    by_owner = few_calls or bool(profile.refused_methods)
    newest = FEW_IDS if by_owner else MANY_IDS
    chain = VirtualChain(network, network.first_block + blocks, newest + 1, VirtualClock())
    for place, days in enumerate(ages):
        age = int(days * DAY / network.block_seconds)
        token_id = newest - int(days / 730 * (newest - 100)) - place
        chain.give(token_id, HOLDER, chain.head - age)
    return chain


async def looked_through(profile: Profile, chain: VirtualChain) -> Looked:
    clock = chain.clock
    provider = Provider(profile, chain, clock)
    costs = []
    with Store.in_memory() as store:
        for _ in range(2):
            provider.forget_counts()
            clock.now += 60
            began, waited = clock.now, clock.waited
            async with client_through(chain.network, provider, store=store) as client:
                memory = PositionMemory(store, chain.network, clock.read)
                also = price_words(chain.network)
                reading = Discovery(client, chain.network, memory, also=also, every_protocol=True)
                wallet = await reading.read(HOLDER)
            seconds, waits = clock.now - began, clock.waited - waited
            costs.append(Cost(provider.requests, provider.calls, seconds, waits))
    return Looked(wallet, *costs)


WALLETS: dict[str, list[float]] = {
    "empty": [],
    "one": [29.0],
    "forty": [730 * place / 40 for place in range(40)],
}
SERVING = [one for one in PROFILES if one.serves]


def row(profile: Profile, wallet: str, looked: Looked) -> str:
    first, second = looked.first, looked.second
    return (
        f"{profile.name:<21}{wallet:<6} first {first.requests:>4} requests {first.calls:>5} calls"
        f" {first.seconds:>6.1f} s, {first.waited:>5.1f} s of it waited"
        f" · second {second.requests} requests {second.calls} calls"
    )


@pytest.mark.parametrize(
    "profile", some_of(zip(SERVING, strict=True), 6, seed=44), ids=attrgetter("name")
)
async def test_every_wallet_is_found_through(profile: Profile) -> None:
    for wallet, ages in WALLETS.items():
        chain = chain_of(profile, ages)
        assert chain.v3 is not None
        # As many of v3, by numbers that positions of v4 have, too.
        chain.v3.held[HOLDER] = [chain.next_id - 1 - place for place in range(len(ages))]
        looked = await looked_through(profile, chain)
        sys.stdout.write(row(profile, wallet, looked) + "\n")
        expected = set(map(v4_position, chain.owned(HOLDER, chain.head)))
        of_v3 = set(map(v3_position, chain.v3.held[HOLDER]))
        assert {one.ref for one in looked.wallet.positions} == expected | of_v3
        assert all(
            one.fees0 == one.ref.token_id
            for one in looked.wallet.positions
            if one.ref.protocol == V3
        )
        assert looked.wallet.complete
        # A batch that is cut up, or a machine that lags, takes a few more.
        small_batches = (profile.most_in_batch or 10) < 10
        assert looked.first.requests <= MOST_REQUESTS[wallet] * (3 if small_batches else 1)
        # Eighty positions are asked about in more than such an endpoint takes at once.
        small_bodies = profile.most_body_bytes is not None and wallet == "forty"
        most = 8 if small_bodies else 5 if small_batches or profile.share_behind else 1
        assert looked.second.requests <= most


async def test_one_that_serves_nobody_says_what_to_do() -> None:
    profile = profile_named("without a key")
    with pytest.raises(HttpFault) as caught:
        await looked_through(profile, chain_of(profile, []))
    assert caught.value.status == 401
    assert "--rpc URL" in caught.value.next_step


async def test_what_was_given_away_or_burned_is_not_taken_for_found() -> None:
    profile = profile_named("quicknode paid")
    chain = chain_of(profile, [1.0, 20.0])
    kept = chain.owned(HOLDER, chain.head)
    for place in range(12):
        token_id, age = 5_000 + place, 50_000 * (12 - place)
        chain.give(token_id, HOLDER, chain.head - age)
        chain.give(token_id, NATIVE if place % 2 else OTHER, chain.head - age + 10, HOLDER)
    looked = await looked_through(profile, chain)
    assert {one.ref.token_id for one in looked.wallet.positions} == kept
    assert looked.first.requests <= 40


async def test_several_endpoints_share_the_work() -> None:
    profile = profile_named("mainnet.base.org")
    seconds = []
    for count in (1, 2):
        chain = chain_of(profile, [200.0])
        providers = [Provider(profile, chain, chain.clock) for _ in range(count)]
        began = chain.clock.now
        with Store.in_memory() as store:
            async with client_through(chain.network, *providers, store=store) as client:
                memory = PositionMemory(store, chain.network, chain.clock.read)
                wallet = await Discovery(client, chain.network, memory).read(HOLDER)
        assert wallet.complete
        assert all(provider.calls > 100 for provider in providers)
        seconds.append(chain.clock.now - began)
    assert seconds[1] < 0.75 * seconds[0]


async def test_two_readers_of_one_wallet_search_once() -> None:
    profile = profile_named("quicknode paid")
    chain = chain_of(profile, [100.0])
    provider = Provider(profile, chain, chain.clock)
    with Store.in_memory() as store:
        async with client_through(chain.network, provider, store=store) as client:

            async def read() -> WalletPositions:
                memory = PositionMemory(store, chain.network, chain.clock.read)
                return await Discovery(client, chain.network, memory).read(HOLDER)

            alone = (await read()).found_count, provider.methods.count("eth_getLogs")
            for namespace in ("holdings", "log range", "endpoint batch"):
                store.forget(namespace)
            provider.forget_counts()
            both = await asyncio.gather(read(), read())
    assert [one.found_count for one in both] == [1, 1]
    assert provider.methods.count("eth_getLogs") <= alone[1] + 20


async def test_a_long_search_stays_its_own() -> None:
    profile = profile_named("mainnet.base.org")
    chain = chain_of(profile, [700.0])
    provider = Provider(profile, chain, chain.clock)
    claims: list[bool] = []
    with Store.in_memory() as store:
        memory = PositionMemory(store, chain.network, chain.clock.read)

        def another(_progress: object) -> None:
            claims.append(memory.claim_search(HOLDER, "another"))

        began = chain.clock.now
        async with client_through(chain.network, provider, store=store) as client:
            await Discovery(client, chain.network, memory, watch=another).read(HOLDER)
        assert chain.clock.now - began > 120
        assert claims
        assert not any(claims)
        assert memory.claim_search(HOLDER, "another"), "free once it is over"


async def test_what_an_endpoint_takes_at_once_is_known_to_the_next_process(tmp_path: Path) -> None:
    profile = profile_named("mainnet.base.org")
    chain = chain_of(profile, [29.0])
    provider = Provider(profile, chain, chain.clock)
    database = tmp_path / "zuno.db"
    headers = [requests.block(chain.head - place) for place in range(30)]
    with Store.open(database, now=chain.clock.now)[0] as store:
        async with client_through(chain.network, provider, store=store) as client:
            memory = PositionMemory(store, chain.network, chain.clock.read)
            await Discovery(client, chain.network, memory).read(HOLDER)
            await client.settle(headers)
            batch = client.endpoints[0].most_in_batch
    assert batch is not None
    provider.forget_counts()
    with Store.open(database, now=chain.clock.now)[0] as store:
        async with client_through(chain.network, provider, store=store) as client:
            assert client.log_range == KnownRange(10_000, most=True)
            assert client.endpoints[0].most_in_batch == batch
            await client.settle(headers)
            assert "too many RPC calls in batch request" not in provider.refused
        chain.clock.now += 2 * DAY
        async with client_through(chain.network, provider, store=store) as client:
            assert client.log_range is None, "it may have changed since"


async def test_what_comes_and_goes_is_noticed_without_logs() -> None:
    profile = profile_named("own geth")
    chain = chain_of(profile, [3.0, 12.0])
    provider = Provider(profile, chain, chain.clock)

    async def held() -> set[int]:
        provider.forget_counts()
        chain.clock.now += 20
        memory = PositionMemory(store, chain.network, chain.clock.read)
        discovery = Discovery(client, chain.network, memory, between_logs=300.0)
        return {one.ref.token_id for one in (await discovery.read(HOLDER)).positions}

    with Store.in_memory() as store:
        async with client_through(chain.network, provider, store=store) as client:
            first = await held()
            assert await held() == first
            assert provider.methods == ["eth_getBlockByNumber", "eth_call"]
            chain.give(77, HOLDER, chain.head)
            assert await held() == first | {77}
            # One for another: their number stays the same.
            chain.give(77, OTHER, chain.head, HOLDER)
            chain.give(78, HOLDER, chain.head)
            assert await held() == first | {78}
            chain.clock.now += 300
            await held()
            assert "eth_getLogs" in provider.methods


async def test_a_stranger_who_may_move_all_is_noticed_by_one_log_query() -> None:
    profile = profile_named("own geth")
    chain = chain_of(profile, [3.0, 12.0])
    provider = Provider(profile, chain, chain.clock)

    async def operators() -> tuple[str, ...]:
        provider.forget_counts()
        chain.clock.now += 60
        memory = PositionMemory(store, chain.network, chain.clock.read)
        discovery = Discovery(
            client, chain.network, memory, between_logs=600.0, follow_leaving=True
        )
        return (await discovery.read(HOLDER)).operators

    with Store.in_memory() as store:
        async with client_through(chain.network, provider, store=store) as client:
            await operators()
            assert await operators() == ()
            assert sorted(provider.methods) == ["eth_call", "eth_getBlockByNumber", "eth_getLogs"]
            chain.allow(HOLDER, OTHER, chain.head)
            assert await operators() == (OTHER,)
            assert await operators() == (OTHER,)
            assert len(provider.methods) == 3, "it is known from then on"


async def test_an_endpoint_of_few_blocks_is_not_asked_for_landmarks_at_every_look() -> None:
    profile = profile_named("alchemy free")
    chain = chain_of(profile, [3.0])
    provider = Provider(profile, chain, chain.clock)
    with Store.in_memory() as store:
        async with client_through(chain.network, provider, store=store) as client:
            for _ in range(3):
                provider.forget_counts()
                chain.clock.now += 60
                memory = PositionMemory(store, chain.network, chain.clock.read)
                discovery = Discovery(
                    client, chain.network, memory, between_logs=600.0, follow_leaving=True
                )
                assert (await discovery.read(HOLDER)).complete
    assert provider.methods == ["eth_getBlockByNumber", "eth_call"]


async def test_owners_are_asked_for_in_ever_larger_calls_until_one_is_refused() -> None:
    calls = []
    for gas in (50_000_000, 15_000_000, 8_000_000):
        profile = replace(profile_named("pruned geth"), call_gas=gas)
        looked = await looked_through(profile, chain_of(profile, [700.0]))
        assert looked.wallet.found_count == 1
        calls.append(looked.first.calls)
    assert calls[0] < calls[1] < calls[2]
