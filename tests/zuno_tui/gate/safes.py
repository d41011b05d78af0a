"""Safes on the embedded chain, their owners' homes, and what is asked of both."""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from chain.contracts.abi import encode_call
from chain.devnet.json_rpc import NodeClient
from chain.devnet.world.accounts import Account, account
from chain.devnet.world.deployment import USDC, WETH
from chain.devnet.world.safes import make_safe, place_safes
from tests.waiting import wait_until
from tests.zuno_tui.conftest import CommandLine

if TYPE_CHECKING:
    from pathlib import Path

    from tests.zuno_tui.conftest import Spoken
    from tests.zuno_tui.gate.desk import Desk

# What was paid before is what a plan expects to pay.
FEES = {"maxFeePerGas": hex(10**11), "maxPriorityFeePerGas": hex(10**8)}
OWNERS = tuple(account(f"safe owner {number}") for number in range(1, 6))
STATES = ("healthy", "native", "below its range", "transferred in")


@dataclass(frozen=True)
class SafeDesk:
    """A Safe with positions and coins of the demo wallet's, and a home that watches it."""

    desk: Desk
    address: str
    version: str

    @classmethod
    def made(
        cls, desk: Desk, owners: list[str], threshold: int, *, version: str = "1.4.1"
    ) -> SafeDesk:
        with NodeClient(desk.devnet.url) as node:
            place_safes(node, version)
            wallet = desk.devnet.wallet
            safe = make_safe(node, wallet, owners, threshold, version=version)
        made = cls(desk, safe, version)
        made._endow()
        watched = desk.here("wallet", "safe", safe, "--name", "vault")
        assert watched.code == 0, watched.words
        assert desk.here("wallet", "use", "vault").code == 0
        return made

    def _endow(self) -> None:
        desk, wallet = self.desk, self.desk.devnet.wallet
        manager = desk.devnet.contracts.position_manager
        desk.ask("anvil_impersonateAccount", wallet)
        for state in STATES:
            self._as_wallet(
                manager,
                encode_call(
                    "transferFrom(address,address,uint256)",
                    wallet,
                    self.address,
                    desk.token_id(state),
                ),
            )
        for token, amount in ((WETH.address, 10**18), (USDC.address, 3_000 * 10**6)):
            data = encode_call("transfer(address,uint256)", self.address, amount)
            self._as_wallet(token, data)
        desk.ask("anvil_stopImpersonatingAccount", wallet)

    def _as_wallet(self, to: str, data: bytes) -> None:
        wallet = self.desk.devnet.wallet
        call = {"from": wallet, "to": to, "data": "0x" + data.hex(), **FEES}
        sent = self.desk.ask("eth_sendTransaction", call)
        wait_until(lambda: self.desk.ask("eth_getTransactionReceipt", sent) is not None)
        assert self.desk.ask("eth_getTransactionReceipt", sent)["status"] == "0x1", call

    @property
    def nonce(self) -> int:
        return int.from_bytes(self.desk.read(self.address, "nonce()"), "big")

    def read(self, signature: str, *values: object) -> bytes:
        return self.desk.read(self.address, signature, *values)

    def plan(self, *words: str) -> dict[str, Any]:
        spoken = self.desk.here(*words, "--json")
        assert spoken.code == 0, (spoken.words, spoken.out)
        found: dict[str, Any] = spoken.data
        return found

    def signed(self, plan: dict[str, Any], *flags: str) -> Spoken:
        return self.desk.apply(plan["planId"], "--confirm", plan["hash"], "--json", *flags)

    def executed(self, plan: dict[str, Any], *flags: str) -> Spoken:
        confirmed = ("--confirm", plan["safeTxHash"], "--json")
        return self.desk.command(
            "safe", "execute", str(plan["number"]), *confirmed, *flags, *self.desk.flags
        )

    def at(self, folder: Path) -> SafeDesk:
        """Another owner's home, which watches the same Safe."""
        folder.mkdir(mode=0o700)
        desk = replace(self.desk, command=CommandLine(folder))
        watched = desk.here("wallet", "safe", self.address, "--name", "vault")
        assert watched.code == 0, watched.words
        return replace(self, desk=desk)

    def with_key(self, owner: Account, tmp_path: Path) -> None:
        """The owner's key in this home, in a file that opens without asking."""
        plain, secret = tmp_path / f"{owner.name}.key", self.passphrase
        plain.write_text("0x" + owner.key.hex(), "utf-8")
        plain.chmod(0o600)
        secret.write_text("a passphrase of some length", "utf-8")
        secret.chmod(0o600)
        name = owner.name.replace(" ", "-")
        kept = self.desk.command(
            *("wallet", "import", "--unsafe-key-file", str(plain), "--name", name),
            *("--store", "file", "--passphrase-file", str(secret)),
        )
        assert kept.code == 0, kept.words

    @property
    def passphrase(self) -> Path:
        return self.desk.command.home.with_suffix(".passphrase")

    def file(self, number: int) -> Path:
        return self.desk.command.home / "safe" / f"{number}.json"

    def document(self, number: int) -> dict[str, Any]:
        found: dict[str, Any] = json.loads(self.file(number).read_text("utf-8"))
        return found
