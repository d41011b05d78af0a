"""web3.py over our client: failover and agreement hold, names resolve, and nothing is sent."""

from collections.abc import Iterator
from contextlib import ExitStack

import pytest
from ens import AsyncENS
from eth_utils.address import to_checksum_address
from web3 import AsyncWeb3
from web3.exceptions import ContractLogicError
from web3.middleware import Web3Middleware
from web3.types import TxParams

from chain.contracts.networks import network_named
from chain.names.web3_provider import NotAgreedError, NotForReadingError, reading_provider
from chain.rpc.client import RpcClient
from tests.chain.names.ens_on_chain import REGISTRY, EnsOnChain
from tests.chain_view import ChainView, bare_chain
from tests.fakes.proxy import Answer, Call, Proxy, forwards

ALICE = "0x" + "a1" * 20
DEAD = "http://127.0.0.1:9"
NETWORK = network_named("devnet")


@pytest.fixture(scope="module")
def chain() -> Iterator[ChainView]:
    with bare_chain() as chain:
        chain.node.ask("anvil_setBalance", ALICE, hex(7))
        chain.node.ask("evm_mine")
        yield chain


def richer(call: Call) -> Answer | None:
    return {"result": hex(10**20)} if call["method"] == "eth_getBalance" else None


def refusing(call: Call) -> Answer | None:
    if call["method"] == "eth_getBalance":
        return {"error": {"code": -32601, "message": "no such method"}}
    return None


async def balance(chain: ChainView, *answers: object, agree: bool = True) -> int:
    with ExitStack() as stack:
        proxies = [stack.enter_context(Proxy(chain.url, answer)) for answer in answers]  # type: ignore[arg-type]
        urls = tuple(proxy.url for proxy in proxies)
        async with RpcClient(NETWORK, urls) as client:
            web3 = AsyncWeb3(reading_provider(client, agree=agree))
            return await web3.eth.get_balance(to_checksum_address(ALICE))


async def test_where_the_first_does_not_answer_the_next_is_asked(chain: ChainView) -> None:
    async with RpcClient(NETWORK, (DEAD, chain.url)) as client:
        web3 = AsyncWeb3(reading_provider(client))
        assert await web3.eth.get_balance(to_checksum_address(ALICE)) == 7
        assert await web3.eth.chain_id == NETWORK.chain_id


@pytest.mark.parametrize(
    "answers",
    [
        (richer, forwards, forwards),
        (forwards, richer, forwards),
        (forwards, refusing, forwards),
        (forwards, forwards),
    ],
)
async def test_two_that_agree_are_believed_and_one_that_lies_is_not(
    chain: ChainView, answers: tuple[object, ...]
) -> None:
    assert await balance(chain, *answers) == 7


@pytest.mark.parametrize(
    "answers",
    [(richer, forwards), (forwards,), (refusing, forwards), (richer, richer, forwards, forwards)],
)
async def test_where_no_two_agree_nothing_is_said(
    chain: ChainView, answers: tuple[object, ...]
) -> None:
    with pytest.raises(NotAgreedError, match="Name more endpoints"):
        await balance(chain, *answers)
    assert await balance(chain, *answers[::-1], agree=False) == 7


@pytest.mark.parametrize(
    "method", ["eth_sendRawTransaction", "eth_sign", "anvil_setBalance", "mev_sendBundle"]
)
async def test_it_sends_and_signs_nothing(chain: ChainView, method: str) -> None:
    async with RpcClient(NETWORK, (chain.url,)) as client:
        with pytest.raises(NotForReadingError, match="at the desk"):
            await reading_provider(client).make_request(method, ["0x00"])  # type: ignore[arg-type]


async def test_a_revert_is_a_revert_and_a_name_is_found(chain: ChainView) -> None:
    names = EnsOnChain(chain)
    names.register("alice.eth", ALICE)
    refuses = "0x" + "fe" * 20
    chain.node.ask("anvil_setCode", refuses, "0x5f5ffd")
    chain.node.ask("evm_mine")
    async with RpcClient(NETWORK, (chain.url, chain.url)) as client:
        web3 = AsyncWeb3(reading_provider(client, agree=True))
        call: TxParams = {"to": to_checksum_address(refuses), "data": "0x00"}  # type: ignore[typeddict-item]
        with pytest.raises(ContractLogicError):
            await web3.eth.call(call)
        registry, plain = to_checksum_address(REGISTRY), ((Web3Middleware, "stalecheck"),)
        found = await AsyncENS(reading_provider(client), registry, plain).address("alice.eth")

    assert str(found).lower() == ALICE
