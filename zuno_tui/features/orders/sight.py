"""What endpoints tell of an order and its position: whether it holds, and why it is over."""

from collections.abc import Callable, Iterator
from typing import NamedTuple

from msgspec import UNSET, Struct
from msgspec.structs import replace

from chain.base.store import Store
from chain.contracts.delegation import DELEGATION_MANAGER, LIMITED_CALLS, NONCES, delegate_in
from chain.contracts.hooks import NO_HOOK
from chain.contracts.networks import Address, Network
from chain.contracts.signed_delegation import SignedDelegation, ask_count, ask_disabled, ask_nonce
from chain.positions.batch_reader import read_positions
from chain.protocols.reference import position_label
from chain.protocols.snapshot import PositionSnapshot, RangeStatus
from chain.protocols.v4.memory import PositionMemory
from chain.rpc import requests
from chain.rpc.client import RpcClient
from chain.rpc.records import Block
from chain.standing_orders.call import OrderCall
from chain.standing_orders.order import OutOfRange, StandingOrder, StandingProgress
from chain.standing_orders.seal import is_sealed
from zuno_tui.gate.agreement import Witness
from zuno_tui.gate.drift import read_hook_code

LEAST_BLOCKS = 3
"""Blocks a condition must have held for, and a transaction must lie deep."""

OUTGROWN = "The position is larger or smaller now: sign a new order, and cancel this one."


class OrderSight(Struct, frozen=True):
    head: Block
    position: PositionSnapshot | None
    """None where it is not there any more."""
    delegate: Address | None
    """Whose code the owner's account runs."""
    nonce: int
    disabled: bool
    used: int
    """How often the order was carried out."""
    surely_used: int
    """The same some blocks earlier: what a reorganisation hardly takes back."""
    hook_code: str | None
    key_nonce: int
    """Of the watch key, in the same block."""
    target: PositionSnapshot | None = None
    """The other position that it is about; None where there is none, or it is gone."""

    @property
    def time(self) -> int:
        return self.head.timestamp

    @property
    def out_of_range(self) -> bool:
        return self.position is not None and self.position.status is not RangeStatus.IN_RANGE


async def read_sight(
    client: RpcClient, network: Network, call: OrderCall, signed: SignedDelegation
) -> OrderSight:
    """Nothing that another endpoint told before answers for this one."""
    head = await client.head()
    at = head.hash
    memory = PositionMemory(Store.in_memory(), network, lambda: float(head.timestamp))
    refs = [call.ref, *(() if call.target is None else (call.target,))]
    positions = await read_positions(client, network, memory, refs, at=at)
    found, target = positions.get(call.ref), positions.get(call.target or call.ref)
    deep = max(0, head.number - LEAST_BLOCKS)
    code, key_nonce, *words = await client.together(
        requests.code(signed.delegator, at),
        requests.transaction_count(signed.delegate, at),
        requests.call(NONCES, ask_nonce(signed.delegator), at),
        requests.call(DELEGATION_MANAGER, ask_disabled(signed), at),
        requests.call(LIMITED_CALLS, ask_count(signed), at),
        requests.call(LIMITED_CALLS, ask_count(signed), deep),
    )
    nonce, disabled, used, surely_used = (int.from_bytes(word, "big") for word in words)
    return OrderSight(
        head,
        found,
        delegate_in(code),
        nonce,
        bool(disabled),
        used,
        surely_used,
        await hook_code(client, found, at),
        key_nonce,
        None if call.target is None else target,
    )


async def hook_code(client: RpcClient, position: PositionSnapshot | None, at: str) -> str | None:
    """What runs as the pool's hook, a proxy's implementation too; None without one."""
    if position is None or position.pool.key.hooks == NO_HOOK:
        return None
    return await read_hook_code(client, position.pool.key.hooks, at)


class SeenClock(NamedTuple):
    time: float
    block: int


class Seen(NamedTuple):
    """What those endpoints say who could be asked."""

    sights: tuple[OrderSight, ...]
    needed: int
    witnesses: tuple[Witness, ...] = ()
    """Who told each."""

    def agrees(self, says: Callable[[OrderSight], bool]) -> bool:
        return sum(map(says, self.sights)) >= self.needed

    @property
    def clock(self) -> SeenClock:
        """The second latest where there are several: one endpoint cannot set the clock."""
        return SeenClock(
            float(sorted(sight.head.timestamp for sight in self.sights)[-self.needed]),
            sorted(sight.head.number for sight in self.sights)[-self.needed],
        )

    @property
    def key_nonce(self) -> int:
        """The second highest where there are several, as with the clock."""
        return sorted(sight.key_nonce for sight in self.sights)[-self.needed]

    def before_use(self, done: int) -> "Seen":
        """What those say by whom it was carried out so often and no oftener."""
        pairs = zip(self.sights, self.witnesses, strict=True)
        fresh = [(sight, witness) for sight, witness in pairs if sight.used <= done]
        sights, witnesses = zip(*fresh, strict=True) if fresh else ((), ())
        return Seen(tuple(sights), self.needed, tuple(witnesses))

    @property
    def positions(self) -> tuple[PositionSnapshot, ...]:
        """As each endpoint tells it."""
        return tuple(sight.position for sight in self.sights if sight.position is not None)


def hold_progress(
    before: StandingProgress, now: SeenClock, *, lack: str | None, longest_gap: float
) -> StandingProgress:
    """Since when the condition holds, as of this look, which found what it lacks, or None; a long
    time unseen begins anew."""
    time, block = now
    before = replace(before, waits=lack or UNSET)
    gap = before.looked_at is None or abs(time - before.looked_at) > longest_gap
    if lack is not None:
        return replace(before, met_at=None, met_block=0, looked_at=time)
    if before.met_at is None or gap or block < before.met_block or time < before.met_at:
        return replace(before, met_at=time, met_block=block, looked_at=time)
    return replace(before, looked_at=time)


def has_held(order: StandingOrder, progress: StandingProgress, now: SeenClock) -> bool:
    """For as long as the order asks, and for some blocks."""
    if progress.met_at is None:
        return False
    asked = order.condition.seconds if isinstance(order.condition, OutOfRange) else 0
    lasted = now.time - progress.met_at
    return (
        lasted >= max(order.hold_seconds, asked) and now.block - progress.met_block >= LEAST_BLOCKS
    )


def why_over(order: StandingOrder, call: OrderCall, seen: Seen) -> str:
    """Why an order can never be carried out again, where enough endpoints say so."""
    told = [reason for sight in seen.sights for reason in reasons_against(order, call, sight)]
    return next((reason for reason in told if told.count(reason) >= seen.needed), "")


def reasons_against(order: StandingOrder, call: OrderCall, sight: OrderSight) -> Iterator[str]:
    """What is against it by one endpoint's sight, what weighs most first."""
    position = sight.position
    if sight.surely_used >= call.times:
        yield "It was carried out by another machine."
    if sight.time >= call.until:
        yield "Its date has passed."
    if sight.disabled:
        yield "It was cancelled."
    if sight.nonce != call.nonce:
        yield "It was cancelled with all others."
    if position is None:
        yield f"Position {position_label(call.ref)} is closed."
        return
    if position.owner != call.recipient:
        yield f"Position {position_label(call.ref)} has another owner."
    if call.target is not None and (sight.target is None or sight.target.owner != call.recipient):
        yield f"Position {position_label(call.target)}, where it goes, is not there any more."
    if not is_sealed(order, call):
        return  # what its file says besides ends nothing
    if call.traits.sized and order.fits(position.liquidity) is False:
        yield OUTGROWN
    if sight.hook_code != order.hook_code:
        yield "The code of the pool's hook has changed."
