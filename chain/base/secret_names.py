"""Which variables of the environment look as if they held a secret, by their names."""

import re
from collections.abc import Mapping

_SECRET = re.compile(
    r"PASS|SECRET|PRIVATE|MNEMONIC|KEYSTORE|SEED|TOKEN|TELEGRAM|WEBHOOK|CREDENTIAL|_KEY",
    re.IGNORECASE,
)
_OF_MODELS = re.compile(r"(OPENAI|ANTHROPIC|GEMINI|OPENROUTER|DEEPSEEK|GROQ)_\w+|ZUNO_MODEL\w*")
_OF_PRICES = re.compile(r"ZUNO_COINGECKO\w*")


def without_secrets(environment: Mapping[str, str], *, for_models: bool) -> dict[str, str]:
    """For a child that reads prices, and argues where it may speak to models."""
    return {
        name: value
        for name, value in environment.items()
        if (for_models if _OF_MODELS.fullmatch(name) else not _SECRET.search(name))
        or _OF_PRICES.fullmatch(name)
    }
