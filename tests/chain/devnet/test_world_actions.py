"""The encoder's longer recipes, run by the real contracts."""

from chain.contracts.abi import encode_call, topic
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
    V4Swap,
    approve_through_permit2,
    approve_token,
    execute,
    modify_liquidities,
)
from chain.contracts.networks import Address
from chain.devnet.world.accounts import DEMO_WALLET
from chain.devnet.world.deployment import CONTRACTS, ETHER, UNIVERSAL_ROUTER, USDC, WETH
from chain.devnet.world.market import HISTORY_ENDS, point_of
from chain.devnet.world.pools import WETH_USDC_LOW
from chain.devnet.world.worlds import World
from chain.math.liquidity import liquidity_for_amounts
from chain.math.ticks import nearest_usable_tick, sqrt_price_at_tick
from tests.chain_view import ChainView, Outcome

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
