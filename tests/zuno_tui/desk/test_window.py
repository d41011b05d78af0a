"""A window looks alone: every act is refused with one sentence, and no part that acts is made."""

from pathlib import Path

import pytest
from msgspec.structs import replace

from chain.devnet.launch import DevnetReady
from chain.protocols.reference import v4_position
from chain.wallet.secrets import Passphrase
from tests import node_rpc
from tests.zuno_tui.desk.conftest import Node
from tests.zuno_tui.desk.sitting import opening, sitting
from zuno_tui.catalog.looks import READING
from zuno_tui.catalog.registry import registry
from zuno_tui.commands.alerts import ListAlerts
from zuno_tui.commands.history import ShowHistory
from zuno_tui.commands.position_actions import ClosePosition, CollectFees
from zuno_tui.desk.events import (
    AlertsChanged,
    ConfirmationAsked,
    DetailReady,
    PageReady,
    PoolsReady,
    Said,
    SettingsReady,
)
from zuno_tui.desk.looking import ONLY_LOOKS, may_be_seen
from zuno_tui.features.orders.intents import OrderClose
from zuno_tui.features.trade.intents import Trade
from zuno_tui.intents.intent import Intent
from zuno_tui.intents.intents import (
    Acknowledge,
    Apply,
    Approve,
    ChangeSetting,
    Inspect,
    ListPools,
    MuteAlert,
    OpenOutbox,
    Recommend,
    Replay,
    SayPhrase,
    SetMarketClock,
    Show,
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
