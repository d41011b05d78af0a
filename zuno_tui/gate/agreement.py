"""Whether several endpoints tell the same of what a plan rests on, each asked by itself."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, fields, replace
from typing import TYPE_CHECKING

from chain.rpc import requests
from chain.rpc.errors import ErrorKind, RpcError
from chain.store import Store
from zuno_tui.gate.circumstances import read_circumstances
from zuno_tui.gate.contract_code import read_code_hashes
from zuno_tui.gate.refusal import GateRefusedError
from zuno_tui.gate.subjects import read_subject

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from chain.networks import Address
    from chain.overview import Sources
    from chain.rpc.types import Block
    from zuno_tui.gate.connections import Witness
    from zuno_tui.gate.contract_code import CodeHashes
    from zuno_tui.gate.drift import Circumstances
    from zuno_tui.gate.subjects import Subject

CATCH_UP_SECONDS = 6.0
_POLL_SECONDS = 0.5
_UNANSWERED = frozenset(
    (
        ErrorKind.UNREACHABLE,
        ErrorKind.TIMED_OUT,
        ErrorKind.HTTP_FAULT,
        ErrorKind.RATE_LIMITED,
        ErrorKind.NO_ENDPOINT,
    )
)
"""An endpoint that says nothing contradicts nobody; one that says something odd does."""

_OURS = "what the plan was built on"


@dataclass(frozen=True, slots=True)
class Agreement:
    agreed: tuple[str, ...] = ()
    """The hosts that tell the same; none where only one endpoint is set."""
    silent: tuple[str, ...] = ()
    """The hosts that could not be reached."""

    @property
    def words(self) -> str | None:
        if self.silent:
            told = f"only {' and '.join(self.agreed)}" if self.agreed else "nobody"
            return f"{' and '.join(self.silent)} cannot be reached: {told} vouches for this."
        if self.agreed:
            return f"{' and '.join(self.agreed)} agree on block, position, nonce and contracts."
        return None


async def require_agreement(
    sources: Sources,
    witnesses: Sequence[Witness],
    subject: Subject,
    wallet: Address,
    *,
    found: Circumstances,
    codes: CodeHashes,
) -> Agreement:
    """Ask each endpoint for the subject at its very block; refuse when any tells it differently."""
    if not witnesses:
        return Agreement()
    told = {_OURS: _statement(subject, found, codes.now)}
    silent: list[str] = []
    answers = await asyncio.gather(
        *(_told(sources, one, subject, wallet, tuple(codes.now)) for one in witnesses)
    )
    for witness, answer in zip(witnesses, answers, strict=True):
        if answer is None:
            silent.append(witness.host)
        else:
            told[witness.host] = answer
    if differences := tuple(_differences(told)):
        lines = "\n".join(f"  {line}" for line in differences)
        raise GateRefusedError(
            f"Endpoints disagree, so one of them is wrong. Nothing was signed.\n{lines}\n"
            "Try again, or leave out the one you do not trust: --rpc URL,URL"
        )
    return Agreement(tuple(host for host in told if host != _OURS), tuple(silent))


async def _told(
    sources: Sources,
    witness: Witness,
    subject: Subject,
    wallet: Address,
    called: Sequence[Address],
) -> dict[str, object] | None:
    """What one endpoint says by itself; None when it does not answer."""
    # A memory of its own: what another endpoint told once must not answer for this one.
    alone = replace(sources, client=witness.client, store=Store.in_memory())
    at = subject.block
    try:
        block = await _block_at(witness, at.number)
        if block is None:
            raise GateRefusedError(
                f"{witness.host} does not know block {at.number:,} yet, so nobody can compare it. "
                "Nothing was signed. Try again, or leave it out: --rpc URL"
            )
        if block.hash != at.hash:
            return {"block": block.hash}
        again = await read_subject(alone, subject.about, at=at.hash)
        if again is None:
            return {str(subject.about): "not there"}
        circumstances = await read_circumstances(alone, again, wallet)
        codes = await read_code_hashes(alone, called, at.hash)
    except RpcError as error:
        if error.kind in _UNANSWERED:
            return None
        raise GateRefusedError(
            f"{witness.host} could not be compared with the others: {error.sentence} "
            "Nothing was signed. Try again, or leave it out: --rpc URL"
        ) from error
    return _statement(again, circumstances, {each: codes.now.get(each) for each in called})


async def _block_at(witness: Witness, number: int) -> Block | None:
    """The block, waited for a little: endpoints see a new one at different times."""
    for _ in range(int(CATCH_UP_SECONDS / _POLL_SECONDS)):
        block = await witness.client.ask(requests.block(number))
        if block is not None:
            return block
        await asyncio.sleep(_POLL_SECONDS)
    return await witness.client.ask(requests.block(number))


def _statement(
    subject: Subject, circumstances: Circumstances, codes: Mapping[Address, str | None]
) -> dict[str, object]:
    told: dict[str, object] = {"block": subject.block.hash, str(subject.about): "there"}
    for field in fields(circumstances):
        told[field.name.replace("_", " ")] = getattr(circumstances, field.name)
    return told | {f"code of {address}": code for address, code in codes.items()}


def _differences(told: Mapping[str, Mapping[str, object]]) -> Iterator[str]:
    """Each fact that is told in more than one way, with who tells it how."""
    for what in dict.fromkeys(what for statement in told.values() for what in statement):
        answers = {who: one[what] for who, one in told.items() if what in one}
        if len(set(answers.values())) > 1:
            yield f"{what}: {', '.join(f'{said} ({who})' for who, said in answers.items())}"
