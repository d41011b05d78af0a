"""A key on a Ledger or with another program: the word first, then whoever holds it is asked."""

import json
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import pytest

from chain.contracts.addresses import checksum
from chain.contracts.delegation import SIMPLE_ACCOUNT
from chain.devnet.anvil import running_anvil
from tests import node_rpc
from tests.fakes.ledger import LedgerDouble
from tests.fakes.proxy import Answer, Call, Proxy
from tests.zuno_tui.conftest import Spoken
from tests.zuno_tui.gate.desk import REFUSED, Desk

FAILED = 1
PATH = "44'/60'/0'/0/0"
OWN = "0xf39fd6e51aad88f6f4ce6ab8827279cfffb92266"
"""The first account of the phrase that the double and Anvil hold."""


def settings(desk: Desk, line: str) -> None:
    file = desk.command.home / "settings.toml"
    file.write_text(f'address = "{OWN}"\n[wallet]\n{line}\n', "utf-8")
    file.chmod(0o600)


def given_a_position(desk: Desk) -> str:
    """One of the demo wallet's is sent to the account, with coin for gas."""
    token_id = desk.token_id("healthy")
    manager = desk.devnet.contracts.position_manager
    desk.ask("anvil_setBalance", OWN, hex(10**18))
    desk.ask("anvil_impersonateAccount", desk.devnet.wallet)
    words = f"{int(desk.devnet.wallet, 16):064x}{int(OWN, 16):064x}{token_id:064x}"
    data = {"from": desk.devnet.wallet, "to": manager, "data": f"0x23b872dd{words}"}
    desk.ask("eth_sendTransaction", data)
    desk.ask("evm_mine")
    return str(token_id)


@pytest.fixture
def ledger(desk: Desk) -> Iterator[LedgerDouble]:
    with LedgerDouble() as double:
        settings(desk, f'ledger = "{double.place}"')
        assert desk.here("wallet", "ledger", PATH, "--name", "stick").code == 0
        yield double


def sent(desk: Desk) -> int:
    return int(desk.ask("eth_getTransactionCount", OWN, "latest"), 16)


def applied(desk: Desk, approval: dict[str, Any]) -> Spoken:
    return desk.apply(approval["planId"], "--confirm", approval["hash"])


def test_accounts_are_listed_by_three_schemes_and_one_is_kept(
    desk: Desk, ledger: LedgerDouble
) -> None:
    listed = desk.here("wallet", "ledger", "--json").data
    bip44 = desk.here("wallet", "ledger", "--scheme", "bip44", "--page", "2", "--json").data
    kept = json.loads((desk.command.home / "keystore" / "wallets.json").read_text("utf-8"))

    assert len(listed["accounts"]) == 15
    assert {each["address"] for each in listed["accounts"] if each["path"] == PATH} == {OWN}
    assert [each["path"][-1] for each in bip44["accounts"]] == list("56789")
    [wallet] = kept["wallets"]
    assert wallet == {"address": OWN, "name": "stick", "store": "Ledger", "path": PATH}
    assert "stick is unlocked" in desk.here("wallet", "check", "stick").words
    assert ledger.shown == []


def test_a_plan_is_confirmed_on_the_ledger_by_the_hash_that_the_page_shows(
    desk: Desk, ledger: LedgerDouble
) -> None:
    token_id = given_a_position(desk)
    approval = desk.approved("collect", token_id)
    page = desk.here("apply", approval["planId"])
    assert page.code == REFUSED
    assert ledger.shown == []
    done = applied(desk, approval)

    [shown] = [line for line in ledger.shown if line.startswith("Transaction hash ")]
    assert done.code == 0, done.words
    assert sent(desk) == 1
    assert shown.removeprefix("Transaction hash ") in page.words
    assert shown.removeprefix("Transaction hash ") in done.words
    assert "on the Ledger at 44'/60'/0'/0/0" in page.words


def test_a_rejection_loses_nothing_and_the_approval_still_counts(
    desk: Desk, ledger: LedgerDouble
) -> None:
    desk.ask("anvil_setBalance", OWN, hex(10**18))
    approval = desk.approved("wrap", "0.04")
    ledger.rejects = True
    rejected = applied(desk, approval)
    ledger.rejects, ledger.gone_at = False, len(ledger.commands) + 2
    pulled_out = applied(desk, approval)
    ledger.gone_at = None
    done = applied(desk, approval)
    again = applied(desk, approval)

    assert (rejected.code, "It was rejected on the Ledger" in rejected.words) == (REFUSED, True)
    assert (pulled_out.code, "The Ledger went away" in pulled_out.words) == (FAILED, True)
    assert (done.code, sent(desk)) == (0, 1), done.words
    assert again.code == REFUSED


def test_an_order_is_refused_before_the_device_is_asked(desk: Desk, ledger: LedgerDouble) -> None:
    token_id = given_a_position(desk)
    before = len(ledger.commands)
    order = desk.here("order", "close", token_id, "below", "2000")
    assert order.code == REFUSED
    assert "A Ledger does not delegate to the code that orders need" in order.words
    assert len(ledger.commands) == before


def test_a_ledger_delegates_to_the_simple_account_and_sends_plans_as_one(
    desk: Desk, ledger: LedgerDouble
) -> None:
    token_id = given_a_position(desk)
    simple = SIMPLE_ACCOUNT.address
    lending = desk.approved("wallet", "delegate")
    lent = applied(desk, lending)
    code = desk.ask("eth_getCode", OWN, "latest")
    wrapped = applied(desk, desk.approved("wrap", "0.04"))
    approval = desk.approved("swap", "0.04", "WETH", "USDC")
    done = applied(desk, approval)
    order = desk.here("order", "close", token_id, "below", "2000")
    taken = applied(desk, desk.approved("wallet", "undelegate"))

    assert (lent.code, code) == (0, f"0xef0100{simple[2:]}"), lent.words
    assert f"Delegate to {simple}" in ledger.shown
    assert "Standing orders do not work" in lent.words, lent.words
    assert (wrapped.code, done.code) == (0, 0), done.words
    assert [step["step"] for step in approval["transactions"]] == ["batch"]
    assert (order.code, taken.code) == (REFUSED, 0), taken.words
    assert desk.ask("eth_getCode", OWN, "latest") == "0x"
    # Each delegation raises it by one more than its transaction.
    assert sent(desk) == 6


@pytest.mark.parametrize("off", ["smart_accounts", "blind_signing", "app_open"])
def test_a_ledger_that_cannot_delegate_says_what_to_switch_on(
    desk: Desk, ledger: LedgerDouble, off: str
) -> None:
    desk.ask("anvil_setBalance", OWN, hex(10**18))
    approval = desk.approved("wallet", "delegate")
    before = ledger.become({off: False})
    refused = applied(desk, approval)
    ledger.become(before)
    done = applied(desk, approval)

    words = {
        "smart_accounts": "Smart account upgrade",
        "blind_signing": "Switch on blind signing",
        "app_open": "Open its Ethereum app",
    }
    assert (refused.code, words[off] in refused.words) == (REFUSED, True), refused.words
    assert (done.code, sent(desk)) == (0, 2), done.words


def test_what_a_ledger_does_not_carry_another_wallet_sends(
    desk: Desk, ledger: LedgerDouble
) -> None:
    """The Ledger lends its account; the demo's wallet sends that, pays, and is lent to nobody."""
    ledger.carries = False
    payer, simple = desk.devnet.wallet, SIMPLE_ACCOUNT.address
    desk.ask("anvil_setBalance", OWN, hex(10**18))
    refused = applied(desk, desk.approved("wallet", "delegate"))
    assert (refused.code, sent(desk)) == (REFUSED, 0), refused.words
    assert "--for" in refused.words

    paid = int(desk.ask("eth_getBalance", payer, "latest"), 16)
    lending = desk.approved("--address", payer, "wallet", "delegate", "--for", "stick")
    page = desk.here("--address", payer, "apply", lending["planId"])
    done = desk.apply(lending["planId"], "--confirm", lending["hash"], "--address", payer)
    assert done.code == 0, done.words
    assert f"run as {checksum(OWN)}" in page.words
    assert desk.ask("eth_getCode", OWN, "latest") == f"0xef0100{simple[2:]}"
    assert desk.ask("eth_getCode", payer, "latest") == "0x"
    assert int(desk.ask("eth_getBalance", OWN, "latest"), 16) == 10**18
    assert int(desk.ask("eth_getBalance", payer, "latest"), 16) < paid
    assert sent(desk) == 1  # the authorization's own

    again = desk.here("--address", payer, "wallet", "delegate", "--for", "stick")
    taken = desk.approved("--address", payer, "wallet", "undelegate", "--for", OWN)
    back = desk.apply(taken["planId"], "--confirm", taken["hash"], "--address", payer)
    assert (again.code, back.code) == (REFUSED, 0), back.words
    assert desk.ask("eth_getCode", OWN, "latest") == "0x"


def test_an_account_that_moved_on_since_is_not_lent_by_another(
    desk: Desk, ledger: LedgerDouble
) -> None:
    payer = desk.devnet.wallet
    lending = desk.approved("--address", payer, "wallet", "delegate", "--for", "stick")
    desk.ask("anvil_setNonce", OWN, "0x5")
    desk.ask("evm_mine")
    moved = desk.apply(lending["planId"], "--confirm", lending["hash"], "--address", payer)
    itself = desk.here("wallet", "delegate", "--for", "stick")

    assert (moved.code, "account that is lent" in moved.words) == (REFUSED, True), moved.words
    assert (itself.code, "Leave out --for" in itself.words) == (REFUSED, True), itself.words
    assert ledger.shown == []


@pytest.mark.usefixtures("ledger")
def test_a_delegation_that_came_too_late_is_not_called_done(desk: Desk) -> None:
    """The transaction succeeds all the same: only the account's code tells."""

    def moves_on(call: Call) -> Answer | None:
        if call["method"] == "eth_sendRawTransaction":
            desk.ask("anvil_setNonce", OWN, "0x5")
        return None

    payer = desk.devnet.wallet
    lending = desk.approved("--address", payer, "wallet", "delegate", "--for", "stick")
    with Proxy(desk.devnet.url, moves_on) as proxy:
        words = (lending["planId"], "--confirm", lending["hash"], "--address", payer)
        done = replace(desk, rpc=proxy.url).apply(*words)

    assert desk.ask("eth_getCode", OWN, "latest") == "0x"
    assert done.code != 0, done.words
    assert "unclear" in done.words.lower() + done.out.lower(), done.words


@pytest.fixture
def signing_node() -> Iterator[str]:
    """Anvil with unlocked accounts, which signs for whoever asks; the demo's chain is another."""
    with running_anvil(("--chain-id", "31337")) as node:
        yield node.url


def test_a_program_signs_over_json_rpc_and_zuno_sends(desk: Desk, signing_node: str) -> None:
    settings(desk, f'signer = "{signing_node}"')
    listed = desk.here("wallet", "signer", "--json").data
    assert OWN in listed["accounts"]
    assert desk.here("wallet", "signer", OWN).code == 0
    token_id = given_a_position(desk)
    done = applied(desk, desk.approved("collect", token_id))
    assert (done.code, sent(desk)) == (0, 1), done.words


def _changed(field: str, value: object) -> Callable[[Call], Call]:
    return lambda call: {**call, "params": [{**call["params"][0], field: value}]}


LIES: dict[str, tuple[Callable[[Call], Call], str]] = {
    "another value": (_changed("value", "0x1"), "another value"),
    "another recipient": (_changed("to", "0x" + "22" * 20), "another recipient"),
    "another nonce": (_changed("nonce", "0x9"), "another nonce"),
    "another gas limit": (_changed("gas", "0xffff0"), "another gas limit"),
    "another fee": (_changed("maxFeePerGas", "0xffffffffff"), "another fee"),
    "other data": (_changed("data", "0x01"), "another data"),
    "no data": (
        lambda call: {
            **call,
            "params": [{key: each for key, each in call["params"][0].items() if key != "data"}],
        },
        "another data",
    ),
    "an access list": (
        _changed("accessList", [{"address": "0x" + "22" * 20, "storageKeys": []}]),
        "another list",
    ),
}


NO_SIGNATURE: list[tuple[Answer, str]] = [
    ({"error": {"code": -32601, "message": "no such method"}}, "This wallet only sends"),
    ({"error": {"code": 4001, "message": "User \x1b[31mrejected"}}, "The wallet refused: User"),
    ({"result": "0x02c0"}, "another kind of transaction"),
    ({"result": "0x"}, "another kind of transaction"),
    ({"result": None}, "holds no bytes"),
    ({"status": 0}, "did not answer"),
]


def test_what_another_program_signs_otherwise_or_not_at_all_is_refused_and_not_kept(
    desk: Desk, signing_node: str
) -> None:
    """The plan stays approved, and an honest program then signs it."""
    desk.ask("anvil_setBalance", OWN, hex(10**18))
    settings(desk, f'signer = "{signing_node}"')
    assert desk.here("wallet", "signer", OWN).code == 0
    approval = desk.approved("wrap", "0.04")

    def signs(change: Callable[[Call], Call]) -> Callable[[Call], Answer]:
        return lambda call: {"result": node_ask(signing_node, change(call))}

    def answers(answer: Answer) -> Callable[[Call], Answer]:
        return lambda _call: answer

    cases = [(signs(change), words) for change, words in LIES.values()]
    cases += [(answers(answer), words) for answer, words in NO_SIGNATURE]
    for answer, words in cases:
        refused_by(desk, signing_node, approval, answer, words)
    settings(desk, f'signer = "{signing_node}"')
    done = applied(desk, approval)

    assert (done.code, sent(desk)) == (0, 1), done.words


def refused_by(
    desk: Desk,
    node: str,
    approval: dict[str, Any],
    answer: Callable[[Call], Answer],
    words: str,
) -> None:
    def signing(call: Call) -> Answer | None:
        return answer(call) if call["method"] == "eth_signTransaction" else None

    with Proxy(node, signing) as liar:
        settings(desk, f'signer = "{liar.url}"')
        refused = applied(desk, approval)
    [dispatch] = desk.here("outbox", "--json").data["dispatches"]

    assert refused.code in (REFUSED, FAILED)
    assert words in refused.words
    assert "\x1b" not in refused.words
    assert [step["hash"] for step in dispatch["steps"]] == [None]


def node_ask(url: str, call: Call) -> Any:
    return node_rpc.ask(url, call["method"], *call["params"])


@pytest.mark.parametrize(
    ("place", "words"),
    [
        ("http://10.0.0.9:8550", "another machine"),
        ("https://signer.example", "another machine"),
        ("http://127.0.0.1:1", "did not answer"),
        ("unix:/nowhere/signer.sock", "did not answer"),
    ],
)
def test_where_a_program_may_be(desk: Desk, place: str, words: str) -> None:
    settings(desk, f'signer = "{place}"')
    refused = desk.here("wallet", "signer")
    assert refused.code != 0
    assert words in refused.words
