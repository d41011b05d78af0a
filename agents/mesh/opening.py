"""What is inside a message whose signature holds: an envelope that its sender may send."""

from __future__ import annotations

from agents.bus.envelope import Envelope, EnvelopeError, Registry, Role
from agents.mesh.frame import DropCause, DroppedError, Frame


def opened(registry: Registry, frame: Frame, sender: Role | None) -> Envelope:
    """The envelope inside, said by this role, if one is named, in the header's request."""
    try:
        envelope = registry.open(frame.payload)
    except EnvelopeError:
        raise DroppedError(DropCause.MALFORMED) from None
    if sender is not None and envelope.sender != sender:
        raise DroppedError(DropCause.WRONG_ROLE)
    if envelope.request_id != frame.header.request:
        raise DroppedError(DropCause.WRONG_REQUEST)
    return envelope
