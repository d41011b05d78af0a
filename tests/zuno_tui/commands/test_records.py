"""Records held against plans and argued anew: forged, edited, damaged, of another version."""

import asyncio
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from agents.bus.plan_store import DamagedPlanError, PlanStore
from agents.bus.record import RULES, FileSink, RecordWriter, running_versions
from agents.bus.replay import (
    Record,
    ReplayDifference,
    ReplayJudgment,
    ReplayReport,
    ReplayVerdict,
    judge_replay,
    judgment_words,
    read_record,
)
from agents.bus.worker import Ambient
from agents.lp.debate import hold_debate
from agents.lp.facts import CreateContext, MarketContext
from agents.lp.payloads import A_NEW_POSITION, UNFINISHED, UNKNOWN, summarise
from agents.lp.plan_document import plan_document, plan_in, was_edited
from chain.base.clean_text import Redactor
from chain.base.home import Home
from tests.agents.lp.debating import NOW, REQUEST, Seen, start_of
from tests.agents.lp.honest_model import honest
from tests.agents.lp.made_up import Market
from tests.agents.lp.made_up_markets import create_context, market_context
from tests.fakes.model_endpoint import ChatRequest, Wire, fails, says
from tests.fakes.model_in_a_thread import model_in_a_thread
from zuno_tui.app.replay import run_replay
from zuno_tui.cli import main
from zuno_tui.desk.pages import record_rows
from zuno_tui.present.exit_codes import DONE, FAILED, REFUSED, USAGE

OTHER_RULES = {"zuno": "0.0.1", RULES: "000000000000"}
CONTEXT = Market(0.03, 1.2).position()


@dataclass(frozen=True)
class Kept:
    home: Home
    plan_id: str
    record: Path
    plan: Path


async def _debate(
    path: Path,
    context: MarketContext = CONTEXT,
    versions: Mapping[str, str] | None = None,
    request_id: str = REQUEST,
) -> tuple[dict[str, object], str]:
    """A debate written to this file; the plan's document, and the record's last hash."""
    writer = RecordWriter(
        FileSink(path), request_id, versions or running_versions("agents.lp"), Redactor(), flow="lp"
    )
    ended = await hold_debate(
        start_of(context, 2),
        Seen(context),
        None,
        writer,
        ambient=Ambient(lambda: NOW, lambda: request_id),
        request_id=request_id,
    )
    writer.close()
    return plan_document(ended, None, writer.last_hash), writer.last_hash


async def _kept(tmp_path: Path, versions: Mapping[str, str] | None = None) -> Kept:
    home = Home(tmp_path, tmp_path)
    home.records.mkdir()
    record = home.records / f"{REQUEST}.jsonl"
    document, _ = await _debate(record, versions=versions)
    plan = PlanStore(home.plans).keep(document)
    return Kept(home, str(document["planId"]), record, plan)


@pytest.fixture
async def kept(tmp_path: Path) -> Kept:
    return await _kept(tmp_path)


def _with_other_fees() -> MarketContext:
    market = CONTEXT.observed.market
    richer = market.model_copy(update={"fees_24h_usd": 98_765.0})
    observed = CONTEXT.observed.model_copy(update={"market": richer})
    return CONTEXT.model_copy(update={"observed": observed})


async def test_a_record_as_it_was_written_matches_its_plan(kept: Kept) -> None:
    again = await run_replay(kept.home, kept.record)

    assert again.judged.verdict is ReplayVerdict.MATCHES
    assert again.judged.holds
    assert again.judged.last_hash == json.loads(kept.plan.read_text())["recordHash"]


async def test_a_record_written_whole_with_other_facts_is_found_out(kept: Kept) -> None:
    noted = read_record(kept.record).last_hash
    kept.record.unlink()
    await _debate(kept.record, _with_other_fees())

    again = await run_replay(kept.home, kept.record)

    assert again.report is not None
    assert again.report.matches, "by itself the forged record is flawless"
    assert again.judged.verdict is ReplayVerdict.ANOTHER_RECORD
    assert again.judged.planned_hash == noted
    assert not again.judged.holds


async def test_a_record_that_no_plan_names_is_said_to_be_unvouched(kept: Kept) -> None:
    kept.plan.unlink()

    again = await run_replay(kept.home, kept.record)

    assert again.judged.verdict is ReplayVerdict.UNVOUCHED
    assert again.judged.planned_hash is None


async def test_other_rules_that_come_to_the_same_match_all_the_same(tmp_path: Path) -> None:
    kept = await _kept(tmp_path, OTHER_RULES)

    again = await run_replay(kept.home, kept.record)

    assert again.judged.verdict is ReplayVerdict.MATCHES
    assert not again.judged.same_version


async def test_a_form_that_only_another_version_wrote_is_no_tampering(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def unreadable(_record: Record) -> None:
        raise ValueError("a field that this version does not know")

    kept = await _kept(tmp_path, OTHER_RULES)
    monkeypatch.setattr("zuno_tui.app.replay.replay_debate", unreadable)

    again = await run_replay(kept.home, kept.record)

    assert again.judged.verdict is ReplayVerdict.OTHER_VERSION
    assert again.ended is None


def _judged(record: Record, *, line: int | None, planned: str | None, same: bool) -> ReplayJudgment:
    difference = None if line is None else ReplayDifference(line, None, None)
    running = dict(record.versions) if same else OTHER_RULES
    return judge_replay(record, ReplayReport(9, difference), planned, running)


@pytest.mark.parametrize(
    ("line", "planned", "same", "verdict"),
    [
        (None, "ours", True, ReplayVerdict.MATCHES),
        (None, "ours", False, ReplayVerdict.MATCHES),
        (None, None, True, ReplayVerdict.UNVOUCHED),
        (None, "other", True, ReplayVerdict.ANOTHER_RECORD),
        (7, "other", False, ReplayVerdict.ANOTHER_RECORD),
        (7, "ours", True, ReplayVerdict.DIFFERS),
        (7, None, True, ReplayVerdict.DIFFERS),
        (7, "ours", False, ReplayVerdict.OTHER_VERSION),
        (7, None, False, ReplayVerdict.OTHER_VERSION),
    ],
)
async def test_each_case_has_its_verdict(
    kept: Kept, line: int | None, planned: str | None, same: bool, verdict: ReplayVerdict
) -> None:
    record = read_record(kept.record)
    names = {"ours": record.last_hash, "other": "f" * 64, None: None}

    judged = _judged(record, line=line, planned=names[planned], same=same)

    assert judged.verdict is verdict
    assert judged.line == line
    assert judgment_words(judged, 9)


def test_the_rules_version_is_a_hash_over_what_decides() -> None:
    running = running_versions("agents.lp")
    assert set(running) == {"zuno", RULES}
    assert len(running[RULES]) == 12
    assert running_versions("agents.monitor")[RULES] != running[RULES]


async def test_the_plan_id_does_not_depend_on_the_record(tmp_path: Path) -> None:
    first, one = await _debate(tmp_path / "a.jsonl")
    second, other = await _debate(tmp_path / "b.jsonl", request_id="req_ffffffffffffffff")

    assert one != other
    assert first["planId"] == second["planId"]


async def test_the_command_line_tells_the_verdict(
    kept: Kept, capsys: pytest.CaptureFixture[str]
) -> None:
    arguments = ["replay", REQUEST, "--json", "--home", str(kept.home.root)]
    code = _run(arguments)
    told = json.loads(capsys.readouterr().out)
    kept.record.unlink()
    await _debate(kept.record, _with_other_fees())
    forged = _run(arguments)
    found = json.loads(capsys.readouterr().out)

    assert (code, told["verdict"]) == (0, "matches")
    assert (forged, found["verdict"]) == (FAILED, "another record")
    assert found["planHash"] == told["recordHash"]


def _run(arguments: list[str]) -> int:
    """The command in a thread of its own, as this one has a loop already."""
    from concurrent.futures import ThreadPoolExecutor

    with ThreadPoolExecutor(1) as pool:
        return pool.submit(main, arguments).result()


async def test_a_plan_names_its_records_hash(
    kept: Kept, capsys: pytest.CaptureFixture[str]
) -> None:
    noted = read_record(kept.record).last_hash
    for command in ("plan", "explain"):
        assert _run([command, kept.plan_id, "--home", str(kept.home.root)]) == 0
        assert noted in " ".join(capsys.readouterr().out.split())


def _edit(kept: Kept, **changes: object) -> None:
    document = {**json.loads(kept.plan.read_text()), **changes}
    kept.plan.write_text(json.dumps(document))


@pytest.mark.parametrize("command", ["plan", "explain"])
async def test_an_edited_plan_is_shown_as_edited(
    kept: Kept, capsys: pytest.CaptureFixture[str], command: str
) -> None:
    _edit(kept, rounds=9)

    arguments = [kept.plan_id, "--home", str(kept.home.root)]
    assert _run([command, *arguments]) == FAILED
    assert "changed since it was made" in capsys.readouterr().err
    if command == "plan":
        assert _run([command, *arguments, "--json"]) == FAILED
        assert json.loads(capsys.readouterr().out)["edited"] is True
    assert _run(["approve", *arguments, "--network", "devnet"]) == REFUSED


async def test_what_stands_beside_a_plan_is_no_part_of_it(kept: Kept) -> None:
    _edit(kept, recordHash="0" * 64, budget=None)

    assert not was_edited(plan_in(PlanStore(kept.home.plans).find(kept.plan_id)))


@pytest.mark.parametrize(
    "content",
    [b"", b"{", b"[]", b"null", b'{"planId": "plan_0000000000000000"}', b"\xff", b"[" * 9_000],
)
async def test_a_damaged_plan_is_set_aside_and_named(
    kept: Kept, capsys: pytest.CaptureFixture[str], content: bytes
) -> None:
    kept.plan.write_bytes(content)

    assert _run(["plan", kept.plan_id, "--home", str(kept.home.root)]) == FAILED

    told = capsys.readouterr()
    (aside,) = kept.home.plans.iterdir()
    assert aside.name.startswith(f"{kept.plan.name}.corrupt-")
    assert aside.read_bytes() == content
    assert aside.name in told.err
    assert "zuno recommend" in told.err
    assert "Unexpected error" not in told.err


async def test_a_plan_of_another_form_stays_where_it_is(kept: Kept) -> None:
    _edit(kept, hold="not a candidate")

    document = PlanStore(kept.home.plans).find(kept.plan_id)
    with pytest.raises(DamagedPlanError, match="zuno recommend"):
        plan_in(document)
    assert kept.plan.exists()


async def test_the_list_of_records_reads_their_ends_alone(kept: Kept) -> None:
    [record] = kept.home.records.glob("*.jsonl")
    lines = record.read_bytes().splitlines(keepends=True)
    lines[len(lines) // 2] = b"damaged\n"
    record.write_bytes(b"".join(lines))
    (kept.home.records / "empty.jsonl").write_bytes(b"")
    (kept.home.records / "noise.jsonl").write_bytes(b"\xff\n{}\n[1]\n")

    rows = {row.request_id: (row.subject, row.outcome) for row in record_rows(kept.home.records)}

    choice = json.loads(kept.plan.read_text())["choice"]["kind"]
    assert choice == "hold"
    assert rows == {
        REQUEST: (f"position #{CONTEXT.position.token_id}", "keep"),
        "empty": (UNKNOWN, UNFINISHED),
        "noise": (UNKNOWN, UNFINISHED),
    }


def test_a_long_record_is_told_by_its_ends(tmp_path: Path) -> None:
    path = tmp_path / "long.jsonl"
    writer = RecordWriter(FileSink(path), REQUEST, {}, Redactor(), flow="lp")
    writer.input("model", value=False)
    writer._line("envelope", json.dumps({"payload": {"goal": {}}}).encode())
    for _ in range(40):
        writer.input("padding", "x" * 100_000)
    plan = {"plan": {"choice": {"kind": "exit"}, "padding": "y" * 200_000}}
    writer.input("padding", plan)
    writer._line("envelope", json.dumps({"kind": "plan_ready", "payload": plan}).encode())
    writer.close()

    told = summarise(path)

    assert path.stat().st_size > 4_000_000
    assert (told.subject, told.outcome) == (A_NEW_POSITION, "exit")


Zuno = Callable[..., tuple[int, Any, str]]

NOBODY = ("--network", "devnet", "--rpc", "http://127.0.0.1:9")
SIZE = 200


@pytest.fixture
def home(tmp_path: Path) -> Home:
    home = Home(tmp_path, tmp_path)
    home.prepare()
    return home


@pytest.fixture
def zuno(home: Home, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Zuno:
    for name in ("OPENAI_API_KEY", "OPENAI_BASE_URL", "ZUNO_DETERMINISTIC"):
        monkeypatch.delenv(name, raising=False)

    def run(*arguments: str, as_json: bool = True, **environment: str) -> Any:
        for name, value in environment.items():
            monkeypatch.setenv(name, value)
        words = ["--home", str(home.root), *NOBODY, "debate-check", *arguments]
        code = main([*words, "--json"] if as_json else words)
        said = capsys.readouterr()
        return code, json.loads(said.out) if as_json and said.out else said.out, said.err

    return run


def recorded(folder: Path, name: str, context: MarketContext | CreateContext) -> None:
    """A debate by the rules in this folder."""
    folder.mkdir(exist_ok=True)
    writer = RecordWriter(
        FileSink(folder / f"{name}.jsonl"),
        name,
        running_versions("agents.lp"),
        Redactor(),
        flow="lp",
    )
    ended = asyncio.run(
        hold_debate(
            start_of(context),
            Seen(context),
            None,
            writer,
            ambient=Ambient(lambda: 0.0, lambda: name),
            request_id=name,
        )
    )
    writer.close()
    assert ended.plan is not None


def test_without_a_model_or_a_record_it_says_so_in_a_sentence(zuno: Zuno, home: Home) -> None:
    code, told, words = zuno()
    assert (code, told) == (USAGE, "")
    assert "zuno model" in words
    with model_in_a_thread(says(honest, size=SIZE)) as environment:
        code, told, words = zuno(**environment)
        assert (code, told["situations"]) == (FAILED, [])
        assert str(home.records) in words
        assert zuno("--records", str(home.root / "nowhere"))[0] == USAGE
        with pytest.raises(SystemExit, match=str(USAGE)):
            zuno("-n", "0")


def test_situations_are_argued_with_the_model_and_without_on_their_own_facts(
    zuno: Zuno, home: Home
) -> None:
    recorded(home.records, "first", market_context("outside"))
    recorded(home.records, "second", create_context("one token"))
    (home.records / "broken.jsonl").write_text("{}\n")
    with model_in_a_thread(says(honest, size=SIZE)) as environment:
        code, told, words = zuno("--times", "2", **environment)
        assert code == DONE, words
        assert {one["requestId"] for one in told["situations"]} == {"first", "second"}
        assert told["skipped"][0]["record"] == "broken.jsonl"
        assert (told["debates"], told["silent"]["count"]) == (4, 0)
        # The same words about the same facts: the same decision.
        assert told["flips"] == {"count": 0, "of": 2, "part": 0.0}
        assert told["agreement"]["of"] == 4
        assert told["tokens"] == sum(
            run["tokens"] for one in told["situations"] for run in one["runs"]
        )
        assert told["usd"] == pytest.approx(told["tokens"] / 165 * (120 * 0.15 + 45 * 0.6) / 10**6)
        code, told, _ = zuno("first", "--times", "1", **environment)
        assert (code, told["debates"], told["flips"]["part"]) == (DONE, 1, None)
        code, page, _ = zuno("-n", "1", "--times", "1", as_json=False)
        assert code == DONE
        assert "tokens" in page


def test_a_model_that_changes_its_mind_is_found_out(zuno: Zuno, home: Home) -> None:
    recorded(home.records, "first", market_context("outside"))
    debates: list[ChatRequest] = []

    def fickle(request: ChatRequest) -> dict[str, object]:
        """Accepts everything in the first debate, in the second only one other range."""
        if request.reply_name == "ScoutReply":
            debates.append(request)
        reply = honest(request)
        if len(debates) > 1:
            for judgment in reply.get("judgments", ()):  # type: ignore[attr-defined]
                judgment["verdict"] = "accept" if judgment["index"] == 2 else "veto"
        return reply

    with model_in_a_thread(says(fickle, size=SIZE)) as environment:
        code, told, words = zuno("--times", "2", **environment)
    assert code == DONE, words
    (situation,) = told["situations"]
    kinds = [run["decision"]["kind"] for run in situation["runs"]]
    # A veto takes nothing off the table, and no range that nets less takes the place of another.
    assert kinds == ["move", "move"]
    assert told["flips"] == {"count": 0, "of": 1, "part": 0.0}
    assert told["flipsOfTheRange"] == {"count": 0, "of": 1, "part": 0.0}
    assert situation["rules"]["kind"] == "move"


def test_where_the_rule_decides_first_no_model_is_asked_and_none_is_called_silent(
    zuno: Zuno, home: Home
) -> None:
    recorded(home.records, "first", market_context("hooked"))
    with model_in_a_thread(says(honest, size=SIZE)) as environment:
        code, told, words = zuno("--times", "1", **environment)
    assert code == DONE, words
    assert (told["settled"]["count"], told["silent"]["of"], told["tokens"]) == (1, 0, 0)


def test_a_record_is_looked_for_in_the_folder_that_is_named(zuno: Zuno, tmp_path: Path) -> None:
    recorded(tmp_path / "elsewhere", "theirs", market_context("outside"))
    with model_in_a_thread(says(honest, size=SIZE)) as environment:
        place = ("--records", str(tmp_path / "elsewhere"))
        code, told, words = zuno("theirs", *place, "--times", "1", **environment)
    assert code == DONE, words
    assert [one["requestId"] for one in told["situations"]] == ["theirs"]


def test_a_model_that_never_answers_decides_nothing(zuno: Zuno, home: Home) -> None:
    recorded(home.records, "first", market_context("outside"))

    async def busy(request: ChatRequest, wire: Wire) -> None:
        await fails(401)(request, wire)

    with model_in_a_thread(busy) as environment:
        code, told, words = zuno("--times", "1", **environment)
    assert code == FAILED
    assert told["silent"] == {"count": 1, "of": 1, "part": 1.0}
    assert told["agreement"]["part"] is None
    assert "HTTP 401" in words
