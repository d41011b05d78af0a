"""What is remembered of positions of v3 between runs: where each stands, and who held which."""

from collections.abc import Callable, Iterable, Mapping

from msgspec import Struct, to_builtins

from chain.base.store import Store, read_as
from chain.base.units import Known, Quantity, Unknown
from chain.contracts.networks import Address, Network, V3Contracts
from chain.math.liquidity import Amounts

_PLACES = "v3 position"
_HELD = "v3 holdings"
_WITHDRAWN = "v3 withdrawn"

_KEPT_SECONDS = 600.0
"""After which logs are asked again though nothing seems to have changed."""


class V3Place(Struct, frozen=True, array_like=True, gc=False):
    """What never changes about a position: its pool and its range."""

    token0: Address
    token1: Address
    fee: int
    tick_lower: int
    tick_upper: int


class _Withdrawn(Struct, frozen=True):
    state: str
    at: float
    block: int
    amounts: tuple[str, str]
    unknown: str
    """Why, where it is not known."""


class V3Memory:
    """Nothing here is trusted: whatever the next reading does not confirm is forgotten."""

    def __init__(
        self, store: Store, network: Network, contracts: V3Contracts, clock: Callable[[], float]
    ) -> None:
        self._store = store
        self._clock = clock
        self._prefix = f"{network.chain_id}/{contracts.position_manager}"

    def places(self, token_ids: Iterable[int]) -> dict[int, V3Place]:
        """Pool and range of those that were met before."""
        keys = {f"{self._prefix}/{token_id}": token_id for token_id in token_ids}
        found = self._store.read_many(V3Place, _PLACES, keys) if keys else {}
        return {keys[key]: place for key, place in found.items()}

    def last_tokens(self, owner: Address) -> tuple[int, ...] | None:
        """The tokens a wallet had when last seen; None where nobody has looked."""
        return read_as(tuple[int, ...], self._store.get(_HELD, f"{self._prefix}/{owner}"))

    def withdrawn_amounts(self, token_id: int, state: str) -> Quantity[Amounts] | None:
        """What was told of a token in this very state, not long ago."""
        kept = self._store.read(_Withdrawn, _WITHDRAWN, f"{self._prefix}/{token_id}")
        if kept is None or kept.state != state or not 0 <= self._clock() - kept.at < _KEPT_SECONDS:
            return None
        if kept.unknown:
            return Unknown(kept.unknown)
        return Known(
            Amounts(*map(int, kept.amounts)), "NonfungiblePositionManager logs", kept.block
        )

    def remember_withdrawn(
        self, token_id: int, state: str, withdrawn: Quantity[Amounts], block: int
    ) -> None:
        now, unknown = self._clock(), withdrawn.reason if isinstance(withdrawn, Unknown) else ""
        amounts = Amounts(0, 0) if isinstance(withdrawn, Unknown) else withdrawn.value
        told = str(amounts.amount0), str(amounts.amount1)
        row = _Withdrawn(state, now, block, told, unknown)
        self._store.put(_WITHDRAWN, f"{self._prefix}/{token_id}", to_builtins(row), now=now)

    def remember(
        self, places: Mapping[int, V3Place], held: Mapping[Address, tuple[int, ...]]
    ) -> None:
        now, known = self._clock(), self.places(places)
        new = {
            f"{self._prefix}/{token_id}": to_builtins(place)
            for token_id, place in places.items()
            if known.get(token_id) != place
        }
        self._store.put_many(_PLACES, new, now=now)
        for owner, token_ids in held.items():
            if self.last_tokens(owner) != token_ids:
                self._store.put(_HELD, f"{self._prefix}/{owner}", list(token_ids), now=now)
