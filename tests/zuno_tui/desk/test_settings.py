"""Settings changed at the desk: checked, written, and lived by without a restart."""

from __future__ import annotations

from typing import TYPE_CHECKING

from chain.base.home import Home
from tests.zuno_tui.desk.sitting import sitting
from zuno_tui.app.session import Session
from zuno_tui.catalog.intents import ChangeSetting, Show
from zuno_tui.desk.context import DeskOpening
from zuno_tui.desk.events import PositionsChanged, Said, SettingsReady, StatusChanged
from zuno_tui.settings import Flags, load_settings

if TYPE_CHECKING:
    from pathlib import Path

    from chain.devnet.launch import DevnetReady
    from tests.zuno_tui.desk.sitting import Sitting

DEAD = "http://127.0.0.1:1/v2/CANARY1"


def _opening(home: Path, written: str) -> DeskOpening:
    path = home / "settings.toml"
    path.write_text(written)
    settings = load_settings(path, {}, Flags())
    session = Session(Home.locate({}, home), settings, settings.chosen_network(), as_json=False)
    return DeskOpening(session, deterministic=True, environment={"ZUNO_RISK_PROFILE": "balanced"})


def _answer(desk: Sitting) -> Said:
    """What was said to the last change: the desk may speak of other things meanwhile."""
    return [said for said in desk.all_heard(Said) if said.twin.startswith("zuno setting")][-1]


async def test_a_dead_endpoint_is_replaced_from_the_desk(
    devnet: DevnetReady, tmp_path: Path
) -> None:
    written = f'# mine\nnetwork = "devnet"\n\n[rpc]\ndevnet = "{DEAD}"  # slow\n'
    async with sitting(_opening(tmp_path, written)) as desk:
        await desk.until(StatusChanged, lambda told: told.view.trouble is not None)
        await desk.ask(Show("settings"))
        before = desk.heard_last(SettingsReady)
        await desk.ask(ChangeSetting("rpc.devnet", "nowhere"))
        refused = _answer(desk)
        await desk.ask(ChangeSetting("rpc.devnet", devnet.url))
        kept = _answer(desk)
        rows = await desk.until(PositionsChanged, lambda told: bool(told.view.rows))
        await desk.ask(ChangeSetting("limits.daily_usd", "500"))
        await desk.ask(ChangeSetting("debate.profile", "aggressive"))
        overruled = _answer(desk)
        after = {row.name: row for row in desk.heard_last(SettingsReady).rows}

    assert (refused.tone, kept.tone, overruled.tone) == ("bad", "good", "warn")
    assert kept.twin == "zuno setting rpc.devnet …"
    assert rows.view.stale is None
    assert (after["limits.daily_usd"].value, after["limits.daily_usd"].origin) == (
        "500",
        "settings.toml",
    )
    assert after["debate.profile"].value == "balanced"
    assert "CANARY1" not in str(before) + str(desk.heard_last(SettingsReady))
    assert (
        (tmp_path / "settings.toml")
        .read_text()
        .startswith(f'# mine\nnetwork = "devnet"\n\n[rpc]\ndevnet = "{devnet.url}"  # slow\n')
    )
