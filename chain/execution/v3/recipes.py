"""The few sequences of calls that ever reach v3's position manager, and swaps in its pools."""

from collections.abc import Sequence

from msgspec.structs import replace

from chain.contracts import abi
from chain.contracts import calldata as router_calls
from chain.contracts.networks import NATIVE, Address
from chain.contracts.pool_key import PoolKey
from chain.execution.plan import sizing
from chain.execution.plan.facts import BuildError, ChainFacts, PoolFacts, PositionFacts
from chain.execution.plan.protocol import StandingCall
from chain.execution.plan.recipe import NOTHING, Change, Recipe, RecipeBounds, pulled_tokens
from chain.execution.plan.requests import QuotedSwap
from chain.math.drift import Span
from chain.math.liquidity import Amounts
from chain.protocols.reference import position_label

MULTICALL = "multicall(bytes[])"
MINT = "mint((address,address,uint24,int24,int24,uint256,uint256,uint256,uint256,address,uint256))"
INCREASE = "increaseLiquidity((uint256,uint256,uint256,uint256,uint256,uint256))"
DECREASE = "decreaseLiquidity((uint256,uint128,uint256,uint256,uint256))"
COLLECT = "collect((uint256,address,uint128,uint128))"
BURN = "burn(uint256)"
UNWRAP = "unwrapWETH9(uint256,address)"
SWEEP = "sweepToken(address,uint256,address)"
REFUND = "refundETH()"

_ALL = 2**128 - 1
_SWAP_EXACT_IN = 0x00
_SWAP_TYPES = ("address", "uint256", "uint256", "bytes", "bool")
_ROUNDING = 2
"""Units by which what is owed may come out smaller: the pool rounds when a neighbour collects."""


def carried_out(changes: Sequence[Change], facts: ChainFacts) -> Recipe:
    """All of them in one call, in their order."""
    calls = [call for change in changes for call in change.parts]
    # Bounds are of one pair; those of several stand in the bytes of each.
    bounds = changes[0].bounds if len(changes) == 1 else RecipeBounds()
    pulled = [each for change in changes for each in change.pulled]
    return _to_manager(
        changes[0].step, calls, bounds, facts, pulled=pulled, pays=pulled, positions=len(changes)
    )


def take_out(
    position: PositionFacts,
    liquidity: int,
    step: str,
    facts: ChainFacts,
    *,
    native: bool = False,
    ends: bool = False,
) -> Change:
    """Remove a part of the liquidity, of none nothing, and collect all that is owed then."""
    least = sizing.exit_minimums(position, liquidity, facts.tolerance)
    paid = least.plus(position.amounts_owed)
    calls = [*_taken(position, liquidity, least, facts.sender, facts, ends=ends)]
    if native:
        calls = [*_taken(position, liquidity, least, NATIVE, facts, ends=ends)]
        calls += _paid_as_coin(position, paid, facts)
    return Change(step, tuple(calls), RecipeBounds(paid))


def compound(position: PositionFacts, facts: ChainFacts) -> Change:
    """Collect, and put the fees back by way of the wallet; what was withdrawn stays there."""
    span, price = position.span, position.pool.sqrt_price_x96
    if not sizing.buys_liquidity(span, price, position.fees):
        raise BuildError(
            f"The fees of position {position_label(position.ref)} buy no liquidity in its range: "
            "there are none, or none of a token the range takes now. See them: zuno inspect "
            f"{position.ref}; take them out: zuno collect {position.ref}"
        )
    sized = sizing.size_given(span, price, position.fees, facts.tolerance)
    calls = [
        *_taken(position, 0, NOTHING, facts.sender, facts),
        _increase(position, sized, facts),
    ]
    bounds = RecipeBounds(taken=sized.given, liquidity=sized.liquidity)
    pulled = pulled_tokens(position.pool.key, sized.given)
    return Change("compound", tuple(calls), bounds, pulled)


def move(position: PositionFacts, span: Span, facts: ChainFacts, liquidity: int | None) -> Recipe:
    """Close and open at one price, so that what the one pays funds the other."""
    least = sizing.exit_minimums(position, position.liquidity, facts.tolerance)
    sized = sizing.size_given_by_exit(position, span, facts.tolerance, liquidity)
    key = position.pool.key
    calls = [
        *_taken(position, position.liquidity, least, facts.sender, facts, ends=True),
        _mint(key, span, sized, facts),
    ]
    pulled = pulled_tokens(key, sized.given)
    bounds = RecipeBounds(taken=sized.given, liquidity=sized.liquidity)
    return _to_manager("move", calls, bounds, facts, pulled=pulled, pays=pulled)


def add(position: PositionFacts, budget: Amounts, facts: ChainFacts, *, native: bool) -> Recipe:
    """Add liquidity from the wallet; fees that wait go on waiting."""
    price = position.pool.sqrt_price_x96
    sized = sizing.size_given(position.span, price, budget, facts.tolerance)
    call = _increase(position, sized, facts)
    return _entered("increase", call, position.pool.key, sized, facts, native=native)


def create(
    pool: PoolFacts,
    span: Span,
    sized: sizing.Given,
    facts: ChainFacts,
    *,
    native: bool = False,
    sure: Amounts | None = None,
) -> Recipe:
    """Of what is given, what is not sure to have been paid before is the wallet's."""
    call = _mint(pool.key, span, sized, facts)
    made = _entered("create", call, pool.key, sized, facts, native=native)
    given = sized.given
    besides = (max(0, each - there) for each, there in zip(given, sure or given, strict=True))
    return replace(made, bounds=replace(made.bounds, besides=Amounts(*besides)))


def standing_call(order: StandingCall) -> bytes:
    """Out of a position as it was when this was signed: nothing in it is looked up later."""
    token_id, owner = order.ref.token_id, order.recipient
    collect = abi.encode_call(COLLECT, (token_id, owner, _ALL, _ALL))
    if order.kind == "collect":
        return collect
    values = (token_id, order.liquidity, *order.least, order.deadline)
    calls = [abi.encode_call(DECREASE, values), collect, abi.encode_call(BURN, token_id)]
    return abi.encode_call(MULTICALL, calls)


def swap(quoted: QuotedSwap, facts: ChainFacts, router: Address) -> Recipe:
    """Sell an exact amount; all that comes out goes to the wallet."""
    bought, key = sizing.least_bought(quoted, facts.tolerance), quoted.pool
    pair = (key.currency0, key.currency1)
    sold, wanted = pair if quoted.zero_for_one else pair[::-1]
    path = abi.address_bytes(sold) + key.fee.to_bytes(3, "big") + abi.address_bytes(wanted)
    # Out of what the sender lets the router move.
    values = (facts.sender, quoted.amount_in, bought, path, True)
    command = router_calls.OwnCommand(_SWAP_EXACT_IN, abi.encode(_SWAP_TYPES, values))
    paid = Amounts(0, bought) if quoted.zero_for_one else Amounts(bought, 0)
    return Recipe(
        "swap",
        router,
        router_calls.execute((command,), facts.deadline),
        RecipeBounds(paid, sold=quoted.amount_in, bought=bought),
        pulled=((sold, quoted.amount_in),),
        pays=((wanted, bought),),
    )


def _entered(
    step: str,
    call: bytes,
    key: PoolKey,
    sized: sizing.Given,
    facts: ChainFacts,
    *,
    native: bool,
) -> Recipe:
    """One entry out of the wallet, with the coin itself sent along where that is wanted."""
    bounds = RecipeBounds(taken=sized.given, liquidity=sized.liquidity)
    pulled = pulled_tokens(key, sized.given)
    wrapped = facts.network.wrapped_native
    value = sum(amount for token, amount in pulled if token == wrapped) if native else 0
    if not value:
        return _to_manager(step, [call], bounds, facts, pulled=pulled)
    beside = [each for each in pulled if each[0] != wrapped]
    calls = [call, abi.encode_call(REFUND)]
    return _to_manager(step, calls, bounds, facts, pulled=beside, value=value)


def _taken(
    position: PositionFacts,
    liquidity: int,
    least: Amounts,
    to: Address,
    facts: ChainFacts,
    *,
    ends: bool = False,
) -> list[bytes]:
    token_id = position.ref.token_id
    calls = []
    if liquidity:
        values = (token_id, liquidity, *least, facts.deadline)
        calls.append(abi.encode_call(DECREASE, values))
    calls.append(abi.encode_call(COLLECT, (token_id, to, _ALL, _ALL)))
    if ends:
        calls.append(abi.encode_call(BURN, token_id))
    return calls


def _paid_as_coin(position: PositionFacts, paid: Amounts, facts: ChainFacts) -> list[bytes]:
    """What was collected to the manager, out of it: with minimums, for what it holds between two
    calls is anybody's whom a token of the pair hands the control to."""
    key, wrapped = position.pool.key, facts.network.wrapped_native
    owed = dict(zip((key.currency0, key.currency1), paid, strict=True))
    if wrapped not in owed:
        raise BuildError(
            f"Position {position_label(position.ref)} holds no wrapped "
            f"{facts.network.native_symbol}: leave out what it is to be paid in."
        )
    coin = owed.pop(wrapped)
    ((other, rest),) = owed.items()
    return [
        abi.encode_call(UNWRAP, max(0, coin - _ROUNDING), facts.sender),
        abi.encode_call(SWEEP, other, max(0, rest - _ROUNDING), facts.sender),
    ]


def _increase(position: PositionFacts, sized: sizing.Given, facts: ChainFacts) -> bytes:
    values = (position.ref.token_id, *sized.given, *sized.least, facts.deadline)
    return abi.encode_call(INCREASE, values)


def _mint(key: PoolKey, span: Span, sized: sizing.Given, facts: ChainFacts) -> bytes:
    ticks = (span.tick_lower, span.tick_upper)
    place = (key.currency0, key.currency1, key.fee, *ticks)
    return abi.encode_call(MINT, (*place, *sized.given, *sized.least, facts.sender, facts.deadline))


def _to_manager(
    step: str,
    calls: Sequence[bytes],
    bounds: RecipeBounds,
    facts: ChainFacts,
    *,
    pulled: Sequence[tuple[Address, int]] = (),
    pays: Sequence[tuple[Address, int]] = (),
    value: int = 0,
    positions: int = 1,
) -> Recipe:
    if facts.network.v3 is None:
        raise BuildError(f"No position manager of v3 is known on {facts.network.title}.")
    return Recipe(
        step,
        facts.network.v3.position_manager,
        calls[0] if len(calls) == 1 else abi.encode_call(MULTICALL, list(calls)),
        bounds,
        value,
        tuple(pulled),
        positions,
        through_permit2=False,
        pays=tuple(pays),
    )
