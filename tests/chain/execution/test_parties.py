"""Who is given what, and what it is about, read out of honest plans and spoilt ones."""

from typing import Any

import pytest
from msgspec import Struct
from msgspec.structs import replace

from chain.contracts.networks import NATIVE
from chain.execution.decode.parties import Parties, mentions_of, parties_of
from chain.execution.plan.records import (
    DecodedPermit2Transfer,
    Execute,
    Multicall,
    Permit2Approval,
    TokenApproval,
)
from chain.execution.v4.records import (
    SENDER,
    Action,
    DecodedPositionManagerCall,
    DecodedSweep,
    DecodedTake,
    ModifyLiquidities,
    Unsubscribe,
)
from chain.protocols.reference import v4_position
from tests.chain.execution.made_up_plans import NETWORK
from tests.chain.execution.policy_bench import STRANGER, Bench, reasons, setting, spoil

OTHER = "0x" + "77" * 20


@pytest.fixture(scope="module")
def bench() -> Bench:
    return Bench()


def test_every_honest_plan_gives_to_the_wallet_alone(bench: Bench) -> None:
    for name, (steps, context) in bench.plans.items():
        parties = parties_of(steps)
        contracts = context.network.contracts
        assert parties.sender == context.owner, name
        assert parties.strangers == (), name
        assert set(parties.between) <= {contracts.position_manager}, name
        assert set(parties.spenders) <= {
            contracts.permit2,
            contracts.position_manager,
            contracts.universal_router,
        }, name
        assert all(context.head_time < end for end in parties.deadlines), name


@pytest.mark.parametrize("name", ["close", "collect", "decrease"])
def test_the_sender_written_as_such_is_the_wallet(bench: Bench, name: str) -> None:
    step, context = bench.alone(name)
    written = replace(step, call=spoil(step.call, setting("recipient", SENDER)))

    assert parties_of([written]).recipients == (context.owner,)


@pytest.mark.parametrize(
    ("name", "field"),
    [("close", "recipient"), ("collect", "recipient"), ("create", "owner"), ("swap", "owner")],
)
def test_a_stranger_is_found_wherever_the_bytes_name_one(
    bench: Bench, name: str, field: str
) -> None:
    step, _ = bench.alone(name)
    spoilt = replace(step, call=spoil(step.call, setting(field, STRANGER)))

    assert parties_of([spoilt]).strangers == (STRANGER,)


def test_what_a_swap_buys_led_elsewhere_is_found(bench: Bench) -> None:
    step, context = bench.alone("swap")
    spoilt = replace(step, call=spoil(step.call, setting("recipient", STRANGER)))

    assert context.network.contracts.position_manager in parties_of([step]).between
    assert STRANGER in parties_of([spoilt]).between


def test_a_plan_is_about_what_its_bytes_name(bench: Bench) -> None:
    for steps, context in bench.plans.values():
        mentions = mentions_of(steps, NETWORK)
        assert set(mentions.positions) <= set(context.positions)
        assert {pool.values for pool in mentions.pools} <= {
            pool.key.values for pool in context.pools.values()
        }
    assert mentions_of(bench.plans["swap"][0], NETWORK).leaves
    assert not mentions_of(bench.plans["collect"][0], NETWORK).leaves
    assert len(mentions_of(bench.plans["swap"][0], NETWORK).swaps) == 1


@pytest.mark.parametrize(
    ("name", "position", "pool", "swaps", "turned", "leaves"),
    [
        ("close", True, False, 0, False, True),
        ("collect", True, False, 0, False, False),
        ("decrease", True, False, 0, False, False),
        ("increase", True, False, 0, False, False),
        ("move", True, True, 0, False, True),
        ("create", False, True, 0, False, False),
        ("swap", True, True, 1, False, True),
        ("wrap", False, False, 0, True, False),
        ("unwrap", False, False, 0, True, False),
    ],
)
def test_what_each_recipe_names(
    bench: Bench, name: str, position: bool, pool: bool, swaps: int, turned: bool, leaves: bool
) -> None:
    steps, context = bench.plans[name]
    mentions = mentions_of(steps, NETWORK)

    assert mentions.positions == (tuple(context.positions) if position else ())
    assert [one.values for one in mentions.pools] == [
        held.key.values for held in context.pools.values() if pool
    ]
    assert (len(mentions.swaps), mentions.leaves) == (swaps, leaves)
    assert mentions.turned == ((NATIVE, context.network.wrapped_native) if turned else ())
    assert mentions.revoked == ()


def test_what_is_dismissed_or_taken_back_is_named(bench: Bench) -> None:
    steps, _ = bench.plans["swap"]
    first = steps[0]
    token = first.transaction.to
    nothing = [
        replace(first, call=TokenApproval(STRANGER, 0)),
        replace(first, call=Permit2Approval(OTHER, STRANGER, 0, 7)),
        replace(first, call=Permit2Approval(OTHER, STRANGER, 0, 9)),
    ]
    some = [
        replace(first, call=TokenApproval(STRANGER, 1)),
        replace(first, call=Permit2Approval(OTHER, STRANGER, 1, 7)),
        replace(first, call=Unsubscribe(5)),
    ]

    assert mentions_of(nothing, NETWORK).revoked == (token, OTHER)
    assert mentions_of(some, NETWORK).revoked == ()
    assert mentions_of(some, NETWORK).positions == (v4_position(5),)
    assert (parties_of(nothing).spenders, parties_of(nothing).expirations) == ((), ())
    assert (parties_of(some).spenders, parties_of(some).expirations) == ((STRANGER,), (7,))


def test_deadlines_are_found_in_every_call_that_names_one(bench: Bench) -> None:
    entering, _ = bench.alone("swap")
    leaving, _ = bench.alone("close")
    assert isinstance(entering.call, Execute)
    assert isinstance(leaving.call, ModifyLiquidities)
    *front, last = entering.call.commands
    assert isinstance(last, DecodedPositionManagerCall)
    inner = DecodedPositionManagerCall(replace(last.call, deadline=11))
    late = replace(entering, call=Execute((*front, inner), 13))
    bundled = replace(leaving, call=Multicall((replace(leaving.call, deadline=17),)))

    assert parties_of([bundled, late]).deadlines == (11, 13, 17)
    assert parties_of([bundled]).recipients == parties_of([leaving]).recipients
    assert parties_of([late, bundled]).called == (entering.transaction.to, leaving.transaction.to)


def _one_elsewhere(call: Execute, kind: type[Struct], place: int) -> Execute:
    """The call with the recipient of one of its parts of this kind changed, and no other."""
    seen = -1

    def changed(part: Any) -> Any:
        nonlocal seen
        if isinstance(part, DecodedPositionManagerCall):
            inner = tuple(map(changed, part.call.actions))
            return replace(part, call=replace(part.call, actions=inner))
        if isinstance(part, kind):
            seen += 1
            return replace(part, recipient=STRANGER) if seen == place else part
        return part

    spoilt = replace(call, commands=tuple(map(changed, call.commands)))
    assert seen >= place
    return spoilt


@pytest.mark.parametrize("place", [0, 1])
def test_either_of_two_transfers_to_a_stranger_is_found_and_refused(
    bench: Bench, place: int
) -> None:
    """Both tokens go to the PositionManager: one of them led elsewhere is half of the funds."""
    steps, context = bench.plans["swap"]
    last = steps[-1]
    assert isinstance(last.call, Execute)
    spoilt = replace(last, call=_one_elsewhere(last.call, DecodedPermit2Transfer, place))

    assert STRANGER in parties_of([*steps[:-1], spoilt]).between
    assert "another place than the PositionManager" in reasons([*steps[:-1], spoilt], context)


@pytest.mark.parametrize("place", [0, 1])
def test_whoever_is_swept_to_is_a_recipient(bench: Bench, place: int) -> None:
    """What is left over of a swap and an entry is swept out: it is shown and held to the wallet."""
    step, _ = bench.alone("swap")
    assert isinstance(step.call, Execute)
    spoilt = replace(step, call=_one_elsewhere(step.call, DecodedSweep, place))

    assert parties_of([spoilt]).strangers == (STRANGER,)


def test_the_wallet_is_a_recipient_only_where_the_bytes_say_so(bench: Bench) -> None:
    step, context = bench.alone("swap")
    assert isinstance(step.call, Execute)
    swept = replace(step, call=spoil(step.call, setting("recipient", STRANGER)))
    gone = replace(swept, call=spoil(swept.call, setting("owner", STRANGER)))
    assert parties_of([gone]).recipients == (STRANGER,)

    def bought_by_the_wallet(action: Action) -> Action:
        return (
            setting("recipient", context.owner)(action)
            if isinstance(action, DecodedTake)
            else action
        )

    taken = replace(gone, call=spoil(gone.call, bought_by_the_wallet))
    assert parties_of([taken]).recipients == (STRANGER, context.owner)
    assert context.owner not in parties_of([taken]).between


def test_one_transaction_by_itself_is_no_batch_and_lends_nothing() -> None:
    alone = Parties(STRANGER, (), (), (), (OTHER,), (), ())
    assert (alone.transactions, alone.batched, alone.lent_to) == (1, 0, ())
