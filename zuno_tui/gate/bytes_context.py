"""What the policy judges bytes by, read from the chain for the bytes alone.

Nothing of it comes from a file: which positions, pools, swaps and tokens are asked about is what
the bytes themselves name.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import Struct

from chain.contracts.hooks import NO_HOOK
from chain.contracts.networks import NATIVE
from chain.contracts.pool_key import PoolKey
from chain.execution.build.facts import PoolFacts, Tolerance, position_facts
from chain.execution.decode.mentions import mentions_of
from chain.execution.decode.records import Execute
from chain.execution.policy.context import PolicyContext, key_of
from chain.execution.policy.shapes import plain_swap
from chain.pools.state import pool_state_slots, pool_states
from chain.positions.batch_reader import read_positions
from chain.read.block_reader import OneBlock
from chain.read.storage_words import read_slots
from zuno_tui.gate.contract_code import called_contracts
from zuno_tui.gate.swap_replay import SwapInput
from zuno_tui.gate.worth import read_worth

if TYPE_CHECKING:
    from collections.abc import Sequence
    from fractions import Fraction

    from chain.contracts.networks import Address, Network
    from chain.execution.build.facts import PositionFacts
    from chain.execution.build.requests import QuotedSwap
    from chain.execution.decode.records import DecodedStep
    from chain.positions.overview import Sources
    from chain.rpc.records import Block
    from zuno_tui.gate.contract_code import CodeHashes
    from zuno_tui.gate.limits import GateLimits

DRIFT_BIPS = int(Tolerance().slippage_bips)
"""As far as a price may move between approving and applying."""


class NamedInBytes(Struct, frozen=True):
    """The wallet's positions and the pools that the bytes name, as they are at one block."""

    positions: dict[int, PositionFacts]
    pools: dict[PoolKey, PoolFacts]
    swaps: tuple[SwapInput, ...]
    tokens: tuple[Address, ...]
    """The pairs in the order of their pools, then the coin and what is turned or revoked."""

    def contracts(self, network: Network) -> tuple[Address, ...]:
        """Everything the bytes call or lead to."""
        hooks = [key.hooks for key in self.pools if key.hooks != NO_HOOK]
        return tuple(dict.fromkeys((*called_contracts(network, self.tokens), *hooks)))


async def read_named(sources: Sources, steps: Sequence[DecodedStep], block: Block) -> NamedInBytes:
    mentions, network = mentions_of(steps), sources.network
    found = {}
    if mentions.positions:
        found = await read_positions(
            sources.client, network, sources.memory, mentions.positions, at=block.hash
        )
    sender = steps[0].transaction.sender
    # Whatever is another's is left out, and so not what the policy lets a plan be about.
    positions = {
        token_id: position_facts(one) for token_id, one in found.items() if one.owner == sender
    }
    pools = {one.pool.key: one.pool for one in positions.values()}
    pools |= await _read_pools(sources, [key for key in mentions.pools if key not in pools], block)
    leaving = next(iter(positions.values()), None) if mentions.leaves else None
    swaps = tuple(
        SwapInput(PoolKey(*swap.pool), swap.zero_for_one, swap.amount_in, leaving)
        for swap in mentions.swaps
    )
    pairs = [token for key in pools for token in (key.currency0, key.currency1)]
    coin = [NATIVE] if network.wrapped_native in pairs else []
    tokens = dict.fromkeys((*pairs, *coin, *mentions.turned, *mentions.revoked))
    return NamedInBytes(positions, pools, swaps, tuple(tokens))


async def _read_pools(
    sources: Sources, keys: Sequence[PoolKey], block: Block
) -> dict[PoolKey, PoolFacts]:
    if not keys:
        return {}
    here = OneBlock(sources.client, sources.network, block.hash)
    words = (await read_slots(here, sources.network, pool_state_slots(keys))).words
    return {
        state.key: PoolFacts(state.key, state.sqrt_price_x96, state.lp_fee)
        for state in pool_states(keys, words)
    }


async def read_context(
    sources: Sources,
    steps: Sequence[DecodedStep],
    named: NamedInBytes,
    block: Block,
    *,
    codes: CodeHashes,
    limits: GateLimits,
    head_time: int,
    notional_today: int,
    quotes: Sequence[QuotedSwap],
) -> PolicyContext:
    """Nonces are judged from the first step's on: whether it is the wallet's next is drift."""
    first = steps[0].transaction
    worth: dict[Address, Fraction] = {}
    usd_per_wei = None
    spends = any(step.transaction.value for step in steps)
    swaps_alone = any(isinstance(step.call, Execute) and plain_swap(step.call) for step in steps)
    if spends or swaps_alone or limits.policy.daily_notional is not None:
        known = await read_worth(sources, named.tokens, block)
        worth, usd_per_wei = known.micro_dollars, known.usd_per_wei
    return PolicyContext(
        network=sources.network,
        allowed_chain_ids=frozenset({sources.network.chain_id}),
        owner=first.sender,
        head_time=head_time,
        nonce=first.nonce,
        limits=limits.at_price(usd_per_wei),
        tokens=frozenset(named.tokens),
        code_hashes=codes.now,
        pinned_code_hashes=codes.pinned,
        pools={key_of(key): facts for key, facts in named.pools.items()},
        positions=named.positions,
        quotes=tuple(quotes),
        allowed_hooks=limits.allowed_hooks,
        worth=worth,
        notional_today=notional_today,
        drift_bips=DRIFT_BIPS,
    )
