"""What a person wants of positions and tokens, and what is refused before anything is built."""

from __future__ import annotations

import re
from fractions import Fraction
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, cast

import pytest
from msgspec.structs import replace

from chain.base.units import Known, Unknown, read_numeral
from chain.contracts.networks import NATIVE, network_named
from chain.contracts.pool_key import PoolKey
from chain.execution.build.facts import (
    PoolFacts,
    Span,
    SpenderAllowance,
    TokenAllowances,
    Tolerance,
    position_facts,
)
from chain.execution.build.requests import (
    CloseRequest,
    CollectRequest,
    CompoundRequest,
    IncreaseRequest,
    QuotedSwap,
    SeveralRequest,
)
from chain.execution.build.sizing import drift_band, most_taken
from chain.math.liquidity import Amounts, liquidity_for_amounts
from chain.math.ticks import sqrt_price_at_tick
from chain.pools.state import plain_pools
from chain.positions.custody import Custody
from chain.positions.reference import v4_position
from chain.tokens import Token
from tests.agents.monitor.made_up_positions import KEY, position
from zuno_tui.gate.actions import action as targets
from zuno_tui.gate.actions import limit as limiting
from zuno_tui.gate.actions import position as acting
from zuno_tui.gate.actions import swap as swapping
from zuno_tui.gate.actions import wallet as turning
from zuno_tui.gate.actions.action import (
    ActionTarget,
    TargetKind,
    _owned,
    pair_of,
    spendable_tokens,
    subject_of,
)
from zuno_tui.gate.actions.position import (
    HeldPosition,
    _budget,
    _gives,
    _left_out,
    _place_of,
    action_for,
    action_to_decrease,
    action_to_increase,
)
from zuno_tui.gate.actions.swap import SwapQuotes, _best, _units, ask_quoter
from zuno_tui.gate.allowances import GivenAllowance, allowances_given
from zuno_tui.gate.refusal import GateRefusedError
from zuno_tui.gate.results import Aftermath, PositionNow, TokenHolding
from zuno_tui.gate.worth import ActionWorth

if TYPE_CHECKING:
    from chain.positions.overview import Sources
    from chain.positions.snapshot import PositionSnapshot

BASE = network_named("base")
OWNER, STRANGER = "0x" + "aa" * 20, "0x" + "66" * 20
ONE = Token(KEY.currency0, "ONE", 18, verified=True, suspicious=False)
TWO = Token(KEY.currency1, "TWO", 18, verified=False, suspicious=False)
WORTH = ActionWorth({ONE.address: ONE, TWO.address: TWO}, {ONE.address: 2.0}, 3.0, ("disputed",))
MEMORY = SimpleNamespace(v3_held=lambda _: (3, 4))
SOURCES = cast("Sources", SimpleNamespace(network=BASE, client=None, memory=MEMORY))


def _mine(
    number: int = 7, *, fees: tuple[int, int] = (5, 6), liquidity: int = 10**15, tick: int = 0
) -> PositionSnapshot:
    return replace(
        position(tick, number=number),
        custody=Custody(OWNER, None, None),
        fees0=fees[0],
        fees1=fees[1],
        liquidity=liquidity,
    )


HELD = HeldPosition(_mine(), position_facts(_mine()), WORTH, (ONE.address, TWO.address))


@pytest.fixture
def wallet(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """Positions that the wallet has, for readings that ask for them."""
    held = [_mine(7), _mine(8, fees=(0, 0)), _mine(9, fees=(1, 0)), _mine(10, liquidity=0)]

    async def owned(_: object, token_ids: list[int], owner: str, at: str) -> tuple[Any, ...]:
        assert (owner, at) == (OWNER, "latest")
        return tuple(each for each in held if each.ref in token_ids)

    async def single(_: object, token_id: int, owner: str, at: str) -> object:
        (found,) = await owned(_, [token_id], owner, at)
        return found

    async def worth(_: object, tokens: tuple[str, ...], at: object) -> ActionWorth:
        assert at == held[0].block
        return WORTH

    class Everything:
        def __init__(self, *_: object) -> None:
            pass

        async def read(self, owner: str) -> object:
            assert owner == OWNER
            return SimpleNamespace(positions=held, missing="One could not be read.")

    monkeypatch.setattr(acting, "owned_positions", owned)
    monkeypatch.setattr(acting, "owned_position", single)
    monkeypatch.setattr(acting, "read_worth", worth)
    monkeypatch.setattr(acting, "Discovery", Everything)
    return held


@pytest.mark.parametrize(
    ("verb", "headline", "kind"),
    [
        ("close", "Close position #7", CloseRequest),
        ("collect", "Collect the fees of position #7", CollectRequest),
        ("compound", "Compound the fees of position #7", CompoundRequest),
    ],
)
async def test_one_position_is_acted_on_by_itself(
    wallet: list[Any], verb: Any, headline: str, kind: type[Any]
) -> None:
    found = await action_for(SOURCES, verb, [v4_position(7)], OWNER)

    assert (found.plan_id, found.headline) == (f"{verb}_7_100", headline)
    assert found.request == kind(HELD.facts)
    assert (found.tokens, found.subject) == (HELD.tokens, subject_of(wallet[0]))
    assert (found.usd_per_unit, found.usd_per_wei) == (WORTH.usd_per_unit, 3.0)
    assert (found.scaled_by, found.disputes) == (WORTH.tokens, ("disputed",))


async def test_of_several_those_with_nothing_to_give_are_named(wallet: list[Any]) -> None:
    found = await action_for(SOURCES, "collect", [], OWNER)

    assert (found.plan_id, found.headline) == ("collect_7_9_100", "Collect the fees of 2 positions")
    assert found.request == SeveralRequest(
        tuple(CollectRequest(position_facts(wallet[place])) for place in (0, 2))
    )
    assert found.left_behind == (
        "Left out: #8, #10 (no fees to collect).",
        "Left out: 3:3, 3:4 (v3: use Uniswap's page).",
        "One could not be read.",
    )
    assert found.tokens == (ONE.address, TWO.address)
    named = await action_for(SOURCES, "collect", [v4_position(7), v4_position(8)], OWNER)
    assert (named.headline, named.left_behind) == (
        "Collect the fees of position #7",
        ("Left out: #8 (no fees to collect).",),
    )
    every = await action_for(
        SOURCES, "close", [v4_position(7), v4_position(8), v4_position(10)], OWNER
    )
    assert (every.headline, every.left_behind) == ("Close 3 positions", ())
    with pytest.raises(GateRefusedError, match="anything to collect"):
        await action_for(SOURCES, "collect", [v4_position(8), v4_position(10)], OWNER)


async def test_a_plan_is_named_by_eight_positions_at_most(wallet: list[Any]) -> None:
    wallet[:] = [_mine(number) for number in range(1, 11)]
    found = await action_for(SOURCES, "close", list(map(v4_position, range(1, 11))), OWNER)
    assert found.plan_id == "close_1_2_3_4_5_6_7_8_100"


@pytest.mark.parametrize(
    ("verb", "fees", "liquidity", "gives"),
    [
        ("close", (0, 0), 0, True),
        ("collect", (0, 0), 5, False),
        ("collect", (0, 1), 5, True),
        ("collect", (1, 0), 5, True),
        ("collect", (1, 1), 0, False),
        ("compound", (10**18, 10**18), 5, True),
        ("compound", (10**18, 10**18), 0, False),
        ("compound", (0, 0), 5, False),
    ],
)
def test_what_a_position_has_to_give(
    verb: Any, fees: tuple[int, int], liquidity: int, gives: bool
) -> None:
    assert _gives(verb, position_facts(_mine(fees=fees, liquidity=liquidity))) is gives


def test_why_a_position_is_left_out() -> None:
    assert list(_left_out("collect", [])) == []
    assert list(_left_out("compound", [_mine(8)])) == [
        "Left out: #8 (no fees that its range takes now)."
    ]


@pytest.mark.parametrize(
    ("named", "place"),
    [
        (ONE.address, 0),
        (TWO.address.upper().replace("0X", "0x"), 1),
        ("one", 0),
        ("ONE", 0),
        ("TWO", None),
        ("three", None),
    ],
)
def test_a_token_is_meant_by_its_address_or_by_a_symbol_that_is_vouched_for(
    named: str, place: int | None
) -> None:
    if place is None:
        with pytest.raises(GateRefusedError, match="Position #7 takes"):
            _place_of(HELD, named)
    else:
        assert _place_of(HELD, named) == place


@pytest.mark.parametrize("percent", [1, 99])
async def test_a_part_is_taken_out(wallet: list[Any], percent: int) -> None:
    found = await action_to_decrease(SOURCES, v4_position(7), OWNER, percent)
    assert (found.plan_id, found.headline) == (
        "decrease_7_100",
        f"Remove {percent}% of position #7",
    )
    assert cast("Any", found.request).percent == percent


@pytest.mark.parametrize("place", [0, 1])
@pytest.mark.parametrize("share", [None, 0.5, 1.0, 1.001, 2.0])
async def test_beside_an_amount_as_much_is_set_aside_as_drift_may_ask_for(
    monkeypatch: pytest.MonkeyPatch, place: int, share: float | None
) -> None:
    """Where the wallet holds less, but enough for now, all it holds."""
    units, price, span = 10**18, HELD.facts.pool.sqrt_price_x96, HELD.facts.span
    given = (units, acting._PLENTY) if place == 0 else (acting._PLENTY, units)
    liquidity = liquidity_for_amounts(price, *span.sqrt_prices, *given)
    now = span.holds(price, liquidity, round_up=True)[1 - place]
    most = most_taken(span, liquidity, drift_band(price, Tolerance().slippage_bips, span))[
        1 - place
    ]
    held = None if share is None else int(now * share) if share != 1.0 else now

    async def balance(_: object, __: object, owner: str, token: str) -> object:
        assert (owner, token) == (OWNER, HELD.tokens[1 - place])
        return Unknown("no answer") if held is None else Known(held, "chain")

    monkeypatch.setattr(acting, "_balance", balance)
    beside = held if held is not None and now <= held < most else most

    found = await _budget(SOURCES, HELD, OWNER, place, units)

    assert found == (Amounts(units, beside) if place == 0 else Amounts(beside, units))


@pytest.mark.parametrize(("tick", "place"), [(2_000, 0), (-2_000, 1)])
async def test_a_range_that_takes_the_other_token_alone_says_so(tick: int, place: int) -> None:
    moved = _mine(tick=tick)
    away = HeldPosition(moved, position_facts(moved), WORTH, HELD.tokens)
    other = (ONE, TWO)[1 - place].label
    with pytest.raises(GateRefusedError, match=re.escape(f"Name an amount of {other}.")):
        await _budget(SOURCES, away, OWNER, place, 10**18)


@pytest.mark.parametrize("text", ["0", "0.0000000000000000001", "999999999999999999999999999999"])
async def test_an_amount_that_cannot_be_added_is_refused(wallet: list[Any], text: str) -> None:
    with pytest.raises(GateRefusedError, match="ONE cannot be added"):
        await action_to_increase(SOURCES, v4_position(7), OWNER, read_numeral(text), "ONE")


async def test_an_amount_is_added_with_what_goes_beside_it(
    wallet: list[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    async def budget(*given: object) -> Amounts:
        assert given[2:] == (OWNER, 0, 15 * 10**17)
        return Amounts(1, 2)

    monkeypatch.setattr(acting, "_budget", budget)
    found = await action_to_increase(SOURCES, v4_position(7), OWNER, read_numeral("1.5"), "ONE")
    assert found.request == IncreaseRequest(HELD.facts, Amounts(1, 2))
    assert found.headline == "Add 1.5 ONE and the other token it needs to position #7"


def test_the_coin_is_spent_where_its_wrapped_form_is_of_the_pair() -> None:
    wrapped = PoolKey(KEY.currency0, str(BASE.wrapped_native), 500, 10, NATIVE)
    assert spendable_tokens(BASE, KEY) == pair_of(KEY) == (KEY.currency0, KEY.currency1)
    assert spendable_tokens(BASE, wrapped) == (*pair_of(wrapped), NATIVE)


def test_only_the_wallets_own_position_is_acted_on() -> None:
    assert _owned(SOURCES, v4_position(7), HELD.snapshot, OWNER) is HELD.snapshot
    with pytest.raises(GateRefusedError, match="There is no position #7"):
        _owned(SOURCES, v4_position(7), None, OWNER)
    with pytest.raises(GateRefusedError, match="belongs to"):
        _owned(SOURCES, v4_position(7), HELD.snapshot, STRANGER)


def test_what_an_action_is_about_is_named() -> None:
    second = _mine(8)
    several = subject_of(HELD.snapshot, second)
    entered = ActionTarget(HELD.snapshot.block, PoolFacts(KEY, 5, 500))

    assert several.about == TargetKind(v4_position(7), others=(v4_position(8),))
    assert several.about.refs == (7, 8)
    assert (entered.about, entered.about.refs) == (TargetKind(pool=KEY), ())
    assert [pool.key for pool in several.pools] == [KEY]
    assert (entered.pools, ActionTarget(HELD.snapshot.block).pools) == ((entered.pool,), ())
    assert [str(each) for each in (several.about, TargetKind(v4_position(7)), TargetKind())] == [
        "positions #7, #8",
        "position #7",
        "wallet",
    ]
    assert str(entered.about) == f"pool {KEY.pool_id}"
    assert list(several.positions) == [7, 8]


@pytest.mark.parametrize(
    ("text", "decimals", "units"),
    [
        ("1.5", 18, 15 * 10**17),
        ("0", 18, None),
        ("1", None, None),
        (str(2**127 - 1), 0, 2**127 - 1),
        (str(2**127), 0, None),
        ("1", 0, 1),
    ],
)
def test_an_amount_to_sell_is_some_and_not_too_much(
    text: str, decimals: int | None, units: int | None
) -> None:
    token = replace(ONE, decimals=decimals)
    if units is None:
        with pytest.raises(GateRefusedError, match="that can be sold"):
            _units(read_numeral(text), token)
    else:
        assert _units(read_numeral(text), token) == units


def _pool(fee: int, takes: int, pays: int) -> Any:
    key = replace(KEY, fee=fee)
    state = SimpleNamespace(key=key, sqrt_price_x96=5, lp_fee=fee)
    return SimpleNamespace(state=state, takes=takes, pays=pays)


def test_the_pool_that_surely_pays_most_is_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    def quote(depth: Any, units: int, *, zero_for_one: bool) -> object:
        assert zero_for_one
        return SimpleNamespace(
            amount_in=min(units, depth.takes),
            amount_out=depth.pays,
            sqrt_price_after=9,
            sqrt_price_before=8,
        )

    monkeypatch.setattr(swapping, "quote_at_most", quote)
    small, empty, good, best = (
        _pool(1, 99, 999),
        _pool(2, 100, 0),
        _pool(3, 100, 50),
        _pool(4, 100, 60),
    )
    lying = {best.state.key: 40, good.state.key: 70}

    assert _best([], 100, True, {}) is None
    assert _best([small, empty], 100, True, {}) is None
    found = _best([small, empty, good, best], 100, True, {})
    assert found is not None
    assert found.swap == QuotedSwap(best.state.key, True, 100, 60, 9)
    found = _best([good, best], 100, True, lying)
    assert found is not None
    assert found == SwapQuotes(
        QuotedSwap(good.state.key, True, 100, 50, 9),
        PoolFacts(good.state.key, 5, 3),
        None,
        50,
        lying,
    )


@pytest.mark.parametrize(
    ("through", "hooks", "by_quoter", "counted"),
    [
        ("own", NATIVE, 40, 60),
        ("own", "0x" + "00" * 18 + "0080", 40, 40),
        ("own", "0x" + "00" * 18 + "0080", 70, 60),
        ("other", NATIVE, 40, 40),
        ("other", NATIVE, None, 60),
    ],
)
async def test_no_more_is_counted_on_than_replay_and_quoter_pay(
    monkeypatch: pytest.MonkeyPatch, through: str, hooks: str, by_quoter: int | None, counted: int
) -> None:
    own, other = PoolFacts(replace(KEY, hooks=hooks), 5, 3_000), _pool(500, 0, 0)
    key = own.key if through == "own" else other.state.key
    swap = QuotedSwap(key, True, 100, 60, 9)
    answers = {} if by_quoter is None else {key: by_quoter}

    async def quotes_across(*asked: object, zero_for_one: bool, at: str) -> object:
        assert (*asked[2:], zero_for_one, at) == ([own.key, other.state.key], 100, True, "0xb1")
        return answers

    monkeypatch.setattr(swapping, "quotes_across", quotes_across)
    found = await ask_quoter(SOURCES, swap, own, [other], "0xb1")

    assert found.swap == replace(swap, amount_out=counted)
    assert found.pool == (own if through == "own" else PoolFacts(key, 5, 500))
    assert (found.own, found.replayed, found.by_quoter) == (own.key, 60, answers)


def test_which_pool_and_why_is_said() -> None:
    own, other = KEY, replace(KEY, fee=500)
    pool = PoolFacts(other, 5, 500)

    def words(through: PoolKey, entered: PoolKey | None, quotes: dict[PoolKey, int]) -> str:
        swap = QuotedSwap(through, True, 100, 60, 9)
        return SwapQuotes(swap, pool, entered, 60, quotes).words(str)

    assert (
        words(own, own, {}) == "No quoter answers here: the swap pays 60 by a replay on its pool."
    )
    assert words(other, None, {other: 61}) == (
        "The swap goes through the 0.05% pool, the only one that quotes it: 61 by V4Quoter, 60 by "
        "a replay on its depth."
    )
    assert "the best of 2 that quote it: nothing by V4Quoter" in words(
        other, None, {own: 1, replace(KEY, fee=1): 2}
    )
    assert "through the position's own pool, the best of 2" in words(own, own, {own: 61, other: 5})
    assert "against 61 in the position" in words(other, own, {own: 61, other: 62})
    assert "against no quote in the position" in words(other, own, {other: 62})


def test_what_can_be_used_now_of_what_was_allowed() -> None:
    permit2, manager = BASE.contracts.permit2, BASE.contracts.position_manager
    found = {
        ONE.address: TokenAllowances(5, {manager: SpenderAllowance(6, 100)}),
        TWO.address: TokenAllowances(0, {manager: SpenderAllowance(6, 99)}),
        NATIVE: TokenAllowances(0, {manager: SpenderAllowance(0, 500)}),
    }
    assert allowances_given(BASE, found, 100) == (
        GivenAllowance(ONE.address, permit2, "Permit2", False, 5, None),
        GivenAllowance(ONE.address, manager, "PositionManager", True, 6, 100),
    )


def test_where_the_tokens_are_is_told_in_words() -> None:
    tokens = {each.address: replace(each, decimals=0, verified=True) for each in (ONE, TWO)}
    positions = (
        PositionNow(v4_position(7), None, 0),
        PositionNow(v4_position(8), OWNER, 5),
        PositionNow(v4_position(9), STRANGER, 0),
    )

    def words(*held: tuple[int | None, int | None]) -> str:
        holdings = tuple(TokenHolding(ONE.address, now, before) for now, before in held)
        return Aftermath(1, OWNER, (), holdings, tokens).sentences[0]

    assert Aftermath(1, OWNER, positions, (), tokens).sentences == (
        "Position #7 is no more.",
        "Position #8 is there, yours, with its liquidity.",
        f"Position #9 is there, held by {STRANGER}, without liquidity.",
    )
    assert words((5, None)) == "The wallet holds 5 ONE."
    assert words((None, 5)) == "The wallet holds an unknown amount of ONE."
    assert words((5, 5), (5, 4), (4, 5)) == (
        "The wallet holds 5 ONE (as before the plan), 5 ONE (1 ONE more than before the plan), "
        "4 ONE (1 ONE less than before the plan)."
    )


def test_what_is_too_much_for_the_chains_own_numbers() -> None:
    assert acting._PLENTY == swapping._MOST == 2**127 - 1
    assert (limiting._MOST, turning._PLENTY) == (2**127, 2**128)
    assert acting._SOME_LIQUIDITY == 2**64


async def test_the_coin_counts_beside_its_wrapped_form_where_it_is_spent_alone(
    wallet: list[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    wrapped = PoolKey(KEY.currency0, str(BASE.wrapped_native), 500, 10, NATIVE)
    wallet[0] = replace(wallet[0], pool=replace(wallet[0].pool, key=wrapped))
    pair, asked = pair_of(wrapped), list[object]()

    async def worth(_: object, tokens: tuple[str, ...], __: object) -> ActionWorth:
        asked.append(tokens)
        return replace_tokens(tokens)

    def replace_tokens(tokens: tuple[str, ...]) -> ActionWorth:
        known = {each: replace(ONE, address=each) for each in tokens}
        return WORTH._replace(tokens={**known, pair[0]: ONE})

    async def budget(*_: object) -> Amounts:
        return Amounts(1, 2)

    monkeypatch.setattr(acting, "read_worth", worth)
    monkeypatch.setattr(acting, "_budget", budget)
    one = read_numeral("1")

    assert (await action_for(SOURCES, "close", [v4_position(7)], OWNER)).tokens == pair
    assert (
        await action_for(SOURCES, "close", [v4_position(7), v4_position(7)], OWNER)
    ).tokens == pair
    added = await action_to_increase(SOURCES, v4_position(7), OWNER, one, pair[0])
    assert added.tokens == (*pair, NATIVE)
    assert asked == [pair, pair, (*pair, NATIVE)]
    with pytest.raises(GateRefusedError, match="takes"):
        await action_to_increase(SOURCES, v4_position(7), OWNER, one, NATIVE)


@pytest.mark.parametrize("units", [1, 2**127 - 1])
async def test_the_least_and_the_most_that_can_be_added(
    wallet: list[Any], monkeypatch: pytest.MonkeyPatch, units: int
) -> None:
    whole = replace(ONE, decimals=0)

    async def worth(*_: object) -> ActionWorth:
        return WORTH._replace(tokens={ONE.address: whole, TWO.address: TWO})

    async def budget(*given: object) -> Amounts:
        return Amounts(cast("int", given[-1]), 2)

    monkeypatch.setattr(acting, "read_worth", worth)
    monkeypatch.setattr(acting, "_budget", budget)
    found = await action_to_increase(
        SOURCES, v4_position(7), OWNER, read_numeral(str(units)), "ONE"
    )
    assert cast("Any", found.request).budget == Amounts(units, 2)


async def test_more_liquidity_than_a_pool_counts_is_refused() -> None:
    narrow = replace(HELD, facts=replace(HELD.facts, span=Span(-10, 10)))
    with pytest.raises(GateRefusedError, match="Name a smaller amount"):
        await _budget(SOURCES, narrow, OWNER, 0, 2**127 - 1)


async def test_a_balance_is_read_at_the_positions_block(monkeypatch: pytest.MonkeyPatch) -> None:
    class Here:
        def __init__(self, *given: object) -> None:
            assert given[2] == HELD.snapshot.block.hash

        async def read(self, calls: list[object]) -> object:
            assert calls == ["call"]
            return SimpleNamespace(outcomes=["outcome"])

    monkeypatch.setattr(acting, "OneBlock", Here)
    monkeypatch.setattr(acting, "balance_call", lambda *_: "call")
    monkeypatch.setattr(acting, "balance_of", lambda outcome, at: (outcome, at))
    found = cast("Any", await acting._balance(SOURCES, HELD, OWNER, ONE.address))
    assert found == ("outcome", HELD.snapshot.block)


async def test_a_subject_is_read_again_whole_or_not_at_all(monkeypatch: pytest.MonkeyPatch) -> None:
    held = {7: _mine(7), 8: _mine(8)}

    async def read_positions(*given: object, at: str) -> object:
        assert at == "0xb1"
        return {each: held[each] for each in cast("Any", given[3]) if each in held}

    async def pool(_: object, key: PoolKey, at: str) -> object:
        return (key, at)

    async def alone(_: object, at: str) -> object:
        return at

    monkeypatch.setattr(targets, "read_positions", read_positions)
    monkeypatch.setattr(targets, "_read_pool", pool)
    monkeypatch.setattr(targets, "read_wallet", alone)

    async def read(about: TargetKind) -> Any:
        return await targets.read_subject(SOURCES, about, "0xb1")

    assert await read(TargetKind(v4_position(7), others=(v4_position(8),))) == subject_of(
        held[7], held[8]
    )
    assert await read(TargetKind(v4_position(8))) == subject_of(held[8])
    assert await read(TargetKind(v4_position(7), others=(v4_position(9),))) is None
    assert await read(TargetKind(v4_position(9))) is None
    assert await read(TargetKind(pool=KEY)) == (KEY, "0xb1")
    assert await read(TargetKind()) == "0xb1"


async def test_other_pools_are_those_of_the_same_pair(monkeypatch: pytest.MonkeyPatch) -> None:
    async def read(_: object, keys: list[PoolKey], at: str) -> object:
        return keys, at

    monkeypatch.setattr(swapping, "read_pools", read)
    same = plain_pools(KEY.currency0, KEY.currency1)
    keys, at = cast("Any", await swapping.read_other_pools(SOURCES, same[0], "0xb1"))
    assert (keys, at) == (list(same[1:]), "0xb1")


async def test_a_token_that_is_very_dear_is_still_one_the_range_takes(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async def balance(*_: object) -> object:
        return Unknown("no answer")

    monkeypatch.setattr(acting, "_balance", balance)
    pool = replace(HELD.facts.pool, sqrt_price_x96=sqrt_price_at_tick(880_000))
    dear = replace(HELD, facts=replace(HELD.facts, pool=pool, span=Span(879_990, 880_010)))
    assert (await _budget(SOURCES, dear, OWNER, 0, 1)).amount0 == 1


@pytest.mark.parametrize(
    ("amount", "price", "decimals"), [("1", 0, 18), ("0", 1, 18), ("1", 1, None), ("1", -1, 18)]
)
async def test_a_limit_has_an_amount_and_a_price(
    monkeypatch: pytest.MonkeyPatch, amount: str, price: int, decimals: int | None
) -> None:
    async def read_wallet(_: object) -> ActionTarget:
        return ActionTarget(HELD.snapshot.block)

    async def tokens_at(*_: object) -> object:
        return {ONE.address: replace(ONE, decimals=decimals), TWO.address: TWO}

    async def deepest(*_: object) -> object:
        pytest.fail("a pool was looked for")

    for name, fake in (
        ("read_wallet", read_wallet),
        ("tokens_at", tokens_at),
        ("_deepest", deepest),
        ("token_named", lambda _, named: named),
    ):
        monkeypatch.setattr(limiting, name, fake)
    asked = limiting.LimitWords(read_numeral(amount), ONE.address, TWO.address, Fraction(price))
    sources = cast("Sources", SimpleNamespace(network=BASE, without_memory=lambda: None))
    with pytest.raises(GateRefusedError, match="Name an amount, a token and a price"):
        await limiting.action_to_limit(sources, asked)


async def test_allowances_that_are_taken_back_are_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    async def read_wallet(_: object) -> ActionTarget:
        return ActionTarget(HELD.snapshot.block)

    async def worth(_: object, tokens: tuple[str, ...], __: object) -> ActionWorth:
        assert tokens == (ONE.address,)
        return WORTH

    monkeypatch.setattr(turning, "read_wallet", read_wallet)
    monkeypatch.setattr(turning, "read_worth", worth)
    given = GivenAllowance(ONE.address, STRANGER, "Permit2", False, 5, None)

    one = await turning.action_to_revoke(SOURCES, [given])
    two = await turning.action_to_revoke(SOURCES, [given, replace(given, through_permit2=True)])

    assert (one.headline, two.headline) == ("Take an allowance back", "Take 2 allowances back")
    assert (two.plan_id, two.tokens) == ("revoke_100", (ONE.address,))
    assert [each.through_permit2 for each in cast("Any", two.request).allowances] == [False, True]
    assert (one.usd_per_wei, one.disputes) == (3.0, ("disputed",))


@pytest.mark.parametrize("given", [NATIVE, ONE.address])
async def test_of_the_coin_pools_of_its_wrapped_form_count_where_it_is_bought(
    monkeypatch: pytest.MonkeyPatch, given: str
) -> None:
    """What is sold must be of the pool itself; the deepest of them is taken."""
    wanted, asked = (ONE.address if given == NATIVE else NATIVE), list[PoolKey]()
    wrapped = str(BASE.wrapped_native)

    async def read_pools(_: object, keys: list[PoolKey], at: str) -> object:
        assert at == "0xb1"
        asked.extend(keys)
        return [
            SimpleNamespace(state=SimpleNamespace(key=key, liquidity=place % 3))
            for place, key in enumerate(keys)
        ]

    monkeypatch.setattr(limiting, "read_pools", read_pools)
    found = await limiting._deepest(SOURCES, given, wanted, "0xb1")

    plain = list(plain_pools(given, wanted))
    beside = [] if given == NATIVE else list(plain_pools(given, wrapped))
    assert asked == [*plain, *beside]
    assert found.liquidity == 2
    asked.clear()
    bare = cast("Any", SimpleNamespace(network=replace(BASE, wrapped_native=None)))
    await limiting._deepest(bare, given, wanted, "0xb1")
    assert asked == plain
    asked.clear()
    await limiting._deepest(SOURCES, ONE.address, TWO.address, "0xb1")
    assert asked == list(plain_pools(ONE.address, TWO.address))

    async def nothing(*_: object) -> tuple[object, ...]:
        return ()

    monkeypatch.setattr(limiting, "read_pools", nothing)
    with pytest.raises(GateRefusedError, match="No pool of this pair"):
        await limiting._deepest(SOURCES, given, wanted, "0xb1")


@pytest.mark.parametrize("inverted", [False, True])
@pytest.mark.parametrize("sells_first", [False, True])
async def test_a_limit_stands_on_the_far_side_of_the_price(
    monkeypatch: pytest.MonkeyPatch, inverted: bool, sells_first: bool
) -> None:
    tokens = {ONE.address: ONE, TWO.address: TWO}
    given, wanted = (ONE, TWO) if sells_first else (TWO, ONE)
    state = SimpleNamespace(key=KEY, sqrt_price_x96=5, lp_fee=500)
    below, rises = list[bool](), list[bool]()

    async def read_wallet(_: object) -> ActionTarget:
        return ActionTarget(HELD.snapshot.block)

    async def tokens_at(*_: object) -> object:
        return tokens

    async def deepest(*_: object) -> object:
        return state

    async def worth(*_: object) -> ActionWorth:
        return WORTH

    def condition(_: object, price: Fraction, **way: bool) -> object:
        assert price == 3_500
        below.append(way["below"])
        return SimpleNamespace(sqrt_price="99")

    def beside(_: object, level: int, **way: bool) -> Span:
        assert level == 99
        rises.append(way["rises"])
        return Span(10, 20)

    pair = SimpleNamespace(
        inverted=inverted,
        bounds=lambda low, high: (f"at {low}", f"at {high}"),
        price_text=lambda sqrt: "far" if sqrt == sqrt_price_at_tick(20) else "near",
    )
    for name, fake in (
        ("read_wallet", read_wallet),
        ("tokens_at", tokens_at),
        ("_deepest", deepest),
        ("read_worth", worth),
        ("price_condition", condition),
        ("_beside", beside),
        ("pair_of", lambda *_: pair),
        ("pool_name", lambda *_: "A/B"),
        ("token_named", lambda _, named: named),
    ):
        monkeypatch.setattr(limiting, name, fake)
    sources = cast("Sources", SimpleNamespace(network=BASE, without_memory=lambda: None))
    asked = limiting.LimitWords(read_numeral("2"), given.address, wanted.address, Fraction(3_500))

    found = await limiting.action_to_limit(sources, asked)

    assert rises == [sells_first]
    assert below == [inverted if sells_first else not inverted]
    units = 2 * 10**18
    budget = Amounts(units, 0) if sells_first else Amounts(0, units)
    assert cast("Any", found.request).budget == budget
    assert cast("Any", found.request).span == Span(10, 20)
    side = "above" if sells_first is not inverted else "below"
    edge = "far" if sells_first else "near"
    assert f"It is all {wanted.label} once the price is {side} {edge}" in found.left_behind[0]
    assert f"order close ID {side} {edge}" in found.left_behind[1]
    assert (found.plan_id, found.tokens) == ("limit_100", (KEY.currency0, KEY.currency1))


async def test_a_token_is_not_sold_for_itself() -> None:
    with pytest.raises(GateRefusedError, match="are the same token"):
        await swapping.action_to_swap(SOURCES, read_numeral("1"), ONE.address, ONE.address.upper())
