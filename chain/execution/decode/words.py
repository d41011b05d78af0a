"""A decoded transaction in plain words, every number and address taken from its own bytes."""

from collections.abc import Iterator, Mapping
from typing import NamedTuple

from msgspec import Struct
from msgspec.structs import asdict

from chain.base.units import time_text
from chain.contracts.addresses import checksummed
from chain.contracts.delegation import DELEGATION_MANAGER, ENTRY_POINT, NOBODY, NONCES
from chain.contracts.networks import NATIVE, Address, Network
from chain.contracts.pool_key import DYNAMIC_FEE
from chain.execution.decode import records
from chain.execution.decode.decoder import single_calls
from chain.execution.decode.parties import SENDER, parts_of
from chain.tokens.token import Token, amount_text


class Field(NamedTuple):
    name: str
    value: str


def field_table(step: records.DecodedStep) -> tuple[Field, ...]:
    """No two transactions have the same table."""
    envelope = (
        Field(name, _text(value))
        for name, value in asdict(step.transaction).items()
        if name not in ("data", "authorization")
    )
    given = step.transaction.authorization
    lent = () if given is None else _rows("authorization", given)
    return (*envelope, *lent, *_rows("call", step.call))


def _rows(name: str, value: object) -> Iterator[Field]:
    if isinstance(value, Struct):
        yield Field(name, records.name_of(value))
        for part, inner in asdict(value).items():
            yield from _rows(f"{name}.{part}", inner)
    elif isinstance(value, tuple) and hasattr(value, "_fields"):
        for part, inner in zip(value._fields, value, strict=True):
            yield from _rows(f"{name}.{part}", inner)
    elif isinstance(value, tuple):
        for place, inner in enumerate(value):
            yield from _rows(f"{name}[{place}]", inner)
    else:
        yield Field(name, _text(value))


def _text(value: object) -> str:
    return "0x" + value.hex() if isinstance(value, bytes) else str(value)


_CONTRACT = "0x" + "00" * 19 + "02"
_ALL = 0
"""In place of an amount: whatever is open."""


class Names(Struct, frozen=True):
    """Who is who: an address that is not here is told in full."""

    you: Address
    tokens: Mapping[Address, Token]
    contracts: Mapping[Address, str]

    def place(self, address: Address) -> str:
        if address == SENDER:
            return "the sender (you)"
        if address == _CONTRACT:
            return "the contract itself"
        full = checksummed(address)
        if address == self.you:
            return f"{full} (you)"
        known = self.contracts.get(address)
        return f"{full} ({known})" if known else f"{full} (not you)"

    def token(self, address: Address) -> Token:
        unknown = Token(address, "", None, verified=False, suspicious=False)
        return self.tokens.get(address, unknown)

    def currency(self, address: Address) -> str:
        token = self.token(address)
        return token.symbol if token.verified else f"{token.label} at {checksummed(address)}"

    def amount(self, amount: int, address: Address) -> str:
        return amount_text(amount, self.token(address))


def names_on(network: Network, you: Address, tokens: Mapping[Address, Token]) -> Names:
    contracts = network.contracts
    known = {
        contracts.position_manager: "the PositionManager",
        contracts.permit2: "Permit2",
        contracts.pool_manager: "the PoolManager",
        DELEGATION_MANAGER: "the DelegationManager",
        NONCES: "the orders' nonces",
    }
    if contracts.delegate:
        known[contracts.delegate] = "the batch executor"
    if contracts.universal_router:
        known[contracts.universal_router] = "the UniversalRouter"
    return Names(you, tokens, known)


def describe(step: records.DecodedStep, names: Names) -> tuple[str, ...]:
    """What the transaction does, a sentence for each thing it does."""
    transaction = step.transaction
    if isinstance(step.call, records.Batch):
        return tuple(line for each in single_calls([step]) for line in describe(each, names))
    lines = list(_call(step.call, transaction.to, transaction.value, names))
    if transaction.value and not isinstance(step.call, records.Deposit):
        sent = names.amount(transaction.value, NATIVE)
        lines.insert(0, f"Send {sent} along to {names.place(transaction.to)}.")
    return tuple(lines)


def _call(
    call: records.PlainCall | records.Delegation, to: Address, value: int, names: Names
) -> Iterator[str]:
    match call:
        case records.ModifyLiquidities(actions, deadline):
            for part in parts_of(actions):
                yield from _actions(part, names)
            yield f"Refused by the chain after {time_text(deadline)}."
        case records.Execute(commands, deadline):
            for command in commands:
                yield from _command(command, names)
            yield f"Refused by the chain after {time_text(deadline)}."
        case records.Multicall(calls):
            for each in calls:
                yield from _call(each, to, value, names)
        case records.Delegation(delegate):
            yield from _lending(delegate, names)
        case records.Unsubscribe(token_id):
            yield f"Dismiss the subscriber of position #{token_id}."
        case records.TokenApproval() | records.Permit2Approval():
            yield _approval(call, to, names)
        case records.Deposit():
            yield f"Wrap {names.amount(value, NATIVE)} into {names.currency(to)}."
        case records.Withdraw(amount):
            yield f"Unwrap {names.amount(amount, to)}."
        case records.CancelOrder() | records.CancelAllOrders():
            yield _cancelling(call)


def _cancelling(call: records.CancelOrder | records.CancelAllOrders) -> str:
    if isinstance(call, records.CancelAllOrders):
        return "Cancel every order signed so far, wherever its file is: the chain refuses them."
    key = checksummed(call.delegation.delegate)
    return f"Cancel the order that was signed for {key}: the chain refuses it from then on."


def _lending(delegate: Address, names: Names) -> Iterator[str]:
    if delegate == NOBODY:
        yield "Take the account back: it runs no contract's code any more."
        yield "Plans go as several transactions again. Nothing else changes."
        return
    manager, entry = checksummed(DELEGATION_MANAGER), checksummed(ENTRY_POINT)
    yield f"Let the code of {names.place(delegate)} run as this account, on this chain alone."
    yield "Several calls then go in one transaction, all or nothing. The code keeps nothing itself."
    yield (
        f"DelegationManager {manager} and EntryPoint {entry} may act on the whole account, but "
        "only on what its key has signed for them. zuno signs nothing for the EntryPoint."
    )
    yield "The manager's owner can pause it; your own transactions go on."
    yield "To undo it: zuno wallet undelegate"


def _approval(
    call: records.TokenApproval | records.Permit2Approval, to: Address, names: Names
) -> str:
    token = to if isinstance(call, records.TokenApproval) else call.token
    spender = names.place(call.spender)
    if call.amount == 0:
        return f"Allow {spender} to move no more {names.currency(token)}."
    limit = f"Allow {spender} to move at most {names.amount(call.amount, token)}"
    if isinstance(call, records.TokenApproval):
        return f"{limit}."
    return f"{limit} until {time_text(call.expiration)}."


def _command(command: records.Command, names: Names) -> Iterator[str]:
    match command:
        case records.DecodedV4Swap(actions):
            yield from _actions(actions, names)
        case records.DecodedPermit2Transfer(token, recipient, amount):
            yield f"Move {names.amount(amount, token)} from you to {names.place(recipient)}."
        case records.DecodedPositionManagerCall(call):
            yield from _actions(call.actions, names)
            yield f"Refused by the PositionManager after {time_text(call.deadline)}."


def _actions(actions: tuple[records.Action, ...], names: Names) -> Iterator[str]:
    pair = _pair(actions)
    for action in actions:
        match action:
            case (
                records.DecodedBurn()
                | records.DecodedDecrease()
                | records.DecodedIncrease()
                | records.DecodedMint()
            ):
                yield _change(action, pair, actions, names) + _hook_data(action.hook_data)
            case records.DecodedSwapExactIn():
                yield _swap(action, names) + _hook_data(action.hook_data)
            case _:
                yield _balancing(action, names)


def _change(
    action: records.DecodedBurn
    | records.DecodedDecrease
    | records.DecodedIncrease
    | records.DecodedMint,
    pair: tuple[Address, Address] | None,
    actions: tuple[records.Action, ...],
    names: Names,
) -> str:
    match action:
        case records.DecodedMint(pool, lower, upper, liquidity, most0, most1, owner):
            most = _both(most0, most1, (pool.currency0, pool.currency1), names)
            return (
                f"Open a position in {_pool(pool, names)} from tick {lower} to {upper} "
                f"with liquidity {liquidity}: pay at most {most}; its owner is "
                f"{names.place(owner)}."
            )
        case records.DecodedIncrease(token_id, liquidity, most0, most1):
            most = _both(most0, most1, pair, names)
            return f"Add liquidity {liquidity} to position #{token_id}: pay at most {most}."
        case records.DecodedBurn(token_id, least0, least1):
            doing = f"Burn position #{token_id}"
        case records.DecodedDecrease(token_id, liquidity, least0, least1):
            doing = (
                f"Take liquidity {liquidity} out of position #{token_id}"
                if liquidity
                else f"Collect the fees of position #{token_id}"
            )
    least = _both(least0, least1, pair, names)
    return f"{doing}: receive at least {least} besides fees{_receiver(actions, names)}."


def _receiver(actions: tuple[records.Action, ...], names: Names) -> str:
    taken = [action.recipient for action in actions if isinstance(action, records.DecodedTakePair)]
    return f" at {names.place(taken[0])}" if taken else ""


def _swap(swap: records.DecodedSwapExactIn, names: Names) -> str:
    pair = (swap.pool.currency0, swap.pool.currency1)
    sold, bought = pair if swap.zero_for_one else pair[::-1]
    return (
        f"Sell {names.amount(swap.amount_in, sold)} in {_pool(swap.pool, names)} "
        f"for at least {names.amount(swap.amount_out_minimum, bought)}."
    )


def _balancing(action: records.Action, names: Names) -> str:
    match action:
        case records.DecodedSettle(currency, amount, payer_is_user):
            payer = "you" if payer_is_user else "what the contract holds"
            told = f"what is owed in {names.currency(currency)}"
            return f"Pay {told if amount == _ALL else names.amount(amount, currency)} from {payer}."
        case records.DecodedSettlePair(currency0, currency1):
            pair = f"{names.currency(currency0)} and {names.currency(currency1)}"
            return f"Pay what is owed in {pair} from you."
        case records.DecodedTake(currency, recipient, amount):
            told = f"all {names.currency(currency)} that comes out"
            taken = told if amount == _ALL else names.amount(amount, currency)
            return f"Send {taken} to {names.place(recipient)}."
        case records.DecodedTakePair(currency0, currency1, recipient):
            pair = f"{names.currency(currency0)} and {names.currency(currency1)}"
            return f"Send all {pair} that comes out to {names.place(recipient)}."
        case records.DecodedCloseCurrency(currency):
            return (
                f"Settle {names.currency(currency)} with you: what is over comes, what lacks goes."
            )
        case records.DecodedSweep(currency, recipient):
            left = f"whatever {names.currency(currency)} is left in the contract"
            return f"Send {left} to {names.place(recipient)}."
    raise AssertionError(f"{records.name_of(action)} has words of its own")


def _pair(actions: tuple[records.Action, ...]) -> tuple[Address, Address] | None:
    """The two currencies a call balances; a burn itself does not name them."""
    for action in actions:
        if isinstance(action, records.DecodedTakePair | records.DecodedSettlePair):
            return action.currency0, action.currency1
    closed = [
        action.currency for action in actions if isinstance(action, records.DecodedCloseCurrency)
    ]
    return (closed[0], closed[1]) if len(closed) == 2 else None


def _both(amount0: int, amount1: int, pair: tuple[Address, Address] | None, names: Names) -> str:
    if pair is None:
        return f"{amount0} units of currency0 and {amount1} units of currency1"
    return f"{names.amount(amount0, pair[0])} and {names.amount(amount1, pair[1])}"


def _pool(pool: records.DecodedPoolKey, names: Names) -> str:
    pair = f"{names.currency(pool.currency0)}/{names.currency(pool.currency1)}"
    fee = "dynamic fee" if pool.fee == DYNAMIC_FEE else f"fee {pool.fee / 10_000:g}%"
    hook = "" if pool.hooks == NATIVE else f", hook {checksummed(pool.hooks)}"
    return f"{pair} ({fee}, tick spacing {pool.tick_spacing}{hook})"


def _hook_data(data: bytes) -> str:
    return f" It hands the hook 0x{data.hex()}." if data else ""
