"""The units things are counted in, and the one form an address has."""

from __future__ import annotations

import re

BIPS = 10_000
"""A basis point is one in so many."""
PIPS = 1_000_000
"""Uniswap counts fees in one of so many."""
MICRO = 1_000_000
"""Dollars are kept in integers of one in so many."""
GWEI = 10**9
COIN = 10**18
"""Wei in one of a network's own coin."""
HOUR = 3_600
"""In seconds."""
DAY = 86_400
"""In seconds."""
MEGABYTE = 1_000_000
ADDRESS = re.compile(r"0x[0-9a-fA-F]{40}")
"""Of an account or contract, its checksum not looked at."""
