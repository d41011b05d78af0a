"""What is approved, carried out on a private copy of the chain as it is now; no key is touched.

The very bytes that wait to be signed are executed in turn as the wallet. What they did is read back
by the code that reads back a signed plan, so that both say the same where the chains are the same.
"""

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import ExitStack, asynccontextmanager

from msgspec import Struct
from msgspec.structs import replace

from chain.base.clean_text import clean_text
from chain.base.errors import ZunoError
from chain.base.store import Store
from chain.devnet.anvil import AnvilError, ForkedChain, forked_chain
from chain.devnet.json_rpc import NodeError
from chain.execution.outbox.delivery import Route
from chain.execution.outbox.records import Dispatch, Inclusion, PlanStep, StepState
from chain.positions.overview import OnePosition, Sources, read_one
from chain.prices.price import WorthUnit
from chain.rpc.client import RpcClient
from chain.rpc.errors import RpcError
from chain.rpc.forwarder import Forwarder, open_forwarder
from chain.rpc.records import Block
from zuno_tui.gate.agreement import Connections
from zuno_tui.gate.approvals import Approval
from zuno_tui.gate.results import ApplyResult, read_result

_BLOCK_SECONDS = 12
_FOREIGN = (
    "Another program changed the copy of the chain, so the rehearsal is void. Nothing "
    "was signed or sent. Try again: zuno rehearse"
)


class RehearsalError(ZunoError):
    """The rehearsal could not be carried out; nothing was signed or sent."""


class Rehearsal(Struct, frozen=True):
    block: Block
    """The head of the real chain that was copied."""
    result: ApplyResult
    unit: WorthUnit
    position: OnePosition | None
    """The position that the plan is about or opened, as it stands on the copy afterwards."""

    @property
    def differences(self) -> Mapping[str, int]:
        """By token how much more came than was approved; none where all is as approved."""
        quoted = self.result.approval.quoted or {}
        return {
            token: realised - quoted[token]
            for token, realised in self.result.realised.items()
            if realised is not None and token in quoted and realised != quoted[token]
        }

    @property
    def as_approved(self) -> bool:
        """Whether every step succeeded and what came and left is exactly what was approved."""
        known = self.result.approval.quoted is not None
        return self.result.is_done and known and not self.differences


async def rehearse(
    sources: Sources,
    approval: Approval,
    dispatch: Dispatch,
    *,
    unit: WorthUnit,
    on_step: Callable[[PlanStep], None] = lambda _: None,
) -> Rehearsal:
    head = await sources.client.head()
    async with copied_chain(sources.client, head) as chain:
        with Store.in_memory() as store:
            async with RpcClient(sources.network, (chain.url,)) as client:
                carried_out = await _carried_out(chain, dispatch, head, on_step)
                copy = Sources(client, sources.network, store, None, sources.clock)
                connections = Connections(Route(client))
                result = await read_result(copy, connections, approval, carried_out)
                ref = result.minted[0] if result.minted else approval.about.ref
                position = None if ref is None else await read_one(copy, ref, unit)
                # Last, so that what was read is of a copy that nobody had touched until then.
                if not await asyncio.to_thread(chain.is_ours_alone):
                    raise RehearsalError(_FOREIGN)
                return Rehearsal(head, result, unit, position)


@asynccontextmanager
async def copied_chain(
    client: RpcClient, head: Block, *, port: int = 0
) -> AsyncIterator[ForkedChain]:
    """A node that copies the client's chain at this block; a failure is said with its cause."""
    with ExitStack() as stack:
        async with open_forwarder(client) as forwarder:
            fork = forked_chain(
                forwarder.url, head.number, chain_id=client.network.chain_id, port=port
            )
            try:
                chain = await asyncio.to_thread(stack.enter_context, fork)
                yield chain
            except (AnvilError, NodeError) as error:
                raise RehearsalError(_reason(error, forwarder, head)) from error
            except RpcError as error:
                # The copy answers for an endpoint that did not: that one's words are the cause.
                if forwarder.fault is None:
                    raise
                raise RehearsalError(_reason(error, forwarder, head)) from error
            finally:
                await asyncio.to_thread(stack.close)


def _reason(error: Exception, forwarder: Forwarder, head: Block) -> str:
    if forwarder.fault is not None:
        return (
            f"The chain could not be copied at block {head.number:,}: {forwarder.fault.sentence} "
            "Nothing was signed or sent. Another endpoint may keep that state: --rpc URL"
        )
    words = clean_text(str(error), limit=300)
    return f"The copy of the chain failed: {words} Nothing was signed or sent."


async def _carried_out(
    chain: ForkedChain, dispatch: Dispatch, head: Block, on_step: Callable[[PlanStep], None]
) -> Dispatch:
    """Every step in turn; a reverted one ends it, as it does on the real chain."""
    steps: list[PlanStep] = []
    for place, step in enumerate(dispatch.steps):
        time = head.timestamp + (place + 1) * _BLOCK_SECONDS
        done = await asyncio.to_thread(_carried_out_step, chain, step, time)
        on_step(done)
        steps.append(done)
        if done.state is StepState.REVERTED:
            break
    return replace(dispatch, steps=(*steps, *dispatch.steps[len(steps) :]))


def _carried_out_step(chain: ForkedChain, step: PlanStep, timestamp: int) -> PlanStep:
    sent = chain.carry_out(step.transaction, timestamp)
    receipt = chain.receipt(sent)
    if receipt is None:
        raise NodeError(f"the copy did not take the step {step.title} into a block.")
    number, block_hash = int(str(receipt["blockNumber"]), 16), str(receipt["blockHash"])
    state = StepState.INCLUDED if receipt["status"] == "0x1" else StepState.REVERTED
    return replace(
        step,
        state=state,
        inclusion=Inclusion(sent, number, block_hash),
        settled=True,
        was_included=True,
    )
