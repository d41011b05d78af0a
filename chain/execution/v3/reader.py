"""How bytes of Uniswap v3 are read, judged and told."""

from collections.abc import Iterable, Iterator, Mapping
from typing import ClassVar

from chain.contracts.networks import NATIVE, Address, Network
from chain.contracts.pool_key import CalldataPool, PoolKey
from chain.execution.plan.context import PolicyContext
from chain.execution.plan.effects import Effect
from chain.execution.plan.names import Names
from chain.execution.plan.protocol import (
    CommandForm,
    GasLimits,
    OrderKind,
    Places,
    ProtocolReader,
    StandingCall,
)
from chain.execution.plan.reading import Function
from chain.execution.plan.records import Call, Execute, PlainCall
from chain.execution.v3 import records as v3
from chain.execution.v3 import shapes, words
from chain.math.liquidity import Amounts
from chain.protocols.pool import USUAL_TIERS
from chain.protocols.reference import V3, PositionRef, v3_in_bytes
from chain.protocols.v3.pool_key import v3_pool_key

_SPACINGS = dict(USUAL_TIERS)


class V3CallReader(ProtocolReader):
    name: ClassVar[str] = V3
    direct: ClassVar[bool] = True
    wraps: ClassVar[bool] = True
    functions: ClassVar[tuple[Function, ...]] = v3.FUNCTIONS
    commands: ClassVar[Mapping[int, CommandForm]] = {
        v3.DecodedV3Swap.code: CommandForm(v3.read_swap, v3.write_swap)
    }

    standing_gas: ClassVar[Mapping[OrderKind, GasLimits]] = {
        "close": GasLimits(575_000, 750_000),
        "collect": GasLimits(395_000, 520_000),
    }

    def contracts(self, network: Network) -> dict[Address, str]:
        if network.v3 is None:
            return {}
        router = self.router(network)
        return {
            network.v3.factory: "v3 factory",
            network.v3.position_manager: "NonfungiblePositionManager",
            network.contracts.permit2: "Permit2",
        } | ({} if router is None else {router: "UniversalRouter"})

    def manager(self, network: Network) -> Address | None:
        return None if network.v3 is None else network.v3.position_manager

    def router(self, network: Network) -> Address | None:
        own = None if network.v3 is None else network.v3.universal_router
        return own or network.contracts.universal_router

    def position(self, token_id: int) -> PositionRef:
        return v3_in_bytes(token_id)

    def pool_key(self, pool: CalldataPool, network: Network) -> PoolKey:
        factory = NATIVE if network.v3 is None else network.v3.factory
        spacing = _SPACINGS.get(pool.fee, 1)
        return v3_pool_key(factory, pool.currency0, pool.currency1, pool.fee, spacing)

    def effects(self, call: PlainCall) -> tuple[Effect, ...]:
        return shapes.effects_of(call)

    def dismissed_positions(self, _call: PlainCall) -> tuple[PositionRef, ...]:
        return ()

    def places(self, call: PlainCall, sender: Address) -> Places:
        if isinstance(call, Execute):
            swaps = [each for each in call.commands if isinstance(each, v3.DecodedV3Swap)]
            return Places(tuple(each.recipient for each in swaps))
        calls = shapes.calls_of(call)
        got = [getattr(each, "recipient", None) for each in calls]
        # What is collected to nobody stays with the manager, for the calls that follow.
        named = [each for each in got if each not in (None, NATIVE)]
        refunded = any(isinstance(each, v3.RefundCoin) for each in calls)
        return Places((*named, *((sender,) if refunded else ())))

    def deadlines(self, call: PlainCall) -> Iterator[int]:
        for each in (call,) if isinstance(call, Execute) else shapes.calls_of(call):
            if (end := getattr(each, "deadline", None)) is not None:
                yield end

    def target(self, call: PlainCall, network: Network) -> Address | None:
        return self.router(network) if isinstance(call, Execute) else self.manager(network)

    def standing_call(self, call: PlainCall) -> StandingCall | None:
        """A close takes out what the position held when it was signed and burns it, so that one
        which grew since is refused by the chain, as is one that shrank."""
        match shapes.calls_of(call):
            case (v3.DecreaseLiquidity() as taken, v3.Collect() as paid, v3.BurnToken(token_id)):
                if taken.token_id != token_id:
                    return None
                least = Amounts(taken.amount0_min, taken.amount1_min)
                out: int | None = taken.liquidity
                end: int | None = taken.deadline
            case (v3.Collect(token_id) as paid,) if paid is call:
                least, out, end = Amounts(0, 0), None, None
            case _:
                return None
        if paid.token_id != token_id or {paid.amount0_max, paid.amount1_max} != {v3.EVERYTHING}:
            return None
        kind: OrderKind = "collect" if out is None else "close"
        return StandingCall(kind, v3_in_bytes(token_id), least, paid.recipient, out, None, end)

    def faults(self, call: Call, value: int, context: PolicyContext) -> Iterator[str]:
        if isinstance(call, Execute):
            yield from shapes.swap_call_faults(call, value, context)
        elif isinstance(call, PlainCall):
            yield from shapes.manager_faults(call, value, context)

    def pulls(self, call: PlainCall, context: PolicyContext) -> Iterable[tuple[Address, int]]:
        return shapes.pulls(call, context)

    def describe(self, call: PlainCall, names: Names) -> Iterator[str]:
        return words.describe(call, names)
