"""What an applied plan did, read back from the chain, and where its tokens are now."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from msgspec import Struct
from msgspec.structs import replace

from chain.base.units import Known, Units
from chain.contracts.delegation import NOBODY, delegated_code
from chain.contracts.networks import NATIVE, Address
from chain.execution.outbox.lookup import Evidence
from chain.execution.outbox.outbox import Outbox
from chain.execution.outbox.receipts import (
    NotIncludedError,
    Realised,
    all_together,
    contradicts,
    once_there,
    read_held_changes,
    read_realised,
)
from chain.execution.outbox.records import SUCCEEDED, Dispatch, Inclusion, PlanStep, StepState
from chain.execution.outbox.resume import StepFinding, StepSituation, look
from chain.positions.batch_reader import read_positions
from chain.positions.overview import Sources
from chain.protocols.reference import PositionRef, position_label
from chain.read.block_reader import OneBlock
from chain.rpc import requests
from chain.rpc.errors import RpcError
from chain.rpc.records import BlockRef
from chain.rpc.requests import Reader
from chain.tokens import Token, read_tokens
from chain.tokens.reading import balance_call, balance_of
from chain.tokens.token import amount_text
from zuno_tui.gate.agreement import Connections, evidence_of
from zuno_tui.gate.allowances import GivenAllowance, read_given
from zuno_tui.gate.approvals import Approval, read_approval, unread_approval
from zuno_tui.gate.worth import read_worth

_QUIET = frozenset((StepSituation.INCLUDED, StepSituation.FINAL))
_NEEDS_NOTHING = frozenset(
    (
        StepSituation.NEVER_SIGNED,
        StepSituation.REVERTED,
        StepSituation.CANCELLED,
        StepSituation.REPLACED,
        StepSituation.DROPPED,
        StepSituation.OVER,
    )
)
"""Where nothing changes by itself and nothing must be done: said unasked once, not for ever."""
_HEARD = "findings-heard"


class UnsettledStep(NamedTuple):
    """One step that is not settled, or a plan that is over, for people and programs."""

    dispatch: str
    plan_id: str
    step: str
    situation: str
    sentence: str
    choices: tuple[str, ...]
    open: bool
    """Whether a person who asks should hear of it."""
    news: bool
    """Whether a person should hear of it unasked."""
    aftermath: Aftermath | None = None
    """Where the tokens are now, of a plan that is over or stopped on the way."""
    unread: str = ""
    """Why that could not be read."""

    @property
    def where(self) -> tuple[str, ...]:
        if self.aftermath is not None:
            return self.aftermath.sentences
        return (f"Where the tokens are now is unknown: {self.unread}",) if self.unread else ()


async def look_at_outbox(
    sources: Sources, connections: Connections, outbox: Outbox
) -> tuple[UnsettledStep, ...]:
    """The truth about whatever is unfinished, looked up and written down; nothing is sent."""
    findings = await look(
        outbox,
        sources.client,
        chain_id=sources.network.chain_id,
        clock=sources.clock,
        evidence=evidence_of(sources.network, connections),
    )
    last = {finding.dispatch.hash: place for place, finding in enumerate(findings)}
    told = [_unsettled(outbox, finding) for finding in findings]
    for dispatch_hash, place in last.items():
        told[place] = await _outcome_with_aftermath(
            sources, outbox, outbox.dispatch(dispatch_hash), told[place]
        )
    return tuple(told)


def remember_heard(outbox: Outbox, told: tuple[UnsettledStep, ...], *, now: float) -> None:
    """Keep what a person was told, so that what needs nothing is said once."""
    heard = {_key(step): True for step in told if step.news and step.situation in _NEEDS_NOTHING}
    outbox.store.put_many(_HEARD, heard, now=now)


LAPSED = "approval lapsed"


def stands(dispatch: Dispatch, now: float = 0.0) -> str:
    """The name of where a plan stands as a whole, at this time by the network's clock."""
    if dispatch.ended is not None:
        return f"over: {dispatch.ended.code}"
    if dispatch.consumed_at is None:
        lapsed = dispatch.expires_at is not None and now >= dispatch.expires_at
        return f"{LAPSED}, nothing sent" if lapsed else "approved, not applied"
    if dispatch.safe_state is not None:
        return dispatch.safe_state
    stopped = dispatch.stopped_at
    if stopped is not None:
        return f"{stopped.name} {stopped.state}"
    unfinished = {step.state for step in dispatch.steps if step.state is not StepState.FINAL}
    if not unfinished:
        return "final"
    return "under way" if len(unfinished) > 1 else str(*unfinished)


async def _outcome_with_aftermath(
    sources: Sources, outbox: Outbox, dispatch: Dispatch, told: UnsettledStep
) -> UnsettledStep:
    """With where the tokens are, of a plan that did not come to its end."""
    if dispatch.ended is None and dispatch.stopped_at is None:
        return told
    approval = read_approval(outbox, dispatch.hash)
    if approval is None:
        return told._replace(unread=unread_approval(outbox, dispatch.hash))
    try:
        return told._replace(aftermath=await read_aftermath(sources, approval, dispatch))
    except RpcError as error:
        return told._replace(unread=error.sentence)


def _unsettled(outbox: Outbox, finding: StepFinding) -> UnsettledStep:
    is_open = finding.situation not in _QUIET and not _dealt_with(finding)
    told = UnsettledStep(
        finding.dispatch.hash,
        finding.dispatch.plan_id,
        finding.step.name,
        finding.situation,
        finding.sentence,
        tuple(finding.choices),
        is_open,
        is_open,
    )
    heard = finding.situation in _NEEDS_NOTHING and outbox.store.get(_HEARD, _key(told))
    return told._replace(news=is_open and not heard)


def _key(told: UnsettledStep) -> str:
    return f"{told.dispatch}:{told.step}:{told.situation}"


def _dealt_with(finding: StepFinding) -> bool:
    over = finding.situation is StepSituation.OVER
    return (over or finding.step.settled) and finding.dispatch.resolved_at is not None


class StepResult(Struct, frozen=True):
    step: PlanStep
    gas_used: int
    gas_cost: Units


class ApplyResult(Struct, frozen=True):
    approval: Approval
    dispatch: Dispatch
    steps: tuple[StepResult, ...]
    """Those in a block, whether they succeeded or reverted."""
    realised: Mapping[Address, int | None]
    """By token; None where the chain's own coin cannot be told apart, or a token's events lie."""
    minted: tuple[PositionRef, ...]
    allowances: tuple[GivenAllowance, ...]
    """What is still allowed of its tokens afterwards."""
    contradicted: tuple[str, ...] = ()
    """Steps whose status and balances cannot both be true."""
    aftermath: Aftermath | None = None
    """Where the tokens are now, where the plan did not come to its end."""
    usd_per_wei: float | None = None
    """What gas is worth now; None where nobody knows."""

    @property
    def state(self) -> str:
        """The name of where the plan stands as a whole."""
        if self.unclear:
            return StepState.UNCLEAR
        if self.dispatch.ended is not None:
            return f"over: {self.dispatch.ended.code}"
        stopped = self.dispatch.stopped_at
        if stopped is not None:
            return stopped.state
        return self.dispatch.steps[-1].state

    @property
    def unclear(self) -> bool:
        return bool(self.contradicted) or any(
            step.state is StepState.UNCLEAR for step in self.dispatch.steps
        )

    @property
    def without_doubtful_amounts(self) -> ApplyResult:
        """Where endpoints differ, or balances deny it, no amount is ours to tell."""
        return replace(self, realised=dict.fromkeys(self.realised)) if self.unclear else self

    @property
    def safe_state(self) -> str | None:
        """By the journal; None where nobody can tell by it."""
        return None if self.unclear else self.dispatch.safe_state

    @property
    def is_done(self) -> bool:
        return (
            not self.unclear
            and self.dispatch.ended is None
            and self.dispatch.stopped_at is None
            and len(self.steps) == len(self.dispatch.steps)
        )


class _Effect(Struct, frozen=True):
    step: PlanStep
    did: Realised
    held: Mapping[Address, int]
    sound: bool


async def read_result(
    sources: Sources, connections: Connections, approval: Approval, dispatch: Dispatch
) -> ApplyResult:
    evidence = evidence_of(sources.network, connections)
    told = [token for token in approval.tokens if token not in approval.untold]
    effects = [
        await _effect(sources, evidence, step, step.inclusion, told)
        for step in dispatch.steps
        if step.inclusion is not None
    ]
    total = all_together([effect.did for effect in effects])
    realised = {
        token: total.native.amount if token == NATIVE else total.tokens.get(token, 0)
        for token in approval.tokens
    } | dict.fromkeys(approval.untold)
    result = ApplyResult(
        approval,
        dispatch,
        tuple(
            StepResult(effect.step, effect.did.gas_used, effect.did.gas_cost) for effect in effects
        ),
        realised,
        total.minted,
        await read_given(sources, dispatch.account, approval.tokens),
        tuple(_contradicted(approval, dispatch, effects)),
        usd_per_wei=await _usd_per_wei(sources),
    )
    result = result.without_doubtful_amounts
    return result if result.is_done else await _with_aftermath(sources, result)


async def _usd_per_wei(sources: Sources) -> float | None:
    try:
        return (await read_worth(sources, (), await sources.client.head())).usd_per_wei
    except RpcError:
        return None


async def _with_aftermath(sources: Sources, result: ApplyResult) -> ApplyResult:
    try:
        aftermath = await read_aftermath(sources, result.approval, result.dispatch)
    except RpcError:
        return result
    return replace(result, aftermath=aftermath)


async def _effect(
    sources: Sources,
    evidence: Evidence,
    step: PlanStep,
    inclusion: Inclusion,
    tokens: Sequence[Address],
) -> _Effect:
    """By the word of as many endpoints as are needed, which tell the same of what was moved."""
    sent, network = step.transaction, sources.network
    wallet = sent.account
    sound = [
        reads
        for reads in evidence.readers(sources.client)
        if await _tells_so(reads, step, inclusion)
    ]
    told = [
        (
            reads,
            *await read_realised(
                reads,
                inclusion.transaction_hash,
                wallet,
                network,
                nonces=sent.nonces if wallet == sent.sender else 0,
            ),
        )
        for reads in sound or (sources.client,)
    ]
    place, alike = most_told([did for _, _, did in told])
    reads, receipt, did = told[place]
    held = await read_held_changes(reads, receipt, wallet, tokens)
    enough = bool(sound) and alike >= evidence.needed_answers
    enough = enough and await _is_lent(reads, step, inclusion)
    return _Effect(step, did, held, enough and not contradicts(receipt, did, held))


async def _is_lent(reads: Reader, step: PlanStep, inclusion: Inclusion) -> bool:
    """A transaction succeeds, too, where its authorization was void: the account's nonce had
    moved. Only the code that stands there tells."""
    given = step.transaction.authorization
    if given is None or step.state not in SUCCEEDED:
        return True
    account = given.lender or step.transaction.sender
    code = await reads.ask(requests.code(account, inclusion.block_hash))
    return code == (b"" if given.delegate == NOBODY else delegated_code(given.delegate))


def most_told(told: Sequence[Realised]) -> tuple[int, int]:
    """The first place of what most of them tell, and how many do."""
    alike = [sum(did == other for other in told) for did in told]
    return alike.index(max(alike)), max(alike)


async def _tells_so(reads: Reader, step: PlanStep, inclusion: Inclusion) -> bool:
    try:
        receipt = await once_there(reads, requests.receipt(inclusion.transaction_hash))
    except RpcError:
        return False
    if receipt is None or receipt.block_hash != inclusion.block_hash:
        return False
    cancelled = step.state is StepState.REPLACED
    return cancelled or receipt.succeeded == (step.state in SUCCEEDED)


def _contradicted(
    approval: Approval, dispatch: Dispatch, effects: Sequence[_Effect]
) -> Sequence[str]:
    unsound = [effect.step.title for effect in effects if not effect.sound]
    if unsound or len(effects) < len(dispatch.steps) or dispatch.stopped_at is not None:
        return unsound
    # Every step is said to have succeeded: then something of what was shown has come or left.
    quoted = {token: amount for token, amount in (approval.quoted or {}).items() if amount}
    # A coin of which nobody can say whether it moved is evidence for nothing.
    unknown = any(effect.did.native.amount is None for effect in effects)
    known = [
        token
        for token in quoted
        if token not in approval.untold and not (token == NATIVE and unknown)
    ]
    moved = any(
        effect.did.native.amount
        if token == NATIVE
        else effect.did.tokens.get(token) or effect.held.get(token)
        for token in known
        for effect in effects
    )
    return [effects[-1].step.title] if known and not moved else []


class PositionNow(Struct, frozen=True):
    token_id: PositionRef
    owner: Address | None
    """None where there is no such position any more."""
    liquidity: Units


class TokenHolding(Struct, frozen=True):
    token: Address
    now: Units | None
    before: Units | None
    """At the block the plan was built on; None where that cannot be read any more."""


class Aftermath(Struct, frozen=True):
    block: int
    wallet: Address
    positions: tuple[PositionNow, ...]
    """The one the plan is about, and those its steps have made."""
    holdings: tuple[TokenHolding, ...]
    tokens: Mapping[Address, Token]

    @property
    def sentences(self) -> tuple[str, ...]:
        return (
            *(_position_words(position, self.wallet) for position in self.positions),
            *_holding_words(self.holdings, self.tokens),
        )


async def read_aftermath(sources: Sources, approval: Approval, dispatch: Dispatch) -> Aftermath:
    """At the newest block: the position, what its steps made, and what the wallet holds."""
    here = OneBlock(sources.client, sources.network)
    held = await _held(here, sources, dispatch.account, approval.tokens)
    before = await _held_at(sources, dispatch, approval.tokens)
    ids = tuple(dict.fromkeys(await _concerned(sources, approval, dispatch)))
    found = (
        await read_positions(
            sources.client, sources.network, sources.memory, ids, at=here.block.hash
        )
        if ids
        else {}
    )
    tokens = await read_tokens(
        sources.client,
        sources.network,
        approval.tokens,
        here.block.hash,
        store=sources.store,
        now=sources.clock(),
    )
    return Aftermath(
        here.block.number,
        dispatch.account,
        tuple(
            PositionNow(each, found[each].owner, found[each].liquidity)
            if each in found
            else PositionNow(each, None, 0)
            for each in ids
        ),
        tuple(TokenHolding(each, held[each], before.get(each)) for each in approval.tokens),
        tokens,
    )


async def _concerned(
    sources: Sources, approval: Approval, dispatch: Dispatch
) -> Sequence[PositionRef]:
    ids = [*approval.about.refs]
    for step in dispatch.steps:
        if step.state in SUCCEEDED and step.inclusion is not None:
            made = step.inclusion.transaction_hash
            try:
                _, did = await read_realised(
                    sources.client, made, dispatch.account, sources.network
                )
            except NotIncludedError:
                continue
            ids.extend(did.minted)
    return ids


async def _held_at(
    sources: Sources, dispatch: Dispatch, tokens: Sequence[Address]
) -> dict[Address, int | None]:
    """Before the plan; nothing where that block or its state is no longer there."""
    at: BlockRef = dispatch.anchor.hash
    try:
        then = OneBlock(sources.client, sources.network, at)
        return await _held(then, sources, dispatch.account, tokens)
    except RpcError:
        return {}


async def _held(
    here: OneBlock, sources: Sources, owner: Address, tokens: Sequence[Address]
) -> dict[Address, int | None]:
    answers = await here.read([balance_call(sources.network, owner, each) for each in tokens])
    told = (balance_of(outcome, here.block) for outcome in answers.outcomes)
    return {
        token: found.value if isinstance(found, Known) else None
        for token, found in zip(tokens, told, strict=True)
    }


def _position_words(position: PositionNow, wallet: Address) -> str:
    if position.owner is None:
        return f"Position {position_label(position.token_id)} is no more."
    whose = "yours" if position.owner == wallet else f"held by {position.owner}"
    liquidity = "with its liquidity" if position.liquidity else "without liquidity"
    return f"Position {position_label(position.token_id)} is there, {whose}, {liquidity}."


def _holding_words(
    holdings: Sequence[TokenHolding], tokens: Mapping[Address, Token]
) -> Iterator[str]:
    parts = [_held_words(holding, tokens[holding.token]) for holding in holdings]
    if parts:
        yield f"The wallet holds {', '.join(parts)}."


def _held_words(holding: TokenHolding, token: Token) -> str:
    if holding.now is None:
        return f"an unknown amount of {token.label}"
    held = amount_text(holding.now, token)
    if holding.before is None:
        return held
    changed = holding.now - holding.before
    if changed > 0:
        return f"{held} ({amount_text(changed, token)} more than before the plan)"
    if changed < 0:
        return f"{held} ({amount_text(-changed, token)} less than before the plan)"
    return f"{held} (as before the plan)"
