"""`zuno alerts`: what stands, acknowledged and muted, as a person and as a program reads it."""

import json
import time
from contextlib import closing

import pytest
from msgspec import to_builtins

from agents.monitor.alerts.alert import AlertKind, Cleared, Raised, Severity
from agents.monitor.alerts.state import MonitorState
from agents.monitor.alerts.store import AlertStore
from agents.monitor.deliver.ledger import NAMESPACE, Progress
from agents.monitor.deliver.telegram import Telegram, TelegramSettings
from agents.monitor.heartbeat import Beat, Holder, PollingLock, Sight, write_beat
from chain.base.home import Home
from tests.agents.monitor.delivery_kit import WALLET, cleared, happen, raised
from tests.zuno_tui.conftest import CommandLine


@pytest.fixture
def home(zuno: CommandLine) -> Home:
    home = Home(zuno.home, zuno.home / "cache")
    home.prepare()
    return home


def _write(home: Home, *changes: Raised | Cleared) -> None:
    with closing(AlertStore.open(home, now=time.time())) as book:
        happen(book, *changes, now=time.time())


def test_what_stands_is_shown_the_worst_first_with_what_to_type(
    zuno: CommandLine, home: Home
) -> None:
    fees = raised(8, kind=AlertKind.FEES_WORTH_COLLECTING, severity=Severity.INFO)
    _write(home, fees, raised(7), raised(9), cleared(9))

    spoken = zuno("alerts")

    assert spoken.code == 0, spoken.words
    titles, first, second = spoken.out.splitlines()
    assert " ".join(titles.split()) == "ID STATE SEVERITY POSITION SINCE (UTC) WHAT NEXT"
    assert first.split()[:5] == ["2", "open", "critical", "base", "#7"]
    assert first.endswith("zuno recommend 7 --network base")
    assert first.index("WETH") == second.index("WETH") == titles.index("WHAT")
    assert "1 more are over: zuno alerts --all" in spoken.words
    assert "The monitor has not run yet.\nStart it: zuno monitor" in spoken.words


def test_those_that_are_over_are_shown_on_demand(zuno: CommandLine, home: Home) -> None:
    _write(home, raised(9), cleared(9))

    assert zuno("alerts").out == ""
    (_, row) = zuno("alerts", "--all").out.splitlines()
    assert row.split()[1] == "resolved"
    assert "Over: the price came back." in row


def test_programs_get_the_same_as_in_the_file(zuno: CommandLine, home: Home) -> None:
    _write(home, raised(7), raised(2**255))

    document = zuno("alerts", "--json").data

    assert document["alerts"] == json.loads(home.alerts.read_text("utf-8"))
    assert document["alerts"][1]["positionId"] == str(2**255)
    assert document["monitor"]["state"] == "never started"


def test_an_alert_is_acknowledged_and_stays_in_sight(zuno: CommandLine, home: Home) -> None:
    _write(home, raised(7))

    spoken = zuno("alerts", "ack", "1")

    assert spoken.code == 0
    assert "Alert 1 (base #7, out of range) is acknowledged." in spoken.words
    assert zuno("alerts").out.splitlines()[1].split()[1] == "acked"


@pytest.mark.parametrize(
    ("ending", "seconds"),
    [(("--for", "2h"), 7200), (("--for", "90s"), 90), (("--until", "2099-01-01T00:00Z"), None)],
)
def test_a_mute_has_an_end(
    zuno: CommandLine, home: Home, ending: tuple[str, str], seconds: int | None
) -> None:
    _write(home, raised(7), raised(8))

    before = time.time()
    spoken = zuno("alerts", "mute", "1", *ending, "--json")

    (alert,) = spoken.data["alerts"]
    assert spoken.code == 0
    assert alert["positionId"] == "7"
    with closing(AlertStore.open(home, now=before)) as book:
        muted, other = book.find(1), book.find(2)
    assert other.muted_until is None
    assert muted.muted_until is not None
    expected = 4_070_908_800 if seconds is None else before + seconds
    assert muted.muted_until == pytest.approx(expected, abs=30)
    assert "open, muted" in zuno("alerts").out


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (("ack", "5"), 1, "There is no alert 5. See them all: zuno alerts --all"),
        (("ack", "five"), 2, "not an alert's number"),
        (("mute", "1"), 2, "--for --until is required"),
        (("mute", "1", "--for", "ever"), 2, "'ever' is not a length of time"),
        (("mute", "1", "--until", "2001-01-01"), 2, "has already passed"),
        (("mute", "1", "--until", "tomorrow"), 2, "not a date or time"),
    ],
)
def test_what_cannot_be_done_is_said(
    zuno: CommandLine, home: Home, arguments: tuple[str, ...], code: int, said: str
) -> None:
    _write(home, raised(7))

    spoken = zuno("alerts", *arguments)

    assert (spoken.code, spoken.out) == (code, "")
    assert said in spoken.words
    assert "Traceback" not in spoken.words


def test_one_network_or_wallet_can_be_asked_for(zuno: CommandLine, home: Home) -> None:
    _write(home, raised(7))

    assert zuno("alerts", "--network", "base", "--address", WALLET, "--json").data["alerts"]
    assert zuno("alerts", "--network", "ethereum", "--json").data["alerts"] == []
    assert zuno("alerts", "--address", "0x" + "00" * 20, "--json").data["alerts"] == []


def test_names_from_the_chain_draw_nothing_on_the_terminal(zuno: CommandLine, home: Home) -> None:
    _write(home, raised(7, message="\x1b[2J\x1b]52;c;x\x07[red]\u202eUSDC\nfake line"))

    spoken = zuno("alerts")

    assert len(spoken.out.splitlines()) == 2
    assert all(line.isprintable() for line in spoken.out.splitlines())


def test_a_damaged_file_is_set_aside_said_and_written_again(zuno: CommandLine, home: Home) -> None:
    _write(home, raised(7))
    home.alerts.write_text("{half", "utf-8")

    spoken = zuno("alerts")

    assert spoken.code == 0
    assert "alerts.json was damaged. It was kept as alerts.json.corrupt-" in spoken.words
    assert len(spoken.out.splitlines()) == 2
    assert json.loads(home.alerts.read_text("utf-8"))[0]["positionId"] == "7"


def test_a_stopped_channel_and_a_silent_monitor_are_said_here_and_by_doctor(
    zuno: CommandLine, home: Home, on_devnet: tuple[str, ...]
) -> None:
    notebook = MonitorState(home.database)
    refused = Telegram(TelegramSettings("123:abc", "1")).fingerprint
    stopped = Progress(refused, 1, trouble="HTTP 401, no", stopped_at=1.0)
    notebook.put(NAMESPACE, "Telegram", to_builtins(stopped), now=0)
    write_beat(notebook, Beat(time.time() - 3600, 77, "here", 60.0, (), None))
    notebook.close()
    lock = PollingLock(home.monitor_lock, Holder(77, "here", 0.0))
    assert lock.take()
    try:
        spoken = zuno("alerts")
        same, changed = (
            zuno(
                *("doctor", "--json", *on_devnet),
                ZUNO_TELEGRAM_TOKEN=token,
                ZUNO_TELEGRAM_CHAT="1",
            )
            for token in ("123:abc", "123:def")
        )
    finally:
        lock.release()

    assert "Telegram is stopped: HTTP 401, no" in spoken.words
    assert "The monitor is stuck: process 77 on here holds the watch" in spoken.words
    checks = {check["name"]: check for check in same.data["checks"]}
    assert checks["monitor"]["state"] == "caution"
    assert checks["monitor"]["nextStep"].endswith("kill 77")
    assert (same.code, checks["Telegram"]["state"]) == (1, "broken")
    # Another token than the one that was refused has not been tried yet.
    untried = {check["name"]: check["state"] for check in changed.data["checks"]}
    assert (changed.code, untried["Telegram"]) == (0, "caution")


def test_all_are_acknowledged_or_muted_at_once(zuno: CommandLine, home: Home) -> None:
    _write(home, raised(7), raised(8), raised(9), cleared(9))

    elsewhere = zuno("alerts", "ack", "all", "--network", "ethereum", "--json")
    acked = zuno("alerts", "ack", "all", "--json")
    muted = zuno("alerts", "mute", "all", "--for", "2h", "--json")
    again = zuno("alerts", "ack", "all", "--json")
    _write(home, raised(10))

    assert (elsewhere.code, elsewhere.data["alerts"]) == (0, [])
    assert [one["state"] for one in acked.data["alerts"]] == ["acked", "acked"]
    assert [one["mutedUntil"] is not None for one in muted.data["alerts"]] == [True, True]
    assert (again.code, again.data["alerts"]) == (0, [])
    new = next(one for one in zuno("alerts", "--json").data["alerts"] if one["positionId"] == "10")
    assert new["mutedUntil"] is not None


def test_one_network_or_wallet_is_muted_as_a_whole(zuno: CommandLine, home: Home) -> None:
    _write(home, raised(7))

    zuno("alerts", "mute", "all", "--for", "2h", "--network", "ethereum")
    assert not zuno("alerts", "--json").data["alerts"][0]["mutedUntil"]
    zuno("alerts", "mute", "all", "--for", "2h", "--network", "base", "--address", WALLET)
    assert zuno("alerts", "--json").data["alerts"][0]["mutedUntil"]


def test_a_monitor_that_runs_and_sees_nothing_is_not_said_to_be_watching(
    zuno: CommandLine, home: Home
) -> None:
    blind = Sight(
        "base", WALLET, None, 0, "The check failed with an unexpected error (KeyError: x)."
    )
    with closing(MonitorState(home.database)) as notebook:
        write_beat(notebook, Beat(time.time(), 77, "here", 60.0, (blind,), "A round took long."))
    lock = PollingLock(home.monitor_lock, Holder(77, "here", 0.0))
    assert lock.take()
    try:
        spoken = zuno("alerts")
        document = zuno("alerts", "--json").data
    finally:
        lock.release()

    assert "is watching" not in spoken.words
    assert "KeyError" in spoken.words
    assert "A round took long." in spoken.words
    assert len(document["monitor"]["troubles"]) == 2
