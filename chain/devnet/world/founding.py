"""The first hour of the embedded chain: contracts, tokens, pools, and the people who run them."""

from collections.abc import Mapping

from chain.contracts.abi import encode_call
from chain.contracts.calldata import initialize_pool
from chain.contracts.networks import NATIVE
from chain.devnet.world import accounts, deployment
from chain.devnet.world.market import SimulatedMarket
from chain.devnet.world.pools import ETH_USDC, POOLS, Crowd, Currency, DevnetPool
from chain.devnet.world.price_path import OPENING, Asset, sqrt_price_at
from chain.devnet.world.providing import approve_for_good, liquidity_worth, mint
from chain.devnet.world.writing import BlockDraft, ChainWriter, NodeState, UnsignedCall, WorldError
from chain.math.ticks import nearest_usable_tick, usable_ticks

_BLOCK_SECONDS = 12
_MINTABLE = (deployment.USDC, deployment.USDT, deployment.WBTC)
_RICHES = 10**12
"""Whole tokens a bot gets of everything: it must never run out."""

_RESIDENT_WETH = 1_000_000 * deployment.ETHER
_DEMO_WETH = 30 * deployment.ETHER
_DEMO_TOKENS = {
    deployment.USDC: 180_000,
    deployment.USDT: 40_000,
    deployment.WBTC: 1,
    deployment.FAKE_USDC: 5_000_000,
    deployment.HOSTILE: 1_000,
}

# Of the depth in dollars: how much stands in the full range, in the medium and in the narrow one.
_SHARES = {accounts.WIDE_PROVIDER: 30, accounts.MEDIUM_PROVIDER: 45, accounts.NARROW_PROVIDER: 25}

PROTOCOL_FEE_POOL = ETH_USDC
PROTOCOL_FEE = 300 << 12 | 200
"""Pips the protocol takes in that pool: 200 of ether sold, 300 of dollars sold."""

LOOK_ALIKE_POOL = DevnetPool(
    "WETH/USDC (another USDC)",
    Currency(deployment.WETH.address, deployment.WETH.decimals, Asset.ETHER),
    Currency(deployment.FAKE_USDC.address, deployment.FAKE_USDC.decimals, Asset.DOLLAR),
    10_000,
    200,
    NATIVE,
    4_000,
    Crowd(0, 0),
    (0, 0),
    0,
)
"""A pool that looks like the real one by name and pays in a token worth nothing."""


def found_world(
    writer: ChainWriter, codes: Mapping[deployment.ContractName, bytes], market: SimulatedMarket
) -> None:
    """Put everything on an empty chain, up to the first trade."""
    steps = (
        lambda page: deployment.deploy_tokens(page, codes),
        lambda page: deployment.deploy_protocol(page, codes),
        _fund,
        lambda page: _open_pools(page, market),
        *(lambda page, pool=pool: _provide(page, pool) for pool in POOLS),
        _set_trap,
    )
    for number, step in enumerate(steps, start=1):
        with writer.block_at(deployment.GENESIS_TIME + number * _BLOCK_SECONDS) as page:
            step(page)
    _expect_contracts(NodeState(writer.node))


def _expect_contracts(state: NodeState) -> None:
    """Whatever is deployed stands where `CONTRACTS` and `TOKENS` foretold."""
    manager = deployment.CONTRACTS.position_manager
    named = int.from_bytes(state.call(manager, encode_call("poolManager()")))
    if named != int(deployment.CONTRACTS.pool_manager, 16):
        raise WorldError(f"The PositionManager is not at {manager}, or speaks to another pool.")
    for token in deployment.TOKENS:
        if not state.call(token.address, encode_call("decimals()")):
            raise WorldError(f"There is no token {token.name} at {token.address}.")


def _fund(page: BlockDraft) -> None:
    spenders = (deployment.CONTRACTS.position_manager, deployment.UNIVERSAL_ROUTER)
    for bot in (*accounts.PROVIDERS, *accounts.TRADERS):
        for token in _MINTABLE:
            _mint_tokens(page, token, bot, _RICHES)
        _wrap(page, bot, _RESIDENT_WETH)
        for token in (deployment.WETH, *_MINTABLE):
            approve_for_good(page, bot, token.address, spenders)
    for token, amount in _DEMO_TOKENS.items():
        _mint_tokens(page, token, accounts.DEMO_WALLET, amount)
    _wrap(page, accounts.DEMO_WALLET, _DEMO_WETH)
    for token in (deployment.USDC, deployment.WBTC):
        _mint_tokens(page, token, accounts.NEIGHBOUR, 1_000_000)


def _open_pools(page: BlockDraft, market: SimulatedMarket) -> None:
    for pool in POOLS:
        data = initialize_pool(pool.key, sqrt_price_at(pool.milliticks(OPENING)))
        page.send(UnsignedCall(accounts.DEPLOYER, deployment.CONTRACTS.position_manager, data))
    manager = deployment.CONTRACTS.pool_manager
    controller = encode_call("setProtocolFeeController(address)", accounts.DEPLOYER.address)
    page.send(UnsignedCall(accounts.DEPLOYER, manager, controller))
    protocol_fee = encode_call(
        "setProtocolFee((address,address,uint24,int24,address),uint24)",
        PROTOCOL_FEE_POOL.key.values,
        PROTOCOL_FEE,
    )
    page.send(UnsignedCall(accounts.DEPLOYER, manager, protocol_fee))
    for intent in market.opening(page.state, page.timestamp).intents:
        page.send(intent)


def _provide(page: BlockDraft, pool: DevnetPool) -> None:
    medium, narrow = pool.breadth
    ranges = {
        accounts.WIDE_PROVIDER: usable_ticks(pool.tick_spacing),
        accounts.MEDIUM_PROVIDER: _around(pool, medium),
        accounts.NARROW_PROVIDER: _around(pool, narrow),
    }
    for provider, ticks in ranges.items():
        dollars = pool.depth * _SHARES[provider] // 100
        liquidity = liquidity_worth(page.state, pool, ticks, dollars, OPENING)
        mint(page, provider, pool, ticks, liquidity, approve=False)


def _set_trap(page: BlockDraft) -> None:
    """A stranger's pool of the look-alike token, and what an unwary owner once approved."""
    pool = LOOK_ALIKE_POOL
    data = initialize_pool(pool.key, sqrt_price_at(pool.milliticks(OPENING)))
    page.send(UnsignedCall(accounts.STRANGER, deployment.CONTRACTS.position_manager, data))
    _mint_tokens(page, deployment.FAKE_USDC, accounts.STRANGER, _RICHES)
    _wrap(page, accounts.STRANGER, 10 * deployment.ETHER)
    ticks = usable_ticks(pool.tick_spacing)
    liquidity = liquidity_worth(page.state, pool, ticks, pool.depth, OPENING)
    mint(page, accounts.STRANGER, pool, ticks, liquidity)
    approval = encode_call("approve(address,uint256)", accounts.STRANGER.address, 2**256 - 1)
    page.send(UnsignedCall(accounts.DEMO_WALLET, deployment.USDT.address, approval))


def _around(pool: DevnetPool, half_width: int) -> tuple[int, int]:
    centre = pool.milliticks(OPENING) // 1000
    lower, upper = (
        nearest_usable_tick(centre + side * half_width, pool.tick_spacing) for side in (-1, 1)
    )
    return lower, upper


def _mint_tokens(
    page: BlockDraft, token: deployment.DevnetToken, recipient: accounts.Account, whole: int
) -> None:
    amount = whole * 10**token.decimals
    data = encode_call("mint(address,uint256)", recipient.address, amount)
    page.send(UnsignedCall(accounts.ISSUER, token.address, data))


def _wrap(page: BlockDraft, owner: accounts.Account, amount: int) -> None:
    page.send(UnsignedCall(owner, deployment.WETH.address, encode_call("deposit()"), value=amount))
