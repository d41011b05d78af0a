"""The world as StateView and the PositionManager tell it: every state a position can be in."""

from typing import Any

import pytest
from msgspec.structs import astuple

from chain.contracts.abi import decode, encode_call, selector, topic
from chain.contracts.calldata import (
    OPEN_DELTA,
    TO_SENDER,
    Burn,
    CloseCurrency,
    Decrease,
    Mint,
    Permit2Transfer,
    PositionAction,
    PositionManagerCall,
    Settle,
    SwapExactIn,
    Sweep,
    Take,
    TakePair,
    V4Swap,
    approve_through_permit2,
    approve_token,
    execute,
    modify_liquidities,
)
from chain.contracts.networks import NATIVE, Address, network_named
from chain.contracts.pool_key import DYNAMIC_FEE, PoolKey
from chain.devnet.world.accounts import DEMO_WALLET, KEEPER, NEIGHBOUR, STRANGER
from chain.devnet.world.deployment import (
    CONTRACTS,
    ETHER,
    EXIT_GUARD,
    EXITS_REFUSED,
    FAKE_USDC,
    FEE_STEWARD,
    HOSTILE,
    REFUSING,
    SET_REFUSING,
    SUBSCRIBER,
    TOKENS,
    UNIVERSAL_ROUTER,
    UPDATE_FEE,
    USDC,
    USDT,
    WBTC,
    WETH,
)
from chain.devnet.world.founding import LOOK_ALIKE_POOL, PROTOCOL_FEE, PROTOCOL_FEE_POOL
from chain.devnet.world.market import HISTORY_ENDS, SMALL_SIZE, STEWARD_FEES, point_of
from chain.devnet.world.pools import (
    DYNAMIC,
    ETH_USDC,
    GUARDED,
    POOLS,
    SLEEPY,
    STABLE,
    WETH_USDC,
    WETH_USDC_LOW,
)
from chain.devnet.world.worlds import World
from chain.math.liquidity import liquidity_for_amounts
from chain.math.ticks import nearest_usable_tick, sqrt_price_at_tick
from chain.tokens.token import listed_tokens
from tests.chain.devnet.world_view import View
from tests.chain_view import ChainView, Outcome


def exit_data(token_id: int, pool: PoolKey) -> bytes:
    burn = (
        Burn(token_id, amount0_min=0, amount1_min=0),
        TakePair(pool.currency0, pool.currency1, TO_SENDER),
    )
    return modify_liquidities(burn, HISTORY_ENDS + 600)


def sent_by_owner(view: View, data: bytes) -> Outcome:
    """What the PositionManager would answer to the demo's wallet."""
    return view.chain.call(CONTRACTS.position_manager, data, DEMO_WALLET.address)


def test_a_healthy_position_was_increased_and_decreased(view: View) -> None:
    healthy = view.position("healthy")
    assert (healthy.owner, healthy.pool) == (DEMO_WALLET.address, WETH_USDC_LOW.key)
    assert healthy.in_range
    assert min(healthy.tick - healthy.tick_lower, healthy.tick_upper - healthy.tick) > 500
    salt = view.world.positions["healthy"].to_bytes(32, "big")
    changed = topic("ModifyLiquidity(bytes32,address,int24,int24,int256,bytes32)")
    changes = [
        decode(("int24", "int24", "int256", "bytes32"), _data(log))[2]
        for log in view.chain.logs(CONTRACTS.pool_manager, changed)
        if _data(log).endswith(salt)
    ]
    assert [change > 0 for change in changes] == [True, True, False]
    assert sum(changes) == healthy.liquidity


def test_one_is_about_to_leave_its_range(view: View) -> None:
    near = view.position("near the edge")
    assert near.in_range
    to_edge = min(near.tick - near.tick_lower, near.tick_upper - 1 - near.tick)
    assert to_edge < 100 < near.tick_upper - near.tick_lower


@pytest.mark.parametrize(("name", "side"), [("below its range", -1), ("above its range", 1)])
def test_two_were_left_behind_with_fees_uncollected(view: View, name: str, side: int) -> None:
    left = view.position(name)
    assert left.pool == WETH_USDC.key
    assert left.tick < left.tick_lower if side < 0 else left.tick >= left.tick_upper
    assert left.liquidity > 0
    assert sum(left.fees) > 0


@pytest.mark.parametrize(
    ("name", "pool"),
    [
        ("stable", STABLE),
        ("native", ETH_USDC),
        ("dynamic fee", DYNAMIC),
        ("hooked", GUARDED),
        ("underpaid", SLEEPY),
    ],
)
def test_there_is_one_in_every_kind_of_pool(view: View, name: str, pool: object) -> None:
    position = view.position(name)
    assert position.owner == DEMO_WALLET.address
    assert position.pool == getattr(pool, "key", None)
    assert position.in_range
    assert position.liquidity > 0


def test_an_emptied_position_keeps_its_token_and_nothing_else(view: View) -> None:
    """v4 pays all fees out when liquidity is removed: none can be left on an empty position."""
    emptied = view.position("emptied")
    assert emptied.owner == DEMO_WALLET.address
    assert (emptied.liquidity, emptied.fees) == (0, (0, 0))
    token_id = view.world.positions["emptied"]
    collect = modify_liquidities([Decrease(token_id, 0, 0, 0)], HISTORY_ENDS + 600)
    assert selector("CannotUpdateEmptyPosition()") in sent_by_owner(view, collect).output


def test_one_was_given_one_handed_on_and_one_burned(view: View) -> None:
    assert view.position("transferred in").owner == DEMO_WALLET.address
    assert view.position("handed on").owner == NEIGHBOUR.address
    burned = encode_call("ownerOf(uint256)", view.world.positions["burned"])
    assert not view.chain.call(CONTRACTS.position_manager, burned).success
    given = _transfers(view, view.world.positions["transferred in"])
    assert given == [NATIVE, NEIGHBOUR.address, DEMO_WALLET.address, NEIGHBOUR.address]


def test_the_wallet_holds_eleven(view: View) -> None:
    (count,) = view.read(
        CONTRACTS.position_manager,
        "balanceOf(address)",
        DEMO_WALLET.address,
        returns=("uint256",),
    )
    owned = [name for name in view.world.positions if name not in ("burned", "handed on")]
    assert count == len(owned) == 11


def test_a_subscriber_a_managing_stranger_and_a_forgotten_approval_are_there(view: View) -> None:
    manager, positions = CONTRACTS.position_manager, view.world.positions
    address = ("address",)
    assert view.read(manager, "subscriber(uint256)", positions["stable"], returns=address) == (
        SUBSCRIBER,
    )
    assert view.read(manager, "getApproved(uint256)", positions["native"], returns=address) == (
        STRANGER.address,
    )
    allowance = "allowance(address,address)"
    parties = (DEMO_WALLET.address, STRANGER.address)
    assert view.read(USDT.address, allowance, *parties, returns=("uint256",)) == (2**256 - 1,)


def test_every_position_can_be_left(view: View) -> None:
    for name in view.world.positions:
        if name in ("burned", "handed on"):
            continue
        leave = exit_data(view.world.positions[name], view.position(name).pool)
        assert sent_by_owner(view, leave).success, name


def test_the_guard_refuses_exits_only_when_its_keeper_says_so(view: View) -> None:
    leave = exit_data(view.world.positions["hooked"], view.position("hooked").pool)
    assert sent_by_owner(view, leave).success

    def switch(refusing: bool, sender: Address) -> Outcome:
        return view.chain.apply(sender, EXIT_GUARD, encode_call(SET_REFUSING, refusing))

    assert not switch(True, STRANGER.address).success
    assert sent_by_owner(view, leave).success
    assert switch(True, KEEPER.address).success
    refused = sent_by_owner(view, leave)
    assert not refused.success
    # PoolManager wraps a hook's revert: WrappedError(hook, function, reason, details).
    assert refused.output[:4] == selector("WrappedError(address,bytes4,bytes,bytes)")
    assert selector(EXITS_REFUSED) in refused.output
    assert view.chain.call(EXIT_GUARD, encode_call(REFUSING)).output[-1] == 1
    assert switch(False, KEEPER.address).success
    assert sent_by_owner(view, leave).success


def test_only_the_keeper_sets_the_dynamic_fee_and_the_market_did(view: View) -> None:
    mood = view.world.market.phase(HISTORY_ENDS - 60).mood
    _, _, _, lp_fee = view.slot0(DYNAMIC.key)
    assert lp_fee in STEWARD_FEES.values()
    assert lp_fee == STEWARD_FEES[mood]
    data = encode_call(UPDATE_FEE, DYNAMIC.key.values, 5)
    for sender, allowed in ((KEEPER, True), (STRANGER, False)):
        assert view.chain.call(FEE_STEWARD, data, sender.address).success is allowed
    fees = {
        decode(("int128", "int128", "uint160", "uint128", "int24", "uint24"), _data(log))[5]
        for log in _swaps(view)
        if log["topics"][1] == DYNAMIC.key.pool_id
    }
    assert len(fees) > 1


def test_pools_are_of_every_kind(view: View) -> None:
    keys = [pool.key for pool in POOLS]
    assert len({key.pool_id for key in keys}) == len(POOLS) >= 6
    pairs = [(key.currency0, key.currency1) for key in keys]
    assert pairs.count((WETH.address, USDC.address)) >= 2
    assert any(key.currency0 == NATIVE for key in keys)
    assert any(key.fee == DYNAMIC_FEE for key in keys)
    assert any(int(key.hooks, 16) & 0x3FFF == 0x0200 for key in keys)
    for pool in POOLS:
        assert view.slot0(pool.key)[0] > 0, pool.name
    assert view.slot0(PROTOCOL_FEE_POOL.key)[2] == PROTOCOL_FEE


def test_strange_tokens_live_apart_from_the_real_ones(view: View) -> None:
    known = {pool.key.currency0 for pool in POOLS} | {pool.key.currency1 for pool in POOLS}
    assert {FAKE_USDC.address, HOSTILE.address}.isdisjoint(known)
    assert view.slot0(LOOK_ALIKE_POOL.key)[0] > 0
    for token in TOKENS:
        symbol = view.read(token.address, "symbol()", returns=("string",))
        assert symbol == (token.symbol.encode(),)
        assert view.read(token.address, "decimals()", returns=("uint8",)) == (token.decimals,)


def test_the_bundled_data_is_what_the_world_deploys(view: View) -> None:
    network = network_named("devnet")
    assert network.contracts == CONTRACTS
    assert (network.wrapped_native, network.stable) == (WETH.address, USDC.address)
    assert network.clock == "head"
    for address in astuple(network.contracts):
        assert view.chain("eth_getCode", address, "latest") != "0x", address
    deployed, before = (
        view.chain("eth_getCode", CONTRACTS.pool_manager, hex(number))
        for number in (network.first_block, network.first_block - 1)
    )
    assert len(deployed) > len(before) == len("0x")
    listed = {each.token.address: each.token for each in listed_tokens(network).tokens}
    for token in (WETH, USDC, USDT, WBTC):
        entry = listed.pop(token.address)
        assert (entry.symbol, entry.decimals) == (token.symbol, token.decimals)
    assert list(listed) == [NATIVE]


def test_the_small_world_keeps_to_its_number_of_swaps_and_each_went_through_the_router(
    view: View,
) -> None:
    swaps = _swaps(view)
    assert 150 < len(swaps) <= SMALL_SIZE.most_swaps
    sender = "0x" + UNIVERSAL_ROUTER[2:].rjust(64, "0")
    assert {log["topics"][2] for log in swaps} == {sender}
    assert view.chain.head.timestamp == HISTORY_ENDS


def _swaps(view: View) -> list[Any]:
    swap = topic("Swap(bytes32,address,int128,int128,uint160,uint128,int24,uint24)")
    return view.chain.logs(CONTRACTS.pool_manager, swap)


def _data(log: dict[str, Any]) -> bytes:
    return bytes.fromhex(log["data"][2:])


def _transfers(view: View, token_id: int) -> list[Address]:
    transfer = topic("Transfer(address,address,uint256)")
    identity = f"0x{token_id:064x}"
    logs = view.chain.logs(CONTRACTS.position_manager, transfer, None, None, identity)
    return ["0x" + log["topics"][1][26:] for log in logs]


DEADLINE = HISTORY_ENDS + 900
POOL = WETH_USDC_LOW.key


def send(chain: ChainView, to: Address, data: bytes) -> Outcome:
    outcome = chain.apply(DEMO_WALLET.address, to, data)
    assert outcome.success, outcome.output.hex()
    return outcome


def balance(chain: ChainView, token: Address, owner: Address) -> int:
    outcome = chain.call(token, encode_call("balanceOf(address)", owner))
    return int.from_bytes(outcome.output, "big")


def minted(outcome: Outcome) -> int:
    creation = (topic("Transfer(address,address,uint256)"), f"0x{0:064x}")
    (token_id,) = (
        int(log["topics"][3], 16)
        for log in outcome.logs
        if log["address"] == CONTRACTS.position_manager and tuple(log["topics"][:2]) == creation
    )
    return token_id


def range_around(chain: ChainView, half_width: int) -> tuple[int, int]:
    tick = point_of(chain, WETH_USDC_LOW).tick
    lower, upper = (
        nearest_usable_tick(tick + side * half_width, POOL.tick_spacing) for side in (-1, 1)
    )
    return lower, upper


def test_swap_and_enter_is_one_transaction_that_leaves_nothing_behind(chain: ChainView) -> None:
    kept, sold = 2 * ETHER, ETHER
    for token, amount in ((WETH.address, kept + sold), (USDC.address, 0)):
        send(chain, token, approve_token(CONTRACTS.permit2, amount))
        grant = approve_through_permit2(token, UNIVERSAL_ROUTER, amount, DEADLINE)
        send(chain, CONTRACTS.permit2, grant)
    ticks = range_around(chain, 600)
    price = point_of(chain, WETH_USDC_LOW).sqrt_price_x96
    bought = sold * price * price * 995 // 1000 >> 192
    lower, upper = (sqrt_price_at_tick(tick) for tick in ticks)
    liquidity = liquidity_for_amounts(price, lower, upper, kept, bought)
    enter = modify_liquidities(
        [
            Mint(POOL, *ticks, liquidity * 99 // 100, kept, 2 * bought, DEMO_WALLET.address),
            Settle(POOL.currency0, OPEN_DELTA, payer_is_user=False),
            Settle(POOL.currency1, OPEN_DELTA, payer_is_user=False),
            Sweep(POOL.currency0, DEMO_WALLET.address),
            Sweep(POOL.currency1, DEMO_WALLET.address),
        ],
        DEADLINE,
    )
    commands = (
        V4Swap(
            (
                SwapExactIn(POOL, zero_for_one=True, amount_in=sold, amount_out_minimum=bought),
                Settle(POOL.currency0, OPEN_DELTA, payer_is_user=True),
                Take(POOL.currency1, CONTRACTS.position_manager, OPEN_DELTA),
            )
        ),
        Permit2Transfer(POOL.currency0, CONTRACTS.position_manager, kept),
        PositionManagerCall(enter),
    )
    outcome = send(chain, UNIVERSAL_ROUTER, execute(commands, DEADLINE))
    assert minted(outcome) > 0
    for token in (WETH.address, USDC.address):
        for place in (UNIVERSAL_ROUTER, CONTRACTS.position_manager):
            assert balance(chain, token, place) == 0


def test_a_range_is_moved_without_a_swap_in_one_transaction(
    chain: ChainView, small_world: World
) -> None:
    before = [balance(chain, token, DEMO_WALLET.address) for token in (WETH.address, USDC.address)]
    plan: list[PositionAction] = [
        Burn(small_world.positions["healthy"], amount0_min=0, amount1_min=0),
        Mint(POOL, *range_around(chain, 1500), 10**15, 10**24, 10**14, TO_SENDER),
        CloseCurrency(POOL.currency0),
        CloseCurrency(POOL.currency1),
    ]
    outcome = send(chain, CONTRACTS.position_manager, modify_liquidities(plan, DEADLINE))
    assert minted(outcome) > small_world.positions["near the edge"]
    after = [balance(chain, token, DEMO_WALLET.address) for token in (WETH.address, USDC.address)]
    assert all(now > then for now, then in zip(after, before, strict=True))
