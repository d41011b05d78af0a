"""What Scout observed: the only numbers a debate may reason from.

No name a contract gave itself is in here: tokens are addresses and roles, so nothing a stranger
wrote on the chain can reach a prompt or change a plan.
"""

from typing import ClassVar, Literal, TypeAlias

from pydantic import Field

from agents.bus.envelope import Measure, Payload, PositionNumber, Units
from agents.lp.plan import PlanPoolFacts
from agents.numbers.fees import UNKNOWN_SPREAD
from agents.numbers.outlook import PathStep
from agents.numbers.regime import Regime
from agents.numbers.rounding import significant
from agents.numbers.rules import RiskProfile
from agents.numbers.shapes import ExposureBias
from chain.contracts.pool_key import PoolKey
from chain.math.fees import unpack_protocol_fee
from chain.math.liquidity import Amounts
from chain.pools.depth import Depth
from chain.protocols.pool import PoolState
from chain.protocols.registry import protocol_of_pool


class TokenFacts(Payload):
    address: str
    decimals: int | None
    kind: str
    """`dollar`, `euro`, `ether`, `bitcoin` by the bundled list, or `other`."""
    usd_per_unit: Measure | None
    """What the smallest unit is worth."""


class ObservedPoolFacts(Payload):
    pool_id: str
    currency0: str
    currency1: str
    fee: int
    tick_spacing: int
    hooks: str
    sqrt_price_x96: Units
    tick: int
    liquidity: Units
    lp_fee: int
    protocol_fee: int
    """Packed as `slot0` keeps it."""
    changes: tuple[tuple[int, Units], ...]
    """Initialised ticks around the price with the liquidity each adds when crossed upwards."""
    lowest: int
    highest: int
    """Between these ticks `changes` is complete."""
    hook_danger: Literal["none", "caution", "dangerous"]
    hook_powers: tuple[str, ...]


class ObservedPositionFacts(Payload):
    token_id: PositionNumber
    owner: str
    tick_lower: int
    tick_upper: int
    liquidity: Units
    amount0: Units
    amount1: Units
    fees0: Units
    fees1: Units
    withdrawn0: Units = Field(default=0, exclude_if=lambda amount: not amount)
    withdrawn1: Units = Field(default=0, exclude_if=lambda amount: not amount)
    """Taken out of the range and not collected yet; among the fees where nobody can tell."""
    has_subscriber: bool
    last_action_time: int | None = None
    """When this desk last moved or opened it, Unix seconds; None when it did not."""

    @property
    def amounts_withdrawn(self) -> Amounts:
        return Amounts(self.withdrawn0, self.withdrawn1)

    @property
    def movable(self) -> Amounts:
        """What a move puts into another range: what was withdrawn before goes to the wallet."""
        return Amounts(self.amount0 + self.fees0, self.amount1 + self.fees1)

    @property
    def inside(self) -> Amounts:
        """All that closing it pays."""
        return self.movable.plus(self.amounts_withdrawn)


class EarlierAdvice(Payload):
    """A plan this desk made for the same position before."""

    time: int
    """Of the block it was made at, Unix seconds."""
    choice: Literal["hold", "exit", "move"]
    carried_out: bool
    """Whether anything of it was sent."""


class AdviceRecord(Payload):
    """How often one kind of this desk's plans came to beat what it is compared with."""

    kind: Literal["move", "hold", "exit", "create", "keep"]
    days: int
    beat: int
    judged: int


class DeskMemory(Payload):
    """What a desk remembers of its own advice: told to whoever argues, part of no plan."""

    earlier_advice: tuple[EarlierAdvice, ...] = ()
    """For the same position, the newest first."""
    advice_records: tuple[AdviceRecord, ...] = ()
    """What became of such plans before; empty until one was judged."""
    headlines: tuple[str, ...] = Field(default=(), exclude_if=lambda told: not told)
    """Of the feeds that the person has set, about the tokens: strangers' words, cleaned and cut."""
    hook_code: tuple[str, ...] = Field(default=(), exclude_if=lambda told: not told)
    """Of the hook's source, from where the person has it read: strangers' words, too."""


NO_MEMORY = DeskMemory()


class MarketFacts(Payload):
    """What the pool's market did; None is unknown, and `sources` says why."""

    sigma: Measure
    """Deviation of a day's log return: day and week alike where both are known, or assumed."""
    sigma_source: str
    sigma_assumed: bool
    sigma_24h: Measure | None
    """This, the week's and the path's efficiency are by one source: market or swaps, as `sigma`."""
    sigma_7d: Measure | None
    sigma_30d: Measure | None = None
    """Where it is known a chance to stay seven days is given, too."""
    path_efficiency: Measure | None
    fees_24h_usd: Measure | None
    """What all liquidity providers of the pool earned, the protocol's share left out."""
    implied_sigma_24h: Measure | None
    """The volatility these fees pay for."""
    implied_sigma_7d: Measure | None
    fee_rate_24h: Measure | None = None
    """What a day paid for each dollar of full-range worth in range, swap by swap."""
    fee_rate_7d: Measure | None = None
    """The same of the week, for one day of it."""
    edge_7d: Measure | None = None
    """What the pool paid over what arbitrage took from everyone in range, of the same 7 days."""
    fee_low_factor: Measure = significant(UNKNOWN_SPREAD.low)
    """A day's fees are less than this times what is expected one time in ten."""
    fee_high_factor: Measure = significant(UNKNOWN_SPREAD.high)
    """And more than this times it one time in ten."""
    week_low_factor: Measure = significant(UNKNOWN_SPREAD.week_low)
    week_high_factor: Measure = significant(UNKNOWN_SPREAD.week_high)
    """The same of a week's fees."""


ReplayStep: TypeAlias = tuple[int, int, int, int, int, int]
"""Seconds before the end; close, lowest and highest root; fee rate; liquidity that was met."""


class PricePathFacts(Payload):
    """The way a pool's price really went, for a range to be taken along it.

    A root is the square root of the price, in parts of 10^12 that it lay above the present one;
    a fee rate is in parts of 10^18 of the full-range worth of liquidity.
    """

    opening: int
    """The root before the first step."""
    liquidity_unit: Units
    """What the liquidity of steps is counted in."""
    swaps: int
    """More than there are steps where several swaps in a row were put into one."""
    steps: tuple[ReplayStep, ...]


class GasFacts(Payload):
    wei_per_gas: Units
    l1_data_fee_wei: Units
    """What the longest move pays for its data, operator fee included; 0 off OP-stack networks."""
    usd_per_wei: Measure | None
    as_one: bool = Field(default=False, exclude_if=lambda one: not one)
    """Whether the account is delegated, so that a plan is one transaction."""


class ObservedPool(Payload):
    """One pool with its two tokens and its market."""

    travels_on: ClassVar[bool] = True

    token0: TokenFacts
    token1: TokenFacts
    pool: ObservedPoolFacts
    market: MarketFacts
    regime: Regime
    regime_reason: str
    day_path: PricePathFacts | None = None
    """The swaps of the last 24 hours."""
    week_path: PricePathFacts | None = None
    """The hours of the last 7 days, a step each."""


class Capital(Payload):
    token: str
    amount: Units


class CreateGoal(Payload):
    """What a person wants to open, as the phrase grammar understood it."""

    capital: tuple[Capital, ...]
    """One token, or two; whoever stays long stays long in the first."""
    pair: tuple[str, str] | None
    """The two tokens the pool must hold, when they were named."""
    exposure: ExposureBias
    fee: int | None
    """The fee tier the pool must have, when one was named."""
    protocol: str | None = Field(default=None, exclude_if=lambda name: name is None)
    """Whose pool it must be, when that was said; else one of the PoolManager's."""


class KeepGoal(Payload):
    """A token the person wants to keep, whatever pays more."""

    token: str
    until: int | None = None
    """The day it is needed, Unix seconds; None for as long as the position lasts."""


class IntoGoal(Payload):
    """Where a position's liquidity is to go: into a pool of its pair of another protocol."""

    protocol: str | None = None
    """None is any other than its own."""
    fee: int | None = None
    """The pool's, in pips; None is any."""


def _is_empty(pools: tuple[object, ...]) -> bool:
    return not pools


class Observation(Payload):
    """Where and when the facts were read."""

    travels_on: ClassVar[bool] = True
    chain_id: int
    block: int
    block_hash: str
    time: int
    """Of the block, Unix seconds."""
    profile: RiskProfile
    gas: GasFacts
    sources: dict[str, str]
    """Who said each group of numbers."""
    summary: str
    """Scout's plain-English why."""
    allowed_hooks: tuple[str, ...] = ()
    """Hooks the person trusts, however much they can do."""
    swap_pools: tuple[ObservedPoolFacts, ...] = Field(default=(), exclude_if=_is_empty)
    """Plain pools of the same pairs, besides those observed, that a swap may go through."""


class MarketContext(Observation):
    mode: Literal["rebalance"] = "rebalance"
    observed: ObservedPool
    position: ObservedPositionFacts
    into: tuple[ObservedPool, ...] = Field(default=(), exclude_if=_is_empty)
    """Pools of its pair of other protocols, where it is asked about one of them."""
    keep: KeepGoal | None = Field(default=None, exclude_if=lambda keep: keep is None)

    @property
    def pools(self) -> tuple[ObservedPool, ...]:
        """Its own first: a shape names one by its place among them."""
        return self.observed, *self.into

    @property
    def first_pool(self) -> int:
        """The first that may be entered: where it is to go elsewhere its own is none."""
        return 1 if self.into else 0


class CreateContext(Observation):
    mode: Literal["create"] = "create"
    goal: CreateGoal
    owner: str
    wrapped_native: str | None = None
    """Capital in the chain's coin may enter pools of this token too, once it is wrapped."""
    surveyed_pools: tuple[ObservedPool, ...]
    """Those that hold the capital's very tokens first, then those that need the coin wrapped."""

    first_pool: ClassVar[int] = 0

    @property
    def pools(self) -> tuple[ObservedPool, ...]:
        return self.surveyed_pools


ScoutContext = MarketContext | CreateContext
"""What Scout may have observed."""


class PastChange(Payload):
    """One change of a position's liquidity."""

    age_seconds: int
    """Before the block that was observed."""
    liquidity_delta: Units
    """Zero where fees alone were collected."""


class PastFacts(Payload):
    """What became of a position since it was opened; worth is in units of currency1 now."""

    changes: tuple[PastChange, ...]
    """The latest, in order."""
    changes_in_all: int
    age_seconds: int | None
    deposited: Measure | None
    withdrawn: Measure | None
    fees_collected: Measure | None
    fees_earned: Measure | None
    """Collected and uncollected."""
    against_holding: Measure | None
    """How much more it and its fees are worth than what went in, had that just been held."""
    impermanent_loss: Measure | None
    """Without fees, as a part of what was deposited; a loss is negative."""


ROOT_PARTS = 10**12
RATE_PARTS = 10**18
_ROOT_ONE = 1 << 96


def path_steps(path: PricePathFacts, sqrt_price_x96: int) -> tuple[PathStep, ...]:
    """The steps of a path whose roots are told against this present one."""
    now, unit = sqrt_price_x96 / _ROOT_ONE, path.liquidity_unit
    steps = []
    opening = now * (1 + path.opening / ROOT_PARTS)
    for age, closed, low, high, rate, liquidity in path.steps:
        close = now * (1 + closed / ROOT_PARTS)
        steps.append(
            PathStep(
                age,
                opening,
                close,
                now * (1 + low / ROOT_PARTS),
                now * (1 + high / ROOT_PARTS),
                rate / RATE_PARTS,
                float(liquidity * unit),
            )
        )
        opening = close
    return tuple(steps)


def key_of(pool: ObservedPoolFacts | PlanPoolFacts) -> PoolKey:
    made_of = (pool.currency0, pool.currency1, pool.fee, pool.tick_spacing, pool.hooks)
    return protocol_of_pool(pool.pool_id).key(made_of, pool.pool_id)


def depth_of(pool: ObservedPoolFacts) -> Depth:
    """The liquidity that was observed, for `chain.pools.depth` to replay a swap on."""
    state = PoolState(
        key=key_of(pool),
        pool_id=pool.pool_id,
        sqrt_price_x96=pool.sqrt_price_x96,
        tick=pool.tick,
        lp_fee=pool.lp_fee,
        protocol_fee=unpack_protocol_fee(pool.protocol_fee),
        liquidity=pool.liquidity,
    )
    return Depth(state, tuple(sorted(pool.changes)), pool.lowest, pool.highest)
