"""Uniswap v3 in the demo: two pools, four positions of the demo wallet, and traders in both pools.

It happens at the end of blocks that the market writes anyway, and by accounts that do nothing else
by then: what v4 holds and logs stays as it is, to the unit. Somebody else pays for the positions,
so the wallet's coins and its transactions are what they were.
"""

import json
import os
from collections.abc import Iterator, Mapping, Sequence
from typing import Literal, NamedTuple, get_args

from chain.base.units import DAY
from chain.contracts import abi
from chain.contracts.addresses import keccak
from chain.contracts.networks import EMBEDDED, NATIVE, Address, network_named
from chain.devnet.anvil import PackageError, bundled_lock, ensure_package
from chain.devnet.json_rpc import NodeClient
from chain.devnet.world.accounts import (
    DEMO_WALLET,
    DEPLOYER,
    MEDIUM_PROVIDER,
    WIDE_PROVIDER,
    Account,
)
from chain.devnet.world.deployment import ROUTER_PARAMETERS, WETH
from chain.devnet.world.market import (
    HISTORY_ENDS,
    MARKET_OPENS,
    MarketVisit,
    SimulatedMarket,
    growth_paid,
)
from chain.devnet.world.pools import USDC_CURRENCY, WETH_CURRENCY, Crowd, Currency, DevnetPool
from chain.devnet.world.price_path import MILLITICKS, Asset, sqrt_price_at
from chain.devnet.world.writing import BlockDraft, NodeState, UnsignedCall
from chain.math.ticks import nearest_usable_tick, usable_ticks
from chain.protocols.v3.pool_key import POOL_CODE, v3_pool_address

DEEP = DevnetPool(
    "v3 WETH/USDC 0.05%", WETH_CURRENCY, USDC_CURRENCY, 500, 10, NATIVE,
    3_000_000, Crowd(100, 94), (0, 0), 0,
)  # fmt: skip
THIN = DevnetPool(
    "v3 WETH/USDC 1%", WETH_CURRENCY, USDC_CURRENCY, 10_000, 200, NATIVE,
    20_000, Crowd(25, 70), (0, 0), 0,
)  # fmt: skip
V3_POOLS = (DEEP, THIN)

_NEVER = 2**48 - 1
_PAYER, V3_TRADER = MEDIUM_PROVIDER, WIDE_PROVIDER
_CREATION_GAS, _TRADING_GAS = 6_000_000, 4_000_000
_MOST_IN = 10**30
"""More than any trade takes: the price it may reach is what ends it."""
_MOST_CROSSINGS = 1
_PIPS_PER_TICK = 100
_TAKEN_OUT = 40
"""Percent of a position that its owner took out of its range, and left with the manager."""
_CLEARLY = 120
"""Ticks that the price must have gone for a range to be left behind."""

_APPROVE = "approve(address,uint256)"
_CREATE = "createAndInitializePoolIfNecessary(address,address,uint24,uint160)"
_MINT = "mint((address,address,uint24,int24,int24,uint256,uint256,uint256,uint256,address,uint256))"
_DECREASE = "decreaseLiquidity((uint256,uint128,uint256,uint256,uint256))"
_TRANSFER = "transferFrom(address,address,uint256)"
_SWAP = "exactInputSingle((address,address,uint24,address,uint256,uint256,uint256,uint160))"


class Opening(NamedTuple):
    """A position as it is opened: its pool, its range, and what goes in."""

    pool: DevnetPool
    ticks: tuple[int, int]
    dollars: int
    """Of each token; the range takes what it can of them."""
    owner: Account = DEMO_WALLET


class V3Life:
    """What happens in v3 through the market's history; the path is known, so a range can be left
    behind on purpose."""

    def __init__(self, market: SimulatedMarket, visits: Sequence[MarketVisit]) -> None:
        self._market = market
        self._visits = visits
        self._left_behind = max(
            visits[len(visits) // 4 + 1 : len(visits) * 5 // 8], key=self._distance
        ).index

    def visit(self, visit: MarketVisit, page: BlockDraft) -> None:
        """What a visit of the market brings besides its own trades."""
        for intent in self._intents(visit, page.state):
            page.send(intent)

    def _intents(self, visit: MarketVisit, state: NodeState) -> Iterator[UnsignedCall]:
        prices, count = self._market.prices(visit.time), len(self._visits)
        if visit.index == 0:
            yield from (
                approval for account in (_PAYER, V3_TRADER) for approval in _approvals(account)
            )
        if visit.index < len(V3_POOLS):
            # One a block: it takes a third of the gas beyond which a block's price rises.
            pool = V3_POOLS[visit.index]
            yield from (_creation(pool, prices), _provision(pool, prices))
        yield from v3_trades(state, self._market, visit, V3_POOLS[: visit.index])
        if visit.index == count // 4:
            yield self._opened(prices, DEEP, 6_000, (300, 400), (visit.time, HISTORY_ENDS))
        if visit.index == self._left_behind:
            yield self._to_leave(visit, prices)
        if visit.index == count * 5 // 8:
            yield self._opened(prices, DEEP, 10_000, (6_000, 6_000), (visit.time,))
        if visit.index == count * 6 // 8:
            yield self._opened(prices, THIN, 1_500, (2_000, 2_000), (visit.time, HISTORY_ENDS))
        if visit.index == count * 15 // 16:
            yield from _half_taken_out(state, _second_of_wallet())

    def _opened(
        self,
        prices: Mapping[Asset, int],
        pool: DevnetPool,
        dollars: int,
        reach: tuple[int, int],
        times: Sequence[int],
    ) -> UnsignedCall:
        """Around all prices of these times."""
        ticks = [self._tick(pool, time) for time in times]
        return _minted(
            Opening(pool, (min(ticks) - reach[0], max(ticks) + reach[1]), dollars), prices
        )

    def _to_leave(self, visit: MarketVisit, prices: Mapping[Asset, int]) -> UnsignedCall:
        """A range around the price that the end of history is outside of."""
        here, end = self._tick(DEEP, visit.time), self._tick(DEEP, HISTORY_ENDS)
        half = abs(here - end) // 2
        ticks = (here - half, here + half) if half >= _CLEARLY // 2 else (end + 20, end + 620)
        return _minted(Opening(DEEP, ticks, 6_000, _PAYER), prices)

    def _distance(self, visit: MarketVisit) -> int:
        return abs(self._tick(DEEP, visit.time) - self._tick(DEEP, HISTORY_ENDS))

    def _tick(self, pool: DevnetPool, time: int) -> int:
        return pool.milliticks(self._market.prices(time)) // MILLITICKS


def _second_of_wallet() -> int:
    """The token id of what is left behind: after the pools' first liquidity and one position."""
    return len(V3_POOLS) + 2


def _half_taken_out(state: NodeState, token_id: int) -> list[UnsignedCall]:
    """Some of a position out of its range, and the position handed over."""
    manager = v3_addresses()["NonfungiblePositionManager"]
    part = _liquidity(state, manager, token_id) * _TAKEN_OUT // 100
    taken = abi.encode_call(_DECREASE, (token_id, part, 0, 0, _NEVER))
    given = abi.encode_call(_TRANSFER, _PAYER.address, DEMO_WALLET.address, token_id)
    return [UnsignedCall(_PAYER, manager, data) for data in (taken, given)]


def v3_trades(
    state: NodeState,
    market: SimulatedMarket,
    visit: MarketVisit,
    pools: Sequence[DevnetPool] = V3_POOLS,
) -> list[UnsignedCall]:
    """What a visit of the market brings to pools of v3: arbitrage, and the crowd that is due."""
    legs = [
        leg
        for pool in pools
        if visit.index * pool.crowd.weight % 100 < pool.crowd.weight
        for leg in _legs(state, market, pool, visit)
    ]
    if not legs:
        return []
    data = abi.encode_call("multicall(bytes[])", legs)
    return [UnsignedCall(V3_TRADER, SWAP_ROUTER, data, gas=_TRADING_GAS)]


def _legs(
    state: NodeState, market: SimulatedMarket, pool: DevnetPool, visit: MarketVisit
) -> Iterator[bytes]:
    """To a price that no arbitrage would move, by way of where the crowd pushes it."""
    prices = market.prices(visit.time)
    here, settled = _here(state, pool), _settled(state, pool, prices)
    due, most = _due(state, market, pool, visit), visit.largest_reach * MILLITICKS
    crossings = min(max(-(-due // (2 * most)) - 1, 1), _MOST_CROSSINGS)
    reach = min(due // (2 + 2 * crossings), most)
    goals = [settled]
    if reach > 2 * MILLITICKS:
        side = 1 if visit.index % 2 else -1
        goals = [*(settled + side * reach * (-1) ** leg for leg in range(1 + crossings)), settled]
    for goal in goals:
        if abs(goal - here) > MILLITICKS:
            yield _swap(pool, goal, rising=goal > here)
            here = goal


def _due(state: NodeState, market: SimulatedMarket, pool: DevnetPool, visit: MarketVisit) -> int:
    """As in v4: how far the crowd pushes, so that the day's fees become what they should be."""
    day_over = MARKET_OPENS + -(-(visit.time - MARKET_OPENS) // DAY) * DAY
    growth = (_growth(state, pool, f"feeGrowthGlobal{token}X128()") for token in (0, 1))
    due = market.risk(pool, day_over) * pool.crowd.pays // 100 - growth_paid(pool, *growth)
    visits = max(visit.left * pool.crowd.weight // 100, 1)
    return max(due * 2 // (5 * pool.fee * visits), 0)


def _growth(state: NodeState, pool: DevnetPool, getter: str) -> int:
    return int.from_bytes(state.call(_address(pool), abi.encode_call(getter)), "big")


def _settled(state: NodeState, pool: DevnetPool, prices: Mapping[Asset, int]) -> int:
    """The price nearest to the pool's that pays no arbitrage after the fee, in milliticks."""
    market, band = pool.milliticks(prices), pool.fee * MILLITICKS // _PIPS_PER_TICK
    return min(max(_here(state, pool), market - band), market + band)


def _here(state: NodeState, pool: DevnetPool) -> int:
    """The pool's price in milliticks, as its tick tells it."""
    told = state.call(_address(pool), abi.encode_call("slot0()"))
    return int.from_bytes(told[32:64], "big", signed=True) * MILLITICKS


def _address(pool: DevnetPool) -> Address:
    return v3_pool_address(v3_addresses()["UniswapV3Factory"], *_tokens(pool), pool.fee)


def _swap(pool: DevnetPool, milliticks: int, *, rising: bool) -> bytes:
    """A trade that ends at this price."""
    sold, bought = reversed(_tokens(pool)) if rising else _tokens(pool)
    limit = sqrt_price_at(milliticks)
    values = (sold, bought, pool.fee, V3_TRADER.address, _NEVER, _MOST_IN, 0, limit)
    return abi.encode_call(_SWAP, values)


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
    return _minted(Opening(pool, usable_ticks(pool.tick_spacing), pool.depth // 2, _PAYER), prices)


def _minted(opening: Opening, prices: Mapping[Asset, int]) -> UnsignedCall:
    pool = opening.pool
    ticks = (nearest_usable_tick(tick, pool.tick_spacing) for tick in opening.ticks)
    amounts = (
        _units(currency, opening.dollars, prices) for currency in (pool.currency0, pool.currency1)
    )
    values = (*_tokens(pool), pool.fee, *ticks, *amounts, 0, 0, opening.owner.address, _NEVER)
    manager = v3_addresses()["NonfungiblePositionManager"]
    return UnsignedCall(_PAYER, manager, abi.encode_call(_MINT, values))


def _units(currency: Currency, dollars: int, prices: Mapping[Asset, int]) -> int:
    root = sqrt_price_at(prices[currency.asset])
    unit: int = 10**currency.decimals
    return (dollars * unit << 192) // (root * root)


def _tokens(pool: DevnetPool) -> tuple[Address, Address]:
    return pool.currency0.address, pool.currency1.address


def _liquidity(state: NodeState, manager: Address, token_id: int) -> int:
    told = state.call(manager, abi.encode_call("positions(uint256)", token_id))
    return int.from_bytes(told[7 * 32 : 8 * 32], "big")


# They are placed after the world is written, without a block or a transaction, so that nothing of
# v4 is otherwise for it. What their constructors would have stored is stored here; a test compares
# it with contracts that were deployed.
V3Name = Literal["UniswapV3Factory", "NonfungiblePositionManager", "SwapRouter"]
_NAMES: Mapping[str, V3Name] = {name: name for name in get_args(V3Name)}

SWAP_ROUTER: Address = "0xe592427a0aece92de3edee1f18e0157c05861564"
FEE_TIERS = {100: 1, 500: 10, 3000: 60, 10_000: 200}
"""With the tick spacing of each; the lowest came by a vote, the others with the constructor."""

_FACTORY_OWNER_SLOT = 3
_FACTORY_TIERS_SLOT = 4
_INTERFACES_SLOT = 0
_NAME_SLOT = 6
_SYMBOL_SLOT = 7
_NEXT_IDS_SLOT = 13
_ROUTER_CACHE_SLOT = 0
_FIRST_IDS = 1 << 176 | 1
"""The first token id and, above its 176 bits, the first number of a pool."""
_INTERFACES = ("01ffc9a7", "80ac58cd", "5b5e139f", "780e9d63")
"""ERC-165 itself, and ERC-721 with its metadata and its enumeration."""


def v3_codes(environment: Mapping[str, str] = os.environ) -> dict[V3Name, bytes]:
    """The creation code of every contract, fetched if need be."""
    codes: dict[V3Name, bytes] = {}
    for package in bundled_lock().v3:
        folder = ensure_package(package, environment)
        for file in package.files:
            content = json.loads((folder / file.file_name).read_bytes())
            codes[_NAMES[file.name]] = bytes.fromhex(str(content["bytecode"]).removeprefix("0x"))
    return codes


def v3_addresses() -> dict[V3Name, Address]:
    contracts = network_named(EMBEDDED).v3
    if contracts is None:
        raise PackageError("networks.toml names no contracts of v3 for the embedded chain.")
    return {
        "UniswapV3Factory": contracts.factory,
        "NonfungiblePositionManager": contracts.position_manager,
        "SwapRouter": SWAP_ROUTER,
    }


def constructor_arguments() -> dict[V3Name, tuple[Address, ...]]:
    """Nobody draws pictures of positions here: the manager has no descriptor."""
    factory = v3_addresses()["UniswapV3Factory"]
    return {
        "UniswapV3Factory": (),
        "NonfungiblePositionManager": (factory, WETH.address, NATIVE),
        "SwapRouter": (factory, WETH.address),
    }


def constructor_storage() -> dict[V3Name, dict[int, int]]:
    """By slot, what the constructors store; the factory's with the tier that was voted for."""
    tiers = {_mapped(fee, _FACTORY_TIERS_SLOT): spacing for fee, spacing in FEE_TIERS.items()}
    interfaces = {
        _mapped(int(selector, 16) << 224, _INTERFACES_SLOT): 1 for selector in _INTERFACES
    }
    return {
        "UniswapV3Factory": {_FACTORY_OWNER_SLOT: int(DEPLOYER.address, 16), **tiers},
        "NonfungiblePositionManager": {
            **interfaces,
            _NAME_SLOT: _short_text("Uniswap V3 Positions NFT-V1"),
            _SYMBOL_SLOT: _short_text("UNI-V3-POS"),
            _NEXT_IDS_SLOT: _FIRST_IDS,
        },
        "SwapRouter": {_ROUTER_CACHE_SLOT: 2**256 - 1},
    }


def place_v3(node: NodeClient, codes: Mapping[V3Name, bytes]) -> None:
    """Put what the constructors make at the contracts' addresses.

    Run as if it were the code there, a constructor returns what it would leave there.
    """
    arguments, storage = constructor_arguments(), constructor_storage()
    for name, address in v3_addresses().items():
        parties = arguments[name]
        creation = codes[name] + abi.encode(("address",) * len(parties), parties)
        made = node.ask(
            "eth_call", {"to": address}, "latest", {address: {"code": "0x" + creation.hex()}}
        )
        node.ask_all(
            [
                ("anvil_setCode", (address, made)),
                ("anvil_setNonce", (address, "0x1")),
                *(
                    ("anvil_setStorageAt", (address, hex(slot), f"0x{value:064x}"))
                    for slot, value in storage[name].items()
                ),
            ]
        )


def place_v3_router(node: NodeClient, creation: bytes) -> None:
    """A UniversalRouter that knows v3: the one of v4 was deployed where there was none."""
    contracts = network_named(EMBEDDED)
    assert contracts.v3 is not None
    assert contracts.v3.universal_router is not None
    made = contracts.contracts
    parameters = (
        *(made.permit2, WETH.address, NATIVE, contracts.v3.factory, bytes(32), POOL_CODE),
        *(made.pool_manager, contracts.v3.position_manager, made.position_manager, NATIVE),
    )
    address = contracts.v3.universal_router
    creation += abi.encode((ROUTER_PARAMETERS,), (parameters,))
    code = node.ask(
        "eth_call", {"to": address}, "latest", {address: {"code": "0x" + creation.hex()}}
    )
    node.ask_all([("anvil_setCode", (address, code)), ("anvil_setNonce", (address, "0x1"))])


def _mapped(key: int, slot: int) -> int:
    """Where Solidity puts `mapping[key]` for a mapping at `slot`."""
    return int.from_bytes(keccak(key.to_bytes(32, "big") + slot.to_bytes(32, "big")), "big")


def _short_text(text: str) -> int:
    """A text of less than 32 bytes, as Solidity stores it."""
    return int.from_bytes(text.encode().ljust(31, b"\0") + bytes([2 * len(text)]), "big")
