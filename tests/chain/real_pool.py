"""The real ETH/USDC pool of mainnet, word for word in the storage of the embedded chain."""

import json
from collections import defaultdict
from dataclasses import dataclass
from functools import cache

from chain.base.units import GWEI
from chain.contracts.abi import encode_call
from chain.contracts.calldata import (
    TO_SENDER,
    Mint,
    SettlePair,
    SwapExactIn,
    Sweep,
    execute,
    initialize_pool,
    modify_liquidities,
    swap_exact_in,
)
from chain.contracts.networks import NATIVE, Address, network_named
from chain.contracts.pool_key import PoolKey
from chain.contracts.storage import bitmap_slot, pool_slots, tick_slots
from chain.devnet.launch import DevnetReady
from chain.devnet.world.accounts import CROWD, WIDE_PROVIDER, Account
from chain.devnet.world.deployment import ETHER, USDC
from chain.devnet.world.writing import sign_transaction
from chain.pools.depth import WORD_TICKS, Depth, quote_at_most, read_depths
from chain.protocols.v4.storage import pool_state_slots, pool_states
from chain.read.block_reader import OneBlock, read_slots
from chain.rpc.client import RpcClient
from tests import node_rpc
from tests.chain.moves import NEVER
from tests.market_data import market_data

DEVNET = network_named("devnet")
REAL_POOL = PoolKey(NATIVE, USDC.address, 500, 10, NATIVE)
HELD_ETHER, HELD_USDC = 1_958 * ETHER, 1_145_820 * 10**6
"""What its liquidity is worth at its price: the PoolManager must be able to pay it all out."""
_MOST = 2**128 - 1
_WHOLE_CURVE = 900_000


@dataclass(frozen=True)
class RecordedPool:
    sqrt_price_x96: int
    tick: int
    liquidity: int
    lp_fee: int
    ticks: dict[int, tuple[int, int]]
    """By tick the liquidity that refers to it, and what is added when it is crossed upwards."""

    def words(self, key: PoolKey) -> dict[int, int]:
        """What the PoolManager stores of it; no fees have grown yet."""
        pool_id = key.pool_id
        slots = pool_slots(pool_id)
        bitmaps: dict[int, int] = defaultdict(int)
        words = {
            slots.slot0: self.lp_fee << 208 | self.tick % (1 << 24) << 160 | self.sqrt_price_x96,
            slots.liquidity: self.liquidity,
        }
        for tick, (gross, net) in self.ticks.items():
            words[tick_slots(pool_id, tick).liquidity] = net % (1 << 128) << 128 | gross
            place, bit = divmod(tick // key.tick_spacing, WORD_TICKS)
            bitmaps[bitmap_slot(pool_id, place)] |= 1 << bit
        return words | bitmaps


@cache
def recorded_pool() -> RecordedPool:
    told = json.loads(market_data("v4-eth-usdc-500-mainnet-24407242.json").read_text())
    scalars = told["scalars"]
    return RecordedPool(
        scalars["sqrt_price_x96"],
        scalars["tick"],
        scalars["liquidity"],
        scalars["lp_fee"],
        {int(tick): (gross, net) for tick, (gross, net, _) in told["tick_data"].items()},
    )


@dataclass(frozen=True)
class RealPool:
    """The pool on one embedded chain, and people who trade and provide there."""

    devnet: DevnetReady

    def write(self) -> int:
        """Open the pool, give it its state and what it owes; how many words were written."""
        recorded, contracts = recorded_pool(), self.devnet.contracts
        opening = initialize_pool(REAL_POOL, recorded.sqrt_price_x96)
        self.send(WIDE_PROVIDER, contracts.position_manager, opening)
        words = recorded.words(REAL_POOL)
        node_rpc.ask_all(
            self.devnet.url,
            [
                ("anvil_setStorageAt", (contracts.pool_manager, hex(slot), f"0x{word:064x}"))
                for slot, word in words.items()
            ],
        )
        held = int(
            node_rpc.ask(self.devnet.url, "eth_getBalance", contracts.pool_manager, "latest"), 16
        )
        node_rpc.ask(
            self.devnet.url, "anvil_setBalance", contracts.pool_manager, hex(held + HELD_ETHER)
        )
        credit = encode_call("mint(address,uint256)", contracts.pool_manager, HELD_USDC)
        self.send(WIDE_PROVIDER, USDC.address, credit)
        return len(words)

    def send(self, account: Account, to: Address, data: bytes, value: int = 0) -> None:
        url = self.devnet.url
        nonce = int(node_rpc.ask(url, "eth_getTransactionCount", account.address, "latest"), 16)
        signed = sign_transaction(
            account.key,
            nonce=nonce,
            to=to,
            gas=8_000_000,
            max_fee_per_gas=100 * GWEI,
            max_priority_fee_per_gas=GWEI,
            value=value,
            data=data,
        )
        sent = node_rpc.ask(url, "eth_sendRawTransaction", "0x" + signed.raw.hex())
        receipt = node_rpc.receipt(url, sent)
        assert int(receipt["status"], 16) == 1, receipt

    def swap(
        self, pool: PoolKey, amount: int, *, zero_for_one: bool, trader: Account = CROWD[0]
    ) -> None:
        """Somebody sells so much; what of it the pool leaves comes back."""
        router = self.devnet.contracts.universal_router
        assert router is not None
        pays_ether = zero_for_one and pool.currency0 == NATIVE
        command = swap_exact_in(SwapExactIn(pool, zero_for_one, amount, 0))
        self.send(trader, router, execute([command], NEVER), amount if pays_ether else 0)

    def mint(self, ticks: tuple[int, int], liquidity: int, owner: Address) -> int:
        """A position for anybody, paid for by somebody; its token id."""
        manager = self.devnet.contracts.position_manager
        asked = {"to": manager, "data": "0x" + encode_call("nextTokenId()").hex()}
        token_id = int(node_rpc.ask(self.devnet.url, "eth_call", asked, "latest"), 16)
        actions = (
            Mint(REAL_POOL, *ticks, liquidity, _MOST, _MOST, owner),
            SettlePair(REAL_POOL.currency0, REAL_POOL.currency1),
            Sweep(NATIVE, TO_SENDER),
        )
        self.send(WIDE_PROVIDER, manager, modify_liquidities(actions, NEVER), 10_000 * ETHER)
        return token_id

    async def depth(self, client: RpcClient, pool: PoolKey = REAL_POOL) -> Depth:
        """All of its liquidity, from end to end."""
        head = await client.head()
        here = OneBlock(client, DEVNET, head.hash)
        words = (await read_slots(here, DEVNET, pool_state_slots([pool]))).words
        states = pool_states([pool], words)
        return (await read_depths(here, DEVNET, states, reach=_WHOLE_CURVE))[pool.pool_id]

    async def trade_to(self, client: RpcClient, pool: PoolKey, sqrt_price: int) -> None:
        """As arbitrage would: sell into the pool until its price is there."""
        depth = await self.depth(client, pool)
        zero_for_one = sqrt_price < depth.state.sqrt_price_x96

        def passed(amount: int) -> bool:
            after = quote_at_most(depth, amount, zero_for_one=zero_for_one).sqrt_price_after
            return after <= sqrt_price if zero_for_one else after >= sqrt_price

        most = 1
        while not passed(most):
            most *= 2
        least = most // 2
        while most - least > max(1, most // 10**9):
            middle = (least + most) // 2
            least, most = (least, middle) if passed(middle) else (middle, most)
        self.swap(pool, most, zero_for_one=zero_for_one)
