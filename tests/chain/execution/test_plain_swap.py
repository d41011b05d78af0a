"""A swap that enters nothing: what the policy lets through, and every change it refuses."""

from collections.abc import Callable
from fractions import Fraction

import pytest
from msgspec.structs import replace

from chain.contracts.networks import NATIVE, Address
from chain.contracts.pool_key import PoolKey
from chain.execution.build.builder import build
from chain.execution.decode.decoder import decode
from chain.execution.decode.parties import parties_of
from chain.execution.plan.context import PolicyContext
from chain.execution.plan.facts import ChainFacts, FeeCaps, PoolFacts
from chain.execution.plan.records import DecodedStep, Execute
from chain.execution.plan.requests import QuotedSwap, SwapRequest
from chain.execution.policy.policy import Allowed, PolicyRefused, check
from chain.execution.v4.records import DecodedSettle, DecodedSwapExactIn, DecodedTake, DecodedV4Swap
from chain.execution.v4.shapes import plain_swap
from chain.math.ticks import sqrt_price_at_tick
from tests.chain.execution.made_up_plans import NETWORK, context_of

OWNER, STRANGER, TOKEN = ("0x" + part * 20 for part in ("a1", "b2", "c3"))
SOLD = 10**18


def _swap(sold: Address) -> tuple[tuple[DecodedStep, ...], PolicyContext]:
    """One for one at a price of one, the other token being `TOKEN`."""
    currency0, currency1 = sorted((sold, TOKEN))
    key = PoolKey(currency0, currency1, 500, 10, NATIVE)
    pool = PoolFacts(key, sqrt_price_at_tick(0), 500)
    quoted = QuotedSwap(key, currency0 == sold, SOLD, SOLD * 999 // 1000, sqrt_price_at_tick(0))
    facts = ChainFacts(
        network=NETWORK,
        sender=OWNER,
        head_time=1_800_000_000,
        nonce=7,
        fees=FeeCaps(10**9, 10**8),
        balances={NATIVE: 10**20, sold: 10**20, TOKEN: 0},
        allowances={},
    )
    request = SwapRequest(pool, quoted)
    steps = tuple(decode(each) for each in build(request, facts).transactions)
    return steps, context_of(request, facts)


@pytest.mark.parametrize("sold", [NATIVE, "0x" + "d4" * 20])
def test_an_honest_swap_passes_and_pays_the_wallet_alone(sold: Address) -> None:
    steps, context = _swap(sold)

    assert isinstance(check(steps, context), Allowed)
    parties = parties_of(steps)
    assert (parties.recipients, parties.between) == ((OWNER,), ())
    assert steps[-1].transaction.value == (SOLD if sold == NATIVE else 0)
    assert [step.transaction.step for step in steps][-1] == "swap"


def _changed(change: Callable[[DecodedSwapExactIn, DecodedSettle, DecodedTake], object]) -> object:
    steps, context = _swap(NATIVE)
    step = steps[-1]
    assert isinstance(step.call, Execute)
    (command,) = step.call.commands
    assert isinstance(command, DecodedV4Swap)
    swap, settle, take = command.actions
    assert isinstance(swap, DecodedSwapExactIn)
    assert isinstance(settle, DecodedSettle)
    assert isinstance(take, DecodedTake)
    actions = change(swap, settle, take)
    call = replace(step.call, commands=(replace(command, actions=actions),))
    return check((*steps[:-1], replace(step, call=call)), context)


@pytest.mark.parametrize(
    "change",
    [
        lambda swap, settle, take: (swap, settle, replace(take, recipient=STRANGER)),
        lambda swap, settle, take: (swap, settle, replace(take, amount=1)),
        lambda swap, settle, take: (swap, settle, replace(take, currency=NATIVE)),
        lambda swap, settle, take: (swap, replace(settle, payer_is_user=False), take),
        lambda swap, settle, take: (swap, replace(settle, currency=STRANGER), take),
        lambda swap, settle, take: (swap, settle),
        lambda swap, settle, take: (swap, settle, take, take),
        lambda swap, settle, take: (swap, swap, settle, take),
        lambda swap, settle, take: (replace(swap, amount_out_minimum=0), settle, take),
        lambda swap, settle, take: (
            replace(swap, amount_out_minimum=swap.amount_out_minimum * 9 // 10),
            settle,
            take,
        ),
        lambda swap, settle, take: (replace(swap, amount_in=swap.amount_in * 2), settle, take),
        lambda swap, settle, take: (replace(swap, zero_for_one=False), settle, take),
        lambda swap, settle, take: (replace(swap, hook_data=b"x"), settle, take),
        lambda swap, settle, take: (
            replace(swap, pool=swap.pool._replace(fee=3000)),
            settle,
            take,
        ),
    ],
)
def test_any_other_recipient_payer_pool_or_amount_is_refused(
    change: Callable[[DecodedSwapExactIn, DecodedSettle, DecodedTake], object],
) -> None:
    assert isinstance(_changed(change), PolicyRefused)


@pytest.mark.parametrize("value", [0, SOLD - 1, SOLD + 1])
def test_the_coin_sent_along_is_what_is_sold(value: int) -> None:
    steps, context = _swap(NATIVE)
    sent = replace(steps[-1].transaction, value=value)

    assert isinstance(check((replace(steps[-1], transaction=sent),), context), PolicyRefused)


@pytest.mark.parametrize(("bought_is_worth", "passes"), [(100, True), (97, True), (103, False)])
def test_a_pool_far_from_the_market_is_refused(bought_is_worth: int, passes: bool) -> None:
    """Worth more than what is sold is what would have to be paid for: then too little comes out."""
    steps, context = _swap(NATIVE)
    sold = Fraction(bought_is_worth, 100)
    priced = replace(context, worth={NATIVE: sold, TOKEN: Fraction(1)})

    assert isinstance(check(steps, priced), Allowed) is passes


def test_worth_that_nobody_knows_refuses_nothing() -> None:
    steps, context = _swap(NATIVE)

    assert isinstance(check(steps, replace(context, worth={NATIVE: Fraction(5)})), Allowed)


def test_only_a_swap_that_is_settled_and_taken_is_a_plain_one() -> None:
    call = _swap(NATIVE)[0][-1].call
    assert isinstance(call, Execute)
    (command,) = call.commands
    assert isinstance(command, DecodedV4Swap)
    swap, settle, take = command.actions
    assert plain_swap(call) is not None
    for actions in ((swap, take, take), (swap, settle, settle), (swap, take, settle)):
        assert plain_swap(replace(call, commands=(DecodedV4Swap(actions),))) is None
