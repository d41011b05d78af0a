"""From a choice to unsigned transactions: pure, and every byte fixed."""

from collections.abc import Iterator, Mapping, Sequence
from typing import assert_never

from msgspec import Struct
from msgspec.structs import replace

from chain.contracts import calldata as actions
from chain.contracts.delegation import NOBODY, BatchCall, execute_batch
from chain.contracts.networks import NATIVE, Address
from chain.contracts.signed_delegation import SignedDelegation
from chain.execution.build import recipes, requests
from chain.execution.build.facts import (
    BuildError,
    ChainFacts,
    InsufficientBalanceError,
    PositionFacts,
    SpenderAllowance,
    TokenAllowances,
    Tolerance,
)
from chain.execution.build.recipes import Change, Recipe, RecipeBounds
from chain.execution.build.sizing import guaranteed_by_exit, survivable, with_wallet_balance
from chain.execution.transaction import Authorization, UnsignedTransaction

EXPIRY_SECONDS = 30 * 60
MOST_TOGETHER = 16
"""Positions that one transaction changes: a tenth of what a block has room for."""

_NONE = SpenderAllowance(0, 0)


class Grant(Struct, frozen=True):
    """A permission that is there once the approvals are included, and what may be left of it."""

    token: Address
    spender: Address
    amount: int
    expiration: int


def approvals(recipe: Recipe, facts: ChainFacts) -> Iterator[Recipe]:
    """The steps without which the recipe may not move what it needs."""
    for token, amount in recipe.pulled:
        there = facts.allowances.get(token, TokenAllowances())
        if there.to_permit2 < amount:
            # Some tokens refuse to change an allowance that is not zero.
            if there.to_permit2:
                yield _token_approval("reset allowance", token, 0, facts)
            yield _token_approval("allow Permit2", token, amount, facts)
        if not _suffices(there.through_permit2.get(recipe.to, _NONE), amount, facts.deadline):
            data = actions.approve_through_permit2(
                token, recipe.to, amount, facts.head_time + EXPIRY_SECONDS
            )
            yield Recipe("allow through Permit2", facts.network.contracts.permit2, data)


def grants(recipe: Recipe, facts: ChainFacts) -> Iterator[Grant]:
    """What the recipe's contract may move when its turn comes."""
    for token, amount in recipe.pulled:
        there = facts.allowances.get(token, TokenAllowances()).through_permit2.get(recipe.to, _NONE)
        if _suffices(there, amount, facts.deadline):
            yield Grant(token, recipe.to, there.amount, there.expiration)
        else:
            yield Grant(token, recipe.to, amount, facts.head_time + EXPIRY_SECONDS)


def _suffices(there: SpenderAllowance, amount: int, deadline: int) -> bool:
    return there.amount >= amount and there.expiration >= deadline


def _token_approval(step: str, token: Address, amount: int, facts: ChainFacts) -> Recipe:
    data = actions.approve_token(facts.network.contracts.permit2, amount)
    return Recipe(step, token, data)


GAS_CEILINGS = {
    "unsubscribe": 500_000,
    "reset allowance": 120_000,
    "allow Permit2": 120_000,
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
    as_one: bool = False,
    cancels: Sequence[SignedDelegation] = (),
) -> Built:
    """The sequence that carries the request out, its approvals first.

    Approvals come before the exit so that nothing but the next block lies between leaving a range
    and entering the other. As one transaction they are taken back at its end. `cancels` are orders
    that fit no more once it is done.
    """
    facts = replace(facts, tolerance=survivable(request, facts))
    if isinstance(request, requests.DelegateRequest):
        return Built(_lending(request, facts), (), (), facts.deadline, facts.tolerance)
    moving = _recipes(request, facts)
    _needs_balances(moving, facts)
    permissions = [each for recipe in moving for each in approvals(recipe, facts)]
    ending = [recipes.cancel_order(order) for order in cancels]
    steps = [*permissions, *_dismissal(request, facts), *moving, *ending]
    if as_one and len(steps) > 1:
        return _as_one(steps, moving, facts)
    return Built(
        tuple(_transaction(recipe, place, facts) for place, recipe in enumerate(steps)),
        tuple(StepBounds(recipe.step, recipe.bounds) for recipe in moving),
        tuple(grant for recipe in moving for grant in grants(recipe, facts)),
        facts.deadline,
        facts.tolerance,
    )


def _as_one(steps: Sequence[Recipe], moving: Sequence[Recipe], facts: ChainFacts) -> Built:
    calls = [*steps, *(each for recipe in moving for each in _taken_back(recipe, facts))]
    batch = replace(
        _transaction(Recipe("batch", facts.sender, b""), 0, facts),
        data=execute_batch([BatchCall(each.to, each.value, each.data) for each in calls]),
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


def _taken_back(recipe: Recipe, facts: ChainFacts) -> Iterator[Recipe]:
    """What was allowed for the recipe and may not all be used."""
    for token, amount in sorted(recipe.pulled):
        there = facts.allowances.get(token, TokenAllowances())
        if not _suffices(there.through_permit2.get(recipe.to, _NONE), amount, facts.deadline):
            yield recipes.revoke(requests.Allowance(token, recipe.to, through_permit2=True), facts)
        if there.to_permit2 < amount:
            permit2 = facts.network.contracts.permit2
            yield recipes.revoke(requests.Allowance(token, permit2, through_permit2=False), facts)


def _lending(
    request: requests.DelegateRequest, facts: ChainFacts
) -> tuple[UnsignedTransaction, ...]:
    step = "undelegate" if request.delegate == NOBODY else "delegate"
    before = [recipes.cancel_all_orders()] if request.cancels_orders else []
    first = tuple(_transaction(recipe, place, facts) for place, recipe in enumerate(before))
    alone = _transaction(Recipe(step, facts.sender, b""), len(first), facts)
    lent = Authorization(facts.network.chain_id, request.delegate, alone.nonce + 1)
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
    match request:
        case requests.ReRangeRequest():
            return _re_range(request, facts)
        case requests.CreateRequest(pool, span, budget, swap):
            made = (
                recipes.create(pool, span, budget, facts)
                if swap is None
                else recipes.swap_and_enter(pool, span, budget, swap, facts)
            )
        case requests.IncreaseRequest(position, budget):
            made = recipes.add(position, budget, facts)
        case requests.SwapRequest(_, swap):
            made = recipes.swap(swap, facts)
        case requests.WrapRequest(amount):
            made = recipes.wrap(amount, facts)
        case requests.UnwrapRequest(amount):
            made = recipes.unwrap(amount, facts)
            _needs(made.to, amount, facts.balances)
        case requests.RevokeRequest(allowances):
            return [recipes.revoke(each, facts) for each in allowances]
        case requests.CancelOrdersRequest(delegations):
            return [*map(recipes.cancel_order, delegations)] or [recipes.cancel_all_orders()]
        case requests.SeveralRequest(parts):
            changes = [_change_of_position(part, facts) for part in parts]
            return [
                recipes.carried_out(changes[first : first + MOST_TOGETHER], facts)
                for first in range(0, len(changes), MOST_TOGETHER)
            ]
        case _:
            made = recipes.carried_out([_change_of_position(request, facts)], facts)
    return [*_wrapping(made, facts), made]


def _change_of_position(
    request: requests.CloseRequest
    | requests.CollectRequest
    | requests.DecreaseRequest
    | requests.CompoundRequest,
    facts: ChainFacts,
) -> Change:
    position = request.position
    if isinstance(request, requests.CloseRequest):
        return recipes.leave(position, facts)
    _needs_liquidity(position)
    match request:
        case requests.CollectRequest():
            return recipes.take_out(position, 0, "collect", facts)
        case requests.DecreaseRequest(_, percent):
            return recipes.take_out(position, _part(position, percent), "decrease", facts)
        case requests.CompoundRequest():
            return recipes.compound(position, facts)
    assert_never(request)


def _re_range(request: requests.ReRangeRequest, facts: ChainFacts) -> list[Recipe]:
    position, span = request.position, request.span
    _needs_liquidity(position)
    if request.swap is None:
        return [recipes.move(position, span, facts)]
    sure = guaranteed_by_exit(position, facts.tolerance)
    funds = (
        sure if request.liquidity is None else with_wallet_balance(sure, position.pool.key, facts)
    )
    return [
        recipes.carried_out([recipes.leave(position, facts)], facts),
        recipes.swap_and_enter(
            position.pool, span, funds, request.swap, facts, sure=sure, liquidity=request.liquidity
        ),
    ]


def _part(position: PositionFacts, percent: int) -> int:
    if not 1 <= percent <= 100:
        raise BuildError(f"{percent}% cannot be taken out. Name a part from 1 to 100%.")
    return position.liquidity * percent // 100


def _wrapping(spending: Recipe, facts: ChainFacts) -> list[Recipe]:
    """What is missing of the wrapped coin, wrapped first where the coin itself is there."""
    wrapped = facts.network.wrapped_native
    wanted = sum(amount for token, amount in spending.pulled if token == wrapped)
    missing = wanted - facts.balances.get(wrapped or NATIVE, 0)
    if wrapped is None or missing <= 0 or facts.balances.get(NATIVE, 0) < missing:
        return []
    return [recipes.wrap(missing, facts)]


def _dismissal(request: requests.CallRequest, facts: ChainFacts) -> list[Recipe]:
    if isinstance(request, requests.CreateRequest | requests.SwapRequest | requests.WalletRequest):
        return []
    parts = request.parts if isinstance(request, requests.SeveralRequest) else (request,)
    return [
        recipes.unsubscribe(part.position, facts)
        for part in parts
        if part.position.subscriber is not None
    ]


def _needs_liquidity(position: PositionFacts) -> None:
    if position.liquidity == 0:
        raise BuildError(
            f"Position #{position.token_id} holds no liquidity, so there is nothing to move. "
            f"End it: zuno close {position.token_id}"
        )


def _needs_balances(moving: list[Recipe], facts: ChainFacts) -> None:
    """Refuse what the wallet cannot pay; what an exit pays is there when its turn comes."""
    held = dict(facts.balances)
    for recipe in moving:
        for token, amount in recipe.pulled:
            _needs(token, amount, held)
        if recipe.value:
            _needs(NATIVE, recipe.value, held)
        if recipe.step == "exit":
            return
        if recipe.step == "wrap":
            held[NATIVE] -= recipe.value
            held[recipe.to] = held.get(recipe.to, 0) + recipe.value


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
