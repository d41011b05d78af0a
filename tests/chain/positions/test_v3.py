"""Positions of Uniswap v3, read beside those of v4 from the real contracts of both."""

import pytest

from chain.base.store import Store
from chain.base.units import Known, Quantity, Unknown
from chain.devnet.world.accounts import ARBITRAGEUR, DEMO_WALLET, MEDIUM_PROVIDER, NEIGHBOUR
from chain.devnet.world.deployment import USDC, USDT, WETH
from chain.devnet.world.pools import WETH_USDC
from chain.math.liquidity import Amounts
from chain.math.ticks import sqrt_price_at_tick
from chain.positions.by_day import worth
from chain.positions.discovery import Discovery
from chain.positions.overview import Sources, price_words, read_one, read_overview
from chain.positions.performance import read_performance
from chain.positions.search import WalletPositions
from chain.prices.price import WorthUnit
from chain.protocols.past import PositionPast
from chain.protocols.reference import V3, PositionRef, v3_position, v4_position
from chain.protocols.snapshot import PositionSnapshot, RangeStatus
from chain.protocols.v3.changes import NARROW, v3_past
from chain.rpc.client import RpcClient
from chain.rpc.endpoint import KnownRange
from tests.chain.between import Door
from tests.chain.conftest import Desk
from tests.chain.moves import Moves
from tests.chain.v3_moves import V3Moves
from zuno_tui.present.position import wallet_document

PAIR = (WETH.address, USDC.address, 3000)
STABLES = (USDC.address, USDT.address, 100)
COLLECTOR = "0x" + "c3" * 20


@pytest.fixture
def v3(changing: Moves) -> V3Moves:
    """Two pools that anybody can trade in."""
    made = V3Moves(changing)
    for account in (MEDIUM_PROVIDER, ARBITRAGEUR):
        made.approve(account, WETH.address, USDC.address, USDT.address)
    made.create(MEDIUM_PROVIDER, *PAIR, sqrt_price_at_tick(-195_000))
    made.create(MEDIUM_PROVIDER, *STABLES, 1 << 96)
    wide = (10**21, 10**13)
    made.mint(MEDIUM_PROVIDER, PAIR, (-887_220, 887_220), wide, MEDIUM_PROVIDER.address)
    made.mint(MEDIUM_PROVIDER, STABLES, (-1_000, 1_000), (10**12, 10**12), MEDIUM_PROVIDER.address)
    return made


def trade(v3: V3Moves) -> None:
    """Out, back and a little on, so that both tokens are paid as fees."""
    v3.swap(ARBITRAGEUR, (WETH.address, USDC.address), 3000, 7 * 10**18 + 13)
    v3.swap(ARBITRAGEUR, (USDC.address, WETH.address), 3000, 20_000 * 10**6 + 7)
    v3.swap(ARBITRAGEUR, (USDC.address, USDT.address), 100, 70_000 * 10**6 + 1)


async def wallet_of(desk: Desk, owner: str) -> WalletPositions:
    also = price_words(desk.network)
    discovery = Discovery(desk.client, desk.network, desk.memory, also=also, every_protocol=True)
    return await discovery.read(owner)


def sources_of(desk: Desk) -> Sources:
    return Sources(desk.client, desk.network, desk.store, None, lambda: 0.0)


def of_v3(wallet: WalletPositions) -> dict[PositionRef, PositionSnapshot]:
    return {one.ref: one for one in wallet.positions if one.ref.protocol == V3}


async def test_every_figure_is_what_collect_and_burn_pay(desk: Desk, v3: V3Moves) -> None:
    here, amounts = MEDIUM_PROVIDER, (5 * 10**18, 20_000 * 10**6)
    spans = {
        "in range": (-196_200, -193_800),
        "below": (-190_200, -189_000),
        "above": (-202_200, -201_000),
        "wide": (-887_220, 887_220),
    }
    ids = {name: v3.mint(here, PAIR, ticks, amounts, here.address) for name, ticks in spans.items()}
    # The same range twice: the pool counts both as one, and rounds for both at once.
    ids["twin"] = v3.mint(here, PAIR, spans["in range"], (10**17 + 1, 10**9), here.address)
    ids["stable"] = v3.mint(here, STABLES, (-10, 10), (10**9, 10**9), here.address)
    trade(v3)
    owed = await one_of(desk, ids["in range"])
    v3.decrease(here, ids["in range"], owed.liquidity // 3)
    trade(v3)
    v3.collect(here, ids["wide"])
    emptied = v3.mint(here, PAIR, spans["in range"], (10**18, 10**10), here.address)
    trade(v3)
    v3.decrease(here, emptied, (await one_of(desk, emptied)).liquidity)
    trade(v3)
    ids["emptied, with tokens owed"] = emptied
    wallet = await wallet_of(desk, here.address)
    found = of_v3(wallet)
    assert {*map(v3_position, ids.values())} <= found.keys()
    for name, token_id in ids.items():
        one = found[v3_position(token_id)]
        fees = v3.collected(here.address, token_id)
        assert one.collectable == fees, name
        paid = v3.withdrawn(here.address, token_id, one.liquidity)
        assert one.inside == paid, name
    states = {name: found[v3_position(token_id)].status for name, token_id in ids.items()}
    assert states["below"] is RangeStatus.BELOW
    assert states["above"] is RangeStatus.ABOVE
    assert states["in range"] is states["wide"] is RangeStatus.IN_RANGE
    owed_to = found[v3_position(emptied)]
    assert owed_to.liquidity == owed_to.amount0 == 0
    assert all(known(owed_to.withdrawn))
    assert all(known(owed_to.fees))


async def one_of(desk: Desk, token_id: int) -> PositionSnapshot:
    sources = sources_of(desk)
    one = await read_one(sources, v3_position(token_id), WorthUnit.USD)
    assert one is not None
    return one.snapshot


async def test_twenty_of_each_take_one_request_when_known_and_four_when_not(
    desk: Desk, v3: V3Moves, changing: Moves
) -> None:
    ranges = [(-195_000 - 600 * step, -195_000 + 600 * step) for step in range(1, 21)]
    v3.mint_many(MEDIUM_PROVIDER, PAIR, ranges, (10**16, 10**8), COLLECTOR)
    changing.mint(
        MEDIUM_PROVIDER,
        WETH_USDC.key,
        [(-60 * step, 60 * step) for step in range(1, 21)],
        10**9,
        COLLECTOR,
    )
    counts = []
    for _ in range(2):
        async with (
            Door(changing.url) as door,
            RpcClient(desk.network, [door.url]) as client,
        ):
            reading = Discovery(
                client,
                desk.network,
                desk.memory,
                also=price_words(desk.network),
                every_protocol=True,
            )
            wallet = await reading.read(COLLECTOR)
            counts.append(door.requests)
        assert (wallet.found_count, wallet.balance_of) == (40, 40)
        assert len(of_v3(wallet)) == 20
        assert {one.block.hash for one in wallet.positions} == {wallet.block.hash}
    assert counts[0] <= 4
    assert counts[1] == 1


async def test_what_came_and_went_is_noticed(desk: Desk, v3: V3Moves) -> None:
    here = DEMO_WALLET.address
    before = await wallet_of(desk, here)
    amounts = (10**17, 10**9)
    ticks = (-195_600, -194_400)
    first = v3.mint(MEDIUM_PROVIDER, PAIR, ticks, amounts, here)
    second = v3.mint(MEDIUM_PROVIDER, STABLES, (-5, 5), (10**6, 10**6), here)
    both = await wallet_of(desk, here)
    assert of_v3(both).keys() == {v3_position(first), v3_position(second)}
    assert both.found_count == both.balance_of == before.found_count + 2
    v3.give(DEMO_WALLET, NEIGHBOUR.address, first)
    after = await wallet_of(desk, here)
    assert of_v3(after).keys() == {v3_position(second)}
    assert after.complete


async def test_the_same_number_in_both_protocols_is_two_positions(desk: Desk, v3: V3Moves) -> None:
    four = min(one.ref.token_id for one in (await wallet_of(desk, DEMO_WALLET.address)).positions)
    here, amounts = DEMO_WALLET.address, (10**6, 10**6)
    first = v3.mint(MEDIUM_PROVIDER, STABLES, (-9, 9), amounts, here)
    v3.mint_many(MEDIUM_PROVIDER, STABLES, [(-9, 9)] * (four - first), amounts, here)
    sources = sources_of(desk)
    of_four = await read_one(sources, v4_position(four), WorthUnit.USD)
    of_three = await read_one(sources, v3_position(four), WorthUnit.USD)
    assert of_four is not None
    assert of_three is not None
    assert of_four.snapshot.pool.pool_id != of_three.snapshot.pool.pool_id
    assert of_three.snapshot.pool.pool_id == v3.pool(*STABLES)
    assert of_three.snapshot.sources["owner"].startswith("NonfungiblePositionManager")
    overview = await read_overview(sources, DEMO_WALLET.address, WorthUnit.USD, every_protocol=True)
    worths = {one.ref: one.total for one in overview.portfolio.positions}
    assert worths[v4_position(four)] != worths[v3_position(four)]


async def test_a_number_that_nobody_has_is_none(desk: Desk, v3: V3Moves) -> None:
    assert v3.manager
    assert await read_one(sources_of(desk), v3_position(10**6), WorthUnit.USD) is None


@pytest.mark.soak
async def test_three_hundred_positions(desk: Desk, v3: V3Moves) -> None:
    for start in range(0, 300, 20):
        ranges = [
            (-195_000 - 60 * step, -195_000 + 60 * step) for step in range(start + 1, start + 21)
        ]
        v3.mint_many(MEDIUM_PROVIDER, PAIR, ranges, (10**16, 10**8), COLLECTOR)
    wallet = await wallet_of(desk, COLLECTOR)
    assert (wallet.found_count, wallet.balance_of) == (300, 300)


async def test_since_entry_is_what_went_in_and_came_out(desk: Desk, v3: V3Moves) -> None:
    here, pair = NEIGHBOUR, PAIR
    token_id = v3.mint(
        MEDIUM_PROVIDER, pair, (-196_200, -193_800), (5 * 10**18, 2 * 10**10), here.address
    )
    opened = await one_of(desk, token_id)
    trade(v3)
    v3.decrease(here, token_id, opened.liquidity // 3)
    part = await one_of(desk, token_id)
    before = v3.moves.balances(opened.pool.key, here.address)
    v3.collect(here, token_id)
    paid = [
        after - then
        for after, then in zip(
            v3.moves.balances(opened.pool.key, here.address), before, strict=True
        )
    ]
    trade(v3)
    again = await one_of(desk, token_id)
    v3.decrease(here, token_id, again.liquidity // 2)
    now = await one_of(desk, token_id)
    performance = await read_performance(sources_of(desk), [now])
    account = performance.accounts[now.ref]
    assert [change.liquidity_delta for change in account.changes] == [
        opened.liquidity,
        -(opened.liquidity // 3),
        0,
        -(again.liquidity // 2),
    ]
    deposited, withdrawn, earned = (
        known(account.deposited),
        known(account.withdrawn),
        known(account.fees_earned),
    )
    # The pool rounds what it takes up, and what it pays down.
    assert [put_in - held for put_in, held in zip(deposited, amounts_of(opened), strict=True)] in (
        [0, 0],
        [1, 1],
        [0, 1],
        [1, 0],
    )
    assert part.collectable == tuple(paid)
    for place in (0, 1):
        unpaid = now.collectable[place]
        assert withdrawn[place] + earned[place] == paid[place] + unpaid
        assert earned[place] > 0
    price = now.pool.sqrt_price_x96
    gained = sum(
        worth(Amounts(*amounts), price) * sign
        for amounts, sign in (
            (amounts_of(now), 1),
            (now.collectable, 1),
            (tuple(paid), 1),
            (deposited, -1),
        )
    )
    assert isinstance(account.against_holding, Known)
    assert account.against_holding.value == gained
    assert isinstance(account.gas, Known)
    assert account.gas.value > 0


def amounts_of(one: PositionSnapshot) -> tuple[int, int]:
    return one.amount0, one.amount1


def known(value: Quantity[Amounts]) -> Amounts:
    assert isinstance(value, Known)
    return value.value


async def test_an_endpoint_of_few_blocks_says_so(desk: Desk, v3: V3Moves) -> None:
    token_id = v3.mint(MEDIUM_PROVIDER, STABLES, (-9, 9), (10**6, 10**6), DEMO_WALLET.address)
    one = await one_of(desk, token_id)
    desk.client.learn_log_range(KnownRange(5, most=True))
    performance = await read_performance(sources_of(desk), [one])
    account = performance.accounts[one.ref]
    assert account.changes == ()
    assert account.deposited == NARROW


async def test_a_ledger_counts_what_was_taken_out_once_it_was_collected(
    desk: Desk, v3: V3Moves
) -> None:
    here = MEDIUM_PROVIDER
    token_id = v3.mint(here, PAIR, (-196_200, -193_800), (5 * 10**18, 20_000 * 10**6), here.address)
    trade(v3)
    whole = await one_of(desk, token_id)
    v3.decrease(here, token_id, whole.liquidity // 3)
    waits = await account_of(desk, token_id)
    assert [change.liquidity_delta for change in waits.booked] == [whole.liquidity, 0]
    withdrawn = known((await one_of(desk, token_id)).withdrawn)
    assert all(withdrawn)
    assert not isinstance(waits.changes, Unknown)
    assert known(waits.changes[-1].amounts) == withdrawn
    v3.collect(here, token_id)
    paid = await account_of(desk, token_id)
    assert known((await one_of(desk, token_id)).withdrawn) == Amounts(0, 0)
    last = paid.booked[-1]
    assert last.liquidity_delta == -(whole.liquidity // 3)
    assert known(last.amounts) == withdrawn
    assert all(known(last.fees))


async def test_withdrawn_is_told_apart_from_fees_wherever_the_logs_are_given(
    desk: Desk, v3: V3Moves
) -> None:
    here = MEDIUM_PROVIDER
    token_id = v3.mint(here, PAIR, (-196_200, -193_800), (5 * 10**18, 20_000 * 10**6), here.address)
    trade(v3)
    earned = (await one_of(desk, token_id)).collectable
    before = v3.withdrawn(here.address, token_id, (await one_of(desk, token_id)).liquidity)
    v3.decrease(here, token_id, (await one_of(desk, token_id)).liquidity)
    told = await one_of(desk, token_id)
    assert known(told.withdrawn).plus(known(told.fees)) == told.collectable == before
    assert known(told.fees) == earned

    # The same figures again, from memory; a part that is collected is of what was withdrawn.
    assert await one_of(desk, token_id) == told
    half = Amounts(*(part // 2 for part in known(told.withdrawn)))
    v3.collect(here, token_id, half)
    left = await one_of(desk, token_id)
    assert known(left.withdrawn) == known(told.withdrawn).less(half)
    assert known(left.fees) == earned

    desk.client.learn_log_range(KnownRange(5, most=True))
    blind = Desk(desk.client, desk.network, Store.in_memory())
    unsure = await one_of(blind, token_id)
    assert unsure.withdrawn == unsure.fees == NARROW
    assert unsure.collectable == left.collectable
    # Nobody can tell which is which, and no money is lost for that.
    told_apart, not_apart = [
        (await read_overview(each.sources, here.address, WorthUnit.USD, every_protocol=True))
        for each in (desk, blind)
    ]
    assert told_apart.portfolio.total == not_apart.portfolio.total
    assert told_apart.portfolio.undivided == not_apart.portfolio.withdrawn == 0
    assert told_apart.portfolio.withdrawn < not_apart.portfolio.undivided
    document = wallet_document(desk.network, not_apart, None)
    [one] = [each for each in document["positions"] if each["tokenId"] == f"3:{token_id}"]  # type: ignore[union-attr, call-overload, index]
    assert (one["fees0"], one["feesValue"], one["withdrawn"]) == (None, None, None)  # type: ignore[index, call-overload]
    assert one["unknown"] == [NARROW.reason]  # type: ignore[index, call-overload]


async def account_of(desk: Desk, token_id: int) -> PositionPast:
    number = v3_position(token_id)
    found = await v3_past(desk.client, desk.network, [await one_of(desk, token_id)])
    return found[number]
