"""Safe transactions that owners sign one after the other: kept in the home, carried in files."""

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Literal

from msgspec import Struct, ValidationError, convert, to_builtins
from msgspec.structs import replace

from chain.base.home import hold_lock, write_atomically
from chain.base.strict_json import InvalidJsonError, loads
from chain.contracts.abi import AbiError
from chain.contracts.addresses import checksum
from chain.contracts.networks import NATIVE, Address
from chain.contracts.safe import FIELDS, SafeTransaction, joined_signatures, signer_of
from chain.safe.facts import SafeError, SafeFacts
from chain.wallet.address_book import parsed_address
from chain.wallet.errors import WalletError
from chain.wallet.files import read_bounded

_SCHEMA: Literal["zuno/safe-transaction/1"] = "zuno/safe-transaction/1"
_ZERO = {"safeTxGas": "0", "baseGas": "0", "gasPrice": "0"}
_NOBODY = ("gasToken", "refundReceiver")
_MOST_SIGNATURES = 100


class _Signature(Struct, frozen=True, forbid_unknown_fields=True):
    owner: str
    signature: str


class _File(Struct, frozen=True, forbid_unknown_fields=True, rename="camel"):
    schema: Literal["zuno/safe-transaction/1"]
    chain_id: str
    safe: str
    safe_tx_hash: str
    domain_hash: str
    message_hash: str
    transaction: dict[str, str]
    signatures: tuple[_Signature, ...]


class SafePlan(Struct, frozen=True):
    number: int
    """In this home; none before it is kept."""
    transaction: SafeTransaction
    signatures: Mapping[Address, bytes]
    """By whoever made each; whether those are owners, the chain says."""

    @property
    def plan_id(self) -> str:
        return f"plan_{self.transaction.hash[:8].hex()}"

    def signed_by(self, facts: SafeFacts) -> tuple[Address, ...]:
        """Owners of now whose signature is here, in the order the Safe has them."""
        digest = self.transaction.hash
        return tuple(
            owner
            for owner in facts.owners
            if owner in self.signatures and signer_of(digest, self.signatures[owner]) == owner
        )

    def join_signatures(self, facts: SafeFacts) -> bytes:
        """As many as are needed, in the order that the Safe demands."""
        enough = sorted(self.signed_by(facts))[: facts.threshold]
        return joined_signatures({owner: self.signatures[owner] for owner in enough})


def plan_file(plan: SafePlan) -> bytes:
    """For the next owner, by any way: it holds no secret."""
    made = plan.transaction
    values = (made.to, made.value, made.data, made.operation, 0, 0, 0, NATIVE, NATIVE, made.nonce)
    file = _File(
        schema=_SCHEMA,
        chain_id=str(made.chain_id),
        safe=checksum(made.safe),
        safe_tx_hash="0x" + made.hash.hex(),
        domain_hash="0x" + made.domain_hash.hex(),
        message_hash="0x" + made.message_hash.hex(),
        transaction={name: _text(value) for (name, _), value in zip(FIELDS, values, strict=True)},
        signatures=tuple(
            _Signature(checksum(owner), "0x" + plan.signatures[owner].hex())
            for owner in sorted(plan.signatures)
        ),
    )
    return json.dumps(to_builtins(file), indent=2).encode() + b"\n"


def _text(value: object) -> str:
    return "0x" + value.hex() if isinstance(value, bytes) else str(value)


def read_plan(content: bytes, where: str) -> SafePlan:
    """Out of a file that anybody may have written: every field and signature made out again."""
    try:
        file = convert(loads(content), _File)
        fields = dict(file.transaction)
        if set(fields) != {name for name, _ in FIELDS}:
            raise ValueError("its transaction has not the ten fields of a Safe's")
        odd = [name for name, zero in _ZERO.items() if fields[name] != zero]
        odd += [name for name in _NOBODY if parsed_address(fields[name]) != NATIVE]
        if odd:
            raise SafeError(
                f"{where} sets {', '.join(odd)}: the Safe would pay somebody for gas. It is not "
                "taken. Nothing was signed."
            )
        made = SafeTransaction(
            chain_id=_number(file.chain_id),
            safe=parsed_address(file.safe),
            to=parsed_address(fields["to"]),
            value=_number(fields["value"]),
            data=_bytes(fields["data"]),
            operation=_number(fields["operation"]),
            nonce=_number(fields["nonce"]),
        )
        told = (file.domain_hash, file.message_hash, file.safe_tx_hash)
        own = (made.domain_hash, made.message_hash, made.hash)
        if tuple(map(_bytes, told)) != own or len(file.signatures) > _MOST_SIGNATURES:
            raise ValueError("its hashes are not those of its transaction")
        signatures: dict[Address, bytes] = {}
        for each in file.signatures:
            owner, signature = parsed_address(each.owner), _bytes(each.signature)
            if signer_of(made.hash, signature) != owner or owner in signatures:
                raise ValueError(f"the signature of {checksum(owner)} is not of this")
            signatures[owner] = signature
    except (InvalidJsonError, ValidationError, WalletError, AbiError, ValueError) as error:
        reason = str(error) if type(error) is ValueError else "it is damaged"
        raise SafeError(
            f"{where} holds no Safe transaction: {reason}. Nothing was signed."
        ) from None
    return SafePlan(0, made, signatures)


def _number(text: str) -> int:
    if not text.isascii() or not text.isdigit() or len(text) > 78:
        raise ValueError("a number in it is none")
    return int(text)


def _bytes(text: str) -> bytes:
    if not text.startswith("0x") or text.lower() != text or len(text) % 2:
        raise ValueError("bytes in it are none")
    return bytes.fromhex(text[2:])


class SafePlans:
    """One file a transaction, by number; the newest last."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def all(self) -> tuple[SafePlan, ...]:
        """What is damaged is refused by name, not left out: somebody signed it."""
        paths = [path for path in self.folder.glob("*.json") if path.stem.isdigit()]
        return tuple(
            replace(read_plan(read_bounded(path), str(path)), number=int(path.stem))
            for path in sorted(paths, key=lambda path: int(path.stem))
        )

    def find(self, number: int) -> SafePlan:
        for plan in self.all():
            if plan.number == number:
                return plan
        raise SafeError(f"There is no Safe transaction {number} here. See them: zuno safe")

    def of_plan(self, plan_id: str) -> SafePlan:
        for plan in self.all():
            if plan.plan_id == plan_id:
                return plan
        raise SafeError(f"{plan_id} is no Safe transaction of this home. See them: zuno safe")

    def add(self, given: SafePlan) -> SafePlan:
        """Signatures of one transaction come together, whichever way they came."""
        with self._locked():
            known = self.all()
            for plan in known:
                if plan.transaction == given.transaction:
                    both = {**plan.signatures, **given.signatures}
                    kept = replace(plan, signatures=both)
                    break
            else:
                number = 1 + max((plan.number for plan in known), default=0)
                kept = replace(given, number=number)
            write_atomically(self.folder / f"{kept.number}.json", plan_file(kept))
            return kept

    @contextmanager
    def _locked(self) -> Iterator[None]:
        self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        with hold_lock(self.folder / ".lock"):
            yield
