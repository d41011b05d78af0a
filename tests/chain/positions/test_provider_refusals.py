"""What no provider is believed, and the embedded one."""

import pytest

from chain.base.store import Store
from chain.devnet.launch import DevnetReady
from chain.positions.discovery import Discovery
from chain.protocols.v4.memory import PositionMemory
from tests.chain.conftest import Desk
from tests.chain.positions.test_provider_zoo import HOLDER, chain_of, looked_through
from tests.fakes.providers.clock import VirtualClock
from tests.fakes.providers.embedded import EmbeddedChain
from tests.fakes.providers.profile import Profile, RateLimit, Refusal
from tests.fakes.providers.profiles import profile_named
from tests.fakes.providers.provider import Provider, client_through

WIDE = (
    Refusal(-32011, "no backend is currently healthy to serve traffic"),
    Refusal(-32005, "please limit the query to at most 1000 blocks"),
    Refusal(30, "Request timeout on the free tier, please upgrade your tier to the paid one"),
    Refusal(-32000, "request timed out"),
    Refusal(-32000, "context deadline exceeded"),
    Refusal(-32000, "timeout"),
    Refusal(-32602, "Maximum allowed number of requested blocks is 1000"),
    Refusal(-32602, "maximum [from, to] blocks distance: 1000"),
    Refusal(-32000, "log query timed out"),
    Refusal(-32603, "eth_getLogs range is too large, max is 1k blocks"),
    Refusal(-32614, "eth_getLogs is limited to a 1,000 range", 413),
    *(Refusal(-32000, "", status) for status in (502, 503, 504, 524)),
)
LIMITS = (
    RateLimit(20, 20, each_item=True, refusal=Refusal(-32016, "over rate limit")),
    RateLimit(8, 12, each_item=False),
    RateLimit(8, 12, each_item=False, retry_after=2),
    RateLimit(8, 12, each_item=False, refusal=Refusal(-32005, "too many requests", 200)),
    RateLimit(
        8,
        12,
        each_item=True,
        refusal=Refusal(429, "exceeded its compute units per second capacity"),
    ),
)


@pytest.mark.parametrize("refusal", WIDE, ids=lambda one: one.words[:40] or str(one.status))
async def test_a_range_that_is_refused_is_narrowed(refusal: Refusal) -> None:
    profile = Profile("refuses", most_blocks=1_000, too_many_blocks=refusal)
    chain = chain_of(profile, [2.0])
    looked = await looked_through(profile, chain)
    assert looked.wallet.complete
    assert looked.wallet.found_count == 1
    assert looked.first.requests <= 40


async def test_too_many_logs_at_once_are_asked_for_in_parts() -> None:
    refusal = Refusal(-32000, "logs matched by query exceeds limit of {most}")
    profile = Profile("counts", most_logs=2, too_many_logs=refusal)
    chain = chain_of(profile, [place / 100 for place in range(10)])
    looked = await looked_through(profile, chain)
    assert looked.wallet.found_count == 10
    assert looked.wallet.complete


@pytest.mark.parametrize("rate", LIMITS, ids=lambda one: one.refusal.words[:30])
async def test_a_limit_is_waited_out(rate: RateLimit) -> None:
    profile = Profile("limits", most_blocks=10_000, most_in_batch=10, rate=rate)
    chain = chain_of(profile, [60.0])
    looked = await looked_through(profile, chain)
    assert looked.wallet.complete
    assert {one.owner for one in looked.wallet.positions} == {HOLDER}
    assert looked.first.waited > 0
    # Not much slower than it may go, and not at the cost of many refusals.
    fastest = looked.first.calls / rate.calls_a_second
    assert looked.first.seconds < 4 * fastest + 20


@pytest.mark.parametrize("name", ["mainnet.base.org", "alchemy free", "own besu"])
async def test_the_demo_wallet_is_found_through(desk: Desk, devnet: DevnetReady, name: str) -> None:
    truth = await desk.discovery.read(devnet.wallet)
    clock = VirtualClock()
    provider = Provider(profile_named(name), EmbeddedChain(devnet.url), clock)
    with Store.in_memory() as store:
        async with client_through(desk.network, provider) as client:
            memory = PositionMemory(store, desk.network, clock.read)
            wallet = await Discovery(client, desk.network, memory).read(devnet.wallet)
    assert wallet.positions == truth.positions
    assert wallet.complete
