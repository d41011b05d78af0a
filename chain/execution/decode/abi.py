"""ABI words through eth_abi, which the encoder does not use."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from chain.base.errors import ZunoError

if TYPE_CHECKING:
    from collections.abc import Sequence


class DecodingError(ZunoError, ValueError):
    """Bytes that are not exactly one of the calls known here; nothing of them may be signed."""


def read(types: Sequence[str], data: bytes) -> tuple[Any, ...]:
    """The values these bytes hold; eth_abi leaves what follows them to the caller."""
    from eth_abi.abi import decode
    from eth_abi.exceptions import DecodingError as AbiDecodingError

    try:
        return decode(types, data)
    except (AbiDecodingError, OverflowError, ValueError) as error:
        raise DecodingError(f"The calldata is not {', '.join(types) or 'empty'}.") from error


def write(types: Sequence[str], values: Sequence[object]) -> bytes:
    from eth_abi.abi import encode

    return encode(types, values)
