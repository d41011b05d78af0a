"""What an applied plan did, read back from the chain: realised against quoted."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from chain.execution.receipts import all_together, read_realised
from chain.networks import NATIVE
from zuno_tui.gate.allowances import read_given

if TYPE_CHECKING:
    from collections.abc import Mapping

    from chain.execution.journal_records import Dispatch, Step
    from chain.networks import Address
    from chain.overview import Sources
    from zuno_tui.gate.allowances import Given
    from zuno_tui.gate.approvals import Approval


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

    @property
    def state(self) -> str:
        """The name of where the plan stands as a whole."""
        stopped = self.dispatch.stopped_at
        if stopped is not None:
            return stopped.state
        return self.dispatch.steps[-1].state

    @property
    def done(self) -> bool:
        return self.dispatch.stopped_at is None and len(self.steps) == len(self.dispatch.steps)


async def read_result(sources: Sources, approval: Approval, dispatch: Dispatch) -> Result:
    included = [step for step in dispatch.steps if step.inclusion is not None]
    read = [
        await read_realised(
            sources.client, step.inclusion.transaction_hash, dispatch.sender, sources.network
        )
        for step in included
        if step.inclusion is not None
    ]
    parts = [part for _, part in read]
    total = all_together(parts)
    realised = {
        token: total.native.amount if token == NATIVE else total.tokens.get(token, 0)
        for token in approval.tokens
    } | dict.fromkeys(approval.untold)
    return Result(
        approval,
        dispatch,
        tuple(
            StepResult(step, part.gas_used, part.gas_cost)
            for step, part in zip(included, parts, strict=True)
        ),
        realised,
        total.minted,
        await read_given(sources, dispatch.sender, approval.tokens),
    )
