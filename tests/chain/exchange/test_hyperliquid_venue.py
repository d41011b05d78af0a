"""Hyperliquid through ccxt on loopback: signatures as its own SDK makes them, groups, refusals."""

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from random import Random
from typing import Any

import pytest

from chain.exchange.orders.engine import NoticeKind, send_orders, tend_orders
from chain.exchange.orders.journal import TradeJournal
from chain.exchange.orders.order import OrderSide, OrderState, OrderType, VenueOrder
from chain.exchange.orders.venue import VenueKeys
from chain.exchange.orders.venues.hyperliquid.venue import HyperliquidVenue
from tests.chain.exchange.markets import ETH, order
from tests.fakes.exchange import Refusal
from tests.fakes.exchange_account import SILENT
from tests.fakes.hyperliquid import AGENT, AGENT_KEY, MASTER, SUB, HyperliquidDouble
from tests.printed import printed

pytest.importorskip("aiodns", reason="the extra trade is not installed")

SIGNED = json.loads(Path(__file__).with_name("hyperliquid_signatures.json").read_text("utf-8"))
"""Made by Hyperliquid's own SDK."""
PLAN = "plan_1"
BUY = order(OrderSide.BUY, OrderType.MARKET, 0.5, name="entry")
REST = order(OrderSide.BUY, OrderType.MAKER, 0.5, 2_900.0, name="entry", expires=900)
GUARDS = [
    order(OrderSide.SELL, OrderType.STOP, 0.5, 2_800.0, name="stop", reduce_only=True),
    order(OrderSide.SELL, OrderType.TAKE_PROFIT, 0.5, 3_300.0, name="profit", reduce_only=True),
]


@asynccontextmanager
async def opened(
    double: HyperliquidDouble, account: str = MASTER, key: str = AGENT_KEY
) -> AsyncIterator[HyperliquidVenue]:
    from chain.exchange.orders.venues.hyperliquid.venue import HyperliquidVenue

    async with double.running() as url:
        keys = VenueKeys(account, key)
        venue = HyperliquidVenue("hyperliquid", keys, base_url=url, between_looks=0.0)
        try:
            yield venue
        finally:
            await venue.close()


async def sent(
    double: HyperliquidDouble, folder: Path, orders: list[VenueOrder], account: str = MASTER
) -> list[tuple[str, OrderState, float]]:
    with TradeJournal.open(folder / "trades.db") as journal:
        async with opened(double, account) as venue:
            done = await send_orders(journal, venue, PLAN, orders, sleep=double.pass_time)
    return [(one.order.client_id, one.state, one.filled) for one in done]


async def tended(double: HyperliquidDouble, folder: Path) -> list[NoticeKind]:
    with TradeJournal.open(folder / "trades.db") as journal:
        async with opened(double) as venue:
            notices = await tend_orders(journal, venue, sleep=double.pass_time)
    return [notice.kind for notice in notices]


@pytest.mark.parametrize("signed", SIGNED["signed"], ids=lambda one: one["name"])
def test_what_is_signed_is_what_its_own_sdk_signs(signed: dict[str, Any]) -> None:
    from chain.exchange.orders.ccxt_client import open_client

    client = open_client("hyperliquid")
    client.privateKey = SIGNED["key"]
    vault = None if signed["vault"] is None else signed["vault"][2:]
    made = client.sign_l1_action(signed["action"], signed["nonce"], vault, signed["expiresAfter"])

    assert {name: int(str(made[name]), 0) for name in "rsv"} == {
        name: int(str(signed["signature"][name]), 0) for name in "rsv"
    }


def test_the_sdk_still_signs_so() -> None:
    signing = pytest.importorskip(
        "hyperliquid.utils.signing", reason="its SDK wants an older eth-account than zuno"
    )
    from eth_account import Account

    for one in SIGNED["signed"]:
        given = (one["action"], one["vault"], one["nonce"], one["expiresAfter"], True)
        made = signing.sign_l1_action(Account.from_key(SIGNED["key"]), *given)
        assert made == one["signature"]


async def test_a_trade_and_its_stop_are_one_group_that_the_venue_keeps(tmp_path: Path) -> None:
    double = HyperliquidDouble()
    assert await sent(double, tmp_path, [BUY, *GUARDS]) == [
        ("entry", OrderState.FILLED, 0.5),
        ("stop", OrderState.OPEN, 0.0),
        ("profit", OrderState.OPEN, 0.0),
    ]
    double.now += 60
    assert await tended(double, tmp_path) == []
    double.trade(2_700.0)
    double.now += 60
    kinds = await tended(double, tmp_path)

    assert double.held == 0.0
    assert kinds == [NoticeKind.CLEARED], "the profit that was left over"
    assert len(double.taken) == len(set(double.taken)) == 3


async def test_a_resting_group_gets_its_stop_from_the_venue_when_it_fills(tmp_path: Path) -> None:
    double = HyperliquidDouble()
    done = await sent(double, tmp_path, [REST, *GUARDS])
    assert [state for _, state, _ in done] == [OrderState.OPEN] * 3
    double.now += 60
    assert await tended(double, tmp_path) == []
    double.trade(2_890.0)
    double.now += 60
    await tended(double, tmp_path)
    stops = [one for one in double.orders.values() if one["tpsl"] == "sl"]

    assert double.held == 0.5
    assert [one["status"] for one in stops] == ["open"], "one stop, not two"
    assert len(double.taken) == 3


async def test_a_group_that_expires_leaves_nothing_behind(tmp_path: Path) -> None:
    double = HyperliquidDouble()
    await sent(double, tmp_path, [REST, *GUARDS])
    double.now += 901
    await tended(double, tmp_path)
    await tended(double, tmp_path)

    assert not [one for one in double.orders.values() if one["status"] == "open"]
    assert double.held == 0.0


@pytest.mark.parametrize("fault", [SILENT, Refusal(502, b"<html>")])
async def test_a_lost_answer_ends_in_one_group_and_its_stop(tmp_path: Path, fault: Refusal) -> None:
    double = HyperliquidDouble(placing=[(fault, True)])
    done = await sent(double, tmp_path, [BUY, *GUARDS])
    await tended(double, tmp_path)

    assert ("entry", OrderState.FILLED, 0.5) in done
    assert double.held == 0.5
    assert len(double.taken) == len(set(double.taken))
    assert [one["status"] for one in double.orders.values() if one["tpsl"] == "sl"] == ["open"]


async def test_a_group_that_never_arrives_is_known_to_be_missing(tmp_path: Path) -> None:
    double = HyperliquidDouble(placing=[(SILENT, False)])
    done = await sent(double, tmp_path, [BUY, *GUARDS])

    assert done == [("entry", OrderState.REFUSED, 0.0)]
    assert double.taken == []


@pytest.mark.parametrize(
    ("change", "wanted", "words"),
    [
        ({"agents": {AGENT: 1}}, BUY, "never with an old agent's address"),
        ({"equity": 1.0}, BUY, "margin is insufficient"),
        ({}, order(OrderSide.BUY, OrderType.MARKET, 0.001, name="entry"), "$10"),
        ({}, order(OrderSide.BUY, OrderType.MAKER, 0.5, 3_100.0, name="entry"), "should rest"),
        ({"placing": [(Refusal(429, b"null"), False)]}, BUY, "too often"),
    ],
)
async def test_a_refusal_is_one_sentence(
    change: dict[str, Any], wanted: VenueOrder, words: str
) -> None:
    double = HyperliquidDouble(**change)
    async with opened(double) as venue:
        done = await venue.submit(wanted)

    assert done.state is OrderState.REFUSED
    assert words in done.reason
    assert "{" not in done.reason
    assert AGENT_KEY[2:] not in done.reason
    assert double.held == 0.0


async def test_part_of_a_fill_is_told_with_its_price_and_fee() -> None:
    double = HyperliquidDouble(depth=0.2)
    async with opened(double) as venue:
        done = await venue.submit(BUY)
        account = await venue.account()

    assert (done.state, done.filled, done.average) == (OrderState.CANCELLED, 0.2, 3_000.0)
    assert done.fees == pytest.approx(0.2 * 3_000 * 0.00045)
    assert account.quantity_of(ETH) == 0.2
    assert account.equity == 10_000.0


async def test_an_agent_is_shown_with_its_end_and_warned_of() -> None:
    double = HyperliquidDouble()
    async with opened(double) as venue:
        good = await venue.check(ETH)
        double.agents = {AGENT: (double.now + 6 * 86_400) * 1000}
        soon = await venue.check(ETH)
        double.agents = {AGENT: 1}
        ended = await venue.check(ETH)
    async with opened(double, account=AGENT) as venue:
        own = await venue.check(ETH)

    assert not good.faults
    assert "the agent is good for 90 more days" in good.remarks
    assert any("ends in 6 days" in remark for remark in soon.remarks)
    assert "expired" in ended.faults[0]
    assert own.may_withdraw, "the account's own key is no agent"


async def test_a_sub_account_is_traded_by_its_owner_s_agent(tmp_path: Path) -> None:
    double = HyperliquidDouble(sub_account=True)
    done = await sent(double, tmp_path, [BUY], SUB)
    async with opened(double, SUB) as venue:
        check = await venue.check(ETH)

    assert done == [("entry", OrderState.FILLED, 0.5)]
    assert not check.faults
    assert not any("sub-account" in remark for remark in check.remarks)


@pytest.mark.parametrize(("told", "at"), [("2511.25", 2_511.25), (None, None)])
async def test_the_price_of_liquidation_is_the_venue_s(told: str | None, at: float | None) -> None:
    double = HyperliquidDouble(held=0.5, entry=3_000.0, liquidation=told)
    async with opened(double) as venue:
        [position] = (await venue.account()).positions

    assert position.liquidation == at


async def test_contracts_are_told_without_a_key_and_funded_by_the_hour() -> None:
    double = HyperliquidDouble()
    async with opened(double) as venue:
        funding = await venue.contracts.funding(ETH)
        rules = await venue.contracts.rules(ETH)
        paid = await venue.contracts.payments(ETH, since=double.now - 86_400)

    assert funding.interval_hours == 1.0
    assert funding.rate_a_day == pytest.approx(24 * 0.0000125)
    assert (rules.quantity_step, rules.price_step, rules.least_notional) == (0.0001, 0.1, 10.0)
    assert len(paid) == 24
    assert {payment.mark for payment in paid} == {3_000.0}


async def test_a_stop_is_as_large_as_what_its_profit_left(tmp_path: Path) -> None:
    double = HyperliquidDouble()
    await sent(double, tmp_path, [BUY, *GUARDS])
    double.trade(3_400.0, 0.2)
    notices = await tended(double, tmp_path)
    left = {one["tpsl"]: one["sz"] for one in double.orders.values() if one["status"] == "open"}
    double.now += 30
    double.trade(2_700.0)
    await tended(double, tmp_path)

    assert notices == [NoticeKind.RESIZED]
    assert left == {"sl": "0.3", "tp": "0.3"}
    assert double.held == 0.0
    assert not [one for one in double.orders.values() if one["status"] == "open"]


class Killed(BaseException):
    """The process is gone at this moment."""


async def _killed(
    double: HyperliquidDouble, folder: Path, orders: list[VenueOrder], at: int
) -> None:
    """Sends until the so-manieth question to the venue; then only polls go on."""
    left = at

    def moment() -> None:
        nonlocal left
        if left == 0:
            raise Killed
        left -= 1

    with TradeJournal.open(folder / "trades.db") as journal:
        async with opened(double) as venue:
            for name in ("now", "_posted", "find", "cancel"):
                asked = getattr(venue, name)

                async def counted(*given: Any, asked: Any = asked) -> Any:
                    moment()
                    answer = await asked(*given)
                    moment()
                    return answer

                setattr(venue, name, counted)
            with suppress(Killed):
                await send_orders(journal, venue, PLAN, orders, sleep=double.pass_time)


def _fresh(folder: Path) -> Path:
    folder.mkdir()
    return folder


async def _survives(folder: Path, number: int) -> None:
    draws = Random(number)
    orders = [draws.choice([BUY, REST]), *GUARDS]
    fault = draws.choice([None, None, (SILENT, True), (SILENT, False), (Refusal(502, b"x"), True)])
    double = HyperliquidDouble(placing=[] if fault is None else [fault])
    await _killed(double, folder, orders, number % 36)
    for price, coins in (
        (3_000.0, 1e9),
        (2_890.0, 1e9),
        (3_400.0, draws.choice([0.2, 1e9])),  # of the profit perhaps a part alone
        (draws.choice([2_700.0, 3_400.0]), 1e9),
    ):
        double.now += 30
        double.trade(price, coins)
        await tended(double, folder)
        stops = [one for one in double.orders.values() if one["tpsl"] == "sl" and not one["parent"]]
        covered = sum(float(one["sz"]) for one in stops if one["status"] == "open")
        assert covered == pytest.approx(double.held), (number, price)
    double.now += 900
    await tended(double, folder)
    assert len(double.taken) == len(set(double.taken)), "each order once"
    assert double.held == 0.0
    assert not [one for one in double.orders.values() if one["status"] == "open"]


async def test_a_killed_group_has_its_stop_or_nothing(tmp_path: Path) -> None:
    for number in (4, 13, 22, 31):
        await _survives(_fresh(tmp_path / str(number)), number)


@pytest.mark.soak
@pytest.mark.parametrize("part", range(4))
async def test_many_killed_groups(tmp_path: Path, part: int) -> None:
    for number in range(part * 36, part * 36 + 36):
        await _survives(_fresh(tmp_path / str(number)), number)
    printed("36 senders killed: every fill had its stop after one poll, each order once")
