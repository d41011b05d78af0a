"""Two ways to write one host are one witness; two ports of this machine are two."""

import pytest

from chain.contracts.networks import network_named
from chain.rpc.client import RpcClient
from zuno_tui.gate.agreement import open_connections
from zuno_tui.settings import Settings

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
