"""Signing with a person's own key, from a keystore file and a real keyring, without a trace."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import httpx2
import pytest

from chain.contracts.abi import encode_call
from chain.contracts.networks import network_named
from chain.devnet.launch import DevnetReady
from chain.devnet.world.accounts import DEMO_WALLET
from chain.wallet.keystore_file import write_keystore
from chain.wallet.secrets import Passphrase, PrivateKey
from tests.chain.moves import Moves
from tests.chain.wallet.canary import ADDRESS, KEY, KEY_TEXT, PASSPHRASE, seen_in, seen_under
from tests.zuno_tui.conftest import CommandLine, Spoken
from tests.zuno_tui.desktop_session import desktop_session, require_gnome_keyring
from tests.zuno_tui.loud_python import loud_environment, seen_at_terminal
from tests.zuno_tui.terminal import Terminal

ETHER = 10**18
LOGIN = "login-passphrase"
TerminalRun = Callable[[Sequence[str], Mapping[str, str]], Terminal]


@pytest.fixture(scope="module")
def chain(chain: DevnetReady) -> Iterator[Moves]:
    with httpx2.Client(verify=False) as http:
        yield Moves(http, chain.url, network_named("devnet"))


@dataclass
class Person:
    """Somebody with the canary's key, a position and some ether for gas."""

    chain: Moves
    environment: Mapping[str, str]
    token_id: str
    seen: list[str]

    @property
    def flags(self) -> tuple[str, ...]:
        return ("--network", "devnet", "--rpc", self.chain.url)

    def approves(self) -> str:
        """A plan that asks for no key."""
        desk = CommandLine(Path(self.environment["ZUNO_HOME"]))
        runtime = "XDG_RUNTIME_DIR"
        here = {runtime: self.environment[runtime]} if runtime in self.environment else {}
        spoken = desk("collect", self.token_id, "--json", *self.flags, **here)
        return str(spoken.data["planId"])

    def brings(self, *arguments: str, answers: tuple[tuple[str, str], ...]) -> Spoken:
        """A key to keep, which `test_wallet_keyring` tries in an interpreter of its own."""
        return self._types(Terminal.run, *arguments, answers=answers)

    def types(self, *arguments: str, answers: tuple[tuple[str, str], ...] = ()) -> Spoken:
        return self._types(Terminal.run_afresh, *arguments, answers=answers)

    def _types(
        self, run: TerminalRun, *arguments: str, answers: tuple[tuple[str, str], ...]
    ) -> Spoken:
        terminal = run((*arguments, *self.flags), self.environment)
        for question, typed in answers:
            terminal.answer(question, typed)
        code, out, words = terminal.end()
        self.seen += seen_at_terminal(terminal, out, words)
        return Spoken(code, out, words)

    def nonce(self) -> int:
        return int(self.chain.rpc("eth_getTransactionCount", ADDRESS, "latest"), 16)

    def owner(self) -> str:
        manager = self.chain.network.contracts.position_manager
        data = "0x" + encode_call("ownerOf(uint256)", int(self.token_id)).hex()
        word: str = self.chain.rpc("eth_call", {"to": manager, "data": data}, "latest")
        return "0x" + word[-40:]


@pytest.fixture
def person(chain: Moves, tmp_path: Path) -> Iterator[Person]:
    with chain.undone():
        token_id = int(chain.rpc("zuno_status")["positions"]["transferred in"])
        given = encode_call(
            "transferFrom(address,address,uint256)", DEMO_WALLET.address, ADDRESS, token_id
        )
        chain.send(DEMO_WALLET, chain.network.contracts.position_manager, given)
        chain.rpc("anvil_setBalance", ADDRESS, hex(ETHER))
        yield Person(chain, loud_environment(tmp_path), str(token_id), [])


def test_a_persons_own_keystore_signs_after_its_passphrase(person: Person, tmp_path: Path) -> None:
    person.environment = {
        **person.environment,
        "DBUS_SESSION_BUS_ADDRESS": "unix:path=/nonexistent",
    }
    brought = tmp_path / "brought.json"
    write_keystore(brought, PrivateKey(KEY), Passphrase.from_text(PASSPHRASE), cost=2**12)
    opening = ("Passphrase of wallet-1: ", PASSPHRASE)
    typed = ("Type apply", "apply")

    kept = person.brings(
        *("wallet", "import", "--keystore", str(brought), "--json"),
        answers=(("Passphrase of brought.json: ", PASSPHRASE),),
    )
    plan = person.approves()
    crashing = dict(person.environment)
    person.environment = {**crashing, "CRASH_AT": "eth_account.account.sign_transaction_dict"}
    crashed = person.types("apply", plan, answers=(typed, opening))
    person.environment = crashing
    between = person.nonce()
    person.chain.rpc("evm_mine")
    again = person.approves()
    applied = person.types("apply", again, "--json", answers=(typed, opening))

    assert kept.data["store"] == "keystore file", kept.words
    assert person.owner() == ADDRESS
    assert crashed.code == 1
    assert "could not be signed" in crashed.words
    assert between == 0
    assert applied.code == 0, applied.words
    assert applied.data["state"] == "included"
    assert person.nonce() == 1
    assert person.seen == []
    assert (tmp_path / "loud.log").stat().st_size > 0
    assert seen_under(tmp_path) == []


def test_a_real_keyring_signs_while_it_is_unlocked(person: Person, tmp_path: Path) -> None:
    require_gnome_keyring()
    typed = ("Type apply", "apply")
    loud = person.environment
    with desktop_session(tmp_path, unlock=LOGIN) as session:
        person.environment = {**loud, **_bus(session.environment)}
        kept = person.brings("wallet", "import", "--json", answers=(("(not shown): ", KEY_TEXT),))
        plan = person.approves()
    with desktop_session(tmp_path, unlock=None) as session:
        person.environment = {**loud, **_bus(session.environment)}
        locked = person.types("apply", plan, answers=(typed,))
        before = person.nonce()
    with desktop_session(tmp_path, unlock=LOGIN) as session:
        person.environment = {**loud, **_bus(session.environment)}
        applied = person.types("apply", plan, "--json", answers=(typed,))

    assert kept.data["store"] == "keyring", kept.words
    assert locked.code == 1
    assert "Secret Service is locked" in locked.words
    assert before == 0
    assert applied.code == 0, applied.words
    assert applied.data["state"] == "included"
    assert person.nonce() == 1
    assert person.seen == []
    assert seen_under(tmp_path) == []


def _bus(environment: Mapping[str, str]) -> dict[str, str]:
    """Where the desktop's keyring is found, and nothing else of its session."""
    return {name: environment[name] for name in ("DBUS_SESSION_BUS_ADDRESS", "XDG_RUNTIME_DIR")}


def test_the_search_at_a_terminal_would_find_a_key() -> None:
    assert seen_in(f"... {KEY_TEXT} ...") == ["the key in hex"]
