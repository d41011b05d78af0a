"""Every word on a card and over a column is explained, and no other."""

import pytest

from tests.zuno_tui.screen.scenes import MORNING, desk_app, play, text_of
from zuno_tui.catalog.registry import registry
from zuno_tui.present.plan_card import ALERT_TERMS, FIGURES, PLAN_TERMS, POSITION_TERMS
from zuno_tui.screen.panes.alerts import AlertsPane
from zuno_tui.screen.panes.positions import PositionsPane


def test_every_figure_of_a_plan_is_explained() -> None:
    explained = {word.strip() for term in PLAN_TERMS for word in term.split(",")}

    assert {*FIGURES} <= explained
    assert explained - {*FIGURES} == {"Keep", "Close", "A", "B", "C", "range"}


def test_every_column_is_explained() -> None:
    assert [column.title.strip() for column in PositionsPane()._columns] == [*POSITION_TERMS]
    assert [column.title for column in AlertsPane()._columns] == [*ALERT_TERMS]


@pytest.mark.real_time
async def test_help_is_grouped_by_what_one_wants() -> None:
    async with desk_app().run_test(size=(120, 36)) as pilot:
        await play(pilot, *MORNING)
        await pilot.press("4", "question_mark")
        await pilot.pause()
        told = " ".join(text_of(pilot, "#help-left").split())

    assert all(meaning in told for meaning in PLAN_TERMS.values())
    assert told.index("KEYS") < told.index("WORDS") < told.index("PHRASES")
    groups = [registry().group_of(verb) for verb in registry().verbs]
    assert told.count("PHRASES") == len({*groups}), "each group once"
    assert all(verb.usage_text in told for verb in registry().verbs)
