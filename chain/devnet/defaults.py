"""What the embedded chain starts with and where it listens, in a module that costs nothing."""

from urllib.parse import urlsplit

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
