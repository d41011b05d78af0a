"""A plan that a pinned peer signed and that is not what the debate gives, and a second Critic's."""

import asyncio
import time
from collections.abc import AsyncGenerator, Callable, Coroutine, Iterator
from copy import deepcopy
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from msgspec import structs
from pydantic import ValidationError

from agents.bus.envelope import Envelope, FailureCause, Kind, Role
from agents.bus.record import MemorySink, RecordWriter
from agents.bus.replay import Record, read_record
from agents.bus.run import ArgumentEnd, Listener
from agents.bus.worker import Ambient, BusLimits, HandlerContext, Outgoing
from agents.lp.debate import HANDLERS, LP_FLOW
from agents.lp.facts import CreateContext, MarketContext
from agents.lp.observe import ChainUnreadableError
from agents.lp.payloads import CRITIC, PlanReady, Proposal
from agents.lp.plan import Plan, plan_identity
from agents.lp.rebuild import (
    SECOND_OPINION,
    CriticJudged,
    PlanFault,
    PlanRefusedError,
    ask_second_critic,
    last_proposal,
    refuse_unless_rebuilt,
    stricter_plan,
)
from agents.lp.services import DebateServices
from agents.numbers.rules import JudgmentVerdict, PlanVerdict, RiskProfile
from chain.base.clean_text import Redactor
from chain.protocols.reference import v4_position
from tests.agents.lp.debating import Argued, Seen, argue, argue_over, start_of
from tests.agents.lp.made_up import TOKEN1, Market
from tests.fakes.mesh_wire import mesh_of
from zuno_tui.app.debate_setup import judged_here

Context = MarketContext | CreateContext
Lie = Callable[[Plan], Plan]

MOVING = Market(0.03, 2.0, half_width=0.05, off_centre=2.5).position()
DEADLOCKED = Market(0.03, 1.2, off_centre=2.5, gwei=60, profile=RiskProfile.CONSERVATIVE).position()
OPENING = Market(0.03, 2.0).opening((TOKEN1, 10_000 * 10**6), pools=1)
DEEP = Market(0.03, 1.5, gwei=0.05, pool_dollars=50_000_000)
CONTEXTS: dict[str, Context] = {"move": MOVING, "deadlock": DEADLOCKED, "create": OPENING}
STRANGER = "0x" + "bb" * 20
ELSEWHERE = "0x" + "cc" * 32


def changed(payload: Any, **values: object) -> Any:
    return payload.model_copy(update=values)


def in_recommended(**values: Callable[[Any], Any]) -> Lie:
    def lie(plan: Plan) -> Plan:
        new = {name: value(getattr(plan.recommended, name)) for name, value in values.items()}
        return changed(plan, recommended=changed(plan.recommended, **new))  # type: ignore[no-any-return]

    return lie


def option_swapped(plan: Plan) -> Plan:
    """Another of the options that were argued about, as if it had been chosen."""
    other = next(one for one in plan.candidates if one.index != plan.choice.index)
    choice = changed(plan.choice, kind="move", index=other.index)
    return changed(plan, choice=choice, recommended=other)  # type: ignore[no-any-return]


def below_the_floors(plan: Plan) -> Plan:
    """What the rules veto or send back, as if they had accepted it."""
    worst = next(
        one
        for one in plan.candidates
        if one.judgment is not None and one.judgment.by_rules is not JudgmentVerdict.ACCEPT
    )
    praised = changed(
        worst.judgment, verdict=JudgmentVerdict.ACCEPT, by_rules=JudgmentVerdict.ACCEPT
    )
    worst = changed(worst, judgment=praised)
    choice = changed(plan.choice, kind="move", index=worst.index)
    return changed(plan, choice=choice, recommended=worst, verdict=PlanVerdict.APPROVE)  # type: ignore[no-any-return]


LIES: dict[str, tuple[str, Lie]] = {
    "altered ticks": ("move", in_recommended(tick_lower=lambda tick: tick - 10)),
    "altered amount": ("move", in_recommended(amount0=lambda amount: amount * 2)),
    "other pool": ("move", in_recommended(pool_id=lambda _: ELSEWHERE)),
    "other owner": ("move", lambda plan: changed(plan, owner=STRANGER)),
    "other position": ("move", lambda plan: changed(plan, position=v4_position(8))),
    "option swapped": ("move", option_swapped),
    "below the floors": ("deadlock", below_the_floors),
    "create for another": ("create", lambda plan: changed(plan, owner=STRANGER)),
    "create elsewhere": ("create", in_recommended(pool_id=lambda _: ELSEWHERE)),
    "create too much": ("create", in_recommended(amount1=lambda amount: amount * 10)),
}


def lying(role: Role, kind: type, lie: Callable[[Any], Any]) -> Any:
    """The handler of this role, whose payloads of this kind are changed before they are signed."""
    honest = HANDLERS[role]

    async def handler(
        envelope: Envelope, context: HandlerContext[DebateServices]
    ) -> AsyncGenerator[Outgoing, None]:
        async for said in honest(envelope, context):
            lied = isinstance(said.payload, kind)
            yield said._replace(payload=lie(said.payload)) if lied else said

    return handler


def with_own_id(plan: Plan) -> Plan:
    return changed(plan, plan_id=plan_identity(plan))  # type: ignore[no-any-return]


async def over_the_mesh(context: Context, lies: dict[Role, Any]) -> Argued:
    """A debate with agents on a wire, some of whom lie with a good signature."""
    agents = structs.replace(LP_FLOW, handlers={**HANDLERS, **lies})
    services = DebateServices(Seen(context), None)
    async with mesh_of(agents, *HANDLERS, services=lambda _request, _terms: services) as remote:
        return await argue(start_of(context, 2), Seen(context), remote=remote)


async def seen(context: Context) -> Context:
    return context


async def judged(
    argued: Argued, seeing: Coroutine[Any, Any, Context], folder: Path
) -> ArgumentEnd[Plan]:
    path = folder / "record.jsonl"
    path.write_bytes(argued.record)
    task = asyncio.create_task(seeing)
    return await judged_here(argued.ended, path, start_of(MOVING, 2), 31337, task)


@pytest.fixture(scope="module")
def honest(tmp_path_factory: pytest.TempPathFactory) -> dict[str, tuple[Plan, Record]]:
    """What each debate really comes to, with its record."""
    found = {}
    for name, context in CONTEXTS.items():
        argued = asyncio.run(argue_over(context))
        path = tmp_path_factory.mktemp(name) / "record.jsonl"
        path.write_bytes(argued.record)
        found[name] = argued.plan, read_record(path)
    return found


@pytest.mark.parametrize("what", LIES)
async def test_a_plan_that_is_not_what_the_debate_gives_is_refused(
    what: str, honest: dict[str, tuple[Plan, Record]]
) -> None:
    name, lie = LIES[what]
    plan, record = honest[name]
    context = CONTEXTS[name]
    lied = with_own_id(lie(plan))
    with pytest.raises(PlanRefusedError) as refused:
        await refuse_unless_rebuilt(lied, record, start_of(context, 2), 31337, context)
    assert refused.value.fault is PlanFault.OTHER_PLAN


@pytest.mark.parametrize("name", CONTEXTS)
async def test_an_honest_plan_is_let_through(
    name: str, honest: dict[str, tuple[Plan, Record]]
) -> None:
    plan, record = honest[name]
    context = CONTEXTS[name]
    await refuse_unless_rebuilt(plan, record, start_of(context, 2), 31337, context)


def test_no_field_of_a_plan_can_be_another_and_pass(
    honest: dict[str, tuple[Plan, Record]],
) -> None:
    """The debate held again is compared with all of it: what was changed anywhere is another."""
    plan, _ = honest["create"]
    document = plan.model_dump(mode="json")
    changed_plans = 0
    for path in leaves(document):
        try:
            lied = Plan.model_validate(with_another(document, path), strict=False)
        except ValidationError:
            continue  # it would not be parsed
        assert lied != plan, path
        changed_plans += 1
    assert changed_plans > 100


def leaves(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    if isinstance(value, dict | list):
        for name, one in value.items() if isinstance(value, dict) else enumerate(value):
            yield from leaves(one, (*path, name))
    else:
        yield path


def with_another(document: Any, path: tuple[Any, ...]) -> Any:
    lied = deepcopy(document)
    place = lied
    for name in path[:-1]:
        place = place[name]
    now = place[path[-1]]
    if isinstance(now, str) and now.isdigit():
        place[path[-1]] = str(int(now) + 1)
    else:
        place[path[-1]] = {bool: not now, str: f"{now}x", type(None): 1}.get(
            type(now), now if isinstance(now, str | bool | None) else now * 1.5 + 1
        )
    return lied


async def test_a_lie_with_a_good_signature_comes_over_the_mesh_and_no_further(
    tmp_path: Path,
) -> None:
    def told(ready: PlanReady) -> PlanReady:
        return PlanReady(plan=with_own_id(option_swapped(ready.plan)))

    argued = await over_the_mesh(MOVING, {CRITIC: lying(CRITIC, PlanReady, told)})
    assert argued.ended.plan is not None, "its signature holds"
    ended = await judged(argued, seen(MOVING), tmp_path)
    assert ended.plan is None
    assert ended.failure is not None
    assert ended.failure.cause is FailureCause.REFUSED


SCOUT_LIES: dict[str, tuple[Context, PlanFault]] = {
    "calmer by far": (
        Market(0.012, 2.0, half_width=0.05, off_centre=2.5).position(),
        PlanFault.OTHER_FACTS,
    ),
    "another position": (
        changed(MOVING, position=changed(MOVING.position, token_id=v4_position(8))),
        PlanFault.OTHER_QUESTION,
    ),
    "another network": (changed(MOVING, chain_id=8453), PlanFault.OTHER_NETWORK),
}


@pytest.mark.parametrize("what", SCOUT_LIES)
async def test_facts_that_are_not_those_read_here_refuse_the_plan(
    what: str, tmp_path: Path
) -> None:
    told, fault = SCOUT_LIES[what]
    argued = await argue_over(told)
    path = tmp_path / "record.jsonl"
    path.write_bytes(argued.record)
    start = start_of(MOVING, 2)
    with pytest.raises(PlanRefusedError) as refused:
        await refuse_unless_rebuilt(argued.plan, read_record(path), start, 31337, MOVING)
    assert refused.value.fault is fault


@pytest.mark.parametrize(
    ("told", "here"),
    [
        (
            replace(DEEP, off_centre=2.5, paid=1.4).position(),
            replace(DEEP, off_centre=2.5, sigma=0.0405, paid=1.115).position(),
        ),
        (
            replace(DEEP, paid=1.4).opening((TOKEN1, 10_000 * 10**6)),
            replace(DEEP, sigma=0.0405, paid=1.115).opening((TOKEN1, 10_000 * 10**6)),
        ),
    ],
    ids=["move", "create"],
)
async def test_a_move_that_only_the_scouts_market_permits_is_refused(
    told: Context, here: Context, tmp_path: Path
) -> None:
    """Every figure is within its room, and together they would buy a move."""
    argued = await argue_over(told)
    assert argued.plan.choice.kind == "move"
    path = tmp_path / "record.jsonl"
    path.write_bytes(argued.record)
    with pytest.raises(PlanRefusedError) as refused:
        await refuse_unless_rebuilt(argued.plan, read_record(path), start_of(told, 2), 31337, here)
    assert refused.value.fault is PlanFault.OTHER_ADVICE


async def test_facts_that_cannot_be_read_refuse_the_plan(tmp_path: Path) -> None:
    argued = await argue_over(MOVING)
    path = tmp_path / "record.jsonl"
    path.write_bytes(argued.record)
    record = read_record(path)
    lines = tuple(
        structs.replace(
            line, body={**line.body, "payload": {"name": "observation", "value": {"mode": "x"}}}
        )
        if line.body.get("kind") == Kind.AGENT_FACT
        else line
        for line in record.lines
    )
    with pytest.raises(PlanRefusedError) as refused:
        await refuse_unless_rebuilt(
            argued.plan, structs.replace(record, lines=lines), start_of(MOVING, 2), 31337, MOVING
        )
    assert refused.value.fault is PlanFault.NO_FACTS


async def test_where_the_chain_cannot_be_read_here_no_plan_is_believed(tmp_path: Path) -> None:
    async def unreadable() -> Context:
        raise ChainUnreadableError("It does not answer.")

    ended = await judged(await argue_over(MOVING), unreadable(), tmp_path)
    assert ended.plan is None
    assert ended.failure is not None
    assert ended.failure.cause is FailureCause.UNREADABLE


OUTSIDE = Market(0.03, 2.0, half_width=0.05, off_centre=2.5).position()


async def argued(folder: Path) -> tuple[Plan, Proposal]:
    done = await argue_over(OUTSIDE)
    path = folder / "record.jsonl"
    path.write_bytes(done.record)
    proposal = last_proposal(read_record(path))
    assert proposal is not None
    return done.plan, proposal


def verdicts(plan: Plan) -> tuple[JudgmentVerdict, ...]:
    return tuple(one.judgment.verdict for one in plan.candidates if one.judgment is not None)


async def test_a_stricter_second_critic_counts_and_is_named(tmp_path: Path) -> None:
    plan, proposal = await argued(tmp_path)
    assert plan.choice.kind == "move"
    count = len(plan.candidates)
    vetoes = CriticJudged(
        verdicts=(JudgmentVerdict.VETO,) * count, reasons=("too thin a pool",) * count
    )
    stricter = stricter_plan(proposal, plan, vetoes, "critic-2 0a1b2c3d")
    assert stricter is not None
    # The rules' plan stays: who would not make it is heard, and asks for caution.
    assert (stricter.choice.kind, stricter.verdict) == ("move", "approve_with_caution")
    assert "too thin a pool" in stricter.choice.reasons[-1]
    assert stricter.plan_id != plan.plan_id
    assert set(verdicts(stricter)) == {JudgmentVerdict.VETO}
    hardened = [one is not JudgmentVerdict.VETO for one in verdicts(plan)]
    said = [one.judgment.reason for one in stricter.candidates if one.judgment is not None]
    assert any(hardened)
    assert ["critic-2" in words for words in said] == hardened


@pytest.mark.parametrize("laxer", [True, False], ids=["laxer", "alike"])
async def test_a_second_critic_who_is_nowhere_stricter_changes_nothing(
    tmp_path: Path, laxer: bool
) -> None:
    plan, proposal = await argued(tmp_path)
    first = verdicts(plan)
    said = tuple(JudgmentVerdict.ACCEPT if laxer else one for one in first)
    second = CriticJudged(verdicts=said, reasons=("fine",) * len(first))
    assert stricter_plan(proposal, plan, second, "critic-2") is None


@pytest.mark.parametrize("spoken", [0, 1])
async def test_a_second_critic_who_says_too_little_loosens_nothing(
    tmp_path: Path, spoken: int
) -> None:
    plan, proposal = await argued(tmp_path)
    short = CriticJudged(verdicts=(JudgmentVerdict.VETO,) * spoken, reasons=())
    stricter = stricter_plan(proposal, plan, short, "critic-2")
    if not spoken:
        assert stricter is None
        return
    assert stricter is not None
    assert verdicts(stricter) == (JudgmentVerdict.VETO, *verdicts(plan)[1:])


async def test_a_second_critic_is_asked_over_the_mesh(tmp_path: Path) -> None:
    plan, proposal = await argued(tmp_path)
    eyes = Seen(OUTSIDE)
    async with mesh_of(
        SECOND_OPINION, CRITIC, services=lambda _request, _terms: DebateServices(eyes, None)
    ) as remote:
        heard = await ask_second_critic(
            proposal,
            eyes,
            RecordWriter(MemorySink(), "req_2", {}, Redactor(), flow="lp"),
            remote,
            ambient=Ambient(time.time, lambda: "req_2"),
            request_id="req_2",
            limits=BusLimits(),
            tokens=None,
            listener=Listener(),
        )
    assert heard is not None
    assert heard.verdicts == verdicts(plan)
