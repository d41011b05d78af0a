"""Worlds on disk: built once for a seed, a size and a version of their making, then loaded."""

from __future__ import annotations

import hashlib
import json
import os
from dataclasses import dataclass
from importlib.metadata import version
from importlib.resources import files
from typing import TYPE_CHECKING, Literal

from chain.devnet.node.archive import ArchiveError
from chain.devnet.node.ledger import Ledger
from chain.devnet.world.contracts import bundled_lock, contract_codes
from chain.devnet.world.draws import Draws
from chain.devnet.world.history import write_history
from chain.devnet.world.locking import locked
from chain.devnet.world.market import Market
from chain.devnet.world.phases import Calendar
from chain.devnet.world.price_path import PricePath, seeded_path
from chain.devnet.world.visits import SMALL_SIZE, WEEK_SIZE
from chain.home import cache_folder, write_atomically

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from chain.devnet.world.history import History, Progress

Size = Literal["week", "small"]

_SIZES = {"week": WEEK_SIZE, "small": SMALL_SIZE}

# Whatever decides a single byte of the chain. A change in any of these makes worlds anew.
DECIDING_MODULES = (
    "abi",
    "actions",
    "devnet/world/accounts",
    "devnet/world/assembly",
    "devnet/node/block",
    "devnet/world/demo_life",
    "devnet/world/deployment",
    "devnet/world/draws",
    "devnet/node/execution",
    "devnet/node/fees",
    "devnet/world/founding",
    "devnet/world/history",
    "devnet/world/hook_code",
    "devnet/node/machine",
    "devnet/world/market",
    "devnet/world/phases",
    "devnet/world/pool_walk",
    "devnet/world/pools",
    "devnet/world/price_path",
    "devnet/world/providing",
    "devnet/node/records",
    "devnet/node/transactions",
    "devnet/world/visits",
    "devnet/world/writing",
    "keccak",
    "math/fees",
    "math/liquidity",
    "math/sqrt_price",
    "math/ticks",
    "pool_key",
    "public_keys",
    "storage",
)
DECIDING_PACKAGES = ("py-evm",)


@dataclass(frozen=True, slots=True)
class World:
    seed: int
    size: Size
    ledger: Ledger
    market: Market
    positions: Mapping[str, int]
    """Token ids of the demo wallet by the state each was in when the history ended."""


def open_world(
    seed: int,
    size: Size,
    *,
    environment: Mapping[str, str] = os.environ,
    progress: Progress | None = None,
) -> World:
    """The world from the cache, built first if it is not there or no longer sound."""
    folder = cache_folder(environment) / "worlds"
    stem = folder / f"{size}-{seed}-{making_digest()}"
    chain, notes = stem.with_suffix(".chain"), stem.with_suffix(".json")
    with locked(stem.with_suffix(".lock")):
        try:
            return _loaded(seed, size, chain, notes)
        except (FileNotFoundError, ArchiveError):
            history = _history(seed, size, environment, progress)
            _save(history, chain, notes)
            return _loaded(seed, size, chain, notes)


def making_digest() -> str:
    """What the making of worlds depends on besides seed and size, as a short name."""
    digest = hashlib.sha256(bundled_lock().digest.encode())
    for package in DECIDING_PACKAGES:
        digest.update(f"{package} {version(package)}\n".encode())
    for module in DECIDING_MODULES:
        digest.update(files("chain").joinpath(f"{module}.py").read_bytes())
    return digest.hexdigest()[:16]


def _history(
    seed: int, size: Size, environment: Mapping[str, str], progress: Progress | None
) -> History:
    codes = contract_codes(environment)
    return write_history(codes, Market(seeded_path(seed)), _SIZES[size], progress)


def _save(history: History, chain: Path, notes: Path) -> None:
    content = {
        "pathSeed": history.market.path.draws.seed,
        "positions": history.positions,
    }
    write_atomically(notes, json.dumps(content).encode())
    # The chain comes last: where it is, the notes are too.
    history.ledger.save(chain)


def _loaded(seed: int, size: Size, chain: Path, notes: Path) -> World:
    ledger = Ledger.load(chain)
    content = json.loads(notes.read_bytes())
    draws = Draws(content["pathSeed"])
    market = Market(PricePath(draws, Calendar(draws)))
    return World(seed, size, ledger, market, content["positions"])
