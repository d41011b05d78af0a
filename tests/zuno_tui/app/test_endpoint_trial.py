"""An endpoint tried before it is kept: what each kind of provider is found to be."""

import pytest

from chain.base.http import HttpAnswer
from chain.contracts.networks import network_named
from chain.rpc.client import RpcClient
from chain.rpc.endpoint import Endpoint
from chain.rpc.errors import RpcError
from tests.fakes.providers.clock import VirtualClock
from tests.fakes.providers.profile import Profile
from tests.fakes.providers.profiles import profile_named
from tests.fakes.providers.provider import Provider, client_through
from tests.fakes.providers.virtual_chain import VirtualChain
from zuno_tui.app.first_steps import (
    IMPATIENT,
    Check,
    CheckState,
    endpoint_checks,
    failed_check,
)

HEAD = 40_000_000
WELL, CAUTION = CheckState.WELL, CheckState.CAUTION


async def _checks(client: RpcClient) -> dict[str, Check]:
    found: dict[str, Check] = {}
    try:
        async for check in endpoint_checks(client):
            found[check.name] = check
    except RpcError as error:
        found["RPC"] = failed_check(error)
    return found


async def _tried(profile: Profile, asked_as: str | None = None) -> dict[str, Check]:
    clock = VirtualClock()
    chain = VirtualChain(network_named(profile.network), HEAD, 1_000, clock)
    network = network_named(asked_as or profile.network)
    async with client_through(network, Provider(profile, chain, clock)) as client:
        return await _checks(client)


@pytest.mark.parametrize(
    ("name", "logs", "said", "archive"),
    [
        ("alchemy paid", WELL, "100,000", WELL),
        ("publicnode", WELL, "50,000", WELL),
        ("ankr", WELL, "10,000", WELL),
        ("coinbase", WELL, "1,000", WELL),
        ("own besu", WELL, "1,000", CAUTION),
        ("alchemy free", CAUTION, "10 ", WELL),
        ("quicknode free", CAUTION, "5 ", WELL),
        ("own geth", WELL, "100,000", CAUTION),
        ("no logs, small calls", CAUTION, "", WELL),
    ],
)
async def test_what_a_provider_gives_is_found_out(
    name: str, logs: CheckState, said: str, archive: CheckState
) -> None:
    found = await _tried(profile_named(name))
    assert list(found) == ["RPC", "chain id", "head", "logs", "archive"]
    assert {found[one].state for one in ("RPC", "chain id", "head")} == {WELL}
    assert (found["logs"].state, found["archive"].state) == (logs, archive)
    assert f"of {said}" in found["logs"].finding or not said
    assert bool(found["logs"].next_step) is (logs is CAUTION)


@pytest.mark.parametrize(
    ("name", "asked_as", "step"),
    [
        ("never answers", None, "another URL"),
        ("without a key", None, "Check the key"),
        ("ankr", "optimism", "That URL serves Base"),
    ],
)
async def test_what_does_not_serve_says_what_to_do(
    name: str, asked_as: str | None, step: str
) -> None:
    found = await _tried(profile_named(name), asked_as)
    assert found["RPC"].state is CheckState.BROKEN
    assert step in found["RPC"].next_step
    assert "archive" not in found


class _WebPage:
    round_trips = 0

    async def post(
        self, endpoint: Endpoint, body: bytes, *, seconds: float, most_bytes: int
    ) -> HttpAnswer:
        return HttpAnswer(200, b"<!doctype html><title>Dashboard</title>")

    async def close(self) -> None:
        """Nothing is open."""


async def test_a_web_page_is_no_endpoint() -> None:
    network, url = network_named("base"), ("https://dashboard.example/app",)
    async with RpcClient(network, url, transport=_WebPage(), limits=IMPATIENT) as client:
        found = await _checks(client)
    assert found["RPC"].state is CheckState.BROKEN
    assert "no JSON-RPC endpoint" in found["RPC"].next_step
