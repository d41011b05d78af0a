"""Worlds on disk: built once for a seed, a size and a version of their making, then loaded."""

from __future__ import annotations

import hashlib
import json
import os
from functools import partial
from importlib.metadata import version
from importlib.resources import files
from typing import TYPE_CHECKING, Literal

from msgspec import Struct

from chain.base.home import cache_folder, write_atomically
from chain.base.locks import locked
from chain.devnet.node.archive import ArchiveError
from chain.devnet.node.ledger import ChainLedger
from chain.devnet.node.records import CHAIN_ID
from chain.devnet.world.contracts import bundled_lock, contract_codes
from chain.devnet.world.demo_life import DemoLife
from chain.devnet.world.draws import Draws
from chain.devnet.world.founding import found
from chain.devnet.world.market import SimulatedMarket
from chain.devnet.world.phases import Calendar
from chain.devnet.world.price_path import SeededPath, seeded_path
from chain.devnet.world.visits import SMALL_SIZE, WEEK_SIZE, history_visits, market_closings
from chain.devnet.world.writing import block_at

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

    from chain.devnet.world.contracts import ContractName
    from chain.devnet.world.demo_life import Event
    from chain.devnet.world.market import MarketRound, MarketVisit, Storage
    from chain.devnet.world.visits import HistorySize, MarketClosing
    from chain.devnet.world.writing import BlockDraft

    Progress = Callable[[int, int], None]

SURE_SWAPS = 4
"""A visit's arbitrage, and its crowd out, across and back."""


class WorldHistory(Struct, frozen=True):
    ledger: ChainLedger
    market: SimulatedMarket
    positions: dict[str, int]
    """Token ids of the demo wallet by the state each is in."""


def write_history(
    codes: Mapping[ContractName, bytes],
    market: SimulatedMarket,
    size: HistorySize,
    progress: Progress | None = None,
    *,
    chain_id: int = CHAIN_ID,
) -> WorldHistory:
    ledger = found(codes, market, chain_id=chain_id)
    life = DemoLife(market)
    visits = history_visits(size)
    closings = market_closings(market)
    set_aside = sum(len(closing.pools) for closing in closings)
    trading = SwapBudget(market, size.most_swaps - set_aside, len(visits))
    moments: list[Event] = [
        *((visit.time, partial(trading.visit, visit)) for visit in visits),
        *((closing.time, partial(trading.close, closing)) for closing in closings),
        *life.events(),
    ]
    for done, (time, act) in enumerate(sorted(moments, key=lambda moment: moment[0])):
        if progress is not None:
            progress(done, len(moments))
        with block_at(ledger, time) as page:
            act(page)
    positions = {name: holding.token_id for name, holding in life.holdings.items()}
    return WorldHistory(ledger, market, positions)


class SwapBudget:
    """Spends the week's swaps: each visit to come is sure of its own, shocks may use the rest."""

    def __init__(self, market: SimulatedMarket, budget: int, visits: int) -> None:
        self._market = market
        self._budget = budget
        self._visits_left = visits
        self._spent = 0

    def plan(self, visit: MarketVisit, state: Storage) -> MarketRound:
        self._visits_left -= 1
        allowed = self._budget - self._spent - self._visits_left * SURE_SWAPS
        planned = self._market.round(state, visit, most_swaps=allowed)
        self._spent += len(planned.swaps)
        return planned

    def visit(self, visit: MarketVisit, page: BlockDraft) -> None:
        self._send(page, self.plan(visit, page.state))

    def close(self, closing: MarketClosing, page: BlockDraft) -> None:
        """Bring pools to the market's price, on swaps set aside for it."""
        self._send(page, self._market.closing(page.state, page.timestamp, closing.pools))

    def _send(self, page: BlockDraft, round_: MarketRound) -> None:
        for intent in round_.intents:
            page.send(intent)


Size = Literal["week", "small"]

_SIZES = {"week": WEEK_SIZE, "small": SMALL_SIZE}

# Whatever decides a single byte of the chain. A change in any of these makes worlds anew.
DECIDING_MODULES = (
    "base/units",
    "contracts/abi",
    "contracts/calldata",
    "contracts/keccak",
    "contracts/pool_key",
    "contracts/public_keys",
    "contracts/storage",
    "devnet/node/block",
    "devnet/node/execution",
    "devnet/node/fast_code",
    "devnet/node/fees",
    "devnet/node/machine",
    "devnet/node/records",
    "devnet/node/transactions",
    "devnet/world/accounts",
    "devnet/world/demo_life",
    "devnet/world/deployment",
    "devnet/world/draws",
    "devnet/world/founding",
    "devnet/world/hook_code",
    "devnet/world/market",
    "devnet/world/phases",
    "devnet/world/pool_walk",
    "devnet/world/pools",
    "devnet/world/price_path",
    "devnet/world/providing",
    "devnet/world/visits",
    "devnet/world/worlds",
    "devnet/world/writing",
    "math/fees",
    "math/liquidity",
    "math/sqrt_price",
    "math/ticks",
)
DECIDING_PACKAGES = ("py-evm",)


class World(Struct, frozen=True):
    seed: int
    size: Size
    ledger: ChainLedger
    market: SimulatedMarket
    positions: Mapping[str, int]
    """Token ids of the demo wallet by the state each was in when the history ended."""


def open_world(
    seed: int,
    size: Size,
    *,
    chain_id: int = CHAIN_ID,
    environment: Mapping[str, str] = os.environ,
    progress: Progress | None = None,
) -> World:
    """The world from the cache, built first if it is not there or no longer sound."""
    folder = cache_folder(environment) / "worlds"
    other = "" if chain_id == CHAIN_ID else f"-chain-{chain_id}"
    stem = folder / f"{size}-{seed}-{making_digest()}{other}"
    chain, notes = stem.with_suffix(".chain"), stem.with_suffix(".json")
    load = partial(_loaded, seed, size, chain_id)
    with locked(stem.with_suffix(".lock")):
        try:
            return load(chain, notes)
        except (FileNotFoundError, ArchiveError):
            history = _history(seed, size, chain_id, environment, progress)
            _save(history, chain, notes)
            return load(chain, notes)


def making_digest() -> str:
    """What the making of worlds depends on besides seed and size, as a short name."""
    digest = hashlib.sha256(bundled_lock().digest.encode())
    for package in DECIDING_PACKAGES:
        digest.update(f"{package} {version(package)}\n".encode())
    for module in DECIDING_MODULES:
        digest.update(files("chain").joinpath(f"{module}.py").read_bytes())
    return digest.hexdigest()[:16]


def _history(
    seed: int,
    size: Size,
    chain_id: int,
    environment: Mapping[str, str],
    progress: Progress | None,
) -> WorldHistory:
    market = SimulatedMarket(seeded_path(seed), _SIZES[size].sparse_seconds)
    return write_history(
        contract_codes(environment), market, _SIZES[size], progress, chain_id=chain_id
    )


def _save(history: WorldHistory, chain: Path, notes: Path) -> None:
    content = {
        "pathSeed": history.market.path.draws.seed,
        "positions": history.positions,
    }
    write_atomically(notes, json.dumps(content).encode())
    # The chain comes last: where it is, the notes are too.
    history.ledger.save(chain)


def _loaded(seed: int, size: Size, chain_id: int, chain: Path, notes: Path) -> World:
    ledger = ChainLedger.load(chain, chain_id=chain_id)
    content = json.loads(notes.read_bytes())
    draws = Draws(content["pathSeed"])
    market = SimulatedMarket(SeededPath(draws, Calendar(draws)), _SIZES[size].sparse_seconds)
    return World(seed, size, ledger, market, content["positions"])
