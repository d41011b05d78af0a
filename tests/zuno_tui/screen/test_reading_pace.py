"""A debate at the pace of somebody who reads it: by a clock of the test's own, never by waiting."""

from msgspec.structs import replace
from textual.pilot import Pilot

from agents.bus.envelope import SpokenCell, SpokenRow, SpokenTable
from tests.zuno_tui.screen.scenes import PLAN, TURNS, desk_app, play
from zuno_tui.desk.events import DebateChanged, PlanChanged, ProseHeard, TurnEnded, ViewAsked
from zuno_tui.present.views import DebateView, TurnView
from zuno_tui.screen.panes.debate import LEAST_SECONDS, MOST_SECONDS, DebatePane, ReadingPace
from zuno_tui.screen.screens.desk import DeskScreen

VIEW = DebateView("req_7", "position #7")
SPOKEN = [TurnView("scout", 0, f"{name} " * 20) for name in ("one", "two", "three")]
TABLE = SpokenTable(
    columns=("buffer", "net 7 d"),
    rows=(
        SpokenRow(name="HOLD", cells=(SpokenCell(text="–"), SpokenCell(text="$3.10"))),
        SpokenRow(
            name="A",
            cells=(SpokenCell(text="4 days", passed=True), SpokenCell(text="$9", passed=False)),
        ),
    ),
)


class Clock:
    """Stands still until it is moved."""

    def __init__(self) -> None:
        self.now = 1_000.0

    def __call__(self) -> float:
        return self.now


def _pane(pilot: Pilot[None]) -> DebatePane:
    return pilot.app.screen.query_one(DebatePane)


def _shown(pilot: Pilot[None]) -> list[str]:
    return [block.words for block in _pane(pilot).blocks]


def _front(pilot: Pilot[None]) -> str:
    screen = pilot.app.screen
    assert isinstance(screen, DeskScreen)
    return screen.front


def test_a_turn_waits_until_the_one_before_could_be_read() -> None:
    clock = Clock()
    pace = ReadingPace(600, clock)
    assert pace.hear(SPOKEN[0]) == [SPOKEN[0]]
    assert pace.hear(SPOKEN[1]) == []
    assert (pace.waiting_turns, pace.seconds_left) == (1, 2.0)
    clock.now += 1.9
    assert pace.due() == []
    clock.now += 0.2
    assert pace.due() == [SPOKEN[1]]
    assert pace.hear(SPOKEN[2]) == []
    assert pace.all_at_once() == [SPOKEN[2]]
    assert pace.seconds_left == 0


def test_no_turn_is_gone_in_a_blink_and_none_holds_the_rest_up() -> None:
    clock = Clock()
    for words, least, most in (("a", LEAST_SECONDS, 1.0), ("a " * 10_000, 2.0, MOST_SECONDS)):
        pace = ReadingPace(450, clock)
        pace.hear(TurnView("scout", 0, words))
        assert least <= pace.seconds_left <= most
    pace = ReadingPace(450, clock)
    pace.hear(TurnView("scout", 0, "a", table=TABLE))
    assert pace.seconds_left > LEAST_SECONDS


def test_without_a_pace_everything_is_shown_as_it_comes() -> None:
    pace = ReadingPace(0, Clock())
    assert [pace.hear(turn) for turn in SPOKEN] == [[turn] for turn in SPOKEN]
    assert (pace.waiting_turns, pace.seconds_left) == (0, 0)


def test_what_was_read_while_it_was_written_does_not_wait() -> None:
    pace = ReadingPace(600, Clock())
    pace.hear(SPOKEN[0])
    assert pace.hear(SPOKEN[1], read_already=True) == [SPOKEN[1]]


async def test_the_pane_shows_turn_by_turn_and_a_key_shows_the_rest() -> None:
    clock = Clock()
    app = desk_app(pace=ReadingPace(60, clock))
    async with app.run_test(size=(120, 36)) as pilot:
        await play(pilot, DebateChanged(VIEW), *map(TurnEnded, SPOKEN))
        ended = replace(VIEW, turns=tuple(SPOKEN), ended="The plan is HOLD.")
        await play(pilot, DebateChanged(ended))
        pane = _pane(pilot)
        assert _shown(pilot) == [SPOKEN[0].text]
        assert "2 more · space shows all" in str(pane.border_subtitle)
        assert not pane.query(".ending")

        clock.now += MOST_SECONDS
        pane.read_on()
        await pilot.pause()
        assert _shown(pilot) == [turn.text for turn in SPOKEN[:2]]

        await pilot.press("3", "space")
        await pilot.pause()
        assert _shown(pilot) == [turn.text for turn in SPOKEN]
        assert "HOLD" in str(pane.query_one(".ending").render())
        assert not pane.is_being_read


async def test_what_comes_from_a_record_is_there_at_once() -> None:
    async with desk_app(pace=ReadingPace(60, Clock())).run_test() as pilot:
        await play(pilot, DebateChanged(replace(VIEW, turns=tuple(SPOKEN), ended="Done.")))
        assert _shown(pilot) == [turn.text for turn in SPOKEN]
        assert not _pane(pilot).is_being_read


async def test_the_next_debate_does_not_wait_for_the_one_before() -> None:
    async with desk_app(pace=ReadingPace(60, Clock())).run_test() as pilot:
        await play(pilot, DebateChanged(VIEW), *map(TurnEnded, SPOKEN))
        await play(pilot, DebateChanged(replace(VIEW, request_id="req_8")), TurnEnded(TURNS[0]))
        assert _shown(pilot) == [TURNS[0].text]


async def test_words_that_are_being_written_stand_behind_those_that_wait() -> None:
    clock = Clock()
    async with desk_app(pace=ReadingPace(60, clock)).run_test() as pilot:
        await play(pilot, DebateChanged(VIEW), TurnEnded(SPOKEN[0]), TurnEnded(SPOKEN[1]))
        await play(pilot, ProseHeard("critic", "I object"))
        _pane(pilot)._flush()
        assert _shown(pilot) == [SPOKEN[0].text]
        await pilot.press("3", "space")
        _pane(pilot)._flush()
        assert _shown(pilot) == [SPOKEN[0].text, SPOKEN[1].text, "I object"]


async def test_at_80x24_the_plan_comes_when_the_debate_could_be_read() -> None:
    clock = Clock()
    async with desk_app(pace=ReadingPace(60, clock)).run_test(size=(80, 24)) as pilot:
        await play(pilot, DebateChanged(VIEW), ViewAsked("debate"), TurnEnded(SPOKEN[0]))
        await play(pilot, PlanChanged(None), ViewAsked("plan"))
        assert _front(pilot) == "debate"
        clock.now += MOST_SECONDS
        _pane(pilot).read_on()
        await pilot.pause()
        assert _front(pilot) == "plan"


async def test_the_second_debate_is_read_as_the_first_though_a_plan_stands_there() -> None:
    async with desk_app(pace=ReadingPace(60, Clock())).run_test(size=(120, 36)) as pilot:
        await play(pilot, PlanChanged(PLAN), ViewAsked("plan"))
        await play(
            pilot,
            DebateChanged(VIEW),
            ViewAsked("debate"),
            TurnEnded(SPOKEN[0]),
            PlanChanged(replace(PLAN, plan_id="plan_2")),
            ViewAsked("plan"),
        )
        assert _front(pilot) == "debate"


async def test_where_both_are_seen_the_plan_waits_for_nobody() -> None:
    async with desk_app(pace=ReadingPace(60, Clock())).run_test(size=(200, 50)) as pilot:
        await play(pilot, PlanChanged(PLAN), DebateChanged(VIEW), ViewAsked("debate"))
        await play(pilot, TurnEnded(SPOKEN[0]))
        await play(pilot, ViewAsked("plan"))
        assert _front(pilot) == "plan"


async def test_a_plan_comes_to_whoever_watched_the_debate_however_long_it_took() -> None:
    async with desk_app().run_test(size=(140, 40)) as pilot:
        await play(pilot, DebateChanged(VIEW), ViewAsked("debate"), TurnEnded(SPOKEN[0]))
        await play(pilot, DebateChanged(replace(VIEW, ended="The plan is HOLD.")))
        await play(pilot, PlanChanged(PLAN))
        assert _front(pilot) == "plan"
        await pilot.press("3")
        await play(pilot, PlanChanged(replace(PLAN, decided="otherwise")))
        assert _front(pilot) == "debate", "a plan that is known does not come again"


async def test_whoever_has_gone_elsewhere_meanwhile_is_left_there() -> None:
    clock = Clock()
    async with desk_app(pace=ReadingPace(60, clock)).run_test(size=(80, 24)) as pilot:
        await play(pilot, DebateChanged(VIEW), ViewAsked("debate"), TurnEnded(SPOKEN[0]))
        await play(pilot, ViewAsked("plan"))
        await pilot.press("2")
        clock.now += MOST_SECONDS
        _pane(pilot).read_on()
        await pilot.pause()
        assert _front(pilot) == "alerts"


async def test_a_table_is_drawn_in_columns_or_row_by_row() -> None:
    turn = TurnView("critic", 1, "Look.", table=TABLE)
    for size, columns in (((120, 36), True), ((20, 24), False)):
        async with desk_app().run_test(size=size) as pilot:
            await play(pilot, DebateChanged(replace(VIEW, turns=(turn,))), ViewAsked("debate"))
            await pilot.pause()
            block = _pane(pilot).blocks[0]
            lines = str(block.content).split("\n")
            assert not columns or block.size.height == len(lines)
            assert ("HOLD       –    $3.10" in lines) == columns
            assert ("A: buffer 4 days · net 7 d ✗ $9" in lines) != columns
