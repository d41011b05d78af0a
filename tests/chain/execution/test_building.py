"""Plans built and carried out, whole and step by step."""

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from itertools import product

import pytest
from msgspec.structs import replace

from chain.base.units import BIPS
from chain.contracts.networks import NATIVE
from chain.contracts.pool_key import PoolKey
from chain.devnet.world.deployment import ETHER
from chain.devnet.world.pools import (
    DYNAMIC,
    ETH_USDC,
    GUARDED,
    STABLE,
    WETH_USDC,
    WETH_USDC_LOW,
    DevnetPool,
)
from chain.execution.build.builder import Built, build, with_gas
from chain.execution.plan.facts import BuildError, PositionFacts, Tolerance
from chain.execution.plan.requests import (
    Allowance,
    CloseRequest,
    CollectRequest,
    CreateRequest,
    DecreaseRequest,
    QuotedSwap,
    Request,
    ReRangeRequest,
    RevokeRequest,
    WrapRequest,
)
from chain.execution.plan.sizing import guaranteed_by_exit, size_swap_entry
from chain.math.drift import Span, narrow_drift
from chain.math.liquidity import Amounts
from tests.chain.execution.on_small_world import (
    MANAGER,
    NETWORK,
    ROUTER,
    WALLET,
    Chain,
    fresh_chain,
    minted,
    small_world,
    steps,
)
from tests.chain.pools.quoting import quote_exact_input
from tests.samples import some_of

MOVABLE = (
    "healthy", "near the edge", "stable", "native", "dynamic fee", "hooked", "underpaid",
    "transferred in",
)  # fmt: skip
LEFT_BEHIND = ("below its range", "above its range")


@dataclass
class Run:
    """A request built, run, and what it changed in the wallet."""

    built: Built
    gained: Amounts
    token_id: int | None


@pytest.fixture
def chain() -> Chain:
    return fresh_chain()


def position(chain: Chain, name: str) -> PositionFacts:
    return chain.position(small_world().positions[name])


def carry_out(chain: Chain, request: Request, key: PoolKey) -> Run:
    pair = (key.currency0, key.currency1)
    before = [chain.balance(token, WALLET) for token in pair]
    facts = chain.facts(key)
    built = build(request, facts)
    mints = isinstance(request, ReRangeRequest | CreateRequest)
    outcomes = chain.run(built.transactions)
    after = [chain.balance(token, WALLET) for token in pair]
    gained = Amounts(*(now - then for now, then in zip(after, before, strict=True)))
    for token in (*pair, NATIVE):
        for place in (MANAGER, ROUTER):
            assert chain.balance(token, place) == 0
    kept_promises(chain, built)
    return Run(built, gained, minted(outcomes) if mints else None)


def kept_promises(chain: Chain, built: Built) -> None:
    """No permission is larger or longer than was said, and what is left of it expires."""
    for grant in built.grants:
        left = chain.allowances(grant.token).through_permit2[grant.spender]
        assert left.amount <= grant.amount
        assert left.expiration == grant.expiration <= chain.time + 1800


def entered(chain: Chain, run: Run, span: Span, key: PoolKey) -> PositionFacts:
    assert run.token_id is not None
    assert chain.owner(run.token_id) == WALLET
    made = chain.position(run.token_id)
    assert (made.span, made.pool.key) == (span, key)
    assert made.liquidity == run.built.bounds[-1].bounds.liquidity
    return made


@pytest.mark.parametrize("name", MOVABLE)
def test_a_range_moves_without_a_swap_in_one_step(chain: Chain, name: str) -> None:
    old = position(chain, name)
    key = old.pool.key
    width = (old.span.tick_upper - old.span.tick_lower) // 2
    span = Span(
        old.span.tick_lower - width // key.tick_spacing * key.tick_spacing, old.span.tick_upper
    )
    run = carry_out(chain, ReRangeRequest(old, span, None), key)
    assert steps(run.built) == (["unsubscribe", "move"] if name == "stable" else ["move"])
    assert run.built.transactions[-1].value == 0
    entered(chain, run, span, key)
    assert chain.owner(old.ref.token_id) is None
    # All of it comes from the burn: the wallet gets what is left and pays nothing.
    assert min(run.gained) >= 0


@pytest.mark.parametrize("name", some_of(zip((*LEFT_BEHIND, *MOVABLE), strict=False), 4, seed=47))
def test_a_range_moves_with_a_swap_on_what_the_exit_guarantees(chain: Chain, name: str) -> None:
    old = position(chain, name)
    key = old.pool.key
    reach = 4 if name == "stable" else 900
    span = chain.around(key, reach, 2 * reach)
    funds = guaranteed_by_exit(old, Tolerance())
    after_exit = fresh_chain()
    after_exit.run(build(CloseRequest(old), after_exit.facts(key)).transactions)
    swap = after_exit.balancing(key, span, funds)
    assert swap is not None
    run = carry_out(chain, ReRangeRequest(old, span, swap), key)
    assert steps(run.built)[-2:] == ["exit", "enter"]
    made = entered(chain, run, span, key)
    assert chain.owner(old.ref.token_id) is None
    assert min(run.gained) >= 0
    # What the router was allowed it used to the last unit.
    for grant in run.built.grants:
        assert chain.allowances(grant.token).through_permit2[grant.spender].amount == 0
        assert chain.allowances(grant.token).to_permit2 == 0
    put_in = made.span.holds(made.pool.sqrt_price_x96, made.liquidity, round_up=True)
    most = run.built.bounds[-1].bounds.taken
    assert put_in.amount0 <= most.amount0
    assert put_in.amount1 <= most.amount1
    assert 10 * worth(made, put_in) > 9 * worth(made, funds)
    assert 3 * worth(old, funds) > 2 * worth(old, held(old))


def held(at: PositionFacts) -> Amounts:
    return at.span.holds(at.pool.sqrt_price_x96, at.liquidity, round_up=False)


def worth(at: PositionFacts, amounts: Amounts) -> int:
    """In units of currency1."""
    return amounts.amount1 + (amounts.amount0 * at.pool.sqrt_price_x96**2 >> 192)


@pytest.mark.parametrize(
    ("pool", "budget"),
    some_of(
        product(
            (WETH_USDC_LOW, ETH_USDC, DYNAMIC, GUARDED),
            (Amounts(ETHER // 2, 0), Amounts(0, 1500 * 10**6)),
        ),
        4,
        seed=3,
    ),
)
def test_a_position_is_created_from_one_token(
    chain: Chain, pool: DevnetPool, budget: Amounts
) -> None:
    key = pool.key
    span = chain.around(key, 600, 900)
    swap = chain.balancing(key, span, budget)
    run = carry_out(chain, CreateRequest(chain.pool(key), span, budget, swap), key)
    entered(chain, run, span, key)
    for gained, most in zip(run.gained, budget, strict=True):
        assert gained >= -most


def test_a_swap_may_go_through_another_pool_of_the_pair(chain: Chain) -> None:
    key, deeper = WETH_USDC.key, WETH_USDC_LOW.key
    span = chain.around(key, 600, 600)
    sold = 700 * 10**6
    quote = quote_exact_input(chain.depth(deeper), sold, zero_for_one=False)
    swap = QuotedSwap(deeper, False, sold, quote.amount_out, quote.sqrt_price_after)
    run = carry_out(
        chain, CreateRequest(chain.pool(key), span, Amounts(0, 1500 * 10**6), swap), key
    )
    made = entered(chain, run, span, key)
    assert worth(made, held(made)) > 1200 * 10**6


def moving_with_swap(chain: Chain, name: str) -> ReRangeRequest:
    """Nearly all of a position, moved to a range that needs a swap."""
    old = position(chain, name)
    key = old.pool.key
    reach = 4 if name == "stable" else 900
    span = chain.around(key, reach, 2 * reach)
    after_exit = fresh_chain()
    after_exit.run(build(CloseRequest(old), after_exit.facts(key)).transactions)
    whole = Amounts(*(a + b for a, b in zip(held(old), old.fees, strict=True)))
    swap = after_exit.balancing(key, span, whole)
    assert swap is not None
    entry = size_swap_entry(old.pool, span, whole, swap, Tolerance(0, BIPS))
    return ReRangeRequest(old, span, swap, 99 * entry.sized.liquidity // 100)


@pytest.mark.parametrize("zero_for_one", [True, False])
def test_a_swap_of_more_than_there_is_is_refused(chain: Chain, zero_for_one: bool) -> None:
    old = position(chain, "healthy")
    swap = QuotedSwap(old.pool.key, zero_for_one, 101, 100, old.pool.sqrt_price_x96)
    funds = Amounts(100, 1_000) if zero_for_one else Amounts(1_000, 100)
    with pytest.raises(BuildError, match="sells more than is sure to be there"):
        size_swap_entry(old.pool, old.span, funds, swap, Tolerance(0, BIPS))


@pytest.mark.parametrize(
    ("name", "part"),
    some_of(product(("healthy", "native", "stable", "above its range"), (-1, 0, 1)), 5, seed=5),
)
def test_what_the_wallet_holds_besides_lets_a_swap_plan_survive_the_drift(
    chain: Chain, name: str, part: int
) -> None:
    request = moving_with_swap(chain, name)
    old, key = request.position, request.position.pool.key
    facts = chain.facts(key)
    built = build(request, facts)
    drift = built.tolerance.slippage_bips
    assert drift == narrow_drift(narrow_drift(50, old.span), request.span)
    before = worth(old, wealth(chain, key))
    chain.drift(key, part * (drift - Fraction(1, 2)))
    token_id = minted(chain.run(built.transactions))
    assert chain.position(token_id).liquidity == request.liquidity
    for token in (key.currency0, key.currency1):
        assert chain.balance(token, MANAGER) == chain.balance(token, ROUTER) == 0
    least = 0 if part == 0 else -worth(old, built.bounds[-1].bounds.besides)
    assert worth(old, wealth(chain, key)) - before >= least


@pytest.mark.parametrize("name", ["native", "below its range"])
def test_without_anything_besides_less_drift_is_survived(chain: Chain, name: str) -> None:
    request = moving_with_swap(chain, name)
    key = request.position.pool.key
    facts = chain.facts(key)
    poor = replace(facts, balances=dict.fromkeys(facts.balances, 0))
    built = build(request, poor)
    assert built.bounds[-1].bounds.besides == (0, 0)
    assert 0 < built.tolerance.slippage_bips < 15
    run = carry_out(chain, request, key)
    assert min(run.gained) >= 0


def wealth(chain: Chain, key: PoolKey) -> Amounts:
    return Amounts(chain.balance(key.currency0, WALLET), chain.balance(key.currency1, WALLET))


@pytest.mark.parametrize("bips", [-49, 49])
@pytest.mark.parametrize("name", ["native", "dynamic fee"])
def test_drift_within_the_bound_is_survived(chain: Chain, name: str, bips: int) -> None:
    """The same bytes, run after the price moved."""
    old = position(chain, name)
    key = old.pool.key
    wide = chain.around(key, 6000, 6000)
    # However much liquidity that costs, the new range is to survive it too.
    facts = replace(chain.facts(key), tolerance=Tolerance(50, idle_bips=10_000))
    plans = [
        build(request, facts).transactions
        for request in (
            CloseRequest(old),
            DecreaseRequest(old, 50),
            ReRangeRequest(old, wide, None),
        )
    ]
    chain.drift(key, bips)
    for (only,) in plans:
        assert chain.state.call(only.to, only.data, only.sender).success


@pytest.mark.parametrize("bips", [-60, 60])
@pytest.mark.parametrize("name", ["native", "dynamic fee"])
def test_drift_past_the_bound_is_refused_by_the_contracts(
    chain: Chain, name: str, bips: int
) -> None:
    old = position(chain, name)
    key = old.pool.key
    requests = (
        CloseRequest(old),
        DecreaseRequest(old, 50),
        ReRangeRequest(old, chain.around(key, 300, 300), None),
    )
    plans = [build(request, chain.facts(key)).transactions for request in requests]
    chain.drift(key, bips)
    for (only,) in plans:
        assert not chain.state.call(only.to, only.data, only.sender).success


@pytest.mark.parametrize("through_permit2", [False, True])
def test_an_allowance_is_taken_back(chain: Chain, through_permit2: bool) -> None:
    key = STABLE.key
    request = CreateRequest(chain.pool(key), chain.around(key, 5, 5), Amounts(10**8, 10**8), None)
    chain.run(build(request, chain.facts(key)).transactions[:-1])
    spender = MANAGER if through_permit2 else NETWORK.contracts.permit2
    before = chain.allowances(key.currency0)
    assert before.to_permit2 > 0 < before.through_permit2[MANAGER].amount
    allowance = Allowance(key.currency0, spender, through_permit2)
    revoking = build(RevokeRequest((allowance,)), chain.facts(key))
    chain.run(revoking.transactions)
    after = chain.allowances(key.currency0)
    assert (after.to_permit2 == 0) == (not through_permit2)
    assert (after.through_permit2[MANAGER].amount == 0) == through_permit2


def test_permissions_are_exact_skipped_when_there_and_reset_when_short(chain: Chain) -> None:
    key = STABLE.key
    span = chain.around(key, 5, 5)
    request = CreateRequest(chain.pool(key), span, Amounts(100 * 10**6, 100 * 10**6), None)
    first = build(request, chain.facts(key))
    approve = ["allow Permit2", "allow through Permit2"]
    assert steps(first) == [*approve, *approve, "create"]
    chain.run(first.transactions[:-1])
    again = build(request, chain.facts(key))
    assert steps(again) == ["create"]
    assert again.grants == first.grants
    larger = replace(request, budget=Amounts(200 * 10**6, 100 * 10**6 + 5))
    short = build(larger, chain.facts(key))
    assert steps(short)[:3] == ["reset allowance", *approve]
    chain.run(short.transactions)
    expired = build(request, replace(chain.facts(key), head_time=chain.time + 1000))
    assert "allow through Permit2" in steps(expired)


def test_steps_take_the_nonces_in_order_and_share_one_deadline(chain: Chain) -> None:
    old = position(chain, "stable")
    facts = chain.facts(old.pool.key)
    built = build(CloseRequest(old), facts)
    assert [each.nonce for each in built.transactions] == [facts.nonce, facts.nonce + 1]
    assert built.deadline == facts.head_time + 900
    assert build(CloseRequest(old), facts) == built
    estimated = with_gas(built, [100_000, 200_000])
    # Unsubscribing needs more gas to be there than it uses, so its ceiling stays.
    assert [each.gas for each in estimated.transactions] == [500_000, 300_000]
    assert [each.data for each in estimated.transactions] == [
        each.data for each in built.transactions
    ]


def test_gas_ceilings_leave_room(chain: Chain) -> None:
    old = position(chain, "above its range")
    key = old.pool.key
    span = chain.around(key, 600, 900)
    swap = chain.balancing(key, span, guaranteed_by_exit(old, Tolerance()))
    built = build(ReRangeRequest(old, span, swap), chain.facts(key))
    used = [outcome.gas_used for outcome in chain.run(built.transactions)]
    assert all(2 * gas <= 3 * each.gas for gas, each in zip(used, built.transactions, strict=True))


@pytest.mark.parametrize(
    ("request_of", "sentence"),
    [
        (
            lambda chain: ReRangeRequest(position(chain, "emptied"), Span(-60, 60), None),
            "no liquidity",
        ),
        (lambda chain: CollectRequest(position(chain, "emptied")), "no liquidity"),
        (lambda chain: DecreaseRequest(position(chain, "healthy"), 0), "from 1 to 100"),
        (lambda chain: DecreaseRequest(position(chain, "healthy"), 101), "from 1 to 100"),
        (lambda chain: WrapRequest(10**30), "holds less"),
        (
            lambda chain: CreateRequest(
                chain.pool(WETH_USDC_LOW.key),
                chain.around(WETH_USDC_LOW.key, 600, 600),
                Amounts(ETHER, 0),
                None,
            ),
            "cannot be put into this range",
        ),
    ],
)
def test_what_cannot_be_built_is_said(
    chain: Chain, request_of: Callable[[Chain], Request], sentence: str
) -> None:
    with pytest.raises(BuildError, match=sentence):
        build(request_of(chain), chain.facts(WETH_USDC_LOW.key))
