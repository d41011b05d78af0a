"""Where each step leaves a person who gets no further."""

from __future__ import annotations

from zuno_tui.gate.sealing import safe_states


def test_each_step_has_a_named_state_before_it() -> None:
    states = safe_states(["allow Permit2", "unsubscribe", "exit", "enter"])

    assert states == (
        "nothing happened",
        "permissions given, no position changed",
        "unsubscribed, the position is as it was",
        "exited, holding both tokens",
    )
