"""zuno as an agent in an editor: questions answered, debates followed, nothing ever approved.

A permission that a client grants is no approval: none is asked for, and whatever acts is named as
the line a person types at the desk.
"""

from __future__ import annotations

import asyncio
import json
import shlex
import sys
import time
from argparse import Namespace
from secrets import token_hex
from typing import TYPE_CHECKING, Any, cast

from zuno_tui.features.mcp.bounds import clean
from zuno_tui.features.mcp.child import (
    ChildFailedError,
    PlanBound,
    run_child,
    shared_words,
    unheard,
)
from zuno_tui.present.exit_codes import DONE, USAGE
from zuno_tui.present.output import Json

if TYPE_CHECKING:
    import acp.schema as wire
    from acp.interfaces import Agent, Client

    Update = (
        wire.AvailableCommandsUpdate
        | wire.ToolCallStart
        | wire.ToolCallProgress
        | wire.AgentMessageChunk
    )

_READING = (
    "import sys; from zuno_tui.catalog.sentence_line import print_line; print_line(sys.argv[1])"
)
_READING_SECONDS, _LOOK_SECONDS, _DEBATE_SECONDS = 60, 120, 300
_MOST_SENTENCE, _MOST_SESSIONS, _MOST_SHOWN = 2_000, 32, 60_000
_HELLO = (
    ("positions", "every position, freshly read"),
    ("alerts", "what needs you"),
    ("recommend", "let the agents argue about a position, like: recommend 28"),
    ("portfolio", "all wallets in one sum"),
    ("pools", "pools, by what they paid over their risk"),
)


def serve_editor(arguments: Namespace) -> int:
    try:
        from acp import run_agent
    except ImportError:
        sys.stderr.write("zuno acp needs its extra: pip install 'zuno-tui[acp]'\n")
        return USAGE
    # It answers what its capabilities announce; the rest the library refuses by the protocol.
    asyncio.run(run_agent(cast("Agent", EditorAgent(shared_words(arguments)))))
    return DONE


class EditorAgent:
    """The agent's side of the Agent Client Protocol."""

    def __init__(self, shared: tuple[str, ...]) -> None:
        self._shared = shared
        self._plans = PlanBound()
        self._client: Client | None = None
        self._turns: dict[str, asyncio.Task[None] | None] = {}
        """By session its turn that runs, if one does."""

    def on_connect(self, conn: Client) -> None:
        self._client = conn

    async def initialize(self, protocol_version: int, **_: object) -> wire.InitializeResponse:
        from importlib.metadata import version

        import acp
        import acp.schema as wire

        return wire.InitializeResponse(
            protocol_version=min(protocol_version, acp.PROTOCOL_VERSION),
            agent_capabilities=wire.AgentCapabilities(load_session=False),
            agent_info=wire.Implementation(
                name="zuno", title="zuno: Uniswap positions", version=version("zuno-tui")
            ),
            auth_methods=[],
        )

    async def new_session(self, cwd: str, **_: object) -> wire.NewSessionResponse:  # noqa: ARG002
        import acp
        import acp.schema as wire

        if len(self._turns) >= _MOST_SESSIONS:
            idle = next((each for each, turn in self._turns.items() if turn is None), None)
            if idle is None:
                raise acp.RequestError.invalid_request({"reason": "Too many debates run."})
            del self._turns[idle]
        session = token_hex(16)
        self._turns[session] = None
        commands = [wire.AvailableCommand(name=name, description=does) for name, does in _HELLO]
        update = wire.AvailableCommandsUpdate(
            session_update="available_commands_update", available_commands=commands
        )
        # The client knows the session once this has returned.
        asyncio.get_running_loop().call_soon(
            lambda: asyncio.ensure_future(self._update(session, update))
        )
        return wire.NewSessionResponse(session_id=session)

    async def prompt(self, session_id: str, prompt: list[Any], **_: object) -> wire.PromptResponse:
        import acp
        import acp.schema as wire

        if session_id not in self._turns:
            raise acp.RequestError.invalid_params({"sessionId": "There is no such session."})
        if self._turns[session_id] is not None:
            raise acp.RequestError.invalid_request({"reason": "A turn runs in this session."})
        texts = (block.text for block in prompt if isinstance(block, wire.TextContentBlock))
        sentence = " ".join(" ".join(texts).split()).removeprefix("/")[:_MOST_SENTENCE]
        turn = asyncio.ensure_future(self._answer(session_id, sentence))
        self._turns[session_id] = turn
        try:
            await turn
        except asyncio.CancelledError:
            return wire.PromptResponse(stop_reason="cancelled")
        except ChildFailedError as error:
            await self._say(session_id, str(error))
        finally:
            if session_id in self._turns:
                self._turns[session_id] = None
        return wire.PromptResponse(stop_reason="end_turn")

    async def cancel(self, session_id: str, **_: object) -> None:
        if (turn := self._turns.get(session_id)) is not None:
            turn.cancel()

    async def _answer(self, session: str, sentence: str) -> None:
        if not sentence:
            await self._say(
                session, "Ask about your positions, like: what needs me? or: inspect 28"
            )
            return
        reading = await run_child([sentence], unheard, seconds=_READING_SECONDS, script=_READING)
        meant = json.loads(reading.out) if reading.code == DONE else {}
        line = str(meant.get("line") or "")
        if meant.get("argues"):
            await self._debate(session, shlex.split(line))
        elif meant.get("looks"):
            await self._look(session, shlex.split(line))
        elif line:
            await self._say(
                session,
                "That acts, and zuno does nothing from an editor. At the desk's prompt, a person "
                f"types: {line}",
            )
        else:
            await self._say(session, str(meant.get("words") or "I did not understand that."))

    async def _look(self, session: str, words: list[str]) -> None:
        call = await self._begin(session, words, "read")
        words = [words[0], *self._shared, *words[1:]]
        done = await run_child(words, unheard, seconds=_LOOK_SECONDS)
        await self._end(session, call, failed=done.code != DONE)
        text = done.out.decode("utf-8", "replace") if done.code == DONE else "\n".join(done.last)
        await self._say(session, _fenced(text))

    async def _debate(self, session: str, words: list[str]) -> None:
        if (refused := self._plans.refusal(time.monotonic())) is not None:
            await self._say(session, refused)
            return
        call = await self._begin(session, words, "think")

        async def turn(line: str) -> None:
            await self._say(session, f"«{line}»\n\n")

        words = [words[0], *self._shared, *words[1:], "--stream", "--json"]
        done = await run_child(words, turn, seconds=_DEBATE_SECONDS)
        await self._end(session, call, failed=done.code != DONE)
        plan = _plan_id(done.out) if done.code == DONE else None
        if plan is None:
            said = " ".join(f"«{line}»" for line in done.last)
            await self._say(session, f"No plan came of it. {said}".strip())
            return
        shown = await run_child(["plan", *self._shared, plan], unheard, seconds=_LOOK_SECONDS)
        await self._say(session, _fenced(shown.out.decode("utf-8", "replace")))
        await self._say(
            session,
            f"A person decides: at the desk `plan {plan}`, in a shell `zuno approve {plan}`",
        )

    async def _begin(self, session: str, words: list[str], kind: str) -> str:
        import acp

        call = token_hex(8)
        title = clean(f"zuno {shlex.join(words)}")
        started = acp.start_tool_call(call, title, kind=kind, status="in_progress")  # type: ignore[arg-type]
        await self._update(session, started)
        return call

    async def _end(self, session: str, call: str, *, failed: bool) -> None:
        import acp

        status = "failed" if failed else "completed"
        await self._update(session, acp.update_tool_call(call, status=status))  # type: ignore[arg-type]

    async def _say(self, session: str, text: str) -> None:
        import acp

        await self._update(session, acp.update_agent_message_text(text[:_MOST_SHOWN]))

    async def _update(self, session: str, update: Update) -> None:
        if self._client is not None:
            await self._client.session_update(session, update)


def _fenced(text: str) -> str:
    """As it stands in a terminal; what strangers wrote ends no fence."""
    lines = (clean(line) if not line.isascii() else line for line in text.splitlines())
    return "```text\n" + "\n".join(lines).replace("```", "'''") + "\n```\n"


def _plan_id(out: bytes) -> str | None:
    try:
        document: Json = json.loads(out)
    except ValueError:
        return None
    return str(document["planId"]) if isinstance(document, dict) and "planId" in document else None
