"""From an action to transactions: built, tried, read back and let through by the policy."""

import asyncio
from collections.abc import Sequence
from fractions import Fraction
from typing import NamedTuple

from msgspec import Struct
from msgspec.structs import replace

from chain.base.store import Store
from chain.base.units import APPROVAL_SECONDS, COIN, Unknown
from chain.contracts.delegation import BatchForm, delegate_named, delegates_on
from chain.contracts.hooks import NO_HOOK, hook_passport
from chain.contracts.networks import NATIVE, Address, Network
from chain.execution import protocols
from chain.execution.build.builder import Built, build, with_gas
from chain.execution.build.gas_bill import GasBill, coin_needed, with_whole_gas, with_worth
from chain.execution.chain_facts import read_chain_facts
from chain.execution.decode.decoder import decode
from chain.execution.decode.titles import name_title
from chain.execution.plan.context import PolicyContext, key_of
from chain.execution.plan.facts import ChainFacts, FeeCaps, InsufficientBalanceError
from chain.execution.plan.records import DecodedStep
from chain.execution.plan.requests import CancelOrdersRequest, DelegateRequest, swap_in
from chain.execution.policy.policy import PolicyRefused, check
from chain.execution.simulate import Simulation, simulate_whole
from chain.math.drift import Band, price_band
from chain.positions.overview import Sources, tokens_at
from chain.read.gas import read_gas_price
from chain.rpc.client import RpcClient
from chain.rpc.errors import RpcError
from chain.rpc.records import Block
from chain.tokens.token import amount_text
from zuno_tui.gate.actions.action import Action
from zuno_tui.gate.agreement import Connections, Witness
from zuno_tui.gate.contract_code import (
    CodeHashes,
    called_contracts,
    read_code_hashes,
    refuse_other_protocol,
)
from zuno_tui.gate.drift import (
    DriftLimits,
    PriceLimits,
    WalletState,
    earliest_time,
    network_time,
    read_circumstances,
)
from zuno_tui.gate.limits import GateLimits, Transactions
from zuno_tui.gate.refusal import GateRefusedError, RefusalCode

_TWO = 2
_OF_A_BLOCK = 2
"""A batch may take this part of a block's gas."""
_OTHER_CODE = "Sent in steps: the account runs code that zuno does not know, and leaves alone."
_HEADROOM = 2
"""A base fee may rise by an eighth a block: twice lasts for five full blocks."""


async def agreed_fees(witnesses: Sequence[Witness], block: Block, found: FeeCaps) -> FeeCaps:
    """The higher tip of two endpoints, the middle one of more; as found where only one is set.

    Of two, one may be made up: beyond the block's own base fee the lower one counts.
    """
    told = await asyncio.gather(*(_tip(witness.client, block) for witness in witnesses))
    tips = sorted(tip for tip in told if tip is not None)
    if not tips:
        return found
    tip, base = tips[(len(tips) - 1) // 2], block.base_fee_per_gas
    if base is None:
        return FeeCaps(tip, tip)
    if len(tips) == _TWO:
        tip = max(tip, min(max(tips), base))
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
    in_steps: str = ""
    """Why it is sent in steps although the account carries out batches, where it is."""


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
    by_safe = limits.transactions == "safe"
    facts = replace(read, fees=fees, head_time=head_time)
    if by_safe:
        # Whoever executes it pays, long after this.
        facts = replace(facts, fees=FeeCaps(0, 0), lasts=limits.policy.deadline_seconds)
    asked = action.request.lender if isinstance(action.request, DelegateRequest) else None
    lent = "" if asked is None else asked.address
    circumstances = await read_circumstances(sources, action.subject, wallet, lent)
    codes = await _code_hashes(sources, action, circumstances.account_code, pins)
    form = plan_form(
        sources.network, circumstances.account_code, action, codes, limits.transactions
    )
    unlimited = await _built(sources, action, facts, as_one=form.as_one, by_safe=by_safe)
    readers = connections.readers(sources.client)
    limited, simulation = await _tried(readers, unlimited, block.hash, action.tokens)
    in_steps, most_gas = form.why, max(each.gas for each in limited.transactions)
    if form.as_one is not None and most_gas > block.gas_limit // _OF_A_BLOCK:
        in_steps = "As one batch it would take too much of a block's gas."
        limited, simulation = await _tried(
            readers, await _built(sources, action, facts), block.hash, action.tokens
        )
    built, gas = await _payable(sources, action, facts, limited, simulation)
    steps = tuple(decode(transaction) for transaction in built.transactions)
    context = replace(
        _policy_context(sources, action, facts, codes, limits, notional_today=notional_today),
        delegate=circumstances.account_code,
        lender=circumstances.lender,
    )
    verdict = check(steps, context)
    if isinstance(verdict, PolicyRefused):
        reasons = "\n".join(f"  {reason}" for reason in verdict.reasons)
        raise GateRefusedError(
            f"The policy does not let this through:\n{reasons}", RefusalCode.POLICY
        )
    now = network_time(sources, block.timestamp)
    slippage = built.tolerance.slippage_bips
    band = Band(0, 0) if pool is None else price_band(pool.sqrt_price_x96, slippage)
    others = [price_band(other.pool.sqrt_price_x96, slippage) for other in action.subject.others]
    return Prepared(
        action,
        facts,
        built,
        steps,
        simulation,
        verdict.notional,
        now,
        circumstances,
        DriftLimits(
            band.lowest,
            band.highest,
            facts.fees.max_fee_per_gas,
            now + int(APPROVAL_SECONDS),
            tuple(PriceLimits(other.lowest, other.highest) for other in others),
        ),
        codes,
        limits.policy.daily_notional,
        gas,
        in_steps,
    )


class PlanForm(NamedTuple):
    as_one: BatchForm | None
    """The call that makes it one, where it is sent as one."""
    why: str = ""
    """Why not, where somebody might expect it."""


def plan_form(
    network: Network,
    account_code: str | None,
    action: Action,
    codes: CodeHashes,
    wanted: Transactions,
) -> PlanForm:
    """Whether an account with this code sends the action as one transaction."""
    runs = delegate_named(network, account_code)
    if runs is not None and codes.now.get(runs.address) != codes.pinned.get(runs.address):
        runs = None
    if wanted == "one" and runs is None:
        raise GateRefusedError(
            "This account has no batch-transaction code, so the plan would be "
            "sent in steps. Delegate it first: zuno wallet delegate, or leave out --one"
        )
    if wanted == "safe":
        return PlanForm(None)
    if runs is None:
        return PlanForm(None, "" if account_code is None else _OTHER_CODE)
    keys = [pool.key for pool in action.subject.pools]
    taxing = any(hook_passport(key.hooks, key.fee).can_tax_exit for key in keys)
    if wanted == "steps":
        return PlanForm(None)
    if taxing:
        return PlanForm(None, "Sent in steps: the pool's hook may keep part of a withdrawal.")
    return PlanForm(runs.form)


async def _built(
    sources: Sources,
    action: Action,
    facts: ChainFacts,
    *,
    as_one: BatchForm | None = None,
    by_safe: bool = False,
) -> Built:
    try:
        return build(action.request, facts, as_one=as_one, by_safe=by_safe, cancels=action.cancels)
    except InsufficientBalanceError as error:
        known = await tokens_at(sources, [error.token], action.subject.block.hash)
        token = known[error.token]
        held, needed = amount_text(error.held, token), amount_text(error.needed, token)
        raise GateRefusedError(
            f"The wallet holds {held}, and this may take {needed}. Name a smaller amount."
        ) from error


async def _tried(
    readers: Sequence[RpcClient], built: Built, at: str, tokens: Sequence[Address]
) -> tuple[Built, Simulation]:
    """Tried with room to spare, then once more with the gas that will be signed for."""
    first = await simulate_whole(readers, built.transactions, at, tokens)
    refuse_failing(first)
    if not first.whole:
        return built, first
    limited = with_gas(built, [step.gas_used for step in first.steps])
    second = await simulate_whole(readers, limited.transactions, at, tokens)
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
            f"{_coins(needed - held, network)} too little, so nothing was started. "
            "Add that much, or wait for cheaper gas.",
            RefusalCode.GAS_SHORT,
        )
    return whole, with_worth(bill, simulation, action.usd_per_unit, action.usd_per_wei)


def _coins(wei: int, network: Network) -> str:
    return f"{wei / COIN:.6g} {network.native_symbol}"


def refuse_failing(simulation: Simulation) -> None:
    for step in simulation.steps:
        if not step.success:
            raise GateRefusedError(
                f"Simulated on the newest block, {name_title(step.step)} fails: {step.failure}. "
                "Nothing was signed.",
                RefusalCode.TRIAL_FAILS,
            )


async def _code_hashes(
    sources: Sources, action: Action, account_code: str | None, pins: Store
) -> CodeHashes:
    hooks = [pool.key.hooks for pool in action.pools if pool.key.hooks != NO_HOOK]
    delegates = delegates_on(sources.network)
    if action.cancels or isinstance(action.request, DelegateRequest | CancelOrdersRequest):
        lent = [each.address for each in delegates]
    else:
        lent = [each.address for each in delegates if each.address == account_code]
    used = [protocols.of_pool(pool.key).name for pool in action.pools]
    called = called_contracts(sources.network, (*action.tokens, *hooks), lent=lent, of=used)
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
    swap = swap_in(request)
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
        pools={key_of(each.key): each for each in action.pools},
        positions=action.subject.positions,
        quotes=() if swap is None else (swap,),
        allowed_hooks=limits.allowed_hooks,
        worth=action.worth,
        notional_today=notional_today,
    )
