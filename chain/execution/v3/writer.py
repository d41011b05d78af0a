"""How each request becomes bytes of Uniswap v3: calls of the position manager, several in one."""

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
from chain.execution.plan.sizing import (
    given_after_swap,
    given_within,
    left_by_swap,
    needs_liquidity,
    part_of,
    size_given,
)
from chain.execution.plan.writing import NO_ROUTER, Entry, ProtocolWriter, SmallChange
from chain.execution.v3 import recipes
from chain.math.drift import Span
from chain.protocols.reference import V3


class V3Writer(ProtocolWriter):
    name: ClassVar[str] = V3

    def change(self, request: SmallChange, facts: ChainFacts) -> Change:
        position = request.position
        match request:
            case CloseRequest(_, native):
                whole = position.liquidity
                return recipes.take_out(position, whole, "exit", facts, native=native, ends=True)
            case CollectRequest(_, native):
                return recipes.take_out(position, 0, "collect", facts, native=native)
            case DecreaseRequest(_, percent, native):
                needs_liquidity(position)
                part = part_of(position, percent)
                return recipes.take_out(position, part, "decrease", facts, native=native)
            case CompoundRequest():
                needs_liquidity(position)
                return recipes.compound(position, facts)
        assert_never(request)

    def carried_out(self, changes: Sequence[Change], facts: ChainFacts) -> Sequence[Recipe]:
        return [recipes.carried_out(changes, facts)]

    def unsubscribe(self, position: PositionFacts, _facts: ChainFacts) -> Recipe:
        raise BuildError(f"Position {position.ref} knows no subscribers.")

    def add(self, request: IncreaseRequest, facts: ChainFacts) -> Recipe:
        return recipes.add(request.position, request.budget, facts, native=request.native)

    def move(
        self, position: PositionFacts, span: Span, facts: ChainFacts, liquidity: int | None
    ) -> Recipe:
        return recipes.move(position, span, facts, liquidity)

    def enter(self, entry: Entry, facts: ChainFacts) -> list[Recipe]:
        pool, span = entry.pool, entry.span
        if entry.swap is None:
            price, funds, tolerance = pool.sqrt_price_x96, entry.funds, facts.tolerance
            sized = (
                size_given(span, price, funds, tolerance)
                if entry.liquidity is None
                else given_within(span, price, entry.liquidity, funds, tolerance)
            )
            return [recipes.create(pool, span, sized, facts, native=entry.native, sure=entry.sure)]
        sized = given_after_swap(
            pool, span, entry.funds, entry.swap, facts.tolerance, liquidity=entry.liquidity
        )
        sure = entry.sure and left_by_swap(entry.sure, entry.swap, facts.tolerance)
        created = recipes.create(pool, span, sized, facts, sure=sure)
        return [self.swap(entry.swap, facts), created]

    def standing_call(self, order: StandingCall) -> bytes:
        return recipes.standing_call(order)

    def swap(self, swap: QuotedSwap, facts: ChainFacts) -> Recipe:
        return recipes.swap(swap, facts, _router(facts))


def _router(facts: ChainFacts) -> Address:
    own = None if facts.network.v3 is None else facts.network.v3.universal_router
    router = own or facts.network.contracts.universal_router
    if router is None:
        raise BuildError(NO_ROUTER.format(facts.network.title))
    return router
