"""`zuno debate-check`: recorded situations argued anew, with a server as the model."""

import asyncio
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from agents.bus.record import FileSink, RecordWriter, running_versions
from agents.bus.worker import Ambient
from agents.lp.debate import hold_debate
from agents.lp.facts import CreateContext, MarketContext
from chain.base.clean_text import Redactor
from chain.base.home import Home
from tests.agents.lp.debating import Seen, start_of
from tests.agents.lp.honest_model import honest
from tests.agents.lp.made_up_markets import create_context, market_context
from tests.fakes.model_endpoint import ChatRequest, Wire, fails, says
from tests.fakes.model_in_a_thread import model_in_a_thread
from zuno_tui.cli import main
from zuno_tui.present.exit_codes import DONE, FAILED, USAGE

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
