"""Orders through reorganisations, hanging looks, cancelled sends, changed hooks and stop words."""

import asyncio
import os
import threading
import time
from dataclasses import replace as with_rpc

import pytest
from msgspec.structs import replace

from chain.base.home import Home
from chain.contracts.hooks import NO_HOOK
from chain.contracts.networks import network_named
from chain.devnet.world.accounts import WATCH_KEY
from chain.read.gas import GAS_PRICE_ORACLE
from chain.standing_orders.order import StandingProgress, StandingState
from chain.wallet.errors import WalletRefusedError
from tests.fakes.proxy import Call, Proxy
from tests.fakes.telegram import CHAT, TOKEN, TelegramDouble
from tests.waiting import wait_until
from tests.zuno_tui.gate.desk import Desk
from tests.zuno_tui.gate.test_one_transaction import signed
from tests.zuno_tui.gate.test_standing_orders import (
    STATE,
    Watching,
    level,
    ordered,
    push,
    redeemable,
    stopped,
)
from zuno_tui.app.feature import obeyed_word
from zuno_tui.app.session import Session
from zuno_tui.app.watch_key import refuse_funded, sweep
from zuno_tui.features.orders import keeper
from zuno_tui.features.orders.news import order_news
from zuno_tui.features.orders.sight import SeenClock, hold_progress
from zuno_tui.features.orders.stop_word import hear
from zuno_tui.settings import Flags, load_settings
from zuno_tui.settings.channels import channel_settings


def _session(desk: Desk) -> Session:
    home = Home.locate(os.environ, desk.command.home)
    settings = load_settings(home.settings, {}, Flags(network="devnet", rpc=desk.devnet.url))
    return Session(home, settings, settings.chosen_network(), as_json=True)


def _stopped_out(desk: Desk) -> Watching:
    """A stop whose condition has held for long enough, before the look that sends it."""
    stopped(desk)
    watching = Watching(desk)
    push(desk, watching.order().order, bips=150)
    watching.look()
    desk.pass_time(16 * 12)
    return watching


def test_what_a_deep_reorganisation_takes_back_is_carried_out_again(delegated: Desk) -> None:
    desk, token_id = delegated, str(delegated.token_id(STATE))
    watching = _stopped_out(desk)
    watching.look()
    watching.look(blocks=5)
    done = watching.order().progress
    desk.ask("anvil_reorg", 8, [])
    there_again = desk.owns(token_id)
    # The blocks that came instead are closer together: it is to be as late as it was.
    watching.look(blocks=30)
    taken_back = watching.order().progress
    for _ in range(4):
        watching.look(blocks=4)
    again = watching.order().progress

    assert (done.state, there_again) == (StandingState.DONE, True)
    assert taken_back.state is StandingState.SENT, taken_back
    assert (again.state, again.done) == (StandingState.DONE, 1)
    assert len(again.results) == 1
    assert not desk.owns(token_id)


def test_an_end_that_was_taken_back_stands_again_and_else_becomes_final(delegated: Desk) -> None:
    desk = delegated
    ordered(desk, "close", str(desk.token_id(STATE)), "below", level(desk, 0.99), "until", "1h")
    desk.ask("anvil_mine", "0x4", "0xc")
    watching = Watching(desk)
    signed(desk, "order", "cancel", "1")
    watching.look()
    ended = watching.order().progress
    desk.ask("anvil_reorg", 3, [])
    watching.look(blocks=6)
    revived = watching.order().progress
    watching.look(blocks=301)
    expired = watching.order()
    watching.look(blocks=keeper.FINAL_SECONDS // 12 + 2)

    assert (ended.state, revived.state) == (StandingState.ENDED, StandingState.WAITING)
    assert (expired.progress.state, expired.is_final) == (StandingState.ENDED, False)
    assert watching.order().progress.state is StandingState.ENDED
    assert watching.order().is_final


def test_what_is_on_its_way_for_a_cancelled_order_makes_way_for_nothing(delegated: Desk) -> None:
    desk = delegated
    watching = _stopped_out(desk)
    desk.ask("evm_setAutomine", False)
    asyncio.run(watching.keeper.look())
    sent = watching.order().progress.calls[-1]
    desk.ask("anvil_dropTransaction", sent.hash)
    desk.ask("evm_setAutomine", True)
    signed(desk, "order", "cancel", "1")
    watching.look()
    ended = watching.order().progress
    watching.look()
    (*_, withdrawn) = watching.order().progress.calls
    found = desk.ask("eth_getTransactionByHash", withdrawn.hash)
    watching.look()

    assert (ended.state, ended.reason) == (StandingState.ENDED, "It was cancelled.")
    assert (withdrawn.withdraws, withdrawn.nonce) == (True, sent.nonce)
    assert int(withdrawn.max_fee_per_gas) > int(sent.max_fee_per_gas)
    assert (found["from"], found["to"]) == (WATCH_KEY.address, WATCH_KEY.address)
    assert (found["value"], found["input"]) == ("0x0", "0x")
    assert watching.order().progress.calls == ()
    assert int(desk.ask("eth_getTransactionCount", WATCH_KEY.address, "latest"), 16) == (
        sent.nonce + 1
    )


def _after(time: float, block: int) -> SeenClock:
    return SeenClock(time, block)


def test_a_look_that_could_not_be_made_neither_confirms_a_condition_nor_begins_it_anew() -> None:
    begun = hold_progress(StandingProgress(), _after(1_000, 10), lack=None, longest_gap=90)
    # One look at 1,012 failed: nothing was written down.
    gone_on = hold_progress(begun, _after(1_080, 16), lack=None, longest_gap=90)
    too_long = hold_progress(begun, _after(1_091, 17), lack=None, longest_gap=90)
    behind = hold_progress(begun, _after(990, 9), lack=None, longest_gap=90)
    broken = hold_progress(begun, _after(1_012, 11), lack="", longest_gap=90)

    assert (begun.met_at, gone_on.met_at) == (1_000, 1_000)
    assert (too_long.met_at, behind.met_at, broken.met_at) == (1_091, 990, None)


def test_an_order_that_hangs_takes_no_look_from_another(delegated: Desk) -> None:
    desk, hung, other = delegated, delegated.token_id(STATE), delegated.token_id("native")
    for token_id in (hung, other):
        ordered(desk, "close", str(token_id), "out-of-range", "2h")
    over, asked = threading.Event(), threading.Event()

    def never_answers(call: Call) -> None:
        if f"{hung:064x}" in str(call["params"]):
            asked.set()
            over.wait()

    with Proxy(desk.devnet.url, never_answers) as proxy:
        watching = Watching(with_rpc(desk, rpc=proxy.url))
        looking = threading.Thread(target=watching.look)
        looking.start()
        wait_until(lambda: watching.order(2).progress.looked_at, "a look at the other order")
        hung_order = watching.order(1).progress
        over.set()
        looking.join()

    assert asked.is_set()
    assert hung_order.looked_at is None
    assert watching.order(1).progress.looked_at is not None


def test_each_collect_is_told(delegated: Desk) -> None:
    desk, token_id = delegated, str(delegated.token_id(STATE))
    ordered(desk, "collect", token_id, "every", "10m", "over", "$0.000001", "times", "3")
    watching = Watching(desk)
    for _ in range(4):
        watching.look(blocks=60)
    home, now = Home.locate(os.environ, desk.command.home), time.time()
    (told,) = order_news(home, network_named("devnet"), now)
    later = order_news(home, network_named("devnet"), now + 2 * 86_400)

    assert watching.order().progress.done == 1
    assert "1 of 3 times" in told.finding.message
    assert later == ()


def test_an_order_ends_with_other_code_of_its_hook(delegated: Desk) -> None:
    desk = delegated
    hooked = [
        one
        for one in desk.positions().values()
        if one["hooks"] != NO_HOOK and int(one["liquidity"])
    ]
    token_id = hooked[0]["tokenId"]
    ordered(desk, "close", token_id, "out-of-range", "3m")
    watching = Watching(desk)
    watching.look()
    before = watching.order().progress.state
    hook = hooked[0]["hooks"]
    code = desk.ask("eth_getCode", hook, "latest")
    desk.ask("anvil_setCode", hook, code + "00")
    watching.look()

    assert before is StandingState.WAITING
    assert watching.order().progress.state is StandingState.ENDED
    assert "hook has changed" in watching.order().progress.reason
    assert "hook has changed" in desk.here("orders").out


def test_a_watch_key_with_coin_is_not_removed(desk: Desk) -> None:
    session = _session(desk)
    with pytest.raises(WalletRefusedError, match="watch-key sweep"):
        asyncio.run(refuse_funded(session, WATCH_KEY.address))
    desk.ask("anvil_setBalance", WATCH_KEY.address, "0x1")
    asyncio.run(refuse_funded(session, WATCH_KEY.address))


class _SweepArguments:
    to = None
    passphrase_file = None

    def __init__(self, confirm: str) -> None:
        self.confirm = confirm


def test_a_sweep_to_a_delegated_account_leaves_what_the_data_costs(delegated: Desk) -> None:
    desk, fee = delegated, 7 * 10**13
    # PUSH32 fee, PUSH0 MSTORE, PUSH1 32 PUSH0 RETURN: as the oracle answers for data and operator.
    desk.ask("anvil_setCode", GAS_PRICE_ORACLE, f"0x7f{fee:064x}5f5260205ff3")
    session = _session(desk)
    network = replace(session.network, stack="op")
    arguments = _SweepArguments(desk.devnet.wallet)
    asyncio.run(sweep(replace(session, network=network), arguments))  # type: ignore[arg-type]
    desk.ask("evm_mine")
    left = int(desk.ask("eth_getBalance", WATCH_KEY.address, "latest"), 16)

    assert 3 * fee <= left < 10**15


@pytest.fixture
def telegram() -> TelegramDouble:
    return TelegramDouble(time.time)


async def _hear(desk: Desk, telegram: TelegramDouble) -> None:
    async with telegram.running() as url:
        home = Home.locate(os.environ, desk.command.home)
        table = f'[telegram]\ntoken = "{TOKEN}"\nchat = {CHAT}\nanswer_to = [777]\nurl = "{url}"\n'
        home.settings.write_text(table, "utf-8")
        settings = channel_settings(load_settings(home.settings, {}, Flags()), {}).telegram
        assert settings is not None
        await hear(home, settings, seconds=0)


def test_the_word_out_of_the_set_chat_holds_this_machine_back(
    delegated: Desk, telegram: TelegramDouble
) -> None:
    desk = delegated
    watching = _stopped_out(desk)
    telegram.write("Orders STOP!", date=int(time.time()) - 7_200)
    asyncio.run(_hear(desk, telegram))
    for _ in range(2):
        watching.look()

    assert watching.book.is_stopped
    assert watching.order().progress.state is StandingState.WAITING
    (told,) = telegram.heard
    assert "carries out no order until" in told.text
    assert "1 order stands" in told.text
    assert redeemable(desk, watching.order().order), "the signature stays valid"


def test_other_words_and_other_chats_stop_nothing(desk: Desk, telegram: TelegramDouble) -> None:
    watching = Watching(desk)
    watching.book.go_on()
    telegram.write("orders stop", chat=666)
    telegram.write("orders stop", chat=777)
    telegram.write("should I have the orders stop at noon?")
    telegram.write("orders go")
    asyncio.run(_hear(desk, telegram))
    home = Home.locate(os.environ, desk.command.home)

    assert not watching.book.is_stopped
    assert telegram.heard == []
    assert obeyed_word(home, "why did the orders stop") == ""
