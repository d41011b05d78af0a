"""From an action to an approval: what is asked, refused, said and written down."""

from fractions import Fraction
from pathlib import Path
from typing import cast

import pytest
from msgspec.structs import replace

from chain.base.store import Store
from chain.contracts.networks import network_named
from chain.execution.build.builder import Built
from chain.execution.build.gas_bill import GasBill
from chain.execution.decode.decoder import decode
from chain.execution.outbox.outbox import Outbox
from chain.execution.plan.facts import ChainFacts, Tolerance, position_facts
from chain.execution.plan.requests import CloseRequest
from chain.execution.simulate import Simulation, StepOutcome
from chain.positions.overview import Sources
from chain.rpc.client import RpcClient
from chain.tokens import Token
from tests.agents.monitor.made_up_positions import position
from tests.zuno_tui.gate.test_approvals import EXIT, ONE, TWO
from tests.zuno_tui.gate.test_drift import BEFORE, BOUNDS
from zuno_tui.gate.actions.action import Action, subject_of
from zuno_tui.gate.agreement import Agreement
from zuno_tui.gate.apply import unused_approval
from zuno_tui.gate.approvals import approval_of
from zuno_tui.gate.contract_code import CodeHashes
from zuno_tui.gate.dry_run import (
    DryRun,
    approve,
)
from zuno_tui.gate.prepare import Prepared
from zuno_tui.gate.refusal import GateRefusedError, RefusalCode

BASE = network_named("base")
HELD = position(0)
CLOSE = CloseRequest(position_facts(HELD))
ACTION = Action("close_7", "Close #7", CLOSE, subject_of(HELD), (ONE, TWO))
TRIED = Simulation("eth_simulateV1", (StepOutcome("exit", True, 1, {ONE: 5}, None),), ())
PREPARED = Prepared(
    action=ACTION,
    facts=cast("ChainFacts", "facts"),
    built=Built((EXIT,), (), (), 1_700_000_600, Tolerance()),
    steps=(decode(EXIT),),
    simulation=TRIED,
    notional=Fraction(7, 2),
    now=1_000_000,
    circumstances=BEFORE,
    bounds=BOUNDS,
    codes=CodeHashes({ONE: "0xcc"}, {}, frozenset(), frozenset()),
    daily_limit=None,
    gas=GasBill(5),
)
TOKENS = {each: Token(each, "T", 18, verified=True, suspicious=False) for each in (ONE, TWO)}
REHEARSED = DryRun(PREPARED, TOKENS, (), ("careful",), (ONE,), None, Agreement(("a", "b")))


def _sources() -> Sources:
    return Sources(cast("RpcClient", None), BASE, Store.in_memory(), None, lambda: 5_000.0)


@pytest.fixture
def journal(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "run").mkdir(mode=0o700)
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path / "run"))
    return tmp_path / "outbox.db"


def test_what_was_rehearsed_is_approved_once_and_waits_to_be_applied(journal: Path) -> None:
    approved = approve(journal, REHEARSED)
    again = approve(journal, REHEARSED)

    assert (approved.dry_run, again.hash) == (REHEARSED, approved.hash)
    with Outbox.open(journal) as outbox:
        approval, dispatch = unused_approval(outbox, "close_7", approved.hash)
        assert (approval.warnings, approval.untold) == (("careful",), (ONE,))
        assert (approval.notional, approval.quoted) == (4, {ONE: 5, TWO: 0})
        assert dispatch.expires_at == 1_000_600
        assert dispatch.anchor.hash == HELD.block.hash
        outbox.consume(approved.hash, now=1_000_001)
    with pytest.raises(GateRefusedError) as refused:
        approve(journal, REHEARSED)
    assert refused.value.code is RefusalCode.ALREADY_APPLIED


@pytest.mark.parametrize(
    ("notional", "counted"), [(Fraction(0), 0), (Fraction(3), 3), (Fraction(7, 2), 4)]
)
def test_what_goes_into_ranges_is_counted_up(notional: Fraction, counted: int) -> None:
    found = approval_of(replace(PREPARED, notional=notional), (), (), None)
    assert found.notional == counted
    assert len({found.hash, approval_of(PREPARED, (), (), "three").hash}) == 2
