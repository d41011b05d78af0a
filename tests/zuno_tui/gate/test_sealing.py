"""Where each step leaves a person who gets no further, and what the hash of a trial stands for."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from chain.execution.simulate import Simulation, StepOutcome
from zuno_tui.gate.approvals import safe_states, simulation_digest

NOTHING = "nothing happened"
GIVEN = "permissions given, no position changed"
EXITED = "closed, both tokens in the wallet"


@pytest.mark.parametrize(
    ("names", "states"),
    [
        ([], ()),
        (["collect"], (NOTHING,)),
        (["allow Permit2", "allow the router", "enter"], (NOTHING, GIVEN, GIVEN)),
        (
            ["allow Permit2", "unsubscribe", "exit", "enter"],
            (NOTHING, GIVEN, "unsubscribed, the position is as it was", EXITED),
        ),
        (["exit", "wrap", "enter"], (NOTHING, EXITED, EXITED)),
        (["wrap", "enter"], (NOTHING, "wrapped, no position opened")),
        (["revoke", "revoke"], (NOTHING, "some permissions taken back, others still there")),
    ],
)
def test_each_step_has_a_named_state_before_it(names: list[str], states: tuple[str, ...]) -> None:
    assert safe_states(names) == states


def test_a_trial_with_another_outcome_has_another_hash() -> None:
    step = StepOutcome("exit", True, 100_000, {"0xaa": 5, "0xbb": -7}, None)
    tried = Simulation("eth_simulateV1", (step,), ())
    others = [
        replace(tried, method="eth_call"),
        replace(tried, unsimulated=("enter",)),
        replace(tried, steps=(replace(step, step="enter"),)),
        replace(tried, steps=(replace(step, gas_used=100_001),)),
        replace(tried, steps=(replace(step, changes={"0xaa": 5, "0xbb": -8}),)),
        replace(tried, steps=(step, step)),
    ]
    turned = replace(tried, steps=(replace(step, changes={"0xbb": -7, "0xaa": 5}),))

    assert simulation_digest(turned) == simulation_digest(tried)
    assert len({simulation_digest(one) for one in (tried, *others)}) == 1 + len(others)
