"""How much of what went into positions is gone, against simply holding it."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from agents.monitor.freshness import still_fresh
from chain.positions.change_memory import ChangeMemory
from chain.positions.change_reader import ChangeReader
from chain.positions.since_entry import since_entry, worth
from chain.quantity import Unknown
from chain.rpc.errors import RpcError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from chain.overview import Sources
    from chain.positions.changes import LiquidityChange
    from chain.positions.memory import PositionMemory
    from chain.positions.since_entry import SinceEntry
    from chain.positions.snapshot import PositionSnapshot

KEPT_SECONDS = 3_600.0
"""What went in is read again this often, though nothing seems to have changed."""
RETRY_SECONDS = 300.0
"""After a read that failed, or that could not tell."""


class Losses(NamedTuple):
    shares: Mapping[int, float]
    """By position, of what went in at present prices; a gain is negative."""
    unknown: Mapping[int, str]
    """By position, why one that was asked for is not among them."""


class _Account(NamedTuple):
    """What was read of a position's past."""

    changes: tuple[LiquidityChange, ...]
    liquidity: int
    read_at: float
    fees0: int
    fees1: int
    """Uncollected when it was last looked at: fewer of them means that some were collected."""

    @property
    def adds_up(self) -> bool:
        return sum(one.liquidity_delta for one in self.changes) == self.liquidity

    def leads_to(self, position: PositionSnapshot) -> bool:
        """Whether nothing seems to have been put in or taken out since."""
        collected = position.fees0 < self.fees0 or position.fees1 < self.fees1
        return self.liquidity == position.liquidity and not collected


class LossReader:
    """What positions lost, at every poll; their logs are read only when something changed.

    Between two reads a loss follows from the changes already known and the present price.
    """

    def __init__(self, sources: Sources, memory: PositionMemory) -> None:
        self._sources = sources
        self._memory = memory
        self._accounts: dict[int, _Account] = {}
        self._failed_at: float | None = None
        self._trouble = ""

    async def read(self, positions: Sequence[PositionSnapshot], now: float) -> Losses:
        """A stop-loss that cannot be judged is told, not passed over."""
        asked = [one for one in positions if self._outdated(one, now)]
        if asked and not still_fresh(self._failed_at, RETRY_SECONDS, now):
            await self._renew(asked, now)
        shares: dict[int, float] = {}
        unknown: dict[int, str] = {}
        for position in positions:
            share = self._share(position)
            if isinstance(share, str):
                unknown[position.token_id] = share
            else:
                shares[position.token_id] = share
        return Losses(shares, unknown)

    def _outdated(self, position: PositionSnapshot, now: float) -> bool:
        """Whether the position may no longer be what its known changes made of it."""
        account = self._accounts.get(position.token_id)
        if account is None:
            return True
        if not account.leads_to(position):
            # A collected fee that is not known yet would look like a loss.
            del self._accounts[position.token_id]
            return True
        seen = account._replace(fees0=position.fees0, fees1=position.fees1)
        self._accounts[position.token_id] = seen
        kept = KEPT_SECONDS if account.adds_up else RETRY_SECONDS
        return not still_fresh(account.read_at, kept, now)

    async def _renew(self, positions: Sequence[PositionSnapshot], now: float) -> None:
        sources = self._sources
        changes = ChangeMemory(sources.store, sources.network, sources.clock)
        reader = ChangeReader(sources.client, sources.network, self._memory, changes)
        self._failed_at = None
        try:
            accounts = await reader.since_entry(positions)
        except RpcError as error:
            self._failed_at, self._trouble = now, f"No loss could be judged: {error.sentence}"
            return
        for one in positions:
            changed = accounts[one.token_id].changes
            account = _Account(changed, one.liquidity, now, one.fees0, one.fees1)
            self._accounts[one.token_id] = account

    def _share(self, position: PositionSnapshot) -> float | str:
        account = self._accounts.get(position.token_id)
        if account is None:
            return self._trouble
        return _lost(position, since_entry(position, account.changes))


def _lost(position: PositionSnapshot, account: SinceEntry) -> float | str:
    gained, deposited = account.against_holding, account.deposited
    if isinstance(gained, Unknown):
        return f"The loss of #{position.token_id} is unknown: {gained.reason}."
    if isinstance(deposited, Unknown):
        return f"The loss of #{position.token_id} is unknown: {deposited.reason}."
    return -float(gained.value / worth(deposited.value, position.pool.sqrt_price_x96))
