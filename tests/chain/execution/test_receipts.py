"""What transactions did in sum, and when status and balances cannot both be true."""

import asyncio

import pytest
from msgspec.structs import replace

from chain.contracts import abi
from chain.contracts.networks import NATIVE, network_named
from chain.execution.outbox.receipts import (
    NativeChange,
    NotIncludedError,
    Realised,
    all_together,
    contradicts,
    gas_cost,
    once_there,
    read_held_changes,
    read_realised,
    realised_of,
)
from chain.protocols.reference import v4_position
from chain.rpc import requests
from chain.rpc.errors import BlockMissing, Malformed, RpcError, StatePruned, TimedOut
from chain.rpc.records import Block, Json, Log, Receipt
from tests.fakes.told_reader import ToldReader

WALLET, ONE, TWO = "0x" + "aa" * 20, "0x" + "11" * 20, "0x" + "22" * 20
PARENT, HERE = "0x" + "b1" * 32, "0x" + "b2" * 32
BLOCK = Block(7, HERE, PARENT, 0, 1, 0, 1)
RECEIPT = Receipt("0xab", 0, 7, HERE, WALLET, ONE, None, True, 100, 100, 3, None, ())
LOG = Log(ONE, (), b"", 7, HERE, "0xab", 0, 0, removed=False)
BASE = network_named("base")
TRANSFER = "Transfer(address,address,uint256)"
NOTHING = Realised({}, NativeChange(0), 100, 300, (), ())


def test_gas_is_what_was_used_at_its_price_and_what_the_parent_chain_took() -> None:
    assert gas_cost(RECEIPT) == 300
    assert gas_cost(replace(RECEIPT, l1_fee=5)) == 305


@pytest.mark.parametrize(
    ("told", "held", "contradicted"),
    [
        ({}, {}, False),
        ({ONE: 5}, {ONE: 5}, False),
        ({ONE: 5}, {ONE: 4}, False),
        ({ONE: 5}, {ONE: 0}, True),
        ({ONE: 5}, {TWO: 0}, False),
        ({}, {ONE: 0}, False),
        ({}, {ONE: 9}, False),
        ({ONE: 5, TWO: 5}, {ONE: 5, TWO: 0}, True),
    ],
)
def test_success_moves_what_its_events_tell(
    told: dict[str, int], held: dict[str, int], contradicted: bool
) -> None:
    assert contradicts(RECEIPT, replace(NOTHING, tokens=told), held) is contradicted


def _log(token: str, event: str, amount: int, *parties: str) -> Log:
    topics = (abi.topic(event), *("0x" + party[2:].rjust(64, "0") for party in parties))
    return replace(LOG, address=token, topics=topics, data=amount.to_bytes(32, "big"))


@pytest.mark.parametrize(
    ("logs", "changes"),
    [
        ([("Deposit(address,uint256)", 5, WALLET)], 5),
        ([("Withdrawal(address,uint256)", 5, WALLET)], -5),
        ([("Deposit(address,uint256)", 5, ONE)], None),
        # Later forms of wrapped ether log a Transfer as well: it is counted once.
        ([("Deposit(address,uint256)", 5, WALLET), (TRANSFER, 5, NATIVE, WALLET)], 5),
    ],
)
def test_wrapping_is_counted_once_whatever_else_is_minted(
    logs: list[tuple[str, int, str]], changes: int | None
) -> None:
    wrapped = BASE.wrapped_native
    assert wrapped is not None
    told = tuple(_log(wrapped, event, amount, *parties) for event, amount, *parties in logs)
    minted = _log(TWO, TRANSFER, 7, NATIVE, WALLET)
    receipt = replace(RECEIPT, logs=(*told, minted))
    expected = {TWO: 7} if changes is None else {wrapped: changes, TWO: 7}
    assert realised_of(receipt, WALLET, BASE, NativeChange(0)).tokens == expected


@pytest.mark.parametrize("succeeded", [True, False])
def test_a_receipt_of_a_block_in_which_the_nonce_stood_still_is_made_up(succeeded: bool) -> None:
    still = replace(NOTHING, native=NativeChange(None, "sent nothing", never_sent=True))

    assert contradicts(replace(RECEIPT, succeeded=succeeded), still, {})


@pytest.mark.parametrize(
    ("native", "held", "logs", "contradicted"),
    [
        (0, {}, (), False),
        (0, {ONE: 0}, (), False),
        (0, {ONE: 0, TWO: 1}, (), True),
        (0, {}, (LOG,), True),
        (-300, {}, (), False),
        (-301, {}, (), True),
        (5, {}, (), False),
        (None, {}, (), False),
    ],
)
def test_failure_moves_nothing_but_gas(
    native: int | None, held: dict[str, int], logs: tuple[Log, ...], contradicted: bool
) -> None:
    failed = replace(RECEIPT, succeeded=False, logs=logs)

    assert contradicts(failed, replace(NOTHING, native=NativeChange(native)), held) is contradicted


def test_the_steps_of_a_plan_are_added_up() -> None:
    first = Realised({ONE: 5, TWO: -3}, NativeChange(-10), 100, 300, (v4_position(7),), ())
    second = Realised(
        {ONE: -5, TWO: -1}, NativeChange(4), 50, 70, (v4_position(8),), (v4_position(7),)
    )
    unknown = replace(second, native=NativeChange(None, "nobody knows"))

    assert all_together([first, second]) == Realised(
        {TWO: -4}, NativeChange(-6), 150, 370, (v4_position(7), v4_position(8)), (v4_position(7),)
    )
    assert all_together([NOTHING, NOTHING]).native == NativeChange(0)
    assert all_together([first, unknown, second]).native == NativeChange(None, "nobody knows")
    assert all_together([]) == Realised({}, NativeChange(0), 0, 0, (), ())


def word(amount: int) -> bytes:
    return amount.to_bytes(32, "big")


class Tokens:
    """By block and token what `balanceOf` answers."""

    def __init__(self, block: Block | None, answers: dict[tuple[str, str], object]) -> None:
        self._block = block
        self._answers = answers

    def __call__(self, method: str, params: tuple[Json, ...]) -> object:
        if method == "eth_getBlockByHash":
            return self._block
        call, at = params[0], params[1]
        assert isinstance(call, dict)
        where = at["blockHash"] if isinstance(at, dict) else at
        return self._answers[str(where), str(call["to"])]


async def test_balances_before_and_after_are_compared() -> None:
    reader = ToldReader(
        Tokens(
            BLOCK,
            {
                (PARENT, ONE): word(10),
                (HERE, ONE): word(4),
                (PARENT, TWO): word(1),
                (HERE, TWO): word(9),
            },
        )
    )

    found = await read_held_changes(reader, RECEIPT, WALLET, [ONE, NATIVE, TWO, ONE])

    assert found == {ONE: -6, TWO: 8}
    assert len(reader.asked) == 5


@pytest.mark.parametrize("odd", [b"", b"\0" * 31, b"\0" * 33, Malformed("x", endpoint="y")])
@pytest.mark.parametrize("at", [PARENT, HERE])
async def test_a_token_that_does_not_tell_is_left_out(odd: object, at: str) -> None:
    answers: dict[tuple[str, str], object] = {
        (where, token): word(1) for where in (PARENT, HERE) for token in (ONE, TWO)
    }
    reader = ToldReader(Tokens(BLOCK, {**answers, (at, ONE): odd}))

    assert await read_held_changes(reader, RECEIPT, WALLET, [ONE, TWO]) == {TWO: 0}


async def test_without_a_block_or_a_token_nothing_is_compared() -> None:
    assert await read_held_changes(ToldReader(Tokens(None, {})), RECEIPT, WALLET, [ONE]) == {}
    assert await read_held_changes(ToldReader(Tokens(BLOCK, {})), RECEIPT, WALLET, [NATIVE]) == {}


@pytest.mark.parametrize(
    ("fault", "known"),
    [
        (TimedOut(1.0, endpoint="node"), True),
        (Malformed("no JSON", endpoint="node"), True),
        (BlockMissing("header not found"), True),
        (StatePruned("missing trie node"), False),
    ],
)
async def test_an_endpoint_that_fails_once_does_not_make_the_coin_unknown(
    fault: RpcError, known: bool
) -> None:
    faults = [fault]

    def told(method: str, params: tuple[Json, ...]) -> object:
        if method == "eth_getTransactionReceipt":
            return RECEIPT
        if method == "eth_getBlockByHash":
            return BLOCK
        before = isinstance(params[1], dict) and params[1]["blockHash"] == PARENT
        if method == "eth_getTransactionCount":
            return 4 if before else 5
        return faults.pop() if faults else (1_000 if before else 1_700)

    _, did = await read_realised(ToldReader(told), RECEIPT.transaction_hash, WALLET, BASE)
    assert did.native.amount == (1_000 if known else None)
    assert bool(did.native.reason) is not known


@pytest.fixture
def slept(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """The seconds that were to be waited, each of them over at once."""
    waits: list[float] = []

    async def sleep(seconds: float) -> None:
        waits.append(seconds)

    monkeypatch.setattr(asyncio, "sleep", sleep)
    return waits


async def test_an_endpoint_that_keeps_failing_is_given_up_within_three_seconds(
    slept: list[float],
) -> None:
    def told(method: str, _params: tuple[Json, ...]) -> object:
        if method == "eth_getTransactionReceipt":
            return RECEIPT
        return BLOCK if method == "eth_getBlockByHash" else TimedOut(1.0, endpoint="node")

    _, did = await read_realised(ToldReader(told), RECEIPT.transaction_hash, WALLET, BASE)

    assert did.native.amount is None
    assert did.native.reason
    assert slept == [0.0, 0.2, 0.8, 1.6]


async def test_a_block_that_is_gone_leaves_the_coin_unknown(slept: list[float]) -> None:
    def told(method: str, _params: tuple[Json, ...]) -> object:
        return RECEIPT if method == "eth_getTransactionReceipt" else None

    _, did = await read_realised(ToldReader(told), RECEIPT.transaction_hash, WALLET, BASE)

    assert did.native == NativeChange(None, "its block is no longer part of the chain")
    assert slept == [0.0, 0.0, 0.0, 0.4, 0.8, 1.2, 1.6]


async def test_what_is_there_at_the_third_look_is_not_waited_for_longer(slept: list[float]) -> None:
    answers = [None, None, None, RECEIPT]
    reader = ToldReader(lambda *_: answers.pop(0))
    assert await once_there(reader, requests.receipt("0xab")) == RECEIPT
    assert slept == [0.0, 0.0, 0.4]
    slept.clear()
    nobody = ToldReader(lambda *_: None)
    with pytest.raises(NotIncludedError, match="0xab is in no block"):
        await read_realised(nobody, "0xab", WALLET, BASE)
    assert (slept, len(nobody.asked)) == ([0.0, 0.0, 0.4, 0.8, 1.2, 1.6], 7)


@pytest.mark.parametrize(
    ("nonces", "last", "native"),
    [
        (1, 5, NativeChange(1_000)),
        (2, 6, NativeChange(1_000)),
        (1, 6, NativeChange(None, "the wallet sent more than one transaction in that block")),
        (2, 5, NativeChange(None, "the wallet sent more than one transaction in that block")),
        (1, 4, NativeChange(None, "the wallet sent nothing in that block", never_sent=True)),
    ],
)
async def test_the_coin_is_known_where_the_nonces_of_the_block_are_the_transactions(
    nonces: int, last: int, native: NativeChange
) -> None:
    def told(method: str, params: tuple[Json, ...]) -> object:
        if method == "eth_getTransactionReceipt":
            return RECEIPT
        if method == "eth_getBlockByHash":
            return BLOCK
        before = isinstance(params[1], dict) and params[1]["blockHash"] == PARENT
        if method == "eth_getTransactionCount":
            return 4 if before else last
        return 1_000 if before else 1_700

    receipt, did = await read_realised(ToldReader(told), "0xab", WALLET, BASE, nonces=nonces)
    assert (receipt, did.native, did.gas_used, did.gas_cost) == (RECEIPT, native, 100, 300)
    assert NativeChange(5).never_sent is False


MANAGER = BASE.contracts.position_manager
OTHER = "0x" + "cc" * 20


def _moved(giver: str, taker: str, token_id: int, *, address: str = MANAGER) -> Log:
    topics = (abi.topic(TRANSFER), *("0x" + each[2:].rjust(64, "0") for each in (giver, taker)))
    return replace(LOG, address=address, topics=(*topics, f"0x{token_id:064x}"))


def test_positions_that_came_and_were_burned_are_told_by_their_transfers() -> None:
    logs = (
        _moved(NATIVE, WALLET, 0x1F),
        _moved(NATIVE, WALLET, 8),
        _moved(WALLET, NATIVE, 9),
        # Of another, given away, of another contract, of another event, and cut short.
        _moved(NATIVE, OTHER, 10),
        _moved(WALLET, OTHER, 11),
        _moved(OTHER, WALLET, 12),
        _moved(NATIVE, WALLET, 13, address=OTHER),
        replace(
            _moved(NATIVE, WALLET, 14),
            topics=("0x" + "ab" * 32, *_moved(NATIVE, WALLET, 14).topics[1:]),
        ),
        replace(_moved(NATIVE, WALLET, 15), topics=_moved(NATIVE, WALLET, 15).topics[:3]),
        replace(LOG, address=MANAGER),
    )
    did = realised_of(replace(RECEIPT, logs=logs), WALLET, BASE, NativeChange(0))
    assert (did.minted, did.burned, did.tokens) == (
        (v4_position(31), v4_position(8)),
        (v4_position(9),),
        {},
    )


def test_what_came_and_left_is_summed_by_token_and_odd_logs_are_passed_over() -> None:
    odd = (
        replace(LOG, data=bytes(32)),
        replace(_log(ONE, TRANSFER, 9, OTHER, WALLET), data=bytes(31) + b"\1\0"),
        replace(_log(ONE, TRANSFER, 9, OTHER, WALLET), data=b"\1" * 31),
        _log(ONE, "Approval(address,address,uint256)", 9, OTHER, WALLET),
        _log(ONE, TRANSFER, 9, WALLET),
    )
    moved = (
        _log(ONE, TRANSFER, 5, OTHER, WALLET),
        _log(ONE, TRANSFER, 7, WALLET, OTHER),
        _log(TWO, TRANSFER, 4, OTHER, WALLET),
        _log(TWO, TRANSFER, 4, WALLET, OTHER),
        _log(OTHER, TRANSFER, 3, WALLET, WALLET),
        _log(OTHER, TRANSFER, 3, ONE, TWO),
        _log(WALLET, TRANSFER, 6, NATIVE, WALLET),
    )
    did = realised_of(replace(RECEIPT, logs=(*odd, *moved)), WALLET, BASE, NativeChange(0))
    assert did.tokens == {ONE: -2, WALLET: 6}


@pytest.mark.parametrize(
    ("logs", "change"),
    [
        ([("Deposit(address,uint256)", 5, WALLET), ("Withdrawal(address,uint256)", 2, WALLET)], 3),
        ([("Deposit(address,uint256)", 5, WALLET), (TRANSFER, 4, WALLET, OTHER)], 1),
        ([("Withdrawal(address,uint256)", 5, WALLET), (TRANSFER, 5, WALLET, NATIVE)], -5),
        ([("Closed(address,uint256)", 5, WALLET)], None),
        ([(TRANSFER, 5, NATIVE, OTHER), ("Deposit(address,uint256)", 5, OTHER)], None),
    ],
)
def test_wrapped_coin_is_counted_by_its_own_events_unless_it_logs_transfers_too(
    logs: list[tuple[str, int, str]], change: int | None
) -> None:
    wrapped = str(BASE.wrapped_native)
    told = tuple(_log(wrapped, event, amount, *parties) for event, amount, *parties in logs)
    # The same events of another token wrap nothing.
    other = _log(TWO, "Deposit(address,uint256)", 7, WALLET)
    did = realised_of(replace(RECEIPT, logs=(*told, other)), WALLET, BASE, NativeChange(0))
    assert did.tokens == ({} if change is None else {wrapped: change})
