"""Safes on the embedded chain, their owners' homes, and what is asked of both."""

from __future__ import annotations

import json
import os
import signal
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from chain.devnet.json_rpc import NodeClient
from chain.devnet.world.accounts import Account, account
from chain.devnet.world.safes import found_safe
from tests.fork_server import fork_server
from tests.zuno_tui.conftest import CommandLine, Spoken
from tests.zuno_tui.gate.desk import Desk

OWNERS = tuple(account(f"safe owner {number}") for number in range(1, 6))


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
        positions = desk.ask("zuno_status")["positions"]
        with NodeClient(desk.devnet.url) as node:
            safe = found_safe(node, positions, owners, threshold, version=version)
        made = cls(desk, safe, version)
        watched = desk.here("wallet", "safe", safe, "--name", "vault")
        assert watched.code == 0, watched.words
        assert desk.here("wallet", "use", "vault").code == 0
        return made

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
        return self.desk.apply_here(plan["planId"], "--confirm", plan["hash"], "--json", *flags)

    def executed(self, plan: dict[str, Any], *flags: str) -> Spoken:
        confirmed = ("--confirm", plan["safeTxHash"], "--json")
        return self.desk.command(
            "safe", "execute", str(plan["number"]), *confirmed, *flags, *self.desk.flags
        )

    def cut_off(self, moment: int, *command: str) -> int:
        """The code of a command whose power is cut before its n-th change of what is on disk."""
        home = str(self.desk.command.home)
        ended = fork_server().run(
            *("tests.zuno_tui.gate.killed_at", str(moment), home, *command, *self.desk.flags),
            environment={**os.environ, "ZUNO_HOME": home},
        )
        assert ended.returncode in (0, -signal.SIGKILL), ended.stderr
        return ended.returncode

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
        kept = self.desk.here(
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
