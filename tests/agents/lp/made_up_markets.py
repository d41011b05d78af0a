"""Markets nobody observed, for debates that need no chain: calm, stressed, thin, unpriced."""

from typing import Any, Literal

from agents.lp.facts import (
    Capital,
    CreateContext,
    CreateGoal,
    GasFacts,
    MarketContext,
    MarketFacts,
    ObservedPool,
    ObservedPoolFacts,
    ObservedPositionFacts,
    PricePathFacts,
    TokenFacts,
)
from agents.numbers.regime import read_regime
from agents.numbers.rules import RiskProfile
from agents.numbers.shapes import ExposureBias
from chain.contracts.networks import NATIVE
from chain.math.liquidity import amounts_for_liquidity
from chain.math.ticks import sqrt_price_at_tick
from chain.protocols.reference import v4_position

OWNER = "0x" + "5a" * 20
COIN, DOLLAR, OTHER_DOLLAR = (f"0x{digit * 40}" for digit in "123")
TOKEN_ID = 7_001_009
BLOCK, TIME = 987_654_321, 1_768_000_017
_REACH = 30_000
_ETHER_TICK = -196_024
_STABLE_TICK = -276_324


def market_context(state: str, profile: RiskProfile = RiskProfile.BALANCED) -> MarketContext:
    """A position in one of `STATES`."""
    return _POSITIONS[state].model_copy(update={"profile": profile})


def create_context(order: str, profile: RiskProfile = RiskProfile.BALANCED) -> CreateContext:
    """Capital for one of `WISHES`."""
    return _CAPITALS[order].model_copy(update={"profile": profile})


def _pool(
    tick: int = _ETHER_TICK,
    spacing: int = 10,
    fee: int = 500,
    liquidity: int = 880 * 10**15,
    *,
    currencies: tuple[str, str] = (COIN, DOLLAR),
    number: int = 1,
    danger: Literal["none", "dangerous"] = "none",
) -> ObservedPoolFacts:
    edge = _REACH // spacing * spacing
    middle = tick // spacing * spacing
    return ObservedPoolFacts(
        pool_id=f"0x{number:064x}",
        currency0=currencies[0],
        currency1=currencies[1],
        fee=fee,
        tick_spacing=spacing,
        hooks=NATIVE,
        sqrt_price_x96=sqrt_price_at_tick(tick) + 12_345,
        tick=tick,
        liquidity=liquidity,
        lp_fee=fee,
        protocol_fee=0,
        changes=((middle - edge, liquidity), (middle + edge, -liquidity)),
        lowest=middle - edge,
        highest=middle + edge,
        hook_danger=danger,
        hook_powers=() if danger == "none" else ("It can refuse to let liquidity out.",),
    )


def _observed(
    pool: ObservedPoolFacts,
    sigma: float = 0.021,
    fees: float | None = 2_100.0,
    *,
    priced: bool = True,
    edge: float = 2.11,
) -> ObservedPool:
    stable = pool.currency1 == OTHER_DOLLAR
    reading = read_regime(sigma, 0.8 * sigma, 0.22)
    dollar = 1e-6 if priced else None
    return ObservedPool(
        token0=TokenFacts(
            address=pool.currency0,
            decimals=18,
            kind="dollar" if stable else "ether",
            usd_per_unit=(1e-18 if stable else 3.07e-15) if priced else None,
        ),
        token1=TokenFacts(address=pool.currency1, decimals=6, kind="dollar", usd_per_unit=dollar),
        pool=pool,
        market=MarketFacts(
            sigma=sigma,
            sigma_source="61 pool swaps",
            sigma_assumed=fees is None,
            sigma_24h=sigma,
            sigma_7d=0.8 * sigma,
            sigma_30d=0.9 * sigma,
            path_efficiency=0.22,
            fees_24h_usd=fees,
            implied_sigma_24h=None if fees is None else 0.9 * sigma,
            implied_sigma_7d=None if fees is None else 1.45 * sigma,
            edge_7d=None if fees is None else edge,
            fee_rate_24h=None if fees is None else edge * sigma**2 / 8,
            fee_rate_7d=None if fees is None else edge * sigma**2 / 8,
        ),
        regime=reading.regime,
        regime_reason=reading.reason,
    )


def _position(
    observed: ObservedPool, below: int, above: int, liquidity: int = 5 * 10**15
) -> MarketContext:
    """Liquidity between so many ticks below the price and above it."""
    pool = observed.pool
    spacing = pool.tick_spacing
    lower, upper = ((pool.tick + far) // spacing * spacing for far in (-below, above))
    amounts = amounts_for_liquidity(
        pool.sqrt_price_x96,
        sqrt_price_at_tick(lower),
        sqrt_price_at_tick(upper),
        liquidity,
        round_up=False,
    )
    inside = lower <= pool.tick < upper
    changes = dict(pool.changes)
    for tick, net in ((lower, liquidity), (upper, -liquidity)):
        changes[tick] = changes.get(tick, 0) + net
    held = pool.model_copy(
        update={
            "changes": tuple(sorted(changes.items())),
            "liquidity": pool.liquidity + (liquidity if inside else 0),
        }
    )
    return MarketContext(
        **_WHERE_AND_WHEN,
        observed=observed.model_copy(update={"pool": held}),
        position=ObservedPositionFacts(
            token_id=v4_position(TOKEN_ID),
            owner=OWNER,
            tick_lower=lower,
            tick_upper=upper,
            liquidity=liquidity,
            amount0=amounts.amount0,
            amount1=amounts.amount1,
            fees0=1_454_253_547_149 if liquidity else 0,
            fees1=7_484_686 if liquidity else 0,
            has_subscriber=False,
        ),
    )


def _capital(
    pools: tuple[ObservedPool, ...],
    *capital: tuple[str, int],
    exposure: ExposureBias = ExposureBias.NEUTRAL,
) -> CreateContext:
    return CreateContext(
        **_WHERE_AND_WHEN,
        goal=CreateGoal(
            capital=tuple(Capital(token=token, amount=amount) for token, amount in capital),
            pair=None,
            exposure=exposure,
            fee=None,
        ),
        owner=OWNER,
        surveyed_pools=pools,
    )


_WHERE_AND_WHEN: dict[str, Any] = {
    "chain_id": 31_337,
    "block": BLOCK,
    "block_hash": "0x" + "b1" * 32,
    "time": TIME,
    "profile": RiskProfile.BALANCED,
    "gas": GasFacts(wei_per_gas=1_100_000_000, l1_data_fee_wei=0, usd_per_wei=3.07e-15),
    "sources": {"pool": "made up"},
    "summary": "",
}
_STABLE = _pool(_STABLE_TICK, 1, 100, currencies=(COIN, OTHER_DOLLAR), liquidity=7 * 10**17)
_IDLE_DAY = PricePathFacts(
    opening=0,
    liquidity_unit=10**15,
    swaps=24,
    steps=tuple(
        (age * 3_600, 10**9 * (-1) ** age, -(10**9), 10**9, 10**6, 880) for age in range(23, -1, -1)
    ),
)
_POSITIONS = {
    # Yesterday paid next to nothing, so the Critic sends every range back; the week pays for them.
    "idle day": _position(
        _observed(_pool(), fees=9_000.0).model_copy(update={"day_path": _IDLE_DAY}), -400, 2_200
    ),
    "healthy": _position(_observed(_pool(), fees=7_000.0), 900, 900),
    "near the edge": _position(_observed(_pool()), 1_600, 25),
    "outside": _position(_observed(_pool(), fees=9_000.0), -400, 2_200),
    "stressed": _position(_observed(_pool(), sigma=0.31), 900, 1_100),
    "tiny": _position(_observed(_pool()), 900, 900, 10**6),
    "stable": _position(_observed(_STABLE, sigma=0.0004, fees=400.0), 12, 9, 10**17),
    "coarse": _position(_observed(_pool(spacing=200, fee=10_000), sigma=0.05), 3_000, 2_000),
    "thin": _position(_observed(_pool(liquidity=10**9)), -300, 1_700),
    "alone": _position(_observed(_pool(liquidity=0)), 700, 900),
    "unpriced": _position(_observed(_pool(), fees=None, priced=False), 900, 900),
    "hooked": _position(_observed(_pool(danger="dangerous"), fees=7_000.0), 900, 900),
    "huge": _position(_observed(_pool(liquidity=10**37)), 9_000, 9_000, 2 * 10**37),
    "at the top": _position(_observed(_pool(880_000, liquidity=10**15)), 900, 900),
    "emptied": _position(_observed(_pool()), 900, 900, 0),
}
_SURVEY = (
    _observed(_pool(number=1), fees=9_000.0),
    _observed(_pool(spacing=60, fee=3_000, liquidity=10**17, number=2), fees=800.0),
    _observed(_pool(liquidity=10**10, number=3), sigma=0.09, fees=5.0),
    _observed(_pool(spacing=200, fee=10_000, number=4), fees=None),
)
_CAPITALS = {
    "one token": _capital(_SURVEY, (COIN, 4 * 10**18)),
    "the other token": _capital(_SURVEY, (DOLLAR, 9_000 * 10**6), exposure=ExposureBias.LONG_TOKEN),
    "both tokens": _capital(_SURVEY, (COIN, 10**18), (DOLLAR, 5_000 * 10**6)),
    "one pool": _capital(_SURVEY[:1], (COIN, 3 * 10**17), exposure=ExposureBias.LONG_TOKEN),
    "dust": _capital(_SURVEY, (COIN, 11)),
}
STATES = tuple(_POSITIONS)
WISHES = tuple(_CAPITALS)
