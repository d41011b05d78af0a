"""A dearer copy or nothing in its place: which step is meant, what it costs, what is refused."""

from __future__ import annotations

from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, cast

import pytest
from msgspec.structs import replace

from chain.base.units import Unknown
from chain.contracts.networks import network_named
from chain.execution.build.facts import FactsUnknownError
from chain.execution.build.gas_bill import GasBill
from chain.execution.outbox.records import StepState, VersionKind
from chain.execution.outbox.sender import PLAIN_TRANSFER_GAS, Fees
from tests.chain.execution.made_up_dispatches import dispatch
from tests.fakes.told_reader import ToldReader
from tests.zuno_tui.gate.test_approvals import EXIT, WALLET
from zuno_tui.gate import resume as replacing
from zuno_tui.gate import resume as resuming
from zuno_tui.gate.limits import gate_limits
from zuno_tui.gate.refusal import GateRefusedError, RefusalCode
from zuno_tui.gate.resume import (
    CANCEL,
    SPEED_UP,
    Replacement,
    _judge_replacement,
    _transfer_gas,
    _waiting_step,
    refuse_unlike_cancel,
    replacement_of,
    waiting_dispatch,
)
from zuno_tui.settings.schema import LimitsTable

if TYPE_CHECKING:
    from chain.execution.outbox.outbox import Outbox
    from chain.execution.outbox.records import Dispatch
    from chain.positions.overview import Sources

S = StepState
DEVNET = network_named("devnet")
NOTHING = replace(EXIT, to=WALLET, value=0, data=b"")
LIMITS = gate_limits(LimitsTable(), DEVNET)


def _sent(*states: StepState, plan_id: str = "plan", settled: tuple[int, ...] = ()) -> Dispatch:
    made = dispatch(*states, plan_id=plan_id, settled=settled)
    version = cast("Any", SimpleNamespace())
    steps = (
        replace(step, versions=() if step.state is S.APPROVED else (version,))
        for step in made.steps
    )
    return replace(made, steps=tuple(steps))


def _outbox(*plans: Dispatch) -> Outbox:
    return cast("Outbox", SimpleNamespace(dispatches=lambda: plans))


@pytest.mark.parametrize(
    ("plan", "place"),
    [
        (_sent(S.SENT), 0),
        (_sent(S.FINAL, S.SENT), 1),
        (_sent(S.INCLUDED, S.SIGNED), 1),
        (_sent(S.APPROVED), None),
        (_sent(S.FINAL), None),
        (_sent(S.SENT, settled=(0,)), None),
        (_sent(S.SENT, S.SENT), 0),
    ],
)
def test_the_first_step_that_was_signed_and_is_open_is_meant(
    plan: Dispatch, place: int | None
) -> None:
    found = _waiting_step(plan)
    assert (None if found is None else found.position) == place


def test_the_plan_that_waits_is_meant_and_of_several_the_one_that_is_named() -> None:
    first, second = _sent(S.SENT, plan_id="first"), _sent(S.SENT, plan_id="second")
    over, elsewhere = _sent(S.FINAL, plan_id="over"), replace(first, chain_id=1)

    assert waiting_dispatch(_outbox(over, first, elsewhere), 31337, None) is first
    assert waiting_dispatch(_outbox(first, second), 31337, "first") is first
    newer = replace(first, hash="newer")
    assert waiting_dispatch(_outbox(first, newer), 31337, "first") is newer
    with pytest.raises(GateRefusedError, match="More than one plan waits: first, second"):
        waiting_dispatch(_outbox(first, second), 31337, None)
    with pytest.raises(GateRefusedError, match=r"^Nothing waits"):
        waiting_dispatch(_outbox(over, elsewhere), 31337, None)
    with pytest.raises(GateRefusedError, match=r"^Nothing of over waits"):
        waiting_dispatch(_outbox(over, first), 31337, "over")


@pytest.mark.parametrize(
    ("estimate", "gas"),
    [(20_999, 21_000), (21_000, 21_000), (21_001, 31_501), (100_000, 150_000)],
)
async def test_sending_nothing_has_the_gas_it_needs_and_half_more(estimate: int, gas: int) -> None:
    reader = ToldReader(lambda *_: estimate)
    assert PLAIN_TRANSFER_GAS == 21_000
    sources = cast("Sources", SimpleNamespace(client=reader))
    assert await _transfer_gas(sources, WALLET) == gas


def test_what_cancels_sends_nothing_to_nobody() -> None:
    parties = refuse_unlike_cancel(NOTHING)

    assert (parties.sender, parties.recipients, parties.strangers) == (WALLET, (), ())
    for other in ({"to": "0x" + "66" * 20}, {"value": 1}, {"data": b"\1"}):
        with pytest.raises(GateRefusedError) as refused:
            refuse_unlike_cancel(replace(NOTHING, **cast("Any", other)))
        assert refused.value.code is RefusalCode.POLICY


def test_what_is_sent_in_its_place_is_told_with_its_price() -> None:
    plan = _sent(S.SENT)
    again = Replacement(plan, plan.steps[0], EXIT, SPEED_UP)
    nothing = Replacement(plan, plan.steps[0], NOTHING, CANCEL)

    assert again.gas == nothing.gas == GasBill(200_000 * 2 * 10**9)
    assert (
        "with the same bytes, paying at most 2000000000 wei a gas, 0.000400 in all" in again.words
    )
    assert "Send nothing to yourself with nonce 3" in nothing.words
    assert again.parties.recipients == (WALLET,)
    assert nothing.parties.recipients == ()


async def test_a_version_that_pools_take_is_made_of_the_market_and_the_limit(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    price: Any = SimpleNamespace(value=SimpleNamespace(cap=9, priority_fee=2))

    async def read_price(_: object) -> object:
        return price

    async def transfer_gas(*_: object) -> int:
        return 30_000

    monkeypatch.setattr(replacing, "read_gas_price", read_price)
    monkeypatch.setattr(replacing, "_transfer_gas", transfer_gas)
    monkeypatch.setattr(replacing, "cancellation", lambda step, **given: ("cancel", given))
    monkeypatch.setattr(replacing, "speed_up", lambda step, **given: ("speed up", given))
    sources, plan = cast("Sources", SimpleNamespace(client=None)), _sent(S.SENT)

    most = LIMITS.policy.max_fee_per_gas
    fees = {"market": Fees(9, 2), "cap": Fees(most, most)}
    made = await replacement_of(sources, plan, CANCEL, LIMITS)
    assert cast("Any", made.transaction) == ("cancel", {**fees, "gas": 30_000})
    made = await replacement_of(sources, plan, SPEED_UP, LIMITS)
    assert cast("Any", made.transaction) == ("speed up", fees)
    assert (made.dispatch, made.step, made.action) == (plan, plan.steps[0], SPEED_UP)
    with pytest.raises(GateRefusedError, match="Nothing of plan waits"):
        await replacement_of(sources, _sent(S.FINAL), CANCEL, LIMITS)
    price = Unknown("no answer")
    with pytest.raises(FactsUnknownError, match="no answer"):
        await replacement_of(sources, plan, CANCEL, LIMITS)


async def test_the_same_bytes_again_are_judged_and_nothing_is_only_looked_at(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    judged, plan = list[object](), _sent(S.SENT)

    async def judge(_: object, plan_id: str, transactions: object, limits: object) -> None:
        judged.append((plan_id, transactions, limits))

    monkeypatch.setattr(replacing, "judge_transactions", judge)
    monkeypatch.setattr(replacing, "approval_under", lambda _, sealed: sealed)
    monkeypatch.setattr(replacing, "refuse_tampered", lambda *given: judged.append(given))
    outbox = cast("Any", SimpleNamespace(store=None))
    sources = cast("Sources", None)

    await _judge_replacement(
        sources, outbox, Replacement(plan, plan.steps[0], NOTHING, CANCEL), LIMITS
    )
    assert judged == []
    await _judge_replacement(
        sources, outbox, Replacement(plan, plan.steps[0], EXIT, SPEED_UP), LIMITS
    )
    assert judged == [(plan.hash, plan), ("plan", [EXIT], LIMITS)]
    with pytest.raises(GateRefusedError, match="What cancels must send nothing"):
        await _judge_replacement(
            sources, outbox, Replacement(plan, plan.steps[0], EXIT, CANCEL), LIMITS
        )


async def test_what_replaces_a_step_is_judged_approved_and_sent_in_this_order(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    done, heads, plan = list[str](), [SimpleNamespace(timestamp=77), None], _sent(S.SENT)

    def note(name: str) -> Any:
        async def noted(*_: object) -> None:
            done.append(name)

        return noted

    class Sending:
        def __init__(self, *_: object, **parts: object) -> None:
            assert parts["chain_id"] == DEVNET.chain_id

        async def replace(self, *given: object, at: int) -> str:
            assert (given[:3], at) == ((plan.hash, 0, NOTHING), 77)
            done.append("sent")
            return "step"

    monkeypatch.setattr(replacing, "_judge_replacement", note("judged"))
    monkeypatch.setattr(replacing, "refuse_silent_route", note("route"))
    monkeypatch.setattr(replacing, "evidence_of", lambda *_: None)
    monkeypatch.setattr(replacing, "Sender", Sending)
    reader = ToldReader(lambda *_: heads.pop(0))
    sources = cast("Sources", SimpleNamespace(client=reader, network=DEVNET, clock=lambda: 5.0))
    outbox = cast(
        "Outbox",
        SimpleNamespace(approve_replacement=lambda *given, now: done.append(f"approved at {now}")),
    )
    asked = Replacement(plan, plan.steps[0], NOTHING, CANCEL)
    connections = cast("Any", SimpleNamespace(route=None))

    async def send() -> object:
        return await replacing.send_replacement(
            sources, connections, outbox, asked, cast("Any", None), limits=LIMITS
        )

    assert await send() == "step"
    assert done == ["judged", "route", "approved at 77", "sent"]
    with pytest.raises(FactsUnknownError, match="newest block is unknown"):
        await send()


def _version(kind: VersionKind, unsigned: Any = EXIT) -> Any:
    return SimpleNamespace(
        kind=kind, transaction=SimpleNamespace(unsigned=unsigned, hash="0xab", raw=b"")
    )


async def test_bytes_that_are_sent_again_are_the_wallets_and_judged(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    checked = list[object]()

    async def judge(_: object, plan_id: str, transactions: object, __: object) -> str:
        assert (plan_id, transactions) == ("plan", [EXIT])
        return "parties"

    monkeypatch.setattr(resuming, "check_signed_bytes", checked.append)
    monkeypatch.setattr(resuming, "judge_transactions", judge)
    plan, sources = _sent(S.SENT), cast("Sources", None)

    async def parties(version: Any) -> Any:
        return await resuming._judge(sources, plan, version, LIMITS)

    same, nothing = _version(VersionKind.ORIGINAL), _version(VersionKind.CANCEL, NOTHING)
    assert await parties(same) == "parties"
    assert (await parties(nothing)).sender == WALLET
    assert checked == [same.transaction, nothing.transaction]
    with pytest.raises(GateRefusedError, match="What cancels must send nothing"):
        await parties(_version(VersionKind.CANCEL))


def test_what_is_sent_again_is_told_in_its_own_words() -> None:
    plan = _sent(S.SENT)

    def told(kind: VersionKind) -> Any:
        return resuming.Resumption(plan, plan.steps[0], _version(kind), cast("Any", None), {})

    again = told(VersionKind.ORIGINAL)
    assert again.gas == GasBill(200_000 * 2 * 10**9)
    assert "(0xab), with nonce 0" in again.headline
    assert any("#7" in words for words in again.words(network_named("base")))
    assert told(VersionKind.CANCEL).words(DEVNET) == (
        "Send an empty transaction to yourself, so that the step can no longer happen.",
    )


async def test_only_what_was_shown_is_sent_again(monkeypatch: pytest.MonkeyPatch) -> None:
    plan = _sent(S.SENT)
    shown = resuming.Resumption(
        plan, plan.steps[0], _version(VersionKind.ORIGINAL), cast("Any", None), {}
    )
    now = [shown]

    async def again(*_: object, **__: object) -> object:
        return now[0]

    class Sending:
        def __init__(self, *_: object, **parts: object) -> None:
            assert parts["chain_id"] == DEVNET.chain_id

        async def resume(self, sealed: str, position: int) -> object:
            return sealed, position

    monkeypatch.setattr(resuming, "prepare_resume", again)
    monkeypatch.setattr(resuming, "evidence_of", lambda *_: None)
    monkeypatch.setattr(resuming, "Sender", Sending)
    sources = cast("Sources", SimpleNamespace(client=None, network=DEVNET, clock=lambda: 5.0))
    connections = cast("Any", SimpleNamespace(route=None))

    async def go() -> Any:
        return await resuming.resume_plan(
            sources, connections, cast("Any", None), shown, limits=LIMITS, changed=lambda _: None
        )

    assert await go() == (plan.hash, 0)
    now[0] = replace(shown, version=_version(VersionKind.SPEED_UP, NOTHING))
    with pytest.raises(GateRefusedError, match="is not what was shown"):
        await go()
