"""How long, how much and how often the RPC client may try."""

from __future__ import annotations

from dataclasses import dataclass

MEGABYTE = 1_000_000


@dataclass(frozen=True, slots=True)
class Limits:
    connect_seconds: float = 3.0
    answer_seconds: float = 7.5
    """From the first byte sent to the last byte read, however slowly the bytes drip."""
    total_seconds: float = 8.5
    """Everything, failover and pauses included: with what a command needs to
    start, a person never waits past ten seconds."""
    answer_bytes: int = 5 * MEGABYTE
    """After decompression; a request may ask for more, up to `most_answer_bytes`."""
    most_answer_bytes: int = 32 * MEGABYTE
    rounds: int = 3
    """How often the list of endpoints is gone through before giving up."""
    pause_seconds: float = 0.2
    """Before the second round; doubled for each further one, then jittered."""
    faults_to_rest: int = 4
    """Faults in a row after which an endpoint is left alone."""
    rest_seconds: float = 5.0
    most_rest_seconds: float = 60.0
    catch_up_seconds: float = 4.0
    """How long a block is waited for that one machine has and another has not got yet."""
    catch_up_pause: float = 0.4
    reserve_seconds: float = 2.0
    """Kept back from a slow endpoint's time for each of up to two others still untried."""
