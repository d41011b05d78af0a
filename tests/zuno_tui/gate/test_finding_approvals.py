"""Which approval is meant, and what is said where there is none."""

from __future__ import annotations

import pytest

from chain.base.store import Store
from zuno_tui.gate.approvals import find_approval
from zuno_tui.gate.refusal import GateRefusedError


@pytest.mark.parametrize(
    ("plan_id", "told"), [(None, "^Nothing is approved"), ("plan_7", "^plan_7 is not approved")]
)
def test_without_one_it_is_said(plan_id: str | None, told: str) -> None:
    with Store.in_memory() as store, pytest.raises(GateRefusedError, match=told):
        find_approval(store, plan_id)
