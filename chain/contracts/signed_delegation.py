"""What an account's owner signs off chain: that another key may make exactly one call as it.

The delegation manager checks the signature, and each caveat's enforcer its own term, before the
account carries the call out (ERC-7710).
"""

from typing import NamedTuple

from chain.contracts import abi
from chain.contracts.addresses import keccak
from chain.contracts.delegation import (
    DELEGATION_MANAGER,
    EXACT_EXECUTION,
    LIMITED_CALLS,
    NONCES,
    TIMESTAMPS,
    BatchCall,
)
from chain.contracts.networks import Address

ROOT = b"\xff" * 32
"""The authority of a delegation that rests on no other."""
ANYBODY = "0x0000000000000000000000000000000000000a11"
"""As the delegate it stands for whoever comes: never signed."""
MOST_CALLS = 64
LONGEST_SECONDS = 92 * 86_400
"""How often, and for how long, another key is let make a call: ninety days and their edges."""
_SINGLE = bytes(32)
"""The mode of one call, undone where it fails."""

_DELEGATION = "(address,address,bytes32,(address,bytes,bytes)[],uint256,bytes)"
_CAVEAT_TYPE = keccak(b"Caveat(address enforcer,bytes terms)")
_DELEGATION_TYPE = keccak(
    b"Delegation(address delegate,address delegator,bytes32 authority,Caveat[] caveats,"
    b"uint256 salt)Caveat(address enforcer,bytes terms)"
)
_DOMAIN_TYPE = keccak(
    b"EIP712Domain(string name,string version,uint256 chainId,address verifyingContract)"
)
_WORD, _ADDRESS_BYTES, _HALF = 32, 20, 16


class Caveat(NamedTuple):
    enforcer: Address
    terms: bytes


class SignedDelegation(NamedTuple):
    """Without a signature while it is only proposed."""

    delegate: Address
    delegator: Address
    authority: bytes
    caveats: tuple[Caveat, ...]
    salt: int
    signature: bytes = b""

    @property
    def hash(self) -> bytes:
        """Under which the chain counts and disables it."""
        caveats = b"".join(
            keccak(
                abi.encode(
                    ("bytes32", "address", "bytes32"), (_CAVEAT_TYPE, enforcer, keccak(terms))
                )
            )
            for enforcer, terms in self.caveats
        )
        return keccak(
            abi.encode(
                ("bytes32", "address", "address", "bytes32", "bytes32", "uint256"),
                (
                    _DELEGATION_TYPE,
                    self.delegate,
                    self.delegator,
                    self.authority,
                    keccak(caveats),
                    self.salt,
                ),
            )
        )

    def digest(self, chain_id: int) -> bytes:
        """What is signed, for the manager of one chain."""
        return keccak(b"\x19\x01" + domain_hash(chain_id) + self.hash)

    @property
    def values(self) -> tuple[object, ...]:
        """As the manager's functions take it; nothing is passed to an enforcer beside its terms."""
        caveats = [(enforcer, terms, b"") for enforcer, terms in self.caveats]
        return (self.delegate, self.delegator, self.authority, caveats, self.salt, self.signature)


def domain_hash(chain_id: int) -> bytes:
    """For whom delegations are signed: the manager of one chain."""
    return keccak(
        abi.encode(
            ("bytes32", "bytes32", "bytes32", "uint256", "address"),
            (
                _DOMAIN_TYPE,
                keccak(b"DelegationManager"),
                keccak(b"1"),
                chain_id,
                DELEGATION_MANAGER,
            ),
        )
    )


class CallTerms(NamedTuple):
    """What the four caveats of an order say."""

    call: BatchCall
    times: int
    after: int
    before: int
    nonce: int


def caveats_of(terms: CallTerms) -> tuple[Caveat, ...]:
    return (
        Caveat(EXACT_EXECUTION, packed_call(terms.call)),
        Caveat(LIMITED_CALLS, terms.times.to_bytes(_WORD, "big")),
        Caveat(
            TIMESTAMPS, terms.after.to_bytes(_HALF, "big") + terms.before.to_bytes(_HALF, "big")
        ),
        Caveat(NONCES, terms.nonce.to_bytes(_WORD, "big")),
    )


def terms_in(caveats: tuple[Caveat, ...]) -> CallTerms | None:
    """None where they are not exactly these four, each of its own length."""
    enforcers = tuple(caveat.enforcer for caveat in caveats)
    if enforcers != (EXACT_EXECUTION, LIMITED_CALLS, TIMESTAMPS, NONCES):
        return None
    exact, limited, timestamps, nonces = (caveat.terms for caveat in caveats)
    if len(exact) < _ADDRESS_BYTES + _WORD or (len(limited), len(timestamps), len(nonces)) != (
        _WORD,
        _WORD,
        _WORD,
    ):
        return None
    value = int.from_bytes(exact[_ADDRESS_BYTES : _ADDRESS_BYTES + _WORD], "big")
    return CallTerms(
        BatchCall("0x" + exact[:_ADDRESS_BYTES].hex(), value, exact[_ADDRESS_BYTES + _WORD :]),
        int.from_bytes(limited, "big"),
        int.from_bytes(timestamps[:_HALF], "big"),
        int.from_bytes(timestamps[_HALF:], "big"),
        int.from_bytes(nonces, "big"),
    )


def packed_call(call: BatchCall) -> bytes:
    return abi.address_bytes(call.to) + call.value.to_bytes(_WORD, "big") + call.data


def redeem(delegation: SignedDelegation, call: BatchCall) -> bytes:
    """What the delegate sends to the manager to have the call made as the delegator."""
    context = abi.encode((f"{_DELEGATION}[]",), ([delegation.values],))
    return abi.encode_call(
        "redeemDelegations(bytes[],bytes32[],bytes[])", [context], [_SINGLE], [packed_call(call)]
    )


def disable(delegation: SignedDelegation) -> bytes:
    """What the delegator sends to the manager so that this one counts no more."""
    return abi.encode_call(f"disableDelegation({_DELEGATION})", delegation.values)


def raise_nonce() -> bytes:
    """What the delegator sends to the nonces' enforcer so that none signed so far counts."""
    return abi.encode_call("incrementNonce(address)", DELEGATION_MANAGER)


def ask_nonce(delegator: Address) -> bytes:
    return abi.encode_call("currentNonce(address,address)", DELEGATION_MANAGER, delegator)


def ask_disabled(delegation: SignedDelegation) -> bytes:
    return abi.encode_call("disabledDelegations(bytes32)", delegation.hash)


def ask_count(delegation: SignedDelegation) -> bytes:
    """How often it was used."""
    return abi.encode_call("callCounts(address,bytes32)", DELEGATION_MANAGER, delegation.hash)
