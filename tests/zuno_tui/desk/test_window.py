"""A window looks alone: every act is refused with one sentence, and no part that acts is made."""

from pathlib import Path

import pytest
from msgspec.structs import replace

from chain.contracts.delegation import delegated_code
from chain.devnet.launch import DevnetReady
from chain.protocols.reference import position_label, v4_position
from chain.wallet.secrets import Passphrase
from tests import node_rpc
from tests.zuno_tui.desk.conftest import Node
from tests.zuno_tui.desk.sitting import opening, sitting
from zuno_tui.catalog.looks import READING
from zuno_tui.catalog.registry import registry
from zuno_tui.commands.alerts import ListAlerts
from zuno_tui.commands.balances import ShowBalances
from zuno_tui.commands.history import ShowHistory
from zuno_tui.commands.position_actions import ClosePosition, CollectFees
from zuno_tui.desk.events import (
    AlertsChanged,
    ConfirmationAsked,
    DetailReady,
    PageReady,
    PlanChanged,
    PoolsReady,
    Said,
    SettingsReady,
)
from zuno_tui.desk.looking import ONLY_LOOKS, may_be_seen
from zuno_tui.features.orders.intents import OrderClose
from zuno_tui.features.trade.events import TradeChanged
from zuno_tui.features.trade.intents import Hedge, Trade
from zuno_tui.intents.intent import Intent
from zuno_tui.intents.intents import (
    Acknowledge,
    Apply,
    Approve,
    ChangeSetting,
    DiffPlan,
    Inspect,
    ListPools,
    MuteAlert,
    OpenOutbox,
    Recommend,
    Replay,
    SayPhrase,
    SetMarketClock,
    Show,
    SimulatePlan,
    SwitchNetwork,
    UseWallet,
)

REF = v4_position(28)
ACTS: tuple[Intent, ...] = (
    Acknowledge("1"),
    Apply(),
    Approve(),
    ChangeSetting("limits.slippage", "9"),
    ClosePosition((REF,)),
    CollectFees((REF,)),
    MuteAlert("1", 60),
    OpenOutbox(),
    OrderClose(REF, ("below", "2000")),
    Recommend(REF),
    Replay("x"),
    SayPhrase("close everything"),
    SetMarketClock("pause"),
    Show("settings"),
    Show("outbox"),
    ShowHistory(form="koinly"),
    SwitchNetwork("base"),
    Trade("ETH"),
    UseWallet("main"),
)


async def test_every_act_is_refused_with_its_sentence_and_every_look_is_shown(
    devnet: DevnetReady, node: Node, tmp_path: Path
) -> None:
    token_id = v4_position(node("zuno_status")["positions"]["healthy"])
    window = replace(opening(tmp_path, devnet.url), looks_only=True)
    before = node_rpc.ask(devnet.url, "eth_getTransactionCount", devnet.wallet, "latest")
    async with sitting(window) as desk:
        for act in ACTS:
            since = len(desk.heard)
            await desk.ask(act)
            refused = [event for event in desk.heard[since:] if isinstance(event, Said)]
            assert [said.words for said in refused] == [ONLY_LOOKS], act
        passphrase = Passphrase(b"it is wiped")
        await desk.desk.confirm("0x", "apply", passphrase)
        await desk.ask(Inspect(token_id))
        await desk.ask(ListPools())
        await desk.ask(ListAlerts())
        for kind in (DetailReady, PoolsReady, PageReady, AlertsChanged):
            await desk.until(kind)
        await desk.desk.idle()

    assert (desk.all_heard(ConfirmationAsked), desk.all_heard(SettingsReady)) == ([], [])
    assert passphrase.length == 0 or not any(passphrase.reveal())
    assert not (tmp_path / "plans").exists() or not list((tmp_path / "plans").iterdir())
    assert not (tmp_path / "outbox.db").exists()
    after = node_rpc.ask(devnet.url, "eth_getTransactionCount", devnet.wallet, "latest")
    assert after == before


def test_no_command_is_seen_through_a_window_that_is_not_on_its_list() -> None:
    seen = {
        command.name
        for command in registry().commands
        if (intent := _plain(command.intent)) is not None and may_be_seen(intent)
    }

    assert {"alerts", "pools", "portfolio", "positions"} <= seen
    assert seen <= READING | {"cancel", "help", "quit", "refresh"}


def _plain(kind: type[Intent]) -> Intent | None:
    """As it is typed alone; None where it needs to be told more."""
    try:
        return kind()
    except TypeError:
        return None


@pytest.mark.parametrize("view", ["positions", "alerts", "plan", "debate"])
def test_its_panes_may_be_brought_to_the_front(view: str) -> None:
    assert may_be_seen(Show(view))  # type: ignore[arg-type]


async def test_one_position_is_told_at_once_and_then_drawn(
    devnet: DevnetReady, node: Node, tmp_path: Path
) -> None:
    token_id = v4_position(node("zuno_status")["positions"]["healthy"])
    async with sitting(opening(tmp_path, devnet.url)) as desk:
        await desk.ask(Inspect(token_id))
        await desk.desk.idle()
        await desk.ask(Inspect(v4_position(10**9)))
        await desk.desk.idle()

    first, drawn, summed = (event.view for event in desk.all_heard(DetailReady))
    assert drawn.profit == ()
    assert summed.profit
    assert (*first.facts, drawn.facts[-1]) == drawn.facts
    assert drawn.facts[-1][0] == "pays"
    assert dict(first.facts)["ticks"]
    assert first.price is None
    assert drawn.price is not None
    assert drawn.price.low < drawn.price.prices[-1] < drawn.price.high
    assert list(drawn.price.times) == sorted(drawn.price.times)
    assert len(drawn.price.times) == len(drawn.price.prices)
    assert [price for price, _ in drawn.liquidity] == sorted(price for price, _ in drawn.liquidity)
    assert max(liquidity for _, liquidity in drawn.liquidity) > 0
    assert drawn.fees_by_day
    facts, figures = dict(drawn.facts), {one.label: one.words for one in drawn.figures}
    assert figures["vs holding"] == drawn.days_sum[-1].words
    copied = dict(line.split(": ", 1) for line in drawn.copied if ": " in line)
    assert copied["vs holding"] == figures["vs holding"]
    assert copied["holds"] == f"{facts['holds']} = {figures['worth before fees']}"
    assert copied["to collect"] == f"{facts['to collect']} = {figures['to collect']}"
    assert not set(facts) & {"range", "price", "put in", "taken out", "fees earned", "vs holding"}
    assert figures["fee APR 24 h"].endswith("%")
    assert drawn.standing is not None
    assert drawn.standing.state == "in range"
    assert 0 < drawn.standing.progress < 1
    pool = next(line for line in drawn.copied if line.startswith("pool: "))
    assert len(pool.split()[1]) == len("0x") + 64
    begin, end = facts["pool"].split("…")
    assert pool.split()[1].startswith(begin)
    assert pool.endswith(end)
    assert facts["hook"]
    assert drawn.hook == ()
    assert "put in" in drawn.history[-1]
    assert f"has no position #{10**9}" in desk.heard_last(Said).words


async def test_what_a_position_came_to_since_entry_is_told_in_parts_that_add_up(
    devnet: DevnetReady, node: Node, tmp_path: Path
) -> None:
    token_id = v4_position(node("zuno_status")["positions"]["below its range"])
    async with sitting(opening(tmp_path, devnet.url)) as desk:
        await desk.ask(Inspect(token_id))
        told = await desk.until(DetailReady, lambda told: bool(told.view.profit))

    profit = {one.label: one.words for one in told.view.profit}
    money = {
        label: float(words.replace("−", "-").translate({ord(sign): None for sign in "$,+"}))
        for label, words in profit.items()
        if "$" in words
    }
    parts = money["came out"] + money["now + fees"] - money["put in"] - money["costs"]
    assert money["profit"] == pytest.approx(parts, abs=0.001)
    by_prices = money["+ token prices"]
    assert money["= vs holding"] + by_prices == pytest.approx(money["profit"], abs=0.001)


async def test_pools_come_with_a_phrase_to_go_on_from(devnet: DevnetReady, tmp_path: Path) -> None:
    async with sitting(opening(tmp_path, devnet.url)) as desk:
        await desk.ask(ListPools())
        rows = (await desk.until(PoolsReady)).rows

    assert "create 1 WETH/USDC 0.05%" in {row.phrase for row in rows}
    assert len({row.pool_id for row in rows}) == len(rows)


async def test_a_page_is_what_its_twin_prints_for_this_wallet(
    devnet: DevnetReady, node: Node, tmp_path: Path
) -> None:
    token_id = v4_position(node("zuno_status")["positions"]["below its range"])
    async with sitting(opening(tmp_path, devnet.url)) as desk:
        await desk.ask(ShowBalances())
        await desk.ask(Recommend(token_id))
        await desk.desk.idle()
        await desk.ask(DiffPlan(candidate="0"))
        await desk.desk.idle()
        await desk.ask(SimulatePlan(candidate="exit"))
        await desk.desk.idle()

    balances, diff, simulated = desk.all_heard(PageReady)
    assert "Embedded chain" in balances.lines[0]
    assert any("NOW" in line and "THEN" in line for line in diff.lines)
    assert any("Burn position" in line for line in simulated.lines)


async def test_the_markets_clock_is_turned_and_told(
    devnet: DevnetReady, node: Node, tmp_path: Path
) -> None:
    async with sitting(opening(tmp_path, devnet.url)) as desk:
        for action in ("faster", "faster", "slower"):
            await desk.ask(SetMarketClock(action))
        slowed = node("zuno_status")["speed"]
        await desk.ask(SetMarketClock("pause"))

    assert slowed == 1
    assert node("zuno_status")["speed"] == 0
    assert "Market paused" in desk.heard_last(Said).words


async def test_what_is_approved_already_is_not_looked_for_among_plans(
    devnet: DevnetReady, node: Node, tmp_path: Path
) -> None:
    token_id = v4_position(node("zuno_status")["positions"]["healthy"])
    async with sitting(opening(tmp_path, devnet.url)) as desk:
        await desk.ask(CollectFees((token_id,)))
        await desk.until(Said, lambda said: "approved for ten minutes" in said.words)
        await desk.ask(Approve())
        said = await desk.until(Said, lambda said: said.words.startswith("Already approved"))

    assert f"fees of position {position_label(token_id)}. Sign it: apply" in said.words


async def test_with_several_approvals_open_and_none_shown_apply_asks_which_is_meant(
    devnet: DevnetReady, node: Node, tmp_path: Path
) -> None:
    positions = node("zuno_status")["positions"]
    async with sitting(opening(tmp_path, devnet.url)) as desk:
        for name in ("healthy", "native"):
            heard = len(desk.heard)
            await desk.ask(CollectFees((v4_position(positions[name]),)))
            await desk.until(
                Said, lambda said: "approved for ten minutes" in said.words, since=heard
            )
        first, second = {
            told.view.plan_id: None
            for told in desk.all_heard(PlanChanged)
            if told.view is not None and told.view.approval is not None
        }
        await desk.ask(ChangeSetting("unit", "eth"))
        await desk.until(PlanChanged, lambda told: told.view is None)
        await desk.ask(Apply())
        said = await desk.until(Said, lambda said: "approvals are open" in said.words)
        assert desk.all_heard(ConfirmationAsked) == []
        await desk.ask(Apply(first))
        asked = await desk.until(ConfirmationAsked)

    assert f"apply {first}, apply {second}" in said.words
    assert asked.approval.plan_id == first


async def test_apply_finds_the_only_approval_that_is_open_a_hedges_too(
    devnet: DevnetReady, node: Node, tmp_path: Path
) -> None:
    token_id = v4_position(node("zuno_status")["positions"]["healthy"])
    async with sitting(opening(tmp_path, devnet.url)) as desk:
        await desk.ask(Hedge(token_id))
        told = await desk.until(TradeChanged, lambda told: bool(told.view.verdict))
        await desk.ask(Approve(told.view.plan_id))
        await desk.until(
            PlanChanged, lambda told: told.view is not None and told.view.approval is not None
        )
        await desk.ask(ChangeSetting("unit", "eth"))
        await desk.until(PlanChanged, lambda told: told.view is None)
        await desk.ask(Apply())
        asked = await desk.until(ConfirmationAsked)

    assert asked.approval.plan_id == told.view.plan_id


@pytest.mark.usefixtures("changed_world")
async def test_an_order_that_waits_for_a_delegation_is_not_typed_again(
    devnet: DevnetReady, node: Node, tmp_path: Path
) -> None:
    token_id = v4_position(node("zuno_status")["positions"]["healthy"])
    code = delegated_code(str(devnet.contracts.delegate)).hex()
    async with sitting(opening(tmp_path, devnet.url)) as desk:
        await desk.ask(OrderClose(token_id, ("below", "2000")))
        await desk.until(Said, lambda said: "type delegate" in said.words)
        assert desk.all_heard(ConfirmationAsked) == []
        await desk.ask(ChangeSetting("address", "0x" + "ab" * 20))
        await desk.until(Said, lambda said: "order is under way" in said.words)
        heard = len(desk.heard)
        await desk.ask(ChangeSetting("debate.profile", "conservative"))
        await desk.until(Said, lambda said: "type delegate" in said.words, since=heard)
        node("anvil_setCode", devnet.wallet, f"0x{code}")
        asked = await desk.until(ConfirmationAsked)

    assert f"Close #{token_id} when the price is below" in asked.approval.headline
