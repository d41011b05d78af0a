"""Who is asked besides: every host once where there are several, and nobody where there is one."""

from urllib.parse import urlsplit

import pytest

from chain.contracts.networks import network_named
from chain.rpc.client import RpcClient
from zuno_tui.gate.agreement import open_connections
from zuno_tui.settings import Settings

ONE, TWO, THREE = "http://one:1", "http://two:2", "http://three:3"


@pytest.mark.parametrize(
    ("urls", "hosts"),
    [
        ((ONE,), []),
        ((ONE, ONE + "/another-key"), []),
        ((ONE, "http://person:secret@one:1"), []),
        ((ONE, TWO), ["one", "two"]),
        ((ONE, TWO, ONE + "/another-key"), ["one", "two"]),
        ((THREE, TWO, ONE), ["three", "two", "one"]),
    ],
)
async def test_a_lone_endpoint_is_no_witness_of_itself(
    urls: tuple[str, ...], hosts: list[str]
) -> None:
    network = network_named("devnet")
    async with (
        RpcClient(network, urls) as reads,
        open_connections(Settings(endpoints={"devnet": urls}), network, reads) as found,
    ):
        assert [witness.host for witness in found.witnesses] == hosts
        assert found.host == urlsplit(urls[0]).hostname
        assert found.readers(reads) == (reads, *(one.client for one in found.witnesses))
        assert (found.route.endpoint, found.route.private_host) == (reads, None)
        assert not found.alone


async def test_sends_go_through_the_one_that_is_named_for_them() -> None:
    network = network_named("devnet")
    settings = Settings(endpoints={"devnet": (ONE, TWO)}, sends={"devnet": THREE}, alone=True)
    async with (
        RpcClient(network, (ONE, TWO)) as reads,
        open_connections(settings, network, reads) as found,
    ):
        assert found.route.endpoint is not reads
        assert "three" in str(found.route.private_host)
        assert [witness.host for witness in found.witnesses] == ["one", "two"]
        assert found.alone
