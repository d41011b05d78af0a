"""Real prices, fees and liquidity, where they lie beside the project; they are no part of it."""

import os
from pathlib import Path

import pytest

_BESIDE = Path(__file__).parent.parent.parent / "shared" / "data"


def market_data(name: str) -> Path:
    """A file of `ZUNO_DATA`, or of `../shared/data`; without it the test is skipped."""
    path = Path(os.environ.get("ZUNO_DATA", _BESIDE)) / name
    if not path.is_file():
        pytest.skip(f"{name} is not there; set ZUNO_DATA to the folder that has it")
    return path
