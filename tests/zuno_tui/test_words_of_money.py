"""Net, profit, vs hold: one word, one figure, one function, wherever they are shown."""

import re
from pathlib import Path

from chain.base.units import DAY
from chain.bookkeeping.results import YEARLY_FROM
from zuno_tui.present.glossary import GLOSSARY

ROOT = Path(__file__).parents[2]
PLACES = {
    "net": "def in_period(self, count: int",
    "profit": "def result(self)",
    "against holding": "def gain(now: Amounts",
}
"""Where each is computed: once in all the code."""
SHOWN = ("zuno_tui/app", "zuno_tui/present", "zuno_tui/screen", "zuno_tui/desk", "agents/monitor")


def _sources(*folders: str) -> dict[str, str]:
    return {
        str(path.relative_to(ROOT)): path.read_text("utf-8")
        for folder in folders
        for path in sorted((ROOT / folder).rglob("*.py"))
    }


def test_each_of_the_three_words_has_one_function() -> None:
    found = _sources("chain", "agents", "zuno_tui")
    for word, computed in PLACES.items():
        places = [path for path, text in found.items() if computed in text]
        if word == "profit":
            places = [path for path in places if path.startswith("chain/bookkeeping")]
        assert len(places) == 1, (word, places)


def test_the_glossary_tells_the_three_apart() -> None:
    told = {term.name: term.meaning for term in GLOSSARY}
    assert "Fees less LVR" in told["net"]
    assert "Money out less money in" in told["profit"]
    assert "tokens that went into it" in told["against holding"]


def test_no_place_calls_any_of_them_a_result() -> None:
    """A result is what a transaction, a test or a debate came to."""
    shown = re.compile(r"""["'](?:RESULT>?|result|by result)["']""")
    money = [
        path
        for path, text in _sources(*SHOWN).items()
        if path.rpartition("/")[2] in ("earned.py", "history.py", "positions.py", "portfolio.py")
        and shown.search(text)
    ]
    assert money == []


def test_a_rate_of_a_year_needs_thirty_days() -> None:
    assert YEARLY_FROM == 30 * DAY
