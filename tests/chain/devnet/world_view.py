"""Reads of a world's head, as StateView and the PositionManager tell it."""

from dataclasses import dataclass
from typing import Any

from chain.contracts.abi import decode, encode_call
from chain.contracts.networks import Address
from chain.contracts.pool_key import PoolKey
from chain.contracts.storage import decode_position_info
from chain.devnet.world.deployment import CONTRACTS
from chain.devnet.world.worlds import World
from tests.chain_view import ChainView

KEY = "(address,address,uint24,int24,address)"


@dataclass(frozen=True)
class Position:
    """What the chain says about one token id."""

    owner: Address
    pool: PoolKey
    tick_lower: int
    tick_upper: int
    tick: int
    liquidity: int
    fees: tuple[int, int]

    @property
    def in_range(self) -> bool:
        return self.tick_lower <= self.tick < self.tick_upper


class View:
    """Reads of one world's head."""

    def __init__(self, world: World, chain: ChainView) -> None:
        self.world = world
        self.chain = chain

    def read(self, to: Address, signature: str, *values: object, returns: tuple[str, ...]) -> Any:
        outcome = self.chain.call(to, encode_call(signature, *values))
        assert outcome.success, outcome
        return decode(returns, outcome.output)

    def slot0(self, pool: PoolKey) -> tuple[int, int, int, int]:
        returns = ("uint160", "int24", "uint24", "uint24")
        identity = bytes.fromhex(pool.pool_id[2:])
        price, tick, protocol_fee, lp_fee = self.read(
            CONTRACTS.state_view, "getSlot0(bytes32)", identity, returns=returns
        )
        return price, tick, protocol_fee, lp_fee

    def position(self, name: str) -> Position:
        token_id = self.world.positions[name]
        manager, view = CONTRACTS.position_manager, CONTRACTS.state_view
        key, word = self.read(
            manager, "getPoolAndPositionInfo(uint256)", token_id, returns=(KEY, "uint256")
        )
        pool, info = PoolKey(*key), decode_position_info(word)
        identity = bytes.fromhex(pool.pool_id[2:])
        ticks = (info.tick_lower, info.tick_upper)
        liquidity, last0, last1 = self.read(
            view,
            "getPositionInfo(bytes32,address,int24,int24,bytes32)",
            identity,
            manager,
            *ticks,
            token_id.to_bytes(32, "big"),
            returns=("uint128", "uint256", "uint256"),
        )
        now0, now1 = self.read(
            view,
            "getFeeGrowthInside(bytes32,int24,int24)",
            identity,
            *ticks,
            returns=("uint256", "uint256"),
        )
        growth = ((now0 - last0) % 2**256, (now1 - last1) % 2**256)
        return Position(
            owner=self.read(manager, "ownerOf(uint256)", token_id, returns=("address",))[0],
            pool=pool,
            tick_lower=info.tick_lower,
            tick_upper=info.tick_upper,
            tick=self.slot0(pool)[1],
            liquidity=liquidity,
            fees=(growth[0] * liquidity >> 128, growth[1] * liquidity >> 128),
        )
