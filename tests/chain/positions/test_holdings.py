"""What wallets hold, alone and together."""

from fractions import Fraction
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from chain.base.store import Store
from chain.base.units import Known, Unknown
from chain.contracts.abi import AbiError
from chain.contracts.networks import NATIVE, Network
from chain.devnet.launch import DevnetReady
from chain.devnet.world.accounts import DEMO_WALLET, MEDIUM_PROVIDER, NEIGHBOUR, STRANGER
from chain.devnet.world.deployment import USDC, WETH
from chain.devnet.world.pools import STABLE, WETH_USDC
from chain.positions.batch_reader import read_positions
from chain.positions.discovery import Discovery
from chain.positions.overview import (
    Portfolio,
    currencies,
    made_of,
    portfolio,
    price_question,
    price_words,
)
from chain.positions.search import WalletPositions
from chain.prices.ladder import price_book
from chain.prices.price import DollarPrice, PriceBook, WorthUnit
from chain.protocols.reference import v4_position
from chain.protocols.snapshot import PositionSnapshot, Reward
from chain.protocols.v4.holdings import (
    APPROVAL_FOR_ALL,
    TRANSFER,
    Holdings,
    custody_topics,
    minted_in,
    worth_keeping,
)
from chain.protocols.v4.memory import PositionMemory
from chain.read.block_reader import OneBlock
from chain.rpc.client import RpcClient
from chain.rpc.records import Log
from chain.rpc.requests import RequestLimits
from chain.tokens import Token, read_tokens
from tests.chain.between import Door, refuse_wide_logs
from tests.chain.conftest import Desk
from tests.chain.moves import Moves
from tests.chain.positions.examples import KEY, position

ME = "0x" + "11" * 20
PEOPLE = [ME, "0x" + "22" * 20, "0x" + "33" * 20, "0x" + "00" * 20]


def word(address: str) -> str:
    return "0x" + "00" * 12 + address[2:]


def log(block: int, index: int, topics: tuple[str, ...], data: bytes = b"") -> Log:
    return Log("0x" + "99" * 20, topics, data, block, "0x", "0x", 0, index, removed=False)


def transfer(block: int, index: int, sender: str, to: str, token_id: int) -> Log:
    return log(block, index, (TRANSFER, word(sender), word(to), f"0x{token_id:064x}"))


def approval(block: int, index: int, operator: str, *, approved: bool) -> Log:
    topics = (APPROVAL_FOR_ALL, word(ME), word(operator))
    return log(block, index, topics, int(approved).to_bytes(32, "big"))


@st.composite
def histories(draw: st.DrawFn) -> tuple[list[Log], set[int]]:
    """Transfers as a contract would emit them, and who holds what at the end."""
    owners: dict[int, str] = {}
    logs: list[Log] = []
    block = 1
    for index in range(draw(st.integers(0, 30))):
        block += draw(st.integers(0, 2))
        token_id = draw(st.integers(1, 5))
        sender = owners.get(token_id, PEOPLE[3])
        to = draw(st.sampled_from(PEOPLE))
        if sender == to == PEOPLE[3]:
            continue
        owners[token_id] = to
        if ME in (sender, to):
            logs.append(transfer(block, index, sender, to, token_id))
    return logs, {token_id for token_id, owner in owners.items() if owner == ME}


@given(histories(), st.data())
def test_holdings_do_not_depend_on_how_the_logs_are_cut(
    history: tuple[list[Log], set[int]], data: st.DataObject
) -> None:
    logs, truth = history
    last = max((one.block_number for one in logs), default=1)
    holdings = Holdings.before(0)
    cuts = sorted(data.draw(st.sets(st.integers(0, last), max_size=4)) | {last})
    for cut in cuts:
        # Each piece may reach back further than needed, and in any order.
        piece = data.draw(st.permutations([one for one in logs if one.block_number <= last]))
        holdings = holdings.after(piece, ME, cut, "0x")
    assert holdings.held == set(map(v4_position, truth))
    assert holdings.through == last


def test_a_transfer_to_oneself_keeps_the_token() -> None:
    logs = [transfer(1, 0, PEOPLE[3], ME, 7), transfer(1, 1, ME, ME, 7)]
    assert Holdings.before(0).after(logs, ME, 1, "0x").held == {v4_position(7)}


def test_operators_come_and_go() -> None:
    logs = [
        approval(1, 0, PEOPLE[1], approved=True),
        approval(1, 1, PEOPLE[2], approved=True),
        approval(2, 0, PEOPLE[1], approved=False),
    ]
    start = Holdings.before(0)
    assert start.after(logs, ME, 1, "0x").operators == {PEOPLE[1], PEOPLE[2]}
    assert start.after(logs, ME, 2, "0x").operators == {PEOPLE[2]}


def test_a_transfer_of_no_token_is_no_transfer() -> None:
    with pytest.raises(AbiError):
        Holdings.before(0).after([log(1, 0, (TRANSFER, word(ME), word(ME)))], ME, 1, "0x")


def test_only_mints_are_births() -> None:
    logs = [transfer(3, 0, PEOPLE[3], ME, 7), transfer(5, 0, PEOPLE[1], ME, 8)]
    assert minted_in(logs) == {v4_position(7): 3}


def test_filters_name_the_wallet_on_either_side() -> None:
    arriving, leaving = custody_topics(ME)
    assert arriving == (TRANSFER, None, word(ME))
    assert leaving == ((TRANSFER, APPROVAL_FOR_ALL), word(ME))


@given(st.lists(st.integers(0, 100), unique=True), st.integers(-1, 100))
def test_checkpoints_are_kept_where_a_reorg_can_fall_back_to(blocks: list[int], final: int) -> None:
    checkpoints = [Holdings(through, "0x") for through in sorted(blocks)]
    remaining = worth_keeping(checkpoints, final)
    assert len(remaining) <= 3
    assert list(remaining) == sorted(remaining, key=lambda one: one.through)
    if checkpoints:
        assert remaining[-1] == checkpoints[-1]
    settled = [one for one in checkpoints if one.through <= final]
    if settled:
        assert settled[-1] in remaining


FIRST = Token(KEY.currency0, "ONE", 18, verified=True, suspicious=False)
SECOND = Token(KEY.currency1, "TWO", 6, verified=True, suspicious=False)
TOKENS = {FIRST.address: FIRST, SECOND.address: SECOND}


def book(first: Fraction | None, second: Fraction | None, ether: int = 3000) -> PriceBook:
    def price(value: Fraction | None) -> DollarPrice:
        if value is None:
            return DollarPrice(Unknown("nobody trades it"), None)
        return DollarPrice(Known(value, "CoinGecko"), None)

    prices = {FIRST.address: price(first), SECOND.address: price(second)}
    return PriceBook(prices, Known(Fraction(ether), "CoinGecko"))


def mine() -> list[PositionSnapshot]:
    return [
        position(3000, 2500, 3500, fees=(10**15, 2 * 10**6)),
        position(4000, 2500, 3500, fees=(0, 5)),
    ]


def test_worth_adds_up_in_either_unit() -> None:
    positions = mine()
    dollars = portfolio(positions, TOKENS, book(Fraction(3000), Fraction(1)))
    expected_fees = Fraction(10**15 * 3000, 10**18) + Fraction(2 * 10**6 + 5, 10**6)
    assert dollars.fees == expected_fees
    assert dollars.principal == sum(
        Fraction(one.amount0 * 3000, 10**18) + Fraction(one.amount1, 10**6) for one in positions
    )
    assert dollars.unpriced == ()
    totals = [worth.total for worth in dollars.positions]
    assert all(isinstance(total, Known) for total in totals)
    assert sum(total.value for total in totals if isinstance(total, Known)) == dollars.total
    ether = portfolio(positions, TOKENS, book(Fraction(3000), Fraction(1)), WorthUnit.ETH)
    assert ether.total == dollars.total / 3000


def test_what_cannot_be_priced_is_named_and_left_out() -> None:
    positions = mine()
    known = portfolio(positions, TOKENS, book(None, Fraction(1)))
    [missing] = known.unpriced
    assert missing.token == FIRST
    assert missing.amount == sum(one.amount0 + one.fees0 for one in positions)
    assert missing.reason == "nobody trades it"
    inside, above = known.positions
    assert isinstance(inside.total, Unknown)
    # All in the other currency: nothing about it is unknown.
    assert isinstance(above.total, Known)
    assert known.total == sum(Fraction(one.amount1 + one.fees1, 10**6) for one in positions)


def test_a_reward_is_worth_what_its_coin_is_and_no_fee() -> None:
    [plain] = portfolio(mine()[:1], TOKENS, book(Fraction(3000), Fraction(1))).positions
    rewarded = replace(mine()[0], rewards=(Reward(SECOND.address, 7 * 10**6),))
    whole = portfolio([rewarded], TOKENS, book(Fraction(3000), Fraction(1)))
    [worth] = whole.positions
    assert made_of([rewarded]) == (FIRST.address, SECOND.address)
    assert isinstance(worth.total, Known)
    assert isinstance(plain.total, Known)
    assert whole.rewards == 7
    assert worth.fees == plain.fees
    assert whole.total == worth.total.value == plain.total.value + 7
    strange = portfolio([rewarded], TOKENS, book(Fraction(3000), None))
    assert isinstance(strange.positions[0].rewards, Unknown)


def test_nothing_is_worth_nothing() -> None:
    empty = portfolio([], {}, book(None, None))
    assert empty == Portfolio(
        WorthUnit.USD, (), Fraction(0), Fraction(0), Fraction(0), Fraction(0), Fraction(0), ()
    )


async def test_the_demo_wallet_is_priced_by_the_same_read(desk: Desk) -> None:
    also = price_words(desk.network)
    client, network = desk.client, desk.network
    wallet = await Discovery(client, network, desk.memory, also=also).read(DEMO_WALLET.address)
    identities = [one.identity for one in wallet.positions]
    assert {NATIVE, WETH.address, USDC.address} <= set(currencies(identities))
    tokens = await read_tokens(client, network, currencies(identities), "latest", now=0)
    here = OneBlock(client, network, wallet.block.hash)
    prices = await price_question(network, identities).read(wallet.words, here, wallet.block)
    held = portfolio(wallet.positions, tokens, price_book(network, {}, prices))
    assert held.unpriced == ()
    assert 50_000 < held.total < 300_000
    assert 0 < held.fees < held.total / 50
    for worth in held.positions:
        assert isinstance(worth.total, Known)
        assert worth.total.block in (None, wallet.block.number)


OWNERS = (DEMO_WALLET.address, NEIGHBOUR.address, MEDIUM_PROVIDER.address, "0x" + "0e" * 20)


def seen(wallet: WalletPositions) -> tuple[object, ...]:
    return wallet.owner, wallet.block, wallet.positions, wallet.operators, wallet.shortfall


async def test_each_is_read_as_if_it_were_alone_in_one_request(
    desk: Desk, devnet: DevnetReady
) -> None:
    alone = [await desk.discovery.read(owner) for owner in OWNERS[1:]]
    async with Door(devnet.url) as door, RpcClient(desk.network, [door.url]) as client:
        discovery = Desk(client, desk.network, desk.store).discovery
        # One of them is new to the memory, the others are not.
        first = await discovery.read_all(OWNERS)
        door.requests = 0
        again = await discovery.read_all(OWNERS)

    assert door.requests == 1
    assert list(map(seen, first[1:])) == list(map(seen, alone))
    assert list(map(seen, again)) == list(map(seen, first))
    assert [one.found_count > 0 for one in again] == [True, True, True, False]


async def test_what_goes_from_one_to_another_is_found_with_the_other(
    desk: Desk, changing: Moves
) -> None:
    before = await desk.discovery.read_all(OWNERS)
    token_id = before[0].positions[0].ref.token_id
    changing.give(DEMO_WALLET, NEIGHBOUR.address, token_id)
    [minted] = changing.mint(MEDIUM_PROVIDER, STABLE.key, [(-7, 7)], 10**9, OWNERS[3])
    after = await desk.discovery.read_all(OWNERS)

    def tokens(wallet: WalletPositions) -> set[int]:
        assert wallet.shortfall is None
        return {one.ref.token_id for one in wallet.positions}

    assert tokens(after[0]) == tokens(before[0]) - {token_id}
    assert tokens(after[1]) == tokens(before[1]) | {token_id}
    assert tokens(after[2]) == tokens(before[2])
    assert tokens(after[3]) == {minted}


async def test_a_node_that_gives_few_blocks_at_once_is_scanned_for_all_of_them(
    desk: Desk, devnet: DevnetReady, moves: Moves
) -> None:
    expected = [seen(await desk.discovery.read(owner)) for owner in OWNERS]
    async with Door(devnet.url) as door, RpcClient(desk.network, [door.url]) as client:
        door.meddle = refuse_wide_logs(7, int(moves.rpc("eth_blockNumber"), 16))
        told: list[int] = []
        with Store.in_memory() as store:
            memory = Desk(client, desk.network, store).memory
            discovery = Discovery(
                client, desk.network, memory, watch=lambda one: told.append(one.found)
            )
            scanned = await discovery.read_all(OWNERS)

    assert list(map(seen, scanned)) == expected
    assert told[-1] == sum(one.found_count for one in scanned)


def test_what_another_wallet_allows_is_not_allowed_by_this_one() -> None:
    def word(address: str) -> str:
        return "0x" + address[2:].rjust(64, "0")

    allowed = Log(
        address=STRANGER.address,
        topics=(APPROVAL_FOR_ALL, word(NEIGHBOUR.address), word(DEMO_WALLET.address)),
        data=(1).to_bytes(32, "big"),
        block_number=5,
        block_hash="0x" + "05" * 32,
        transaction_hash="0x" + "06" * 32,
        transaction_index=0,
        log_index=0,
        removed=False,
    )
    start = Holdings.before(1)
    theirs = start.after([allowed], NEIGHBOUR.address, 5, allowed.block_hash)
    mine = start.after([allowed], DEMO_WALLET.address, 5, allowed.block_hash)

    assert theirs.operators == {DEMO_WALLET.address}
    assert mine.operators == frozenset()


COLLECTOR = "0x" + "c0" * 20
PATIENT = RequestLimits(answer_seconds=60, total_seconds=70)
"""The embedded chain shares two cores with the tests; how long it takes is not asked here."""


class Counted:
    """A fresh process's view: each read opens the store anew and counts what reaches the node."""

    def __init__(self, devnet: DevnetReady, network: Network, path: Path) -> None:
        self._devnet = devnet
        self._network = network
        self._path = path

    async def wallet(self, owner: str) -> tuple[WalletPositions, int]:
        store, _ = Store.open(self._path, now=0)
        with store:
            async with (
                Door(self._devnet.url) as door,
                RpcClient(self._network, [door.url], limits=PATIENT) as client,
            ):
                memory = PositionMemory(store, self._network, lambda: 0.0)
                also = price_words(self._network)
                wallet = await Discovery(client, self._network, memory, also=also).read(owner)
                return wallet, door.requests

    async def snapshot(self, token_ids: list[int]) -> int:
        store, _ = Store.open(self._path, now=0)
        with store:
            async with (
                Door(self._devnet.url) as door,
                RpcClient(self._network, [door.url], limits=PATIENT) as client,
            ):
                memory = PositionMemory(store, self._network, lambda: 0.0)
                found = await read_positions(
                    client, self._network, memory, map(v4_position, token_ids)
                )
                assert sorted(ref.token_id for ref in found) == sorted(token_ids)
                return door.requests


@pytest.fixture
def counted(devnet: DevnetReady, network: Network, tmp_path: Path) -> Counted:
    return Counted(devnet, network, tmp_path / "zuno.db")


async def test_the_demo_wallet(counted: Counted) -> None:
    _, cold = await counted.wallet(DEMO_WALLET.address)
    assert cold <= 4
    wallet, warm = await counted.wallet(DEMO_WALLET.address)
    assert warm == 1
    assert wallet.found_count == wallet.balance_of == len({one.ref for one in wallet.positions})


async def test_a_new_block_costs_nothing_and_a_new_position_two_more(
    counted: Counted, changing: Moves
) -> None:
    await counted.wallet(DEMO_WALLET.address)
    changing.rpc("evm_mine")
    before, requests = await counted.wallet(DEMO_WALLET.address)
    assert requests == 1
    changing.mint(MEDIUM_PROVIDER, STABLE.key, [(-9, 9)], 10**9, DEMO_WALLET.address)
    after, requests = await counted.wallet(DEMO_WALLET.address)
    assert requests == 3
    assert after.found_count == before.found_count + 1
    _, requests = await counted.wallet(DEMO_WALLET.address)
    assert requests == 1


async def test_twenty_and_five_hundred_positions_cost_the_same(
    counted: Counted, changing: Moves
) -> None:
    few = [
        token_id
        for pool in (STABLE, WETH_USDC)
        for token_id in changing.mint(
            MEDIUM_PROVIDER,
            pool.key,
            [(-60 * step, 60 * step) for step in range(1, 10 + 1)],
            10**9,
            COLLECTOR,
        )
    ]
    assert await counted.snapshot(few) <= 3
    assert await counted.snapshot(few) == 1
    for _ in range(5):
        changing.mint(MEDIUM_PROVIDER, STABLE.key, [(-600, 600)] * 96, 10**9, COLLECTOR)
    wallet, cold = await counted.wallet(COLLECTOR)
    assert (wallet.found_count, wallet.balance_of) == (500, 500)
    assert cold <= 4
    wallet, warm = await counted.wallet(COLLECTOR)
    assert (wallet.found_count, wallet.balance_of) == (500, 500)
    assert warm == 1
    assert {one.liquidity for one in wallet.positions} == {10**9}
    assert all(one.owner == COLLECTOR for one in wallet.positions)
