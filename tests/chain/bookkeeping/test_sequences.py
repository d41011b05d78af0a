"""Whatever is done on both protocols: ledger, balances and positions are the chain's."""

from random import Random

import pytest

from chain.base.units import Known
from chain.bookkeeping.ledger import EntryKind
from chain.bookkeeping.wallet_history import WalletHistory, read_wallet_history
from chain.contracts.calldata import TO_SENDER, Decrease, Increase, SettlePair, TakePair
from chain.devnet.world.accounts import ARBITRAGEUR, MEDIUM_PROVIDER, WIDE_PROVIDER
from chain.devnet.world.deployment import USDC, WETH
from chain.devnet.world.pools import WETH_USDC_LOW
from chain.math.liquidity import Amounts
from chain.math.ticks import sqrt_price_at_tick, tick_at_sqrt_price
from chain.positions.batch_reader import read_positions
from chain.positions.overview import read_worths
from chain.prices.price import WorthUnit
from chain.protocols.reference import V3, PositionRef, v3_position, v4_position
from chain.protocols.snapshot import PositionSnapshot
from tests.chain.conftest import Desk
from tests.chain.moves import Moves
from tests.chain.v3_moves import MOST, V3Moves
from tests.samples import some_of

SEQUENCES = 500
HERE = WIDE_PROVIDER
FEE = 500
KEY = WETH_USDC_LOW.key
PAIR = (WETH.address, USDC.address, FEE)
TOKENS = (KEY.currency0, KEY.currency1)


class Walk:
    """One wallet's moves, and what its positions of v3 must be owed by them."""

    def __init__(self, desk: Desk, moves: Moves, rng: Random) -> None:
        self.desk, self.moves, self.v3, self.rng = desk, moves, V3Moves(moves), rng
        self.mine: list[PositionRef] = []
        self.owed: dict[PositionRef, Amounts] = {}

    async def seen(self, ref: PositionRef) -> PositionSnapshot:
        found = await read_positions(self.desk.client, self.desk.network, self.desk.memory, [ref])
        return found[ref]

    def ticks(self) -> tuple[int, int]:
        middle = tick_at_sqrt_price(self.price)
        low = middle + self.rng.randint(-2_000, 800)
        low -= low % KEY.tick_spacing
        return low, low + KEY.tick_spacing * self.rng.randint(1, 150)

    @property
    def price(self) -> int:
        told = self.v3.ask_pool(self.v3.pool(*PAIR), "slot0()")
        return int.from_bytes(told[:32], "big")

    async def step(self) -> None:
        kinds = [
            "mint",
            "swap",
            "swap",
            *["increase", "decrease", "collect", "burn"] * bool(self.mine),
        ]
        match self.rng.choice(kinds):
            case "mint":
                self.mint()
            case "swap":
                self.swap()
            case kind:
                ref = self.rng.choice(self.mine)
                await getattr(self, f"_{kind}")(ref, await self.seen(ref))

    def mint(self) -> None:
        size = self.rng.randint(1, 10**4)
        if self.rng.random() < 0.5:
            amounts = (size * 10**14, size * 3 * 10**5)
            self.mine.append(
                v3_position(self.v3.mint(HERE, PAIR, self.ticks(), amounts, HERE.address))
            )
            self.owed[self.mine[-1]] = Amounts(0, 0)
            return
        [number] = self.moves.mint(HERE, KEY, [self.ticks()], size * 10**11, HERE.address)
        self.mine.append(v4_position(number))

    def swap(self) -> None:
        down = self.rng.random() < 0.5
        amount = self.rng.randint(1, 3 * 10**18) if down else self.rng.randint(1, 9_000 * 10**6)
        self.moves.swap(ARBITRAGEUR, KEY, amount, zero_for_one=down)
        self.v3.swap(ARBITRAGEUR, TOKENS if down else TOKENS[::-1], FEE, amount)

    async def _increase(self, ref: PositionRef, at: PositionSnapshot) -> None:
        if ref.protocol == V3:
            amounts = (self.rng.randint(10**12, 10**17), self.rng.randint(10**5, 10**8))
            self.v3.increase(HERE, ref.token_id, amounts)
            return
        more = Increase(ref.token_id, self.rng.randint(1, 10**14), MOST, MOST)
        # An empty one has no fees to come out before more is put in.
        fees = (Decrease(ref.token_id, 0, 0, 0), take()) if at.liquidity else ()
        self.moves.modify(HERE, *fees, more, SettlePair(*TOKENS))

    async def _decrease(self, ref: PositionRef, at: PositionSnapshot) -> None:
        part = self.rng.choice((1, 2, 3, 7, at.liquidity or 1))
        if not (liquidity := at.liquidity // part):
            return
        if ref.protocol != V3:
            self.moves.decrease(HERE, at.identity, liquidity)
            return
        taken = self.v3.takes_out(HERE.address, ref.token_id, liquidity)
        self.v3.decrease(HERE, ref.token_id, liquidity)
        self.owed[ref] = self.owed[ref].plus(Amounts(*taken))

    async def _collect(self, ref: PositionRef, at: PositionSnapshot) -> None:
        if ref.protocol != V3:
            if at.liquidity:
                self.moves.modify(HERE, Decrease(ref.token_id, 0, 0, 0), take())
            return
        most = [self.rng.choice((MOST, part // 2, part // 3)) or MOST for part in at.collectable]
        paid = Amounts(*self.v3.collected(HERE.address, ref.token_id, (most[0], most[1])))
        if any(paid):
            self.v3.collect(HERE, ref.token_id, (most[0], most[1]))
            self.owed[ref] = self.owed[ref].less(Amounts(*map(min, self.owed[ref], paid)))

    async def _burn(self, ref: PositionRef, at: PositionSnapshot) -> None:
        self.mine.remove(ref)
        if ref.protocol != V3:
            self.moves.burn(HERE, at.identity)
            return
        self.v3.burn(HERE, ref.token_id, at.liquidity)
        del self.owed[ref]

    async def check(self) -> None:
        desk, moves = self.desk, self.moves
        found = await read_positions(desk.client, desk.network, desk.memory, self.mine)
        assert found.keys() == set(self.mine)
        head = int(moves.rpc("eth_blockNumber"), 16)
        of_v4 = [(each.identity, HERE.address) for ref, each in found.items() if ref.protocol != V3]
        assert [found[one.ref].inside for one, _ in of_v4] == moves.burn_payouts(of_v4, head)
        for ref, owed in self.owed.items():
            told = found[ref]
            assert told.collectable == self.v3.collected(HERE.address, ref.token_id)
            assert told.inside == self.v3.withdrawn(HERE.address, ref.token_id, told.liquidity)
            assert isinstance(told.withdrawn, Known)
            # The pool may owe its manager some units less than the manager owes the token.
            assert told.withdrawn.value == Amounts(*map(min, owed, told.collectable))


def take() -> TakePair:
    return TakePair(*TOKENS, TO_SENDER)


async def history(desk: Desk) -> WalletHistory:
    [worth] = await read_worths(desk.sources, [HERE.address], WorthUnit.USD, every_protocol=True)
    return await read_wallet_history(desk.sources, worth, {})


def sums(told: WalletHistory, *kinds: EntryKind) -> dict[str, int]:
    entries = [entry for entry in told.entries if not kinds or entry.kind in kinds]
    return {
        token: sum(entry.amount for entry in entries if entry.token.address == token)
        for token in TOKENS
    }


@pytest.mark.parametrize("seed", some_of(((seed,) for seed in range(SEQUENCES)), 3, seed=46))
async def test_whatever_is_done_ledger_balances_and_positions_are_the_chains(
    desk: Desk, changing: Moves, seed: int
) -> None:
    walk = Walk(desk, changing, Random(seed))
    for account in (HERE, MEDIUM_PROVIDER, ARBITRAGEUR):
        walk.v3.approve(account, *TOKENS)
    walk.v3.create(MEDIUM_PROVIDER, *PAIR, sqrt_price_at_tick(-196_000))
    wide = (10**21, 3 * 10**12)
    walk.v3.mint(MEDIUM_PROVIDER, PAIR, (-887_270, 887_270), wide, MEDIUM_PROVIDER.address)
    before = await history(desk)
    for _ in range(walk.rng.randint(6, 14)):
        await walk.step()
    await walk.check()

    after = await history(desk)
    worth = after.facts.worth
    held = {position.ref for position in worth.overview.wallet.positions}
    assert held - {position.ref for position in before.facts.worth.overview.wallet.positions} == {
        *walk.mine
    }
    balances = dict(zip(TOKENS, changing.balances(KEY, HERE.address), strict=True))
    inside = {
        token: sum(
            amount
            for each in worth.overview.wallet.positions
            for currency, amount in zip(each.pool.key.values, each.inside, strict=False)
            if currency == token
        )
        for token in TOKENS
    }
    assert sums(after) == {token: balances[token] + inside[token] for token in TOKENS}
    assert not after.gaps
