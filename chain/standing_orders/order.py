"""A standing order: one exact call, the owner's signature for it, and when it is to be made.

What the chain enforces is in the signed bytes. What the monitor goes by, and what a page says of
it, is beside them and hashes to the salt among them (`chain.standing_orders.seal`).
"""

from enum import StrEnum
from fractions import Fraction
from math import isqrt
from typing import Annotated, Literal, NamedTuple

from msgspec import UNSET, Meta, Struct, UnsetType

from chain.contracts import abi
from chain.contracts.networks import Address
from chain.contracts.pool_key import PoolId, PoolKey
from chain.contracts.signed_delegation import Caveat, SignedDelegation
from chain.protocols.registry import protocol_of_pool
from chain.tokens.pair import Pair

_DELEGATION = "(address,address,bytes32,(address,bytes)[],uint256,bytes)"
_Q192 = 1 << 192
_Count = Annotated[int, Meta(ge=0, lt=2**50)]
_Tick = Annotated[int, Meta(ge=-887272, le=887272)]
_Decimals = Annotated[int, Meta(ge=0, lt=256)]
_Token = Annotated[Address, Meta(pattern=r"\A0x[0-9a-f]{40}\Z")]
_Digits = Annotated[str, Meta(pattern=r"\A[0-9]{1,50}\Z")]


class Condition(Struct, frozen=True, rename="camel", tag_field="when", forbid_unknown_fields=True):
    """When the monitor makes the call."""


class PricePast(Condition, frozen=True, rename="camel", tag="price", omit_defaults=True):
    """The pool's price at or past a level, as the pool counts it."""

    sqrt_price: _Digits
    """As Q64.96: no JSON number holds it."""
    falls: bool
    """Whether the pool's price must be at or under it, else at or over."""
    words: str = ""
    """In files of version 1 alone, and shown nowhere: nothing seals it."""

    def is_met(self, sqrt_price: int) -> bool:
        limit = int(self.sqrt_price)
        return sqrt_price <= limit if self.falls else sqrt_price >= limit


class OutOfRange(Condition, frozen=True, rename="camel", tag="out of range"):
    seconds: _Count


class LossOver(Condition, frozen=True, rename="camel", tag="loss"):
    bips: _Count
    """Of what went in, against having held it."""


class FeesOver(Condition, frozen=True, rename="camel", tag="fees"):
    micro_usd: _Count
    every_seconds: _Count


OrderCondition = PricePast | OutOfRange | LossOver | FeesOver


class StandingState(StrEnum):
    WAITING = "waiting"
    SENT = "sent"
    """Its transaction is on the way."""
    DONE = "done"
    ENDED = "ended"
    """It can no longer be carried out, and the reason is told."""


class SentCall(Struct, frozen=True, rename="camel"):
    """A transaction of the watch key, kept before it is sent."""

    hash: str
    raw: str
    nonce: int
    max_fee_per_gas: str
    at: float
    tip: str = "0"
    withdraws: bool = False
    """Whether it only takes the place of one that is no longer wanted."""
    gas: int = 0
    taken: bool = True
    """Whether an endpoint took it, or may have."""


class EnteredRange(Struct, frozen=True, rename="camel"):
    """What was put into a range by the same transaction."""

    tick_lower: int
    tick_upper: int
    liquidity: str

    @property
    def ticks(self) -> tuple[int, int]:
        return self.tick_lower, self.tick_upper


class ClosedRange(Struct, frozen=True, rename="camel"):
    """The range that was taken out, so that keeping it can be valued later."""

    pool: PoolKey
    tick_lower: int
    tick_upper: int
    liquidity: str
    sqrt_price: str = ""
    """The pool's price in the block that closed it; empty before that."""
    time: int = 0
    """That block's time."""
    pool_id: PoolId = ""
    """What names the pool, where its key does not."""
    entered: EnteredRange | UnsetType = UNSET
    """Where it went instead; unset where it went to the wallet."""

    @property
    def key(self) -> PoolKey:
        if not self.pool_id:
            return self.pool
        return protocol_of_pool(self.pool_id).key(self.pool.values, self.pool_id)


class StandingProgress(Struct, frozen=True, rename="camel"):
    """What came of an order so far; the order itself never changes."""

    state: StandingState = StandingState.WAITING
    reason: str = ""
    """In a sentence: why it ended, or what keeps it from being carried out now."""
    met_at: float | None = None
    """The network's time since which the condition holds without a break."""
    met_block: int = 0
    looked_at: float | None = None
    """The network's time at the last look that could be made."""
    calls: tuple[SentCall, ...] = ()
    """The same call, the newest last: a later one only pays more for it."""
    done: int = 0
    """How often it was carried out."""
    last_done: float | None = None
    received: tuple[str, ...] = ()
    """Of each coin of the pair, in words, the last time."""
    results: tuple[str, ...] = ()
    """The hashes of the transactions that carried it out."""
    happened_at: float | None = None
    """This machine's time when it was last carried out or ended."""
    settled_at: float | None = None
    """The network's time then; None again once no reorganisation is expected to take it back."""
    closed: ClosedRange | None = None
    failed_gas: int = 0
    """The largest limit of a transaction that the chain took and undid."""
    became: str | UnsetType = UNSET
    """The position that it is now, where that is another one."""
    waits: str | UnsetType = UNSET
    """In a sentence: what its condition lacked at the last look."""
    tag: str = ""
    """Made with the watch key, over all of the above and the order: who edits it cannot make it."""


class TriggerLevel(NamedTuple):
    """As people tell it: below, `2,900`, `USDC per WETH`."""

    side: Literal["below", "above"]
    price: str
    unit: str


class StandingOrder(Struct, frozen=True, rename="camel", forbid_unknown_fields=True):
    version: Literal[1, 2]
    number: int
    chain_id: int
    delegation: str
    """The signed delegation, in hex."""
    condition: OrderCondition
    made_at: Annotated[float, Meta(ge=0, lt=2**50)]
    liquidity: _Digits
    """Of the position when it was signed: minimums fit that one alone."""
    hook_code: Annotated[str, Meta(pattern=r"\A0x[0-9a-f]{64}\Z")] | None
    """The hash of the hook's code then; None without a hook."""
    hold_seconds: _Count
    """How long the condition must hold."""
    pair: tuple[str, str] = ("", "")
    """The symbols, as they are shown."""
    decimals: tuple[_Decimals, _Decimals] | None = None
    """Of the pair; None where one is unknown, and in version 1."""
    inverted: bool = False
    """Whether currency1 is the one whose price is told."""
    secret: Annotated[str, Meta(pattern=r"\A([0-9a-f]{32})?\Z")] = ""
    """128 random bits, so that nobody guesses the terms from the salt; none in version 1."""
    tokens: tuple[_Token, _Token] | UnsetType = UNSET
    """What it pays, where the signed bytes name no token."""
    size: Literal["grown", "filled"] | UnsetType = UNSET
    """Whether the position may have grown since, or be filled yet; unset where it must be as it
    was."""
    ticks: tuple[_Tick, _Tick] | UnsetType = UNSET
    """The range it goes to, where the signed bytes name another position for that."""
    partner: int | None = None
    """In older files: what closes a position ends its other orders without that."""

    @property
    def delegation_signed(self) -> SignedDelegation:
        return delegation_of(self.delegation)

    def fits(self, liquidity: int) -> bool | None:
        """Whether a position of that size is the one that was meant; None where it will be."""
        signed = int(self.liquidity)
        if self.size is UNSET:
            return liquidity == signed
        return True if liquidity >= signed else None if self.size == "filled" else False

    @property
    def level(self) -> TriggerLevel | None:
        """The price it waits for; None where it waits for another thing."""
        if not isinstance(self.condition, PricePast) or self.decimals is None:
            return None
        decimals0, decimals1 = self.decimals
        raw = Fraction(int(self.condition.sqrt_price) ** 2, _Q192)
        price = raw * Fraction(10) ** (decimals0 - decimals1)
        base, quote = self.pair[::-1] if self.inverted else self.pair
        told = float(1 / price if self.inverted and price else price)
        side: Literal["below", "above"] = (
            "below" if self.condition.falls is not self.inverted else "above"
        )
        return TriggerLevel(side, f"{told:,.9g}", f"{quote} per {base}")


def delegation_text(signed: SignedDelegation) -> str:
    return abi.encode((_DELEGATION,), (tuple(signed),)).hex()


def delegation_of(text: str) -> SignedDelegation:
    """Raises `AbiError` or `ValueError` for what is none."""
    ((delegate, delegator, authority, caveats, salt, signature),) = abi.decode(
        (_DELEGATION,), bytes.fromhex(text)
    )
    parts: tuple[Caveat, ...] = tuple(Caveat(enforcer, terms) for enforcer, terms in caveats)
    address: Address = delegate
    return SignedDelegation(address, delegator, authority, parts, salt, signature)


def price_condition(pair: Pair, price: Fraction, *, below: bool) -> PricePast:
    """A price as people tell it, as the pool counts it."""
    decimals0, decimals1 = pair.token0.decimals, pair.token1.decimals
    if decimals0 is None or decimals1 is None:
        raise ValueError("The decimals of a token are unknown, so its price cannot be told.")
    scale = Fraction(10) ** (decimals1 - decimals0)
    raw = scale / price if pair.inverted else price * scale
    falls = below is not pair.inverted
    exact = isqrt(int(raw * _Q192)) if falls else isqrt(int(raw * _Q192)) + 1
    return PricePast(str(exact), falls)
