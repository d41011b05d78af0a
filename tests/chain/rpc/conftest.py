"""Limits short enough for a test, a clock that stands still, and the marks of a leak."""

import traceback
from collections.abc import Sequence

import pytest

from chain.contracts.networks import Network, network_named
from chain.rpc.client import RpcClient
from chain.rpc.errors import RpcError
from chain.rpc.requests import RequestLimits
from tests.fakes.fault_server import SECRET
from tests.fakes.honest_node import HonestNode

QUICK = RequestLimits(
    connect_seconds=0.5,
    answer_seconds=0.8,
    total_seconds=2.0,
    rounds=2,
    pause_seconds=0.01,
    rest_seconds=0.2,
    limited_seconds=0.02,
    most_limited_seconds=2.0,
    reserve_seconds=0.8,
)
NOW = float(HonestNode.head_time + 5)


@pytest.fixture(scope="session")
def base() -> Network:
    return network_named("base")


def client_of(network: Network, urls: Sequence[str], limits: RequestLimits = QUICK) -> RpcClient:
    return RpcClient(network, urls, clock=lambda: NOW, limits=limits, jitter=lambda: 0.5)


def assert_fit_to_show(error: RpcError) -> None:
    """A sentence for people: short, clean, and with nothing of the URL anywhere in its chain."""
    shown = str(error)
    assert error.sentence
    assert error.sentence.endswith(".")
    assert len(shown) < 900
    assert all(character.isprintable() or character == "\n" for character in shown), repr(shown)
    seen: list[BaseException] = [error, *error.elsewhere]
    for one in seen:
        seen += [linked for linked in (one.__cause__, one.__context__) if linked is not None]
        told = f"{one}{one!r}{one.args}{vars(one)}"
        assert SECRET not in told
        assert "http://" not in told
    assert SECRET not in "".join(traceback.format_exception(error))
