"""What may not change between approving and applying, and what did."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from fractions import Fraction
from typing import NamedTuple

from msgspec import Struct

from chain.contracts.abi import encode_call
from chain.contracts.addresses import keccak, shorten_address
from chain.contracts.delegation import delegate_in
from chain.contracts.hooks import BEACON_SLOT, IMPLEMENTATION_SLOTS, NO_HOOK
from chain.contracts.networks import Address
from chain.execution.chain_facts import read_lender
from chain.execution.exit_tax import ExitTax
from chain.execution.plan.context import DEAREST_POOL_FEE
from chain.execution.plan.facts import Lender
from chain.positions.overview import Sources
from chain.protocols.reference import PositionRef, position_label
from chain.rpc import requests
from chain.rpc.client import AHEAD_SECONDS, RpcClient
from chain.rpc.errors import Reverted
from chain.rpc.records import Block, BlockRef
from zuno_tui.gate.actions.action import ActionTarget
from zuno_tui.gate.refusal import GateRefusedError, RefusalCode


async def read_circumstances(
    sources: Sources, subject: ActionTarget, wallet: Address, lender: Address = ""
) -> WalletState:
    """At the block the subject was read at."""
    block, pool, position = subject.block, subject.pool, subject.position
    nonce, code = await sources.client.together(
        requests.transaction_count(wallet, block.hash), requests.code(wallet, block.hash)
    )
    hooks = {each.key.hooks for each in subject.pools} - {NO_HOOK}
    codes = {hook: await read_hook_code(sources.client, hook, block.hash) for hook in hooks}
    hook_code = None if pool is None else codes.get(pool.key.hooks)
    delegate = delegate_in(code)
    return WalletState(
        owner=None if position is None else position.owner,
        liquidity=None if position is None else position.liquidity,
        pool_id=None if pool is None else pool.key.pool_id,
        hook_code=hook_code,
        subscriber=None if position is None else position.custody.subscriber,
        sqrt_price_x96=None if pool is None else pool.sqrt_price_x96,
        pool_fee=None if pool is None else pool.lp_fee,
        nonce=nonce,
        base_fee=block.base_fee_per_gas or 0,
        account_code=delegate or ("0x" + keccak(code).hex() if code else None),
        lender=await read_lender(sources.client, lender, block.hash) if lender else None,
        others=tuple(
            OtherPosition(
                other.ref,
                other.owner,
                other.liquidity,
                other.pool.pool_id,
                codes.get(other.pool.key.hooks),
                other.custody.subscriber,
                other.pool.sqrt_price_x96,
                other.pool.lp_fee,
            )
            for other in subject.others
        ),
    )


def network_time(sources: Sources, head_time: int) -> int:
    """By the network's own clock where it has one: the embedded chain's stands still or runs."""
    return head_time if sources.network.clock == "head" else int(sources.clock())


async def network_now(sources: Sources) -> int:
    """The same with no block at hand; a network without a clock of its own is not asked."""
    own_clock = sources.network.clock == "head"
    return network_time(sources, (await sources.client.head()).timestamp if own_clock else 0)


def earliest_time(sources: Sources, block: Block) -> int:
    """What deadlines and expirations start from: the earlier of the block's time and ours.

    A block from the future is refused: whoever makes up its time would make up every deadline.
    """
    if sources.network.clock == "head":
        return block.timestamp
    now = sources.clock()
    if block.timestamp > now + AHEAD_SECONDS:
        raise GateRefusedError(
            f"Block {block.number:,} is {block.timestamp - now:.0f} s ahead of this machine's "
            "clock. Nothing was signed. Check the clock, or ask another endpoint: --rpc URL",
            RefusalCode.FUTURE_HEAD,
        )
    return min(block.timestamp, int(now))


_ADDRESS_DIGITS = 40


async def read_hook_code(client: RpcClient, hook: Address, at: BlockRef) -> str | None:
    """One hash that changes with any of it; a proxy keeps its own code when it is upgraded."""
    code = await client.ask(requests.code(hook, at))
    own = "0x" + keccak(code).hex() if code else None
    words = await client.together(
        *(
            requests.storage(hook, "0x" + slot.hex(), at)
            for slot in (*IMPLEMENTATION_SLOTS, BEACON_SLOT)
        )
    )
    named = [_address(word) for word in words if int(word, 16)]
    if own is None or not named:
        return own
    if int(words[-1], 16):
        named.append(await _implementation_of(client, _address(words[-1]), at))
    codes = await client.together(*(requests.code(each, at) for each in named))
    content = [own, *named, *(keccak(code).hex() for code in codes)]
    return "0x" + keccak(" ".join(content).encode()).hex()


async def _implementation_of(client: RpcClient, beacon: Address, at: BlockRef) -> Address:
    """What the beacon names; one that names nothing names itself."""
    try:
        answer = await client.ask(requests.call(beacon, encode_call("implementation()"), at))
    except Reverted:
        return beacon
    return _address(answer.hex()) if len(answer) == 32 else beacon


def _address(word: str) -> Address:
    return "0x" + word[-_ADDRESS_DIGITS:]


_CLOCK_SLACK = 60
"""Seconds by which a clock may be set right between approving and applying."""


class OtherPosition(Struct, frozen=True):
    """A further position of a plan about several, with its pool."""

    token_id: PositionRef
    owner: Address
    liquidity: int
    pool_id: str
    hook_code: str | None
    subscriber: Address | None
    sqrt_price_x96: int
    pool_fee: int


class WalletState(Struct, frozen=True):
    """A wallet and what its plan is about, at one block and as far as the plan rests on them.

    Without a position there is no owner and no liquidity, without a pool no price.
    """

    owner: Address | None
    liquidity: int | None
    pool_id: str | None
    hook_code: str | None
    """The hash of all code that answers for the hook; None where the pool has no hook."""
    subscriber: Address | None
    sqrt_price_x96: int | None
    pool_fee: int | None
    """Pips that the pool takes of a swap; a hook may change it at any time."""
    nonce: int
    base_fee: int
    account_code: str | None = None
    """Whose code the account runs; of a contract wallet the hash of its own, of others None."""
    lender: Lender | None = None
    """Another's account, which the wallet's transaction lends."""
    others: tuple[OtherPosition, ...] = ()


class PriceLimits(Struct, frozen=True):
    lowest_sqrt_price: int
    highest_sqrt_price: int


class DriftLimits(Struct, frozen=True):
    """How far prices may move: the pool's within the slippage, gas up to the fee signed for."""

    lowest_sqrt_price: int
    highest_sqrt_price: int
    max_fee_per_gas: int
    expires_at: int
    others: tuple[PriceLimits, ...] = ()
    """Of the pools of further positions, in their order."""


class Drift(NamedTuple):
    what: str
    before: str
    after: str

    def __str__(self) -> str:
        return f"{self.what}: {self.before} when approved, {self.after} now"


def drifts(before: WalletState, after: WalletState, bounds: DriftLimits) -> tuple[Drift, ...]:
    """Everything that has moved further than it may."""
    return tuple(_drifts(before, after, bounds))


def code_drifts(told: Mapping[Address, str], now: Mapping[Address, str]) -> Iterator[Drift]:
    """Contracts that are not what they were when what they do was tried and shown."""
    for address in dict.fromkeys((*told, *now)):
        before, after = told.get(address), now.get(address)
        if before != after:
            yield Drift(f"code of {address}", _value_text(before), _value_text(after))


def kept_drifts(told: Mapping[Address, int], kept: Iterable[ExitTax]) -> Iterator[Drift]:
    """What a hook or a token would keep beyond the share that was told."""
    for each in kept:
        share = told.get(each.token, 0)
        if each.exceeds(share):
            what = f"kept of the {shorten_address(each.token)} that comes out"
            yield Drift(what, f"{share / 10_000:.2f}%", f"{each.millionths / 10_000:.2f}%")


def _drifts(before: WalletState, after: WalletState, bounds: DriftLimits) -> Iterator[Drift]:
    same = {
        "owner": (before.owner, after.owner),
        "liquidity": (before.liquidity, after.liquidity),
        "pool": (before.pool_id, after.pool_id),
        "hook code": (before.hook_code, after.hook_code),
        "subscriber": (before.subscriber, after.subscriber),
        "nonce of the wallet": (before.nonce, after.nonce),
        "code of the account": (before.account_code, after.account_code),
        "account that is lent": (_lender_text(before.lender), _lender_text(after.lender)),
    }
    for what, (then, now_is) in same.items():
        if then != now_is:
            yield Drift(what, _value_text(then), _value_text(now_is))
    yield from _price_drift(before.sqrt_price_x96, after.sqrt_price_x96, bounds)
    yield from _fee_drift(before.pool_fee, after.pool_fee)
    yield from _other_drifts(before.others, after.others, bounds.others)
    if after.base_fee > bounds.max_fee_per_gas:
        yield Drift(
            "base fee", f"at most {bounds.max_fee_per_gas} wei a gas", f"{after.base_fee} wei a gas"
        )


def _lender_text(lender: Lender | None) -> str | None:
    if lender is None:
        return None
    code = lender.runs or ("a contract" if lender.has_code else "no code")
    return f"{lender.address} with nonce {lender.nonce} and {code}"


def _other_drifts(
    before: Sequence[OtherPosition], after: Sequence[OtherPosition], bounds: Sequence[PriceLimits]
) -> Iterator[Drift]:
    """Of each further position the same as of the first."""
    if [position.token_id for position in before] != [
        position.token_id for position in after
    ] or len(bounds) != len(before):
        yield Drift("positions", f"{len(before) + 1} of them", "others")
        return
    for then, now, limits in zip(before, after, bounds, strict=True):
        same = {
            "owner": (then.owner, now.owner),
            "liquidity": (then.liquidity, now.liquidity),
            "pool": (then.pool_id, now.pool_id),
            "hook code": (then.hook_code, now.hook_code),
            "subscriber": (then.subscriber, now.subscriber),
        }
        found = [
            *(
                Drift(what, *map(_value_text, pair))
                for what, pair in same.items()
                if len({*pair}) > 1
            ),
            *_price_drift(then.sqrt_price_x96, now.sqrt_price_x96, limits),
            *_fee_drift(then.pool_fee, now.pool_fee),
        ]
        yield from (
            each._replace(what=f"{each.what} of {position_label(then.token_id)}") for each in found
        )


def _price_drift(
    before: int | None, after: int | None, bounds: DriftLimits | PriceLimits
) -> Iterator[Drift]:
    if before is None or after is None:
        return
    lowest, highest = bounds.lowest_sqrt_price, bounds.highest_sqrt_price
    if not lowest <= after <= highest:
        allowed = f"{_price_change(before, lowest)} to {_price_change(before, highest)}"
        moved = _price_change(before, after)
        yield Drift("pool price", f"let move by {allowed}", f"{moved} and past that")


def _fee_drift(before: int | None, after: int | None) -> Iterator[Drift]:
    if before is not None and after is not None and after > max(before, DEAREST_POOL_FEE):
        yield Drift("pool fee", f"{before / 10_000:g}%", f"{after / 10_000:g}%")


def _value_text(value: object) -> str:
    return "none" if value is None else str(value)


def _price_change(before: int, after: int) -> str:
    """In per cent of the price, which is the square of its root."""
    change = 100 * (Fraction(after, before) ** 2 - 1)
    return f"{float(change):+.3f}%"
