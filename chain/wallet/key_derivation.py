"""What a keystore file may ask of this machine before its passphrase can be tried."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from chain.wallet.errors import KeystoreError

if TYPE_CHECKING:
    from collections.abc import Mapping

USUAL_COST = 2**18
"""scrypt's N as geth and eth-account choose it: a second and 256 MB for every guess."""
SMALL_MACHINE_COST = 2**16
SMALL_MACHINE_MEMORY = 768 * 2**20

MOST_COST = 2**20
MOST_BLOCK_SIZE = 16
MOST_PARALLEL = 8
MOST_WORK = 2**24
MOST_MEMORY = 2**30
MOST_ITERATIONS = 10_000_000

DERIVED_BYTES = 32
_MEMORY_SOURCES = (Path("/sys/fs/cgroup/memory.max"), Path("/proc/meminfo"))


def cost_for(available: int | None) -> int:
    """The cost for a new file: less on a machine that the usual one would bring down."""
    small = available is not None and available < SMALL_MACHINE_MEMORY
    return SMALL_MACHINE_COST if small else USUAL_COST


def check_derivation(name: object, fields: Mapping[str, object], available: int | None) -> None:
    """Refuse parameters that would hang this machine, exhaust it, or that nobody honest writes."""
    if fields.get("dklen") != DERIVED_BYTES:
        raise _hostile("derives a key of an unusual length")
    if name == "scrypt":
        _check_scrypt(fields, available)
    elif name == "pbkdf2":
        if fields.get("prf") != "hmac-sha256":
            raise _hostile("uses an unknown hash")
        _bounded(fields, "c", MOST_ITERATIONS)
    else:
        raise _hostile("uses a key derivation other than scrypt and pbkdf2")


def available_memory() -> int | None:
    """Bytes this process may still take, by the tightest limit that can be read."""
    found = [read for path in _MEMORY_SOURCES if (read := _memory_in(path)) is not None]
    return min(found, default=None)


def _check_scrypt(fields: Mapping[str, object], available: int | None) -> None:
    cost = _bounded(fields, "n", MOST_COST)
    block_size = _bounded(fields, "r", MOST_BLOCK_SIZE)
    parallel = _bounded(fields, "p", MOST_PARALLEL)
    if cost < 2 or cost & (cost - 1):
        raise _hostile("has an scrypt cost that is no power of two")
    memory = 128 * cost * block_size
    if memory > MOST_MEMORY or cost * block_size * parallel > MOST_WORK:
        raise _hostile("asks for more memory or time than a keystore needs")
    if available is not None and memory > available:
        raise KeystoreError(
            f"This keystore needs {memory // 2**20} MB of memory to open, and "
            f"{available // 2**20} MB are free. Close something, or open it on a larger machine."
        )


def _bounded(fields: Mapping[str, object], name: str, most: int) -> int:
    value = fields.get(name)
    if not isinstance(value, int) or isinstance(value, bool) or not 1 <= value <= most:
        raise _hostile(f"has a key derivation whose {name} is not between 1 and {most:,}")
    return value


def _hostile(what: str) -> KeystoreError:
    return KeystoreError(f"This keystore {what}. It was not tried; make sure where it comes from.")


def _memory_in(path: Path) -> int | None:
    try:
        text = path.read_text("ascii")
    except (OSError, UnicodeDecodeError):
        return None
    if text.strip().isdigit():
        return int(text)
    for line in text.splitlines():
        if line.startswith("MemAvailable:"):
            return int(line.split()[1]) * 1024
    return None
