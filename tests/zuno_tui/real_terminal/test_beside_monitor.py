"""Desk and `zuno monitor` on one home, a fast market, a chain that fails: one truth on both."""

import json
import sys
import time
from pathlib import Path

import pytest

from chain.base.home import Home
from tests.embedded_chain import embedded_chain
from tests.fakes.flaky_proxy import FlakyProxy
from tests.zuno_tui.monitor_process import MonitorProcess, command
from tests.zuno_tui.real_terminal.alerts_on_screen import AgreementWatch
from tests.zuno_tui.screen_terminal import Terminal

SEED = 7
SPEED = 600.0
"""Ten minutes of the market a second."""
FAILING_SHARE = 0.2
INTERVAL = 0.5
BETWEEN_LOOKS = 0.2
LEAST_LOOKS = 5
PATIENCE = 60.0


@pytest.mark.soak
@pytest.mark.parametrize("minutes", [2.5, 10.0])
def test_pane_and_file_always_agree(tmp_path: Path, minutes: float) -> None:
    home = Home(tmp_path / "home", tmp_path / "cache")
    home.prepare()
    with (
        embedded_chain(seed=SEED, speed=SPEED) as chain,
        FlakyProxy(chain.url, FAILING_SHARE, SEED) as proxy,
        MonitorProcess.running(command(home.root, proxy.url, interval=INTERVAL)) as monitor,
    ):
        monitor.until(lambda: bool(home.alerts.exists() and json.loads(home.alerts.read_bytes())))
        flags = ("--network", "devnet", "--rpc", proxy.url, "--home", str(home.root))
        argv = [sys.executable, "-m", "zuno_tui", "--deterministic", *flags]
        with Terminal(argv, 160, 100) as terminal:
            terminal.wait_for("monitor: running", PATIENCE)
            terminal.send("2z")
            terminal.wait_gone(r"1 Positions ·", PATIENCE)
            with AgreementWatch.begun(terminal, home.alerts) as watch:
                deadline = time.monotonic() + minutes * 60
                while time.monotonic() < deadline or len(watch.samples) <= LEAST_LOOKS:
                    watch.look()
                    terminal.watch(BETWEEN_LOOKS)
                terminal.send(" ")
                # What is acknowledged is open again as soon as it gets worse, at this speed at
                # once.
                terminal.wait_for(r"Alert \d+ is acknowledged", PATIENCE)
                assert watch.settles()
            terminal.send("\x11")
            assert terminal.end() == 0
        polls = len(monitor.of("poll"))
        assert monitor.end() == 0

    faults = watch.faults()
    assert faults == [], faults[0]
    assert watch.most_rows > 0
    print(  # noqa: T201 - the soak's table
        f"\n{minutes:g} min: {len(watch.samples)} looks at pane and file, {len(watch.versions)} "
        f"versions of the file, at most {watch.most_rows} rows, the pane at most "
        f"{max(lag or 0.0 for lag in watch.lags()):.1f} s away, {polls} polls, "
        f"requests {dict(proxy.answered)}"
    )
