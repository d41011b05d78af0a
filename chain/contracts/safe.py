"""A Safe's transaction: its fields and hashes, its calls as one, and what executes it.

Gas is never refunded by the Safe: five of the ten fields are zero, and whatever has others is none
of ours. The domain holds the chain's id, which a Safe below 1.3.0 leaves out.
"""

import tomllib
from collections.abc import Mapping, Sequence
from functools import cache

from msgspec import Struct, convert

from chain.base.units import Units
from chain.contracts import abi
from chain.contracts.addresses import keccak, recovered_address
from chain.contracts.delegation import BatchCall
from chain.contracts.networks import NATIVE, Address
from chain.data import data_file

EXECUTE = (
    "execTransaction(address,uint256,bytes,uint8,uint256,uint256,uint256,address,address,bytes)"
)
EXECUTE_SELECTOR = abi.selector(EXECUTE)
MULTI_SEND = "multiSend(bytes)"
CALL, DELEGATE_CALL = 0, 1
SIGNATURE_BYTES = 65
_PARITIES = {27: 0, 28: 1}
_LOW_S = 0x7FFFFFFFFFFFFFFFFFFFFFFFFFFFFFFF5D576E7357A4501DDFE92F46681B20A0
_DOMAIN_TYPE = keccak(b"EIP712Domain(uint256 chainId,address verifyingContract)")
FIELDS = (
    ("to", "address"),
    ("value", "uint256"),
    ("data", "bytes"),
    ("operation", "uint8"),
    ("safeTxGas", "uint256"),
    ("baseGas", "uint256"),
    ("gasPrice", "uint256"),
    ("gasToken", "address"),
    ("refundReceiver", "address"),
    ("nonce", "uint256"),
)
_TYPE = keccak(f"SafeTx({','.join(f'{kind} {name}' for name, kind in FIELDS)})".encode())
_NO_REFUND = (0, 0, 0, NATIVE, NATIVE)


class SafeVersion(Struct, frozen=True):
    proxy: str
    """Hash of the code at a Safe's own address."""
    singletons: tuple[str, ...]
    """Hashes of the code behind a proxy."""
    multi_send: tuple[Address, ...]
    """Where MultiSendCallOnly stands."""
    multi_send_code: str
    handlers: tuple[str, ...]


@cache
def safe_versions() -> Mapping[str, SafeVersion]:
    text = data_file("safes.toml").read_text("utf-8")
    return convert(tomllib.loads(text), dict[str, SafeVersion])


def multi_sends() -> Mapping[Address, str]:
    """Every known MultiSendCallOnly with the hash of its code."""
    return {
        address: version.multi_send_code
        for version in safe_versions().values()
        for address in version.multi_send
    }


class SafeTransaction(Struct, frozen=True):
    """What owners sign: calls that the Safe makes, once, at this nonce of its own."""

    chain_id: int
    safe: Address
    to: Address
    value: Units
    data: bytes
    operation: int
    nonce: int

    @property
    def domain_hash(self) -> bytes:
        return keccak(
            abi.encode(("bytes32", "uint256", "address"), (_DOMAIN_TYPE, self.chain_id, self.safe))
        )

    @property
    def message_hash(self) -> bytes:
        kinds = ("bytes32" if kind == "bytes" else kind for _, kind in FIELDS)
        content = (self.to, self.value, keccak(self.data), self.operation, *_NO_REFUND, self.nonce)
        return keccak(abi.encode(("bytes32", *kinds), (_TYPE, *content)))

    @property
    def hash(self) -> bytes:
        """What is signed, and what the Safe calls `safeTxHash`."""
        return keccak(b"\x19\x01" + self.domain_hash + self.message_hash)

    def executed_with(self, signatures: bytes) -> bytes:
        """The calldata, for whoever sends it."""
        return abi.encode_call(
            EXECUTE, self.to, self.value, self.data, self.operation, *_NO_REFUND, signatures
        )


def safe_transaction(
    calls: Sequence[BatchCall], *, chain_id: int, safe: Address, nonce: int, multi_send: Address
) -> SafeTransaction:
    """One call as it is, several through MultiSendCallOnly: all or none of them."""
    if len(calls) == 1:
        (call,) = calls
        return SafeTransaction(chain_id, safe, call.to, call.value, call.data, CALL, nonce)
    data = abi.encode_call(MULTI_SEND, packed_calls(calls))
    return SafeTransaction(chain_id, safe, multi_send, 0, data, DELEGATE_CALL, nonce)


def packed_calls(calls: Sequence[BatchCall]) -> bytes:
    return b"".join(
        bytes([CALL])
        + abi.address_bytes(call.to)
        + call.value.to_bytes(32, "big")
        + len(call.data).to_bytes(32, "big")
        + call.data
        for call in calls
    )


def signer_of(digest: bytes, signature: bytes) -> Address | None:
    """Whose key made it: 65 bytes of a key's own, and no other kind that a Safe may take."""
    if len(signature) != SIGNATURE_BYTES:
        return None
    r, s = (int.from_bytes(signature[at : at + 32], "big") for at in (0, 32))
    parity = _PARITIES.get(signature[-1])
    if parity is None or not r or not 0 < s <= _LOW_S:
        return None
    return recovered_address(digest, parity=parity, r=r, s=s)


def joined_signatures(signatures: Mapping[Address, bytes]) -> bytes:
    """In the order of their owners' addresses, as a Safe demands."""
    return b"".join(signatures[owner] for owner in sorted(signatures))
