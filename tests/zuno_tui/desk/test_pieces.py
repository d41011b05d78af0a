"""The desk's small parts by themselves: jobs, the cleaning gate, the guide, the market's speeds."""

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest
from msgspec import convert
from msgspec.structs import replace

from chain.base.store import Store
from chain.contracts.networks import network_named
from chain.protocols.reference import PositionRef, v3_position, v4_position
from tests.virtual_time import pass_time
from zuno_tui.app.market import next_speed
from zuno_tui.desk import jobs
from zuno_tui.desk.cleaning import clean_record
from zuno_tui.desk.debates import SpeakerProse
from zuno_tui.desk.desk import Guide
from zuno_tui.desk.events import (
    DebateChanged,
    Event,
    OutageChanged,
    PlanChanged,
    PositionsChanged,
    ProseHeard,
    Said,
    StatusChanged,
)
from zuno_tui.desk.jobs import Jobs, one_line
from zuno_tui.desk.pages import record_rows
from zuno_tui.desk.reading import remember, remembered_view
from zuno_tui.present.outage import OutageView
from zuno_tui.present.views import (
    ApprovalView,
    DebateView,
    OptionView,
    PlanView,
    PositionRow,
    PositionsView,
    ResultView,
    StatusView,
)
from zuno_tui.settings import SettingsError

HOSTILE = "USDC\x1b]52;c;ZXZpbA==\x07\x9b2J\u202e\nrecipient: 0xEVIL"


def row(
    token_id: int | PositionRef, standing: str = "in range", *, pair: str = "WETH/USDC"
) -> PositionRow:
    return PositionRow(
        ref=token_id if isinstance(token_id, PositionRef) else v4_position(token_id),
        pair=pair,
        fee="0.05%",
        standing=standing,  # type: ignore[arg-type]
        notes=(),
        progress=0.5,
        low="1",
        high="2",
        price="1.5",
        value="$1",
        fees="$0",
        against_holding="+$1",
        against_holding_tone="good",
        net_a_day="+$1",
    )


class Listening:
    def __init__(self) -> None:
        self.said: list[Said] = []
        self.names: list[tuple[str, ...]] = []
        self.jobs = Jobs(
            lambda event: self.said.append(event) if isinstance(event, Said) else None,
            lambda views: self.names.append(tuple(view.words for view in views)),
        )


async def test_a_job_that_fails_is_one_line_and_ends() -> None:
    here = Listening()

    async def failing(_: object) -> None:
        raise SettingsError("No wallet is chosen.\n  Name one.")

    here.jobs.start("one", "Trying", failing, seconds=1)
    await here.jobs.idle()

    assert here.said == [Said("No wallet is chosen. Name one.", "bad")]
    assert here.names == [("Trying",), ()]


async def test_what_nobody_asked_for_is_shown_when_it_takes_long(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(jobs, "_QUIET", 0.02)
    here = Listening()
    here.jobs.start("short", "Looking", lambda _: asyncio.sleep(0), seconds=1, asked=False)
    await here.jobs.idle()
    assert here.names == []

    here.jobs.start("long", "Reading", lambda _: pass_time(0.1), seconds=1, asked=False)
    await here.jobs.idle()
    assert here.names == [("Reading",), ()]


def test_lines_become_one_that_can_still_be_read() -> None:
    words = "Things changed. Nothing was sent.\n  nonce: 3 then, 4 now\n  owner: a\n\nAgain"

    told = "Things changed. Nothing was sent. nonce: 3 then, 4 now; owner: a; Again"
    assert one_line(words) == told


async def test_a_job_that_takes_too_long_is_ended() -> None:
    here = Listening()
    here.jobs.start("one", "Sleeping", lambda _: pass_time(9), seconds=0.01)
    await here.jobs.idle()

    assert "took too long" in here.said[0].words


async def test_jobs_tell_their_progress_and_end_when_asked() -> None:
    here = Listening()

    async def work(progress: object) -> None:
        assert callable(progress)
        progress("Half way")
        await pass_time(9)

    assert here.jobs.start("one", "Beginning", work, seconds=9)
    assert not here.jobs.start("one", "Again", work, seconds=9)
    assert here.jobs.start("fixed", "Signing", work, seconds=9, cancellable=False)
    await asyncio.sleep(0)
    assert here.jobs.cancel(None) == ("one",)
    await pass_time(0.01)
    assert [view.name for view in here.jobs.views] == ["fixed"]
    await here.jobs.close()

    assert ("Half way", "Half way") in here.names
    assert here.said == [Said("Beginning: still running. Wait, or press ctrl+x to cancel.", "warn")]


def test_nothing_that_steers_a_terminal_leaves_the_desk() -> None:
    view = PositionsView(rows=(row(7, pair=HOSTILE),), stale=HOSTILE)
    option = OptionView(HOSTILE, None, True, "", "", "", None, None, None, {HOSTILE: HOSTILE})
    plan = PlanView("p", HOSTILE, "", (option,), (HOSTILE,), 0.0, None)
    for event in (PositionsChanged(view), PlanChanged(plan), Said(HOSTILE, twin=HOSTILE)):
        told = repr(clean_record(event))
        assert "\\x" not in told
        assert "\\u202e" not in told
        assert "\\n" not in told
        assert "USDC]52;c;ZXZpbA==2J recipient: 0xEVIL" in told


def test_a_wide_view_passes_the_gate_without_being_copied() -> None:
    event = PositionsChanged(PositionsView(rows=tuple(row(number) for number in range(500))))

    assert clean_record(event) is event


def test_prose_is_told_as_it_is_heard_without_the_ids_of_its_numbers() -> None:
    heard: list[Event] = []
    reader = SpeakerProse(heard.append)
    said = "The floor is 24 h [n1], and (as n2 and n3 say) it holds [n2, n3]. " * 4
    for start in range(0, len(said), 3):
        reader.hear("critic", said[start : start + 3])

    pieces = [event.text for event in heard if isinstance(event, ProseHeard)]
    assert pieces[0] == "The"
    assert "".join(pieces).strip() == said.replace(" [n1]", "").replace(" [n2, n3]", "").strip()


def test_speeds_go_up_and_down_a_ladder() -> None:
    assert [next_speed(speed, "faster") for speed in (0, 1, 60, 1200)] == [1, 10, 300, 1200]
    assert [next_speed(speed, "slower") for speed in (1, 45, 1200)] == [1, 10, 300]


def plan(**changes: object) -> PlanView:
    option = OptionView("1 widen", "1", True, "accept", "1", "2", 0.5, 0.9, 0.5, {"cost": "$5.17"})
    made = PlanView("plan_1", "", "", (option,), (), 0.0, v4_position(7))
    return replace(made, **changes)


ROOM_FOR_A_HINT = 76
"""On a line of 80 columns."""


def test_the_guide_leads_from_the_first_row_to_an_applied_plan() -> None:
    approval = ApprovalView("plan_1", "", "h", 0.0, (), (), "", "", True, False)
    done = ResultView("plan_1", "included", (), v4_position(9), done=True)
    steps: list[tuple[Event, str]] = [
        (PositionsChanged(PositionsView()), "Reading the chain"),
        (PositionsChanged(PositionsView(rows=(row(3), row(7, "out of range")))), "#7 is out"),
        (StatusChanged(StatusView("Embedded chain", "0x")), "#7 is out"),
        (DebateChanged(DebateView("r", "position #7")), "Four agents argue"),
        (DebateChanged(DebateView("r", "position #7", (), "done")), "Press r"),
        (PlanChanged(plan()), "a, Enter: approve 1, widen #7, costs $5.17"),
        (PlanChanged(plan(approval=approval)), "type apply"),
        (PlanChanged(plan(result=ResultView("plan_1", "refused", (), None))), "approve again"),
        (PlanChanged(plan(approval=approval)), "type apply"),
        (PlanChanged(plan(result=ResultView("plan_1", "reverted", (), None))), "type outbox"),
        (PlanChanged(plan(approval=approval)), "type apply"),
        (PlanChanged(plan(result=done)), "#7 is out"),  # what needs somebody comes first
        (PositionsChanged(PositionsView(rows=(row(3),))), "Applied."),
        (PlanChanged(None), "Applied."),
        (PositionsChanged(PositionsView(rows=(row(9, "out of range"),))), "#9 is out"),
    ]
    guide = Guide()
    for event, expected in steps:
        guide = guide.after_event(event)
        assert expected in guide.hint
        assert len(guide.hint) <= ROOM_FOR_A_HINT


def test_a_desk_that_is_not_open_hints_at_nothing_of_the_one_before() -> None:
    outage = OutageView("The desk is not open on Base", "No RPC endpoint is known.", "", since=0.0)
    rows = PositionsChanged(PositionsView(rows=(row(9, "out of range"),)))
    guide = Guide().after_event(rows).after_event(OutageChanged(outage))

    assert guide.hint == ""
    assert "#9 is out" in guide.after_event(OutageChanged(None)).hint


def test_a_plan_to_keep_names_fees_that_wait_and_how_to_collect_them() -> None:
    kept = replace(plan(), options=(replace(plan().options[0], candidate=None),))
    for ref, how in ((v4_position(7), "collect 7"), (v3_position(7), "collect 3:7")):
        rich = replace(row(ref), fees="$4,861.93", fees_worth=4_861.93)
        guide = Guide().after_event(PositionsChanged(PositionsView(rows=(rich, row(9)))))
        hint = guide.after_event(PlanChanged(replace(kept, ref=ref))).hint
        assert hint.endswith(f"$4,861.93 to collect: type {how}")
        assert len(hint) <= ROOM_FOR_A_HINT
        assert (
            "of fees" not in guide.after_event(PlanChanged(replace(kept, ref=v4_position(9)))).hint
        )


@pytest.mark.parametrize("named", [int, str])
def test_what_was_kept_of_the_rows_is_read_as_it_was_written(named: type[int | str]) -> None:
    """An older zuno kept a number for each."""
    network, wallet = network_named("base"), "0x" + "ab" * 20
    view = PositionsView(rows=(row(7), row(9, "empty")))
    with Store.in_memory() as store:
        remember(store, network, wallet, view, now=0.0)
        [(key, value)] = store.items("desk-positions").items()
        kept = convert(value, dict[str, Any])
        rows = [{**each, "token_id": named(each["token_id"])} for each in kept["rows"]]
        store.put("desk-positions", key, {**kept, "rows": rows}, now=0.0)
        again = remembered_view(store, network, wallet)
    assert again is not None
    assert again.rows == view.rows


@pytest.mark.parametrize(
    ("rows", "urgent"),
    [
        ((row(1, "empty"), row(2), row(3, "near edge")), 3),
        ((replace(row(1, "out of range"), notes=("hook",)), row(2, "out of range")), 2),
    ],
)
def test_the_guide_points_at_what_wants_attention(
    rows: tuple[PositionRow, ...], urgent: int
) -> None:
    guide = Guide().after_event(PositionsChanged(PositionsView(rows=rows)))

    assert guide.hint.startswith(f"#{urgent} ")
    assert len(guide.hint) <= ROOM_FOR_A_HINT


def test_a_record_says_keep_and_close(tmp_path: Path) -> None:
    kinds = {"hold": "keep", "exit": "close", "move": "move"}
    for kind in kinds:
        first = {"kind": "flow_start", "payload": {"tokenId": "7"}}
        last = {"kind": "plan_ready", "payload": {"plan": {"choice": {"kind": kind}}}}
        envelopes = ({"type": "envelope", "body": body} for body in (first, last))
        lines = "".join(f"{json.dumps(line)}\n" for line in envelopes)
        (tmp_path / f"{kind}.jsonl").write_text(lines, "utf-8")

    rows = record_rows(tmp_path)

    assert {row.request_id: row.outcome for row in rows} == kinds
