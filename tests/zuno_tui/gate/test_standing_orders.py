"""Standing orders on the real contracts: carried out when their condition held, and never else."""

import asyncio
import os
import random
import re
import shutil
import time
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest

from agents.monitor.heartbeat import Note
from chain.base.home import Home
from chain.contracts.delegation import DELEGATION_MANAGER, NONCES, BatchCall
from chain.contracts.networks import NATIVE, network_named
from chain.contracts.signed_delegation import (
    ANYBODY,
    Caveat,
    SignedDelegation,
    caveats_of,
    redeem,
    terms_in,
)
from chain.devnet.world.accounts import DEMO_WALLET, WATCH_KEY
from chain.devnet.world.deployment import CONTRACTS
from chain.standing_orders.book import KeptOrder, StandingOrders
from chain.standing_orders.call import OrderRefusedError, call_of, read_call
from chain.standing_orders.order import PricePast, StandingOrder, StandingState
from chain.wallet.demo import demo_key
from chain.wallet.errors import WalletRefusedError
from chain.wallet.local_key import LocalKey
from chain.wallet.signer import Signer
from tests import node_rpc
from tests.printed import printed
from tests.zuno_tui.conftest import CommandLine
from tests.zuno_tui.gate.desk import FEW_BLOCKS, Desk
from tests.zuno_tui.gate.test_one_transaction import signed
from zuno_tui.app.session import SettingsSource
from zuno_tui.features.orders.keeper import OrderKeeper
from zuno_tui.features.orders.news import order_news
from zuno_tui.settings import Flags

STATE = "healthy"


class Watching:
    """The machine that carries out orders, look by look."""

    def __init__(self, desk: Desk) -> None:
        self.desk = desk
        self.told: list[Note] = []
        home = Home.locate(os.environ, desk.command.home)
        flags = Flags(network="devnet", rpc=desk.rpc or desk.devnet.url)
        self.book = StandingOrders(home.orders)
        self.keeper = OrderKeeper(SettingsSource(home, flags, os.environ), self.told.append)

    def look(self, *, blocks: int = 1) -> None:
        """After the time of so many blocks, in a few at most."""
        if blocks > FEW_BLOCKS:
            self.desk.pass_time(12 * blocks)
        else:
            self.desk.ask("anvil_mine", hex(blocks), "0xc")
        asyncio.run(self.keeper.look())

    def order(self, number: int = 1) -> KeptOrder:
        return self.book.find(number)


def ordered(desk: Desk, *words: str) -> dict[str, Any]:
    """Proposed and signed: what was shown."""
    proposed = desk.here("order", *words, "--json")
    assert proposed.code == 0, proposed.words
    spoken = desk.apply_here(proposed.data["planId"], "--confirm", proposed.data["hash"])
    assert spoken.code == 0, spoken.words
    result: dict[str, Any] = proposed.data
    return result


def level(desk: Desk, share: float) -> str:
    """A price as people tell it, this far from the pool's."""
    position = desk.positions()[str(desk.token_id(STATE))]
    return f"{float(position['price']) * share:.2f}"


_STOPS: dict[tuple[str, str], tuple[TemporaryDirectory[str], dict[str, Any]]] = {}


def stopped(desk: Desk) -> dict[str, Any]:
    """A close one per cent below, as the home keeps it: signed once for each state of a chain,
    where signing leaves nothing."""
    state = desk.devnet.url, desk.ask("eth_getBlockByNumber", "latest", False)["hash"]
    if state not in _STOPS:
        shown = ordered(desk, "close", str(desk.token_id(STATE)), "below", level(desk, 0.99))
        folder = TemporaryDirectory(prefix="zuno-stop-")
        shutil.copytree(desk.command.home, f"{folder.name}/home")
        _STOPS[state] = folder, shown
    kept, shown = _STOPS[state]
    shutil.copytree(f"{kept.name}/home", desk.command.home, dirs_exist_ok=True)
    return shown


def push(desk: Desk, order: StandingOrder, *, bips: int) -> None:
    """The price, towards the order's level or away from it."""
    assert isinstance(order.condition, PricePast)
    desk.raise_price(desk.pool_id(STATE), bips=-bips if order.condition.falls else bips)


def test_the_page_says_what_has_a_floor_who_pays_and_what_a_jump_does(delegated: Desk) -> None:
    desk = delegated
    price = level(desk, 0.99)
    shown = desk.here("order", "close", str(desk.token_id(STATE)), "below", price)
    words = " ".join(shown.out.split())
    most = 500_000 * network_named("devnet").max_fee_per_gas / 10**18

    assert re.search(
        r"the transaction reverts\. USDC has no minimum: it shrinks as the price falls\.",
        words,
    )
    assert "If the price jumps, it closes at whatever price is reached, even far below" in words
    # What it costs and may cost comes first, and who pays.
    assert re.match(r"Close #\d+ when .* · plan_\w+ · costs \$[\d.]+, at most \$[\d.,]+ !", words)
    assert re.search(r"network about [\d.]+ ETH; the watch key pays \$[\d.,]+", words)
    assert re.search(rf"network {most:g} ETH, set in your limits ≤ \$", words)
    rows = [line.split()[0] for line in shown.out.splitlines() if line]
    assert rows.index("!") < rows.index("network") < rows.index("LIMITS") < rows.index("sent")


def test_a_stop_is_carried_out_below_its_price_and_not_above(delegated: Desk) -> None:
    desk, token_id = delegated, delegated.token_id(STATE)
    shown = stopped(desk)
    watching = Watching(desk)
    for _ in range(4):
        watching.look()
    assert watching.order().progress.state is StandingState.WAITING
    push(desk, watching.order().order, bips=150)
    watching.look()
    assert watching.order().progress.met_at is not None
    watching.look()
    assert watching.order().progress.state is StandingState.WAITING, (
        "it has not held for long enough"
    )
    watching.look(blocks=10)
    assert watching.order().progress.state is StandingState.SENT
    watching.look(blocks=4)

    progress = watching.order().progress
    assert progress.state is StandingState.DONE, (progress, watching.told)
    assert len(progress.results) == 1
    assert not desk.owns(token_id)
    assert shown["recipient"] == desk.devnet.wallet


_EXPECTED = re.compile(r"About ([\d.,]+) WETH \+ ([\d.,]+) USDC, worth \$([\d,]+) then")


def test_an_order_says_how_far_the_price_is_and_what_it_brings_there(delegated: Desk) -> None:
    desk, price = delegated, level(delegated, 0.99)
    shown = " ".join(
        desk.here("order", "close", str(desk.token_id(STATE)), "below", price).out.split()
    )
    found = _EXPECTED.search(shown)

    assert found is not None, shown
    base, quote, dollars = (float(figure.replace(",", "")) for figure in found.groups())
    assert dollars == pytest.approx(base * float(price) + quote, rel=1e-3)
    assert "now and must fall 1%" in shown
    assert f"comes out {found[1]} WETH, or" in shown


ATTACKER = "0x00000000000000000000000000000000000bad01"


def redeemed(desk: Desk, delegation: SignedDelegation, call: BatchCall, sender: str) -> bool:
    """Whether the chain would take this from whoever sends it."""
    told = node_rpc.answer_of(
        desk.devnet.url,
        "eth_call",
        {"from": sender, "to": DELEGATION_MANAGER, "data": "0x" + redeem(delegation, call).hex()},
        "latest",
    )
    return "error" not in told


def redeemable(desk: Desk, order: StandingOrder) -> bool:
    return redeemed(
        desk,
        order.delegation_signed,
        call_of(order.delegation_signed),
        order.delegation_signed.delegate,
    )


def mutations(
    chance: random.Random, signed: SignedDelegation, call: BatchCall
) -> tuple[SignedDelegation, BatchCall, str]:
    """What somebody with the watch key and the file might try, in one way or several at once."""
    key, caveats = signed.delegate, list(signed.caveats)
    match chance.randrange(9):
        case 0:
            data = bytearray(call.data)
            data[chance.randrange(len(data))] ^= 1 << chance.randrange(8)
            call = call._replace(data=bytes(data))
        case 1:
            call = call._replace(to=f"0x{chance.randbytes(20).hex()}")
        case 2:
            call = call._replace(value=chance.randrange(1, 10**18))
        case 3:
            key = f"0x{chance.randbytes(20).hex()}"
        case 4:
            place = chance.randrange(len(caveats))
            terms = bytearray(caveats[place].terms)
            terms[chance.randrange(len(terms))] ^= 1 << chance.randrange(8)
            caveats[place] = caveats[place]._replace(terms=bytes(terms))
            signed = signed._replace(caveats=tuple(caveats))
        case 5:
            del caveats[chance.randrange(len(caveats))]
            signed = signed._replace(caveats=tuple(caveats))
        case 6:
            signed = signed._replace(delegate=f"0x{chance.randbytes(20).hex()}")
            key = signed.delegate
        case 7:
            signed = signed._replace(salt=signed.salt ^ (1 << chance.randrange(256)))
        case 8:
            broken = bytearray(signed.signature)
            broken[chance.randrange(64)] ^= 1 << chance.randrange(8)
            signed = signed._replace(signature=bytes(broken))
    return signed, call, key


def attempts(desk: Desk, order: StandingOrder, seed: int, count: int) -> int:
    """How many of that many attempts the chain would take."""
    chance = random.Random(seed)
    own = call_of(order.delegation_signed)
    taken = 0
    for _ in range(count):
        delegation, call, key = mutations(chance, order.delegation_signed, own)
        taken += redeemed(desk, delegation, call, key)
    return taken


def test_whoever_has_the_watch_key_and_the_file_can_do_nothing_but_the_order(
    delegated: Desk,
) -> None:
    desk = delegated
    stopped(desk)
    order = Watching(desk).order().order
    own = call_of(order.delegation_signed)

    assert not redeemed(desk, order.delegation_signed, own, order.delegation_signed.delegate), (
        "not early"
    )
    push(desk, order, bips=150)
    assert redeemed(desk, order.delegation_signed, own, order.delegation_signed.delegate)
    assert attempts(desk, order, seed=1, count=60) == 0


@pytest.mark.soak
def test_a_thousand_attempts_with_the_watch_key_take_nothing(delegated: Desk) -> None:
    desk = delegated
    stopped(desk)
    order = Watching(desk).order().order
    early = attempts(desk, order, seed=2, count=500)
    push(desk, order, bips=150)
    late = attempts(desk, order, seed=3, count=500)
    printed(f"G30: 1,000 attempts with the watch key and the file, {early + late} taken")

    assert (early, late) == (0, 0)


@pytest.mark.parametrize("contract", ["delegate", "position_manager"])
def test_no_order_is_signed_for_code_that_is_not_the_known(delegated: Desk, contract: str) -> None:
    desk, address = delegated, str(getattr(CONTRACTS, contract))
    code = str(desk.ask("eth_getCode", address, "latest"))
    # One byte of its metadata: it does all that it did.
    desk.ask("anvil_setCode", address, code[:-1] + ("0" if code[-1] != "0" else "1"))
    refused = desk.here("order", "close", str(desk.token_id(STATE)), "below", level(desk, 0.99))
    desk.ask("anvil_setCode", address, code)

    assert (refused.code, StandingOrders(desk.command.home / "orders").all()) == (3, ())
    assert "as they are known. Nothing was signed" in refused.words, refused.words


def test_no_delegation_with_a_field_changed_is_signed(delegated: Desk) -> None:
    """By the wallet's signer, whoever built it."""
    desk = delegated
    stopped(desk)
    good = Watching(desk).order().order.delegation_signed._replace(signature=b"")
    chance, refused = random.Random(4), 0
    terms = terms_in(good.caveats)
    assert terms is not None

    def other(**changed: Any) -> SignedDelegation:
        return good._replace(caveats=caveats_of(terms._replace(**changed)))

    odd = [
        good._replace(delegate=ANYBODY),
        good._replace(delegate=NATIVE),
        good._replace(delegate=good.delegator),
        good._replace(delegate=DELEGATION_MANAGER),
        good._replace(delegator=good.delegate),
        good._replace(authority=bytes(32)),
        good._replace(authority=chance.randbytes(32)),
        good._replace(caveats=good.caveats[:3]),
        good._replace(caveats=good.caveats[::-1]),
        good._replace(caveats=(*good.caveats, good.caveats[0])),
        good._replace(caveats=(Caveat(NONCES, good.caveats[0].terms), *good.caveats[1:])),
        good._replace(salt=-1),
        good._replace(salt=2**256),
        good._replace(signature=b"\1"),
        other(call=terms.call._replace(to=ATTACKER)),
        other(call=terms.call._replace(value=1)),
        other(times=0),
        other(times=65),
        other(before=terms.after + 93 * 86_400),
        other(before=terms.after),
    ]
    with Signer(
        LocalKey(demo_key(Home.locate(os.environ, desk.command.home).cache)), 31337
    ) as signer:
        for each in odd:
            with pytest.raises(WalletRefusedError):
                signer.sign_delegation(each)
            refused += 1
        again = signer.sign_delegation(good)
    assert refused == len(odd)
    assert again.signature != b""


def test_an_order_that_does_something_else_is_no_order(delegated: Desk) -> None:
    desk = delegated
    stopped(desk)
    good = Watching(desk).order().order.delegation_signed
    terms = terms_in(good.caveats)
    assert terms is not None
    call, owner = terms.call, bytes.fromhex(DEMO_WALLET.address[2:])

    read_call(good, network_named("devnet"))
    for changed in (
        call._replace(data=call.data[:-1] + b"\1"),
        call._replace(data=b"\0" + call.data[1:]),
        call._replace(data=call.data.replace(owner, b"\xba" * 20)),
        call._replace(to=ATTACKER),
        call._replace(value=5),
    ):
        odd = good._replace(caveats=caveats_of(terms._replace(call=changed)))
        with pytest.raises(OrderRefusedError):
            read_call(odd, network_named("devnet"))


@pytest.mark.parametrize(
    ("command", "reason"),
    [
        (("order", "cancel", "1"), "It was cancelled."),
        (("order", "cancel", "all"), "It was cancelled with all others."),
        (("wallet", "undelegate"), "It was cancelled with all others."),
        (("close", "@"), "is closed"),
        (("increase", "@", "0.1", "WETH"), "It was cancelled."),
        (("decrease", "@", "10"), "It was cancelled."),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, tuple) else None,
)
def test_an_order_ends_on_chain_and_on_screen(
    delegated: Desk, command: tuple[str, ...], reason: str
) -> None:
    desk, token_id = delegated, str(delegated.token_id(STATE))
    stopped(desk)
    watching = Watching(desk)
    order = watching.order().order
    words = [token_id if word == "@" else word for word in command]
    named = desk.here(*words, "--json")
    signed(desk, *words)
    if command == ("wallet", "undelegate"):
        signed(desk, "wallet", "delegate")
    watching.look()
    progress = watching.order().progress

    assert named.code == 0, named.words
    assert progress.state is StandingState.ENDED
    assert reason in progress.reason
    assert reason in desk.here("orders").out
    push_if_there(desk, order)
    assert not redeemable(desk, order)
    if command[0] in ("increase", "decrease"):
        assert "Order 1 is cancelled with it" in str(named.data)


def push_if_there(desk: Desk, order: StandingOrder) -> None:
    if desk.owns(desk.token_id(STATE)):
        push(desk, order, bips=150)


def test_it_ends_with_its_date(delegated: Desk) -> None:
    desk = delegated
    ordered(desk, "close", str(desk.token_id(STATE)), "below", level(desk, 0.99), "until", "1h")
    watching = Watching(desk)
    push(desk, watching.order().order, bips=150)
    desk.pass_time(4_800)
    order = watching.order().order
    watching.look()

    assert watching.order().progress.reason == "Its date has passed."
    assert not redeemed(
        desk,
        order.delegation_signed,
        call_of(order.delegation_signed),
        order.delegation_signed.delegate,
    )


def test_fees_are_collected_as_often_as_signed_and_no_oftener(delegated: Desk) -> None:
    desk, token_id = delegated, str(delegated.token_id(STATE))
    ordered(desk, "collect", token_id, "every", "10m", "over", "$0.000001", "times", "2")
    watching = Watching(desk)
    for _ in range(4):
        watching.look(blocks=60)
    once = watching.order().progress
    for _ in range(4):
        watching.look(blocks=60)
    last = watching.order()

    assert last.progress.done <= 2
    assert redeemable(desk, last.order) is (last.progress.done < 2)
    assert (once.done, once.state) == (1, StandingState.WAITING)
    assert desk.owns(token_id)


def test_a_spike_of_one_block_triggers_nothing(delegated: Desk) -> None:
    desk = delegated
    stopped(desk)
    watching = Watching(desk)
    order = watching.order().order
    for _ in range(3):
        watching.look(blocks=9)
        push(desk, order, bips=150)
        watching.look()
        push(desk, order, bips=-153)

    watching.look(blocks=12)
    assert watching.order().progress.state is StandingState.WAITING
    assert watching.order().progress.met_at is None


def test_the_switch_holds_this_machine_back(delegated: Desk) -> None:
    desk = delegated
    stopped(desk)
    watching = Watching(desk)
    push(desk, watching.order().order, bips=150)
    assert desk.here("orders", "stop").code == 0
    for _ in range(3):
        watching.look(blocks=12)
    held_back = watching.order().progress
    desk.here("orders", "go")
    for _ in range(4):
        watching.look(blocks=12)

    assert (held_back.state, held_back.met_at) == (StandingState.WAITING, None)
    assert watching.order().progress.state is StandingState.DONE


def test_two_machines_act_once_and_a_crash_sends_the_same_bytes(
    delegated: Desk, tmp_path: Path
) -> None:
    desk = delegated
    stopped(desk)
    file = tmp_path / "order.json"
    assert desk.here("order", "export", "1", str(file)).code == 0
    other = replace(desk, command=CommandLine(tmp_path / "server"))
    other.command.home.mkdir(mode=0o700)
    assert other.here("order", "import", str(file)).code == 0
    machines = Watching(desk), Watching(other)
    push(desk, machines[0].order().order, bips=150)
    for machine in machines:
        machine.look()
    desk.ask("anvil_mine", "0xb", "0xc")
    desk.ask("evm_setAutomine", False)
    for machine in machines:
        asyncio.run(machine.keeper.look())
    sent = [machine.order().progress.calls[-1] for machine in machines]
    # Begun again, each has what it wrote down.
    machines = Watching(desk), Watching(other)
    for machine in machines:
        asyncio.run(machine.keeper.look())
    desk.ask("evm_setAutomine", True)
    for _ in range(3):
        for machine in machines:
            machine.look(blocks=4)

    assert sent[0].nonce == sent[1].nonce
    states = [machine.order().progress.state for machine in machines]
    assert states == [StandingState.DONE, StandingState.DONE], states
    used = [one for machine in machines for one in machine.order().progress.results]
    assert len(set(used)) == 1


def test_the_watch_key_of_the_embedded_chain_has_gas_and_is_emptied_by_command(desk: Desk) -> None:
    told = desk.here("wallet", "watch-key", "--json").data
    swept = desk.command(
        "wallet", "watch-key", "sweep", "--confirm", desk.devnet.wallet, *desk.flags
    )
    after = desk.here("wallet", "watch-key", "--json").data

    assert int(told["wei"]) == 5 * 10**16
    assert swept.code == 0, swept.words
    assert int(after["wei"]) < int(told["wei"]) // 100
    assert "keeps its watch key" in desk.here("wallet", "watch-key", "remove").words


def test_the_monitor_tells_what_came_of_it_and_of_a_key_without_gas(delegated: Desk) -> None:
    desk = delegated
    stopped(desk)
    watching = Watching(desk)
    home, network = Home.locate(os.environ, desk.command.home), network_named("devnet")
    before = order_news(home, network, time.time())
    desk.ask("anvil_setBalance", WATCH_KEY.address, "0x1")
    watching.look()
    (low,) = order_news(home, network, time.time())
    desk.ask("anvil_setBalance", WATCH_KEY.address, hex(10**18))
    push(desk, watching.order().order, bips=150)
    for _ in range(4):
        watching.look(blocks=12)
    (done,) = order_news(home, network, time.time())
    polled = desk.here("monitor", "--once", "--json")

    assert before == ()
    assert "no order is carried out" in low.finding.message
    assert "Order 1 was carried out: " in done.finding.message
    assert "WETH and " in done.finding.message
    assert "standing_order" in polled.out, polled.words


@pytest.mark.parametrize(
    ("words", "share", "side"),
    [
        (("0.5", "WETH", "sell", "at", "{}"), 1.02, "above"),
        (("800", "USDC", "buy", "WETH", "at", "{}"), 0.98, "below"),
    ],
)
def test_a_limit_order_sells_on_its_way_and_is_taken_out_when_filled(
    delegated: Desk, words: tuple[str, ...], share: float, side: str
) -> None:
    desk = delegated
    price = level(desk, share)
    before = desk.positions().keys()
    approval, _ = signed(desk, "create", *(word.format(price) for word in words))
    (made,) = desk.positions().keys() - before
    told = " ".join(approval["warnings"])
    filled = re.search(rf"order close ID {side} ([0-9,.]+)", told)
    assert filled is not None
    ordered(desk, "close", made, side, filled[1])

    assert abs(float(filled[1].replace(",", "")) / float(price) - 1) < 0.02
    assert desk.positions()[made]["status"] != "in range"
    held = [desk.positions()[made][name] for name in ("amount0", "amount1")]
    assert min(map(int, held)) == 0


def paid_by_watch_key(desk: Desk, since: int) -> list[bool]:
    """Of every transaction of it: whether it succeeded."""
    found = []
    for number in range(since, int(desk.ask("eth_blockNumber"), 16) + 1):
        for sent in desk.ask("eth_getBlockByNumber", hex(number), True)["transactions"]:
            if sent["from"] == WATCH_KEY.address:
                receipt = desk.ask("eth_getTransactionReceipt", sent["hash"])
                found.append(receipt["status"] == "0x1")
    return found


def test_machines_that_take_orders_in_another_sequence_pay_for_no_failure(
    delegated: Desk, tmp_path: Path
) -> None:
    """Both take themselves for the first, and what they send lies in the pool for a while."""
    desk, other = delegated, replace(delegated, command=CommandLine(tmp_path / "other"))
    other.command.home.mkdir(mode=0o700)
    for state in (STATE, "native", "transferred in"):
        words = ("every", "10m", "over", "$0.000001")
        ordered(desk, "collect", str(desk.token_id(state)), *words)
    for number in (3, 2, 1):
        file = str(tmp_path / f"{number}.json")
        assert desk.here("order", "export", str(number), file).code == 0
        assert other.here("order", "import", file).code == 0
    assert [machine.here("orders", "first").code for machine in (desk, other)] == [0, 0]
    machines, began = (Watching(desk), Watching(other)), int(desk.ask("eth_blockNumber"), 16)
    desk.ask("evm_setAutomine", False)
    for step in range(24):
        for machine in machines if step % 2 else machines[::-1]:
            asyncio.run(machine.keeper.look())
        desk.ask("anvil_mine", hex(1 if step % 6 else 12), "0xc")
    states = {machine.order(number).progress.state for machine in machines for number in (1, 2, 3)}
    desk.ask("evm_setAutomine", True)

    assert states == {StandingState.DONE}, machines[0].book.all()
    assert paid_by_watch_key(desk, began) == [True] * 3
