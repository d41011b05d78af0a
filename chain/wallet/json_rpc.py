"""A wallet that another program holds, asked over JSON-RPC to sign and never to send."""

from __future__ import annotations

import json
import socket
from http.client import HTTPConnection, HTTPException, HTTPSConnection
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from chain.base.clean_text import clean_text
from chain.base.strict_json import InvalidJsonError, loads
from chain.contracts.addresses import checksum
from chain.wallet.errors import WalletError, WalletRefusedError
from chain.wallet.key_holder import (
    PARITY,
    Point,
    TypedData,
    signed_bytes,
    transaction_fields,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from chain.contracts.networks import Address
    from chain.execution.transaction import Authorization, UnsignedTransaction
    from chain.rpc.records import Json

_SECONDS = 300.0
"""A person may be asked over there, too."""
_MOST_BYTES = 1 << 20
_METHOD_MISSING = -32601
_LOOPBACK = frozenset(("127.0.0.1", "::1", "localhost"))
_FIELDS = ("chain", "nonce", "tip", "fee", "gas limit", "recipient", "value", "data", "list")


class JsonRpcKey:
    def __init__(
        self, address: Address, server: JsonRpcSigner, asking: Callable[[str], None]
    ) -> None:
        self.address = address
        self._server = server
        self._asking = asking

    def sign_transaction(
        self, transaction: UnsignedTransaction, _unsigned: bytes, _lending: Point | None
    ) -> Point:
        self._asking(f"Confirm in your wallet: {transaction.step}.")
        given = self._server.ask("eth_signTransaction", [_asked(transaction)])
        # Some answer with the bytes, others with the bytes and the fields they are made of.
        raw = given.get("raw") if isinstance(given, dict) else given
        return _point_of(_bytes_in(raw), transaction)

    def sign_typed_data(self, data: TypedData) -> Point:
        self._asking("Confirm in your wallet: the typed data.")
        signature = _bytes_in(
            self._server.ask(
                "eth_signTypedData_v4", [checksum(self.address), json.dumps(data.document)]
            )
        )
        if len(signature) != 65 or signature[64] not in (0, 1, PARITY, PARITY + 1):
            raise WalletError("The wallet's answer is not a signature. It was dropped.")
        r, s = signature[:32], signature[32:64]
        return Point(signature[64] % PARITY, int.from_bytes(r, "big"), int.from_bytes(s, "big"))

    def sign_authorization(self, _: Authorization) -> Point:
        raise WalletRefusedError(
            "No wallet signs a delegation over JSON-RPC: there is no method for it. Plans are sent "
            "in steps. Nothing was signed."
        )

    def close(self) -> None:
        """Each question has a connection of its own."""


class JsonRpcSigner:
    """`http://127.0.0.1:8550`, or `unix:/run/signer.sock`."""

    def __init__(self, place: str, allowed_hosts: Sequence[str] = ()) -> None:
        self._place = place
        self._parts = urlsplit(place)
        host = self._parts.hostname
        if self._parts.scheme == "unix" and self._parts.path:
            return
        if self._parts.scheme not in ("http", "https") or host is None:
            raise WalletError(
                f"wallet.signer is {place!r}. Write http://127.0.0.1:PORT or unix:/path/to/socket."
            )
        if host in _LOOPBACK:
            return
        if host not in allowed_hosts or self._parts.scheme != "https":
            raise WalletRefusedError(
                f"wallet.signer names {clean_text(host)}, another machine. To allow it, use https "
                f'and write wallet.signer_hosts = ["{clean_text(host)}"]. Nothing was signed.'
            )

    def addresses(self) -> tuple[Address, ...]:
        given = self.ask("eth_accounts", [])
        if not isinstance(given, list):
            raise WalletError("The wallet did not list its accounts.")
        return tuple(str(each).lower() for each in given)

    def ask(self, method: str, parameters: Sequence[Json]) -> object:
        question = {"jsonrpc": "2.0", "id": 1, "method": method, "params": list(parameters)}
        try:
            answer = loads(self._posted(json.dumps(question).encode()))
        except (OSError, HTTPException):
            raise WalletError(
                f"The wallet at {clean_text(self._place)} did not answer. Nothing was signed. "
                "Start it, and try again."
            ) from None
        except InvalidJsonError as error:
            raise WalletError(f"The wallet's answer cannot be read: {error}.") from None
        if not isinstance(answer, dict) or not {"result", "error"} & answer.keys():
            raise WalletError("The wallet's answer is no JSON-RPC. Nothing was signed.")
        fault = answer.get("error")
        if fault is None:
            return answer.get("result")
        code, words = (
            (fault.get("code"), clean_text(str(fault.get("message", ""))))
            if isinstance(fault, dict)
            else (None, "")
        )
        if code == _METHOD_MISSING and method == "eth_signTransaction":
            raise WalletRefusedError(
                "This wallet only sends: it signs and sends in one step, and zuno sends nothing "
                "that it has not written down first. Use one that answers eth_signTransaction."
            )
        raise WalletRefusedError(
            f"The wallet refused{f': {words}' if words else ''}. Nothing was signed."
        )

    def _posted(self, body: bytes) -> bytes:
        connection = self._connection()
        try:
            path = "/" if self._parts.scheme == "unix" else self._parts.path or "/"
            headers = {"content-type": "application/json", "user-agent": "zuno"}
            connection.request("POST", path, body, headers)
            response = connection.getresponse()
            given = response.read(_MOST_BYTES + 1)
        finally:
            connection.close()
        if len(given) > _MOST_BYTES:
            raise WalletError("The wallet's answer is too long. It was dropped.")
        return given

    def _connection(self) -> HTTPConnection:
        parts = self._parts
        if parts.scheme == "unix":
            return _UnixConnection(parts.path)
        assert parts.hostname is not None
        kind = HTTPSConnection if parts.scheme == "https" else HTTPConnection
        return kind(parts.hostname, parts.port, timeout=_SECONDS)


class _UnixConnection(HTTPConnection):
    def __init__(self, path: str) -> None:
        super().__init__("localhost", timeout=_SECONDS)
        self._path = path

    def connect(self) -> None:
        self.sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.sock.settimeout(_SECONDS)
        self.sock.connect(self._path)


def _asked(transaction: UnsignedTransaction) -> dict[str, Json]:
    return {
        "type": "0x2",
        "from": checksum(transaction.sender),
        "to": checksum(transaction.to),
        "chainId": hex(transaction.chain_id),
        "nonce": hex(transaction.nonce),
        "gas": hex(transaction.gas),
        "maxFeePerGas": hex(transaction.max_fee_per_gas),
        "maxPriorityFeePerGas": hex(transaction.max_priority_fee_per_gas),
        "value": hex(transaction.value),
        "data": "0x" + transaction.data.hex(),
        "accessList": [],
    }


def _point_of(raw: bytes, transaction: UnsignedTransaction) -> Point:
    """The signature in what came back, once every field is what was asked for."""
    from rlp.codec import decode
    from rlp.exceptions import DecodingError

    try:
        items = decode(raw[1:])  # type: ignore[no-untyped-call]
    except DecodingError:
        items = ()
    wanted = transaction_fields(transaction, None)
    if len(items) != len(wanted) + 3 or not all(isinstance(each, bytes) for each in items[-3:]):
        raise WalletRefusedError(
            "The wallet gave back another kind of transaction than was asked for. It was dropped."
        )
    for name, asked, came in zip(_FIELDS, wanted, items, strict=False):
        if _plain(came) != _plain(asked):
            raise WalletRefusedError(
                f"The wallet signed another {name} than was asked for. It was dropped."
            )
    point = Point(*(int.from_bytes(each, "big") for each in items[-3:]))
    if raw != signed_bytes(transaction, None, point) or point.parity not in (0, 1):
        raise WalletRefusedError(
            "The wallet gave back other bytes than were asked for. They were dropped."
        )
    return point


def _plain(field: object) -> object:
    return tuple(map(_plain, field)) if isinstance(field, list | tuple) else field


def _bytes_in(value: object) -> bytes:
    if isinstance(value, str) and value.startswith("0x"):
        try:
            return bytes.fromhex(value[2:])
        except ValueError:
            pass
    raise WalletError("The wallet's answer holds no bytes. It was dropped.")
