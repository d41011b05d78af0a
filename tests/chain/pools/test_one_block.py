"""Prices and tokens of the embedded chain, each of one block and from one request."""

from collections.abc import Callable
from contextlib import AbstractAsyncContextManager

from chain.base.units import Known, Unknown
from chain.contracts.networks import NATIVE, network_named
from chain.devnet.world.accounts import DEMO_WALLET
from chain.devnet.world.deployment import CONTRACTS, FAKE_USDC, HOSTILE, TOKENS, USDC, WBTC, WETH
from chain.prices.ladder import read_prices
from chain.prices.price import WorthUnit
from chain.tokens import listed_token, read_tokens
from tests.chain.pools.conftest import Served

DEVNET = network_named("devnet")

ServedWorld = Callable[[], AbstractAsyncContextManager[Served]]


def test_the_data_names_what_the_chain_deploys() -> None:
    assert DEVNET.contracts == CONTRACTS
    assert DEVNET.default_address == DEMO_WALLET.address
    assert (DEVNET.wrapped_native, DEVNET.stable) == (WETH.address, USDC.address)
    for token in TOKENS:
        listed = listed_token(DEVNET, token.address)
        if token in (FAKE_USDC, HOSTILE):
            assert listed is None
        else:
            assert listed is not None
            assert (listed.token.symbol, listed.token.decimals) == (token.symbol, token.decimals)


async def test_prices_are_three_requests_and_of_the_block_asked_for(served: ServedWorld) -> None:
    async with served() as chain:
        now = await read_prices(chain.client, DEVNET, [WBTC.address], coingecko=None)
        assert chain.client.round_trips == 3
        early = chain.chain.head.number - 30
        then = await read_prices(chain.client, DEVNET, [WBTC.address], coingecko=None, at=early)
    latest, before = now.price(WBTC.address), then.price(WBTC.address)
    assert isinstance(latest, Known)
    assert isinstance(before, Known)
    assert before.block == early
    assert latest.value != before.value
    assert 20_000 < latest.value < 500_000
    in_ether = now.price(WBTC.address, WorthUnit.ETH)
    ether = now.price(NATIVE)
    assert isinstance(in_ether, Known)
    assert isinstance(ether, Known)
    assert in_ether.value == latest.value / ether.value


async def test_a_look_alike_is_worth_nothing_known_whatever_its_pool_says(
    served: ServedWorld,
) -> None:
    async with served() as chain:
        book = await read_prices(chain.client, DEVNET, [FAKE_USDC.address], coingecko=None)
    price = book.price(FAKE_USDC.address)
    assert isinstance(price, Unknown)
    assert "only listed tokens" in price.reason


async def test_the_worlds_strangers_are_shown_as_strangers(served: ServedWorld) -> None:
    wanted = [token.address for token in TOKENS]
    async with served() as chain:
        tokens = await read_tokens(chain.client, DEVNET, wanted, "latest", now=0)
        assert chain.client.round_trips == 1
    assert tokens[USDC.address].label == "USDC"
    fake = tokens[FAKE_USDC.address]
    assert (fake.symbol, fake.decimals, fake.verified, fake.suspicious) == ("USDC", 6, False, True)
    assert fake.label.startswith("?USDC 0x")
    hostile = tokens[HOSTILE.address]
    assert hostile.suspicious
    assert not any(character in hostile.label for character in "\x1b\u202e")
