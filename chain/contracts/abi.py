"""Solidity's ABI, small and strict: one encoding per value, one value per encoding.

Return data and event data come from strangers, so decoding accepts the canonical layout alone.
Every byte is read once: no offset can alias, loop or make a small answer unfold into a large one.
Text decodes to raw bytes, because what a contract calls a string is not text until it is cleaned.
"""

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from functools import cache
from sys import intern
from typing import Any

from chain.base.units import ADDRESS
from chain.contracts.addresses import keccak

WORD = 32


class AbiError(ValueError):
    """Data that is not the canonical encoding of its type, or a value that does not fit one."""


def encode(types: Sequence[str], values: Sequence[object]) -> bytes:
    """`abi.encode(values…)`."""
    return _sequence_encoded(_parsed(tuple(types)), values)


def decode(types: Sequence[str], data: bytes) -> tuple[Any, ...]:
    """The values `data` encodes, of exactly these types and with nothing left over."""
    values, end = _sequence_decoded(_parsed(tuple(types)), data, 0)
    if end != len(data):
        raise AbiError(f"{len(data) - end} bytes are left over after {', '.join(types)}.")
    return values


def encode_call(signature: str, *values: object) -> bytes:
    """Calldata of a function named like `transfer(address,uint256)`."""
    return selector(signature) + _sequence_encoded(_arguments(signature), values)


@cache
def selector(signature: str) -> bytes:
    """The first four bytes of the signature's hash: of functions and of custom errors."""
    return keccak(signature.encode())[:4]


@cache
def topic(signature: str) -> str:
    """The first topic of an event's logs, as `0x` hex."""
    return "0x" + keccak(signature.encode()).hex()


class _Type(ABC):
    """How one type is laid out: its bytes in the head and, when dynamic, in the tail."""

    dynamic: bool = False
    size: int = WORD

    @abstractmethod
    def encode(self, value: object) -> bytes: ...

    @abstractmethod
    def decode(self, data: bytes, at: int) -> tuple[Any, int]:
        """The value that starts at `at`, and where it ends."""


class _Integer(_Type):
    def __init__(self, bits: int, *, signed: bool) -> None:
        self.bits = bits
        self.signed = signed
        self._magnitude_bits = bits - signed

    def encode(self, value: object) -> bytes:
        if not isinstance(value, int) or isinstance(value, bool):
            raise AbiError(f"{self} wants an integer, not {type(value).__name__}.")
        try:
            value.to_bytes(self.bits // 8, "big", signed=self.signed)
        except OverflowError:
            raise AbiError(f"{value} does not fit {self}.") from None
        return value.to_bytes(WORD, "big", signed=self.signed)

    def decode(self, data: bytes, at: int) -> tuple[int, int]:
        # Spelled out for speed, as are positions: a monitor decodes tens of thousands a poll.
        word = data[at : at + WORD]
        if len(word) != WORD:
            raise AbiError(_ENDS_INSIDE.format(at))
        value = int.from_bytes(word, "big", signed=True) if self.signed else int.from_bytes(word)
        magnitude = ~value if value < 0 else value
        if magnitude >> self._magnitude_bits:
            raise AbiError(f"The word at byte {at} does not fit {self}.")
        return value, at + WORD

    def __str__(self) -> str:
        return f"{'int' if self.signed else 'uint'}{self.bits}"


class _Bool(_Type):
    def encode(self, value: object) -> bytes:
        if not isinstance(value, bool):
            raise AbiError(f"bool wants True or False, not {type(value).__name__}.")
        return value.to_bytes(WORD, "big")

    def decode(self, data: bytes, at: int) -> tuple[bool, int]:
        value = int.from_bytes(_word(data, at), "big")
        if value > 1:
            raise AbiError(f"The word at byte {at} is neither true nor false.")
        return value == 1, at + WORD


class _Address(_Type):
    def encode(self, value: object) -> bytes:
        return bytes(12) + address_bytes(value)

    def decode(self, data: bytes, at: int) -> tuple[str, int]:
        word = _word(data, at)
        if any(word[:12]):
            raise AbiError(f"The word at byte {at} is too large for an address.")
        # Thousands of positions name the same few tokens.
        return intern("0x" + word[12:].hex()), at + WORD


class _FixedBytes(_Type):
    def __init__(self, length: int) -> None:
        self.length = length

    def encode(self, value: object) -> bytes:
        if not isinstance(value, bytes) or len(value) != self.length:
            raise AbiError(f"bytes{self.length} wants exactly {self.length} bytes.")
        return value.ljust(WORD, b"\0")

    def decode(self, data: bytes, at: int) -> tuple[bytes, int]:
        word = _word(data, at)
        if any(word[self.length :]):
            raise AbiError(f"The word at byte {at} is longer than bytes{self.length}.")
        return word[: self.length], at + WORD


class _Bytes(_Type):
    dynamic = True

    def __init__(self, *, text: bool) -> None:
        self.text = text

    def encode(self, value: object) -> bytes:
        content = value.encode() if self.text and isinstance(value, str) else value
        if not isinstance(content, bytes):
            raise AbiError(f"{'string' if self.text else 'bytes'} cannot hold {value!r:.40}.")
        return len(content).to_bytes(WORD, "big") + content + bytes(-len(content) % WORD)

    def decode(self, data: bytes, at: int) -> tuple[bytes, int]:
        length = int.from_bytes(_word(data, at), "big")
        start = at + WORD
        if length > len(data) - start:
            raise AbiError(f"{length} bytes are announced at byte {at}, beyond the data's end.")
        end = start + length + -length % WORD
        padding = data[start + length : end]
        if len(padding) != -length % WORD or any(padding):
            raise AbiError(f"The bytes at {at} are not padded with zeros to whole words.")
        return data[start : start + length], end


class _Tuple(_Type):
    def __init__(self, members: tuple[_Type, ...]) -> None:
        self.members = members
        self.dynamic = any(member.dynamic for member in members)
        self.size = WORD if self.dynamic else _head_size(members)

    def encode(self, value: object) -> bytes:
        return _sequence_encoded(self.members, _sequence(value))

    def decode(self, data: bytes, at: int) -> tuple[tuple[Any, ...], int]:
        return _sequence_decoded(self.members, data, at)


class _Array(_Type):
    dynamic = True

    def __init__(self, member: _Type) -> None:
        self.member = member

    def encode(self, value: object) -> bytes:
        items = _sequence(value)
        return len(items).to_bytes(WORD, "big") + _sequence_encoded(
            (self.member,) * len(items), items
        )

    def decode(self, data: bytes, at: int) -> tuple[tuple[Any, ...], int]:
        count = int.from_bytes(_word(data, at), "big")
        start = at + WORD
        if count * self.member.size > len(data) - start:
            raise AbiError(f"{count} items are announced at byte {at}, beyond the data's end.")
        return _sequence_decoded((self.member,) * count, data, start)


def address_bytes(value: object) -> bytes:
    """The 20 bytes of an address written as `0x` hex in any case."""
    if isinstance(value, str) and ADDRESS.fullmatch(value):
        return bytes.fromhex(value[2:])
    raise AbiError(f"{value!r:.60} is not an address.")


_ENDS_INSIDE = "The data ends inside the word at byte {}."


def _word(data: bytes, at: int) -> bytes:
    word = data[at : at + WORD]
    if len(word) != WORD:
        raise AbiError(_ENDS_INSIDE.format(at))
    return word


def _sequence(value: object) -> Sequence[object]:
    if not isinstance(value, (list, tuple)):
        raise AbiError(f"A list or tuple is wanted, not {type(value).__name__}.")
    return value


def _head_size(members: Sequence[_Type]) -> int:
    return sum(member.size for member in members)


def _sequence_encoded(members: Sequence[_Type], values: Sequence[object]) -> bytes:
    if len(members) != len(values):
        raise AbiError(f"{len(members)} values are wanted, {len(values)} were given.")
    heads: list[bytes] = []
    tails: list[bytes] = []
    offset = _head_size(members)
    for member, value in zip(members, values, strict=True):
        encoded = member.encode(value)
        if member.dynamic:
            heads.append(offset.to_bytes(WORD, "big"))
            tails.append(encoded)
            offset += len(encoded)
        else:
            heads.append(encoded)
    return b"".join(heads + tails)


def _sequence_decoded(
    members: Sequence[_Type], data: bytes, base: int
) -> tuple[tuple[Any, ...], int]:
    """Members whose heads start at `base`; tails must follow in order and without gaps."""
    head = base
    tail: int | None = None
    values: list[Any] = []
    for member in members:
        if member.dynamic:
            offset = int.from_bytes(_word(data, head), "big")
            if tail is None:
                tail = base + _head_size(members)
            if base + offset != tail:
                raise AbiError(f"The offset at byte {head} does not point to the next tail.")
            value, tail = member.decode(data, tail)
            head += WORD
        else:
            value, head = member.decode(data, head)
        values.append(value)
    return tuple(values), head if tail is None else tail


@cache
def _parsed(types: tuple[str, ...]) -> tuple[_Type, ...]:
    return tuple(_parse(text) for text in types)


@cache
def _arguments(signature: str) -> tuple[_Type, ...]:
    name, opening, rest = signature.partition("(")
    if not (name.isidentifier() and opening and rest.endswith(")")):
        raise AbiError(f"{signature!r} is not a function signature.")
    return _parsed(tuple(_split(rest[:-1])))


def _parse(text: str) -> _Type:
    if text.endswith("]"):
        member, _, count = text[:-1].rpartition("[")
        return _Array(_parse(member)) if not count else _repeated(_parse(member), count, text)
    if text.startswith("(") and text.endswith(")"):
        members = tuple(_parse(part) for part in _split(text[1:-1]))
        if not members:
            raise AbiError("An empty tuple has no encoding.")
        return _Tuple(members)
    if text in _NAMED:
        return _NAMED[text]
    raise AbiError(f"{text!r} is not an ABI type.")


def _repeated(member: _Type, count: str, text: str) -> _Type:
    if not count.isdecimal() or int(count) == 0:
        raise AbiError(f"{text!r} is not an ABI type.")
    return _Tuple((member,) * int(count))


def _split(text: str) -> Iterator[str]:
    """The parts between the commas that are in no bracket of their own."""
    depth = start = 0
    for index, character in enumerate(text):
        depth += (character == "(") - (character == ")")
        if character == "," and depth == 0:
            yield text[start:index]
            start = index + 1
    if text:
        yield text[start:]


_NAMED: dict[str, _Type] = {
    "bool": _Bool(),
    "address": _Address(),
    "bytes": _Bytes(text=False),
    "string": _Bytes(text=True),
    **{f"uint{bits}": _Integer(bits, signed=False) for bits in range(8, 257, 8)},
    **{f"int{bits}": _Integer(bits, signed=True) for bits in range(8, 257, 8)},
    **{f"bytes{length}": _FixedBytes(length) for length in range(1, 33)},
}
