"""The call an order makes: built out of a position, and read back out of what was signed."""

from collections.abc import Iterator
from contextlib import suppress
from typing import NamedTuple

from msgspec import UNSET

from chain.base.errors import Failure, ZunoError
from chain.contracts.delegation import DELEGATION_MANAGER, NOBODY, BatchCall
from chain.contracts.networks import Address, Network
from chain.contracts.pool_key import PoolKey
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
from chain.execution import protocols
from chain.execution.build.writers import writer_of
from chain.execution.decode.decoder import decode_call
from chain.execution.plan.protocol import GasLimits, OrderKind, StandingCall, StandingEntry
from chain.execution.plan.reading import DecodingError
from chain.execution.plan.records import PlainCall
from chain.math.drift import Span
from chain.math.liquidity import Amounts, amounts_for_liquidity
from chain.math.ticks import sqrt_price_at_tick
from chain.protocols.reference import PositionRef
from chain.protocols.registry import manager_of
from chain.protocols.snapshot import PositionSnapshot
from chain.standing_orders.entries import entry_faults
from chain.standing_orders.kinds import TRAITS, KindTraits
from chain.standing_orders.order import OrderCondition, PricePast, StandingOrder


class OrderRefusedError(ZunoError):
    """What is no order that this desk signs or carries out; says why."""

    failure = Failure.REFUSED


class OrderCall(NamedTuple):
    """What the signed bytes let the watch key do, and nothing besides."""

    kind: OrderKind
    ref: PositionRef
    least: Amounts
    """What taking out must pay, fees not counted."""
    currencies: tuple[Address, ...]
    """What it pays; none where the bytes name no token: then the order does (`call_in`)."""
    recipient: Address
    until: int
    times: int
    nonce: int
    liquidity: int | None = None
    """What it takes out; None where the bytes take all there is then."""
    entry: StandingEntry | None = None
    """What it puts back to work."""

    @property
    def traits(self) -> KindTraits:
        return TRAITS[self.kind]

    @property
    def target(self) -> PositionRef | None:
        """The other position that it is about."""
        return None if self.entry is None else self.entry.into


class OrderLimits(NamedTuple):
    """How often it may be made, and from when on."""

    times: int
    now: int
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


def plain_call(position: PositionSnapshot, kind: OrderKind, until: int) -> StandingCall:
    """Of a position, before what sets its kind apart is said."""
    pair = position.pool.key.currency0, position.pool.key.currency1
    return StandingCall(kind, position.ref, Amounts(0, 0), position.owner, None, pair, until)


def closing_call(position: PositionSnapshot, condition: OrderCondition, until: int) -> StandingCall:
    least = least_amounts(position, condition)
    call = plain_call(position, "close", until)
    return call._replace(least=least, liquidity=position.liquidity)


def propose(
    network: Network, key: PoolKey, made: StandingCall, *, watch_key: Address, limits: OrderLimits
) -> SignedDelegation:
    """The delegation that is to be sealed and signed: it is valid from before now on."""
    data = writer_of(key).standing_call(made)
    call = BatchCall(manager_of(made.ref, network), 0, data)
    assert made.deadline is not None
    # The chain compares with the block's time, which may be a little behind this one's.
    terms = CallTerms(call, limits.times, limits.now - 3_600, made.deadline, limits.nonce)
    return SignedDelegation(watch_key, made.recipient, ROOT, caveats_of(terms), salt=0)


def read_call(signed: SignedDelegation, network: Network) -> OrderCall:
    """What it lets be done; refused where that is anything but an order of this desk."""
    found = _read(signed, network)
    faults = ["its call cannot be read"] if found is None else list(_faults(signed, found, network))
    if found is None or faults:
        raise OrderRefusedError(f"This is no order that zuno signs: {'; '.join(faults)}.")
    return found


def call_in(order: StandingOrder, network: Network) -> OrderCall:
    """What an order lets be done; what its bytes do not name, the seal has."""
    call = read_call(order.delegation_signed, network)
    if call.target is not None:
        if order.ticks is UNSET or call.entry is None:
            raise OrderRefusedError("This is no order that zuno signs: it says nowhere which range")
        call = call._replace(entry=call.entry._replace(span=Span(*order.ticks)))
    if call.currencies:
        return call
    if order.tokens is UNSET:
        raise OrderRefusedError("This is no order that zuno signs: it says nowhere what it pays.")
    return call._replace(currencies=order.tokens)


def call_of(signed: SignedDelegation) -> BatchCall:
    terms = terms_in(signed.caveats)
    if terms is None:
        raise OrderRefusedError("This is no order that zuno signs: its terms are others.")
    return terms.call


def gas_limits(call: OrderCall) -> GasLimits:
    return protocols.reader_named(call.ref.protocol).standing_gas[call.kind]


def is_offered(kind: OrderKind, ref: PositionRef) -> bool:
    """Whether the protocol has an exact call for it."""
    return kind in protocols.reader_named(ref.protocol).standing_gas


def most_gas() -> int:
    """What an order may take, whichever it is."""
    return max(gas.most for protocol in protocols.ALL for gas in protocol.standing_gas.values())


def subject_in(signed: SignedDelegation) -> tuple[OrderKind, PositionRef] | None:
    """What is done with which position, by its bytes alone."""
    with suppress(DecodingError, OrderRefusedError):
        made = _standing(call_of(signed))
        if made is not None:
            return made.kind, made.ref
    return None


def position_in(signed: SignedDelegation) -> PositionRef | None:
    subject = subject_in(signed)
    return None if subject is None else subject[1]


def _standing(call: BatchCall) -> StandingCall | None:
    made = decode_call(call.data)
    protocol = protocols.of_call(made)
    if protocol is None or not isinstance(made, PlainCall):
        return None
    return protocol.standing_call(made)


def _read(signed: SignedDelegation, network: Network) -> OrderCall | None:
    terms = terms_in(signed.caveats)
    if terms is None or terms.call.value:
        return None
    try:
        made = _standing(terms.call)
    except DecodingError:
        return None
    if made is None or terms.call.to != protocols.reader_named(made.ref.protocol).manager(network):
        return None
    if made.deadline not in (None, terms.before):
        return None
    return OrderCall(
        made.kind,
        made.ref,
        made.least,
        made.currencies or (),
        made.recipient,
        terms.before,
        terms.times,
        terms.nonce,
        made.liquidity,
        made.entry,
    )


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
    most = MOST_CALLS if call.traits.fees else 1
    if not 1 <= terms.times <= most:
        yield f"it may be used {terms.times} times"
    if not 0 < terms.before - terms.after <= LONGEST_SECONDS:
        yield "it lasts longer than ninety days, or not at all"
    if call.entry is not None:
        yield from entry_faults(call.entry, call.least, shifts=call.traits.shifts)
