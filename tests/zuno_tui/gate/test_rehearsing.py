"""A rehearsal without a chain: its steps in turn, what is read of them, and what went wrong."""

from __future__ import annotations

from contextlib import asynccontextmanager, contextmanager
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, cast

import pytest
from msgspec.structs import replace

from chain.contracts.networks import network_named
from chain.devnet.anvil import AnvilError
from chain.devnet.json_rpc import NodeError
from chain.execution.outbox.records import Inclusion, PlanStep, StepState
from chain.prices.price import WorthUnit
from chain.rpc.errors import Unreachable
from tests.agents.monitor.made_up_positions import block
from tests.chain.execution.made_up_dispatches import dispatch
from zuno_tui.gate import rehearsal as rehearsing
from zuno_tui.gate.rehearsal import (
    Rehearsal,
    RehearsalError,
    _carried_out,
    _carried_out_step,
    copied_chain,
    rehearse,
)

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator

    from chain.devnet.anvil import ForkedChain
    from chain.positions.overview import Sources

BASE = network_named("base")
HEAD = replace(block(100), timestamp=1_000)
SENT = dispatch(*[StepState.APPROVED] * 3)


def _rehearsal(
    quoted: dict[str, int] | None, realised: dict[str, int | None], *, done: bool = True
) -> Rehearsal:
    approval = SimpleNamespace(quoted=quoted)
    result = SimpleNamespace(approval=approval, realised=realised, done=done)
    return Rehearsal(HEAD, cast("Any", result), WorthUnit.USD, None)


@pytest.mark.parametrize(
    ("quoted", "realised", "differences"),
    [
        ({"a": 5, "b": -7}, {"a": 5, "b": -7}, {}),
        ({"a": 5, "b": -7}, {"a": 8, "b": -9}, {"a": 3, "b": -2}),
        ({"a": 5}, {"a": None, "b": 4}, {}),
        ({"a": 5}, {}, {}),
    ],
)
def test_what_came_is_held_against_what_was_approved(
    quoted: dict[str, int], realised: dict[str, int | None], differences: dict[str, int]
) -> None:
    found = _rehearsal(quoted, realised)
    assert found.differences == differences
    assert found.as_approved is (not differences)
    assert not _rehearsal(quoted, realised, done=False).as_approved


def test_what_nobody_quoted_is_neither_different_nor_as_approved() -> None:
    found = _rehearsal(None, {"a": 8})
    assert (found.differences, found.as_approved) == ({}, False)


class Copy:
    """A copied chain that takes each step as a test says."""

    def __init__(self, *statuses: str | None) -> None:
        self.statuses = list(statuses)
        self.taken: list[tuple[int, int]] = []

    def carry_out(self, transaction: Any, timestamp: int) -> str:
        self.taken.append((transaction.nonce, timestamp))
        return f"0x{len(self.taken)}"

    def receipt(self, sent: str) -> dict[str, str] | None:
        status = self.statuses.pop(0)
        if status is None:
            return None
        return {"blockNumber": "0x10", "blockHash": f"block of {sent}", "status": status}


def _copy(*statuses: str | None) -> Any:
    return Copy(*statuses)


def test_a_step_is_settled_in_the_block_that_took_it() -> None:
    done, failed = (_carried_out_step(_copy(status), SENT.steps[0], 7) for status in ("0x1", "0x0"))
    assert (done.state, failed.state) == (StepState.INCLUDED, StepState.REVERTED)
    for step in (done, failed):
        assert step.inclusion == Inclusion("0x1", 16, "block of 0x1")
        assert (step.settled, step.was_included) == (True, True)
    with pytest.raises(NodeError, match="did not take the step transfer into a block"):
        _carried_out_step(_copy(None), SENT.steps[0], 7)


@pytest.mark.parametrize(
    ("statuses", "states"),
    [
        (("0x1", "0x1", "0x1"), [StepState.INCLUDED] * 3),
        (("0x1", "0x0"), [StepState.INCLUDED, StepState.REVERTED, StepState.APPROVED]),
        (("0x0",), [StepState.REVERTED, StepState.APPROVED, StepState.APPROVED]),
    ],
)
async def test_steps_go_in_turn_a_block_apart_until_one_fails(
    statuses: tuple[str, ...], states: list[StepState]
) -> None:
    copy, shown = _copy(*statuses), list[PlanStep]()
    ended = await _carried_out(copy, SENT, HEAD, shown.append)

    assert [step.state for step in ended.steps] == states
    assert shown == list(ended.steps[: len(statuses)])
    # A block in each twelve seconds: deadlines are judged as they would be.
    assert copy.taken == [(place, 1_000 + 12 * (place + 1)) for place in range(len(statuses))]
    assert replace(ended, steps=SENT.steps) == SENT


@pytest.fixture
def opened(monkeypatch: pytest.MonkeyPatch) -> SimpleNamespace:
    """A forwarder and a node that copies through it, as far as copying asks of them."""
    made = SimpleNamespace(forwarder=SimpleNamespace(url="http://here", fault=None), forks=[])

    @asynccontextmanager
    async def forwarding(client: object) -> AsyncIterator[object]:
        made.client = client
        yield made.forwarder
        made.forks.append("forwarder ended")

    @contextmanager
    def forked(*given: object, **named: object) -> Iterator[object]:
        made.forks.append((given, named))
        if made.fault:
            raise made.fault
        yield "chain"
        made.forks.append("closed")

    made.fault = None
    monkeypatch.setattr(rehearsing, "forwarding", forwarding)
    monkeypatch.setattr(rehearsing, "forked_chain", forked)
    return made


CLIENT = cast("Any", SimpleNamespace(network=BASE))
SILENCE = Unreachable("it is silent", endpoint="x")


async def test_the_chain_is_copied_at_its_block_and_the_node_ends_with_it(
    opened: SimpleNamespace,
) -> None:
    async with copied_chain(CLIENT, HEAD) as chain:
        assert cast("Any", chain) == "chain"
    fork: tuple[object, ...] = ("http://here", 100)
    assert opened.client is CLIENT
    # The node asks the forwarder until it ends.
    assert opened.forks == [
        (fork, {"chain_id": BASE.chain_id, "port": 0}),
        "closed",
        "forwarder ended",
    ]
    async with copied_chain(CLIENT, HEAD, port=77):
        pass
    assert opened.forks[3][1]["port"] == 77


@pytest.mark.parametrize("fault", [AnvilError("no node"), NodeError("no node")])
async def test_a_copy_that_fails_says_why(opened: SimpleNamespace, fault: Exception) -> None:
    async def copy() -> None:
        async with copied_chain(CLIENT, HEAD):
            pass

    opened.fault = fault
    with pytest.raises(RehearsalError, match="copy of the chain failed: no node") as failed:
        await copy()
    assert str(failed.value).endswith("Nothing was signed or sent.")
    opened.forwarder.fault = SILENCE
    with pytest.raises(RehearsalError, match="could not be copied at block 100:") as failed:
        await copy()
    assert SILENCE.sentence in str(failed.value)
    assert "--rpc URL" in str(failed.value)


async def test_an_endpoint_that_failed_behind_the_copy_is_the_cause(
    opened: SimpleNamespace,
) -> None:
    own = Unreachable("the copy itself", endpoint="y")

    async def use() -> None:
        async with copied_chain(CLIENT, HEAD):
            raise own

    with pytest.raises(Unreachable) as failed:
        await use()
    assert failed.value is own
    opened.forwarder.fault = SILENCE
    with pytest.raises(RehearsalError, match="could not be copied"):
        await use()
    assert opened.forks.count("closed") == 2


@pytest.mark.parametrize(
    ("minted", "about", "read"),
    [((8, 9), 7, 8), ((8,), None, 8), ((), 7, 7), ((), None, None)],
)
async def test_what_the_plan_is_about_is_read_on_the_copy(
    monkeypatch: pytest.MonkeyPatch, minted: tuple[int, ...], about: int | None, read: int | None
) -> None:
    approval = cast("Any", SimpleNamespace(about=SimpleNamespace(ref=about)))
    result = SimpleNamespace(minted=minted)
    asked = list[Any]()

    @asynccontextmanager
    async def copied(client: object, head: object) -> AsyncIterator[object]:
        assert (client, head) == (sources.client, HEAD)
        yield SimpleNamespace(url="http://copy")

    async def carried_out(chain: ForkedChain, *given: object) -> object:
        assert given == (SENT, HEAD, on_step)
        return "carried out"

    async def read_result(copy: Sources, _: object, *given: object) -> object:
        assert (copy.network, copy.clock, copy.coingecko) == (BASE, sources.clock, None)
        assert copy.client is not sources.client
        assert given == (approval, "carried out")
        return result

    async def read_one(copy: Sources, *given: object) -> object:
        asked.append(given)
        return "position"

    async def head() -> object:
        return HEAD

    def on_step(_: object) -> None:
        raise AssertionError("no step is carried out here")

    client = SimpleNamespace(head=head, network=BASE)
    sources = cast("Sources", SimpleNamespace(client=client, network=BASE, clock=lambda: 5.0))
    monkeypatch.setattr(rehearsing, "copied_chain", copied)
    monkeypatch.setattr(rehearsing, "_carried_out", carried_out)
    monkeypatch.setattr(rehearsing, "read_result", read_result)
    monkeypatch.setattr(rehearsing, "read_one", read_one)

    found = await rehearse(sources, approval, SENT, unit=WorthUnit.USD, on_step=on_step)

    assert asked == ([] if read is None else [(read, WorthUnit.USD)])
    position = None if read is None else "position"
    assert found == Rehearsal(HEAD, cast("Any", result), WorthUnit.USD, cast("Any", position))
