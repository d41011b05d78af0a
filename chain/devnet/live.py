"""Simulated time and the market going on by it: what is due is mined, by the clock or by steps."""

import logging
from collections.abc import Callable, Sequence

import msgspec
from msgspec import Struct, field

from chain.contracts.abi import encode_call
from chain.devnet.defaults import BLOCK_SECONDS
from chain.devnet.json_rpc import Call
from chain.devnet.world.accounts import KEEPER
from chain.devnet.world.deployment import EXIT_GUARD, SET_REFUSING
from chain.devnet.world.market import HISTORY_ENDS, MarketVisit, live_visits
from chain.devnet.world.v3_life import v3_trades
from chain.devnet.world.worlds import World
from chain.devnet.world.writing import (
    MinedReceipt,
    NodeState,
    SignedBytes,
    UnsignedCall,
    next_base_fee,
)

REAL_TIME = 1.0


class Clock(Struct):
    wall: Callable[[], float]
    """Seconds that only grow, such as `time.monotonic`."""
    time: float
    """Simulated time when the wall's was last looked at."""
    chosen_speed: float
    """Simulated seconds per second of the wall; 0 is a pause."""
    _holds: dict[str, int] = field(default_factory=dict)
    _looked: float = 0

    def __post_init__(self) -> None:
        self._looked = self.wall()

    @property
    def holds(self) -> tuple[str, ...]:
        """Whose approvals are open, each of which lasts ten minutes of simulated time."""
        return tuple(self._holds)

    @property
    def speed(self) -> float:
        return min(self.chosen_speed, REAL_TIME) if self._holds else self.chosen_speed

    def now(self) -> int:
        return int(self.time + (self.wall() - self._looked) * self.speed)

    def set_speed(self, speed: float) -> None:
        self.set_time(self.now())
        self.chosen_speed = speed

    def set_time(self, time: float) -> None:
        self.time, self._looked = time, self.wall()

    def hold(self, reason: str, until: int) -> None:
        """Run at most in real time, until somebody lets go or until this simulated time."""
        self.set_time(self.now())
        self._holds[reason] = until

    def let_go(self, reason: str) -> None:
        self.set_time(self.now())
        self._holds.pop(reason, None)

    def end_holds(self, now: int) -> None:
        """Let go of what is over by the chain's own time, which approvals are judged by."""
        for reason in [reason for reason, until in self._holds.items() if until <= now]:
            self.let_go(reason)

    def wait_for(self, time: int) -> float:
        """Seconds of the wall until a simulated time comes; for ever while paused."""
        return max(time - self.now(), 0) / self.speed if self.speed else float("inf")


_LATE_SECONDS = 5
"""Of the wall: when trading takes longer than the clock gives it, time slows down instead."""

_OVERDUE_SECONDS = 1800

logger = logging.getLogger(__name__)


class _Header(Struct, frozen=True, rename="camel"):
    timestamp: str
    base_fee_per_gas: str
    gas_used: str


class _Head(Struct, frozen=True):
    time: int
    next_base_fee: int


class LiveWorld:
    """Moves one world; whoever calls holds the world's lock."""

    def __init__(self, world: World, clock: Clock) -> None:
        self.world = world
        self.clock = clock
        self._node = world.node
        self._traded_until = HISTORY_ENDS

    @property
    def head_time(self) -> int:
        return self._head().time

    def tick(self) -> float:
        """Mine the next thing that is due, or say how many seconds of the wall it is away."""
        head_time = self.head_time
        self.clock.end_holds(head_time)
        if not self.clock.speed:
            return float("inf")
        if head_time > self.clock.now():
            self.clock.set_time(head_time)
        visit = self._next_visit(head_time)
        beat = head_time + max(BLOCK_SECONDS, int(self.clock.speed))
        due = min(visit.time, beat)
        if wait := self.clock.wait_for(due):
            return wait
        if self.clock.now() - due > _LATE_SECONDS * self.clock.speed:
            self.clock.set_time(due)
        if visit.time <= beat:
            self._trade(visit)
        else:
            self._mine(beat)
        return 0

    def step(self, seconds: int) -> None:
        """Let this much simulated time pass at once, ending with a block of its own."""
        end = self.head_time + seconds
        while (visit := self._next_visit(self.head_time)).time <= end:
            self._trade(visit)
        if self.head_time < end:
            self._mine(end)
        self.clock.set_time(self.head_time)

    def refuse_exits(self, *, refusing: bool) -> str:
        """Have the guard hook's keeper close the exits or open them; the transaction's hash."""
        intent = UnsignedCall(KEEPER, EXIT_GUARD, encode_call(SET_REFUSING, refusing))
        (signed,) = self._mine(self.head_time + BLOCK_SECONDS, [intent])
        return signed.hash

    def _next_visit(self, head_time: int) -> MarketVisit:
        # A reorg takes the chain back, and with it the trades it had seen; a leap of time leaves
        # trades behind that nobody catches up with.
        since_leap = max(self._traded_until, head_time - _OVERDUE_SECONDS)
        self._traded_until = min(since_leap, max(head_time, HISTORY_ENDS))
        return next(live_visits(self.world.market, self._traded_until))

    def _trade(self, visit: MarketVisit) -> None:
        state, market = NodeState(self._node), self.world.market
        intents = market.round(state, visit).intents
        if self.world.v3:
            intents = [*intents, *v3_trades(state, market, visit)]
        self._mine(max(visit.time, self.head_time + 1), intents)
        self._traded_until = visit.time

    def _mine(self, time: int, intents: Sequence[UnsignedCall] = ()) -> list[SignedBytes]:
        """One block at this time: what others have waiting, then these, whoever else mines."""
        head = self._head()
        transactions = self._signed(intents, head.next_base_fee)
        automine = self._node.ask("anvil_getAutomine")
        heading: list[Call] = [
            ("evm_setAutomine", (False,)),
            ("evm_setNextBlockTimestamp", (max(time, head.time + 1),)),
            ("anvil_setNextBlockBaseFeePerGas", (hex(head.next_base_fee),)),
        ]
        sends = [("eth_sendRawTransaction", ("0x" + each.raw.hex(),)) for each in transactions]
        try:
            self._node.ask_all([*heading, *sends, ("evm_mine", ())])
            base_fee = hex(self._head().next_base_fee)
            self._node.ask("anvil_setNextBlockBaseFeePerGas", base_fee)
        finally:
            self._node.ask("evm_setAutomine", automine)
        self._report_refused(transactions)
        return transactions

    def _report_refused(self, transactions: Sequence[SignedBytes]) -> None:
        calls = [("eth_getTransactionReceipt", (each.hash,)) for each in transactions]
        receipts = msgspec.convert(self._node.ask_all(calls), list[MinedReceipt | None])
        for each, receipt in zip(transactions, receipts, strict=True):
            if receipt is None or receipt.status != "0x1":
                logger.warning("A trade of the market was refused: %s", each.hash)

    def _signed(self, intents: Sequence[UnsignedCall], base_fee: int) -> list[SignedBytes]:
        state = NodeState(self._node)
        nonces: dict[str, int] = {}
        signed = []
        for intent in intents:
            sender = intent.account.address
            nonce = nonces.get(sender) or state.nonce(sender)
            nonces[sender] = nonce + 1
            signed.append(intent.sign(nonce, base_fee=base_fee, chain_id=self.world.chain_id))
        return signed

    def _head(self) -> _Head:
        block = msgspec.convert(self._node.ask("eth_getBlockByNumber", "latest", False), _Header)
        base_fee = next_base_fee(int(block.base_fee_per_gas, 16), int(block.gas_used, 16))
        return _Head(int(block.timestamp, 16), base_fee)
