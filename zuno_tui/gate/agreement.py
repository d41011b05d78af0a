"""Whether several endpoints tell the same of what a signature rests on, each asked by itself.

Silence is not agreement: where two or more endpoints are set, two must tell the same.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, NamedTuple

from chain.rpc import requests
from chain.rpc.errors import RpcError
from chain.store import Store
from zuno_tui.gate.basis import SubjectGoneError, contradicts, read_basis, statement
from zuno_tui.gate.refusal import GateRefusedError, RefusalCode

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from chain.overview import Sources
    from chain.rpc.types import Block
    from zuno_tui.gate.basis import Basis, BasisQuestion
    from zuno_tui.gate.connections import Connections, Witness

ENOUGH = 2
"""How many endpoints must tell the same, where that many are set."""
CATCH_UP_SECONDS = 6.0
WITNESS_SECONDS = 20.0
_POLL_SECONDS = 0.5

_OURS = "what this was built on"

Statement = dict[str, object]


class Silent(NamedTuple):
    host: str
    reason: str


@dataclass(frozen=True, slots=True)
class Agreement:
    agreed: tuple[str, ...] = ()
    """The hosts that tell the same."""
    silent: tuple[Silent, ...] = ()
    """The hosts that could not tell."""
    set_up: int = 1
    """How many endpoints there are."""

    @property
    def alone(self) -> bool:
        """Whether one endpoint vouches for everything."""
        return len(self.agreed) < ENOUGH

    @property
    def words(self) -> str:
        missing = " and ".join(one.host for one in self.silent)
        who = " and ".join(self.agreed)
        if self.alone:
            unheard = f"; {missing} did not answer" if missing else ""
            return f"One endpoint, {who}, vouches for everything here{unheard}."
        unheard = f" {missing} did not answer." if missing else ""
        return (
            f"{who} agree on block, time, position, pool, balances, nonce, code and trial.{unheard}"
        )


async def require_agreement(
    sources: Sources, connections: Connections, question: BasisQuestion, ours: Basis
) -> Agreement:
    """Ask each endpoint for the same at the same block; refuse when any tells it differently."""
    witnesses = connections.witnesses
    if not witnesses:
        return Agreement((connections.host,))
    block = ours.subject.block
    answers = await asyncio.gather(*(_ask(sources, one, question, block) for one in witnesses))
    told: dict[str, Statement] = {_OURS: statement(ours)}
    silent: list[Silent] = []
    for witness, answer in zip(witnesses, answers, strict=True):
        if isinstance(answer, Silent):
            silent.append(answer)
        else:
            told[witness.host] = answer
    if differences := tuple(_differences(told)):
        raise _disagreement(told, differences)
    agreed = tuple(host for host in told if host != _OURS)
    if len(agreed) < (1 if connections.alone else ENOUGH):
        raise _too_few(agreed, silent)
    return Agreement(agreed, tuple(silent), len(witnesses))


async def _ask(
    sources: Sources, witness: Witness, question: BasisQuestion, block: Block
) -> Statement | Silent:
    """What one endpoint says by itself, or why it says nothing that could be compared."""
    # A memory of its own: what another endpoint told once must not answer for this one.
    alone = replace(sources, client=witness.client, store=Store.in_memory())
    try:
        async with asyncio.timeout(WITNESS_SECONDS):
            known = await _block_at(witness, block.number)
            if known is None:
                return Silent(witness.host, f"it does not know block {block.number:,} yet")
            if known != block:
                return {
                    "block": known.hash,
                    "time of the block": known.timestamp,
                    "base fee": known.base_fee_per_gas or 0,
                }
            return statement(await read_basis(alone, question, block, pins=alone.store))
    except SubjectGoneError:
        return {str(question.about): "not there"}
    except TimeoutError:
        return Silent(witness.host, f"it did not answer within {WITNESS_SECONDS:.0f} s")
    except RpcError as error:
        return Silent(witness.host, error.sentence)


async def _block_at(witness: Witness, number: int) -> Block | None:
    """The block, waited for a little: endpoints see a new one at different times."""
    for _ in range(int(CATCH_UP_SECONDS / _POLL_SECONDS)):
        block = await witness.client.ask(requests.block(number))
        if block is not None:
            return block
        await asyncio.sleep(_POLL_SECONDS)
    return await witness.client.ask(requests.block(number))


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
        (common, count), *_ = Counter(witnesses.values()).most_common(1)
        if count * 2 <= len(witnesses) or len(witnesses) <= ENOUGH:
            return frozenset()
        return frozenset(who for who, value in witnesses.items() if value != common)


def _differences(told: Mapping[str, Statement]) -> Iterator[_Difference]:
    """Each fact that is told in more than one way, with who tells it how."""
    for what in dict.fromkeys(what for one in told.values() for what in one):
        answers = {who: one[what] for who, one in told.items() if what in one}
        first, *others = answers.values()
        if any(contradicts(first, other) for other in others):
            yield _Difference(what, answers)


def _disagreement(
    told: Mapping[str, Statement], differences: Sequence[_Difference]
) -> GateRefusedError:
    lines = "\n".join(f"  {line}" for line in differences)
    odd = sorted(frozenset[str]().union(*(one.odd for one in differences)))
    if len(odd) == 1:
        others = len(told) - 1 - len(odd)
        blame = f"{odd[0]} tells it differently from the other {others}. Leave it out"
    else:
        blame = "One of them is wrong. Try again, or leave out the one you do not trust"
    return GateRefusedError(
        f"Endpoints disagree. Nothing was signed.\n{lines}\n{blame}: --rpc URL,URL",
        RefusalCode.ENDPOINTS_DISAGREE,
    )


def _too_few(agreed: Sequence[str], silent: Sequence[Silent]) -> GateRefusedError:
    heard = f"Only {agreed[0]} answered" if agreed else "No endpoint answered"
    lines = "\n".join(f"  {one.host}: {one.reason}" for one in silent)
    return GateRefusedError(
        f"{heard}, and two must tell the same before anything is signed. Nothing was signed.\n"
        f"{lines}\nTry again when they answer, name others: --rpc URL,URL, "
        "or let one vouch for everything: --alone",
        RefusalCode.TOO_FEW_ENDPOINTS,
    )
