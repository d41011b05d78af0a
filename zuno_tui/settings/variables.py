"""Which environment variable goes before which setting of the file; every reader asks here."""

from __future__ import annotations

from collections.abc import Mapping

VARIABLES: Mapping[str, str] = {
    "network": "ZUNO_NETWORK",
    "address": "ZUNO_ADDRESS",
    "unit": "ZUNO_UNIT",
    "rpc": "ZUNO_RPC",
    "send": "ZUNO_SEND_RPC",
    "coingecko.url": "ZUNO_COINGECKO_URL",
    "coingecko.key": "ZUNO_COINGECKO_KEY",
    "defillama.url": "ZUNO_DEFILLAMA_URL",
    "debate.profile": "ZUNO_RISK_PROFILE",
    "debate.rounds": "ZUNO_MAX_DEBATE_ROUNDS",
    "debate.deterministic": "ZUNO_DETERMINISTIC",
    "debate.transport": "ZUNO_TRANSPORT",
    "model.name": "ZUNO_AGENT_MODEL",
    "telegram.token": "ZUNO_TELEGRAM_TOKEN",
    "telegram.chat": "ZUNO_TELEGRAM_CHAT",
    "telegram.url": "ZUNO_TELEGRAM_URL",
    "webhook.url": "ZUNO_WEBHOOK_URL",
    "webhook.secret": "ZUNO_WEBHOOK_SECRET",
    "demo.anvil": "ZUNO_ANVIL",
    "screen.theme": "ZUNO_THEME",
    "screen.reading_pace": "ZUNO_READING_PACE",
}
"""By a setting's place in the file; `rpc` and `send` are those of the network of the run."""


def variable_of(place: str) -> str | None:
    """The variable that goes before a setting like `limits.daily_usd`; None where none does."""
    return VARIABLES.get(place) or VARIABLES.get(place.partition(".")[0])


def told(environment: Mapping[str, str], place: str) -> str | None:
    """What the environment says in a setting's stead; one that is empty says nothing."""
    return environment.get(VARIABLES[place]) or None
