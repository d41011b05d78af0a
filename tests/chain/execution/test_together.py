"""Several positions in one call: paid to the last unit, and judged each as if it were alone."""

from collections import Counter

import pytest
from msgspec.structs import replace

from chain.execution.build.builder import MOST_TOGETHER, build
from chain.execution.decode.decoder import decode
from chain.execution.plan.context import PolicyContext
from chain.execution.plan.facts import PositionFacts
from chain.execution.plan.records import DecodedStep
from chain.execution.plan.requests import (
    CloseRequest,
    CollectRequest,
    CompoundRequest,
    SeveralRequest,
)
from chain.execution.policy.policy import Allowed, check
from chain.execution.v4.records import (
    Action,
    DecodedBurn,
    DecodedDecrease,
    DecodedIncrease,
    DecodedTakePair,
    ModifyLiquidities,
    parts_of,
)
from chain.math.liquidity import Amounts
from chain.protocols.reference import v4_position
from tests.chain.execution.made_up_plans import context_of
from tests.chain.execution.on_small_world import WALLET, Chain, fresh_chain, small_world
from tests.chain.execution.policy_bench import STRANGER, altered, reasons

TOGETHER = ("healthy", "native", "dynamic fee", "above its range", "below its range")


def positions(chain: Chain, *names: str) -> tuple[PositionFacts, ...]:
    return tuple(chain.position(small_world().positions[name]) for name in names or TOGETHER)


def gained(chain: Chain, request: SeveralRequest) -> Counter[str]:
    keys = [part.position.pool.key for part in request.parts]
    tokens = {token for key in keys for token in (key.currency0, key.currency1)}
    before = {token: chain.balance(token, WALLET) for token in tokens}
    (made,) = build(request, chain.facts(*keys)).transactions
    chain.run([made])
    return Counter({token: chain.balance(token, WALLET) - before[token] for token in tokens})


def owed(held: tuple[PositionFacts, ...], *, principal: bool) -> Counter[str]:
    total: Counter[str] = Counter()
    for one in held:
        inside = one.span.holds(one.pool.sqrt_price_x96, one.liquidity, round_up=False)
        for token, amount, fees in zip(
            (one.pool.key.currency0, one.pool.key.currency1), inside, one.fees, strict=True
        ):
            total[token] += fees + (amount if principal else 0)
    return total


def test_all_fees_come_in_one_transaction_to_the_last_unit() -> None:
    chain = fresh_chain()
    held = positions(chain)
    came = gained(chain, SeveralRequest(tuple(CollectRequest(one) for one in held)))

    assert came == owed(held, principal=False)
    for one in held:
        now = chain.position(one.ref.token_id)
        assert (now.liquidity, now.fees) == (one.liquidity, Amounts(0, 0))


def test_all_are_closed_in_one_transaction_for_all_they_hold() -> None:
    chain = fresh_chain()
    held = positions(chain)
    came = gained(chain, SeveralRequest(tuple(CloseRequest(one) for one in held)))

    assert came == owed(held, principal=True)
    assert all(chain.owner(one.ref.token_id) is None for one in held)


def test_all_fees_go_back_to_work_and_nothing_leaves_the_wallet() -> None:
    chain = fresh_chain()
    held = positions(chain, "healthy", "native", "dynamic fee")
    came = gained(chain, SeveralRequest(tuple(CompoundRequest(one) for one in held)))

    assert min(came.values()) >= 0
    assert all(chain.position(one.ref.token_id).liquidity > one.liquidity for one in held)


def test_subscribers_are_dismissed_first_and_many_take_several_transactions() -> None:
    chain = fresh_chain()
    (healthy,), (stable,) = positions(chain, "healthy"), positions(chain, "stable")
    parts = tuple(
        CollectRequest(replace(healthy, ref=v4_position(healthy.ref.token_id + place)))
        for place in range(MOST_TOGETHER)
    )
    keys = healthy.pool.key, stable.pool.key
    built = build(SeveralRequest((*parts, CollectRequest(stable))), chain.facts(*keys))

    assert [one.step for one in built.transactions] == ["unsubscribe", "collect", "collect"]
    calls = [decode(one).call for one in built.transactions[1:]]
    sizes = [len(parts_of(call.actions)) for call in calls if isinstance(call, ModifyLiquidities)]
    assert sizes == [MOST_TOGETHER, 1]


Kind = type[CloseRequest] | type[CollectRequest] | type[CompoundRequest]


def honest(kind: Kind) -> tuple[DecodedStep, PolicyContext]:
    chain = fresh_chain()
    held = positions(chain, "healthy", "native", "dynamic fee")
    request = SeveralRequest(tuple(kind(one) for one in held))
    facts = chain.facts(*(one.pool.key for one in held))
    (made,) = build(request, facts).transactions
    return decode(made), context_of(request, facts)


@pytest.mark.parametrize("kind", [CloseRequest, CollectRequest, CompoundRequest])
def test_the_policy_lets_honest_ones_through(kind: Kind) -> None:
    step, context = honest(kind)
    assert isinstance(check([step], context), Allowed)


@pytest.mark.parametrize("place", [0, 1, 2])
def test_one_bad_position_among_good_ones_is_refused(place: int) -> None:
    """Whichever it is: the first is not judged for the others."""

    def spoilt(kind: Kind, only: type[Action], **fields: object) -> str:
        step, context = honest(kind)
        assert isinstance(step.call, ModifyLiquidities)
        parts = [*parts_of(step.call.actions)]
        parts[place] = tuple(
            altered(action, **fields) if isinstance(action, only) else action
            for action in parts[place]
        )
        call = replace(step.call, actions=tuple(one for part in parts for one in part))
        return reasons([altered(step, call=call)], context)

    assert "which is not the wallet" in spoilt(CollectRequest, DecodedTakePair, recipient=STRANGER)
    assert "which is not the wallet" in spoilt(CloseRequest, DecodedTakePair, recipient=STRANGER)
    assert "minimums 0 and 0" in spoilt(CloseRequest, DecodedBurn, amount0_min=0, amount1_min=0)
    assert "that the plan is not about" in spoilt(CloseRequest, DecodedBurn, token_id=10**6)
    assert "other currencies" in spoilt(CollectRequest, DecodedTakePair, currency1=STRANGER)
    assert "hands data to a hook" in spoilt(CollectRequest, DecodedDecrease, hook_data=b"x")
    assert "minimums 0 and 0" in spoilt(CollectRequest, DecodedDecrease, liquidity=10**9)
    assert "maximums" in spoilt(CompoundRequest, DecodedIncrease, amount0_max=2**100)


def test_a_position_twice_or_another_recipe_among_them_is_refused() -> None:
    step, context = honest(CollectRequest)
    closing, _ = honest(CloseRequest)
    assert isinstance(step.call, ModifyLiquidities)
    assert isinstance(closing.call, ModifyLiquidities)
    parts, others = parts_of(step.call.actions), parts_of(closing.call.actions)

    def judged(*chosen: tuple[Action, ...]) -> str:
        assert isinstance(step.call, ModifyLiquidities)
        actions = tuple(action for part in chosen for action in part)
        return reasons([altered(step, call=replace(step.call, actions=actions))], context)

    assert "changes a position twice" in judged(parts[0], parts[1], parts[0])
    assert "none of the known recipes" in judged(parts[0], others[1])
    assert "none of the known recipes" in judged(parts[0], parts[1][:1])
    assert "none of the known recipes" in judged(parts[0][:1], parts[1])
    assert "none of the known recipes" in judged(parts[0], (*parts[1], parts[1][1]))


def test_gas_is_limited_for_each_position() -> None:
    step, context = honest(CollectRequest)
    most = 3 * context.limits.gas
    for gas, allowed in ((most, True), (most + 1, False)):
        judged = check([altered(step, transaction=replace(step.transaction, gas=gas))], context)
        assert isinstance(judged, Allowed) is allowed
