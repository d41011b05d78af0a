"""The Ethereum app on a Ledger: its commands as bytes, its answers, and its refusals in words."""

import re
from collections.abc import Iterator
from typing import NamedTuple

from chain.contracts.addresses import checksum
from chain.contracts.networks import Address
from chain.execution.transaction import Authorization
from chain.wallet.errors import WalletError, WalletRefusedError
from chain.wallet.key_holder import PARITY, SET_CODE, Point, TypedData
from chain.wallet.ledger.transport import Transport

_CLASS = 0xE0
_ADDRESS, _SIGN, _CONFIGURATION, _TYPED_HASHES, _AUTHORIZE = 0x02, 0x04, 0x06, 0x0C, 0x34
_FIRST, _FOLLOWING = 0x00, 0x80
_LAST_AUTHORIZATION = 0x01
_MOST_DATA = 255
_BLIND_SIGNING = 0x01
_OLDEST = (1, 9, 0)
"""The first that signs transactions of type 2."""
_SIGNATURE_BYTES = 65

_PATH = re.compile(r"(?:m/)?44'/60'(?:/[0-9]{1,9}'?){1,4}")
_HARDENED = 0x80000000

SCHEMES = {
    "Ledger Live": "44'/60'/{}'/0/0",
    "BIP 44": "44'/60'/0'/0/{}",
    "legacy": "44'/60'/0'/{}",
}
"""How accounts are counted; one phrase gives other addresses by each."""

_SUCCESS = 0x9000
_LOCKED = frozenset((0x5515, 0x6B0C, 0x6804))
_OTHER_APP = frozenset((0x6511, 0x6E00, 0x6E01))
_UNKNOWN, _REJECTED, _BLIND_OFF, _NOT_ALLOWED = 0x6D00, 0x6985, 0x6A80, 0x6980
_MENDABLE = _LOCKED | _OTHER_APP | {_REJECTED, _BLIND_OFF}
_CARRIES_NONE = (
    "The Ledger signs that this account is delegated, but not the transaction that carries it. "
    "Nothing was sent. Let another wallet with gas send it: zuno --address 0x… "
    "wallet delegate --for THIS_WALLET"
)


class AppFacts(NamedTuple):
    version: tuple[int, int, int]
    blind_signing: bool


class DeviceAccount(NamedTuple):
    path: str
    address: Address


def facts(transport: Transport) -> AppFacts:
    data = _ask(transport, _CONFIGURATION, 0, b"", "read its version")
    if len(data) < 4:
        raise WalletError("The Ledger's app did not say which it is. Open its Ethereum app.")
    found = AppFacts((data[1], data[2], data[3]), bool(data[0] & _BLIND_SIGNING))
    if found.version < _OLDEST:
        raise WalletRefusedError(
            f"The Ledger's Ethereum app {'.'.join(map(str, found.version))} is too old to sign "
            "today's transactions. Update it in Ledger Live. Nothing was signed."
        )
    return found


def address_at(transport: Transport, path: str) -> Address:
    data = _ask(transport, _ADDRESS, 0, packed_path(path), "read an address")
    try:
        key_bytes = data[0]
        text = data[2 + key_bytes : 2 + key_bytes + data[1 + key_bytes]].decode("ascii")
    except (IndexError, UnicodeDecodeError):
        text = ""
    address = "0x" + text.lower()
    if re.fullmatch(r"0x[0-9a-f]{40}", address) is None:
        raise WalletError("The Ledger gave no address for that path. Open its Ethereum app.")
    return address


def accounts(transport: Transport, scheme: str, numbers: range) -> Iterator[DeviceAccount]:
    for number in numbers:
        path = SCHEMES[scheme].format(number)
        yield DeviceAccount(path, address_at(transport, path))


def sign_transaction(transport: Transport, path: str, unsigned: bytes) -> Point:
    data = b""
    for first, part in _chunks(packed_path(path) + unsigned):
        at = _FIRST if first else _FOLLOWING
        try:
            data = _ask(transport, _SIGN, at, part, "sign the transaction")
        except _StatusError as error:
            if unsigned[0] == SET_CODE and error.status not in _MENDABLE:
                raise WalletRefusedError(_CARRIES_NONE) from error
            raise
    return _point(data, 0)


def sign_typed(transport: Transport, path: str, data: TypedData) -> Point:
    given = packed_path(path) + data.domain_hash + data.message_hash
    return _point(_ask(transport, _TYPED_HASHES, 0, given, "sign the typed data"), PARITY)


def sign_authorization(transport: Transport, path: str, given: Authorization) -> Point:
    fields = b"".join(
        bytes([tag, len(value)]) + value
        for tag, value in (
            (0, b"\x01"),
            (1, bytes.fromhex(given.delegate.removeprefix("0x"))),
            (2, _number(given.chain_id)),
            (3, _number(given.nonce)),
        )
    )
    whole = packed_path(path) + len(fields).to_bytes(2, "big") + fields
    try:
        data = _ask(transport, _AUTHORIZE, _LAST_AUTHORIZATION, whole, "sign the authorization")
    except _StatusError as error:
        raise _authorization_refused(error.status, given.delegate) from None
    return _point(data, 0)


def packed_path(path: str) -> bytes:
    if _PATH.fullmatch(path) is None:
        raise WalletError(f"{path!r} is not a path of Ethereum accounts, like 44'/60'/0'/0/0.")
    steps = path.removeprefix("m/").split("/")
    numbers = [int(step.rstrip("'")) + _HARDENED * step.endswith("'") for step in steps]
    return bytes([len(numbers)]) + b"".join(each.to_bytes(4, "big") for each in numbers)


class _StatusError(WalletRefusedError):
    def __init__(self, status: int, doing: str) -> None:
        super().__init__(_words(status, doing))
        self.status = status


def _ask(transport: Transport, code: int, first: int, data: bytes, doing: str) -> bytes:
    answer, status = transport.exchange(bytes([_CLASS, code, first, 0, len(data)]) + data)
    if status != _SUCCESS:
        raise _StatusError(status, doing)
    return answer


def _words(status: int, doing: str) -> str:
    if status in _LOCKED:
        return "The Ledger is locked. Nothing was signed. Unlock it, and try again."
    if status in _OTHER_APP:
        return (
            "The Ledger has another app open, or none. Nothing was signed. Open its Ethereum app, "
            "and try again."
        )
    if status == _REJECTED:
        return "It was rejected on the Ledger. Nothing was signed."
    if status == _BLIND_OFF:
        return (
            "The Ledger does not sign what it cannot read. Nothing was signed. Switch on blind "
            "signing in the settings of its Ethereum app, compare the hashes here and there, and "
            "try again."
        )
    if status == _UNKNOWN:
        return (
            f"The app on the Ledger cannot {doing}: it is too old, or not the Ethereum app. "
            "Nothing was signed. Update it in Ledger Live, and try again."
        )
    return f"The Ledger refused to {doing} (status {status:04x}). Nothing was signed."


def _authorization_refused(status: int, delegate: Address) -> WalletRefusedError:
    if status == _NOT_ALLOWED:
        return WalletRefusedError(
            f"The Ledger does not delegate to {checksum(delegate)}: its setting «Smart account "
            "upgrade» is off, or that contract is not on its list. Nothing was signed."
        )
    return WalletRefusedError(_words(status, "sign the authorization"))


def _chunks(data: bytes) -> Iterator[tuple[bool, bytes]]:
    for start in range(0, len(data), _MOST_DATA):
        yield start == 0, data[start : start + _MOST_DATA]


def _point(data: bytes, base: int) -> Point:
    if len(data) != _SIGNATURE_BYTES or data[0] - base not in (0, 1):
        raise WalletError("The Ledger's answer is not a signature. It was dropped.")
    return Point(
        data[0] - base, int.from_bytes(data[1:33], "big"), int.from_bytes(data[33:], "big")
    )


def _number(value: int) -> bytes:
    return value.to_bytes(max(1, (value.bit_length() + 7) // 8), "big")
