"""Edited files of orders on the real contracts: nothing fires that was not signed, none ends so."""

from __future__ import annotations

import asyncio
import json
import os
import random
import shutil
import time
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace as with_fields

from agents.monitor.alerts.alert import Severity
from agents.monitor.heartbeat import Note
from chain.base.home import Home
from chain.contracts.networks import network_named
from chain.devnet.world.accounts import WATCH_KEY
from chain.standing_orders.book import StandingOrders, order_file
from chain.standing_orders.call import read_call
from chain.standing_orders.order import FeesOver, StandingState, delegation_text
from chain.standing_orders.seal import salt_of
from chain.wallet.demo import demo_key
from chain.wallet.keystore import StoreChoice
from chain.wallet.local_key import LocalKey
from chain.wallet.secrets import Passphrase
from chain.wallet.signer import Signer
from chain.wallet.watch_key import PASSPHRASE_FILE, make_watch_key
from tests.embedded_chain import embedded_chain
from tests.printed import printed
from tests.zuno_tui.conftest import CommandLine
from tests.zuno_tui.gate.desk import Desk
from tests.zuno_tui.gate.test_one_transaction import signed
from tests.zuno_tui.gate.test_standing_orders import STATE, Watching, level, ordered, push, stopped
from zuno_tui.app.session import SettingsSource
from zuno_tui.features.orders.keeper import OrderKeeper
from zuno_tui.features.orders.news import order_news
from zuno_tui.settings import Flags

NETWORK = network_named("devnet")
SOON = {"when": "fees", "microUsd": 0, "everySeconds": 0}
"""What is so at once, whatever it was before."""


def _folder(desk: Desk) -> Path:
    return Home.locate(os.environ, desk.command.home).orders


def _edit(path: Path, **fields: Any) -> None:
    document = json.loads(path.read_text())
    path.write_text(json.dumps({**document, **fields}))


def _key_nonce(desk: Desk) -> int:
    return int(desk.ask("eth_getTransactionCount", WATCH_KEY.address, "latest"), 16)


def _criticals(desk: Desk) -> str:
    home = Home.locate(os.environ, desk.command.home)
    news = order_news(home, NETWORK, time.time())
    return " ".join(
        one.finding.message for one in news if one.finding.severity is Severity.CRITICAL
    )


EDITS: list[dict[str, Any]] = [
    {"condition": SOON, "holdSeconds": 0},
    {"condition": {"when": "loss", "bips": 0}},
    {"version": 1, "secret": "", "condition": {"when": "out of range", "seconds": 0}},
    {"holdSeconds": 0},
    {"hookCode": "0x" + "ab" * 32},
    {"liquidity": "1"},
    {"pair": ["USDC", "WETH"]},
    {"decimals": [6, 18]},
    {"inverted": True},
    {"secret": "00" * 16},
]


def test_a_condition_that_was_not_signed_stops_the_order_and_says_how_to_sign_anew(
    delegated: Desk, tmp_path: Path
) -> None:
    desk, token_id = delegated, str(delegated.token_id(STATE))
    ordered(desk, "close", token_id, "loss-over", "90%")
    file = tmp_path / "order.json"
    assert desk.here("order", "export", "1", str(file)).code == 0
    other = replace(desk, command=CommandLine(tmp_path / "server"))
    other.command.home.mkdir(mode=0o700)
    home = Home.locate(os.environ, desk.command.home)
    shutil.copytree(home.root, tmp_path / "signed")
    signed = file.read_text()
    for edit in EDITS:
        shutil.rmtree(home.root)
        shutil.copytree(tmp_path / "signed", home.root)
        file.write_text(signed)
        watching = Watching(desk)
        for path in (file, _folder(desk) / "1.json"):
            _edit(path, **edit)
        for _ in range(3):
            watching.look(blocks=12)
        taken = other.here("order", "import", str(file))

        assert watching.order().progress.state is StandingState.WAITING, edit
        assert f"zuno order close {token_id} WHEN" in _criticals(desk), edit
        assert taken.code != 0, (edit, taken.words)
    assert desk.owns(token_id)
    assert _key_nonce(desk) == 0


def test_a_pair_that_no_command_makes_is_no_order_even_where_it_is_sealed(
    delegated: Desk, tmp_path: Path
) -> None:
    desk = delegated
    ordered(desk, "close", str(desk.token_id(STATE)), "loss-over", "90%")
    home, watching = Home.locate(os.environ, desk.command.home), Watching(desk)
    odd = with_fields(watching.order().order, condition=FeesOver(0, 0), hold_seconds=0)
    salt = salt_of(odd, read_call(odd.delegation_signed, NETWORK))
    with Signer(LocalKey(demo_key(home.cache)), odd.chain_id) as signer:
        sealed = signer.sign_delegation(odd.delegation_signed._replace(salt=salt, signature=b""))
    odd = with_fields(odd, delegation=delegation_text(sealed))
    file = tmp_path / "odd.json"
    file.write_bytes(order_file(odd))
    taken = desk.here("order", "import", str(file))
    number = watching.book.add(odd).number
    for _ in range(3):
        watching.look(blocks=12)

    assert taken.code != 0
    assert "No command makes such an order" in taken.words
    assert _key_nonce(desk) == 0
    assert f"Order {number} cannot be carried out" in _criticals(desk)


def test_a_price_order_without_a_seal_acts_at_the_level_its_minimum_binds(delegated: Desk) -> None:
    desk, token_id = delegated, str(delegated.token_id(STATE))
    stopped(desk)
    watching = Watching(desk)
    order = watching.order().order
    # As a file of version 1, and one that claims a level which the price has passed.
    now = str(desk.price(desk.pool_id(STATE)) * 2)
    forged = {"when": "price", "sqrtPrice": now, "falls": True, "words": "below 9,999 X per Y"}
    document = json.loads((_folder(desk) / "1.json").read_text())
    older = {key: document[key] for key in document if key not in ("decimals", "inverted")}
    older |= {"version": 1, "secret": "", "condition": forged, "holdSeconds": 0}
    (_folder(desk) / "1.json").write_text(json.dumps(older))
    for _ in range(3):
        watching.look(blocks=12)
    before = (watching.order().progress, _key_nonce(desk), desk.here("orders").out)
    push(desk, order, bips=150)
    for _ in range(4):
        watching.look(blocks=12)

    assert (before[0].state, before[0].met_at, before[1]) == (StandingState.WAITING, None, 0)
    assert "9,999" not in before[2]
    assert watching.order().progress.state is StandingState.DONE
    assert not desk.owns(token_id)


def test_a_level_beyond_the_range_is_not_guessed_without_a_seal(delegated: Desk) -> None:
    desk, token_id = delegated, str(delegated.token_id(STATE))
    ordered(desk, "close", token_id, "below", level(desk, 0.5))
    _edit(_folder(desk) / "1.json", secret="")
    watching = Watching(desk)
    desk.raise_price(
        desk.pool_id(STATE),
        bips=-3_000 if watching.order().order.condition.falls else 4_000,  # type: ignore[union-attr]
    )
    for _ in range(3):
        watching.look(blocks=12)

    assert desk.owns(token_id)
    assert "sign it anew" in _criticals(desk)


def test_a_forged_start_of_the_waiting_time_skips_nothing(delegated: Desk) -> None:
    desk = delegated
    stopped(desk)
    watching = Watching(desk)
    push(desk, watching.order().order, bips=150)
    watching.look()
    progress = watching.order().progress
    assert progress.met_at is not None
    _edit(_folder(desk) / "1.progress.json", metAt=progress.met_at - 900, metBlock=1)
    watching.look()
    forged = watching.order().progress
    for _ in range(3):
        watching.look(blocks=12)

    assert forged.state is StandingState.WAITING
    assert forged.met_at is not None
    assert forged.met_at > progress.met_at
    assert watching.order().progress.state is StandingState.DONE
    assert any("1.progress.json" in str(note) for note in watching.told)


def test_a_restart_keeps_the_waiting_time(delegated: Desk) -> None:
    desk = delegated
    stopped(desk)
    watching = Watching(desk)
    push(desk, watching.order().order, bips=150)
    watching.look()
    begun = watching.order().progress.met_at
    again = Watching(desk)
    again.look(blocks=2)
    kept = again.order().progress.met_at
    again.look(blocks=10)

    assert kept == begun
    assert again.order().progress.state is StandingState.SENT
    assert again.told == []


@pytest.mark.parametrize("state", ["done", "ended"])
def test_a_forged_end_ends_nothing_and_a_forged_dear_call_is_not_sent(
    delegated: Desk, state: str
) -> None:
    desk = delegated
    stopped(desk)
    watching = Watching(desk)
    watching.look()
    dear = {"hash": "0x" + "11" * 32, "raw": "02" * 80, "nonce": 0, "maxFeePerGas": str(10**13)}
    _edit(
        _folder(desk) / "1.progress.json",
        state=state,
        settledAt=None if state == "done" else 1.0,
        calls=[{**dear, "at": 0.0, "tip": str(10**13)}],
    )
    coin = desk.ask("eth_getBalance", WATCH_KEY.address, "latest")
    watching.look(blocks=12)
    stands = watching.order().progress.state
    spent = desk.ask("eth_getBalance", WATCH_KEY.address, "latest") != coin
    push(desk, watching.order().order, bips=150)
    for _ in range(4):
        watching.look(blocks=12)

    assert (stands, spent) == (StandingState.WAITING, False)
    assert watching.order().progress.state is StandingState.DONE


@pytest.mark.parametrize("state", ["done", "ended", "sent"])
def test_the_list_does_not_take_an_end_from_a_file(delegated: Desk, state: str) -> None:
    desk = delegated
    stopped(desk)
    Watching(desk).look()
    _edit(_folder(desk) / "1.progress.json", state=state, settledAt=None, received=["9 WETH"])
    listed = desk.here("orders", "--json").data
    [told] = listed["orders"]
    unread = replace(desk, rpc="http://127.0.0.1:9").here("orders")

    assert listed["confirmed"] is True
    assert told["state"] == ("sent" if state == "sent" else "waiting")
    assert "Its progress file says" in told["reason"]
    assert told["received"] == [] or state == "sent"
    assert "the files say, unconfirmed" in unread.words


def test_what_was_done_or_ended_before_the_update_is_told_as_it_was(delegated: Desk) -> None:
    """Without a tag, as an older zuno wrote it down: the chain says the same, and nothing anew."""
    desk = delegated
    stopped(desk)
    watching = Watching(desk)
    push(desk, watching.order().order, bips=150)
    for _ in range(4):
        watching.look(blocks=12)
    done = watching.order().progress
    _edit(_folder(desk) / "1.progress.json", tag="", settledAt=None)
    for _ in range(2):
        watching.look(blocks=12)
    again = watching.order().progress

    assert done.state is StandingState.DONE
    assert (again.state, again.done, again.reason) == (StandingState.DONE, 1, "")
    assert (again.results, again.received) == (done.results, done.received)
    assert (again.closed, again.happened_at) == (done.closed, done.happened_at)


@pytest.mark.parametrize("name", ["1.json", "1.progress.json"])
def test_a_damaged_file_is_an_alert(delegated: Desk, name: str) -> None:
    desk = delegated
    stopped(desk)
    watching = Watching(desk)
    watching.look()
    path = _folder(desk) / name
    path.write_bytes(path.read_bytes()[:40])

    assert f"{name} is damaged" in _criticals(desk)


def test_a_missing_order_and_one_moved_to_another_chain_are_alerts(delegated: Desk) -> None:
    desk = delegated
    stopped(desk)
    watching = Watching(desk)
    watching.look()
    path = _folder(desk) / "1.json"
    _edit(path, chainId=1)
    elsewhere = _criticals(desk)
    path.unlink()

    assert "1.json is damaged, changed or gone" in elsewhere
    assert "1.json is damaged, changed or gone" in _criticals(desk)


def test_undelegating_cancels_orders_whatever_code_is_there(delegated: Desk) -> None:
    desk = delegated
    stopped(desk)
    watching = Watching(desk)
    foreign = "0xef0100" + "63c0c19a282a1b52b07dd5a65b58948a07dae32b"[::-1]
    desk.ask("anvil_setCode", desk.devnet.wallet, foreign)
    approval, _ = signed(desk, "wallet", "undelegate")
    desk.delegate()
    watching.look()

    assert [step["step"] for step in approval["transactions"]][-1] == "undelegate"
    assert watching.order().progress.state is StandingState.ENDED
    assert watching.order().progress.reason == "It was cancelled with all others."


def test_words_are_drawn_from_sealed_figures(delegated: Desk) -> None:
    desk, token_id = delegated, str(delegated.token_id(STATE))
    price = level(desk, 0.99)
    shown = ordered(desk, "close", token_id, "below", price)
    collects = desk.here("order", "collect", token_id, "over", "$5", "times", "4")
    words = f"Close #{token_id} when the price is below {float(price):,.9g} USDC per WETH"
    stored = (_folder(desk) / "1.json").read_text()
    listed = desk.here("orders").out
    _edit(_folder(desk) / "1.json", pair=["ETH", "USD"])

    assert shown["headline"] == words
    assert f"price below {float(price):,.9g} USDC per WETH" in listed
    assert "below" not in stored
    assert "can do all 4 at once" in " ".join(collects.out.split())
    assert "USD per ETH" not in desk.here("orders").out


def test_a_changed_record_of_the_watch_key_is_a_critical_alert(
    delegated: Desk, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    desk, base = delegated, network_named("base")
    stopped(desk)
    home = Home.locate(os.environ, desk.command.home)
    secret = tmp_path / "secret"
    secret.write_text("three four")
    secret.chmod(0o600)
    monkeypatch.setenv(PASSPHRASE_FILE, str(secret))
    make_watch_key(
        home,
        choice=StoreChoice.FILE,
        new_passphrase=lambda _: Passphrase.from_text("three four"),
    )
    book = StandingOrders(home.orders)
    book.add(with_fields(book.find(1).order, chain_id=base.chain_id, delegation=_unlike(book)))
    told: list[Note] = []
    source = SettingsSource(home, Flags(network="base", rpc=desk.devnet.url), os.environ)
    _edit(home.keystore / "watch-key.json", address="0x" + "bad0" * 10)
    asyncio.run(OrderKeeper(source, told.append).look())
    news = [one.finding for one in order_news(home, base, time.time())]

    assert "The watch key cannot be opened" in str(told)
    assert any("The watch key cannot be opened" in finding.message for finding in news)
    assert {finding.severity for finding in news} == {Severity.CRITICAL}


def _unlike(book: StandingOrders) -> str:
    """A delegation that nobody has signed."""
    return delegation_text(book.find(1).order.delegation_signed._replace(salt=7))


@dataclass
class Edits:
    """Four orders that are not due, whose files are edited one after the other."""

    desk: Desk
    chance: random.Random
    good: dict[str, bytes]
    tmp_path: Path
    taken: int = 0

    @classmethod
    def begin(cls, desk: Desk, seed: int, tmp_path: Path) -> Edits:
        free = [
            token_id
            for token_id, one in desk.positions().items()
            if int(one["liquidity"]) and one["status"] == "in range"
        ]
        own = str(desk.token_id(STATE))
        others = [token_id for token_id in free if token_id != own]
        ordered(desk, "close", own, "below", level(desk, 0.97))
        wanted = [
            ("close", "loss-over", "90%"),
            ("close", "out-of-range", "30d"),
            ("collect", "every", "7d", "over", "$900000", "times", "4"),
        ]
        for kind, *words in wanted:
            while others:
                asked = desk.here("order", kind, others.pop(), *words, "--json")
                if asked.code == 0:
                    done = desk.apply_here(asked.data["planId"], "--confirm", asked.data["hash"])
                    assert done.code == 0, done.words
                    break
        watching = Watching(desk)
        watching.look()
        folder = _folder(desk)
        good = {path.name: path.read_bytes() for path in folder.glob("*.json")}
        assert len(good) == 8, sorted(good)
        return cls(desk, random.Random(seed), good, tmp_path)

    def round(self) -> int:
        """One edit of a file of each order and one of an export; how many edits."""
        folder, chance = _folder(self.desk), self.chance
        edited: dict[int, str] = {}
        for number in range(1, 5):
            name = chance.choice((f"{number}.json", f"{number}.progress.json"))
            (folder / name).write_bytes(self._edited(self.good[name]))
            edited[number] = name
        watching = Watching(self.desk)
        watching.look()
        watching.look(blocks=12)
        self._import()
        self._check(watching, edited)
        for name, content in self.good.items():
            (folder / name).write_bytes(content)
        return 5

    def _edited(self, content: bytes) -> bytes:
        chance = self.chance
        if chance.random() < 0.05:
            return content[: chance.randrange(len(content))]
        document = json.loads(content)
        places = list(_places(document))
        holder, key = chance.choice(places)
        choice = chance.randrange(4)
        if choice == 0 and isinstance(holder, dict):
            del holder[key]
        elif choice == 1 and "condition" in document:
            others = [json.loads(self.good[f"{number}.json"]) for number in range(1, 5)]
            document["condition"] = chance.choice([*(one["condition"] for one in others), SOON])
            document["holdSeconds"] = chance.choice((0, 120))
        else:
            holder[key] = self._other(holder[key])
        return json.dumps(document).encode()

    def _other(self, value: Any) -> Any:
        chance = self.chance
        match value:
            case bool():
                return not value
            case int() | float():
                return chance.choice((0, 1, value + 1, value * 2, -1, 2**60, None, "7"))
            case str() if value:
                place = chance.randrange(len(value))
                other = chance.choice("0123456789abcdefx ")
                changed = value[:place] + other + value[place + 1 :]
                return chance.choice((changed, "", "0", "done", "ended", "sent", None, 5))
            case _:
                return chance.choice((0, 1.0, "ended", [], {}, True))

    def _import(self) -> None:
        """Into another home, whose machine looks at what it took."""
        number = self.chance.randrange(1, 5)
        file = self.tmp_path / "edited.json"
        file.write_bytes(self._edited(self.good[f"{number}.json"]))
        home = self.tmp_path / f"server-{self.chance.randrange(10**12)}"
        home.mkdir(mode=0o700)
        other = replace(self.desk, command=CommandLine(home))
        if other.here("order", "import", str(file)).code == 0:
            self.taken += 1
            there = Watching(other)
            there.look()
            there.look(blocks=12)

    def _check(self, watching: Watching, edited: dict[int, str]) -> None:
        desk, criticals = self.desk, _criticals(self.desk)
        assert _key_nonce(desk) == 0, f"something was sent: {edited}"
        for number, name in edited.items():
            path = _folder(desk) / f"{number}.json"
            if f"{name} is damaged" in criticals or f"{number}.json is damaged" in criticals:
                continue
            if f"Order {number} cannot be carried out" in criticals:
                continue
            kept = watching.order(number)
            head = int(desk.ask("eth_getBlockByNumber", "latest", False)["timestamp"], 16)
            looked = kept.progress.looked_at
            assert kept.progress.state is StandingState.WAITING, (name, path.read_text())
            assert looked is not None, (name, path.read_text())
            assert abs(looked - head) < 60 * 12, "it is still looked at"


def _places(holder: Any) -> Iterator[tuple[Any, Any]]:
    items = holder.items() if isinstance(holder, dict) else enumerate(holder)
    for key, value in items:
        yield holder, key
        if isinstance(value, dict | list):
            yield from _places(value)


def test_thirty_edits_fire_and_end_nothing_silently(delegated: Desk, tmp_path: Path) -> None:
    edits = Edits.begin(delegated, 1, tmp_path)

    assert sum(edits.round() for _ in range(6)) == 30


@pytest.mark.soak
@pytest.mark.parametrize("part", range(10))
def test_two_thousand_edits(tmp_path: Path, capsys: pytest.CaptureFixture[str], part: int) -> None:
    with embedded_chain() as ready:
        desk = Desk(ready, CommandLine(tmp_path / "home"), capsys)
        desk.command.home.mkdir(mode=0o700)
        desk.delegate()
        edits = Edits.begin(desk, 100 + part, tmp_path)
        count = sum(edits.round() for _ in range(40))
    with capsys.disabled():
        printed(
            f"{count} edits of orders, progress and exports ({part + 1} of 10): 0 fired, 0 ended "
            f"silently; {edits.taken} edited exports were taken as what was signed"
        )
