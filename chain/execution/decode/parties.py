"""What a plan's bytes are about, and who is given what by them: recipients, spenders, contracts."""

from collections.abc import Iterable, Sequence

from msgspec import Struct

from chain.contracts.delegation import BatchForm
from chain.contracts.networks import NATIVE, Address, Network
from chain.contracts.pool_key import PoolKey
from chain.execution import protocols
from chain.execution.decode.decoder import single_calls
from chain.execution.plan import records
from chain.execution.plan.effects import Provision, Sale, Withdrawal
from chain.execution.plan.protocol import Places
from chain.execution.transaction import lender_in
from chain.protocols.reference import PositionRef


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
    lender: Address = ""
    """Whose account it is, where it is not the sender's."""
    transactions: int = 1
    batched: int = 0
    """Calls that are one transaction, all or none of them; none where each is one of its own."""
    batch_form: BatchForm | None = None
    """Which delegate's call makes them one, where the account's own code does."""

    @property
    def strangers(self) -> tuple[Address, ...]:
        """Recipients that are not the sender."""
        return tuple(recipient for recipient in self.recipients if recipient != self.sender)


def parties_of(steps: Sequence[records.DecodedStep]) -> Parties:
    """Read out of the bytes alone."""
    sender = steps[0].transaction.account
    lent = [step.call.delegate for step in steps if isinstance(step.call, records.Delegation)]
    as_one = records.Batch | records.SafeExecution
    forms = [step.call.form for step in steps if isinstance(step.call, records.Batch)]
    batched, transactions = any(isinstance(step.call, as_one) for step in steps), len(steps)
    steps = single_calls(steps)
    calls = [step.call for step in steps if isinstance(step.call, records.PlainCall)]
    approvals = [
        call for call in calls if isinstance(call, records.TokenApproval | records.Permit2Approval)
    ]
    given = [approval for approval in approvals if approval.amount]
    places = [_places(call, sender) for call in calls]
    return Parties(
        sender=sender,
        recipients=_distinct(each for place in places for each in place.recipients),
        between=_distinct(each for place in places for each in place.between),
        spenders=_distinct(grant.spender for grant in given),
        called=_distinct(step.transaction.to for step in steps),
        lent_to=tuple(lent),
        lender=lender_in(step.transaction for step in steps),
        batch_form=next(iter(forms), None),
        transactions=transactions,
        batched=len(steps) if batched else 0,
        deadlines=tuple(sorted({end for call in calls for end in deadlines_of(call)})),
        expirations=tuple(
            sorted(
                {grant.expiration for grant in given if isinstance(grant, records.Permit2Approval)}
            )
        ),
    )


def deadlines_of(call: records.PlainCall) -> tuple[int, ...]:
    """The last block times at which the chain runs it, where its bytes name any."""
    protocol = protocols.of_call(call)
    return () if protocol is None else tuple(protocol.deadlines(call))


def swaps_only(call: records.Call) -> bool:
    """Whether it swaps and enters nothing."""
    effects = protocols.effects_of(call)
    return bool(effects) and all(isinstance(each, Sale) for each in effects)


def _places(call: records.PlainCall, sender: Address) -> Places:
    protocol = protocols.of_call(call)
    return Places() if protocol is None else protocol.places(call, sender)


def _distinct(addresses: Iterable[Address]) -> tuple[Address, ...]:
    return tuple(dict.fromkeys(addresses))


class Mentions(Struct, frozen=True):
    positions: tuple[PositionRef, ...]
    pools: tuple[PoolKey, ...]
    """Those that are entered or swapped in; a position's own is not named by the bytes."""
    swaps: tuple[tuple[PoolKey, Sale], ...]
    dismissed: tuple[PositionRef, ...]
    """Those whose subscriber is dismissed."""
    protocols: tuple[str, ...]
    """Whose contracts it calls."""
    revoked: tuple[Address, ...]
    """Tokens of which an allowance is taken back."""
    turned: tuple[Address, ...]
    """The coin and its wrapped form, where one is made into the other."""
    leaves: bool
    """Whether a position is ended before anything is entered."""


def mentions_of(steps: Sequence[records.DecodedStep], network: Network) -> Mentions:
    steps = single_calls(steps)
    found = [
        (protocol, step.call)
        for step in steps
        if isinstance(step.call, records.PlainCall)
        and (protocol := protocols.of_call(step.call)) is not None
    ]
    effects = [(protocol, each) for protocol, call in found for each in protocol.effects(call)]
    changed = [
        each.ref
        for _, each in effects
        if isinstance(each, Withdrawal | Provision) and each.ref is not None
    ]
    dismissed = [ref for protocol, call in found for ref in protocol.dismissed_positions(call)]
    pools = [
        (protocol.pool_key(each.pool, network), each)
        for protocol, each in effects
        if isinstance(each, Provision | Sale) and each.pool is not None
    ]
    return Mentions(
        positions=tuple(dict.fromkeys((*changed, *dismissed))),
        pools=tuple(dict.fromkeys(key for key, _ in pools)),
        swaps=tuple((key, each) for key, each in pools if isinstance(each, Sale)),
        dismissed=tuple(dismissed),
        protocols=tuple(dict.fromkeys(protocol.name for protocol, _ in found)),
        revoked=tuple(dict.fromkeys(_revoked(steps))),
        turned=tuple(
            dict.fromkeys(
                token
                for step in steps
                if isinstance(step.call, records.Deposit | records.Withdraw)
                for token in (NATIVE, step.transaction.to)
            )
        ),
        leaves=any(isinstance(each, Withdrawal) and each.ends for _, each in effects),
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
