"""Batches of a delegated account: read back whole, judged call by call, refused where changed."""

from collections.abc import Iterator
from functools import cache
from itertools import pairwise
from random import Random

import pytest
from msgspec.structs import replace

from chain.contracts.delegation import (
    SIMPLE_ACCOUNT,
    BatchCall,
    BatchForm,
    delegate_in,
    delegated_code,
    execute_batch,
)
from chain.execution.build.builder import build
from chain.execution.decode.decoder import decode, encode_call, single_calls
from chain.execution.decode.parties import mentions_of, parties_of
from chain.execution.plan.context import PolicyContext
from chain.execution.plan.reading import DecodingError
from chain.execution.plan.records import Batch, DecodedStep, Permit2Approval, TokenApproval
from chain.execution.plan.requests import DelegateRequest, RevokeRequest
from chain.execution.policy.policy import Allowed, check
from chain.execution.transaction import Authorization, UnsignedTransaction
from tests.chain.execution.made_up_plans import (
    NETWORK,
    PINNED,
    MadeUpPlan,
    context_of,
    made_up_plan,
)
from tests.printed import printed

SEEDS = 30
ZERO = "0x" + "00" * 20


def lent(context: PolicyContext, form: BatchForm = "execute") -> PolicyContext:
    """The same for an account that carries out batches."""
    delegate = str(context.network.contracts.delegate)
    if form == "executeBatch":
        delegate = SIMPLE_ACCOUNT.address
    return replace(
        context,
        delegate=delegate,
        code_hashes={**context.code_hashes, delegate: PINNED},
        pinned_code_hashes={**context.pinned_code_hashes, delegate: PINNED},
    )


@cache
def batches() -> tuple[tuple[MadeUpPlan, UnsignedTransaction, PolicyContext], ...]:
    """Of made-up plans those that take more than one step and may be signed."""
    return tuple(_batches())


def _batches() -> Iterator[tuple[MadeUpPlan, UnsignedTransaction, PolicyContext]]:
    for seed in range(SEEDS):
        plan = made_up_plan(seed)
        form: BatchForm = ("execute", "executeBatch")[seed % 2]
        (first, *more) = build(plan.request, plan.facts, as_one=form).transactions
        context = context_of(plan.request, plan.facts)
        steps = [decode(each) for each in plan.built.transactions]
        if not more and first.step == "batch" and isinstance(check(steps, context), Allowed):
            yield plan, first, lent(context, form)


def allowed(transaction: UnsignedTransaction, context: PolicyContext) -> bool:
    try:
        step = decode(transaction)
    except DecodingError:
        return False
    return isinstance(check([step], context), Allowed)


def calls_in(step: DecodedStep) -> list[BatchCall]:
    assert isinstance(step.call, Batch)
    return [BatchCall(each.to, each.value, encode_call(each.call)) for each in step.call.calls]


def test_a_batch_is_the_steps_of_the_plan_and_takes_their_permissions_back() -> None:
    seen = 0
    for plan, batch, context in batches():
        seen += 1
        in_steps = [decode(each) for each in plan.built.transactions]
        singles = single_calls([decode(batch)])
        taken_back = singles[len(in_steps) :]
        given = [one.call for one in in_steps if isinstance(one.call, TokenApproval)]

        assert [one.call for one in singles[: len(in_steps)]] == [one.call for one in in_steps]
        assert all(
            isinstance(one.call, TokenApproval | Permit2Approval) and one.call.amount == 0
            for one in taken_back
        )
        assert sum(isinstance(one.call, TokenApproval) for one in taken_back) == sum(
            one.amount > 0 for one in given
        )
        assert (batch.to, batch.value) == (plan.facts.sender, 0)
        assert allowed(batch, context), check([decode(batch)], context)
        assert parties_of([decode(batch)]).batched == len(singles)
        assert (
            mentions_of([decode(batch)], NETWORK).positions
            == mentions_of(in_steps, NETWORK).positions
        )
    printed(f"batches: {seen} of {SEEDS} plans, each the plan's own steps")
    assert seen > SEEDS // 5


@pytest.mark.parametrize("every", [pytest.param(1, marks=pytest.mark.soak), 10])
def test_nothing_of_a_batch_can_be_changed(every: int) -> None:
    draw, tried = Random(29), 0
    for plan, batch, context in batches()[::every]:
        for changed in _changes(plan, batch, draw):
            tried += 1
            assert changed != batch
            assert not allowed(changed, context), [
                (one.transaction.to, one.call) for one in single_calls([decode(changed)])
            ]
    printed(f"batches: {tried} changed ones refused")
    assert tried > 400 // every


def _changes(
    plan: MadeUpPlan, batch: UnsignedTransaction, draw: Random
) -> Iterator[UnsignedTransaction]:
    calls = calls_in(decode(batch))
    stranger = f"0x{draw.getrandbits(160):040x}"
    chain_id = batch.chain_id
    yield replace(batch, to=stranger)
    yield replace(batch, to=calls[0].to)
    yield replace(batch, value=1)
    yield replace(batch, sender=stranger)
    yield replace(batch, chain_id=chain_id + 1)
    yield replace(batch, nonce=batch.nonce + 1)
    yield replace(batch, gas=10**9)
    yield replace(batch, authorization=Authorization(chain_id, stranger, batch.nonce + 1))
    if _form(batch) == "execute":
        # The mode: one call only, or going on where one fails.
        for mode in (bytes(32), bytes([1, 1]) + bytes(30), bytes([255]) + bytes(31)):
            yield replace(batch, data=batch.data[:4] + mode + batch.data[36:])
    # Another delegate's call, which this account's code would take and not carry out.
    other_form: BatchForm = "executeBatch" if _form(batch) == "execute" else "execute"
    yield replace(batch, data=execute_batch(calls, other_form))
    yield replace(batch, data=batch.data + bytes(32))
    yield replace(batch, data=batch.data[:-32])
    for place, call in enumerate(calls):
        for other in (
            call._replace(to=stranger),
            call._replace(to=plan.facts.sender),
            call._replace(value=call.value + 2**200),
            call._replace(data=call.data[:-1]),
            call._replace(data=b""),
        ):
            yield _with(batch, [*calls[:place], other, *calls[place + 1 :]])
        yield _with(batch, [*calls, BatchCall(stranger, 1, b"")])
    if isinstance(plan.request, RevokeRequest):
        return  # what is only taken back may be so in any order
    for place, (one, other) in enumerate(pairwise(calls)):
        if one != other:
            yield _with(batch, [*calls[:place], other, one, *calls[place + 2 :]])


def _with(batch: UnsignedTransaction, calls: list[BatchCall]) -> UnsignedTransaction:
    return replace(batch, data=execute_batch(calls, _form(batch)))


def _form(batch: UnsignedTransaction) -> BatchForm:
    call = decode(batch).call
    assert isinstance(call, Batch)
    return call.form


def test_permissions_alone_may_be_taken_back_in_any_order() -> None:
    tried = 0
    for plan, batch, context in batches():
        if isinstance(plan.request, RevokeRequest):
            assert allowed(_with(batch, calls_in(decode(batch))[::-1]), context), plan
            tried += 1
    assert tried


@pytest.mark.parametrize("form", ["execute", "executeBatch"])
@pytest.mark.parametrize("delegate", [None, "0x" + "99" * 20])
def test_an_account_that_runs_other_code_sends_no_batch(
    delegate: str | None, form: BatchForm
) -> None:
    _, batch, context = next(each for each in batches() if _form(each[1]) == form)
    known = str(context.delegate)

    assert allowed(batch, context)
    assert not allowed(batch, replace(context, delegate=delegate))
    spoilt = {**context.code_hashes, known: "0x" + "ee" * 32}
    assert not allowed(batch, replace(context, code_hashes=spoilt))
    unread = {each: code for each, code in context.code_hashes.items() if each != known}
    assert not allowed(batch, replace(context, code_hashes=unread))


def test_a_batch_stands_alone_in_its_plan() -> None:
    _, batch, context = batches()[0]
    twice = [decode(batch), decode(replace(batch, nonce=batch.nonce + 1))]

    assert not isinstance(check(twice, context), Allowed)


@pytest.mark.parametrize("form", ["execute", "executeBatch"])
def test_an_account_is_lent_to_the_known_code_alone_on_one_chain(form: BatchForm) -> None:
    plan = made_up_plan(7)
    there = lent(context_of(plan.request, plan.facts), form)
    delegate = str(there.delegate)
    (lending,) = build(DelegateRequest(delegate), plan.facts).transactions
    (taking,) = build(DelegateRequest(ZERO), plan.facts).transactions
    plain = replace(there, delegate=None)

    assert allowed(lending, plain)
    assert not allowed(lending, there)
    assert allowed(taking, there)
    assert not allowed(taking, plain)
    given = lending.authorization
    assert given == Authorization(lending.chain_id, delegate, lending.nonce + 1)
    for changed in (
        replace(given, chain_id=0),
        replace(given, chain_id=given.chain_id + 1),
        replace(given, delegate="0x" + "99" * 20),
        replace(given, nonce=given.nonce - 1),
        replace(given, nonce=given.nonce + 1),
    ):
        assert not allowed(replace(lending, authorization=changed), plain)
    for other in (
        replace(lending, to="0x" + "99" * 20),
        replace(lending, value=1),
        replace(lending, data=b"\x01"),
        replace(lending, authorization=None),
    ):
        assert not allowed(other, plain)
    spoilt = {**plain.code_hashes, delegate: "0x" + "ee" * 32}
    assert not allowed(lending, replace(plain, code_hashes=spoilt))


def test_what_a_node_shows_of_a_delegated_account_names_its_delegate() -> None:
    delegate = "0x" + "63" * 20

    assert delegate_in(delegated_code(delegate)) == delegate
    assert delegate_in(b"") is None
    assert delegate_in(delegated_code(delegate) + b"\x00") is None
    assert delegate_in(b"\x60\x80" + bytes(21)) is None
