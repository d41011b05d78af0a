"""Which pool a swap goes through and what is counted on, by replay and quoter; without a chain."""

from __future__ import annotations

from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, cast

import pytest
from msgspec.structs import replace

from agents.lp.observe.pool_facts import REACH
from chain.base.units import read_numeral
from chain.contracts.hooks import NO_HOOK
from chain.contracts.networks import NATIVE, network_named
from chain.contracts.pool_key import PoolKey
from chain.execution.build.facts import PoolFacts, Span
from chain.execution.build.requests import QuotedSwap, SwapRequest
from chain.math.fees import unpack_protocol_fee
from chain.math.liquidity import Amounts
from chain.math.ticks import sqrt_price_at_tick
from chain.pools.depth import Depth, quote_at_most
from chain.pools.state import PoolState, plain_pools
from chain.tokens import Token
from tests.agents.monitor.made_up_positions import KEY, block, position
from zuno_tui.gate.actions import plan as planning
from zuno_tui.gate.actions import swap as swapping
from zuno_tui.gate.actions.action import ActionTarget
from zuno_tui.gate.actions.plan import _depth_without, _swap_of_one_token
from zuno_tui.gate.actions.swap import (
    SwapQuotes,
    _best,
    _units,
    action_to_swap,
    ask_quoter,
    read_other_pools,
    read_pools,
)
from zuno_tui.gate.refusal import GateRefusedError
from zuno_tui.gate.worth import ActionWorth

if TYPE_CHECKING:
    from chain.positions.overview import Sources

BASE = network_named("base")
WETH, USDC = str(BASE.wrapped_native), "0x833589fcd6edb6e08f4c7c32d4f71b54bda02913"
FIRST, SECOND, THIRD, *_ = plain_pools(WETH, USDC)
OWN = PoolFacts(FIRST, 5, 500)
SWAP = QuotedSwap(FIRST, True, 1_000, 900, 77)


def _depth(key: PoolKey, liquidity: int, *, tick: int = 0, fee: int = 3_000) -> Depth:
    state = PoolState(
        key, key.pool_id, sqrt_price_at_tick(tick), tick, fee, unpack_protocol_fee(0), liquidity
    )
    return Depth(state, (), tick - 6_000, tick + 6_000)


@pytest.fixture
def quoted(monkeypatch: pytest.MonkeyPatch) -> SimpleNamespace:
    """A network whose quoter says what a test wants."""
    made = SimpleNamespace(answers={}, asked=[], sources=SimpleNamespace(client="c", network=BASE))

    async def quotes_across(*given: object, **named: object) -> object:
        made.asked.append((*given, named))
        return made.answers

    monkeypatch.setattr(swapping, "quotes_across", quotes_across)
    return made


@pytest.mark.parametrize(
    ("pool", "answers", "counted", "through"),
    [
        # In the pool that is entered the replay counts: the quoter sees what has left by then.
        (FIRST, {FIRST: 800}, 900, OWN),
        (FIRST, {}, 900, OWN),
        (replace(FIRST, hooks="0x" + "00" * 19 + "80"), {}, 900, OWN),
        (SECOND, {SECOND: 800}, 800, PoolFacts(SECOND, sqrt_price_at_tick(0), 3_000)),
        (SECOND, {SECOND: 950}, 900, PoolFacts(SECOND, sqrt_price_at_tick(0), 3_000)),
        (SECOND, {}, 900, PoolFacts(SECOND, sqrt_price_at_tick(0), 3_000)),
    ],
)
async def test_no_more_is_counted_on_than_replay_and_quoter_pay(
    quoted: SimpleNamespace,
    pool: PoolKey,
    answers: dict[PoolKey, int],
    counted: int,
    through: PoolFacts,
) -> None:
    quoted.answers = answers
    swap = replace(SWAP, pool=pool)
    others = (_depth(SECOND, 5), _depth(THIRD, 5))

    found = await ask_quoter(quoted.sources, swap, OWN, others, "0xb1")

    assert found == SwapQuotes(replace(swap, amount_out=counted), through, FIRST, 900, answers)
    assert quoted.asked == [
        ("c", BASE, [FIRST, SECOND, THIRD], 1_000, {"zero_for_one": True, "at": "0xb1"})
    ]


async def test_a_hook_that_touches_swaps_is_believed_only_by_the_quoter(
    quoted: SimpleNamespace,
) -> None:
    hooked = replace(FIRST, hooks="0x" + "00" * 19 + "80")
    quoted.answers = {hooked: 800}
    swap, own = replace(SWAP, pool=hooked), replace(OWN, key=hooked)
    found = await ask_quoter(quoted.sources, swap, own, (), "0xb1")
    assert found == SwapQuotes(replace(swap, amount_out=800), own, hooked, 900, quoted.answers)


async def test_the_pairs_other_plain_pools_are_read_with_all_their_depth(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async def read(here: Any, network: object, keys: list[PoolKey], *, reach: int) -> object:
        assert (here._at, network, reach) == ("0xb1", BASE, REACH)
        return tuple(keys)

    monkeypatch.setattr(swapping, "read_pool_depths", read)
    monkeypatch.setattr(swapping, "OneBlock", lambda *given: SimpleNamespace(_at=given[2]))
    sources = cast("Sources", SimpleNamespace(client="c", network=BASE))
    plain = plain_pools(WETH, USDC)
    assert cast("Any", await read_other_pools(sources, FIRST, "0xb1")) == plain[1:]
    hooked = replace(FIRST, hooks="0x" + "00" * 19 + "80")
    assert cast("Any", await read_other_pools(sources, hooked, "0xb1")) == plain
    assert cast("Any", await read_pools(sources, [SECOND], "0xb1")) == (SECOND,)


def test_the_pool_that_surely_pays_most_is_chosen() -> None:
    small, large, empty = _depth(FIRST, 10**7), _depth(SECOND, 10**9), _depth(THIRD, 0)
    units = 10**6
    pays = {
        depth.state.key: quote_at_most(depth, units, zero_for_one=True) for depth in (small, large)
    }
    assert pays[FIRST].amount_out < pays[SECOND].amount_out

    found = _best([empty, small, large], units, True, {})
    assert found is not None
    most = pays[SECOND]
    swap = QuotedSwap(SECOND, True, units, most.amount_out, most.sqrt_price_after)
    pool = PoolFacts(SECOND, sqrt_price_at_tick(0), 3_000)
    assert found == SwapQuotes(swap, pool, None, most.amount_out, {})
    # A quoter that says less of one makes the other the better; one that says more, nothing.
    for less, key in ((5, FIRST), (10**9, SECOND)):
        by_quoter = {SECOND: less}
        chosen = _best([small, large], units, True, by_quoter)
        assert chosen is not None
        assert (chosen.swap.pool, chosen.by_quoter) == (key, by_quoter)
        assert (chosen.swap.amount_out, chosen.replayed) == (pays[key].amount_out,) * 2
    assert _best([empty], units, True, {}) is None
    assert _best([], units, True, {}) is None


def test_a_pool_that_takes_only_a_part_or_pays_nothing_is_not_chosen() -> None:
    shallow = _depth(FIRST, 10**6)
    whole = quote_at_most(shallow, 10**9, zero_for_one=True).amount_in
    assert whole < 10**9
    assert _best([shallow], whole + 1, True, {}) is None
    assert _best([shallow], whole, True, {}) is not None
    assert quote_at_most(shallow, 1, zero_for_one=True).amount_out == 0
    assert _best([shallow], 1, True, {}) is None


APPLE = Token(WETH, "APPLE", 2, verified=True, suspicious=False)


@pytest.mark.parametrize(
    ("text", "units"),
    [
        ("0.01", 1),
        ("1.5", 150),
        ("0", None),
        ("0.001", None),
        (str((2**127 - 1) // 100), (2**127 - 1) // 100 * 100),
        (f"{(2**127 - 1) // 100}.{(2**127 - 1) % 100:02}", 2**127 - 1),
        (f"{2**127 // 100}.{2**127 % 100:02}", None),
    ],
)
def test_an_amount_that_can_be_sold(text: str, units: int | None) -> None:
    amount = read_numeral(text)
    if units is not None:
        assert _units(amount, APPLE) == units
        return
    with pytest.raises(GateRefusedError, match="is not an amount of APPLE"):
        _units(amount, APPLE)


def test_a_token_without_decimals_cannot_be_counted() -> None:
    with pytest.raises(GateRefusedError, match="5 is not an amount of APPLE"):
        _units(read_numeral("5"), replace(APPLE, decimals=None))


@pytest.fixture
def market(monkeypatch: pytest.MonkeyPatch, quoted: SimpleNamespace) -> SimpleNamespace:
    """Two pools of WETH and USDC, and whatever else selling asks of the chain."""
    quoted.depths = (_depth(FIRST, 10**7), _depth(SECOND, 10**12))
    quoted.read = []
    tokens = {
        WETH: Token(WETH, "WETH", 3, verified=True, suspicious=False),
        USDC: Token(USDC, "USDC", 1, verified=True, suspicious=False),
    }

    async def wallet(_: object) -> object:
        return SimpleNamespace(block=block(100))

    async def tokens_at(given: object, wanted: object, at: str) -> object:
        assert (given, at) == ("no memory", block(100).hash)
        quoted.read.append(wanted)
        return tokens

    async def pools(_: object, keys: object, at: str) -> object:
        assert (keys, at) == (plain_pools(WETH, USDC), block(100).hash)
        return quoted.depths

    async def worth(_: object, spent: object, at: object) -> ActionWorth:
        assert (spent, at) == ((WETH, USDC, NATIVE), block(100))
        return ActionWorth({}, {WETH: 2.0}, 3.0, ("disputed",))

    for name, fake in (
        ("read_wallet", wallet),
        ("tokens_at", tokens_at),
        ("read_pools", pools),
        ("read_worth", worth),
    ):
        monkeypatch.setattr(swapping, name, fake)
    quoted.sources.without_memory = lambda: "no memory"
    quoted.tokens = tokens
    return quoted


async def _sell(market: SimpleNamespace, amount: str, sold: str, bought: str) -> Any:
    return await action_to_swap(market.sources, read_numeral(amount), sold, bought)


@pytest.mark.parametrize(
    ("sold", "bought", "zero_for_one", "amount", "headline"),
    [
        (WETH, USDC, True, "1000", "Sell 1000 WETH for about 99699.9 USDC"),
        (USDC, WETH, False, "1000", "Sell 1000 USDC for about 9.969 WETH"),
    ],
)
async def test_what_is_sold_goes_through_the_best_pool_at_one_block(
    market: SimpleNamespace,
    sold: str,
    bought: str,
    zero_for_one: bool,
    amount: str,
    headline: str,
) -> None:
    found = await _sell(market, amount, sold, bought)

    units = 10**6 if zero_for_one else 10**4
    chosen = _best(market.depths, units, zero_for_one, {})
    assert chosen is not None
    assert chosen.swap.pool == SECOND
    assert (found.plan_id, found.headline) == ("swap_100", headline)
    assert found.request == SwapRequest(chosen.pool, chosen.swap)
    assert found.subject == ActionTarget(block(100), chosen.pool)
    assert (found.tokens, found.quotes) == ((WETH, USDC, NATIVE), chosen)
    assert (found.usd_per_unit, found.usd_per_wei) == ({WETH: 2.0}, 3.0)
    assert (found.scaled_by, found.disputes) == (market.tokens, ("disputed",))
    assert market.read == [[sold, bought]]
    named = {"zero_for_one": zero_for_one, "at": block(100).hash}
    assert market.asked == [("c", BASE, [FIRST, SECOND], units, named)]


async def test_what_nobody_buys_is_refused_with_what_to_do(market: SimpleNamespace) -> None:
    with pytest.raises(GateRefusedError, match="are the same token"):
        await _sell(market, "1", "WETH", WETH)
    with pytest.raises(GateRefusedError, match="No pool takes 1000000000000 WETH"):
        await _sell(market, "1000000000000", WETH, USDC)
    market.depths = ()
    with pytest.raises(GateRefusedError, match="No pool of WETH and USDC holds anything on Base"):
        await _sell(market, "1", WETH, USDC)


@pytest.mark.parametrize(
    ("quotes", "words"),
    [
        (SwapQuotes(SWAP, OWN, None, 9, {}), "No quoter answers here: the swap pays 9 by a replay"),
        (
            SwapQuotes(SWAP, OWN, None, 9, {FIRST: 8}),
            "through the 0.05% pool, the only one that quotes it: 8 by V4Quoter, 9 by a replay",
        ),
        (
            SwapQuotes(SWAP, OWN, None, 9, {SECOND: 7, THIRD: 6}),
            "through the 0.05% pool, the best of 2 that quote it: nothing by V4Quoter, 9 by",
        ),
        (
            SwapQuotes(SWAP, OWN, FIRST, 9, {FIRST: 8, SECOND: 7}),
            "the position's own pool, the best of 2 that quote it: 9 as it is when its turn "
            "comes, 8 by V4Quoter now",
        ),
        (
            SwapQuotes(SWAP, OWN, SECOND, 9, {FIRST: 8, SECOND: 7}),
            "9 by a replay on its depth, against 7 in the position's own pool",
        ),
        (SwapQuotes(SWAP, OWN, THIRD, 9, {FIRST: 8}), "against no quote in the position"),
    ],
)
def test_both_ways_of_quoting_are_told(quotes: SwapQuotes, words: str) -> None:
    assert words in quotes.words(str)


@pytest.fixture
def plan_reads(monkeypatch: pytest.MonkeyPatch) -> SimpleNamespace:
    """The depth of a pool that is entered, and what the quoter makes of a swap."""
    made = SimpleNamespace(others=(), asked=[])
    made.own = _depth(KEY, 10**18)

    async def depths(here: Any, network: object, states: list[PoolState], *, reach: int) -> object:
        assert (here, network, reach) == (("c", BASE, block(100).hash), BASE, REACH)
        made.states = states
        return {KEY.pool_id: made.own}

    async def others(_: object, key: PoolKey, at: str) -> object:
        made.asked.append((key, at))
        return made.others

    async def quoter(*given: object) -> object:
        return given[1:]

    monkeypatch.setattr(planning, "read_depths", depths)
    monkeypatch.setattr(planning, "read_other_pools", others)
    monkeypatch.setattr(planning, "ask_quoter", quoter)
    monkeypatch.setattr(planning, "OneBlock", lambda *given: given)
    made.sources = cast("Sources", SimpleNamespace(client="c", network=BASE))
    return made


async def _swap_for(reads: SimpleNamespace, amount0: int, amount1: int) -> Any:
    return await _swap_of_one_token(
        reads.sources, block(100), reads.own.state, Span(-600, 1_200), Amounts(amount0, amount1)
    )


async def test_capital_in_one_token_is_swapped_into_the_proportion_of_its_range(
    plan_reads: SimpleNamespace,
) -> None:
    swap, own, others, at = await _swap_for(plan_reads, 10**15, 0)

    assert (own, others, at) == (PoolFacts(KEY, sqrt_price_at_tick(0), 3_000), (), block(100).hash)
    assert (swap.pool, swap.zero_for_one) == (KEY, True)
    # Of a range that reaches twice as far up as down about a third is held in the other token.
    assert 0.30 < swap.amount_in / 10**15 < 0.36
    replayed = quote_at_most(plan_reads.own, swap.amount_in, zero_for_one=True)
    assert (swap.amount_out, swap.sqrt_price_after) == (
        replayed.amount_out,
        replayed.sqrt_price_after,
    )
    back, *_ = await _swap_for(plan_reads, 0, 10**15)
    assert not back.zero_for_one
    assert 0.64 < back.amount_in / 10**15 < 0.70
    assert plan_reads.asked == [(KEY, block(100).hash)] * 2


async def test_capital_in_both_is_taken_as_it_is_and_no_other_pool_is_asked(
    plan_reads: SimpleNamespace,
) -> None:
    assert await _swap_for(plan_reads, 10**15, 1) is None
    assert plan_reads.asked == []
    cheaper = _depth(replace(KEY, fee=100), 10**20, fee=100)
    plan_reads.others = (cheaper,)
    swap, own, others, _ = await _swap_for(plan_reads, 10**15, 0)
    assert (swap.pool, own.key, others) == (cheaper.state.key, KEY, (cheaper,))


async def test_a_position_that_leaves_is_no_depth_of_the_swap_it_needs(
    plan_reads: SimpleNamespace, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def slots(here: object, *_: object) -> object:
        assert here == ("c", BASE, block(100).hash)
        return SimpleNamespace(words="words")

    def states(keys: list[PoolKey], words: str) -> list[PoolState]:
        assert (keys, words) == ([KEY], "words")
        return [plan_reads.own.state]

    monkeypatch.setattr(planning, "read_slots", slots)
    monkeypatch.setattr(planning, "pool_states", states)
    held = position(0)

    left = await _depth_without(plan_reads.sources, held, block(100))

    assert left == plan_reads.own.without(-1_000, 1_000, held.liquidity)
    assert left.state.liquidity == 10**18 - held.liquidity
    assert left.changes == ((-1_000, -held.liquidity), (1_000, held.liquidity))
    assert plan_reads.states == [plan_reads.own.state]
    assert KEY.hooks == NO_HOOK
