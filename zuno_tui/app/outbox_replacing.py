"""`zuno outbox cancel` and `zuno outbox speed-up`: what waits, replaced under its own nonce."""

from __future__ import annotations

from typing import TYPE_CHECKING

from chain.wallet.keystore import open_signer
from zuno_tui.app.confirming import may_have_sent, require_typed
from zuno_tui.app.session import Session, say
from zuno_tui.app.wallet_secrets import ask_passphrase
from zuno_tui.gate.limits import gate_limits
from zuno_tui.gate.refusal import GateRefusedError
from zuno_tui.gate.replace import replacement_of, send_replacement, waiting_dispatch
from zuno_tui.present.exit_codes import DONE
from zuno_tui.present.output import print_json

if TYPE_CHECKING:
    from argparse import Namespace

    from chain.execution.outbox.outbox import Outbox
    from chain.positions.overview import Sources
    from zuno_tui.gate.connections import Connections


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
    if arguments.confirm is None:
        require_typed(action, f"Type {action} to sign and send this: ")
    elif arguments.confirm != dispatch.hash:
        raise GateRefusedError(
            f"That hash is not the one of {dispatch.plan_id}. Nothing was sent. "
            "See it: zuno outbox --json"
        )
    with (
        open_signer(
            session.home,
            session.network,
            dispatch.sender,
            lambda wallet: ask_passphrase(wallet.name, arguments.passphrase_file),
        ) as signer,
        may_have_sent(),
    ):
        step = await send_replacement(
            sources, connections, outbox, replacement, signer, limits=limits
        )
    newest = step.newest
    if session.as_json:
        print_json(
            {
                "planId": dispatch.plan_id,
                "step": step.name,
                "state": step.state,
                "hash": None if newest is None else newest.transaction.hash,
            }
        )
    say(f"{step.name}: {action} {step.state}. Follow it: zuno outbox")
    return DONE
