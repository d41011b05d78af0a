"""What an approval stands for: kept whole, used once, here, and within the day's limit."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any, cast

import pytest
from msgspec.structs import replace

from chain.base.units import DAY
from chain.contracts import calldata
from chain.contracts.networks import NATIVE, network_named
from chain.execution.outbox.approvals import ActKind, GivenApproval
from chain.execution.outbox.journal import OutboxError
from chain.execution.outbox.outbox import Outbox
from chain.execution.outbox.records import Anchor, PlannedDispatch, PlannedStep
from chain.execution.policy.policy import VERSION
from chain.execution.transaction import SignedTransaction, UnsignedTransaction
from chain.protocols.reference import v4_position
from tests.agents.monitor.made_up_positions import KEY
from tests.zuno_tui.gate.test_drift import BEFORE, BOUNDS
from zuno_tui.gate.actions.action import TargetKind
from zuno_tui.gate.acts import make_given_approval
from zuno_tui.gate.apply import ShownSigner, unused_approval
from zuno_tui.gate.approvals import (
    Approval,
    approval_in,
    notional_of_today,
    read_approval,
    refuse_past_the_day,
    refuse_tampered,
    seal_again,
    unread_approval,
)
from zuno_tui.gate.drift import OtherPosition, PriceLimits
from zuno_tui.gate.refusal import GateRefusedError, RefusalCode

BASE = network_named("base")
WALLET, ONE, TWO = "0x" + "aa" * 20, "0x" + "11" * 20, "0x" + "22" * 20
UNTIL = 1_700_000_600
GIVEN_AT = BOUNDS.expires_at - 600.0
EXIT = UnsignedTransaction(
    chain_id=BASE.chain_id,
    sender=WALLET,
    to=BASE.contracts.position_manager,
    value=0,
    data=calldata.modify_liquidities(
        [calldata.Burn(7, 1, 2), calldata.TakePair(NATIVE, ONE, WALLET)], UNTIL
    ),
    gas=200_000,
    max_fee_per_gas=2 * 10**9,
    max_priority_fee_per_gas=10**6,
    nonce=3,
    step="exit",
)
OTHER = OtherPosition(v4_position(8), WALLET, 5, "0x" + "77" * 32, None, None, 3 << 96, 500)
UNSEALED = Approval(
    hash="",
    plan_id="plan_7",
    about=TargetKind(v4_position(7), others=(v4_position(8),)),
    headline="Close #7",
    tokens=(NATIVE, ONE),
    before=replace(BEFORE, others=(OTHER,)),
    bounds=replace(BOUNDS, others=(PriceLimits(1, 2),)),
    quoted={NATIVE: 5, ONE: -(2**70)},
    notional=1_500_000,
    simulated="0xabc",
    warnings=("A hook keeps 1%.",),
    kept={ONE: 10_000},
    untold=(ONE,),
    daily_limit=4_000_000,
    codes={ONE: "0xcc"},
    gas_exceeds=False,
    policy=VERSION,
)


@pytest.fixture
def outbox(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Outbox]:
    """On a machine of its own, which has a key of its own for approvals."""
    (tmp_path / "run").mkdir(mode=0o700)
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path / "run"))
    with Outbox.in_memory() as opened:
        yield opened


def _planned(
    outbox: Outbox, approval: Approval = UNSEALED, step: UnsignedTransaction = EXIT
) -> Approval:
    """As approving writes it: sealed, planned, kept and tagged."""
    plan = PlannedDispatch(
        hash="",
        plan_id=approval.plan_id,
        anchor=Anchor(100, "0x" + "b1" * 32),
        steps=(PlannedStep(step, "nothing happened", UNTIL),),
    )
    with Outbox.in_memory() as draft:
        sealed = seal_again(draft.plan(plan, now=0), approval.terms)
    outbox.plan(replace(plan, hash=sealed), now=0)
    kept = replace(approval, hash=sealed)
    outbox.give(_given(kept))
    return kept


def _given(kept: Approval) -> GivenApproval:
    return make_given_approval(ActKind.PLAN, kept.plan_id, kept.hash, kept.terms, now=GIVEN_AT)


def _applied(outbox: Outbox, approval: Approval, at: float) -> None:
    outbox.approve(approval.hash, now=at, given=replace(_given(approval), given_at=at))
    outbox.consume(approval.hash, now=at)


def _used(approval: Approval, amount: int, nonce: int) -> tuple[Approval, UnsignedTransaction]:
    plan_id = f"plan_{nonce}"
    return replace(approval, plan_id=plan_id, notional=amount), replace(EXIT, nonce=nonce)


def test_an_approval_is_read_as_it_was_kept(outbox: Outbox) -> None:
    kept = _planned(outbox)

    assert read_approval(outbox, kept.hash) == kept
    assert approval_in(outbox, _given(kept)) == kept
    bare = replace(
        kept,
        hash="bare",
        about=TargetKind(pool=KEY),
        quoted=None,
        daily_limit=None,
        before=replace(BEFORE, owner=None),
        bounds=BOUNDS,
    )
    outbox.give(_given(bare))
    assert read_approval(outbox, "bare") == bare
    alone = replace(bare, hash="alone", about=TargetKind())
    outbox.give(_given(alone))
    assert read_approval(outbox, "alone") == alone


def test_the_words_that_are_hashed_are_these() -> None:
    """Another spelling of the same would make every approval that waits one that was changed."""
    terms = UNSEALED.terms

    assert terms["about"] == {"tokenId": "7", "pool": None, "others": ["8"]}
    assert terms["quoted"] == {NATIVE: "5", ONE: str(-(2**70))}
    assert (terms["notional"], terms["dailyLimit"], terms["kept"]) == (
        "1500000",
        "4000000",
        {ONE: "10000"},
    )
    before = cast("dict[str, Any]", terms["before"])
    assert (before["nonce"], before["subscriber"]) == ("7", None)
    assert before["others"] == [
        {
            "token_id": "8",
            "owner": WALLET,
            "liquidity": "5",
            "pool_id": OTHER.pool_id,
            "hook_code": None,
            "subscriber": None,
            "sqrt_price_x96": str(3 << 96),
            "pool_fee": "500",
        }
    ]
    assert "others" not in cast("dict[str, Any]", replace(UNSEALED, before=BEFORE).terms["before"])
    pool = replace(UNSEALED, about=TargetKind(pool=KEY), quoted=None, daily_limit=None).terms
    assert pool["about"] == {"tokenId": None, "pool": list(KEY.values)}
    assert (pool["quoted"], pool["dailyLimit"]) == (None, None)


@pytest.mark.parametrize(
    "changed",
    [
        {"plan_id": "plan_8"},
        {"about": TargetKind(v4_position(7))},
        {"headline": "Collect #7"},
        {"tokens": (NATIVE,)},
        {"before": BEFORE},
        {"bounds": BOUNDS},
        {"quoted": None},
        {"notional": 0},
        {"simulated": "0xabd"},
        {"warnings": ()},
        {"kept": {ONE: 10_001}},
        {"untold": ()},
        {"daily_limit": None},
        {"codes": {}},
        {"gas_exceeds": True},
    ],
    ids=lambda changed: next(iter(changed)),
)
def test_whatever_of_an_approval_is_changed_on_disk_it_is_refused(
    outbox: Outbox, changed: dict[str, Any]
) -> None:
    kept = _planned(outbox)
    dispatch = outbox.dispatch(kept.hash)
    refuse_tampered(kept, dispatch, _given(kept))
    with pytest.raises(GateRefusedError) as refused:
        refuse_tampered(replace(kept, **changed), dispatch, _given(kept))
    assert refused.value.code is RefusalCode.CHANGED_ON_DISK


@pytest.mark.parametrize(
    "changed",
    [
        {"value": 1},
        {"to": TWO},
        {"nonce": 4},
        {"gas": 200_001},
        {"max_fee_per_gas": 3 * 10**9},
        {"max_priority_fee_per_gas": 10**6 + 1},
        {"chain_id": 1},
        {"data": b"\x01\x02"},
        {"data": EXIT.data.replace(bytes.fromhex("aa" * 20), bytes.fromhex("66" * 20))},
    ],
)
def test_whatever_of_its_bytes_is_changed_on_disk_it_is_refused(
    outbox: Outbox, changed: dict[str, Any]
) -> None:
    kept = _planned(outbox)
    dispatch = outbox.dispatch(kept.hash)
    step = dispatch.steps[0]
    for other in (
        replace(dispatch, steps=(replace(step, transaction=replace(EXIT, **changed)),)),
        replace(dispatch, steps=(replace(step, deadline=UNTIL + 1),)),
        replace(dispatch, steps=(step, step)),
        replace(dispatch, private_host="elsewhere"),
        replace(dispatch, anchor=Anchor(100, "0x" + "b2" * 32)),
    ):
        with pytest.raises(GateRefusedError) as refused:
            refuse_tampered(kept, other, _given(kept))
        assert refused.value.code is RefusalCode.CHANGED_ON_DISK


def test_an_approval_in_another_form_is_said_to_be_older_or_newer(outbox: Outbox) -> None:
    whole = UNSEALED.terms
    older = {name: value for name, value in whole.items() if name != "gasExceeds"}
    kinds = {
        "nothing": {},
        "damaged": {**whole, "notional": "much"},
        "older": older,
        "newer": {**whole, "mood": "good"},
        "other": {**older, "mood": "good"},
    }
    for name, terms in kinds.items():
        outbox.give(GivenApproval(name, ActKind.PLAN, "plan_7", GIVEN_AT, terms))
    said = {name: unread_approval(outbox, name).split(" ")[0] for name in kinds}

    assert said == {
        "nothing": "What",
        "damaged": "What",
        "older": "An",
        "newer": "A",
        "other": "An",
    }
    assert [read_approval(outbox, name) for name in ("nothing", "damaged", "older")] == [None] * 3
    with pytest.raises(GateRefusedError, match=r"An older zuno.*Approve again"):
        approval_in(outbox, GivenApproval("older", ActKind.PLAN, "plan_7", GIVEN_AT))


def test_plans_that_were_applied_within_a_day_count_together(outbox: Outbox) -> None:
    now = 10 * DAY
    for nonce, (amount, at) in enumerate(
        ((1_000_000, now - DAY), (2_000_000, now - DAY + 1), (500_000, now))
    ):
        approval, step = _used(UNSEALED, amount, nonce)
        _applied(outbox, _planned(outbox, approval, step), at)
    _planned(outbox, *_used(UNSEALED, 7_000_000, 9))

    assert notional_of_today(outbox, now) == 2_500_000


@pytest.mark.parametrize(
    ("limit", "amount", "is_refused"),
    [
        (None, 10**12, False),
        (4_000_000, 1_500_000, False),
        (4_000_000, 1_500_001, True),
        (1_000_000, 0, False),
        (0, 1, True),
    ],
)
def test_the_plan_that_goes_past_the_days_limit_is_refused(
    outbox: Outbox, limit: int | None, amount: int, is_refused: bool
) -> None:
    approval, step = _used(UNSEALED, 2_500_000, 1)
    _applied(outbox, _planned(outbox, approval, step), 100.0)
    asked = replace(UNSEALED, daily_limit=limit, notional=amount)
    if is_refused:
        with pytest.raises(OutboxError, match="past the day's limit"):
            refuse_past_the_day(outbox, asked, 200.0)
    else:
        refuse_past_the_day(outbox, asked, 200.0)


def test_an_approval_is_used_once_by_its_own_hash_where_it_was_given(
    outbox: Outbox, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    earlier = _planned(outbox, replace(UNSEALED, headline="Close #7 before"))
    kept = _planned(outbox)
    other = _planned(outbox, replace(UNSEALED, plan_id="plan_9"))

    said = dict[str | None, str]()

    def code(confirmed: str | None, plan_id: str | None = "plan_7") -> RefusalCode | None:
        try:
            approval, dispatch = unused_approval(outbox, plan_id, confirmed)
        except GateRefusedError as error:
            said[confirmed] = str(error)
            return error.code
        assert dispatch == outbox.dispatch(approval.hash)
        assert approval == (other if plan_id is None else kept)
        return None

    assert (code(None), code(kept.hash), code(other.hash, None)) == (None, None, None)
    for confirmed in (earlier.hash, other.hash, "ab" * 32, ""):
        assert code(confirmed) is RefusalCode.ANOTHER_HASH
    assert "earlier approval of plan_7" in said[earlier.hash]
    assert "belongs to plan_9, not to plan_7" in said[other.hash]
    assert "Nothing with that hash" in said["ab" * 32]
    with monkeypatch.context() as elsewhere:
        (tmp_path / "elsewhere").mkdir(mode=0o700)
        elsewhere.setenv("XDG_RUNTIME_DIR", str(tmp_path / "elsewhere"))
        assert code(None) is RefusalCode.NOT_APPROVED_HERE
    for changed in ({"terms": {**kept.terms, "notional": "0"}}, {"given_at": GIVEN_AT + 1}):
        outbox.give(replace(_given(kept), **changed))
        assert code(None) is RefusalCode.CHANGED_ON_DISK
    _applied(outbox, kept, 1.0)
    assert code(None) is RefusalCode.ALREADY_APPLIED


class _Pen:
    address = WALLET

    def sign(self, transaction: UnsignedTransaction, /) -> SignedTransaction:
        return SignedTransaction(transaction, b"signed", "0x01")


def test_only_what_was_shown_is_signed() -> None:
    signer = ShownSigner(_Pen(), frozenset({EXIT}))

    assert signer.sign(EXIT) == SignedTransaction(EXIT, b"signed", "0x01")
    with pytest.raises(OutboxError, match="is not what was shown"):
        signer.sign(replace(EXIT, value=1))
