"""Which variables of the environment look as if they held a secret, by their names."""

import re
from collections.abc import Mapping

_SECRET = re.compile(
    r"PASS|SECRET|PRIVATE|MNEMONIC|KEYSTORE|SEED|TOKEN|TELEGRAM|WEBHOOK|CREDENTIAL|_KEY",
    re.IGNORECASE,
)
_OF_READING = re.compile(
    r"(OPENAI|ANTHROPIC|GEMINI|OPENROUTER|DEEPSEEK|GROQ)_\w+|ZUNO_(MODEL|COINGECKO)\w*"
)
"""What a debate speaks to its models with, and what prices are read with."""


def without_secrets(environment: Mapping[str, str]) -> dict[str, str]:
    """For a child that reads and argues."""
    return {
        name: value
        for name, value in environment.items()
        if not _SECRET.search(name) or _OF_READING.fullmatch(name)
    }


def without_any_key(environment: Mapping[str, str]) -> dict[str, str]:
    """For a child that asks no model: models' keys are left out, too."""
    return {
        name: value
        for name, value in environment.items()
        if not _SECRET.search(name) and not _OF_READING.fullmatch(name)
    }
