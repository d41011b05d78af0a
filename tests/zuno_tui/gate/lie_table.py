"""One lie told while an order is approved and applied: how it ended, and what it changed."""

import json
import signal
import sqlite3
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from msgspec import Struct
from msgspec.structs import asdict

from chain.contracts.networks import NATIVE
from chain.execution.decode.decoder import decode_call
from chain.execution.v4.records import DecodedSwapExactIn
from tests import node_rpc
from tests.fakes.lying_endpoint import lying_endpoint
from tests.fakes.proxy import Proxy
from tests.zuno_tui.conftest import CommandLine, Spoken
from tests.zuno_tui.gate.desk import Desk
from tests.zuno_tui.gate.forged_journal import read_draft
from tests.zuno_tui.gate.lies import TestedLie
from tests.zuno_tui.gate.unlisted_token import UnlistedPosition

ONE_OF_ONE, ONE_OF_TWO, ONE_OF_THREE = "1 of 1", "1 of 2", "1 of 3"
TWO_SILENT = "2 of 3 silent"
_HONEST = {ONE_OF_TWO: 1, ONE_OF_THREE: 2}
DEAD = ("http://127.0.0.1:9/nobody", "http://127.0.0.1:13/nobody")
GIVEN_UP_SECONDS = 25.0
_NOT_HAPPENED = frozenset({"reverted", "replaced", "dropped", "discarded"})
_TIMES = frozenset({"deadline", "expiration"})
_SECONDS_APART = 120
_ADDRESSES = frozenset(
    {"recipient", "owner", "spender", "token", "currency", "currency0", "currency1", "pool"}
)


@dataclass(frozen=True)
class Ending:
    """What became of one order under one lie."""

    lie: str
    config: str
    ended: str
    differences: tuple[str, ...]
    """Of what was signed, from what would have been signed on honest answers."""
    false_outcome: str | None
    """What was told of the chain that is not so."""
    broken: str | None = None
    """What is wrong with the same home once nobody lies any more."""
    false_page: str | None = None
    """What stands on the page that a person confirms, and would not by honest answers."""

    @property
    def row(self) -> str:
        after = "works" if self.broken is None else f"BROKEN {self.broken}"
        false = filter(None, [self.false_outcome, self.false_page])
        found = "; ".join((*self.differences, *false)) or "nothing"
        return f"{self.lie:44} {self.config:14} {self.ended:34} {after:10} {found}"

    @property
    def signed(self) -> bool:
        return self.ended.startswith("signed")

    @property
    def harmful(self) -> bool:
        false = self.false_outcome or self.false_page
        return bool(self.differences or false or self.broken is not None)


class Orders:
    """The orders lies are told about, with what is signed for each when nobody lies."""

    def __init__(self, desk: Desk, folder: Path, unlisted: UnlistedPosition) -> None:
        self._desk = desk
        self._unlisted = unlisted
        self._folder = folder
        self._honest: dict[str, tuple[Any, ...]] = {}
        self._honest_pages: dict[str, dict[str, Any]] = {}
        self._made = 0

    def fresh_home(self, recipe: str) -> Desk:
        """A desk with a home of its own, holding the plan where the order is one of a plan."""
        self._made += 1
        home = self._folder / f"home-{self._made}"
        desk = replace(self._desk, command=CommandLine(home))
        if recipe == "move with a swap":
            desk.recommended("above its range")
        return desk

    def words(self, desk: Desk, recipe: str) -> tuple[str, ...]:
        def token_id(state: str) -> str:
            return str(desk.token_id(state))

        match recipe:
            case "collect":
                return "collect", token_id("transferred in")
            case "close":
                return "close", token_id("underpaid")
            case "close hooked" | "close shut":
                return "close", token_id("hooked")
            case "close another's":
                return "close", token_id("handed on")
            case "increase":
                return "increase", token_id("dynamic fee"), "0.1", "WETH"
            case "increase unlisted":
                return "increase", str(self._unlisted.token_id), "0.001", self._unlisted.token
            case "wrap":
                return "wrap", "0.04"
            case "wrap more than there is":
                return "wrap", "1000"
            case "move with a swap":
                (plan,) = (desk.command.home / "plans").glob("plan_*.json")
                return "approve", plan.stem, "--candidate", _swapping(plan)
        raise ValueError(recipe)

    def honest(self, recipe: str) -> tuple[Any, ...]:
        """The steps of an honest approval; none where honest answers refuse the order."""
        if recipe not in self._honest:
            desk = self.fresh_home(recipe)
            with self._circumstances(recipe):
                spoken = desk.here(*self.words(desk, recipe), "--json")
            steps: tuple[Any, ...] = ()
            if spoken.code == 0:
                self._honest_pages[recipe] = spoken.data
                steps = tuple(
                    read_draft(desk.command.home / "outbox.db", spoken.data["hash"]).steps
                )
            self._honest[recipe] = steps
        return self._honest[recipe]

    @contextmanager
    def _circumstances(self, recipe: str) -> Iterator[None]:
        """The chain as the order needs it, taken back afterwards whatever was done to it."""
        before = self._desk.ask("evm_snapshot")
        if recipe == "close shut":
            self._desk.ask("zuno_setHookFlag", True)
        try:
            yield
        finally:
            node_rpc.take_back(self._desk.devnet.url, before)

    def told(self, name: str, tested: TestedLie, config: str) -> Ending:
        """Approve and apply under the lie, then once more with honest endpoints."""
        recipe = tested.recipe
        honest = self.honest(recipe)
        desk = self.fresh_home(recipe)
        with self._circumstances(recipe), ExitStack() as stack:
            liar = stack.enter_context(lying_endpoint(desk.devnet.url, tested.make(desk)))
            others = [
                stack.enter_context(Proxy(desk.devnet.url)).url
                for _ in range(_HONEST.get(config, 0))
            ]
            others += DEAD if config == TWO_SILENT else ()
            lied_to = replace(desk, rpc=",".join((liar.url, *others)))
            page: list[str] = []
            ended, differences, false_outcome = self._carried_out(
                desk, lied_to, recipe, honest, page
            )
        broken = self._broken(desk, recipe, honest) if honest else None
        false_page = "; ".join(page) if config in _HONEST else ""
        return Ending(name, config, ended, differences, false_outcome, broken, false_page or None)

    def _carried_out(
        self,
        desk: Desk,
        lied_to: Desk,
        recipe: str,
        honest: tuple[Any, ...],
        page: list[str],
    ) -> tuple[str, tuple[str, ...], str | None]:
        approved = lied_to.here(*self.words(desk, recipe), "--json")
        if approved.code != 0:
            return f"not approved (exit {approved.code}): {_last(approved)}", (), None
        sealed = approved.data
        page += _false_on_page(self._honest_pages.get(recipe), sealed)
        before = balances(desk, sealed["tokens"])
        with given_up_after(GIVEN_UP_SECONDS):
            applied = lied_to.here("apply", sealed["planId"], "--confirm", sealed["hash"], "--json")
        signed = _signed(desk)
        if not signed:
            return f"not signed (exit {applied.code}): {_last(applied)}", (), None
        return (
            f"signed {len(signed)} (exit {applied.code}): {_last(applied)}",
            tuple(differences(honest, signed)),
            false_outcome(desk, applied, before),
        )

    def _broken(self, desk: Desk, recipe: str, honest: tuple[Any, ...]) -> str | None:
        """Why the same home does not approve the honest order now; None when it does."""
        with self._circumstances(recipe):
            # Another block: what was sent under the lie is known here, and never happened.
            desk.ask("evm_mine")
            spoken = desk.here(*self.words(desk, recipe), "--json")
            if spoken.code != 0:
                return spoken.words
            path = desk.command.home / "outbox.db"
            again = read_draft(path, spoken.data["hash"]).steps
            return "; ".join(differences(honest, tuple(again))) or None


def differences(honest: tuple[Any, ...], signed: tuple[Any, ...]) -> Iterator[str]:
    """How what was signed does harm that honest answers would not have done."""
    if len(signed) > len(honest):
        yield f"{len(signed)} steps instead of {len(honest)}"
    waiting = list(honest)
    for step in signed:
        meant = next((one for one in waiting if one.step == step.step), None)
        if meant is None:
            yield f"{step.step} was never meant"
            continue
        waiting.remove(meant)
        if step.to != meant.to:
            yield f"{step.step}: to {step.to}"
        if step.max_fee_per_gas > 2 * meant.max_fee_per_gas:
            yield f"{step.step}: fee {step.max_fee_per_gas / meant.max_fee_per_gas:.0f} times"
        if _apart(step.value, meant.value):
            yield f"{step.step}: value {step.value} for {meant.value}"
        names = zip(_leaves(decode_call(step.data)), _leaves(decode_call(meant.data)), strict=False)
        for (name, told), (_, true) in names:
            if _differs(name, told, true):
                yield f"{step.step}: {name} {told} for {true}"


def _false_on_page(honest: dict[str, Any] | None, shown: dict[str, Any]) -> Iterator[str]:
    """What a person would read and believe, beside what they would read by honest answers."""
    if honest is None:
        yield "a page where honest answers give none"
        return
    for warning in set(shown["warnings"]) ^ set(honest["warnings"]):
        yield f"warning: {warning}"
    if shown["words"] != honest["words"] and len(shown["words"]) != len(honest["words"]):
        yield f"words: {shown['words']}"
    told, true = shown["quoted"], honest["quoted"]
    if (told is None) is not (true is None):
        yield f"amounts {told}, which are {true}"
    for token, amount in (told or {}).items():
        if true is not None and _apart(int(amount), int(true[token])):
            yield f"{amount} of {token}, which is {true[token]}"
    if len(shown["agreement"]["agreed"]) < 2:
        yield f"agreed: {shown['agreement']}"


def _differs(name: str, told: Any, true: Any) -> bool:
    if name in _ADDRESSES or not isinstance(told, int) or not isinstance(true, int):
        return bool(told != true)
    if name in _TIMES:
        return abs(told - true) > _SECONDS_APART
    return _apart(told, true)


def _apart(told: int, true: int) -> bool:
    """By over one part in a hundred."""
    return abs(told - true) * 100 > abs(true)


def _leaves(record: Any, name: str = "") -> Iterator[tuple[str, Any]]:
    if isinstance(record, tuple) and not hasattr(record, "_fields"):
        for one in record:
            yield from _leaves(one, name)
    elif isinstance(record, Struct):
        yield "kind", type(record).__name__
        for field, value in asdict(record).items():
            # Of the pair's pools any will do that pays what it must.
            any_pool = isinstance(record, DecodedSwapExactIn) and field == "pool"
            yield from _leaves((value.currency0, value.currency1) if any_pool else value, field)
    else:
        yield name, record


def _signed(desk: Desk) -> tuple[Any, ...]:
    """Every transaction that was signed from this home, whether or not it was sent."""
    path = desk.command.home / "outbox.db"
    with closing(sqlite3.connect(path)) as journal:
        rows = journal.execute(
            "SELECT v.dispatch, v.position FROM outbox_versions v ORDER BY v.signed_at, v.position"
        ).fetchall()
    return tuple(read_draft(path, dispatch).steps[position] for dispatch, position in rows)


def false_outcome(desk: Desk, applied: Spoken, before: dict[str, int]) -> str | None:
    """What was told of the plan, where the chain itself knows better."""
    happened = [_happened(desk, one) for one in _sent_hashes(desk)]
    told = json.loads(applied.out) if applied.out.strip() else {}
    state = told.get("state")
    if applied.code == 0 and not all(happened):
        return f"told as done ({state}), but it did not happen"
    if state in _NOT_HAPPENED and all(happened):
        return f"told as {state}, but it happened"
    if "nothing happened" in applied.out + applied.words and any(happened):
        return "told that nothing happened, but it did"
    after = balances(desk, before)
    for token, amount in told.get("realised", {}).items():
        if token in before and amount is not None and int(amount) != after[token] - before[token]:
            return f"told {amount} of {token}, which is {after[token] - before[token]}"
    return None


def balances(desk: Desk, tokens: Iterable[str]) -> dict[str, int]:
    """Of the wallet, without the coin that gas is paid in."""
    wallet = desk.devnet.wallet
    return {token: desk.held(wallet, token) for token in tokens if token != NATIVE}


def _sent_hashes(desk: Desk) -> list[str]:
    with closing(sqlite3.connect(desk.command.home / "outbox.db")) as journal:
        return [row[0] for row in journal.execute("SELECT hash FROM outbox_versions")]


def _happened(desk: Desk, transaction_hash: str) -> bool:
    receipt = desk.ask("eth_getTransactionReceipt", transaction_hash)
    return receipt is not None and int(receipt["status"], 16) == 1


def _last(spoken: Spoken) -> str:
    return spoken.words.strip().replace("\n", " ")[-150:]


def _swapping(plan: Path) -> str:
    moves = json.loads(plan.read_text())["candidates"]
    return str(next(one["index"] for one in moves if one["prepAction"] is not None))


@contextmanager
def given_up_after(seconds: float) -> Iterator[None]:
    """As if the person pressed ctrl+c after so long a wait."""
    before = signal.signal(signal.SIGALRM, lambda *_: signal.raise_signal(signal.SIGINT))
    # A shell's background job ignores the key, and so would all that it starts.
    ignoring = signal.signal(signal.SIGINT, signal.default_int_handler)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGINT, ignoring)
        signal.signal(signal.SIGALRM, before)
