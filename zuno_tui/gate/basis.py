"""What a signature rests on, as one endpoint tells it at one block."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Mapping, Sequence

from msgspec import Struct
from msgspec.structs import asdict

from chain.base.store import Store
from chain.contracts.addresses import shorten_address
from chain.contracts.hooks import touches_swaps
from chain.contracts.networks import NATIVE, Address
from chain.contracts.pool_key import PoolKey
from chain.execution.chain_facts import read_chain_facts
from chain.execution.plan.facts import ChainFacts, PositionFacts
from chain.execution.plan.requests import QuotedSwap
from chain.execution.simulate import Simulation, simulate_whole
from chain.execution.transaction import UnsignedTransaction, lender_in
from chain.pools.depth import quote_at_most, quotes_across, read_depths, read_states
from chain.positions.overview import Sources, tokens_at
from chain.protocols.reference import position_label
from chain.read.block_reader import OneBlock
from chain.rpc.records import Block
from chain.rpc.requests import Reader
from chain.tokens import Token
from zuno_tui.gate.actions.action import ActionTarget, TargetKind, read_subject
from zuno_tui.gate.contract_code import CodeHashes, read_code_hashes
from zuno_tui.gate.drift import WalletState, read_circumstances


class SwapInput(Struct, frozen=True):
    """An exact input, the pool it goes through, and the position that leaves that pool first."""

    pool: PoolKey
    zero_for_one: bool
    amount_in: int
    leaving: PositionFacts | None = None


async def replay_swap(sources: Sources, swap: SwapInput, at: str) -> QuotedSwap | None:
    """What the swap pays at this block; None where the pool has no price or too little depth."""
    from agents.lp.observe.pool_facts import REACH

    here = OneBlock(sources.client, sources.network, at)
    states = (await read_states(here, sources.network, [swap.pool])).states
    if not (state := next(iter(states), None)):
        return None
    depth = (await read_depths(here, sources.network, [state], reach=REACH))[state.pool_id]
    leaving = swap.leaving
    if leaving is not None and leaving.pool.key == swap.pool:
        span = leaving.span
        depth = depth.without(span.tick_lower, span.tick_upper, leaving.liquidity)
    quote = quote_at_most(depth, swap.amount_in, zero_for_one=swap.zero_for_one)
    if quote.amount_in < swap.amount_in:
        return None
    pays = quote.amount_out
    if leaving is None or touches_swaps(swap.pool.hooks):
        quotes = await quotes_across(
            sources.client,
            sources.network,
            [swap.pool],
            swap.amount_in,
            zero_for_one=swap.zero_for_one,
            at=at,
        )
        pays = min(pays, quotes.get(swap.pool, pays))
    return QuotedSwap(swap.pool, swap.zero_for_one, swap.amount_in, pays, quote.sqrt_price_after)


WHOLE_TRIAL = "steps tried"
"""What only those tell of who ran the whole sequence."""
GAS_TOLERANCE = 10
"""Nodes count the gas of a trial a little differently: a tenth is no contradiction."""


class BasisQuestion(Struct, frozen=True):
    """What is asked of every endpoint alike."""

    about: TargetKind
    wallet: Address
    tokens: tuple[Address, ...]
    contracts: tuple[Address, ...]
    """Whose code is called or led to."""
    transactions: tuple[UnsignedTransaction, ...]
    swap: SwapInput | None = None


class Basis(Struct, frozen=True):
    subject: ActionTarget
    circumstances: WalletState
    facts: ChainFacts
    tokens: Mapping[Address, Token]
    codes: CodeHashes
    swap: QuotedSwap | None
    simulation: Simulation


class SubjectGoneError(Exception):
    """What an action is about does not exist at the block."""


async def read_basis(
    sources: Sources,
    question: BasisQuestion,
    block: Block,
    *,
    pins: Store,
    subject: ActionTarget | None = None,
    trial_by: Sequence[Reader] = (),
) -> Basis:
    """All of it at this very block, from one endpoint's word and no memory.

    Where it cannot try the whole sequence, those of `trial_by` may.
    """
    at = block.hash
    found = subject or await read_subject(sources, question.about, at=at)
    if found is None:
        raise SubjectGoneError(f"{question.about} is not there.")
    client, network = sources.client, sources.network
    circumstances, facts, tokens, codes, swap, simulation = await asyncio.gather(
        read_circumstances(sources, found, question.wallet, lender_in(question.transactions)),
        read_chain_facts(client, network, question.wallet, question.tokens, block),
        tokens_at(sources, question.tokens, at, remember=True),
        read_code_hashes(sources, question.contracts, at, pins=pins),
        _replayed(sources, question.swap, at),
        simulate_whole((client, *trial_by), question.transactions, at, question.tokens),
    )
    return Basis(found, circumstances, facts, tokens, codes, swap, simulation)


async def _replayed(sources: Sources, swap: SwapInput | None, at: str) -> QuotedSwap | None:
    return None if swap is None else await replay_swap(sources, swap, at)


def statement(basis: Basis) -> dict[str, object]:
    """Every fact by its name, to be held against another endpoint's."""
    return dict(_facts(basis))


def _facts(basis: Basis) -> Iterator[tuple[str, object]]:
    block = basis.subject.block
    yield "block", block.hash
    yield "time of the block", block.timestamp
    for name, value in asdict(basis.circumstances).items():
        if name != "others":
            yield name.replace("_", " "), value
    for other in basis.circumstances.others:
        for name, value in asdict(other).items():
            yield f"{name.replace('_', ' ')} of {position_label(other.token_id)}", value
    for place, position in enumerate(basis.subject.snapshots):
        identity, which = position.identity, f" of {position_label(position.ref)}" if place else ""
        yield f"range{which}", (identity.tick_lower, identity.tick_upper)
        # Not every endpoint has the logs that part fees from what was withdrawn.
        yield f"fees waiting{which}", tuple(position.collectable)
        yield f"liquidity of the pool{which}", position.pool.liquidity
    for token, amount in basis.facts.balances.items():
        yield f"balance of {_name(token)}", amount
    for token, allowed in basis.facts.allowances.items():
        yield (
            f"allowance of {_name(token)}",
            (
                allowed.to_permit2,
                tuple(
                    (each, allowance.amount, allowance.expiration)
                    for each, allowance in sorted(allowed.through_permit2.items())
                ),
                tuple(sorted(allowed.direct.items())),
            ),
        )
    for address, told in basis.tokens.items():
        yield f"decimals of {_name(address)}", told.decimals
        yield f"symbol of {_name(address)}", told.symbol
    for address, code in basis.codes.now.items():
        yield f"code of {address}", code
    if basis.swap is not None:
        yield "quote", basis.swap.amount_out
    yield from _trial(basis.simulation)


def _trial(simulation: Simulation) -> Iterator[tuple[str, object]]:
    """What the steps would do; an endpoint that can try the first alone tells of that alone."""
    for step in simulation.steps:
        yield f"trial of {step.step}", "succeeds" if step.success else "fails"
        if simulation.whole:
            yield f"changes by {step.step}", tuple(sorted(step.changes.items()))
            yield f"untold by {step.step}", tuple(sorted(step.untold.items()))
            yield f"liquidity made by {step.step}", step.made
            yield f"gas of {step.step}", Gas(step.gas_used)
    if simulation.whole:
        yield WHOLE_TRIAL, len(simulation.steps)


class Gas(Struct, frozen=True):
    """An amount of gas, which equals another that is near it."""

    used: int

    def contradicts(self, other: Gas) -> bool:
        return abs(self.used - other.used) * GAS_TOLERANCE > min(self.used, other.used)

    def __str__(self) -> str:
        return f"{self.used:,}"


def contradicts(one: object, other: object) -> bool:
    if isinstance(one, Gas) and isinstance(other, Gas):
        return one.contradicts(other)
    return one != other


def _name(token: Address) -> str:
    return "ETH" if token == NATIVE else shorten_address(token)
