"""CoinGecko over real HTTP: prices now and past, few requests, every fault as a reason."""

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from fractions import Fraction

import pytest

from chain.base.http import HttpLimits
from chain.base.units import DAY, HOUR, Known, Unknown
from chain.bookkeeping.wallet_history import price_of_then
from chain.contracts.networks import NATIVE, network_named
from chain.prices.coingecko import (
    HOURLY_DAYS,
    MOST_REQUESTS,
    CoinGecko,
    CoinGeckoSettings,
    coingecko_prices_at,
    windows,
)
from chain.prices.ladder import median_of_two
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
    double: CoinGeckoDouble,
    clock: Clock | None = None,
    key: str | None = None,
    limits: HttpLimits = QUICK,
) -> AsyncIterator[CoinGecko]:
    async with double.running() as url:
        settings = CoinGeckoSettings(url, key, limits)
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


BASE = network_named("base")
LIMITS = HttpLimits(connect_seconds=2, answer_seconds=2, most_bytes=1_000_000)


def hourly(usd: float, days: int) -> list[list[float]]:
    """A price an hour that rises by a dollar each time, up to now."""
    count = days * 24
    return [[(NOW - HOUR * (count - at)) * 1000, usd + at] for at in range(count)]


async def test_each_token_takes_one_request_for_a_season() -> None:
    charts: dict[str, object] = {
        "ethereum": hourly(1000.5, 60),
        f"base/contract/{TOKEN}": hourly(2, 60),
    }
    double = CoinGeckoDouble(charts=charts)
    moments = [NOW - 40 * DAY + 100, NOW - 3 * DAY - 600]
    async with market(double, key="CG-demo", limits=LIMITS) as coingecko:
        found = await coingecko_prices_at(coingecko, BASE, [NATIVE, TOKEN], moments)
    then = found[moments[0]][NATIVE]
    assert then == Known(Fraction("1480.5"), "CoinGecko", None, float(NOW - 40 * DAY))
    assert found[moments[1]][TOKEN] == Known(
        Fraction(2 + 57 * 24), "CoinGecko", None, float(NOW - 3 * DAY)
    )
    assert len(double.asked) == 2
    assert all("x-cg-demo-api-key" in one.headers for one in double.asked)


async def test_without_a_key_nobody_is_asked() -> None:
    double = CoinGeckoDouble(charts={"ethereum": hourly(1, 3)})
    async with market(double, limits=LIMITS) as coingecko:
        assert await coingecko_prices_at(coingecko, BASE, [NATIVE], [NOW - DAY]) == {NOW - DAY: {}}
    assert double.asked == []


@pytest.mark.parametrize(
    "double",
    [
        CoinGeckoDouble(charts={"ethereum": hourly(1, 3)}),
        CoinGeckoDouble(fault=Answer(401, b'{"error_code":10012}')),
        CoinGeckoDouble(fault=Answer(body=b'{"prices":[["then",1]]}')),
    ],
    ids=["before its data", "beyond the plan", "nonsense"],
)
async def test_what_it_does_not_tell_is_unknown(double: CoinGeckoDouble) -> None:
    async with market(double, key="CG-demo", limits=LIMITS) as coingecko:
        found = await coingecko_prices_at(coingecko, BASE, [NATIVE], [NOW - 400 * DAY])
    assert isinstance(found[NOW - 400 * DAY][NATIVE], Unknown)


async def test_a_long_life_is_asked_about_from_its_end() -> None:
    double = CoinGeckoDouble(charts={"ethereum": hourly(1, 3)})
    moments = [NOW - DAY - place * (HOURLY_DAYS + 1) * DAY for place in range(MOST_REQUESTS + 5)]
    async with market(double, key="CG-demo", limits=LIMITS) as coingecko:
        found = await coingecko_prices_at(coingecko, BASE, [NATIVE], moments)
    assert len(double.asked) == MOST_REQUESTS
    assert isinstance(found[moments[0]][NATIVE], Known)
    assert isinstance(found[moments[-1]][NATIVE], Unknown)


def test_windows_hold_every_moment_once_and_no_more_than_a_season() -> None:
    moments = [place * 17 * DAY for place in range(40)]
    found = windows(moments)
    assert [one for group in found for one in group] == moments
    assert all(group[-1] - group[0] < HOURLY_DAYS * DAY for group in found)
    assert len(found) == 7
    assert windows([]) == []


def test_two_markets_that_disagree_are_settled_by_the_pools_of_then_and_said() -> None:
    high, low = (
        Known(Fraction(usd), source, time=float(NOW))
        for usd, source in ((110, "CoinGecko"), (100, "DefiLlama"))
    )
    pools = Known(Fraction(101), "pool 0x1", 7)
    both = median_of_two(high, low)
    settled = price_of_then(both, pools)
    assert isinstance(settled, Known)
    assert (settled.value, settled.block) == (Fraction(101), 7)
    assert settled.source.startswith("disputed: ")
    agreed = price_of_then(median_of_two(low, Known(Fraction(101), "CoinGecko")), pools)
    assert isinstance(agreed, Known)
    assert (agreed.value, agreed.source) == (Fraction(201, 2), "DefiLlama and CoinGecko")
