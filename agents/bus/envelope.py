"""What agents say to each other: one envelope, the same bytes everywhere, and what it carries."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from enum import StrEnum
from functools import cached_property
from types import UnionType
from typing import Annotated, ClassVar, Literal, NewType, cast

from msgspec import Struct
from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    InstanceOf,
    JsonValue,
    PlainSerializer,
    TypeAdapter,
    ValidationError,
)

from agents.numbers.rounding import significant
from chain.base import strict_json
from chain.base.clean_text import clean_text
from chain.base.once_per_object import once_per_object
from chain.base.strict_json import canonical, digest
from chain.protocols.reference import PositionRef, position_name, read_position_ref, stored_position

# A uint256 has at most 78 digits; a sign is for deltas.
_DECIMAL = re.compile(r"-?(0|[1-9][0-9]{0,77})")


def _whole(value: object) -> int:
    if isinstance(value, int) and not isinstance(value, bool):
        return value
    if isinstance(value, str) and _DECIMAL.fullmatch(value) and value != "-0":
        return int(value)
    raise ValueError("a whole number, written as decimal text")


Units = Annotated[int, BeforeValidator(_whole), PlainSerializer(str, return_type=str)]
"""A whole number that may pass 2^53, so it travels as text."""


def _numbered(value: object) -> PositionRef:
    if isinstance(value, PositionRef):
        return value
    if isinstance(value, int) and not isinstance(value, bool):
        return stored_position(str(value))
    ref = read_position_ref(value) if isinstance(value, str) else None
    if ref is None or position_name(ref) != value:
        raise ValueError("a position's number, like 7, or 3:7 for one of v3")
    return ref


PositionNumber = Annotated[
    InstanceOf[PositionRef],
    BeforeValidator(_numbered),
    PlainSerializer(position_name, return_type=str),
]
"""A position, as documents tell it."""

Measure = Annotated[float, AfterValidator(significant)]
"""A measured or modelled number: rounded where it enters, so that every machine writes it alike."""


def wire_name(name: str) -> str:
    """`fee_yield_24h` as `feeYield24h`: a unit stays small behind its number."""
    first, *rest = name.split("_")
    return first + "".join(part if part[0].isdigit() else part.capitalize() for part in rest)


class Payload(BaseModel):
    """Base of what an envelope carries: frozen, strict, closed, camelCase on the wire."""

    travels_on: ClassVar[bool] = False
    """Whether it is carried, unchanged, by one message after another."""

    model_config = ConfigDict(
        frozen=True,
        strict=True,
        extra="forbid",
        allow_inf_nan=False,
        ser_json_inf_nan="constants",  # so that sealing sees them; the default would write null
        alias_generator=wire_name,
        validate_by_name=True,
        validate_by_alias=True,
    )


@once_per_object
def wire_of(payload: Payload) -> bytes:
    """A payload's canonical JSON; what travels on in it is written once, whoever carries it."""
    carried = {
        name: part for name, part in payload if isinstance(part, Payload) and part.travels_on
    }
    plain = payload.model_dump(mode="json", by_alias=True, exclude=set(carried))
    if not carried:
        return canonical(plain)
    parts = {name: canonical(value) for name, value in plain.items()}
    parts |= {wire_name(name): wire_of(part) for name, part in carried.items()}
    return b"{%b}" % b",".join(b'"%b":%b' % (name.encode(), parts[name]) for name in sorted(parts))


class FailureCause(StrEnum):
    CRASHED = "crashed"
    REFUSED = "refused"
    UNREADABLE = "unreadable"
    """The chain did not answer, or not in a way that can be used."""
    LOST = "lost"
    SILENT = "silent"
    DEADLINE = "deadline"
    CANCELLED = "cancelled"
    OVERLOADED = "overloaded"
    UNRECORDED = "unrecorded"


class FlowFailed(Payload):
    """Why a flow ended without a plan, and whose turn it was."""

    stage: str
    cause: FailureCause
    reason: str


class StruckClaim(Payload):
    """A number in an agent's words that no number it was given stands behind."""

    start: int
    end: int
    why: Literal["mismatch", "unknown", "uncited", "not_so"]


class SpokenCell(Payload):
    """One figure of a table, and whether it passed the check it stands for."""

    text: str
    passed: bool | None = None
    """None where nothing is checked."""


class SpokenRow(Payload):
    name: str
    cells: tuple[SpokenCell, ...]


class SpokenTable(Payload):
    """Figures side by side, said in place of sentences that recite them."""

    columns: tuple[str, ...]
    rows: tuple[SpokenRow, ...]


class Claim(Payload):
    """What a sentence says of something that is shown beside it, as data."""

    subject: str
    relation: str
    figures: tuple[Measure, ...] = ()
    than: str | None = None
    detail: str | None = None


class Thought(Payload):
    """What an agent says aloud; losing one changes nothing."""

    round: int
    tag: str
    text: str
    struck: tuple[StruckClaim, ...] = ()
    cited: int = 0
    """Numbers that were given and cited rightly."""
    table: SpokenTable | None = None
    by_model: bool = Field(default=False, exclude_if=lambda model: not model)
    """Whether the words are a model's own, and not code's."""
    claims: tuple[Claim, ...] = Field(default=(), exclude_if=lambda made: not made)
    """What code's words say of the table."""


class AgentFact(Payload):
    """Something an agent found out that its later messages rest on, so that it can be replayed."""

    name: str
    value: JsonValue | InstanceOf[Payload]
    """What is read from a message is JSON; who finds it out may hand it in as it is."""


class ModelReply(Payload):
    """What a model said to one question, or why it said nothing that could be used."""

    step: int
    """Counts the questions of one role within the request, from 0."""
    prompt: str
    """Hash of the question."""
    model: str | None
    raw: str | None
    unavailable: str | None
    sentence: str | None
    tokens_in: int
    tokens_out: int
    estimated: bool


class AgentProse(Payload):
    """A model's words as they are written: shown, never recorded."""

    text: str


class AgentWorking(Payload):
    """A sign of life of an agent outside the desk's process that has not answered yet."""


class FlowTerms(Payload):
    """What a flow may take, told to every agent outside the desk's process as it starts."""

    flow: str
    seconds: Measure
    """Until the flow ends, whatever has been said by then."""
    quiet_seconds: Measure
    """An agent that is not heard of for so long is taken for lost."""
    tokens: int | None
    """What models may use; None leaves it open."""
    about: str = ""
    """What the services elsewhere are made for, as the network of a debate."""


class FlowOver(Payload):
    """The flow has ended: agents outside the desk's process stop working on it."""


MOST_BYTES = 1 << 20
LATEST_TIMESTAMP = 1 << 53  # beyond it JSON readers that know only doubles lose milliseconds

_FIELDS = frozenset(("requestId", "from", "to", "kind", "payload", "ts"))
# A request's id names its record's file: nothing in it may climb out of a folder.
_REQUEST_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,63}")
_KIND = re.compile(r"[a-z][a-z_]{0,39}")
_ROLE = re.compile(r"[a-z][a-z_]{0,19}")

Role = NewType("Role", str)
"""Who speaks or is spoken to; each flow names its own."""

CLI = Role("cli")
"""The one who asked: the desk or the command line, in every flow."""


class Kind(StrEnum):
    """The kinds that every flow has; each flow registers its own beside them."""

    FLOW_FAILED = "flow_failed"
    AGENT_THOUGHT = "agent_thought"
    AGENT_FACT = "agent_fact"
    MODEL_REPLY = "model_reply"
    AGENT_PROSE = "agent_prose"
    AGENT_WORKING = "agent_working"
    FLOW_TERMS = "flow_terms"
    FLOW_OVER = "flow_over"


_COMMON: Mapping[str, type[Payload]] = {
    Kind.FLOW_FAILED: FlowFailed,
    Kind.AGENT_THOUGHT: Thought,
    Kind.AGENT_FACT: AgentFact,
    Kind.MODEL_REPLY: ModelReply,
    Kind.AGENT_PROSE: AgentProse,
    Kind.AGENT_WORKING: AgentWorking,
    Kind.FLOW_TERMS: FlowTerms,
    Kind.FLOW_OVER: FlowOver,
}
_DROPPABLE = frozenset((Kind.AGENT_THOUGHT, Kind.AGENT_PROSE, Kind.AGENT_WORKING, Kind.FLOW_OVER))
# They depend on pace and place, not on what is argued: a replay has none of them.
_UNRECORDED = frozenset((Kind.AGENT_PROSE, Kind.AGENT_WORKING, Kind.FLOW_TERMS, Kind.FLOW_OVER))


class EnvelopeError(ValueError):
    """An envelope that may not be sent, or bytes that are not one."""


class Envelope(Struct, frozen=True, dict=True):
    """One message; made by a `Registry`, which vouches for it."""

    request_id: str
    sender: Role
    recipient: Role
    kind: str
    payload: Payload
    ts: int
    """Milliseconds since 1970 by the sender's clock."""
    wire: bytes
    """The canonical bytes of all of the above."""

    @cached_property
    def content_id(self) -> str:
        """Equal for two copies of one message, whichever way they came."""
        return digest(self.wire)


class Registry:
    """Which roles and kinds a flow has, what each kind carries, which end it, which may be lost."""

    def __init__(
        self,
        roles: Iterable[Role],
        payloads: Mapping[str, type[Payload] | UnionType],
        *,
        final: Iterable[str],
        droppable: Iterable[str] = (),
    ) -> None:
        self.roles = tuple(dict.fromkeys((CLI, *roles)))
        """Of the desk first, then the agents in the order in which the flow names them."""
        self._payloads = {**_COMMON, **payloads}
        self._final = frozenset((*final, Kind.FLOW_FAILED))
        self._droppable = frozenset((*droppable, *_DROPPABLE))
        self._adapters: dict[str, TypeAdapter[Payload]] = {}
        for role in self.roles:
            if not _ROLE.fullmatch(role):
                raise EnvelopeError(f"{role!r} cannot name a role: use up to 20 small letters.")
        for kind, model in self._payloads.items():
            if not _KIND.fullmatch(kind):
                raise EnvelopeError(f"{kind!r} cannot name a kind: use small letters and _.")
            if kind in _COMMON and model is not _COMMON[kind]:
                raise EnvelopeError(f"{kind} is a kind of every flow: name yours otherwise.")

    def extend(
        self,
        payloads: Mapping[str, type[Payload] | UnionType],
        *,
        roles: Iterable[Role] = (),
        final: Iterable[str] = (),
        droppable: Iterable[str] = (),
    ) -> Registry:
        """This registry and more kinds, for a flow that speaks over the same bus."""
        return Registry(
            (*self.roles, *roles),
            {**self._payloads, **payloads},
            final=(*self._final, *final),
            droppable=(*self._droppable, *droppable),
        )

    def kind_of(self, payload: Payload, among: Iterable[str]) -> str:
        """The one of these kinds that carries this payload."""
        for kind in among:
            if isinstance(payload, self._payloads[kind]):
                return kind
        raise EnvelopeError(f"A {type(payload).__name__} starts no flow of this kind.")

    def is_recorded(self, kind: str) -> bool:
        return kind not in _UNRECORDED

    def is_final(self, kind: str) -> bool:
        return kind in self._final

    def is_droppable(self, kind: str) -> bool:
        return kind in self._droppable

    def seal(
        self,
        request_id: str,
        *,
        sender: Role,
        recipient: Role,
        kind: str,
        payload: Payload,
        ts: int,
    ) -> Envelope:
        """An envelope with its bytes, or EnvelopeError where it may not be sent."""
        expected = self._payloads.get(kind)
        if expected is None:
            raise EnvelopeError(f"There is no kind {kind!r} on this bus.")
        if not isinstance(payload, expected):
            raise EnvelopeError(f"{kind} cannot carry a {type(payload).__name__}.")
        if sender not in self.roles or recipient not in self.roles:
            raise EnvelopeError(f"from and to are one of {', '.join(self.roles)}.")
        if not _REQUEST_ID.fullmatch(request_id):
            raise EnvelopeError("A request id is up to 64 letters, digits, _ and -.")
        if not 0 <= ts <= LATEST_TIMESTAMP:
            raise EnvelopeError("A timestamp is a number of milliseconds since 1970.")
        try:
            body = wire_of(payload)
        except ValueError as error:
            raise EnvelopeError(f"{kind} holds a number that cannot be written.") from error
        # Put together by hand, in the order of canonical JSON: names need no escapes.
        head = f'{{"from":"{sender}","kind":"{kind}","payload":'
        tail = f',"requestId":"{request_id}","to":"{recipient}","ts":{ts}}}'
        wire = head.encode() + body + tail.encode()
        if len(wire) > MOST_BYTES:
            raise EnvelopeError(f"{kind} has {len(wire)} bytes; {MOST_BYTES} are allowed.")
        return Envelope(request_id, sender, recipient, str(kind), payload, ts, wire)

    def open(self, data: bytes, *, sender: Role | None = None) -> Envelope:
        """Read an envelope from anywhere; whatever is not exactly one raises EnvelopeError.

        Whoever knows who sent the bytes names the sender: nobody may speak as another.
        """
        if len(data) > MOST_BYTES:
            raise EnvelopeError(f"An envelope has at most {MOST_BYTES} bytes.")
        try:
            value = strict_json.loads(data)
        except strict_json.InvalidJsonError as error:
            raise EnvelopeError(f"The envelope cannot be read: {error}.") from None
        if not isinstance(value, dict) or value.keys() != _FIELDS:
            raise EnvelopeError(f"An envelope has the fields {', '.join(sorted(_FIELDS))}.")
        request_id, kind, ts = value["requestId"], value["kind"], value["ts"]
        if sender is not None and value["from"] != sender:
            raise EnvelopeError(f"An envelope that {sender} sent is from another.")
        if not isinstance(request_id, str) or not isinstance(kind, str) or type(ts) is not int:
            raise EnvelopeError("requestId and kind are texts, ts is an integer.")
        return self.seal(
            request_id,
            sender=self._role(value["from"]),
            recipient=self._role(value["to"]),
            kind=kind,
            payload=self._payload(kind, value["payload"]),
            ts=ts,
        )

    def _role(self, value: object) -> Role:
        for role in self.roles:
            if role == value:
                return role
        raise EnvelopeError(f"from and to are one of {', '.join(self.roles)}.")

    def _payload(self, kind: str, value: object) -> Payload:
        model = self._payloads.get(kind)
        if model is None:
            raise EnvelopeError(f"There is no kind {clean_text(kind, limit=40)!r} on this bus.")
        if kind not in self._adapters:
            self._adapters[kind] = TypeAdapter(cast("type[Payload]", model))
        adapter = self._adapters[kind]
        try:
            # JSON mode: strictness there knows that a tuple travels as a list.
            return adapter.validate_json(canonical(value), by_alias=True, by_name=False)
        except ValidationError as error:
            first = error.errors(include_input=False, include_url=False, include_context=False)[0]
            place = clean_text(".".join(str(part) for part in first["loc"]), limit=80)
            sentence = f"The payload of {kind} is wrong at {place or 'its top'}: {first['type']}."
        raise EnvelopeError(sentence)
