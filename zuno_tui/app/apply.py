"""`zuno apply PLAN`: sign and send what was approved, once, and read back what it did."""

import asyncio
from argparse import Namespace

from chain.contracts.networks import Network
from chain.execution.outbox.journal import OutboxError
from chain.execution.outbox.outbox import Outbox
from chain.execution.outbox.records import Dispatch, PlanStep
from chain.positions.overview import Sources
from chain.rpc.errors import RpcError
from chain.wallet.errors import WalletError
from chain.wallet.keystore import open_signer
from chain.wallet.signer import Signer
from zuno_tui.app.confirming import may_have_sent, require_typed
from zuno_tui.app.market import let_go_of_approval
from zuno_tui.app.plans import plan_flow
from zuno_tui.app.session import Session, say
from zuno_tui.app.wallet_secrets import ask_passphrase
from zuno_tui.catalog.feature import what_outlives
from zuno_tui.gate.agreement import Connections
from zuno_tui.gate.apply import WaitingApproval, apply, unused_approval, waiting_of
from zuno_tui.gate.judgment import judge_again
from zuno_tui.gate.limits import gate_limits
from zuno_tui.gate.refusal import GateRefusedError, RefusalCode
from zuno_tui.gate.results import look_at_outbox, read_result, remember_heard
from zuno_tui.present import signing
from zuno_tui.present.approval_card import word_lines
from zuno_tui.present.exit_codes import DONE, FAILED
from zuno_tui.present.result_card import show_result
from zuno_tui.present.transcript import wrapped
from zuno_tui.present.words import NOBODY


async def say_news(sources: Sources, connections: Connections, outbox: Outbox) -> None:
    """What needs nothing is said once, by whichever command comes first."""
    findings = await look_at_outbox(sources, connections, outbox)
    for finding in findings:
        if finding.news:
            say(" ".join((finding.sentence, *finding.where)))
    remember_heard(outbox, findings, now=sources.clock())


def run(arguments: Namespace) -> int:
    session = Session.start(arguments)
    if (flow := plan_flow(session, arguments.plan_id)) is not None:
        return flow.apply(session, arguments)
    return asyncio.run(_apply(session, arguments))


async def _apply(session: Session, arguments: Namespace) -> int:
    limits = gate_limits(session.settings.limits, session.network)
    async with session.sources() as sources, session.connections(sources) as connections:
        with Outbox.open(session.home.outbox) as outbox:
            await say_news(sources, connections, outbox)
            approval, dispatch = unused_approval(outbox, arguments.plan_id, arguments.confirm)

            async def judged() -> WaitingApproval:
                judgment = await judge_again(
                    sources, connections, outbox, approval, dispatch, limits=limits
                )
                return waiting_of(session.network, approval, dispatch, judgment)

            waiting = await judged()
            _show(session.network, waiting)
            _ask(waiting, arguments)
            with open_signer(
                session.home,
                session.network,
                dispatch.sender,
                lambda wallet: ask_passphrase(wallet.name, arguments.passphrase_file),
            ) as signer:
                # A word and a passphrase take their time, and the chain does not wait for them.
                waiting = await judged()
                dispatch = await _applied(sources, connections, outbox, waiting, signer)
        await let_go_of_approval(session, approval.hash)
        with may_have_sent():
            result = await read_result(sources, connections, approval, dispatch)
            show_result(session, result, waiting.tokens)
    for token_id in approval.about.token_ids if result.done else ():
        for words in what_outlives(session, token_id):
            say(words)
    return DONE if result.done else FAILED


def _show(network: Network, waiting: WaitingApproval) -> None:
    """Everything that is about to be signed, out of its bytes, and what comes of it by a trial."""
    judgment = waiting.judgment
    say(f"{waiting.approval.headline} · {waiting.approval.plan_id}")
    recipients = " and ".join(signing.recipients(judgment.parties)) or NOBODY
    terms = signing.terms(
        network,
        judgment.parties,
        judgment.gas,
        waiting.tokens,
        account_code=judgment.basis.circumstances.account_code,
    )
    for label, words in (("recipient", recipients), *terms):
        say(f"  {label:<10} {words}")
    for line in (*word_lines(waiting.words), *map(_indented, signing.outcome_lines(waiting))):
        say(line)
    say(f"  hash {waiting.approval.hash}")


def _ask(waiting: WaitingApproval, arguments: Namespace) -> None:
    """The typed word, or the hash in its place; gas that exceeds what it is for is asked about."""
    if arguments.confirm is None:
        require_typed(waiting.word, f"Type {waiting.word} to sign and send this: ")
    elif waiting.approval.gas_exceeds and not arguments.anyway:
        raise GateRefusedError(
            f"{signing.GAS_EXCEEDS} Nothing was sent. If that is meant: --anyway",
            RefusalCode.GAS_EXCEEDS,
        )


def _indented(line: str) -> str:
    return wrapped(f"  {line}", indent=4)


async def _applied(
    sources: Sources,
    connections: Connections,
    outbox: Outbox,
    waiting: WaitingApproval,
    signer: Signer,
) -> Dispatch:
    try:
        with may_have_sent():
            return await apply(sources, connections, outbox, waiting, signer, changed=_tell)
    except (OutboxError, RpcError, WalletError):
        say("See where things stand: zuno outbox")
        raise


def _tell(step: PlanStep) -> None:
    say(step_words(step))


def step_words(step: PlanStep) -> str:
    words = f"{step.name}: {step.state}"
    if step.inclusion is not None:
        words += f" in block {step.inclusion.block_number:,}"
    return f"{words} ({step.reason})" if step.reason else words
