"""What is to be carried out, whoever decided it: a request built on one fresh reading."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import TYPE_CHECKING

from msgspec import Struct, field

from chain.contracts.addresses import checksummed
from chain.contracts.networks import NATIVE, Address, Network
from chain.contracts.pool_key import PoolKey
from chain.contracts.signed_delegation import SignedDelegation
from chain.execution.build.requests import Request
from chain.positions.batch_reader import read_positions
from chain.positions.overview import Sources
from chain.positions.snapshot import PositionSnapshot
from chain.rpc.records import BlockRef
from chain.tokens import Token
from zuno_tui.gate.actions.target import ActionTarget
from zuno_tui.gate.refusal import GateRefusedError
from zuno_tui.gate.worth import micro_dollars

if TYPE_CHECKING:
    from zuno_tui.gate.actions.swap import SwapQuotes


class Action(Struct, frozen=True):
    plan_id: str
    headline: str
    request: Request
    subject: ActionTarget
    tokens: tuple[Address, ...]
    """The pair's in the order of the pool, then whatever else the wallet may gain or lose."""
    usd_per_unit: Mapping[Address, float] = field(default_factory=dict)
    """Of the tokens whose worth is known."""
    usd_per_wei: float | None = None
    quotes: SwapQuotes | None = None
    """Of the swap in the request, where there is one."""
    scaled_by: Mapping[Address, Token] = field(default_factory=dict)
    """The tokens whose decimals turned an amount that was typed into units."""
    disputes: tuple[str, ...] = ()
    """What is said of prices that its dollars rest on and sources disagree about."""
    cancels: tuple[SignedDelegation, ...] = ()
    """Orders that are ended with it."""
    planned_cost: float | None = None
    """Dollars that the plan it comes from expected it to cost."""
    left_behind: tuple[str, ...] = ()
    """What hangs on its position and stays, in words."""

    @property
    def worth(self) -> dict[Address, Fraction]:
        """Micro-dollars for one unit, by token."""
        return micro_dollars(self.usd_per_unit)


def pair_of(key: PoolKey) -> tuple[Address, Address]:
    return key.currency0, key.currency1


def spendable_tokens(network: Network, key: PoolKey) -> tuple[Address, ...]:
    """The pair, and the coin where what is missing of its wrapped form may be wrapped from it."""
    pair = pair_of(key)
    return (*pair, NATIVE) if network.wrapped_native in pair else pair


async def owned_position(
    sources: Sources, token_id: int, owner: Address, at: BlockRef
) -> PositionSnapshot:
    """The position at a block, refused when it is not there or not the wallet's."""
    (snapshot,) = await owned_positions(sources, [token_id], owner, at)
    return snapshot


async def owned_positions(
    sources: Sources, token_ids: Sequence[int], owner: Address, at: BlockRef
) -> tuple[PositionSnapshot, ...]:
    """All of them at one block, refused when any is not there or not the wallet's."""
    fresh = sources.without_memory()
    found = await read_positions(fresh.client, fresh.network, fresh.memory, token_ids, at=at)
    return tuple(_owned(sources, token_id, found.get(token_id), owner) for token_id in token_ids)


def _owned(
    sources: Sources, token_id: int, snapshot: PositionSnapshot | None, owner: Address
) -> PositionSnapshot:
    if snapshot is None:
        raise GateRefusedError(
            f"There is no position #{token_id} on {sources.network.title}. "
            "See yours: zuno positions"
        )
    if snapshot.owner != owner:
        raise GateRefusedError(
            f"Position #{token_id} belongs to {checksummed(snapshot.owner)}, and the wallet is "
            f"{checksummed(owner)}. Choose its owner: --address, or zuno wallet use NAME"
        )
    return snapshot
