"""The commands of a Safe: sign, list, carry from owner to owner, execute, reject."""

import asyncio
from argparse import Namespace
from collections.abc import Awaitable, Callable
from contextlib import AsyncExitStack
from pathlib import Path
from typing import TypeVar

from agents.bus.plan_store import DamagedPlanError
from agents.bus.replay import Record
from chain.contracts.addresses import checksum
from chain.execution.build.safe_calls import execution_of
from chain.execution.decode.titles import step_title
from chain.execution.outbox.outbox import Outbox
from chain.execution.plan.reading import DecodingError
from chain.positions.overview import Sources
from chain.rpc.errors import RpcError
from chain.safe.facts import SafeError, SafeFacts, read_safe
from chain.safe.plans import SafePlan, SafePlans, plan_file, read_plan
from chain.wallet.files import read_bounded, write_once
from chain.wallet.keystore import open_signer
from zuno_tui.app.confirming import may_have_sent, require_typed
from zuno_tui.app.feature import ActionMaker, RunAgain
from zuno_tui.app.market import hold_for_approvals, let_go_of_approval
from zuno_tui.app.outbox import say_news, step_words
from zuno_tui.app.result_card import show_result
from zuno_tui.app.session import Session, say
from zuno_tui.app.wallet_secrets import ask_passphrase
from zuno_tui.features.safe.executing import (
    JudgedExecution,
    carry_out,
    prepared_execution,
    sender_named,
)
from zuno_tui.features.safe.judging import SafeJudgment, judge
from zuno_tui.features.safe.page import EXECUTE, SIGN, hash_terms, plan_document, safe_view
from zuno_tui.features.safe.signing import (
    approval_of,
    approve,
    judged_approval,
    keep,
    next_step,
    owner_to_sign,
    propose,
    rejection_of,
    sign,
)
from zuno_tui.gate.agreement import Connections
from zuno_tui.gate.refusal import GateRefusedError
from zuno_tui.gate.results import read_result
from zuno_tui.present.answer import CommandAnswer, print_answer
from zuno_tui.present.approval_view import SigningKey, signing_key
from zuno_tui.present.document import parts
from zuno_tui.present.exit_codes import DONE, FAILED
from zuno_tui.present.output import Json
from zuno_tui.present.receipt_lines import page_text, receipt_document

T = TypeVar("T")


async def _with_chain(session: Session, act: Callable[[Sources, Connections], Awaitable[T]]) -> T:
    async with AsyncExitStack() as stack:
        sources = await stack.enter_async_context(session.sources())
        return await act(sources, await stack.enter_async_context(session.connections(sources)))


async def propose_and_answer(session: Session, make_action: ActionMaker) -> CommandAnswer:
    async def act(sources: Sources, connections: Connections) -> CommandAnswer:
        plan = await propose(session, sources, connections, make_action)
        return _approved(session, await judge(session, sources, connections, plan))

    answer = await _with_chain(session, act)
    await hold_for_approvals(session)
    return answer


async def approve_plan(session: Session, plan_id: str | None) -> CommandAnswer:
    """Once more, for the next owner: on the bytes that are there, never built anew."""
    plan = _plan(session, plan_id)

    async def act(sources: Sources, connections: Connections) -> CommandAnswer:
        return _approved(session, await judge(session, sources, connections, plan))

    answer = await _with_chain(session, act)
    await hold_for_approvals(session)
    return answer


def show_plan(session: Session, plan_id: str | None) -> CommandAnswer:
    plan = _plan(session, plan_id)

    async def act(sources: Sources, connections: Connections) -> CommandAnswer:
        return _page_answer(session, await judge(session, sources, connections, plan), "", 0.0)

    return asyncio.run(_with_chain(session, act))


def _plan(session: Session, plan_id: str | None) -> SafePlan:
    plans = SafePlans(session.home.safe)
    if plan_id is not None:
        return plans.of_plan(plan_id)
    found = plans.all()
    if not found:
        raise SafeError("There is no Safe transaction here.")
    return found[-1]


def _approved(session: Session, judgment: SafeJudgment) -> CommandAnswer:
    given = approve(session, judgment)
    answer = _page_answer(session, judgment, given.hash, given.expires_at)
    plan = judgment.plan
    remarks = (
        f"Safe transaction {plan.number}. Nothing is signed yet; this approval gives one owner's "
        f"signature within ten minutes: zuno apply {plan.plan_id}",
    )
    document = {**answer.document, "hash": given.hash, "expiresAt": given.expires_at}  # type: ignore[dict-item]
    return CommandAnswer(answer.lines, document, remarks=remarks)


def _page_answer(
    session: Session, judgment: SafeJudgment, sealed: str, expires_at: float
) -> CommandAnswer:
    view = safe_view(judgment, _key(session, judgment), sealed=sealed, expires_at=expires_at)
    document = {**plan_document(judgment), "receipt": receipt_document(view)}
    return CommandAnswer(tuple(page_text(view)), document)


def _key(session: Session, judgment: SafeJudgment) -> SigningKey:
    try:
        owner = owner_to_sign(session, judgment, None)
    except GateRefusedError as error:
        return SigningKey(f"nothing: {error}", can_sign=False)
    return signing_key(session.home, session.network, owner)


def apply_run(session: Session, arguments: Namespace) -> int:
    """One owner's signature, by the typed word; nothing is sent by that."""
    plan = _plan(session, arguments.plan_id)

    async def act(sources: Sources, connections: Connections) -> SafeJudgment:
        given = approval_of(session, plan, arguments.confirm)
        judgment = await judged_approval(session, sources, connections, plan, given)
        owner = owner_to_sign(session, judgment, arguments.owner)
        key = signing_key(session.home, session.network, owner)
        view = safe_view(
            judgment, key, sealed=given.hash, expires_at=given.expires_at, signer=owner
        )
        for line in page_text(view):
            say(line)
        say(f"{checksum(owner)} signs, with {key.words}.")
        if arguments.confirm is None:
            require_typed(SIGN, f"Type {SIGN} to sign this for the Safe: ")
        with open_signer(
            session.home,
            session.network,
            owner,
            lambda wallet: ask_passphrase(wallet.name, arguments.passphrase_file),
            session.devices,
            asking=say,
        ) as signer:
            # A word and a passphrase take their time, and the chain does not wait for them.
            judgment = await judged_approval(session, sources, connections, plan, given)
            kept = await asyncio.to_thread(sign, session, judgment, given, signer)
        await let_go_of_approval(session, given.hash)
        return judgment.with_plan(kept)

    judgment = asyncio.run(_with_chain(session, act))
    signed, needed = len(judgment.signers), judgment.facts.threshold
    answer = CommandAnswer(
        (f"Signed: {signed} of {needed} owners. Nothing was sent.",),
        plan_document(judgment),
        remarks=(next_step(session, judgment.plan, judgment.facts),),
    )
    return print_answer(answer, as_json=session.as_json)


async def refuse_replay(_record: Record) -> RunAgain:
    raise DamagedPlanError("A Safe's transaction has no debate to replay.")


async def list_plans(session: Session) -> CommandAnswer:
    plans = [
        plan
        for plan in SafePlans(session.home.safe).all()
        if plan.transaction.chain_id == session.network.chain_id
    ]
    if not plans:
        return CommandAnswer(
            ("No Safe transactions here. Any plan of a Safe makes one: zuno wallet safe 0x…",),
            {"transactions": []},
        )
    facts: dict[str, SafeFacts] = {}
    remarks = []
    try:
        async with session.sources() as sources:
            for safe in dict.fromkeys(plan.transaction.safe for plan in plans):
                facts[safe] = await read_safe(sources.client, safe)
    except (RpcError, SafeError) as error:
        remarks.append(f"The chain could not be asked, so nothing of it is confirmed: {error}")
    lines, documents = [], list[Json]()
    for plan in plans:
        made = plan.transaction
        known = facts.get(made.safe)
        words = _stands(plan, known, plans)
        lines.append(f"{plan.number}  nonce {made.nonce}  {_title(plan)}: {words}")
        if known is not None and made.nonce == known.nonce:
            lines.append(f"   → {next_step(session, plan, known)}")
        documents.append(
            {
                **parts(plan, "number", "plan_id"),
                **parts(made, "safe", "nonce"),
                "safeTxHash": "0x" + made.hash.hex(),
                "signatures": list(plan.signatures),
                "stands": words,
            }
        )
    return CommandAnswer(tuple(lines), {"transactions": documents}, remarks=tuple(remarks))


def _title(plan: SafePlan) -> str:
    try:
        return step_title(execution_of(plan.transaction).transaction)
    except DecodingError:
        return "calls that cannot be read"


def _stands(plan: SafePlan, facts: SafeFacts | None, plans: list[SafePlan]) -> str:
    """Where it stands by the chain's word; nothing is said to be over that could still happen."""
    if facts is None:
        return f"{len(plan.signatures)} signed"
    made = plan.transaction
    if made.nonce < facts.nonce:
        return "over: its nonce is used, by it or by another"
    signed = len(plan.signed_by(facts))
    words = f"{signed} of {facts.threshold} signed"
    if signed >= facts.threshold:
        words += ", anybody who has them can execute it"
    if gone := [each for each in plan.signatures if each not in facts.owners]:
        words += f"; {', '.join(map(checksum, gone))} is no owner any more"
    rivals = [
        str(other.number)
        for other in plans
        if other.number != plan.number
        and (other.transaction.safe, other.transaction.nonce) == (made.safe, made.nonce)
    ]
    if rivals:
        words += f"; only one of it and {', '.join(rivals)} can be carried out"
    return words


async def export_plan(session: Session, number: int, file: Path) -> CommandAnswer:
    plan = SafePlans(session.home.safe).find(number)

    async def act(sources: Sources, connections: Connections) -> SafeJudgment:
        return await judge(session, sources, connections, plan)

    judgment = await _with_chain(session, act)
    write_once(file, plan_file(plan))
    lines = tuple(f"{term.label:<13} {term.words}" for term in hash_terms(plan))
    remarks = (
        f"Safe transaction {number} is in {file}, signed by {len(judgment.signers)}. The next "
        "owner reads it with: zuno safe import FILE. Compare the hashes by another way.",
    )
    return CommandAnswer(lines, {**plan_document(judgment), "file": str(file)}, remarks=remarks)


async def import_plan(session: Session, file: Path) -> CommandAnswer:
    found = read_plan(read_bounded(file), str(file))

    async def act(sources: Sources, connections: Connections) -> SafeJudgment:
        judgment = await judge(session, sources, connections, found)
        facts = judgment.facts
        if strangers := [each for each in found.signatures if each not in facts.owners]:
            raise SafeError(
                f"{', '.join(map(checksum, strangers))} signed it and is no owner of the Safe. "
                "The file is not taken."
            )
        return judgment.with_plan(keep(session, found))

    judgment = await _with_chain(session, act)
    answer = _page_answer(session, judgment, "", 0.0)
    plan = judgment.plan
    signed = f"Safe transaction {plan.number}, {len(judgment.signers)} signed."
    step = next_step(session, plan, judgment.facts)
    return CommandAnswer(answer.lines, answer.document, remarks=(f"{signed} {step}",))


async def reject_plan(session: Session, number: int) -> CommandAnswer:
    """The empty transaction of the same nonce, to be signed as any."""
    plan = keep(session, rejection_of(SafePlans(session.home.safe).find(number)))
    return await approve_plan(session, plan.plan_id)


def execute_run(arguments: Namespace) -> int:
    session = Session.start(arguments)
    return asyncio.run(_execute(session, arguments))


async def _execute(session: Session, arguments: Namespace) -> int:
    plan = SafePlans(session.home.safe).find(arguments.number)
    async with session.sources() as sources, session.connections(sources) as connections:
        sender = await sender_named(session, sources, arguments.sender)
        with Outbox.open(session.home.outbox) as outbox:
            await say_news(sources, connections, outbox)
            execution = await prepared_execution(session, sources, connections, plan, sender)
            _show(session, execution)
            sealed = plan.transaction.hash.hex()
            if arguments.confirm is None:
                require_typed(EXECUTE, f"Type {EXECUTE} to sign and send this: ")
            elif arguments.confirm.removeprefix("0x") != sealed:
                raise GateRefusedError(
                    f"That is not its safeTxHash, which is 0x{sealed}. Nothing was sent."
                )
            with open_signer(
                session.home,
                session.network,
                sender,
                lambda wallet: ask_passphrase(wallet.name, arguments.passphrase_file),
                session.devices,
                asking=say,
            ) as signer:
                execution = await prepared_execution(session, sources, connections, plan, sender)
                with may_have_sent():
                    approval, dispatch = await carry_out(
                        sources,
                        connections,
                        outbox,
                        execution,
                        signer,
                        changed=lambda step: say(step_words(step)),
                    )
        with may_have_sent():
            result = await read_result(sources, connections, approval, dispatch)
            basis = execution.judgment.basis
            show_result(session, result, {} if basis is None else basis.tokens)
    return DONE if result.is_done else FAILED


def _show(session: Session, execution: JudgedExecution) -> None:
    key = signing_key(session.home, session.network, execution.sender)
    made = execution.judgment.plan.transaction
    view = safe_view(
        execution.judgment,
        key,
        sealed=made.hash.hex(),
        expires_at=float(execution.judgment.now),
        gas=execution.gas,
        signer=execution.sender,
    )
    for line in page_text(view):
        say(line)
    say(f"{checksum(execution.sender)} sends it and pays the gas, with {key.words}.")
