"""A token that no list vouches for, with a pool and a position of the demo wallet's in it."""

from dataclasses import dataclass

import httpx2

from chain.contracts.abi import encode_call
from chain.contracts.calldata import approve_through_permit2, approve_token, initialize_pool
from chain.contracts.networks import NATIVE, Address, network_named
from chain.contracts.pool_key import PoolKey
from chain.devnet.launch import DevnetReady
from chain.devnet.world.accounts import DEMO_WALLET, WIDE_PROVIDER
from chain.devnet.world.deployment import CONTRACTS, HOSTILE, WETH
from tests.chain.moves import NEVER, Moves

UNLISTED: Address = "0x70" + "71" * 19
_SYMBOL_SLOT = 1
_RICHES = 10**24
_LIQUIDITY = 10**18
_TICKS = (-6_000, 6_000)


@dataclass(frozen=True)
class UnlistedPosition:
    token: Address
    token_id: int


def unlisted_position(devnet: DevnetReady) -> UnlistedPosition:
    """At one to one with WETH; the token has eighteen decimals."""
    with httpx2.Client(verify=False) as http:
        moves = Moves(http, devnet.url, network_named("devnet"))
        code = moves.rpc("eth_getCode", HOSTILE.address, "latest")
        moves.rpc("anvil_setCode", UNLISTED, code)
        symbol = b"OBOL".ljust(31, b"\0") + bytes([2 * len(b"OBOL")])
        moves.rpc("anvil_setStorageAt", UNLISTED, hex(_SYMBOL_SLOT), "0x" + symbol.hex())
        for holder in (WIDE_PROVIDER, DEMO_WALLET):
            give = encode_call("mint(address,uint256)", holder.address, _RICHES)
            moves.send(WIDE_PROVIDER, UNLISTED, give)
        moves.send(WIDE_PROVIDER, UNLISTED, approve_token(CONTRACTS.permit2, _RICHES))
        grant = approve_through_permit2(UNLISTED, CONTRACTS.position_manager, _RICHES, NEVER)
        moves.send(WIDE_PROVIDER, CONTRACTS.permit2, grant)
        currency0, currency1 = sorted((WETH.address, UNLISTED))
        pool = PoolKey(currency0, currency1, 3000, 60, NATIVE)
        moves.send(WIDE_PROVIDER, CONTRACTS.position_manager, initialize_pool(pool, 1 << 96))
        (token_id,) = moves.mint(WIDE_PROVIDER, pool, [_TICKS], _LIQUIDITY, DEMO_WALLET.address)
    return UnlistedPosition(UNLISTED, token_id)
