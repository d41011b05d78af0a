"""Prices from the pools themselves: against the network's declared stable, at one block.

A listed token is priced by the deepest pool it has with the stable, or with the network's coin and
that against the stable. The coin and its wrapped form are one. Depth is what the pool really trades
near its price, counted on the shallower side: one tick of one token makes active liquidity look
deep for a few dollars, and proves no price. A token that is not listed is not priced by pools:
whoever made it can make them say anything.
"""

from collections.abc import Iterable, Mapping
from fractions import Fraction

from msgspec import Struct

from chain.base.store import Store
from chain.base.units import Known, Quantity, Unknown
from chain.contracts.hooks import touches_swaps
from chain.contracts.networks import NATIVE, Address, Network
from chain.contracts.pool_key import PoolId, PoolKey
from chain.math.liquidity import Amounts
from chain.pools.depth import read_depths
from chain.protocols.pool import PoolState
from chain.protocols.v4.storage import (
    candidate_pools,
    plain_pools,
    pool_state_slots,
    pool_states,
)
from chain.read.block_reader import OneBlock
from chain.rpc.records import Block
from chain.tokens import Token
from chain.tokens.token import listed_token

GOOD_SECONDS = 600.0
MOST_MOVE_TICKS = 100
"""About one per cent."""

_NAMESPACE = "pool depth"


class DepthMemory:
    def __init__(self, store: Store, network: Network, now: float) -> None:
        self._store = store
        self._chain = f"{network.chain_id}/{network.contracts.pool_manager}"
        self._now = now

    def read_depths(self, states: Iterable[PoolState]) -> dict[PoolId, Amounts]:
        """What each pool trades near its price, of those looked at lately that have not changed."""
        by_key = {self._key(state): state for state in states}
        kept = self._store.get_many(_NAMESPACE, by_key)
        return {
            by_key[key].pool_id: Amounts(int(stored["amount0"]), int(stored["amount1"]))
            for key, stored in kept.items()
            if isinstance(stored, dict) and self._holds(stored, by_key[key])
        }

    def remember(self, states: Iterable[PoolState], nearby: Mapping[PoolId, Amounts]) -> None:
        documents = {
            self._key(state): {
                "tick": str(state.tick),
                "liquidity": str(state.liquidity),
                "amount0": str(nearby[state.pool_id].amount0),
                "amount1": str(nearby[state.pool_id].amount1),
                "time": str(self._now),
            }
            for state in states
        }
        if documents:
            self._store.put_many(_NAMESPACE, documents, now=self._now)

    def _key(self, state: PoolState) -> str:
        return f"{self._chain}/{state.pool_id}"

    def _holds(self, kept: Mapping[str, str], state: PoolState) -> bool:
        age = self._now - float(kept["time"])
        moved = abs(int(kept["tick"]) - state.tick)
        shrunk = 2 * state.liquidity < int(kept["liquidity"])
        return 0 <= age < GOOD_SECONDS and moved <= MOST_MOVE_TICKS and not shrunk


LEAST_DEPTH_USD = 100
"""A pool that trades less than this on either side within two per cent tells nothing."""
MOST_FEE = 10_000
"""Above one per cent nobody bothers to keep a pool at the market's price."""

_PIPS_PER_CENT = 10_000


class PoolPriceQuestion(Struct, frozen=True):
    """The storage words that price some tokens, to be put into any read of the PoolManager."""

    network: Network
    wanted: tuple[Address, ...]
    keys: tuple[PoolKey, ...]

    @property
    def slots(self) -> tuple[int, ...]:
        return pool_state_slots(self.keys)

    def believable(self, words: Mapping[int, int]) -> tuple[PoolState, ...]:
        """The pools that tell a price if they are deep enough."""
        return _believable(self.network, pool_states(self.keys, words))

    async def read(
        self,
        words: Mapping[int, int],
        here: OneBlock,
        block: Block,
        memory: DepthMemory | None = None,
    ) -> dict[Address, Quantity[Fraction]]:
        """Dollars for one of each token asked about.

        How deep the pools are takes two requests, unless it is remembered.
        """
        nearby = await self.depths(words, here, memory)
        return prices_from_pools(self.network, self.wanted, self.believable(words), nearby, block)

    async def depths(
        self, words: Mapping[int, int], here: OneBlock, memory: DepthMemory | None = None
    ) -> dict[PoolId, Amounts]:
        """What each believable pool trades near its price."""
        states = self.believable(words)
        nearby = {} if memory is None else memory.read_depths(states)
        unseen = [state for state in states if state.pool_id not in nearby]
        if unseen:
            depths = await read_depths(here, self.network, unseen)
            nearby |= {pool_id: depth.nearby() for pool_id, depth in depths.items()}
            if memory is not None:
                memory.remember(unseen, nearby)
        return nearby


def ask_pool_prices(
    network: Network, wanted: Iterable[Address], also: Iterable[PoolKey] = ()
) -> PoolPriceQuestion:
    """The pools that may price these tokens: the usual ones, and `also` those known to exist."""
    asked = tuple(dict.fromkeys(wanted))
    if network.stable is None:
        return PoolPriceQuestion(network, asked, ())
    anchors = _anchors(network)
    keys = dict.fromkeys(candidate_pools(anchors))
    for token in asked:
        if token not in anchors and listed_token(network, token) is not None:
            for anchor in anchors:
                keys.update(dict.fromkeys(plain_pools(token, anchor)))
    keys.update(dict.fromkeys(also))
    return PoolPriceQuestion(network, asked, tuple(keys))


def prices_from_pools(
    network: Network,
    wanted: Iterable[Address],
    states: Iterable[PoolState],
    nearby: Mapping[PoolId, Amounts],
    block: Block,
) -> dict[Address, Quantity[Fraction]]:
    """Dollars for one of each token, from pools and what they trade nearby, read at this block."""
    if network.stable is None:
        reason = Unknown(f"no stable token is declared on {network.title}")
        return dict.fromkeys(wanted, reason)
    market = _Market(network, states, nearby)
    return {address: market.price(address, block) for address in wanted}


class _Offer(Struct, frozen=True):
    """What one pool, or two in a row, say a token is worth, and how much they would pay for it."""

    usd: Fraction
    depth_usd: Fraction
    source: str


_A_DOLLAR = _Offer(Fraction(1), Fraction(10**18), "")
"""The declared stable itself, of which there is always enough."""


class _Market:
    """The trustworthy pools of one block."""

    def __init__(
        self, network: Network, states: Iterable[PoolState], nearby: Mapping[PoolId, Amounts]
    ) -> None:
        self._network = network
        self._nearby = nearby
        self._states = _believable(network, states)
        self._coin = self._deepest(NATIVE, {network.stable: _A_DOLLAR})

    def price(self, address: Address, block: Block) -> Quantity[Fraction]:
        token = _listed(self._network, address)
        if token is None:
            return Unknown("pools price only listed tokens")
        if address == self._network.stable:
            source = f"{token.symbol} counts as one dollar"
            return Known(Fraction(1), source, block.number, float(block.timestamp))
        offer = self._offer(self._one(address))
        if offer is None:
            return Unknown(f"no plain pool on {self._network.title} is deep enough to price it")
        return Known(offer.usd, f"pool {offer.source}", block.number, float(block.timestamp))

    def _offer(self, address: Address) -> _Offer | None:
        if address == NATIVE or self._coin is None:
            return self._deepest(address, {self._network.stable: _A_DOLLAR})
        return self._deepest(address, {self._network.stable: _A_DOLLAR, NATIVE: self._coin})

    def _deepest(self, address: Address, paid_in: Mapping[Address | None, _Offer]) -> _Offer | None:
        """The best offer of one pool for a token, among those that pay in something priced."""
        offers = []
        for state in self._states:
            currency0, currency1 = self._one(state.key.currency0), self._one(state.key.currency1)
            if currency0 == address and currency1 in paid_in:
                offers.append(self._offered(state, paid_in[currency1], sells_currency0=True))
            elif currency1 == address and currency0 in paid_in:
                offers.append(self._offered(state, paid_in[currency0], sells_currency0=False))
        best = max(offers, key=lambda offer: offer.depth_usd, default=None)
        return best if best is not None and best.depth_usd >= LEAST_DEPTH_USD else None

    def _offered(self, state: PoolState, payment: _Offer, *, sells_currency0: bool) -> _Offer:
        decimals0, decimals1 = map(self._decimals, (state.key.currency0, state.key.currency1))
        price = state.price(decimals0, decimals1)
        depth = self._nearby.get(state.pool_id, Amounts(0, 0))
        sides = Fraction(depth.amount0, 10**decimals0), Fraction(depth.amount1, 10**decimals1)
        for_sale, paid = sides if sells_currency0 else sides[::-1]
        if not sells_currency0:
            price = 1 / price
        name = pool_name(self._network, state)
        return _Offer(
            usd=price * payment.usd,
            depth_usd=min(min(for_sale * price, paid) * payment.usd, payment.depth_usd),
            source=f"{name} and {payment.source}" if payment.source else name,
        )

    def _one(self, address: Address) -> Address:
        """The coin and its wrapped form, which anyone may change into each other, as one."""
        return NATIVE if address == self._network.wrapped_native else address

    def _decimals(self, address: Address) -> int:
        token = _listed(self._network, address)
        if token is None or token.decimals is None:
            raise TypeError("Only pools of listed tokens are among those that tell a price.")
        return token.decimals


def pool_name(network: Network, state: PoolState) -> str:
    """As a price names the pool it comes from: `WETH/USDC 0.05%`."""
    tokens = (_listed(network, address) for address in (state.key.currency0, state.key.currency1))
    pair = "/".join("" if token is None else token.symbol for token in tokens)
    return f"{pair} {state.lp_fee / _PIPS_PER_CENT:g}%"


def _believable(network: Network, states: Iterable[PoolState]) -> tuple[PoolState, ...]:
    return tuple(
        state
        for state in states
        if _keeps_the_market_price(state)
        and _listed(network, state.key.currency0) is not None
        and _listed(network, state.key.currency1) is not None
    )


def _listed(network: Network, address: Address) -> Token | None:
    """The token where it is listed with its decimals."""
    found = listed_token(network, address)
    return None if found is None or found.token.decimals is None else found.token


def _keeps_the_market_price(state: PoolState) -> bool:
    """Whether anyone may trade the pool freely and cheaply, so that it cannot stay wrong."""
    meddling = touches_swaps(state.key.hooks)
    return not meddling and state.liquidity > 0 and state.lp_fee <= MOST_FEE


def _anchors(network: Network) -> tuple[Address, ...]:
    """What other tokens are priced in: the stable, the coin and its wrapped form."""
    anchors = (network.stable, NATIVE, network.wrapped_native)
    return tuple(address for address in anchors if address is not None)
