"""The eight kinds of drift, each made on the chain in any size, with the verdict it must have."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from chain.contracts.abi import encode, encode_call
from chain.contracts.addresses import keccak
from chain.contracts.calldata import TO_SENDER, Decrease, TakePair, initialize_pool
from chain.contracts.pool_key import PoolKey
from chain.devnet.world.accounts import DEMO_WALLET, STRANGER, WIDE_PROVIDER
from chain.devnet.world.deployment import EXIT_GUARD
from chain.devnet.world.pools import ETH_USDC, WETH_USDC_LOW
from chain.execution.plan.facts import Tolerance
from chain.math.drift import price_band
from tests import node_rpc
from tests.chain.moves import Moves
from tests.fakes.proxy import Answer, Call, Proxy
from tests.zuno_tui.gate.desk import Desk
from tests.zuno_tui.gate.hostile_code import consenting_code

LET_THROUGH = "There is no terminal to type on"
"""What `apply` says when nothing but the typed word is missing."""
KINDS = {
    "native": (
        "owner", "liquidity", "pool price", "base fee", "nonce of the wallet", "approval",
    ),
    "healthy": ("pool",),
    "hooked": ("hook code",),
}  # fmt: skip
"""By the state of the position it is shown on."""
_TOP_OF_INFO = 200
"""Bits of the pool's id in the word the PositionManager keeps for a position."""


@dataclass(frozen=True)
class Change:
    size: str
    make: Callable[[], object]
    allowed: bool


@dataclass(frozen=True)
class Drifting:
    """One approval to leave a position, and everything that may happen before it is applied."""

    desk: Desk
    moves: Moves
    proxy: Proxy
    """Between the desk and the chain: where the base fee is told."""
    token_id: int
    approval: dict[str, Any]

    @classmethod
    def approved(cls, state: str, desk: Desk, moves: Moves, proxy: Proxy) -> Drifting:
        token_id = desk.token_id(state)
        return cls(desk, moves, proxy, token_id, desk.approved("close", str(token_id)))

    def verdict(self, kind: str, change: Change) -> str:
        """What `apply` says after this change, which then never happened."""
        desk = replace(self.desk, rpc=self.proxy.url) if kind == "base fee" else self.desk
        with self.moves.undone():
            change.make()
            return desk.refused(self.approval["planId"]).words

    def changes(self, kind: str, sizes: int) -> Iterator[Change]:
        """At the bound and one past it first, then further and further away."""
        make = {
            "owner": self._owner,
            "liquidity": self._liquidity,
            "pool": self._pool,
            "hook code": self._hook_code,
            "pool price": self._price,
            "base fee": self._base_fee,
            "nonce of the wallet": self._nonce,
            "approval": self._age,
        }
        yield from make[kind](sizes)

    def _owner(self, sizes: int) -> Iterator[Change]:
        yield Change("the same", _nothing, allowed=True)
        for number in range(1, sizes):
            yield Change(f"0x…{number:x}", partial(self._given_to, number), allowed=False)

    def _given_to(self, recipient: int) -> None:
        """By the stranger whom the owner once let manage it."""
        signature = "transferFrom(address,address,uint256)"
        to = f"0x{0xABC0000 + recipient:040x}"
        data = encode_call(signature, DEMO_WALLET.address, to, self.token_id)
        self.moves.send(STRANGER, self.moves.network.contracts.position_manager, data)

    def _liquidity(self, sizes: int) -> Iterator[Change]:
        yield Change("−0", _nothing, allowed=True)
        there = int(self.desk.positions()[str(self.token_id)]["liquidity"])
        for number in range(1, sizes):
            less = max(1, there * (number - 1) // max(1, sizes - 2))
            yield Change(f"−{less}", partial(self._decreased, less), allowed=False)

    def _decreased(self, liquidity: int) -> None:
        key = ETH_USDC.key
        pair = TakePair(key.currency0, key.currency1, TO_SENDER)
        self.moves.modify(STRANGER, Decrease(self.token_id, liquidity, 0, 0), pair)

    def _pool(self, sizes: int) -> Iterator[Change]:
        yield Change("the same", _nothing, allowed=True)
        for number in range(1, sizes):
            fee = number + 100
            yield Change(f"fee {fee}", partial(self._repooled, fee), allowed=False)

    def _repooled(self, fee: int) -> None:
        """The word that ties the position to its pool, tied to another: no contract would do it."""
        known = WETH_USDC_LOW.key
        pool = PoolKey(known.currency0, known.currency1, fee, known.tick_spacing, known.hooks)
        manager = self.moves.network.contracts.position_manager
        self.moves.send(WIDE_PROVIDER, manager, initialize_pool(pool, 1 << 96))
        self.moves.mint(WIDE_PROVIDER, pool, [(-100, 100)], 10**9, WIDE_PROVIDER.address)
        slot, word = self._info()
        rest = 256 - _TOP_OF_INFO
        tied = int(pool.pool_id, 16) >> rest << rest | word % (1 << rest)
        self.moves.rpc("anvil_setStorageAt", manager, slot, f"0x{tied:064x}")
        self.moves.rpc("evm_mine")

    def _info(self) -> tuple[str, int]:
        """Where the PositionManager keeps the position's word, and the word."""
        manager = self.moves.network.contracts.position_manager
        data = "0x" + encode_call("positionInfo(uint256)", self.token_id).hex()
        told = self.moves.rpc("eth_call", {"to": manager, "data": data}, "latest")
        for place in range(32):
            slot = "0x" + keccak(encode(("uint256", "uint256"), (self.token_id, place))).hex()
            if self.moves.rpc("eth_getStorageAt", manager, slot, "latest") == told:
                return slot, int(told, 16)
        raise AssertionError("the PositionManager keeps its positions somewhere else")

    def _hook_code(self, sizes: int) -> Iterator[Change]:
        code = self.moves.rpc("eth_getCode", EXIT_GUARD, "latest")
        yield Change("the same", partial(self._recoded, code), allowed=True)
        for number in range(1, sizes):
            other = "0x" + consenting_code(number).hex()
            yield Change(f"code {number}", partial(self._recoded, other), allowed=False)

    def _recoded(self, code: str) -> None:
        self.moves.rpc("anvil_setCode", EXIT_GUARD, code)
        self.moves.rpc("evm_mine")

    def _price(self, sizes: int) -> Iterator[Change]:
        pool_id = ETH_USDC.key.pool_id
        price = self.desk.price(pool_id)
        band = price_band(price, Tolerance().slippage_bips)
        prices = [band.highest, band.highest + 1, band.lowest, band.lowest - 1]
        while len(prices) < sizes:
            bips = (len(prices) - 3) * 4 * (-1) ** len(prices)
            prices.append(price * (20_000 + bips) // 20_000)
        for moved in prices:
            change = (moved / price) ** 2 * 100 - 100
            allowed = band.lowest <= moved <= band.highest
            yield Change(f"{change:+.4f}%", partial(self.desk.set_price, pool_id, moved), allowed)

    def _base_fee(self, sizes: int) -> Iterator[Change]:
        cap = int(self.approval["transactions"][0]["maxFeePerGas"])
        fees = [cap, cap + 1, *(cap * part // 24 for part in range(1, sizes - 1))]
        for fee in fees:
            yield Change(f"{fee} wei", partial(self._dearer, fee), allowed=fee <= cap)

    def _dearer(self, base_fee: int) -> None:
        self.proxy.answer = lambda call: _with_base_fee(self.proxy.chain, call, base_fee)

    def _nonce(self, sizes: int) -> Iterator[Change]:
        for number in range(sizes):
            yield Change(f"+{number}", partial(self._used, number), allowed=number == 0)

    def _used(self, more: int) -> None:
        self.moves.rpc("anvil_setNonce", DEMO_WALLET.address, hex(self.desk.nonce() + more))
        self.moves.rpc("evm_mine")

    def _age(self, sizes: int) -> Iterator[Change]:
        expires = self.approval["expiresAt"]
        ages = [-1, 0, *(number * 24 - 576 for number in range(1, sizes - 1))]
        for late in ages:
            mine = partial(self.moves.rpc, "evm_mine", hex(expires + late))
            yield Change(f"{600 + late} s", mine, allowed=late < 0)


def _nothing() -> None:
    """The chain stands still."""


def _with_base_fee(chain: str, call: Call, base_fee: int) -> Answer | None:
    if not call["method"].startswith("eth_getBlockBy"):
        return None
    block = node_rpc.ask(chain, call["method"], *call["params"])
    return {"result": {**block, "baseFeePerGas": hex(base_fee)}}
