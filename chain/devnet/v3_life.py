"""Uniswap v3 in the demo: two pools, four positions of the demo wallet, and traders in both pools.

It comes after the market's history, in blocks of its own: what v4 holds stays as it is, to the
unit. Somebody else pays for the positions and hands them over, so the wallet's coins and
its transactions are what they were.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

from chain.contracts import abi
from chain.contracts.networks import NATIVE
from chain.contracts.v3_pool import v3_pool_address
from chain.devnet.v3 import SWAP_ROUTER, v3_addresses
from chain.devnet.world.accounts import ARBITRAGEUR, CROWD, DEMO_WALLET, MEDIUM_PROVIDER, Account
from chain.devnet.world.pools import USDC_CURRENCY, WETH_CURRENCY, Crowd, Currency, DevnetPool
from chain.devnet.world.price_path import MILLITICKS, Asset, sqrt_price_at
from chain.devnet.world.writing import NodeState, UnsignedCall
from chain.math.ticks import nearest_usable_tick, usable_ticks

if TYPE_CHECKING:
    from chain.contracts.networks import Address
    from chain.devnet.world.market import MarketVisit, SimulatedMarket

    Mine = Callable[[Sequence[UnsignedCall]], object]
    """One block with these transactions."""

DEEP = DevnetPool(
    "v3 WETH/USDC 0.05%", WETH_CURRENCY, USDC_CURRENCY, 500, 10, NATIVE,
    3_000_000, Crowd(1, 100), (0, 0), 0,
)  # fmt: skip
THIN = DevnetPool(
    "v3 WETH/USDC 1%", WETH_CURRENCY, USDC_CURRENCY, 10_000, 200, NATIVE,
    20_000, Crowd(1, 100), (0, 0), 0,
)  # fmt: skip
V3_POOLS = (DEEP, THIN)

_NEVER = 2**48 - 1
_PAYER = MEDIUM_PROVIDER
_TRADERS = (ARBITRAGEUR, *CROWD)
_CREATION_GAS = 6_000_000
_MOST_IN = 10**30
"""More than any trade takes: the price it may reach is what ends it."""
_REACH = 45
"""Ticks the crowd pushes the price to either side of the market's."""
_PIPS_PER_TICK = 100
_TAKEN_OUT = 40
"""Percent of a position that its owner took out of its range, and left with the manager."""

_APPROVE = "approve(address,uint256)"
_CREATE = "createAndInitializePoolIfNecessary(address,address,uint24,uint160)"
_MINT = "mint((address,address,uint24,int24,int24,uint256,uint256,uint256,uint256,address,uint256))"
_DECREASE = "decreaseLiquidity((uint256,uint128,uint256,uint256,uint256))"
_TRANSFER = "transferFrom(address,address,uint256)"
_SWAP = "exactInputSingle((address,address,uint24,address,uint256,uint256,uint256,uint160))"


class Opening(NamedTuple):
    """A position as it is opened: its pool, how far it reaches, and what goes in."""

    pool: DevnetPool
    below: int
    above: int
    dollars: tuple[int, int]
    """Of ether and of dollars; the range takes what it can of them."""


OPENINGS: Mapping[str, Opening] = {
    "in range": Opening(DEEP, 600, 700, (6_000, 6_000)),
    "out of range, with tokens owed": Opening(DEEP, -20, 620, (9_000, 0)),
    "wide": Opening(DEEP, 6_000, 6_000, (10_000, 10_000)),
    "in a thin pool": Opening(THIN, 2_000, 2_000, (1_500, 1_500)),
}


def found_v3(state: NodeState, market: SimulatedMarket, time: int, mine: Mine) -> dict[str, int]:
    """Open the pools and the positions, trade in them, and hand them over; token ids by state."""
    prices = market.prices(time)
    manager = v3_addresses()["NonfungiblePositionManager"]
    mine([approval for account in _TRADERS for approval in _approvals(account)])
    mine([*_approvals(_PAYER), *(_creation(pool, prices) for pool in V3_POOLS)])
    mine([_provision(pool, prices) for pool in V3_POOLS])
    first = _next_id(state, manager)
    mine([_opened(opening, prices) for opening in OPENINGS.values()])
    ids = {name: first + place for place, name in enumerate(OPENINGS)}
    for pool in V3_POOLS:
        mine(_round_trip(state, pool, prices, place=0))
    left = ids["out of range, with tokens owed"]
    part = _liquidity(state, manager, left) * _TAKEN_OUT // 100
    taken = abi.encode_call(_DECREASE, (left, part, 0, 0, _NEVER))
    given = [
        abi.encode_call(_TRANSFER, _PAYER.address, DEMO_WALLET.address, token_id)
        for token_id in ids.values()
    ]
    mine([UnsignedCall(_PAYER, manager, data) for data in (taken, *given)])
    return ids


def v3_trades(state: NodeState, market: SimulatedMarket, visit: MarketVisit) -> list[UnsignedCall]:
    """What a visit of the market brings to the pools of v3: a crowd in one, arbitrage in both."""
    prices = market.prices(visit.time)
    crowded = V3_POOLS[visit.index % len(V3_POOLS)]
    return [
        trade
        for pool in V3_POOLS
        for trade in (
            _round_trip(state, pool, prices, place=visit.index)
            if pool is crowded
            else _arbitrage(state, pool, prices)
        )
    ]


def _round_trip(
    state: NodeState, pool: DevnetPool, prices: Mapping[Asset, int], *, place: int
) -> list[UnsignedCall]:
    """Up, down past where it was, and back to a price that no arbitrage would move."""
    here, settled = _here(state, pool), _settled(state, pool, prices)
    top, reach = max(here, settled), _REACH * MILLITICKS
    legs = ((top + reach, True), (settled - reach, False), (settled, True))
    return [
        _swap(CROWD[(place + leg) % len(CROWD)], pool, goal, rising=rising)
        for leg, (goal, rising) in enumerate(legs)
    ]


def _arbitrage(
    state: NodeState, pool: DevnetPool, prices: Mapping[Asset, int]
) -> list[UnsignedCall]:
    """The trade that pays after the fee, if any."""
    here, settled = _here(state, pool), _settled(state, pool, prices)
    if abs(settled - here) <= MILLITICKS:
        return []
    return [_swap(ARBITRAGEUR, pool, settled, rising=settled > here)]


def _settled(state: NodeState, pool: DevnetPool, prices: Mapping[Asset, int]) -> int:
    """The price nearest to the pool's that pays no arbitrage after the fee, in milliticks."""
    market, band = pool.milliticks(prices), pool.fee * MILLITICKS // _PIPS_PER_TICK
    return min(max(_here(state, pool), market - band), market + band)


def _here(state: NodeState, pool: DevnetPool) -> int:
    """The pool's price in milliticks, as its tick tells it."""
    factory = v3_addresses()["UniswapV3Factory"]
    address = v3_pool_address(factory, *_tokens(pool), pool.fee)
    told = state.call(address, abi.encode_call("slot0()"))
    return int.from_bytes(told[32:64], "big", signed=True) * MILLITICKS


def _swap(trader: Account, pool: DevnetPool, milliticks: int, *, rising: bool) -> UnsignedCall:
    """A trade that ends at this price."""
    sold, bought = reversed(_tokens(pool)) if rising else _tokens(pool)
    limit = sqrt_price_at(milliticks)
    values = (sold, bought, pool.fee, trader.address, _NEVER, _MOST_IN, 0, limit)
    return UnsignedCall(trader, SWAP_ROUTER, abi.encode_call(_SWAP, values))


def _approvals(account: Account) -> list[UnsignedCall]:
    spenders = (v3_addresses()["NonfungiblePositionManager"], SWAP_ROUTER)
    return [
        UnsignedCall(account, currency.address, abi.encode_call(_APPROVE, spender, 2**256 - 1))
        for currency in (WETH_CURRENCY, USDC_CURRENCY)
        for spender in spenders
    ]


def _creation(pool: DevnetPool, prices: Mapping[Asset, int]) -> UnsignedCall:
    price = sqrt_price_at(pool.milliticks(prices))
    data = abi.encode_call(_CREATE, *_tokens(pool), pool.fee, price)
    manager = v3_addresses()["NonfungiblePositionManager"]
    return UnsignedCall(_PAYER, manager, data, gas=_CREATION_GAS)


def _provision(pool: DevnetPool, prices: Mapping[Asset, int]) -> UnsignedCall:
    """What others provide, over all prices."""
    half = pool.depth // 2
    return _minted(pool, usable_ticks(pool.tick_spacing), (half, half), prices)


def _opened(opening: Opening, prices: Mapping[Asset, int]) -> UnsignedCall:
    pool, centre = opening.pool, opening.pool.milliticks(prices) // MILLITICKS
    lower, upper = (
        nearest_usable_tick(centre + offset, pool.tick_spacing)
        for offset in (-opening.below, opening.above)
    )
    return _minted(pool, (lower, upper), opening.dollars, prices)


def _minted(
    pool: DevnetPool,
    ticks: tuple[int, int],
    dollars: tuple[int, int],
    prices: Mapping[Asset, int],
) -> UnsignedCall:
    amounts = (
        _units(currency, worth, prices)
        for currency, worth in zip((pool.currency0, pool.currency1), dollars, strict=True)
    )
    values = (*_tokens(pool), pool.fee, *ticks, *amounts, 0, 0, _PAYER.address, _NEVER)
    manager = v3_addresses()["NonfungiblePositionManager"]
    return UnsignedCall(_PAYER, manager, abi.encode_call(_MINT, values))


def _units(currency: Currency, dollars: int, prices: Mapping[Asset, int]) -> int:
    root = sqrt_price_at(prices[currency.asset])
    unit: int = 10**currency.decimals
    return (dollars * unit << 192) // (root * root)


def _tokens(pool: DevnetPool) -> tuple[Address, Address]:
    return pool.currency0.address, pool.currency1.address


def _next_id(state: NodeState, manager: Address) -> int:
    """Of a manager that has burned nothing: one after all there are."""
    told = state.call(manager, abi.encode_call("totalSupply()"))
    return int.from_bytes(told, "big") + 1


def _liquidity(state: NodeState, manager: Address, token_id: int) -> int:
    told = state.call(manager, abi.encode_call("positions(uint256)", token_id))
    return int.from_bytes(told[7 * 32 : 8 * 32], "big")
