"""Plans of v3, by recipe and by field."""

from collections import Counter
from collections.abc import Iterator
from itertools import product
from random import Random
from typing import Any, NamedTuple

import pytest
from eth_abi.exceptions import EncodingError
from msgspec.structs import replace

from chain.contracts import abi
from chain.contracts.networks import NATIVE, Address
from chain.devnet.world.accounts import ARBITRAGEUR, MEDIUM_PROVIDER
from chain.devnet.world.deployment import USDC, USDT, WBTC, WETH
from chain.execution.decode.decoder import decode, encode_call
from chain.execution.decode.words import describe, names_on
from chain.execution.plan.context import PolicyContext
from chain.execution.plan.facts import PositionFacts
from chain.execution.plan.names import Names
from chain.execution.plan.reading import DecodingError
from chain.execution.plan.records import DecodedStep, Execute, Multicall, PlainCall
from chain.execution.plan.requests import (
    Allowance,
    CallRequest,
    CloseRequest,
    CollectRequest,
    CompoundRequest,
    CreateRequest,
    DecreaseRequest,
    IncreaseRequest,
    QuotedSwap,
    ReRangeRequest,
    RevokeRequest,
    SeveralRequest,
)
from chain.execution.plan.sizing import buys_liquidity
from chain.execution.policy.policy import Allowed, check
from chain.math.drift import Span
from chain.math.liquidity import Amounts
from chain.math.ticks import nearest_usable_tick, sqrt_price_at_tick, tick_at_sqrt_price
from chain.pools.depth import quote_at_most
from tests.chain.conftest import Desk
from tests.chain.execution.made_up_plans import MadeUpPlan, address, context_of, made_up_plan
from tests.chain.execution.on_v3 import OWNER, V3Desk
from tests.chain.moves import Moves
from tests.chain.v3_moves import V3Moves
from tests.printed import printed
from tests.samples import some_of


class Market(NamedTuple):
    token0: Address
    token1: Address
    fee: int
    spacing: int
    tick: int


STABLE0, STABLE1 = sorted((USDC.address, USDT.address))
ODD0, ODD1 = sorted((USDC.address, WBTC.address))
PAIRS = {
    "WETH/USDC 0.3%": Market(WETH.address, USDC.address, 3000, 60, -195_000),
    "WETH/USDC 0.01%": Market(WETH.address, USDC.address, 100, 1, -195_000),
    "USDC/WBTC 1%": Market(ODD0, ODD1, 10_000, 200, 0),
    "USDC/USDT 0.01%": Market(STABLE0, STABLE1, 100, 1, 0),
}
TRADED = {WETH.address: 10**17, WBTC.address: 3 * 10**8}
PLACES = ("in range", "above", "below")
KINDS = ("collect", "decrease", "close", "increase", "compound", "create", "move")


def v3_desk(desk: Desk, changing: Moves, pair: str) -> tuple[V3Desk, tuple[Address, Address, int]]:
    """A pool of the pair that others provide for and trade in."""
    token0, token1, fee, spacing, tick = PAIRS[pair]
    made = V3Moves(changing)
    for account in (MEDIUM_PROVIDER, ARBITRAGEUR):
        made.approve(account, token0, token1)
    made.create(MEDIUM_PROVIDER, token0, token1, fee, sqrt_price_at_tick(tick))
    far = 887_272 // spacing * spacing
    made.mint(
        ARBITRAGEUR, (token0, token1, fee), (-far, far), (10**19, 10**13), ARBITRAGEUR.address
    )
    return V3Desk(desk, made), (token0, token1, fee)


def provided(
    here: V3Desk, pair: tuple[Address, Address, int], spacing: int, tick: int, place: str
) -> int:
    away = {"in range": 0, "above": -60, "below": 60}[place] * spacing
    lower = nearest_usable_tick(tick + away - 20 * spacing, spacing)
    span = (lower, lower + 40 * spacing)
    return here.v3.mint(OWNER, pair, span, (10**16 + 7, 10**8 + 3), OWNER.address)


def traded(here: V3Desk, pair: tuple[Address, Address, int]) -> None:
    token0, token1, fee = pair
    here.v3.swap(ARBITRAGEUR, (token0, token1), fee, TRADED.get(token0, 3 * 10**8) + 1)
    here.v3.swap(ARBITRAGEUR, (token1, token0), fee, TRADED.get(token1, 3 * 10**8) + 1)


def forgotten(here: V3Desk, *tokens: Address) -> None:
    """Whatever was allowed before: plans ask for what they need themselves."""
    data = abi.encode_call("approve(address,uint256)", here.v3.manager, 0)
    for token in tokens:
        here.v3.moves.send(OWNER, token, data)


def request_of(kind: str, held: PositionFacts, *, native: bool) -> CallRequest:
    span, price = held.span, held.pool.sqrt_price_x96
    match kind:
        case "collect":
            return CollectRequest(held, native=native)
        case "decrease":
            return DecreaseRequest(held, 37, native=native)
        case "close":
            return CloseRequest(held, native=native)
        case "increase":
            budget = span.holds(price, held.liquidity // 3, round_up=True).plus(Amounts(5, 5))
            return IncreaseRequest(held, budget, native=native)
        case "compound":
            return CompoundRequest(held)
        case "create":
            budget = span.holds(price, held.liquidity // 2, round_up=True).plus(Amounts(5, 5))
            return CreateRequest(held.pool, span, budget, None, native=native)
        case _:
            width = span.width // 2 // held.pool.key.tick_spacing * held.pool.key.tick_spacing
            return ReRangeRequest(held, Span(span.tick_lower, span.tick_lower + width), None)


CASES = [
    (kind, pair, place, native)
    for kind, pair, place, native in product(KINDS, PAIRS, PLACES, (False, True))
    if not (native and ("WETH" not in pair or kind in ("compound", "move")))
    and not (kind == "move" and place == "in range")
]


@pytest.mark.parametrize(("kind", "pair", "place", "native"), some_of(CASES, 8, seed=46))
async def test_what_is_shown_is_realised_to_the_unit(
    desk: Desk, changing: Moves, kind: str, pair: str, place: str, native: bool
) -> None:
    here, named = v3_desk(desk, changing, pair)
    spacing, tick = PAIRS[pair].spacing, PAIRS[pair].tick
    token_id = provided(here, named, spacing, tick, "in range" if kind == "compound" else place)
    if place == "in range" or kind == "compound":
        traded(here, named)
    forgotten(here, *named[:2])
    held = await here.position(token_id)
    if kind == "compound" and not all(held.fees):
        traded(here, named)
        held = await here.position(token_id)
    request = request_of(kind, held, native=native)
    inside = held.span.holds(held.pool.sqrt_price_x96, held.liquidity, round_up=False)

    built, changes, _ = await here.carried_out(request)

    after = await here.snapshot(token_id)
    bounds = built.bounds[-1].bounds
    paid = Amounts(*(changes[token] for token in named[:2]))
    if native:
        wrapped = named.index(WETH.address)
        coin = changes[NATIVE]
        assert paid[wrapped] == 0
        paid = Amounts(coin, paid[1]) if wrapped == 0 else Amounts(paid[0], coin)
    else:
        assert changes[NATIVE] == 0
    match kind:
        case "collect":
            assert paid == held.amounts_owed
            assert after is not None
            assert (after.liquidity, after.fees0, after.fees1) == (held.liquidity, 0, 0)
        case "decrease":
            part = held.span.holds(
                held.pool.sqrt_price_x96, held.liquidity * 37 // 100, round_up=False
            )
            assert paid == part.plus(held.amounts_owed)
            assert after is not None
            assert after.liquidity == held.liquidity - held.liquidity * 37 // 100
        case "close":
            assert paid == inside.plus(held.amounts_owed)
            assert after is None
        case "increase" | "compound":
            assert after is not None
            added = after.liquidity - held.liquidity
            taken = held.span.holds(held.pool.sqrt_price_x96, added, round_up=True)
            assert added
            assert all(part <= most for part, most in zip(taken, bounds.taken, strict=True))
            collected = held.amounts_owed if kind == "compound" else Amounts(0, 0)
            assert paid == collected.less(taken)
        case "create" | "move":
            assert bounds.liquidity
            left = inside.plus(held.amounts_owed) if kind == "move" else Amounts(0, 0)
            assert all(part + most >= 0 for part, most in zip(paid, bounds.taken, strict=True))
            assert all(part <= all_ for part, all_ in zip(paid, left, strict=True))
    # What was allowed is used, but for what rounding spared.
    facts = await here.facts(*named[:2])
    for token in named[:2]:
        assert facts.allowances[token].direct[here.v3.manager] <= max(bounds.taken) // 100 + 2


async def test_several_are_collected_compounded_and_closed_at_once(
    desk: Desk, changing: Moves
) -> None:
    here, named = v3_desk(desk, changing, "WETH/USDC 0.3%")
    ids = [provided(here, named, 60, -195_000, "in range") for _ in range(3)]
    ids.append(provided(here, named, 60, -195_000, "above"))
    traded(here, named)
    for verb in (CollectRequest, CompoundRequest, CloseRequest):
        traded(here, named)
        held = [await here.position(each) for each in ids]
        parts = [one for one in held if verb is not CompoundRequest or all(one.fees)]
        forgotten(here, *named[:2])
        built, changes, _ = await here.carried_out(SeveralRequest(tuple(map(verb, parts))))
        moving = [each for each in built.transactions if each.step.startswith(("co", "exit"))]
        assert len(moving) == 1
        if verb is CollectRequest:
            assert changes[named[0]] == sum(one.amounts_owed[0] for one in held)
            assert changes[named[1]] == sum(one.amounts_owed[1] for one in held)
        if verb is CloseRequest:
            assert [await here.snapshot(each) for each in ids] == [None] * 4


async def test_a_move_with_a_swap_sells_and_enters(desk: Desk, changing: Moves) -> None:
    here, named = v3_desk(desk, changing, "WETH/USDC 0.3%")
    token_id = provided(here, named, 60, -195_000, "above")
    forgotten(here, *named[:2])
    held = await here.position(token_id)
    key = here.key(*named, 60)
    tick = tick_at_sqrt_price(held.pool.sqrt_price_x96)
    lower = nearest_usable_tick(tick - 1200, 60)
    sold = held.span.holds(held.pool.sqrt_price_x96, held.liquidity, round_up=False)
    zero_for_one = sold.amount1 == 0
    amount = max(sold) // 2
    quote = quote_at_most(await here.depth(key), amount, zero_for_one=zero_for_one)
    swap = QuotedSwap(key, zero_for_one, amount, quote.amount_out, quote.sqrt_price_after)

    built, changes, _ = await here.carried_out(
        ReRangeRequest(held, Span(lower, lower + 2400), swap)
    )

    names = [each.step for each in built.transactions]
    assert [name for name in names if not name.startswith("allow")] == ["exit", "swap", "create"]
    assert await here.snapshot(token_id) is None
    tokens = named[:2] if zero_for_one else (named[1], named[0])
    bought = changes[tokens[1]]
    assert bought >= 0
    assert changes[tokens[0]] < max(sold) // 20


async def test_what_was_allowed_to_the_manager_is_taken_back(desk: Desk, changing: Moves) -> None:
    here, named = v3_desk(desk, changing, "WETH/USDC 0.3%")
    given = tuple(Allowance(token, here.v3.manager, through_permit2=False) for token in named[:2])
    facts = await here.facts(*named[:2])
    assert all(facts.allowances[each.token].direct[here.v3.manager] for each in given)
    built = await here.built(RevokeRequest(given))
    for each in built.transactions:
        here.v3.moves.send(OWNER, each.to, each.data)
    facts = await here.facts(*named[:2])
    assert not any(facts.allowances[each.token].direct[here.v3.manager] for each in given)


SEQUENCES, MANY_SEQUENCES = 2, 100


@pytest.mark.parametrize(
    "seed",
    [
        pytest.param(seed, marks=() if seed < SEQUENCES else pytest.mark.soak)
        for seed in range(MANY_SEQUENCES)
    ],
)
async def test_whatever_is_done_in_turn_the_chain_holds_what_was_shown(
    desk: Desk, changing: Moves, seed: int
) -> None:
    """Five steps on positions of one pool, with trades between them that move its price."""
    draw = Random(seed)
    pair = draw.choice(list(PAIRS))
    here, named = v3_desk(desk, changing, pair)
    market = PAIRS[pair]
    ids = [provided(here, named, market.spacing, market.tick, draw.choice(PLACES)) for _ in "12"]
    forgotten(here, *named[:2])
    for _ in range(5):
        sold, bought = draw.choice((named[:2], (named[1], named[0])))
        amount = TRADED.get(sold, 3 * 10**8) * draw.randint(1, 20)
        here.v3.swap(ARBITRAGEUR, (sold, bought), named[2], amount)
        token_id = draw.choice(ids)
        held = await here.position(token_id)
        kind = draw.choice([kind for kind in KINDS if kind != "move"])
        if kind == "compound" and not buys_liquidity(
            held.span, held.pool.sqrt_price_x96, held.fees
        ):
            kind = "collect"
        inside = held.span.holds(held.pool.sqrt_price_x96, held.liquidity, round_up=False)
        _, changes, _ = await here.carried_out(request_of(kind, held, native=False))
        paid = Amounts(*(changes[token] for token in named[:2]))
        after = await here.snapshot(token_id)
        if kind == "close":
            assert (after, paid) == (None, inside.plus(held.amounts_owed))
            ids.remove(token_id)
            if not ids:
                break
            continue
        assert after is not None
        grown = after.liquidity - held.liquidity
        moved = held.span.holds(held.pool.sqrt_price_x96, abs(grown), round_up=grown > 0)
        waits = after.collectable
        match kind:
            case "collect" | "decrease":
                assert (paid, waits) == (moved.plus(held.amounts_owed), Amounts(0, 0))
            case "compound":
                assert (paid, waits) == (held.amounts_owed.less(moved), Amounts(0, 0))
            case "increase":
                assert paid == Amounts(0, 0).less(moved)
                # Each change rounds what waits down to a unit.
                assert all(
                    0 <= was - now <= 1 for was, now in zip(held.amounts_owed, waits, strict=True)
                )


PLANS, MANY = 60, 320
CHANGES, MANY_CHANGES = 250, 2_500


def test_what_is_built_is_let_through_and_read_back_to_the_byte() -> None:
    seen: Counter[str] = Counter()
    for seed in range(PLANS):
        plan = made_up_plan(seed, v3=True)
        steps = [decode(each) for each in plan.built.transactions]
        context = context_of(plan.request, plan.facts)
        judged = check(steps, context)
        assert isinstance(judged, Allowed), (type(plan.request).__name__, judged)
        assert [encode_call(step.call) for step in steps] == [
            each.data for each in plan.built.transactions
        ]
        seen.update(step.transaction.step for step in steps)
    assert {"exit", "collect", "decrease", "increase", "compound", "create", "move"} <= {*seen}


def fields_of(call: Any) -> Iterator[tuple[tuple[Any, ...], object]]:
    """Every value in a call, with the way to it."""
    for name in call.__struct_fields__:
        value = getattr(call, name)
        if isinstance(value, tuple):
            for place, inner in enumerate(value):
                yield from (((name, place, *way), each) for way, each in fields_of(inner))
        else:
            yield (name,), value


def changed(call: Any, way: tuple[Any, ...], value: object) -> Any:
    name, *rest = way
    if not rest:
        return replace(call, **{name: value})
    place, *deeper = rest
    parts = list(getattr(call, name))
    parts[place] = changed(parts[place], tuple(deeper), value)
    return replace(call, **{name: tuple(parts)})


def another(draw: Random, value: object) -> object:
    if isinstance(value, bool):
        return not value
    if isinstance(value, int):
        near = value + draw.choice((-1, 1, 2, 1000, -1000, value))
        return draw.choice((near, 0, value // 2, draw.getrandbits(100), 2**128 - 1))
    return draw.choice((address(draw), NATIVE))


def shown(step: DecodedStep, names: Names) -> tuple[str, ...]:
    return describe(step, names)


def judge(plan: MadeUpPlan, draw: Random) -> str:
    """What becomes of one change somewhere in the plan: refused, or told otherwise."""
    context = context_of(plan.request, plan.facts)
    names = names_on(plan.facts.network, plan.facts.sender, {}, context.positions)
    steps = [decode(each) for each in plan.built.transactions]
    acting = [at for at, step in enumerate(steps) if _of_v3(step.call)]
    at = draw.choice(acting)
    call = steps[at].call
    way, value = draw.choice(list(fields_of(call)))
    other = another(draw, value)
    if other == value:
        return "same"
    spoilt = changed(call, way, other)
    try:
        transaction = replace(steps[at].transaction, data=encode_call(spoilt))
        read = decode(transaction)
    except (DecodingError, EncodingError, ValueError, OverflowError):
        return "refused"
    told = [*steps[:at], read, *steps[at + 1 :]]
    if not isinstance(check(told, context), Allowed):
        return "refused"
    assert shown(read, names) != shown(steps[at], names), (way, value, other)
    _goes_home(told, context)
    return "shown"


def _of_v3(call: object) -> bool:
    return isinstance(call, Execute | Multicall) or (
        isinstance(call, PlainCall) and call.protocol == "v3"
    )


def _goes_home(steps: list[DecodedStep], context: PolicyContext) -> None:
    """Whatever is let through pays nobody but the wallet."""
    for step in steps:
        for way, value in fields_of(step.call):
            if way[-1] == "recipient":
                assert value in (context.owner, NATIVE)


@pytest.mark.parametrize(
    ("plans", "changes"),
    [(PLANS, CHANGES), pytest.param(MANY, MANY_CHANGES, marks=pytest.mark.soak)],
)
def test_no_changed_field_is_signed_under_the_same_sentences(plans: int, changes: int) -> None:
    draw = Random(46)
    made = [made_up_plan(seed, v3=True) for seed in range(plans)]
    found: Counter[str] = Counter()
    while found["refused"] + found["shown"] < changes:
        found[judge(draw.choice(made), draw)] += 1
    refused, told = found["refused"], found["shown"]
    printed(f"{refused + told} changed fields of v3: {refused} refused, {told} read otherwise")
    assert refused > changes // 2
