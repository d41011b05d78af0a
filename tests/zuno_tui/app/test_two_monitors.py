"""Two monitors and two readers on one home, a fast market, and a chain that fails at random."""

import json
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import pytest

from agents.monitor.alerts.alert import alert_document
from agents.monitor.alerts.store import AlertStore
from chain.base.home import Home
from tests.embedded_chain import embedded_chain
from tests.fakes.flaky_proxy import FAULTS, FlakyProxy
from tests.zuno_tui.monitor_process import MonitorProcess, command

SEED = 7
SPEED = 600.0
"""Ten minutes of the market a second."""
FAILING_SHARE = 0.2
INTERVAL = 0.5
OUTAGE_EVERY, OUTAGE_SECONDS = 60.0, 4.0
MOST_GROWTH = 16 * 2**20
WARM_UP = 0.3


@contextmanager
def reading(home: Home) -> Iterator[subprocess.Popen[str]]:
    process = subprocess.Popen(
        [sys.executable, "-m", "tests.zuno_tui.alert_reader", str(home.root)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        yield process
    finally:
        process.kill()
        process.wait()


def report_of(reader: subprocess.Popen[str]) -> Any:
    """What a reader saw; closing its stdin ends it."""
    out, _ = reader.communicate("", timeout=60)
    assert reader.returncode == 0
    return json.loads(out)


@pytest.mark.soak
@pytest.mark.parametrize(("part", "minutes"), [(part, 10.0) for part in (1, 2, 3)])
def test_one_polls_the_other_waits_and_all_readers_see_the_same(
    tmp_path: Path, part: int, minutes: float
) -> None:
    home = Home(tmp_path / "home", tmp_path / "cache")
    home.prepare()
    with (
        embedded_chain(seed=SEED, speed=SPEED) as chain,
        FlakyProxy(chain.url, FAILING_SHARE, part) as proxy,
        MonitorProcess.running(command(home.root, proxy.url, interval=INTERVAL)) as polling,
    ):
        polling.until(lambda: bool(polling.of("poll")))
        again = command(home.root, proxy.url, interval=INTERVAL)
        with MonitorProcess.running(again) as waiting, reading(home) as one, reading(home) as two:
            grown = _soak(proxy, polling, minutes * 60)
            proxy.down = False
            polling.until(lambda: len(polling.of("poll")) > 1)
            assert waiting.process.poll() is None, waiting.told()
            reports = [report_of(one), report_of(two)]
            codes = [waiting.end(), polling.end()]

    assert codes == [0, 0]
    assert [line["type"] for line in waiting.lines] == ["waiting"]
    assert "Traceback" not in "".join(polling.words + waiting.words)
    assert grown < MOST_GROWTH
    first, second = (report["seen"] for report in reports)
    common = first.keys() & second.keys()
    assert [report["faults"] for report in reports] == [[], []]
    assert {number: first[number] for number in common} == {
        number: second[number] for number in common
    }
    with closing(AlertStore.open(home, now=time.time())) as book:
        shown = json.loads(home.alerts.read_bytes())
        assert {one["id"]: one for one in shown} == {
            one.id: json.loads(json.dumps(alert_document(one))) for one in book.current()
        }
        events = len(book.events_after(0, 100_000))
    polls = polling.of("poll")
    blind = sum(poll["trouble"] is not None for poll in polls)
    print(  # noqa: T201 - the soak's table
        f"\n{minutes:g} min: {len(polls)} polls, {blind} of them blind, {events} events, "
        f"{len(common)} revisions seen by both readers in {reports[0]['looks']} and "
        f"{reports[1]['looks']} looks, memory grew by {grown / 2**20:.1f} MB, "
        f"requests {dict(proxy.answered)}"
    )
    assert len(polls) > 1
    assert len(common) >= 1
    assert len(proxy.answered) > 1
    if minutes >= 1:
        assert set(proxy.answered) == {*FAULTS, "honest"}
        # Blind for a while after every outage, and never for good.
        assert blind
        assert len(polls) - blind > 2 * minutes
        assert len(common) > minutes / 2


def _soak(proxy: FlakyProxy, polling: MonitorProcess, seconds: float) -> int:
    """Let it run, with outages now and then; how much memory it took since it was warm."""
    began = time.monotonic()
    warm = 0
    while (elapsed := time.monotonic() - began) < seconds:
        assert polling.process.poll() is None, polling.told()
        proxy.down = elapsed % OUTAGE_EVERY > OUTAGE_EVERY - OUTAGE_SECONDS
        if not warm and elapsed > seconds * WARM_UP:
            warm = polling.resident_bytes()
        time.sleep(seconds / 100)
    proxy.down = False
    return polling.resident_bytes() - warm
