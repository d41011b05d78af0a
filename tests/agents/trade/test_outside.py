"""Options, the world's money, fear and greed: real shapes over HTTP, whole, broken and late."""

import json
from datetime import UTC, datetime

import pytest

from agents.trade.expert_rules import macro_finding
from agents.trade.facts import ContextSection, TradeContext
from agents.trade.observe.observer import FearGreedReader, MacroReader, OptionsReader
from agents.trade.terms import Bias, DeskLimits, SectionName, SectionStatus
from chain.exchange.public.deribit import DeribitPublic, OptionQuote, option_delta
from chain.exchange.public.surroundings import FearGreedIndex, Fred
from chain.prices.market_http import MarketError
from tests.agents.trade.cases import context
from tests.fakes.exchange import ExchangeDouble, Refusal

NOW = datetime(2026, 11, 15, 12, tzinfo=UTC).timestamp()
_INDEX = "/api/v2/public/get_volatility_index_data"
_OPTIONS = "/api/v2/public/get_book_summary_by_currency"
_FRED = "/fred/series/observations"
_FEAR = "/fng/"


def page(content: object) -> Refusal:
    return Refusal(200, json.dumps(content).encode())


def hourly_index(last: float) -> object:
    closes = [60.0 + place % 2 for place in range(719)] + [last]
    rows = [
        [int(NOW - (719 - place) * 3600) * 1000, close, close, close, close]
        for place, close in enumerate(closes)
    ]
    return {"jsonrpc": "2.0", "result": {"data": rows, "continuation": None}}


def option(name: str, volatility: float, interest: float = 1.0) -> dict[str, object]:
    return {
        "instrument_name": name,
        "mark_iv": volatility,
        "open_interest": interest,
        "underlying_price": 3000.0,
    }


OPTIONS = [
    option("ETH-22NOV26-3000-C", 80.0),
    option("ETH-22NOV26-3000-P", 82.0, 4.0),
    option("ETH-18DEC26-2600-P", 75.0),
    option("ETH-18DEC26-3400-C", 65.0),
    option("ETH-12FEB27-3000-C", 60.0),
    option("ETH-12FEB27-3000-P", 62.0),
    option("ETH-01NOV26-3000-C", 10.0, 99.0),
    option("ETH-PERPETUAL", 10.0, 99.0),
]


async def read_options(index: object, options: object) -> ContextSection:
    double = ExchangeDouble(faults={_INDEX: page(index), _OPTIONS: page({"result": options})})
    async with double.running() as url:
        source = DeribitPublic(url)
        try:
            return await OptionsReader(source, lambda: NOW).read("ETH")
        finally:
            await source.close()


async def test_options_tell_index_term_skew_and_puts_to_calls() -> None:
    seen = await read_options(hourly_index(70.0), OPTIONS)

    assert seen.status is SectionStatus.OK
    assert seen.numbers["dvol"] == 70.0
    assert seen.numbers["dvol_z"] > 2
    assert seen.numbers["week_volatility"] == pytest.approx(0.81)
    assert seen.numbers["quarter_volatility"] == pytest.approx(0.61)
    assert seen.numbers["skew_25d"] == pytest.approx(0.10)
    assert seen.numbers["put_call"] == pytest.approx(6 / 3)
    macro = macro_finding(
        TradeContext(sections=(seen, *_without(SectionName.OPTIONS))), DeskLimits()
    )
    assert (macro.anomaly, macro.bias) == ("options_panic", Bias.BEARISH)


async def test_an_index_that_stopped_is_stale_and_decides_nothing() -> None:
    late = hourly_index(70.0)
    assert isinstance(late, dict)
    rows = late["result"]["data"]
    for row in rows:
        row[0] -= 3 * 3600 * 1000
    seen = await read_options(late, OPTIONS)

    assert seen.status is SectionStatus.STALE
    found = TradeContext(sections=(seen, *_without(SectionName.OPTIONS)))
    assert found.number(SectionName.OPTIONS, "dvol_z") is None
    assert macro_finding(found, DeskLimits()).anomaly == "none"


@pytest.mark.parametrize(
    ("index", "options"),
    [
        ({"result": {"data": []}}, OPTIONS),
        ({"result": {"data": [[1, 2]]}}, OPTIONS),
        ({"result": None}, OPTIONS),
        (hourly_index(70.0), None),
        (hourly_index(70.0), [option("ETH-22NOV26-3000-C", -5.0)]),
    ],
)
async def test_what_no_honest_deribit_says_is_refused(index: object, options: object) -> None:
    with pytest.raises(MarketError):
        await read_options(index, options)


def test_deltas_are_those_of_the_books() -> None:
    """An option at the money for a year at 20 %: N(0.1) and N(0.1) − 1."""
    ends = int(NOW) + 365 * 86_400
    call = OptionQuote(ends, 100.0, is_call=True, open_interest=1, volatility=0.2, underlying=100.0)

    assert option_delta(call, NOW) == pytest.approx(0.539828, abs=1e-5)
    assert option_delta(call._replace(is_call=False), NOW) == pytest.approx(-0.460172, abs=1e-5)


async def test_yields_dollar_and_nasdaq_come_by_the_day() -> None:
    rows = [
        {"date": f"2026-11-{day:02}", "value": value}
        for day, value in ((13, "4.0"), (12, "."), (11, "4.1"), (10, "4.2"))
    ]
    double = ExchangeDouble(faults={_FRED: page({"observations": rows})})
    async with double.running() as url:
        source = Fred("secret", url)
        seen = await MacroReader(source, lambda: NOW).read("ETH")
        await source.close()

    assert seen.status is SectionStatus.OK
    assert seen.numbers["curve_spread"] == 0
    assert "curve_change" not in seen.numbers
    assert seen.numbers["nasdaq_change"] == pytest.approx(4.0 / 4.1 - 1, rel=1e-5)
    assert "secret" not in seen.model_dump_json()


async def test_fear_and_greed_is_a_number_from_0_to_100() -> None:
    data = [{"value": "22", "timestamp": str(int(NOW) - 3600)}, {"value": "30", "timestamp": "1"}]
    double = ExchangeDouble(faults={_FEAR: page({"data": data})})
    async with double.running() as url:
        source = FearGreedIndex(url)
        seen = await FearGreedReader(source, lambda: NOW).read("ETH")
        double.faults[_FEAR] = page({"data": [{"value": "101", "timestamp": "1"}]})
        with pytest.raises(MarketError):
            await source.latest(NOW)
        await source.close()

    assert (seen.status, seen.numbers) == (SectionStatus.OK, {"value": 22.0, "before": 30.0})


def _without(name: SectionName) -> tuple[ContextSection, ...]:
    return tuple(one for one in context().sections if one.name is not name)
