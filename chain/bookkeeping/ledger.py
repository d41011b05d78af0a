"""A wallet's ledger: movements, what transactions cost and swapped, what closes it."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from enum import StrEnum
from fractions import Fraction
from typing import TYPE_CHECKING, NamedTuple

from msgspec import Struct
from msgspec.structs import replace

from chain.base.units import Known, Quantity, Unknown
from chain.bookkeeping.facts import PaidTransaction, SwappedAmounts
from chain.contracts import abi
from chain.contracts.networks import NATIVE, Address, Network
from chain.positions.overview import Sources
from chain.protocols.past import LiquidityChange
from chain.protocols.reference import PositionRef
from chain.protocols.v4.events import (
    MODIFY_LIQUIDITY,
    SWAP,
    modify_liquidity_event,
    swap_event,
)
from chain.read.block_reader import settle_in_parts
from chain.rpc import requests
from chain.rpc.records import Block, Receipt
from chain.tokens import Token

if TYPE_CHECKING:
    from chain.bookkeeping.facts import PositionLife, WalletFacts


class EntryKind(StrEnum):
    MINT = "mint"
    INCREASE = "increase"
    DECREASE = "decrease"
    COLLECT = "collect"
    """Fees that were paid out."""
    SWAP = "swap"
    WRAP = "wrap"
    """The coin into its wrapped form, or back."""
    GAS = "gas"
    TRADED = "traded"
    """What others' trades through its range made of a position: less of one token, more of the
    other."""
    TRANSFERRED = "transferred"
    """What came with a position from another wallet, or left with it, and all since."""
    LEFT_OUT = "left out"
    """What a position has that the logs do not explain: its endpoint leaves some out."""
    FEES = "fees"
    """Earned and not collected."""
    ELSEWHERE = "elsewhere"
    """What came to or left the wallet by anything but the above."""
    REVALUED = "revalued"
    """No token moved: prices did."""


class LedgerAccount(StrEnum):
    WALLET = "wallet"
    POSITION = "position"


class LedgerPlace(NamedTuple):
    """When and where something happened; without a transaction where no single one did it."""

    time: int
    block: int
    transaction: str


class LedgerSubject(NamedTuple):
    """Where tokens went to or came from, and the position it was about."""

    account: LedgerAccount
    position: PositionRef | None


class TokenAtPrice(NamedTuple):
    token: Token
    price: Quantity[Fraction]
    """US dollars for a whole one at the time that is spoken of."""


class LedgerEntry(Struct, frozen=True):
    time: int
    block: int
    transaction: str
    """Its hash; empty where no single transaction did it."""
    kind: EntryKind
    account: LedgerAccount
    position: PositionRef | None
    """The position it is about, where it is about one."""
    token: Token
    amount: int
    """In the token's smallest units, into the account; negative out of it."""
    price: Quantity[Fraction]
    """US dollars for a whole token at that time."""
    usd: Quantity[Fraction]


def entry_value(token: Token, amount: int, price: Quantity[Fraction]) -> Quantity[Fraction]:
    """US dollars of an amount at a price."""
    if amount == 0:
        return Known(Fraction(0), "nothing moved")
    if token.decimals is None:
        return Unknown(f"{token.label} gives no usable decimals")
    whole = Fraction(amount, 10**token.decimals)
    return price.map(lambda each: each * whole)


def ledger_entry(
    place: LedgerPlace, kind: EntryKind, subject: LedgerSubject, priced: TokenAtPrice, amount: int
) -> LedgerEntry:
    value = entry_value(priced.token, amount, priced.price)
    return LedgerEntry(*place, kind, *subject, priced.token, amount, priced.price, value)


_DEPOSIT = abi.topic("Deposit(address,uint256)")
_WITHDRAWAL = abi.topic("Withdrawal(address,uint256)")


async def read_transactions(
    sources: Sources, hashes: Collection[str]
) -> dict[str, PaidTransaction]:
    """By hash; one whose receipt the node does not have is left out."""
    wanted = tuple(dict.fromkeys(hashes))
    answers = await settle_in_parts(sources.client, [requests.receipt(digest) for digest in wanted])
    receipts = [answer for answer in answers if isinstance(answer, Receipt)]
    numbers = sorted({receipt.block_number for receipt in receipts})
    headers = await settle_in_parts(sources.client, [requests.block(number) for number in numbers])
    times = {header.number: header.timestamp for header in headers if isinstance(header, Block)}
    return {
        receipt.transaction_hash: _sent(sources.network, receipt, times[receipt.block_number])
        for receipt in receipts
        if receipt.block_number in times
    }


def _sent(network: Network, receipt: Receipt, time: int) -> PaidTransaction:
    manager = network.contracts.pool_manager
    ours = [log for log in receipt.logs if log.address == manager]
    swaps = [swap_event(log) for log in ours if log.topics[0] == SWAP]
    return PaidTransaction(
        hash=receipt.transaction_hash,
        block=receipt.block_number,
        time=time,
        sender=receipt.sender,
        cost=_cost(network, receipt),
        swaps=tuple(SwappedAmounts(swap.pool_id, swap.amount0, swap.amount1) for swap in swaps),
        wrapped=_wrapped(network, receipt),
        changes=tuple(
            modify_liquidity_event(log) for log in ours if log.topics[0] == MODIFY_LIQUIDITY
        ),
    )


def _cost(network: Network, receipt: Receipt) -> Quantity[int]:
    if network.stack == "op" and receipt.l1_fee is None:
        return Unknown("the node does not report what the data cost on the parent chain")
    cost = receipt.gas_used * receipt.effective_gas_price + (receipt.l1_fee or 0)
    return Known(cost, "receipt", receipt.block_number)


def _wrapped(network: Network, receipt: Receipt) -> int:
    who = "0x" + "00" * 12 + receipt.sender.removeprefix("0x")
    signs = {_DEPOSIT: 1, _WITHDRAWAL: -1}
    return sum(
        signs[log.topics[0]] * int.from_bytes(log.data, "big")
        for log in receipt.logs
        if log.address == network.wrapped_native
        and log.topics
        and log.topics[0] in signs
        and log.topics[1:] == (who,)
    )


# Each token's amounts, over the wallet and its positions, add up to the unit; the dollars, each
# at the price of its time, add up to the present worth by the lines that say how prices changed.
_IN_WALLET = LedgerSubject(LedgerAccount.WALLET, None)


class _Balance(NamedTuple):
    amount: int
    usd: Fraction


def ledger_of(facts: WalletFacts) -> tuple[LedgerEntry, ...]:
    """Everything that moved, oldest first, and then what closes it."""
    lives = (entry for life in facts.lives for entry in _life_entries(facts, life))
    own = (
        transaction
        for transaction in facts.transactions.values()
        if transaction.sender == facts.owner
    )
    sent = (entry for transaction in own for entry in _sent_entries(facts, transaction))
    moved = sorted((*lives, *sent), key=lambda one: (one.time, one.block, one.transaction))
    closing = (entry for life in facts.lives for entry in _life_closing(facts, life, moved))
    return (*moved, *closing, *_wallet_closing(facts, moved))


def _life_entries(facts: WalletFacts, life: PositionLife) -> Iterator[LedgerEntry]:
    key = life.identity.pool_key
    inside = LedgerSubject(LedgerAccount.POSITION, life.identity.ref)
    outside = LedgerSubject(LedgerAccount.WALLET, life.identity.ref)
    for index, change in enumerate(life.changes):
        place = _place(change)
        own = facts.is_own(place.transaction)
        kind = _kind(index, change)
        sign = 1 if change.liquidity_delta > 0 else -1
        for side, address in enumerate((key.currency0, key.currency1)):
            price = facts.price_then(address, place.block, life, change)
            priced = TokenAtPrice(facts.tokens[address], price)
            if amount := sign * _side(change.amounts, side):
                yield ledger_entry(place, kind, inside, priced, amount)
                if own:
                    yield ledger_entry(place, kind, outside, priced, -amount)
            if own and (fees := _side(change.fees, side)):
                yield ledger_entry(place, EntryKind.COLLECT, outside, priced, fees)


def _sent_entries(facts: WalletFacts, sent: PaidTransaction) -> Iterator[LedgerEntry]:
    place = LedgerPlace(sent.time, sent.block, sent.hash)

    def entry(kind: EntryKind, address: Address, amount: int) -> LedgerEntry:
        price = facts.price_then(address, sent.block, None, None)
        if kind is EntryKind.SWAP:
            # After it the pool stands where the swap moved it, and its impact would cost nothing.
            before = facts.price_then(address, sent.block - 1, None, None)
            price = before if isinstance(before, Known) else price
        return ledger_entry(
            place, kind, _IN_WALLET, TokenAtPrice(facts.tokens[address], price), amount
        )

    for swap in sent.swaps:
        key = facts.pools.get(swap.pool_id)
        if key is not None:
            yield entry(EntryKind.SWAP, key.currency0, swap.amount0)
            yield entry(EntryKind.SWAP, key.currency1, swap.amount1)
    if sent.wrapped and facts.network.wrapped_native is not None:
        yield entry(EntryKind.WRAP, NATIVE, -sent.wrapped)
        yield entry(EntryKind.WRAP, facts.network.wrapped_native, sent.wrapped)
    if isinstance(sent.cost, Known):
        yield entry(EntryKind.GAS, NATIVE, -sent.cost.value)


def _life_closing(
    facts: WalletFacts, life: PositionLife, moved: Sequence[LedgerEntry]
) -> Iterator[LedgerEntry]:
    """What trades made of it, what it earned, and what prices did to it."""
    subject = LedgerSubject(LedgerAccount.POSITION, life.identity.ref)
    last = life.changes[-1] if life.held is None and life.changes else None
    place = _now(facts) if last is None else _place(last)._replace(transaction="")
    kind = EntryKind.TRANSFERRED if life.given else EntryKind.TRADED
    if life.left_out:
        kind = EntryKind.LEFT_OUT
    mine = [entry for entry in moved if (entry.account, entry.position) == subject]
    key = life.identity.pool_key
    for side, address in enumerate((key.currency0, key.currency1)):
        price = (
            facts.price_now(address)
            if last is None
            else facts.price_then(address, place.block, life, last)
        )
        held, fees = _held(life, side)
        before = _balance(mine, address)
        gains = ((kind, held - before.amount), (EntryKind.FEES, fees))
        yield from _closing(
            place, subject, TokenAtPrice(facts.tokens[address], price), before, gains
        )


def _wallet_closing(facts: WalletFacts, moved: Sequence[LedgerEntry]) -> Iterator[LedgerEntry]:
    """What came or left by other ways, and what prices did to what lies there."""
    idle = {balance.token.address: balance.amount for balance in facts.worth.idle}
    mine = [entry for entry in moved if entry.account is LedgerAccount.WALLET]
    for address in dict.fromkeys((*idle, *(entry.token.address for entry in mine))):
        present = idle.get(address, Known(0, "balanceOf"))
        # A balance that nobody tells is in no sum: then nothing of the token is.
        owned = 0 if isinstance(present, Unknown) else present.value
        before = _balance(mine, address)
        priced = TokenAtPrice(facts.tokens[address], facts.price_now(address))
        gains = ((EntryKind.ELSEWHERE, owned - before.amount),)
        yield from _closing(_now(facts), _IN_WALLET, priced, before, gains)


def _closing(
    place: LedgerPlace,
    subject: LedgerSubject,
    priced: TokenAtPrice,
    before: _Balance,
    gains: Sequence[tuple[EntryKind, int]],
) -> Iterator[LedgerEntry]:
    amount, usd = before
    for kind, units in gains:
        if units:
            entry = ledger_entry(place, kind, subject, priced, units)
            amount, usd = amount + units, usd + _or_nothing(entry.usd)
            yield entry
    change = _or_nothing(entry_value(priced.token, amount, priced.price)) - usd
    if change:
        entry = ledger_entry(place, EntryKind.REVALUED, subject, priced, 0)
        yield replace(entry, usd=Known(change, "prices that changed", place.block))


def _balance(entries: Sequence[LedgerEntry], address: Address) -> _Balance:
    mine = [entry for entry in entries if entry.token.address == address]
    usd = sum((_or_nothing(entry.usd) for entry in mine), Fraction(0))
    return _Balance(sum(entry.amount for entry in mine), usd)


def _or_nothing(value: Quantity[Fraction]) -> Fraction:
    """What has no price is in no sum."""
    return value.value if isinstance(value, Known) else Fraction(0)


def _side(amounts: Quantity[tuple[int, int]], side: int) -> int:
    return 0 if isinstance(amounts, Unknown) else amounts.value[side]


def _held(life: PositionLife, side: int) -> tuple[int, int]:
    if life.held is None:
        return 0, 0
    return ((life.held.amount0, life.held.fees0), (life.held.amount1, life.held.fees1))[side]


def _kind(index: int, change: LiquidityChange) -> EntryKind:
    if change.liquidity_delta > 0:
        return EntryKind.INCREASE if index else EntryKind.MINT
    return EntryKind.DECREASE


def _place(change: LiquidityChange) -> LedgerPlace:
    where = change.place
    return LedgerPlace(change.timestamp, where.block_number, where.transaction_hash)


def _now(facts: WalletFacts) -> LedgerPlace:
    block = facts.worth.overview.wallet.block
    return LedgerPlace(block.timestamp, block.number, "")
