"""The world as StateView and the PositionManager tell it: what its people and hooks may do."""

from typing import Any

from msgspec.structs import astuple

from chain.contracts.abi import decode, encode_call, selector, topic
from chain.contracts.calldata import (
    OPEN_DELTA,
    TO_SENDER,
    Burn,
    CloseCurrency,
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
from chain.contracts.pool_key import PoolKey
from chain.devnet.world.accounts import DEMO_WALLET, KEEPER, STRANGER
from chain.devnet.world.deployment import (
    CONTRACTS,
    ETHER,
    EXIT_GUARD,
    EXITS_REFUSED,
    FEE_STEWARD,
    REFUSING,
    SET_REFUSING,
    UNIVERSAL_ROUTER,
    UPDATE_FEE,
    USDC,
    USDT,
    WBTC,
    WETH,
)
from chain.devnet.world.market import HISTORY_ENDS, STEWARD_FEES, point_of
from chain.devnet.world.pools import (
    DYNAMIC,
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


def _swaps(view: View) -> list[Any]:
    swap = topic("Swap(bytes32,address,int128,int128,uint160,uint128,int24,uint24)")
    return view.chain.logs(CONTRACTS.pool_manager, swap)


def _data(log: dict[str, Any]) -> bytes:
    return bytes.fromhex(log["data"][2:])


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
