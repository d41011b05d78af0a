"""Each endpoint is asked by itself, at the same block, and for no longer than it is worth."""

from typing import cast

import pytest
from msgspec.structs import replace

from chain.contracts.networks import network_named
from chain.execution.outbox.delivery import Route
from chain.execution.outbox.lookup import EMBEDDED, ONE_ENDPOINT, NamedReader
from chain.rpc.client import RpcClient
from chain.rpc.errors import NoEndpoint
from tests.fakes.told_reader import ToldReader
from zuno_tui.gate.agreement import (
    Connections,
    Witness,
    evidence_of,
    open_connections,
    refuse_silent_route,
)
from zuno_tui.settings import Settings
from zuno_tui.settings.schema import LimitsTable

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
