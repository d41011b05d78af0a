"""Plans in the journal whose steps stand wherever a test wants them."""

from msgspec.structs import replace

from chain.execution.outbox.outbox import Outbox
from chain.execution.outbox.records import Dispatch, StepState
from tests.chain.execution.outbox_kit import planned, transfer


def dispatch(
    *states: StepState,
    included: tuple[int, ...] = (),
    settled: tuple[int, ...] = (),
    plan_id: str = "plan",
) -> Dispatch:
    """A plan that was begun, with a step in each of these states."""
    transactions = (transfer(nonce) for nonce in range(len(states)))
    plan = planned(*transactions, plan_id=plan_id, hash=f"hash of {plan_id}")
    with Outbox.in_memory() as outbox:
        outbox.plan(plan, now=0)
        made = outbox.dispatch(plan.hash)
    steps = tuple(
        replace(step, state=state, was_included=place in included, settled=place in settled)
        for place, (step, state) in enumerate(zip(made.steps, states, strict=True))
    )
    return replace(made, steps=steps, consumed_at=1.0)
