"""Every limit of the policy to its last unit, and what is refused where nothing else is wrong."""

from collections.abc import Callable
from fractions import Fraction

import pytest
from msgspec.structs import replace

from chain.contracts.networks import NATIVE
from chain.contracts.pool_key import DecodedPoolKey
from chain.devnet.world.pools import WETH_USDC
from chain.execution.build.builder import build
from chain.execution.decode.decoder import decode, decode_call
from chain.execution.plan.bounds import code_faults, swap_faults
from chain.execution.plan.context import PolicyContext, PolicyLimits
from chain.execution.plan.reading import DecodingError
from chain.execution.plan.records import (
    DecodedPermit2Transfer,
    DecodedStep,
    Deposit,
    Execute,
    Permit2Approval,
    TokenApproval,
)
from chain.execution.plan.requests import CreateRequest
from chain.execution.policy.policy import Allowed, PolicyRefused, check, notional
from chain.execution.v4.records import (
    Action,
    DecodedBurn,
    DecodedIncrease,
    DecodedMint,
    DecodedSettlePair,
    DecodedSwapExactIn,
    DecodedSweep,
    ModifyLiquidities,
    Unsubscribe,
)
from chain.execution.v4.shapes import amount_faults, sale_of
from chain.math.liquidity import Amounts
from tests.chain.execution.made_up_plans import NETWORK, context_of
from tests.chain.execution.on_small_world import fresh_chain
from tests.chain.execution.policy_bench import STRANGER, Bench, altered, reasons, setting, spoil

LIMITS = PolicyLimits(max_fee_per_gas=10**11)


@pytest.fixture(scope="module")
def bench() -> Bench:
    return Bench()


def _is_allowed(step: DecodedStep, context: PolicyContext, **changes: object) -> bool:
    changed = replace(step, transaction=altered(step.transaction, **changes))
    return isinstance(check([changed], context), Allowed)


def test_the_limits_nobody_set() -> None:
    assert (
        PolicyLimits(
            max_fee_per_gas=10**11,
            gas=2_000_000,
            value=100 * 10**18,
            slippage_bips=100,
            deadline_seconds=900,
            expiry_seconds=1_800,
            lp_fee_pips=50_000,
            daily_notional=None,
        )
        == LIMITS
    )


def test_no_setting_lets_a_step_take_more_than_a_good_part_of_a_block(bench: Bench) -> None:
    step, context = bench.alone("wrap")
    context = replace(context, limits=replace(LIMITS, gas=10**9))

    assert _is_allowed(step, context, gas=16_000_000)
    assert not _is_allowed(step, context, gas=16_000_001)
    assert context.notional_today == 0, "a day on which nothing was moved yet"


def test_code_that_nobody_knows_is_not_what_it_is_known_to_be(bench: Bench) -> None:
    _, context = bench.alone("wrap")
    address = "0x" + "99" * 20
    for read, pinned, fits in (
        ("", "", False),
        ("a", "", False),
        ("", "a", False),
        ("a", "a", True),
    ):
        given = replace(
            context,
            code_hashes={address: read} if read else {},
            pinned_code_hashes={address: pinned} if pinned else {},
        )
        assert (not [*code_faults(address, given)]) is fits


@pytest.mark.parametrize(
    ("field", "most"), [("gas", 2_000_000), ("max_fee_per_gas", 10**11), ("value", 10**20)]
)
def test_an_envelope_at_its_limit(bench: Bench, field: str, most: int) -> None:
    step, context = bench.alone("wrap")
    context = replace(context, limits=LIMITS)

    assert _is_allowed(step, context, **{field: most})
    assert not _is_allowed(step, context, **{field: most + 1})


def test_the_least_gas_and_the_largest_tip(bench: Bench) -> None:
    step, context = bench.alone("wrap")
    fee = step.transaction.max_fee_per_gas

    assert _is_allowed(step, context, gas=1)
    assert not _is_allowed(step, context, gas=0)
    assert _is_allowed(step, context, max_priority_fee_per_gas=fee)
    assert not _is_allowed(step, context, max_priority_fee_per_gas=fee + 1)
    assert _is_allowed(step, context, value=1)


@pytest.mark.parametrize(("seconds", "good"), [(0, False), (1, True), (1800, True), (1801, False)])
def test_an_allowance_expires_at_its_limit(bench: Bench, seconds: int, good: bool) -> None:
    steps, context = bench.plans["swap"]
    changed = [
        replace(step, call=altered(step.call, expiration=context.head_time + seconds))
        if isinstance(step.call, Permit2Approval)
        else step
        for step in steps
    ]

    assert isinstance(check(changed, context), Allowed) is good


@pytest.mark.parametrize("name", ["increase", "create"])
@pytest.mark.parametrize("by", [-1, 1])
def test_an_allowance_is_exactly_what_the_plan_moves(bench: Bench, name: str, by: int) -> None:
    steps, context = bench.plans[name]
    approvals = [
        place
        for place, step in enumerate(steps)
        if isinstance(step.call, TokenApproval | Permit2Approval)
    ]
    assert approvals
    for place in approvals:
        call = steps[place].call
        assert isinstance(call, TokenApproval | Permit2Approval)
        changed = replace(steps[place], call=altered(call, amount=call.amount + by))
        judged = check([*steps[:place], changed, *steps[place + 1 :]], context)
        assert isinstance(judged, PolicyRefused)


@pytest.mark.parametrize(("pips", "good"), [(50_000, True), (50_001, False)])
def test_a_pool_at_the_dearest_fee(bench: Bench, pips: int, good: bool) -> None:
    step, context = bench.alone("create")
    ((key, pool),) = context.pools.items()
    dear = replace(context, pools={key: replace(pool, lp_fee=pips)})

    assert isinstance(check([step], dear), Allowed) is good


@pytest.mark.parametrize("name", ["create", "increase", "compound", "move", "swap"])
def test_the_limit_of_a_day_to_the_last_micro_dollar(bench: Bench, name: str) -> None:
    step, context = bench.alone(name)
    ((key, _),) = context.pools.items()
    context = replace(context, worth={key.currency0: Fraction(3), key.currency1: Fraction(5)})
    (entered,) = _entering(step)
    known = 3 * entered.amount0_max + 5 * entered.amount1_max
    assert notional([step], context).known == known
    assert notional([step, step], context).known == 2 * known

    def limited(limit: int) -> bool:
        limits = replace(context.limits, daily_notional=limit)
        return isinstance(check([step], replace(context, limits=limits, notional_today=7)), Allowed)

    assert limited(known + 7)
    assert not limited(known + 6)


def _entering(step: DecodedStep) -> list[DecodedMint | DecodedIncrease]:
    found: list[DecodedMint | DecodedIncrease] = []

    def note(action: Action) -> Action:
        if isinstance(action, DecodedMint | DecodedIncrease):
            found.append(action)
        return action

    spoil(step.call, note)
    return found


def _least_allowed(
    step: DecodedStep, context: PolicyContext, field: str, *, up: bool
) -> tuple[int, Callable[[int], bool]]:
    """The last value of a field that is allowed, found by halving."""
    (start,) = {getattr(each, field) for each in _with_field(step, field)}

    def good(value: int) -> bool:
        call = spoil(step.call, setting(field, lambda _: value))
        return not [
            fault
            for action in _with_field(replace(step, call=call), field)
            for fault in amount_faults(action, context)
        ]

    assert good(start)
    low, high = (start, 2 * start) if up else (0, start)
    while high - low > 1:
        middle = (low + high) // 2
        if good(middle) is up:
            low = middle
        else:
            high = middle
    return (low if up else high), good


def _with_field(step: DecodedStep, field: str) -> list[Action]:
    assert isinstance(step.call, ModifyLiquidities)
    return [action for action in step.call.actions if hasattr(action, field)]


@pytest.mark.parametrize("name", ["close", "decrease"])
@pytest.mark.parametrize("field", ["amount0_min", "amount1_min"])
def test_minimums_are_held_to_within_the_slippage(bench: Bench, name: str, field: str) -> None:
    step, context = bench.alone(name)
    tight = replace(context, limits=replace(context.limits, slippage_bips=50))
    edge, good = _least_allowed(step, context, field, up=False)
    tighter, _ = _least_allowed(step, tight, field, up=False)

    assert good(edge)
    assert not good(edge - 1)
    assert edge < tighter


@pytest.mark.parametrize("field", ["amount0_max", "amount1_max"])
def test_maximums_are_held_to_within_the_slippage(bench: Bench, field: str) -> None:
    step, context = bench.alone("increase")
    drifted = replace(context, drift_bips=50)
    edge, good = _least_allowed(step, context, field, up=True)
    wider, _ = _least_allowed(step, drifted, field, up=True)

    assert good(edge)
    assert not good(edge + 1)
    assert edge < wider


def test_the_smallest_entry_is_one_and_nothing_is_none(bench: Bench) -> None:
    step, context = bench.alone("create")
    (mint,) = _entering(step)
    said = {
        liquidity: " ".join(amount_faults(altered(mint, liquidity=liquidity), context))
        for liquidity in (0, 1)
    }

    assert "with nothing" in said[0]
    assert "with nothing" not in said[1]


def test_a_swap_must_pay_all_but_the_slippage_and_never_nothing(bench: Bench) -> None:
    step, context = bench.alone("swap")
    assert isinstance(step.call, Execute)
    (quote,) = context.quotes
    (swap,) = _swaps(step)
    pool = next(iter(context.pools))
    least = quote.amount_out * 99 // 100

    assert not list(swap_faults(sale_of(altered(swap, amount_out_minimum=least)), pool, context))
    assert list(swap_faults(sale_of(altered(swap, amount_out_minimum=least - 1)), pool, context))
    tiny = replace(context, quotes=(replace(quote, amount_out=1),))
    assert not list(swap_faults(sale_of(altered(swap, amount_out_minimum=1)), pool, tiny))
    assert list(swap_faults(sale_of(altered(swap, amount_out_minimum=0)), pool, tiny))
    drifted = replace(context, drift_bips=100)
    assert not list(
        swap_faults(sale_of(altered(swap, amount_out_minimum=least - 1)), pool, drifted)
    )


def _swaps(step: DecodedStep) -> list[DecodedSwapExactIn]:
    found: list[DecodedSwapExactIn] = []

    def note(action: Action) -> Action:
        if isinstance(action, DecodedSwapExactIn):
            found.append(action)
        return action

    spoil(step.call, note)
    return found


def test_no_more_is_moved_to_the_mint_than_it_may_take(bench: Bench) -> None:
    step, context = bench.alone("swap")
    assert isinstance(step.call, Execute)
    (mint,) = _entering(step)
    assert isinstance(mint, DecodedMint)
    most = {mint.pool.currency0: mint.amount0_max, mint.pool.currency1: mint.amount1_max}
    execute = step.call
    swap, *transfers, enter = execute.commands
    assert transfers

    def judged(by: Callable[[DecodedPermit2Transfer], int]) -> Allowed | PolicyRefused:
        moved = [
            replace(each, amount=by(each))
            for each in transfers
            if isinstance(each, DecodedPermit2Transfer)
        ]
        call = replace(execute, commands=(swap, *moved, enter))
        return check([replace(step, call=call)], context)

    assert isinstance(judged(lambda each: most[each.token]), Allowed)
    assert isinstance(judged(lambda each: most[each.token] + 1), PolicyRefused)
    assert isinstance(judged(lambda _: 1), Allowed)
    assert isinstance(judged(lambda _: 0), PolicyRefused)


def test_no_coin_goes_along_into_a_pool_without_it() -> None:
    chain = fresh_chain()
    key = WETH_USDC.key
    request = CreateRequest(
        chain.pool(key), chain.around(key, 600, 600), Amounts(10**17, 500 * 10**6), None
    )
    facts = chain.facts(key)
    step = decode(build(request, facts).transactions[-1])
    context = replace(context_of(request, facts), nonce=step.transaction.nonce)
    assert isinstance(step.call, ModifyLiquidities)
    assert isinstance(check([step], context), Allowed)
    swept = replace(step.call, actions=(*step.call.actions, DecodedSweep(NATIVE, context.owner)))
    for value in (1, 2):
        paying = replace(step.transaction, value=value)
        assert isinstance(
            check([replace(step, call=swept, transaction=paying)], context), PolicyRefused
        )


@pytest.mark.parametrize(("length", "too_long"), [(32 * 1024, False), (32 * 1024 + 1, True)])
def test_calldata_is_read_up_to_a_length(length: int, too_long: bool) -> None:
    with pytest.raises(DecodingError) as refused:
        decode_call(bytes(length))

    assert ("bytes long" in str(refused.value)) is too_long


MANAGER = NETWORK.contracts.position_manager


def test_router_commands_are_only_the_recipe(bench: Bench) -> None:
    step, context = bench.alone("swap")
    assert isinstance(step.call, Execute)
    swap, *transfers, enter = step.call.commands
    transfer = transfers[0]
    assert isinstance(transfer, DecodedPermit2Transfer)
    elsewhere = replace(transfer, recipient=STRANGER)
    more = replace(transfer, amount=10**30)
    other = replace(transfer, token=STRANGER)
    shape, moved = "neither a swap nor the swap-and-enter recipe", "one of them twice"
    for commands, sentence in (
        ((), shape),
        ((swap,), "does not all go to the wallet"),
        ((enter,), shape),
        ((enter, swap), shape),
        ((swap, enter, enter), shape),
        ((swap, swap, enter), shape),
        ((*transfers, swap, enter), shape),
        ((swap, *[transfer] * 3, enter), shape),
        ((swap, transfer, transfer, enter), moved),
        ((swap, other, enter), moved),
        ((swap, elsewhere, enter), "another place than the PositionManager"),
        ((swap, more, enter), "that the range cannot take"),
    ):
        changed = replace(step, call=replace(step.call, commands=commands))
        assert sentence in reasons([changed], context)


@pytest.mark.parametrize(
    ("field", "value", "sentence"),
    [
        ("payer_is_user", False, "not paid by the wallet"),
        ("payer_is_user", True, "not paid from what was moved there"),
        ("amount_out_minimum", 0, "less than"),
        ("amount_in", 1, "no quote"),
        ("owner", "0x" + "00" * 19 + "01", "would belong to"),
    ],
)
def test_a_spoilt_swap_and_enter_says_what_is_wrong(
    bench: Bench, field: str, value: object, sentence: str
) -> None:
    step, context = bench.alone("swap")
    call = spoil(step.call, lambda a: altered(a, **{field: value}) if hasattr(a, field) else a)
    assert sentence in reasons([replace(step, call=call)], context)


def swapping_in(pool: DecodedPoolKey) -> Callable[[Action], Action]:
    def change(action: Action) -> Action:
        return replace(action, pool=pool) if isinstance(action, DecodedSwapExactIn) else action

    return change


def test_what_is_taken_and_swept_on_the_way_has_one_place_to_go(bench: Bench) -> None:
    step, context = bench.alone("swap")
    (facts, *_) = context.pools.values()
    to_stranger = replace(step, call=spoil(step.call, setting("recipient", STRANGER)))
    said = reasons([to_stranger], context)
    assert "does not all go to the PositionManager" in said
    assert "not all swept to the wallet" in said
    named = DecodedPoolKey(*facts.key.values)
    swapped = named._replace(currency0=STRANGER)
    call = spoil(step.call, swapping_in(swapped))
    assert "it swaps other currencies" in reasons([replace(step, call=call)], context)


def test_a_swap_through_a_dangerous_hook_is_refused(bench: Bench) -> None:
    step, context = bench.alone("swap")
    ((pool, facts),) = context.pools.items()
    (quote,) = context.quotes
    guarded = "0x6a7d00000000000000000000000000000000c200"
    named = DecodedPoolKey(*facts.key.values)
    hooked = named._replace(hooks=guarded)
    call = spoil(step.call, swapping_in(hooked))
    told = replace(
        context,
        pools={pool: facts, hooked: facts},
        quotes=(replace(quote, pool=replace(quote.pool, hooks=guarded)),),
        code_hashes={**context.code_hashes, guarded: "0x1"},
        pinned_code_hashes={**context.pinned_code_hashes, guarded: "0x1"},
        allowed_hooks=frozenset(),
    )
    assert "is dangerous" in reasons([replace(step, call=call)], told)
    allowed = replace(told, allowed_hooks=frozenset({guarded}))
    assert isinstance(check([replace(step, call=call)], allowed), Allowed)


def test_value_is_sent_only_with_its_sweep(bench: Bench) -> None:
    step, context = bench.alone("create")
    assert isinstance(step.call, ModifyLiquidities)
    mint, settle, sweep = step.call.actions
    assert isinstance(mint, DecodedMint)
    assert isinstance(settle, DecodedSettlePair)
    assert sweep == DecodedSweep(NATIVE, context.owner)
    kept = replace(step, call=replace(step.call, actions=(mint, settle)))
    assert "without being swept back" in reasons([kept], context)
    unsent = replace(step, transaction=replace(step.transaction, value=0))
    assert "swept without being sent" in reasons([unsent], context)
    more = replace(step, transaction=replace(step.transaction, value=step.transaction.value + 1))
    assert "not the most that may be taken" in reasons([more], context)
    token = replace(sweep, currency=mint.pool.currency1)
    other = replace(step, call=replace(step.call, actions=(mint, settle, token)))
    assert "only what is left of the value" in reasons([other], context)


def test_a_range_must_be_one_and_its_pool_read(bench: Bench) -> None:
    step, context = bench.alone("create")
    upside_down = spoil(step.call, setting("tick_lower", lambda _: 887_272))
    assert "are no range" in reasons([replace(step, call=upside_down)], context)
    nothing = spoil(step.call, setting("liquidity", lambda _: 0))
    assert "with nothing" in reasons([replace(step, call=nothing)], context)
    for name in ("increase", "move"):
        step, context = bench.alone(name)
        assert "was not read" in reasons([step], replace(context, pools={}))


@pytest.mark.parametrize(
    ("lower", "upper", "is_range"),
    [
        (-887_272, 887_272, True),
        (-887_273, 887_272, False),
        (-887_272, 887_273, False),
        (60, 60, False),
        (0, 1, True),
    ],
)
def test_a_range_may_reach_to_both_ends_and_no_further(
    bench: Bench, lower: int, upper: int, is_range: bool
) -> None:
    step, context = bench.alone("create")
    call = spoil(
        step.call, lambda a: altered(a, tick_lower=lower) if isinstance(a, DecodedMint) else a
    )
    call = spoil(call, lambda a: altered(a, tick_upper=upper) if isinstance(a, DecodedMint) else a)

    judged = check([replace(step, call=call)], context)

    said = " ".join(judged.reasons) if isinstance(judged, PolicyRefused) else ""
    assert ("are no range" not in said) is is_range


def test_a_position_moves_only_within_its_pool(bench: Bench) -> None:
    step, context = bench.alone("move")
    assert isinstance(step.call, ModifyLiquidities)
    burn, mint, *closing = step.call.actions
    assert isinstance(burn, DecodedBurn)
    assert isinstance(mint, DecodedMint)
    other = replace(mint, pool=mint.pool._replace(fee=500))
    call = replace(step.call, actions=(burn, other, *closing))
    assert "another pool than the one it closes in" in reasons([replace(step, call=call)], context)
    call = replace(step.call, actions=(burn, mint, closing[0], closing[0]))
    assert "other currencies" in reasons([replace(step, call=call)], context)
    stranger = spoil(step.call, setting("token_id", lambda token_id: token_id + 1))
    assert "not about" in reasons([replace(step, call=stranger)], context)


def test_minimums_and_liquidity_are_held_to_the_position(bench: Bench) -> None:
    step, context = bench.alone("decrease")
    more = spoil(step.call, setting("liquidity", lambda liquidity: 100 * liquidity))
    assert "does not hold that much" in reasons([replace(step, call=more)], context)
    zero = spoil(step.call, setting("amount0_min", lambda _: 0))
    zero = spoil(zero, setting("amount1_min", lambda _: 0))
    said = reasons([replace(step, call=zero)], context)
    assert "are below" in said
    assert "nothing is asked for what is given up" in said
    step, context = bench.alone("increase")
    assert isinstance(step.call, ModifyLiquidities)
    assert isinstance(step.call.actions[0], DecodedIncrease)
    dear = spoil(step.call, setting("amount1_max", lambda amount: 2 * amount))
    assert "are over" in reasons([replace(step, call=dear)], context)


def test_actions_outside_the_recipes_are_named(bench: Bench) -> None:
    step, context = bench.alone("close")
    assert isinstance(step.call, ModifyLiquidities)
    for actions, named in ((step.call.actions[:1], "Burn"), (step.call.actions[::-1], "TakePair")):
        spoilt = replace(step, call=replace(step.call, actions=actions))
        assert f"the actions {named}" in reasons([spoilt], context)


def test_small_calls_carry_no_value_and_stay_with_the_plan(bench: Bench) -> None:
    step, context = bench.alone("close")
    (ref,) = context.positions
    leaving = replace(step, call=Unsubscribe(ref.token_id))
    assert isinstance(check([leaving], context), Allowed)
    other = replace(step, call=Unsubscribe(ref.token_id + 1))
    assert f"not about position #{ref.token_id + 1}" in reasons([other], context)
    paid = replace(leaving, transaction=replace(step.transaction, value=1))
    assert "for no reason" in reasons([paid], context)
    step, context = bench.alone("wrap")
    assert step.call == Deposit()
    empty = replace(step, transaction=replace(step.transaction, value=0))
    assert "nothing to wrap" in reasons([empty], context)
    step, context = bench.alone("unwrap")
    paid = replace(step, transaction=replace(step.transaction, value=1))
    assert "for no reason" in reasons([paid], context)


def test_a_wrong_approval_says_what_is_wrong(bench: Bench) -> None:
    steps, context = bench.plans["swap"]
    for kind, change, sentence in (
        (TokenApproval, {"spender": STRANGER}, "which is not Permit2"),
        (TokenApproval, {"spender": MANAGER}, "which is not Permit2"),
        (TokenApproval, {"amount": 7}, "it allows 7 units"),
        (Permit2Approval, {"token": STRANGER}, "is not a token of the pair"),
        (Permit2Approval, {"spender": STRANGER}, "which no step of a plan needs"),
        (Permit2Approval, {"spender": MANAGER}, "where the plan moves 0"),
        (Permit2Approval, {"amount": 7}, "it allows 7 units"),
        (Permit2Approval, {"expiration": 2**48 - 1}, "does not expire"),
    ):
        place = next(at for at, step in enumerate(steps) if isinstance(step.call, kind))
        spoilt = list(steps)
        spoilt[place] = replace(steps[place], call=altered(steps[place].call, **change))
        assert sentence in reasons(spoilt, context)
        paid = replace(steps[place].transaction, value=1)
        spoilt[place] = replace(steps[place], transaction=paid)
        assert "for no reason" in reasons(spoilt, context)
