"""One debate after the other at one desk: it takes no more memory than the first few did."""

import os
import re
import sys
from pathlib import Path

import pytest

from chain.devnet.launch import DevnetReady
from tests.agents.lp.honest_model import honest
from tests.fakes.model_endpoint import says
from tests.fakes.model_in_a_thread import model_in_a_thread
from tests.zuno_tui.real_terminal.conftest import Node
from tests.zuno_tui.screen_terminal import Terminal

DEBATES = 100
WARM_UP = 20
MOST_GROWTH = 24 * 2**20
PATIENCE = 60.0


@pytest.mark.soak
def test_memory_is_flat_over_many_debates(devnet: DevnetReady, node: Node, tmp_path: Path) -> None:
    token_id = node("zuno_status")["positions"]["below its range"]
    argv = [sys.executable, "-m", "zuno_tui", "--network", "devnet", "--rpc", devnet.url]
    resident: list[int] = []
    with (
        # More than the day's budget of tokens would be asked for otherwise.
        model_in_a_thread(says(honest, size=40, tokens=(1, 1))) as model,
        Terminal([*argv, "--home", str(tmp_path)], 120, 36, model) as terminal,
    ):
        terminal.wait_for(rf"#{token_id} ", PATIENCE)
        planned = ""
        for _ in range(DEBATES):
            terminal.send(f":recommend {token_id}\r")
            terminal.wait_gone(r"Debate · .*ended", PATIENCE)
            ended = terminal.wait_for(r"Debate · .*ended", PATIENCE)
            told = re.search(r"plan_[0-9a-f]+", ended)
            planned = told[0] if told else planned
            resident.append(_resident(terminal.process.pid))
        terminal.send("\x11")
        assert terminal.end() == 0

    grown = resident[-1] - resident[WARM_UP]
    records = len(list((tmp_path / "records").iterdir()))
    print(  # noqa: T201 - the soak's table
        f"\n{records} debates with a model: {resident[0] / 2**20:.0f} MB after the first, "
        f"{resident[WARM_UP] / 2**20:.0f} MB after {WARM_UP}, {resident[-1] / 2**20:.0f} MB at "
        f"the end, grown by {grown / 2**20:.1f} MB"
    )
    assert planned
    assert records == DEBATES
    assert grown < MOST_GROWTH


def _resident(pid: int) -> int:
    pages = Path(f"/proc/{pid}/statm").read_text().split()[1]
    return int(pages) * os.sysconf("SC_PAGESIZE")
