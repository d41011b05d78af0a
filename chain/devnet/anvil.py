"""Anvil, the local node: where its program is, how it is run, and private copies of chains."""

import base64
import hashlib
import json
import os
import platform
import re
import shutil
import subprocess
import sys
import tarfile
import threading
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from functools import cache
from importlib.resources import files
from pathlib import Path
from subprocess import DEVNULL, PIPE, STDOUT, Popen, TimeoutExpired

from msgspec import Struct

from chain.base.clean_text import clean_text
from chain.base.errors import ZunoError
from chain.base.home import FILE_MODE, FOLDER_MODE, cache_folder, hold_lock, write_atomically
from chain.base.loopback_http import HOST
from chain.base.scratch import scratch_folder
from chain.contracts.delegation import NOBODY, delegated_code
from chain.devnet.json_rpc import Json, NodeClient
from chain.devnet.past_states import bounded_states
from chain.execution.transaction import UnsignedTransaction

# Packages are fetched, never bundled: `PoolManager` is under the Business Source License, and a
# node has tens of megabytes. `npm.lock.json` fixes what may be fetched: a digest for each package
# and for each file in it. A package that could not be looked at when the lock was written has
# none; there npm's own check of what its registry says has to do, and the lock says so.
_SET_UP = "make setup"
_PACK_SECONDS = 300
_LARGEST_FILE = 128 * 1024 * 1024
_LARGEST_PACKAGE = 128 * 1024 * 1024


class PackageError(ZunoError):
    """A package cannot be had; the message says what is missing and what to do."""


class LockedFile(Struct, frozen=True):
    name: str
    """What it is called here, such as `PoolManager`."""
    path: str
    sha256: str

    @property
    def file_name(self) -> str:
        return f"{self.name}{Path(self.path).suffix}"

    @property
    def mode(self) -> int:
        return FOLDER_MODE if self.path.startswith("bin/") else FILE_MODE


class LockedPackage(Struct, frozen=True):
    name: str
    version: str
    integrity: str
    files: tuple[LockedFile, ...]

    @property
    def title(self) -> str:
        return f"{self.name}@{self.version}"


class Lock(Struct, frozen=True):
    contracts: tuple[LockedPackage, ...]
    v3: tuple[LockedPackage, ...]
    """Uniswap v3, which worlds are written without."""
    safe: tuple[LockedPackage, ...]
    """Safe's contracts, a package a version."""
    anvil: tuple[LockedPackage, ...]
    """One a platform, each with a file called `anvil`."""
    contracts_digest: str

    def anvil_for(self, platform: str) -> LockedPackage | None:
        """The package for a platform such as `linux-amd64`."""
        wanted = f"@foundry-rs/anvil-{platform}"
        return next((package for package in self.anvil if package.name == wanted), None)


@cache
def bundled_lock() -> Lock:
    return read_lock(files("chain.devnet").joinpath("npm.lock.json").read_bytes())


def read_lock(content: bytes) -> Lock:
    sections = json.loads(content)
    contracts, v3, safe, anvil = (
        tuple(_locked_package(entry) for entry in sections[section])
        for section in ("contracts", "v3", "safe", "anvil")
    )
    digest = hashlib.sha256(json.dumps(sections["contracts"], sort_keys=True).encode())
    return Lock(contracts, v3, safe, anvil, digest.hexdigest()[:16])


def _locked_package(entry: Mapping[str, object]) -> LockedPackage:
    listed = entry["files"]
    if not isinstance(listed, dict):
        raise PackageError("npm.lock.json must name the files of each package.")
    return LockedPackage(
        name=str(entry["name"]),
        version=str(entry["version"]),
        integrity=str(entry["integrity"]),
        files=tuple(
            LockedFile(name, str(file["path"]), str(file["sha256"]))
            for name, file in listed.items()
        ),
    )


def package_folder(environment: Mapping[str, str], package: LockedPackage) -> Path:
    stem = package.title.removeprefix("@").replace("/", "-")
    return cache_folder(environment) / "npm" / stem


def ensure_package(package: LockedPackage, environment: Mapping[str, str]) -> Path:
    """The folder with the package's files, fetched where one is missing or damaged."""
    folder = package_folder(environment, package)
    with hold_lock(folder.with_suffix(".lock")):
        if not all(_is_sound(folder / file.file_name, file) for file in package.files):
            for file, content in _fetched(package):
                write_atomically(folder / file.file_name, content, mode=file.mode)
    return folder


def _is_sound(path: Path, file: LockedFile) -> bool:
    try:
        content = path.read_bytes()
    except FileNotFoundError:
        return False
    return hashlib.sha256(content).hexdigest() == file.sha256


def _fetched(package: LockedPackage) -> Iterator[tuple[LockedFile, bytes]]:
    with scratch_folder("npm") as scratch:
        tarball = _packed(package, scratch)
        _check_integrity(package, tarball)
        with tarfile.open(tarball, "r:gz") as archive:
            wanted = {f"package/{file.path}": file for file in package.files}
            for member in archive:
                file = wanted.pop(member.name, None)
                if file is None:
                    continue
                yield file, _extracted(archive, member, file, package)
                if not wanted:
                    return
        raise PackageError(f"{package.title} lacks {', '.join(sorted(wanted))}.")


def _packed(package: LockedPackage, folder: Path) -> Path:
    npm = shutil.which("npm")
    if npm is None:
        raise PackageError(
            f"npm was not found, and {package.title} is not in the cache yet. "
            f"Install Node.js 18 or newer, then run: {_SET_UP}"
        )
    try:
        outcome = subprocess.run(  # noqa: S603 - the arguments come from our own lock file
            [npm, "pack", "--ignore-scripts", "--loglevel=error", package.title],
            cwd=folder,
            capture_output=True,
            text=True,
            timeout=_PACK_SECONDS,
            check=False,
        )
    except subprocess.TimeoutExpired as error:
        raise PackageError(
            f"npm did not deliver {package.title} within {_PACK_SECONDS} s. "
            f"Check the network, then run again: {_SET_UP}"
        ) from error
    tarballs = list(folder.glob("*.tgz"))
    if outcome.returncode != 0 or len(tarballs) != 1:
        raise PackageError(
            f"npm could not deliver {package.title} ({_npm_code(outcome.stderr)}). "
            f"Check the network and `npm ping`, then run again: {_SET_UP}"
        )
    return tarballs[0]


def _npm_code(stderr: str) -> str:
    """The short code npm gives, such as E404: the rest may name hosts and carry tokens."""
    found = re.search(r"^npm (?:error|ERR!) code ([A-Z0-9_]+)$", stderr, re.MULTILINE)
    return found[1] if found else "no reason given"


def _check_integrity(package: LockedPackage, tarball: Path) -> None:
    if tarball.stat().st_size > _LARGEST_PACKAGE:
        raise PackageError(f"{package.title} is larger than any package expected here.")
    digest = base64.b64encode(hashlib.sha512(tarball.read_bytes()).digest()).decode()
    if package.integrity != f"sha512-{digest}":
        raise PackageError(
            f"{package.title} is not the package in npm.lock.json (its sha512 differs). "
            "Nothing of it was used. Check which registry npm is set to: npm config get registry"
        )


def _extracted(
    archive: tarfile.TarFile, member: tarfile.TarInfo, file: LockedFile, package: LockedPackage
) -> bytes:
    opened = archive.extractfile(member) if 0 < member.size <= _LARGEST_FILE else None
    content = opened.read() if opened else b""
    if hashlib.sha256(content).hexdigest() != file.sha256:
        raise PackageError(f"{file.path} of {package.title} is not the file in npm.lock.json.")
    return content


# The process ends with whoever started it, however that ends: a shell beside it waits on a pipe
# that the system closes with us, and then ends it for good.
HARDFORK = "osaka"
"""Fixed, so that every version of Anvil runs the same rules."""

_LISTENING = re.compile(rb"Listening on [0-9.]+:([0-9]+)")
_CHANGING = re.compile(rb"((?:anvil|evm|hardhat)_\w+|eth_send\w+)\s*")
"""What it says, a line each and before it does it, of all that can change its chain."""
_START_SECONDS = 30.0
_STOP_SECONDS = 5.0
_SILENT_SECONDS = 30.0
_SAID_MOST = 60
"""Lines of the node's own words that are kept, to explain why it ended."""
_END_WITH_US = 'read _; kill -9 "$1"; rm -rf "$2"'
_MOST_STATES = 1_000_000
"""Of past blocks: Anvil drops the oldest first, which is the wrong end; we thin them out."""
_QEMU = "qemu-x86_64-static"
_QEMU_LIBRARIES = "/usr/x86_64-linux-gnu"
_INSTALL_QEMU = (
    "apt-get install qemu-user-static libc6-amd64-cross libgcc-s1-amd64-cross "
    "libstdc++6-amd64-cross"
)


class AnvilError(ZunoError):
    """Anvil is not there, did not start or has ended; the message says why and what to do."""


class AddressTakenError(AnvilError):
    """Somebody else listens at the port that Anvil was given."""


class AnvilProgram(Struct, frozen=True):
    command: tuple[str, ...]
    origin: str
    """Where it comes from, for `zuno doctor` and for errors."""


def find_anvil(environment: Mapping[str, str]) -> AnvilProgram:
    """The program that is named, that on the PATH, or that of the platform's npm package."""
    if named := environment.get("ZUNO_ANVIL"):
        path = shutil.which(Path(named).expanduser())
        if path is None:
            raise AnvilError(
                f"ZUNO_ANVIL names {clean_text(named)}, which is no program. Correct it, or unset "
                "it to use the one of the npm package."
            )
        return AnvilProgram((str(path),), "named by ZUNO_ANVIL")
    if path := shutil.which("anvil", path=environment.get("PATH")):
        return AnvilProgram((path,), "found on the PATH")
    return _packaged(environment, _platform())


def _platform() -> str:
    machine = {"x86_64": "amd64", "aarch64": "arm64"}.get(platform.machine(), platform.machine())
    return f"{sys.platform}-{machine}"


def _packaged(environment: Mapping[str, str], wanted: str) -> AnvilProgram:
    """Only what the lock knows by its hash is fetched; on Linux that for amd64 runs under qemu."""
    lock, qemu = bundled_lock(), shutil.which(_QEMU)
    package = lock.anvil_for(wanted)
    emulated = package is None and wanted == "linux-arm64" and qemu is not None
    if emulated:
        package = lock.anvil_for("linux-amd64")
    if package is None:
        more = f" Or run the one for amd64: {_INSTALL_QEMU}." if wanted == "linux-arm64" else ""
        raise AnvilError(
            f"Anvil, the embedded chain's node, has no package for {wanted} whose hash is known. "
            "Install Foundry (getfoundry.sh) or name its program: ZUNO_ANVIL=/path/to/anvil."
            f"{more} Everything but the demo, `zuno devnet` and `zuno rehearse` works without it."
        )
    try:
        program = ensure_package(package, environment) / "anvil"
    except PackageError as error:
        raise AnvilError(f"Anvil, the embedded chain's node, is missing. {error}") from error
    if emulated:
        command = (str(qemu), "-L", _QEMU_LIBRARIES, str(program))
        return AnvilProgram(command, f"{package.title} under qemu")
    return AnvilProgram((str(program),), package.title)


class Changes:
    """How often a node was asked for what can change its chain, by whomever, as it says itself."""

    def __init__(self) -> None:
        self._heard = Counter[str]()
        self._more = threading.Condition()

    def hear(self, method: str) -> None:
        with self._more:
            self._heard[method] += 1
            self._more.notify_all()

    def after(self, method: str, times: int) -> Counter[str] | None:
        """All that was heard up to this often of this one; None where the node fell silent."""
        with self._more:
            heard = self._more.wait_for(lambda: self._heard[method] >= times, _SILENT_SECONDS)
            return self._heard.copy() if heard else None


class Anvil:
    """A node that runs."""

    def __init__(self, process: Popen[bytes], url: str, said: list[str], changes: Changes) -> None:
        self.url = url
        self.changes = changes
        self._process = process
        self._said = said

    @property
    def pid(self) -> int:
        return self._process.pid

    def why_ended(self) -> str | None:
        """Why it runs no more; None while it runs."""
        code = self._process.poll()
        return None if code is None else _ending(code, self._said)

    def has_ended_within(self, seconds: float) -> bool:
        """Wait so long at most for the process to be over."""
        try:
            self._process.wait(seconds)
        except TimeoutExpired:
            return False
        return True

    def when_ended(self, act: Callable[[], object]) -> None:
        """Do something once the process has ended, from a thread of its own."""

        def wait() -> None:
            self._process.wait()
            act()

        threading.Thread(target=wait, name="anvil", daemon=True).start()


@contextmanager
def running_anvil(
    arguments: Sequence[str] = (),
    *,
    genesis: bytes | None = None,
    market: Collection[str] = (),
    port: int = 0,
    environment: Mapping[str, str] = os.environ,
    start_seconds: float = _START_SECONDS,
) -> Iterator[Anvil]:
    """A node on loopback for as long as the block lasts, at this port or at a free one."""
    program = find_anvil(environment)
    command = [
        *program.command,
        "--host",
        HOST,
        "--port",
        str(port),
        "--hardfork",
        HARDFORK,
        "--no-cors",  # no web page reads what it answers
    ]
    with scratch_folder("anvil") as folder:
        # Left to itself it writes the states of past blocks below the home, and leaves them there.
        command += ["--cache-path", str(folder), "--max-persisted-states", str(_MOST_STATES)]
        if genesis is not None:
            first_block = folder / "genesis.json"
            first_block.write_bytes(genesis)
            command += ["--init", str(first_block)]
        with (
            _started([*command, *arguments], program, folder, start_seconds) as anvil,
            bounded_states(folder, anvil.url, market, environment),
        ):
            yield anvil


@contextmanager
def _started(
    command: Sequence[str], program: AnvilProgram, states: Path, start_seconds: float
) -> Iterator[Anvil]:
    try:
        process = Popen(  # noqa: S603 - our own program and arguments
            command, stdin=DEVNULL, stdout=PIPE, stderr=STDOUT
        )
    except OSError as error:
        raise AnvilError(
            f"Anvil ({program.origin}) cannot be started: {error.strerror}."
        ) from error
    with _ends_with_us(process.pid, states), process:
        try:
            said, changes = list[str](), Changes()
            found = _heard_port(process, said, changes, start_seconds)
            if found is None:
                process.kill()
                why = _ending(process.wait(), said)
                kind = AddressTakenError if "Address already in use" in why else AnvilError
                raise kind(f"Anvil ({program.origin}) did not start. {why}")
            yield Anvil(process, f"http://{HOST}:{found}", said, changes)
        finally:
            _stop(process)


@contextmanager
def _ends_with_us(pid: int, states: Path) -> Iterator[None]:
    """A shell that kills the node when our end of its pipe closes, as it does when we die."""
    shell = ["/bin/sh", "-c", _END_WITH_US, "sh", str(pid), str(states)]
    with Popen(shell, stdin=PIPE, stdout=DEVNULL, stderr=DEVNULL, start_new_session=True) as guard:  # noqa: S603
        try:
            yield
        finally:
            # The node is gone by now: its number may be somebody else's soon.
            guard.kill()


def _heard_port(
    process: Popen[bytes], said: list[str], changes: Changes, seconds: float
) -> int | None:
    """The port it says it listens at; what it says is read to its end, so that it never blocks."""
    ready, ports = threading.Event(), list[int]()

    def listen() -> None:
        for line in process.stdout or ():
            match = _LISTENING.search(line)
            if match is not None:
                ports.append(int(match[1]))
                ready.set()
            elif not ports and len(said) < _SAID_MOST:
                said.append(clean_text(line.decode("utf-8", "replace")).strip())
            elif change := _CHANGING.fullmatch(line):
                changes.hear(change[1].decode())
        ready.set()

    threading.Thread(target=listen, name="anvil output", daemon=True).start()
    ready.wait(seconds)
    return ports[0] if ports else None


def _ending(code: int, said: Sequence[str]) -> str:
    how = f"It was ended by signal {-code}." if code < 0 else f"It ended with code {code}."
    words = next((line for line in reversed(said) if "rror" in line or "already" in line), "")
    return f"{how} It said: {words}" if words else how


def _stop(process: Popen[bytes]) -> None:
    with suppress(ProcessLookupError):
        process.terminate()
    try:
        process.wait(_STOP_SECONDS)
    except TimeoutExpired:
        process.kill()
        process.wait()


def genesis_block(
    accounts: Mapping[str, Mapping[str, str]],
    *,
    chain_id: int,
    timestamp: int,
    gas_limit: int,
    base_fee: int,
) -> bytes:
    """A first block with these accounts, as `running_anvil` takes it."""
    content = {
        "config": {"chainId": chain_id},
        "nonce": "0x0",
        "timestamp": hex(timestamp),
        "gasLimit": hex(gas_limit),
        "difficulty": "0x0",
        "baseFeePerGas": hex(base_fee),
        "alloc": accounts,
    }
    return json.dumps(content).encode()


_ANSWER_SECONDS = 180.0
"""A first look at a contract fetches its whole state, a word at a time."""


_FENCE = "anvil_nodeInfo"
"""Changes nothing; what is said before it was asked before it."""


class ForkedChain:
    """The copy, and what can be done on it as anybody, without a key."""

    def __init__(self, node: NodeClient, changes: Changes) -> None:
        self.url = node.url
        self._node = node
        self._changes = changes
        self._asked = Counter[str]()

    def is_ours_alone(self) -> bool:
        """Whether nobody else asked it, until now, for anything that can change it."""
        self._ask(_FENCE)
        return self._changes.after(_FENCE, self._asked[_FENCE]) == self._asked

    def carry_out(self, transaction: UnsignedTransaction, timestamp: int) -> str:
        """Send these very fields as their sender and mine them at this time; the hash."""
        self._ask("anvil_impersonateAccount", transaction.sender)
        fields = {
            "from": transaction.sender,
            "to": transaction.to,
            "value": hex(transaction.value),
            "data": "0x" + transaction.data.hex(),
            "gas": hex(transaction.gas),
            "maxFeePerGas": hex(transaction.max_fee_per_gas),
            "maxPriorityFeePerGas": hex(transaction.max_priority_fee_per_gas),
            "nonce": hex(transaction.nonce),
        }
        given = transaction.authorization
        if given is not None:
            # Nobody here can sign it, so what it would do is done.
            code = b"" if given.delegate == NOBODY else delegated_code(given.delegate)
            self._ask("anvil_setCode", transaction.sender, "0x" + code.hex())
        sent = str(self._ask("eth_sendTransaction", fields))
        self._ask("evm_setNextBlockTimestamp", timestamp)
        self._ask("evm_mine")
        return sent

    def receipt(self, transaction_hash: str) -> Mapping[str, object] | None:
        answer = self._node.ask("eth_getTransactionReceipt", transaction_hash)
        return answer if isinstance(answer, dict) else None

    def mine_every(self, seconds: float) -> None:
        """From now on blocks come by themselves, as they do on the chain that was copied."""
        self._ask("evm_setIntervalMining", max(1, round(seconds)))

    def _ask(self, method: str, *params: object) -> Json:
        self._asked[method] += 1
        return self._node.ask(method, *params)


@contextmanager
def forked_chain(url: str, block_number: int, *, chain_id: int, port: int) -> Iterator[ForkedChain]:
    """A copy of the chain that answers at this URL, for as long as the block lasts."""
    arguments = (
        *("--fork-url", url),
        *("--fork-block-number", str(block_number)),
        *("--chain-id", str(chain_id)),
        *("--accounts", "0"),
        *("--retries", "0"),
        *("--timeout", "60000"),
        *("--order", "fifo"),
        "--no-rate-limit",
        "--no-storage-caching",
        "--no-mining",
        "--disable-min-priority-fee",
    )
    with (
        running_anvil(arguments, port=port, environment=os.environ) as anvil,
        NodeClient(anvil.url, patience=_ANSWER_SECONDS) as node,
    ):
        yield ForkedChain(node, anvil.changes)
