"""`[limits]` in settings.toml: what it may say, and what holds where it says nothing."""

from __future__ import annotations

import pytest

from chain.contracts.networks import all_networks, network_named
from chain.execution.outbox.lookup import DOUBT_BLOCKS, LEAST_DOUBT_SECONDS
from zuno_tui.gate.limits import gate_limits
from zuno_tui.settings.schema import LimitsTable

BASE = network_named("base")
GWEI, COIN = 10**9, 10**18
HOOK = "0x" + "Ab" * 20


def test_without_a_table_the_networks_own_bounds_hold() -> None:
    found = {one.name: gate_limits(LimitsTable(), one).policy for one in all_networks()}

    assert found["ethereum"].max_fee_per_gas == 300 * GWEI
    assert found["base"].max_fee_per_gas == 5 * GWEI
    assert found["polygon"].max_fee_per_gas == 2000 * GWEI
    assert {limits.daily_notional for limits in found.values()} == {None}
    assert gate_limits(LimitsTable(), BASE).allowed_hooks == frozenset()


def test_a_table_sets_each_of_them() -> None:
    limits = gate_limits(
        LimitsTable(max_fee_gwei=2.5, value_usd=3000, daily_usd=1000, allowed_hooks=(HOOK,)), BASE
    )

    assert limits.policy.max_fee_per_gas == 2_500_000_000
    assert limits.value_usd == 3000
    assert limits.policy.daily_notional == 1_000_000_000
    assert limits.allowed_hooks == {HOOK.lower()}


def test_where_a_table_says_nothing_the_choices_are_these() -> None:
    usual = gate_limits(LimitsTable(), BASE)

    assert (usual.value_usd, usual.value_coins, usual.transactions) == (250_000, None, "auto")
    waits = {one.name: gate_limits(LimitsTable(), one).doubt_seconds for one in all_networks()}
    assert waits["ethereum"] == max(LEAST_DOUBT_SECONDS, DOUBT_BLOCKS * 12)
    assert waits["base"] == max(LEAST_DOUBT_SECONDS, DOUBT_BLOCKS * 2)
    assert len(set(waits.values())) > 1


def test_what_a_table_says_of_coins_doubt_and_steps_counts() -> None:
    table = LimitsTable(value_eth=0.5, doubt_seconds=77, transactions="steps")
    limits = gate_limits(table, BASE)

    assert (limits.doubt_seconds, limits.transactions) == (77, "steps")
    assert limits.value_coins == COIN // 2
    # The lower of both counts: of a coin that is dear enough, what the dollars buy.
    assert limits.at_price(2_500 / COIN).value == COIN // 2
    assert limits.at_price(2_500_000 / COIN).value == pytest.approx(COIN // 10)
    assert limits.at_price(None).value == COIN // 2


@pytest.mark.parametrize(("name", "dollars"), [("ethereum", 2500.0), ("polygon", 0.25)])
def test_what_may_be_sent_along_is_worth_the_same_on_every_network(
    name: str, dollars: float
) -> None:
    limits = gate_limits(LimitsTable(value_usd=1000), network_named(name)).at_price(dollars / COIN)

    assert limits.value / COIN * dollars == pytest.approx(1000)


@pytest.mark.parametrize("price", [None, 0.0])
def test_without_a_price_each_network_has_a_figure_in_its_own_coin(price: float | None) -> None:
    limits = {one.name: gate_limits(LimitsTable(), one) for one in all_networks()}
    coins = {name: one.at_price(price).value // COIN for name, one in limits.items()}

    assert (coins["base"], coins["bnb"], coins["polygon"]) == (100, 300, 1_000_000)
