"""What a wallet does with its coin, its allowances and its orders, whatever the protocol."""

from chain.contracts import abi
from chain.contracts import calldata as actions
from chain.contracts.delegation import DELEGATION_MANAGER, NONCES
from chain.contracts.networks import Address
from chain.contracts.signed_delegation import SignedDelegation, disable, raise_nonce
from chain.execution.plan.facts import BuildError, ChainFacts
from chain.execution.plan.recipe import Recipe
from chain.execution.plan.requests import Allowance


def wrap(amount: int, facts: ChainFacts) -> Recipe:
    return Recipe("wrap", _wrapped(facts), abi.encode_call("deposit()"), value=amount)


def unwrap(amount: int, facts: ChainFacts) -> Recipe:
    return Recipe("unwrap", _wrapped(facts), abi.encode_call("withdraw(uint256)", amount))


def cancel_order(delegation: SignedDelegation) -> Recipe:
    return Recipe("cancel order", DELEGATION_MANAGER, disable(delegation))


def cancel_all_orders() -> Recipe:
    return Recipe("cancel all orders", NONCES, raise_nonce())


def revoke(allowance: Allowance, facts: ChainFacts) -> Recipe:
    token, spender = allowance.token, allowance.spender
    if not allowance.through_permit2:
        return Recipe("revoke", token, actions.approve_token(spender, 0))
    data = actions.approve_through_permit2(token, spender, 0, facts.head_time)
    return Recipe("revoke", facts.network.contracts.permit2, data)


def _wrapped(facts: ChainFacts) -> Address:
    wrapped = facts.network.wrapped_native
    if wrapped is None:
        raise BuildError(f"No wrapped coin is known on {facts.network.title}.")
    return wrapped
