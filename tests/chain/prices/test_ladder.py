"""The ladder of prices: which source is believed, what stands beside it, and what nobody knows."""

from fractions import Fraction

from chain.base.units import Known, Quantity, Unknown
from chain.contracts.networks import NATIVE, network_named
from chain.prices.coingecko import CoinGecko, CoinGeckoSettings
from chain.prices.ladder import ether_address, market_prices, price_book, with_ether
from chain.prices.price import DollarPrice, PriceBook, WorthUnit
from chain.tokens import Token, listed_tokens
from tests.fakes.coingecko import Answer, CoinGeckoDouble

NOW = 1_760_000_000
ETHEREUM, POLYGON, DEVNET = (network_named(name) for name in ("ethereum", "polygon", "devnet"))
USDC = "0xa0b86991c6218b36c1d19d4a2e9eb0ce3606eb48"
WETH = "0xc02aaa39b223fe8d0a0e5c4f27ead9083c756cc2"
STRANGER = "0x" + "5a" * 20


def known(value: float | str, source: str = "CoinGecko") -> Known[Fraction]:
    return Known(Fraction(value), source, time=float(NOW))


async def asked(
    double: CoinGeckoDouble, wanted: list[str], network: str = "ethereum"
) -> dict[str, Quantity[Fraction]]:
    async with (
        double.running() as url,
        CoinGecko(CoinGeckoSettings(url), clock=lambda: NOW) as coingecko,
    ):
        return await market_prices(coingecko, network_named(network), wanted)


async def test_listed_tokens_are_asked_by_coin_and_others_by_contract() -> None:
    entry = {"usd": 3000, "last_updated_at": NOW}
    double = CoinGeckoDouble(coins={"ethereum": entry}, contracts={("ethereum", STRANGER): entry})
    prices = await asked(double, [WETH, NATIVE, USDC, STRANGER])
    assert prices[WETH] == prices[NATIVE] == prices[STRANGER] == known(3000)
    assert prices[USDC] == Unknown("CoinGecko has no price for it")
    assert sorted(one.path for one in double.asked) == [
        "/simple/price",
        "/simple/token_price/ethereum",
    ]


async def test_an_unreachable_market_is_a_reason_for_every_token() -> None:
    prices = await asked(CoinGeckoDouble(fault=Answer(503)), [WETH, STRANGER])
    assert prices[WETH] == Unknown("CoinGecko answered with HTTP status 503")
    assert prices[STRANGER] == Unknown("CoinGecko answered with HTTP status 503")


async def test_the_embedded_chain_never_asks_the_market() -> None:
    double = CoinGeckoDouble()
    wanted = [item.token.address for item in listed_tokens(DEVNET).tokens]
    prices = await asked(double, wanted, "devnet")
    assert set(prices.values()) == {Unknown("CoinGecko does not price it on Embedded chain")}
    assert double.asked == []


async def test_a_market_that_is_switched_off_is_a_reason() -> None:
    prices = await market_prices(None, ETHEREUM, [WETH])
    assert prices[WETH] == Unknown("market data is switched off")


def test_the_market_is_believed_first_and_the_pools_stand_beside_it() -> None:
    book = price_book(ETHEREUM, {WETH: known(3000)}, {WETH: known(3003, "pool")})
    assert book.prices[WETH] == DollarPrice(known(3000), known(3003, "pool"))
    assert book.prices[WETH].difference == Fraction(3, 3003)
    assert not book.prices[WETH].is_disputed
    assert book.disputed_tokens == ()


def test_a_disagreement_is_told() -> None:
    book = price_book(ETHEREUM, {WETH: known(3000)}, {WETH: known(2900, "pool")})
    assert book.prices[WETH].is_disputed
    assert book.disputed_tokens == (WETH,)


def test_without_a_market_the_pools_are_believed() -> None:
    missing = Unknown("CoinGecko answered with HTTP status 503")
    book = price_book(ETHEREUM, {WETH: missing}, {WETH: known(2900, "pool")})
    assert book.prices[WETH] == DollarPrice(known(2900, "pool"), None)
    assert book.prices[WETH].difference is None


def test_with_neither_both_reasons_are_given() -> None:
    book = price_book(ETHEREUM, {WETH: Unknown("no market")}, {WETH: Unknown("no pool")})
    assert book.prices[WETH].usd == Unknown("no market; no pool")
    assert book.price(WETH, WorthUnit.ETH) == Unknown("no market; no pool")


def test_ether_is_the_coin_or_the_ether_bridged_here() -> None:
    assert ether_address(ETHEREUM) == NATIVE
    assert ether_address(POLYGON) == "0x7ceb23fd6bc0add59e62ac25578270cff1b9f619"
    assert with_ether(ETHEREUM, [USDC]) == (USDC, NATIVE)
    assert with_ether(ETHEREUM, [NATIVE]) == (NATIVE,)


def test_worth_is_told_in_dollars_or_in_ether() -> None:
    book = price_book(ETHEREUM, {NATIVE: known(3000), USDC: known(1)}, {})
    usdc = Token(USDC, "USDC", 6, verified=True, suspicious=False)
    assert book.value(usdc, 4_500_000_000) == known(4500)
    in_ether = book.value(usdc, 4_500_000_000, WorthUnit.ETH)
    assert isinstance(in_ether, Known)
    assert in_ether.value == Fraction(3, 2)


def test_nothing_is_worth_nothing_and_the_unknown_stays_unknown() -> None:
    book = PriceBook({}, Unknown("no ether is listed on this network"))
    token = Token(STRANGER, "FOO", 18, verified=False, suspicious=False)
    nothing = book.value(token, 0)
    assert isinstance(nothing, Known)
    assert nothing.value == 0
    assert book.value(token, 1) == Unknown("its price was not asked for")
    nameless = Token(STRANGER, "FOO", None, verified=False, suspicious=False)
    assert book.value(nameless, 1) == Unknown("?FOO 0x5a5A…5A5A gives no usable decimals")
