"""How a range is named by its prices; swaps through the pool that pays most."""

import dataclasses
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from fractions import Fraction

import pytest
from msgspec.structs import replace

from agents.lp.plan import Candidate, PrepAction
from agents.numbers.costs import CostedRecipe, gas_units
from chain.base.store import Store
from chain.base.units import Known, Unknown
from chain.contracts.addresses import checksum
from chain.contracts.networks import NATIVE, network_named
from chain.contracts.pool_key import DYNAMIC_FEE, PoolKey
from chain.devnet.launch import DevnetReady
from chain.devnet.world.pools import WETH_USDC, WETH_USDC_LOW
from chain.execution.plan.facts import PoolFacts
from chain.execution.plan.requests import QuotedSwap
from chain.math.drift import Span
from chain.math.ticks import sqrt_price_at_tick
from chain.positions.overview import Sources
from chain.prices.price import DollarPrice, PriceBook
from chain.rpc.client import RpcClient
from chain.tokens import Token, named_tokens
from tests.fakes.proxy import Answer, Call, Proxy
from tests.zuno_tui.gate.desk import REFUSED, Desk
from zuno_tui.gate.actions.plan import refuse_worse_than_planned
from zuno_tui.gate.actions.range_prices import pool_name, range_prices
from zuno_tui.gate.actions.swap import ask_quoter, token_named
from zuno_tui.gate.refusal import GateRefusedError
from zuno_tui.gate.worth import ActionWorth, order_worth

DEVNET = network_named("devnet")


@pytest.mark.parametrize(("sold", "steps"), [("WETH", 3), ("ETH", 1)])
def test_what_is_shown_is_what_is_realised(desk: Desk, sold: str, steps: int) -> None:
    approval = desk.approved("swap", "0.5", sold, "USDC")
    applied = desk.apply_here(approval["planId"], "--confirm", approval["hash"], "--json")

    assert len(approval["transactions"]) == steps
    assert applied.code == 0, applied.words
    sold_in, bought = approval["swap"]["amountIn"], approval["swap"]["amountOut"]
    quoted, realised = applied.data["quoted"], applied.data["realised"]
    assert (sold_in, applied.data["state"]) == (str(5 * 10**17), "included")
    assert realised == quoted
    assert bought in realised.values()


@pytest.mark.parametrize(
    "asked",
    [("1", "NONE", "USDC"), ("1", "WETH", "WETH"), ("900000000", "USDC", "WETH")],
    ids=["an unknown token", "the same token", "more than a pool takes"],
)
def test_what_cannot_be_sold_is_refused_with_a_reason(desk: Desk, asked: tuple[str, ...]) -> None:
    spoken = desk.here("swap", *asked)

    assert spoken.code == REFUSED
    assert spoken.words


def test_a_price_that_moved_refuses_the_swap(desk: Desk) -> None:
    approval = desk.approved("swap", "0.5", "WETH", "USDC")
    desk.raise_price(approval["swap"]["poolId"], bips=100)

    desk.refused(approval["planId"], "--confirm", approval["hash"])


@pytest.mark.parametrize("symbol", ["ETH", "WETH", "USDC"])
@pytest.mark.parametrize("write", [str.upper, str.lower, str.title])
def test_a_token_is_found_by_its_symbol_however_it_is_written(
    symbol: str, write: Callable[[str], str]
) -> None:
    [address] = {one.token.address for one in named_tokens(DEVNET) if one.token.symbol == symbol}

    assert token_named(DEVNET, write(symbol)) == address
    assert (address == NATIVE) is (symbol == "ETH")


@pytest.mark.parametrize("write", [str, str.lower, str.upper, checksum])
def test_a_token_is_found_by_its_address_however_it_is_written(write: Callable[[str], str]) -> None:
    token = "0x" + "ab" * 20

    assert token_named(DEVNET, write(token)) == token


@pytest.mark.parametrize("named", ["0x", "0x" + "ab" * 19, "ab" * 21])
def test_what_is_neither_an_address_nor_a_known_symbol_is_refused(named: str) -> None:
    with pytest.raises(GateRefusedError):
        token_named(DEVNET, named)


def _move(desk: Desk, state: str) -> tuple[str, str, str]:
    plan = desk.recommended(state)
    move = next(one for one in plan["candidates"] if one["prepAction"] is not None)
    return plan["planId"], "--candidate", str(move["index"])


def test_a_swap_goes_through_the_pool_that_pays_most(desk: Desk) -> None:
    chosen = _move(desk, "above its range")

    quotes = desk.approved("approve", *chosen)["swap"]
    shown = desk.here("simulate", *chosen)

    own, cheaper = WETH_USDC.key.pool_id, WETH_USDC_LOW.key.pool_id
    assert quotes["poolId"] == cheaper
    assert set(quotes["byQuoter"]) == {own, cheaper}
    assert int(quotes["byQuoter"][cheaper]) > int(quotes["byQuoter"][own])
    assert quotes["amountOut"] == quotes["replayed"] == quotes["byQuoter"][cheaper]
    assert "The swap goes through the 0.05% pool, the best of 2 that quote it" in shown.out


@pytest.mark.parametrize("state", ["above its range", "below its range", "near the edge", "native"])
def test_a_plan_counts_on_the_swap_and_the_gas_that_its_approval_takes(
    desk: Desk, state: str
) -> None:
    plan = desk.recommended(state)
    move = next(one for one in plan["candidates"] if one["prepAction"] is not None)
    approved = desk.approved("approve", plan["planId"], "--candidate", str(move["index"]))

    planned, taken = move["prepAction"], approved["swap"]
    through = planned.get("poolId", move["poolId"])
    assert (through, planned["amountIn"]) == (taken["poolId"], taken["amountIn"])
    assert planned["amountOut"] == taken["amountOut"]
    used = sum(step["gasUsed"] for step in approved["simulation"]["steps"])
    most = gas_units("v4", CostedRecipe.RERANGE_WITH_SWAP, as_one=False)
    assert 0.8 * most <= used <= most


def test_it_stays_in_the_pool_that_is_entered_where_no_other_pays_more(desk: Desk) -> None:
    quotes = desk.approved("approve", *_move(desk, "near the edge"))["swap"]

    own = WETH_USDC_LOW.key.pool_id
    assert quotes["poolId"] == own
    assert quotes["amountOut"] == quotes["replayed"]
    assert int(quotes["byQuoter"][own]) >= int(quotes["replayed"])


def test_without_a_quoter_the_replay_is_used_and_named(desk: Desk) -> None:
    chosen = _move(desk, "above its range")
    quoter = desk.devnet.contracts.quoter

    def has_no_quoter(call: Call) -> Answer | None:
        asked = call["method"] == "eth_call" and call["params"][0]["to"] == quoter
        return {"result": "0x"} if asked else None

    with Proxy(desk.devnet.url, has_no_quoter) as proxy:
        shown = dataclasses.replace(desk, rpc=proxy.url).here("simulate", *chosen)

    assert shown.code == 0, shown.words
    assert "No quoter answers here: the swap pays" in shown.out


@pytest.mark.parametrize(("amount_out", "refused"), [(990, False), (989, True)])
def test_a_swap_that_pays_much_less_than_planned_is_another_plan(
    amount_out: int, refused: bool
) -> None:
    planned = PrepAction(
        zero_for_one=True,
        amount_in=2000,
        amount_out=2000,
        fee_pips=500,
        cost_usd=None,
        price_moved=0.0,
        minting_loss_usd=None,
    )
    candidate = Candidate.model_construct(prep_action=planned)
    swap = QuotedSwap(WETH_USDC.key, True, 1000, amount_out, 1 << 96)

    if refused:
        with pytest.raises(GateRefusedError, match="over 1% less than planned"):
            refuse_worse_than_planned(candidate, swap)
    else:
        refuse_worse_than_planned(candidate, swap)


@pytest.mark.parametrize(
    ("permissions", "counted"),
    [(0x80, 900), (0x40, 900), (0x08, 900), (0x04, 900), (0x200, 1000), (0, 1000)],
    ids=["before", "after", "changes before", "changes after", "exits only", "none"],
)
async def test_in_a_pool_whose_hook_touches_swaps_the_quoter_is_believed(
    devnet: DevnetReady, permissions: int, counted: int
) -> None:
    """A replay knows neither the fee such a hook sets for one swap nor what it keeps."""
    key = replace(WETH_USDC.key, hooks=f"0x{permissions:040x}")
    answer = {"result": "0x" + (900).to_bytes(32, "big").hex() + bytes(32).hex()}

    def quotes_less(call: Call) -> Answer | None:
        asked = call["method"] == "eth_call" and call["params"][0]["to"] == devnet.contracts.quoter
        return answer if asked else None

    network = network_named("devnet")
    with Proxy(devnet.url, quotes_less) as proxy:
        async with RpcClient(network, [proxy.url]) as client:
            sources = Sources(client, network, Store.in_memory(), None, lambda: 0.0)
            head = await client.head()
            swap = QuotedSwap(key, True, 2000, 1000, 1 << 96)
            quotes = await ask_quoter(sources, swap, PoolFacts(key, 1 << 96, 0), (), head.hash)

    assert quotes.swap.amount_out == counted
    assert (quotes.replayed, quotes.by_quoter[key]) == (1000, 900)


SPAN = Span(-120, 240)
KEY = WETH_USDC.key
DYNAMIC = replace(KEY, fee=DYNAMIC_FEE)
STRANGERS = (
    replace(KEY, currency0="0x" + "00" * 19 + "11"),
    replace(KEY, currency1="0x" + "ee" * 20),
)
WETH_USDC_PRICE = sqrt_price_at_tick(-196_000)


@contextmanager
def sources() -> Iterator[Sources]:
    """With nobody to ask: a token is known by the network's own list or not at all."""
    with Store.in_memory() as store:
        client = RpcClient(DEVNET, ["http://127.0.0.1:9"])
        yield Sources(client, DEVNET, store, None, lambda: 0.0)


def named(key: PoolKey) -> str:
    with sources() as known:
        return range_prices(known, PoolFacts(key, sqrt_price_at_tick(0), 3_000), SPAN)


def test_a_range_is_named_by_its_lower_and_its_upper_price() -> None:
    assert named(WETH_USDC.key) == "988,072,305,666 – 1,024,289,088,825"
    low, high = (float(price.replace(",", "")) for price in named(WETH_USDC.key).split(" – "))
    assert 0 < low < high
    assert abs(high / low - 1.0001**360) < 0.001


def test_where_a_token_is_unknown_a_range_is_named_by_its_ticks() -> None:
    for stranger in STRANGERS:
        assert named(stranger) == "ticks -120 to 240"


@pytest.mark.parametrize(
    ("key", "fee", "name"),
    [
        (WETH_USDC.key, 3_000, "WETH/USDC 0.3%"),
        (WETH_USDC.key, 500, "WETH/USDC 0.05%"),
        (DYNAMIC, 2_500, "WETH/USDC 0.25% dynamic"),
        *(
            (stranger, 3_000, f"a position in pool {stranger.pool_id[:10]}…")
            for stranger in STRANGERS
        ),
    ],
)
def test_a_pool_is_named_by_its_pair_and_its_fee_now(key: PoolKey, fee: int, name: str) -> None:
    # At some 3,000 USDC for a WETH, which is what people quote the pair in.
    with sources() as known:
        assert pool_name(known, PoolFacts(key, WETH_USDC_PRICE, fee)) == name


TOKEN = "0x" + "5a" * 20
TOKENS = {
    NATIVE: Token(NATIVE, "ETH", 18, verified=True, suspicious=False),
    TOKEN: Token(TOKEN, "APPLE", 0, verified=True, suspicious=False),
}


def _book(first: int, second: int) -> PriceBook:
    price = DollarPrice(Known(Fraction(first), "CoinGecko"), Known(Fraction(second), "pool X"))
    return PriceBook({TOKEN: price}, Unknown("nobody asked"))


def test_a_disputed_price_counts_at_its_highest_and_is_told() -> None:
    for first, second in ((100, 150), (150, 100)):
        worth = order_worth(TOKENS, _book(first, second))

        assert worth.usd_per_unit == {TOKEN: 150.0}
        [told] = worth.disputes
        assert all(word in told for word in ("APPLE", "CoinGecko", "pool X", "$100", "$150"))


def test_an_agreed_price_is_the_better_sources_and_needs_no_word() -> None:
    worth = order_worth(TOKENS, _book(100, 101))

    assert worth.usd_per_unit == {TOKEN: 100.0}
    assert worth.disputes == ()


def test_a_unit_is_worth_its_part_of_a_whole_token_disputed_or_not() -> None:
    for decimals, unit in ((0, 150.0), (2, 1.5), (3, 0.15)):
        tokens = {TOKEN: Token(TOKEN, "APPLE", decimals, verified=True, suspicious=False)}
        assert order_worth(tokens, _book(100, 150)).usd_per_unit == {TOKEN: unit}
        assert order_worth(tokens, _book(150, 150)).usd_per_unit == {TOKEN: unit}
    nameless = {TOKEN: Token(TOKEN, "APPLE", None, verified=True, suspicious=False)}
    for book in (_book(100, 150), _book(150, 150)):
        assert order_worth(nameless, book).usd_per_unit == {}


def test_gas_is_worth_what_its_coin_is() -> None:
    coin = DollarPrice(Known(Fraction(2_000), "CoinGecko"), None)
    worth = order_worth(TOKENS, PriceBook({NATIVE: coin}, Unknown("nobody asked")))

    assert worth == ActionWorth(TOKENS, {NATIVE: 2_000 / 10**18}, 2_000 / 10**18, ())
    assert order_worth(TOKENS, _book(1, 1)).usd_per_wei is None
    half = ActionWorth({}, {TOKEN: 0.5, NATIVE: 3.0}, None)
    assert half.micro_dollars == {TOKEN: Fraction(500_000), NATIVE: Fraction(3_000_000)}
