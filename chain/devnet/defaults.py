"""What the embedded chain starts with and where it listens, in a module that costs nothing."""

import os
from collections.abc import Mapping
from pathlib import Path
from urllib.parse import urlsplit

from chain.base.home import cache_folder

CHAIN_ID = 31337

DEMO_SEED = 3
"""A calm day behind, a position that leaves its range in half a minute, a shock some minutes on."""

DEMO_SPEED = 60.0
"""A simulated minute each second."""

BLOCK_SECONDS = 12


def control_url(url: str) -> str:
    """Where the market of the chain at this URL is steered: at the next port.

    The demo exchange publishes its pages there, too.
    """
    parts = urlsplit(url)
    return f"{parts.scheme}://{parts.hostname}:{(parts.port or 80) + 1}"


def control_door(url: str, environment: Mapping[str, str] = os.environ) -> str:
    """Where it is steered by whoever may read this user's files: the token is in one."""
    at = control_url(url)
    try:
        token = token_file(int(at.rpartition(":")[2]), environment).read_text("ascii")
    except (OSError, ValueError):
        token = ""
    return f"{at}/{token}"


def token_file(port: int, environment: Mapping[str, str]) -> Path:
    return cache_folder(environment) / "control" / str(port)
