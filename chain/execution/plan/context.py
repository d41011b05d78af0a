"""What the policy judges by: limits, and everything that was read for the judgment."""

from collections.abc import Mapping
from fractions import Fraction

from msgspec import Struct, field

from chain.base.units import COIN
from chain.contracts.networks import Address, Network
from chain.contracts.pool_key import CalldataPool, PoolKey
from chain.execution.plan.facts import Lender, PoolFacts, PositionFacts
from chain.execution.plan.requests import QuotedSwap
from chain.protocols.reference import PositionRef

DEAREST_POOL_FEE = 50_000
"""Pips: a pool that takes more of every swap is not entered."""


class PolicyLimits(Struct, frozen=True):
    max_fee_per_gas: int
    gas: int = 2_000_000
    """Of one step, for each position it changes; a batch may take as much for each of its calls."""
    value: int = 100 * COIN
    """Of the chain's own coin sent along with one step."""
    slippage_bips: int = 100
    deadline_seconds: int = 15 * 60
    expiry_seconds: int = 30 * 60
    lp_fee_pips: int = DEAREST_POOL_FEE
    daily_notional: int | None = None
    """Micro-dollars put into ranges within a day; None is no limit."""


class PolicyContext(Struct, frozen=True):
    network: Network
    allowed_chain_ids: frozenset[int]
    owner: Address
    head_time: int
    nonce: int
    """Of the first step."""
    limits: PolicyLimits
    tokens: frozenset[Address]
    """The tokens of the pair, the only ones an allowance may be given of."""
    code_hashes: Mapping[Address, str]
    """As read now, of every contract a step calls or a hook that is entered."""
    pinned_code_hashes: Mapping[Address, str]
    pools: Mapping[CalldataPool, PoolFacts]
    """By what bytes call them."""
    positions: Mapping[PositionRef, PositionFacts]
    """Those of the owner that the plan is about."""
    quotes: tuple[QuotedSwap, ...] = ()
    allowed_hooks: frozenset[Address] = frozenset()
    worth: Mapping[Address, Fraction] = field(default_factory=dict)
    """Micro-dollars for one unit of a token."""
    notional_today: int = 0
    drift_bips: int = 0
    """How far prices may have moved since the steps were built; none while they are built."""
    delegate: Address | None = None
    """Whose code the account runs now; None where it runs none."""
    lender: Lender | None = None
    """The account that is lent by a transaction of the wallet's, where it is another's."""


def key_of(pool: PoolKey) -> CalldataPool:
    """A pool as the decoder reads it."""
    return pool.as_written
