"""Two ways to write one host are one witness; two ports of this machine are two."""

from __future__ import annotations

import pytest

from zuno_tui.gate.agreement import _by_host


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
def test_one_host_is_one_witness_however_it_is_written(other: str) -> None:
    assert list(_by_host(["https://rpc.example.com/v2/key", other])) == ["rpc.example.com"]


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost", "[::1]"])
def test_on_this_machine_each_port_is_an_endpoint(host: str) -> None:
    assert len(_by_host([f"http://{host}:8545", f"http://{host}:8546"])) == 2


def test_two_hosts_are_two_witnesses() -> None:
    assert len(_by_host(["https://rpc.example.com", "https://rpc2.example.com"])) == 2


def test_a_url_without_a_host_is_a_witness_of_no_name() -> None:
    assert list(_by_host(["http:///key", "http:///other"])) == [""]
