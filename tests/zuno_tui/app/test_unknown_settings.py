"""A setting that is not understood is an alert of the monitor, until it is fixed."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.zuno_tui.gate.taken_back import desk_at

if TYPE_CHECKING:
    from pathlib import Path
    from typing import Any

    import pytest

    from chain.devnet.launch import DevnetReady
    from tests.zuno_tui.gate.desk import Desk


def _about_settings(desk: Desk) -> list[dict[str, Any]]:
    told = desk.here("alerts", "--all", "--json").data["alerts"]
    return [one for one in told if one["kind"] == "setting_unknown"]


def test_the_monitor_watches_on_and_tells_of_it_once(
    devnet: DevnetReady, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with desk_at(devnet, tmp_path, capsys) as desk:
        home = desk.command.home
        home.mkdir(mode=0o700)
        settings = home / "settings.toml"
        settings.write_text("[limits]\ndayly_usd = 7\n")
        for _ in range(2):
            watched = desk.here("monitor", "--once")
            assert watched.code == 0, watched.words
        [told] = _about_settings(desk)
        others = len(desk.here("alerts", "--json").data["alerts"])
        settings.write_text("[limits]\ndaily_usd = 7\n")
        desk.here("monitor", "--once")
        [mended] = _about_settings(desk)

    assert (told["state"], told["severity"], told["episode"]) == ("open", "warning", 1)
    assert "Did you mean 'daily_usd'?" in told["message"]
    assert "Nothing is approved or signed" in told["message"]
    assert others > 1, "positions are watched as ever"
    assert (mended["id"], mended["state"]) == (told["id"], "resolved")
