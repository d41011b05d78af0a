"""A desktop session without a desktop: a D-Bus of its own and a real gnome-keyring on it."""

import os
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.waiting import wait_until

_PROGRAMS = ("dbus-run-session", "dbus-send", "gnome-keyring-daemon")
_PACKAGES = ("gnome-keyring", "dbus")
_INSTALL_SECONDS = 90


@dataclass(frozen=True)
class DesktopSession:
    environment: dict[str, str]
    keyring: subprocess.Popen[bytes]


def require_gnome_keyring() -> None:
    """Install what is missing where that is possible; skip with the reason where it is not."""
    missing = [name for name in _PROGRAMS if shutil.which(name) is None]
    if not missing:
        return
    if os.getuid() != 0 or shutil.which("apt-get") is None:
        pytest.skip(f"a real keyring needs {', '.join(missing)}: apt install gnome-keyring dbus")
    done = subprocess.run(
        ["apt-get", "install", "-y", "--no-install-recommends", *_PACKAGES],
        capture_output=True,
        timeout=_INSTALL_SECONDS,
        check=False,
        env={**os.environ, "DEBIAN_FRONTEND": "noninteractive"},
    )
    if done.returncode or any(shutil.which(name) is None for name in _PROGRAMS):
        pytest.skip(f"{', '.join(missing)} missing, and apt-get could not install them")


@contextmanager
def desktop_session(home: Path, *, unlock: str | None) -> Iterator[DesktopSession]:
    """A session that starts by unlocking the keyring with a passphrase, or by leaving it locked."""
    runtime = home / "run"
    runtime.mkdir(mode=0o700, parents=True, exist_ok=True)
    kept = {name: value for name, value in os.environ.items() if not name.startswith("DBUS_")}
    environment = {**kept, "HOME": str(home), "XDG_RUNTIME_DIR": str(runtime)}
    for name in ("XDG_DATA_HOME", "XDG_CONFIG_HOME", "PYTHON_KEYRING_BACKEND", "DISPLAY"):
        environment.pop(name, None)
    bus = subprocess.Popen(
        ["dbus-run-session", "--", "sh", "-c", 'echo "$DBUS_SESSION_BUS_ADDRESS"; exec cat'],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        env=environment,
    )
    assert bus.stdin is not None
    assert bus.stdout is not None
    environment["DBUS_SESSION_BUS_ADDRESS"] = bus.stdout.readline().decode().strip()
    keyring = _start_keyring(environment, unlock)
    try:
        yield DesktopSession(environment, keyring)
    finally:
        keyring.kill()
        keyring.wait()
        bus.stdin.close()
        bus.wait()
        bus.stdout.close()


def _start_keyring(environment: dict[str, str], unlock: str | None) -> subprocess.Popen[bytes]:
    # Before anything else asks on the bus: D-Bus would start a locked one by itself.
    command = ["gnome-keyring-daemon", "--foreground", "--components=secrets"]
    keyring = subprocess.Popen(
        command if unlock is None else [*command, "--unlock"],
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        env=environment,
    )
    assert keyring.stdin is not None
    keyring.stdin.write((unlock or "").encode())
    keyring.stdin.close()
    wait_until(lambda: _answers(environment), "gnome-keyring")
    return keyring


def _answers(environment: dict[str, str]) -> bool:
    question = ["dbus-send", "--session", "--print-reply", "--dest=org.freedesktop.DBus", "/"]
    asked = subprocess.run(
        [*question, "org.freedesktop.DBus.NameHasOwner", "string:org.freedesktop.secrets"],
        capture_output=True,
        env=environment,
        check=False,
    )
    return b"boolean true" in asked.stdout
