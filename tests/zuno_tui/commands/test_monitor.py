"""`zuno monitor` as a process: data on stdout, words on stderr, and a clean end."""

import asyncio
import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path

import httpx2
import pytest
from prometheus_client.parser import text_string_to_metric_families

from agents.monitor.alerts.alert import event_document
from agents.monitor.alerts.store import AlertStore
from agents.monitor.heartbeat import current_holder
from chain.base.home import Home
from chain.devnet.launch import DevnetReady
from tests.fakes.telegram import CHAT, TOKEN, TelegramDouble
from tests.zuno_tui.conftest import CommandLine
from tests.zuno_tui.monitor_process import MonitorProcess, command

POLL_FIELDS = {
    "level",
    *("type", "at", "network", "chainId", "walletAddress", "block", "positions", "openedCount"),
    *("resolvedCount", "requests", "seconds", "trouble"),
}


def test_once_prints_a_line_for_the_poll_and_for_each_event_then_nothing_new(
    zuno: CommandLine, on_devnet: tuple[str, ...], devnet: DevnetReady
) -> None:
    first = zuno("monitor", "--once", *on_devnet)
    again = zuno("monitor", "--once", *on_devnet)

    assert (first.code, again.code) == (0, 0), first.words
    lines = [json.loads(line) for line in first.out.splitlines()]
    (poll,) = [line for line in lines if line["type"] == "poll"]
    assert poll.keys() == POLL_FIELDS
    assert poll["walletAddress"] == devnet.wallet
    assert poll["trouble"] is None
    events = [line for line in lines if line["type"] == "event"]
    home = Home(zuno.home, zuno.home)
    with closing(AlertStore.open(home, now=time.time())) as book:
        assert events == [
            {"type": "event", "level": event.alert.severity, **event_document(event)}
            for event in book.events_after(0)
        ]
    assert poll["openedCount"] == len(events) > 0
    kinds = [json.loads(line)["type"] for line in again.out.splitlines()]
    assert kinds == ["watching", "poll"]
    standing = zuno("alerts", "--json").data
    assert standing["monitor"]["state"] == "ended"
    assert len(standing["alerts"]) == len(events)


def test_a_chain_that_cannot_be_read_is_a_network_failure_without_its_url(
    zuno: CommandLine,
) -> None:
    dead = ("--network", "devnet", "--rpc", "http://127.0.0.1:1/v2/CANARY")
    runs = [zuno("monitor", "--once", *dead) for _ in range(3)]

    told = []
    for spoken in runs:
        assert spoken.code == 4
        lines = [json.loads(line) for line in spoken.out.splitlines()]
        (poll,) = [one for one in lines if one["type"] == "poll"]
        assert poll["block"] is None
        assert poll["trouble"]
        assert "CANARY" not in spoken.out + spoken.words
        told.append([one["alert"]["kind"] for one in lines if one["type"] == "event"])
    assert told == [[], [], ["blind"]]


@pytest.mark.parametrize(
    ("arguments", "settings", "said"),
    [
        (("--interval", "1"), "", "from 5 to 86400 seconds"),
        (("--network", "polygon"), "", "No RPC endpoint is known for Polygon"),
        (("--network", "base", "--rpc", "http://127.0.0.1:1"), "", "No wallet is there to watch"),
        ((), '[telegram]\nchat = "1"', "the token is missing"),
        ((), '[telegram]\ntoken = "CANARY"\nchat = 1', "telegram.token must be what @BotFather"),
        ((), '[webhook]\nurl = "ftp://CANARY"', "webhook.url must be a URL"),
    ],
)
def test_what_cannot_be_watched_or_sent_ends_with_two_and_a_sentence(
    zuno: CommandLine, arguments: tuple[str, ...], settings: str, said: str
) -> None:
    zuno.home.mkdir()
    (zuno.home / "settings.toml").write_text(f'network = "devnet"\n{settings}', "utf-8")

    spoken = zuno("monitor", "--once", *arguments)

    assert (spoken.code, spoken.out) == (2, "")
    assert said in spoken.words
    assert "CANARY" not in spoken.words


@dataclass
class Manager:
    """A service manager's end of the notify protocol, which reads as it is told."""

    address: str
    told: list[str] = field(default_factory=list)


@pytest.fixture
def manager(tmp_path: Path) -> Iterator[Manager]:
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as listening:
        manager = Manager(str(tmp_path / "notify"))
        listening.bind(manager.address)

        def read() -> None:
            while said := listening.recv(4096):
                manager.told.append(said.decode())

        reading = threading.Thread(target=read, daemon=True)
        reading.start()
        yield manager
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as ending:
            ending.sendto(b"", manager.address)
        reading.join()


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
def test_it_ends_cleanly_and_tells_its_supervisor_all_along(
    zuno: CommandLine,
    devnet: DevnetReady,
    manager: Manager,
    number: signal.Signals,
) -> None:
    with MonitorProcess.running(
        command(zuno.home, devnet.url, interval=0.3),
        NOTIFY_SOCKET=manager.address,
        WATCHDOG_USEC="600000",
    ) as monitor:
        monitor.until(lambda: len(monitor.of("poll")) >= 3)
        holder = current_holder(zuno.home / "monitor.lock")

        assert holder is not None
        assert holder.pid == monitor.process.pid
        assert monitor.end(number) == 0
    assert current_holder(zuno.home / "monitor.lock") is None
    told = [one for one in manager.told if one != "WATCHDOG=1"]
    assert len(manager.told) - len(told) >= 2
    assert told[0].startswith("READY=1\nSTATUS=watching")
    assert told[1].startswith("STATUS=devnet block")
    assert told[-1].startswith("STOPPING=1")
    assert "Traceback" not in "".join(monitor.words)


@pytest.fixture
def telegram() -> Iterator[tuple[TelegramDouble, str]]:
    """A Telegram on an event loop of its own, for commands that run as processes."""
    double = TelegramDouble(time.time)
    loop = asyncio.SelectorEventLoop()
    thread = threading.Thread(target=loop.run_forever, daemon=True)
    thread.start()
    running = double.running()
    url = asyncio.run_coroutine_threadsafe(running.__aenter__(), loop).result()
    yield double, url
    asyncio.run_coroutine_threadsafe(running.__aexit__(None, None, None), loop).result()
    loop.call_soon_threadsafe(loop.stop)
    thread.join()
    loop.close()


def test_alerts_reach_telegram_and_the_token_reaches_nothing_else(
    zuno: CommandLine, devnet: DevnetReady, telegram: tuple[TelegramDouble, str]
) -> None:
    double, url = telegram
    with MonitorProcess.running(
        command(zuno.home, devnet.url, interval=0.5),
        ZUNO_TELEGRAM_TOKEN=TOKEN,
        ZUNO_TELEGRAM_CHAT=CHAT,
        ZUNO_TELEGRAM_URL=url,
    ) as monitor:
        monitor.until(lambda: bool(monitor.of("sent")))
        # As every process on the machine can read it.
        arguments = Path(f"/proc/{monitor.process.pid}/cmdline").read_bytes()
        monitor.end()

    # Remarks are left to the desk; all of the first round are news about positions not yet told.
    events = [one["event"] for one in monitor.of("event") if one["alert"]["severity"] != "info"]
    sent = [number for line in monitor.of("sent") for number in line["events"]]
    assert sent == events[: len(sent)]
    assert f", event {events[0]}]" in double.taken[0].text
    secret = TOKEN.partition(":")[2]
    assert secret.encode() not in arguments
    assert secret not in json.dumps(monitor.lines) + "".join(monitor.words)
    for path in zuno.home.rglob("*"):
        assert secret.encode() not in path.read_bytes()


def test_tokens_in_the_home_are_read_without_a_service_and_only_where_private(
    zuno: CommandLine, devnet: DevnetReady, telegram: tuple[TelegramDouble, str]
) -> None:
    double, url = telegram
    zuno.home.mkdir(mode=0o700, exist_ok=True)
    file = zuno.home / "monitor.env"
    file.write_text(
        f'# as systemd reads it\nZUNO_TELEGRAM_TOKEN="{TOKEN}"\n\nZUNO_TELEGRAM_CHAT={CHAT}\n'
        f"ZUNO_TELEGRAM_URL={url}\n",
        "utf-8",
    )
    file.chmod(0o644)
    refused = zuno("monitor", "--once", "--network", "devnet", "--rpc", devnet.url)
    assert refused.code != 0
    assert f"chmod 600 {file}" in refused.words
    file.chmod(0o600)
    with MonitorProcess.running(command(zuno.home, devnet.url, interval=0.5)) as monitor:
        monitor.until(lambda: bool(monitor.of("sent")))
        monitor.end()
    assert double.taken


def test_the_unit_file_is_one_that_systemd_takes(zuno: CommandLine, tmp_path: Path) -> None:
    home = tmp_path / 'a "home" of 100 % and $5'
    spoken = zuno("monitor", "--systemd-unit", "--home", str(home), "--network", "base")

    assert spoken.code == 0
    assert "Type=notify" in spoken.out
    assert "--network base" in spoken.out
    if shutil.which("systemd-analyze") is None:
        pytest.skip("systemd-analyze is not installed here")
    unit = tmp_path / "zuno-monitor.service"
    unit.write_text(spoken.out, "utf-8")
    checked = subprocess.run(
        ["systemd-analyze", "verify", "--recursive-errors=no", str(unit)],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
        env={**os.environ, "SYSTEMD_LOG_LEVEL": "warning"},
    )
    complaints = [line for line in checked.stderr.splitlines() if "zuno-monitor" in line]
    assert (checked.returncode, complaints) == (0, [])


def test_the_unit_for_a_server_may_do_little_else(zuno: CommandLine, tmp_path: Path) -> None:
    spoken = zuno("monitor", "--systemd-unit", "--server")

    assert spoken.code == 0
    assert "User=zuno\n" in spoken.out
    assert "--home /var/lib/zuno" in spoken.out
    assert "ReadWritePaths=/var/lib/zuno\n" in spoken.out
    seen = spoken.out.partition("BindReadOnlyPaths=")[2].splitlines()[0].split(" ")
    assert {sys.prefix, sys.base_prefix} == {*seen}
    if shutil.which("systemd-analyze") is None:
        pytest.skip("systemd-analyze is not installed here")
    unit = tmp_path / "zuno-monitor.service"
    unit.write_text(spoken.out, "utf-8")
    rated = subprocess.run(
        ["systemd-analyze", "security", "--offline=true", "--no-pager", str(unit)],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    found = re.search(r"Overall exposure level for \S+: ([0-9.]+)", rated.stdout)
    assert found is not None, rated.stdout + rated.stderr
    assert float(found[1]) < 3, rated.stdout


def test_the_unit_is_written_and_checked_and_says_what_to_type(
    zuno: CommandLine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("XDG_CONFIG_HOME", raising=False)
    home = tmp_path / "home"
    home.mkdir(mode=0o700)
    (home / "watch-key.passphrase").write_text("secret")
    before = zuno("monitor", "--check", "--home", str(home))
    written = zuno("monitor", "--install", "--home", str(home), "--metrics", "9464")
    unit = tmp_path / ".config/systemd/user/zuno-monitor.service"
    after = zuno("monitor", "--check", "--home", str(home))
    health = zuno("monitor", "--health", "--home", str(home))

    assert before.code == 1
    assert "zuno monitor --install" in before.out
    assert written.code == 0
    assert "systemctl --user daemon-reload" in written.out
    text = unit.read_text("utf-8")
    assert f"{sys.executable} -P -m zuno_tui monitor --home {home} --metrics 9464" in text
    assert f"LoadCredential=zuno-watch-key:{home}/watch-key.passphrase" in text
    assert "secret" not in text
    assert f"✓ unit      {unit}" in after.out
    assert "nothing watches" in after.out
    assert (health.code, "nothing watches" in health.words) == (1, True)


def test_metrics_are_told_to_this_machine_and_in_full_to_who_knows_the_token(
    zuno: CommandLine, devnet: DevnetReady
) -> None:
    arguments = command(zuno.home, devnet.url, interval=60, address=devnet.wallet)
    with MonitorProcess.running([*arguments, "--metrics", "127.0.0.1:0"]) as monitor:
        monitor.until(lambda: bool(monitor.of("poll")))
        told = "".join(monitor.words)
        url = re.search(r"http://\S+/metrics", told)[0]  # type: ignore[index]
        token = (zuno.home / "metrics-token").read_text().strip()
        some = httpx2.get(url)
        every = httpx2.get(url, headers={"authorization": f"Bearer {token}"})
        page = httpx2.get(url, headers={"origin": "http://evil.example"})
        renamed = httpx2.get(url, headers={"host": "evil.example"})
        health = httpx2.get(url.replace("/metrics", "/health"))
        mode = (zuno.home / "metrics-token").stat().st_mode & 0o777

    names = {family.name for family in text_string_to_metric_families(every.text)}
    assert {"zuno_up", "zuno_last_round_age_seconds", "zuno_positions", "zuno_block"} <= names
    assert devnet.wallet in every.text
    assert devnet.wallet not in some.text
    assert "zuno_up 1" in some.text
    assert (page.status_code, renamed.status_code, mode) == (403, 403, 0o600)
    assert (health.status_code, health.json()) == (200, {"well": True})


@pytest.mark.parametrize("place", ["0.0.0.0:9464", "example.org:1", "99999", "no"])
def test_metrics_are_served_on_this_machine_alone(zuno: CommandLine, place: str) -> None:
    spoken = zuno("monitor", "--metrics", place)

    assert (spoken.code, "not an address of this machine" in spoken.words) == (2, True)
