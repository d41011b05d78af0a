"""What the doctor asks of models: every server that any role of a debate would ask."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from chain.base.http import HttpClient, HttpError, HttpLimits
from chain.base.units import MEGABYTE
from zuno_tui.app.endpoint_trial import Check, CheckState
from zuno_tui.settings import SettingsError
from zuno_tui.settings.debates import debate_settings

if TYPE_CHECKING:
    from agents.model.settings import ModelSettings
    from zuno_tui.app.session import Session
    from zuno_tui.settings.models import ModelChoice

_SECONDS = 5.0
_STEP = "What is set: zuno model. Until then the rules speak in its place."


async def model_checks(session: Session) -> list[Check]:
    """One for each server that is asked, with the roles that ask it."""
    try:
        chosen = debate_settings(session.settings, os.environ, profile=None, deterministic=False)
    except SettingsError as error:
        return [Check("model", CheckState.BROKEN, str(error), str(session.home.settings))]
    if chosen.model is None:
        first = chosen.choices[0]
        why = "deterministic is chosen" if first.has_key else first.values["key"].shown
        return [Check("model", CheckState.WELL, f"none ({why}): debates run on the rules alone")]
    servers: dict[tuple[str, str, str], list[ModelChoice]] = {}
    for choice in chosen.choices:
        settings = choice.settings
        server = settings.base_url, settings.api_key, settings.keyring_name
        servers.setdefault(server, []).append(choice)
    return [await _check(choices, alone=len(servers) == 1) for choices in servers.values()]


async def _check(choices: list[ModelChoice], *, alone: bool) -> Check:
    roles = ", ".join(choice.role for choice in choices)
    name = "model" if alone else f"model of {roles}"
    settings = choices[0].settings
    models = ", ".join(dict.fromkeys(choice.settings.model for choice in choices))
    if settings.keyring_name:
        return Check(name, CheckState.WELL, f"{models} is set; ask it: zuno model test")
    if not settings.api_key:
        return Check(name, CheckState.CAUTION, f"no key: {choices[0].values['key'].shown}", _STEP)
    fault = await _fault(settings)
    if fault is not None:
        return Check(name, CheckState.CAUTION, f"{settings.host}: {fault}", _STEP)
    return Check(name, CheckState.WELL, f"{settings.host} answers for {models}")


async def _fault(settings: ModelSettings) -> str | None:
    """Why the server's list of models cannot be had; None where it can."""
    client = HttpClient(settings.base_url)
    try:
        answer = await client.get(
            f"{settings.base_url.rstrip('/')}/models",
            {"authorization": f"Bearer {settings.api_key}"},
            HttpLimits(_SECONDS, _SECONDS, MEGABYTE, cut=True),
        )
    except HttpError as error:
        return str(error)
    finally:
        await client.close()
    return None if answer.status == 200 else f"refused with HTTP {answer.status}"
