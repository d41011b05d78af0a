"""Limits of a day and of a plan, and a person's own."""

from fractions import Fraction
from pathlib import Path

import pytest

from chain.contracts.networks import NATIVE, all_networks, network_named
from chain.contracts.pool_key import PoolKey
from chain.devnet.launch import DevnetReady
from chain.devnet.world.accounts import WIDE_PROVIDER
from chain.execution.outbox.journal import OutboxError
from chain.execution.outbox.lookup import DOUBT_BLOCKS, LEAST_DOUBT_SECONDS
from chain.execution.outbox.outbox import Outbox
from tests.zuno_tui.conftest import CommandLine
from tests.zuno_tui.gate.desk import REFUSED, Desk
from zuno_tui.gate.actions.limit import limit_words
from zuno_tui.gate.apply import unused_approval
from zuno_tui.gate.approvals import refuse_past_the_day
from zuno_tui.gate.limits import gate_limits
from zuno_tui.settings.schema import LimitsTable

USDC = "0x" + "22" * 20
KEY = PoolKey(NATIVE, USDC, 500, 10, NATIVE)


@pytest.mark.parametrize(
    ("phrase", "sold", "bought", "price"),
    [
        ("1 ETH sell at 3500", "ETH", None, 3_500),
        ("1 ETH sell at $3,500.", "ETH", None, 3_500),
        ("1 ETH sold at 3500 for DAI", "ETH", "DAI", 3_500),
        ("2,800 USDC buy ETH at 2800", "USDC", "ETH", 2_800),
        ("2,800 usdc BUY eth at 2800 with usdc", "usdc", "eth", 2_800),
    ],
)
def test_a_limit_is_said_in_these_ways(
    phrase: str, sold: str, bought: str | None, price: int
) -> None:
    words = limit_words(phrase)
    assert words is not None
    assert (words.sold, words.bought, words.price) == (sold, bought, Fraction(price))


@pytest.mark.parametrize(
    "phrase", ["0.5 WETH/USDC conservative", "one ETH sell at 3500", "1 ETH sell at noon", ""]
)
def test_other_words_are_no_limit(phrase: str) -> None:
    assert limit_words(phrase) is None


@pytest.mark.parametrize(
    ("words", "refusal"),
    [
        (("0.5", "WETH", "sell", "at", "5"), "The price is there already"),
        ((str(2**127), "USDC", "buy", "WETH", "at", "5"), "Name an amount"),
        (("0", "WETH", "sell", "at", "9000"), "Name an amount"),
        (("1", "USDC", "sell", "at", "9000"), "Name an amount"),
    ],
)
def test_what_cannot_be_a_limit_is_refused_in_words(
    desk: Desk, words: tuple[str, ...], refusal: str
) -> None:
    told = desk.here("create", *words, "--json")
    assert told.code == REFUSED
    assert refusal in told.words


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


def test_two_wallets_of_one_home_share_the_days_limit(
    devnet: DevnetReady, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    desk = Desk(devnet, CommandLine(tmp_path / "home"), capsys)
    desk.command.home.mkdir(mode=0o700)
    (desk.command.home / "settings.toml").write_text("[limits]\ndaily_usd = 900\n")
    other = ("--address", WIDE_PROVIDER.address)
    theirs = desk.here("positions", *other, "--json").data["positions"]
    pool = desk.positions()[str(desk.token_id("healthy"))]["poolId"]
    in_pool = next(one["tokenId"] for one in theirs if one["poolId"] == pool)

    first = desk.approved("increase", str(desk.token_id("healthy")), "0.1 WETH")
    second = desk.approved("increase", in_pool, "0.1 WETH", *other)

    with Outbox.open(desk.command.home / "outbox.db") as outbox:
        now = first["expiresAt"] - 600
        waiting = unused_approval(outbox, second["planId"], None)[0]
        assert 450_000_000 < waiting.notional <= 900_000_000
        refuse_past_the_day(outbox, waiting, now)
        outbox.consume(first["hash"], now=now)
        with pytest.raises(OutboxError, match=r"past the day's limit of \$900\.00"):
            refuse_past_the_day(outbox, waiting, now)
        refuse_past_the_day(outbox, waiting, now + 24 * 3600)
