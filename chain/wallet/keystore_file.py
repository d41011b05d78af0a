"""Keystore v3 files: a key encrypted under a passphrase, read with suspicion."""

import json
import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import cast

from chain.base.other_curves import without_other_curves
from chain.base.strict_json import InvalidJsonError, loads
from chain.contracts.addresses import checksum
from chain.contracts.networks import Address
from chain.wallet.errors import KeystoreError, WalletError, WrongPassphraseError, discreetly
from chain.wallet.files import read_bounded, write_once
from chain.wallet.secrets import Passphrase, PrivateKey

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


def available_memory(sources: Sequence[Path] = _MEMORY_SOURCES) -> int | None:
    """Bytes this process may still take, by the tightest limit that can be read."""
    found = [read for path in sources if (read := _memory_in(path)) is not None]
    return min(found, default=None)


def _check_scrypt(fields: Mapping[str, object], available: int | None) -> None:
    cost = _bounded(fields, "n", MOST_COST)
    block_size = _bounded(fields, "r", MOST_BLOCK_SIZE)
    parallel = _bounded(fields, "p", MOST_PARALLEL)
    if cost < 2 or cost.bit_count() != 1:
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


_BYTES = {"ciphertext": 32, "mac": 32, "iv": 16}
_SALT_BYTES = range(8, 65)
_HEX = re.compile(r"(?:0x)?((?:[0-9a-fA-F]{2})+)")
_ADDRESS = re.compile(r"(?:0[xX])?([0-9a-fA-F]{40})")


def keystore_path(folder: Path, address: Address) -> Path:
    return folder / f"{address}.json"


def write_keystore(
    path: Path,
    key: PrivateKey,
    passphrase: Passphrase,
    *,
    cost: int | None = None,
    write: Callable[[Path, bytes], None] = write_once,
) -> None:
    """Encrypt the key into a new file; the cost follows the machine's memory unless given."""
    chosen = cost_for(available_memory()) if cost is None else cost
    content = discreetly(
        lambda: _encrypted(key, passphrase, chosen),
        lambda kind: WalletError(f"The key could not be encrypted ({kind}). Nothing was written."),
    )
    write(path, content)


def read_keystore(path: Path, passphrase: Passphrase) -> PrivateKey:
    """The key in a file; the file's own address is only a claim, and a false one is refused."""
    fields = _checked(path)
    key = discreetly(
        lambda: _decrypted(fields, passphrase), lambda _: WrongPassphraseError(path.name)
    )
    found = _ADDRESS.fullmatch(str(fields.get("address", "")))
    claimed = None if found is None else f"0x{found[1].lower()}"
    if claimed is not None and claimed != key.address:
        key.wipe()
        raise KeystoreError(
            f"{path.name} says it is {checksum(claimed)}, but its key is that of "
            f"{checksum(key.address)}. The file was changed; nothing was taken from it."
        )
    return key


def _encrypted(key: PrivateKey, passphrase: Passphrase, cost: int) -> bytes:
    with without_other_curves():
        from eth_keyfile.keyfile import create_keyfile_json

    content = create_keyfile_json(
        key.reveal(), passphrase.reveal(), kdf="scrypt", iterations=cost, salt_size=32
    )
    return json.dumps(content).encode()


def _decrypted(fields: dict[str, object], passphrase: Passphrase) -> PrivateKey:
    with without_other_curves():
        from eth_keyfile.keyfile import decode_keyfile_json

    return PrivateKey(decode_keyfile_json(fields, passphrase.reveal()))


def _checked(path: Path) -> dict[str, object]:
    """The file's fields, after everything that can be judged without the passphrase."""
    try:
        document = loads(read_bounded(path))
    except InvalidJsonError:
        document = None
    fields = _lowered(document)
    if fields is None or fields.get("version") != 3:
        raise KeystoreError(f"{path.name} is not a keystore of version 3.")
    crypto = _lowered(fields.get("crypto"))
    cipher = _lowered(crypto.get("cipherparams")) if crypto else None
    derivation = _lowered(crypto.get("kdfparams")) if crypto else None
    if crypto is None or cipher is None or derivation is None:
        raise _damaged(path)
    if crypto.get("cipher") != "aes-128-ctr":
        raise KeystoreError(f"{path.name} uses a cipher other than aes-128-ctr.")
    for name, length in _BYTES.items():
        if _length({**crypto, **cipher}.get(name)) != length:
            raise _damaged(path)
    if _length(derivation.get("salt")) not in _SALT_BYTES:
        raise _damaged(path)
    check_derivation(crypto.get("kdf"), derivation, available_memory())
    crypto.update(cipherparams=cipher, kdfparams=derivation)
    return {**fields, "crypto": crypto}


def _lowered(value: object) -> dict[str, object] | None:
    """Old files write `Crypto` with a capital; two keys that differ only in that are no file."""
    if not isinstance(value, dict):
        return None
    lowered = {key.lower(): item for key, item in cast("dict[str, object]", value).items()}
    return lowered if len(lowered) == len(value) else None


def _length(value: object) -> int | None:
    found = _HEX.fullmatch(value) if isinstance(value, str) else None
    return len(found[1]) // 2 if found else None


def _damaged(path: Path) -> KeystoreError:
    return KeystoreError(f"{path.name} is damaged: a field is missing or cut. Use a copy of it.")
