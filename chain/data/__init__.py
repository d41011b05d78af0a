"""Tables that are shipped: networks, tokens, code hashes."""

from pathlib import Path


def data_file(*name: str) -> Path:
    return Path(__file__).parent.joinpath(*name)
