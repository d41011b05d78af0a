"""What a person should hear of the outbox before anything else is sent."""

from __future__ import annotations

from typing import TYPE_CHECKING

from zuno_tui.gate.standing import look_at_outbox, remember_heard
from zuno_tui.session import say

if TYPE_CHECKING:
    from chain.execution.outbox import Outbox
    from chain.overview import Sources
    from zuno_tui.gate.connections import Connections


async def say_news(sources: Sources, connections: Connections, outbox: Outbox) -> None:
    """What needs nothing is said once, by whichever command comes first."""
    findings = await look_at_outbox(sources, connections, outbox)
    for finding in findings:
        if finding.news:
            say(" ".join((finding.sentence, *finding.where)))
    remember_heard(outbox, findings, now=sources.clock())
