"""The call an order makes: built out of a position, and read back out of what was signed."""

from collections.abc import Iterator
from contextlib import suppress
from typing import Literal, NamedTuple

from chain.base.errors import Failure, ZunoError
from chain.contracts import calldata
from chain.contracts.delegation import DELEGATION_MANAGER, NOBODY, BatchCall
from chain.contracts.networks import Address, Network
from chain.contracts.signed_delegation import (
    ANYBODY,
    LONGEST_SECONDS,
    MOST_CALLS,
    ROOT,
    CallTerms,
    SignedDelegation,
    caveats_of,
    terms_in,
)
from chain.execution.decode.decoder import decode_call
from chain.execution.plan.reading import DecodingError
from chain.execution.v4.records import (
    DecodedBurn,
    DecodedDecrease,
    DecodedTakePair,
    ModifyLiquidities,
)
from chain.math.liquidity import Amounts, amounts_for_liquidity
from chain.math.ticks import sqrt_price_at_tick
from chain.protocols.reference import PositionRef, v4_position, v4_token_id
from chain.protocols.snapshot import PositionSnapshot
from chain.standing_orders.order import OrderCondition, PricePast

OrderKind = Literal["close", "collect"]


class OrderRefusedError(ZunoError):
    """What is no order that this desk signs or carries out; says why."""

    failure = Failure.REFUSED


class OrderCall(NamedTuple):
    """What the signed bytes let the watch key do, and nothing besides."""

    kind: OrderKind
    ref: PositionRef
    least: Amounts
    """What it must pay, fees not counted; of a close alone."""
    currencies: tuple[Address, Address]
    recipient: Address
    until: int
    times: int
    nonce: int


def least_amounts(position: PositionSnapshot, condition: OrderCondition) -> Amounts:
    """What a close at the condition's edge pays at least.

    Of the coin that grows on the way there its amount at the level, of the other nothing: before
    the level the chain refuses, and in a crash past it the call still goes through.
    """
    if not isinstance(condition, PricePast):
        return Amounts(0, 0)
    lower, upper = (
        sqrt_price_at_tick(tick)
        for tick in (position.identity.tick_lower, position.identity.tick_upper)
    )
    there = amounts_for_liquidity(
        int(condition.sqrt_price), lower, upper, position.liquidity, round_up=False
    )
    return Amounts(there.amount0, 0) if condition.falls else Amounts(0, there.amount1)


def propose(
    network: Network,
    position: PositionSnapshot,
    kind: OrderKind,
    condition: OrderCondition,
    *,
    watch_key: Address,
    times: int,
    now: int,
    until: int,
    nonce: int,
) -> SignedDelegation:
    """The delegation that is to be sealed and signed: it is valid from before now on."""
    key = position.pool.key
    change: calldata.PositionAction = (
        calldata.Burn(v4_token_id(position.ref), *least_amounts(position, condition))
        if kind == "close"
        else calldata.Decrease(v4_token_id(position.ref), 0, 0, 0)
    )
    paid = calldata.TakePair(key.currency0, key.currency1, position.owner)
    data = calldata.modify_liquidities([change, paid], until)
    call = BatchCall(network.contracts.position_manager, 0, data)
    # The chain compares with the block's time, which may be a little behind this one's.
    terms = CallTerms(call, times, now - 3_600, until, nonce)
    return SignedDelegation(watch_key, position.owner, ROOT, caveats_of(terms), salt=0)


def read_call(signed: SignedDelegation, network: Network) -> OrderCall:
    """What it lets be done; refused where that is anything but an order of this desk."""
    found = _read(signed, network)
    faults = ["its call cannot be read"] if found is None else list(_faults(signed, found, network))
    if found is None or faults:
        raise OrderRefusedError(f"This is no order that zuno signs: {'; '.join(faults)}.")
    return found


def call_of(signed: SignedDelegation) -> BatchCall:
    terms = terms_in(signed.caveats)
    if terms is None:
        raise OrderRefusedError("This is no order that zuno signs: its terms are others.")
    return terms.call


def subject_in(signed: SignedDelegation) -> tuple[OrderKind, PositionRef] | None:
    """What is done with which position, by its bytes alone."""
    with suppress(DecodingError, OrderRefusedError):
        match decode_call(call_of(signed).data):
            case ModifyLiquidities(actions=(DecodedBurn(token_id), *_)):
                return "close", v4_position(token_id)
            case ModifyLiquidities(actions=(DecodedDecrease(token_id), *_)):
                return "collect", v4_position(token_id)
            case _:
                pass
    return None


def position_in(signed: SignedDelegation) -> PositionRef | None:
    subject = subject_in(signed)
    return None if subject is None else subject[1]


def _read(signed: SignedDelegation, network: Network) -> OrderCall | None:
    terms = terms_in(signed.caveats)
    if terms is None or terms.call.value or terms.call.to != network.contracts.position_manager:
        return None
    try:
        call = decode_call(terms.call.data)
    except DecodingError:
        return None
    match call:
        case ModifyLiquidities(actions=(change, DecodedTakePair() as paid), deadline=terms.before):
            pass
        case _:
            return None
    match change:
        case DecodedBurn(token_id, least0, least1, hook_data=b""):
            kind: OrderKind = "close"
            least = Amounts(least0, least1)
        case DecodedDecrease(token_id, liquidity=0, amount0_min=0, amount1_min=0, hook_data=b""):
            kind, least = "collect", Amounts(0, 0)
        case _:
            return None
    pair = (paid.currency0, paid.currency1)
    ref = v4_position(token_id)
    return OrderCall(kind, ref, least, pair, paid.recipient, terms.before, terms.times, terms.nonce)


def _faults(signed: SignedDelegation, call: OrderCall, network: Network) -> Iterator[str]:
    terms = terms_in(signed.caveats)
    assert terms is not None
    if signed.authority != ROOT:
        yield "it rests on another delegation"
    if signed.delegate in (ANYBODY, NOBODY, signed.delegator, DELEGATION_MANAGER):
        yield "it is for nobody in particular"
    if call.recipient != signed.delegator:
        yield f"it pays {call.recipient}, which is not the owner's wallet"
    if network.contracts.delegate in (signed.delegate, signed.delegator):
        yield "it is of the delegate itself"
    most = 1 if call.kind == "close" else MOST_CALLS
    if not 1 <= terms.times <= most:
        yield f"it may be used {terms.times} times"
    if not 0 < terms.before - terms.after <= LONGEST_SECONDS:
        yield "it lasts longer than ninety days, or not at all"
