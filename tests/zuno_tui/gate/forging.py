"""A thief at somebody's home: approvals of every kind, forged one after the other and applied."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Any

import httpx2

from chain.contracts.calldata import approve_through_permit2, approve_token
from chain.contracts.networks import network_named
from chain.devnet.world.accounts import DEMO_WALLET
from chain.devnet.world.deployment import CONTRACTS, USDC, WETH
from chain.execution.outbox.outbox import Outbox
from chain.execution.transaction import UnsignedTransaction
from tests.chain.moves import NEVER, Moves
from tests.zuno_tui.conftest import Spoken
from tests.zuno_tui.gate.desk import Desk
from tests.zuno_tui.gate.forged_journal import Draft, KeptJournal, read_draft, write_forged
from tests.zuno_tui.gate.forgeries import FORGERIES, loosen_terms

_CREATE = "0.5 WETH and 1500 USDC, 0.05%"


@dataclass(frozen=True)
class Forged:
    """A forgery in the journal, ready to be applied."""

    kind: str
    plan_id: str
    hash: str
    honest_hash: str
    what: str
    """Every change that was made, in words."""
    steps: tuple[UnsignedTransaction, ...]


@dataclass
class ThiefAtHome:
    desk: Desk
    approvals: dict[str, dict[str, Any]]
    journal: KeptJournal
    nonce: int

    @property
    def path(self) -> Path:
        return self.desk.command.home / "outbox.db"

    def draft(self, kind: str) -> Draft:
        return read_draft(self.path, self.approvals[kind]["hash"])

    def forge(self, kind: str, names: Sequence[str], random: Random) -> Forged | None:
        """These forgeries in one approval; None where the plan has no place for any of them."""
        draft = self.draft(kind)
        honest = list(draft.steps)
        done = [what for name in names if (what := FORGERIES[name](draft, random, CONTRACTS))]
        if not done or draft.steps == honest:
            return None
        if random.random() < 0.8:
            loosen_terms(draft)
            done.append("terms loosened")
        return self.write(kind, draft, " · ".join(done), seal=random.random() < 0.9)

    def write(
        self, kind: str, draft: Draft, what: str, *, seal: bool = True, tag: bool = True
    ) -> Forged:
        sealed = write_forged(self.path, draft, seal=seal, tag=tag)
        return Forged(kind, draft.plan_id, sealed, draft.honest_hash, what, tuple(draft.steps))

    def applied(self, forged: Forged, confirmed: str) -> Spoken:
        return self.desk.here("apply", forged.plan_id, "--confirm", confirmed)

    def signed(self) -> list[UnsignedTransaction]:
        """Everything that a key signed here: what is signed is written down before it is sent."""
        return signed_in(self.path)

    def put_back(self) -> None:
        self.journal.put_back()


def signed_in(journal: Path) -> list[UnsignedTransaction]:
    with Outbox.open(journal) as outbox:
        steps = [step for dispatch in outbox.dispatches() for step in dispatch.steps]
    return [version.transaction.unsigned for step in steps for version in step.versions]


def forgeries_in_turn(
    thief: ThiefAtHome, random: Random, count: int, *, most_together: int = 3
) -> Iterator[Forged]:
    """So many forgeries: each kind of change with each kind of plan first, then more together."""
    pairs = [(kind, name) for name in FORGERIES for kind in thief.approvals]
    random.shuffle(pairs)
    made = 0
    while made < count:
        kind, *names = pairs.pop() if pairs else (random.choice(list(thief.approvals)),)
        names = names or random.sample(list(FORGERIES), random.randint(1, most_together))
        forged = thief.forge(kind, names, random)
        if forged is not None:
            made += 1
            yield forged
            thief.put_back()


@dataclass(frozen=True)
class HonestHome:
    """Everything approved by the book at one block, before the thief comes."""

    approvals: dict[str, dict[str, Any]]
    journal: KeptJournal
    nonce: int


def honest_home(desk: Desk, kinds: tuple[str, ...]) -> HonestHome:
    if "revoke" in kinds:
        _allow_something(desk)
    approvals = {kind: _approved(desk, kind) for kind in kinds}
    return HonestHome(approvals, KeptJournal(desk.command.home / "outbox.db"), desk.nonce())


@contextmanager
def thief_at(desk: Desk, home: HonestHome) -> Iterator[ThiefAtHome]:
    thief = ThiefAtHome(desk, home.approvals, home.journal, home.nonce)
    yield thief
    thief.put_back()


def _approved(desk: Desk, kind: str) -> dict[str, Any]:
    def token_id(state: str) -> str:
        return str(desk.token_id(state))

    match kind:
        case "close":
            return desk.approved("close", token_id("healthy"))
        case "close with a subscriber":
            return desk.approved("close", token_id("stable"))
        case "collect":
            return desk.approved("collect", token_id("transferred in"))
        case "compound":
            return desk.approved("compound", token_id("transferred in"))
        case "decrease":
            return desk.approved("decrease", token_id("near the edge"), "40")
        case "increase":
            return desk.approved("increase", token_id("dynamic fee"), "0.1", "WETH")
        case "increase in the coin":
            return desk.approved("increase", token_id("native"), "0.1", "ETH")
        case "move" | "move with a swap":
            return _approved_move(desk, with_swap=kind == "move with a swap")
        case "create":
            plan = desk.here("create", _CREATE, "--json", "--deterministic").data
            move = next(one for one in plan["candidates"] if one["judgment"]["verdict"] != "veto")
            return desk.approved("approve", plan["planId"], "--candidate", str(move["index"]))
        case "wrap" | "unwrap":
            return desk.approved(kind, "0.04")
        case "revoke":
            return desk.approved("revoke", "--all")
    raise ValueError(kind)


def _approved_move(desk: Desk, *, with_swap: bool) -> dict[str, Any]:
    plan = desk.recommended("underpaid" if with_swap else "transferred in")
    move = next(
        one
        for one in plan["candidates"]
        if one["judgment"]["verdict"] != "veto" and (one["prepAction"] is not None) == with_swap
    )
    return desk.approved("approve", plan["planId"], "--candidate", str(move["index"]))


def _allow_something(desk: Desk) -> None:
    """Two allowances somebody forgot, so that there is something to take back."""
    with httpx2.Client(verify=False) as http:
        moves = Moves(http, desk.devnet.url, network_named("devnet"))
        permit2, manager = CONTRACTS.permit2, CONTRACTS.position_manager
        moves.send(DEMO_WALLET, WETH.address, approve_token(permit2, 10**18))
        data = approve_through_permit2(USDC.address, manager, 10**9, NEVER)
        moves.send(DEMO_WALLET, permit2, data)
