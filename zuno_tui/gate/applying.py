"""Applying: the approval found, the chain read again, and only then a signature."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from chain.execution.decoding import decode
from chain.execution.kept_back import kept_back
from chain.execution.sending import Sender
from chain.execution.simulating import simulate
from chain.execution.words import describe, names_on
from chain.rpc.errors import Refused
from chain.tokens import read_tokens
from zuno_tui.gate.agreement import require_agreement
from zuno_tui.gate.approvals import (
    find_approval,
    read_approval,
    refuse_past_the_day,
    refuse_tampered,
)
from zuno_tui.gate.circumstances import network_time, read_circumstances
from zuno_tui.gate.connections import refuse_silent_route
from zuno_tui.gate.contract_code import (
    called_contracts,
    read_code_hashes,
    refuse_other_protocol,
)
from zuno_tui.gate.drift import Drift, drifts, kept_drifts
from zuno_tui.gate.pending_elsewhere import nonces_sent, pending_elsewhere
from zuno_tui.gate.preparing import refuse_failing
from zuno_tui.gate.refusal import GateRefusedError
from zuno_tui.gate.shown_signer import ShownSigner
from zuno_tui.gate.subjects import read_subject

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from chain.execution.journal_records import Dispatch, Step
    from chain.execution.outbox import Outbox
    from chain.execution.sending import Signer
    from chain.execution.transaction import UnsignedTransaction
    from chain.networks import Address
    from chain.overview import Sources
    from chain.store import Store
    from chain.tokens import Token
    from zuno_tui.gate.approvals import Approval
    from zuno_tui.gate.connections import Connections


class InterruptedApplyError(Exception):
    """Something failed after signing had begun; only the outbox knows how far it came."""


@dataclass(frozen=True, slots=True)
class Waiting:
    """An approval that was not used yet, with what it would do in the words of its own bytes."""

    approval: Approval
    dispatch: Dispatch
    tokens: Mapping[Address, Token]
    words: tuple[tuple[str, tuple[str, ...]], ...]


def unused_approval(
    outbox: Outbox, plan_id: str | None, confirmed: str | None
) -> tuple[Approval, Dispatch]:
    """The newest approval of the plan, refused when another hash was confirmed or it was used."""
    store = outbox.kept
    approval = find_approval(store, plan_id)
    if confirmed is not None and confirmed != approval.hash:
        raise GateRefusedError(
            f"{_whose(store, approval, confirmed)} Nothing was sent. "
            f"What is approved of {approval.plan_id} now: {approval.hash}"
        )
    dispatch = outbox.dispatch(approval.hash)
    if dispatch.consumed_at is not None:
        raise GateRefusedError(
            f"{approval.plan_id} was applied before. Nothing was sent now. "
            "See what it did: zuno outbox"
        )
    refuse_tampered(approval, dispatch)
    return approval, dispatch


async def told_again(sources: Sources, approval: Approval, dispatch: Dispatch) -> Waiting:
    """What is about to be signed, read once more out of the bytes in the journal."""
    tokens = await read_tokens(
        sources.client,
        sources.network,
        approval.tokens,
        "latest",
        store=sources.store,
        now=sources.clock(),
    )
    names = names_on(sources.network, dispatch.sender, tokens)
    words = tuple((step.name, describe(decode(step.transaction), names)) for step in dispatch.steps)
    return Waiting(approval, dispatch, tokens, words)


async def refuse_drift(
    sources: Sources,
    connections: Connections,
    approval: Approval,
    dispatch: Dispatch,
    *,
    told: Callable[[str], None] = lambda _: None,
) -> int:
    """The network's time, if nothing moved further than it may since the approval."""
    if dispatch.chain_id != sources.network.chain_id:
        raise GateRefusedError(
            f"{approval.plan_id} was approved on chain {dispatch.chain_id}, and this is "
            f"{sources.network.title}. Nothing was sent. Name its network: --network NAME"
        )
    subject = await read_subject(sources, approval.about)
    if subject is None:
        raise _changed(approval, [Drift(str(approval.about), "there", "gone")])
    block = subject.block
    now = network_time(sources, block.timestamp)
    after = await read_circumstances(sources, subject, dispatch.sender)
    route = connections.route
    readers = (sources.client, *(one.client for one in connections.witnesses))
    own = nonces_sent([dispatch], dispatch.chain_id, dispatch.sender)
    waiting = await pending_elsewhere(readers, dispatch.sender, own)
    if moved := (
        *drifts(approval.before, after, approval.bounds, now),
        *_rerouted(dispatch.private_host, route.private_host),
        *_joined(waiting),
    ):
        raise _changed(approval, moved)
    called = called_contracts(sources.network, approval.tokens)
    codes = await read_code_hashes(sources, called, block.hash)
    refuse_other_protocol(sources.network, codes)
    agreement = await require_agreement(
        sources, connections.witnesses, subject, dispatch.sender, found=after, codes=codes
    )
    if agreement.silent and agreement.words is not None:
        told(agreement.words)
    await refuse_silent_route(route)
    transactions = [step.transaction for step in dispatch.steps]
    simulation = await simulate(sources.client, transactions, block.hash, approval.tokens)
    refuse_failing(simulation)
    steps = [decode(transaction) for transaction in transactions]
    kept = kept_back(steps, simulation, subject.positions)
    if more := tuple(kept_drifts(approval.kept, kept)):
        raise _changed(approval, more)
    return now


async def apply(
    sources: Sources,
    connections: Connections,
    outbox: Outbox,
    waiting: Waiting,
    signer: Signer,
    *,
    at: int,
    changed: Callable[[Step], None],
) -> Dispatch:
    """Sign and send, step by step, until the chain has decided each."""
    refuse_past_the_day(outbox, waiting.approval, at)
    sender = Sender(
        outbox,
        reads=sources.client,
        route=connections.route,
        chain_id=sources.network.chain_id,
        clock=sources.clock,
        changed=changed,
        objection=lambda transaction, at: _objection(sources, transaction, at),
    )
    shown = frozenset(step.transaction for step in waiting.dispatch.steps)
    return await sender.apply(waiting.approval.hash, ShownSigner(signer, shown), at=at)


async def _objection(
    sources: Sources, transaction: UnsignedTransaction, block_hash: str
) -> str | None:
    """Why a step would fail where the one before it has brought things."""
    try:
        tried = await simulate(sources.client, [transaction], block_hash)
    except Refused as error:
        return f"it could not be tried before it was signed: {error.sentence}"
    failure = next((step.failure for step in tried.steps if not step.success), None)
    return None if failure is None else f"tried before it was signed, it fails: {failure}"


def _rerouted(then: str | None, now: str | None) -> Iterator[Drift]:
    if then != now:
        usual = "the usual endpoints"
        yield Drift("sent through", then or usual, now or usual)


def _joined(waiting: Sequence[int]) -> Iterator[Drift]:
    if waiting:
        nonces = ", ".join(map(str, waiting))
        yield Drift("transactions waiting elsewhere", "none", f"nonce {nonces}")


def _whose(store: Store, approval: Approval, confirmed: str) -> str:
    other = read_approval(store, confirmed)
    if other is None:
        return "Nothing with that hash is approved."
    if other.plan_id != approval.plan_id:
        return f"That hash belongs to {other.plan_id}, not to {approval.plan_id}."
    return f"That hash is of an earlier approval of {approval.plan_id}."


def _changed(approval: Approval, found: Sequence[Drift]) -> GateRefusedError:
    told = "\n".join(f"  {drift}" for drift in found)
    return GateRefusedError(
        f"Things changed since {approval.plan_id} was approved. Nothing was sent.\n{told}\n"
        "Approve it again, or make a new plan: zuno approve, zuno recommend ID"
    )
