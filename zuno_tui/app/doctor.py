"""`zuno doctor`: check everything zuno depends on, each with what to do when it is not well."""

import asyncio
import os
import shutil
import time
from collections.abc import AsyncIterator, Iterator, Mapping
from urllib.parse import urlsplit

from agents.bus.record import writing_versions
from agents.model.interface import ModelSettings
from chain.base.home import HomeError
from chain.base.http import HttpClient, HttpError, HttpLimits
from chain.base.store import Store
from chain.base.units import MEGABYTE
from chain.contracts.addresses import checksum, keccak
from chain.contracts.networks import Address, Network, shipped_code_hashes
from chain.positions.overview import Sources
from chain.rpc import requests
from chain.rpc.client import RpcClient
from chain.rpc.errors import RpcError
from chain.tokens import forget_token, read_tokens, remembered_tokens
from chain.wallet.errors import KeyringUnusableError
from zuno_tui.app.delegation import account_words, read_account_codes
from zuno_tui.app.first_steps import CHECK_MARKS, Check, CheckState, endpoint_checks
from zuno_tui.app.session import Session
from zuno_tui.gate.contract_code import forget_code, pinned_code
from zuno_tui.present.answer import CommandAnswer
from zuno_tui.present.document import document
from zuno_tui.present.exit_codes import DONE, FAILED, NETWORK
from zuno_tui.present.output import OutputColumn, table
from zuno_tui.settings import SettingsError
from zuno_tui.settings.check import is_plain
from zuno_tui.settings.debates import ModelChoice, debate_settings

_NAME = "memory"


async def memory_checks(sources: Sources) -> list[Check]:
    """Whether everything that was met once is still as it was."""
    try:
        wrong = [*await _changed_code(sources), *await _changed_tokens(sources)]
    except RpcError as error:
        return [Check(_NAME, CheckState.CAUTION, f"could not be compared: {error.sentence}")]
    if not wrong:
        return [Check(_NAME, CheckState.WELL, "contracts are unchanged since they were first seen")]
    return [
        Check(
            _NAME,
            CheckState.BROKEN,
            f"{what} of {checksum(address)} is not what is remembered",
            "If the chain is right, forget what was stored: "
            f"zuno doctor --forget {checksum(address)}",
        )
        for address, what in wrong
    ]


async def _changed_code(sources: Sources) -> list[tuple[Address, str]]:
    pins = pinned_code(sources.store, sources.network)
    codes = await sources.client.together(*(requests.code(each, "latest") for each in pins))
    return [
        (address, "the code")
        for (address, pinned), code in zip(pins.items(), codes, strict=True)
        if "0x" + keccak(code).hex() != pinned
    ]


async def _changed_tokens(sources: Sources) -> Iterator[tuple[Address, str]]:
    known = remembered_tokens(sources.store, sources.network)
    now = await read_tokens(sources.client, sources.network, known, "latest", now=sources.clock())
    return (
        (address, "the number of decimals or the symbol")
        for address, token in known.items()
        if (token.decimals, token.symbol) != (now[address].decimals, now[address].symbol)
    )


def forget_contract(store: Store, network: Network, address: Address) -> str:
    """Let go of all that is remembered of a contract; what was, in words."""
    gone = [
        what
        for what, forget in (("its code", forget_code), ("its token's facts", forget_token))
        if forget(store, network, address)
    ]
    if not gone:
        return f"Nothing was stored about {checksum(address)} on {network.title}."
    return f"Forgot of {checksum(address)} on {network.title}: {' and '.join(gone)}."


async def network_checks(session: Session) -> AsyncIterator[Check]:
    endpoints = session.settings.endpoints_for(session.network)
    if not endpoints:
        yield Check(
            "RPC",
            CheckState.BROKEN,
            "no endpoint is set",
            f"zuno --network {session.network.name} --rpc URL, or [rpc] in {session.home.settings}",
            about_network=True,
        )
    # One client an endpoint: failover would hide the one that is not well.
    for number, url in enumerate(endpoints, 1):
        name = "RPC" if len(endpoints) == 1 else f"RPC {number}"
        async with RpcClient(
            session.network, (url,), limits=session.settings.request_limits
        ) as client:
            try:
                async for check in endpoint_checks(client, name):
                    yield check
                yield await _contracts_check(session, client)
            except RpcError as error:
                yield Check(
                    name, CheckState.BROKEN, error.sentence, _mend(session), about_network=True
                )


async def sending_check(session: Session) -> Check:
    """Where signed transactions would go; a private endpoint that is down takes none."""
    url = session.settings.send_endpoint_for(session.network)
    if url is None:
        return Check("sends", CheckState.WELL, "go through the endpoints above")
    async with RpcClient(session.network, (url,), limits=session.settings.request_limits) as client:
        host = client.endpoints[0].label
        try:
            await client.ask(requests.chain_id())
        except RpcError as error:
            mend = "Nothing is signed until it answers. It is named under [send] in settings.toml."
            return Check("sends", CheckState.BROKEN, error.sentence, mend, about_network=True)
    return Check("sends", CheckState.WELL, f"go through {host} alone, which answers")


async def subscription_checks(session: Session) -> AsyncIterator[Check]:
    """Who announces new blocks; one that does not is no fault, since polling goes on."""
    for url in session.sockets:
        from chain.rpc.new_heads import try_subscription

        try:
            host = await try_subscription(session.network, url)
            yield Check("new blocks", CheckState.WELL, f"are announced by {host}")
        except RpcError as error:
            yield Check(
                "new blocks",
                CheckState.CAUTION,
                error.sentence,
                "Until then zuno polls for blocks. The wss:// URL is set under [rpc].",
            )


def _mend(session: Session) -> str:
    if session.network.name == "devnet":
        return "Start it in another terminal: zuno devnet"
    return f"Set another endpoint: zuno --network {session.network.name} --rpc URL"


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
            CheckState.BROKEN,
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
            CheckState.BROKEN,
            f"other code than it should be at {', '.join(map(checksum, other))}",
            "Nothing is signed on this endpoint's word. Set another: zuno --rpc URL",
            about_network=True,
        )
    return Check(
        "contracts",
        CheckState.WELL,
        f"all {len(codes)} have code, {len(known.keys() & codes.keys())} as shipped with zuno",
    )


_SECONDS = 5.0
_STEP = "What is set: zuno model. Until then fixed rules decide in its place."


async def model_checks(session: Session) -> list[Check]:
    """One for each server that is asked, with the roles that ask it."""
    try:
        chosen = debate_settings(session.settings, os.environ, profile=None, deterministic=False)
    except SettingsError as error:
        return [Check("model", CheckState.BROKEN, str(error), str(session.home.settings))]
    if chosen.model is None:
        first = chosen.choices[0]
        why = "deterministic is chosen" if first.has_key else first.values["key"].shown
        return [Check("model", CheckState.WELL, f"none ({why}): debates run on the rules alone")]
    servers: dict[tuple[str, str, str], list[ModelChoice]] = {}
    for choice in chosen.choices:
        settings = choice.settings
        server = settings.base_url, settings.api_key, settings.keyring_name
        servers.setdefault(server, []).append(choice)
    return [await _check(choices, alone=len(servers) == 1) for choices in servers.values()]


async def _check(choices: list[ModelChoice], *, alone: bool) -> Check:
    roles = ", ".join(choice.role for choice in choices)
    name = "model" if alone else f"model of {roles}"
    settings = choices[0].settings
    models = ", ".join(dict.fromkeys(choice.settings.model for choice in choices))
    if settings.keyring_name:
        return Check(name, CheckState.WELL, f"{models} is set; ask it: zuno model test")
    if not settings.api_key:
        return Check(name, CheckState.CAUTION, f"no key: {choices[0].values['key'].shown}", _STEP)
    fault = await _fault(settings)
    if fault is not None:
        return Check(name, CheckState.CAUTION, f"{settings.host}: {fault}", _STEP)
    return Check(name, CheckState.WELL, f"{settings.host} answers for {models}")


async def _fault(settings: ModelSettings) -> str | None:
    """Why the server's list of models cannot be had; None where it can."""
    client = HttpClient(settings.base_url)
    try:
        answer = await client.get(
            f"{settings.base_url.rstrip('/')}/models",
            {"authorization": f"Bearer {settings.api_key}"},
            HttpLimits(_SECONDS, _SECONDS, MEGABYTE, cut=True),
        )
    except HttpError as error:
        return str(error)
    finally:
        await client.close()
    return None if answer.status == 200 else f"refused with HTTP {answer.status}"


_KEYRING_SECONDS = 3.0


async def run_doctor(session: Session) -> CommandAnswer:
    checks = await _all_checks(session)
    rows = [(CHECK_MARKS[check.state], check.name, check.finding) for check in checks]
    columns = (OutputColumn(""), OutputColumn(session.network.title), OutputColumn(""))
    steps = (f"  → {check.name}: {check.next_step}" for check in checks if check.next_step)
    return CommandAnswer(
        lines=(*table(columns, rows), *steps),
        document={
            "network": session.network.name,
            "checks": [document(check, without=("about_network",)) for check in checks],
        },
        code=_code(checks),
    )


def _code(checks: list[Check]) -> int:
    broken = [check for check in checks if check.state is CheckState.BROKEN]
    if not broken:
        return DONE
    return NETWORK if any(check.about_network for check in broken) else FAILED


def forget_address(session: Session, address: str) -> CommandAnswer:
    with session.open_store() as store:
        words = forget_contract(store, session.network, address)
    return CommandAnswer((), {"forgotten": address}, remarks=(words,))


async def _memory_checks(session: Session) -> list[Check]:
    try:
        async with session.sources() as sources:
            return await memory_checks(sources)
    except (HomeError, OSError, SettingsError):
        # Said already: without a home or an endpoint there is nothing to compare.
        return []


async def _all_checks(session: Session) -> list[Check]:
    checks = [check async for check in network_checks(session)]
    checks += [check async for check in subscription_checks(session)]
    checks += await _memory_checks(session)
    checks += await _account_checks(session)
    checks.append(await sending_check(session))
    checks.append(_home_check(session))
    checks += _settings_checks(session)
    checks.append(_outbox_check(session))
    checks += _watch_checks(session)
    checks.append(await _keyring_check())
    checks += await model_checks(session)
    checks.append(_node_check())
    return checks


async def _account_checks(session: Session) -> list[Check]:
    """How the account sends plans; nothing where no wallet is set."""
    try:
        account = session.address
    except SettingsError:
        return []
    code = (await read_account_codes(session, [account]))[account]
    state = CheckState.CAUTION if code is None else CheckState.WELL
    return [Check("account", state, account_words(session.network, code))]


def _outbox_check(session: Session) -> Check:
    from chain.execution.outbox.journal import OutboxError
    from chain.execution.outbox.outbox import Outbox

    if not session.home.outbox.exists():
        return Check("outbox", CheckState.WELL, "empty: nothing was ever sent from here")
    try:
        with Outbox.open(session.home.outbox) as outbox:
            waiting = len(outbox.unresolved_dispatches())
    except OutboxError as error:
        return Check("outbox", CheckState.BROKEN, error.sentence, error.next_step)
    if waiting:
        return Check("outbox", CheckState.CAUTION, f"{waiting} not settled", "See: zuno outbox")
    return Check("outbox", CheckState.WELL, "readable, and nothing in it waits")


def _home_check(session: Session) -> Check:
    try:
        session.open_store().close()
    except (HomeError, OSError) as error:
        return Check("home", CheckState.BROKEN, str(error), "Choose another: zuno --home DIR")
    return Check("home", CheckState.WELL, f"{session.home.root}, {_written_by(session)}")


def _written_by(session: Session) -> str:
    from importlib.metadata import version

    here, wrote = version("zuno-tui"), writing_versions(session.home.records)
    earlier = ", ".join(version for version in wrote if version != here)
    return f"written by zuno {earlier}, read by {here}" if earlier else f"of zuno {here}"


def _host(url: str) -> str:
    return urlsplit(url).hostname or "an endpoint"


def _settings_checks(session: Session) -> list[Check]:
    """One for each name that is old or unknown; none where all are understood."""
    settings = session.settings
    old = [Check("settings", CheckState.CAUTION, words) for words in settings.renamed]
    old += [
        Check(
            "settings",
            CheckState.CAUTION,
            f"{_host(url)} is read over plain http: others on the way can change its answers",
            "Write an address that begins with https, or have a second endpoint agree",
        )
        for url in settings.endpoints_for(session.network)
        if is_plain(url)
    ]
    unknown = [
        Check(
            "settings",
            CheckState.BROKEN,
            setting.sentence,
            "Fix it or remove it: nothing is approved or signed until then",
        )
        for setting in settings.not_understood
    ]
    return [*old, *unknown]


def _watch_checks(session: Session) -> list[Check]:
    """Whether somebody watches, and whether alerts get where the settings send them."""
    from zuno_tui.app.alerts import WatchStatus, watch_health
    from zuno_tui.settings.channels import channel_settings

    health = watch_health(session.home, now=time.time())
    well = health.state in (WatchStatus.KEPT, WatchStatus.NEVER)
    state = CheckState.WELL if well else CheckState.CAUTION
    checks = [Check("monitor", state, health.sentence, "" if well else health.next_step)]
    if health.state is WatchStatus.KEPT:
        checks += [Check("alerts", CheckState.CAUTION, trouble) for trouble in health.troubles]
    try:
        channels = channel_settings(session.settings, os.environ).channels()
    except SettingsError as error:
        return [
            *checks,
            Check("channels", CheckState.BROKEN, str(error), str(session.home.settings)),
        ]
    for channel in channels:
        progress = health.channels.get(channel.name)
        if progress is None or progress.trouble is None:
            checks.append(Check(channel.name, CheckState.WELL, "set; nothing has gone wrong"))
        elif progress.is_stopped and progress.fingerprint == channel.fingerprint:
            checks.append(Check(channel.name, CheckState.BROKEN, f"stopped: {progress.trouble}"))
        else:
            checks.append(Check(channel.name, CheckState.CAUTION, f"delayed: {progress.trouble}"))
    return checks


async def _keyring_check() -> Check:
    from chain.wallet.keyring_store import find_keyring

    try:
        keyring = await asyncio.to_thread(find_keyring, _KEYRING_SECONDS)
    except KeyringUnusableError as error:
        advice = "Keys will be kept in an encrypted file with a passphrase instead."
        return Check("keyring", CheckState.CAUTION, str(error), advice)
    return Check("keyring", CheckState.WELL, f"{keyring.title} answers")


def _node_check() -> Check:
    if shutil.which("npm"):
        return Check("Node", CheckState.WELL, "npm is there; the embedded chain can be built")
    return Check(
        "Node", CheckState.CAUTION, "npm is missing", "zuno demo needs Node.js 18 or newer."
    )
