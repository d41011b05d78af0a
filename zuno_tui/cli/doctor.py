"""`zuno doctor`: check everything zuno depends on, each with what to do when it is not well."""

from __future__ import annotations

import asyncio
import os
import shutil
import time
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

from chain.checksum import checksummed
from chain.code_hashes import shipped_code_hashes
from chain.home import HomeError
from chain.keccak import keccak
from chain.rpc import requests
from chain.rpc.errors import RpcError
from zuno_tui.cli import DONE, FAILED, NETWORK
from zuno_tui.cli.output import Column, print_json, print_lines, table
from zuno_tui.session import Session
from zuno_tui.settings import SettingsError

if TYPE_CHECKING:
    from argparse import Namespace
    from collections.abc import AsyncIterator, Mapping

    from chain.networks import Address
    from chain.rpc.client import RpcClient

KEYRING_SECONDS = 3.0
MODEL_SECONDS = 5.0


class State(StrEnum):
    WELL = "ok"
    CAUTION = "caution"
    BROKEN = "broken"


@dataclass(frozen=True, slots=True)
class Check:
    name: str
    state: State
    finding: str
    next_step: str = ""
    about_network: bool = False


def run(arguments: Namespace) -> int:
    session = Session.start(arguments)
    checks = asyncio.run(_all_checks(session))
    if session.as_json:
        print_json({"network": session.network.name, "checks": [_as_json(c) for c in checks]})
    else:
        rows = [(_MARKS[c.state], c.name, c.finding) for c in checks]
        lines = table((Column(""), Column(session.network.title), Column("")), rows)
        print_lines(lines)
        print_lines(f"  → {c.name}: {c.next_step}" for c in checks if c.next_step)
    broken = [check for check in checks if check.state is State.BROKEN]
    if not broken:
        return DONE
    return NETWORK if any(check.about_network for check in broken) else FAILED


_MARKS = {State.WELL: "✓", State.CAUTION: "!", State.BROKEN: "✗"}


async def _all_checks(session: Session) -> list[Check]:
    checks = [check async for check in _network_checks(session)]
    checks.append(await _sending_check(session))
    checks.append(_home_check(session))
    checks.append(_outbox_check(session))
    checks += _watch_checks(session)
    checks.append(await _keyring_check())
    checks.append(await _model_check())
    checks.append(_node_check())
    return checks


async def _network_checks(session: Session) -> AsyncIterator[Check]:
    from chain.rpc.client import RpcClient

    endpoints = session.settings.endpoints_for(session.network)
    if not endpoints:
        yield Check(
            "RPC",
            State.BROKEN,
            "no endpoint is set",
            f"zuno --network {session.network.name} --rpc URL, or [rpc] in {session.home.settings}",
            about_network=True,
        )
    # One client an endpoint: failover would hide the one that is not well.
    for number, url in enumerate(endpoints, 1):
        name = "RPC" if len(endpoints) == 1 else f"RPC {number}"
        async with RpcClient(session.network, (url,)) as client:
            try:
                async for check in _endpoint_checks(session, client, name):
                    yield check
            except RpcError as error:
                yield Check(name, State.BROKEN, error.sentence, _mend(session), about_network=True)


def _mend(session: Session) -> str:
    if session.network.name == "devnet":
        return "Start it in another terminal: zuno devnet"
    return f"Set another endpoint: zuno --network {session.network.name} --rpc URL"


async def _endpoint_checks(session: Session, client: RpcClient, name: str) -> AsyncIterator[Check]:
    started = time.perf_counter()
    chain_id = await client.ask(requests.chain_id())
    milliseconds = (time.perf_counter() - started) * 1000
    yield Check(name, State.WELL, f"answers in {milliseconds:.0f} ms")
    yield Check("chain id", State.WELL, f"{chain_id}, as {session.network.title} should")
    head = await client.head()
    yield Check("head", State.WELL, f"block {head.number:,}, {_age(session, head.timestamp)}")
    yield await _contracts_check(session, client)


def _age(session: Session, timestamp: int) -> str:
    if session.network.clock == "head":
        return "by its own clock"
    return f"{max(0, time.time() - timestamp):.0f} s old"


async def _contracts_check(session: Session, client: RpcClient) -> Check:
    contracts = session.network.contracts
    places = {
        "PoolManager": contracts.pool_manager,
        "PositionManager": contracts.position_manager,
        "StateView": contracts.state_view,
        "V4Quoter": contracts.quoter,
        "Permit2": contracts.permit2,
        "Multicall3": contracts.multicall3,
    }
    if contracts.universal_router:
        places["UniversalRouter"] = contracts.universal_router
    codes = await client.settle([requests.code(at, "latest") for at in places.values()])
    found = {
        address: code
        for address, code in zip(places.values(), codes, strict=True)
        if not isinstance(code, RpcError) and code
    }
    missing = [name for name, address in places.items() if address not in found]
    if missing:
        return Check(
            "contracts",
            State.BROKEN,
            f"no code at {', '.join(missing)}",
            "This endpoint does not serve Uniswap v4 here. Set another: zuno --rpc URL",
            about_network=True,
        )
    return _code_check(session, found)


def _code_check(session: Session, codes: Mapping[Address, bytes]) -> Check:
    """Whether the code is what is shipped with zuno, where anything is."""
    known = shipped_code_hashes(session.network)
    hashes = {address: "0x" + keccak(code).hex() for address, code in codes.items()}
    other = [each for each, hash_ in hashes.items() if known.get(each, hash_) != hash_]
    if other:
        return Check(
            "contracts",
            State.BROKEN,
            f"other code than it should be at {', '.join(map(checksummed, other))}",
            "Nothing is signed on this endpoint's word. Set another: zuno --rpc URL",
            about_network=True,
        )
    return Check(
        "contracts", State.WELL, f"all {len(codes)} have code, {len(known)} as shipped with zuno"
    )


async def _sending_check(session: Session) -> Check:
    """Where signed transactions would go; a private endpoint that is down takes none."""
    from chain.rpc.client import RpcClient

    url = session.settings.send_endpoint_for(session.network)
    if url is None:
        return Check("sends", State.WELL, "go through the endpoints above")
    async with RpcClient(session.network, (url,)) as client:
        host = client.endpoints[0].label
        try:
            await client.ask(requests.chain_id())
        except RpcError as error:
            mend = "Nothing is signed until it answers. It is named under [send] in settings.toml."
            return Check("sends", State.BROKEN, error.sentence, mend, about_network=True)
    return Check("sends", State.WELL, f"go through {host} alone, which answers")


def _outbox_check(session: Session) -> Check:
    from chain.execution.journal import OutboxError
    from chain.execution.outbox import Outbox

    if not session.home.outbox.exists():
        return Check("outbox", State.WELL, "empty: nothing was ever sent from here")
    try:
        with Outbox.open(session.home.outbox) as outbox:
            waiting = len(outbox.unresolved())
    except OutboxError as error:
        return Check("outbox", State.BROKEN, error.sentence, error.next_step)
    if waiting:
        return Check("outbox", State.CAUTION, f"{waiting} not settled", "See: zuno outbox")
    return Check("outbox", State.WELL, "readable, and nothing in it waits")


def _home_check(session: Session) -> Check:
    try:
        session.open_store().close()
    except (HomeError, OSError) as error:
        return Check("home", State.BROKEN, str(error), "Choose another: zuno --home DIR")
    return Check("home", State.WELL, str(session.home.root))


def _watch_checks(session: Session) -> list[Check]:
    """Whether somebody watches, and whether alerts get where the settings send them."""
    from zuno_tui.settings.channels import channel_settings
    from zuno_tui.watch.health import Vigil, watch_health

    health = watch_health(session.home, now=time.time())
    well = health.vigil in (Vigil.KEPT, Vigil.NEVER)
    state = State.WELL if well else State.CAUTION
    checks = [Check("monitor", state, health.sentence, "" if well else health.next_step)]
    trouble = None if health.beat is None else health.beat.trouble
    if trouble is not None and health.vigil is Vigil.KEPT:
        checks.append(Check("alerts", State.CAUTION, trouble))
    try:
        channels = channel_settings(session.settings, os.environ).channels()
    except SettingsError as error:
        return [*checks, Check("channels", State.BROKEN, str(error), str(session.home.settings))]
    for channel in channels:
        progress = health.channels.get(channel.name)
        if progress is None or progress.trouble is None:
            checks.append(Check(channel.name, State.WELL, "set; nothing has gone wrong"))
        elif progress.stopped and progress.fingerprint == channel.fingerprint:
            checks.append(Check(channel.name, State.BROKEN, f"stopped: {progress.trouble}"))
        else:
            checks.append(Check(channel.name, State.CAUTION, f"delayed: {progress.trouble}"))
    return checks


async def _keyring_check() -> Check:
    from chain.wallet.errors import KeyringUnusableError
    from chain.wallet.keyring_store import find_keyring

    try:
        keyring = await asyncio.to_thread(find_keyring, KEYRING_SECONDS)
    except KeyringUnusableError as error:
        advice = "Keys will be kept in an encrypted file with a passphrase instead."
        return Check("keyring", State.CAUTION, str(error), advice)
    return Check("keyring", State.WELL, f"{keyring.title} answers")


async def _model_check() -> Check:
    key = os.environ.get("OPENAI_API_KEY")
    if not key or os.environ.get("ZUNO_DETERMINISTIC", "").lower() == "true":
        why = "OPENAI_API_KEY is not set" if not key else "ZUNO_DETERMINISTIC is true"
        return Check("model", State.WELL, f"none ({why}): debates run on the rules alone")
    import httpx2

    base = os.environ.get("OPENAI_BASE_URL", "https://api.openai.com/v1").rstrip("/")
    try:
        async with httpx2.AsyncClient(timeout=MODEL_SECONDS, trust_env=False) as client:
            answer = await client.get(f"{base}/models", headers={"Authorization": f"Bearer {key}"})
    except (httpx2.HTTPError, httpx2.InvalidURL) as error:
        return Check(
            "model",
            State.CAUTION,
            f"cannot be reached ({type(error).__name__})",
            "Check OPENAI_BASE_URL. Until then debates run on the rules alone.",
        )
    if answer.status_code != 200:
        return Check(
            "model",
            State.CAUTION,
            f"refused with HTTP {answer.status_code}",
            "Check OPENAI_API_KEY. Until then debates run on the rules alone.",
        )
    return Check("model", State.WELL, "answers")


def _node_check() -> Check:
    if shutil.which("npm"):
        return Check("Node", State.WELL, "npm is there; the embedded chain can be built")
    return Check("Node", State.CAUTION, "npm is missing", "zuno demo needs Node.js 18 or newer.")


def _as_json(check: Check) -> dict[str, str]:
    return {
        "name": check.name,
        "state": check.state.value,
        "finding": check.finding,
        "nextStep": check.next_step,
    }
