"""What a snapshot says a position holds is what burning it pays, to the last unit."""

from collections import Counter, defaultdict

import pytest

from chain.contracts.abi import encode_call
from chain.contracts.networks import NATIVE
from chain.devnet.world.accounts import DEMO_WALLET, KEEPER
from chain.devnet.world.deployment import EXIT_GUARD, SET_REFUSING
from chain.devnet.world.pools import GUARDED
from chain.positions.batch_reader import read_positions
from chain.protocols.reference import v4_position
from chain.protocols.snapshot import PositionSnapshot
from chain.protocols.v4.holdings import custody_topics
from chain.rpc import requests
from chain.rpc.records import LogFilter
from tests.chain.conftest import Desk
from tests.chain.moves import CallFailedError, Moves

BLOCKS_EACH = 20


async def lives(desk: Desk, moves: Moves) -> dict[int, range]:
    """Every token that ever was, with the blocks after its mint up to its burn or the head."""
    manager = desk.network.contracts.position_manager
    transfer, _, _ = custody_topics(DEMO_WALLET.address)[0]
    assert isinstance(transfer, str)
    logs = await desk.client.ask(requests.logs(LogFilter(manager, (transfer,), 0, "latest")))
    head = int(moves.rpc("eth_blockNumber"), 16)
    found: dict[int, range] = {}
    for log in logs:
        token_id = int(log.topics[3], 16)
        if int(log.topics[1], 16) == 0:
            found[token_id] = range(log.block_number, head + 1)
        elif int(log.topics[2], 16) == 0:
            found[token_id] = range(found[token_id].start, log.block_number)
    return found


async def ever_of_the_wallet(desk: Desk) -> set[int]:
    manager = desk.network.contracts.position_manager
    arrivals, _ = custody_topics(DEMO_WALLET.address)
    logs = await desk.client.ask(requests.logs(LogFilter(manager, arrivals, 0, "latest")))
    return {int(log.topics[3], 16) for log in logs}


def payable(snapshot: PositionSnapshot) -> tuple[int, int]:
    return snapshot.amount0 + snapshot.fees0, snapshot.amount1 + snapshot.fees1


def spread(life: range, count: int) -> list[int]:
    """Blocks of a life, the first and the last among them."""
    if len(life) <= count:
        return list(life)
    return [life[index * (len(life) - 1) // (count - 1)] for index in range(count)]


def chosen(life: range, shared: list[int]) -> list[int]:
    """Twenty blocks of a life, of those that serve other lives too wherever possible."""
    common = [block for block in shared if block in life]
    own = [block for block in spread(life, BLOCKS_EACH) if block not in common]
    return [*common, *own][: max(BLOCKS_EACH, len(common))]


async def compare(desk: Desk, moves: Moves, wanted: dict[int, list[int]]) -> Counter[int]:
    """How often each token was burned at the blocks wanted of it."""
    by_block: dict[int, list[int]] = defaultdict(list)
    for token_id, blocks in wanted.items():
        for block in blocks:
            by_block[block].append(token_id)
    burned: Counter[int] = Counter()
    memory = desk.memory
    for block, token_ids in sorted(by_block.items()):
        found = await read_positions(
            desk.client, desk.network, memory, map(v4_position, token_ids), at=block
        )
        assert sorted(ref.token_id for ref in found) == sorted(token_ids)
        paid = moves.burn_payouts(
            [(one.identity, one.owner or "") for one in found.values()], block
        )
        for snapshot, payout in zip(found.values(), paid, strict=True):
            assert snapshot.block.number == block
            assert payout == payable(snapshot), f"{snapshot.ref} at block {block}"
            burned[snapshot.ref.token_id] += 1
    return burned


async def test_every_position_of_the_demo_wallet_at_twenty_blocks(desk: Desk, moves: Moves) -> None:
    all_lives = await lives(desk, moves)
    mine = await ever_of_the_wallet(desk)
    assert len(mine) >= 11
    longest = max((all_lives[token_id] for token_id in mine), key=len)
    shared = spread(longest, BLOCKS_EACH)
    wanted = {token_id: chosen(all_lives[token_id], shared) for token_id in mine}
    burned = await compare(desk, moves, wanted)
    assert set(burned) == mine
    assert max(burned.values()) == BLOCKS_EACH


async def test_everybody_elses_positions_at_the_ends_of_their_lives(
    desk: Desk, moves: Moves
) -> None:
    all_lives = await lives(desk, moves)
    others = all_lives.keys() - await ever_of_the_wallet(desk)
    assert len(others) >= 20
    await compare(desk, moves, {token_id: spread(all_lives[token_id], 2) for token_id in others})


async def test_a_hook_that_refuses_the_exit_leaves_the_numbers_as_they_are(
    desk: Desk, changing: Moves
) -> None:
    token_id = await hooked_position(desk)
    memory = desk.memory
    before = (await read_positions(desk.client, desk.network, memory, [v4_position(token_id)]))[
        v4_position(token_id)
    ]
    assert before.pool.hook.can_refuse_exit
    changing.send(KEEPER, EXIT_GUARD, encode_call(SET_REFUSING, True))
    after = (await read_positions(desk.client, desk.network, memory, [v4_position(token_id)]))[
        v4_position(token_id)
    ]
    assert after.block.number == before.block.number + 1
    assert (after.amount0, after.amount1) == (before.amount0, before.amount1)
    assert (after.fees0, after.fees1) == (before.fees0, before.fees1)
    mine = [(after.identity, DEMO_WALLET.address)]
    with pytest.raises(CallFailedError):
        changing.burn_payouts(mine, after.block.number)
    changing.send(KEEPER, EXIT_GUARD, encode_call(SET_REFUSING, False))
    assert changing.burn_payouts(mine, after.block.number + 1) == [payable(after)]


async def test_a_burn_that_is_really_mined_pays_the_same(desk: Desk, changing: Moves) -> None:
    wallet = await desk.discovery.read(DEMO_WALLET.address)
    # Of a pool of the coin itself the balance would tell the gas of the burn as well.
    tokens = [one for one in wallet.positions if one.pool.key.currency0 != NATIVE]
    position = max(tokens, key=lambda one: one.fees0 and one.fees1)
    poorer = changing.balances(position.pool.key, DEMO_WALLET.address)
    changing.burn(DEMO_WALLET, position.identity)
    richer = changing.balances(position.pool.key, DEMO_WALLET.address)
    assert (richer[0] - poorer[0], richer[1] - poorer[1]) == payable(position)


async def hooked_position(desk: Desk) -> int:
    wallet = await desk.discovery.read(DEMO_WALLET.address)
    return next(one.ref.token_id for one in wallet.positions if one.pool.key == GUARDED.key)


@pytest.mark.soak
async def test_every_position_there_is_at_every_block(desk: Desk, moves: Moves) -> None:
    all_lives = await lives(desk, moves)
    await compare(desk, moves, {token_id: list(life) for token_id, life in all_lives.items()})
