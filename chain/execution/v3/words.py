"""Calls of v3 in plain words, every number and address taken from their own bytes."""

from collections.abc import Iterator

from chain.base.units import time_text
from chain.contracts.networks import NATIVE, Address
from chain.execution.plan.names import Names
from chain.execution.plan.records import Execute, PlainCall
from chain.execution.v3.records import (
    EVERYTHING,
    BurnToken,
    Collect,
    DecodedV3Swap,
    DecreaseLiquidity,
    IncreaseLiquidity,
    MintPosition,
    RefundCoin,
    SweepToken,
    UnwrapWeth,
)
from chain.execution.v3.shapes import calls_of
from chain.math.liquidity import Amounts
from chain.protocols.reference import v3_in_bytes
from chain.protocols.v3.pool_key import DecodedV3Pool


def describe(call: PlainCall, names: Names) -> Iterator[str]:
    if isinstance(call, Execute):
        for command in call.commands:
            if isinstance(command, DecodedV3Swap):
                yield _swap(command, names)
        yield f"Refused by the chain after {time_text(call.deadline)}."
        return
    for each in calls_of(call):
        yield _sentence(each, names)
    ends = dict.fromkeys(end for each in calls_of(call) if (end := getattr(each, "deadline", None)))
    for end in ends:
        yield f"Refused by the chain after {time_text(end)}."


def _sentence(call: PlainCall, names: Names) -> str:
    match call:
        case MintPosition() | IncreaseLiquidity():
            return _entered(call, names)
        case DecreaseLiquidity(token_id, liquidity, least0, least1):
            least = names.both(Amounts(least0, least1), names.pair(v3_in_bytes(token_id)))
            return f"Take liquidity {liquidity} out of position 3:{token_id}: at least {least}."
        case Collect(token_id, recipient, most0, most1):
            return _collected(token_id, recipient, Amounts(most0, most1), names)
        case BurnToken(token_id):
            return f"End position 3:{token_id}."
        case _:
            return _paid(call, names)


def _entered(call: MintPosition | IncreaseLiquidity, names: Names) -> str:
    given = Amounts(call.amount0_desired, call.amount1_desired)
    least = Amounts(call.amount0_min, call.amount1_min)
    if isinstance(call, IncreaseLiquidity):
        pair = names.pair(v3_in_bytes(call.token_id))
        doing, owner = f"Add to position 3:{call.token_id}", ""
    else:
        pair = (call.token0, call.token1)
        pool = _pool(DecodedV3Pool(*pair, call.fee), names)
        doing = f"Open a position in {pool} from tick {call.tick_lower} to {call.tick_upper}"
        owner = f"; its owner is {names.place(call.recipient)}"
    return (
        f"{doing}: pay at most {names.both(given, pair)}, and not less than "
        f"{names.both(least, pair)}{owner}."
    )


def _paid(call: PlainCall, names: Names) -> str:
    match call:
        case UnwrapWeth(least, recipient):
            paid = names.amount(least, NATIVE)
            return f"Unwrap what was collected: send at least {paid} to {names.place(recipient)}."
        case SweepToken(token, least, recipient):
            paid = names.amount(least, token)
            return f"Send the rest, at least {paid}, to {names.place(recipient)}."
        case RefundCoin():
            return "What was sent along and not taken comes back to you."
    raise AssertionError(f"{type(call).__name__} is no call of the position manager")


def _collected(token_id: int, recipient: Address, most: Amounts, names: Names) -> str:
    what = f"what waits in position 3:{token_id}: fees, and what was taken out before"
    if set(most) != {EVERYTHING}:
        what = f"{what}, at most {names.both(most, names.pair(v3_in_bytes(token_id)))}"
    if recipient == NATIVE:
        return f"Collect {what}; it stays with the manager for the next step."
    return f"Collect {what}, to {names.place(recipient)}."


def _swap(swap: DecodedV3Swap, names: Names) -> str:
    least = names.amount(swap.amount_out_minimum, swap.token_out)
    payer = "" if swap.payer_is_user else ", paid by what the contract holds"
    return (
        f"Sell {names.amount(swap.amount_in, swap.token_in)} in {_pool(swap.pool, names)} for at "
        f"least {least}, sent to {names.place(swap.recipient)}{payer}."
    )


def _pool(pool: DecodedV3Pool, names: Names) -> str:
    pair = f"{names.currency(pool.currency0)}/{names.currency(pool.currency1)}"
    return f"{pair} (v3, fee {pool.fee / 10_000:g}%)"
