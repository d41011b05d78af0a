"""A Ledger as its Ethereum app answers, over TCP: recorded from the app, with a key of its own.

It holds one phrase's accounts, refuses as the device refuses, and can be pulled out at any command.
"""

import socket
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Self

from eth_account import Account
from eth_keys.datatypes import PrivateKey as CurveKey
from rlp.codec import encode

from chain.contracts.addresses import checksum, keccak

PHRASE = "test test test test test test test test test test test junk"
SIMPLE_ACCOUNT = "4cd241e8d1510e30b2076397afc7508ae59c66c9"
_ALLOWED = frozenset((SIMPLE_ACCOUNT, "00" * 20))
_OK, _LOCKED, _OTHER_APP, _UNKNOWN = 0x9000, 0x5515, 0x6511, 0x6D00
_REJECTED, _BLIND_OFF, _NOT_ALLOWED = 0x6985, 0x6A80, 0x6980
_SET_CODE, _NO_SUCH_TYPE = 4, 0x6501
_HARDENED = 0x80000000


@dataclass
class LedgerDouble:
    """What the person has set, and does, can be changed while it answers."""

    phrase: str = PHRASE
    version: tuple[int, int, int] = (1, 22, 0)
    locked: bool = False
    app_open: bool = True
    blind_signing: bool = True
    smart_accounts: bool = True
    carries: bool = True
    """Whether it signs transactions that carry an authorization."""
    rejects: bool = False
    gone_at: int | None = None
    """The number of the command at which it is pulled out."""
    spoil: Callable[[bytes], bytes] = bytes
    """What becomes of the answers that hold a signature."""
    commands: list[bytes] = field(default_factory=list)
    shown: list[str] = field(default_factory=list)
    """What its screen had the person compare."""
    _half: bytes = b""

    def __enter__(self) -> Self:
        self._listener = socket.create_server(("127.0.0.1", 0))
        threading.Thread(target=self._serve, daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self._listener.close()

    def become(self, changes: dict[str, object]) -> dict[str, object]:
        """As it was before in these."""
        before = {name: self.__dict__[name] for name in changes}
        self.__dict__.update(changes)
        return before

    @property
    def place(self) -> str:
        return f"tcp://127.0.0.1:{self._listener.getsockname()[1]}"

    def key_at(self, path: str) -> CurveKey:
        Account.enable_unaudited_hdwallet_features()
        return CurveKey(bytes(Account.from_mnemonic(self.phrase, account_path=f"m/{path}").key))

    def address_at(self, path: str) -> str:
        return self.key_at(path).public_key.to_address()

    def answer(self, command: bytes) -> tuple[bytes, int]:
        self.commands.append(command)
        code, first, data = command[1], command[2], command[5:]
        if self.locked:
            return b"", _LOCKED
        if not self.app_open:
            return b"", _OTHER_APP
        match code:
            case 0x06:
                return bytes([2 | self.blind_signing, *self.version]), _OK
            case 0x02:
                key = self.key_at(_path(data)[0]).public_key
                text = checksum(key.to_address())[2:].encode()
                return b"\x41\x04" + key.to_bytes() + bytes([len(text)]) + text, _OK
            case 0x04:
                return self._transaction(first, data)
            case 0x0C:
                return self._typed(data)
            case 0x34 if self.version >= (1, 17, 0):
                return self._authorization(data)
        return b"", _UNKNOWN

    def _transaction(self, first: int, data: bytes) -> tuple[bytes, int]:
        if not self.blind_signing:
            return b"", _BLIND_OFF
        self._half = data if first == 0x00 else self._half + data
        path, unsigned = _path(self._half)
        if not _is_whole(unsigned):
            return b"", _OK
        if unsigned[0] == _SET_CODE and not self.carries:
            return b"", _NO_SUCH_TYPE
        self.shown.append(f"Transaction hash 0x{keccak(unsigned).hex()}")
        return self._signed(path, keccak(unsigned), 0)

    def _typed(self, data: bytes) -> tuple[bytes, int]:
        if not self.blind_signing:
            return b"", _BLIND_OFF
        path, hashes = _path(data)
        self.shown += [f"Domain hash 0x{hashes[:32].hex()}", f"Message hash 0x{hashes[32:].hex()}"]
        return self._signed(path, keccak(b"\x19\x01" + hashes), 27)

    def _authorization(self, data: bytes) -> tuple[bytes, int]:
        path, rest = _path(data)
        fields, rest = {}, rest[2:]
        while rest:
            fields[rest[0]], rest = rest[2 : 2 + rest[1]], rest[2 + rest[1] :]
        if not self.smart_accounts or fields[1].hex() not in _ALLOWED:
            return b"", _NOT_ALLOWED
        listed = [fields[2].lstrip(b"\0"), fields[1], fields[3].lstrip(b"\0")]
        self.shown.append(f"Delegate to 0x{fields[1].hex()}")
        listing = bytes(encode(listed))  # type: ignore[no-untyped-call]
        return self._signed(path, keccak(b"\x05" + listing), 0)

    def _signed(self, path: str, digest: bytes, base: int) -> tuple[bytes, int]:
        if self.rejects:
            return b"", _REJECTED
        made = self.key_at(path).sign_msg_hash(digest)
        r, s = made.r.to_bytes(32, "big"), made.s.to_bytes(32, "big")
        return self.spoil(bytes([made.v + base]) + r + s), _OK

    def _serve(self) -> None:
        while True:
            try:
                connection, _ = self._listener.accept()
            except OSError:
                return
            with connection:
                self._answer_all(connection)

    def _answer_all(self, connection: socket.socket) -> None:
        stream = connection.makefile("rwb")
        while head := stream.read(4):
            if len(self.commands) == self.gone_at:
                return
            data, status = self.answer(stream.read(int.from_bytes(head, "big")))
            stream.write(len(data).to_bytes(4, "big") + data + status.to_bytes(2, "big"))
            stream.flush()


def _path(data: bytes) -> tuple[str, bytes]:
    count = data[0]
    steps = [int.from_bytes(data[1 + 4 * at : 5 + 4 * at], "big") for at in range(count)]
    words = [str(step & ~_HARDENED) + "'" * bool(step & _HARDENED) for step in steps]
    return "/".join(words), data[1 + 4 * count :]


def _is_whole(unsigned: bytes) -> bool:
    """Whether the list behind the type's byte is complete."""
    head = unsigned[1]
    if head < 0xF8:
        return len(unsigned) >= 2 + head - 0xC0
    size = head - 0xF7
    return len(unsigned) >= 2 + size + int.from_bytes(unsigned[2 : 2 + size], "big")
