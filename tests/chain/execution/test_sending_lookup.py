"""What an endpoint's answers make of a step, at every edge."""

from dataclasses import dataclass, field

import pytest
from msgspec.structs import replace

from chain.contracts.abi import encode_call
from chain.contracts.calldata import TO_SENDER, Burn, TakePair
from chain.contracts.networks import Network
from chain.contracts.pool_key import PoolKey
from chain.devnet.world.accounts import DEMO_WALLET, MEDIUM_PROVIDER
from chain.devnet.world.deployment import WETH
from chain.devnet.world.pools import ETH_USDC, STABLE
from chain.execution.outbox.lookup import (
    DOUBT_BLOCKS,
    EMBEDDED,
    FINAL_DEPTH,
    LEAST_DOUBT_SECONDS,
    ONE_ENDPOINT,
    Evidence,
    NamedReader,
    NonceState,
    Sighting,
    Verdict,
    find_spender,
    find_verdict,
    look_up,
    nonce_state,
    settle_verdict,
)
from chain.execution.outbox.receipts import (
    NativeChange,
    NotIncludedError,
    Realised,
    all_together,
    read_realised,
    realised_of,
)
from chain.protocols.reference import v4_position
from chain.rpc.errors import Malformed, RpcError, RpcRefused, StatePruned
from chain.rpc.records import Block, Json, SpentNonce, Transaction
from tests import node_rpc
from tests.chain.conftest import Desk
from tests.chain.execution.outbox_kit import RECIPIENT, signed_by, transfer
from tests.chain.execution.told_node import DEADLINE, HEAD, NONCE, Node, block, receipt_in, sent
from tests.chain.moves import Moves
from tests.fakes.told_reader import ToldReader

BROKEN = Malformed("nothing", endpoint="the RPC")


SEEN = Sighting(block(HEAD), HEAD - 10, True, None, False, NONCE, 0)


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({"receipt": receipt_in(HEAD - 10)}, NonceState.FINAL),
        ({"receipt": receipt_in(HEAD - 9)}, NonceState.INCLUDED),
        ({"final_nonce": NONCE + 1}, NonceState.REPLACED_FOR_GOOD),
        ({"final_nonce": NONCE}, NonceState.MISSING),
        ({"nonce": NONCE + 1}, NonceState.REPLACED),
        ({"nonce": NONCE + 1, "final_nonce": NONCE}, NonceState.REPLACED),
        ({"waiting": True}, NonceState.PENDING),
        ({"waiting": True, "same_chain": False}, NonceState.PENDING),
        ({"same_chain": False}, NonceState.OTHER_CHAIN),
        ({}, NonceState.MISSING),
        ({"head": block(HEAD, timestamp=DEADLINE - 1)}, NonceState.MISSING),
        ({"head": block(HEAD, timestamp=DEADLINE)}, NonceState.EXPIRED),
    ],
)
def test_what_is_seen_has_a_name(changes: dict[str, object], expected: NonceState) -> None:
    _, step = sent()

    assert nonce_state(step, replace(SEEN, **changes)) is expected


def test_what_was_in_a_block_and_is_not_is_gone_and_without_a_deadline_nothing_expires() -> None:
    _, step = sent(deadline=None)
    late = replace(SEEN, head=block(HEAD, timestamp=2 * DEADLINE))

    assert nonce_state(step, late) is NonceState.MISSING
    assert nonce_state(replace(step, was_included=True), late) is NonceState.GONE


async def looked(node: Node, *, lags: bool = True) -> Sighting:
    return await look_up(ToldReader(node), *sent(), lags=lags)


async def test_a_quiet_chain_is_asked_once() -> None:
    node = Node()
    reader = ToldReader(node)

    seen = await look_up(reader, *sent(), lags=True)

    assert seen == Sighting(block(HEAD), HEAD - 10, True, None, False, NONCE, 0)
    assert (len(reader.asked), node.receipts_asked) == (6, 1)


@pytest.mark.parametrize(
    ("node", "error"),
    [
        (Node(head=BROKEN), BROKEN),
        (Node(nonce=BROKEN), BROKEN),
        (Node(head=None), None),
        (Node(receipt=BROKEN), BROKEN),
        (Node(finalized=BROKEN), BROKEN),
    ],
)
async def test_an_answer_that_is_missing_is_no_sighting(node: Node, error: RpcError | None) -> None:
    with pytest.raises(RpcError) as raised:
        await looked(node)

    assert error is None or raised.value is error


@pytest.mark.parametrize(
    "finalized", [None, RpcRefused(-32602, "no such tag", endpoint="x"), StatePruned("gone")]
)
@pytest.mark.parametrize(("head", "final"), [(HEAD, HEAD - 64), (10, 0), (64, 0)])
async def test_without_a_word_for_it_depth_is_final(
    finalized: object, head: int, final: int
) -> None:
    seen = await looked(Node(head=block(head), finalized=finalized))

    assert seen.final_number == final


async def test_a_receipt_is_final_only_while_the_chain_holds_its_block() -> None:
    number = HEAD - 10
    held = Node(receipt=receipt_in(number), blocks={100: block(100), number: block(number)})
    other = Node(
        receipt=receipt_in(number), blocks={100: block(100), number: block(number, fork="bb")}
    )
    missing = Node(receipt=receipt_in(number))
    newer = Node(receipt=receipt_in(number + 1))

    assert (await looked(held)).final_number == number
    assert (await looked(other)).final_number == number - 1
    assert (await looked(missing)).final_number == number - 1
    assert (await looked(newer)).final_number == number


async def test_a_nonce_that_went_on_is_asked_about_again() -> None:
    there = receipt_in(HEAD)
    came = await looked(Node(nonce=NONCE + 1, later=there))
    spent = await looked(Node(nonce=NONCE + 1, final_nonce=NONCE + 1))
    unsure = await looked(Node(nonce=NONCE + 1, final_nonce=BROKEN))

    assert came.receipt == there
    assert (spent.receipt, spent.nonce, spent.final_nonce) == (None, NONCE + 1, NONCE + 1)
    assert unsure.final_nonce == 0
    behind = await looked(Node(nonce=NONCE + 1, knows_head=False))
    assert (behind.nonce, behind.final_nonce) == (NONCE, NONCE)


class ForgetfulNode(Node):
    """Several machines behind one name: only the first that is asked again has the newest block."""

    def __call__(self, method: str, params: tuple[Json, ...]) -> object:
        answer = super().__call__(method, params)
        if method == "eth_getBlockByHash":
            self.knows_head = False
        return answer


async def test_a_head_that_one_of_several_machines_has_is_there() -> None:
    seen = await looked(ForgetfulNode(nonce=NONCE + 1))

    assert (seen.receipt, seen.nonce, seen.final_nonce) == (None, NONCE + 1, NONCE)


def pooled(block_hash: str | None) -> Transaction:
    wallet = DEMO_WALLET.address
    place = None if block_hash is None else 7
    return Transaction(
        "0x1", NONCE, wallet, wallet, 0, b"", 1, None, 1, 1, place, block_hash, place
    )


async def test_what_a_node_has_waits_and_is_mined_once_it_is_in_a_block() -> None:
    in_pool = await looked(Node(pooled=pooled(None)))
    in_block = await looked(Node(pooled=pooled("0x" + "ab" * 32)))

    assert (in_pool.waiting, in_pool.mined) == (True, False)
    assert (in_block.waiting, in_block.mined) == (True, True)


@pytest.mark.parametrize(
    ("head", "anchor", "lags", "same"),
    [
        (HEAD, block(100), True, True),
        (HEAD, block(100, fork="bb"), True, False),
        (HEAD, None, True, False),
        (100, None, True, False),
        (99, None, True, True),
        (99, None, False, False),
        (36, None, True, True),
        (35, None, True, False),
    ],
)
async def test_a_head_a_little_short_may_lag(
    head: int, anchor: Block | None, lags: bool, same: bool
) -> None:
    seen = await looked(Node(head=block(head), blocks={100: anchor}), lags=lags)

    assert seen.same_chain is same


@dataclass
class Spending:
    """Whose wallet's count passes the step's nonce in one block, by a transaction of it."""

    block: int
    spent: object
    asked: list[int] = field(default_factory=list)

    def __call__(self, method: str, params: tuple[Json, ...]) -> object:
        if method == "eth_getTransactionCount":
            self.asked.append(int(str(params[1]), 16))
            return NONCE + (self.asked[-1] >= self.block)
        assert (method, params[0]) == ("eth_getBlockByNumber", hex(self.block))
        return self.spent


@pytest.mark.parametrize("at", [101, 102, 150, 199, 200])
async def test_whose_nonce_it_was_is_found_in_the_block_that_passed_it(at: int) -> None:
    _, step = sent()
    wallet = step.transaction.sender
    other, mine = SpentNonce("0x1", wallet, NONCE - 1), SpentNonce("0x2", wallet, NONCE)
    chain = Spending(at, (other, mine))
    assert await find_spender(ToldReader(chain), step, after=101, head=200) == mine
    assert len(chain.asked) <= 8
    unknown: tuple[object, ...] = (None, (), (other,), StatePruned("gone"))
    for spent in unknown:
        reader = ToldReader(Spending(at, spent))
        assert await find_spender(reader, step, after=101, head=200) is None


async def test_one_version_that_waits_is_enough() -> None:
    dispatch, step = sent()
    assert step.newest is not None
    other = replace(
        step.newest, transaction=replace(step.newest.transaction, hash="0x" + "cd" * 32)
    )
    two = replace(step, versions=(*step.versions, other))
    wallet = step.transaction.sender
    waits = Transaction("0x1", NONCE, wallet, wallet, 0, b"", 1, None, 1, 1, None, None, None)

    def first_alone(method: str, params: tuple[Json, ...]) -> object:
        if method == "eth_getTransactionByHash":
            return waits if params[0] == two.versions[0].transaction.hash else None
        return Node()(method, params)

    seen = await look_up(ToldReader(first_alone), dispatch, two, lags=True)
    assert (seen.waiting, seen.mined) == (True, False)


def test_a_step_that_is_gone_and_another_chain_are_not_the_same() -> None:
    _, step = sent()
    was_included = replace(step, was_included=True)
    elsewhere = replace(SEEN, same_chain=False)
    assert settle_verdict(was_included, [SEEN, SEEN], 2).standing is NonceState.GONE
    assert (
        settle_verdict(was_included, [elsewhere, elsewhere], 2).standing is NonceState.OTHER_CHAIN
    )
    assert settle_verdict(was_included, [SEEN, elsewhere], 2).standing is NonceState.UNCLEAR


def test_how_much_must_be_seen_and_for_how_long() -> None:
    assert (LEAST_DOUBT_SECONDS, DOUBT_BLOCKS, FINAL_DEPTH) == (10, 3, 64)
    assert Evidence((), 10.0, embedded=False) == ONE_ENDPOINT
    assert Evidence((), 0.0, embedded=True) == EMBEDDED


async def test_a_receipt_that_is_late_is_asked_for_six_times() -> None:
    node = Node(nonce=NONCE + 1)
    await looked(node)
    assert node.receipts_asked == 1 + 6


async def test_what_is_mined_already_is_not_a_nonce_that_went_elsewhere() -> None:
    _, step = sent()
    spent = replace(SEEN, nonce=NONCE + 1, final_nonce=NONCE + 1)
    assert nonce_state(step, replace(spent, mined=True)) is NonceState.PENDING
    assert nonce_state(step, spent) is NonceState.REPLACED_FOR_GOOD


async def test_a_receipt_of_a_spent_nonce_that_is_there_at_once_is_believed() -> None:
    there = receipt_in(HEAD)
    node = Node(nonce=NONCE + 1, receipt=there)
    seen = await looked(node)
    assert (seen.receipt, seen.nonce, seen.final_nonce) == (there, NONCE + 1, 0)
    assert node.receipts_asked == 1
    late = await looked(Node(nonce=NONCE + 1, later=there, knows_head=False))
    assert (late.receipt, late.nonce) == (there, NONCE + 1)


def _witnesses(*nodes: object) -> Evidence:
    readers = (ToldReader(node) for node in nodes)  # type: ignore[arg-type]
    return Evidence(tuple(NamedReader(str(at), each) for at, each in enumerate(readers)))


async def test_endpoints_that_are_silent_are_not_counted() -> None:
    dispatch, step = sent()
    away = Node(head=BROKEN)
    usual = ToldReader(Node(nonce=NONCE + 9))
    two = await find_verdict(usual, _witnesses(Node(), away, Node()), dispatch, step)
    assert two.standing is NonceState.MISSING
    one = await find_verdict(usual, _witnesses(Node(), away), dispatch, step)
    assert one.standing is NonceState.UNCLEAR
    alone = await find_verdict(usual, ONE_ENDPOINT, dispatch, step)
    assert alone.standing is NonceState.REPLACED
    other = Malformed("other", endpoint="y")
    with pytest.raises(Malformed) as raised:
        await find_verdict(usual, _witnesses(away, Node(head=other)), dispatch, step)
    assert raised.value is BROKEN

    def broken(_method: str, _params: tuple[Json, ...]) -> object:
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        await find_verdict(usual, _witnesses(Node(), Node(), broken), dispatch, step)


@pytest.mark.parametrize(
    ("embedded", "found"), [(True, NonceState.OTHER_CHAIN), (False, NonceState.MISSING)]
)
async def test_only_a_live_chain_may_lag(embedded: bool, found: NonceState) -> None:
    short = ToldReader(Node(head=block(99), blocks={}))
    evidence = replace(ONE_ENDPOINT, embedded=embedded)
    assert (await find_verdict(short, evidence, *sent())).standing is found


N = NonceState
HIGH = block(HEAD + 5)
IN = receipt_in(HEAD - 1)
REVERTED = replace(IN, succeeded=False)


@pytest.mark.parametrize(
    ("seen", "needed", "found", "head"),
    [
        (({"nonce": NONCE + 1}, {"final_nonce": NONCE + 1, "head": HIGH}), 2, N.REPLACED, HEAD),
        (({"final_nonce": NONCE + 1},) * 2, 2, N.REPLACED_FOR_GOOD, HEAD),
        (({"same_chain": False, "head": HIGH}, {"same_chain": False}), 2, N.OTHER_CHAIN, HEAD),
        (({"same_chain": False}, {}), 2, N.UNCLEAR, HEAD),
        (({"waiting": True}, {"waiting": True, "head": HIGH}), 2, N.PENDING, HEAD),
        (({"waiting": True, "head": HIGH}, {}), 2, N.MISSING, HEAD),
        (({"waiting": True}, {"waiting": True}, {}), 2, N.PENDING, HEAD),
        (({"waiting": True}, {"waiting": True}, {"waiting": True}), 2, N.PENDING, HEAD),
        (({"waiting": True},), 1, N.PENDING, HEAD),
        (
            ({"receipt": IN}, {"receipt": IN, "final_number": HEAD, "head": HIGH}),
            2,
            N.INCLUDED,
            HEAD,
        ),
        (({"receipt": IN, "final_number": HEAD},) * 2, 2, N.FINAL, HEAD),
        (({"receipt": IN}, {"receipt": REVERTED}), 2, N.UNCLEAR, HEAD),
        (({"receipt": IN}, {"receipt": receipt_in(HEAD - 1, fork="bb")}), 2, N.UNCLEAR, HEAD),
        (({},), 1, N.MISSING, HEAD),
        (({"head": block(HEAD, timestamp=DEADLINE)}, {}), 2, N.MISSING, HEAD),
        (({"head": block(HEAD, timestamp=DEADLINE)},) * 2, 2, N.EXPIRED, HEAD),
        (({"waiting": True}, {"head": block(HEAD, timestamp=DEADLINE)}), 2, N.EXPIRED, HEAD),
        (({"head": HIGH}, {"nonce": NONCE + 1}), 2, N.UNCLEAR, HEAD),
        (({"receipt": IN}, {}), 2, N.UNCLEAR, HEAD),
        (({"receipt": IN},), 2, N.UNCLEAR, HEAD),
        (({"receipt": REVERTED}, {"receipt": IN}, {"receipt": IN}), 2, N.INCLUDED, HEAD),
        (({"receipt": IN}, {}, {"waiting": True}), 2, N.MISSING, HEAD),
        (({"nonce": NONCE + 1},) * 2 + ({"waiting": True},), 2, N.REPLACED, HEAD),
        (({"nonce": NONCE + 1}, {}, {}), 2, N.MISSING, HEAD),
        (({"receipt": IN},) * 2 + ({"receipt": REVERTED},) * 2, 2, N.UNCLEAR, HEAD),
    ],
)
def test_the_least_that_enough_of_them_say_counts_from_the_lowest_head(
    seen: tuple[dict[str, object], ...], needed: int, found: NonceState, head: int
) -> None:
    _, step = sent()
    sightings = [replace(SEEN, **each) for each in seen]
    for order in (sightings, sightings[::-1]):
        verdict = settle_verdict(step, order, needed)
        assert verdict == Verdict(found, verdict.seen)
        assert verdict.seen.head.number == head


def test_what_most_tell_is_what_is_seen_though_another_tells_otherwise() -> None:
    _, step = sent()
    told = [replace(SEEN, receipt=each) for each in (IN, REVERTED, REVERTED)]
    assert settle_verdict(step, told, 2).seen.receipt == REVERTED


WALLET = MEDIUM_PROVIDER.address


def native_balance(moves: Moves, owner: str) -> int:
    return int(moves.rpc("eth_getBalance", owner, "latest"), 16)


def sent_by_demo(moves: Moves, *, to: str, value: int, data: bytes = b"") -> str:
    nonce = int(moves.rpc("eth_getTransactionCount", DEMO_WALLET.address, "pending"), 16)
    signed = signed_by(DEMO_WALLET, transfer(nonce, to=to, value=value, data=data, gas=100_000))
    return node_rpc.broadcast(moves.url, "0x" + signed.raw.hex())


def burned(moves: Moves, token_id: int, pool: PoolKey) -> str:
    take = TakePair(pool.currency0, pool.currency1, TO_SENDER)
    return moves.modify(MEDIUM_PROVIDER, Burn(token_id, 0, 0), take)


async def test_a_mint_and_its_burn(desk: Desk, changing: Moves, network: Network) -> None:
    pool = STABLE.key
    before = changing.balances(pool, WALLET)
    coins = native_balance(changing, WALLET)
    [token_id] = changing.mint(MEDIUM_PROVIDER, pool, [(-7, 7)], 10**12, WALLET)
    block = changing.rpc("eth_getBlockByNumber", "latest", False)
    [mint] = block["transactions"]
    between = changing.balances(pool, WALLET)
    receipt, entered = await read_realised(desk.client, mint, WALLET, network)
    assert entered.minted == (v4_position(token_id),)
    assert entered.burned == ()
    assert entered.tokens == {
        pool.currency0: between[0] - before[0],
        pool.currency1: between[1] - before[1],
    }
    assert min(before[0] - between[0], before[1] - between[1]) > 0
    assert entered.native == NativeChange(0)
    assert entered.gas_used == receipt.gas_used
    assert entered.gas_cost == coins - native_balance(changing, WALLET)

    _, left = await read_realised(desk.client, burned(changing, token_id, pool), WALLET, network)
    after = changing.balances(pool, WALLET)
    assert left.burned == (v4_position(token_id),)
    whole = all_together((entered, left))
    assert whole.tokens == {
        token: change
        for token, change in (
            (pool.currency0, after[0] - before[0]),
            (pool.currency1, after[1] - before[1]),
        )
        if change
    }
    assert (whole.minted, whole.burned) == ((v4_position(token_id),), (v4_position(token_id),))
    assert whole.gas_cost == coins - native_balance(changing, WALLET)


async def test_native_coin_is_told_without_its_gas(
    desk: Desk, changing: Moves, network: Network
) -> None:
    before = native_balance(changing, DEMO_WALLET.address)
    sent = sent_by_demo(changing, to=RECIPIENT, value=12_345)
    _, result = await read_realised(desk.client, sent, DEMO_WALLET.address, network)
    assert result.native == NativeChange(-12_345)
    assert before - native_balance(changing, DEMO_WALLET.address) == 12_345 + result.gas_cost
    assert result.tokens == {}


async def test_wrapping_is_told_once_with_and_without_a_transfer(
    desk: Desk, changing: Moves, network: Network
) -> None:
    """The embedded chain's wrapper logs a Transfer too; the one of mainnet does not."""
    wrapped = sent_by_demo(changing, to=WETH.address, value=777, data=encode_call("deposit()"))
    receipt, result = await read_realised(desk.client, wrapped, DEMO_WALLET.address, network)
    assert (result.tokens, result.native) == ({WETH.address: 777}, NativeChange(-777))
    assert len(receipt.logs) == 2
    [plain] = [log for log in receipt.logs if len(log.topics) == 2]
    as_mainnet = realised_of(
        replace(receipt, logs=(plain,)), DEMO_WALLET.address, network, result.native
    )
    assert as_mainnet == result
    unwrap = encode_call("withdraw(uint256)", 700)
    unwrapped = sent_by_demo(changing, to=WETH.address, value=0, data=unwrap)
    _, result = await read_realised(desk.client, unwrapped, DEMO_WALLET.address, network)
    assert (result.tokens, result.native) == ({WETH.address: -700}, NativeChange(700))


async def test_two_of_one_wallet_in_a_block_leave_the_coin_unknown(
    desk: Desk, changing: Moves, network: Network
) -> None:
    changing.rpc("evm_setAutomine", False)
    try:
        first = sent_by_demo(changing, to=RECIPIENT, value=1)
        sent_by_demo(changing, to=RECIPIENT, value=2)
        with pytest.raises(NotIncludedError):
            await read_realised(desk.client, first, DEMO_WALLET.address, network)
        changing.rpc("evm_mine")
    finally:
        changing.rpc("evm_setAutomine", True)
    _, result = await read_realised(desk.client, first, DEMO_WALLET.address, network)
    assert result.native.amount is None
    assert "more than one transaction" in result.native.reason
    assert all_together((result, result)).native == result.native


async def test_a_stranger_s_logs_move_nothing_of_ours(
    desk: Desk, changing: Moves, network: Network
) -> None:
    """The same receipt, read for another wallet, and with logs of odd shapes in it."""
    changing.mint(MEDIUM_PROVIDER, STABLE.key, [(-7, 7)], 10**12, WALLET)
    [mint] = changing.rpc("eth_getBlockByNumber", "latest", False)["transactions"]
    receipt, _ = await read_realised(desk.client, mint, WALLET, network)
    nothing = realised_of(receipt, DEMO_WALLET.address, network, NativeChange(0))
    assert nothing == Realised({}, NativeChange(0), receipt.gas_used, nothing.gas_cost, (), ())
    odd = [replace(log, topics=(), data=b"\0" * 32) for log in receipt.logs] + [
        replace(log, data=log.data + b"\0") for log in receipt.logs
    ]
    # Positions are told by their topics, which stand; amounts need exactly one word.
    told = realised_of(replace(receipt, logs=tuple(odd)), WALLET, network, NativeChange(0))
    assert told.tokens == {}


async def test_a_position_of_the_native_coin(desk: Desk, changing: Moves, network: Network) -> None:
    logs = await desk.discovery.read(DEMO_WALLET.address)
    position = next(one.identity for one in logs.positions if one.identity.pool_key == ETH_USDC.key)
    before = changing.balances(ETH_USDC.key, DEMO_WALLET.address)
    sent = changing.burn(DEMO_WALLET, position)
    after = changing.balances(ETH_USDC.key, DEMO_WALLET.address)
    _, result = await read_realised(desk.client, sent, DEMO_WALLET.address, network)
    assert result.native.amount == after[0] - before[0] + result.gas_cost
    assert result.native.amount > 0
    assert result.tokens == {ETH_USDC.key.currency1: after[1] - before[1]}
    assert result.burned == (position.ref,)
