"""Calls of v4 in plain words, every number and address taken from their own bytes."""

from collections.abc import Iterator

from chain.base.units import time_text
from chain.contracts.addresses import checksum
from chain.contracts.networks import NATIVE, Address
from chain.contracts.pool_key import DYNAMIC_FEE, DecodedPoolKey
from chain.execution.plan.names import Names
from chain.execution.plan.records import (
    DecodedPermit2Transfer,
    Execute,
    PlainCall,
    RouterCommand,
    name_of,
)
from chain.execution.v4.records import (
    SENDER,
    Action,
    DecodedBurn,
    DecodedCloseCurrency,
    DecodedDecrease,
    DecodedIncrease,
    DecodedIncreaseFromDeltas,
    DecodedMint,
    DecodedPositionManagerCall,
    DecodedSettle,
    DecodedSettlePair,
    DecodedSwapExactIn,
    DecodedSweep,
    DecodedTake,
    DecodedTakePair,
    DecodedV4Swap,
    ModifyLiquidities,
    Unsubscribe,
    parts_of,
)
from chain.math.liquidity import Amounts

_CONTRACT = "0x" + "00" * 19 + "02"
_ALL = 0
"""In place of an amount: whatever is open."""


def describe(call: PlainCall, names: Names) -> Iterator[str]:
    match call:
        case ModifyLiquidities(actions, deadline):
            for part in parts_of(actions):
                yield from _actions(part, names, _pair(actions))
            yield f"Refused by the chain after {time_text(deadline)}."
        case Execute(commands, deadline):
            for command in commands:
                yield from _command(command, names)
            yield f"Refused by the chain after {time_text(deadline)}."
        case Unsubscribe(token_id):
            yield f"Dismiss the subscriber of position #{token_id}."


def _command(command: RouterCommand, names: Names) -> Iterator[str]:
    match command:
        case DecodedV4Swap(actions):
            yield from _actions(actions, names)
        case DecodedPermit2Transfer(token, recipient, amount):
            yield f"Move {names.amount(amount, token)} from you to {_place(recipient, names)}."
        case DecodedPositionManagerCall(call):
            yield from _actions(call.actions, names)
            yield f"Refused by the PositionManager after {time_text(call.deadline)}."


def _place(address: Address, names: Names) -> str:
    if address == SENDER:
        return "the sender (you)"
    return "the contract itself" if address == _CONTRACT else names.place(address)


def _actions(
    actions: tuple[Action, ...], names: Names, pair: tuple[Address, Address] | None = None
) -> Iterator[str]:
    pair = _pair(actions) or pair
    for action in actions:
        match action:
            case DecodedBurn() | DecodedDecrease() | DecodedIncrease() | DecodedMint():
                yield _change(action, pair, actions, names) + _hook_data(action.hook_data)
            case DecodedIncreaseFromDeltas(token_id):
                added = f"Add what is left of the fees to position #{token_id}."
                yield added + _hook_data(action.hook_data)
            case DecodedSwapExactIn():
                yield _swap(action, names) + _hook_data(action.hook_data)
            case _:
                yield _balancing(action, names)


def _change(
    action: DecodedBurn | DecodedDecrease | DecodedIncrease | DecodedMint,
    pair: tuple[Address, Address] | None,
    actions: tuple[Action, ...],
    names: Names,
) -> str:
    match action:
        case DecodedMint(pool, lower, upper, liquidity, most0, most1, owner):
            most = names.both(Amounts(most0, most1), (pool.currency0, pool.currency1))
            return (
                f"Open a position in {_pool(pool, names)} from tick {lower} to {upper} "
                f"with liquidity {liquidity}: pay at most {most}; its owner is "
                f"{_place(owner, names)}."
            )
        case DecodedIncrease(token_id, liquidity, most0, most1):
            most = names.both(Amounts(most0, most1), pair)
            return f"Add liquidity {liquidity} to position #{token_id}: pay at most {most}."
        case DecodedBurn(token_id, least0, least1):
            doing = f"Burn position #{token_id}"
        case DecodedDecrease(token_id, liquidity, least0, least1):
            doing = (
                f"Take liquidity {liquidity} out of position #{token_id}"
                if liquidity
                else f"Collect the fees of position #{token_id}"
            )
    least = names.both(Amounts(least0, least1), pair)
    taken = [action.recipient for action in actions if isinstance(action, DecodedTakePair)]
    receiver = f" at {_place(taken[0], names)}" if taken else ""
    return f"{doing}: receive at least {least} besides fees{receiver}."


def _swap(swap: DecodedSwapExactIn, names: Names) -> str:
    pair = (swap.pool.currency0, swap.pool.currency1)
    sold, bought = pair if swap.zero_for_one else pair[::-1]
    return (
        f"Sell {names.amount(swap.amount_in, sold)} in {_pool(swap.pool, names)} "
        f"for at least {names.amount(swap.amount_out_minimum, bought)}."
    )


def _balancing(action: Action, names: Names) -> str:
    match action:
        case DecodedSettle(currency, amount, payer_is_user):
            payer = "you" if payer_is_user else "what the contract holds"
            told = f"what is owed in {names.currency(currency)}"
            return f"Pay {told if amount == _ALL else names.amount(amount, currency)} from {payer}."
        case DecodedSettlePair(currency0, currency1):
            pair = f"{names.currency(currency0)} and {names.currency(currency1)}"
            return f"Pay what is owed in {pair} from you."
        case DecodedTake(currency, recipient, amount):
            told = f"all {names.currency(currency)} that comes out"
            taken = told if amount == _ALL else names.amount(amount, currency)
            return f"Send {taken} to {_place(recipient, names)}."
        case DecodedTakePair(currency0, currency1, recipient):
            pair = f"{names.currency(currency0)} and {names.currency(currency1)}"
            return f"Send all {pair} that comes out to {_place(recipient, names)}."
        case DecodedCloseCurrency(currency):
            return (
                f"Settle {names.currency(currency)} with you: what is over comes, what lacks goes."
            )
        case DecodedSweep(currency, recipient):
            left = f"whatever {names.currency(currency)} is left in the contract"
            return f"Send {left} to {_place(recipient, names)}."
    raise AssertionError(f"{name_of(action)} has words of its own")


def _pair(actions: tuple[Action, ...]) -> tuple[Address, Address] | None:
    """The two currencies a call balances; a burn itself does not name them."""
    for action in actions:
        if isinstance(action, DecodedTakePair | DecodedSettlePair):
            return action.currency0, action.currency1
    closed = [action.currency for action in actions if isinstance(action, DecodedCloseCurrency)]
    return (closed[0], closed[1]) if len(closed) == 2 else None


def _pool(pool: DecodedPoolKey, names: Names) -> str:
    pair = f"{names.currency(pool.currency0)}/{names.currency(pool.currency1)}"
    fee = "dynamic fee" if pool.fee == DYNAMIC_FEE else f"fee {pool.fee / 10_000:g}%"
    hook = "" if pool.hooks == NATIVE else f", hook {checksum(pool.hooks)}"
    return f"{pair} ({fee}, tick spacing {pool.tick_spacing}{hook})"


def _hook_data(data: bytes) -> str:
    return f" It hands the hook 0x{data.hex()}." if data else ""
