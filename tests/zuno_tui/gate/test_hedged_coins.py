"""Coins in other coats: staked ether at its rate, and contracts of a thousand coins."""

from typing import cast

import pytest
from msgspec.structs import replace

from agents.trade.facts import HedgeFacts
from agents.trade.opinions import RangeExposure
from chain.contracts.networks import network_named
from chain.exchange.public.binance import BinancePublic
from chain.exchange.public.market import FundingState, NoContractError
from chain.tokens.token import Token, every_listed_token
from tests.agents.monitor.made_up_positions import KEY, LOWER, UPPER, position
from tests.agents.trade.cases import HEDGED
from zuno_tui.features.trade.hedged_position import hedge_legs, in_contracts
from zuno_tui.features.trade.hedges import coin_of, is_rated
from zuno_tui.gate.refusal import GateRefusedError

ETHEREUM = network_named("ethereum")


def coin(symbol: str, *, verified: bool = True) -> Token:
    return Token("0x" + "12" * 20, symbol, 18, verified=verified, suspicious=False)


class Marks:
    """A market that only tells marks, and trades nothing that has none."""

    name = "a venue"

    def __init__(self, mark: float = 0.0, **marks: float) -> None:
        self.mark = mark
        self.marks = marks
        self.asked: list[str] = []

    async def funding(self, symbol: str) -> FundingState:
        self.asked.append(symbol)
        mark = self.marks.get(symbol.removesuffix("USDT"), self.mark)
        return FundingState(0.0, mark, mark, 0.0)

    async def rules(self, symbol: str) -> None:
        if symbol.removesuffix("USDT") not in self.marks:
            raise NoContractError(f"no {symbol}")


@pytest.mark.parametrize(
    ("symbol", "contract"),
    [
        ("WBTC", "BTC"),
        ("cbBTC", "BTC"),
        ("tBTC", "BTC"),
        ("stETH", "ETH"),
        ("wstETH", "ETH"),
        ("weETH", "ETH"),
        ("PEPE", "1000PEPE"),
        ("UNI", "UNI"),
    ],
)
def test_a_coin_is_hedged_by_the_contract_of_what_it_stands_for(symbol: str, contract: str) -> None:
    assert coin_of(ETHEREUM, coin(symbol)) == contract
    # What only calls itself like that is hedged as nothing that is traded.
    assert coin_of(ETHEREUM, coin(symbol, verified=False)) not in (contract, "ETH", "BTC")


async def test_staked_ether_counts_at_its_rate() -> None:
    """Dearer by a fifth in the pool than the contract: 1.2 of it for each coin."""
    staked = HEDGED.model_copy(update={"price": 3_600.0, "rated": True})
    market = Marks(3_000.0)
    (counted,) = await in_contracts((staked,), cast("BinancePublic", market))

    assert market.asked == ["ETHUSDT"]
    assert counted.rate == pytest.approx(1.2)
    assert counted.delta == pytest.approx(HEDGED.delta * 1.2)
    assert counted.delta * counted.price == pytest.approx(HEDGED.delta * 3_600.0)
    assert counted.gamma == pytest.approx(HEDGED.gamma * 1.44)
    assert counted.lower == pytest.approx(HEDGED.lower / 1.2)
    assert counted.upper == pytest.approx(HEDGED.upper / 1.2)


async def test_a_contract_of_a_thousand_coins_counts_thousands() -> None:
    memes = HEDGED.model_copy(update={"coin": "1000PEPE", "price": 0.00001, "rated": True})
    memes = memes.model_copy(update={"delta": 5_000_000.0})
    (counted,) = await in_contracts((memes,), cast("BinancePublic", Marks(0.01)))

    assert counted.delta == pytest.approx(5_000.0)
    assert is_rated(coin("PEPE"))


async def test_what_is_worth_one_is_left_as_it_is() -> None:
    assert await in_contracts((HEDGED,), cast("BinancePublic", Marks(1.0))) == (HEDGED,)


PRICE = 1.0001**200
LIQUIDITY = 1_000
FIRST = LIQUIDITY * (PRICE**-0.5 - 1.0001 ** (-UPPER / 2))
SECOND = LIQUIDITY * (PRICE**0.5 - 1.0001 ** (LOWER / 2))
HOLDING = replace(
    position(200),
    liquidity=LIQUIDITY * 10**18,
    amount0=int(FIRST * 10**18),
    amount1=int(SECOND * 10**18),
)
"""About 39 of one coin and 59 of the other, at 1.02 of the second each."""


def legs_of(first: str, second: str) -> tuple[HedgeFacts, ...]:
    tokens = {
        address: Token(address, symbol, 18, verified=True, suspicious=False)
        for address, symbol in ((KEY.currency0, first), (KEY.currency1, second))
    }
    return hedge_legs(ETHEREUM, HOLDING, tokens)


async def counted(first: str, second: str, **marks: float) -> tuple[HedgeFacts, ...]:
    return await in_contracts(legs_of(first, second), cast("BinancePublic", Marks(**marks)))


async def test_a_pool_of_two_coins_is_hedged_by_both() -> None:
    first, second = await counted("UNI", "LINK", UNI=10.0, LINK=10.0 / PRICE)
    if first.coin == "LINK":
        first, second = second, first

    assert (first.coin, first.other_coin) == ("UNI", "LINK")
    assert (second.coin, second.other_coin) == ("LINK", "UNI")
    assert [first.delta, second.delta] == pytest.approx([FIRST, SECOND])
    for leg in (first, second):
        assert leg.worth_usd == pytest.approx(FIRST * 10.0 + SECOND * 10.0 / PRICE)
        # The other coin's price as it is, this one's a little up and down.
        course = RangeExposure.from_coins(leg.delta, leg.price, leg.lower, leg.upper)
        assert course is not None
        step = leg.price * 1e-5
        slope = (course.coins(leg.price + step) - course.coins(leg.price - step)) / (2 * step)
        assert leg.gamma == pytest.approx(slope, rel=1e-3)


async def test_coins_of_one_contract_are_one_hedge() -> None:
    (leg,) = await counted("wstETH", "stETH", ETH=3_000.0)

    assert (leg.coin, leg.gamma, leg.price_range, leg.other_coin) == ("ETH", 0.0, None, "")
    assert leg.delta == pytest.approx(FIRST * PRICE + SECOND)
    assert [leg.rate, leg.other_rate] == pytest.approx([PRICE, 1.0])
    assert leg.worth_usd == pytest.approx(leg.delta * 3_000.0)


async def test_a_coin_that_the_venue_does_not_trade_stays_and_is_named() -> None:
    (leg,) = await counted("UNI", "ODD", UNI=10.0)

    assert (leg.coin, leg.unhedged_coin, leg.other_coin) == ("UNI", "ODD", "")
    assert leg.delta == pytest.approx(FIRST)
    with pytest.raises(GateRefusedError, match="has no contract of"):
        await counted("ODD", "EVEN")


async def test_two_staked_coins_have_no_price_to_count_by() -> None:
    with pytest.raises(GateRefusedError, match="neither has a price of its own"):
        await counted("wstETH", "weETH", ETH=3_000.0)


def test_dollars_alone_are_nothing_to_hedge() -> None:
    usdc, usdt = (
        next(one.token.address for one in every_listed_token(ETHEREUM) if one.token.label == symbol)
        for symbol in ("USDC", "USDT")
    )
    key = replace(KEY, currency0=min(usdc, usdt), currency1=max(usdc, usdt))
    held = replace(HOLDING, pool=replace(HOLDING.pool, key=key))
    tokens = {
        address: Token(address, "USD", 6, verified=True, suspicious=False)
        for address in (usdc, usdt)
    }
    with pytest.raises(GateRefusedError, match="no coin in it"):
        hedge_legs(ETHEREUM, held, tokens)
