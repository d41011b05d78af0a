"""Honest plans of every recipe, and the means to spoil them in one place at a time."""

from collections.abc import Callable, Sequence
from typing import TypeVar

from msgspec.structs import replace

from chain.execution.build.builder import build
from chain.execution.decode.decoder import decode
from chain.execution.plan.context import PolicyContext
from chain.execution.plan.facts import Tolerance
from chain.execution.plan.records import Call, DecodedStep, Execute, RouterCommand
from chain.execution.plan.requests import (
    CallRequest,
    CloseRequest,
    CollectRequest,
    CompoundRequest,
    CreateRequest,
    DecreaseRequest,
    IncreaseRequest,
    ReRangeRequest,
    UnwrapRequest,
    WrapRequest,
)
from chain.execution.plan.sizing import guaranteed_by_exit
from chain.execution.policy.policy import PolicyRefused, check
from chain.execution.v4.records import (
    Action,
    DecodedPositionManagerCall,
    DecodedV4Swap,
    ModifyLiquidities,
)
from chain.math.liquidity import Amounts
from tests.chain.execution.made_up_plans import context_of
from tests.chain.execution.on_small_world import fresh_chain, small_world

STRANGER = "0x" + "66" * 20

Record = TypeVar("Record")


class Bench:
    """One honest plan of each recipe, to be spoilt in one place at a time."""

    def __init__(self) -> None:
        chain = fresh_chain()
        positions = small_world().positions
        position = chain.position(positions["native"])
        left = chain.position(positions["above its range"])
        key = position.pool.key
        span = chain.around(key, 900, 1200)
        elsewhere = chain.around(left.pool.key, 900, 1200)
        funds = guaranteed_by_exit(left, Tolerance())
        swap = chain.balancing(left.pool.key, elsewhere, funds)
        requests: dict[str, CallRequest] = {
            "close": CloseRequest(position),
            "collect": CollectRequest(position),
            "decrease": DecreaseRequest(position, 30),
            "move": ReRangeRequest(position, span, None),
            "increase": IncreaseRequest(position, Amounts(10**17, 500 * 10**6)),
            "compound": CompoundRequest(position),
            "create": CreateRequest(chain.pool(key), span, Amounts(10**17, 500 * 10**6), None),
            "swap": ReRangeRequest(left, elsewhere, swap),
            "wrap": WrapRequest(10**17),
            "unwrap": UnwrapRequest(10**17),
        }
        self.plans = {}
        for name, request in requests.items():
            facts = chain.facts(key, left.pool.key)
            steps = [decode(each) for each in build(request, facts).transactions]
            self.plans[name] = (steps, context_of(request, facts))

    def alone(self, name: str) -> tuple[DecodedStep, PolicyContext]:
        """The last step by itself, so that no approval before it can be what is refused."""
        steps, context = self.plans[name]
        return steps[-1], replace(context, nonce=steps[-1].transaction.nonce)


def reasons(steps: Sequence[DecodedStep], context: PolicyContext) -> str:
    judged = check(steps, context)
    assert isinstance(judged, PolicyRefused)
    return " ".join(judged.reasons)


def altered(record: Record, **changes: object) -> Record:
    """The record with some fields changed, whatever kind it is."""
    return replace(record, **changes)  # type: ignore[type-var]


def spoil(call: Call, change: Callable[[Action], Action]) -> Call:
    """The call with every action put through a change."""
    if isinstance(call, ModifyLiquidities):
        return replace(call, actions=tuple(change(action) for action in call.actions))
    assert isinstance(call, Execute)
    commands: list[RouterCommand] = []
    for command in call.commands:
        if isinstance(command, DecodedV4Swap):
            commands.append(DecodedV4Swap(tuple(change(action) for action in command.actions)))
        elif isinstance(command, DecodedPositionManagerCall):
            inner = spoil(command.call, change)
            assert isinstance(inner, ModifyLiquidities)
            commands.append(DecodedPositionManagerCall(inner))
        else:
            commands.append(command)
    return replace(call, commands=tuple(commands))


def setting(name: str, value: Callable[[int], int] | str | bytes) -> Callable[[Action], Action]:
    def change(action: Action) -> Action:
        if not hasattr(action, name):
            return action
        there = getattr(action, name)
        return altered(action, **{name: value(there) if callable(value) else value})

    return change
