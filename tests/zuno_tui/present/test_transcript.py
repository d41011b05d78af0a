"""What agents say is read in the words of the screen: Keep and Close, never HOLD and EXIT."""

import pytest

from agents.bus.envelope import Role, SpokenCell, SpokenRow, SpokenTable, Thought
from agents.bus.run import SpokenTurn
from zuno_tui.desk.debates import turn_view
from zuno_tui.present.transcript import LiveTranscript, readable, turn_line

CRITIC = Role("critic")
SAID = "HOLD nets 9 % more; EXIT costs 12 USD."
TABLE = SpokenTable(
    columns=("over HOLD",),
    rows=(SpokenRow(name="EXIT", cells=(SpokenCell(text="$3 to HOLD"),)),),
)


def _struck() -> Thought:
    place = SAID.index("12 USD")
    struck = {"start": place, "end": place + len("12 USD"), "why": "uncited"}
    document = {
        "round": 1,
        "tag": "critique",
        "text": SAID,
        "struck": [struck],
        "table": TABLE.model_dump(),
    }
    return Thought.model_validate(document, strict=False)


def test_a_turn_says_keep_and_close_also_where_a_number_is_struck() -> None:
    thought = _struck()

    line = turn_line("critic", thought)
    view = turn_view(SpokenTurn(CRITIC, thought))

    assert readable(thought) == "Keep nets 9% more; Close costs 12 USD [✗uncited]."
    assert "over Keep" in line
    assert "HOLD" not in line
    assert "EXIT" not in line
    (struck,) = view.struck
    assert view.text == "Keep nets 9% more; Close costs 12 USD."
    assert view.text[struck.start : struck.end] == "12 USD"


def test_a_word_that_comes_in_pieces_is_told_whole(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("sys.stderr.isatty", lambda: True)
    live = LiveTranscript()

    for piece in ("We HO", "LD, or EX", "IT"):
        live.on_prose(CRITIC, piece)
    live.on_turn(SpokenTurn(CRITIC, Thought(round=0, tag="", text="We HOLD, or EXIT")))

    assert capsys.readouterr().err.endswith("We Keep, or Close\n")
