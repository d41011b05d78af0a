"""How an endpoint is doing, for people: never its URL."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from chain.rpc.endpoint import Endpoint


@dataclass(frozen=True, slots=True)
class EndpointStatus:
    label: str
    state: Literal["ready", "untried", "resting", "wrong chain"]
    wait_seconds: float
    answered_chain_id: int | None
    """Set when it answered for another chain."""
    last_fault: str | None
    most_in_batch: int | None
    """The largest batch it takes, where it refused a larger one."""
    pins_by_hash: bool


def status_of(endpoint: Endpoint, now: float) -> EndpointStatus:
    wait = endpoint.wait(now)
    state: Literal["ready", "untried", "resting", "wrong chain"] = "ready"
    if endpoint.wrong_chain_id is not None:
        state = "wrong chain"
    elif wait > 0:
        state = "resting"
    elif not endpoint.chain_checked:
        state = "untried"
    return EndpointStatus(
        label=endpoint.label,
        state=state,
        wait_seconds=wait,
        answered_chain_id=endpoint.wrong_chain_id,
        last_fault=endpoint.last_fault.sentence if endpoint.last_fault else None,
        most_in_batch=endpoint.most_in_batch,
        pins_by_hash=endpoint.pins_by_hash,
    )
