"""`zuno apply`, `zuno outbox`: what is signed and sent, where it stands, and what can be done."""

import asyncio
from argparse import Namespace
from collections.abc import Iterator, Mapping, Sequence

from chain.contracts.networks import Address, Network
from chain.execution.build.gas_bill import GasBill
from chain.execution.decode.parties import Parties
from chain.execution.outbox.journal import OutboxError
from chain.execution.outbox.outbox import Outbox
from chain.execution.outbox.records import SUCCEEDED, Dispatch, PlanStep, VersionKind
from chain.execution.outbox.resume import ResumeChoice, StepSituation
from chain.execution.transaction import lender_in
from chain.positions.overview import Sources
from chain.rpc.errors import RpcError
from chain.tokens import Token
from chain.wallet.errors import WalletError
from chain.wallet.keystore import open_signer
from chain.wallet.signer import Signer
from zuno_tui.app.confirming import may_have_sent, require_typed
from zuno_tui.app.feature import what_outlives
from zuno_tui.app.market import let_go_of_approval
from zuno_tui.app.plans import plan_flow
from zuno_tui.app.result_card import aftermath_document, show_result
from zuno_tui.app.session import Session, say
from zuno_tui.app.wallet_secrets import ask_passphrase
from zuno_tui.gate.acts import only_open_plan
from zuno_tui.gate.agreement import Connections
from zuno_tui.gate.apply import WaitingApproval, apply, unused_approval, waiting_of
from zuno_tui.gate.approvals import read_approval
from zuno_tui.gate.drift import network_now
from zuno_tui.gate.judgment import judge_again
from zuno_tui.gate.limits import gate_limits
from zuno_tui.gate.refusal import GateRefusedError, RefusalCode
from zuno_tui.gate.results import (
    LAPSED,
    UnsettledStep,
    look_at_outbox,
    read_result,
    remember_heard,
    stands,
)
from zuno_tui.gate.resume import (
    prepare_resume,
    replacement_of,
    resume_plan,
    send_replacement,
    waiting_dispatch,
)
from zuno_tui.gate.worth import read_worth
from zuno_tui.present import signing
from zuno_tui.present.answer import CommandAnswer, print_answer
from zuno_tui.present.approval_view import signing_key, waiting_view
from zuno_tui.present.document import document, parts
from zuno_tui.present.exit_codes import DONE, FAILED
from zuno_tui.present.output import Json, print_json
from zuno_tui.present.pages.outbox import outbox_page
from zuno_tui.present.receipt_lines import page_text
from zuno_tui.present.views import ApprovalView, DispatchAction, DispatchView
from zuno_tui.present.words import NOBODY, most_coin


async def say_news(sources: Sources, connections: Connections, outbox: Outbox) -> None:
    """What needs nothing is said once, by whichever command comes first."""
    findings = await look_at_outbox(sources, connections, outbox)
    for finding in findings:
        if finding.news:
            say(" ".join((finding.sentence, *finding.where)))
    remember_heard(outbox, findings, now=sources.clock())


def run_apply(arguments: Namespace) -> int:
    session = Session.start(arguments)
    if arguments.plan_id is None and arguments.confirm is None:
        arguments.plan_id = asyncio.run(_open_plan(session))
    if (flow := plan_flow(session, arguments.plan_id)) is not None:
        return flow.apply(session, arguments)
    return asyncio.run(_apply(session, arguments))


async def _open_plan(session: Session) -> str | None:
    async with session.sources() as sources:
        now = await network_now(sources)
        with Outbox.open(session.home.outbox) as outbox:
            return only_open_plan(outbox, session.network.chain_id, now, sources.clock())


async def _apply(session: Session, arguments: Namespace) -> int:
    limits = gate_limits(session.settings.limits, session.network)
    async with session.sources() as sources, session.connections(sources) as connections:
        with Outbox.open(session.home.outbox) as outbox:
            await say_news(sources, connections, outbox)
            approval, dispatch = unused_approval(outbox, arguments.plan_id, arguments.confirm)

            async def judge() -> WaitingApproval:
                judgment = await judge_again(
                    sources, connections, outbox, approval, dispatch, limits=limits
                )
                return waiting_of(session.network, approval, dispatch, judgment)

            waiting = await judge()
            for line in page_text(await approval_page(session, sources, waiting)):
                say(line)
            _ask(waiting, arguments)
            with open_signer(
                session.home,
                session.network,
                dispatch.sender,
                lambda wallet: ask_passphrase(wallet.name, arguments.passphrase_file),
                session.devices,
                asking=say,
                lender=lender_in(step.transaction for step in dispatch.steps),
            ) as signer:
                # A word and a passphrase take their time, and the chain does not wait for them.
                waiting = await judge()
                dispatch = await _applied(sources, connections, outbox, waiting, signer)
        await let_go_of_approval(session, approval.hash)
        with may_have_sent():
            result = await read_result(sources, connections, approval, dispatch)
            show_result(session, result, waiting.tokens)
    for ref in approval.about.refs if result.is_done else ():
        for words in what_outlives(session, ref):
            say(words)
    return DONE if result.is_done else FAILED


async def approval_page(
    session: Session, sources: Sources, waiting: WaitingApproval
) -> ApprovalView:
    """What is about to be signed, out of its bytes and a trial made just now, as at the desk."""
    block = waiting.judgment.basis.subject.block
    worth = await read_worth(sources, tuple(waiting.tokens), block)
    key = signing_key(session.home, session.network, waiting.dispatch.sender)
    return waiting_view(waiting, session.network, key, worth)


def _say_terms(
    network: Network,
    parties: Parties,
    gas: GasBill,
    tokens: Mapping[Address, Token],
) -> None:
    recipients = " and ".join(signing.recipients(parties)) or NOBODY
    terms = signing.terms(network, parties, gas, tokens)
    for label, words in (("recipient", recipients), *terms):
        say(f"  {label:<10} {words}")


def _ask(waiting: WaitingApproval, arguments: Namespace) -> None:
    """The typed word, or the hash in its place; gas that exceeds what it is for is asked about."""
    if arguments.confirm is None:
        require_typed(waiting.word, f"Type {waiting.word} to sign and send this: ")
    elif waiting.approval.gas_exceeds and not arguments.anyway:
        raise GateRefusedError(
            f"{signing.GAS_EXCEEDS} Nothing was sent. If that is meant: --anyway",
            RefusalCode.GAS_EXCEEDS,
        )


async def _applied(
    sources: Sources,
    connections: Connections,
    outbox: Outbox,
    waiting: WaitingApproval,
    signer: Signer,
) -> Dispatch:
    try:
        with may_have_sent():
            return await apply(
                sources,
                connections,
                outbox,
                waiting,
                signer,
                changed=lambda step: say(step_words(step)),
            )
    except (OutboxError, RpcError, WalletError):
        say("See where things stand: zuno outbox")
        raise


def step_words(step: PlanStep) -> str:
    words = f"{step.title}: {step.state}"
    if step.inclusion is not None:
        words += f" in block {step.inclusion.block_number:,}"
    return f"{words} ({step.reason})" if step.reason else words


async def replace_waiting(
    session: Session,
    sources: Sources,
    connections: Connections,
    outbox: Outbox,
    arguments: Namespace,
) -> int:
    limits = gate_limits(session.settings.limits, session.network)
    action: str = arguments.action
    dispatch = waiting_dispatch(outbox, session.network.chain_id, arguments.plan_id)
    replacement = await replacement_of(sources, dispatch, action, limits)
    say(replacement.words)
    if connections.route.private_host is not None:
        say(f"It goes through {connections.route.private_host} alone.")
    _confirm(arguments, dispatch, action, "sign and send")
    with (
        open_signer(
            session.home,
            session.network,
            dispatch.sender,
            lambda wallet: ask_passphrase(wallet.name, arguments.passphrase_file),
            session.devices,
            asking=say,
            lender=lender_in([replacement.transaction]),
        ) as signer,
        may_have_sent(),
    ):
        step = await send_replacement(
            sources, connections, outbox, replacement, signer, limits=limits
        )
        newest = step.newest
        if session.as_json:
            sent = None if newest is None else newest.transaction.hash
            print_json(_step_document(dispatch, step, sent))
        say(f"{step.title}: {action} {step.state}. Follow it: zuno outbox")
    return DONE


def _confirm(arguments: Namespace, dispatch: Dispatch, word: str, does: str) -> None:
    """The typed word, or the hash in its place."""
    if arguments.confirm is None:
        require_typed(word, f"Type {word} to {does} this: ")
    elif arguments.confirm != dispatch.hash:
        raise GateRefusedError(
            f"That hash is not the one of {dispatch.plan_id}. Nothing was sent. "
            "See it: zuno outbox --json"
        )


async def resume_missing(
    session: Session,
    sources: Sources,
    connections: Connections,
    outbox: Outbox,
    arguments: Namespace,
) -> int:
    limits = gate_limits(session.settings.limits, session.network)
    resumption = await prepare_resume(
        sources, connections, outbox, arguments.plan_id, limits=limits
    )
    dispatch = resumption.dispatch
    say(resumption.headline)
    _say_terms(session.network, resumption.parties, resumption.gas, resumption.tokens)
    for sentence in resumption.words(session.network):
        say(f"  {sentence}")
    if connections.route.private_host is not None:
        say(f"  It goes through {connections.route.private_host} alone.")
    say(f"  hash {dispatch.hash}")
    _confirm(arguments, dispatch, RESUME, "send")
    with may_have_sent():
        dispatch = await resume_plan(
            sources,
            connections,
            outbox,
            resumption,
            limits=limits,
            changed=lambda step: say(step_words(step)),
        )
        step = dispatch.steps[resumption.step.position]
        if session.as_json:
            print_json(_step_document(dispatch, step, resumption.version.transaction.hash))
        say(f"{step.title}: {step.state}. See where things stand: zuno outbox")
    cancelled = resumption.version.kind is VersionKind.CANCEL and step.inclusion is not None
    return DONE if cancelled or step.state in SUCCEEDED else FAILED


RESUME, RESOLVE = "resume", "resolve"


def run(arguments: Namespace) -> int:
    return asyncio.run(_outbox(Session.start(arguments), arguments))


async def _outbox(session: Session, arguments: Namespace) -> int:
    async with session.sources() as sources, session.connections(sources) as connections:
        with Outbox.open(session.home.outbox) as outbox:
            if arguments.action == RESUME:
                return await resume_missing(session, sources, connections, outbox, arguments)
            findings = await look_at_outbox(sources, connections, outbox)
            if arguments.action == RESOLVE:
                chain_id = session.network.chain_id
                plan_id, now = arguments.plan_id, sources.clock()
                for sentence in resolve_half_done(outbox, chain_id, plan_id, now=now):
                    say(sentence)
                return DONE
            if arguments.action is not None:
                return await replace_waiting(session, sources, connections, outbox, arguments)
            remember_heard(outbox, findings, now=sources.clock())
            now = await network_now(sources)
            dispatches = [
                dispatch
                for dispatch in outbox.dispatches()
                if dispatch.chain_id == session.network.chain_id
                and arguments.plan_id in (None, dispatch.plan_id)
            ]
            coin = session.network.native_symbol
            rows = [
                dispatch_view(outbox, each, findings, now, coin) for each in reversed(dispatches)
            ]
    if session.as_json:
        print_json(_document(dispatches, findings, now))
        return DONE
    if not dispatches:
        say("The outbox is empty: nothing was approved yet.")
        return DONE
    return print_answer(CommandAnswer((), None, view=outbox_page(rows)), as_json=False)


def resolve_half_done(
    outbox: Outbox, chain_id: int, plan_id: str | None, *, now: float
) -> tuple[str, ...]:
    """The person has dealt with what was left half done; it is no longer brought up."""
    open_ends = [
        dispatch
        for dispatch in outbox.unresolved_dispatches()
        if dispatch.chain_id == chain_id
        and (dispatch.half_done or dispatch.ended is not None)
        and dispatch.resolved_at is None
        and plan_id in (None, dispatch.plan_id)
    ]
    if not open_ends:
        raise GateRefusedError("Nothing was left half done. See where things stand: zuno outbox")
    for end in open_ends:
        outbox.resolve(end.hash, now=now)
    return tuple(f"{end.plan_id} is resolved. It ended here: {stands(end)}." for end in open_ends)


def dispatch_view(
    outbox: Outbox, dispatch: Dispatch, findings: Sequence[UnsettledStep], now: float, coin: str
) -> DispatchView:
    """`coin` is the one that the network takes gas in."""
    most = sum(step.transaction.gas * step.transaction.max_fee_per_gas for step in dispatch.steps)
    approval = read_approval(outbox, dispatch.hash)
    about = [finding for finding in findings if finding.dispatch == dispatch.hash]
    state = stands(dispatch, now)
    steps = tuple(
        (
            step.title,
            "lapsed" if state.startswith(LAPSED) else str(step.state),
            "" if step.newest is None else step.newest.transaction.hash,
        )
        for step in dispatch.steps
    )
    return DispatchView(
        plan_id=dispatch.plan_id,
        time=dispatch.consumed_at or dispatch.planned_at,
        headline=dispatch.plan_id if approval is None else approval.headline,
        state=f"{state}, through {dispatch.private_host} alone" if dispatch.private_host else state,
        steps=steps,
        # Of what is done for good its state says all.
        advice=tuple(
            sentence
            for step in about
            if step.situation != StepSituation.FINAL
            for sentence in (step.sentence, *step.where)
        ),
        actions=tuple(_actions(dispatch, about)),
        most_gas=f"{most_coin(most)} {coin}",
    )


def _actions(dispatch: Dispatch, about: Sequence[UnsettledStep]) -> Iterator[DispatchAction]:
    choices = {choice for step in about for choice in step.choices}
    if ResumeChoice.SEND_AGAIN in choices:
        yield "resume"
    if ResumeChoice.SPEED_UP in choices:
        yield "speed-up"
    if ResumeChoice.CANCEL in choices:
        yield "cancel"
    if (dispatch.half_done or dispatch.ended is not None) and dispatch.resolved_at is None:
        yield "resolve"


def _step_document(dispatch: Dispatch, step: PlanStep, sent: str | None) -> Json:
    return {"planId": dispatch.plan_id, "step": step.name, "state": step.state, "hash": sent}


def _document(dispatches: list[Dispatch], findings: tuple[UnsettledStep, ...], now: float) -> Json:
    return {
        "dispatches": [
            {
                **parts(dispatch, "plan_id", "hash", "safe_state", "needs_attention"),
                "state": stands(dispatch, now),
                "ended": None if dispatch.ended is None else dispatch.ended.code,
                "sentThrough": dispatch.private_host,
                "steps": [
                    {
                        "step": step.name,
                        **parts(step, "state", "reason"),
                        "nonce": step.transaction.nonce,
                        "hash": None if step.newest is None else step.newest.transaction.hash,
                    }
                    for step in dispatch.steps
                ],
            }
            for dispatch in dispatches
        ],
        "findings": [
            {
                **document(finding, without=("dispatch", "open", "news", "aftermath", "unread")),
                "where": aftermath_document(finding.aftermath),
            }
            for finding in findings
        ],
    }
