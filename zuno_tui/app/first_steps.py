"""What the first run leaves on disk: which network, which endpoint, whose positions, and a key."""

import asyncio
import time
from collections.abc import AsyncIterator, Callable, Sequence
from enum import StrEnum
from pathlib import Path

from msgspec import Struct

from chain.base.clean_text import SecretStruct
from chain.base.home import Home
from chain.contracts.abi import selector
from chain.contracts.networks import Network, all_networks
from chain.names.ens import ResolvedName
from chain.rpc import requests
from chain.rpc.client import RpcClient
from chain.rpc.errors import ErrorKind, HttpFault, RangeTooWide, RpcError, WrongChain
from chain.rpc.records import LogFilter
from chain.rpc.requests import RequestLimits
from chain.wallet.errors import KeyringUnusableError, WalletError
from chain.wallet.secrets import Passphrase, PrivateKey, keys_of_phrase
from zuno_tui.settings import Settings, SettingsError, checked_url
from zuno_tui.settings.edit import keep_setting

IMPATIENT = RequestLimits(connect_seconds=3.0, answer_seconds=4.0, total_seconds=5.0, rounds=1)
"""For somebody who waits at a field."""
_SPANS = (100_000, 10_000, 1_000, 100, 10)
_ENOUGH_BLOCKS = 1_000
"""Of logs at once; with fewer, owners are asked for instead, which takes longer."""
_OLD_BLOCKS = 100_000
_NEXT_TOKEN_ID = selector("nextTokenId()")
_NEVER_LOGGED = "0x" + "00" * 31 + "01"


class CheckState(StrEnum):
    WELL = "ok"
    CAUTION = "caution"
    BROKEN = "broken"


CHECK_MARKS = {CheckState.WELL: "✓", CheckState.CAUTION: "!", CheckState.BROKEN: "✗"}


class Check(Struct, frozen=True):
    name: str
    state: CheckState
    finding: str
    next_step: str = ""
    about_network: bool = False


async def endpoint_checks(client: RpcClient, name: str = "RPC") -> AsyncIterator[Check]:
    """Latency, chain, head, logs and past state; an RpcError where it does not answer at all."""
    network, began = client.network, client.monotonic()
    chain_id = await client.ask(requests.chain_id())
    milliseconds = (client.monotonic() - began) * 1000
    yield Check(name, CheckState.WELL, f"answers in {milliseconds:.0f} ms")
    yield Check("chain id", CheckState.WELL, f"{chain_id}, which is right for {network.title}")
    head = await client.head()
    yield Check("head", CheckState.WELL, f"block {head.number:,}, {_age(network, head.timestamp)}")
    yield await _logs_check(client, head.number)
    yield await _archive_check(client, head.number)


async def tried_endpoint(network: Network, url: str) -> AsyncIterator[Check]:
    """The same for a URL that somebody types; what fails is the last check."""
    async with RpcClient(network, (url,), limits=IMPATIENT) as client:
        try:
            async for check in endpoint_checks(client):
                yield check
        except RpcError as error:
            yield failed_check(error)


def failed_check(error: RpcError) -> Check:
    sentence = error.sentence
    if isinstance(error, WrongChain):
        sentence = f"It answers for chain {error.answered}, not {error.expected}."
    return Check("RPC", CheckState.BROKEN, sentence, _what_to_do(error), about_network=True)


def _what_to_do(error: RpcError) -> str:
    match error:
        case WrongChain(answered=answered):
            names = [network.title for network in all_networks() if network.chain_id == answered]
            its = f"That URL serves {names[0]}: go back and choose it" if names else "Go back"
            return f"{its}, or give another URL."
        case HttpFault(status=401 | 403):
            return "Check the key in the URL."
        case HttpFault(status=404 | 405 | 501):
            return _BY_KIND[ErrorKind.MALFORMED]
        case _:
            return _BY_KIND.get(error.kind, "Try again, or give another URL.")


_BY_KIND = {
    ErrorKind.UNREACHABLE: "Check the name and the port, and that the node runs.",
    ErrorKind.TIMED_OUT: "Try again, or give another URL.",
    ErrorKind.MALFORMED: "That is no JSON-RPC endpoint: copy the URL your provider shows.",
    ErrorKind.RATE_LIMITED: "Wait a little, or give a URL with a key of your own.",
    ErrorKind.STALE_HEAD: "The node is behind: wait for it, or give another URL.",
}


async def _logs_check(client: RpcClient, head: int) -> Check:
    spans = [span for span in _SPANS if span <= max(head, _SPANS[-1])]
    for span in spans:
        wanted = LogFilter(
            client.network.contracts.pool_manager,
            (_NEVER_LOGGED, _NEVER_LOGGED),
            max(0, head - span + 1),
            head,
        )
        try:
            await client.ask(requests.logs(wanted))
        except RangeTooWide as error:
            if error.suggested_span is not None and error.suggested_span < span:
                return _span_check(error.suggested_span)
        except RpcError as error:
            return Check("logs", CheckState.CAUTION, error.sentence, _WITHOUT_LOGS)
        else:
            return _span_check(span)
    return Check("logs", CheckState.CAUTION, "returns very few at once", _WITHOUT_LOGS)


_WITHOUT_LOGS = "Positions are then found by asking for owners, which takes longer."


def _span_check(span: int) -> Check:
    words = f"of {span:,} blocks at once"
    if span >= _ENOUGH_BLOCKS:
        return Check("logs", CheckState.WELL, words)
    return Check("logs", CheckState.CAUTION, words, _WITHOUT_LOGS)


async def _archive_check(client: RpcClient, head: int) -> Check:
    old = max(1, head - _OLD_BLOCKS)
    contracts = client.network.contracts
    try:
        await client.ask(requests.call(contracts.position_manager, _NEXT_TOKEN_ID, old))
    except RpcError as error:
        if error.kind is ErrorKind.REVERTED:
            return Check("archive", CheckState.WELL, f"has the state of block {old:,}")
        words = "no state of old blocks"
        return Check("archive", CheckState.CAUTION, words, "History is read from logs only.")
    return Check("archive", CheckState.WELL, f"has the state of block {old:,}")


def _age(network: Network, timestamp: int) -> str:
    if network.clock == "head":
        return "by its own clock"
    return f"{max(0, time.time() - timestamp):.0f} s old"


class StartPlace(SecretStruct, frozen=True):
    """Where the desk will look."""

    network: Network
    # It may hold an API key, and so is part of no repr.
    endpoint: str = ""
    """Empty for the network's own."""


def networks_to_offer() -> tuple[Network, ...]:
    """Live ones with an endpoint that everybody may use first; the embedded chain is the demo's."""
    offered = (network for network in all_networks() if network.default_address is None)
    return tuple(sorted(offered, key=lambda network: (network.testnet, not network.endpoints)))


def try_place(place: StartPlace, found: Callable[[Check], None]) -> None:
    """Ask the endpoint what it is good for, in a thread that has no loop of its own."""
    url = place.endpoint or place.network.endpoints[0]

    async def ask() -> None:
        async for check in tried_endpoint(place.network, url):
            found(check)

    asyncio.run(ask())


def checked_place(network: Network, endpoint: str) -> StartPlace:
    if endpoint.strip():
        return StartPlace(network, checked_url(endpoint.strip(), "The endpoint"))
    if not network.endpoints:
        raise SettingsError(f"{network.title} has no endpoint of its own: give the URL of one.")
    return StartPlace(network)


def watch_address(home: Home, place: StartPlace, address: str) -> None:
    from chain.wallet.address_book import change_book, parsed_address, read_book
    from chain.wallet.keystore import watch

    watched = parsed_address(address)
    if read_book(home.keystore).at(watched) is None:
        watch(home, watched, name=None)
    change_book(home.keystore, lambda book: book.with_current(watched))
    _keep_place(home, place)


def new_key() -> PrivateKey:
    return PrivateKey.generate()


def key_typed(typed: bytes) -> PrivateKey:
    return PrivateKey.from_text(typed.decode("ascii", "replace"))


def keys_of_seed(typed: bytes, accounts: Sequence[int]) -> tuple[PrivateKey, ...]:
    return keys_of_phrase(typed, accounts)


def key_in_keystore(path: Path, passphrase: Passphrase) -> PrivateKey:
    from chain.wallet.keystore_file import read_keystore

    return read_keystore(path, passphrase)


def looked_up_name(place: StartPlace, name: str) -> ResolvedName:
    """Whose address an ENS name is."""
    from zuno_tui.app.portfolio import looked_up

    endpoints = {place.network.name: (place.endpoint,)} if place.endpoint else {}
    settings = Settings(network=place.network.name, endpoints=endpoints)
    return asyncio.run(looked_up(name, settings, place.network))


def keyring_trouble() -> str | None:
    """Why a key cannot go into the system's keyring here; None where it can."""
    from chain.wallet.keyring_store import find_keyring

    try:
        find_keyring()
    except KeyringUnusableError as error:
        return str(error)
    return None


def keep_first_key(
    home: Home, place: StartPlace, key: PrivateKey, passphrase: Passphrase | None
) -> str:
    """Keep it in the keyring, or with a passphrase in a file; where it went, in a sentence."""
    from chain.wallet.address_book import change_book
    from chain.wallet.keystore import StoreChoice, keep_key

    def give_passphrase(_: str) -> Passphrase:
        if passphrase is None:
            raise WalletError("The keyring refused the key. Nothing was saved; try again.")
        return passphrase

    choice = StoreChoice.BEST if passphrase is None else StoreChoice.FILE
    kept = keep_key(home, key, name=None, choice=choice, new_passphrase=give_passphrase)
    change_book(home.keystore, lambda book: book.with_current(kept.wallet.address))
    _keep_place(home, place)
    return f"The key is in {kept.place}."


def _keep_place(home: Home, place: StartPlace) -> None:
    home.prepare()
    keep_setting(home.settings, "", "network", place.network.name)
    if place.endpoint:
        keep_setting(home.settings, "rpc", place.network.name, place.endpoint)
