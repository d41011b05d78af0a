"""What a plan's bytes are about: the positions, pools, swaps and tokens they name."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct

from chain.contracts.networks import NATIVE, Address
from chain.contracts.pool_key import PoolKey
from chain.execution.decode.parties import actions_of
from chain.execution.decode.records import (
    DecodedBurn,
    DecodedDecrease,
    DecodedIncrease,
    DecodedMint,
    DecodedStep,
    DecodedSwapExactIn,
    Deposit,
    Permit2Approval,
    TokenApproval,
    Unsubscribe,
    Withdraw,
)


class Mentions(Struct, frozen=True):
    positions: tuple[int, ...]
    pools: tuple[PoolKey, ...]
    """Those that are entered or swapped in; a position's own is not named by the bytes."""
    swaps: tuple[DecodedSwapExactIn, ...]
    revoked: tuple[Address, ...]
    """Tokens of which an allowance is taken back."""
    turned: tuple[Address, ...]
    """The coin and its wrapped form, where one is made into the other."""
    leaves: bool
    """Whether a position is burned before anything is entered."""


def mentions_of(steps: Sequence[DecodedStep]) -> Mentions:
    actions = [action for step in steps for action in actions_of(step.call)]
    changed = [
        one.token_id
        for one in actions
        if isinstance(one, DecodedBurn | DecodedDecrease | DecodedIncrease)
    ]
    dismissed = [step.call.token_id for step in steps if isinstance(step.call, Unsubscribe)]
    pools = [
        PoolKey(*one.pool) for one in actions if isinstance(one, DecodedMint | DecodedSwapExactIn)
    ]
    return Mentions(
        positions=tuple(dict.fromkeys((*changed, *dismissed))),
        pools=tuple(dict.fromkeys(pools)),
        swaps=tuple(one for one in actions if isinstance(one, DecodedSwapExactIn)),
        revoked=tuple(dict.fromkeys(_revoked(steps))),
        turned=tuple(
            dict.fromkeys(
                token
                for step in steps
                if isinstance(step.call, Deposit | Withdraw)
                for token in (NATIVE, step.transaction.to)
            )
        ),
        leaves=any(isinstance(one, DecodedBurn) for one in actions),
    )


def _revoked(steps: Sequence[DecodedStep]) -> list[Address]:
    found = []
    for step in steps:
        match step.call:
            case TokenApproval(_, 0):
                found.append(step.transaction.to)
            case Permit2Approval(token, _, 0):
                found.append(token)
            case _:
                pass
    return found
