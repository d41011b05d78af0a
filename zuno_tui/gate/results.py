"""What an applied plan did, read back from the chain: realised against quoted."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from chain.execution.journal_records import SUCCEEDED, StepState
from chain.execution.receipts import (
    all_together,
    contradicts,
    read_held_changes,
    read_realised,
)
from chain.networks import NATIVE
from chain.rpc import requests
from chain.rpc.errors import RpcError
from zuno_tui.gate.aftermath import read_aftermath
from zuno_tui.gate.allowances import read_given
from zuno_tui.gate.witnessing import evidence_of

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from chain.execution.evidence import Evidence
    from chain.execution.journal_records import Dispatch, Inclusion, Step
    from chain.execution.receipts import Realised
    from chain.networks import Address
    from chain.overview import Sources
    from chain.rpc.reader import Reader
    from zuno_tui.gate.aftermath import Aftermath
    from zuno_tui.gate.allowances import Given
    from zuno_tui.gate.approvals import Approval
    from zuno_tui.gate.connections import Connections


@dataclass(frozen=True, slots=True)
class StepResult:
    step: Step
    gas_used: int
    gas_cost: int


@dataclass(frozen=True, slots=True)
class Result:
    approval: Approval
    dispatch: Dispatch
    steps: tuple[StepResult, ...]
    """Those in a block, whether they succeeded or reverted."""
    realised: Mapping[Address, int | None]
    """By token; None where the chain's own coin cannot be told apart, or a token's events lie."""
    minted: tuple[int, ...]
    allowances: tuple[Given, ...]
    """What is still allowed of its tokens afterwards."""
    contradicted: tuple[str, ...] = ()
    """Steps whose status and balances cannot both be true."""
    aftermath: Aftermath | None = None
    """Where the tokens are now, where the plan did not come to its end."""

    @property
    def state(self) -> str:
        """The name of where the plan stands as a whole."""
        if self.unclear:
            return StepState.UNCLEAR
        if self.dispatch.ended is not None:
            return f"over: {self.dispatch.ended.code}"
        stopped = self.dispatch.stopped_at
        if stopped is not None:
            return stopped.state
        return self.dispatch.steps[-1].state

    @property
    def unclear(self) -> bool:
        return bool(self.contradicted) or any(
            step.state is StepState.UNCLEAR for step in self.dispatch.steps
        )

    @property
    def safe_state(self) -> str | None:
        """By the journal; None where nobody can tell by it."""
        return None if self.unclear else self.dispatch.safe_state

    @property
    def done(self) -> bool:
        return (
            not self.unclear
            and self.dispatch.ended is None
            and self.dispatch.stopped_at is None
            and len(self.steps) == len(self.dispatch.steps)
        )


@dataclass(frozen=True, slots=True)
class _Effect:
    step: Step
    did: Realised
    held: Mapping[Address, int]
    sound: bool


async def read_result(
    sources: Sources, connections: Connections, approval: Approval, dispatch: Dispatch
) -> Result:
    evidence = evidence_of(sources.network, connections)
    told = [token for token in approval.tokens if token not in approval.untold]
    effects = [
        await _effect(sources, evidence, step, step.inclusion, told)
        for step in dispatch.steps
        if step.inclusion is not None
    ]
    total = all_together([effect.did for effect in effects])
    realised = {
        token: total.native.amount if token == NATIVE else total.tokens.get(token, 0)
        for token in approval.tokens
    } | dict.fromkeys(approval.untold)
    result = Result(
        approval,
        dispatch,
        tuple(
            StepResult(effect.step, effect.did.gas_used, effect.did.gas_cost) for effect in effects
        ),
        realised,
        total.minted,
        await read_given(sources, dispatch.sender, approval.tokens),
        tuple(_contradicted(approval, dispatch, effects)),
    )
    return result if result.done else await _with_aftermath(sources, result)


async def _with_aftermath(sources: Sources, result: Result) -> Result:
    try:
        aftermath = await read_aftermath(sources, result.approval, result.dispatch)
    except RpcError:
        return result
    return replace(result, aftermath=aftermath)


async def _effect(
    sources: Sources,
    evidence: Evidence,
    step: Step,
    inclusion: Inclusion,
    tokens: Sequence[Address],
) -> _Effect:
    """By the word of as many endpoints as are needed, which tell the same of what was moved."""
    wallet, network = step.transaction.sender, sources.network
    sound = [
        reads
        for reads in evidence.readers(sources.client)
        if await _tells_so(reads, step, inclusion)
    ]
    told = [
        (reads, *await read_realised(reads, inclusion.transaction_hash, wallet, network))
        for reads in sound or (sources.client,)
    ]
    alike = [sum(did == other for _, _, other in told) for _, _, did in told]
    reads, receipt, did = told[alike.index(max(alike))]
    held = await read_held_changes(reads, receipt, wallet, tokens)
    enough = bool(sound) and max(alike) >= evidence.needed
    return _Effect(step, did, held, enough and not contradicts(receipt, did, held))


async def _tells_so(reads: Reader, step: Step, inclusion: Inclusion) -> bool:
    try:
        receipt = await reads.ask(requests.receipt(inclusion.transaction_hash))
    except RpcError:
        return False
    if receipt is None or receipt.block_hash != inclusion.block_hash:
        return False
    cancelled = step.state is StepState.REPLACED
    return cancelled or receipt.succeeded == (step.state in SUCCEEDED)


def _contradicted(
    approval: Approval, dispatch: Dispatch, effects: Sequence[_Effect]
) -> Sequence[str]:
    unsound = [effect.step.name for effect in effects if not effect.sound]
    if unsound or len(effects) < len(dispatch.steps) or dispatch.stopped_at is not None:
        return unsound
    # Every step is said to have succeeded: then something of what was shown has come or left.
    quoted = {token: amount for token, amount in (approval.quoted or {}).items() if amount}
    known = {token: amount for token, amount in quoted.items() if token not in approval.untold}
    moved = [
        any(effect.did.native.amount != 0 for effect in effects)
        if token == NATIVE
        else any(effect.did.tokens.get(token) or effect.held.get(token) for effect in effects)
        for token in known
    ]
    return [effects[-1].step.name] if known and not any(moved) else []
