"""The debate as it streams: one block a turn, struck claims struck, the reader left in peace."""

from msgspec.structs import replace
from textual.pilot import Pilot

from agents.bus.envelope import (
    Role,
    SpokenCell,
    SpokenRow,
    SpokenTable,
    StruckClaim,
    Thought,
)
from agents.bus.run import SpokenTurn
from tests.zuno_tui.screen.scenes import (
    DEBATE,
    PLAN,
    TURNS,
    desk_app,
    play,
    text_of,
    until,
)
from zuno_tui.desk.debates import turn_view
from zuno_tui.desk.events import (
    DebateChanged,
    PlanChanged,
    ProseHeard,
    ThinkingHeard,
    TurnEnded,
    ViewAsked,
)
from zuno_tui.present.views import DebateView, Struck, TurnView
from zuno_tui.screen.panes.debate import (
    LEAST_SECONDS,
    MOST_SECONDS,
    MOST_TURNS,
    DebatePane,
    ReadingPace,
    turn_table,
    turn_text,
)
from zuno_tui.screen.screens.desk import DeskScreen

EMPTY = DebateView("req_2", "#9 WETH/USDC 0.05%")


def _pane(pilot: Pilot[None]) -> DebatePane:
    return pilot.app.screen.query_one(DebatePane)


def _told(pilot: Pilot[None]) -> list[str]:
    return [str(block.content) for block in _pane(pilot).blocks]


async def test_prose_grows_in_one_block_a_speaker_and_the_turn_takes_its_place() -> None:
    async with desk_app().run_test(size=(120, 36)) as pilot:
        await play(pilot, DebateChanged(EMPTY))
        await play(pilot, ProseHeard("scout", "The pool "), ProseHeard("critic", "I object"))
        await play(pilot, ProseHeard("scout", "is calm."))
        spoken = ["SCOUT  speaking…\nThe pool is calm.", "CRITIC  speaking…\nI object"]
        await until(pilot, lambda: _told(pilot) == spoken)

        await play(pilot, TurnEnded(TurnView("scout", 1, "The pool is calm today.")))
        assert _told(pilot)[0] == "SCOUT  round 1\nThe pool is calm today."
        await play(pilot, TurnEnded(TurnView("arbiter", 2, "Move 1.")))
        assert _told(pilot)[2] == "ARBITER  round 2\nMove 1."


async def test_a_model_that_thinks_is_seen_to_until_it_speaks() -> None:
    async with desk_app().run_test() as pilot:
        await play(pilot, DebateChanged(EMPTY))
        for seconds in (0, 12):
            await play(pilot, ThinkingHeard("scout", seconds))
        assert _told(pilot) == ["SCOUT  thinking … 12 s\n"]
        await play(pilot, ProseHeard("scout", "Calm."))
        await until(pilot, lambda: _told(pilot) == ["SCOUT  speaking…\nCalm."])


async def test_tokens_are_gathered_before_they_are_drawn() -> None:
    async with desk_app().run_test() as pilot:
        await play(pilot, DebateChanged(EMPTY))
        for _ in range(50):
            _pane(pilot).hear_prose("scout", "word ")
        assert _told(pilot) == []
        await until(pilot, lambda: _told(pilot) != [])
        assert _told(pilot) == ["SCOUT  speaking…\n" + "word " * 50]


async def test_a_debate_that_ends_drops_what_was_half_said_and_says_how() -> None:
    async with desk_app().run_test() as pilot:
        await play(pilot, DebateChanged(replace(EMPTY, turns=TURNS[:1])))
        await play(pilot, ProseHeard("critic", "I was about to"))
        await until(pilot, lambda: "I was about to" in _told(pilot)[-1])
        await play(pilot, DebateChanged(replace(EMPTY, turns=TURNS[:1], ended="Cancelled.")))

        assert [text.split("\n")[0] for text in _told(pilot)] == ["SCOUT  round 1"]
        assert "Cancelled." in str(_pane(pilot).query_one(".ending").render())


async def test_the_next_debate_starts_on_a_clean_page_and_pages_stay_bounded() -> None:
    async with desk_app().run_test() as pilot:
        for number in range(4):
            view = replace(DEBATE, request_id=f"req_{number}", ended="Done.")
            await play(pilot, DebateChanged(view))
        assert len(_told(pilot)) == len(TURNS)

        await play(pilot, DebateChanged(EMPTY))
        for number in range(MOST_TURNS + 15):
            _pane(pilot).end_turn(TurnView("critic", number, "No."))
        await pilot.pause()
        assert len(_told(pilot)) == MOST_TURNS
        assert _told(pilot)[-1] == f"CRITIC  round {MOST_TURNS + 14}\nNo."

        turns = tuple(TurnView("critic", number, "No.") for number in range(MOST_TURNS + 15))
        await play(pilot, DebateChanged(replace(EMPTY, turns=turns, ended="Done.")))
        assert len(_told(pilot)) == MOST_TURNS


async def test_an_ended_debate_opens_where_a_turn_begins_and_names_who_goes_on() -> None:
    turns = (TurnView("scout", 1, "line\n" * 14), *(TurnView("critic", 1, "line\n" * 9),) * 3)
    async with desk_app().run_test(size=(120, 36)) as pilot:
        await pilot.press("3", "z")
        await play(pilot, DebateChanged(replace(EMPTY, turns=turns, ended="Done.")))
        await pilot.pause(0.2)
        pane = _pane(pilot)
        ending = pane.query_one(".ending")

        assert pane.scroll_y in [block.virtual_region.y for block in pane.blocks[1:]]
        assert f"▲ {round(pane.scroll_y)} more" in str(ending.border_subtitle)
        assert "CRITIC" in f"{ending.border_subtitle} {pane.blocks[1].content}"
        await pilot.press("g")
        assert not ending.border_subtitle, "the name is in sight, and nothing is above"
        await pilot.press("down")
        assert "SCOUT" in str(ending.border_subtitle)


async def test_an_ended_debate_gives_its_air_for_being_seen_at_once() -> None:
    long = tuple(TurnView("scout", 1, "line\n" * 7 + "line") for _ in range(3))
    for lines, classes in ((8, {"-dense"}), (10, {"-dense", "-flush"}), (11, set()), (2, set())):
        turns = (*long[:2], TurnView("scout", 1, "line\n" * (lines - 1) + "line"))
        async with desk_app().run_test(size=(120, 36)) as pilot:
            await pilot.press("3", "z")
            await play(pilot, DebateChanged(replace(EMPTY, turns=turns, ended="Done.")))
            await pilot.pause(0.3)
            pane = _pane(pilot)
            assert {"-dense", "-flush"} & pane.classes == classes, lines
            assert (pane.max_scroll_y > 0) is (lines == 11), lines


def test_what_was_chosen_has_a_star_and_what_passed_no_colour() -> None:
    cells = (SpokenCell(text="49 h", passed=True), SpokenCell(text="late", passed=False))
    rows = tuple(SpokenRow(name=name, cells=cells) for name in ("A widen", "B shift"))
    turn = TurnView("critic", 1, "", table=SpokenTable(columns=("lasts", "pays"), rows=rows))

    _, chosen, other = turn_table(turn, 80, "A")

    assert chosen.plain.startswith("★ A widen")
    assert other.plain.startswith("B shift")
    styles = {str(span.style) for span in other.spans}
    assert styles == {"$quiet", "$error"}


async def test_beside_its_plan_a_debate_does_not_repeat_its_figures() -> None:
    cells = tuple(SpokenCell(text=text) for text in ("allowed", "49 h", "0.16 ×"))
    rows = (
        SpokenRow(name="Keep", cells=(*[SpokenCell(text="–")] * 3,)),
        SpokenRow(name="A widen", cells=cells),
    )
    columns = ("judged", "lasts (95%)", "gas ÷ fees")
    turn = TurnView("critic", 1, "Look.", table=SpokenTable(columns=columns, rows=rows))
    ended = DebateView("req_2", "#7", (turn,), ended=f"{PLAN.recommendation} By critic.")
    async with desk_app().run_test(size=(200, 50)) as pilot:
        await play(pilot, DebateChanged(ended))
        await pilot.pause()
        assert "lasts (95%)" in _told(pilot)[0]
        await play(pilot, PlanChanged(PLAN))
        await pilot.pause()
        assert "gas ÷ fees" in _told(pilot)[0]
        assert not any(words in _told(pilot)[0] for words in ("lasts", "judged", "Keep"))
        await pilot.press("3", "z")
        await pilot.pause()
        assert "lasts (95%)" in _told(pilot)[0], "alone it says everything"
        another = replace(PLAN, recommendation="Keep #9 as it is. It pays.")
        await pilot.press("z")
        await play(pilot, PlanChanged(another))
        await pilot.pause()
        assert "lasts (95%)" in _told(pilot)[0], "the plan in sight is another's"


def test_of_a_table_turned_over_no_row_is_grey() -> None:
    cells = tuple(SpokenCell(text="long words to turn it over", passed=False) for _ in range(4))
    rows = tuple(SpokenRow(name=name, cells=cells) for name in ("A widen", "B shift"))
    spoken = SpokenTable(columns=("lasts", "pays", "net", "cost"), rows=rows)

    _, *figures = turn_table(TurnView("critic", 1, "", table=spoken), 80, "A")

    assert [line.plain.split()[0] for line in figures] == ["lasts", "pays", "net", "cost"]
    assert {str(span.style) for line in figures for span in line.spans} == {"$error"}


def test_what_a_speaker_comes_to_begins_in_bold() -> None:
    words = "The plan is A 2.5% wide, chosen over C: it gains $3."
    told, other = (
        turn_text(TurnView("critic", 1, words, concludes=concludes)) for concludes in (True, False)
    )

    (bold,) = [span for span in told.spans if str(span.style) == "bold"]
    assert told.plain[bold.start : bold.end] == "The plan is A 2.5% wide"
    assert not other.spans
    assert told.plain == other.plain == words


async def test_scrolling_up_is_left_in_peace_until_the_reader_returns() -> None:
    long = TurnView("scout", 1, "line\n" * 60)
    async with desk_app().run_test(size=(120, 36)) as pilot:
        await play(pilot, DebateChanged(replace(EMPTY, turns=(long,))))
        await pilot.pause()
        pane = _pane(pilot)
        assert pane.scroll_y == pane.max_scroll_y > 0
        await pilot.press("3", "g")
        await play(pilot, TurnEnded(long))
        await pilot.pause()
        assert pane.scroll_y == 0
        for keys in (("G",), ("g", *("pagedown",) * 20)):
            await pilot.press(*keys)
            await play(pilot, TurnEnded(long))
            await pilot.pause()
            assert pane.scroll_y == pane.max_scroll_y


async def test_sources_and_folding() -> None:
    async with desk_app().run_test(size=(120, 36)) as pilot:
        await play(pilot, DebateChanged(DEBATE))
        await pilot.press("3", "s")
        assert "[vol.24h]" in _told(pilot)[0]
        await pilot.press("s", "f")
        assert _told(pilot)[1].startswith("STRATEGIST  round 1  I propose a wider range")
        assert all("\n" not in text for text in _told(pilot))
        await pilot.press("f")
        assert "\n" in _told(pilot)[1]


async def test_a_word_is_found_and_the_next_one_too() -> None:
    async with desk_app().run_test(size=(120, 36)) as pilot:
        await play(pilot, DebateChanged(DEBATE))
        await pilot.press("3", "slash", *"FLOOR", "enter")
        await pilot.pause()
        pane = _pane(pilot)
        assert pane.has_focus
        assert "1 of 1 turns with 'FLOOR'" in str(pane.border_subtitle)
        assert pane.scroll_y >= 0
        await pilot.press("slash", *"the", "enter", "n")
        await pilot.pause()
        assert "2 of 2" in str(pane.border_subtitle)
        await pilot.press("N")
        assert "1 of 2" in str(pane.border_subtitle)
        await pilot.press("slash", *"nowhere", "enter")
        await pilot.pause()
        assert "nowhere in the debate" in str(pane.border_subtitle)
        await pilot.press("slash", "x")
        assert text_of(pilot, "#keys") == "esc back"
        await pilot.press("escape")
        await pilot.pause()
        assert pane.has_focus
        assert not pane.query("#search")


def test_struck_claims_keep_their_place_whatever_is_cleaned_away() -> None:
    turn = TurnView(
        "critic", 1, "It\x1b[2J earns $9.10 and $7.", (Struck(13, 18, "no such number"),)
    )
    assert turn_text(turn).plain == "It[2J earns $9.10 [✗ no such number] and $7."

    overlapping = (Struck(0, 4, "one"), Struck(2, 6, "two"))
    assert turn_text(TurnView("critic", 1, "12345678", overlapping)).plain == "1234 [✗ one]5678"


def test_what_is_struck_is_struck_with_and_without_the_ids_of_numbers() -> None:
    text = "It pays 3 % [n1] against 7 % [n9] of cost."
    struck = (StruckClaim(start=25, end=28, why="unknown"),)
    turn = SpokenTurn(Role("critic"), Thought(round=1, tag="t", text=text, struck=struck))

    view = turn_view(turn)

    for words, marks in ((view.text, view.struck), (view.sourced, view.sourced_struck)):
        assert [words[mark.start : mark.end] for mark in marks] == ["7 %"]
    assert "[n9]" in view.sourced
    for sourced in (False, True):
        assert "7 % [✗ no such number]" in turn_text(view, sourced=sourced).plain


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


async def test_a_debate_that_is_opened_to_be_read_begins_at_its_beginning() -> None:
    turns = tuple(TurnView("critic", number, "No.\n" * 12) for number in range(8))
    told = DebateView("req_9", "why: Keep #9", turns, "Keep #9. It is fine.", from_start=True)
    async with desk_app().run_test(size=(80, 24)) as pilot:
        await play(pilot, DebateChanged(told), ViewAsked("debate"))
        pane = _pane(pilot)
        assert pane.max_scroll_y > 0
        assert pane.scroll_y == 0
        # Whoever reads on is left in peace.
        pane.scroll_to(y=20, animate=False)
        await pilot.resize_terminal(90, 24)
        await pilot.pause()
        assert pane.scroll_y == 20
