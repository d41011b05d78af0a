"""Who can reach a key: import contracts say it, running processes prove it."""

from __future__ import annotations

import subprocess
import sys

import pytest

_IMPORT_ALL = """
import importlib, pkgutil, sys
room = importlib.import_module({room!r})
for module in pkgutil.walk_packages(room.__path__, room.__name__ + "."):
    importlib.import_module(module.name)
print(*sorted(sys.modules))
"""


@pytest.mark.parametrize("room", ["agents", "chain.execution"])
def test_importing_a_whole_room_brings_no_key_within_reach(room: str) -> None:
    done = subprocess.run(
        [sys.executable, "-c", _IMPORT_ALL.format(room=room)],
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )

    imported = set(done.stdout.split())
    assert room in imported
    assert not {name for name in imported if name.startswith("chain.wallet")}
    assert imported.isdisjoint({"eth_account", "eth_keyfile", "keyring"})


def test_importing_the_wallet_does_not_import_what_signs() -> None:
    """A command pays for the signing library only when it signs."""
    done = subprocess.run(
        [sys.executable, "-c", _IMPORT_ALL.format(room="chain.wallet")],
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )

    assert set(done.stdout.split()).isdisjoint(
        {"eth_account", "eth_keyfile", "keyring", "coincurve", "web3", "eth"}
    )
