"""How bytes of Uniswap v4 are read, judged and told."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, ClassVar

from chain.contracts.networks import Address, Network
from chain.contracts.pool_key import CalldataPool, DecodedPoolKey, PoolKey
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
    StandingEntry,
)
from chain.execution.plan.reading import Function
from chain.execution.plan.records import (
    Call,
    DecodedPermit2Transfer,
    Execute,
    Multicall,
    PlainCall,
)
from chain.execution.v4 import records as v4
from chain.execution.v4 import shapes, words
from chain.math.drift import Span
from chain.math.liquidity import Amounts
from chain.protocols.reference import V4, PositionRef, v4_position


class V4CallReader(ProtocolReader):
    name: ClassVar[str] = V4
    direct: ClassVar[bool] = False
    wraps: ClassVar[bool] = False
    functions: ClassVar[tuple[Function, ...]] = v4.FUNCTIONS
    commands: ClassVar[Mapping[int, CommandForm]] = {
        v4.DecodedV4Swap.code: CommandForm(v4.read_swap, v4.write_swap),
        v4.DecodedPositionManagerCall.code: CommandForm(
            v4.read_manager_call, v4.write_manager_call
        ),
    }

    standing_gas: ClassVar[Mapping[OrderKind, GasLimits]] = {
        "close": GasLimits(340_000, 500_000),
        "collect": GasLimits(290_000, 500_000),
        "compound": GasLimits(390_000, 550_000),
        "move": GasLimits(590_000, 700_000),
        "follow": GasLimits(430_000, 550_000),
    }

    def contracts(self, network: Network) -> dict[Address, str]:
        contracts = network.contracts
        router = contracts.universal_router
        return {
            contracts.pool_manager: "PoolManager",
            contracts.position_manager: "PositionManager",
            contracts.permit2: "Permit2",
        } | ({} if router is None else {router: "UniversalRouter"})

    def manager(self, network: Network) -> Address | None:
        return network.contracts.position_manager

    def router(self, network: Network) -> Address | None:
        return network.contracts.universal_router

    def position(self, token_id: int) -> PositionRef:
        return v4_position(token_id)

    def pool_key(self, pool: CalldataPool, _network: Network) -> PoolKey:
        assert isinstance(pool, DecodedPoolKey)
        return PoolKey(*pool)

    def effects(self, call: PlainCall) -> tuple[Effect, ...]:
        found = map(shapes.effect_of, v4.actions_of(call))
        return tuple(effect for effect in found if effect is not None)

    def dismissed_positions(self, call: PlainCall) -> tuple[PositionRef, ...]:
        calls = call.calls if isinstance(call, Multicall) else (call,)
        return tuple(
            v4_position(each.token_id) for each in calls if isinstance(each, v4.Unsubscribe)
        )

    def places(self, call: PlainCall, sender: Address) -> Places:
        actions = v4.actions_of(call)
        moved = [
            command.recipient
            for command in (call.commands if isinstance(call, Execute) else ())
            if isinstance(command, DecodedPermit2Transfer)
        ]
        taken = [action.recipient for action in actions if isinstance(action, v4.DecodedTake)]
        got = [sender if each == v4.SENDER else each for each in _recipients(actions)]
        return Places(
            (*got, *(each for each in taken if each == sender)),
            (*(each for each in taken if each != sender), *moved),
        )

    def deadlines(self, call: PlainCall) -> Iterator[int]:
        match call:
            case v4.ModifyLiquidities(_, deadline):
                yield deadline
            case Execute(commands, deadline):
                yield deadline
                for command in commands:
                    if isinstance(command, v4.DecodedPositionManagerCall):
                        yield command.call.deadline
            case Multicall(calls):
                for part in calls:
                    yield from self.deadlines(part)

    def target(self, call: PlainCall, network: Network) -> Address | None:
        return self.router(network) if isinstance(call, Execute) else self.manager(network)

    def standing_call(self, call: PlainCall) -> StandingCall | None:
        match call:
            case v4.ModifyLiquidities((*changes, v4.DecodedTakePair() as paid), deadline):
                made = _standing_change(changes, paid)
            case _:
                return None
        if made is None or any(shapes.hook_data_faults(tuple(changes))):
            return None
        return made._replace(
            recipient=paid.recipient,
            currencies=(paid.currency0, paid.currency1),
            deadline=deadline,
        )

    def faults(self, call: Call, value: int, context: PolicyContext) -> Iterator[str]:
        match call:
            case v4.ModifyLiquidities():
                yield from shapes.direct_faults(call, value, context)
            case Execute():
                yield from shapes.router_faults(call, value, context)
            case v4.Unsubscribe(token_id):
                if v4_position(token_id) not in context.positions:
                    yield f"the plan is not about position #{token_id}"
                if value:
                    yield "it sends ETH along for no reason"
            case _:
                yield "no recipe bundles calls"

    def pulls(self, call: PlainCall, context: PolicyContext) -> Iterable[tuple[Address, int]]:
        return (
            shapes.pulls(call, context) if isinstance(call, v4.ModifyLiquidities | Execute) else ()
        )

    def describe(self, call: PlainCall, names: Names) -> Iterator[str]:
        return words.describe(call, names)


def _standing_change(changes: Sequence[v4.Action], paid: v4.DecodedTakePair) -> StandingCall | None:
    """What is done with a position before it is paid out."""

    def call_of(
        kind: OrderKind, token_id: int, least: Amounts, out: int | None = None
    ) -> StandingCall:
        return StandingCall(kind, v4_position(token_id), least, paid.recipient, out, None, None)

    nothing = Amounts(0, 0)
    match changes:
        case [v4.DecodedBurn(token_id) as taken]:
            return call_of("close", token_id, _least_of(taken))
        case [v4.DecodedDecrease(token_id, 0, 0, 0)]:
            return call_of("collect", token_id, nothing)
        case [v4.DecodedIncrease(token_id) as given, *rest] if rest in (
            [],
            [v4.rest_of(token_id)],
        ):
            entry = _entry_of(given)._replace(rest=bool(rest))
            return call_of("compound", token_id, nothing)._replace(entry=entry)
        case [v4.DecodedBurn(token_id) as taken, v4.DecodedMint() as given] if (
            given.owner == paid.recipient and given.pool[:2] == (paid.currency0, paid.currency1)
        ):
            return call_of("move", token_id, _least_of(taken))._replace(entry=_entry_of(given))
        case [v4.DecodedDecrease(token_id, out) as taken, v4.DecodedIncrease(into) as given] if (
            out and into != token_id
        ):
            entry = _entry_of(given)._replace(into=v4_position(into))
            return call_of("follow", token_id, _least_of(taken))._replace(
                liquidity=out, entry=entry
            )
        case _:
            return None


def _least_of(taken: v4.DecodedBurn | v4.DecodedDecrease) -> Amounts:
    return Amounts(taken.amount0_min, taken.amount1_min)


def _entry_of(given: v4.DecodedIncrease | v4.DecodedMint) -> StandingEntry:
    most = Amounts(given.amount0_max, given.amount1_max)
    if isinstance(given, v4.DecodedIncrease):
        return StandingEntry(given.liquidity, most)
    span = Span(given.tick_lower, given.tick_upper)
    return StandingEntry(given.liquidity, most, pool=PoolKey(*given.pool), span=span)


def _recipients(actions: Iterable[Any]) -> Iterator[Address]:
    for action in actions:
        match action:
            case v4.DecodedTakePair() | v4.DecodedSweep():
                yield action.recipient
            case v4.DecodedMint():
                yield action.owner
            case _:
                pass
