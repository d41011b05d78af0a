"""A plan cut off by kill −9, what befalls its chain then, and what zuno tells of it afterwards."""

import os
import random
import shutil
import sqlite3
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from chain.contracts.abi import encode_call
from chain.devnet.world.accounts import DEMO_WALLET
from chain.devnet.world.writing import sign_transaction
from tests import node_rpc
from tests.embedded_chain import embedded_chain
from tests.fork_server import fork_server
from tests.waiting import HUNG_SECONDS
from tests.zuno_tui.conftest import CommandLine, Spoken
from tests.zuno_tui.gate.desk import REFUSED, Desk
from zuno_tui.present.exit_codes import DONE, NETWORK

GWEI = 10**9
TRIES = 8
RESTART, REORG, ROLLBACK, FOREIGN = "restart", "reorg", "rollback", "foreign transaction"
COMPLETE = frozenset(("included", "final"))


class Restartable:
    """An embedded chain that can be stopped and started again under the same address."""

    def __init__(self, stack: ExitStack) -> None:
        self._stack = stack
        self._running = stack.enter_context(ExitStack())
        self.ready = self._running.enter_context(embedded_chain())

    def restart(self) -> None:
        self._running.close()
        port = int(self.ready.url.rsplit(":", 1)[1].strip("/"))
        self._running = self._stack.enter_context(ExitStack())
        again = embedded_chain(port=port)
        self.ready = self._running.enter_context(again)


@dataclass
class Cut:
    """An approved plan whose apply was killed, or came to its end before it could be."""

    desk: Desk
    approval: dict[str, Any]
    killed: bool

    @property
    def confirmed(self) -> tuple[str, str, str]:
        return self.approval["planId"], "--confirm", self.approval["hash"]

    @property
    def reached(self) -> str:
        """How far it came, by the journal: the furthest state of its last signed step."""
        with sqlite3.connect(self.desk.command.home / "outbox.db") as journal:
            rows = journal.execute(
                "SELECT position, state FROM outbox_steps WHERE dispatch = ?"
                " AND state NOT IN ('planned', 'approved', 'discarded') ORDER BY position",
                (self.approval["hash"],),
            ).fetchall()
        steps = len(self.approval["transactions"])
        return f"{len(rows)} of {steps} signed" + (f", {rows[-1][1]}" if rows else "")


def cut_off(desk: Desk, approval: dict[str, Any], lines: int, after: float) -> Cut:
    """Apply in a process of its own and kill it, whatever it is doing.

    That is so many seconds after it has said so many lines, each of which is a state of a step.
    """
    told = desk.command.home.with_name(desk.command.home.name + ".told")
    confirmed = (approval["planId"], "--confirm", approval["hash"])
    arguments = ("apply", *confirmed, *desk.flags, "--home", str(desk.command.home))
    with told.open("w") as words, Path(os.devnull).open() as nothing:
        files = [one.fileno() for one in (nothing, words, words)]
        child = fork_server().start("zuno_tui", *arguments, environment=os.environ, files=files)
    while child.ended(0.01) is None and _steps_said(told.read_text()) < lines:
        pass
    killed = child.ended(after) is None
    if killed:
        child.kill()
    code = child.ended(HUNG_SECONDS)
    assert code is not None
    # On a busy machine the chain may fall silent, which cuts an apply off just as well.
    assert killed or code in (DONE, NETWORK), told.read_text()
    return Cut(desk, approval, killed)


def _steps_said(words: str) -> int:
    return sum(words.count(f": {state}") for state in ("signed", "sent", "included"))


def copied(cut: Cut, name: str) -> Cut:
    """The same moment once more, with a home of its own."""
    home = cut.desk.command.home
    place = home.with_name(f"{home.name}-{name}")
    shutil.copytree(home, place)
    return replace(cut, desk=replace(cut.desk, command=CommandLine(place)))


def befall(desk: Desk, what: str, draw: random.Random) -> None:
    """What happens to the chain while nobody looks; a restart is the caller's to do."""
    match what:
        case "reorg":
            desk.ask("anvil_reorg", draw.randint(1, 5), [])
        case "rollback":
            desk.ask("anvil_rollback", draw.randint(1, 5))
        case "foreign transaction":
            send_foreign(desk)


def send_foreign(desk: Desk) -> None:
    """One other transaction of the wallet, at its next nonce."""
    signed = sign_transaction(
        DEMO_WALLET.key,
        nonce=desk.nonce(),
        to=DEMO_WALLET.address,
        gas=30_000,
        max_fee_per_gas=300 * GWEI,
        max_priority_fee_per_gas=GWEI,
        value=0,
        data=b"",
    )
    node_rpc.broadcast(desk.devnet.url, "0x" + signed.raw.hex())


def sent_so_far(desk: Desk) -> int:
    return int(desk.ask("eth_getTransactionCount", desk.devnet.wallet, "pending"), 16)


@dataclass(frozen=True)
class Told:
    """What a look and the ways on said of one plan."""

    dispatch: dict[str, Any]
    where: dict[str, Any] | None
    resumed: bool
    """Whether the signed bytes went out because that was asked for and confirmed."""

    @property
    def state(self) -> str:
        state: str = self.dispatch["state"]
        return state

    @property
    def complete(self) -> bool:
        return all(one["state"] in COMPLETE for one in self.dispatch["steps"])

    @property
    def used(self) -> bool:
        return self.state != "approved, not applied" and any(
            one["hash"] is not None for one in self.dispatch["steps"]
        )


def look_and_try(cut: Cut, *, may_resume: bool) -> Told:
    """Look twice, apply again, resume: nothing may be sent but by a resume that is in place."""
    desk = cut.desk
    sent = sent_so_far(desk)
    looked = [answered(desk, "outbox", "--json") for _ in range(2)]
    assert [one.code for one in looked] == [DONE, DONE], looked
    assert sent_so_far(desk) == sent, "a look has sent"
    again = answered(desk, "apply", *cut.confirmed)
    assert (again.code, again.out) == (REFUSED, ""), again
    assert sent_so_far(desk) == sent, "an old approval has sent"
    resumed = answered(desk, "outbox", "resume", *cut.confirmed)
    went_out = sent_so_far(desk) > sent
    assert went_out is (resumed.code == 0), resumed
    assert may_resume or not went_out, resumed
    last = answered(desk, "outbox", "--json") if went_out else looked[-1]
    return Told(*_about(last.data, cut.approval["hash"]), resumed=went_out)


def answered(desk: Desk, *arguments: str) -> Spoken:
    """The command, again where the chain fell silent meanwhile."""
    for _ in range(TRIES):
        spoken = desk.here(*arguments)
        unread = arguments[0] == "outbox" and '"situation": "unknown"' in spoken.out
        if spoken.code != NETWORK and not unread:
            break
    return spoken


def _about(
    document: dict[str, Any], approval_hash: str
) -> tuple[dict[str, Any], dict[str, Any] | None]:
    (dispatch,) = (one for one in document["dispatches"] if one["hash"] == approval_hash)
    named = [
        one["where"]
        for one in document["findings"]
        if one["planId"] == dispatch["planId"] and one["where"] is not None
    ]
    return dispatch, named[-1] if named else None


def assert_right(cut: Cut, told: Told) -> None:
    """Where zuno says the tokens are is where the chain, asked by other means, has them."""
    if told.where is None:
        assert told.complete or not told.used, told.dispatch
        return
    desk = cut.desk
    assert told.where["holdings"]
    for held in told.where["holdings"]:
        assert int(held["now"]) == desk.held(desk.devnet.wallet, held["token"])
    for one in told.where["positions"]:
        owner, liquidity = position_of(desk, int(one["tokenId"]))
        assert (one["owner"], int(one["liquidity"])) == (owner, liquidity)
    if told.state == "nothing happened":
        for held in told.where["holdings"]:
            # Gas is paid in the chain's own coin, whatever comes of it.
            native = held["token"] == "0x" + "00" * 20
            assert native or held["before"] in (None, held["now"]), held


def position_of(desk: Desk, token_id: int) -> tuple[str | None, int]:
    manager = desk.devnet.contracts.position_manager
    liquidity = desk.read(manager, "getPositionLiquidity(uint256)", token_id)
    return _owner(desk, manager, token_id), int.from_bytes(liquidity, "big")


def _owner(desk: Desk, manager: str, token_id: int) -> str | None:
    """None where there is no such position: the contract then refuses to answer."""
    data = "0x" + encode_call("ownerOf(uint256)", token_id).hex()
    call = {"to": manager, "data": data}
    answer = node_rpc.answer_of(desk.devnet.url, "eth_call", call, "latest")
    return "0x" + answer["result"][-40:] if "result" in answer else None


def template(desk: Desk, folder: Path, state: str) -> tuple[str, str]:
    """A home with a plan in it to copy from; the plan's id, and a move that is not ruled out."""
    plan = replace(desk, command=CommandLine(folder)).recommended(state)
    moves = (each for each in plan["candidates"] if each["judgment"]["verdict"] != "veto")
    return plan["planId"], str(next(moves)["index"])
