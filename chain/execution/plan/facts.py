"""What building rests on: the chain as it was read at one head, and how far it may drift."""

from collections.abc import Mapping

from msgspec import Struct, field

from chain.base.errors import Failure, ZunoError
from chain.contracts.networks import Address, Network
from chain.contracts.pool_key import PoolKey
from chain.math.drift import SLIPPAGE_BIPS, Bips, Span
from chain.math.liquidity import Amounts
from chain.protocols.reference import PositionRef
from chain.protocols.snapshot import PositionSnapshot

DEADLINE_SECONDS = 15 * 60
EXPIRY_SECONDS = 30 * 60


class FactsUnknownError(ZunoError):
    """Something a transaction cannot be built without; the message says what."""


class BuildError(ZunoError, ValueError):
    """A choice no transaction can carry out; the message says why and what to do instead."""

    failure = Failure.REFUSED


class InsufficientBalanceError(BuildError):
    """The wallet holds less of a token than the transactions may take."""

    def __init__(self, token: Address, held: int, needed: int) -> None:
        super().__init__(
            f"The wallet holds less of {token} than the {needed} units this may take. "
            "Name a smaller amount."
        )
        self.token, self.held, self.needed = token, held, needed


class PoolFacts(Struct, frozen=True):
    key: PoolKey
    sqrt_price_x96: int
    lp_fee: int
    """Pips that providers take now."""


class PositionFacts(Struct, frozen=True):
    ref: PositionRef
    pool: PoolFacts
    span: Span
    liquidity: int
    fees: Amounts
    """Owed now; until they are collected they only grow."""
    subscriber: Address | None
    withdrawn: Amounts = Amounts(0, 0)
    """Taken out of the range before, and not collected yet."""
    holder: Address | None = None
    """Who must give it back before the manager takes the owner's calls."""

    @property
    def amounts_owed(self) -> Amounts:
        """All that is paid out besides what the range holds."""
        return self.fees.plus(self.withdrawn)


class Lender(Struct, frozen=True):
    """An account that is lent to a contract's code by a transaction of another one."""

    address: Address
    nonce: int
    runs: Address | None
    """Whose code it runs now."""
    has_code: bool


class SpenderAllowance(Struct, frozen=True):
    """What Permit2 lets one contract move, and until when."""

    amount: int
    expiration: int


class TokenAllowances(Struct, frozen=True):
    to_permit2: int = 0
    through_permit2: Mapping[Address, SpenderAllowance] = field(default_factory=dict)
    """By spender."""
    direct: Mapping[Address, int] = field(default_factory=dict)
    """By spender, what it may move by leave of the token itself."""


class FeeCaps(Struct, frozen=True):
    max_fee_per_gas: int
    max_priority_fee_per_gas: int


class Tolerance(Struct, frozen=True):
    """How far the price may drift until inclusion before the chain itself refuses."""

    slippage_bips: Bips = SLIPPAGE_BIPS
    idle_bips: int = 300
    """Of the liquidity that could be minted now, what may be given up so that drift is survived."""


class ChainFacts(Struct, frozen=True):
    network: Network
    sender: Address
    head_time: int
    nonce: int
    fees: FeeCaps
    balances: Mapping[Address, int]
    allowances: Mapping[Address, TokenAllowances]
    tolerance: Tolerance = field(default_factory=Tolerance)
    lasts: int = DEADLINE_SECONDS
    """Seconds until the chain refuses what is built on them."""

    @property
    def deadline(self) -> int:
        return self.head_time + self.lasts

    @property
    def expiry(self) -> int:
        """When what is allowed on the way ends by itself."""
        return self.head_time + max(self.lasts, EXPIRY_SECONDS)


def position_facts(snapshot: PositionSnapshot) -> PositionFacts:
    """The part of a snapshot that building rests on."""
    pool = snapshot.pool
    return PositionFacts(
        ref=snapshot.ref,
        pool=PoolFacts(pool.key, pool.sqrt_price_x96, pool.lp_fee),
        span=Span(snapshot.identity.tick_lower, snapshot.identity.tick_upper),
        liquidity=snapshot.liquidity,
        fees=Amounts(snapshot.fees0, snapshot.fees1),
        subscriber=snapshot.custody.subscriber,
        withdrawn=snapshot.collectable.less(Amounts(snapshot.fees0, snapshot.fees1)),
        holder=snapshot.custody.holder,
    )
