"""ENS names against contracts on the embedded chain, forward and back."""

import asyncio
from collections.abc import Iterator

import pytest

from chain.contracts.networks import network_named
from chain.names.ens import EnsError, NameFault, ResolvedName, network_of_names, resolve_name
from chain.rpc.client import RpcClient
from tests.chain.names.ens_on_chain import EnsOnChain
from tests.chain_view import ChainView, bare_chain

ALICE = "0x" + "a1" * 20
BOB = "0x" + "b0" * 20


@pytest.fixture(scope="module")
def chain() -> Iterator[ChainView]:
    with bare_chain() as chain:
        yield chain


@pytest.fixture(scope="module")
def url(chain: ChainView) -> str:
    return chain.url


@pytest.fixture(scope="module")
def names(chain: ChainView) -> EnsOnChain:
    names = EnsOnChain(chain)
    names.register("alice.eth", ALICE)
    names.go_by(ALICE, "alice.eth")
    return names


async def _resolved(url: str, name: str) -> ResolvedName:
    async with RpcClient(network_named("devnet"), (url,)) as client:
        return await resolve_name(client, name)


@pytest.mark.usefixtures("names")
@pytest.mark.parametrize("typed", ["alice.eth", " Alice.ETH "])
async def test_a_name_leads_to_its_address_and_back(url: str, typed: str) -> None:
    assert await _resolved(url, typed) == ResolvedName("alice.eth", ALICE, "alice.eth")


async def test_an_address_that_goes_by_another_name_is_told(url: str, names: EnsOnChain) -> None:
    names.register("nickname.eth", ALICE)

    assert await _resolved(url, "nickname.eth") == ResolvedName("nickname.eth", ALICE, "alice.eth")


@pytest.mark.parametrize("claimed", ["", "alice.eth", "no spaces.eth"])
async def test_a_reverse_record_that_does_not_lead_back_counts_as_none(
    url: str, names: EnsOnChain, claimed: str
) -> None:
    names.register("bob.eth", BOB)
    names.go_by(BOB, claimed)

    assert await _resolved(url, "bob.eth") == ResolvedName("bob.eth", BOB, None)


@pytest.mark.parametrize(
    ("name", "fault"),
    [
        ("nobody.eth", NameFault.UNKNOWN),
        ("reserved.eth", NameFault.NO_ADDRESS),
        ("two words.eth", NameFault.INVALID),
        ("а.eth" + "\x1b[2J", NameFault.INVALID),
        ("x" * 300 + ".eth", NameFault.INVALID),
    ],
)
async def test_a_name_that_leads_nowhere_says_why(
    url: str, names: EnsOnChain, name: str, fault: NameFault
) -> None:
    names.register("reserved.eth", None)

    with pytest.raises(EnsError) as refused:
        await _resolved(url, name)

    assert refused.value.fault is fault
    assert "\x1b" not in str(refused.value)


async def test_no_server_is_asked_for_a_name(url: str, names: EnsOnChain) -> None:
    asked = asyncio.Event()

    async def hear(_reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        asked.set()
        writer.close()

    async with await asyncio.start_server(hear, "127.0.0.1", 0) as server:
        port = server.sockets[0].getsockname()[1]
        names.keep_on_server("elsewhere.eth", f"http://127.0.0.1:{port}/{{sender}}/{{data}}.json")
        with pytest.raises(EnsError) as refused:
            await _resolved(url, "elsewhere.eth")

    assert refused.value.fault is NameFault.OFF_CHAIN
    assert not asked.is_set()


async def test_a_chain_without_ens_says_so() -> None:
    with bare_chain() as bare, pytest.raises(EnsError) as refused:
        await _resolved(bare.url, "alice.eth")

    assert refused.value.fault is NameFault.NO_ENS


@pytest.mark.parametrize(
    ("network", "asked"),
    [("ethereum", "ethereum"), ("base", "ethereum"), ("sepolia", "sepolia"), ("devnet", "devnet")],
)
def test_most_networks_have_their_names_on_ethereum(network: str, asked: str) -> None:
    assert network_of_names(network_named(network)).name == asked
