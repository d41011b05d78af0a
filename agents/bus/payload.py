"""What messages carry: the base of every payload, and those that every flow has."""

from __future__ import annotations

import re
from enum import StrEnum
from typing import Annotated, ClassVar, Literal

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    InstanceOf,
    JsonValue,
    PlainSerializer,
)

from agents.numbers.rounding import significant
from chain.base.canonical import canonical
from chain.base.once_per_object import once_per_object

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
    carried = {name: one for name, one in payload if isinstance(one, Payload) and one.travels_on}
    plain = payload.model_dump(mode="json", by_alias=True, exclude=set(carried))
    if not carried:
        return canonical(plain)
    parts = {name: canonical(value) for name, value in plain.items()}
    parts |= {wire_name(name): wire_of(one) for name, one in carried.items()}
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
    why: Literal["mismatch", "unknown", "uncited"]


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


class Thought(Payload):
    """What an agent says aloud; losing one changes nothing."""

    round: int
    tag: str
    text: str
    struck: tuple[StruckClaim, ...] = ()
    cited: int = 0
    """Numbers that were given and cited rightly."""
    table: SpokenTable | None = None


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
