"""The one place that signs: what it refuses, and how it checks what it made."""

import subprocess
import sys
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
from eth_account import Account
from eth_account.typed_transactions.typed_transaction import TypedTransaction
from eth_utils.crypto import keccak
from hexbytes import HexBytes
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from chain.base.home import Home
from chain.contracts import calldata
from chain.contracts.addresses import recovered_address
from chain.contracts.delegation import BatchCall
from chain.contracts.networks import network_named
from chain.contracts.signed_delegation import ROOT, CallTerms, SignedDelegation, caveats_of
from chain.execution.transaction import Authorization, UnsignedTransaction
from chain.wallet.address_book import KeyStorage, Wallet, change_book
from chain.wallet.errors import NoSuchWalletError, WalletError, WalletRefusedError
from chain.wallet.keystore import open_signer
from chain.wallet.keystore_file import keystore_path, write_keystore
from chain.wallet.local_key import LocalKey
from chain.wallet.secrets import CURVE_ORDER, Passphrase, PrivateKey
from chain.wallet.signer import Signer
from tests.chain.wallet.canary import ADDRESS, KEY, PASSPHRASE, seen_in, told_with_locals

DEVNET = network_named("devnet")
BASE = network_named("base")
TRANSACTION = UnsignedTransaction(
    chain_id=DEVNET.chain_id,
    sender=ADDRESS,
    to="0x" + "22" * 20,
    value=7,
    data=b"\x01\x02",
    gas=100_000,
    max_fee_per_gas=2_000_000_000,
    max_priority_fee_per_gas=1_000_000,
    nonce=3,
    step="exit",
)


def signer(chain_id: int = DEVNET.chain_id) -> Signer:
    return Signer(LocalKey(PrivateKey(KEY)), chain_id)


def sender_of(raw: bytes) -> str:
    return str(Account.recover_transaction(raw)).lower()


def words(bits: int) -> st.SearchStrategy[int]:
    return st.integers(min_value=0, max_value=2**bits - 1)


@settings(max_examples=100)
@given(
    value=words(96),
    data=st.binary(max_size=600),
    gas=st.integers(min_value=100_000, max_value=2**24),
    fees=st.tuples(words(64), words(64)).map(sorted),
    nonce=words(40),
    to=st.binary(min_size=20, max_size=20),
)
def test_another_library_reads_exactly_what_was_to_be_signed(
    value: int, data: bytes, gas: int, fees: list[int], nonce: int, to: bytes
) -> None:
    wanted = replace(
        TRANSACTION,
        value=value,
        data=data,
        gas=gas,
        max_priority_fee_per_gas=fees[0],
        max_fee_per_gas=fees[1],
        nonce=nonce,
        to="0x" + to.hex(),
    )

    signed = signer().sign(wanted)

    read = TypedTransaction.from_bytes(HexBytes(signed.raw)).as_dict()
    assert signed.unsigned is wanted
    assert signed.hash == "0x" + keccak(signed.raw).hex()
    assert sender_of(signed.raw) == ADDRESS
    assert (read["chainId"], read["nonce"]) == (DEVNET.chain_id, nonce)
    assert (read["to"], read["value"]) == (to, value)
    assert (read["data"], read["gas"]) == (data, gas)
    assert [read["maxPriorityFeePerGas"], read["maxFeePerGas"]] == fees


def test_the_same_transaction_gives_the_same_bytes() -> None:
    assert signer().sign(TRANSACTION) == signer().sign(TRANSACTION)


def test_another_chain_is_refused() -> None:
    with pytest.raises(WalletRefusedError, match="for chain 31337, but this wallet was opened"):
        signer(BASE.chain_id).sign(TRANSACTION)


def test_another_sender_is_refused() -> None:
    with pytest.raises(WalletRefusedError, match="Nothing was signed"):
        signer().sign(replace(TRANSACTION, sender="0x" + "33" * 20))


@pytest.mark.parametrize(
    "impossible",
    [
        replace(TRANSACTION, value=-1),
        replace(TRANSACTION, gas=-1),
        replace(TRANSACTION, value=2**256),
        replace(TRANSACTION, nonce=2**64 - 1),
        replace(TRANSACTION, max_priority_fee_per_gas=TRANSACTION.max_fee_per_gas + 1),
        replace(TRANSACTION, max_fee_per_gas=-1),
        replace(TRANSACTION, to="0x" + "22" * 19),
    ],
)
def test_what_no_chain_can_hold_is_not_signed(impossible: UnsignedTransaction) -> None:
    with pytest.raises(WalletRefusedError, match="No chain can hold"):
        signer().sign(impossible)


def test_a_closed_signer_signs_nothing() -> None:
    with signer() as opened:
        opened.sign(TRANSACTION)

    with pytest.raises(WalletError, match="could not be signed"):
        opened.sign(TRANSACTION)


@pytest.mark.parametrize(
    "changed",
    [
        {"value": 8},
        {"nonce": 4},
        {"to": bytes.fromhex("44" * 20)},
        {"data": b"\x01\x03"},
        {"gas": 100_001},
        {"maxFeePerGas": 2_000_000_001},
        {"maxPriorityFeePerGas": 1_000_001},
        {"chainId": 1},
        {"accessList": [{"address": "0x" + "00" * 20, "storageKeys": []}]},
    ],
)
def test_a_library_that_signs_something_else_is_found_out(
    changed: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    from eth_account import Account

    honest = Account.sign_transaction
    monkeypatch.setattr(
        Account, "sign_transaction", lambda fields, key: honest({**fields, **changed}, key)
    )

    with pytest.raises(WalletError, match="not the transaction that was to be signed"):
        signer().sign(TRANSACTION)


def test_a_library_that_signs_with_another_key_is_found_out(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    from eth_account import Account

    honest = Account.sign_transaction
    monkeypatch.setattr(
        Account, "sign_transaction", lambda fields, _: honest(fields, bytes([5]) * 32)
    )

    with pytest.raises(WalletError, match="not the transaction that was to be signed"):
        signer().sign(TRANSACTION)


def test_a_crash_while_signing_shows_the_key_to_no_traceback(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    from eth_account import Account

    def crash(fields: object, key: bytes) -> object:
        raise RuntimeError(f"cannot sign with {key.hex()}")

    monkeypatch.setattr(Account, "sign_transaction", crash)
    with pytest.raises(WalletError) as caught:
        signer().sign(TRANSACTION)

    error = caught.value
    shown = told_with_locals(error)
    assert "locals" in shown
    assert seen_in(shown) == []
    assert error.__context__ is error.__cause__ is None


def test_a_signer_never_shows_its_key() -> None:
    assert seen_in(f"{signer()} {signer()!r}") == []


_DUMPABLE = """
import ctypes, os, resource
from chain.wallet.local_key import LocalKey
from chain.wallet.secrets import PrivateKey
from chain.wallet.signer import Signer
PR_GET_DUMPABLE = 3
def tell():
    dumpable = ctypes.CDLL(None).prctl(PR_GET_DUMPABLE, 0, 0, 0, 0)
    print(dumpable, resource.getrlimit(resource.RLIMIT_CORE)[0], flush=True)
tell()
Signer(LocalKey(PrivateKey.generate()), 1)
tell()
os.abort()
"""


@pytest.mark.skipif(sys.platform != "linux", reason="core files are asked for on Linux")
def test_a_process_that_holds_a_key_leaves_no_core(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", _DUMPABLE],
        cwd=tmp_path,
        env={"PYTHONPATH": ":".join(sys.path)},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )

    before, after = done.stdout.splitlines()
    assert before.startswith("1 ")
    assert after == "0 0"
    assert list(tmp_path.iterdir()) == []


def test_the_demo_wallet_signs_on_the_embedded_chain(tmp_path: Path) -> None:
    demo = DEVNET.default_address
    assert demo is not None
    home = Home(tmp_path / "home", tmp_path / "cache")

    with open_signer(home, DEVNET, demo, _no_passphrase) as opened:
        signed = opened.sign(replace(TRANSACTION, sender=demo))

    assert sender_of(signed.raw) == demo


def test_the_demo_wallet_signs_nowhere_else(tmp_path: Path) -> None:
    demo = DEVNET.default_address
    assert demo is not None

    with pytest.raises(WalletRefusedError, match="embedded chain only"):
        open_signer(Home(tmp_path, tmp_path), BASE, demo, _no_passphrase)


def test_the_demo_key_itself_makes_no_signer_elsewhere() -> None:
    from chain.devnet.world.accounts import DEMO_WALLET

    with pytest.raises(WalletRefusedError, match="embedded chain only"):
        Signer(LocalKey(PrivateKey(DEMO_WALLET.key)), BASE.chain_id)


def test_a_stranger_has_no_signer(tmp_path: Path) -> None:
    with pytest.raises(NoSuchWalletError, match="zuno wallet import"):
        open_signer(Home(tmp_path, tmp_path), DEVNET, ADDRESS, _no_passphrase)


def test_a_file_that_holds_another_wallets_key_opens_no_signer(tmp_path: Path) -> None:
    home = Home(tmp_path, tmp_path)
    claimed = "0x" + "55" * 20
    change_book(home.keystore, lambda book: book.with_wallet(Wallet(claimed, "w", KeyStorage.FILE)))
    path = keystore_path(home.keystore, claimed)
    write_keystore(path, PrivateKey(KEY), Passphrase.from_text(PASSPHRASE), cost=2**12)

    with pytest.raises(WalletError, match="holds another wallet's key"):
        open_signer(home, DEVNET, claimed, lambda _: Passphrase.from_text(PASSPHRASE))


def _no_passphrase(_: Wallet) -> Passphrase:
    pytest.fail("no passphrase should be asked for")


def _mirrored(point: Any) -> dict[str, Any]:
    """The same signature's mirror image, with a high s: of another hash, and nodes refuse it."""
    return {"v": 1 - point.v, "r": point.r, "s": CURVE_ORDER - point.s}


def test_the_other_of_two_signatures_is_not_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    rlp: Any = import_module("rlp")
    honestly = Account.sign_transaction

    def spoilt(change: Callable[[Any], dict[str, Any]]) -> Callable[[Any, bytes], Any]:
        def sign(fields: Any, key: bytes) -> Any:
            honest = honestly(fields, key)
            return honest._replace(**change(honest))

        return sign

    def mirror(honest: Any) -> dict[str, Any]:
        *fields, _, _, _ = rlp.decode(bytes(honest.raw_transaction)[1:])
        point = _mirrored(honest)
        ends = [number.to_bytes((number.bit_length() + 7) // 8, "big") for number in point.values()]
        return {**point, "raw_transaction": b"\x02" + rlp.encode([*fields, *ends])}

    for change in (mirror, lambda honest: {"raw_transaction": honest.raw_transaction + b"\0"}):
        monkeypatch.setattr(Account, "sign_transaction", spoilt(change))
        with pytest.raises(WalletError, match="not the transaction that was to be signed"):
            signer().sign(TRANSACTION)


LENDING = replace(
    TRANSACTION,
    to=ADDRESS,
    value=0,
    data=b"",
    authorization=Authorization(DEVNET.chain_id, str(DEVNET.contracts.delegate), 4),
)


def test_another_library_reads_whom_the_account_is_lent_to() -> None:
    rlp: Any = import_module("rlp")
    raw = signer().sign(LENDING).raw
    *_, leaves, _, _, _ = rlp.decode(raw[1:])
    ((chain_id, delegate, nonce, parity, r, s),) = leaves
    leave = Authorization(
        int.from_bytes(chain_id, "big"), "0x" + delegate.hex(), int.from_bytes(nonce, "big")
    )
    signed = keccak(b"\x05" + rlp.encode([chain_id, delegate, nonce]))
    point = [int.from_bytes(part, "big") for part in (parity, r, s)]

    assert raw[0] == 4
    assert leave == LENDING.authorization
    assert sender_of(raw) == ADDRESS
    assert recovered_address(signed, parity=point[0], r=point[1], s=point[2]) == ADDRESS


@pytest.mark.parametrize(
    "odd",
    [
        {"chain_id": 0},
        {"chain_id": BASE.chain_id},
        {"delegate": "0x" + "99" * 20},
        {"nonce": 3},
        {"nonce": 5},
    ],
)
def test_an_account_is_lent_in_no_other_way(odd: dict[str, Any]) -> None:
    assert LENDING.authorization is not None
    changed = replace(LENDING, authorization=replace(LENDING.authorization, **odd))
    with pytest.raises(WalletRefusedError, match="delegated only to known code"):
        signer().sign(changed)


@pytest.mark.parametrize("more", [{"to": "0x" + "22" * 20}, {"value": 1}, {"data": b"\x01"}])
def test_an_account_is_lent_by_what_does_nothing_else(more: dict[str, Any]) -> None:
    with pytest.raises(WalletRefusedError, match="does nothing else"):
        signer().sign(replace(LENDING, **more))


def test_an_account_is_taken_back_from_anybody() -> None:
    nobody = Authorization(DEVNET.chain_id, "0x" + "00" * 20, 4)

    assert sender_of(signer().sign(replace(LENDING, authorization=nobody)).raw) == ADDRESS


_GUARDED = """
import ctypes, resource
from chain.wallet.local_key import LocalKey
from chain.wallet.secrets import PrivateKey
from chain.wallet.signer import Signer

def state():
    return *resource.getrlimit(resource.RLIMIT_CORE), ctypes.CDLL(None).prctl(3, 0, 0, 0, 0)

resource.setrlimit(resource.RLIMIT_CORE, (resource.getrlimit(resource.RLIMIT_CORE)[1],) * 2)
before = state()
Signer(LocalKey(PrivateKey(bytes([7]) * 32)), 8453)
print(before[2], *state())
"""


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux tells whether it may be dumped")
def test_a_process_with_a_key_leaves_no_core_and_cannot_be_traced() -> None:
    told = subprocess.run(
        [sys.executable, "-c", _GUARDED], capture_output=True, text=True, timeout=60, check=True
    )
    assert told.stdout.split() == ["1", "0", "0", "0"]


@pytest.mark.parametrize(
    ("fields", "is_possible"),
    [
        ({}, True),
        ({"value": 0}, True),
        ({"value": 2**256 - 1}, True),
        ({"value": 2**256}, False),
        ({"value": -1}, False),
        ({"gas": 0}, True),
        ({"gas": 2**64 - 1}, True),
        ({"gas": 2**64}, False),
        ({"gas": -1}, False),
        ({"nonce": 0}, True),
        ({"nonce": 2**64 - 2}, True),
        ({"nonce": 2**64 - 1}, False),
        ({"nonce": -1}, False),
        ({"max_priority_fee_per_gas": 0}, True),
        ({"max_priority_fee_per_gas": -1}, False),
        ({"max_priority_fee_per_gas": TRANSACTION.max_fee_per_gas}, True),
        ({"max_priority_fee_per_gas": TRANSACTION.max_fee_per_gas + 1}, False),
        ({"max_fee_per_gas": 2**256 - 1}, True),
        ({"max_fee_per_gas": 2**256}, False),
        ({"to": "0x" + "AB" * 20}, False),
        ({"to": "0x" + "22" * 21}, False),
        ({"to": ""}, False),
    ],
)
def test_every_field_has_the_width_that_chains_give_it(
    fields: dict[str, Any], is_possible: bool
) -> None:
    if is_possible:
        assert sender_of(signer().sign(replace(TRANSACTION, **fields)).raw) == ADDRESS
        return
    with pytest.raises(WalletRefusedError, match="No chain can hold this transaction"):
        signer().sign(replace(TRANSACTION, **fields))


@pytest.mark.parametrize("value", [0, 1, 127, 128, 255, 256, 65_536])
def test_a_number_of_any_width_is_signed_as_the_library_reads_it(value: int) -> None:
    signed = signer().sign(replace(TRANSACTION, value=value)).raw
    assert TypedTransaction.from_bytes(HexBytes(signed)).as_dict()["value"] == value


def test_an_account_is_lent_on_the_first_chain_and_on_none_without_a_number() -> None:
    """An authorization for chain 0 counts on every chain."""
    authorization = LENDING.authorization
    assert authorization is not None
    for chain_id in (0, 1):
        lent = replace(
            LENDING, chain_id=chain_id, authorization=replace(authorization, chain_id=chain_id)
        )
        if chain_id:
            assert sender_of(signer(1).sign(lent).raw) == ADDRESS
        else:
            with pytest.raises(WalletRefusedError, match="on one chain"):
                signer(0).sign(lent)


@pytest.mark.parametrize(
    ("chain_id", "delegate", "is_known"),
    [
        (BASE.chain_id, BASE.contracts.delegate, True),
        (BASE.chain_id, "0x" + "00" * 20, True),
        (BASE.chain_id, "0x" + "33" * 20, False),
        # An embedded chain may have any id that is no other network's.
        (424_242, DEVNET.contracts.delegate, True),
        (424_242, "0x" + "33" * 20, False),
    ],
)
def test_an_account_is_lent_to_known_code_alone(
    chain_id: int, delegate: str, is_known: bool
) -> None:
    assert LENDING.authorization is not None
    authorization = replace(LENDING.authorization, chain_id=chain_id, delegate=delegate)
    lent = replace(LENDING, chain_id=chain_id, authorization=authorization)
    if is_known:
        assert sender_of(signer(chain_id).sign(lent).raw) == ADDRESS
        return
    with pytest.raises(WalletRefusedError, match="only to known code"):
        signer(chain_id).sign(lent)


def test_a_lending_that_another_key_signed_is_found_out(monkeypatch: pytest.MonkeyPatch) -> None:
    honestly = Account.sign_authorization
    monkeypatch.setattr(
        Account, "sign_authorization", lambda given, _: honestly(given, bytes([5]) * 32)
    )
    with pytest.raises(WalletError, match="not the transaction that was to be signed"):
        signer().sign(LENDING)


def test_bytes_that_cannot_be_read_back_are_dropped(monkeypatch: pytest.MonkeyPatch) -> None:
    honestly = Account.sign_transaction

    def endless(fields: Any, key: bytes) -> Any:
        return honestly(fields, key)._replace(r=-1)

    monkeypatch.setattr(Account, "sign_transaction", endless)
    with pytest.raises(WalletError, match=r"could not be read back \(OverflowError\)"):
        signer().sign(TRANSACTION)


ORDER_TERMS = CallTerms(
    BatchCall(
        DEVNET.contracts.position_manager,
        0,
        calldata.modify_liquidities(
            [
                calldata.Burn(7, 1, 2),
                calldata.TakePair("0x" + "00" * 20, "0x" + "66" * 20, ADDRESS),
            ],
            1_800_000_000,
        ),
    ),
    1,
    1_799_000_000,
    1_800_000_000,
    0,
)
ORDER = SignedDelegation("0x" + "77" * 20, ADDRESS, ROOT, caveats_of(ORDER_TERMS), 5)


@pytest.mark.parametrize("salt", [0, 1, 2, 3, 4, 5, 6, 2**256 - 1])
def test_an_order_is_signed_by_its_own_key_as_the_chain_reads_it(salt: int) -> None:
    order = ORDER._replace(salt=salt)

    signed = signer().sign_delegation(order)

    r, s, v = signed.signature[:32], signed.signature[32:64], signed.signature[64:]
    assert v in (b"\x1b", b"\x1c")
    assert signed._replace(signature=b"") == order
    found = recovered_address(
        order.digest(DEVNET.chain_id),
        parity=v[0] - 27,
        r=int.from_bytes(r, "big"),
        s=int.from_bytes(s, "big"),
    )
    assert found == ADDRESS


@pytest.mark.parametrize(
    ("odd", "said"),
    [
        ({"delegator": "0x" + "88" * 20}, "which is not the owner's wallet"),
        ({"delegate": "0x" + "77" * 19}, "lets one other key make one call"),
        ({"delegate": "0x" + "AA" * 20}, "lets one other key make one call"),
        ({"signature": b"\1"}, "lets one other key make one call"),
        ({"salt": -1}, "lets one other key make one call"),
        ({"salt": 2**256}, "lets one other key make one call"),
        ({"authority": bytes(32)}, "rests on another delegation"),
        ({"caveats": ()}, "cannot be read"),
    ],
)
def test_an_order_of_another_kind_is_not_signed(odd: dict[str, Any], said: str) -> None:
    with pytest.raises(WalletRefusedError, match=f"{said}.*Nothing was signed"):
        signer().sign_delegation(ORDER._replace(**odd))


def test_an_order_of_another_wallet_is_not_signed() -> None:
    """Whole in itself, and paid to its own owner: only the key is another's."""
    other = Signer(LocalKey(PrivateKey(bytes([5]) * 32)), DEVNET.chain_id)
    with pytest.raises(WalletRefusedError, match="lets one other key make one call"):
        other.sign_delegation(ORDER)


def test_an_order_that_a_library_signs_otherwise_is_dropped(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    honestly = Account.unsafe_sign_hash

    def mirrored(digest: bytes, key: bytes) -> object:
        found = honestly(digest, key)
        return found._replace(v=27 + 28 - found.v, s=CURVE_ORDER - found.s)

    for dishonest in (mirrored, lambda digest, _: honestly(digest, bytes([5]) * 32)):
        monkeypatch.setattr(Account, "unsafe_sign_hash", dishonest)
        with pytest.raises(WalletError, match="It was dropped"):
            signer().sign_delegation(ORDER)
