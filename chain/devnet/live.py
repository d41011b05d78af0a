"""The market going on: what is due is mined, by the clock or by steps on demand."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from chain.contracts.abi import encode_call, topic
from chain.devnet.node.index import LogQuery
from chain.devnet.node.node import BLOCK_SECONDS
from chain.devnet.world.accounts import KEEPER
from chain.devnet.world.deployment import CONTRACTS
from chain.devnet.world.hook_code import EXIT_GUARD, SET_REFUSING
from chain.devnet.world.market import HISTORY_ENDS
from chain.devnet.world.visits import live_visits
from chain.devnet.world.writing import Intent

if TYPE_CHECKING:
    from collections.abc import Sequence

    from chain.devnet.clock import Clock
    from chain.devnet.node.node import Node
    from chain.devnet.node.transactions import NodeTransaction
    from chain.devnet.world.market import MarketVisit
    from chain.devnet.world.worlds import World

_SWAP = topic("Swap(bytes32,address,int128,int128,uint160,uint128,int24,uint24)")
_LATE_SECONDS = 5
"""Of the wall: when trading takes longer than the clock gives it, time slows down instead."""

_OVERDUE_SECONDS = 1800

logger = logging.getLogger(__name__)


class LiveWorld:
    """All of it runs on the chain's thread, between two requests."""

    def __init__(self, world: World, node: Node, clock: Clock) -> None:
        self.world = world
        self.clock = clock
        self._node = node
        self._traded_until = HISTORY_ENDS

    @property
    def head_time(self) -> int:
        return self._node.ledger.head.timestamp

    def tick(self) -> float:
        """Mine the next thing that is due, or say how many seconds of the wall it is away."""
        if not self.clock.speed:
            return float("inf")
        if self.head_time > self.clock.now():
            self.clock.set_time(self.head_time)
        visit = self._next_visit()
        beat = self.head_time + max(BLOCK_SECONDS, int(self.clock.speed))
        due = min(visit.time, beat)
        if wait := self.clock.wait_for(due):
            return wait
        if self.clock.now() - due > _LATE_SECONDS * self.clock.speed:
            self.clock.set_time(due)
        if visit.time <= beat:
            self._trade(visit)
        else:
            self._node.mine(timestamp=beat)
        return 0

    def step(self, seconds: int) -> None:
        """Let this much simulated time pass at once, ending with a block of its own."""
        end = self.head_time + seconds
        while (visit := self._next_visit()).time <= end:
            self._trade(visit)
        if self.head_time < end:
            self._node.mine(timestamp=end)
        self.clock.set_time(self.head_time)

    def refuse_exits(self, *, refusing: bool) -> str:
        """Have the guard hook's keeper close the exits or open them; the transaction's hash."""
        intent = Intent(KEEPER, EXIT_GUARD, encode_call(SET_REFUSING, refusing))
        (transaction,) = self._signed([intent])
        self._node.mine(transactions=[transaction])
        return transaction.hash

    def swaps(self) -> int:
        ledger = self._node.ledger
        manager = frozenset({CONTRACTS.pool_manager})
        return len(ledger.logs(LogQuery(0, ledger.head.number, manager, (frozenset({_SWAP}),))))

    def _next_visit(self) -> MarketVisit:
        # A reorg takes the chain back, and with it the trades it had seen; a leap of time leaves
        # trades behind that nobody catches up with.
        since_leap = max(self._traded_until, self.head_time - _OVERDUE_SECONDS)
        self._traded_until = min(since_leap, max(self.head_time, HISTORY_ENDS))
        return next(live_visits(self.world.market, self._traded_until))

    def _trade(self, visit: MarketVisit) -> None:
        state = self._node.ledger.state()
        intents = self.world.market.round(state, visit).intents
        time = max(visit.time, self.head_time + 1)
        block = self._node.mine(timestamp=time, transactions=self._signed(intents))
        self._traded_until = visit.time
        for receipt in block.receipts[: len(intents)]:
            if not receipt.success:
                logger.warning("A trade of the market was refused: 0x%s", receipt.output.hex())

    def _signed(self, intents: Sequence[Intent]) -> list[NodeTransaction]:
        ledger = self._node.ledger
        state, environment = ledger.state(), ledger.next_environment(0)
        nonces: dict[str, int] = {}
        transactions = []
        for intent in intents:
            sender = intent.account.address
            nonce = nonces.get(sender, state.nonce(sender))
            nonces[sender] = nonce + 1
            transactions.append(intent.signed(nonce, environment))
        return transactions
