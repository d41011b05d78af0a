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


BASE = network_named("base")


async def witnesses(*urls: str) -> list[str]:
    """Who is asked besides, where there are several."""
    settings = Settings(endpoints={"base": urls})
    async with (
        RpcClient(BASE, urls) as reads,
        open_connections(settings, BASE, reads) as found,
    ):
        return [witness.host for witness in found.witnesses]


@pytest.mark.parametrize(
    "other",
    [
        "https://RPC.example.com/key",
        "https://rpc.example.com:443/",
        "https://rpc.example.com./v2/other",
        "https://user:secret@rpc.example.com",
        "http://rpc.example.com:8545",
    ],
)
async def test_one_host_is_one_witness_however_it_is_written(other: str) -> None:
    assert await witnesses("https://rpc.example.com/v2/key", other) == []
    three = await witnesses("https://rpc.example.com/v2/key", other, "https://rpc2.example.com")
    assert three == ["rpc.example.com", "rpc2.example.com"]


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost", "[::1]"])
async def test_on_this_machine_each_port_is_an_endpoint(host: str) -> None:
    assert len(await witnesses(f"http://{host}:8545", f"http://{host}:8546")) == 2
