"""Who is asked, what counts as agreement, who is named when there is none, what gas may cost."""

from collections.abc import Sequence
from typing import cast

import pytest
from msgspec.structs import replace

from chain.contracts.networks import network_named
from chain.execution.outbox.delivery import Route
from chain.execution.outbox.lookup import EMBEDDED, ONE_ENDPOINT, NamedReader
from chain.execution.plan.facts import FeeCaps
from chain.rpc.client import RpcClient
from chain.rpc.errors import NoEndpoint
from chain.rpc.records import Block, FeeHistory
from tests.fakes.told_reader import ToldReader
from zuno_tui.gate.agreement import (
    Agreement,
    Connections,
    Silent,
    Witness,
    compare_statements,
    evidence_of,
    open_connections,
    refuse_silent_route,
)
from zuno_tui.gate.basis import WHOLE_TRIAL, Gas, contradicts
from zuno_tui.gate.prepare import agreed_fees
from zuno_tui.gate.refusal import GateRefusedError, RefusalCode
from zuno_tui.settings import Settings
from zuno_tui.settings.schema import LimitsTable

OURS = {"block": "0xaa", "nonce": 7, "gas of exit": Gas(100_000)}
LIE = {**OURS, "nonce": 8}
BLOCK = Block(7, "0x" + "aa" * 32, "0x" + "bb" * 32, 1_700_000_000, 10**9, 0, 30_000_000)
SILENCE = Silent("c", "it did not answer")


def _refused(*answers: dict[str, object] | Silent, alone: bool = False) -> GateRefusedError:
    with pytest.raises(GateRefusedError) as refused:
        _agreed(*answers, alone=alone)
    return refused.value


def _agreed(*answers: dict[str, object] | Silent, alone: bool = False) -> Agreement:
    return compare_statements(OURS, dict(zip("abc", answers, strict=False)), alone=alone)


def test_one_may_vouch_alone_only_where_somebody_says_so() -> None:
    connections = Connections(Route(cast("RpcClient", None)))
    assert not connections.alone
    refused = _refused(OURS, SILENCE, SILENCE, alone=connections.alone)
    assert refused.code is not None
    assert _agreed(OURS, SILENCE, SILENCE, alone=True).alone


def test_two_that_tell_the_same_are_enough() -> None:
    assert _agreed(OURS, OURS, SILENCE) == Agreement(("a", "b"), (SILENCE,))
    assert not _agreed(OURS, OURS, SILENCE).alone


def test_who_vouches_alone_and_who_was_not_heard_is_said() -> None:
    assert Agreement(("a",)).words == "One endpoint, a, vouches for everything here."
    assert Agreement(("a",), (SILENCE,)).words == (
        "One endpoint, a, vouches for everything here; c did not answer."
    )


TRIED = {**OURS, WHOLE_TRIAL: 2}


@pytest.mark.parametrize(
    ("answers", "tried", "words"),
    [
        ((TRIED, TRIED), ("a", "b"), "a and b agree on {}, code and trial."),
        ((OURS, TRIED), ("b",), "a and b agree on {} and code. b alone tried all steps."),
        ((OURS, OURS), (), "a and b agree on {} and code."),
        (
            (OURS, TRIED, TRIED),
            ("b", "c"),
            "a and b and c agree on {} and code. b and c agree on the trial.",
        ),
        (
            (OURS, TRIED, SILENCE),
            ("b",),
            "a and b agree on {} and code. b alone tried all steps. c did not answer.",
        ),
    ],
)
def test_a_trial_is_agreed_on_by_those_who_made_it(
    answers: tuple[dict[str, object] | Silent, ...], tried: tuple[str, ...], words: str
) -> None:
    agreement = _agreed(*answers)

    assert agreement.tried == tried
    assert agreement.trial_agreed is (len(tried) > 1)
    assert agreement.words == words.format("block, time, position, pool, balances, nonce")


@pytest.mark.parametrize("answers", [(OURS, SILENCE), (OURS, SILENCE, SILENCE)])
def test_silence_is_no_agreement(answers: tuple[dict[str, object] | Silent, ...]) -> None:
    refused = _refused(*answers)

    assert refused.code is RefusalCode.TOO_FEW_ENDPOINTS
    assert "c: it did not answer" in str(refused)
    assert _agreed(*answers, alone=True).alone


def test_nobody_at_all_vouches_for_nothing_even_alone() -> None:
    assert _refused(SILENCE, alone=True).code is RefusalCode.TOO_FEW_ENDPOINTS


@pytest.mark.parametrize(
    ("answers", "odd"),
    [
        ((LIE, OURS, OURS), "a disagrees with the other 2"),
        ((OURS, OURS, LIE), "c disagrees with the other 2"),
        # Ours came from a liar: the two who differ from it are the ones who agree.
        ((OURS, LIE, LIE), "a disagrees with the other 2"),
        ((OURS, LIE), "One of them is wrong"),
        ((OURS, LIE, SILENCE), "One of them is wrong"),
        ((OURS, LIE, {**OURS, "nonce": 9}), "One of them is wrong"),
    ],
)
def test_a_contradiction_is_refused_and_a_majority_names_the_odd_one(
    answers: tuple[dict[str, object] | Silent, ...], odd: str
) -> None:
    for alone in (False, True):
        refused = _refused(*answers, alone=alone)
        assert refused.code is RefusalCode.ENDPOINTS_DISAGREE
        assert "nonce: 7 (what this was built on)" in str(refused)
        assert odd in str(refused)


@pytest.mark.parametrize(
    ("other", "differs"),
    [(110_000, False), (110_001, True), (90_910, False), (90_909, True), (100_000, False)],
)
def test_gas_may_differ_by_a_tenth(other: int, differs: bool) -> None:
    assert contradicts(Gas(100_000), Gas(other)) is differs
    assert contradicts(Gas(other), Gas(100_000)) is differs


def test_gas_is_compared_with_gas_alone() -> None:
    assert contradicts(Gas(5), 5)
    assert contradicts(5, Gas(5))
    assert contradicts(1, 2)
    assert not contradicts("a", "a")


class _Node:
    """An endpoint that tells of one tip, or of nothing."""

    def __init__(self, tip: int | None) -> None:
        self._tip = tip

    async def settle(self, asked: Sequence[object]) -> list[object]:
        if self._tip is None:
            return [BLOCK, None, None, None]
        history = FeeHistory(1, (10**9, 50 * 10**9), (0.5,), ((self._tip,),))
        return [BLOCK, history, None, None]


@pytest.mark.parametrize(
    ("tips", "paid"),
    [
        # Of two the higher: a tip of 0 by one endpoint would leave a transaction waiting.
        ((0, 290), 290),
        ((290, 3), 290),
        # Beyond the base fee of the block, which both tell, the lower one counts.
        ((3, 290 * 10**9), 10**9),
        ((2 * 10**9, 290 * 10**9), 2 * 10**9),
        ((290, 3, 4), 4),
        ((0, 3, 4), 3),
        ((290, 3, 4, 5), 4),
        ((None, 3, 290), 290),
    ],
)
async def test_no_single_endpoint_sets_the_tip_or_the_base_fee(
    tips: tuple[int | None, ...], paid: int
) -> None:
    witnesses = [
        Witness(str(place), cast("RpcClient", _Node(tip))) for place, tip in enumerate(tips)
    ]

    fees = await agreed_fees(witnesses, BLOCK, FeeCaps(10**12, 10**12))

    assert fees == FeeCaps(2 * 10**9 + paid, paid)


async def test_where_only_one_is_set_it_is_as_found() -> None:
    assert await agreed_fees((), BLOCK, FeeCaps(5, 1)) == FeeCaps(5, 1)


BASE, DEVNET = network_named("base"), network_named("devnet")
NODE = ToldReader(lambda *_: None)


def _client(reader: ToldReader) -> RpcClient:
    return cast("RpcClient", reader)


@pytest.mark.parametrize("count", [0, 1, 2, 3])
@pytest.mark.parametrize("alone", [False, True])
@pytest.mark.parametrize("doubt", [None, 77.0])
def test_two_are_needed_where_two_are_set_and_none_may_vouch_alone(
    count: int, alone: bool, doubt: float | None
) -> None:
    witnesses = tuple(Witness(str(place), _client(NODE)) for place in range(count))
    connections = Connections(Route(_client(NODE)), witnesses, alone=alone, doubt_seconds=doubt)
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
