"""The last judgment before a signature: bytes out of the journal, everything else read just now."""

from collections.abc import Iterator, Sequence
from fractions import Fraction

from msgspec import Struct
from msgspec.structs import replace

from chain.contracts.addresses import checksum
from chain.contracts.delegation import NOBODY, delegates_on
from chain.contracts.hooks import NO_HOOK
from chain.contracts.networks import NATIVE, Address, Network
from chain.contracts.pool_key import PoolKey
from chain.execution import protocols
from chain.execution.build.gas_bill import GasBill, gas_bill
from chain.execution.build.safe_calls import own_steps
from chain.execution.decode.decoder import decode, single_calls
from chain.execution.decode.parties import Parties, mentions_of, parties_of, swaps_only
from chain.execution.exit_tax import kept_back
from chain.execution.outbox.outbox import Outbox
from chain.execution.outbox.records import Dispatch
from chain.execution.plan.context import PolicyContext, key_of
from chain.execution.plan.facts import PoolFacts, PositionFacts, Tolerance, position_facts
from chain.execution.plan.reading import DecodingError
from chain.execution.plan.records import (
    Batch,
    CancelAllOrders,
    CancelOrder,
    DecodedStep,
    Delegation,
    SafeExecution,
)
from chain.execution.plan.requests import QuotedSwap
from chain.execution.policy.policy import PolicyRefused, check
from chain.execution.transaction import UnsignedTransaction, lender_in
from chain.pools.depth import read_states
from chain.positions.batch_reader import read_positions
from chain.positions.overview import Sources
from chain.protocols.reference import PositionRef
from chain.read.block_reader import OneBlock
from chain.rpc import requests
from chain.rpc.records import Block
from zuno_tui.gate.actions.action import ActionTarget, read_subject, read_wallet
from zuno_tui.gate.acts import refuse_over
from zuno_tui.gate.agreement import Agreement, Connections, refuse_silent_route, require_agreement
from zuno_tui.gate.approvals import Approval, given_for, notional_of_today
from zuno_tui.gate.basis import Basis, BasisQuestion, SwapInput, read_basis, replay_swap
from zuno_tui.gate.contract_code import (
    CodeHashes,
    called_contracts,
    read_code_hashes,
    refuse_other_protocol,
)
from zuno_tui.gate.drift import (
    Drift,
    WalletState,
    code_drifts,
    drifts,
    earliest_time,
    kept_drifts,
    network_time,
    read_circumstances,
)
from zuno_tui.gate.limits import GateLimits, safe_limits
from zuno_tui.gate.pending_elsewhere import nonces_sent, pending_elsewhere
from zuno_tui.gate.prepare import refuse_failing
from zuno_tui.gate.refusal import GateRefusedError, RefusalCode
from zuno_tui.gate.worth import read_worth

# Nothing of it comes from a file: which positions, pools, swaps and tokens are asked about is
# what the bytes themselves name.
DRIFT_BIPS = int(Tolerance().slippage_bips)
"""As far as a price may move between approving and applying."""


class NamedInBytes(Struct, frozen=True):
    """The wallet's positions and the pools that the bytes name, as they are at one block."""

    positions: dict[PositionRef, PositionFacts]
    pools: dict[PoolKey, PoolFacts]
    swaps: tuple[SwapInput, ...]
    tokens: tuple[Address, ...]
    """The pairs in the order of their pools, then the coin and what is turned or revoked."""
    lent: tuple[Address, ...]
    """The code that they need to run as the account, or to be there for orders."""
    protocols: tuple[str, ...]
    """Whose contracts they call."""

    def contracts(self, network: Network) -> tuple[Address, ...]:
        """Everything the bytes call or lead to."""
        hooks = [key.hooks for key in self.pools if key.hooks != NO_HOOK]
        return tuple(
            dict.fromkeys(
                (
                    *called_contracts(network, self.tokens, lent=self.lent, of=self.protocols),
                    *hooks,
                )
            )
        )


async def read_named(sources: Sources, steps: Sequence[DecodedStep], block: Block) -> NamedInBytes:
    network = sources.network
    mentions = mentions_of(steps, network)
    found = {}
    if mentions.positions:
        found = await read_positions(
            sources.client, network, sources.memory, mentions.positions, at=block.hash
        )
    first, *_ = steps
    # Whatever is another's is left out, and so not what the policy lets a plan be about.
    mine = [each for each in found.values() if each.owner == first.transaction.sender]
    positions = {facts.ref: facts for facts in map(position_facts, mine)}
    pools = {position.pool.key: position.pool for position in positions.values()}
    # Of a position's pool more is known than bytes name.
    own = {key_of(key): key for key in pools}
    others = [key for key in mentions.pools if key_of(key) not in own]
    pools |= await _read_pools(sources, others, block)
    leaving = next(iter(positions.values()), None) if mentions.leaves else None
    swaps = tuple(
        SwapInput(own.get(key_of(key), key), swap.zero_for_one, swap.amount_in, leaving)
        for key, swap in mentions.swaps
    )
    pairs = [token for key in pools for token in (key.currency0, key.currency1)]
    coin = [NATIVE] if network.wrapped_native in pairs else []
    tokens = dict.fromkeys((*pairs, *coin, *mentions.turned, *mentions.revoked))
    lent = tuple(_run_by(steps, network))
    return NamedInBytes(positions, pools, swaps, tuple(tokens), lent, mentions.protocols)


def _run_by(steps: Sequence[DecodedStep], network: Network) -> Iterator[Address]:
    for delegate in delegates_on(network):
        for step in steps:
            match step.call:
                case Batch(form=form) if form == delegate.form:
                    yield delegate.address
                case Delegation(whose) if whose in (NOBODY, delegate.address):
                    yield delegate.address
                case CancelOrder() | CancelAllOrders() if delegate.orders:
                    yield delegate.address


async def _read_pools(
    sources: Sources, keys: Sequence[PoolKey], block: Block
) -> dict[PoolKey, PoolFacts]:
    if not keys:
        return {}
    here = OneBlock(sources.client, sources.network, block.hash)
    return {
        state.key: PoolFacts(state.key, state.sqrt_price_x96, state.lp_fee)
        for state in (await read_states(here, sources.network, keys)).states
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
    wallet: WalletState | None,
) -> PolicyContext:
    """Nonces are judged from the first step's on: whether it is the wallet's next is drift."""
    first = steps[0].transaction
    worth: dict[Address, Fraction] = {}
    usd_per_wei = None
    calls = single_calls(steps)
    spends = any(step.transaction.value for step in calls)
    swaps_alone = any(swaps_only(step.call) for step in calls)
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
        delegate=None if wallet is None else wallet.account_code,
        lender=None if wallet is None else wallet.lender,
    )


_LOOKS_AGAIN = (0.0, 0.0, 0.2, 0.4, 0.6, 0.8)
"""Seconds before each further look at a chain that is lower than when a plan was approved."""


class SigningJudgment(Struct, frozen=True):
    """What is about to be signed, and what it rests on, all of it read just now."""

    now: int
    """By the network's clock."""
    steps: tuple[DecodedStep, ...]
    parties: Parties
    basis: Basis
    agreement: Agreement
    gas: GasBill


async def judge_again(
    sources: Sources,
    connections: Connections,
    outbox: Outbox,
    approval: Approval,
    dispatch: Dispatch,
    *,
    limits: GateLimits,
) -> SigningJudgment:
    """Let the journal's bytes be signed, or refuse them and say why."""
    network = sources.network
    if dispatch.chain_id != network.chain_id:
        raise GateRefusedError(
            f"{approval.plan_id} was approved on chain {dispatch.chain_id}, and this is "
            f"{network.title}. Nothing was sent. Name its network: --network NAME",
            RefusalCode.ANOTHER_CHAIN,
        )
    steps = decode_stored(approval.plan_id, [step.transaction for step in dispatch.steps])
    parties = parties_of(steps)
    refuse_strangers(network, parties)
    fresh = sources.without_memory()
    subject = await _subject_since(fresh, approval, dispatch)
    if subject is None:
        raise drift_error(approval, [Drift(str(approval.about), "there", "gone")])
    block = subject.block
    head_time, now = earliest_time(sources, block), network_time(sources, block.timestamp)
    refuse_over(given_for(outbox, dispatch)[1], now)
    named = await read_named(fresh, steps, block)
    question = BasisQuestion(
        approval.about,
        dispatch.sender,
        named.tokens,
        tuple(dict.fromkeys((*named.contracts(network), *approval.codes))),
        tuple(step.transaction for step in steps),
        named.swaps[0] if named.swaps else None,
    )
    witnesses = [witness.client for witness in connections.witnesses]
    basis = await read_basis(
        fresh, question, block, pins=sources.store, subject=subject, trial_by=witnesses
    )
    refuse_other_protocol(network, basis.codes)
    own = nonces_sent([dispatch], dispatch.chain_id, dispatch.sender)
    waiting = await pending_elsewhere(connections.readers(sources.client), dispatch.sender, own)
    codes = {each: code for each, code in basis.codes.now.items() if each in approval.codes}
    # Asked after the rest: a node that is just taking a block may have tried the steps on top of
    # it, and what another zuno has sent meanwhile would look like tokens that a hook keeps.
    newest = await sources.client.ask(requests.transaction_count(dispatch.sender, "latest"))
    circumstances = replace(basis.circumstances, nonce=max(newest, basis.circumstances.nonce))
    if moved := (
        *drifts(approval.before, circumstances, approval.bounds),
        *code_drifts(approval.codes, codes),
        *_rerouted(dispatch.private_host, connections.route.private_host),
        *_joined(waiting),
    ):
        raise drift_error(approval, moved)
    context = await read_context(
        fresh,
        steps,
        named,
        block,
        codes=basis.codes,
        limits=limits,
        head_time=head_time,
        notional_today=notional_of_today(outbox, now),
        quotes=() if basis.swap is None else (basis.swap,),
        wallet=basis.circumstances,
    )
    refuse_by_policy(check(steps, context))
    agreement = await require_agreement(sources, connections, question, basis)
    await refuse_silent_route(connections.route)
    refuse_failing(basis.simulation)
    if more := tuple(
        kept_drifts(approval.kept, kept_back(steps, basis.simulation, subject.positions))
    ):
        raise drift_error(approval, more)
    sources.store.absorb(fresh.store, now=sources.clock())
    gas = await gas_bill(sources.client, network, question.transactions, block.hash)
    return SigningJudgment(now, steps, parties, basis, agreement, gas)


async def _subject_since(
    sources: Sources, approval: Approval, dispatch: Dispatch
) -> ActionTarget | None:
    """What the action is about, at a block no older than the one it was approved on.

    A machine that has not got that block yet is waited for a little.
    """
    subject = await read_subject(sources, approval.about)
    for seconds in _LOOKS_AGAIN:
        if subject is None or subject.block.number >= dispatch.anchor.number:
            break
        await sources.client.sleep(seconds)
        subject = await read_subject(sources, approval.about)
    return subject


async def judge_transactions(
    sources: Sources, plan_id: str, transactions: Sequence[UnsignedTransaction], limits: GateLimits
) -> Parties:
    """The policy alone, for bytes that are signed or sent again after a plan has begun.

    What it moves was counted against the day's limit when the plan began.
    """
    steps = decode_stored(plan_id, transactions)
    parties = parties_of(steps)
    refuse_strangers(sources.network, parties)
    if isinstance(steps[0].call, SafeExecution):
        # What a Safe does is judged as its own; who sends it only pays for it.
        steps, limits = own_steps(steps[0], 0), safe_limits(limits)
        if not steps:
            return parties
    fresh = sources.without_memory()
    subject = await read_wallet(fresh)
    block = subject.block
    head_time = earliest_time(sources, block)
    named = await read_named(fresh, steps, block)
    codes = await read_code_hashes(
        fresh, named.contracts(sources.network), block.hash, pins=sources.store
    )
    refuse_other_protocol(sources.network, codes)
    replayed = [await replay_swap(fresh, swap, block.hash) for swap in named.swaps]
    context = await read_context(
        fresh,
        steps,
        named,
        block,
        codes=codes,
        limits=limits,
        head_time=head_time,
        notional_today=0,
        quotes=[quote for quote in replayed if quote is not None],
        wallet=await read_circumstances(
            fresh, subject, parties.sender, lender_in(step.transaction for step in steps)
        ),
    )
    refuse_by_policy(check(steps, context))
    return parties


def decode_stored(
    plan_id: str, transactions: Sequence[UnsignedTransaction]
) -> tuple[DecodedStep, ...]:
    try:
        return tuple(decode(transaction) for transaction in transactions)
    except DecodingError as error:
        raise GateRefusedError(
            f"The stored transactions of {plan_id} cannot be decoded: {error}. "
            "Nothing was signed. Approve it again: zuno approve PLAN",
            RefusalCode.CHANGED_ON_DISK,
        ) from error


def refuse_strangers(network: Network, parties: Parties) -> None:
    """Refuse, before anything else, to give anything to anybody but the wallet that signs."""
    managers = {protocol.manager(network) for protocol in protocols.ALL}
    between = (address for address in parties.between if address not in managers)
    foreign = (*parties.strangers, *between)
    if foreign:
        raise GateRefusedError(
            f"The bytes give tokens to {', '.join(map(checksum, foreign))}, which is not the "
            f"wallet {checksum(parties.sender)}. Nothing was signed, and nothing like it was "
            "ever approved here. Look for who changed it: zuno outbox",
            RefusalCode.FOREIGN_RECIPIENT,
        )


def refuse_by_policy(verdict: object) -> None:
    if isinstance(verdict, PolicyRefused):
        reasons = "\n".join(f"  {reason}" for reason in verdict.reasons)
        raise GateRefusedError(
            f"The policy does not let this through. Nothing was signed.\n{reasons}",
            RefusalCode.POLICY,
        )


def drift_error(approval: Approval, found: Sequence[Drift]) -> GateRefusedError:
    lines = "\n".join(f"  {drift}" for drift in found)
    return GateRefusedError(
        f"Things changed since {approval.plan_id} was approved. Nothing was sent.\n{lines}\n"
        "Approve it again, or make a new plan: zuno approve, zuno recommend ID",
        RefusalCode.DRIFT,
    )


def _rerouted(then: str | None, now: str | None) -> Iterator[Drift]:
    if then != now:
        usual = "the usual endpoints"
        yield Drift("sent through", then or usual, now or usual)


def _joined(waiting: Sequence[int]) -> Iterator[Drift]:
    if waiting:
        nonces = ", ".join(map(str, waiting))
        yield Drift("transactions waiting elsewhere", "none", f"nonce {nonces}")
