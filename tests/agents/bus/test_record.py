"""Records: every line chained, nothing secret in them, and a replay that gives the same bytes."""

import asyncio
import json
import stat
from collections.abc import AsyncGenerator, Callable
from dataclasses import dataclass
from pathlib import Path

import pytest
from pydantic import BaseModel

from agents.bus.envelope import CLI, AgentFact, Envelope, Kind, Payload, Registry, Role
from agents.bus.record import FileSink, MemorySink, RecordError, RecordWriter, verify_record
from agents.bus.replay import RecordBrokenError, read_record, replay
from agents.bus.run import FlowOutcome, run_flow
from agents.bus.worker import Ambient, HandlerContext, Outgoing
from agents.model.interface import (
    Answer,
    Model,
    ModelPrompt,
    ModelUnavailable,
    Reply,
    Unavailability,
    Usage,
)
from agents.model.recorded import NoRecordedReplyError, RecordedModel
from agents.model.speaking import ask_on_record
from chain.base.clean_text import Redactor, SecretFieldError
from chain.base.strict_json import canonical
from tests.fakes.small_debate import (
    CRITIC,
    REGISTRY,
    SCOUT,
    Plan,
    SmallKind,
    Start,
    Turn,
    spec_of,
    thought,
)

VERSIONS = {"zuno": "0.1.0", "prompts": "ab12"}
API_KEY = "sk-canary-THE-KEY-0123456789abcdef"
RPC_URL = "https://mainnet.example.com/v3/0123456789abcdef0123456789abcdef"
PASSPHRASE = "correct horse battery staple"


class Opinion(BaseModel):
    prose: str
    rounds: int


class ScriptedModel:
    def __init__(self, *replies: str | ModelUnavailable) -> None:
        self._replies = list(replies)

    async def ask(
        self, role: Role, prompt: ModelPrompt, schema: type[Reply], on_prose: Callable[[str], None]
    ) -> Answer[Reply]:
        reply = self._replies.pop(0)
        if isinstance(reply, ModelUnavailable):
            raise reply
        for word in reply.split(" "):
            on_prose(word)
            await asyncio.sleep(0)
        usage = Usage(100, 20, estimated=False)
        return Answer(schema.model_validate_json(reply), usage, reply, "fake")


@dataclass(frozen=True)
class Services:
    model: Model


async def advised_scout(
    envelope: Envelope, context: HandlerContext[Services]
) -> AsyncGenerator[Outgoing, None]:
    """Asks the model twice, believes the first usable number of rounds, else takes one."""
    start = envelope.payload
    assert isinstance(start, Start)
    rounds = 1
    for question in ("how many?", "sure?"):
        try:
            answer = await ask_on_record(
                context, context.services.model, ModelPrompt("scout", question), Opinion
            )
            rounds = answer.value.rounds
            text = answer.value.prose
        except ModelUnavailable as error:
            text = f"By the rules, for {error}"
        yield thought(text)
    await context.say(Outgoing(Kind.AGENT_FACT, CLI, AgentFact(name="alone", value={"rounds": 1})))
    turn = Turn(position=start.position, rounds=rounds, round=rounds)
    yield Outgoing(SmallKind.PROPOSAL, CRITIC, turn)


async def brief_critic(
    envelope: Envelope, context: HandlerContext[Services]
) -> AsyncGenerator[Outgoing, None]:
    turn = envelope.payload
    assert isinstance(turn, Turn)
    yield Outgoing(SmallKind.PLAN_READY, CLI, Plan(position=turn.position, rounds=turn.rounds))


SPEC = spec_of(
    {SCOUT: advised_scout, CRITIC: brief_critic},
    lambda record: Services(RecordedModel(record.replies())),
)


async def debate(
    writer: RecordWriter, model: Model, ambient: Ambient, position: int = 7
) -> FlowOutcome:
    return await run_flow(
        SPEC,
        Start(position=position, rounds=1),
        Services(model),
        writer,
        ambient=ambient,
        request_id="req_1",
        inputs={"position": {"id": position}},
    )


def ticking() -> Callable[[], float]:
    moments = iter(range(10_000))
    return lambda: 1_700_000_000.123 + next(moments) * 0.017


async def recorded(path: Path, *replies: str | ModelUnavailable) -> Path:
    writer = RecordWriter(FileSink(path), "req_1", VERSIONS, Redactor(), flow="small")
    model = ScriptedModel(
        *(replies or ('{"prose": "Two, I think", "rounds": 2}', '{"prose": "yes", "rounds": 2}'))
    )
    await debate(writer, model, Ambient(ticking(), lambda: "req_1"))
    writer.close()
    return path


async def again(path: Path, position: int = 7) -> bool:
    record = read_record(path)

    async def rerun(writer: RecordWriter, ambient: Ambient) -> None:
        await debate(writer, RecordedModel(record.replies()), ambient, position)

    return (await replay(record, rerun)).matches


async def test_a_record_holds_everything_in_order_and_is_private(tmp_path: Path) -> None:
    path = await recorded(tmp_path / "records" / "req_1.jsonl")
    check = verify_record(path)
    assert check.ok
    assert check.complete
    assert [line.kind for line in check.lines] == [
        *("header", "input", *["envelope"] * 8, "end"),
    ]
    record = read_record(path)
    assert (record.request_id, record.versions) == ("req_1", VERSIONS)
    assert record.inputs() == {"position": {"id": 7}}
    assert (record.flow, record.format) == ("small", 2)
    assert record.fact(SCOUT, "alone") == {"rounds": 1}
    assert record.fact(CRITIC, "alone") is None
    assert list(record.replies()) == [(SCOUT, 0), (SCOUT, 1)]
    kinds = [REGISTRY.open(wire).kind for wire in record.envelopes()]
    assert kinds == [
        *("flow_start", "model_reply", "agent_thought", "model_reply", "agent_thought"),
        *("agent_fact", "proposal", "plan_ready"),
    ]
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700


async def test_the_same_run_gives_the_same_bytes(tmp_path: Path) -> None:
    paths = [await recorded(tmp_path / f"{index}.jsonl") for index in range(5)]
    assert len({path.read_bytes() for path in paths}) == 1


async def test_a_replay_needs_neither_model_nor_chain_and_matches(tmp_path: Path) -> None:
    assert await again(await recorded(tmp_path / "a.jsonl"))
    unavailable = ModelUnavailable(Unavailability.STALLED, "The model fell silent.")
    path = await recorded(tmp_path / "b.jsonl", unavailable, '{"prose": "3", "rounds": 3}')
    assert await again(path)
    assert b"The model fell silent." in path.read_bytes()


async def test_a_replay_that_differs_says_where(tmp_path: Path) -> None:
    path = await recorded(tmp_path / "a.jsonl")
    assert not await again(path, position=8)
    record = read_record(path)

    async def other_model(writer: RecordWriter, ambient: Ambient) -> None:
        model = ScriptedModel('{"prose": "Four", "rounds": 4}', '{"prose": "yes", "rounds": 2}')
        await debate(writer, model, ambient)

    report = await replay(record, other_model)
    assert not report.matches
    assert report.difference is not None
    assert report.difference.line == 4
    assert report.difference.recorded is not None
    assert report.difference.replayed is not None
    assert b"Two, I think" in report.difference.recorded.wire
    assert b"Four" in report.difference.replayed.wire

    async def says_nothing(writer: RecordWriter, ambient: Ambient) -> None:
        return None

    short = await replay(record, says_nothing)
    assert short.difference is not None
    assert short.difference.line == 2


async def test_a_question_nobody_recorded_is_an_error() -> None:
    with pytest.raises(NoRecordedReplyError):
        await RecordedModel({}).ask(SCOUT, ModelPrompt("a", "b"), Opinion, lambda _: None)


async def test_any_changed_byte_breaks_the_chain_at_its_line(tmp_path: Path) -> None:
    path = await recorded(tmp_path / "a.jsonl")
    data = path.read_bytes()
    for place in range(0, len(data), 3):
        damaged = bytearray(data)
        damaged[place] ^= 0x01
        path.write_bytes(bytes(damaged))
        check = verify_record(path)
        assert not check.ok, place
        assert check.broken_line is not None
        assert check.broken_line == data[:place].count(b"\n") + 1
        assert len(check.lines) == check.broken_line - 1


async def test_lines_cannot_be_moved_removed_added_or_cut(tmp_path: Path) -> None:
    path = await recorded(tmp_path / "a.jsonl")
    lines = path.read_bytes().splitlines(keepends=True)
    for damaged, line in (
        (lines[:3] + lines[4:], 4),
        ([*lines[:3], lines[4], lines[3], *lines[5:]], 4),
        ([*lines[:3], lines[2], *lines[3:]], 4),
        ([*lines, lines[-1]], len(lines) + 1),
        (lines[1:], 1),
        ([], 1),
        ([*lines[:-1], lines[-1][:-1]], len(lines)),
        ([lines[0].replace(b",", b", ", 1), *lines[1:]], 1),
    ):
        path.write_bytes(b"".join(damaged))
        check = verify_record(path)
        assert (check.ok, check.broken_line) == (False, line)
        with pytest.raises(RecordBrokenError, match=f"line {line}"):
            read_record(path)
    path.write_bytes(b"".join(lines[:-1]))
    cut = verify_record(path)
    assert cut.ok
    assert not cut.complete


async def test_a_record_written_anew_from_its_start_has_another_last_hash(tmp_path: Path) -> None:
    first = verify_record(await recorded(tmp_path / "a.jsonl"))
    forged = await recorded(
        tmp_path / "b.jsonl", '{"prose": "Nine", "rounds": 9}', '{"prose": "yes", "rounds": 9}'
    )
    second = verify_record(forged)
    assert second.ok
    assert first.last_hash != second.last_hash


def test_a_record_is_never_written_over(tmp_path: Path) -> None:
    path = tmp_path / "req_1.jsonl"
    path.write_text("something")
    with pytest.raises(RecordError, match="already"):
        FileSink(path)
    (tmp_path / "link.jsonl").symlink_to("/dev/null")
    with pytest.raises(RecordError):
        FileSink(tmp_path / "link.jsonl")


def written(value: object, *secrets: str) -> bytes:
    sink = MemorySink()
    writer = RecordWriter(sink, "req_1", VERSIONS, Redactor(secrets), flow="small")
    writer.input("given", value)
    return b"".join(sink.lines)


def test_known_secrets_never_enter_a_record() -> None:
    secrets = (API_KEY, RPC_URL, PASSPHRASE)
    for hiding in (
        API_KEY,
        {"a": [{"b": f"Bearer {API_KEY}"}]},
        {API_KEY: 1},
        f"it said {API_KEY} and {API_KEY}",
        "c2stY2FuYXJ5LVRIRS1LRVktMDEyMzQ1Njc4OWFiY2RlZg==",
        RPC_URL,
        "https%3A%2F%2Fmainnet.example.com%2Fv3%2F0123456789abcdef0123456789abcdef",
        f"POST {RPC_URL} failed",
        PASSPHRASE,
    ):
        data = written({"text": hiding}, *secrets)
        for secret in (API_KEY, "c2stY2FuYXJ5", "0123456789abcdef", PASSPHRASE):
            assert secret.encode() not in data, hiding
        assert b"[redacted]" in data


@pytest.mark.parametrize(
    "text",
    [
        "my key is sk-proj-abcdefghijklmnopqrstuvwx",
        "Authorization: Bearer abcdefgh12345678",
        "bot 123456789:AAHdqTcvCH1vGWJxfSeofSAs0K5PALDsaw01",
        "see https://rpc.example.com/v2/abcdef123456 for more",
        "https://user:hunter22@example.com",
        "-----BEGIN EC PRIVATE KEY-----",
    ],
)
def test_what_looks_like_a_secret_is_replaced(text: str) -> None:
    data = written({"text": text})
    assert b"[redacted]" in data
    for part in ("abcdefgh", "AAHdqT", "abcdef123456", "hunter22", "BEGIN EC"):
        assert part.encode() not in data


@pytest.mark.parametrize(
    "name",
    [
        *("apiKey", "api_key", "OPENAI_API_KEY", "privateKey", "password", "walletPassphrase"),
        *("mnemonic", "seed_phrase", "Authorization", "botToken", "clientSecret", "rpcUrl"),
    ],
)
def test_fields_with_telling_names_are_refused(name: str) -> None:
    with pytest.raises(SecretFieldError):
        written({"nested": [{name: "value"}]})


def test_an_envelope_with_a_telling_field_is_refused() -> None:
    class Leaky(Payload):
        api_key: str

    sink = MemorySink()
    writer = RecordWriter(sink, "req_1", VERSIONS, Redactor(), flow="small")
    envelope = Registry([SCOUT], {"leak": Leaky}, final=()).seal(
        "req_1",
        sender=SCOUT,
        recipient=CLI,
        kind="leak",
        payload=Leaky(api_key="x"),
        ts=0,
    )
    with pytest.raises(SecretFieldError):
        writer.envelope(envelope)
    assert len(sink.lines) == 1


def test_ordinary_words_of_the_domain_are_left_alone() -> None:
    value = {
        "token0": "0x" + "ab" * 20,
        "poolKey": {"fee": 500, "hooks": "0x" + "00" * 20},
        "poolId": "0x" + "cd" * 32,
        "prose": "The secret of LPs: at 12:04:55 the key is width; tokens in, tokens out.",
        "source": "https://api.coingecko.com",
        "tick": -887272,
    }
    assert json.loads(written(value).splitlines()[1])["body"]["value"] == value


def test_a_redactor_does_not_show_its_secrets() -> None:
    assert API_KEY not in repr(Redactor((API_KEY,)))


def test_canonical_bytes_are_ascii_and_sorted() -> None:
    assert canonical({"b": 1.5, "a": "é\u202e"}) == b'{"a":"\\u00e9\\u202e","b":1.5}'
    with pytest.raises(ValueError, match="JSON"):
        canonical(float("inf"))
