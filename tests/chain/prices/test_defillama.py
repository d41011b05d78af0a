"""DefiLlama over real HTTP, alone and beside CoinGecko: whom to believe, and who is disputed."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from fractions import Fraction

import pytest

from chain.base.http import HttpLimits
from chain.base.units import Known, Quantity, Unknown
from chain.contracts.networks import NATIVE, network_named
from chain.prices.coingecko import CoinGecko, CoinGeckoSettings
from chain.prices.defillama import DefiLlama, DefiLlamaSettings
from chain.prices.ladder import market_prices, price_book
from tests.fakes.coingecko import Answer, CoinGeckoDouble
from tests.fakes.defillama import DefiLlamaDouble

NOW = 1_760_000_000
BASE = network_named("base")
TOKEN = "0x" + "5a" * 20
NAME = f"base:{TOKEN}"
PATIENT = HttpLimits(connect_seconds=20.0, answer_seconds=20.0, most_bytes=100_000)
HASTY = HttpLimits(connect_seconds=20.0, answer_seconds=0.2, most_bytes=100_000)


def told(price: object = 2.5, **changed: object) -> dict[str, object]:
    entry = {"decimals": 18, "symbol": "X", "price": price, "timestamp": NOW - 20}
    return {**entry, "confidence": 0.99, **changed}


@asynccontextmanager
async def llama(double: DefiLlamaDouble, limits: HttpLimits = PATIENT) -> AsyncIterator[DefiLlama]:
    async with (
        double.running() as url,
        DefiLlama(DefiLlamaSettings(url, limits), clock=lambda: NOW) as client,
    ):
        yield client


async def priced(double: DefiLlamaDouble, limits: HttpLimits = PATIENT) -> Quantity[Fraction]:
    async with llama(double, limits) as client:
        return (await client.usd_by_address(BASE, [TOKEN]))[TOKEN]


async def test_a_price_is_exact_and_carries_its_time() -> None:
    double = DefiLlamaDouble(prices={NAME: told(), f"base:{NATIVE}": told(3000)})
    async with llama(double) as client:
        prices = await client.usd_by_address(BASE, [TOKEN, NATIVE])
        await client.usd_by_address(BASE, [TOKEN, NATIVE])

    assert prices[TOKEN] == Known(Fraction(5, 2), "DefiLlama", None, NOW - 20)
    assert prices[NATIVE] == Known(Fraction(3000), "DefiLlama", None, NOW - 20)
    [asked] = double.asked
    assert asked.path == f"/prices/current/{NAME},base:{NATIVE}"


async def test_an_address_in_capitals_is_the_same_address() -> None:
    double = DefiLlamaDouble(
        fault=Answer(
            body=b'{"coins":{"base:0x' + b"5A" * 20 + b'":{"price":2,"timestamp":1760000000}}}'
        )
    )
    assert await priced(double) == Known(Fraction(2), "DefiLlama", None, NOW)


@pytest.mark.parametrize(
    "entry",
    [
        told(-1),
        told("2.5"),
        told(True),
        told(1e30),
        told(None),
        told(timestamp=NOW - 4_000),
        told(timestamp=NOW + 4_000),
        told(timestamp="now"),
        told(confidence=0.2),
        "2.5",
    ],
)
async def test_a_price_that_cannot_be_right_is_unknown(entry: object) -> None:
    assert isinstance(await priced(DefiLlamaDouble(prices={NAME: entry})), Unknown)


@pytest.mark.parametrize(
    "fault",
    [
        Answer(500),
        Answer(429, headers=(("retry-after", "7"),)),
        Answer(body=b"<html>"),
        Answer(body=b"[]"),
        Answer(body=b'{"coins":[]}'),
        Answer(body=b"{}", stall=True),
    ],
)
async def test_a_server_that_cannot_be_used_is_a_reason(fault: Answer) -> None:
    assert isinstance(await priced(DefiLlamaDouble(fault=fault), HASTY), Unknown)


async def test_a_past_price_is_that_of_its_hour() -> None:
    rows = [
        told(3, timestamp=1_000_000),
        told(4, timestamp=1_007_000),
        told(0, timestamp=1_020_000),
    ]
    double = DefiLlamaDouble(past={NAME: rows})
    async with llama(double) as client:
        found = await client.usd_at(BASE, [TOKEN], [1_000_900, 1_006_000, 1_020_000])

    assert found[1_000_900][TOKEN] == Known(Fraction(3), "DefiLlama", None, 1_000_000)
    assert found[1_006_000][TOKEN] == Known(Fraction(4), "DefiLlama", None, 1_007_000)
    assert isinstance(found[1_020_000][TOKEN], Unknown)
    assert len(double.asked) == 1


async def test_a_network_nobody_prices_asks_nobody() -> None:
    double = DefiLlamaDouble()
    async with llama(double) as client:
        prices = await client.usd_by_address(network_named("devnet"), [TOKEN])
    assert isinstance(prices[TOKEN], Unknown)
    assert double.asked == []


async def both(gecko: float | None, second: float | None) -> dict[str, Quantity[Fraction]]:
    entry = {"usd": gecko, "last_updated_at": NOW}
    first = CoinGeckoDouble(contracts={} if gecko is None else {("base", TOKEN): entry})
    other = DefiLlamaDouble(prices={} if second is None else {NAME: told(second)})
    async with first.running() as url, llama(other) as client:
        settings = CoinGeckoSettings(url, None, PATIENT)
        async with CoinGecko(settings, clock=lambda: NOW, second=client) as coingecko:
            return await market_prices(coingecko, BASE, [TOKEN])


def pool(price: float) -> dict[str, Quantity[Fraction]]:
    return {TOKEN: Known(Fraction(str(price)), "pool X/USDC", 7)}


@pytest.mark.parametrize(
    ("gecko", "second", "pools", "usd", "disputed"),
    [
        (100, 101, None, "100.5", False),
        (100, 101, 100, "100.5", False),
        (100, None, 100, "100", False),
        (None, 101, None, "101", False),
        (None, None, 99, "99", False),
        (100, 103, None, "101.5", True),
        (100, 150, 101, "101", True),
        (1, 100, 101, "100", True),
        (100, 101, 110, "100.5", True),
    ],
)
async def test_two_markets_are_told_as_one_and_a_liar_never_wins(
    gecko: float | None, second: float | None, pools: float | None, usd: str, disputed: bool
) -> None:
    market = await both(gecko, second)
    book = price_book(BASE, market, {} if pools is None else pool(pools))

    price = book.prices[TOKEN]
    assert isinstance(price.usd, Known)
    assert price.usd.value == Fraction(usd)
    assert price.is_disputed is disputed
    said = [one for one in (gecko, second, pools) if one is not None]
    highest = price.highest
    assert isinstance(highest, Known)
    assert highest.value == max(said) if price.is_disputed else highest.value <= max(said)
