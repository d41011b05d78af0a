"""Each endpoint is asked by itself, at the same block, and for no longer than it is worth."""

from __future__ import annotations

import asyncio
from types import SimpleNamespace
from typing import TYPE_CHECKING, cast

import pytest
from msgspec.structs import replace

from chain.base.store import Store
from chain.contracts.networks import network_named
from chain.execution.outbox.delivery import Route
from chain.execution.outbox.lookup import EMBEDDED, ONE_ENDPOINT, NamedReader
from chain.positions.overview import Sources
from chain.positions.reference import v4_position
from chain.rpc.errors import NoEndpoint
from tests.agents.monitor.made_up_positions import block
from tests.fakes.told_reader import ToldReader
from zuno_tui.gate import agreement
from zuno_tui.gate.actions.action import TargetKind
from zuno_tui.gate.agreement import (
    Agreement,
    Connections,
    Silent,
    Statement,
    Witness,
    _ask,
    _block_at,
    _Difference,
    _most_behind,
    evidence_of,
    open_connections,
    refuse_silent_route,
    require_agreement,
)
from zuno_tui.gate.basis import Basis, BasisQuestion, SubjectGoneError
from zuno_tui.gate.refusal import GateRefusedError
from zuno_tui.settings import Settings
from zuno_tui.settings.schema import LimitsTable

if TYPE_CHECKING:
    from chain.contracts.networks import Network
    from chain.rpc.client import RpcClient
    from chain.rpc.records import Block

BASE, DEVNET = network_named("base"), network_named("devnet")
HERE = block(100)
QUESTION = BasisQuestion(TargetKind(v4_position(7)), "0x" + "11" * 20, (), (), ())
TOLD: Statement = {"nonce": 7}


def _client(reader: ToldReader) -> RpcClient:
    return cast("RpcClient", reader)


def _sources(network: Network = BASE) -> Sources:
    nobody = ToldReader(lambda *_: pytest.fail("the usual way was asked"))
    return Sources(_client(nobody), network, Store.in_memory(), None, lambda: 0.0)


def _node(head: int | None = 100, known: object = HERE) -> ToldReader:
    def answer(_: str, params: tuple[object, ...]) -> object:
        if params[0] == "latest":
            return None if head is None else block(head)
        assert params[0] == hex(100)
        return known

    return ToldReader(answer)


@pytest.fixture(autouse=True)
def basis(monkeypatch: pytest.MonkeyPatch) -> None:
    """What an endpoint that knows the block tells; nobody waits between two looks."""

    async def read(alone: Sources, question: BasisQuestion, at: Block, *, pins: Store) -> object:
        assert (question, at) == (QUESTION, HERE)
        assert pins is alone.store, "what another endpoint told answers for this one"
        return "basis"

    monkeypatch.setattr(agreement, "read_basis", read)
    monkeypatch.setattr(agreement, "statement", lambda _: TOLD)
    monkeypatch.setattr(agreement, "_POLL_SECONDS", 0.001)
    monkeypatch.setattr(agreement, "CATCH_UP_SECONDS", 0.012)


async def _answer(reader: ToldReader, seconds: float = 5.0) -> Statement | Silent:
    return await _ask(_sources(), Witness("a", _client(reader)), QUESTION, HERE, seconds)


def test_how_long_and_how_far_behind_is_a_choice_made_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.undo()
    assert (agreement.ENOUGH, agreement.WITNESS_SECONDS, agreement._ANSWERS) == (2, 20, 3)
    assert (agreement.CATCH_UP_SECONDS, agreement._POLL_SECONDS) == (6, 0.5)
    assert Connections(Route(_client(_node()))).witness_seconds == 20


@pytest.mark.parametrize(
    ("head", "known", "answer"),
    [
        (100, HERE, TOLD),
        (None, HERE, TOLD),
        (99, HERE, TOLD),
        (107, HERE, TOLD),
        (108, HERE, {"newest block": 108}),
        (100, None, Silent("a", "it does not know block 100 yet")),
        (
            100,
            replace(HERE, hash="0xother", base_fee_per_gas=9),
            {"block": "0xother", "time of the block": HERE.timestamp, "base fee": 9},
        ),
        (
            100,
            replace(HERE, timestamp=5, base_fee_per_gas=None),
            {"block": HERE.hash, "time of the block": 5, "base fee": 0},
        ),
    ],
)
async def test_what_one_endpoint_tells_by_itself(
    head: int | None, known: object, answer: object
) -> None:
    assert await _answer(_node(head, known)) == answer


async def test_an_endpoint_that_fails_or_is_slow_is_silent_and_says_why(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    failed = ToldReader(lambda *_: NoEndpoint("a did not answer.", ""))
    assert await _answer(failed) == Silent("a", "a did not answer.")

    async def gone(*_: object, **__: object) -> object:
        raise SubjectGoneError

    monkeypatch.setattr(agreement, "read_basis", gone)
    assert await _answer(_node()) == {"position #7": "not there"}

    async def slow(*_: object, **__: object) -> object:
        await asyncio.Event().wait()
        return None

    monkeypatch.setattr(agreement, "read_basis", slow)
    assert await _answer(_node(), 0.01) == Silent("a", "it did not answer within 0 s")


@pytest.mark.parametrize(
    ("seconds", "blocks"), [(12, 3), (5, 3), (4, 3), (3.75, 4), (2, 7), (1, 15), (0.25, 60)]
)
def test_how_many_blocks_may_pass_while_something_is_built(seconds: float, blocks: int) -> None:
    assert _most_behind(_sources(replace(BASE, block_seconds=seconds))) == blocks


@pytest.mark.parametrize(("late", "is_seen"), [(0, True), (1, True), (11, True), (12, False)])
async def test_a_block_is_waited_for_a_little(
    monkeypatch: pytest.MonkeyPatch, late: int, is_seen: bool
) -> None:
    answers, slept = [*([None] * late), HERE], list[float]()

    async def sleep(seconds: float) -> None:
        slept.append(seconds)

    monkeypatch.setattr(asyncio, "sleep", sleep)
    reader = ToldReader(lambda *_: answers.pop(0))
    assert await _block_at(_client(reader), 100) == (HERE if is_seen else None)
    assert slept == [0.001] * late


OURS = cast("Basis", SimpleNamespace(subject=SimpleNamespace(block=HERE)))


async def test_every_witness_is_asked_and_held_against_what_was_built_on() -> None:
    route, first, second = Route(_client(_node())), _client(_node()), _client(_node(head=101))
    pair = (Witness("a", first), Witness("b", second))
    silent = Witness("c", _client(ToldReader(lambda *_: NoEndpoint("c did not answer.", ""))))

    lone = await require_agreement(_sources(), Connections(route, host="x"), QUESTION, OURS)
    both = await require_agreement(_sources(), Connections(route, pair), QUESTION, OURS)
    one = Connections(route, (pair[0], silent), alone=True)

    assert lone == Agreement(("x",))
    assert both == Agreement(("a", "b"))
    assert (await require_agreement(_sources(), one, QUESTION, OURS)).agreed == ("a",)
    ahead = Witness("b", _client(_node(head=108)))
    with pytest.raises(GateRefusedError, match=r"newest block: 100 .*, 108 \(b\)"):
        await require_agreement(_sources(), Connections(route, (pair[0], ahead)), QUESTION, OURS)


@pytest.mark.parametrize("count", [0, 1, 2, 3])
@pytest.mark.parametrize("alone", [False, True])
@pytest.mark.parametrize("doubt", [None, 77.0])
def test_two_are_needed_where_two_are_set_and_none_may_vouch_alone(
    count: int, alone: bool, doubt: float | None
) -> None:
    witnesses = tuple(Witness(str(place), _client(_node())) for place in range(count))
    connections = Connections(Route(_client(_node())), witnesses, alone=alone, doubt_seconds=doubt)
    readers = tuple(NamedReader(witness.host, witness.client) for witness in witnesses)
    asked = () if alone or count < 2 else readers

    there = evidence_of(BASE, connections)
    assert there == replace(
        ONE_ENDPOINT,
        witnesses=asked,
        doubt_seconds=ONE_ENDPOINT.doubt_seconds if doubt is None else doubt,
    )
    assert evidence_of(DEVNET, connections) == replace(EMBEDDED, witnesses=asked)


async def test_nothing_is_signed_for_a_private_endpoint_that_is_not_there() -> None:
    silent = _client(ToldReader(lambda *_: NoEndpoint("three did not answer.", "")))
    with pytest.raises(NoEndpoint, match="Sends go through it alone"):
        await refuse_silent_route(Route(silent, "three"))
    await refuse_silent_route(Route(silent))
    there = ToldReader(lambda *_: 1)
    await refuse_silent_route(Route(_client(there), "three"))
    assert [method for method, _ in there.asked] == ["eth_chainId"]


@pytest.mark.parametrize(
    ("answer_seconds", "waited"), [(None, 22.5), (5, 20), (6.5, 20), (7, 21), (30, 90)]
)
async def test_a_witness_is_waited_for_as_long_as_three_answers(
    answer_seconds: float | None, waited: float
) -> None:
    from chain.rpc.client import RpcClient

    urls = ("http://one:1", "http://two:2")
    limits = LimitsTable(answer_seconds=answer_seconds, doubt_seconds=33)
    settings = Settings(endpoints={"devnet": urls}, limits=limits)
    async with (
        RpcClient(DEVNET, urls) as reads,
        open_connections(settings, DEVNET, reads) as found,
    ):
        assert (found.witness_seconds, found.doubt_seconds) == (waited, 33)
        assert found.route.others == tuple(witness.client for witness in found.witnesses)


@pytest.mark.parametrize(
    ("answers", "odd"),
    [
        ({"what this was built on": 2, "a": 1}, set()),
        ({"what this was built on": 2, "a": 1, "b": 1}, set()),
        ({"a": 1, "b": 2}, set()),
        ({"a": 1, "b": 1, "c": 2}, {"c"}),
        ({"a": 1, "b": 1, "c": 2, "d": 2}, set()),
        ({"a": 1, "b": 1, "c": 1, "d": 2}, {"d"}),
        ({"a": 1, "b": 1, "c": 1, "d": 2, "e": 3}, {"d", "e"}),
        ({"what this was built on": 2, "a": 1, "b": 1, "c": 2}, {"c"}),
    ],
)
def test_the_odd_ones_stand_against_more_than_half(
    answers: dict[str, object], odd: set[str]
) -> None:
    assert _Difference("nonce", answers).odd == odd
