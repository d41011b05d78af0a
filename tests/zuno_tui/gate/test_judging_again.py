"""The last judgment before a signature: what is asked, of what block, and each of its refusals."""

from __future__ import annotations

from fractions import Fraction
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, cast

import pytest
from msgspec.structs import replace

from chain.base.store import Store
from chain.contracts.networks import NATIVE, network_named
from chain.contracts.pool_key import PoolKey
from chain.execution.build.facts import PoolFacts, position_facts
from chain.execution.build.requests import QuotedSwap
from chain.execution.decode.decoder import decode
from chain.execution.decode.records import Batch, CancelAllOrders, Delegation, Execute
from chain.execution.outbox.delivery import Route
from chain.execution.outbox.outbox import Outbox
from chain.execution.outbox.records import Anchor, PlannedDispatch, PlannedStep
from chain.execution.policy.policy import PolicyRefused
from chain.positions.custody import Custody
from chain.positions.overview import Sources
from chain.positions.reference import v4_position
from chain.rpc.requests import transaction_count
from tests.agents.monitor.made_up_positions import KEY, block, position
from tests.zuno_tui.gate.test_approvals import EXIT, ONE, TWO, UNSEALED, UNTIL, WALLET
from tests.zuno_tui.gate.test_drift import BEFORE, BOUNDS
from zuno_tui.gate import judgment
from zuno_tui.gate.actions.action import ActionTarget, TargetKind
from zuno_tui.gate.agreement import Connections
from zuno_tui.gate.basis import BasisQuestion, SwapInput
from zuno_tui.gate.contract_code import CodeHashes
from zuno_tui.gate.judgment import (
    NamedInBytes,
    _joined,
    _read_pools,
    _rerouted,
    _subject_since,
    decoded,
    judge_again,
    judge_transactions,
    read_context,
    read_named,
    refuse_by_policy,
)
from zuno_tui.gate.limits import gate_limits
from zuno_tui.gate.refusal import GateRefusedError, RefusalCode
from zuno_tui.settings.schema import LimitsTable

if TYPE_CHECKING:
    from collections.abc import Sequence

    from chain.execution.decode.records import DecodedStep
    from chain.execution.outbox.records import Dispatch
    from chain.rpc.client import RpcClient
    from chain.rpc.requests import Request

BASE = network_named("base")
STRANGER = "0x" + "66" * 20
HERE = block(100)
HELD = replace(position(0), custody=Custody(WALLET, None, None))
CODES = CodeHashes({ONE: "0xcc", TWO: "0xdd"}, {ONE: "0xcc"}, frozenset(), frozenset())
LIMITS = gate_limits(LimitsTable(), BASE)
APPROVAL = replace(
    UNSEALED, about=TargetKind(v4_position(7)), before=BEFORE, bounds=BOUNDS, kept={}
)


class _Client:
    """Sleeps, and tells the next nonce by the newest block."""

    def __init__(self, nonce: int = 0) -> None:
        self.slept: list[float] = []
        self.nonce = nonce

    async def ask(self, question: Request[int]) -> int:
        assert question == transaction_count(WALLET, "latest")
        return self.nonce

    async def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)


def _sources(client: object = None) -> Sources:
    return Sources(cast("RpcClient", client), BASE, Store.in_memory(), None, lambda: 1_000_100.0)


def _dispatch(*steps: Any) -> Dispatch:
    plan = PlannedDispatch(
        hash="0xab",
        plan_id="plan_7",
        anchor=Anchor(100, HERE.hash),
        steps=tuple(PlannedStep(step, "nothing happened", UNTIL) for step in steps or (EXIT,)),
    )
    with Outbox.in_memory() as outbox:
        return outbox.plan(plan, now=0)


class Judged:
    """What each reading gives; a test changes one of them."""

    def __init__(self) -> None:
        self.subject: ActionTarget | None = ActionTarget(replace(HERE, timestamp=1_000_000))
        self.named = NamedInBytes({}, {}, (), (ONE,), lent=False)
        self.circumstances = BEFORE
        self.codes = CODES
        self.swap: QuotedSwap | None = None
        self.waiting: tuple[int, ...] = ()
        self.verdict: object = "allowed"
        self.kept: list[object] = []
        self.asked: dict[str, Any] = {}
        self.called: list[str] = []


@pytest.fixture
def judged(monkeypatch: pytest.MonkeyPatch) -> Judged:
    made = Judged()

    def answer(name: str, value: str | None = None) -> None:
        async def read(*given: object, **more: object) -> object:
            made.asked[name] = (*given, more)
            made.called.append(name)
            return getattr(made, value) if value else name

        monkeypatch.setattr(judgment, name, read)

    def note(name: str) -> None:
        monkeypatch.setattr(judgment, name, lambda *given: made.called.append(name))

    async def read_basis(*given: object, **more: object) -> object:
        made.asked["read_basis"] = (*given, more)
        assert isinstance(given[0], Sources)
        given[0].store.put("met", "contract", "hash", now=0)
        return SimpleNamespace(
            codes=made.codes,
            circumstances=made.circumstances,
            swap=made.swap,
            simulation="simulation",
        )

    async def replayed(_: object, swap: SwapInput, at: str) -> QuotedSwap | None:
        assert at == HERE.hash
        return QuotedSwap(swap.pool, True, 5, 6, 7) if swap.amount_in == 5 else None

    answer("read_subject", "subject")
    answer("read_wallet", "subject")
    answer("read_named", "named")
    answer("pending_elsewhere", "waiting")
    answer("read_context")
    answer("require_agreement")
    answer("refuse_silent_route")
    answer("gas_bill")
    answer("read_code_hashes", "codes")
    answer("read_circumstances", "circumstances")
    note("refuse_other_protocol")
    note("refuse_failing")
    monkeypatch.setattr(judgment, "read_basis", read_basis)
    monkeypatch.setattr(judgment, "replay_swap", replayed)
    monkeypatch.setattr(judgment, "check", lambda steps, context: made.verdict)
    monkeypatch.setattr(judgment, "kept_back", lambda *_: made.kept)
    return made


async def _judge(
    sources: Sources | None = None, dispatch: Dispatch | None = None, **approved: Any
) -> judgment.SigningJudgment:
    approval = replace(APPROVAL, **{"codes": {ONE: "0xcc"}, **approved})
    with Outbox.in_memory() as outbox:
        return await judge_again(
            sources or _sources(_Client()),
            Connections(Route(cast("RpcClient", None))),
            outbox,
            approval,
            dispatch or _dispatch(),
            limits=LIMITS,
        )


async def test_what_was_sent_while_it_was_judged_is_told_before_what_it_changed(
    judged: Judged,
) -> None:
    """As where another zuno applies the same plan, and the node tries it on top of that."""
    judged.kept = [SimpleNamespace(token=ONE, millionths=10**6, exceeds=lambda _: True)]
    with pytest.raises(GateRefusedError, match=r"kept of the .*100\.00% now"):
        await _judge(_sources(_Client(BEFORE.nonce)))
    with pytest.raises(GateRefusedError, match="nonce of the wallet: 7 when approved, 8 now") as it:
        await _judge(_sources(_Client(BEFORE.nonce + 1)))
    assert "kept of" not in str(it.value)


async def _code(dispatch: Dispatch | None = None, **approved: Any) -> RefusalCode | None:
    try:
        await _judge(None, dispatch, **approved)
    except GateRefusedError as error:
        return error.code
    return None


async def test_what_is_as_it_was_is_let_through_with_all_it_rests_on(judged: Judged) -> None:
    sources = _sources(_Client())

    found = await _judge(sources)

    assert (found.now, found.steps, found.parties.sender) == (1_000_100, (decode(EXIT),), WALLET)
    assert cast("Any", (found.agreement, found.gas)) == ("require_agreement", "gas_bill")
    assert found.basis.codes is CODES
    assert {"refuse_other_protocol", "refuse_silent_route", "refuse_failing"} <= set(judged.called)
    assert sources.store.get("met", "contract") == "hash", "what was met is remembered"
    question = judged.asked["read_basis"][1]
    assert isinstance(question, BasisQuestion)
    assert (question.about, question.wallet, question.tokens) == (
        TargetKind(v4_position(7)),
        WALLET,
        (ONE,),
    )
    assert set(question.contracts) > {ONE, BASE.contracts.pool_manager}
    assert (question.transactions, question.swap) == ((EXIT,), None)
    assert judged.asked["read_context"][-1]["quotes"] == ()
    assert judged.asked["read_context"][-1]["head_time"] == 1_000_000


async def test_the_first_swap_is_counted_again_and_judged_by(judged: Judged) -> None:
    swaps = tuple(SwapInput(KEY, True, amount) for amount in (5, 6))
    judged.named = replace(judged.named, swaps=swaps)
    judged.swap = QuotedSwap(KEY, True, 5, 6, 7)

    await _judge()

    assert judged.asked["read_basis"][1].swap == swaps[0]
    assert judged.asked["read_context"][-1]["quotes"] == (judged.swap,)


async def test_each_thing_that_changed_is_refused(judged: Judged) -> None:
    assert await _code() is None
    judged.circumstances = replace(BEFORE, nonce=8)
    assert await _code() is RefusalCode.DRIFT
    judged.circumstances = BEFORE
    assert await _code(codes={ONE: "0xother"}) is RefusalCode.DRIFT
    assert await _code(codes={STRANGER: "0xcc"}) is RefusalCode.DRIFT
    # Of contracts that the approval did not name nothing was told, and nothing drifts.
    assert await _code(codes={}) is None
    assert await _code(replace(_dispatch(), private_host="three")) is RefusalCode.DRIFT
    judged.waiting = (9,)
    assert await _code() is RefusalCode.DRIFT
    judged.waiting = ()
    more = SimpleNamespace(token=ONE, millionths=9, exceeds=lambda share: share < 9)
    judged.kept = [more]
    assert await _code() is RefusalCode.DRIFT
    assert await _code(kept={ONE: 9}) is None
    judged.kept = []
    judged.subject = None
    with pytest.raises(GateRefusedError, match="position #7: there when approved, gone now"):
        await _judge()


async def test_another_chain_a_stranger_and_the_policy_are_refused(judged: Judged) -> None:
    elsewhere = _dispatch(replace(EXIT, chain_id=1))
    assert await _code(elsewhere) is RefusalCode.ANOTHER_CHAIN
    paid = EXIT.data.replace(bytes.fromhex("aa" * 20), bytes.fromhex("66" * 20))
    assert await _code(_dispatch(replace(EXIT, data=paid))) is RefusalCode.FOREIGN_RECIPIENT
    assert await _code(_dispatch(replace(EXIT, data=b"\1"))) is RefusalCode.CHANGED_ON_DISK
    judged.verdict = PolicyRefused(("it is too much",))
    with pytest.raises(GateRefusedError, match="it is too much") as refused:
        await _judge()
    assert refused.value.code is RefusalCode.POLICY


async def _again(*transactions: Any) -> object:
    return await judge_transactions(_sources(), "plan_7", transactions or (EXIT,), LIMITS)


async def test_what_is_signed_again_is_judged_by_the_policy(judged: Judged) -> None:
    judged.subject = ActionTarget(replace(HERE, timestamp=1_000_000))
    judged.named = replace(
        judged.named, swaps=tuple(SwapInput(KEY, True, amount) for amount in (5, 6))
    )
    judged.circumstances = replace(BEFORE, account_code="0x63")
    other = replace(EXIT, nonce=4)

    parties = await _again(EXIT, other)

    assert cast("Any", parties).sender == WALLET
    assert "refuse_other_protocol" in judged.called
    context = judged.asked["read_context"][-1]
    assert (context["notional_today"], context["account_code"]) == (0, "0x63")
    assert context["quotes"] == [QuotedSwap(KEY, True, 5, 6, 7)]
    assert judged.asked["read_circumstances"][2] == WALLET
    paid = EXIT.data.replace(bytes.fromhex("aa" * 20), bytes.fromhex("66" * 20))
    with pytest.raises(GateRefusedError) as refused:
        await _again(replace(EXIT, data=paid))
    assert refused.value.code is RefusalCode.FOREIGN_RECIPIENT
    judged.verdict = PolicyRefused(("it is too much",))
    with pytest.raises(GateRefusedError, match="it is too much"):
        await _again()


@pytest.mark.parametrize(
    ("blocks", "looks", "found"),
    [
        ((100,), 0, 100),
        ((101,), 0, 101),
        ((99, 100), 1, 100),
        ((99, None), 1, None),
        ((None,), 0, None),
        ((99,) * 7, 6, 99),
    ],
)
async def test_a_chain_that_is_lower_is_looked_at_again_for_two_seconds(
    monkeypatch: pytest.MonkeyPatch, blocks: tuple[int | None, ...], looks: int, found: int | None
) -> None:
    waits, client, told = (0.0, 0.0, 0.2, 0.4, 0.6, 0.8), _Client(), list(blocks)

    async def read_subject(_: object, about: TargetKind) -> ActionTarget | None:
        assert about == TargetKind(v4_position(7))
        number = told.pop(0)
        return None if number is None else ActionTarget(block(number))

    monkeypatch.setattr(judgment, "read_subject", read_subject)
    subject = await _subject_since(_sources(client), APPROVAL, _dispatch())

    assert (None if subject is None else subject.block.number) == found
    assert client.slept == list(waits[:looks])


async def test_whose_positions_and_which_pools_the_bytes_name(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    entered = PoolKey(ONE, BASE.wrapped_native or "", 500, 10, NATIVE)
    hooked = replace(entered, hooks="0x" + "00" * 18 + "0080")
    mentions = SimpleNamespace(
        positions=(7, 8),
        pools=(KEY, entered, hooked),
        swaps=(SimpleNamespace(pool=entered.values, zero_for_one=True, amount_in=5),),
        turned=(NATIVE,),
        revoked=(TWO,),
        leaves=True,
    )
    monkeypatch.setattr(judgment, "mentions_of", lambda _: mentions)
    others = replace(position(0, number=8), custody=Custody(STRANGER, None, None))

    async def read_positions(*given: object, at: str) -> object:
        assert (given[3], at) == (mentions.positions, HERE.hash)
        return {8: others, 7: HELD}

    async def read_pools(_: object, keys: Sequence[PoolKey], at: object) -> object:
        assert at == HERE
        return {key: PoolFacts(key, 5, 500) for key in keys}

    monkeypatch.setattr(judgment, "read_positions", read_positions)
    monkeypatch.setattr(judgment, "_read_pools", read_pools)
    steps = [decode(EXIT), decode(replace(EXIT, sender=STRANGER, nonce=4))]

    named = await read_named(_sources(), steps, HERE)

    facts = position_facts(HELD)
    assert named.positions == {7: facts}
    assert named.pools == {
        KEY: facts.pool,
        entered: PoolFacts(entered, 5, 500),
        hooked: PoolFacts(hooked, 5, 500),
    }
    assert named.swaps == (SwapInput(entered, True, 5, facts),)
    assert named.tokens == (
        KEY.currency0,
        KEY.currency1,
        ONE,
        BASE.wrapped_native,
        NATIVE,
        TWO,
    )
    assert not named.lent
    contracts = named.contracts(BASE)
    assert contracts[-1] == hooked.hooks
    assert NATIVE not in contracts
    assert set(named.tokens) - {NATIVE} <= set(contracts)
    assert BASE.contracts.delegate not in contracts
    assert BASE.contracts.delegate in replace(named, lent=True).contracts(BASE)
    mentions.leaves, mentions.positions, mentions.pools = False, (), (KEY,)
    mentions.turned = ()
    bare = await read_named(_sources(), steps, HERE)
    assert (bare.positions, bare.swaps[0].leaving) == ({}, None)
    assert bare.tokens == (KEY.currency0, KEY.currency1, TWO)


@pytest.mark.parametrize(
    ("calls", "is_lent"),
    [
        ([Execute((), 0)], False),
        ([Batch(())], True),
        ([Execute((), 0), Delegation(STRANGER)], True),
        ([CancelAllOrders(STRANGER)], True),
    ],
)
async def test_code_that_runs_as_the_account_is_looked_at_where_any_step_rests_on_it(
    monkeypatch: pytest.MonkeyPatch, calls: list[object], is_lent: bool
) -> None:
    nothing = SimpleNamespace(positions=(), pools=(), swaps=(), turned=(), revoked=(), leaves=False)
    monkeypatch.setattr(judgment, "mentions_of", lambda _: nothing)
    steps = [SimpleNamespace(transaction=EXIT, call=call) for call in calls]
    named = await read_named(_sources(), cast("Sequence[DecodedStep]", steps), HERE)
    assert named.lent is is_lent


async def test_pools_are_read_at_the_block_and_nothing_where_none_is_named(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async def read_slots(here: Any, *_: object) -> object:
        assert here.at == HERE.hash
        return SimpleNamespace(words="words")

    state = SimpleNamespace(key=KEY, sqrt_price_x96=5, lp_fee=500)
    monkeypatch.setattr(judgment, "OneBlock", lambda *given: SimpleNamespace(at=given[2]))
    monkeypatch.setattr(judgment, "pool_state_slots", lambda keys: keys)
    monkeypatch.setattr(judgment, "pool_states", lambda keys, words: [state])
    monkeypatch.setattr(judgment, "read_slots", read_slots)

    assert await _read_pools(_sources(), [KEY], HERE) == {KEY: PoolFacts(KEY, 5, 500)}
    monkeypatch.setattr(judgment, "read_slots", None)
    assert await _read_pools(_sources(), [], HERE) == {}


@pytest.mark.parametrize(
    ("values", "swaps", "daily", "is_read"),
    [
        ((0, 0), (None,), None, False),
        ((0, 1), (None,), None, True),
        ((0, 0), (False,), None, False),
        ((0, 0), (True,), None, True),
        ((0, 0), (None, True), None, True),
        ((0, 0), (None,), 1_000.0, True),
        ((1, 1), (True,), 1_000.0, True),
    ],
)
async def test_worth_is_read_where_coins_are_sent_or_swapped_or_a_day_is_limited(
    monkeypatch: pytest.MonkeyPatch,
    values: tuple[int, ...],
    swaps: tuple[bool | None, ...],
    daily: float | None,
    is_read: bool,
) -> None:
    """A step's call is none of the router's, one that enters a range too, or a swap alone."""

    async def read_worth(_: object, tokens: object, at: object) -> object:
        assert (tokens, at) == ((ONE,), HERE)
        return SimpleNamespace(micro_dollars={ONE: Fraction(2)}, usd_per_wei=2_500 / 10**18)

    router = Execute((), 1)
    kinds = {None: None, False: router, True: router}
    alone = any(swaps)
    calls = [
        SimpleNamespace(transaction=replace(EXIT, value=value), call=None) for value in values
    ] + [SimpleNamespace(transaction=EXIT, call=kinds[swap]) for swap in swaps]
    monkeypatch.setattr(judgment, "read_worth", read_worth)
    monkeypatch.setattr(judgment, "single_calls", lambda _: calls)
    monkeypatch.setattr(judgment, "plain_swap", lambda call: alone and bool(call.deadline))
    named = NamedInBytes(
        {7: position_facts(HELD)}, {KEY: PoolFacts(KEY, 5, 500)}, (), (ONE,), False
    )
    limits = gate_limits(LimitsTable(daily_usd=daily, value_usd=1_000), BASE)
    quote = QuotedSwap(KEY, True, 5, 6, 7)

    context = await read_context(
        _sources(),
        [decode(EXIT), decode(replace(EXIT, nonce=4))],
        named,
        HERE,
        codes=CODES,
        limits=limits,
        head_time=77,
        notional_today=5,
        quotes=[quote],
        account_code="0x63",
    )

    assert context.worth == ({ONE: Fraction(2)} if is_read else {})
    assert context.limits == limits.at_price(2_500 / 10**18 if is_read else None)
    assert (context.owner, context.nonce, context.head_time) == (WALLET, 3, 77)
    assert (context.notional_today, context.delegate, context.quotes) == (5, "0x63", (quote,))
    assert (context.code_hashes, context.pinned_code_hashes) == (CODES.now, CODES.pinned)
    assert (context.positions, list(context.pools.values())) == (
        named.positions,
        [PoolFacts(KEY, 5, 500)],
    )
    assert context.allowed_chain_ids == {BASE.chain_id}
    assert context.drift_bips == judgment.DRIFT_BIPS


def test_bytes_are_read_back_or_refused() -> None:
    assert decoded("plan_7", [EXIT]) == (decode(EXIT),)
    with pytest.raises(GateRefusedError, match="The stored transactions of plan_7"):
        decoded("plan_7", [replace(EXIT, data=b"\1")])


def test_only_a_refusal_of_the_policy_refuses() -> None:
    refuse_by_policy("allowed")
    with pytest.raises(GateRefusedError, match="one\n  two"):
        refuse_by_policy(PolicyRefused(("one", "two")))


def test_another_way_to_send_and_what_waits_elsewhere_are_told() -> None:
    assert list(_rerouted(None, None)) == list(_rerouted("a", "a")) == []
    told = [
        str(each) for pair in (("a", None), (None, "a"), ("a", "b")) for each in _rerouted(*pair)
    ]
    assert told == [
        "sent through: a when approved, the usual endpoints now",
        "sent through: the usual endpoints when approved, a now",
        "sent through: a when approved, b now",
    ]
    assert list(_joined(())) == []
    assert [str(each) for each in _joined((7, 8))] == [
        "transactions waiting elsewhere: none when approved, nonce 7, 8 now"
    ]
