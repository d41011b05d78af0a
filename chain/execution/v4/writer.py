"""How each request becomes bytes of Uniswap v4: one unlock carries a recipe's actions."""

from collections.abc import Sequence
from typing import ClassVar, assert_never

from chain.contracts.networks import Address
from chain.execution.plan.facts import BuildError, ChainFacts, PositionFacts
from chain.execution.plan.protocol import StandingCall
from chain.execution.plan.recipe import Change, Recipe
from chain.execution.plan.requests import (
    CloseRequest,
    CollectRequest,
    CompoundRequest,
    DecreaseRequest,
    IncreaseRequest,
    QuotedSwap,
)
from chain.execution.plan.sizing import needs_liquidity, part_of
from chain.execution.plan.writing import NO_ROUTER, Entry, ProtocolWriter, SmallChange
from chain.execution.v4 import recipes
from chain.math.drift import Span
from chain.protocols.reference import V4


class V4Writer(ProtocolWriter):
    name: ClassVar[str] = V4

    def change(self, request: SmallChange, facts: ChainFacts) -> Change:
        position = request.position
        if isinstance(request, CloseRequest):
            return recipes.leave(position, facts)
        needs_liquidity(position)
        match request:
            case CollectRequest(_, _, opens):
                return recipes.take_out(position, 0, "collect", facts, opens=opens)
            case DecreaseRequest(_, percent):
                return recipes.take_out(position, part_of(position, percent), "decrease", facts)
            case CompoundRequest():
                return recipes.compound(position, facts)
        assert_never(request)

    def carried_out(self, changes: Sequence[Change], facts: ChainFacts) -> Sequence[Recipe]:
        return [recipes.carried_out(changes, facts)]

    def unsubscribe(self, position: PositionFacts, facts: ChainFacts) -> Recipe:
        return recipes.unsubscribe(position, facts)

    def add(self, request: IncreaseRequest, facts: ChainFacts) -> Recipe:
        return recipes.add(request.position, request.budget, facts)

    def move(
        self, position: PositionFacts, span: Span, facts: ChainFacts, liquidity: int | None
    ) -> Recipe:
        return recipes.move(position, span, facts, liquidity)

    def enter(self, entry: Entry, facts: ChainFacts) -> list[Recipe]:
        if entry.swap is None:
            return [
                recipes.create(
                    entry.pool,
                    entry.span,
                    entry.funds,
                    facts,
                    liquidity=entry.liquidity,
                    sure=entry.sure,
                )
            ]
        return [
            recipes.swap_and_enter(
                entry.pool,
                entry.span,
                entry.funds,
                entry.swap,
                facts,
                router=_router(facts),
                sure=entry.sure,
                liquidity=entry.liquidity,
            )
        ]

    def standing_call(self, order: StandingCall) -> bytes:
        return recipes.standing_call(order)

    def swap(self, swap: QuotedSwap, facts: ChainFacts) -> Recipe:
        return recipes.swap(swap, facts, _router(facts))


def _router(facts: ChainFacts) -> Address:
    router = facts.network.contracts.universal_router
    if router is None:
        raise BuildError(NO_ROUTER.format(facts.network.title))
    return router
