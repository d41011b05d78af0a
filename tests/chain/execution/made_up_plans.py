"""Plans nobody asked for: every kind of request on random pools, ranges and amounts."""

from dataclasses import dataclass
from random import Random

from chain.contracts.networks import NATIVE, Address, network_named
from chain.contracts.pool_key import DYNAMIC_FEE, PoolKey
from chain.execution import protocols
from chain.execution.build.builder import Built, build
from chain.execution.plan.context import PolicyContext, PolicyLimits, key_of
from chain.execution.plan.facts import (
    BuildError,
    ChainFacts,
    FeeCaps,
    PoolFacts,
    PositionFacts,
    SpenderAllowance,
    TokenAllowances,
    Tolerance,
)
from chain.execution.plan.requests import (
    Allowance,
    CallRequest,
    CloseRequest,
    CollectRequest,
    CompoundRequest,
    CreateRequest,
    DecreaseRequest,
    IncreaseRequest,
    QuotedSwap,
    ReRangeRequest,
    RevokeRequest,
    SeveralRequest,
    SwapRequest,
    UnwrapRequest,
    WalletRequest,
    WrapRequest,
    swap_in,
)
from chain.execution.plan.sizing import guaranteed_by_exit
from chain.math.drift import Span
from chain.math.liquidity import Amounts, LiquidityError
from chain.math.ticks import nearest_usable_tick, sqrt_price_at_tick
from chain.protocols.pool import USUAL_TIERS
from chain.protocols.reference import v3_position, v4_position
from chain.protocols.v3.pool_key import v3_pool_key

NETWORK = network_named("devnet")
ROUTER = NETWORK.contracts.universal_router or ""
WETH = NETWORK.wrapped_native or ""
PINNED = "0x" + "ab" * 32
_PLENTY = 10**40
_OF_POSITIONS = (
    "move", "swap", "close", "collect", "decrease", "increase", "compound", "create",
    "create with swap", "plain swap",
)  # fmt: skip
_KINDS = (
    "move", "swap", "close", "collect", "decrease", "increase", "compound", "create",
    "create with swap", "swap carried by the wallet", "wrap", "unwrap", "revoke",
    "plain swap",
)  # fmt: skip


@dataclass(frozen=True)
class MadeUpPlan:
    request: CallRequest
    facts: ChainFacts
    built: Built


def made_up_plan(seed: int, *, v3: bool = False) -> MadeUpPlan:
    """The plan of this seed, of whichever kind it draws; one that cannot be built is drawn anew."""
    draw = Random(seed)
    while True:
        request = _request(draw, v3=v3)
        facts = _facts(draw, request)
        try:
            return MadeUpPlan(request, facts, build(request, facts))
        except (BuildError, LiquidityError):
            continue


def positions_of(request: CallRequest) -> list[PositionFacts]:
    if isinstance(request, SeveralRequest):
        return [part.position for part in request.parts]
    if isinstance(request, CreateRequest | SwapRequest | WalletRequest):
        return []
    return [request.position]


def context_of(
    request: CallRequest, facts: ChainFacts, *, slippage_bips: int = 100
) -> PolicyContext:
    """What the policy would be told about an honest plan."""
    positions = positions_of(request)
    pools = [position.pool for position in positions]
    if isinstance(request, CreateRequest | SwapRequest):
        pools.append(request.pool)
    swap = swap_in(request)
    keys = [pool.key for pool in pools]
    tokens = frozenset(token for key in keys for token in (key.currency0, key.currency1))
    if isinstance(request, RevokeRequest):
        tokens = frozenset(each.token for each in request.allowances)
    own = {address for each in protocols.ALL for address in each.contracts(facts.network)}
    called = {*own, WETH, *tokens, *(key.hooks for key in keys)}
    return PolicyContext(
        network=facts.network,
        allowed_chain_ids=frozenset({facts.network.chain_id}),
        owner=facts.sender,
        head_time=facts.head_time,
        nonce=facts.nonce,
        limits=PolicyLimits(facts.fees.max_fee_per_gas, value=_PLENTY, slippage_bips=slippage_bips),
        tokens=tokens,
        code_hashes=dict.fromkeys(called, PINNED),
        pinned_code_hashes=dict.fromkeys(called, PINNED),
        pools={key_of(pool.key): pool for pool in pools},
        positions={position.ref: position for position in positions},
        quotes=() if swap is None else (swap,),
        allowed_hooks=frozenset(key.hooks for key in keys),
    )


def address(draw: Random) -> Address:
    return f"0x{draw.getrandbits(160):040x}"


def _request(draw: Random, *, v3: bool) -> CallRequest:
    kind = draw.choice(_OF_POSITIONS if v3 else _KINDS)
    if kind in ("wrap", "unwrap"):
        amount = 1 + draw.getrandbits(draw.randint(1, 90))
        return WrapRequest(amount) if kind == "wrap" else UnwrapRequest(amount)
    if kind == "revoke":
        return RevokeRequest(
            tuple(
                Allowance(address(draw), address(draw), draw.random() < 0.5)
                for _ in range(draw.randint(1, 4))
            )
        )
    pool, tick = _v3_pool(draw) if v3 else _pool(draw)
    native = v3 and WETH in (pool.key.currency0, pool.key.currency1) and draw.random() < 0.5
    span = _span(draw, tick, pool.key.tick_spacing)
    budget = Amounts(draw.getrandbits(draw.randint(40, 90)), draw.getrandbits(draw.randint(40, 90)))
    if kind == "plain swap":
        return SwapRequest(pool, _swap(draw, pool, budget))
    if kind == "create":
        return CreateRequest(pool, span, budget, None, native=native)
    if kind == "create with swap":
        return CreateRequest(pool, span, budget, _swap(draw, pool, budget))
    token_id = draw.getrandbits(draw.choice((8, 32, 64)))
    position = PositionFacts(
        ref=v3_position(1 + token_id) if v3 else v4_position(token_id),
        pool=pool,
        span=_span(draw, tick, pool.key.tick_spacing),
        liquidity=1 + draw.getrandbits(draw.randint(50, 100)),
        fees=Amounts(draw.getrandbits(60), draw.getrandbits(60)),
        subscriber=address(draw) if not v3 and draw.random() < 0.2 else None,
        withdrawn=Amounts(draw.getrandbits(40), draw.getrandbits(40)) if v3 else Amounts(0, 0),
    )
    match kind:
        case "move":
            return ReRangeRequest(position, span, None)
        case "swap":
            funds = guaranteed_by_exit(position, Tolerance())
            return ReRangeRequest(position, span, _swap(draw, pool, funds))
        case "swap carried by the wallet":
            funds = guaranteed_by_exit(position, Tolerance())
            liquidity = 1 + draw.getrandbits(draw.randint(50, 90))
            return ReRangeRequest(position, span, _swap(draw, pool, funds), liquidity)
        case "close":
            return CloseRequest(position, native=native)
        case "collect":
            return CollectRequest(position, native=native)
        case "decrease":
            return DecreaseRequest(position, draw.randint(1, 100), native=native)
        case "increase":
            return IncreaseRequest(position, budget, native=native)
        case _:
            return CompoundRequest(position)


def _pool(draw: Random) -> tuple[PoolFacts, int]:
    other = draw.choice((NATIVE, NATIVE, WETH, WETH, *(address(draw) for _ in range(3))))
    currencies = sorted((address(draw), other))
    spacing = draw.choice((1, 10, 60, 200))
    tick = draw.randint(-250_000, 250_000)
    lower, upper = sqrt_price_at_tick(tick), sqrt_price_at_tick(tick + 1)
    fee = draw.choice((100, 500, 3000, DYNAMIC_FEE))
    hooks = address(draw) if fee == DYNAMIC_FEE or draw.random() < 0.2 else NATIVE
    key = PoolKey(currencies[0], currencies[1], fee, spacing, hooks)
    return PoolFacts(key, draw.randrange(lower, upper), 3000), tick


def _v3_pool(draw: Random) -> tuple[PoolFacts, int]:
    assert NETWORK.v3 is not None
    other = draw.choice((WETH, WETH, address(draw)))
    token0, token1 = sorted((address(draw), other))
    fee, spacing = draw.choice(USUAL_TIERS)
    tick = draw.randint(-250_000, 250_000)
    lower, upper = sqrt_price_at_tick(tick), sqrt_price_at_tick(tick + 1)
    key = v3_pool_key(NETWORK.v3.factory, token0, token1, fee, spacing)
    return PoolFacts(key, draw.randrange(lower, upper), fee), tick


def _span(draw: Random, tick: int, spacing: int) -> Span:
    lower, upper = (
        nearest_usable_tick(tick + by, spacing)
        for by in (-draw.randint(1, 4000), draw.randint(1, 4000))
    )
    return Span(lower, max(upper, lower + spacing))


def _swap(draw: Random, pool: PoolFacts, funds: Amounts) -> QuotedSwap:
    zero_for_one = draw.random() < 0.5
    price = pool.sqrt_price_x96
    sold = funds.amount0 if zero_for_one else funds.amount1
    amount_in = 1 + draw.randrange(max(1, sold))
    amount_out = amount_in * price**2 >> 192 if zero_for_one else (amount_in << 192) // price**2
    after = price * draw.randint(9_990, 10_010) // 10_000
    return QuotedSwap(pool.key, zero_for_one, amount_in, amount_out, after)


def _facts(draw: Random, request: CallRequest) -> ChainFacts:
    head_time = draw.randint(1_700_000_000, 2_000_000_000)
    if isinstance(request, WrapRequest | UnwrapRequest | RevokeRequest):
        tokens: tuple[Address, ...] = ()
    else:
        pool = (
            request.pool
            if isinstance(request, CreateRequest | SwapRequest)
            else positions_of(request)[0].pool
        )
        tokens = (pool.key.currency0, pool.key.currency1)
    spenders = (NETWORK.contracts.position_manager, ROUTER)
    return ChainFacts(
        network=NETWORK,
        sender=address(draw),
        head_time=head_time,
        nonce=draw.randrange(10_000),
        fees=FeeCaps(draw.randint(2, 10**12), draw.randint(0, 2)),
        # Of the wrapped coin too little may be there, and is then wrapped on the way.
        balances={
            **dict.fromkeys((*tokens, NATIVE), _PLENTY),
            WETH: _PLENTY
            if isinstance(request, UnwrapRequest)
            else draw.choice((0, 10**12, _PLENTY)),
        },
        allowances={
            token: TokenAllowances(
                draw.choice((0, 0, 5, _PLENTY)),
                {
                    spender: SpenderAllowance(
                        draw.choice((0, 5, _PLENTY)), head_time + draw.choice((-1, 100, 1000))
                    )
                    for spender in spenders
                },
            )
            for token in tokens
            if token != NATIVE
        },
    )
