"""The policy on other networks and for a swap that enters nothing; what may be kept back."""

from collections.abc import Callable
from fractions import Fraction

import pytest
from msgspec.structs import replace

from chain.contracts.abi import encode, selector
from chain.contracts.networks import NATIVE, Address, network_named
from chain.contracts.pool_key import DecodedPoolKey, PoolKey
from chain.execution.build.builder import build
from chain.execution.decode.decoder import decode
from chain.execution.decode.parties import parties_of
from chain.execution.decode.words import names_on
from chain.execution.exit_tax import ExitTax, untold_tokens
from chain.execution.plan.context import PolicyContext
from chain.execution.plan.facts import ChainFacts, FeeCaps, PoolFacts
from chain.execution.plan.records import DecodedStep, Execute
from chain.execution.plan.requests import QuotedSwap, SwapRequest
from chain.execution.policy.policy import Allowed, PolicyRefused, check
from chain.execution.simulate import Simulation, StepOutcome, refusal_words
from chain.execution.v4.records import (
    Action,
    DecodedSettle,
    DecodedSwapExactIn,
    DecodedTake,
    DecodedV4Swap,
    ModifyLiquidities,
)
from chain.execution.v4.shapes import plain_swap, swap_and_enter
from chain.math.drift import least_paid, price_band
from chain.math.ticks import sqrt_price_at_tick
from chain.tokens import Token
from tests.chain.execution.made_up_plans import NETWORK, context_of
from tests.chain.execution.policy_bench import Bench, altered, reasons, setting, spoil


@pytest.fixture(scope="module")
def bench() -> Bench:
    return Bench()


def _through(bench: Bench, percent: int) -> tuple[DecodedStep, PolicyContext]:
    """The swap led through a plain pool of the same pair that pays this share of the price."""
    step, context = bench.alone("swap")
    assert isinstance(step.call, Execute)
    recipe = swap_and_enter(step.call)
    assert recipe is not None
    entered = recipe.mint.pool
    other = DecodedPoolKey(entered.currency0, entered.currency1, 10_000, 200, entered.hooks)
    (quote,) = context.quotes
    squared = context.pools[entered].sqrt_price_x96 ** 2
    at_price = (
        quote.amount_in * squared >> 192
        if quote.zero_for_one
        else (quote.amount_in << 192) // squared
    )
    pays = at_price * percent // 100

    def led(action: Action) -> Action:
        if hasattr(action, "amount_out_minimum"):
            return altered(action, pool=other, amount_out_minimum=pays)
        return action

    facts = PoolFacts(PoolKey(*other), context.pools[entered].sqrt_price_x96, other.fee)
    told = QuotedSwap(
        PoolKey(*other), quote.zero_for_one, quote.amount_in, pays, quote.sqrt_price_after
    )
    return (
        replace(step, call=spoil(step.call, led)),
        replace(context, pools={**context.pools, other: facts}, quotes=(told,)),
    )


def test_a_pool_that_pays_the_price_may_be_swapped_in(bench: Bench) -> None:
    step, context = _through(bench, 98)

    assert isinstance(check([step], context), Allowed)


@pytest.mark.parametrize("percent", [33, 90, 96])
def test_a_pool_opened_at_a_price_of_its_own_is_not(bench: Bench, percent: int) -> None:
    step, context = _through(bench, percent)

    assert "price of the position's pool" in reasons([step], context)


def _leaving(context: PolicyContext, times: int) -> PolicyContext:
    """The swap leaves its pool at so many times the price."""
    (quote,) = context.quotes
    return replace(
        context, quotes=(replace(quote, sqrt_price_after=quote.sqrt_price_after * times),)
    )


def test_amounts_are_judged_at_the_price_that_a_swap_leaves_in_the_pool_entered(
    bench: Bench,
) -> None:
    step, context = bench.alone("swap")
    assert isinstance(check([step], _leaving(context, 1)), Allowed)
    assert "the maximums" in reasons([step], _leaving(context, 4))
    # What a swap elsewhere leaves behind there moves nothing here.
    step, context = _through(bench, 98)
    assert isinstance(check([step], _leaving(context, 4)), Allowed)


@pytest.mark.parametrize("name", ["close", "decrease"])
def test_minimums_may_be_as_old_as_the_drift_that_is_allowed(bench: Bench, name: str) -> None:
    step, context = bench.alone(name)
    (position,) = context.positions.values()
    assert isinstance(step.call, ModifyLiquidities)
    liquidity = getattr(step.call.actions[0], "liquidity", position.liquidity)
    band = price_band(position.pool.sqrt_price_x96, 150)
    floor = least_paid(position.span, liquidity, band)

    def judged(amount0: int, drift_bips: int) -> Allowed | PolicyRefused:
        call = spoil(step.call, setting("amount0_min", lambda _: amount0))
        call = spoil(call, setting("amount1_min", lambda _: floor.amount1))
        return check([replace(step, call=call)], replace(context, drift_bips=drift_bips))

    assert isinstance(judged(floor.amount0, 0), PolicyRefused)
    assert isinstance(judged(floor.amount0, 50), Allowed)
    assert isinstance(judged(floor.amount0 - 1, 50), PolicyRefused)


TOKEN = "0x" + "ab" * 20


def _kept(owed: int, kept: int) -> ExitTax:
    return ExitTax(TOKEN, owed, owed - kept, by_hook=True)


@pytest.mark.parametrize(("owed", "share"), [(10**18, 20_000), (10**18 + 7, 20_000), (999, 1)])
def test_the_same_share_of_any_amount_is_the_same(owed: int, share: int) -> None:
    for amount in (owed, owed + 1, owed * 3 // 2):
        assert not _kept(amount, amount * share // 10**6).exceeds(share)


def test_one_basis_point_more_is_more() -> None:
    assert _kept(10**18, 10**18 * 201 // 10_000).exceeds(20_000)
    assert not _kept(10**18, 10**18 * 199 // 10_000).exceeds(20_000)


def test_a_share_is_rounded_against_whoever_keeps_it() -> None:
    assert _kept(10**18, 1).millionths == 1
    assert _kept(10**18, 10**16).millionths == 10_000


@pytest.mark.parametrize(
    ("listed", "agreed", "said"),
    [(True, False, False), (True, True, True), (False, False, True), (False, True, True)],
)
def test_of_a_listed_token_nothing_is_said_on_one_endpoints_word(
    listed: bool, agreed: bool, said: bool
) -> None:
    token = Token(TOKEN, "WETH", 18, verified=listed, suspicious=not listed)
    names = names_on(network_named("base"), "0x" + "cd" * 20, {TOKEN: token})
    outcome = StepOutcome("collect", True, 90_000, {TOKEN: 5}, None, {TOKEN: 5})
    tried = Simulation("eth_simulateV1", (outcome,), ())

    assert untold_tokens(tried, names, agreed=agreed) == ((TOKEN,) if said else ())


OTHER = "0x" + "ab" * 20


def _error(signature: str, *values: object) -> bytes:
    types = signature[signature.index("(") + 1 : -1]
    return selector(signature) + encode(tuple(types.split(",")) if types else (), values)


def _wrapped(details: str, reason: bytes = b"") -> bytes:
    signature = "WrappedError(address,bytes4,bytes,bytes)"
    return _error(signature, OTHER, bytes(4), reason, selector(details))


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (b"", "the contract refuses"),
        (bytes.fromhex("deadbeef"), "error 0xdeadbeef"),
        (_error("Error(string)", b"no \x1b[31mway"), "says: “no [31mway”"),
        (_error("MinimumAmountInsufficient(uint128,uint128)", 1000, 900), "10.00% less"),
        (_error("MinimumAmountInsufficient(uint128,uint128)", 1000, 900), "hook keeps a part"),
        (_error("MaximumAmountExceeded(uint128,uint128)", 5, 6), "6 units where at most 5"),
        (_error("V4TooLittleReceived(uint256,uint256)", 200, 199), "0.50% less"),
        (_error("CurrencyNotSettled()"), "keeps a part of every transfer"),
        (_error("SafeCastOverflow()"), "asks for more than the position pays out"),
        (_error("DeadlinePassed(uint256)", 7), "deadline has passed; approve it again"),
        (_wrapped("HookCallFailed()"), "the pool's hook 0xABaB…ABaB refuses it"),
        (_wrapped("HookCallFailed()", _error("Error(string)", b"\x1b]0;x")), "(it says: “]0;x”)"),
        (_wrapped("ERC20TransferFailed()"), "the token 0xABaB…ABaB cannot be moved"),
        (
            _wrapped("BurnNotificationReverted(address,bytes)"),
            "subscriber 0xABaB…ABaB refuses it; dismiss it first",
        ),
        (
            _error("ExecutionFailed(uint256,bytes)", 2, _error("CurrencyNotSettled()")),
            "keeps a part of every transfer",
        ),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_a_refusal_is_told_in_words_that_cannot_steer_a_terminal(data: bytes, said: str) -> None:
    words = refusal_words(data)

    assert said in words
    assert words.isprintable()


@pytest.mark.parametrize("cut", [4, 5, 36, 100])
def test_an_error_cut_short_is_named_by_its_first_bytes(cut: int) -> None:
    assert refusal_words(_wrapped("HookCallFailed()")[:cut]).endswith("error 0x90bfb865")


def test_errors_wrapped_without_end_come_to_an_end() -> None:
    data = _error("CurrencyNotSettled()")
    for _ in range(50):
        data = _error("ExecutionFailed(uint256,bytes)", 0, data)

    assert refusal_words(data).endswith("error 0x2c4029e9")


OWNER, STRANGER, BOUGHT = ("0x" + part * 20 for part in ("a1", "b2", "c3"))
SOLD = 10**18


def _swap(sold: Address) -> tuple[tuple[DecodedStep, ...], PolicyContext]:
    """One for one at a price of one, the other token being `BOUGHT`."""
    currency0, currency1 = sorted((sold, BOUGHT))
    key = PoolKey(currency0, currency1, 500, 10, NATIVE)
    pool = PoolFacts(key, sqrt_price_at_tick(0), 500)
    quoted = QuotedSwap(key, currency0 == sold, SOLD, SOLD * 999 // 1000, sqrt_price_at_tick(0))
    facts = ChainFacts(
        network=NETWORK,
        sender=OWNER,
        head_time=1_800_000_000,
        nonce=7,
        fees=FeeCaps(10**9, 10**8),
        balances={NATIVE: 10**20, sold: 10**20, BOUGHT: 0},
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
    priced = replace(context, worth={NATIVE: sold, BOUGHT: Fraction(1)})

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
