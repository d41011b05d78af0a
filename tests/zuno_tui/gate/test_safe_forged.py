"""Files of a Safe that were changed, and signatures that are not enough: nothing is executed."""

import json
import random
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from chain.contracts.abi import encode_call
from chain.contracts.safe import SafeTransaction
from chain.devnet.world.accounts import STRANGER, Account
from chain.safe.plans import SafePlan, plan_file, read_plan
from chain.wallet.local_key import LocalKey
from chain.wallet.secrets import PrivateKey
from chain.wallet.signer import Signer
from tests.printed import printed
from tests.zuno_tui.gate.desk import Desk
from tests.zuno_tui.gate.safes import OWNERS, SafeDesk
from zuno_tui.features.safe.signing import safe_data

THRESHOLD = 2


def signature(owner: Account, made: SafeTransaction) -> bytes:
    with Signer(LocalKey(PrivateKey(owner.key)), made.chain_id) as signer:
        return signer.sign_typed_data(safe_data(made))


class SafeStand:
    """A transaction of a 2-of-3 Safe that all three owners could sign."""

    def __init__(self, desk: Desk, tmp_path: Path) -> None:
        self.safe = SafeDesk.made(desk, [owner.address for owner in OWNERS[:3]], THRESHOLD)
        self.plan = self.safe.plan("collect", str(desk.token_id("healthy")))
        self.made = read_plan(self.safe.file(1).read_bytes(), "it").transaction
        self.signatures = {owner.address: signature(owner, self.made) for owner in OWNERS[:3]}
        self.folder = tmp_path

    def file(self, *owners: str) -> dict[str, Any]:
        chosen = {owner: self.signatures[owner] for owner in owners}
        found: dict[str, Any] = json.loads(plan_file(SafePlan(0, self.made, chosen)))
        return found

    def tried(self, document: dict[str, Any], case: int) -> tuple[bool, str]:
        """Imported and executed; whether anything happened, and what was said last."""
        desk, path = self.safe.desk, self.folder / f"case-{case}.json"
        path.write_text(json.dumps(document), "utf-8")
        for file in (desk.command.home / "safe").glob("*.json"):
            file.unlink()
        taken = desk.here("safe", "import", str(path), "--json")
        if taken.code:
            return self.safe.nonce > 0, taken.words
        words = desk.here("safe", "execute", "1", "--confirm", taken.data["safeTxHash"]).words
        return self.safe.nonce > 0, words


def _one_owner(chance: random.Random, file: dict[str, Any], _: SafeStand) -> None:
    file["signatures"] = [chance.choice(file["signatures"])]


def _twice(chance: random.Random, file: dict[str, Any], _: SafeStand) -> None:
    file["signatures"] = [chance.choice(file["signatures"])] * 2


def _stranger(chance: random.Random, file: dict[str, Any], stand: SafeStand) -> None:
    known = stand.signatures[OWNERS[0].address] if chance.random() < 0.5 else None
    made = signature(STRANGER, stand.made) if known is None else known
    file["signatures"][1] = {"owner": STRANGER.address, "signature": "0x" + made.hex()}


def _field(chance: random.Random, file: dict[str, Any], _: SafeStand) -> None:
    fields = file["transaction"]
    name = chance.choice(sorted(fields))
    text = fields[name]
    if text.startswith("0x"):
        at = chance.randrange(2, len(text)) if len(text) > 2 else 2
        fields[name] = text[:at] + chance.choice("0123456789abcdef") + text[at + 1 :]
    else:
        fields[name] = str(int(text) + chance.randrange(1, 4))
    if fields[name] == text:
        fields[name] = "0x" + "12" * ((len(text) - 2) // 2)


def _field_and_hashes(chance: random.Random, file: dict[str, Any], stand: SafeStand) -> None:
    """As somebody does who knows what he is about: only the signatures do not fit."""
    made = stand.made
    value, nonce = chance.choice(((1, 0), (0, 1), (0, 7)))
    other = SafeTransaction(
        made.chain_id, made.safe, made.to, value, made.data, made.operation, nonce
    )
    again = json.loads(plan_file(SafePlan(0, other, {})))
    again["signatures"] = file["signatures"]
    file.clear()
    file.update(again)


def _signature_byte(chance: random.Random, file: dict[str, Any], _: SafeStand) -> None:
    each = chance.choice(file["signatures"])
    raw = bytearray.fromhex(each["signature"][2:])
    raw[chance.randrange(len(raw))] ^= 1 << chance.randrange(8)
    each["signature"] = "0x" + raw.hex()


def _other_kind(chance: random.Random, file: dict[str, Any], _: SafeStand) -> None:
    """Kinds of signatures that a Safe may take, and that no key made."""
    each = file["signatures"][1]
    owner = each["owner"].removeprefix("0x").lower()
    each["signature"] = "0x" + owner.zfill(64) + "00" * 32 + chance.choice(("01", "00", "1f"))


def _swapped(_: random.Random, file: dict[str, Any], __: SafeStand) -> None:
    one, other = file["signatures"]
    one["signature"], other["signature"] = other["signature"], one["signature"]


CHANGES: dict[str, Any] = {
    "one owner of two": _one_owner,
    "one owner twice": _twice,
    "a stranger": _stranger,
    "a field": _field,
    "a field and its hashes": _field_and_hashes,
    "a byte of a signature": _signature_byte,
    "no key's signature": _other_kind,
    "signatures swapped": _swapped,
}


def _run(stand: SafeStand, cases: range) -> Counter[str]:
    told = Counter[str]()
    for case in cases:
        chance = random.Random(case)
        name = sorted(CHANGES)[case % len(CHANGES)]
        owners = chance.sample([owner.address for owner in OWNERS[:3]], 2)
        file = stand.file(*owners)
        CHANGES[name](chance, file, stand)
        happened, words = stand.tried(file, case)
        assert not happened, (name, case, words)
        assert words.strip(), (name, case)
        assert "Unexpected" not in words, (name, case, words)
        told[name] += 1
    return told


@pytest.fixture
def stand(desk: Desk, tmp_path: Path) -> SafeStand:
    return SafeStand(desk, tmp_path)


def test_what_enough_owners_did_not_sign_is_not_executed(stand: SafeStand) -> None:
    assert _run(stand, range(len(CHANGES))).total() == len(CHANGES)


def test_the_order_in_a_file_does_not_matter_and_an_owner_who_left_counts_no_more(
    stand: SafeStand,
) -> None:
    first, second, third = OWNERS[:3]
    file = stand.file(first.address, second.address)
    file["signatures"].reverse()
    desk = stand.safe.desk
    before = desk.ask("evm_snapshot")
    desk.ask("anvil_setBalance", stand.safe.address, hex(10**18))
    desk.ask("anvil_impersonateAccount", stand.safe.address)

    swap = encode_call(
        "swapOwner(address,address,address)",
        "0x" + "00" * 19 + "01",
        first.address,
        STRANGER.address,
    )
    call = {"from": stand.safe.address, "to": stand.safe.address, "data": "0x" + swap.hex()}
    desk.ask("eth_sendTransaction", call | {"gasPrice": hex(10**11)})
    desk.ask("evm_mine")
    happened, words = stand.tried(file, 1)
    assert (happened, "no owner" in words) == (False, True), words
    desk.ask("evm_revert", before)
    path = stand.folder / "good.json"
    path.write_text(json.dumps(file), "utf-8")
    taken = desk.here("safe", "import", str(path), "--json")
    assert taken.data["missing"] == 0
    assert third.address not in taken.data["signedBy"]
    done = stand.safe.executed(taken.data)
    assert (done.code, stand.safe.nonce) == (0, 1), done.words


@pytest.mark.soak
@pytest.mark.parametrize("part", range(10))
def test_five_hundred_forgeries(
    stand: SafeStand, part: int, capsys: pytest.CaptureFixture[str]
) -> None:
    told = _run(stand, range(part * 50, part * 50 + 50))
    with capsys.disabled():
        printed(f"{told.total()} forgeries ({part + 1} of 10), 0 executed: {dict(told)}")

    assert told.total() == 50
