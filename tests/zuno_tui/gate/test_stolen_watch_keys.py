"""What whoever steals the watch key makes of compounds and moves by pushing the price."""

import os
import random
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx2
import pytest

from chain.base.home import Home
from chain.contracts.delegation import DELEGATION_MANAGER
from chain.contracts.networks import NATIVE, network_named
from chain.contracts.pool_key import PoolKey
from chain.contracts.signed_delegation import redeem
from chain.devnet.world.accounts import MEDIUM_PROVIDER, WATCH_KEY
from chain.math.drift import Span
from chain.math.liquidity import Amounts
from chain.standing_orders.call import call_in, call_of
from chain.standing_orders.order import PricePast, StandingOrder
from tests import node_rpc
from tests.agents.monitor.walked_market import WalkedPool
from tests.chain.moves import CallFailedError, Moves
from tests.embedded_chain import embedded_chain
from tests.printed import printed
from tests.zuno_tui.conftest import CommandLine
from tests.zuno_tui.gate.desk import Desk
from tests.zuno_tui.gate.test_growing_orders import tick_of, walked_to
from tests.zuno_tui.gate.test_order_walks import signed_page
from tests.zuno_tui.gate.test_standing_orders import STATE

NETWORK = network_named("devnet")
SLICES, TRIES_A_SLICE = 10, 20
_Q192 = 1 << 192


@dataclass
class Theft:
    desk: Desk
    moves: Moves
    market: WalkedPool
    chance: random.Random
    fair: int
    """The square root of the price before anybody pushes it."""

    def worth(self, amounts: Amounts) -> float:
        """In dollars, at the fair price: the second coin is one."""
        return (amounts[0] * self.fair**2 / _Q192 + amounts[1]) / 10**6

    def positions(self) -> dict[str, dict[str, Any]]:
        """Those in the pool that is pushed."""
        pool = self.market.key.pool_id
        return {ref: told for ref, told in self.desk.positions().items() if told["poolId"] == pool}

    def wealth(self) -> float:
        """Of the wallet in this pool: positions at the fair price, fees, and both coins."""
        owner = self.desk.devnet.wallet
        pair = self.market.key.currency0, self.market.key.currency1
        total = self.worth(Amounts(*(self.desk.held(owner, token) for token in pair)))
        for told in self.positions().values():
            span = Span(told["tickLower"], told["tickUpper"])
            inside = span.holds(self.fair, int(told["liquidity"]), round_up=False)
            fees = Amounts(int(told["fees0"]), int(told["fees1"]))
            total += self.worth(inside) + self.worth(fees)
        return total

    def redeem(self, order: StandingOrder) -> bool:
        signed = order.delegation_signed
        data = redeem(signed, call_of(signed))
        try:
            self.moves.send(WATCH_KEY, DELEGATION_MANAGER, data)
        except CallFailedError:
            return False
        return True

    def mint(self, lower: int, upper: int, liquidity: int) -> str:
        key, owner = self.market.key, self.desk.devnet.wallet
        [token_id] = self.moves.mint(MEDIUM_PROVIDER, key, [(lower, upper)], liquidity, owner)
        return str(token_id)


def of_a_move(theft: Theft) -> tuple[float, float, int]:
    """What was lost by pushing past everything and redeeming it in a row, and the page's bound."""
    chance, spacing = theft.chance, theft.market.key.tick_spacing
    centre = theft.market.tick // spacing * spacing
    lower = centre - chance.randrange(5, 150) * spacing
    upper = centre + chance.randrange(5, 150) * spacing
    # From a drop in the pool to most of it.
    ref = theft.mint(lower, upper, int(10 ** chance.uniform(14, 17.7)))
    rises = chance.random() < 0.5
    count = chance.choice((0, 1, 2, 3))
    step = chance.randrange(1, min(20, 40 // max(1, count)) + 1) * spacing
    shift = step if rises else -step
    for place in range(1, count + 1):
        theft.mint(lower + shift * place, upper + shift * place, 1)
    told = theft.positions()[ref]
    end = told["priceUpper" if rises else "priceLower"] * 1.0001**shift
    words = ("move", ref, "up" if rises else "down", "to", f"{end:.4f}")
    page, orders = signed_page(theft.desk, *words, *(("--follow", str(count)) if count else ()))
    before = theft.wealth()
    walked_to(theft.market, tick_of(orders[-1]) + (8 if rises else -8))
    taken = [theft.redeem(order) for order in orders]
    assert all(taken), (words, taken)
    # Nothing is carried out a second time.
    assert not any(theft.redeem(order) for order in orders)
    assert isinstance(orders[-1].condition, PricePast)
    return before - theft.wealth(), float(page["effects"]["dollars"]), sum(taken)


def of_a_compound(theft: Theft) -> tuple[float, float, int]:
    """The same of fees: what was put in at a price that was pushed, against leaving them."""
    chance, ref = theft.chance, str(theft.desk.token_id(STATE))
    dollars = chance.uniform(0.5, 60)
    words = ("compound", ref, "over", f"${dollars:.2f}", "times", "4")
    page, [order] = signed_page(theft.desk, *words)
    walked_to(theft.market, theft.market.tick + chance.randrange(-230, 231))
    told, before, taken = theft.positions()[ref], theft.wealth(), 0
    for _ in range(4):
        taken += theft.redeem(order)
    call = call_in(order, NETWORK)
    assert all(
        theft.desk.held(WATCH_KEY.address, each) == 0 for each in call.currencies if each != NATIVE
    )
    fees = theft.worth(Amounts(int(told["fees0"]), int(told["fees1"])))
    return before - theft.wealth(), float(page["effects"]["share"]) * fees, taken


def thefts(desk: Desk, seeds: range) -> Counter[str]:
    """Each on a chain that is taken back afterwards; none loses more than its page says."""
    done = Counter[str]()
    told = desk.positions()[str(desk.token_id(STATE))]
    key = PoolKey(
        *(told[name] for name in ("currency0", "currency1", "fee", "tickSpacing", "hooks"))
    )
    with httpx2.Client(verify=False) as http:
        moves = Moves(http, desk.devnet.url, NETWORK)
        for seed in seeds:
            snapshot = desk.ask("evm_snapshot")
            market = WalkedPool(moves, key)
            theft = Theft(desk, moves, market, random.Random(seed), market.state()[0])
            kind = of_a_compound if seed % 3 == 0 else of_a_move
            lost, bound, taken = kind(theft)
            assert lost <= bound + 0.01, (seed, kind.__name__, lost, bound)
            done[kind.__name__] += bool(taken)
            done[f"{kind.__name__} worst, share of its bound in %"] = max(
                done[f"{kind.__name__} worst, share of its bound in %"], round(100 * lost / bound)
            )
            for path in Home.locate(os.environ, desk.command.home).orders.glob("*"):
                path.unlink()
            node_rpc.take_back(desk.devnet.url, snapshot)
    return done


@pytest.fixture
def stolen(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Iterator[Desk]:
    with embedded_chain() as ready:
        desk = Desk(ready, CommandLine(tmp_path / "home"), capsys)
        desk.command.home.mkdir(mode=0o700)
        desk.delegate()
        desk.ask("anvil_setBalance", WATCH_KEY.address, hex(10**20))
        yield desk


def test_a_thief_who_pushes_the_price_destroys_no_more_than_the_page_says(stolen: Desk) -> None:
    done = thefts(stolen, range(1, 7))

    assert done["of_a_move"] == 4


@pytest.mark.soak
@pytest.mark.parametrize("part", range(SLICES))
def test_two_hundred_thefts(stolen: Desk, part: int, capsys: pytest.CaptureFixture[str]) -> None:
    first = 1_000 + part * TRIES_A_SLICE
    done = thefts(stolen, range(first, first + TRIES_A_SLICE))
    with capsys.disabled():
        printed(f"{TRIES_A_SLICE} thefts ({part + 1} of {SLICES}): {dict(done)}")
