"""Made-up markets: a position of any width at any volatility, all of its numbers consistent."""

from dataclasses import dataclass
from math import log, sqrt
from typing import Literal

from agents.lp.facts import (
    Capital,
    CreateContext,
    CreateGoal,
    GasFacts,
    MarketContext,
    MarketFacts,
    Observation,
    ObservedPool,
    ObservedPoolFacts,
    ObservedPositionFacts,
    TokenFacts,
)
from agents.numbers.edges import price_tick
from agents.numbers.fees import full_range_value
from agents.numbers.regime import read_regime
from agents.numbers.rounding import significant
from agents.numbers.rules import RiskProfile
from agents.numbers.shapes import ExposureBias
from chain.contracts.networks import NATIVE
from chain.contracts.pool_key import PoolKey
from chain.math.liquidity import amounts_for_liquidity
from chain.math.ticks import nearest_usable_tick, sqrt_price_at_tick
from chain.protocols.reference import v4_position

OWNER = "0x" + "0a" * 20
TOKEN0, TOKEN1 = "0x" + "11" * 20, "0x" + "22" * 20
USD_PER_WEI = 3_000 / 10**18
_BELIEVED = 1.25
TIME = 1_768_000_000
USD_PER_UNIT1 = 1e-6
HOOK_POWER = "It can stop you from taking liquidity out."
_REACH = 30_000


@dataclass(frozen=True)
class Pair:
    """Two tokens and the fee tier they trade in; the second token is worth a dollar."""

    tick: int
    tick_spacing: int
    fee: int
    decimals0: int
    kind0: str


ETHER_DOLLAR = Pair(tick=-196_256, tick_spacing=10, fee=500, decimals0=18, kind0="ether")
DOLLAR_DOLLAR = Pair(tick=3, tick_spacing=1, fee=100, decimals0=6, kind0="dollar")


@dataclass(frozen=True)
class Market:
    """What a test decides; everything else follows from it."""

    sigma: float
    paid: float = 1.3
    """The volatility that fees pay for, in multiples of the one there is; where that is enough for
    entering, a quarter more is paid, which is what is not believed to last."""
    half_width: float = 0.05
    """Of the range held, as a part of the price."""
    off_centre: float = 0.0
    """Where the price stands in the range: 0 at its centre, 1 at its upper edge, 2 far above."""
    dollars: int = 20_000
    pool_dollars: int = 60_000_000
    """The full-range worth of everybody else's liquidity."""
    gwei: float = 1.0
    pair: Pair = ETHER_DOLLAR
    profile: RiskProfile = RiskProfile.BALANCED
    fees_known: bool = True
    assumed: bool = False
    danger: Literal["none", "caution", "dangerous"] = "none"
    hours_since_action: float | None = None

    def position(self) -> MarketContext:
        pair, spacing = self.pair, self.pair.tick_spacing
        price = sqrt_price_at_tick(pair.tick) + 1
        half = max(log(1 + self.half_width) / log(1.0001), spacing)
        centre = pair.tick - self.off_centre * half
        lower = nearest_usable_tick(round(centre - half), spacing)
        upper = max(nearest_usable_tick(round(centre + half), spacing), lower + spacing)
        edges = (sqrt_price_at_tick(lower), sqrt_price_at_tick(upper))
        sample = amounts_for_liquidity(price, *edges, 10**24, round_up=False)
        worth = sample.amount1 + (sample.amount0 * price * price >> 192)
        liquidity = 10**24 * self.dollars * 10**6 // worth
        held = amounts_for_liquidity(price, *edges, liquidity, round_up=False)
        return MarketContext(
            **dict(self._observation()),
            observed=self._pool({lower: liquidity, upper: -liquidity} if self.dollars else {}),
            position=ObservedPositionFacts(
                token_id=v4_position(7),
                owner=OWNER,
                tick_lower=lower,
                tick_upper=upper,
                liquidity=liquidity,
                amount0=held.amount0,
                amount1=held.amount1,
                fees0=held.amount0 // 1_000,
                fees1=held.amount1 // 1_000,
                has_subscriber=False,
                last_action_time=None
                if self.hours_since_action is None
                else round(TIME - 3_600 * self.hours_since_action),
            ),
        )

    def opening(self, *amounts: tuple[str, int], pools: int = 1) -> CreateContext:
        return CreateContext(
            **dict(self._observation()),
            goal=CreateGoal(
                capital=tuple(Capital(token=token, amount=amount) for token, amount in amounts),
                pair=None,
                exposure=ExposureBias.NEUTRAL,
                fee=None,
            ),
            owner=OWNER,
            surveyed_pools=tuple(self._pool({}) for _ in range(pools)),
        )

    def _observation(self) -> Observation:
        return Observation(
            chain_id=31337,
            block=1_000,
            block_hash="0x" + "ab" * 32,
            time=TIME,
            profile=self.profile,
            gas=GasFacts(
                wei_per_gas=round(self.gwei * 10**9), l1_data_fee_wei=0, usd_per_wei=USD_PER_WEI
            ),
            sources={"all": "made up"},
            summary="",
        )

    def _pool(self, own: dict[int, int]) -> ObservedPool:
        pool = self._pool_facts(own)
        regime = read_regime(significant(self.sigma), significant(self.sigma), 0.2)
        return ObservedPool(
            token0=TokenFacts(
                address=TOKEN0,
                decimals=self.pair.decimals0,
                kind=self.pair.kind0,
                usd_per_unit=pool.sqrt_price_x96**2 / 2**192 * USD_PER_UNIT1,
            ),
            token1=TokenFacts(
                address=TOKEN1, decimals=6, kind="dollar", usd_per_unit=USD_PER_UNIT1
            ),
            pool=pool,
            market=self._market_facts(pool),
            regime=regime.regime,
            regime_reason=regime.reason,
        )

    def _pool_facts(self, own: dict[int, int]) -> ObservedPoolFacts:
        pair = self.pair
        key = PoolKey(TOKEN0, TOKEN1, pair.fee, pair.tick_spacing, NATIVE)
        sqrt_price = sqrt_price_at_tick(pair.tick) + 1
        each = full_range_value(10**12, price_tick(sqrt_price), USD_PER_UNIT1)
        others = round(self.pool_dollars / each * 10**12)
        lowest, highest = (
            (pair.tick + reach) // pair.tick_spacing * pair.tick_spacing
            for reach in (-_REACH, _REACH)
        )
        changes = {lowest: others, highest: -others, **own}
        return ObservedPoolFacts(
            pool_id=key.pool_id,
            currency0=TOKEN0,
            currency1=TOKEN1,
            fee=pair.fee,
            tick_spacing=pair.tick_spacing,
            hooks=NATIVE,
            sqrt_price_x96=sqrt_price,
            tick=pair.tick,
            liquidity=others + sum(net for tick, net in own.items() if tick <= pair.tick),
            lp_fee=pair.fee,
            protocol_fee=0,
            changes=tuple(sorted(changes.items())),
            lowest=lowest,
            highest=highest,
            hook_danger=self.danger,
            hook_powers=(HOOK_POWER,) if self.danger == "dangerous" else (),
        )

    def _market_facts(self, pool: ObservedPoolFacts) -> MarketFacts:
        # σ_implied = √(8 · fees / full-range worth of the active liquidity), per day.
        edge = self.paid**2 * (_BELIEVED if self.paid**2 > _BELIEVED else 1)
        implied = sqrt(edge) * self.sigma
        worth = full_range_value(pool.liquidity, price_tick(pool.sqrt_price_x96), USD_PER_UNIT1)
        return MarketFacts(
            sigma=self.sigma,
            sigma_source="made up",
            sigma_assumed=self.assumed,
            sigma_24h=self.sigma,
            sigma_7d=self.sigma,
            sigma_30d=self.sigma,
            path_efficiency=0.2,
            fees_24h_usd=implied**2 / 8 * worth if self.fees_known else None,
            implied_sigma_24h=implied if self.fees_known else None,
            implied_sigma_7d=implied if self.fees_known else None,
            fee_rate_24h=implied**2 / 8 if self.fees_known else None,
            fee_rate_7d=implied**2 / 8 if self.fees_known else None,
            edge_7d=edge if self.fees_known else None,
        )
