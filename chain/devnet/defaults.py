"""What the demo starts with, in a module that costs nothing to import."""

from __future__ import annotations

DEMO_SEED = 3
"""A calm day behind, a position that leaves its range in half a minute, a shock some minutes on."""

DEMO_SPEED = 60.0
"""A simulated minute each second."""
