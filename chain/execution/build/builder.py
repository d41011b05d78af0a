"""From a choice to unsigned transactions: pure, and every byte fixed."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from msgspec import Struct
from msgspec.structs import replace

from chain.base.units import Units
from chain.contracts import calldata as actions
from chain.contracts.delegation import NOBODY, BatchCall, BatchForm, execute_batch
from chain.contracts.networks import NATIVE, Address
from chain.contracts.pool_key import PoolKey
from chain.contracts.signed_delegation import SignedDelegation
from chain.execution.build import wallet_steps
from chain.execution.build.writers import WRITERS, writer_of
from chain.execution.plan import requests
from chain.execution.plan.facts import (
    BuildError,
    ChainFacts,
    InsufficientBalanceError,
    PositionFacts,
    SpenderAllowance,
    TokenAllowances,
    Tolerance,
)
from chain.execution.plan.recipe import Recipe, RecipeBounds
from chain.execution.plan.sizing import (
    guaranteed_by_exit,
    needs_liquidity,
    survivable,
    with_wallet_balance,
)
from chain.execution.plan.writing import Entry, ProtocolWriter, SmallChange
from chain.execution.transaction import Authorization, UnsignedTransaction
from chain.protocols.pool import is_turned

MOST_TOGETHER = 16
"""Positions that one transaction changes: a tenth of what a block has room for."""

_NONE = SpenderAllowance(0, 0)


class Grant(Struct, frozen=True):
    """A permission that is there once the approvals are included, and what may be left of it."""

    token: Address
    spender: Address
    amount: Units
    expiration: int


class Pull(NamedTuple):
    """What one contract moves of a token in all steps together."""

    token: Address
    to: Address
    amount: int
    through_permit2: bool


def pulls_of(moving: Sequence[Recipe]) -> tuple[Pull, ...]:
    """Token by token, in the order of the recipes."""
    total: Counter[tuple[Address, Address, bool]] = Counter()
    for recipe in moving:
        for token, amount in recipe.pulled:
            total[token, recipe.to, recipe.through_permit2] += amount
    found = (Pull(token, to, amount, how) for (token, to, how), amount in total.items())
    return tuple(sorted(found, key=lambda pull: pull.token))


class _Leave(NamedTuple):
    """Whom a token itself must let move it, and for whom."""

    token: Address
    spender: Address
    """The manager, or Permit2 for all who go by it."""
    given: int
    needed: int
    through: tuple[Pull, ...]
    """Those that Permit2 must let move it besides."""


def _leaves(moving: Sequence[Recipe], facts: ChainFacts) -> list[_Leave]:
    permit2 = facts.network.contracts.permit2
    by_spender: dict[tuple[Address, Address], list[Pull]] = {}
    for pull in pulls_of(moving):
        spender = permit2 if pull.through_permit2 else pull.to
        by_spender.setdefault((pull.token, spender), []).append(pull)
    found = []
    for (token, spender), pulls in sorted(by_spender.items()):
        there = facts.allowances.get(token, TokenAllowances())
        given = there.to_permit2 if spender == permit2 else there.direct.get(spender, 0)
        through = tuple(pull for pull in pulls if pull.through_permit2)
        found.append(_Leave(token, spender, given, sum(pull.amount for pull in pulls), through))
    return found


def approvals(moving: Sequence[Recipe], facts: ChainFacts) -> Iterator[Recipe]:
    """The steps without which the recipes may not move what they need."""
    for leave in _leaves(moving, facts):
        if leave.given < leave.needed:
            # Some tokens refuse to change an allowance that is not zero.
            if leave.given:
                yield _token_approval("reset allowance", leave.token, leave.spender, 0)
            step = "allow Permit2" if leave.through else "allow manager"
            yield _token_approval(step, leave.token, leave.spender, leave.needed)
        for pull in leave.through:
            if not _suffices(pull, facts):
                data = actions.approve_through_permit2(
                    pull.token, pull.to, pull.amount, facts.expiry
                )
                yield Recipe("allow through Permit2", facts.network.contracts.permit2, data)


def grants(moving: Sequence[Recipe], facts: ChainFacts) -> Iterator[Grant]:
    """What contracts may move through Permit2 when their turn comes."""
    for pull in pulls_of(moving):
        if not pull.through_permit2:
            continue
        there = _through(pull, facts)
        if _suffices(pull, facts):
            yield Grant(pull.token, pull.to, there.amount, there.expiration)
        else:
            yield Grant(pull.token, pull.to, pull.amount, facts.expiry)


def _through(pull: Pull, facts: ChainFacts) -> SpenderAllowance:
    there = facts.allowances.get(pull.token, TokenAllowances())
    return there.through_permit2.get(pull.to, _NONE)


def _suffices(pull: Pull, facts: ChainFacts) -> bool:
    there = _through(pull, facts)
    return there.amount >= pull.amount and there.expiration >= facts.deadline


def _token_approval(step: str, token: Address, spender: Address, amount: int) -> Recipe:
    return Recipe(step, token, actions.approve_token(spender, amount))


GAS_CEILINGS = {
    "unsubscribe": 500_000,
    "reset allowance": 120_000,
    "allow Permit2": 120_000,
    "allow manager": 120_000,
    "allow through Permit2": 120_000,
    "exit": 600_000,
    "move": 1_000_000,
    "enter": 1_200_000,
    "create": 900_000,
    "increase": 800_000,
    "compound": 800_000,
    "decrease": 600_000,
    "collect": 600_000,
    "revoke": 120_000,
    "swap": 600_000,
    "wrap": 100_000,
    "unwrap": 100_000,
    "delegate": 120_000,
    "undelegate": 120_000,
    "cancel order": 120_000,
    "cancel all orders": 120_000,
    "batch": 0,
}
"""About twice what each step was measured to use; `with_gas` puts estimates in their place."""

_GAS_MARGIN = (3, 2)
"""Refunds hide up to a fifth of what was needed, and each inner call holds back a part of it."""
_NOT_MEASURABLE = frozenset({"unsubscribe", "delegate", "undelegate"})
"""The PositionManager asks for far more gas to be there than the subscriber then uses; and no trial
takes an authorization."""


class StepBounds(Struct, frozen=True):
    step: str
    bounds: RecipeBounds


class Built(Struct, frozen=True):
    transactions: tuple[UnsignedTransaction, ...]
    bounds: tuple[StepBounds, ...]
    """Of the steps that move tokens, in their order."""
    grants: tuple[Grant, ...]
    deadline: int
    tolerance: Tolerance
    """The drift that was built for: what is past it the chain refuses."""
    spare_gas: int = 0
    """What must be there in a batch although it is not used."""


def build(
    request: requests.Request,
    facts: ChainFacts,
    *,
    as_one: BatchForm | None = None,
    by_safe: bool = False,
    cancels: Sequence[SignedDelegation] = (),
) -> Built:
    """The sequence that carries the request out, its approvals first.

    Approvals come before the exit so that nothing but the next block lies between leaving a range
    and entering the other. As one transaction they are taken back at its end. `cancels` are orders
    that fit no more once it is done.
    """
    if isinstance(request, requests.DelegateRequest):
        return Built(_lending(request, facts), (), (), facts.deadline, facts.tolerance)

    def builds(tolerance: Tolerance) -> bool:
        try:
            return bool(_recipes(request, replace(facts, tolerance=tolerance)))
        except BuildError:
            return False

    facts = replace(facts, tolerance=survivable(request, facts, builds))
    moving = _recipes(request, facts)
    _needs_balances(moving, facts)
    permissions = [*approvals(moving, facts)]
    ending = [wallet_steps.cancel_order(order) for order in cancels]
    steps = [*permissions, *_dismissal(request, facts), *moving, *ending]
    if by_safe:
        steps += _taken_back(moving, facts)
    if as_one is not None and len(steps) > 1:
        return _as_one(steps, moving, facts, as_one)
    return Built(
        tuple(_transaction(recipe, place, facts) for place, recipe in enumerate(steps)),
        tuple(StepBounds(recipe.step, recipe.bounds) for recipe in moving),
        tuple(grants(moving, facts)),
        facts.deadline,
        facts.tolerance,
    )


def _as_one(
    steps: Sequence[Recipe], moving: Sequence[Recipe], facts: ChainFacts, form: BatchForm
) -> Built:
    calls = [*steps, *_taken_back(moving, facts)]
    batch = replace(
        _transaction(Recipe("batch", facts.sender, b""), 0, facts),
        data=execute_batch([BatchCall(each.to, each.value, each.data) for each in calls], form),
        gas=sum(map(_ceiling, calls)),
    )
    return Built(
        (batch,),
        tuple(StepBounds(recipe.step, recipe.bounds) for recipe in moving),
        (),
        facts.deadline,
        facts.tolerance,
        sum(_ceiling(each) for each in calls if each.step in _NOT_MEASURABLE),
    )


def _taken_back(moving: Sequence[Recipe], facts: ChainFacts) -> Iterator[Recipe]:
    """What was allowed for the recipes and may not all be used."""
    for leave in _leaves(moving, facts):
        for pull in leave.through:
            if not _suffices(pull, facts):
                through = requests.Allowance(pull.token, pull.to, through_permit2=True)
                yield wallet_steps.revoke(through, facts)
        if leave.given < leave.needed:
            own = requests.Allowance(leave.token, leave.spender, through_permit2=False)
            yield wallet_steps.revoke(own, facts)


def _lending(
    request: requests.DelegateRequest, facts: ChainFacts
) -> tuple[UnsignedTransaction, ...]:
    step = "undelegate" if request.delegate == NOBODY else "delegate"
    before = [wallet_steps.cancel_all_orders()] if request.cancels_orders else []
    first = tuple(_transaction(recipe, place, facts) for place, recipe in enumerate(before))
    alone = _transaction(Recipe(step, facts.sender, b""), len(first), facts)
    chain_id, whose = facts.network.chain_id, request.lender
    if whose is None:
        lent = Authorization(chain_id, request.delegate, alone.nonce + 1)
    else:
        lent = Authorization(chain_id, request.delegate, whose.nonce, whose.address)
    return (*first, replace(alone, authorization=lent))


def with_gas(built: Built, used: Sequence[int]) -> Built:
    """The same bytes with limits half above what each step was seen to use."""
    more, of = _GAS_MARGIN
    return replace(
        built,
        transactions=tuple(
            each
            if each.step in _NOT_MEASURABLE
            else replace(each, gas=gas * more // of + built.spare_gas)
            for each, gas in zip(built.transactions, used, strict=True)
        ),
    )


def raised_gas(built: Built, more: Sequence[int]) -> Built:
    """The same bytes with limits raised by what each step pays for beside running."""
    return replace(
        built,
        transactions=tuple(
            replace(each, gas=each.gas + gas)
            for each, gas in zip(built.transactions, more, strict=True)
        ),
    )


def _recipes(request: requests.CallRequest, facts: ChainFacts) -> list[Recipe]:
    before: list[Recipe] = []
    match request:
        case requests.ReRangeRequest():
            return _re_range(request, facts)
        case requests.CreateRequest(pool, span, budget, swap):
            *before, made = writer_of(pool.key).enter(
                Entry(
                    pool,
                    span,
                    budget,
                    swap,
                    liquidity=request.liquidity,
                    native=request.native,
                ),
                facts,
            )
        case requests.IncreaseRequest(position):
            made = _protocol(position).add(request, facts)
        case requests.SwapRequest(_, swap):
            made = writer_of(swap.pool).swap(swap, facts)
        case requests.WrapRequest(amount):
            made = wallet_steps.wrap(amount, facts)
        case requests.UnwrapRequest(amount):
            made = wallet_steps.unwrap(amount, facts)
            _needs(made.to, amount, facts.balances)
        case requests.RevokeRequest(allowances):
            return [wallet_steps.revoke(each, facts) for each in allowances]
        case requests.CancelOrdersRequest(delegations):
            each = [wallet_steps.cancel_order(signed) for signed in delegations]
            return each or [wallet_steps.cancel_all_orders()]
        case requests.SeveralRequest(parts):
            return list(_several(parts, facts))
        case _:
            protocol = _protocol(request.position)
            *before, made = protocol.carried_out([protocol.change(request, facts)], facts)
    return [*before, *_wrapping(made, facts), made]


def _protocol(position: PositionFacts) -> ProtocolWriter:
    return writer_of(position.pool.key)


def _several(parts: Sequence[SmallChange], facts: ChainFacts) -> Iterator[Recipe]:
    """Protocol by protocol, so many of one as a transaction has room for."""
    for protocol in WRITERS:
        mine = [part for part in parts if _protocol(part.position) is protocol]
        changes = [protocol.change(part, facts) for part in mine]
        for first in range(0, len(changes), MOST_TOGETHER):
            yield from protocol.carried_out(changes[first : first + MOST_TOGETHER], facts)


def _re_range(request: requests.ReRangeRequest, facts: ChainFacts) -> list[Recipe]:
    position, span = request.position, request.span
    needs_liquidity(position)
    leaves, pool = _protocol(position), request.into or position.pool
    if request.swap is None and pool.key == position.pool.key:
        return [leaves.move(position, span, facts, request.liquidity)]
    left, entered = position.pool.key, pool.key
    sure = guaranteed_by_exit(position, facts.tolerance).in_order(is_turned(left, entered))
    funds = sure if request.liquidity is None else with_wallet_balance(sure, entered, facts)
    # What is wrapped in the one pool and the coin itself in the other is one and the same.
    as_coin = NATIVE in (entered.currency0, entered.currency1)
    unwraps = as_coin and NATIVE not in (left.currency0, left.currency1)
    leaving = leaves.change(requests.CloseRequest(position, native=unwraps), facts)
    entry = Entry(pool, span, funds, request.swap, sure, request.liquidity)
    entering = writer_of(entered).enter(entry, facts)
    closing = leaves.carried_out([leaving], facts)
    wraps = NATIVE in (left.currency0, left.currency1) and not as_coin
    out = guaranteed_by_exit(position, facts.tolerance)
    paid = sum(amount for amount, token in zip(out, _pair(left), strict=True) if token == NATIVE)
    return [*closing, *(_wrapped_for(entering, paid, facts) if wraps else ()), *entering]


def _pair(key: PoolKey) -> tuple[Address, Address]:
    return key.currency0, key.currency1


def _wrapped_for(entering: Sequence[Recipe], paid: int, facts: ChainFacts) -> Iterator[Recipe]:
    """What was paid as the coin, as far as what follows takes it wrapped and has not bought it.

    The wallet's own coin is never wrapped for it.
    """
    wrapped = facts.network.wrapped_native
    pulled = [each for recipe in entering for each in recipe.pulled]
    bought = [each for recipe in entering if recipe.bounds.bought for each in recipe.pays]
    taken = sum(amount for token, amount in pulled if token == wrapped)
    got = sum(amount for token, amount in bought if token == wrapped)
    if (amount := min(taken - got, paid)) > 0:
        yield wallet_steps.wrap(amount, facts)


def _wrapping(spending: Recipe, facts: ChainFacts) -> list[Recipe]:
    """What is missing of the wrapped coin, wrapped first where the coin itself is there."""
    wrapped = facts.network.wrapped_native
    wanted = sum(amount for token, amount in spending.pulled if token == wrapped)
    missing = wanted - facts.balances.get(wrapped or NATIVE, 0)
    if wrapped is None or missing <= 0 or facts.balances.get(NATIVE, 0) < missing:
        return []
    return [wallet_steps.wrap(missing, facts)]


def _dismissal(request: requests.CallRequest, facts: ChainFacts) -> list[Recipe]:
    if isinstance(request, requests.CreateRequest | requests.SwapRequest | requests.WalletRequest):
        return []
    parts = request.parts if isinstance(request, requests.SeveralRequest) else (request,)
    return [
        _protocol(part.position).unsubscribe(part.position, facts)
        for part in parts
        if part.position.subscriber is not None
    ]


def _needs_balances(moving: list[Recipe], facts: ChainFacts) -> None:
    """Refuse what the wallet cannot pay; what an exit pays is there when its turn comes."""
    held = dict(facts.balances)
    for recipe in moving:
        if recipe.pays and recipe.step != "swap":
            return
        for token, amount in recipe.pulled:
            _needs(token, amount, held)
        if recipe.value:
            _needs(NATIVE, recipe.value, held)
        if recipe.step == "exit":
            return
        if recipe.step == "wrap":
            held[NATIVE] -= recipe.value
            held[recipe.to] = held.get(recipe.to, 0) + recipe.value
        if recipe.step == "swap":
            for token, amount in (*recipe.pays, *((each, -sold) for each, sold in recipe.pulled)):
                held[token] = held.get(token, 0) + amount


def _needs(token: Address, amount: int, held: Mapping[Address, int]) -> None:
    there = held.get(token, 0)
    if there < amount:
        raise InsufficientBalanceError(token, there, amount)


def _ceiling(recipe: Recipe) -> int:
    return GAS_CEILINGS[recipe.step] * recipe.positions


def _transaction(recipe: Recipe, place: int, facts: ChainFacts) -> UnsignedTransaction:
    return UnsignedTransaction(
        chain_id=facts.network.chain_id,
        sender=facts.sender,
        to=recipe.to,
        value=recipe.value,
        data=recipe.data,
        gas=_ceiling(recipe),
        max_fee_per_gas=facts.fees.max_fee_per_gas,
        max_priority_fee_per_gas=facts.fees.max_priority_fee_per_gas,
        nonce=facts.nonce + place,
        step=recipe.step,
    )
