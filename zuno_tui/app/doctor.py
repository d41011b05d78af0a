"""`zuno doctor`: check everything zuno depends on, each with what to do when it is not well."""

from __future__ import annotations

import asyncio
import os
import shutil
import time
from typing import TYPE_CHECKING

from chain.base.home import HomeError
from zuno_tui.app.doctor_models import model_checks
from zuno_tui.app.doctor_network import (
    network_checks,
    sending_check,
    subscription_checks,
)
from zuno_tui.app.endpoint_trial import CHECK_MARKS, Check, CheckState
from zuno_tui.present.answer import CommandAnswer
from zuno_tui.present.exit_codes import DONE, FAILED, NETWORK
from zuno_tui.present.output import OutputColumn, table
from zuno_tui.settings import SettingsError

if TYPE_CHECKING:
    from zuno_tui.app.session import Session

_KEYRING_SECONDS = 3.0


async def checked(session: Session) -> CommandAnswer:
    checks = await _all_checks(session)
    rows = [(CHECK_MARKS[check.state], check.name, check.finding) for check in checks]
    columns = (OutputColumn(""), OutputColumn(session.network.title), OutputColumn(""))
    steps = (f"  → {check.name}: {check.next_step}" for check in checks if check.next_step)
    return CommandAnswer(
        lines=(*table(columns, rows), *steps),
        document={
            "network": session.network.name,
            "checks": [_as_json(check) for check in checks],
        },
        code=_code(checks),
    )


def _code(checks: list[Check]) -> int:
    broken = [check for check in checks if check.state is CheckState.BROKEN]
    if not broken:
        return DONE
    return NETWORK if any(check.about_network for check in broken) else FAILED


def forgotten(session: Session, address: str) -> CommandAnswer:
    from zuno_tui.app.doctor_memory import forget_contract

    with session.open_store() as store:
        words = forget_contract(store, session.network, address)
    return CommandAnswer((), {"forgotten": address}, remarks=(words,))


async def _memory_checks(session: Session) -> list[Check]:
    from zuno_tui.app.doctor_memory import memory_checks

    try:
        async with session.sources() as sources:
            return await memory_checks(sources)
    except (HomeError, OSError, SettingsError):
        # Said already: without a home or an endpoint there is nothing to compare.
        return []


async def _all_checks(session: Session) -> list[Check]:
    checks = [check async for check in network_checks(session)]
    checks += [check async for check in subscription_checks(session)]
    checks += await _memory_checks(session)
    checks.append(await sending_check(session))
    checks.append(_home_check(session))
    checks.append(_outbox_check(session))
    checks += _watch_checks(session)
    checks.append(await _keyring_check())
    checks += await model_checks(session)
    checks.append(_node_check())
    return checks


def _outbox_check(session: Session) -> Check:
    from chain.execution.outbox.journal import OutboxError
    from chain.execution.outbox.outbox import Outbox

    if not session.home.outbox.exists():
        return Check("outbox", CheckState.WELL, "empty: nothing was ever sent from here")
    try:
        with Outbox.open(session.home.outbox) as outbox:
            waiting = len(outbox.unresolved())
    except OutboxError as error:
        return Check("outbox", CheckState.BROKEN, error.sentence, error.next_step)
    if waiting:
        return Check("outbox", CheckState.CAUTION, f"{waiting} not settled", "See: zuno outbox")
    return Check("outbox", CheckState.WELL, "readable, and nothing in it waits")


def _home_check(session: Session) -> Check:
    try:
        session.open_store().close()
    except (HomeError, OSError) as error:
        return Check("home", CheckState.BROKEN, str(error), "Choose another: zuno --home DIR")
    return Check("home", CheckState.WELL, str(session.home.root))


def _watch_checks(session: Session) -> list[Check]:
    """Whether somebody watches, and whether alerts get where the settings send them."""
    from zuno_tui.app.health import WatchStatus, watch_health
    from zuno_tui.settings.channels import channel_settings

    health = watch_health(session.home, now=time.time())
    well = health.state in (WatchStatus.KEPT, WatchStatus.NEVER)
    state = CheckState.WELL if well else CheckState.CAUTION
    checks = [Check("monitor", state, health.sentence, "" if well else health.next_step)]
    if health.state is WatchStatus.KEPT:
        checks += [Check("alerts", CheckState.CAUTION, one) for one in health.troubles]
    try:
        channels = channel_settings(session.settings, os.environ).channels()
    except SettingsError as error:
        return [
            *checks,
            Check("channels", CheckState.BROKEN, str(error), str(session.home.settings)),
        ]
    for channel in channels:
        progress = health.channels.get(channel.name)
        if progress is None or progress.trouble is None:
            checks.append(Check(channel.name, CheckState.WELL, "set; nothing has gone wrong"))
        elif progress.stopped and progress.fingerprint == channel.fingerprint:
            checks.append(Check(channel.name, CheckState.BROKEN, f"stopped: {progress.trouble}"))
        else:
            checks.append(Check(channel.name, CheckState.CAUTION, f"delayed: {progress.trouble}"))
    return checks


async def _keyring_check() -> Check:
    from chain.wallet.errors import KeyringUnusableError
    from chain.wallet.keyring_store import find_keyring

    try:
        keyring = await asyncio.to_thread(find_keyring, _KEYRING_SECONDS)
    except KeyringUnusableError as error:
        advice = "Keys will be kept in an encrypted file with a passphrase instead."
        return Check("keyring", CheckState.CAUTION, str(error), advice)
    return Check("keyring", CheckState.WELL, f"{keyring.title} answers")


def _node_check() -> Check:
    if shutil.which("npm"):
        return Check("Node", CheckState.WELL, "npm is there; the embedded chain can be built")
    return Check(
        "Node", CheckState.CAUTION, "npm is missing", "zuno demo needs Node.js 18 or newer."
    )


def _as_json(check: Check) -> dict[str, str]:
    return {
        "name": check.name,
        "state": check.state.value,
        "finding": check.finding,
        "nextStep": check.next_step,
    }
