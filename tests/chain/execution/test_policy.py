"""The policy lets honest plans through and stops every single thing that could be wrong in one."""

from collections import Counter
from collections.abc import Callable
from fractions import Fraction

import pytest
from msgspec.structs import replace

from chain.contracts.pool_key import DecodedPoolKey
from chain.devnet.world.pools import WETH_USDC, WETH_USDC_LOW
from chain.execution.build.builder import MOST_TOGETHER, build
from chain.execution.decode.decoder import decode
from chain.execution.plan.context import PolicyContext, key_of
from chain.execution.plan.facts import PositionFacts, Tolerance
from chain.execution.plan.records import (
    DecodedStep,
    Execute,
    Multicall,
    Permit2Approval,
    TokenApproval,
)
from chain.execution.plan.requests import (
    CallRequest,
    CloseRequest,
    CollectRequest,
    CompoundRequest,
    CreateRequest,
    DecreaseRequest,
    IncreaseRequest,
    QuotedSwap,
    ReRangeRequest,
    SeveralRequest,
)
from chain.execution.plan.sizing import guaranteed_by_exit
from chain.execution.policy.policy import Allowed, PolicyRefused, check
from chain.execution.v4.records import (
    Action,
    DecodedBurn,
    DecodedDecrease,
    DecodedIncrease,
    DecodedPositionManagerCall,
    DecodedTakePair,
    ModifyLiquidities,
    parts_of,
)
from chain.math.drift import Span
from chain.math.liquidity import Amounts
from chain.protocols.reference import v4_position
from tests.chain.execution.made_up_plans import (
    NETWORK,
    PINNED,
    MadeUpPlan,
    context_of,
    made_up_plan,
)
from tests.chain.execution.on_small_world import WALLET, Chain, fresh_chain, small_world
from tests.chain.execution.policy_bench import STRANGER, Bench, altered, reasons, setting, spoil
from tests.chain.pools.quoting import quote_exact_input

FEW, MANY = 300, 10_000


def verdict(plan: MadeUpPlan, *, slippage_bips: int = 100) -> Allowed | PolicyRefused:
    context = context_of(plan.request, plan.facts, slippage_bips=slippage_bips)
    return check([decode(each) for each in plan.built.transactions], context)


def test_honest_plans_pass() -> None:
    for seed in range(FEW):
        assert isinstance(verdict(made_up_plan(seed)), Allowed), seed


@pytest.mark.soak
def test_ten_thousand_honest_plans_pass() -> None:
    for seed in range(MANY):
        assert isinstance(verdict(made_up_plan(seed)), Allowed), seed


@pytest.mark.parametrize("name", ["healthy", "native", "dynamic fee", "stable", "above its range"])
def test_plans_on_the_real_chain_pass(name: str) -> None:
    chain = fresh_chain()
    position = chain.position(small_world().positions[name])
    key = position.pool.key
    reach = 4 if name == "stable" else 900
    span = chain.around(key, reach, 2 * reach)
    funds = guaranteed_by_exit(position, Tolerance())
    requests: list[CallRequest] = [
        CloseRequest(position),
        CollectRequest(position),
        DecreaseRequest(position, 30),
        ReRangeRequest(position, span, chain.balancing(key, span, funds)),
    ]
    if name != "above its range":
        wider = Span(
            position.span.tick_lower - 10 * key.tick_spacing,
            position.span.tick_upper + 10 * key.tick_spacing,
        )
        requests += [ReRangeRequest(position, wider, None), CompoundRequest(position)]
    for request in requests:
        facts = chain.facts(key)
        decoded = [decode(each) for each in build(request, facts).transactions]
        assert check(decoded, context_of(request, facts)) == Allowed(Fraction(0))


def test_a_swap_through_another_pool_of_the_pair_needs_that_pool_vouched_for() -> None:
    chain = fresh_chain()
    key, deeper = WETH_USDC.key, WETH_USDC_LOW.key
    sold = 700 * 10**6
    quote = quote_exact_input(chain.depth(deeper), sold, zero_for_one=False)
    swap = QuotedSwap(deeper, False, sold, quote.amount_out, quote.sqrt_price_after)
    budget = Amounts(0, 1500 * 10**6)
    request = CreateRequest(chain.pool(key), chain.around(key, 600, 600), budget, swap)
    facts = chain.facts(key)
    steps = [decode(each) for each in build(request, facts).transactions]
    context = context_of(request, facts)
    assert "a pool that the plan is not about" in reasons(steps, context)
    vouched = {**context.pools, key_of(deeper): chain.pool(deeper)}
    assert isinstance(check(steps, replace(context, pools=vouched)), Allowed)
    assert "no quote" in reasons(steps, replace(context, pools=vouched, quotes=()))


@pytest.fixture(scope="module")
def bench() -> Bench:
    return Bench()


def test_the_bench_is_honest(bench: Bench) -> None:
    for name, (steps, context) in bench.plans.items():
        assert isinstance(check(steps, context), Allowed), name
        step, own = bench.alone(name)
        assert isinstance(check([step], own), Allowed), name


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"chain_id": 1}, "it is for chain 1"),
        ({"sender": STRANGER}, "not by the wallet"),
        ({"to": STRANGER}, "is not to be sent to"),
        ({"nonce": 0}, "its nonce is 0"),
        ({"gas": 3_000_000}, "gas limit"),
        ({"gas": 0}, "gas limit"),
        ({"max_fee_per_gas": 10**13}, "wei a gas"),
        ({"max_priority_fee_per_gas": 10**13}, "tip"),
        ({"value": 10**41}, "limits.value_usd"),
        ({"value": 1}, ""),
    ],
)
def test_a_wrong_envelope_is_refused(
    bench: Bench, changes: dict[str, object], sentence: str
) -> None:
    for name in ("close", "collect", "decrease", "move", "create", "swap", "unwrap"):
        step, context = bench.alone(name)
        spoilt = replace(step, transaction=altered(step.transaction, **changes))
        assert sentence in reasons([spoilt], context), name


@pytest.mark.parametrize("name", ["close", "increase", "swap", "wrap"])
def test_every_context_that_does_not_vouch_refuses(bench: Bench, name: str) -> None:
    steps, context = bench.plans[name]
    target = steps[-1].transaction.to
    other = {**context.code_hashes, target: "0x" + "cd" * 32}
    assert "is not the known code" in reasons(steps, replace(context, code_hashes=other))
    unread = {key: value for key, value in context.code_hashes.items() if key != target}
    assert "is not the known code" in reasons(steps, replace(context, code_hashes=unread))
    unpinned = replace(context, pinned_code_hashes=unread)
    assert "is not the known code" in reasons(steps, unpinned)
    assert "not among the networks" in reasons(
        steps, replace(context, allowed_chain_ids=frozenset())
    )
    assert "There is nothing to sign." in reasons([], context)


SPOILINGS = [
    ("amount0_min", lambda _: 0, ("close", "decrease", "move")),
    ("amount1_min", lambda _: 0, ("close", "decrease", "move")),
    ("amount0_max", lambda amount: 2 * amount, ("move", "create", "increase", "swap")),
    ("amount1_max", lambda amount: 2 * amount, ("move", "create", "increase", "swap")),
    ("amount_out_minimum", lambda _: 0, ("swap",)),
    ("amount_out_minimum", lambda amount: amount * 9 // 10, ("swap",)),
    ("amount_in", lambda amount: amount + 1, ("swap",)),
    ("liquidity", lambda _: 0, ("move", "create", "increase", "swap")),
    ("liquidity", lambda amount: 100 * amount, ("decrease",)),
    ("token_id", lambda token_id: token_id + 1, ("close", "decrease", "move", "increase")),
    ("recipient", STRANGER, ("close", "collect", "decrease", "create", "increase", "swap")),
    ("recipient", "0x" + "00" * 19 + "02", ("close", "collect", "create", "swap")),
    ("owner", STRANGER, ("move", "create", "swap")),
    ("owner", "0x" + "00" * 19 + "02", ("move", "create", "swap")),
    ("owner", "0x" + "00" * 19 + "01", ("swap",)),
    ("currency", STRANGER, ("move", "increase", "create", "swap")),
    ("currency1", STRANGER, ("close", "create")),
    ("hook_data", b"\0", ("close", "collect", "decrease", "move", "create", "increase", "swap")),
    ("payer_is_user", lambda payer: not payer, ("swap",)),
    ("amount", lambda _: 5, ("swap",)),
]  # fmt: skip


@pytest.mark.parametrize(("field", "value", "names"), SPOILINGS)
def test_one_wrong_field_is_refused(
    bench: Bench, field: str, value: Callable[[int], int] | str | bytes, names: tuple[str, ...]
) -> None:
    for name in names:
        step, context = bench.alone(name)
        call = spoil(step.call, setting(field, value))
        assert call != step.call
        assert isinstance(check([replace(step, call=call)], context), PolicyRefused)


def test_the_sender_may_be_named_as_such(bench: Bench) -> None:
    sender = "0x" + "00" * 19 + "01"
    for name in ("close", "collect", "move"):
        steps, context = bench.plans[name]
        call = spoil(steps[-1].call, setting("recipient", sender))
        call = spoil(call, setting("owner", sender))
        assert isinstance(check([*steps[:-1], replace(steps[-1], call=call)], context), Allowed)


@pytest.mark.parametrize("seconds", [-1, 0, 901, 2**200])
@pytest.mark.parametrize("name", ["close", "move", "create", "swap"])
def test_a_wrong_deadline_is_refused(bench: Bench, name: str, seconds: int) -> None:
    steps, context = bench.plans[name]
    last = steps[-1]
    assert isinstance(last.call, ModifyLiquidities | Execute)
    for good in (1, 900):
        kept = replace(last, call=replace(last.call, deadline=context.head_time + good))
        assert isinstance(check([*steps[:-1], kept], context), Allowed)
    late = replace(last, call=replace(last.call, deadline=context.head_time + seconds))
    assert "deadline" in reasons([*steps[:-1], late], context)
    if isinstance(last.call, Execute):
        *front, entering = last.call.commands
        assert isinstance(entering, DecodedPositionManagerCall)
        inner = replace(entering.call, deadline=context.head_time + seconds)
        late = replace(
            last, call=replace(last.call, commands=(*front, DecodedPositionManagerCall(inner)))
        )
        assert "deadline" in reasons([*steps[:-1], late], context)


def test_alone_an_approval_serves_nothing(bench: Bench) -> None:
    steps, context = bench.plans["swap"]
    assert isinstance(check(steps[:1], context), PolicyRefused)
    nothing = replace(steps[0], call=altered(steps[0].call, amount=0))
    assert isinstance(check([nothing], context), Allowed)


def test_a_token_is_approved_to_permit2_alone_and_permit2_asked_at_its_own_address(
    bench: Bench,
) -> None:
    """The router takes tokens through Permit2, which ends by itself; straight, it would not."""
    steps, context = bench.plans["swap"]
    router = NETWORK.contracts.universal_router
    assert router is not None
    place = next(at for at, step in enumerate(steps) if isinstance(step.call, TokenApproval))
    straight = replace(steps[place], call=altered(steps[place].call, spender=router))
    spoilt = [*steps[:place], straight, *steps[place + 1 :]]
    assert "which is not Permit2" in reasons(spoilt, context)
    place = next(at for at, step in enumerate(steps) if isinstance(step.call, Permit2Approval))
    at_router = replace(steps[place], transaction=replace(steps[place].transaction, to=router))
    spoilt = [*steps[:place], at_router, *steps[place + 1 :]]
    assert "is not to be sent to" in reasons(spoilt, context)


def test_an_approval_of_a_position_is_not_one_of_a_token(bench: Bench) -> None:
    """The PositionManager has an `approve` with the same selector: it hands over a position."""
    steps, context = bench.plans["swap"]
    manager = NETWORK.contracts.position_manager
    handing = replace(steps[0], transaction=replace(steps[0].transaction, to=manager))
    assert "is not to be sent to" in reasons([handing], context)


def test_calls_are_not_bundled(bench: Bench) -> None:
    steps, context = bench.plans["close"]
    assert isinstance(steps[0].call, ModifyLiquidities)
    bundled = replace(steps[0], call=Multicall((steps[0].call,)))
    assert "bundles" in reasons([bundled], context)


def test_a_dangerous_hook_may_be_left_but_not_entered_unless_allowed() -> None:
    chain = fresh_chain()
    position = chain.position(small_world().positions["hooked"])
    key = position.pool.key
    span = chain.around(key, 900, 900)
    budget, one = Amounts(10**17, 500 * 10**6), Amounts(10**17, 0)
    leaving: list[CallRequest] = [
        CloseRequest(position),
        CollectRequest(position),
        DecreaseRequest(position, 50),
    ]
    entering: list[CallRequest] = [
        ReRangeRequest(position, span, None),
        IncreaseRequest(position, budget),
        CompoundRequest(position),
        CreateRequest(position.pool, span, budget, None),
        CreateRequest(position.pool, span, one, chain.balancing(key, span, one)),
    ]
    facts = chain.facts(key)
    for request in (*leaving, *entering):
        steps = [decode(each) for each in build(request, facts).transactions]
        allowed = context_of(request, facts)
        assert isinstance(check(steps, allowed), Allowed)
        wary = replace(allowed, allowed_hooks=frozenset())
        if request in leaving:
            unread = replace(wary, code_hashes={**wary.code_hashes, key.hooks: "0x"})
            assert isinstance(check(steps, unread), Allowed)
        else:
            assert "It can stop you from taking liquidity out." in reasons(steps, wary)
            replaced = {**allowed.code_hashes, key.hooks: "0x" + "cd" * 32}
            assert "is not the known code" in reasons(steps, replace(allowed, code_hashes=replaced))


def test_the_limit_of_the_day_holds_for_what_enters_and_not_for_what_leaves(bench: Bench) -> None:
    steps, context = bench.plans["create"]
    ((key, _),) = context.pools.items()
    priced = replace(
        context,
        worth={key.currency0: Fraction(3_000 * 10**6, 10**18), key.currency1: Fraction(1)},
        limits=replace(context.limits, daily_notional=1_000 * 10**6),
    )
    judged = check(steps, priced)
    assert isinstance(judged, Allowed)
    assert 400 * 10**6 < judged.notional < 900 * 10**6
    assert "past the day's limit" in reasons(steps, replace(priced, notional_today=700 * 10**6))
    assert "is unknown" in reasons(steps, replace(priced, worth={}))
    leaving, context = bench.plans["close"]
    strict = replace(context, limits=replace(context.limits, daily_notional=0))
    assert isinstance(check(leaving, strict), Allowed)


def test_the_policy_knows_pools_by_their_key(bench: Bench) -> None:
    steps, context = bench.plans["create"]
    ((key, pool),) = context.pools.items()
    named = DecodedPoolKey(*pool.key.values)
    other = named._replace(fee=500)
    assert "not about" in reasons(steps, replace(context, pools={other: pool}))
    assert key_of(pool.key) == key
    assert context.pinned_code_hashes[NETWORK.contracts.position_manager] == PINNED


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
