"""Single steps that are wrong in one way each, and the sentence that says so."""

from collections.abc import Callable

import pytest
from msgspec.structs import replace

from chain.contracts.networks import NATIVE
from chain.contracts.pool_key import DecodedPoolKey
from chain.execution.plan.records import (
    DecodedPermit2Transfer,
    Deposit,
    Execute,
    Permit2Approval,
    TokenApproval,
)
from chain.execution.policy.policy import Allowed, PolicyRefused, check
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
from tests.chain.execution.made_up_plans import NETWORK
from tests.chain.execution.policy_bench import STRANGER, Bench, altered, reasons, setting, spoil

MANAGER = NETWORK.contracts.position_manager


@pytest.fixture(scope="module")
def bench() -> Bench:
    return Bench()


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
