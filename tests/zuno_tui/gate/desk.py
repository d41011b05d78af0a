"""A person's desk at an embedded chain of its own, which the tests there change for good."""

import os
from dataclasses import dataclass
from math import isqrt
from pathlib import Path
from typing import Any

import pytest

from chain.contracts.abi import decode, encode_call
from chain.contracts.delegation import delegated_code
from chain.contracts.networks import NATIVE
from chain.contracts.pool_key import POOL_KEY_TYPES, PoolKey
from chain.contracts.storage import decode_slot0, pool_slots
from chain.devnet.launch import DevnetReady
from chain.math.ticks import tick_at_sqrt_price
from tests import node_rpc
from tests.fork_server import fork_server
from tests.waiting import HUNG_SECONDS
from tests.zuno_tui.conftest import CommandLine, Spoken
from zuno_tui.cli import main

REFUSED = 3
FEW_BLOCKS = 4
"""One more than an order's condition must hold for."""


@dataclass(frozen=True)
class Desk:
    devnet: DevnetReady
    command: CommandLine
    capture: pytest.CaptureFixture[str]
    rpc: str | None = None
    """Other endpoints before the chain than its own."""

    @property
    def flags(self) -> tuple[str, ...]:
        return ("--network", "devnet", "--rpc", self.rpc or self.devnet.url)

    def ask(self, method: str, *params: object) -> Any:
        return node_rpc.ask(self.devnet.url, method, *params)

    def here(self, *arguments: str) -> Spoken:
        """A command in this process, because that is faster."""
        home = ("--home", str(self.command.home))
        self.capture.readouterr()
        code = main([*arguments, *self.flags, *home])
        shown = self.capture.readouterr()
        return Spoken(code, shown.out, shown.err)

    def apply(self, *arguments: str) -> Spoken:
        """In a process of its own, which the signer shuts off from others."""
        return self.command("apply", *arguments, *self.flags)

    def apply_here(self, *arguments: str) -> Spoken:
        """In this process, where what comes of it is looked at and not how it is signed."""
        return self.here("apply", *arguments)

    def delegate(self) -> None:
        """The account as `wallet delegate` leaves it, without the plan that does it."""
        code = delegated_code(str(self.devnet.contracts.delegate)).hex()
        self.ask("anvil_setCode", self.devnet.wallet, f"0x{code}")

    def killed_while_waiting(
        self, approval: dict[str, Any], *, at: str = "", place: int | None = None
    ) -> int:
        """Apply, and kill the process when this step is in the pool and in no block."""
        self.ask("evm_setAutomine", False)
        arguments = ("apply", approval["planId"], "--confirm", approval["hash"], *self.flags)
        steps = [each["step"] for each in approval["transactions"]]
        before = steps.index(at) if place is None else place
        told, words = os.pipe()
        with Path(os.devnull).open("r+") as nothing:
            applying = fork_server().start(
                "zuno_tui",
                *arguments,
                environment={**os.environ, "ZUNO_HOME": str(self.command.home)},
                files=[nothing.fileno(), nothing.fileno(), words],
            )
        os.close(words)
        with os.fdopen(told) as lines:
            for _ in (line for line in lines if ": sent" in line):
                if not before:
                    break
                before -= 1
                self.ask("evm_mine")
            applying.kill()
            code = applying.ended(HUNG_SECONDS)
        assert code is not None
        return code

    def refused(self, *arguments: str) -> Spoken:
        """An `apply` that must not come as far as a key."""
        spoken = self.here("apply", *arguments)
        assert (spoken.code, spoken.out) == (REFUSED, ""), spoken
        return spoken

    def approved(self, *arguments: str) -> dict[str, Any]:
        spoken = self.here(*arguments, "--json")
        assert spoken.code == 0, spoken.words
        document: dict[str, Any] = spoken.data
        return document

    def recommended(self, state: str) -> dict[str, Any]:
        token_id = str(self.token_id(state))
        spoken = self.here("recommend", token_id, "--json", "--deterministic")
        assert spoken.code == 0, spoken.words
        document: dict[str, Any] = spoken.data
        return document

    def token_id(self, state: str) -> int:
        return int(self.ask("zuno_status")["positions"][state])

    def positions(self) -> dict[str, dict[str, Any]]:
        spoken = self.here("positions", "--json")
        assert spoken.code == 0, spoken.words
        found = spoken.data["positions"]
        return {one["tokenId"]: one for one in found}

    def owns(self, token_id: int | str) -> bool:
        """Whether the position is there and the wallet's, as its manager tells."""
        data = "0x" + encode_call("ownerOf(uint256)", int(token_id)).hex()
        call = {"to": self.devnet.contracts.position_manager, "data": data}
        told = node_rpc.answer_of(self.devnet.url, "eth_call", call, "latest")
        return "0x" + str(told.get("result", ""))[-40:] == self.devnet.wallet

    def pool_id(self, state: str) -> str:
        """The pool of one of the demo's positions."""
        asked = "getPoolAndPositionInfo(uint256)"
        told = self.read(self.devnet.contracts.position_manager, asked, self.token_id(state))
        return PoolKey(*decode(POOL_KEY_TYPES, told[:-32])).pool_id

    def pass_time(self, seconds: int) -> None:
        """In few blocks: each leaves a state behind, which Anvil keeps."""
        self.ask("anvil_mine", hex(FEW_BLOCKS - 1), "0xc")
        node_rpc.wait_until_later(self.devnet.url, seconds - 12 * (FEW_BLOCKS - 1))

    def nonce(self) -> int:
        return int(self.ask("eth_getTransactionCount", self.devnet.wallet, "latest"), 16)

    def read(self, to: str, signature: str, *values: object) -> bytes:
        data = "0x" + encode_call(signature, *values).hex()
        return bytes.fromhex(self.ask("eth_call", {"to": to, "data": data}, "latest")[2:])

    def raise_price(self, pool_id: str, *, bips: int) -> None:
        """As if others had traded."""
        price = self.price(pool_id)
        self.set_price(pool_id, isqrt(price * price * (10_000 + bips) // 10_000))

    def price(self, pool_id: str) -> int:
        """The square root of the pool's price, in 96 binary places."""
        return decode_slot0(self._slot0(pool_id)).sqrt_price_x96

    def set_price(self, pool_id: str, moved: int) -> None:
        tick = tick_at_sqrt_price(moved) % (1 << 24)
        changed = self._slot0(pool_id) >> 184 << 184 | tick << 160 | moved
        slot = hex(pool_slots(pool_id).slot0)
        self.ask(
            "anvil_setStorageAt", self.devnet.contracts.pool_manager, slot, f"0x{changed:064x}"
        )
        self.ask("evm_mine")

    def _slot0(self, pool_id: str) -> int:
        slot = hex(pool_slots(pool_id).slot0)
        return int(
            self.ask("eth_getStorageAt", self.devnet.contracts.pool_manager, slot, "latest"), 16
        )

    def held(self, holder: str, token: str) -> int:
        if token == NATIVE:
            return int(self.ask("eth_getBalance", holder, "latest"), 16)
        return int.from_bytes(self.read(token, "balanceOf(address)", holder), "big")

    def allowed_through_permit2(self, token: str, spender: str) -> int:
        signature = "allowance(address,address,address)"
        wallet = self.devnet.wallet
        words = self.read(self.devnet.contracts.permit2, signature, wallet, token, spender)
        return int(decode(("uint160", "uint48", "uint48"), words)[0])


def confirmed(approval: dict[str, Any]) -> tuple[str, str, str]:
    """What names an approval, and confirms it by its hash."""
    return approval["planId"], "--confirm", approval["hash"]


def assert_nothing_left(desk: Desk, tokens: list[str]) -> None:
    contracts = desk.devnet.contracts
    assert contracts.universal_router is not None
    for token in tokens:
        for holder in (contracts.universal_router, contracts.position_manager):
            assert desk.held(holder, token) == 0
        if token != NATIVE:
            assert desk.allowed_through_permit2(token, contracts.universal_router) == 0


def assert_within_bounds(approval: dict[str, Any], result: dict[str, Any]) -> None:
    """What was shown is what came; nothing left the wallet but gas, and an exit paid in full."""
    steps = [one["step"] for one in approval["bounds"]]
    for place, token in enumerate(approval["tokens"]):
        realised = int(result["realised"][token])
        assert realised == int(approval["quoted"][token])
        least = approval["bounds"][0]["paid"][f"amount{place}"]
        assert realised >= (int(least) if steps == ["exit"] else 0)
