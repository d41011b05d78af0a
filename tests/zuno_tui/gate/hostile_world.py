"""Pools and tokens that mean harm on the embedded chain, with the demo wallet caught in each."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import httpx2

from chain.contracts.abi import encode_call
from chain.contracts.calldata import approve_through_permit2, approve_token, initialize_pool
from chain.contracts.networks import NATIVE, Address, network_named
from chain.contracts.pool_key import PoolKey
from chain.contracts.storage import decode_slot0, pool_slots
from chain.devnet.launch import DevnetReady
from chain.devnet.world.accounts import DEMO_WALLET, WIDE_PROVIDER
from chain.devnet.world.deployment import HOSTILE, USDC, WETH
from chain.devnet.world.pools import WETH_USDC
from chain.math.ticks import nearest_usable_tick, tick_at_sqrt_price
from tests.chain.moves import NEVER, Moves
from tests.zuno_tui.gate.hostile_code import (
    consenting_code,
    exit_tax_code,
    silent_toll_token_code,
    toll_token_code,
    upgradeable_code,
)

EXIT_TAX: Address = "0x7a8000000000000000000000000000000000c101"
"""Bits 8 and 0: told after liquidity is removed, and may keep a part of it."""
UPGRADEABLE: Address = "0x0b9a00000000000000000000000000000000c200"
"""Bit 9: asked before liquidity is removed."""
IMPLEMENTATIONS: tuple[Address, Address] = ("0x" + "a1" * 20, "0x" + "a2" * 20)
IMPLEMENTATION_SLOT = "0x360894a13ba1a3210667c828492db98dca3e2076cc3735a920a3ca505d382bbc"
FAKE_SYMBOL = "X\x1b[2K\r to 0xYOU (you).\n"
"""It would wipe the line it stands in and end our sentence with words of its own."""
WHOLE_FEE = 1_000_000
LIQUIDITY = 10**15
_RICHES = 10**30
_SYMBOL_SLOT = 1
_HALF_WIDTH = 1_200


@dataclass(frozen=True)
class HostileWorld:
    moves: Moves
    taxed: int
    """The demo wallet's position in a pool whose hook may tax its exit."""
    upgradeable: int
    whole_fee: int
    toll_position: int
    """Its position in a pool of a token that keeps a part of every transfer, as its events say."""
    silent_position: int
    """The same with a token whose events tell of the whole amount."""
    fake_recipient: int
    """In a pool of a token whose symbol pretends to be the end of our sentence."""
    tokens: dict[str, Address]

    def tax(self, bips: int) -> None:
        self.moves.rpc("anvil_setStorageAt", EXIT_TAX, hex(0), f"0x{bips:064x}")

    def upgrade(self, implementation: Address) -> None:
        word = "0x" + implementation[2:].rjust(64, "0")
        self.moves.rpc("anvil_setStorageAt", UPGRADEABLE, IMPLEMENTATION_SLOT, word)

    def set_code(self, address: Address, code: bytes) -> None:
        self.moves.rpc("anvil_setCode", address, "0x" + code.hex())
        self.moves.rpc("evm_mine")


@contextmanager
def hostile_world(devnet: DevnetReady) -> Iterator[HostileWorld]:
    """All of it for as long as the block lasts."""
    with httpx2.Client(verify=False) as http:
        moves = Moves(http, devnet.url, network_named("devnet"))
        with moves.undone():
            yield _staged(moves)


def _staged(moves: Moves) -> HostileWorld:
    for address, code in (
        (EXIT_TAX, exit_tax_code()),
        (UPGRADEABLE, upgradeable_code()),
        *((each, consenting_code(mark)) for mark, each in enumerate(IMPLEMENTATIONS)),
    ):
        moves.rpc("anvil_setCode", address, "0x" + code.hex())
    word = "0x" + IMPLEMENTATIONS[0][2:].rjust(64, "0")
    moves.rpc("anvil_setStorageAt", UPGRADEABLE, IMPLEMENTATION_SLOT, word)
    symbols = {"toll": "TOLL", "silent": "HUSH", "fake": FAKE_SYMBOL}
    tokens = {
        name: _new_token(moves, number, symbol)
        for number, (name, symbol) in enumerate(symbols.items(), 1)
    }
    pair = (WETH.address, USDC.address)
    world = HostileWorld(
        moves=moves,
        taxed=_caught(moves, PoolKey(*pair, 3000, 60, EXIT_TAX)),
        upgradeable=_caught(moves, PoolKey(*pair, 3000, 60, UPGRADEABLE)),
        whole_fee=_caught(moves, PoolKey(*pair, WHOLE_FEE, 60, NATIVE)),
        toll_position=_caught(moves, pool_with_weth(tokens["toll"])),
        silent_position=_caught(moves, pool_with_weth(tokens["silent"])),
        fake_recipient=_caught(moves, pool_with_weth(tokens["fake"])),
        tokens=tokens,
    )
    # They were honest while the pools were filled.
    world.set_code(tokens["toll"], toll_token_code(HOSTILE.address))
    world.set_code(tokens["silent"], silent_toll_token_code(HOSTILE.address))
    return world


def _new_token(moves: Moves, number: int, symbol: str) -> Address:
    """A copy of a token that is there, under another name, for the provider to fill pools with."""
    token: Address = f"0x{number:02x}" + "70" * 19
    moves.rpc("anvil_setCode", token, moves.rpc("eth_getCode", HOSTILE.address, "latest"))
    # A short string shares its word with twice its length.
    raw = symbol.encode()
    word = raw.ljust(31, b"\0") + bytes([2 * len(raw)])
    moves.rpc("anvil_setStorageAt", token, hex(_SYMBOL_SLOT), "0x" + word.hex())
    manager, permit2 = moves.network.contracts.position_manager, moves.network.contracts.permit2
    provider = WIDE_PROVIDER
    moves.send(provider, token, encode_call("mint(address,uint256)", provider.address, _RICHES))
    moves.send(provider, token, approve_token(permit2, _RICHES))
    grant = approve_through_permit2(token, manager, _RICHES, NEVER)
    moves.send(provider, permit2, grant)
    return token


def pool_with_weth(token: Address) -> PoolKey:
    currency0, currency1 = sorted((WETH.address, token))
    return PoolKey(currency0, currency1, 3000, 60, NATIVE)


def _caught(moves: Moves, pool: PoolKey) -> int:
    """A pool at the price of the honest one where both are its pair, at one to one where not."""
    price = _price_of(moves, WETH_USDC.key) if USDC.address in pool.values else 1 << 96
    manager = moves.network.contracts.position_manager
    moves.send(WIDE_PROVIDER, manager, initialize_pool(pool, price))
    centre = tick_at_sqrt_price(price)
    ticks = [
        nearest_usable_tick(centre + side * _HALF_WIDTH, pool.tick_spacing) for side in (-1, 1)
    ]
    spans = [(ticks[0], ticks[1])]
    moves.mint(WIDE_PROVIDER, pool, spans, LIQUIDITY, WIDE_PROVIDER.address)
    (token_id,) = moves.mint(WIDE_PROVIDER, pool, spans, LIQUIDITY, DEMO_WALLET.address)
    return token_id


def _price_of(moves: Moves, pool: PoolKey) -> int:
    slot = hex(pool_slots(pool.pool_id).slot0)
    word = moves.rpc("eth_getStorageAt", moves.network.contracts.pool_manager, slot, "latest")
    return decode_slot0(int(word, 16)).sqrt_price_x96
