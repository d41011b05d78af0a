"""Orders whose endpoints lie or fail: no minority's word fires one, and none keeps one from it."""

from __future__ import annotations

import os
import shutil
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest

from chain.base.home import Home
from chain.contracts.delegation import DELEGATION_MANAGER, LIMITED_CALLS, NONCES
from chain.contracts.storage import pool_slots
from chain.devnet.world.accounts import STRANGER, WATCH_KEY
from chain.devnet.world.deployment import CONTRACTS
from chain.standing_orders.order import StandingState
from tests import node_rpc
from tests.embedded_chain import embedded_chain
from tests.fakes.lying_endpoint import (
    Lie,
    ToldError,
    lying_endpoint,
    refused,
    results,
    storage_words,
)
from tests.fakes.proxy import Answer, Call, Proxy
from tests.printed import printed
from tests.samples import some_of
from tests.zuno_tui.conftest import CommandLine
from tests.zuno_tui.gate.desk import Desk
from tests.zuno_tui.gate.lie_parts import (
    GWEI,
    base_fees,
    block_fields,
    clock_moved,
    code_of,
    first_word,
    head_raised,
    older_head,
    position_liquidity,
    price_moved,
    raised,
    reads,
    receipts,
    refused_after_all,
    scaled,
    swallowed,
    tips,
)
from tests.zuno_tui.gate.test_standing_orders import STATE, Watching, level, ordered, push, stopped

Maker = Callable[[Desk], Proxy]

MOST_LOOKS = 8
LATER = 3
_MANAGER = DELEGATION_MANAGER.lower()


def _lies(make: Callable[[Desk], Lie]) -> Maker:
    return lambda desk: lying_endpoint(desk.devnet.url, make(desk))


def _always(lie: Lie) -> Maker:
    return _lies(lambda _desk: lie)


def _trial(outcome: Callable[[Any], Any]) -> Lie:
    """Of the very call that is to be sent."""

    def changed(call: Call, true: Any) -> Any:
        asked = call["params"][0]
        return outcome(true) if asked["to"].lower() == _MANAGER and "from" in asked else true

    return Lie({"eth_call": changed})


def _reverts(_true: Any) -> Any:
    raise ToldError(3, "execution reverted")


def _price(per_mille: int) -> Callable[[Desk], Lie]:
    def make(desk: Desk) -> Lie:
        return storage_words(
            CONTRACTS.multicall3, CONTRACTS.pool_manager, {_slot(desk): price_moved(per_mille)}
        )

    return make


def _slot(desk: Desk) -> int:
    return pool_slots(desk.pool_id(STATE)).slot0


def _past(desk: Desk) -> Lie:
    """Another price in every block but the newest: what went in looks like more."""
    lie = _price(600)(desk).changes["eth_call"]

    def changed(call: Call, true: Any) -> Any:
        head = desk.ask("eth_getBlockByNumber", "latest", False)
        at = call["params"][1]
        told = at.get("blockHash", at.get("blockNumber")) if isinstance(at, dict) else at
        return true if told in ("latest", head["hash"], head["number"]) else lie(call, true)

    return Lie({"eth_call": changed})


def _hangs(desk: Desk) -> Proxy:
    """Takes every question and answers none until it is closed."""
    proxy = Hanging(desk.devnet.url)
    proxy.answer = proxy.wait
    return proxy


class Hanging(Proxy):
    over = threading.Event()

    def wait(self, _call: Call) -> Answer | None:
        self.over.wait()
        return {"status": 0}

    def __enter__(self) -> Hanging:
        self.over = threading.Event()
        super().__enter__()
        return self

    def __exit__(self, *raised: Any) -> None:
        self.over.set()
        super().__exit__(*raised)


def _fails(status: int) -> Maker:
    return lambda desk: Proxy(desk.devnet.url, lambda _call: {"status": status})


def _reads(contract: str, signature: str, told: int) -> Maker:
    return _always(reads((contract.lower(),), signature, first_word(lambda _true: told)))


@dataclass(frozen=True)
class Kind:
    make: Maker
    told: bool = True
    """Whether it stands out: some lies are nowhere near what is asked."""


_SENDS = frozenset({"eth_sendRawTransaction"})
_FAILED = receipts(lambda true: {**true, "status": "0x0"})
KINDS: dict[str, Kind] = {
    "estimate fails": Kind(_always(refused("eth_estimateGas", 3, "execution reverted"))),
    "estimate 21,000": Kind(_always(results("eth_estimateGas", lambda _: hex(21_000))), told=False),
    "estimate 30 million": Kind(
        _always(results("eth_estimateGas", lambda _: hex(30_000_000))), told=False
    ),
    "nonce + 7": Kind(_always(results("eth_getTransactionCount", raised(7)))),
    "nonce missing": Kind(_always(refused("eth_getTransactionCount", -32601, "no such method"))),
    "balance 1 wei": Kind(_always(results("eth_getBalance", lambda _: "0x1"))),
    "balance × 1000": Kind(_always(results("eth_getBalance", scaled(1_000)))),
    "base fee 1 wei": Kind(_always(base_fees(lambda _: "0x1"))),
    "base fee × 20": Kind(_always(base_fees(scaled(20)))),
    "tip 10,000 gwei": Kind(_always(tips(10_000 * GWEI))),
    "tip 0": Kind(_always(tips(0)), told=False),
    "no history of fees": Kind(_always(refused("eth_feeHistory", -32601, "no")), told=False),
    "an hour ahead": Kind(_always(clock_moved(3_600))),
    "an hour behind": Kind(_always(clock_moved(-3_600))),
    "five blocks ahead": Kind(_always(head_raised(5)), told=False),
    "twelve blocks behind": Kind(_lies(older_head), told=False),
    "another hash": Kind(_always(block_fields(hash=lambda _: "0x" + "ab" * 32))),
    "another chain": Kind(_always(results("eth_chainId", lambda _: "0x1"))),
    "price 10% lower": Kind(_lies(_price(-100))),
    "price 10% higher": Kind(_lies(_price(100))),
    "liquidity × 2": Kind(
        _lies(lambda desk: position_liquidity(desk, STATE, lambda held: 2 * held))
    ),
    "another owner": Kind(
        _reads(CONTRACTS.position_manager, "ownerOf(uint256)", int(STRANGER.address, 16))
    ),
    "not delegated": Kind(_lies(lambda desk: code_of(desk.devnet.wallet, "0x"))),
    "orders cancelled": Kind(_reads(NONCES, "currentNonce(address,address)", 1)),
    "this order cancelled": Kind(_reads(_MANAGER, "disabledDelegations(bytes32)", 1)),
    "carried out": Kind(_reads(LIMITED_CALLS, "callCounts(address,bytes32)", 1)),
    "trial fails": Kind(_always(_trial(_reverts))),
    "trial succeeds": Kind(_always(_trial(lambda _true: "0x")), told=False),
    "send swallowed": Kind(_always(Lie({"eth_sendRawTransaction": swallowed}, _SENDS)), told=False),
    "send refused": Kind(
        _always(Lie({"eth_sendRawTransaction": refused_after_all}, _SENDS)), told=False
    ),
    "send swallowed, receipt of a failure": Kind(
        _always(Lie({"eth_sendRawTransaction": swallowed}, _SENDS) | _FAILED), told=False
    ),
    "no receipts": Kind(_always(receipts(lambda _true: None)), told=False),
    "hangs": Kind(_hangs),
    "HTTP 500": Kind(_fails(500)),
    "hangs up": Kind(_fails(0)),
    "another past": Kind(_lies(_past), told=False),
}


@dataclass
class Stand:
    """A chain with one signed order, put back after every run."""

    desk: Desk
    orders: Path
    """As they were signed."""

    @classmethod
    def made(cls, desk: Desk, tmp_path: Path, *words: str, does: str = "close") -> Stand:
        desk.delegate()
        ordered(desk, does, str(desk.token_id(STATE)), *words)
        return cls.of(desk, tmp_path)

    @classmethod
    def of(cls, desk: Desk, tmp_path: Path) -> Stand:
        """With what is signed in its home."""
        folder = Home.locate(os.environ, desk.command.home).orders
        shutil.copytree(folder, tmp_path / "signed")
        return cls(desk, tmp_path / "signed")

    def run(self, makers: list[Maker], *, due: bool) -> Run:
        desk = self.desk
        snapshot = desk.ask("evm_snapshot")
        self._put_back()
        desk.pass_time(16 * 12)
        with ExitStack() as stack:
            proxies = [stack.enter_context(make(desk)) for make in makers]
            watching = Watching(replace(desk, rpc=",".join(proxy.url for proxy in proxies)))
            if due:
                push(desk, watching.order().order, bips=150)
            looks = 0
            while looks < MOST_LOOKS and watching.order().progress.state is not StandingState.DONE:
                watching.look(blocks=5)
                looks += 1
        fired = int(desk.ask("eth_getTransactionCount", WATCH_KEY.address, "latest"), 16)
        gone = not desk.owns(desk.token_id(STATE))
        told = [str(note) for note in watching.told]
        progress = watching.order().progress
        node_rpc.take_back(desk.devnet.url, snapshot)
        return Run(looks, fired, gone, told, progress.reason, progress.state)

    def _put_back(self) -> None:
        home = Home.locate(os.environ, self.desk.command.home)
        shutil.rmtree(home.orders)
        shutil.copytree(self.orders, home.orders)
        # What is remembered is of a chain that was taken back.
        for path in home.root.glob(f"{home.database.name}*"):
            path.unlink()


@dataclass
class Run:
    looks: int
    fired: int
    gone: bool
    told: list[str]
    reason: str
    state: StandingState


def _honest(desk: Desk) -> Proxy:
    return Proxy(desk.devnet.url)


def _among(kind: Kind, place: int, count: int) -> list[Maker]:
    return [kind.make if at == place else _honest for at in range(count)]


@pytest.fixture
def stand(desk: Desk, tmp_path: Path) -> Stand:
    desk.delegate()
    stopped(desk)
    return Stand.of(desk, tmp_path)


SOME = ("nonce + 7", "base fee 1 wei", "send swallowed, receipt of a failure")


@pytest.mark.parametrize("name", SOME)
def test_one_liar_of_three_keeps_no_due_order_from_being_carried_out(
    stand: Stand, name: str
) -> None:
    honest = 3
    run = stand.run(_among(KINDS[name], 0, 3), due=True)

    assert run.gone, run
    assert run.looks <= honest + LATER, run
    assert bool(run.told) or not KINDS[name].told, run


@pytest.mark.parametrize("name", ["price 10% lower", "trial succeeds"])
def test_one_liar_of_three_carries_out_nothing(stand: Stand, name: str) -> None:
    run = stand.run(_among(KINDS[name], 1, 3), due=False)

    assert (run.gone, run.fired, run.state) == (False, 0, StandingState.WAITING), run


@pytest.mark.parametrize("count", some_of([(2,), (3,)], 1, seed=1))
def test_a_loss_that_one_endpoint_makes_up_fires_nothing(
    desk: Desk, tmp_path: Path, count: int
) -> None:
    stand = Stand.made(desk, tmp_path, "loss-over", "0.5%")
    alone = stand.run([KINDS["another past"].make], due=False)
    run = stand.run(_among(KINDS["another past"], 0, count), due=False)

    assert alone.gone, "whoever is asked alone is believed"
    assert (run.gone, run.fired) == (False, 0), run
    assert "disagree" in " ".join(run.told), run


@pytest.mark.parametrize("count", some_of([(2,), (3,)], 1, seed=0))
def test_a_range_that_one_endpoint_says_is_left_fires_nothing(
    desk: Desk, tmp_path: Path, count: int
) -> None:
    stand = Stand.made(desk, tmp_path, "out-of-range", "2m")
    elsewhere = Kind(_lies(_price(-400)))
    alone = stand.run([elsewhere.make], due=False)
    run = stand.run(_among(elsewhere, 0, count), due=False)

    assert alone.gone, "whoever is asked alone is believed"
    assert (run.gone, run.fired) == (False, 0), run
    assert "disagree" in " ".join(run.told), run


def _fees(desk: Desk) -> Lie:
    """The pool has paid far more for each unit of liquidity than it has."""
    slots = pool_slots(desk.pool_id(STATE))
    grown = (slots.fee_growth_global0, slots.fee_growth_global1)
    return storage_words(
        CONTRACTS.multicall3,
        CONTRACTS.pool_manager,
        {slot: lambda growth: growth + 2**124 for slot in grown},
    )


@pytest.mark.parametrize("count", some_of([(2,), (3,)], 1, seed=1))
def test_fees_that_one_endpoint_makes_up_are_not_collected(
    desk: Desk, tmp_path: Path, count: int
) -> None:
    words = ("every", "10m", "over", "$2000", "times", "2")
    stand = Stand.made(desk, tmp_path, *words, does="collect")
    alone = stand.run([_lies(_fees)], due=False)
    run = stand.run(_among(Kind(_lies(_fees)), 0, count), due=False)

    assert alone.fired, "whoever is asked alone is believed"
    assert run.fired == 0, run
    assert "disagree" in " ".join(run.told), run


def test_what_fails_on_chain_is_tried_with_more_gas_and_not_for_ever(stand: Stand) -> None:
    """A call that every endpoint says would pass, and that the chain undoes all the same."""
    desk = stand.desk
    watching = Watching(desk)
    push(desk, watching.order().order, bips=150)
    watching.look()
    desk.pass_time(12 * 12)
    limits: list[int] = []
    reason = ""
    for _ in range(12):
        desk.ask("evm_setAutomine", False)
        watching.look(blocks=0)
        progress = watching.order().progress
        reason = progress.reason
        if progress.state is StandingState.SENT:
            limits.append(progress.calls[-1].gas)
            push(desk, watching.order().order, bips=-200)
            desk.ask("evm_mine")
            desk.ask("anvil_mine", "0x4", "0xc")
            watching.look(blocks=0)
            push(desk, watching.order().order, bips=200)
        desk.ask("evm_setAutomine", True)
        desk.pass_time(11 * 12)

    assert limits == sorted(set(limits)), "none twice at the same limit"
    assert 2 <= len(limits) <= 4, limits
    assert limits[-1] <= 500_000
    assert "largest gas limit" in reason


def test_what_nobody_took_is_signed_again_at_the_next_look(stand: Stand) -> None:
    desk, refuses = stand.desk, [True]

    def answer(call: Call) -> Answer | None:
        if call["method"] != "eth_sendRawTransaction" or not refuses:
            return None
        return {"error": {"code": -32000, "message": "transaction underpriced"}}

    with ExitStack() as stack:
        proxies = [stack.enter_context(Proxy(desk.devnet.url, answer)) for _ in range(2)]
        watching = Watching(replace(desk, rpc=",".join(proxy.url for proxy in proxies)))
        push(desk, watching.order().order, bips=150)
        watching.look()
        watching.look(blocks=12)
        refused_call = watching.order().progress
        refuses.clear()
        watching.look()
        again = watching.order().progress
        watching.look(blocks=4)

    assert "no endpoint took it" in refused_call.reason
    assert again.calls[-1].nonce == refused_call.calls[-1].nonce
    assert int(again.calls[-1].max_fee_per_gas) > int(refused_call.calls[-1].max_fee_per_gas)
    assert watching.order().progress.state is StandingState.DONE


def test_a_gap_of_nonces_is_noticed_within_two_looks(stand: Stand) -> None:
    desk = stand.desk
    watching = Watching(desk)
    push(desk, watching.order().order, bips=150)
    watching.look()
    desk.pass_time(12 * 12)
    desk.ask("anvil_setNonce", WATCH_KEY.address, "0x7")
    desk.ask("evm_setAutomine", False)
    watching.look(blocks=0)
    behind_a_gap = watching.order().progress.calls[-1].nonce
    desk.ask("anvil_dropAllTransactions")
    desk.ask("anvil_setNonce", WATCH_KEY.address, "0x0")
    desk.ask("evm_setAutomine", True)
    watching.look()
    closed = watching.order().progress.calls[-1].nonce
    watching.look(blocks=4)

    assert (behind_a_gap, closed) == (7, 0)
    assert watching.order().progress.state is StandingState.DONE


@pytest.fixture
def stand_alone(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Iterator[Stand]:
    with embedded_chain() as ready:
        desk = Desk(ready, CommandLine(tmp_path / "home"), capsys)
        desk.command.home.mkdir(mode=0o700)
        yield Stand.made(desk, tmp_path, "below", level(desk, 0.99))


@pytest.mark.soak
@pytest.mark.parametrize("part", range(6))
def test_every_lie_and_fault_of_one_endpoint(
    stand_alone: Stand, part: int, capsys: pytest.CaptureFixture[str]
) -> None:
    stand = stand_alone
    honest = stand.run([_honest] * 3, due=True)
    assert honest.gone
    fired, late, blocked, quiet = [], [], [], []
    runs = 0
    for name in list(KINDS)[part::6]:
        kind = KINDS[name]
        for count, place in ((3, 0), (3, 1), (3, 2), (2, 0), (2, 1)):
            for due in (True, False):
                run = stand.run(_among(kind, place, count), due=due)
                runs += 1
                case = (name, count, place, due, run.looks, run.reason, run.told[:2])
                if not due and (run.gone or run.fired):
                    fired.append(case)
                if due and count == 3 and not (run.gone and run.looks <= honest.looks + LATER):
                    late.append(case)
                if due and count == 2 and not run.gone:
                    blocked.append(case)
                    if not run.told and not run.reason:
                        quiet.append(case)
    with capsys.disabled():
        printed(
            f"{runs} runs with one liar ({part + 1} of 6), honest {honest.looks} looks: "
            f"{len(fired)} fired on its word, {len(late)} of three late, "
            f"{len(blocked)} of two kept from it, {len(quiet)} of them untold"
        )

    assert (fired, late, quiet) == ([], [], [])
