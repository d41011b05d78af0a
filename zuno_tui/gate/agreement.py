"""Whether several endpoints tell the same of what a signature rests on, each asked by itself.

Silence is not agreement: where two or more endpoints are set, two must tell the same.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from typing import NamedTuple
from urllib.parse import urlsplit

from msgspec import Struct
from msgspec.structs import replace

from chain.base.store import Store
from chain.contracts.networks import Network
from chain.execution.outbox.delivery import Route
from chain.execution.outbox.lookup import EMBEDDED, ONE_ENDPOINT, Evidence, NamedReader
from chain.positions.overview import Sources
from chain.rpc import requests
from chain.rpc.client import RpcClient
from chain.rpc.errors import NoEndpoint, RpcError
from chain.rpc.records import Block
from zuno_tui.gate.basis import (
    WHOLE_TRIAL,
    Basis,
    BasisQuestion,
    SubjectGoneError,
    contradicts,
    read_basis,
    statement,
)
from zuno_tui.gate.limits import gate_limits
from zuno_tui.gate.refusal import GateRefusedError, RefusalCode
from zuno_tui.settings import Settings
from zuno_tui.settings.check import THIS_MACHINE

ENOUGH = 2
"""How many endpoints must tell the same, where that many are set."""
CATCH_UP_SECONDS = 6.0
WITNESS_SECONDS = 20.0
_ANSWERS = 3
"""That a witness gives one after the other."""
_POLL_SECONDS = 0.5
_LEAST_BEHIND = 3
_BUILDING_SECONDS = 15.0

_OURS = "what this was built on"

Statement = dict[str, object]


def evidence_of(network: Network, connections: Connections) -> Evidence:
    """Two endpoints where two are set and none may vouch alone; the embedded chain never lags."""
    rules = EMBEDDED if network.clock == "head" else ONE_ENDPOINT
    if connections.doubt_seconds is not None and not rules.embedded:
        rules = replace(rules, doubt_seconds=connections.doubt_seconds)
    several = len(connections.witnesses) > 1
    if connections.alone or not several:
        return rules
    return replace(
        rules,
        witnesses=tuple(
            NamedReader(witness.host, witness.client) for witness in connections.witnesses
        ),
    )


class Witness(Struct, frozen=True):
    """One endpoint by itself, whose answers no other can stand in for."""

    host: str
    client: RpcClient


class Connections(Struct, frozen=True):
    route: Route
    witnesses: tuple[Witness, ...] = ()
    """Every endpoint that reads, where two or more are set; none where there is only one."""
    host: str = "the endpoint"
    """The first of those that read."""
    alone: bool = False
    """Whether one endpoint may vouch where others are silent."""
    doubt_seconds: float | None = None
    """How long a bad sign must last before it is believed."""
    witness_seconds: float = WITNESS_SECONDS
    """How long each of them is waited for."""

    def readers(self, first: RpcClient) -> tuple[RpcClient, ...]:
        """Whoever can be asked: the usual way first, then each endpoint by itself."""
        return (first, *(witness.client for witness in self.witnesses))


@asynccontextmanager
async def open_connections(
    settings: Settings, network: Network, reads: RpcClient
) -> AsyncIterator[Connections]:
    async with AsyncExitStack() as stack:

        async def alone(url: str) -> RpcClient:
            client = RpcClient(network, (url,), limits=settings.request_limits)
            return await stack.enter_async_context(client)

        route = Route(reads)
        private = settings.send_endpoint_for(network)
        if private is not None:
            sends = await alone(private)
            [endpoint] = sends.endpoints
            route = Route(sends, endpoint.label)
        by_host = _by_host(settings.endpoints_for(network))
        several = by_host if len(by_host) > 1 else {}
        witnesses = [Witness(host, await alone(url)) for host, url in several.items()]
        if private is None:
            route = Route(reads, others=tuple(witness.client for witness in witnesses))
        yield Connections(
            route,
            tuple(witnesses),
            next(iter(by_host)),
            settings.alone,
            gate_limits(settings.limits, network).doubt_seconds,
            max(WITNESS_SECONDS, _ANSWERS * settings.request_limits.answer_seconds),
        )


def _by_host(urls: Sequence[str]) -> dict[str, str]:
    """One URL for each host: two keys of one provider are one witness, which tells one lie."""
    found: dict[str, str] = {}
    for url in urls:
        found.setdefault(_witness_host(url), url)
    return found


def _witness_host(url: str) -> str:
    """As a person knows it: neither case, port nor a last dot makes two hosts of one.

    On this machine each port is an endpoint of its own.
    """
    parts = urlsplit(url)
    host = (parts.hostname or "").rstrip(".")
    return parts.netloc.rpartition("@")[2] if host in THIS_MACHINE else host


async def refuse_silent_route(route: Route) -> None:
    """Sign nothing for a private endpoint that is not there to take it."""
    if route.private_host is None:
        return
    try:
        await route.endpoint.ask(requests.chain_id())
    except RpcError as error:
        raise NoEndpoint(
            f"{error.sentence} Sends go through it alone. Nothing was signed.",
            "Try again when it answers, or set another under [send] in settings.toml.",
        ) from error


class Silent(NamedTuple):
    host: str
    reason: str


class Agreement(Struct, frozen=True):
    agreed: tuple[str, ...] = ()
    """The hosts that tell the same."""
    silent: tuple[Silent, ...] = ()
    """The hosts that could not tell."""
    tried: tuple[str, ...] = ()
    """Of those that agree, who tried all steps, with the same outcome."""

    @property
    def trial_agreed(self) -> bool:
        return len(self.tried) >= ENOUGH

    @property
    def alone(self) -> bool:
        """Whether one endpoint vouches for everything."""
        return len(self.agreed) < ENOUGH

    @property
    def words(self) -> str:
        missing = " and ".join(witness.host for witness in self.silent)
        who = " and ".join(self.agreed)
        if self.alone:
            unheard = f"; {missing} did not answer" if missing else ""
            return f"One endpoint, {who}, vouches for everything here{unheard}."
        unheard = f" {missing} did not answer." if missing else ""
        facts = "block, time, position, pool, balances, nonce"
        if self.tried == self.agreed:
            return f"{who} agree on {facts}, code and trial.{unheard}"
        by = " and ".join(self.tried)
        how = f"{by} agree on the trial." if self.trial_agreed else f"{by} alone tried all steps."
        return f"{who} agree on {facts} and code.{f' {how}' if by else ''}{unheard}"


async def require_agreement(
    sources: Sources, connections: Connections, question: BasisQuestion, ours: Basis
) -> Agreement:
    """Ask each endpoint for the same at the same block; refuse when any tells it differently."""
    witnesses = connections.witnesses
    if not witnesses:
        return Agreement((connections.host,))
    block = ours.subject.block
    answers = await asyncio.gather(
        *(
            _ask(sources, witness, question, block, connections.witness_seconds)
            for witness in witnesses
        )
    )
    by_host = {witness.host: answer for witness, answer in zip(witnesses, answers, strict=True)}
    told = statement(ours) | {"newest block": block.number}
    return compare_statements(told, by_host, alone=connections.alone)


def compare_statements(
    ours: Statement, answers: Mapping[str, Statement | Silent], *, alone: bool
) -> Agreement:
    """Those who tell the same, if they are enough and nobody contradicts them."""
    silent = tuple(answer for answer in answers.values() if isinstance(answer, Silent))
    told = {who: answer for who, answer in answers.items() if not isinstance(answer, Silent)}
    if differences := tuple(_differences({_OURS: ours, **told})):
        raise _disagreement(len(told), differences)
    if len(told) < (1 if alone else ENOUGH):
        raise _too_few(tuple(told), silent)
    tried = tuple(who for who, statement in told.items() if WHOLE_TRIAL in statement)
    return Agreement(tuple(told), silent, tried)


async def _ask(
    sources: Sources, witness: Witness, question: BasisQuestion, block: Block, seconds: float
) -> Statement | Silent:
    """What one endpoint says by itself, or why it says nothing that could be compared."""
    # A memory of its own: what another endpoint told once must not answer for this one.
    alone = replace(sources, client=witness.client, store=Store.in_memory())
    try:
        async with asyncio.timeout(seconds):
            return await _statement_of(alone, question, block)
    except SubjectGoneError:
        return {str(question.about): "not there"}
    except _BehindError:
        return Silent(witness.host, f"it does not know block {block.number:,} yet")
    except TimeoutError:
        return Silent(witness.host, f"it did not answer within {seconds:.0f} s")
    except RpcError as error:
        return Silent(witness.host, error.sentence)


class _BehindError(Exception):
    """An endpoint that has not seen the block yet."""


async def _statement_of(alone: Sources, question: BasisQuestion, block: Block) -> Statement:
    head = await alone.client.ask(requests.block("latest"))
    if head is not None and head.number - block.number > _most_behind(alone):
        return {"newest block": head.number}
    known = await _block_at(alone.client, block.number)
    if known is None:
        raise _BehindError
    if known != block:
        return {
            "block": known.hash,
            "time of the block": known.timestamp,
            "base fee": known.base_fee_per_gas or 0,
        }
    return statement(await read_basis(alone, question, block, pins=alone.store))


def _most_behind(sources: Sources) -> int:
    """Blocks that may pass while something is built; more, and it rests on an old one."""
    return max(_LEAST_BEHIND, int(_BUILDING_SECONDS / sources.network.block_seconds))


async def _block_at(client: RpcClient, number: int) -> Block | None:
    """The block, waited for a little: endpoints see a new one at different times."""
    for _ in range(int(CATCH_UP_SECONDS / _POLL_SECONDS)):
        block = await client.ask(requests.block(number))
        if block is not None:
            return block
        await asyncio.sleep(_POLL_SECONDS)
    return None


class _Difference(NamedTuple):
    what: str
    answers: Mapping[str, object]
    """By who gave it."""

    def __str__(self) -> str:
        told = ", ".join(f"{value} ({who})" for who, value in self.answers.items())
        return f"{self.what}: {told}"

    @property
    def odd(self) -> frozenset[str]:
        """Those who stand against a majority of the endpoints; nobody where there is none."""
        witnesses = {who: str(value) for who, value in self.answers.items() if who != _OURS}
        [(common, count)] = Counter(witnesses.values()).most_common(1)
        if count * 2 <= len(witnesses):
            return frozenset()
        return frozenset(who for who, value in witnesses.items() if value != common)


def _differences(told: Mapping[str, Statement]) -> Iterator[_Difference]:
    """Each fact that is told in more than one way, with who tells it how."""
    for what in dict.fromkeys(what for facts in told.values() for what in facts):
        answers = {who: facts[what] for who, facts in told.items() if what in facts}
        first, *others = answers.values()
        if any(contradicts(first, other) for other in others):
            yield _Difference(what, answers)


def _disagreement(heard: int, differences: Sequence[_Difference]) -> GateRefusedError:
    lines = "\n".join(f"  {line}" for line in differences)
    odd = sorted(frozenset[str]().union(*(difference.odd for difference in differences)))
    if len(odd) == 1:
        blame = f"{odd[0]} disagrees with the other {heard - 1}. Leave it out"
    else:
        blame = "One of them is wrong. Try again, or leave out the one you do not trust"
    return GateRefusedError(
        f"Endpoints disagree. Nothing was signed.\n{lines}\n{blame}: --rpc URL,URL",
        RefusalCode.ENDPOINTS_DISAGREE,
    )


def _too_few(agreed: Sequence[str], silent: Sequence[Silent]) -> GateRefusedError:
    heard = f"Only {agreed[0]} answered" if agreed else "No endpoint answered"
    lines = "\n".join(f"  {witness.host}: {witness.reason}" for witness in silent)
    return GateRefusedError(
        f"{heard}, and two must agree before anything is signed. Nothing was signed.\n"
        f"{lines}\nTry again when they answer, name others: --rpc URL,URL, "
        "or let one vouch for everything: --alone",
        RefusalCode.TOO_FEW_ENDPOINTS,
    )
