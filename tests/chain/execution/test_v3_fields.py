"""Every field of v3's calldata means something: changed, it is refused or reads otherwise."""

from __future__ import annotations

from collections import Counter
from random import Random
from typing import TYPE_CHECKING, Any

import pytest
from eth_abi.exceptions import EncodingError
from msgspec.structs import replace

from chain.contracts.networks import NATIVE
from chain.execution.decode.decoder import decode, encode_call
from chain.execution.decode.words import describe, names_on
from chain.execution.plan.reading import DecodingError
from chain.execution.plan.records import DecodedStep, Execute, Multicall, PlainCall
from chain.execution.policy.policy import Allowed, check
from tests.chain.execution.made_up_plans import address, context_of, made_up_plan
from tests.printed import printed

if TYPE_CHECKING:
    from collections.abc import Iterator

    from chain.execution.plan.context import PolicyContext
    from chain.execution.plan.names import Names
    from tests.chain.execution.made_up_plans import MadeUpPlan

PLANS, MANY = 60, 320
CHANGES, MANY_CHANGES = 250, 2_500


def test_what_is_built_is_let_through_and_read_back_to_the_byte() -> None:
    seen: Counter[str] = Counter()
    for seed in range(PLANS):
        plan = made_up_plan(seed, v3=True)
        steps = [decode(each) for each in plan.built.transactions]
        context = context_of(plan.request, plan.facts)
        judged = check(steps, context)
        assert isinstance(judged, Allowed), (type(plan.request).__name__, judged)
        assert [encode_call(step.call) for step in steps] == [
            each.data for each in plan.built.transactions
        ]
        seen.update(step.transaction.step for step in steps)
    assert {"exit", "collect", "decrease", "increase", "compound", "create", "move"} <= {*seen}


def fields_of(call: Any) -> Iterator[tuple[tuple[Any, ...], object]]:
    """Every value in a call, with the way to it."""
    for name in call.__struct_fields__:
        value = getattr(call, name)
        if isinstance(value, tuple):
            for place, inner in enumerate(value):
                yield from (((name, place, *way), each) for way, each in fields_of(inner))
        else:
            yield (name,), value


def changed(call: Any, way: tuple[Any, ...], value: object) -> Any:
    name, *rest = way
    if not rest:
        return replace(call, **{name: value})
    place, *deeper = rest
    parts = list(getattr(call, name))
    parts[place] = changed(parts[place], tuple(deeper), value)
    return replace(call, **{name: tuple(parts)})


def another(draw: Random, value: object) -> object:
    if isinstance(value, bool):
        return not value
    if isinstance(value, int):
        near = value + draw.choice((-1, 1, 2, 1000, -1000, value))
        return draw.choice((near, 0, value // 2, draw.getrandbits(100), 2**128 - 1))
    return draw.choice((address(draw), NATIVE))


def shown(step: DecodedStep, names: Names) -> tuple[str, ...]:
    return describe(step, names)


def judge(plan: MadeUpPlan, draw: Random) -> str:
    """What becomes of one change somewhere in the plan: refused, or told otherwise."""
    context = context_of(plan.request, plan.facts)
    names = names_on(plan.facts.network, plan.facts.sender, {}, context.positions)
    steps = [decode(each) for each in plan.built.transactions]
    acting = [at for at, step in enumerate(steps) if _of_v3(step.call)]
    at = draw.choice(acting)
    call = steps[at].call
    way, value = draw.choice(list(fields_of(call)))
    other = another(draw, value)
    if other == value:
        return "same"
    spoilt = changed(call, way, other)
    try:
        transaction = replace(steps[at].transaction, data=encode_call(spoilt))
        read = decode(transaction)
    except (DecodingError, EncodingError, ValueError, OverflowError):
        return "refused"
    told = [*steps[:at], read, *steps[at + 1 :]]
    if not isinstance(check(told, context), Allowed):
        return "refused"
    assert shown(read, names) != shown(steps[at], names), (way, value, other)
    _goes_home(told, context)
    return "shown"


def _of_v3(call: object) -> bool:
    return isinstance(call, Execute | Multicall) or (
        isinstance(call, PlainCall) and call.protocol == "v3"
    )


def _goes_home(steps: list[DecodedStep], context: PolicyContext) -> None:
    """Whatever is let through pays nobody but the wallet."""
    for step in steps:
        for way, value in fields_of(step.call):
            if way[-1] == "recipient":
                assert value in (context.owner, NATIVE)


@pytest.mark.parametrize(
    ("plans", "changes"),
    [(PLANS, CHANGES), pytest.param(MANY, MANY_CHANGES, marks=pytest.mark.soak)],
)
def test_no_changed_field_is_signed_under_the_same_sentences(plans: int, changes: int) -> None:
    draw = Random(46)
    made = [made_up_plan(seed, v3=True) for seed in range(plans)]
    found: Counter[str] = Counter()
    while found["refused"] + found["shown"] < changes:
        found[judge(draw.choice(made), draw)] += 1
    refused, told = found["refused"], found["shown"]
    printed(f"{refused + told} changed fields of v3: {refused} refused, {told} read otherwise")
    assert refused > changes // 2
