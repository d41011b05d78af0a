"""What a transaction really did to a wallet, read back from its receipt and its block."""

import asyncio
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import TypeVar

from msgspec import Struct

from chain.base.errors import ZunoError
from chain.contracts import abi
from chain.contracts.networks import NATIVE, Address, Network
from chain.execution import protocols
from chain.execution.plan.protocol import ProtocolReader
from chain.protocols.reference import PositionRef
from chain.rpc import requests
from chain.rpc.errors import BlockMissing, RpcError
from chain.rpc.records import Log, Receipt
from chain.rpc.requests import Reader, Request

T = TypeVar("T")

_TRANSFER = abi.topic("Transfer(address,address,uint256)")
_DEPOSIT = abi.topic("Deposit(address,uint256)")
_WITHDRAWAL = abi.topic("Withdrawal(address,uint256)")


_LOOKS_AGAIN = (0.0, 0.0, 0.4, 0.8, 1.2, 1.6)
"""Seconds before each further look for what one of several machines may not have got yet."""

_ASKED_AGAIN = (0.0, 0.2, 0.8, 1.6)
"""Seconds before each question to an endpoint that may fail to answer for a moment."""


class NativeChange(Struct, frozen=True):
    """How the wallet's own coin changed, gas left out; None with a reason where nobody can say."""

    amount: int | None
    reason: str = ""
    never_sent: bool = False
    """Whether the wallet's nonce says that it sent nothing in that block."""


class Realised(Struct, frozen=True):
    """What one transaction, or all of a plan, gave and took."""

    tokens: Mapping[Address, int]
    """By token what came (positive) or left; the chain's own coin stands in `native`."""
    native: NativeChange
    gas_used: int
    gas_cost: int
    """In wei, with what an OP-stack network charged for the data."""
    minted: tuple[PositionRef, ...]
    """Positions that came to the wallet."""
    burned: tuple[PositionRef, ...]


class NotIncludedError(ZunoError):
    """A transaction without a receipt has done nothing to read back."""


async def read_realised(
    reads: Reader, transaction_hash: str, wallet: Address, network: Network, *, nonces: int = 1
) -> tuple[Receipt, Realised]:
    """What an included transaction did to the wallet, of whose nonces it takes so many: none where
    somebody else sent it."""
    receipt = await once_there(reads, requests.receipt(transaction_hash))
    if receipt is None:
        raise NotIncludedError(f"{transaction_hash} is in no block. See it: zuno outbox")
    return receipt, realised_of(
        receipt, wallet, network, await _native(reads, receipt, wallet, nonces)
    )


async def once_there(reads: Reader, request: Request[T | None]) -> T | None:
    """The answer about what is known to have been in a block, waited for a little."""
    found = await reads.ask(request)
    for seconds in _LOOKS_AGAIN:
        if found is not None:
            break
        await asyncio.sleep(seconds)
        found = await reads.ask(request)
    return found


def realised_of(
    receipt: Receipt, wallet: Address, network: Network, native: NativeChange
) -> Realised:
    return Realised(
        tokens=_token_changes(receipt.logs, wallet, network.wrapped_native),
        native=native,
        gas_used=receipt.gas_used,
        gas_cost=gas_cost(receipt),
        minted=minted_positions(receipt, wallet, network),
        burned=tuple(ref for came, ref in _positions(receipt, wallet, network) if not came),
    )


def minted_positions(
    receipt: Receipt, wallet: Address, network: Network
) -> tuple[PositionRef, ...]:
    """The positions a transaction made for the wallet."""
    return tuple(ref for came, ref in _positions(receipt, wallet, network) if came)


def _positions(
    receipt: Receipt, wallet: Address, network: Network
) -> list[tuple[bool, PositionRef]]:
    managers = {protocol.manager(network): protocol for protocol in protocols.ALL}
    found = (
        _position(log, wallet, managers[log.address])
        for log in receipt.logs
        if log.address in managers
    )
    return [transfer for transfer in found if transfer is not None]


async def read_held_changes(
    reads: Reader, receipt: Receipt, wallet: Address, tokens: Iterable[Address]
) -> dict[Address, int]:
    """What the tokens themselves say the wallet held after its block, less what before it.

    Tokens that do not tell, or no longer, are left out.
    """
    block = await once_there(reads, requests.block(receipt.block_hash))
    asked = [token for token in dict.fromkeys(tokens) if token != NATIVE]
    if block is None or not asked:
        return {}
    call = abi.encode_call("balanceOf(address)", wallet)
    told = await reads.settle(
        [
            requests.call(token, call, at)
            for at in (block.parent_hash, block.hash)
            for token in asked
        ]
    )
    before, after = told[: len(asked)], told[len(asked) :]
    return {
        token: int.from_bytes(now, "big") - int.from_bytes(then, "big")
        for token, then, now in zip(asked, before, after, strict=True)
        if isinstance(then, bytes) and isinstance(now, bytes) and len(then) == len(now) == abi.WORD
    }


def contradicts(receipt: Receipt, did: Realised, held: Mapping[Address, int]) -> bool:
    """Whether the receipt cannot be true beside balances and nonce."""
    if did.native.never_sent:
        return True
    if receipt.succeeded:
        return any(did.tokens.get(token) and not change for token, change in held.items())
    spent = did.native.amount is not None and did.native.amount < -did.gas_cost
    return bool(receipt.logs) or spent or any(held.values())


def gas_cost(receipt: Receipt) -> int:
    return receipt.gas_used * receipt.effective_gas_price + (receipt.l1_fee or 0)


def all_together(parts: Sequence[Realised]) -> Realised:
    """What the steps of a plan did in sum; unknown native change in one makes it unknown in all."""
    tokens: Counter[Address] = Counter()
    for part in parts:
        # Counter.update adds, and keeps what is negative.
        tokens.update(part.tokens)
    unknown = next((part.native for part in parts if part.native.amount is None), None)
    return Realised(
        tokens={token: amount for token, amount in tokens.items() if amount},
        native=unknown or NativeChange(sum(part.native.amount or 0 for part in parts)),
        gas_used=sum(part.gas_used for part in parts),
        gas_cost=sum(part.gas_cost for part in parts),
        minted=tuple(ref for part in parts for ref in part.minted),
        burned=tuple(ref for part in parts for ref in part.burned),
    )


async def _native(reads: Reader, receipt: Receipt, wallet: Address, nonces: int) -> NativeChange:
    """The balance after its block less the balance before it, gas given back.

    A busy endpoint is asked again: one that fails to answer once has not made it unknowable.
    """
    unknown = NativeChange(None)
    for seconds in _ASKED_AGAIN:
        await asyncio.sleep(seconds)
        try:
            return await _native_told(reads, receipt, wallet, nonces)
        except RpcError as error:
            unknown = NativeChange(None, error.sentence)
            if error.lasting and not isinstance(error, BlockMissing):
                break
    return unknown


async def _native_told(
    reads: Reader, receipt: Receipt, wallet: Address, nonces: int
) -> NativeChange:
    block = await once_there(reads, requests.block(receipt.block_hash))
    if block is None:
        return NativeChange(None, "its block is no longer part of the chain")
    before, after, first, last = await reads.together(
        requests.balance(wallet, block.parent_hash),
        requests.balance(wallet, block.hash),
        requests.transaction_count(wallet, block.parent_hash),
        requests.transaction_count(wallet, block.hash),
    )
    if not nonces:
        return NativeChange(after - before)
    if last == first:
        return NativeChange(None, "the wallet sent nothing in that block", never_sent=True)
    if last - first != nonces:
        return NativeChange(None, "the wallet sent more than one transaction in that block")
    return NativeChange(after - before + gas_cost(receipt))


def _token_changes(
    logs: Iterable[Log], wallet: Address, wrapped_native: Address | None
) -> dict[Address, int]:
    transfers: Counter[Address] = Counter()
    wraps: Counter[Address] = Counter()
    wraps_by_transfer = False
    for log in logs:
        if len(log.data) != 32 or not log.topics:
            continue
        amount = int.from_bytes(log.data, "big")
        parties = tuple(map(_address, log.topics[1:]))
        match log.topics[0], parties:
            case (kind, (giver, taker)) if kind == _TRANSFER:
                transfers[log.address] += amount * ((taker == wallet) - (giver == wallet))
                if log.address == wrapped_native and NATIVE in parties:
                    wraps_by_transfer = True
            case (kind, (owner,)) if log.address == wrapped_native and owner == wallet:
                wraps[log.address] += amount * ((kind == _DEPOSIT) - (kind == _WITHDRAWAL))
            case _:
                pass
    # WETH9 makes and burns tokens without a Transfer; later forms of it log both.
    if not wraps_by_transfer:
        transfers.update(wraps)
    return {token: amount for token, amount in transfers.items() if amount}


def _position(
    log: Log, wallet: Address, protocol: ProtocolReader
) -> tuple[bool, PositionRef] | None:
    """Whether a position came to the wallet (or was burned by it), and which."""
    if len(log.topics) != 4 or log.topics[0] != _TRANSFER:
        return None
    giver, taker = _address(log.topics[1]), _address(log.topics[2])
    ref = protocol.position(int(log.topics[3], 16))
    if (giver, taker) == (NATIVE, wallet):
        return True, ref
    return (False, ref) if (giver, taker) == (wallet, NATIVE) else None


def _address(topic: str) -> Address:
    return "0x" + topic[-40:]
