"""What a plan's bytes are about, and who is given what by them: recipients, spenders, contracts."""

from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise

from msgspec import Struct

from chain.contracts.networks import NATIVE, Address
from chain.contracts.pool_key import PoolKey
from chain.execution.decode import records
from chain.execution.decode.decoder import single_calls

SENDER: Address = "0x" + "00" * 19 + "01"
"""Written in an action, whoever sends the transaction."""


class Parties(Struct, frozen=True):
    sender: Address
    recipients: tuple[Address, ...]
    """Who gets tokens or a position in the end."""
    between: tuple[Address, ...]
    """Where tokens are moved to within one transaction, to be used there."""
    spenders: tuple[Address, ...]
    """Who is allowed to move tokens; nobody where allowances are only taken back."""
    called: tuple[Address, ...]
    deadlines: tuple[int, ...]
    """Until when the chain runs the steps that name an end."""
    expirations: tuple[int, ...]
    """Until when what is allowed through Permit2 lasts."""
    lent_to: tuple[Address, ...] = ()
    """Whose code may run as the account; the zero address is nobody's."""
    transactions: int = 1
    batched: int = 0
    """Calls that are one transaction, all or none of them; none where each is one of its own."""

    @property
    def strangers(self) -> tuple[Address, ...]:
        """Recipients that are not the sender."""
        return tuple(recipient for recipient in self.recipients if recipient != self.sender)


def parties_of(steps: Sequence[records.DecodedStep]) -> Parties:
    """Read out of the bytes alone."""
    sender = steps[0].transaction.sender
    lent = [step.call.delegate for step in steps if isinstance(step.call, records.Delegation)]
    batched, transactions = any(isinstance(step.call, records.Batch) for step in steps), len(steps)
    steps = single_calls(steps)
    calls = [step.call for step in steps]
    approvals = [
        call for call in calls if isinstance(call, records.TokenApproval | records.Permit2Approval)
    ]
    given = [approval for approval in approvals if approval.amount]
    actions = [action for call in calls for action in actions_of(call)]
    moved = [
        command
        for command in _commands(calls)
        if isinstance(command, records.DecodedPermit2Transfer)
    ]
    taken = [action.recipient for action in actions if isinstance(action, records.DecodedTake)]
    return Parties(
        sender=sender,
        recipients=_distinct(
            (
                *(_own(recipient, sender) for recipient in _recipients(actions)),
                *((sender,) if sender in taken else ()),
            )
        ),
        between=_distinct(
            (
                *(recipient for recipient in taken if recipient != sender),
                *(transfer.recipient for transfer in moved),
            )
        ),
        spenders=_distinct(grant.spender for grant in given),
        called=_distinct(step.transaction.to for step in steps),
        lent_to=tuple(lent),
        transactions=transactions,
        batched=len(steps) if batched else 0,
        deadlines=tuple(sorted({end for call in calls for end in _deadlines(call)})),
        expirations=tuple(
            sorted(
                {grant.expiration for grant in given if isinstance(grant, records.Permit2Approval)}
            )
        ),
    )


def actions_of(call: records.Call) -> tuple[records.Action, ...]:
    """Every action in a call, whichever command carries it."""
    match call:
        case records.ModifyLiquidities(actions):
            return actions
        case records.Multicall(calls):
            return tuple(action for call in calls for action in actions_of(call))
        case records.Execute(commands):
            return tuple(
                action
                for command in commands
                for action in (
                    command.actions
                    if isinstance(command, records.DecodedV4Swap)
                    else command.call.actions
                    if isinstance(command, records.DecodedPositionManagerCall)
                    else ()
                )
            )
        case _:
            return ()


def parts_of(actions: tuple[records.Action, ...]) -> tuple[tuple[records.Action, ...], ...]:
    """The actions on each position by themselves, where a call changes several in turn."""
    changes = records.DecodedBurn | records.DecodedDecrease | records.DecodedIncrease
    begins = [at for at, action in enumerate(actions) if at and isinstance(action, changes)]
    return tuple(actions[first:end] for first, end in pairwise((0, *begins, len(actions))))


def _recipients(actions: Iterable[records.Action]) -> Iterator[Address]:
    for action in actions:
        match action:
            case records.DecodedTakePair() | records.DecodedSweep():
                yield action.recipient
            case records.DecodedMint():
                yield action.owner
            case _:
                pass


def _commands(calls: Iterable[records.Call]) -> Iterator[object]:
    for call in calls:
        if isinstance(call, records.Execute):
            yield from call.commands


def _deadlines(call: records.Call) -> Iterator[int]:
    match call:
        case records.ModifyLiquidities(_, deadline):
            yield deadline
        case records.Execute(commands, deadline):
            yield deadline
            for command in commands:
                if isinstance(command, records.DecodedPositionManagerCall):
                    yield command.call.deadline
        case records.Multicall(calls):
            for part in calls:
                yield from _deadlines(part)
        case _:
            return


def _own(address: Address, sender: Address) -> Address:
    return sender if address == SENDER else address


def _distinct(addresses: Iterable[Address]) -> tuple[Address, ...]:
    return tuple(dict.fromkeys(addresses))


class Mentions(Struct, frozen=True):
    positions: tuple[int, ...]
    pools: tuple[PoolKey, ...]
    """Those that are entered or swapped in; a position's own is not named by the bytes."""
    swaps: tuple[records.DecodedSwapExactIn, ...]
    revoked: tuple[Address, ...]
    """Tokens of which an allowance is taken back."""
    turned: tuple[Address, ...]
    """The coin and its wrapped form, where one is made into the other."""
    leaves: bool
    """Whether a position is burned before anything is entered."""


def mentions_of(steps: Sequence[records.DecodedStep]) -> Mentions:
    steps = single_calls(steps)
    actions = [action for step in steps for action in actions_of(step.call)]
    changed = [
        action.token_id
        for action in actions
        if isinstance(
            action, records.DecodedBurn | records.DecodedDecrease | records.DecodedIncrease
        )
    ]
    dismissed = [step.call.token_id for step in steps if isinstance(step.call, records.Unsubscribe)]
    pools = [
        PoolKey(*action.pool)
        for action in actions
        if isinstance(action, records.DecodedMint | records.DecodedSwapExactIn)
    ]
    return Mentions(
        positions=tuple(dict.fromkeys((*changed, *dismissed))),
        pools=tuple(dict.fromkeys(pools)),
        swaps=tuple(action for action in actions if isinstance(action, records.DecodedSwapExactIn)),
        revoked=tuple(dict.fromkeys(_revoked(steps))),
        turned=tuple(
            dict.fromkeys(
                token
                for step in steps
                if isinstance(step.call, records.Deposit | records.Withdraw)
                for token in (NATIVE, step.transaction.to)
            )
        ),
        leaves=any(isinstance(action, records.DecodedBurn) for action in actions),
    )


def _revoked(steps: Sequence[records.DecodedStep]) -> list[Address]:
    found = []
    for step in steps:
        match step.call:
            case records.TokenApproval(_, 0):
                found.append(step.transaction.to)
            case records.Permit2Approval(token, _, 0):
                found.append(token)
            case _:
                pass
    return found
