"""What is sent again: looked up, judged, named and handed on, in this order."""

from __future__ import annotations

from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, cast

import pytest
from msgspec.structs import replace

from chain.contracts.networks import network_named
from chain.execution.outbox.records import StepState
from chain.execution.outbox.resume import StepFinding, StepSituation
from tests.chain.execution.made_up_dispatches import dispatch
from zuno_tui.gate import resume as resuming
from zuno_tui.gate.refusal import GateRefusedError
from zuno_tui.gate.resume import Resumption, _why_nothing, prepare_resume, resume_plan

if TYPE_CHECKING:
    from chain.positions.overview import Sources

DEVNET = network_named("devnet")
LIMITS = cast("Any", "limits")
VERSION = cast("Any", SimpleNamespace(transaction="bytes"))
PLAN = dispatch(StepState.INCLUDED, StepState.SIGNED)
WAITING = replace(PLAN.steps[1], versions=(VERSION,))
PENDING = StepSituation.PENDING
CONNECTIONS = cast("Any", SimpleNamespace(route="route"))
OUTBOX = cast("Any", SimpleNamespace(store="journal"))


def _sources() -> Sources:
    made = SimpleNamespace(client="client", network=DEVNET, clock=lambda: 5.0, store="store")
    return cast("Sources", made)


class Parts:
    """Each part of preparing, with what it was given."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.done: list[object] = []
        self.finding = StepFinding(PLAN, WAITING, StepSituation.NOT_SENT, "")
        approval = SimpleNamespace(tokens="tokens")
        self._put(monkeypatch, "look", lambda: (self.finding,))
        self._put(monkeypatch, "_judge", lambda: "parties")
        self._put(monkeypatch, "refuse_silent_route", lambda: None)
        self._put(monkeypatch, "read_tokens", lambda: {"token": "known"})
        monkeypatch.setattr(resuming, "evidence_of", lambda *given: ("evidence", *given))
        monkeypatch.setattr(resuming, "approval_under", lambda *given: self._note(given, approval))
        monkeypatch.setattr(resuming, "refuse_tampered", lambda *given: self._note(given, None))
        self.approval = approval

    def _note(self, given: object, answer: object) -> object:
        self.done.append(given)
        return answer

    def _put(self, monkeypatch: pytest.MonkeyPatch, name: str, answer: Any) -> None:
        async def part(*given: object, **named: object) -> object:
            self.done.append((name, given, {key: named[key] for key in named if key != "clock"}))
            return answer()

        monkeypatch.setattr(resuming, name, part)


@pytest.fixture
def parts(monkeypatch: pytest.MonkeyPatch) -> Parts:
    return Parts(monkeypatch)


async def _prepared(plan_id: str | None = None) -> Resumption:
    return await prepare_resume(_sources(), CONNECTIONS, OUTBOX, plan_id, limits=LIMITS)


async def test_what_waits_is_looked_up_judged_and_named_before_it_is_shown(parts: Parts) -> None:
    found = await _prepared("plan")

    assert found == Resumption(
        PLAN, WAITING, VERSION, cast("Any", "parties"), cast("Any", {"token": "known"})
    )
    evidence = ("evidence", DEVNET, CONNECTIONS)
    assert parts.done[0] == (
        "look",
        (OUTBOX, "client"),
        {"chain_id": DEVNET.chain_id, "evidence": evidence},
    )
    assert parts.done[1:3] == [("journal", PLAN.hash), (parts.approval, PLAN)]
    assert parts.done[3][1][1:] == (PLAN, VERSION, LIMITS)  # type: ignore[index]
    assert parts.done[4] == ("refuse_silent_route", ("route",), {})
    assert parts.done[5] == (
        "read_tokens",
        ("client", DEVNET, "tokens", "latest"),
        {"store": "store", "now": 5.0},
    )


async def test_what_was_never_signed_is_not_sent_again(parts: Parts) -> None:
    parts.finding = replace(parts.finding, step=PLAN.steps[1])
    with pytest.raises(GateRefusedError, match=r"was never signed\. See where things stand"):
        await _prepared()
    assert len(parts.done) == 1
    with pytest.raises(GateRefusedError, match="Nothing of other waits"):
        await _prepared("other")


async def test_the_step_that_was_shown_is_resumed_with_the_parts_of_this_desk(
    parts: Parts, monkeypatch: pytest.MonkeyPatch
) -> None:
    sent = list[Any]()

    class Sending:
        def __init__(self, *given: object, **named: object) -> None:
            sent.append((given, named))

        async def resume(self, *given: object) -> str:
            sent.append(given)
            return "resumed"

    monkeypatch.setattr(resuming, "Sender", Sending)
    shown, changed = await _prepared(), lambda _step: None
    sources = _sources()

    async def resumed(what: Resumption) -> Any:
        return await resume_plan(sources, CONNECTIONS, OUTBOX, what, limits=LIMITS, changed=changed)

    assert await resumed(shown) == "resumed"
    (given, named), resumes = sent
    assert (given, resumes) == ((OUTBOX,), (PLAN.hash, 1))
    assert named == {
        "reads": "client",
        "route": "route",
        "chain_id": DEVNET.chain_id,
        "clock": sources.clock,
        "changed": changed,
        "evidence": ("evidence", DEVNET, CONNECTIONS),
    }
    other = replace(shown, version=cast("Any", SimpleNamespace(transaction="other bytes")))
    with pytest.raises(GateRefusedError, match="is not what was shown"):
        await resumed(other)
    assert len(sent) == 2


@pytest.mark.parametrize(
    ("situations", "plan_id", "words"),
    [
        ((), None, "Nothing waits to be sent again. Nothing was sent."),
        ((PENDING,), None, "Nothing waits to be sent again. Nothing was sent."),
        ((), "plan", "Nothing of plan waits to be sent again. Nothing was sent."),
        (
            (PENDING,),
            "plan",
            "Nothing of plan waits to be sent again. It stands here: under way. Nothing was sent.",
        ),
        ((StepSituation.UNKNOWN,), None, "Nothing waits to be sent again. Nothing was sent."),
        ((PENDING, StepSituation.OVER), None, "So over. Make a new plan: zuno recommend ID"),
        ((StepSituation.OVER, PENDING), "plan", "So over. Make a new plan: zuno recommend ID"),
    ],
)
def test_why_nothing_is_sent_again(
    situations: tuple[StepSituation, ...], plan_id: str | None, words: str
) -> None:
    named = [StepFinding(PLAN, PLAN.steps[0], each, f"So {each}.") for each in situations]
    assert _why_nothing(named, plan_id).startswith(words)
