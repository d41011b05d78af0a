"""What the agents say to each other: one envelope, the same bytes over every transport."""

from __future__ import annotations

import re
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated, cast

from msgspec import Struct
from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    PlainSerializer,
    TypeAdapter,
    ValidationError,
)

from agents.numbers.rounding import significant
from chain.base import strict_json
from chain.base.canonical import canonical, digest
from chain.base.clean_text import clean_text

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from types import UnionType

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

Measure = Annotated[float, AfterValidator(significant)]
"""A measured or modelled number: rounded where it enters, so that every machine writes it alike."""


MOST_BYTES = 1 << 20
LATEST_TIMESTAMP = 1 << 53  # beyond it JSON readers that know only doubles lose milliseconds

_FIELDS = frozenset(("requestId", "from", "to", "kind", "payload", "ts"))
# A request's id names its record's file: nothing in it may climb out of a folder.
_REQUEST_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,63}")
_KIND = re.compile(r"[a-z][a-z_]{0,39}")


class Role(StrEnum):
    CLI = "cli"
    SCOUT = "scout"
    STRATEGIST = "strategist"
    CRITIC = "critic"
    ARBITER = "arbiter"


class Kind(StrEnum):
    """The kinds of the debate; a later flow registers its own beside them."""

    FLOW_START = "flow_start"
    FLOW_CREATE_START = "flow_create_start"
    CONTEXT_OBSERVED = "context_observed"
    PROPOSAL = "proposal"
    CRITIQUE = "critique"
    REVISION = "revision"
    DEADLOCK = "deadlock"
    PLAN_READY = "plan_ready"
    FLOW_FAILED = "flow_failed"
    AGENT_THOUGHT = "agent_thought"


def wire_name(name: str) -> str:
    """`fee_yield_24h` as `feeYield24h`: a unit stays small behind its number."""
    first, *rest = name.split("_")
    return first + "".join(part if part[0].isdigit() else part.capitalize() for part in rest)


class Payload(BaseModel):
    """Base of what an envelope carries: frozen, strict, closed, camelCase on the wire."""

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


class EnvelopeError(ValueError):
    """An envelope that may not be sent, or bytes that are not one."""


class Envelope(Struct, frozen=True):
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

    @property
    def content_id(self) -> str:
        """Equal for two copies of one message, whichever way they came."""
        return digest(self.wire)


class Registry:
    """Which kinds exist, what each carries, which end a flow and which may be lost."""

    def __init__(
        self,
        payloads: Mapping[str, type[Payload] | UnionType],
        *,
        final: Iterable[str] = (Kind.PLAN_READY,),
        droppable: Iterable[str] = (Kind.AGENT_THOUGHT,),
    ) -> None:
        # A failure must be sayable in every flow, so its kind is always known.
        self._payloads = {Kind.FLOW_FAILED.value: FlowFailed, **payloads}
        self._final = frozenset((*final, Kind.FLOW_FAILED))
        self._droppable = frozenset(droppable)
        self._adapters: dict[str, TypeAdapter[Payload]] = {}
        for kind, model in self._payloads.items():
            if not _KIND.fullmatch(kind):
                raise EnvelopeError(f"{kind!r} cannot name a kind: use small letters and _.")
            adapter: TypeAdapter[Payload] = TypeAdapter(cast("type[Payload]", model))
            self._adapters[str(kind)] = adapter

    def extended(
        self, payloads: Mapping[str, type[Payload] | UnionType], *, final: Iterable[str] = ()
    ) -> Registry:
        """This registry and more kinds, for a flow that speaks over the same bus."""
        known = {kind: model for kind, model in self._payloads.items() if kind not in payloads}
        return Registry(
            {**known, **payloads}, final=(*self._final, *final), droppable=self._droppable
        )

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
        if not _REQUEST_ID.fullmatch(request_id):
            raise EnvelopeError("A request id is up to 64 letters, digits, _ and -.")
        if not 0 <= ts <= LATEST_TIMESTAMP:
            raise EnvelopeError("A timestamp is a number of milliseconds since 1970.")
        try:
            wire = canonical(
                {
                    "requestId": request_id,
                    "from": sender.value,
                    "to": recipient.value,
                    "kind": str(kind),
                    "payload": payload.model_dump(mode="json", by_alias=True),
                    "ts": ts,
                }
            )
        except ValueError as error:
            raise EnvelopeError(f"{kind} holds a number that cannot be written.") from error
        if len(wire) > MOST_BYTES:
            raise EnvelopeError(f"{kind} has {len(wire)} bytes; {MOST_BYTES} are allowed.")
        return Envelope(request_id, sender, recipient, str(kind), payload, ts, wire)

    def open(self, data: bytes) -> Envelope:
        """Read an envelope from anywhere; whatever is not exactly one raises EnvelopeError."""
        if len(data) > MOST_BYTES:
            raise EnvelopeError(f"An envelope has at most {MOST_BYTES} bytes.")
        try:
            value = strict_json.loads(data)
        except strict_json.InvalidJsonError as error:
            raise EnvelopeError(f"The envelope cannot be read: {error}.") from None
        if not isinstance(value, dict) or value.keys() != _FIELDS:
            raise EnvelopeError(f"An envelope has the fields {', '.join(sorted(_FIELDS))}.")
        request_id, kind, ts = value["requestId"], value["kind"], value["ts"]
        if not isinstance(request_id, str) or not isinstance(kind, str) or type(ts) is not int:
            raise EnvelopeError("requestId and kind are texts, ts is an integer.")
        return self.seal(
            request_id,
            sender=_role(value["from"]),
            recipient=_role(value["to"]),
            kind=kind,
            payload=self._payload(kind, value["payload"]),
            ts=ts,
        )

    def _payload(self, kind: str, value: object) -> Payload:
        adapter = self._adapters.get(kind)
        if adapter is None:
            raise EnvelopeError(f"There is no kind {clean_text(kind, limit=40)!r} on this bus.")
        try:
            # JSON mode: strictness there knows that a tuple travels as a list.
            return adapter.validate_json(canonical(value), by_alias=True, by_name=False)
        except ValidationError as error:
            first = error.errors(include_input=False, include_url=False, include_context=False)[0]
            place = clean_text(".".join(str(part) for part in first["loc"]), limit=80)
            sentence = f"The payload of {kind} is wrong at {place or 'its top'}: {first['type']}."
        raise EnvelopeError(sentence)


def _role(value: object) -> Role:
    for role in Role:
        if role.value == value:
            return role
    raise EnvelopeError(f"from and to are one of {', '.join(Role)}.")
