"""How commands reach a Ledger and its answers come back: USB packets, or a TCP stream."""

import socket
from collections.abc import Iterator
from typing import Final, Protocol
from urllib.parse import urlsplit

from chain.wallet.errors import WalletError

USB: Final = "usb"
ANSWER_SECONDS = 300.0
"""A person reads every field on a small screen before they decide."""
_CONNECT_SECONDS = 10.0
_STATUS_BYTES = 2
_MOST_ANSWER = 4_096

_VENDOR = 0x2C97
_USAGE_PAGE = 0xFFA0
_PACKET = 64
_CHANNEL, _TAG = bytes.fromhex("0101"), 0x05
_HEAD = 5
"""Channel, tag and the packet's number before what it carries."""


class DisconnectedError(WalletError):
    """Nothing answers there any more: it was pulled out, locked away or never there."""


class Transport(Protocol):
    def exchange(self, command: bytes) -> tuple[bytes, int]:
        """The answer's data and its status word."""

    def close(self) -> None: ...


def open_transport(place: str) -> Transport:
    """`usb` or `tcp://127.0.0.1:9999`; other machines are refused: nothing is encrypted."""
    if place == USB:
        return UsbTransport()
    parts = urlsplit(place)
    if parts.scheme != "tcp" or parts.hostname is None or parts.port is None:
        raise WalletError(f'wallet.ledger is {place!r}. Write "usb" or "tcp://127.0.0.1:PORT".')
    if parts.hostname not in ("127.0.0.1", "::1", "localhost"):
        raise WalletError(
            f"wallet.ledger names {parts.hostname}, another machine. A Ledger is reached by USB or "
            "on this machine alone; bring a remote one here with: ssh -L"
        )
    return TcpTransport(parts.hostname, parts.port)


class TcpTransport:
    """Length and command out; length, data and status word back, as emulators speak."""

    def __init__(self, host: str, port: int) -> None:
        try:
            self._socket = socket.create_connection((host, port), _CONNECT_SECONDS)
        except OSError:
            raise DisconnectedError(
                f"Nothing listens on {host}:{port}, where wallet.ledger says a Ledger is. "
                "Start the emulator or the bridge, and try again."
            ) from None
        self._socket.settimeout(ANSWER_SECONDS)

    def exchange(self, command: bytes) -> tuple[bytes, int]:
        try:
            self._socket.sendall(len(command).to_bytes(4, "big") + command)
            length = int.from_bytes(self._read(4), "big")
            if length > _MOST_ANSWER:
                raise WalletError("The answer is longer than any of a Ledger. Nothing was signed.")
            return self._read(length), int.from_bytes(self._read(_STATUS_BYTES), "big")
        except OSError as error:
            raise lost_error(error) from None

    def _read(self, count: int) -> bytes:
        data = b""
        while len(data) < count:
            part = self._socket.recv(count - len(data))
            if not part:
                raise ConnectionResetError
            data += part
        return data

    def close(self) -> None:
        self._socket.close()


class UsbTransport:
    """The device itself, by the package that `zuno-tui[ledger]` brings."""

    def __init__(self) -> None:
        try:
            import hid
        except ImportError:
            raise WalletError(
                "USB needs a package that is not installed. Add the extra: pip install hidapi, "
                "or where zuno was installed by name: zuno-tui[ledger]"
            ) from None
        found = next(
            (
                each
                for each in hid.enumerate(_VENDOR, 0)
                if each["usage_page"] == _USAGE_PAGE or each["interface_number"] == 0
            ),
            None,
        )
        if found is None:
            raise DisconnectedError(
                "No Ledger is plugged in, or this user may not open it. Plug it in, unlock it and "
                "open its Ethereum app; on Linux its udev rules must be installed."
            )
        self._device = hid.device()
        try:
            self._device.open_path(found["path"])
        except OSError:
            raise DisconnectedError(
                "The Ledger is there and could not be opened: another program may use it. "
                "Close that program, and try again."
            ) from None

    def exchange(self, command: bytes) -> tuple[bytes, int]:
        try:
            for packet in usb_packets(command):
                self._device.write(b"\x00" + packet)
            answer = from_usb_packets(self._packets())
        except (OSError, ValueError) as error:
            raise lost_error(error) from None
        return answer[:-_STATUS_BYTES], int.from_bytes(answer[-_STATUS_BYTES:], "big")

    def _packets(self) -> Iterator[bytes]:
        while packet := bytes(self._device.read(_PACKET, int(ANSWER_SECONDS * 1_000))):
            yield packet

    def close(self) -> None:
        self._device.close()


def usb_packets(command: bytes) -> Iterator[bytes]:
    rest = len(command).to_bytes(2, "big") + command
    number = 0
    while rest:
        head = _CHANNEL + bytes([_TAG]) + number.to_bytes(2, "big")
        part, rest = rest[: _PACKET - _HEAD], rest[_PACKET - _HEAD :]
        yield (head + part).ljust(_PACKET, b"\x00")
        number += 1


def from_usb_packets(packets: Iterator[bytes]) -> bytes:
    """What the packets carry; an OSError where they are not one answer in its order."""
    data, length, number = b"", None, 0
    for packet in packets:
        if packet[:3] != _CHANNEL + bytes([_TAG]):
            continue  # of another program's channel
        if int.from_bytes(packet[3:_HEAD], "big") != number:
            raise OSError("a packet is missing")
        part = packet[_HEAD:]
        if length is None:
            length, part = int.from_bytes(part[:2], "big"), part[2:]
            if not _STATUS_BYTES <= length <= _MOST_ANSWER:
                raise OSError("no answer is that long")
        data += part
        number += 1
        if len(data) >= length:
            return data[:length]
    raise OSError("the answer ended early")


def lost_error(error: Exception) -> DisconnectedError:
    if isinstance(error, TimeoutError):
        return DisconnectedError(
            "The Ledger did not answer within five minutes. Nothing was signed. Try again, and "
            "confirm or reject on its screen."
        )
    return DisconnectedError(
        "The Ledger went away before it had answered. Nothing was signed. Plug it in, unlock it, "
        "open its Ethereum app, and try again."
    )
