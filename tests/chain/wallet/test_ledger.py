"""A Ledger signs what is asked and shown, over its own bytes; anything else is refused in words."""

import json
import random
import sys
from collections.abc import Callable, Iterator
from contextlib import closing, suppress
from pathlib import Path

import pytest
from msgspec.structs import replace

from chain.contracts.addresses import keccak, recovered_address
from chain.contracts.networks import network_named
from chain.execution.transaction import Authorization, UnsignedTransaction
from chain.wallet.devices import Devices
from chain.wallet.errors import WalletError, WalletRefusedError
from chain.wallet.key_holder import TypedData, authorization_digest, unsigned_bytes
from chain.wallet.ledger import app
from chain.wallet.ledger.key import LedgerKey
from chain.wallet.ledger.transport import from_usb_packets, open_transport, usb_packets
from chain.wallet.signer import Signer
from tests.fakes.ledger import SIMPLE_ACCOUNT, LedgerDouble

RECORDED = [
    json.loads(line)
    for line in (Path(__file__).parent / "ledger_apdus.jsonl").read_text().splitlines()
]
PATH = "44'/60'/0'/0/0"
BASE = network_named("base")


@pytest.fixture
def ledger() -> Iterator[LedgerDouble]:
    with LedgerDouble() as double:
        yield double


def key_on(ledger: LedgerDouble, asking: Callable[[str], None] = lambda _: None) -> LedgerKey:
    return LedgerKey(ledger.address_at(PATH), PATH, lambda: open_transport(ledger.place), asking)


def signer_on(ledger: LedgerDouble) -> Signer:
    return Signer(key_on(ledger), BASE.chain_id)


def transaction(ledger: LedgerDouble, data: bytes = b"\x01", nonce: int = 6) -> UnsignedTransaction:
    return UnsignedTransaction(
        chain_id=BASE.chain_id,
        sender=ledger.address_at(PATH),
        to=BASE.contracts.position_manager,
        value=0,
        data=data,
        gas=400_000,
        max_fee_per_gas=10**9,
        max_priority_fee_per_gas=10_000_000,
        nonce=nonce,
        step="exit",
    )


def test_the_double_answers_as_the_app_was_recorded() -> None:
    double = LedgerDouble()
    for exchange in RECORDED:
        if "request" not in exchange:
            continue
        name = exchange["exchange"]
        double.blind_signing = not ("blind signing off" in name or name == "configuration")
        double.rejects = "rejected" in name
        double.smart_accounts = "setting off" not in name
        answer, status = double.answer(bytes.fromhex(exchange["request"]))
        assert (answer.hex(), f"{status:04x}") == (exchange["answer"], exchange["status"]), name


def recorded(name: str) -> list[bytes]:
    """The commands of an exchange, in their order."""
    each = [one for one in RECORDED if one["exchange"].startswith(name) and "request" in one]
    return [bytes.fromhex(one["request"]) for one in each]


@pytest.mark.parametrize("kind", ["transaction of type 2, signed", "transaction of type 4"])
def test_a_transaction_is_sent_in_the_recorded_parts(ledger: LedgerDouble, kind: str) -> None:
    commands = recorded(kind)
    unsigned = b"".join(command[5:] for command in commands)[21:]
    with closing(open_transport(ledger.place)) as transport:
        app.sign_transaction(transport, PATH, unsigned)
    assert ledger.commands == commands


def test_other_questions_are_the_recorded_bytes(ledger: LedgerDouble) -> None:
    with closing(open_transport(ledger.place)) as transport:
        app.facts(transport)
        app.address_at(transport, PATH)
        app.address_at(transport, "44'/60'/1'/0/0")
        typed = TypedData(keccak(b"domain"), keccak(b"message"), {})
        app.sign_typed(transport, PATH, typed)
        for delegate, nonce in ((f"0x{SIMPLE_ACCOUNT}", 6), ("0x" + "00" * 20, 7)):
            app.sign_authorization(transport, PATH, Authorization(8453, delegate, nonce))
    assert ledger.commands == [
        *recorded("configuration")[:1],
        *recorded("address"),
        *recorded("typed data"),
        recorded("authorization to Simple7702Account, signed")[0],
        recorded("authorization to the zero address")[0],
    ]


@pytest.mark.parametrize("size", [0, 1, 200, 233, 234, 235, 255, 256, 700, 5_000])
def test_a_transaction_of_any_length_is_signed_and_its_hash_shown(
    ledger: LedgerDouble, size: int
) -> None:
    asked: list[str] = []
    wanted = transaction(ledger, bytes(range(256)) * (size // 256) + bytes(size % 256))
    with Signer(key_on(ledger, asked.append), BASE.chain_id) as signer:
        signed = signer.sign(wanted)
    shown = f"0x{keccak(unsigned_bytes(wanted)).hex()}"
    assert signed.hash == f"0x{keccak(signed.raw).hex()}"
    assert ledger.shown == [f"Transaction hash {shown}"]
    assert asked[-1].endswith(shown)


def test_an_authorization_and_the_transaction_that_carries_it(ledger: LedgerDouble) -> None:
    """One after the other; the second signature is over the first."""
    own = ledger.address_at(PATH)
    given = Authorization(BASE.chain_id, "0x" + "00" * 20, 7)
    lent = replace(transaction(ledger, b""), to=own, authorization=given)
    with signer_on(ledger) as signer:
        raw = signer.sign(lent).raw
    assert raw[0] == 4
    assert [line.split()[0] for line in ledger.shown] == ["Delegate", "Transaction"]


def test_the_delegator_of_orders_is_refused_with_its_reason(ledger: LedgerDouble) -> None:
    assert BASE.contracts.delegate is not None
    with pytest.raises(WalletRefusedError, match=r"not on its list. Nothing was signed"):
        key_on(ledger).sign_authorization(Authorization(8453, BASE.contracts.delegate, 7))


FAULTS: dict[str, tuple[dict[str, object], str]] = {
    "locked": ({"locked": True}, "is locked.*Unlock it"),
    "another app": ({"app_open": False}, "Open its Ethereum app"),
    "blind signing off": ({"blind_signing": False}, "Switch on blind signing"),
    "rejected": ({"rejects": True}, "rejected on the Ledger. Nothing was signed"),
    "too old": ({"version": (1, 2, 13)}, "too old.*Update it"),
    "another phrase": (
        {"phrase": "legal winner thank year wave sausage worth useful legal winner thank yellow"},
        "another device, or holds another phrase",
    ),
    "pulled out at once": ({"gone_at": 0}, "went away.*Plug it in"),
    "pulled out at its address": ({"gone_at": 1}, "went away"),
    "pulled out while signing": ({"gone_at": 2}, "went away.*Nothing was signed"),
    "pulled out between two parts": ({"gone_at": 3}, "went away.*Nothing was signed"),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_each_fault_is_a_sentence_and_the_next_try_works(ledger: LedgerDouble, fault: str) -> None:
    changes, words = FAULTS[fault]
    holder, wanted = key_on(ledger), transaction(ledger, bytes(600))
    before = ledger.become(changes)
    with pytest.raises(WalletError, match=words), Signer(holder, BASE.chain_id) as signer:
        signer.sign(wanted)
    ledger.become(before)
    with Signer(holder, BASE.chain_id) as signer:
        assert signer.sign(wanted).raw


def test_nothing_listens_there() -> None:
    devices = Devices("tcp://127.0.0.1:1")
    with pytest.raises(WalletError, match=r"Nothing listens on 127\.0\.0\.1:1"):
        open_transport(devices.ledger)


@pytest.mark.parametrize("place", ["tcp://192.168.1.4:9999", "http://127.0.0.1:1", "tcp://x"])
def test_a_ledger_is_on_this_machine(place: str) -> None:
    with pytest.raises(WalletError, match=r"this machine|usb"):
        open_transport(place)


def flipped(at: int, bits: int) -> Callable[[bytes], bytes]:
    return lambda answer: answer[:at] + bytes([answer[at] ^ bits]) + answer[at + 1 :]


@pytest.mark.parametrize("at", range(0, 65, 4))
def test_a_signature_with_one_changed_byte_is_dropped(ledger: LedgerDouble, at: int) -> None:
    ledger.spoil = flipped(at, 1)
    with pytest.raises(WalletError, match="dropped"), signer_on(ledger) as signer:
        signer.sign(transaction(ledger))


@pytest.mark.parametrize("spoilt", [b"", b"\x00", bytes(64), bytes(66), b"\x07" + bytes(64)])
def test_an_answer_that_is_no_signature_is_dropped(ledger: LedgerDouble, spoilt: bytes) -> None:
    ledger.spoil = lambda _: spoilt
    with pytest.raises(WalletError, match="dropped"), signer_on(ledger) as signer:
        signer.sign(transaction(ledger))


@pytest.mark.parametrize("size", [0, 1, 56, 57, 58, 59, 60, 300, 260])
def test_usb_packets_carry_a_command_whole(size: int) -> None:
    command = bytes(each % 251 for each in range(size + 2))
    packets = list(usb_packets(command))
    assert {len(packet) for packet in packets} == {64}
    assert packets[0][:7] == bytes.fromhex("0101050000") + len(command).to_bytes(2, "big")
    assert from_usb_packets(iter([b"\x02" * 64, *packets])) == command
    with pytest.raises(OSError, match=r"missing|early"):
        from_usb_packets(iter(packets[1:]))


@pytest.mark.soak
def test_a_thousand_signatures_are_recovered_and_every_changed_byte_refused(
    ledger: LedgerDouble,
) -> None:
    draws = random.Random(49)
    own, holder = ledger.address_at(PATH), key_on(ledger)
    for number in range(1_000):
        data = draws.randbytes(draws.randrange(1, 1_500))
        wanted = replace(transaction(ledger, data, number), value=draws.getrandbits(80))
        with Signer(holder, BASE.chain_id) as signer:
            signer.sign(wanted)
        typed = TypedData(draws.randbytes(32), draws.randbytes(32), {})
        given = Authorization(8453, f"0x{draws.choice((SIMPLE_ACCOUNT, '00' * 20))}", number)
        for point, of in (
            (holder.sign_typed_data(typed), typed.digest),
            (holder.sign_authorization(given), authorization_digest(given)),
        ):
            assert recovered_address(of, parity=point.parity, r=point.r, s=point.s) == own
        at = number % 65
        ledger.spoil = flipped(at, 1 << draws.randrange(8))
        with suppress(WalletError), Signer(holder, BASE.chain_id) as signer:
            signer.sign(wanted)
            pytest.fail(f"signed with byte {at} changed")
        ledger.spoil = bytes
    sys.stdout.write(
        "1,000 transactions, 2,000 other signatures recovered; 1,000 changed refused\n"
    )
