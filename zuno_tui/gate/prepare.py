"""From an action to transactions: built, tried, read back and let through by the policy."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from fractions import Fraction
from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import replace

from chain.base.quantity import Unknown
from chain.base.units import COIN
from chain.contracts.hooks import NO_HOOK
from chain.contracts.networks import NATIVE, Address, Network
from chain.execution.build.builder import Built, build, with_gas
from chain.execution.build.facts import ChainFacts, FeeCaps, InsufficientBalanceError
from chain.execution.build.gas_bill import GasBill, coin_needed, with_whole_gas, with_worth
from chain.execution.build.requests import swap_in
from chain.execution.build.sizing import Band, price_band
from chain.execution.chain_facts import read_chain_facts
from chain.execution.decode.decoder import decode
from chain.execution.outbox.rules import APPROVAL_SECONDS
from chain.execution.policy.context import PolicyContext, key_of
from chain.execution.policy.policy import PolicyRefused, check
from chain.execution.simulate import Simulation, simulate
from chain.positions.overview import Sources, tokens_at
from chain.read.gas import read_gas_price
from chain.rpc.errors import RpcError
from chain.tokens.token import amount_text
from zuno_tui.gate.contract_code import (
    CodeHashes,
    called_contracts,
    read_code_hashes,
    refuse_other_protocol,
)
from zuno_tui.gate.drift import (
    DriftLimits,
    WalletState,
    earliest_time,
    network_time,
    read_circumstances,
)
from zuno_tui.gate.refusal import GateRefusedError, RefusalCode

if TYPE_CHECKING:
    from chain.base.store import Store
    from chain.execution.decode.records import DecodedStep
    from chain.rpc.client import RpcClient
    from chain.rpc.records import Block
    from zuno_tui.gate.actions.action import Action
    from zuno_tui.gate.agreement import Connections, Witness
    from zuno_tui.gate.limits import GateLimits

_HEADROOM = 2
"""A base fee may rise by an eighth a block: twice lasts for five full blocks."""


async def agreed_fees(witnesses: Sequence[Witness], block: Block, found: FeeCaps) -> FeeCaps:
    """The lower tip of two endpoints, the middle one of more; as found where only one is set."""
    told = await asyncio.gather(*(_tip(witness.client, block) for witness in witnesses))
    tips = sorted(tip for tip in told if tip is not None)
    if not tips:
        return found
    tip = tips[(len(tips) - 1) // 2]
    base = block.base_fee_per_gas
    if base is None:
        return FeeCaps(tip, tip)
    return FeeCaps(_HEADROOM * base + tip, tip)


async def _tip(client: RpcClient, block: Block) -> int | None:
    try:
        price = await read_gas_price(client, block.number)
    except RpcError:
        return None
    return None if isinstance(price, Unknown) else price.value.priority_fee


class Prepared(Struct, frozen=True):
    action: Action
    facts: ChainFacts
    built: Built
    steps: tuple[DecodedStep, ...]
    simulation: Simulation
    notional: Fraction
    """Micro-dollars it puts into ranges."""
    now: int
    """By the network's clock."""
    circumstances: WalletState
    bounds: DriftLimits
    codes: CodeHashes
    daily_limit: int | None
    """Micro-dollars that all plans of a day may put into ranges."""
    gas: GasBill


async def prepare(
    sources: Sources,
    connections: Connections,
    action: Action,
    wallet: Address,
    *,
    limits: GateLimits,
    notional_today: int,
    pins: Store,
) -> Prepared:
    """Everything a person is shown, read at the block of the action; refused where it must not be.

    What is met for the first time goes into the sources' own store; `pins` is what is known.
    """
    block, pool = action.subject.block, action.subject.pool
    head_time = earliest_time(sources, block)
    read = await read_chain_facts(sources.client, sources.network, wallet, action.tokens, block)
    fees = await agreed_fees(connections.witnesses, block, read.fees)
    facts = replace(read, fees=fees, head_time=head_time)
    unlimited = await _built(sources, action, facts)
    limited, simulation = await _tried(sources, unlimited, block.hash, action.tokens)
    built, gas = await _payable(sources, action, facts, limited, simulation)
    steps = tuple(decode(transaction) for transaction in built.transactions)
    codes = await _code_hashes(sources, action, pins)
    context = _policy_context(sources, action, facts, codes, limits, notional_today=notional_today)
    verdict = check(steps, context)
    if isinstance(verdict, PolicyRefused):
        reasons = "\n".join(f"  {reason}" for reason in verdict.reasons)
        raise GateRefusedError(
            f"The policy does not let this through:\n{reasons}", RefusalCode.POLICY
        )
    now = network_time(sources, block.timestamp)
    slippage = built.tolerance.slippage_bips
    band = Band(0, 0) if pool is None else price_band(pool.sqrt_price_x96, slippage)
    return Prepared(
        action,
        facts,
        built,
        steps,
        simulation,
        verdict.notional,
        now,
        await read_circumstances(sources, action.subject, wallet),
        DriftLimits(
            band.lowest, band.highest, facts.fees.max_fee_per_gas, now + int(APPROVAL_SECONDS)
        ),
        codes,
        limits.policy.daily_notional,
        gas,
    )


async def _built(sources: Sources, action: Action, facts: ChainFacts) -> Built:
    try:
        return build(action.request, facts)
    except InsufficientBalanceError as error:
        known = await tokens_at(sources, [error.token], action.subject.block.hash)
        token = known[error.token]
        held, needed = amount_text(error.held, token), amount_text(error.needed, token)
        raise GateRefusedError(
            f"The wallet holds {held}, and this may take {needed}. Name a smaller amount."
        ) from error


async def _tried(
    sources: Sources, built: Built, at: str, tokens: Sequence[Address]
) -> tuple[Built, Simulation]:
    """Tried with room to spare, then once more with the gas that will be signed for."""
    first = await simulate(sources.client, built.transactions, at, tokens)
    refuse_failing(first)
    if first.method != "eth_simulateV1":
        return built, first
    limited = with_gas(built, [step.gas_used for step in first.steps])
    second = await simulate(sources.client, limited.transactions, at, tokens)
    refuse_failing(second)
    return limited, second


async def _payable(
    sources: Sources, action: Action, facts: ChainFacts, built: Built, simulation: Simulation
) -> tuple[Built, GasBill]:
    """The gas of all steps, refused where the wallet cannot pay for it now."""
    client, network, at = sources.client, sources.network, action.subject.block.hash
    whole, bill = await with_whole_gas(client, network, built, at)
    needed, held = coin_needed(bill, whole), facts.balances[NATIVE]
    if needed > held:
        steps, along = len(whole.transactions), needed - bill.total
        sent = f", and {_coins(along, network)} is sent along" if along else ""
        raise GateRefusedError(
            f"Gas for {'this step' if steps == 1 else f'all {steps} steps'} may cost up to "
            f"{_coins(bill.total, network)}{sent}. The wallet holds {_coins(held, network)}, "
            f"{_coins(needed - held, network)} too little, so nothing was begun. "
            "Send it that much, or wait for cheaper gas.",
            RefusalCode.GAS_SHORT,
        )
    return whole, with_worth(bill, simulation, action.usd_per_unit, action.usd_per_wei)


def _coins(wei: int, network: Network) -> str:
    return f"{wei / COIN:.6g} {network.native_symbol}"


def refuse_failing(simulation: Simulation) -> None:
    for step in simulation.steps:
        if not step.success:
            raise GateRefusedError(
                f"Tried on the chain as it is now, {step.step} fails: {step.failure}. "
                "Nothing was signed.",
                RefusalCode.TRIAL_FAILS,
            )


async def _code_hashes(sources: Sources, action: Action, pins: Store) -> CodeHashes:
    pool = action.subject.pool
    hook = NO_HOOK if pool is None else pool.key.hooks
    called = called_contracts(sources.network, action.tokens, hook)
    codes = await read_code_hashes(sources, called, action.subject.block.hash, pins=pins)
    refuse_other_protocol(sources.network, codes)
    return codes


def _policy_context(
    sources: Sources,
    action: Action,
    facts: ChainFacts,
    codes: CodeHashes,
    limits: GateLimits,
    *,
    notional_today: int,
) -> PolicyContext:
    network, request = sources.network, action.request
    pool = action.subject.pool
    swap = swap_in(request)
    pools = [] if pool is None else [pool]
    pools += [] if action.quotes is None else [action.quotes.pool]
    return PolicyContext(
        network=network,
        allowed_chain_ids=frozenset({network.chain_id}),
        owner=facts.sender,
        head_time=facts.head_time,
        nonce=facts.nonce,
        limits=limits.at_price(action.usd_per_wei),
        tokens=frozenset(action.tokens),
        code_hashes=codes.now,
        pinned_code_hashes=codes.pinned,
        pools={key_of(each.key): each for each in pools},
        positions=action.subject.positions,
        quotes=() if swap is None else (swap,),
        allowed_hooks=limits.allowed_hooks,
        worth=action.worth,
        notional_today=notional_today,
    )
