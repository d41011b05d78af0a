"""The steps around a recipe: permissions, nonces, gas, and what cannot be built at all."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from msgspec.structs import replace

from chain.contracts import abi
from chain.devnet.world.accounts import KEEPER
from chain.devnet.world.deployment import ETHER, EXIT_GUARD, SET_REFUSING
from chain.devnet.world.pools import STABLE, WETH_USDC_LOW
from chain.execution.build.builder import build, with_gas
from chain.execution.plan.facts import BuildError, Span, Tolerance
from chain.execution.plan.requests import (
    Allowance,
    CloseRequest,
    CollectRequest,
    CreateRequest,
    DecreaseRequest,
    ReRangeRequest,
    RevokeRequest,
    WrapRequest,
)
from chain.execution.plan.sizing import guaranteed_by_exit
from chain.math.liquidity import Amounts
from tests.chain.execution.on_small_world import (
    MANAGER,
    NETWORK,
    Chain,
    fresh_chain,
    small_world,
    steps,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from chain.execution.plan.facts import PositionFacts
    from chain.execution.plan.requests import Request


@pytest.fixture
def chain() -> Chain:
    return fresh_chain()


def position(chain: Chain, name: str) -> PositionFacts:
    return chain.position(small_world().positions[name])


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


def test_a_hook_that_refuses_exits_stops_the_exit(chain: Chain) -> None:
    old = position(chain, "hooked")
    refusing = abi.encode_call(SET_REFUSING, True)
    assert chain.state.apply(KEEPER.address, EXIT_GUARD, refusing).success
    (leaving,) = build(CloseRequest(old), chain.facts(old.pool.key)).transactions
    outcome = chain.state.call(leaving.to, leaving.data, leaving.sender)
    assert not outcome.success
