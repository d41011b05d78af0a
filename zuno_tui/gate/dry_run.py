"""Dry run and approval: an action prepared, sealed under one hash and written into the journal."""

from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from chain.contracts.addresses import checksum
from chain.contracts.networks import Address, Network
from chain.execution.decode.decoder import single_calls
from chain.execution.decode.parties import mentions_of
from chain.execution.decode.titles import step_title
from chain.execution.decode.words import describe, names_on
from chain.execution.exit_tax import shortfall_words, untold_tokens
from chain.execution.outbox.approvals import ActKind
from chain.execution.outbox.outbox import Outbox
from chain.execution.outbox.records import EndCode
from chain.execution.plan.facts import BuildError, PositionFacts
from chain.execution.plan.records import DecodedStep
from chain.execution.plan.requests import ReRangeRequest, SeveralRequest, swap_in
from chain.positions.overview import Sources, tokens_at
from chain.protocols.reference import PositionRef, position_label
from chain.tokens import Token
from zuno_tui.gate.actions.action import Action, subject_of
from zuno_tui.gate.acts import make_given_approval
from zuno_tui.gate.agreement import Agreement, Connections, require_agreement
from zuno_tui.gate.approvals import approval_of, dispatch_of, notional_of_today
from zuno_tui.gate.basis import Basis, BasisQuestion, SwapInput
from zuno_tui.gate.drift import network_time
from zuno_tui.gate.limits import GateLimits
from zuno_tui.gate.pending_elsewhere import nonces_sent, pending_elsewhere, pending_words
from zuno_tui.gate.prepare import Prepared, prepare
from zuno_tui.gate.refusal import GateRefusedError, RefusalCode


class DryRun(Struct, frozen=True):
    """What would be signed, tried and judged, and told in words."""

    prepared: Prepared
    tokens: Mapping[Address, Token]
    words: tuple[tuple[str, tuple[str, ...]], ...]
    """Each step with its sentences, drawn from its own bytes."""
    warnings: tuple[str, ...]
    """Limits it breaks, what does not arrive of what leaves a position, disputed prices."""
    untold: tuple[Address, ...]
    """Tokens whose events tell of other transfers than they make."""
    private_host: str | None
    """The endpoint that alone would be sent through; None for the usual ones."""
    agreement: Agreement


class Approved(Struct, frozen=True):
    hash: str
    dry_run: DryRun


async def make_dry_run(
    sources: Sources,
    connections: Connections,
    action: Action,
    *,
    journal: Path,
    wallet: Address,
    limits: GateLimits,
) -> DryRun:
    """Everything that approving does, without letting anything be applied."""
    block = action.subject.block
    with Outbox.open(journal) as outbox:
        today = notional_of_today(outbox, network_time(sources, block.timestamp))
        own = nonces_sent(outbox.dispatches(), sources.network.chain_id, wallet)
    if waiting := await pending_elsewhere(connections.readers(sources.client), wallet, own):
        raise GateRefusedError(
            f"{pending_words(waiting)} Nothing was approved.", RefusalCode.PENDING_ELSEWHERE
        )
    fresh = sources.without_memory()

    async def prepared_for(wanted: Action) -> Prepared:
        return await prepare(
            fresh,
            connections,
            wanted,
            wallet,
            limits=limits,
            notional_today=today,
            pins=sources.store,
        )

    try:
        prepared = await prepared_for(action)
    except (GateRefusedError, BuildError) as error:
        raise await _naming_blockers(action, prepared_for, error) from error
    tokens = await tokens_at(fresh, action.tokens, block.hash, remember=True)
    agreement = await require_agreement(
        sources, connections, _question(prepared, wallet), _basis(prepared, tokens)
    )
    if action.subject.snapshots:
        fresh.memory.remember([snapshot.identity for snapshot in action.subject.snapshots])
    sources.store.absorb(fresh.store, now=sources.clock())
    names = names_on(sources.network, wallet, tokens, action.subject.positions)
    words = tuple(
        (step_title(step.transaction), describe(step, names))
        for step in single_calls(prepared.steps)
    )
    positions = action.subject.positions
    tried, agreed = prepared.simulation, agreement.trial_agreed
    short = shortfall_words(prepared.steps, tried, positions, names, agreed=agreed)
    dismissed = _dismissal_words(prepared.steps, positions, sources.network)
    warnings = (*action.breaks, *short, *dismissed, *action.disputes, *action.left_behind)
    untold = untold_tokens(tried, names, agreed=agreed)
    private_host = connections.route.private_host
    return DryRun(prepared, tokens, words, warnings, untold, private_host, agreement)


def _dismissal_words(
    steps: Sequence[DecodedStep],
    positions: Mapping[PositionRef, PositionFacts],
    network: Network,
) -> Iterator[str]:
    """A subscriber could refuse what is done, so its subscription ends first; nothing renews it."""
    for ref in mentions_of(steps, network).dismissed:
        held = positions.get(ref)
        named = "" if held is None or held.subscriber is None else checksum(held.subscriber)
        yield (
            f"This ends the subscription of {position_label(ref)}"
            f"{f' to {named}' if named else ''}: any rewards it pays stop."
        )


async def _naming_blockers(
    action: Action,
    prepared_for: Callable[[Action], Awaitable[Prepared]],
    error: GateRefusedError | BuildError,
) -> GateRefusedError | BuildError:
    """Of several positions those that cannot alone, either, and the command for the rest."""
    request = action.request
    if not isinstance(request, SeveralRequest) or len(request.parts) == 1:
        return error
    blocked: dict[PositionRef, str] = {}
    for part, snapshot in zip(request.parts, action.subject.snapshots, strict=True):
        alone = replace(action, request=SeveralRequest((part,)), subject=subject_of(snapshot))
        try:
            await prepared_for(alone)
        except (GateRefusedError, BuildError) as reason:
            blocked[snapshot.ref] = str(reason).removesuffix(" Nothing was signed.")
    rest = [snapshot.ref for snapshot in action.subject.snapshots if snapshot.ref not in blocked]
    if not blocked:
        return error
    verb = action.plan_id.partition("_")[0]
    lines = [f"{position_label(ref)} stands in the way: {why}" for ref, why in blocked.items()]
    if rest:
        together = " ".join(map(str, rest))
        lines.append(f"Nothing was signed. Without {'it' if len(blocked) == 1 else 'them'}: ")
        lines[-1] += f"zuno {verb} {together}"
    return GateRefusedError("\n".join(lines), RefusalCode.BLOCKED)


def _question(prepared: Prepared, wallet: Address) -> BasisQuestion:
    action = prepared.action
    request, swap = action.request, None
    quoted = swap_in(request)
    if quoted is not None:
        leaving = request.position if isinstance(request, ReRangeRequest) else None
        swap = SwapInput(quoted.pool, quoted.zero_for_one, quoted.amount_in, leaving)
    return BasisQuestion(
        action.subject.about,
        wallet,
        action.tokens,
        tuple(prepared.codes.now),
        prepared.built.transactions,
        swap,
    )


def _basis(prepared: Prepared, tokens: Mapping[Address, Token]) -> Basis:
    """What was really built on; amounts that were typed were scaled by the tokens as then read."""
    action = prepared.action
    return Basis(
        action.subject,
        prepared.circumstances,
        prepared.facts,
        {
            **tokens,
            **{token: action.scaled_by[token] for token in tokens if token in action.scaled_by},
        },
        prepared.codes,
        swap_in(action.request),
        prepared.simulation,
    )


def approve(journal: Path, dry_run: DryRun) -> Approved:
    """Let what was rehearsed be applied once, within ten minutes, exactly as it is told."""
    prepared = dry_run.prepared
    approval = approval_of(prepared, dry_run.warnings, dry_run.untold, dry_run.private_host)
    sealed = approval.hash
    with Outbox.open(journal) as outbox:
        planned = dispatch_of(prepared, sealed, dry_run.private_host)
        dispatch = outbox.plan(planned, now=prepared.now)
        if dispatch.consumed_at is not None:
            raise GateRefusedError(
                "The same transactions were applied before. Wait for the next block and try again.",
                RefusalCode.ALREADY_APPLIED,
            )
        if dispatch.ended is not None and dispatch.ended.code is EndCode.TAKEN_BACK:
            raise GateRefusedError(
                "The approval of these very transactions was taken back. "
                "Wait for the next block and try again.",
                RefusalCode.ALREADY_APPLIED,
            )
        given = make_given_approval(
            ActKind.PLAN, approval.plan_id, sealed, approval.terms, now=prepared.now
        )
        if dispatch.expires_at is None:
            outbox.approve(sealed, now=prepared.now, given=given)
        else:
            outbox.give(given)
    return Approved(sealed, dry_run)
