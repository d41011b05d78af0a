"""From a request to what may be shown: one transaction or steps, tried twice, and payable."""

from __future__ import annotations

from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, cast

import pytest
from msgspec.structs import replace

from chain.base.store import Store
from chain.contracts.delegation import DELEGATION_MANAGER
from chain.contracts.networks import NATIVE, network_named
from chain.contracts.pool_key import PoolKey
from chain.execution.build.facts import ChainFacts, FeeCaps, InsufficientBalanceError, PoolFacts
from chain.execution.build.gas_bill import GasBill
from chain.execution.build.requests import CancelOrdersRequest, DelegateRequest, SwapRequest
from chain.execution.build.sizing import price_band
from chain.execution.outbox.delivery import Route
from chain.execution.policy.policy import PolicyRefused
from chain.execution.simulate import Simulation, StepOutcome
from chain.positions.overview import Sources
from chain.tokens import Token
from tests.agents.monitor.made_up_positions import KEY, block, position
from tests.zuno_tui.gate.test_approvals import ONE, TWO, WALLET
from tests.zuno_tui.gate.test_drift import BEFORE
from tests.zuno_tui.gate.test_dry_run import ACTION, PREPARED, SWAP
from zuno_tui.gate import prepare as preparing
from zuno_tui.gate.actions.action import ActionTarget, subject_of
from zuno_tui.gate.agreement import Connections, Witness
from zuno_tui.gate.contract_code import CodeHashes
from zuno_tui.gate.drift import PriceLimits
from zuno_tui.gate.limits import gate_limits
from zuno_tui.gate.prepare import (
    PlanForm,
    _built,
    _code_hashes,
    _payable,
    _policy_context,
    _tried,
    plan_form,
    refuse_failing,
)
from zuno_tui.gate.refusal import GateRefusedError, RefusalCode
from zuno_tui.settings.schema import LimitsTable

if TYPE_CHECKING:
    from zuno_tui.gate.limits import Transactions

BASE = network_named("base")
DELEGATE = str(BASE.contracts.delegate)
NONE = frozenset[str]()
KNOWN = CodeHashes({DELEGATE: "0xaa"}, {DELEGATE: "0xaa"}, NONE, NONE)
OTHER = CodeHashes({DELEGATE: "0xbb"}, {DELEGATE: "0xaa"}, NONE, NONE)
TAXING = PoolKey(KEY.currency0, KEY.currency1, 3_000, 10, "0x" + "00" * 18 + "0101")
"""Its hook may change what a position is paid out."""
TAXED = replace(ACTION, subject=ActionTarget(block(100), PoolFacts(TAXING, 5, 500)))
OK = StepOutcome("exit", True, 100_000, {ONE: 5}, None)


def _sources() -> Sources:
    return Sources(cast("Any", None), BASE, Store.in_memory(), None, lambda: 5_000.0)


@pytest.mark.parametrize(
    ("code", "codes", "wanted", "form"),
    [
        (DELEGATE, KNOWN, "auto", PlanForm(True)),
        (DELEGATE, KNOWN, "one", PlanForm(True)),
        (DELEGATE, KNOWN, "steps", PlanForm(False)),
        (None, KNOWN, "auto", PlanForm(False)),
        (None, KNOWN, "steps", PlanForm(False)),
        (None, KNOWN, "one", None),
        (TWO, KNOWN, "auto", PlanForm(False, preparing._OTHER_CODE)),
        (TWO, KNOWN, "one", None),
        (DELEGATE, OTHER, "auto", PlanForm(False, preparing._OTHER_CODE)),
        (DELEGATE, OTHER, "one", None),
    ],
)
def test_an_account_that_runs_known_code_sends_one_transaction(
    code: str | None, codes: CodeHashes, wanted: Transactions, form: PlanForm | None
) -> None:
    if form is None:
        with pytest.raises(GateRefusedError, match="zuno wallet delegate"):
            plan_form(BASE, code, ACTION, codes, wanted)
    else:
        assert plan_form(BASE, code, ACTION, codes, wanted) == form
    bare = replace(BASE, contracts=replace(BASE.contracts, delegate=None))
    assert wanted == "one" or not plan_form(bare, code, ACTION, codes, wanted).as_one


def test_what_a_hook_may_keep_is_left_in_steps() -> None:
    form = plan_form(BASE, DELEGATE, TAXED, KNOWN, "auto")
    assert (form.as_one, "hook may keep" in form.why) == (False, True)
    assert plan_form(BASE, DELEGATE, TAXED, KNOWN, "steps") == PlanForm(False)


def test_the_first_step_that_fails_is_named() -> None:
    bad = StepOutcome("enter", False, 1, {}, "too little")
    refuse_failing(Simulation("eth_simulateV1", (OK, OK), ()))
    with pytest.raises(GateRefusedError, match="open fails: too little") as refused:
        refuse_failing(Simulation("eth_simulateV1", (OK, bad), ()))
    assert refused.value.code is RefusalCode.TRIAL_FAILS


async def test_what_is_signed_was_tried_with_the_gas_it_has(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    built, limited = PREPARED.built, replace(PREPARED.built, deadline=1)
    trials, tried = list[Simulation](), list[object]()

    async def simulate(_: object, transactions: object, at: str, tokens: object) -> Simulation:
        assert (at, tokens) == ("0xb1", (ONE,))
        tried.append(transactions)
        return trials.pop(0)

    def with_gas(given: object, gas: list[int]) -> object:
        assert (given, gas) == (built, [100_000])
        return limited

    monkeypatch.setattr(preparing, "simulate_whole", simulate)
    monkeypatch.setattr(preparing, "with_gas", with_gas)
    whole = Simulation("eth_simulateV1", (OK,), ())
    second = replace(whole, steps=(replace(OK, gas_used=90_000),))
    failing = replace(whole, steps=(replace(OK, success=False),))
    alone = replace(whole, method="eth_call")

    trials[:] = [whole, second]
    assert await _tried((), built, "0xb1", (ONE,)) == (limited, second)
    assert len(tried) == 2
    trials[:] = [alone]
    assert await _tried((), built, "0xb1", (ONE,)) == (built, alone)
    for sequence in ([failing], [whole, failing]):
        trials[:] = sequence
        with pytest.raises(GateRefusedError):
            await _tried((), built, "0xb1", (ONE,))


@pytest.mark.parametrize(
    ("held", "said"),
    [(12, None), (13, None), (11, "this step may cost up to 1e-17 ETH, and 2e-18 ETH is sent")],
)
async def test_gas_and_what_is_sent_along_must_be_there(
    monkeypatch: pytest.MonkeyPatch, held: int, said: str | None
) -> None:
    bill = GasBill(10)

    async def whole_gas(*_: object) -> object:
        return PREPARED.built, bill

    monkeypatch.setattr(preparing, "with_whole_gas", whole_gas)
    monkeypatch.setattr(preparing, "coin_needed", lambda *_: 12)
    monkeypatch.setattr(preparing, "with_worth", lambda *_: "with worth")
    facts = cast("ChainFacts", SimpleNamespace(balances={NATIVE: held}))
    asked = (_sources(), ACTION, facts, PREPARED.built, PREPARED.simulation)
    if said is None:
        assert cast("Any", await _payable(*asked)) == (PREPARED.built, "with worth")
        return
    with pytest.raises(GateRefusedError, match=said) as refused:
        await _payable(*asked)
    assert refused.value.code is RefusalCode.GAS_SHORT
    assert "1.1e-17 ETH, 1e-18 ETH too little" in str(refused.value)
    monkeypatch.setattr(preparing, "coin_needed", lambda *_: 10)
    poor = cast("ChainFacts", SimpleNamespace(balances={NATIVE: 9}))
    with pytest.raises(GateRefusedError) as short:
        await _payable(_sources(), ACTION, poor, PREPARED.built, PREPARED.simulation)
    assert "sent along" not in str(short.value)


async def test_a_wallet_that_holds_too_little_is_told_how_much(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    given = list[object]()

    def build(request: object, facts: object, **more: object) -> object:
        given.append((request, more))
        if len(given) > 2:
            raise InsufficientBalanceError(ONE, 3, 5)
        return "built"

    async def tokens_at(_: object, tokens: object, at: str) -> object:
        assert (tokens, at) == ([ONE], ACTION.subject.block.hash)
        return {ONE: Token(ONE, "ONE", 0, verified=True, suspicious=False)}

    monkeypatch.setattr(preparing, "build", build)
    monkeypatch.setattr(preparing, "tokens_at", tokens_at)
    facts = cast("ChainFacts", None)
    assert cast("Any", await _built(_sources(), ACTION, facts)) == "built"
    assert cast("Any", await _built(_sources(), ACTION, facts, as_one=True)) == "built"
    assert given == [
        (ACTION.request, {"as_one": False, "cancels": ()}),
        (ACTION.request, {"as_one": True, "cancels": ()}),
    ]
    with pytest.raises(GateRefusedError, match="holds 3 ONE, and this may take 5 ONE"):
        await _built(_sources(), ACTION, facts)


@pytest.mark.parametrize(
    ("action", "code", "is_lent"),
    [
        (ACTION, None, False),
        (ACTION, DELEGATE, True),
        (replace(ACTION, cancels=cast("Any", ("order",))), None, True),
        (replace(ACTION, request=DelegateRequest(DELEGATE)), None, True),
        (replace(ACTION, request=cast("Any", CancelOrdersRequest)()), None, True),
        (TAXED, None, False),
    ],
)
async def test_all_code_that_a_plan_leads_to_is_read_and_uniswaps_is_checked(
    monkeypatch: pytest.MonkeyPatch, action: Any, code: str | None, is_lent: bool
) -> None:
    asked, pins = list[Any](), Store.in_memory()

    async def read(_: object, called: object, at: str, *, pins: Store) -> CodeHashes:
        asked.append((called, at, pins))
        return KNOWN

    monkeypatch.setattr(preparing, "read_code_hashes", read)
    monkeypatch.setattr(preparing, "refuse_other_protocol", lambda *given: asked.append(given))

    assert await _code_hashes(_sources(), action, code, pins) is KNOWN

    (called, at, kept), checked = asked
    assert (at, kept, checked) == (action.subject.block.hash, pins, (BASE, KNOWN))
    assert {ONE, TWO} <= set(called)
    assert (DELEGATION_MANAGER in called) is is_lent
    assert (TAXING.hooks in called) is (action is TAXED)
    assert NATIVE not in called


def test_the_policy_judges_by_what_was_built_on() -> None:
    limits = gate_limits(LimitsTable(value_usd=1_000), BASE)
    facts = cast("ChainFacts", SimpleNamespace(sender=WALLET, head_time=77, nonce=3))
    other = PoolFacts(TAXING, 5, 500)
    quotes = cast("Any", SimpleNamespace(pool=other))
    swapping = replace(
        ACTION,
        request=SwapRequest(PoolFacts(KEY, 5, 500), SWAP),
        quotes=quotes,
        usd_per_wei=2_500 / 10**18,
    )

    plain = _policy_context(_sources(), ACTION, facts, KNOWN, limits, notional_today=5)
    swaps = _policy_context(_sources(), swapping, facts, KNOWN, limits, notional_today=5)

    assert (plain.owner, plain.head_time, plain.nonce) == (WALLET, 77, 3)
    assert (plain.notional_today, plain.quotes, plain.tokens) == (5, (), frozenset({ONE, TWO}))
    assert (plain.code_hashes, plain.pinned_code_hashes) == (KNOWN.now, KNOWN.pinned)
    assert plain.positions == subject_of(position(0)).positions
    assert [pool.key for pool in plain.pools.values()] == [KEY]
    assert [pool.key for pool in swaps.pools.values()] == [KEY, TAXING]
    assert swaps.quotes == (SWAP,)
    assert (plain.limits, swaps.limits) == (limits.at_price(None), limits.at_price(2_500 / 10**18))


@pytest.fixture
def prepared(monkeypatch: pytest.MonkeyPatch) -> SimpleNamespace:
    """Each part of preparing as a test wants it."""
    made = SimpleNamespace(form=PlanForm(True), gas=15_000_000, others=(), verdict=None, built=[])
    facts = made_up_facts()

    async def read_facts(*_: object) -> object:
        return facts

    async def fees(*_: object) -> FeeCaps:
        return FeeCaps(77, 7)

    async def circumstances(*_: object) -> object:
        return replace(BEFORE, account_code="0x63")

    async def codes(*_: object) -> CodeHashes:
        return KNOWN

    async def built(*_: object, as_one: bool = False) -> object:
        made.built.append(as_one)
        return PREPARED.built

    async def tried(_: object, given: Any, *__: object) -> object:
        first = replace(given.transactions[0], gas=made.gas)
        others = tuple(replace(first, gas=gas) for gas in made.others)
        return replace(given, transactions=(first, *others)), PREPARED.simulation

    async def payable(*given: object) -> object:
        return given[3], GasBill(5)

    for name, fake in (
        ("read_chain_facts", read_facts),
        ("agreed_fees", fees),
        ("read_circumstances", circumstances),
        ("_code_hashes", codes),
        ("_built", built),
        ("_tried", tried),
        ("_payable", payable),
        ("plan_form", lambda *_: made.form),
        ("check", lambda _, context: made.verdict or SimpleNamespace(notional=context.nonce)),
    ):
        monkeypatch.setattr(preparing, name, fake)
    return made


def made_up_facts() -> ChainFacts:
    return ChainFacts(BASE, WALLET, 0, 3, FeeCaps(1, 1), {}, {})


async def _prepare(action: Any = ACTION) -> Any:
    base_time = replace(action.subject.block, timestamp=4_000, gas_limit=30_000_000)
    return await preparing.prepare(
        _sources(),
        Connections(Route(cast("Any", None))),
        replace(action, subject=replace(action.subject, block=base_time)),
        WALLET,
        limits=gate_limits(LimitsTable(daily_usd=1_000), BASE),
        notional_today=0,
        pins=Store.in_memory(),
    )


async def test_what_may_be_shown_holds_for_ten_minutes_and_within_its_prices(
    prepared: SimpleNamespace,
) -> None:
    found = await _prepare()

    band = price_band(position(0).pool.sqrt_price_x96, PREPARED.built.tolerance.slippage_bips)
    assert (found.now, found.bounds.expires_at, found.bounds.max_fee_per_gas) == (5_000, 5_600, 77)
    assert (found.bounds.lowest_sqrt_price, found.bounds.highest_sqrt_price) == (
        band.lowest,
        band.highest,
    )
    assert (found.facts.head_time, found.facts.fees) == (4_000, FeeCaps(77, 7))
    assert (found.notional, found.daily_limit, found.gas) == (3, 1_000_000_000, GasBill(5))
    assert (found.codes, found.in_steps) == (KNOWN, "")
    several = replace(ACTION, subject=subject_of(position(0), position(0, number=8)))
    assert (await _prepare(several)).bounds.others == (PriceLimits(band.lowest, band.highest),)
    bare = await _prepare(replace(ACTION, subject=ActionTarget(block(100))))
    assert (bare.bounds.lowest_sqrt_price, bare.bounds.highest_sqrt_price) == (0, 0)


@pytest.mark.parametrize(
    ("as_one", "gas", "is_split"),
    [(True, 15_000_000, False), (True, 15_000_001, True), (False, 15_000_001, False)],
)
async def test_a_batch_takes_half_a_block_at_most(
    prepared: SimpleNamespace, as_one: bool, gas: int, is_split: bool
) -> None:
    prepared.form, prepared.gas = PlanForm(as_one), gas
    found = await _prepare()
    assert prepared.built == [as_one, *([False] if is_split else [])]
    assert ("too much of a block's gas" in found.in_steps) is is_split
    prepared.form, prepared.gas, prepared.others = PlanForm(as_one, "why not"), 21_000, (gas,)
    assert ((await _prepare()).in_steps == "why not") is not is_split


async def test_what_the_policy_refuses_is_not_shown(prepared: SimpleNamespace) -> None:
    prepared.verdict = PolicyRefused(("it is too much",))
    with pytest.raises(GateRefusedError, match="it is too much") as refused:
        await _prepare()
    assert refused.value.code is RefusalCode.POLICY


async def test_a_chain_without_a_base_fee_is_paid_by_the_tip(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    tips = [5, 9]

    async def tip(*_: object) -> int:
        return tips.pop(0)

    monkeypatch.setattr(preparing, "_tip", tip)
    witnesses = [Witness(name, cast("Any", None)) for name in "ab"]
    free = replace(block(100), base_fee_per_gas=None)
    assert await preparing.agreed_fees(witnesses, free, FeeCaps(1, 1)) == FeeCaps(5, 5)


def test_one_hook_that_may_keep_a_part_is_enough() -> None:
    first = position(0)
    taxed = replace(position(0, number=8), pool=replace(first.pool, key=TAXING))
    both = replace(ACTION, subject=subject_of(first, taxed))
    assert not plan_form(BASE, DELEGATE, both, KNOWN, "auto").as_one
