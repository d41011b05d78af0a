"""Orders over made-up markets, with spikes, reorganisations, crashes and an endpoint that lies."""

import asyncio
import json
import os
import random
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, field, replace
from fractions import Fraction
from pathlib import Path
from typing import Any, Literal

import httpx2
import pytest
from msgspec import UNSET, convert
from msgspec.structs import replace as with_fields

from agents.bus.plan_store import PlanStore
from chain.base.home import Home
from chain.contracts.calldata import Burn, Decrease, TakePair
from chain.contracts.delegation import DELEGATION_MANAGER, LIMITED_CALLS
from chain.contracts.networks import NATIVE, network_named
from chain.contracts.pool_key import PoolKey
from chain.contracts.signed_delegation import ask_count, disable
from chain.devnet.world.accounts import DEMO_WALLET, MEDIUM_PROVIDER, STRANGER, WATCH_KEY
from chain.math.drift import Span
from chain.math.liquidity import Amounts
from chain.positions.by_day import worth
from chain.protocols.reference import position_name
from chain.standing_orders.book import StandingOrders
from chain.standing_orders.call import OrderCall, call_in
from chain.standing_orders.order import (
    FeesOver,
    LossOver,
    OutOfRange,
    PricePast,
    StandingOrder,
    StandingState,
    delegation_text,
)
from chain.wallet.demo import demo_key
from chain.wallet.local_key import LocalKey
from chain.wallet.signer import Signer
from tests import node_rpc
from tests.agents.monitor.walked_market import WalkedPool
from tests.chain.moves import Moves
from tests.embedded_chain import embedded_chain
from tests.fakes.proxy import Answer, Call, Proxy
from tests.printed import printed
from tests.zuno_tui.conftest import CommandLine
from tests.zuno_tui.gate.desk import Desk
from tests.zuno_tui.gate.test_standing_orders import STATE, Watching, level, redeemable
from zuno_tui.features.orders.signing import FLOW

NETWORK = network_named("devnet")
WalkKind = Literal["any", "compound", "move"]
STEPS = 12
SLICES, WALKS_A_SLICE = 50, 10
LEASH = 400
HOLD, LEAST_BLOCKS = 120, 3


class CrashError(Exception):
    """As if the process had been killed."""


@dataclass
class Look:
    time: int
    block: int
    met: bool


@dataclass
class Machine:
    watching: Watching
    looks: list[Look] = field(default_factory=list)


@dataclass
class Walk:
    desk: Desk
    chance: random.Random
    machines: list[Machine]
    order: StandingOrder
    pool: str
    lies: list[str]
    """What the lying endpoint tells instead of the pool's price, as hexadecimal digits."""
    entry: tuple[Amounts, Amounts]
    """What went into the position, and what came out of it before the walk."""
    market: WalkedPool
    start: int
    """The tick from which the price does not go far."""
    over: tuple[str, int] | None = None
    """What its owner did that leaves nothing to be carried out, and how often it was by then."""

    @property
    def call(self) -> OrderCall:
        return call_in(self.order, NETWORK)

    @property
    def used(self) -> int:
        data = "0x" + ask_count(self.order.delegation_signed).hex()
        return int(self.desk.ask("eth_call", {"to": LIMITED_CALLS, "data": data}, "latest"), 16)

    @property
    def block(self) -> dict[str, str]:
        found: dict[str, str] = self.desk.ask("eth_getBlockByNumber", "latest", False)
        return found

    def is_met(self, machine: Machine, now: int) -> bool:
        """By the chain itself."""
        condition = self.order.condition
        match condition:
            case PricePast():
                return condition.is_met(self.desk.price(self.pool))
            case OutOfRange():
                return bool(self._position["status"] != "in range")
            case LossOver(bips):
                return self._lost() * 10_000 > bips
            case FeesOver(_, seconds):
                last = machine.watching.order().progress.last_done
                return self._is_earned() and (last is None or now - last >= seconds)

    def _is_earned(self) -> bool:
        """Whether enough fees wait, and they cover the step at a price it was signed for."""
        told, price, entry = self._position, self.desk.price(self.pool), self.call.entry
        fees = Amounts(int(told["fees0"]), int(told["fees1"]))
        condition = self.order.condition
        assert isinstance(condition, FeesOver)
        span = Span(told["tickLower"], told["tickUpper"])
        step = 0 if entry is None else entry.liquidity
        need = span.holds(price, step, round_up=True)
        most = fees if entry is None else entry.most
        return float(worth(fees, price)) >= condition.micro_usd * 0.999 and all(
            part <= min(there, limit) for part, there, limit in zip(need, fees, most, strict=True)
        )

    @property
    def _position(self) -> dict[str, Any]:
        return self.desk.positions()[str(self.desk.token_id(STATE))]

    def _lost(self) -> Fraction:
        """Against having held what went in, as a share of it."""
        price, found = self.desk.price(self.pool), self._position
        deposited, taken = self.entry
        have = [int(found[f"amount{place}"]) + int(found[f"fees{place}"]) for place in (0, 1)]
        now = worth(Amounts(have[0] + taken.amount0, have[1] + taken.amount1), price)
        return (worth(deposited, price) - now) / worth(deposited, price)

    def step(self) -> None:
        chance, market = self.chance, self.market
        match chance.randrange(10):
            case 0 | 1 | 2 | 3:
                self._move(chance.choice((-180, -120, 120, 180)))
            case 4:  # a spike of one block
                before = market.tick
                self._move(chance.choice((-250, 250)))
                self._look()
                market.push(before - market.tick)
            case 5 if self.over is None:
                self.desk.ask("anvil_reorg", 2, [])
            case 6:
                for machine in self.machines:
                    machine.watching = Watching(machine.watching.desk)
            case _:
                pass
        self.desk.ask("anvil_mine", hex(chance.randrange(2, 7)), "0xc")
        self._look()

    def interfere(self) -> None:
        """Its owner changes his mind without zuno."""
        what = self.chance.choice(("burned", "given away", "made smaller", "cancelled"))
        if self.over is not None or not self.is_open():
            return
        moves, token_id = self.market.moves, self.desk.token_id(STATE)
        pair = TakePair(self.market.key.currency0, self.market.key.currency1, DEMO_WALLET.address)
        part = int(self._position["liquidity"]) // 3
        if what == "made smaller" and not part:
            return  # its order has just emptied it
        if what == "burned":
            moves.modify(DEMO_WALLET, Burn(token_id, 0, 0), pair)
        elif what == "given away":
            moves.give(DEMO_WALLET, STRANGER.address, token_id)
        elif what == "made smaller":
            moves.modify(DEMO_WALLET, Decrease(token_id, part, 0, 0), pair)
            if self.call.kind == "compound":
                return  # fees of a smaller position go on
        else:
            moves.send(DEMO_WALLET, DELEGATION_MANAGER, disable(self.order.delegation_signed))
        self.over = what, self.used

    def _move(self, ticks: int) -> None:
        if abs(self.market.tick + ticks - self.start) < LEASH:
            self.market.push(ticks)

    def _look(self) -> None:
        self.lies[:] = [f"{self.desk.price(self.pool):040x}"]
        head = self.block
        time, number = int(head["timestamp"], 16), int(head["number"], 16)
        # Before anybody looks: the first of two may close the position.
        is_open = self.is_open()
        met_for = [is_open and self.is_met(machine, time) for machine in self.machines]
        for machine, met in zip(self.machines, met_for, strict=True):
            before = machine.watching.order().progress
            crash, after = self.chance.random() < 0.1, self.chance.random() < 0.5
            try:
                with crashing(after=after) if crash else nullcontext():
                    asyncio.run(machine.watching.keeper.look())
            except CrashError:
                machine.watching = Watching(machine.watching.desk)
                if not after:
                    continue  # what it saw it never knew
            after_look = machine.watching.order().progress
            # A look that failed, or took too long, neither confirms a condition nor ends it.
            seen = after_look.looked_at != before.looked_at or after_look.state != before.state
            if before.state is StandingState.WAITING and seen:
                machine.looks.append(Look(time, number, met))

    def is_open(self) -> bool:
        return self.desk.owns(self.desk.token_id(STATE))


@contextmanager
def crashing(*, after: bool) -> Iterator[None]:
    """Ends the process as it writes something down of an order: before it does, or right after."""
    put = Path.replace

    def replaced(path: Path, target: Path) -> Path:
        if "orders" not in Path(target).parts:
            return put(path, target)
        if after:
            put(path, target)
        raise CrashError

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Path, "replace", replaced)
        yield


def held_long_enough(looks: list[Look]) -> bool:
    """Whether the last looks, one after the other, all found the condition true for its time."""
    run: list[Look] = []
    for look in reversed(looks):
        if not look.met:
            break
        run.append(look)
    return (
        len(run) > 1
        and run[0].time - run[-1].time >= HOLD
        and run[0].block - run[-1].block >= LEAST_BLOCKS
    )


def sign_here(desk: Desk, *words: str) -> tuple[StandingOrder, ...]:
    return signed_page(desk, *words)[1]


def signed_page(desk: Desk, *words: str) -> tuple[dict[str, Any], tuple[StandingOrder, ...]]:
    """As `apply` does, in this process because that is faster: what is shown, and all orders of
    the page."""
    proposed = desk.here("order", *words, "--json")
    assert proposed.code == 0, proposed.words
    home = Home.locate(os.environ, desk.command.home)
    document = PlanStore(home.plans).find(proposed.data["planId"], FLOW)
    orders = convert(document["orders"], tuple[StandingOrder, ...])
    book = StandingOrders(home.orders)
    with Signer(LocalKey(demo_key(home.cache)), orders[0].chain_id) as signer:
        signed = [signer.sign_delegation(order.delegation_signed) for order in orders]
    return proposed.data, tuple(
        book.add(with_fields(order, delegation=delegation_text(done)))
        for order, done in zip(orders, signed, strict=True)
    )


def _liar(desk: Desk, lies: list[str], chance: random.Random) -> Proxy:
    """Tells a price far from the pool's, whoever asks."""
    other = f"{desk.price(_pool(desk)) * chance.choice((97, 103)) // 100:040x}"

    def answer(call: Call) -> Answer | None:
        if call["method"] != "eth_call" or not lies:
            return None
        told = node_rpc.answer_of(desk.devnet.url, call["method"], *call["params"])
        changed = json.loads(json.dumps(told).replace(lies[0], other))
        return {key: changed[key] for key in ("result", "error") if key in changed}

    return Proxy(desk.devnet.url, answer)


def _pool(desk: Desk) -> str:
    return desk.pool_id(STATE)


def _words(
    desk: Desk, chance: random.Random, kind: WalkKind, market: WalkedPool
) -> tuple[str, ...]:
    token_id = str(desk.token_id(STATE))
    if kind == "compound":
        dollars = f"${chance.choice((0.5, 2.0, 5.0, 90.0, 150.0)):.2f}"
        return ("compound", token_id, "every", "3m", "over", dollars, "times", "2")
    if kind == "move":
        return _moving(desk, chance, market)
    match chance.randrange(5):
        case 0:
            return ("close", token_id, "below", level(desk, chance.uniform(0.988, 0.997)))
        case 1:
            return ("close", token_id, "above", level(desk, chance.uniform(1.003, 1.012)))
        case 2:
            return ("close", token_id, "loss-over", f"{chance.uniform(0.01, 0.3):.2f}%")
        case 3:
            return ("collect", token_id, "every", "3m", "over", "$0.000001", "times", "2")
        case _:
            return ("close", token_id, "out-of-range", "3m", "--hold", "2m")


def _moving(desk: Desk, chance: random.Random, market: WalkedPool) -> tuple[str, ...]:
    """Near an end of the range, a little further: once, or into a position that is there."""
    told, token_id = desk.positions()[str(desk.token_id(STATE))], str(desk.token_id(STATE))
    _to_an_edge(desk, market, chance)
    rises = abs(market.tick - told["tickUpper"]) < abs(market.tick - told["tickLower"])
    shift = chance.randrange(1, 9) * told["tickSpacing"] * (1 if rises else -1)
    end = told["priceUpper" if rises else "priceLower"] * 1.0001**shift
    words = ("move", token_id, "up" if rises else "down", "to", f"{end:.4f}")
    if chance.random() < 0.5:
        return words
    ticks = (told["tickLower"] + shift, told["tickUpper"] + shift)
    market.moves.mint(MEDIUM_PROVIDER, market.key, [ticks], 1, desk.devnet.wallet)
    return (*words, "--follow", "1")


def _key(desk: Desk) -> PoolKey:
    told = desk.positions()[str(desk.token_id(STATE))]
    pair = (told["currency0"], told["currency1"])
    return PoolKey(*pair, told["fee"], told["tickSpacing"], told["hooks"])


def _to_an_edge(desk: Desk, market: WalkedPool, chance: random.Random) -> None:
    """The range is wider than a market walks: one that begins in its middle never leaves it."""
    told = desk.positions()[str(desk.token_id(STATE))]
    goal = chance.choice((told["tickLower"] + 20, told["tickUpper"] - 20))
    for _ in range(3):  # liquidity changes on the way
        market.push(goal - market.tick)


def _entry(desk: Desk, token_id: int) -> tuple[Amounts, Amounts]:
    account = desk.here("inspect", str(token_id), "--json").data["sinceEntry"]

    def amounts(*names: str) -> Amounts:
        return Amounts(
            *(sum(int(account[name][f"amount{place}"]) for name in names) for place in (0, 1))
        )

    return amounts("deposited"), amounts("withdrawn", "feesCollected")


def walk(
    desk: Desk,
    seed: int,
    tmp_path: Path,
    entry: tuple[Amounts, Amounts],
    kind: WalkKind,
) -> tuple[str, StandingState]:
    """One market with one order, watched by one or two machines through three endpoints."""
    chance, lies = random.Random(seed), list[str]()
    pool = _pool(desk)
    token_id = desk.token_id(STATE)
    with (
        httpx2.Client(verify=False) as http,
        _liar(desk, lies, chance) as liar,
        Proxy(desk.devnet.url) as first,
        Proxy(desk.devnet.url) as second,
    ):
        market = WalkedPool(Moves(http, desk.devnet.url, NETWORK), _key(desk))
        order, *_ = sign_here(desk, *_words(desk, chance, kind, market))
        if isinstance(order.condition, OutOfRange):
            _to_an_edge(desk, market, chance)
        urls = [first.url, second.url, liar.url]
        chance.shuffle(urls)
        homes = [desk.command.home]
        if chance.random() < 0.5:
            other = CommandLine(tmp_path / f"other-{seed}")
            other.home.mkdir(mode=0o700)
            folder = Home.locate(os.environ, other.home).orders
            StandingOrders(folder).add(order)
            homes.append(other.home)
        machines = [
            Machine(Watching(replace(desk, command=CommandLine(home), rpc=",".join(urls))))
            for home in homes
        ]
        walked = Walk(desk, chance, machines, order, pool, lies, entry, market, market.tick)
        call = walked.call
        held = [desk.held(call.recipient, each) for each in call.currencies if each != NATIVE]
        upset = chance.randrange(STEPS) if kind != "any" and chance.random() < 0.4 else None
        for step in range(STEPS):
            if step == upset:
                walked.interfere()
            walked.step()
        _settle(walked)
        _assert_as_defined(walked, token_id, held)
    progress = machines[0].watching.order().progress
    # A collect that may come again waits meanwhile.
    state = StandingState.DONE if progress.done else progress.state
    told = type(order.condition).__name__ if kind == "any" else call.kind
    return told if walked.over is None else f"{told}, {walked.over[0]}", state


def _settle(walked: Walk) -> None:
    """What was sent is included, and deep enough."""
    for _ in range(3):
        walked.desk.ask("anvil_mine", "0x1", "0xc")
        for machine in walked.machines:
            if machine.watching.order().progress.state is StandingState.SENT:
                walked.desk.ask("anvil_mine", "0x4", "0xc")
                asyncio.run(machine.watching.keeper.look())


def _assert_as_defined(walked: Walk, token_id: int, held: list[int]) -> None:
    desk, order = walked.desk, walked.order
    call, used = walked.call, walked.used
    closed = not desk.owns(token_id)
    if walked.over is not None:
        assert used == walked.over[1], "nothing after its owner ended it"
    elif call.kind in ("close", "move"):
        assert used == int(closed), "as often as it was signed for"
    else:
        assert not closed
        assert used <= call.times
    if used and call.traits.shifts:
        _assert_moved(desk, call, walked)
    acted = [machine for machine in walked.machines if held_long_enough(machine.looks)]
    ready = [
        place
        for machine in walked.machines
        for place in range(1, len(machine.looks) + 1)
        if held_long_enough(machine.looks[:place])
    ]
    if used:
        told = [(order.condition, machine.looks) for machine in walked.machines]
        assert acted or ready, f"its condition did not hold as defined: {told}"
        after = [desk.held(call.recipient, each) for each in call.currencies if each != NATIVE]
        gained = [now - before for now, before in zip(after, held, strict=True)]
        least = call.least if call.entry is None else Amounts(0, 0)
        assert all(got >= bound for got, bound in zip(gained, least, strict=True))
        if call.kind == "collect" or used == call.times:
            assert redeemable(desk, order) is (used < call.times)
    for token in call.currencies:
        if token != NATIVE:
            assert desk.held(WATCH_KEY.address, token) == 0


def _assert_moved(desk: Desk, call: OrderCall, walked: Walk) -> None:
    """All of the one coin is in the new range, to the unit of liquidity that was signed."""
    entry, found = call.entry, desk.positions()
    assert entry is not None
    assert entry.span is not None
    # Only the one that sent it knows the number that came of it.
    told = {machine.watching.order().progress.became for machine in walked.machines}
    became = next((each for each in told if each is not UNSET), UNSET)
    if call.target is not None:
        assert became in (position_name(call.target), UNSET)
        became = position_name(call.target)
    position = found[str(became)]
    ticks = position["tickLower"], position["tickUpper"]
    assert ticks == (entry.span.tick_lower, entry.span.tick_upper)
    assert int(position["liquidity"]) == entry.liquidity + (call.target is not None)


def _walks(
    desk: Desk, seeds: range, tmp_path: Path, walk_kind: WalkKind = "any"
) -> tuple[Counter[StandingState], Counter[str]]:
    """What became of the orders, and of which conditions those are that were carried out."""
    ended, done = Counter[StandingState](), Counter[str]()
    entry = _entry(desk, desk.token_id(STATE))
    for seed in seeds:
        snapshot = desk.ask("evm_snapshot")
        # Anvil loses the state of blocks that are mined again just as they were taken back.
        desk.ask("anvil_setCoinbase", f"0x{seed:040x}")
        # A reorganisation must not reach behind it.
        desk.ask("anvil_mine", "0x4", "0xc")
        kind, state = walk(desk, seed, tmp_path, entry, walk_kind)
        ended[state] += 1
        done[kind] += state is StandingState.DONE
        home = Home.locate(os.environ, desk.command.home)
        # What is remembered is of the market that is taken back.
        for path in (*home.orders.glob("*"), *home.root.glob(f"{home.database.name}*")):
            path.unlink()
        node_rpc.take_back(desk.devnet.url, snapshot)
    return ended, done


def test_orders_act_when_their_condition_held_and_never_else(
    delegated: Desk, tmp_path: Path
) -> None:
    ended, _ = _walks(delegated, range(1), tmp_path)

    assert ended.total() == 1


@pytest.mark.parametrize("kind", ["compound", "move"])
def test_compounds_and_moves_act_when_they_may_and_never_else(
    delegated: Desk, tmp_path: Path, kind: WalkKind
) -> None:
    ended, _ = _walks(delegated, range(1), tmp_path, kind)

    assert ended.total() == 1


@pytest.fixture
def walking_alone(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Iterator[Desk]:
    """On a chain of its own, so that each slice runs the same whatever ran before."""
    with embedded_chain() as ready:
        desk = Desk(ready, CommandLine(tmp_path / "home"), capsys)
        desk.command.home.mkdir(mode=0o700)
        desk.delegate()
        yield desk


@pytest.mark.soak
@pytest.mark.parametrize("part", range(SLICES))
def test_five_hundred_walks(
    walking_alone: Desk, tmp_path: Path, part: int, capsys: pytest.CaptureFixture[str]
) -> None:
    first = 1_000 + part * WALKS_A_SLICE
    ended, done = _walks(walking_alone, range(first, first + WALKS_A_SLICE), tmp_path)
    told = ", ".join(f"{ended[state]} {state.value}" for state in StandingState)
    with capsys.disabled():
        printed(
            f"{ended.total()} walks ({part + 1} of {SLICES}): {told}; by condition: {dict(done)}"
        )

    assert ended.total() == WALKS_A_SLICE


@pytest.mark.soak
@pytest.mark.parametrize("part", range(SLICES))
@pytest.mark.parametrize("kind", ["compound", "move"])
def test_five_hundred_walks_of_each(
    walking_alone: Desk,
    tmp_path: Path,
    part: int,
    kind: WalkKind,
    capsys: pytest.CaptureFixture[str],
) -> None:
    first = 5_000 + part * WALKS_A_SLICE
    ended, done = _walks(walking_alone, range(first, first + WALKS_A_SLICE), tmp_path, kind)
    told = ", ".join(f"{ended[state]} {state.value}" for state in StandingState)
    with capsys.disabled():
        printed(f"{ended.total()} walks of a {kind} ({part + 1} of {SLICES}): {told}; {dict(done)}")

    assert ended.total() == WALKS_A_SLICE
