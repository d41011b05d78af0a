"""A venue is one folder: what it can do is data, and nothing else knows its name."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from chain.exchange.orders import venues
from chain.exchange.orders.venues import venue_entries
from zuno_tui.cli import main
from zuno_tui.present.exit_codes import DONE

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = Path(__file__).parents[3]
DRAFT = """
from chain.exchange.orders.venue import Venue, VenueEntry, VenueOpening
from chain.exchange.orders.venues.paper import ABILITIES


def _open(opening: VenueOpening) -> Venue:
    from chain.exchange.orders.venues.paper.venue import PaperTerms, PaperVenue

    return PaperVenue(opening.paper, opening.market, PaperTerms())


ENTRIES = (
    VenueEntry(name="draft", title="Draft", what="nowhere yet", abilities=ABILITIES, open=_open),
)
"""


@pytest.fixture
def draft(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    folder = tmp_path / "venues" / "draft"
    folder.mkdir(parents=True)
    (folder / "__init__.py").write_text(DRAFT, "utf-8")
    monkeypatch.setattr(venues, "__path__", [*venues.__path__, str(folder.parent)])
    venue_entries.cache_clear()
    yield
    venue_entries.cache_clear()


@pytest.mark.usefixtures("draft")
def test_a_venue_is_there_once_its_folder_is(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    home = tmp_path / "home"
    home.mkdir()
    settings = home / "settings.toml"
    settings.write_text('[trade]\nvenue = "draft"\n', "utf-8")
    settings.chmod(0o600)

    assert main(["--home", str(home), "venue"]) == DONE
    assert "Orders go to draft: nowhere yet." in capsys.readouterr().out


def test_without_its_folder_it_is_not_there() -> None:
    assert "draft" not in venue_entries()
    assert {"paper", "live", "demo", "upbit", "hyperliquid"} <= set(venue_entries())


def test_nothing_else_compares_with_a_venue_s_name() -> None:
    names = "|".join(name for name in venue_entries() if name != "paper")
    compared = re.compile(rf"""(==|!=|\bis\b|\bin\b|case|startswith\() *\(?f?["']({names})["':]""")
    places = [ROOT / "agents/trade", ROOT / "zuno_tui/features/trade", ROOT / "chain/exchange"]
    found = [
        f"{path.relative_to(ROOT)}: {line.strip()}"
        for place in places
        for path in place.rglob("*.py")
        if "venues" not in path.parts
        for line in path.read_text("utf-8").splitlines()
        if compared.search(line)
    ]
    assert found == []
