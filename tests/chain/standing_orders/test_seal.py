"""The seal of an order: fixed inputs give fixed salts, and a minimum gives its level back."""

import random

import pytest
from msgspec.structs import replace

from chain.contracts.addresses import keccak
from chain.contracts.networks import network_named
from chain.execution.plan.protocol import OrderKind
from chain.math.liquidity import Amounts
from chain.math.ticks import sqrt_price_at_tick
from chain.protocols.reference import v4_position
from chain.standing_orders.call import OrderCall, least_amounts
from chain.standing_orders.order import (
    FeesOver,
    LossOver,
    OrderCondition,
    OutOfRange,
    PricePast,
    StandingOrder,
)
from chain.standing_orders.seal import bound_level, salt_of
from tests.chain.positions.examples import KEY, OWNER, position

SECRET = "000102030405060708090a0b0c0d0e0f"
HOOK = "0x" + "ab" * 32
DEVNET = network_named("devnet")


def _call(kind: OrderKind, least: Amounts) -> OrderCall:
    pair = (KEY.currency0, KEY.currency1)
    return OrderCall(kind, v4_position(7), least, pair, OWNER, 2_000_000_000, 1, 0)


def _order(condition: OrderCondition, hook: str | None = None) -> StandingOrder:
    return StandingOrder(
        version=2,
        number=3,
        chain_id=1,
        delegation="",
        condition=condition,
        made_at=0.0,
        liquidity="123456789",
        hook_code=hook,
        hold_seconds=120,
        pair=("WETH", "USDC"),
        decimals=(18, 6),
        secret=SECRET,
    )


VECTORS: list[tuple[OrderKind, OrderCondition, str | None, Amounts, str]] = [
    (
        "close",
        PricePast("4339505179874779662909440", falls=True),
        None,
        Amounts(4 * 10**18, 0),
        "85e25911173b0b443024ba83b06aac316b10ba915bda20355fb924dfa6e6fd21",
    ),
    (
        "close",
        OutOfRange(7_200),
        HOOK,
        Amounts(0, 0),
        "d6ceac38b58d868821a85a7ec221b7e925f68d80a920e68fcf19acac14c272fe",
    ),
    (
        "close",
        LossOver(500),
        None,
        Amounts(0, 0),
        "1e38e267367f0dd93a732cff245896f9eb6d36bc1805d4fe16a3b6e9c1b6456b",
    ),
    (
        "collect",
        FeesOver(50_000_000, 604_800),
        None,
        Amounts(0, 0),
        "0c2745b728e6cd4ecbfdc0bd2dcc6ec4783b03c4b5242ec36d70737889244e3f",
    ),
]


def _by_hand(
    kind: str, condition: tuple[int, int, int], hook: int, least: Amounts, liquidity: int
) -> str:
    """The same bytes, written down as they are defined."""
    numbers = [
        {"close": 1, "collect": 2}[kind],
        *condition,
        120,
        hook,
        *least,
        liquidity,
        int.from_bytes(keccak(b"WETH\0USDC"), "big"),
        18,
        6,
        0,
    ]
    words = b"".join(number.to_bytes(32, "big") for number in numbers)
    return keccak(b"zuno standing order\x02" + words + bytes.fromhex(SECRET)).hex()


@pytest.mark.parametrize(("kind", "condition", "hook", "least", "salt"), VECTORS)
def test_fixed_terms_give_a_fixed_salt(
    kind: OrderKind, condition: OrderCondition, hook: str | None, least: Amounts, salt: str
) -> None:
    match condition:
        case PricePast(price, falls):
            figures = (1, int(price), int(falls))
        case OutOfRange(seconds):
            figures = (2, seconds, 0)
        case LossOver(bips):
            figures = (3, bips, 0)
        case FeesOver(micro_usd, seconds):
            figures = (4, micro_usd, seconds)
    liquidity = 123456789 if kind == "close" else 0
    by_hand = _by_hand(kind, figures, int(hook or "0", 16), least, liquidity)

    assert f"{salt_of(_order(condition, hook), _call(kind, least)):064x}" == by_hand == salt


def test_everything_that_makes_it_act_or_is_shown_changes_the_salt() -> None:
    good, call = _order(LossOver(500)), _call("close", Amounts(0, 0))
    others = [
        replace(good, condition=LossOver(501)),
        replace(good, condition=OutOfRange(500)),
        replace(good, hold_seconds=121),
        replace(good, hook_code=HOOK),
        replace(good, liquidity="123456788"),
        replace(good, pair=("WETH", "USDT")),
        replace(good, decimals=(6, 18)),
        replace(good, decimals=None),
        replace(good, inverted=True),
        replace(good, secret="ff" * 16),
        replace(good, size="grown"),
        replace(good, size="filled"),
        replace(good, ticks=(-100, 100)),
        replace(good, ticks=(-100, 110)),
    ]
    salts = {salt_of(other, call) for other in (good, *others)}
    calls = {
        salt_of(good, _call("close", Amounts(1, 0))),
        salt_of(good, _call("close", Amounts(0, 1))),
    }

    assert len(salts | calls) == len(others) + 3
    kinds: tuple[OrderKind, ...] = ("close", "collect", "compound", "move", "follow")
    assert len({salt_of(good, _call(kind, Amounts(1, 0))) for kind in kinds}) == len(kinds)
    # What is collected fits a position of any size.
    collect = _call("collect", Amounts(0, 0))
    assert salt_of(good, collect) == salt_of(replace(good, liquidity="1"), collect)


def test_a_signed_minimum_gives_its_level_back() -> None:
    chance = random.Random(7)
    for _ in range(300):
        middle = chance.uniform(0.01, 100)
        lower, upper = middle / chance.uniform(1.01, 2), middle * chance.uniform(1.01, 2)
        held = position(middle, lower, upper, liquidity=chance.randrange(10**15, 10**24))
        ticks = held.identity.tick_lower, held.identity.tick_upper
        low, high = map(sqrt_price_at_tick, ticks)
        meant = PricePast(str(chance.randrange(low + 1, high)), falls=chance.random() < 0.5)
        found = bound_level(_call("close", least_amounts(held, meant)), held)

        assert found is not None
        assert found.falls is meant.falls
        assert abs(int(found.sqrt_price) / int(meant.sqrt_price) - 1) < 1e-9


def test_a_minimum_of_all_there_is_at_the_edge_binds_no_level() -> None:
    held = position(1.0, 0.9, 1.1)
    low = sqrt_price_at_tick(held.identity.tick_lower)
    beyond = PricePast(str(low * 9 // 10), falls=True)
    whole = least_amounts(held, beyond)

    assert bound_level(_call("close", whole), held) is None
    assert bound_level(_call("close", Amounts(whole.amount0 * 2, 0)), held) is None
    assert bound_level(_call("close", Amounts(1, 1)), held) is None


@pytest.mark.parametrize(
    ("inverted", "falls", "words"),
    [
        (False, True, "below 2,900 USDC per WETH"),
        (False, False, "above 2,900 USDC per WETH"),
        (True, True, "above 0.000344827586 WETH per USDC"),
    ],
)
def test_a_level_is_told_by_what_is_sealed(inverted: bool, falls: bool, words: str) -> None:
    root = 4266567125057494535506749  # the square root of 2,900e-12, as Q64.96
    price = PricePast(str(root), falls=falls)
    level = replace(_order(price), inverted=inverted).level

    assert level is not None
    assert " ".join(level) == words
