"""Facts read from the small world, and built transactions run on it."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import isqrt

from agents.numbers.edges import TickRange
from agents.numbers.inventory import allocate_inventory, terms_of
from chain.contracts import abi
from chain.contracts.networks import NATIVE, Address, network_named
from chain.contracts.pool_key import POOL_KEY_TYPES, PoolKey
from chain.contracts.storage import (
    bitmap_slot,
    decode_position_info,
    decode_slot0,
    decode_tick_liquidity,
    pool_slots,
    tick_slots,
)
from chain.devnet.world.accounts import DEMO_WALLET
from chain.devnet.world.deployment import CONTRACTS
from chain.execution.build.builder import Built
from chain.execution.plan.facts import (
    ChainFacts,
    FeeCaps,
    PoolFacts,
    PositionFacts,
    SpenderAllowance,
    TokenAllowances,
    position_facts,
)
from chain.execution.plan.requests import QuotedSwap
from chain.execution.transaction import UnsignedTransaction
from chain.math.drift import Bips, Span
from chain.math.liquidity import Amounts
from chain.math.ticks import nearest_usable_tick, tick_at_sqrt_price
from chain.pools.depth import WORD_TICKS, Depth
from chain.protocols.custody import Custody
from chain.protocols.reference import v4_position
from chain.protocols.snapshot import identify
from chain.protocols.v4.storage import pool_snapshot, pool_states, position_snapshot
from chain.rpc.records import Block
from tests import chain_view
from tests.chain_view import ChainView, Outcome, small_world

NETWORK = network_named("devnet")
WALLET = DEMO_WALLET.address
ROUTER = NETWORK.contracts.universal_router or ""
MANAGER = NETWORK.contracts.position_manager
GWEI = 10**9
_CREATION = (abi.topic("Transfer(address,address,uint256)"), f"0x{0:064x}")


__all__ = ["small_world"]


class Words(Mapping[int, int]):
    """The PoolManager's storage as a mapping."""

    def __init__(self, state: ChainView) -> None:
        self._state = state

    def __getitem__(self, slot: int) -> int:
        return self._state.storage(CONTRACTS.pool_manager, slot)

    def __iter__(self) -> Iterator[int]:
        raise TypeError("The storage can be asked, not listed.")

    def __len__(self) -> int:
        raise TypeError("The storage can be asked, not listed.")


@dataclass
class Chain:
    """One private state of the small world."""

    state: ChainView
    time: int

    def ask(self, to: Address, signature: str, *values: object) -> int:
        outcome = self.state.call(to, abi.encode_call(signature, *values))
        return int.from_bytes(outcome.output[:32], "big") if outcome.success else 0

    def balance(self, token: Address, owner: Address) -> int:
        if token == NATIVE:
            return self.state.balance(owner)
        return self.ask(token, "balanceOf(address)", owner)

    def owner(self, token_id: int) -> Address | None:
        owner = self.ask(MANAGER, "ownerOf(uint256)", token_id)
        return f"0x{owner:040x}" if owner else None

    def allowances(self, token: Address) -> TokenAllowances:
        permit2 = CONTRACTS.permit2
        through = {}
        for spender in (MANAGER, ROUTER):
            call = abi.encode_call("allowance(address,address,address)", WALLET, token, spender)
            output = self.state.call(permit2, call).output
            amount, expiration = (int.from_bytes(output[at : at + 32], "big") for at in (0, 32))
            through[spender] = SpenderAllowance(amount, expiration)
        return TokenAllowances(
            self.ask(token, "allowance(address,address)", WALLET, permit2), through
        )

    def pool(self, key: PoolKey) -> PoolFacts:
        slot0 = decode_slot0(Words(self.state)[pool_slots(key.pool_id).slot0])
        return PoolFacts(key, slot0.sqrt_price_x96, slot0.lp_fee)

    def position(self, token_id: int) -> PositionFacts:
        call = abi.encode_call("getPoolAndPositionInfo(uint256)", token_id)
        output = self.state.call(MANAGER, call).output
        key = PoolKey(*abi.decode(POOL_KEY_TYPES, output[:-32]))
        info = decode_position_info(int.from_bytes(output[-32:], "big"))
        identity = identify(v4_position(token_id), key, info.tick_lower, info.tick_upper)
        subscriber = self.ask(MANAGER, "subscriber(uint256)", token_id)
        custody = Custody(WALLET, None, f"0x{subscriber:040x}" if subscriber else None)
        words = Words(self.state)
        pool = pool_snapshot(identity, MANAGER, words, None)
        block = Block(0, "", "", self.time, 0, 0, 0)
        return position_facts(
            position_snapshot(identity, MANAGER, words, block=block, pool=pool, custody=custody)
        )

    def facts(self, *keys: PoolKey) -> ChainFacts:
        tokens = {token for key in keys for token in (key.currency0, key.currency1)} | {NATIVE}
        return ChainFacts(
            network=NETWORK,
            sender=WALLET,
            head_time=self.time,
            nonce=self.state.nonce(WALLET),
            fees=FeeCaps(3 * GWEI, GWEI),
            balances={token: self.balance(token, WALLET) for token in tokens},
            allowances={token: self.allowances(token) for token in tokens - {NATIVE}},
        )

    def run(self, transactions: Sequence[UnsignedTransaction]) -> list[Outcome]:
        """Each step in turn, every one of them successful."""
        outcomes = []
        for each in transactions:
            assert each.nonce == self.state.nonce(each.sender)
            outcome = self.state.apply(
                each.sender, each.to, each.data, value=each.value, gas=each.gas
            )
            assert outcome.success, (each.step, outcome.output.hex(), outcome.failure)
            outcomes.append(outcome)
        return outcomes

    def depth(self, key: PoolKey) -> Depth:
        """All liquidity within some thirty per cent of the price."""
        words = Words(self.state)
        (state,) = pool_states([key], words)
        per_word = WORD_TICKS * key.tick_spacing
        reach = range((state.tick - 3000) // per_word, (state.tick + 3000) // per_word + 1)
        ticks = [
            (word * WORD_TICKS + bit) * key.tick_spacing
            for word in reach
            for bit in range(WORD_TICKS)
            if words[bitmap_slot(key.pool_id, word)] >> bit & 1
        ]
        changes = tuple(
            (tick, decode_tick_liquidity(words[tick_slots(key.pool_id, tick).liquidity]).net)
            for tick in ticks
        )
        return Depth(state, changes, reach.start * per_word, reach.stop * per_word)

    def balancing(self, key: PoolKey, span: Span, funds: Amounts) -> QuotedSwap | None:
        """The swap that brings these funds into the proportion of the range."""
        depth = self.depth(key)
        ticks = TickRange(span.tick_lower, span.tick_upper)
        allocation = allocate_inventory(
            depth.state.sqrt_price_x96,
            ticks,
            funds,
            Amounts(0, 0),
            terms_of(depth),
        )
        swap = allocation.swap
        if swap is None:
            return None
        return QuotedSwap(
            key, swap.zero_for_one, swap.amount_in, swap.amount_out, swap.sqrt_price_after
        )

    def drift(self, key: PoolKey, bips: Bips) -> None:
        """Let the pool's price be this much higher, as if others had traded."""
        slot = pool_slots(key.pool_id).slot0
        word = self.state.storage(CONTRACTS.pool_manager, slot)
        price = decode_slot0(word).sqrt_price_x96
        moved = isqrt(price * price * (10_000 + bips) // 10_000)
        tick = tick_at_sqrt_price(moved) % (1 << 24)
        changed = word >> 184 << 184 | tick << 160 | moved
        self.state.set_storage(CONTRACTS.pool_manager, slot, changed)

    def around(self, key: PoolKey, below: int, above: int) -> Span:
        tick = decode_slot0(Words(self.state)[pool_slots(key.pool_id).slot0]).tick
        lower, upper = (nearest_usable_tick(tick + by, key.tick_spacing) for by in (-below, above))
        return Span(lower, upper)


def fresh_chain() -> Chain:
    state = chain_view.fresh_chain()
    return Chain(state, state.head.timestamp)


def minted(outcomes: Sequence[Outcome]) -> int:
    (token_id,) = (
        int(log["topics"][3], 16)
        for outcome in outcomes
        for log in outcome.logs
        if log["address"] == MANAGER and tuple(log["topics"][:2]) == _CREATION
    )
    return token_id


def steps(built: Built) -> list[str]:
    return [each.step for each in built.transactions]
