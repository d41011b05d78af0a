"""The agents in an editor: looks and debates as they come, cancelled at once, and no act ever."""

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from chain.devnet.launch import DevnetReady
from chain.execution.outbox.outbox import Outbox
from tests import node_rpc
from tests.waiting import wait_until

SERVER = "import sys; from zuno_tui.cli import main; sys.exit(main())"
INVALID_PARAMS = -32602


class Editor:
    """A client that grants whatever it is asked for."""

    def __init__(self, home: Path, devnet: DevnetReady, project: Path | None = None) -> None:
        words = ("--network", "devnet", "--rpc", devnet.url, "--address", devnet.wallet)
        self._child = subprocess.Popen(
            [sys.executable, "-P", "-c", SERVER, "acp", "--home", str(home), *words],
            cwd=project,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            env={**os.environ, "ZUNO_DETERMINISTIC": "true"},
        )
        self._number = 0
        self.updates: list[dict[str, Any]] = []
        self.asked: list[str] = []
        """What the agent asked this client for."""
        self.server = self.ask("initialize", protocolVersion=1, clientCapabilities={})
        self.session = self.ask("session/new", cwd="/", mcpServers=[])["result"]["sessionId"]

    @property
    def pid(self) -> int:
        return self._child.pid

    def ask(
        self, method: str, on_update: Callable[[dict[str, Any]], None] | None = None, **params: Any
    ) -> dict[str, Any]:
        self._number += 1
        self.write({"id": self._number, "method": method, "params": params})
        assert self._child.stdout is not None
        while True:
            message = json.loads(self._child.stdout.readline())
            if message.get("method") == "session/update":
                self.updates.append(message["params"]["update"])
                if on_update is not None:
                    on_update(self.updates[-1])
            elif "method" in message:
                self.asked.append(message["method"])
            elif message.get("id") == self._number:
                return dict(message)

    def say(
        self, text: str, on_update: Callable[[dict[str, Any]], None] | None = None
    ) -> tuple[str, str]:
        """Why the turn ended, and all that was said in it."""
        self.updates.clear()
        prompt = [{"type": "text", "text": text}]
        answer = self.ask("session/prompt", on_update, sessionId=self.session, prompt=prompt)
        said = [
            update["content"]["text"]
            for update in self.updates
            if update["sessionUpdate"] == "agent_message_chunk"
        ]
        return answer["result"]["stopReason"], "".join(said)

    def write(self, message: dict[str, Any]) -> None:
        assert self._child.stdin is not None
        self._child.stdin.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
        self._child.stdin.flush()

    def close(self) -> None:
        assert self._child.stdin is not None
        self._child.stdin.close()
        self._child.wait()


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("edited")


@pytest.fixture(scope="module")
def editor(home: Path, devnet: DevnetReady) -> Iterator[Editor]:
    """One for all: what is said in one turn leaves the next as it was."""
    pytest.importorskip("acp", reason="the extra acp is not installed")
    home.chmod(0o700)
    editor = Editor(home, devnet)
    yield editor
    editor.close()


@pytest.fixture
def token_id(devnet: DevnetReady) -> str:
    return str(node_rpc.ask(devnet.url, "zuno_status")["positions"]["above its range"])


def test_a_question_is_answered_and_a_debate_comes_turn_by_turn(
    editor: Editor, token_id: str, home: Path
) -> None:
    hello, before = editor.server["result"], plans_in(home)
    looked = editor.say(f"inspect {token_id}")
    argued = editor.say(f"/recommend {token_id}")
    calls = [update["title"] for update in editor.updates if update["sessionUpdate"] == "tool_call"]
    [plan] = plans_in(home) - before

    assert hello["agentInfo"]["name"] == "zuno"
    assert (looked[0], f"#{token_id}" in looked[1]) == ("end_turn", True), looked
    assert argued[0] == "end_turn"
    turns = [line for line in argued[1].splitlines() if line.startswith("«")]
    assert len(turns) > 3, argued[1]
    assert calls == [f"zuno recommend {token_id}"]
    assert f"`zuno approve {plan.stem}`" in argued[1]


@pytest.mark.parametrize(
    "words",
    ["approve", "apply", "close {}", "collect {} and send it", "order close {} below 2000", "yes"],
)
def test_nothing_acts_from_an_editor_whatever_it_grants(
    editor: Editor, token_id: str, home: Path, words: str
) -> None:
    before = plans_in(home)
    reason, said = editor.say(words.format(token_id))

    assert reason == "end_turn"
    assert said
    assert editor.asked == [], "no permission is ever asked for"
    assert not any(update["sessionUpdate"] == "tool_call" for update in editor.updates)
    assert plans_in(home) == before
    if (home / "outbox.db").exists():
        with Outbox.open(home / "outbox.db") as outbox:
            assert list(outbox.dispatches()) == []


def test_a_cancelled_turn_ends_its_debate_and_frees_the_session(
    editor: Editor, token_id: str
) -> None:
    def cancel(update: dict[str, Any]) -> None:
        if update["sessionUpdate"] == "tool_call":
            editor.write({"method": "session/cancel", "params": {"sessionId": editor.session}})

    reason, _ = editor.say(f"recommend {token_id}", cancel)
    wait_until(lambda: children_of(editor.pid) == [], "a child that outlived its turn")
    again = editor.say(f"inspect {token_id}")

    assert reason == "cancelled"
    assert again[0] == "end_turn"
    assert f"#{token_id}" in again[1]


def test_no_code_of_the_project_that_is_open_in_the_editor_runs(
    token_id: str, tmp_path: Path, devnet: DevnetReady
) -> None:
    pytest.importorskip("acp", reason="the extra acp is not installed")
    project, ran = tmp_path / "project", tmp_path / "ran"
    code = f"open({str(ran)!r}, 'w').close()"
    for name in ("zuno_tui/__init__.py", "json.py", "chain/__init__.py"):
        (project / name).parent.mkdir(parents=True, exist_ok=True)
        (project / name).write_text(code)
    home = tmp_path / "home"
    home.mkdir(mode=0o700)
    editor = Editor(home, devnet, project)
    reason, said = editor.say(f"inspect {token_id}")
    editor.close()

    assert (reason, f"#{token_id}" in said) == ("end_turn", True), said
    assert not ran.exists()


def test_a_session_that_was_never_opened_is_refused(editor: Editor) -> None:
    answer = editor.ask("session/prompt", sessionId="other", prompt=[])

    assert answer["error"]["code"] == INVALID_PARAMS


def plans_in(home: Path) -> set[Path]:
    return set((home / "plans").glob("*"))


def children_of(pid: int) -> list[str]:
    return Path(f"/proc/{pid}/task/{pid}/children").read_text("ascii").split()
