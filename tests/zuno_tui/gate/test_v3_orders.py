"""Standing orders for positions of Uniswap v3, on the real contracts."""

import random
from collections.abc import Iterator
from math import isqrt

import pytest
from msgspec.structs import replace

from chain.contracts.networks import network_named
from chain.contracts.signed_delegation import caveats_of, terms_in
from chain.devnet.launch import DevnetReady
from chain.execution.decode.decoder import decode_call, encode_call
from chain.execution.plan.records import Multicall, PlainCall
from chain.execution.v3.records import BurnToken, Collect, DecreaseLiquidity, RefundCoin
from chain.math.ticks import tick_at_sqrt_price
from chain.standing_orders.call import OrderRefusedError, call_in, read_call
from chain.standing_orders.order import PricePast, StandingOrder, StandingState
from chain.standing_orders.seal import fault_of, is_sealed
from tests.embedded_chain import embedded_chain
from tests.printed import printed
from tests.samples import some_of
from tests.zuno_tui.gate.desk import Desk
from tests.zuno_tui.gate.test_one_transaction import signed
from tests.zuno_tui.gate.test_standing_orders import (
    ATTACKER,
    Watching,
    attempts,
    ordered,
    redeemable,
)

NETWORK = network_named("devnet")
_PRICE_BITS = 184


@pytest.fixture(scope="module")
def chain() -> Iterator[DevnetReady]:
    with embedded_chain(v3=True) as ready:
        yield ready


def stop(desk: Desk, ref: str, share: float) -> StandingOrder:
    price = float(desk.positions()[ref]["price"])
    ordered(desk, "close", ref, "below", f"{price * share:.2f}")
    return Watching(desk).order().order


def push(desk: Desk, ref: str, *, bips: int) -> None:
    """The price of its pool, which is kept in the first word of the pool's own storage."""
    pool = desk.positions()[ref]["poolId"]
    word = int(desk.ask("eth_getStorageAt", pool, "0x0", "latest"), 16)
    price = word & ((1 << 160) - 1)
    moved = isqrt(price * price * (10_000 + bips) // 10_000)
    tick = tick_at_sqrt_price(moved) % (1 << 24)
    changed = word >> _PRICE_BITS << _PRICE_BITS | tick << 160 | moved
    desk.ask("anvil_setStorageAt", pool, "0x0", f"0x{changed:064x}")
    desk.ask("evm_mine")


def towards(order: StandingOrder) -> int:
    assert isinstance(order.condition, PricePast)
    return -150 if order.condition.falls else 150


@pytest.mark.parametrize("ref", some_of(((each,) for each in ["3:3", "3:5", "3:6"]), 1, seed=44))
def test_a_stop_closes_below_its_price_and_pays_all_that_was_in_it(
    delegated: Desk, ref: str
) -> None:
    desk = delegated
    assert desk.here("order", "form", ref).code == 0
    order = stop(desk, ref, 0.99)
    call, watching = call_in(order, NETWORK), Watching(desk)
    for _ in range(4):
        watching.look()
    assert watching.order().progress.state is StandingState.WAITING
    assert not redeemable(desk, order)
    push(desk, ref, bips=towards(order))
    inside = desk.positions()[ref]
    before = [desk.held(call.recipient, token) for token in call.currencies]
    for blocks in (1, 10, 4):
        watching.look(blocks=blocks)

    progress = watching.order().progress
    assert progress.state is StandingState.DONE, (progress, watching.told)
    assert ref not in desk.positions()
    after = [desk.held(call.recipient, token) for token in call.currencies]
    gained = [now - then for now, then in zip(after, before, strict=True)]
    # Nobody else traded, so what the position was said to hold is what came, to the unit.
    parts = [(f"amount{place}", f"fees{place}", f"withdrawn{place}") for place in (0, 1)]
    held = [sum(int(inside.get(name) or 0) for name in names) for names in parts]
    assert gained == held
    assert all(got >= least for got, least in zip(gained, call.least, strict=True))
    assert progress.closed is not None
    assert progress.closed.sqrt_price
    assert progress.closed.key.pool_id == inside["poolId"]
    receipt = desk.ask("eth_getTransactionReceipt", progress.results[0])
    printed(f"{ref}: {int(receipt['gasUsed'], 16):,} gas")
    assert not redeemable(desk, order)


def test_v3_knows_no_exact_call_that_compounds_or_moves(delegated: Desk) -> None:
    for words in (("compound", "3:3", "over", "$5"), ("move", "3:3", "up", "to", "3400")):
        told = delegated.here("order", *words)

        assert told.code == 3
        assert "its manager pays fees and tokens to the wallet first" in told.words


def test_fees_are_collected_as_often_as_signed(delegated: Desk) -> None:
    desk = delegated
    ordered(desk, "collect", "3:3", "every", "10m", "over", "$0.000001", "times", "2")
    watching = Watching(desk)
    for _ in range(4):
        watching.look(blocks=60)
    progress = watching.order().progress
    receipt = desk.ask("eth_getTransactionReceipt", progress.results[0])
    printed(f"collect: {int(receipt['gasUsed'], 16):,} gas")

    assert (progress.done, progress.state) == (1, StandingState.WAITING)
    assert len(progress.received) == 2
    assert "3:3" in desk.positions()


def test_whoever_has_the_watch_key_and_the_file_can_do_nothing_but_the_order(
    delegated: Desk,
) -> None:
    desk = delegated
    order = stop(desk, "3:3", 0.99)
    assert not redeemable(desk, order), "not early"
    push(desk, "3:3", bips=towards(order))
    assert redeemable(desk, order)
    assert attempts(desk, order, seed=5, count=60) == 0


def test_only_the_two_shapes_are_read_as_orders(delegated: Desk) -> None:
    order = stop(delegated, "3:3", 0.99)
    terms = terms_in(order.delegation_signed.caveats)
    assert terms is not None
    whole = decode_call(terms.call.data)
    assert isinstance(whole, Multicall)
    taken, paid, burnt = whole.calls
    assert isinstance(taken, DecreaseLiquidity)
    assert isinstance(paid, Collect)
    assert isinstance(burnt, BurnToken)
    odd: list[PlainCall] = [
        replace(paid, recipient=ATTACKER),
        replace(paid, recipient="0x" + "00" * 20),
        replace(paid, amount0_max=5),
        taken,
        burnt,
        Multicall((paid,)),
        *(
            Multicall(calls)
            for calls in (
                (taken, paid),
                (paid, burnt),
                (taken, burnt, paid),
                (taken, paid, paid, burnt),
                (taken, paid, burnt, RefundCoin()),
                (replace(taken, token_id=4), paid, burnt),
                (taken, replace(paid, token_id=4), burnt),
                (taken, paid, replace(burnt, token_id=4)),
                (taken, replace(paid, amount1_max=1), burnt),
                (taken, replace(paid, recipient=ATTACKER), burnt),
                (replace(taken, deadline=taken.deadline + 1), paid, burnt),
            )
        ),
    ]

    read_call(order.delegation_signed, NETWORK)
    for call in odd:
        changed = terms._replace(call=terms.call._replace(data=encode_call(call)))
        with pytest.raises(OrderRefusedError):
            read_call(order.delegation_signed._replace(caveats=caveats_of(changed)), NETWORK)
    v4 = terms.call._replace(to=NETWORK.contracts.position_manager)
    with pytest.raises(OrderRefusedError):
        read_call(
            order.delegation_signed._replace(caveats=caveats_of(terms._replace(call=v4))), NETWORK
        )


def test_a_changed_file_is_not_carried_out(delegated: Desk) -> None:
    order = stop(delegated, "3:3", 0.99)
    assert isinstance(order.tokens, tuple)
    token0, token1 = order.tokens
    chance = random.Random(9)
    others = [(token1, token0), (token0, ATTACKER), (f"0x{chance.randbytes(20).hex()}", token1)]

    assert fault_of(order, call_in(order, NETWORK)) == ""
    for tokens in others:
        odd = replace(order, tokens=tokens)
        assert not is_sealed(odd, call_in(odd, NETWORK))
        assert fault_of(odd, call_in(odd, NETWORK))


@pytest.mark.parametrize("words", [("increase", "3:3", "0.1", "WETH"), ("decrease", "3:3", "10")])
def test_a_position_that_changed_ends_its_stop(delegated: Desk, words: tuple[str, ...]) -> None:
    desk = delegated
    order = stop(desk, "3:3", 0.99)
    assert "Order 1 is cancelled with it" in str(desk.approved(*words))
    signed(desk, *words)
    watching = Watching(desk)
    watching.look()

    assert watching.order().progress.state is StandingState.ENDED
    push(desk, "3:3", bips=towards(order))
    assert not redeemable(desk, order)
