"""A pool at one block, whichever protocol it is of, and what must be read to know it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from fractions import Fraction
from itertools import combinations
from typing import Generic, TypeVar

from msgspec import Struct
from msgspec.structs import astuple

from chain.base.units import Units
from chain.contracts.hooks import NO_HOOK, HookPassport
from chain.contracts.networks import NATIVE, Address, Network
from chain.contracts.pool_key import PoolId, PoolKey
from chain.math.fees import FeeGrowth, ProtocolFee, swap_fee
from chain.read.block_reader import OneBlock, read_slots
from chain.rpc.requests import Call, CallOutcome

_PRICE_DENOMINATOR = 1 << 192

T = TypeVar("T")
K = TypeVar("K")


class PoolState(Struct, frozen=True):
    key: PoolKey
    pool_id: PoolId
    sqrt_price_x96: Units
    tick: int
    """As the pool keeps it: at a boundary it may be one less than the tick of the price."""
    lp_fee: int
    """Pips that providers take now; in a dynamic-fee pool what the hook last set."""
    protocol_fee: ProtocolFee
    liquidity: int
    """Of all positions the price is inside of."""

    def price(self, decimals0: int, decimals1: int) -> Fraction:
        """Whole currency1 for one whole currency0, exactly."""
        return Fraction(self.sqrt_price_x96**2 * 10**decimals0, _PRICE_DENOMINATOR * 10**decimals1)

    @property
    def fee_tier(self) -> int:
        """What the pool is known by: the whole fee in v3, what providers take now in v4."""
        return self.lp_fee + (max(self.protocol_fee) if self.key.protocol_within else 0)

    def swap_fee(self, *, zero_for_one: bool) -> int:
        """Pips a swapper pays in this direction, the protocol's share included."""
        if self.key.protocol_within:
            return self.fee_tier
        return swap_fee(self.protocol_fee.towards(zero_for_one=zero_for_one), self.lp_fee)


class PoolSnapshot(PoolState, frozen=True):
    """What all positions of a pool share at one block."""

    fee_growth: FeeGrowth
    hook: HookPassport

    @property
    def state(self) -> PoolState:
        return PoolState(*astuple(self)[: len(PoolState.__struct_fields__)])


USUAL_TIERS = ((100, 1), (500, 10), (3000, 60), (10000, 200))
"""Fee in pips and tick spacing, as Uniswap's own interface pairs them."""


def usual_pools(tokens: Iterable[Address]) -> Iterator[tuple[Address, Address, int, int]]:
    """What the usual pools between two of these tokens are made of."""
    for pair in combinations(dict.fromkeys(tokens), 2):
        currency0, currency1 = sorted(pair)
        for fee, spacing in USUAL_TIERS:
            yield currency0, currency1, fee, spacing


def is_usual_pool(key: PoolKey) -> bool:
    """Without a hook, at one of the usual fees."""
    return key.hooks == NO_HOOK and (key.fee, key.tick_spacing) in USUAL_TIERS


def is_pair_of(own: PoolKey, other: PoolKey, wrapped: Address | None) -> bool:
    """Whether both hold the same two tokens, the coin and its wrapped form being one."""

    def pair_of(key: PoolKey) -> set[Address | None]:
        pair = (key.currency0, key.currency1)
        return {wrapped if token == NATIVE else token for token in pair}

    return pair_of(own) == pair_of(other) and len(pair_of(own)) > 1


def is_turned(own: PoolKey, other: PoolKey) -> bool:
    """Whether the pair's tokens stand in the other order there."""
    return own.currency0 == other.currency1 or own.currency1 == other.currency0


class Told(Struct, frozen=True):
    """What one block answered."""

    words: Mapping[int, int]
    """Of the PoolManager's storage, by slot."""
    outcomes: Mapping[Call, CallOutcome]


class PoolQuestion(Struct, Generic[T], frozen=True):
    """What must be read of a block to know a thing, and how it is read out of the answers."""

    read: Callable[[Told], T]
    slots: tuple[int, ...] = ()
    calls: tuple[Call, ...] = ()


async def read_questions(
    here: OneBlock,
    network: Network,
    questions: Mapping[K, PoolQuestion[T]],
    calls: Iterable[Call] = (),
) -> tuple[dict[K, T], list[CallOutcome]]:
    """All answers, and the outcomes of the calls beside, in one request where they fit."""
    beside = list(calls)
    asked = [call for question in questions.values() for call in question.calls]
    slots = [slot for question in questions.values() for slot in question.slots]
    answers = await read_slots(here, network, slots, [*beside, *asked])
    outcomes = dict(zip(asked, answers.outcomes[len(beside) :], strict=True))
    told = Told(answers.words, outcomes)
    found = {name: question.read(told) for name, question in questions.items()}
    return found, list(answers.outcomes[: len(beside)])
