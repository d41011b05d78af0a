"""Worlds: written once for a seed, a size and a version of their making, then written again.

What is kept is the transactions and the times of their blocks. A new node that is sent them holds
the same contracts, positions and logs, in a tenth of the time that making them up takes.
"""

import hashlib
import os
import zlib
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from importlib.resources import files
from pathlib import Path
from typing import Literal

import msgspec
from msgspec import Struct

from chain.base.home import cache_folder, hold_lock, write_atomically
from chain.devnet.anvil import Anvil, AnvilError, bundled_lock, genesis_block, running_anvil
from chain.devnet.defaults import BLOCK_SECONDS, CHAIN_ID
from chain.devnet.json_rpc import NodeClient, NodeError, NodeRefusedError
from chain.devnet.world import writing
from chain.devnet.world.accounts import KEEPER, TRADERS, WATCH_KEY
from chain.devnet.world.demo_life import DemoLife, Event
from chain.devnet.world.deployment import (
    GENESIS_TIME,
    ContractName,
    contract_codes,
    genesis_accounts,
    place_delegations,
)
from chain.devnet.world.founding import found_world
from chain.devnet.world.market import (
    SMALL_SIZE,
    WEEK_SIZE,
    HistorySize,
    MarketClosing,
    MarketRound,
    MarketVisit,
    SimulatedMarket,
    Storage,
    history_visits,
    market_closings,
)
from chain.devnet.world.price_path import Calendar, Draws, SeededPath, seeded_path
from chain.devnet.world.v3_life import V3_TRADER, V3Life, place_v3, place_v3_router, v3_codes

Progress = Callable[[int, int], None]
"""How many of how many blocks there are."""

Size = Literal["week", "small"]

SURE_SWAPS = 4
"""A visit's arbitrage, and its crowd out, across and back."""

_SIZES = {"week": WEEK_SIZE, "small": SMALL_SIZE}
_MAGIC = b"zuno world 1\n"
_WATCH_KEY_WEI = 5 * 10**16
_END_SECONDS = 8.0


class SavedWorld(Struct, frozen=True):
    """A world as it is kept: enough to write it again, and to notice that it came out otherwise."""

    path_seed: int
    positions: dict[str, int]
    """Token ids of the demo wallet by the state each was in when the history ended."""
    blocks: tuple[writing.WrittenBlock, ...]
    next_base_fee: int
    state_root: str


class WorldMaking(Struct, frozen=True):
    """What decides a world, and who is told how far its writing is."""

    codes: Mapping[ContractName, bytes]
    seed: int
    size: Size
    chain_id: int
    progress: Progress = lambda _done, _total: None
    v3: bool = False


class World(Struct, frozen=True):
    """A node that holds a world, and the market that goes on in it."""

    seed: int
    size: Size
    chain_id: int
    anvil: Anvil
    node: NodeClient
    market: SimulatedMarket
    positions: Mapping[str, int]
    v3: bool
    """Whether its market trades in pools of v3, too."""


@contextmanager
def opened_world(
    seed: int,
    size: Size,
    *,
    chain_id: int = CHAIN_ID,
    port: int = 0,
    environment: Mapping[str, str] = os.environ,
    progress: Progress = lambda _done, _total: None,
    v3: bool = False,
) -> Iterator[World]:
    """The world on a node of its own, which mines what it is sent at once."""
    codes = contract_codes(environment)
    with _fresh_node(codes, chain_id, port, environment) as (anvil, node):
        making = WorldMaking(codes, seed, size, chain_id, progress, v3)
        with _node_watched(anvil):
            if v3:
                place_v3(node, v3_codes(environment))
            saved = _written_world(making, node, cache_folder(environment) / "worlds")
            place_delegations(node, codes)
            place_v3_router(node, codes["UniversalRouter"])
            node.ask("anvil_setBalance", WATCH_KEY.address, hex(_WATCH_KEY_WEI))
        node.ask_all(
            [
                ("anvil_setBlockTimestampInterval", (BLOCK_SECONDS,)),
                ("anvil_setNextBlockBaseFeePerGas", (hex(saved.next_base_fee),)),
                ("evm_setAutomine", (True,)),
            ]
        )
        draws = Draws(saved.path_seed)
        market = SimulatedMarket(SeededPath(draws, Calendar(draws)), _SIZES[size].sparse_seconds)
        yield World(seed, size, chain_id, anvil, node, market, saved.positions, v3)


@contextmanager
def _fresh_node(
    codes: Mapping[ContractName, bytes], chain_id: int, port: int, environment: Mapping[str, str]
) -> Iterator[tuple[Anvil, NodeClient]]:
    accounts = {address: account.fields for address, account in genesis_accounts(codes).items()}
    genesis = genesis_block(
        accounts,
        chain_id=chain_id,
        timestamp=GENESIS_TIME,
        gas_limit=writing.GAS_LIMIT,
        base_fee=writing.BASE_FEE_FLOOR,
    )
    arguments = (
        *("--chain-id", str(chain_id)),
        *("--gas-limit", str(writing.GAS_LIMIT)),
        *("--accounts", "0"),
        *("--order", "fifo"),
        "--no-mining",
        "--disable-min-priority-fee",
    )
    market = [trader.address for trader in (*TRADERS, KEEPER, V3_TRADER)]
    with (
        running_anvil(
            arguments, genesis=genesis, market=market, port=port, environment=environment
        ) as anvil,
        NodeClient(anvil.url) as node,
    ):
        yield anvil, node


@contextmanager
def _node_watched(anvil: Anvil) -> Iterator[None]:
    """Where the node is gone, how it ended says more than that it does not answer."""
    try:
        yield
    except NodeRefusedError:
        raise
    except NodeError as error:
        if not anvil.has_ended_within(_END_SECONDS):
            raise
        words = f"Anvil ended while the market's history was written. {anvil.why_ended()}"
        raise AnvilError(words) from error


def _written_world(making: WorldMaking, node: NodeClient, folder: Path) -> SavedWorld:
    """Write the saved world on this node; where there is none, make it up on it and save it."""
    other = "" if making.chain_id == CHAIN_ID else f"-chain-{making.chain_id}"
    kind = f"{'-v3' if making.v3 else ''}{other}"
    file = folder / f"{making.size}-{making.seed}-{making_digest()}{kind}.world"
    saved = _read(file)
    if saved is None:
        with hold_lock(file.with_suffix(".lock")):
            saved = _read(file)
            if saved is None:
                saved = make_world(making, node)
                _save(file, saved)
                return saved
    if not _is_written_again(making, node, saved):
        file.unlink(missing_ok=True)
        raise writing.WorldError(
            "The saved market history came out otherwise on this node. It was deleted: start again."
        )
    return saved


def _is_written_again(making: WorldMaking, node: NodeClient, saved: SavedWorld) -> bool:
    """Whether the node took every block and ended in the state that was saved."""
    writer = writing.ChainWriter(node, making.chain_id, GENESIS_TIME)
    try:
        for done, block in enumerate(saved.blocks):
            making.progress(done, len(saved.blocks))
            writer.write_again(block)
    except NodeRefusedError:
        return False
    return _state_root(node) == saved.state_root


def make_world(making: WorldMaking, node: NodeClient) -> SavedWorld:
    """Make a world up on an empty node: its contracts, its market's history, the demo's life."""
    size = _SIZES[making.size]
    market = SimulatedMarket(seeded_path(making.seed), size.sparse_seconds)
    writer = writing.ChainWriter(node, making.chain_id, GENESIS_TIME)
    found_world(writer, making.codes, market)
    life = DemoLife(market)
    moments = _moments(market, life, size, v3=making.v3)
    for done, (time, act) in enumerate(moments):
        making.progress(done, len(moments))
        with writer.block_at(time) as page:
            act(page)
    return SavedWorld(
        path_seed=market.path.draws.seed,
        positions={name: holding.token_id for name, holding in life.holdings.items()},
        blocks=tuple(writer.blocks),
        next_base_fee=writer.base_fee,
        state_root=_state_root(node),
    )


def _moments(
    market: SimulatedMarket, life: DemoLife, size: HistorySize, *, v3: bool
) -> list[Event]:
    visits, closings = history_visits(size), market_closings(market)
    set_aside = sum(len(closing.pools) for closing in closings)
    trading = SwapBudget(market, size.most_swaps - set_aside, len(visits))
    beside = V3Life(market, visits) if v3 else None

    def visit_market(visit: MarketVisit, page: writing.BlockDraft) -> None:
        trading.visit(visit, page)
        if beside is not None:
            beside.visit(visit, page)

    moments: list[Event] = [
        *((visit.time, partial(visit_market, visit)) for visit in visits),
        *((closing.time, partial(trading.close, closing)) for closing in closings),
        *life.events(),
    ]
    return sorted(moments, key=lambda moment: moment[0])


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

    def visit(self, visit: MarketVisit, page: writing.BlockDraft) -> None:
        self._send(page, self.plan(visit, page.state))

    def close(self, closing: MarketClosing, page: writing.BlockDraft) -> None:
        """Bring pools to the market's price, on swaps set aside for it."""
        self._send(page, self._market.closing_round(page.state, page.timestamp, closing.pools))

    def _send(self, page: writing.BlockDraft, round_: MarketRound) -> None:
        for intent in round_.intents:
            page.send(intent)


# Whatever decides a single byte of the chain. A change in any of these makes worlds anew.
DECIDING_MODULES = (
    "base/units",
    "contracts/abi",
    "contracts/addresses",
    "contracts/calldata",
    "contracts/pool_key",
    "contracts/storage",
    "protocols/v3/pool_key",
    "devnet/anvil",
    "devnet/world/accounts",
    "devnet/world/demo_life",
    "devnet/world/deployment",
    "devnet/world/founding",
    "devnet/world/market",
    "devnet/world/pools",
    "devnet/world/price_path",
    "devnet/world/providing",
    "devnet/world/v3_life",
    "devnet/world/worlds",
    "devnet/world/writing",
    "math/fees",
    "math/liquidity",
    "math/sqrt_price",
    "math/ticks",
)


def making_digest() -> str:
    """What the making of worlds depends on besides seed and size, as a short name."""
    digest = hashlib.sha256(bundled_lock().contracts_digest.encode())
    for module in DECIDING_MODULES:
        digest.update(files("chain").joinpath(f"{module}.py").read_bytes())
    return digest.hexdigest()[:16]


def _save(file: Path, world: SavedWorld) -> None:
    payload = zlib.compress(msgspec.msgpack.encode(world), level=6)
    write_atomically(file, _MAGIC + hashlib.sha256(payload).digest() + payload)


def _read(file: Path) -> SavedWorld | None:
    """None for a world that is not there, or that is not as it was saved: it is made anew."""
    try:
        content = file.read_bytes()
    except FileNotFoundError:
        return None
    digest, payload = content[len(_MAGIC) :][:32], content[len(_MAGIC) + 32 :]
    if not content.startswith(_MAGIC) or hashlib.sha256(payload).digest() != digest:
        return None
    try:
        return msgspec.msgpack.decode(zlib.decompress(payload), type=SavedWorld)
    except (zlib.error, msgspec.DecodeError):
        return None


def _state_root(node: NodeClient) -> str:
    return str(node.ask_fields("eth_getBlockByNumber", "latest", False)["stateRoot"])
