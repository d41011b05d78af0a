"""What a Safe does, as if it sent each call itself: so it is built, tried and judged."""

from collections import Counter
from collections.abc import Iterator, Sequence

from msgspec.structs import replace

from chain.contracts.delegation import BatchCall
from chain.contracts.networks import Address
from chain.contracts.safe import SafeTransaction
from chain.execution import protocols
from chain.execution.build.builder import GAS_CEILINGS
from chain.execution.decode.decoder import decode, single_calls
from chain.execution.plan.effects import Provision, Withdrawal
from chain.execution.plan.records import (
    Call,
    DecodedStep,
    Permit2Approval,
    TokenApproval,
)
from chain.execution.transaction import UnsignedTransaction


def execution_of(transaction: SafeTransaction, signatures: bytes = b"") -> DecodedStep:
    """The transaction as a Safe is told to carry it out, read back from its own bytes."""
    return decode(sent_by(transaction.safe, transaction, signatures))


def sent_by(
    executor: Address, transaction: SafeTransaction, signatures: bytes
) -> UnsignedTransaction:
    """With everything open that depends on when it is sent."""
    return UnsignedTransaction(
        chain_id=transaction.chain_id,
        sender=executor,
        to=transaction.safe,
        value=0,
        data=transaction.executed_with(signatures),
        gas=0,
        max_fee_per_gas=0,
        max_priority_fee_per_gas=0,
        nonce=0,
        step="safe",
    )


def own_steps(execution: DecodedStep, account_nonce: int) -> tuple[DecodedStep, ...]:
    """Each of its calls as a step of the Safe's own: it pays for no gas."""
    return tuple(
        DecodedStep(
            replace(
                single.transaction,
                nonce=account_nonce + place,
                gas=GAS_CEILINGS.get(single.transaction.step, 0) * _positions(single.call),
                max_fee_per_gas=0,
                max_priority_fee_per_gas=0,
            ),
            single.call,
        )
        for place, single in enumerate(single_calls([execution]))
    )


def _positions(call: Call) -> int:
    """That it changes: so many times the gas of one."""
    changed = {
        effect.ref
        for effect in protocols.effects_of(call)
        if isinstance(effect, Withdrawal | Provision) and effect.ref is not None
    }
    return max(1, len(changed))


def calls_of(steps: Sequence[UnsignedTransaction]) -> tuple[BatchCall, ...]:
    return tuple(BatchCall(step.to, step.value, step.data) for step in steps)


def lasting_permissions(steps: Sequence[DecodedStep]) -> Iterator[str]:
    """Leave to move tokens that a Safe would still have given once its calls are done."""
    left: Counter[tuple[Address, Address]] = Counter()
    for step in steps:
        match step.call:
            case TokenApproval(spender, amount):
                left[step.transaction.to, spender] = amount
            case Permit2Approval(token, spender, amount):
                left[token, f"{spender} through Permit2"] = amount
            case _:
                pass
    for (token, spender), amount in left.items():
        if amount:
            yield f"It leaves {spender} allowed to move {amount} units of {token}."
