"""Where the tokens of a plan are, what is still allowed, and what waits elsewhere."""

from __future__ import annotations

import asyncio
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, cast

import pytest
from msgspec.structs import replace

from chain.base.units import Known, Unknown
from chain.contracts.networks import network_named
from chain.execution.outbox.receipts import NotIncludedError
from chain.execution.outbox.records import Inclusion, StepState
from chain.positions.reference import v4_position
from chain.rpc.errors import NoEndpoint
from tests.agents.monitor.made_up_positions import KEY, block, position
from tests.chain.execution.made_up_dispatches import dispatch
from tests.fakes.told_reader import ToldReader
from zuno_tui.gate import allowances, pending_elsewhere, results
from zuno_tui.gate.actions import action
from zuno_tui.gate.actions.action import ActionTarget, TargetKind, read_wallet
from zuno_tui.gate.pending_elsewhere import nonces_sent, pending_words
from zuno_tui.gate.results import (
    PositionNow,
    TokenHolding,
    _concerned,
    _held,
    _held_at,
    read_aftermath,
)

if TYPE_CHECKING:
    from chain.execution.outbox.records import Dispatch
    from chain.positions.overview import Sources
    from zuno_tui.gate.approvals import Approval

S = StepState
BASE = network_named("base")
ONE, TWO = KEY.currency0, KEY.currency1
SOURCES = cast(
    "Sources",
    SimpleNamespace(network=BASE, client=None, memory=None, store=None, clock=lambda: 0.0),
)
APPROVAL = cast("Approval", SimpleNamespace(tokens=(ONE, TWO), about=TargetKind(v4_position(7))))
SILENT = NoEndpoint("No endpoint answers.")


def _included(*states: StepState, without: tuple[int, ...] = ()) -> Dispatch:
    made = dispatch(*states)
    steps = (
        replace(step, inclusion=None if place in without else Inclusion(f"0x{place}", 7, "0xb1"))
        for place, step in enumerate(made.steps)
    )
    return replace(made, steps=tuple(steps))


async def test_what_steps_made_is_concerned_too(monkeypatch: pytest.MonkeyPatch) -> None:
    async def read_realised(_: object, made: str, *__: object) -> object:
        if made == "0x0":
            raise NotIncludedError("gone")
        return None, SimpleNamespace(minted=(int(made, 16) + 10,))

    monkeypatch.setattr(results, "read_realised", read_realised)
    plan = _included(S.FINAL, S.INCLUDED, S.REVERTED, S.FINAL, S.INCLUDED, without=(3,))
    assert await _concerned(SOURCES, APPROVAL, plan) == [7, 11, 14]


@pytest.fixture
def here(monkeypatch: pytest.MonkeyPatch) -> SimpleNamespace:
    made = SimpleNamespace(balances={None: (5, None), "0xanchor": (3, 4)}, ids=[7, 8, 7], asked=[])

    class Here:
        def __init__(self, _: object, __: object, at: str | None = None) -> None:
            self.at, self.block = at, block(100)

        async def read(self, calls: list[str]) -> object:
            if made.balances is None:
                raise SILENT
            assert calls == [f"balance of {ONE}", f"balance of {TWO}"]
            return SimpleNamespace(outcomes=made.balances[self.at])

    def balance(outcome: int | None, at: object) -> object:
        assert at == block(100)
        return Unknown("no answer") if outcome is None else Known(outcome, "chain")

    async def read_positions(*given: object, at: str) -> object:
        assert at == block(100).hash
        made.asked.append(given[3])
        return {7: position(0)}

    async def concerned(*_: object) -> list[int]:
        return cast("list[int]", made.ids)

    async def tokens(*_: object, **__: object) -> str:
        return "tokens"

    for name, fake in (
        ("OneBlock", Here),
        ("balance_call", lambda _, __, token: f"balance of {token}"),
        ("balance_of", balance),
        ("read_positions", read_positions),
        ("_concerned", concerned),
        ("read_tokens", tokens),
    ):
        monkeypatch.setattr(results, name, fake)
    return made


def _plan() -> Dispatch:
    made = dispatch(S.FINAL)
    return replace(made, anchor=replace(made.anchor, hash="0xanchor"))


async def test_where_everything_is_now_and_was_before(here: SimpleNamespace) -> None:
    plan, held = _plan(), position(0)

    found = await read_aftermath(SOURCES, APPROVAL, plan)

    assert (found.block, found.wallet) == (100, plan.sender)
    assert cast("Any", found.tokens) == "tokens"
    assert found.positions == (
        PositionNow(v4_position(7), held.owner, held.liquidity),
        PositionNow(v4_position(8), None, 0),
    )
    assert found.holdings == (TokenHolding(ONE, 5, 3), TokenHolding(TWO, None, 4))
    here.ids = []
    assert (await read_aftermath(SOURCES, APPROVAL, plan)).positions == ()
    assert here.asked == [(7, 8)]


async def test_a_block_that_is_gone_tells_nothing_of_before(here: SimpleNamespace) -> None:
    assert await _held_at(SOURCES, _plan(), (ONE, TWO)) == {ONE: 3, TWO: 4}
    now = results.OneBlock(cast("Any", None), BASE)  # type: ignore[attr-defined]
    assert await _held(now, SOURCES, "0xowner", (ONE, TWO)) == {ONE: 5, TWO: None}
    here.balances = None
    assert await _held_at(SOURCES, _plan(), (ONE, TWO)) == {}


async def test_what_is_allowed_is_read_at_the_newest_block(monkeypatch: pytest.MonkeyPatch) -> None:
    async def read(_: object, network: object, wallet: str, tokens: object) -> object:
        assert (network, wallet, tokens) == (BASE, "0xwallet", (ONE,))
        return "found"

    newest = SimpleNamespace(block=block(100))
    monkeypatch.setattr(allowances, "OneBlock", lambda *_: newest)
    monkeypatch.setattr(allowances, "read_allowances", read)
    monkeypatch.setattr(allowances, "allowances_given", lambda *given: given)
    given = cast("Any", await allowances.read_given(SOURCES, "0xwallet", [ONE]))
    assert given == (BASE, "found", block(100).timestamp)
    names = allowances.spenders(BASE)
    assert list(names.values()) == ["Permit2", "PositionManager", "UniversalRouter"]
    bare = replace(BASE, contracts=replace(BASE.contracts, universal_router=None))
    assert list(allowances.spenders(bare).values()) == ["Permit2", "PositionManager"]


def test_tokens_that_are_listed_and_those_of_positions_are_known() -> None:
    memory = SimpleNamespace(
        checkpoints=lambda _: [SimpleNamespace(held=(7,))],
        identities=lambda held: {each: SimpleNamespace(pool_key=KEY) for each in held},
    )
    sources = cast("Sources", SimpleNamespace(network=BASE, memory=memory))
    known = allowances.known_tokens(sources, "0xwallet")
    assert known[-2:] == (ONE, TWO)
    assert str(BASE.wrapped_native) in known


async def test_a_wallet_is_looked_at_at_the_newest_block_or_the_one_that_is_named() -> None:
    async def head() -> object:
        return block(101)

    answers: list[object] = [block(100), None]
    reader = ToldReader(lambda *_: answers.pop(0))
    cast("Any", reader).head = head
    sources = cast("Sources", SimpleNamespace(client=reader))
    at = block(100).hash

    assert await read_wallet(sources) == ActionTarget(block(101))
    assert await read_wallet(sources, at) == ActionTarget(block(100))
    with pytest.raises(action.FactsUnknownError):  # type: ignore[attr-defined]
        await read_wallet(sources, at)


@pytest.mark.parametrize(
    ("looks", "found", "waits"),
    [
        ([{8}, {8}, {8}], (8,), 2),
        ([{8}, set(), {8}], (), 1),
        ([{8}, {8, 9}, {9, 8}], (8, 9), 2),
        ([{8}, {8}, set()], (), 2),
        ([{3}], (), 0),
    ],
)
async def test_what_waits_elsewhere_is_believed_when_it_waited_for_three_looks(
    monkeypatch: pytest.MonkeyPatch, looks: list[set[int]], found: tuple[int, ...], waits: int
) -> None:
    slept = list[float]()

    async def sleep(seconds: float) -> None:
        slept.append(seconds)

    async def waiting(*_: object) -> frozenset[int]:
        return frozenset(looks[len(slept)])

    monkeypatch.setattr(pending_elsewhere, "_waiting", waiting)
    with monkeypatch.context() as quick:
        quick.setattr(asyncio, "sleep", sleep)
        told = await pending_elsewhere.pending_elsewhere(
            [ToldReader(lambda *_: None)], "0xwallet", frozenset({3})
        )
    assert told == found
    assert set(slept) <= {0.5}
    assert len(slept) == waits


async def test_an_endpoint_tells_of_what_is_pending_and_not_included() -> None:
    counts = iter((5, 8))
    reader = ToldReader(lambda *_: next(counts))
    assert await pending_elsewhere._waiting(reader, "0x" + "aa" * 20) == {5, 6, 7}
    silent = ToldReader(lambda *_: SILENT)
    assert await pending_elsewhere._waiting(silent, "0x" + "aa" * 20) == frozenset()


def test_nonces_are_our_own_while_they_are_signed_and_open() -> None:
    made = dispatch(S.SENT, S.SENT, S.SENT, settled=(1,))
    version = cast("Any", SimpleNamespace())
    steps = tuple(
        replace(step, versions=() if place == 2 else (version,))
        for place, step in enumerate(made.steps)
    )
    plan = replace(made, steps=steps)
    assert nonces_sent([plan], plan.chain_id, plan.sender) == {0}
    assert nonces_sent([plan], 1, plan.sender) == nonces_sent([plan], plan.chain_id, ONE) == set()


def test_what_waits_is_said_for_one_and_for_several() -> None:
    assert pending_words([7]).startswith(
        "A transaction of this wallet, sent from elsewhere, still waits"
    )
    assert "(nonce 7). Wait for it, or speed it up" in pending_words([7])
    assert pending_words([7, 8]).startswith("2 transactions of this wallet")
    assert "(nonce 7, 8). Wait for them, or" in pending_words([7, 8])
