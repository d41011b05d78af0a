"""Who is given what, and what it is about, read out of honest plans and spoilt ones."""

from __future__ import annotations

from dataclasses import replace

import pytest

from chain.execution.mentions import mentions_of
from chain.execution.parties import SENDER, parties_of
from tests.chain.execution.policy_bench import STRANGER, Bench, setting, spoil


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
        mentions = mentions_of(steps)
        assert set(mentions.positions) <= set(context.positions)
        assert {pool.values for pool in mentions.pools} <= {tuple(key) for key in context.pools}
    assert mentions_of(bench.plans["swap"][0]).leaves
    assert not mentions_of(bench.plans["collect"][0]).leaves
    assert len(mentions_of(bench.plans["swap"][0]).swaps) == 1
