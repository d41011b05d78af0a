"""`zuno apply PLAN`: sign and send what was approved, once, and read back what it did."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from chain.execution.journal import OutboxError
from chain.execution.outbox import Outbox
from chain.rpc.errors import RpcError
from chain.wallet.errors import WalletError
from chain.wallet.keeping import open_signer
from zuno_tui.cli import DONE, FAILED
from zuno_tui.cli.approval_card import warning_lines, word_lines
from zuno_tui.cli.confirming import require_typed
from zuno_tui.cli.outbox import resume_outbox
from zuno_tui.cli.result_card import show_result
from zuno_tui.cli.wallet_secrets import ask_passphrase
from zuno_tui.gate.applying import (
    InterruptedApplyError,
    apply,
    refuse_drift,
    told_again,
    unused_approval,
)
from zuno_tui.gate.results import read_result
from zuno_tui.session import Session, say

if TYPE_CHECKING:
    from argparse import Namespace
    from pathlib import Path

    from chain.execution.journal_records import Dispatch, Step
    from chain.overview import Sources
    from chain.wallet.signer import Signer
    from zuno_tui.gate.applying import Waiting
    from zuno_tui.gate.connections import Connections

WORD = "apply"


def run(arguments: Namespace) -> int:
    return asyncio.run(_apply(Session.start(arguments), arguments))


async def _apply(session: Session, arguments: Namespace) -> int:
    async with session.sources() as sources, session.connections(sources) as connections:
        with Outbox.open(session.home.outbox) as outbox:
            for finding in await resume_outbox(sources, connections, outbox):
                if finding.open:
                    say(finding.sentence)
            approval, dispatch = unused_approval(outbox, arguments.plan_id, arguments.confirm)
            await refuse_drift(sources, connections, approval, dispatch, told=say)
            waiting = await told_again(sources, approval, dispatch)
            if arguments.confirm is None:
                _ask(waiting)
            with _signer(session, dispatch, arguments.passphrase_file) as signer:
                # A word and a passphrase take their time, and the chain does not wait for them.
                now = await refuse_drift(sources, connections, approval, dispatch)
                dispatch = await _applied(sources, connections, outbox, waiting, signer, at=now)
        result = await read_result(sources, approval, dispatch)
        show_result(session, result, waiting.tokens)
    return DONE if result.done else FAILED


def _ask(waiting: Waiting) -> None:
    say(f"{waiting.approval.headline} · {waiting.approval.plan_id}")
    for line in (*word_lines(waiting.words), *warning_lines(waiting.approval.warnings)):
        say(line)
    if waiting.dispatch.private_host is not None:
        say(f"  sent through {waiting.dispatch.private_host} alone")
    say(f"  hash {waiting.approval.hash}")
    require_typed(WORD, f"Type {WORD} to sign and send this: ")


def _signer(session: Session, dispatch: Dispatch, passphrase_file: Path | None) -> Signer:
    return open_signer(
        session.home,
        session.network,
        dispatch.sender,
        lambda wallet: ask_passphrase(wallet.name, passphrase_file),
    )


async def _applied(
    sources: Sources,
    connections: Connections,
    outbox: Outbox,
    waiting: Waiting,
    signer: Signer,
    *,
    at: int,
) -> Dispatch:
    try:
        return await apply(sources, connections, outbox, waiting, signer, at=at, changed=_tell)
    except (OutboxError, RpcError, WalletError):
        say("See where things stand: zuno outbox")
        raise
    except Exception as error:
        raise InterruptedApplyError(
            f"Something failed that zuno did not foresee ({type(error).__name__}), and it may "
            "have signed and sent before. See where things stand: zuno outbox"
        ) from error


def _tell(step: Step) -> None:
    say(step_words(step))


def step_words(step: Step) -> str:
    words = f"{step.name}: {step.state}"
    if step.inclusion is not None:
        words += f" in block {step.inclusion.block_number:,}"
    return f"{words} ({step.reason})" if step.reason else words
