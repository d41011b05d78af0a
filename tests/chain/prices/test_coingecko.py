"""CoinGecko over real HTTP: prices with their age, and every fault as a reason."""

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from fractions import Fraction

import pytest

from chain.base.http import HttpLimits
from chain.base.units import Known, Unknown
from chain.prices.coingecko import CoinGecko, CoinGeckoSettings
from chain.prices.market_http import KEPT_SECONDS, MarketError
from tests.fakes.coingecko import Answer, CoinGeckoDouble
from tests.virtual_time import virtual_now

NOW = 1_760_000_000
TOKEN = "0x" + "5a" * 20
QUICK = HttpLimits(connect_seconds=0.5, answer_seconds=0.3, most_bytes=100_000)


class Clock:
    def __init__(self) -> None:
        self.now = float(NOW)

    def __call__(self) -> float:
        return self.now


@asynccontextmanager
async def market(
    double: CoinGeckoDouble, clock: Clock | None = None, key: str | None = None
) -> AsyncIterator[CoinGecko]:
    async with double.running() as url:
        settings = CoinGeckoSettings(url, key, QUICK)
        async with CoinGecko(settings, clock=clock or Clock()) as coingecko:
            yield coingecko


def quote(usd: object, updated: object = NOW - 30) -> dict[str, object]:
    return {"usd": usd, "last_updated_at": updated}


def quoted(usd: int) -> Known[Fraction]:
    return Known(Fraction(usd), "CoinGecko", None, NOW - 30)


async def test_a_price_is_exact_and_carries_its_time() -> None:
    double = CoinGeckoDouble(coins={"ethereum": quote(3123.45), "usd-coin": quote(1)})
    async with market(double, key="CG-demo") as coingecko:
        prices = await coingecko.usd_by_coin(["usd-coin", "ethereum", "nonsense"])
    ether = prices["ethereum"]
    assert ether == Known(Fraction(312345, 100), "CoinGecko", None, NOW - 30)
    assert isinstance(ether, Known)
    assert ether.age(NOW) == 30
    assert prices["usd-coin"] == Known(Fraction(1), "CoinGecko", None, NOW - 30)
    assert prices["nonsense"] == Unknown("CoinGecko has no price for it")
    [asked] = double.asked
    assert asked.parameters["ids"] == "ethereum,nonsense,usd-coin"
    assert asked.headers["x-cg-demo-api-key"] == "cg-demo"


async def test_a_token_is_priced_by_its_contract() -> None:
    double = CoinGeckoDouble(contracts={("base", TOKEN): quote(1.5e-9)})
    async with market(double) as coingecko:
        prices = await coingecko.usd_by_address("base", [TOKEN])
    assert prices[TOKEN] == Known(Fraction(15, 10**10), "CoinGecko", None, NOW - 30)
    assert double.asked[0].path == "/simple/token_price/base"


@pytest.mark.parametrize(("key", "requests", "priced"), [(None, 5, 5), ("CG-demo", 2, 40)])
async def test_contracts_are_asked_in_the_portions_allowed(
    key: str | None, requests: int, priced: int
) -> None:
    wanted = [f"0x{number:040x}" for number in range(40)]
    double = CoinGeckoDouble(contracts={("base", one): quote(2) for one in wanted})
    async with market(double, key=key) as coingecko:
        prices = await coingecko.usd_by_address("base", wanted)
    assert len(double.asked) == requests
    assert [isinstance(prices[one], Known) for one in wanted] == [True] * priced + [False] * (
        40 - priced
    )
    assert prices[wanted[-1]] in (
        quoted(2),
        Unknown("CoinGecko was asked about 5 other tokens first"),
    )


async def test_asking_for_nothing_asks_nobody() -> None:
    double = CoinGeckoDouble()
    async with market(double) as coingecko:
        assert await coingecko.usd_by_coin([]) == {}
        assert await coingecko.usd_by_address("base", []) == {}
    assert double.asked == []


@pytest.mark.parametrize(
    ("entry", "reason"),
    [
        (quote(-5.0), "is wrong"),
        (quote(0), "is wrong"),
        (quote("3123.45"), "is wrong"),
        (quote(True), "is wrong"),
        (quote(None), "is wrong"),
        (quote(1e40), "is wrong"),
        (quote(3000, updated="yesterday"), "is wrong"),
        (quote(3000, updated=None), "is wrong"),
        ([1, 2], "is wrong"),
        ({}, "has no price"),
        (quote(3000, updated=NOW - 7200), "2.0 h old"),
        (quote(3000, updated=NOW + 7200), "from the future"),
    ],
)
async def test_a_value_no_market_has_is_refused(entry: object, reason: str) -> None:
    double = CoinGeckoDouble(coins={"ethereum": entry, "usd-coin": quote(1)})
    async with market(double) as coingecko:
        prices = await coingecko.usd_by_coin(["ethereum", "usd-coin"])
    ether = prices["ethereum"]
    assert isinstance(ether, Unknown)
    assert reason in ether.reason
    assert isinstance(prices["usd-coin"], Known), "one bad value spoils no other"


@pytest.mark.parametrize(
    ("fault", "reason"),
    [
        (Answer(500, b"oops"), "HTTP status 500"),
        (Answer(404, b"{}"), "HTTP status 404"),
        (Answer(302, b"", (("location", "http://127.0.0.1:1/"),)), "HTTP status 302"),
        (Answer(body=b"<html>Just a moment...</html>"), "answer is wrong"),
        (Answer(body=b'{"ethereum":{"usd":3000,"last_upd'), "answer is wrong"),
        (Answer(body=b'{"ethereum":{"usd":NaN}}'), "answer is wrong"),
        (Answer(body=b"[]"), "answer is wrong"),
        (Answer(body=b" " * 200_000), "more than 0.1 MB"),
        (Answer(body=b"{}", stall=True), "did not answer within 0.3 s"),
    ],
)
async def test_a_server_that_fails_is_a_reason(fault: Answer, reason: str) -> None:
    async with market(CoinGeckoDouble(fault=fault)) as coingecko:
        begun = virtual_now()
        with pytest.raises(MarketError, match=reason) as caught:
            await coingecko.usd_by_coin(["ethereum"])
        assert virtual_now() - begun < 2
    assert "127.0.0.1" not in f"{caught.value} {caught.value.__context__!r}"


async def test_a_server_that_is_not_there_is_a_reason() -> None:
    async with CoinGecko(CoinGeckoSettings("http://127.0.0.1:1/api", None, QUICK)) as coingecko:
        with pytest.raises(MarketError, match="is not reachable"):
            await coingecko.usd_by_coin(["ethereum"])


@pytest.mark.parametrize(
    ("header", "wait"),
    [((("retry-after", "7"),), 7.0), ((), 60.0), ((("retry-after", "9999"),), 300.0)],
)
async def test_a_server_that_asks_for_rest_gets_it(
    header: tuple[tuple[str, str], ...], wait: float
) -> None:
    double = CoinGeckoDouble(coins={"ethereum": quote(3000)}, fault=Answer(429, b"", header))
    clock = Clock()
    async with market(double, clock) as coingecko:
        with pytest.raises(MarketError, match="asked for a pause"):
            await coingecko.usd_by_coin(["ethereum"])
        double.fault = None
        clock.now = NOW + wait - 1
        with pytest.raises(MarketError, match="a pause of 1 s more"):
            await coingecko.usd_by_coin(["ethereum"])
        assert len(double.asked) == 1, "while it rests it is not asked"
        clock.now = NOW + wait
        assert isinstance((await coingecko.usd_by_coin(["ethereum"]))["ethereum"], Known)


async def test_an_answer_is_used_again_for_a_minute_and_grows_older() -> None:
    double = CoinGeckoDouble(coins={"ethereum": quote(3000)})
    clock = Clock()
    async with market(double, clock) as coingecko:
        await coingecko.usd_by_coin(["ethereum"])
        clock.now += KEPT_SECONDS - 1
        kept = (await coingecko.usd_by_coin(["ethereum"]))["ethereum"]
        assert isinstance(kept, Known)
        assert kept.age(clock.now) == 30 + KEPT_SECONDS - 1
        assert len(double.asked) == 1
        clock.now += 1
        await coingecko.usd_by_coin(["ethereum"])
        assert len(double.asked) == 2


async def test_an_hourly_series_is_put_in_order() -> None:
    rows = [[(NOW - 3600) * 1000, 3000.5], [(NOW - 7200) * 1000, 2990], [(NOW - 3600) * 1000, 3001]]
    double = CoinGeckoDouble(charts={"ethereum": rows})
    async with market(double) as coingecko:
        series = await coingecko.hourly("ethereum", days=7)
    assert [(point.time, point.usd) for point in series.points] == [
        (NOW - 7200, 2990.0),
        (NOW - 3600, 3001.0),
    ]
    assert double.asked[0].parameters == {"vs_currency": "usd", "days": "7"}


@pytest.mark.parametrize(
    "rows",
    [
        None,
        "text",
        [[1]],
        [[NOW * 1000, -3]],
        [[NOW * 1000, "3"]],
        [["then", 3000]],
        [[(NOW + 9999) * 1000, 3000]],
        [[-5, 3000]],
    ],
)
async def test_a_broken_series_is_refused_whole(rows: object) -> None:
    double = CoinGeckoDouble(fault=Answer(body=json.dumps({"prices": rows}).encode()))
    async with market(double) as coingecko:
        with pytest.raises(MarketError, match="series is wrong"):
            await coingecko.hourly("ethereum", days=7)


def test_settings_that_cannot_work_are_refused_at_once() -> None:
    with pytest.raises(MarketError, match="not an http"):
        CoinGecko(CoinGeckoSettings("file:///etc/passwd"))
    with pytest.raises(MarketError, match="no key has"):
        CoinGecko(CoinGeckoSettings(api_key="key\r\nhost: elsewhere"))


def test_a_key_is_never_shown() -> None:
    assert "secret" not in repr(CoinGeckoSettings(api_key="secret"))
