"""What can be asked of the builder, one record for each kind of step towards the chain."""

from msgspec import Struct

from chain.base.units import Units
from chain.contracts.networks import Address
from chain.contracts.pool_key import PoolKey
from chain.contracts.signed_delegation import SignedDelegation
from chain.execution.plan.facts import Lender, PoolFacts, PositionFacts
from chain.math.drift import Span
from chain.math.liquidity import Amounts


class QuotedSwap(Struct, frozen=True):
    """A swap of one exact input, as the pool would pay it once the position has left."""

    pool: PoolKey
    zero_for_one: bool
    amount_in: Units
    amount_out: Units
    sqrt_price_after: int


class ReRangeRequest(Struct, frozen=True):
    """Leave a range for another one, of the same pool or of another of its pair."""

    position: PositionFacts
    span: Span
    swap: QuotedSwap | None
    liquidity: int | None = None
    """To enter with; None is as much as leaving is sure to pay for."""
    into: PoolFacts | None = None
    """The pool that is entered, where it is another one."""


class CloseRequest(Struct, frozen=True):
    """Take everything out and end the token."""

    position: PositionFacts
    native: bool = False
    """Whether the wrapped coin is paid out as the coin itself."""


class CollectRequest(Struct, frozen=True):
    position: PositionFacts
    native: bool = False
    opens: tuple[Span, ...] = ()
    """Ranges of its pool, opened out of the fees with one unit of liquidity each."""


class DecreaseRequest(Struct, frozen=True):
    position: PositionFacts
    percent: int
    native: bool = False


class IncreaseRequest(Struct, frozen=True):
    position: PositionFacts
    budget: Amounts
    """The most that may leave the wallet."""
    native: bool = False
    """Whether the coin itself is sent along for its wrapped form."""


class CompoundRequest(Struct, frozen=True):
    """Put the fees back to work without anything leaving the wallet."""

    position: PositionFacts


class SeveralRequest(Struct, frozen=True):
    """The same of several positions, in as few transactions as it takes."""

    parts: tuple[CloseRequest | CollectRequest | CompoundRequest, ...]


class CreateRequest(Struct, frozen=True):
    pool: PoolFacts
    span: Span
    budget: Amounts
    swap: QuotedSwap | None
    native: bool = False
    liquidity: int | None = None
    """To enter with; None is as much as the budget is sure to pay for."""


class SwapRequest(Struct, frozen=True):
    """Sell an exact amount in one pool, and have what it buys sent to the wallet."""

    pool: PoolFacts
    swap: QuotedSwap


class WrapRequest(Struct, frozen=True):
    amount: int


class UnwrapRequest(Struct, frozen=True):
    amount: int


class Allowance(Struct, frozen=True):
    """What one contract may move of a token, by leave of the token itself or of Permit2."""

    token: Address
    spender: Address
    through_permit2: bool


class RevokeRequest(Struct, frozen=True):
    """Take allowances back, one step each."""

    allowances: tuple[Allowance, ...]


class DelegateRequest(Struct, frozen=True):
    """Lend the account to a contract's code; to nobody's, take it back."""

    delegate: Address
    cancels_orders: bool = False
    """First raise the owner's nonce: lent again, the account would honour orders of before."""
    lender: Lender | None = None
    """Whose account it is, where the sender only sends and pays."""


class CancelOrdersRequest(Struct, frozen=True):
    """Have the chain refuse what was signed for another key, one step each; without any, all."""

    delegations: tuple[SignedDelegation, ...] = ()


PositionRequest = (
    ReRangeRequest
    | CloseRequest
    | CollectRequest
    | DecreaseRequest
    | IncreaseRequest
    | CompoundRequest
)
WalletRequest = WrapRequest | UnwrapRequest | RevokeRequest | CancelOrdersRequest
CallRequest = PositionRequest | SeveralRequest | CreateRequest | SwapRequest | WalletRequest
Request = CallRequest | DelegateRequest


def swap_in(request: Request) -> QuotedSwap | None:
    """The swap that the request makes, alone or before it enters a range."""
    match request:
        case ReRangeRequest() | CreateRequest() | SwapRequest():
            return request.swap
        case _:
            return None
