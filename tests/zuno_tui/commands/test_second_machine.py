"""A watch key and its machine's part, carried from one home to another by the commands."""

import stat
from pathlib import Path

from chain.standing_orders.book import MachineRole, StandingOrders
from tests.zuno_tui.conftest import CommandLine

_ON_BASE = ("--network", "base", "--rpc", "http://127.0.0.1:9", "--json")


def test_a_watch_key_is_carried_to_a_standby_and_taken_back(tmp_path: Path) -> None:
    first, standby = CommandLine(tmp_path / "first"), CommandLine(tmp_path / "standby")
    kept, carried, passphrase = (tmp_path / name for name in ("kept", "carried", "passphrase"))
    for file in (kept, passphrase):
        file.write_text(f"long enough {file.name}")
        file.chmod(0o600)
    export = ("wallet", "watch-key", "export", str(carried))
    imports = ("wallet", "watch-key", "import", str(carried), "--store", "file")
    given = ("--passphrase-file", str(passphrase), *_ON_BASE)
    opens = {"ZUNO_WATCH_KEY_PASSPHRASE_FILE": str(kept)}
    # Made without asking the network for what it holds.
    first("wallet", "watch-key", "--store", "file", "--passphrase-file", str(kept), *_ON_BASE)
    exported, again = first(*export, *given, **opens), first(*export, *given, **opens)
    taken = standby(*imports, *given)
    homes = [StandingOrders(each.home / "orders") for each in (first, standby)]
    removed = standby(
        "wallet", "watch-key", "remove", "--confirm", taken.data["address"], *_ON_BASE
    )
    nameless, odd = first("wallet", "watch-key", "export"), first("wallet", "watch-key", "x")

    assert exported.code == 0, exported.words
    assert (taken.code, taken.data["role"]) == (0, "standby"), taken.words
    assert taken.data["address"] == exported.data["address"]
    assert stat.S_IMODE(carried.stat().st_mode) == 0o600
    assert "long enough" not in exported.out + exported.words + taken.out + taken.words
    assert homes[0].role is MachineRole.FIRST
    assert (removed.code, homes[1].role) == (0, MachineRole.ALONE), removed.words
    assert (again.code, nameless.code, odd.code) == (1, 2, 2)
    assert "is not overwritten" in again.words
    assert "Name a file" in nameless.words


def test_the_embedded_chains_watch_key_stays(tmp_path: Path) -> None:
    told = CommandLine(tmp_path / "home")(
        "wallet", "watch-key", "export", str(tmp_path / "file"), "--network", "devnet"
    )

    assert told.code == 3
    assert "keeps its watch key" in told.words
