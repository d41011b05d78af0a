"""Small words of the screen: ages in calm steps, keys by their ids, bars and pictures."""

from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace
from textual.binding import Binding
from textual.widget import Widget

from zuno_tui.present.charts import survival_bar
from zuno_tui.screen.keys import ALL, KeymapError, keymap_from
from zuno_tui.screen.panes.frame import ago, coarse_age
from zuno_tui.screen.panes.plan import range_line, scale_of
from zuno_tui.screen.panes.row_table import TableColumn, laid_out
from zuno_tui.screen.themes import fitting_theme

ROOT = Path(__file__).parents[3]


@pytest.mark.parametrize(
    ("seconds", "words"),
    [
        (-5, "just now"),
        (0, "just now"),
        (19.9, "just now"),
        (20, "<1 min"),
        (60, "1 min"),
        (299, "4 min"),
        (599, "5 min"),
        (600, "10 min"),
        (7_200, "2 h"),
        (200_000, "2 d"),
    ],
)
def test_ages_move_in_steps(seconds: float, words: str) -> None:
    assert coarse_age(seconds) == words
    assert ago(seconds) == (words if words == "just now" else f"{words} ago")


def test_an_hour_of_idling_redraws_an_age_few_times() -> None:
    assert len({coarse_age(second) for second in range(3_600)}) <= 20


def test_every_key_has_an_id_of_its_own_a_tooltip_and_keys_that_survive_ssh() -> None:
    different = set(ALL)
    assert len({key.id for key in different}) == len(different)
    for key in ALL:
        assert key.tooltip
        for each in key.key.split(","):
            assert each not in {"ctrl+i", "ctrl+m", "ctrl+h", "ctrl+space", "ctrl+enter"}
            assert not each.startswith(("alt+", "shift+enter"))


def test_every_key_a_pane_or_screen_has_can_be_given_another() -> None:
    for module in ("panes", "screens"):
        for path in (ROOT / "zuno_tui" / "screen" / module).glob("*.py"):
            import_module(f"zuno_tui.screen.{module}.{path.stem}")
    for feature in (ROOT / "zuno_tui" / "features").glob("*/screen.py"):
        import_module(f"zuno_tui.features.{feature.parent.name}.screen")
    fixed = {"confirm", "first"}
    found = {
        binding.id
        for widget in _subclasses(Widget)
        if widget.__module__.startswith("zuno_tui.")
        for binding in widget.BINDINGS
        if isinstance(binding, Binding) and binding.id is not None
    }

    assert {name for name in found if name.partition(".")[0] not in fixed} == {
        key.id for key in ALL
    }


def _subclasses(kind: type[Widget]) -> Iterator[type[Widget]]:
    for each in kind.__subclasses__():
        yield each
        yield from _subclasses(each)


def test_a_keymap_names_what_it_does_not_know() -> None:
    assert keymap_from({"desk.zoom": "Z,ctrl+z"}) == {"desk.zoom": "Z,ctrl+z"}
    with pytest.raises(KeymapError, match=r"Did you mean 'desk\.zoom'"):
        keymap_from({"desk.zom": "Z"})
    with pytest.raises(KeymapError, match="must be a text"):
        keymap_from({"desk.zoom": 3})


@pytest.mark.parametrize(
    ("environment", "chosen", "theme"),
    [
        ({"TERM": "xterm-256color"}, None, "zuno-dark"),
        ({"TERM": "linux"}, None, "zuno-16"),
        ({"TERM": "xterm", "COLORTERM": "truecolor"}, None, "zuno-dark"),
        ({"TERM": "xterm"}, "zuno-light", "zuno-light"),
        ({"TERM": "xterm-256color", "NO_COLOR": "1"}, "zuno-light", "colourless"),
    ],
)
def test_the_theme_fits_the_terminal_and_the_wish(
    environment: dict[str, str], chosen: str | None, theme: str
) -> None:
    assert fitting_theme(chosen, environment) == theme


def test_a_survival_bar_is_as_full_as_its_chance() -> None:
    assert survival_bar(0.5, 8) == "━━━━       50%"
    assert survival_bar(1.0, 4) == "━━━━  100%"
    assert survival_bar(0.9996, 4) == "━━━━  100%"
    assert survival_bar(0.999, 4) == "━━━╸ 99.9%"
    assert survival_bar(0.0004, 4) == "0.04%"
    assert survival_bar(None, 8) == "–"


ranges = st.tuples(st.integers(-900_000, 900_000), st.integers(1, 900_000)).map(
    lambda pair: (pair[0], pair[0] + pair[1])
)


@given(st.lists(ranges, min_size=1, max_size=6), st.integers(10, 120))
def test_every_range_draws_on_the_common_scale(edges: list[tuple[int, int]], width: int) -> None:
    scale = scale_of(edges, width)
    places = set()
    for each in edges:
        line = range_line(each, scale)
        assert len(line) == width
        (price,) = [place for place, cell in enumerate(line) if cell in "●○"]
        places.add(price)
        assert (line[price] == "●") == (each[0] <= 0 < each[1])
    assert len(places) == 1


columns = st.lists(
    st.builds(
        TableColumn, st.just("T"), st.integers(0, 9), st.integers(1, 30), grows=st.booleans()
    ),
    min_size=1,
    max_size=12,
)


@given(columns, st.integers(32, 200), st.randoms(use_true_random=False))
def test_columns_never_take_more_than_there_is(
    columns: list[TableColumn], room: int, chance: Random
) -> None:
    columns = [
        replace(column, grows=column.grows and not place) for place, column in enumerate(columns)
    ]
    widths = [chance.randint(0, column.most) for column in columns]

    layout = laid_out(columns, widths, room)

    taken = sum(place.width for place in layout.places) + layout.gap * (len(layout.places) - 1)
    assert taken <= room
    assert all(place.width >= 1 for place in layout.places)
    ranks = [columns[place.column].rank for place in layout.places]
    given_up = [
        column.rank
        for place, (column, width) in enumerate(zip(columns, widths, strict=True))
        if width and place not in {each.column for each in layout.places}
    ]
    assert not given_up or max(ranks, default=0) <= min(given_up)
