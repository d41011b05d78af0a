"""From an action to an approval: what is asked, refused, said and written down."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING, Any, cast

import pytest
from msgspec.structs import replace

from chain.base.store import Store
from chain.contracts.networks import NATIVE, network_named
from chain.execution.build.builder import Built
from chain.execution.build.facts import BuildError, Span, Tolerance, position_facts
from chain.execution.build.gas_bill import GasBill
from chain.execution.build.requests import (
    CloseRequest,
    QuotedSwap,
    ReRangeRequest,
    SeveralRequest,
    SwapRequest,
)
from chain.execution.decode.decoder import decode
from chain.execution.outbox.delivery import Route
from chain.execution.outbox.outbox import Outbox
from chain.execution.simulate import Simulation, StepOutcome
from chain.positions.overview import Sources
from chain.positions.reference import v4_position
from chain.tokens import Token
from tests.agents.monitor.made_up_positions import KEY, block, position
from tests.zuno_tui.gate.test_approvals import EXIT, ONE, TWO, WALLET
from tests.zuno_tui.gate.test_drift import BEFORE, BOUNDS
from zuno_tui.gate import dry_run
from zuno_tui.gate.actions.action import Action, ActionTarget, TargetKind, subject_of
from zuno_tui.gate.agreement import Agreement, Connections
from zuno_tui.gate.apply import unused_approval
from zuno_tui.gate.approvals import approval_of
from zuno_tui.gate.basis import SwapInput
from zuno_tui.gate.contract_code import CodeHashes
from zuno_tui.gate.dry_run import (
    DryRun,
    _basis,
    _naming_blockers,
    _question,
    approve,
    make_dry_run,
)
from zuno_tui.gate.limits import gate_limits
from zuno_tui.gate.prepare import Prepared
from zuno_tui.gate.refusal import GateRefusedError, RefusalCode
from zuno_tui.settings.schema import LimitsTable

if TYPE_CHECKING:
    from pathlib import Path

    from chain.execution.build.facts import ChainFacts
    from chain.rpc.client import RpcClient

BASE = network_named("base")
HELD = position(0)
CLOSE = CloseRequest(position_facts(HELD))
SWAP = QuotedSwap(KEY, True, 5, 6, 7)
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
    approved = approve(_sources(), journal, REHEARSED)
    again = approve(_sources(), journal, REHEARSED)

    assert (approved.dry_run, again.hash) == (REHEARSED, approved.hash)
    with Outbox.open(journal) as outbox:
        approval, dispatch = unused_approval(outbox, "close_7", approved.hash)
        assert (approval.warnings, approval.untold) == (("careful",), (ONE,))
        assert (approval.notional, approval.quoted) == (4, {ONE: 5, TWO: 0})
        assert dispatch.expires_at == 1_000_600
        assert dispatch.anchor.hash == HELD.block.hash
        outbox.consume(approved.hash, now=1_000_001)
    with pytest.raises(GateRefusedError) as refused:
        approve(_sources(), journal, REHEARSED)
    assert refused.value.code is RefusalCode.ALREADY_APPLIED


@pytest.mark.parametrize(
    ("notional", "counted"), [(Fraction(0), 0), (Fraction(3), 3), (Fraction(7, 2), 4)]
)
def test_what_goes_into_ranges_is_counted_up(notional: Fraction, counted: int) -> None:
    found = approval_of(replace(PREPARED, notional=notional), (), (), None)
    assert found.notional == counted
    assert len({found.hash, approval_of(PREPARED, (), (), "three").hash}) == 2


@pytest.mark.parametrize(
    ("request_", "swap"),
    [
        (CLOSE, None),
        (SwapRequest(CLOSE.position.pool, SWAP), SwapInput(KEY, True, 5, None)),
        (
            ReRangeRequest(CLOSE.position, Span(-10, 10), SWAP),
            SwapInput(KEY, True, 5, CLOSE.position),
        ),
    ],
)
def test_every_endpoint_is_asked_what_was_built_on(request_: Any, swap: SwapInput | None) -> None:
    prepared = replace(PREPARED, action=replace(ACTION, request=request_))

    question = _question(prepared, WALLET)

    assert (question.about, question.wallet) == (TargetKind(v4_position(7)), WALLET)
    assert (question.tokens, question.contracts) == ((ONE, TWO), (ONE,))
    assert (question.transactions, question.swap) == ((EXIT,), swap)
    assert _basis(prepared, TOKENS).swap == (None if swap is None else SWAP)


def test_amounts_that_were_typed_rest_on_the_tokens_as_then_read() -> None:
    typed = {each: Token(each, "T", 6, verified=True, suspicious=False) for each in (ONE, NATIVE)}
    prepared = replace(PREPARED, action=replace(ACTION, scaled_by=typed))

    found = _basis(prepared, TOKENS)

    assert found.tokens == {ONE: typed[ONE], TWO: TOKENS[TWO]}
    assert (found.subject, found.circumstances, found.simulation) == (ACTION.subject, BEFORE, TRIED)


OTHERS = tuple(position(0, number=number) for number in (8, 9))
SEVERAL = replace(
    ACTION,
    request=SeveralRequest((CLOSE, CLOSE, CLOSE)),
    subject=subject_of(HELD, *OTHERS),
)
ERROR = GateRefusedError("It does not work. Nothing was signed.")


async def _blockers(action: Action, *blocked: int) -> GateRefusedError | BuildError:
    async def prepared_for(wanted: Action) -> Prepared:
        assert isinstance(wanted.request, SeveralRequest)
        assert (len(wanted.request.parts), len(wanted.subject.snapshots)) == (1, 1)
        if wanted.subject.snapshots[0].ref in blocked:
            raise GateRefusedError("A hook refuses. Nothing was signed.")
        return PREPARED

    return await _naming_blockers(action, prepared_for, ERROR)


async def test_of_several_positions_those_in_the_way_are_named() -> None:
    one = await _blockers(SEVERAL, 8)
    two = await _blockers(SEVERAL, 7, 9)
    every = await _blockers(SEVERAL, 7, 8, 9)

    assert isinstance(one, GateRefusedError)
    assert one.code is RefusalCode.BLOCKED
    assert str(one).splitlines() == [
        "#8 stands in the way: A hook refuses.",
        "Nothing was signed. Without it: zuno close 7 9",
    ]
    assert str(two).splitlines()[-1] == "Nothing was signed. Without them: zuno close 8"
    assert len(str(every).splitlines()) == 3
    assert "zuno close" not in str(every)


async def test_where_none_alone_is_in_the_way_the_reason_stands() -> None:
    pair = replace(
        SEVERAL, request=SeveralRequest((CLOSE, CLOSE)), subject=subject_of(HELD, OTHERS[0])
    )
    single = replace(SEVERAL, request=SeveralRequest((CLOSE,)), subject=subject_of(HELD))

    assert await _blockers(SEVERAL) is ERROR
    assert await _blockers(ACTION, 7) is ERROR
    assert await _blockers(single, 7) is ERROR
    assert await _blockers(pair, 7) is not ERROR


class _Readings:
    def __init__(self) -> None:
        self.waiting: tuple[int, ...] = ()
        self.refused: GateRefusedError | None = None
        self.asked: list[Any] = []


@pytest.fixture
def readings(monkeypatch: pytest.MonkeyPatch) -> _Readings:
    made = _Readings()

    async def pending(*_: object) -> tuple[int, ...]:
        return made.waiting

    async def prepare(fresh: Sources, _: object, wanted: Action, *given: Any, **more: Any) -> Any:
        made.asked.append((wanted, *given, more["notional_today"]))
        fresh.store.put("met", "contract", "hash", now=0)
        if made.refused is not None:
            raise made.refused
        return replace(PREPARED, action=wanted)

    async def tokens_at(*_: object, remember: bool) -> object:
        assert remember, "names are kept for the next time"
        return TOKENS

    async def agreed(*_: object) -> Agreement:
        return Agreement(("a", "b"), tried=("a", "b"))

    for name, fake in (
        ("pending_elsewhere", pending),
        ("prepare", prepare),
        ("tokens_at", tokens_at),
        ("require_agreement", agreed),
        ("shortfall_words", lambda *_, agreed: (f"short {agreed}",)),
        ("untold_tokens", lambda *_, agreed: (TWO,)),
    ):
        monkeypatch.setattr(dry_run, name, fake)
    return made


async def _rehearse(journal: Path, action: Action, sources: Sources) -> DryRun:
    return await make_dry_run(
        sources,
        Connections(Route(cast("RpcClient", None), "three")),
        action,
        journal=journal,
        wallet=WALLET,
        limits=gate_limits(LimitsTable(), BASE),
    )


async def test_a_rehearsal_tells_all_and_remembers_what_it_met(
    journal: Path, readings: _Readings
) -> None:
    sources = _sources()
    action = replace(ACTION, disputes=("disputed",), left_behind=("left",), breaks=("ruled out",))

    found = await _rehearse(journal, action, sources)

    assert found.prepared.action is action
    assert found.warnings == ("ruled out", "short True", "disputed", "left")
    assert (found.untold, found.private_host) == ((TWO,), "three")
    assert (found.tokens, found.agreement.agreed) == (TOKENS, ("a", "b"))
    assert [step for step, _ in found.words] == ["close #7"]
    assert readings.asked == [(action, WALLET, 0)]
    assert sources.store.get("met", "contract") == "hash"
    assert sources.memory.identities([v4_position(7)]).keys() == {7}
    about_nothing = replace(ACTION, subject=ActionTarget(block(100)))
    assert (await _rehearse(journal, about_nothing, _sources())).words == found.words


async def test_nothing_is_rehearsed_while_something_waits_or_is_refused(
    journal: Path, readings: _Readings
) -> None:
    readings.waiting = (9,)
    with pytest.raises(GateRefusedError, match=r"nonce 9.*Nothing was approved") as waits:
        await _rehearse(journal, ACTION, _sources())
    assert waits.value.code is RefusalCode.PENDING_ELSEWHERE
    readings.waiting, readings.refused = (), ERROR
    with pytest.raises(GateRefusedError) as refused:
        await _rehearse(journal, ACTION, _sources())
    assert refused.value is ERROR
