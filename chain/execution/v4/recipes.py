"""The few sequences of actions that ever reach the PositionManager and the UniversalRouter."""

from collections.abc import Iterator, Sequence

from chain.contracts import abi
from chain.contracts import calldata as actions
from chain.contracts.networks import NATIVE, Address
from chain.contracts.pool_key import PoolKey
from chain.execution.plan import sizing
from chain.execution.plan.facts import BuildError, ChainFacts, PoolFacts, PositionFacts
from chain.execution.plan.protocol import StandingCall
from chain.execution.plan.recipe import NOTHING, Change, Recipe, RecipeBounds, pulled_tokens
from chain.execution.plan.requests import QuotedSwap
from chain.math.drift import Span
from chain.math.liquidity import Amounts
from chain.protocols.reference import position_label, v4_token_id


def carried_out(changes: Sequence[Change], facts: ChainFacts) -> Recipe:
    """All of them in one call, in their order."""
    each = [action for change in changes for action in change.parts]
    data = actions.modify_liquidities(each, facts.deadline)
    # Bounds are of one pair; those of several stand in the bytes of each.
    bounds = changes[0].bounds if len(changes) == 1 else RecipeBounds()
    return Recipe(changes[0].step, _manager(facts), data, bounds, positions=len(changes))


def leave(position: PositionFacts, facts: ChainFacts) -> Change:
    least = sizing.exit_minimums(position, position.liquidity, facts.tolerance)
    key = position.pool.key
    paid = sizing.guaranteed_by_exit(position, facts.tolerance)
    return Change(
        "exit",
        (
            actions.Burn(v4_token_id(position.ref), *least),
            actions.TakePair(key.currency0, key.currency1, facts.sender),
        ),
        RecipeBounds(paid),
    )


def take_out(
    position: PositionFacts,
    liquidity: int,
    step: str,
    facts: ChainFacts,
    *,
    opens: Sequence[Span] = (),
) -> Change:
    """Remove a part of the liquidity; of none, the fees alone come out."""
    price = position.pool.sqrt_price_x96
    sized = [
        sizing.size_entry(span, price, position.fees, facts.tolerance, liquidity=1)
        for span in opens
    ]
    taken = Amounts(*(sum(each.most[place] for each in sized) for place in (0, 1)))
    least = sizing.exit_minimums(position, liquidity, facts.tolerance)
    key = position.pool.key
    return Change(
        step,
        (
            actions.Decrease(v4_token_id(position.ref), liquidity, *least),
            *(_mint(key, *each, facts) for each in zip(opens, sized, strict=True)),
            actions.TakePair(key.currency0, key.currency1, facts.sender),
        ),
        RecipeBounds(least.plus(position.fees.less(taken))),
    )


def standing_call(order: StandingCall) -> bytes:
    """Takes no debt from the wallet: what is not paid in full is undone."""
    assert order.currencies is not None
    assert order.deadline is not None
    paid = actions.TakePair(*order.currencies, order.recipient)
    return actions.modify_liquidities([*_standing_changes(order), paid], order.deadline)


def _standing_changes(order: StandingCall) -> Iterator[actions.PositionAction]:
    token_id, entry, taken = v4_token_id(order.ref), order.entry, order.liquidity
    if order.kind in ("close", "move"):
        yield actions.Burn(token_id, *order.least)
    elif order.kind != "compound":
        yield actions.Decrease(token_id, taken or 0, *order.least)
    if entry is None:
        return
    if entry.pool is None:
        into = token_id if entry.into is None else v4_token_id(entry.into)
        yield actions.Increase(into, entry.liquidity, *entry.most)
    else:
        assert entry.span is not None
        ticks = entry.span.tick_lower, entry.span.tick_upper
        yield actions.Mint(entry.pool, *ticks, entry.liquidity, *entry.most, order.recipient)
    if entry.rest:
        yield actions.IncreaseFromDeltas(token_id)


def move(position: PositionFacts, span: Span, facts: ChainFacts, liquidity: int | None) -> Recipe:
    """Burn and mint at one price, so that what the one pays funds the other."""
    sized = sizing.size_move(position, span, facts.tolerance, liquidity)
    key = position.pool.key
    data = actions.modify_liquidities(
        [
            actions.Burn(
                v4_token_id(position.ref),
                *sizing.exit_minimums(position, position.liquidity, facts.tolerance),
            ),
            _mint(key, span, sized, facts),
            actions.CloseCurrency(key.currency0),
            actions.CloseCurrency(key.currency1),
        ],
        facts.deadline,
    )
    return Recipe(
        "move", _manager(facts), data, RecipeBounds(taken=sized.most, liquidity=sized.liquidity)
    )


def add(position: PositionFacts, budget: Amounts, facts: ChainFacts) -> Recipe:
    """Add liquidity from the wallet; the fees that come out with it are paid against the cost."""
    sized = sizing.size_entry(position.span, position.pool.sqrt_price_x96, budget, facts.tolerance)
    key = position.pool.key
    value = sized.most.amount0 if key.currency0 == NATIVE else 0
    data = actions.modify_liquidities(
        [*_growth(position, sized), *_change(key.currency0, value, facts)], facts.deadline
    )
    return Recipe(
        "increase",
        _manager(facts),
        data,
        RecipeBounds(taken=sized.most, liquidity=sized.liquidity),
        value,
        pulled_tokens(key, sized.most),
    )


def compound(position: PositionFacts, facts: ChainFacts) -> Change:
    if not sizing.buys_liquidity(position.span, position.pool.sqrt_price_x96, position.fees):
        raise BuildError(
            f"The fees of position {position_label(position.ref)} buy no liquidity in its range: "
            "there are none, or none of a token the range takes now. See them: zuno inspect "
            f"{position.ref}; take them out: zuno collect {position.ref}"
        )
    sized = sizing.size_entry(
        position.span, position.pool.sqrt_price_x96, position.fees, facts.tolerance
    )
    bounds = RecipeBounds(taken=sized.most, liquidity=sized.liquidity)
    return Change("compound", tuple(_growth(position, sized)), bounds)


def create(
    pool: PoolFacts,
    span: Span,
    budget: Amounts,
    facts: ChainFacts,
    *,
    liquidity: int | None = None,
    sure: Amounts | None = None,
) -> Recipe:
    """Mint from what the wallet holds of both tokens, an exit before it counted where it pays."""
    price = pool.sqrt_price_x96
    sized = sizing.size_entry(span, price, budget, facts.tolerance, liquidity=liquidity)
    most = sized.most
    lent = (max(0, each - there) for each, there in zip(most, sure or most, strict=True))
    key = pool.key
    value = sized.most.amount0 if key.currency0 == NATIVE else 0
    data = actions.modify_liquidities(
        [
            _mint(key, span, sized, facts),
            actions.SettlePair(key.currency0, key.currency1),
            *_change(key.currency0, value, facts),
        ],
        facts.deadline,
    )
    return Recipe(
        "create",
        _manager(facts),
        data,
        RecipeBounds(taken=sized.most, liquidity=sized.liquidity, besides=Amounts(*lent)),
        value,
        pulled_tokens(key, sized.most),
    )


def swap_and_enter(
    pool: PoolFacts,
    span: Span,
    funds: Amounts,
    swap: QuotedSwap,
    facts: ChainFacts,
    *,
    router: Address,
    sure: Amounts | None = None,
    liquidity: int | None = None,
) -> Recipe:
    """Sell a part, then mint with what came out and what was kept; the rest is swept home.

    Of the funds, what is not sure to have been paid by an exit is the wallet's from before.
    """
    key, manager = pool.key, _manager(facts)
    bought, sized, brought, spent = sizing.size_swap_entry(
        pool, span, funds, swap, facts.tolerance, liquidity=liquidity
    )
    currencies = (key.currency0, key.currency1)
    enter = actions.modify_liquidities(
        [
            _mint(key, span, sized, facts),
            *(actions.Settle(each, actions.OPEN_DELTA, payer_is_user=False) for each in currencies),
            *(actions.Sweep(each, facts.sender) for each in currencies),
        ],
        facts.deadline,
    )
    data = actions.execute(
        (
            actions.swap_exact_in(
                actions.SwapExactIn(swap.pool, swap.zero_for_one, swap.amount_in, bought),
                recipient=manager,
            ),
            *(
                actions.Permit2Transfer(token, manager, amount)
                for token, amount in pulled_tokens(key, brought)
            ),
            actions.PositionManagerCall(enter),
        ),
        facts.deadline,
    )
    besides = Amounts(
        *(max(0, need - there) for need, there in zip(spent, sure or spent, strict=True))
    )
    return Recipe(
        "enter",
        router,
        data,
        RecipeBounds(NOTHING, sized.most, sized.liquidity, swap.amount_in, bought, besides),
        spent.amount0 if key.currency0 == NATIVE else 0,
        pulled_tokens(key, spent),
    )


def swap(quoted: QuotedSwap, facts: ChainFacts, router: Address) -> Recipe:
    """Sell an exact amount; all that comes out goes to the wallet."""
    bought, key = sizing.least_bought(quoted, facts.tolerance), quoted.pool
    data = actions.execute(
        (
            actions.swap_exact_in(
                actions.SwapExactIn(key, quoted.zero_for_one, quoted.amount_in, bought),
                recipient=facts.sender,
            ),
        ),
        facts.deadline,
    )
    sold, paid = Amounts(quoted.amount_in, 0), Amounts(0, bought)
    if not quoted.zero_for_one:
        sold, paid = Amounts(*sold[::-1]), Amounts(*paid[::-1])
    return Recipe(
        "swap",
        router,
        data,
        RecipeBounds(paid, sold=quoted.amount_in, bought=bought),
        sold.amount0 if key.currency0 == NATIVE else 0,
        pulled_tokens(key, sold),
    )


def unsubscribe(position: PositionFacts, facts: ChainFacts) -> Recipe:
    """A subscriber is told of every change and can refuse it, but never its own dismissal."""
    data = abi.encode_call("unsubscribe(uint256)", v4_token_id(position.ref))
    return Recipe("unsubscribe", _manager(facts), data)


def _mint(key: PoolKey, span: Span, sized: sizing.Sized, facts: ChainFacts) -> actions.Mint:
    ticks = (span.tick_lower, span.tick_upper)
    return actions.Mint(key, *ticks, sized.liquidity, *sized.most, facts.sender)


def _growth(position: PositionFacts, sized: sizing.Sized) -> list[actions.PositionAction]:
    # The fees of the position come out as credit, so either currency may close either way.
    key = position.pool.key
    return [
        actions.Increase(v4_token_id(position.ref), sized.liquidity, *sized.most),
        actions.CloseCurrency(key.currency0),
        actions.CloseCurrency(key.currency1),
    ]


def _change(currency: Address, value: int, facts: ChainFacts) -> tuple[actions.Sweep, ...]:
    """What was sent and not taken stays in the contract for anyone, unless it is swept back."""
    return (actions.Sweep(currency, facts.sender),) if value else ()


def _manager(facts: ChainFacts) -> Address:
    return facts.network.contracts.position_manager
