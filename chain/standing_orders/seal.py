"""The seal of an order: the owner's signature covers what makes it act, by way of the salt.

The chain knows nothing of conditions. Their hash is the salt of the signed delegation, so that
whoever edits a file, in a home or on its way to another machine, has an order that nobody signed.
"""

from functools import lru_cache

from msgspec import UNSET

from chain.contracts.addresses import keccak, recovered_address
from chain.math.liquidity import amounts_for_liquidity
from chain.math.ticks import sqrt_price_at_tick
from chain.protocols.reference import position_name
from chain.protocols.snapshot import PositionSnapshot
from chain.standing_orders.call import OrderCall
from chain.standing_orders.kinds import TRAITS
from chain.standing_orders.order import (
    FeesOver,
    LossOver,
    OutOfRange,
    PricePast,
    StandingOrder,
    delegation_of,
)

_TAG = b"zuno standing order"
_VERSION = 2
_SIGNATURE_BYTES, _PARITY = 65, 27
_WORD = 32
_SIZES = {"grown": 1, "filled": 2}


def salt_of(order: StandingOrder, call: OrderCall) -> int:
    """What must be signed as the salt: changes with everything the order acts on or is told by."""
    traits = TRAITS[call.kind]
    names = b"\0".join(symbol.encode() for symbol in order.pair)
    numbers = (
        traits.code,
        *_numbers_of(order),
        order.hold_seconds,
        0 if order.hook_code is None else int(order.hook_code, 16),
        *call.least,
        int(order.liquidity) if traits.sized else 0,
        int.from_bytes(keccak(names), "big"),
        *((256, 256) if order.decimals is None else order.decimals),
        int(order.inverted),
        *(() if order.tokens is UNSET else (int(token, 16) for token in order.tokens)),
        *(() if order.size is UNSET else (_SIZES[order.size],)),
        *(() if order.ticks is UNSET else (tick % 2**256 for tick in order.ticks)),
    )
    terms = b"".join(number.to_bytes(_WORD, "big") for number in numbers)
    sealed = _TAG + bytes([_VERSION]) + terms + bytes.fromhex(order.secret)
    return int.from_bytes(keccak(sealed), "big")


def _numbers_of(order: StandingOrder) -> tuple[int, int, int]:
    match order.condition:
        case PricePast(sqrt_price, falls):
            return 1, int(sqrt_price), int(falls)
        case OutOfRange(seconds):
            return 2, seconds, 0
        case LossOver(bips):
            return 3, bips, 0
        case FeesOver(micro_usd, seconds):
            return 4, micro_usd, seconds


def is_sealed(order: StandingOrder, call: OrderCall) -> bool:
    """Whether its file says what was signed; whatever version it claims."""
    return bool(order.secret) and order.delegation_signed.salt == salt_of(order, call)


def is_signed(order: StandingOrder) -> bool:
    """Whether the delegation in it is as its owner signed it, for its chain."""
    return _is_signed(order.delegation, order.chain_id)


@lru_cache(maxsize=256)
def _is_signed(delegation: str, chain_id: int) -> bool:
    signed = delegation_of(delegation)
    words = signed.signature
    if len(words) != _SIGNATURE_BYTES or chain_id < 0:
        return False
    r, s = (int.from_bytes(words[at : at + _WORD], "big") for at in (0, _WORD))
    try:
        signer = recovered_address(signed.digest(chain_id), parity=words[-1] - _PARITY, r=r, s=s)
    except Exception:  # of whichever library: these are no signature
        return False
    return signer == signed.delegator


def fault_of(order: StandingOrder, call: OrderCall) -> str:
    """Why it is not carried out whatever the chain says, in a sentence; empty where nothing is."""
    if not is_signed(order):
        return f"Its file was changed: the owner's signature does not fit it. {_anew(order, call)}"
    if is_sealed(order, call):
        fits = isinstance(order.condition, FeesOver) is TRAITS[call.kind].fees
        return "" if fits else f"No command makes such an order. {_anew(order, call)}"
    # An older zuno signed none whose bytes name no token.
    older = call.kind == "close" and any(call.least) and order.tokens is UNSET
    return "" if older else unsealed_words(order, call)


def unsealed_words(order: StandingOrder, call: OrderCall) -> str:
    return (
        "What it waits for is not what was signed, or was signed by an older zuno. "
        f"{_anew(order, call)}"
    )


def _anew(order: StandingOrder, call: OrderCall) -> str:
    return (
        f"Cancel it: zuno order cancel {order.number}, and sign it anew: "
        f"zuno order {call.traits.command} {position_name(call.ref)} WHEN"
    )


def bound_level(call: OrderCall, position: PositionSnapshot) -> PricePast | None:
    """The price that the signed minimum alone binds a close to: the last at which the position
    pays it. None where it is all that the position holds at its edge: outside the range amounts
    no longer change, and which price beyond it was meant nobody can tell."""
    lower, upper = (
        sqrt_price_at_tick(tick)
        for tick in (position.identity.tick_lower, position.identity.tick_upper)
    )
    falls = call.least.amount0 > 0
    edge, other = (lower, upper) if falls else (upper, lower)
    place = 0 if falls else 1

    def payout(price: int) -> int:
        return amounts_for_liquidity(price, lower, upper, position.liquidity, round_up=False)[place]

    least = call.least[place]
    if call.least[1 - place] or not 0 < least < payout(edge):
        return None
    good, bad = edge, other
    while abs(good - bad) > 1:
        middle = (good + bad) // 2
        good, bad = (middle, bad) if payout(middle) >= least else (good, middle)
    return PricePast(str(good), falls)
