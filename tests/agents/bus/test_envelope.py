"""Envelopes: the same bytes everywhere, and nothing but an envelope gets in."""

import json
from enum import StrEnum
from typing import ClassVar

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import ValidationError

from agents.bus.envelope import (
    CLI,
    MOST_BYTES,
    AgentFact,
    Envelope,
    EnvelopeError,
    FailureCause,
    FlowFailed,
    Kind,
    Payload,
    Registry,
    Role,
    wire_of,
)
from chain.base.strict_json import canonical

STRATEGIST = Role("strategist")
CRITIC = Role("critic")


class Candidate(Payload):
    tick_lower: int
    fee_yield: float | None


class Proposal(Payload):
    round: int
    candidates: tuple[Candidate, ...]
    rationale: str


class CreateProposal(Payload):
    pool_index: int


class Note(Payload):
    text: str


class TradeKind(StrEnum):
    PROPOSAL = "proposal"
    PLAN_READY = "plan_ready"


REGISTRY = Registry(
    (STRATEGIST, CRITIC),
    {TradeKind.PROPOSAL: Proposal | CreateProposal, TradeKind.PLAN_READY: Note},
    final=[TradeKind.PLAN_READY],
)
PROPOSAL = Proposal(
    round=1, candidates=(Candidate(tick_lower=-60, fee_yield=1.25),), rationale="width · 2×"
)


def sealed(payload: Payload = PROPOSAL, kind: str = TradeKind.PROPOSAL, ts: int = 7) -> Envelope:
    return REGISTRY.seal(
        "req_1",
        sender=STRATEGIST,
        recipient=CRITIC,
        kind=kind,
        payload=payload,
        ts=ts,
    )


def altered(**changes: object) -> bytes:
    return json.dumps({**json.loads(sealed().wire), **changes}).encode()


def test_the_wire_has_the_fixed_names_in_canonical_form() -> None:
    assert sealed().wire == (
        b'{"from":"strategist","kind":"proposal","payload":{"candidates":'
        b'[{"feeYield":1.25,"tickLower":-60}],"rationale":"width \\u00b7 2\\u00d7","round":1},'
        b'"requestId":"req_1","to":"critic","ts":7}'
    )


class _Carried(Payload):
    travels_on: ClassVar[bool] = True
    token_id: int
    words: str


class _Carrier(Payload):
    zone: str
    long_name: _Carried
    beside: _Carried | None


def test_what_travels_on_is_written_like_everything_else() -> None:
    carried = _Carried(token_id=7, words='{"ü"}')
    for payload in (
        _Carrier(zone="a", long_name=carried, beside=None),
        _Carrier(zone="b", long_name=carried, beside=carried.model_copy(update={"token_id": 8})),
    ):
        assert wire_of(payload) == canonical(payload.model_dump(mode="json", by_alias=True))
    fact = {"name": "seen", "value": carried.model_dump(mode="json", by_alias=True)}
    assert wire_of(AgentFact(name="seen", value=carried)) == canonical(fact)


def test_opening_what_was_sealed_gives_the_same_envelope() -> None:
    for payload in (PROPOSAL, CreateProposal(pool_index=3)):
        envelope = sealed(payload)
        assert REGISTRY.open(envelope.wire) == envelope


def test_other_spacing_and_order_is_the_same_message() -> None:
    loose = json.dumps(json.loads(sealed().wire), indent=2, sort_keys=False).encode()
    assert loose != sealed().wire
    assert REGISTRY.open(loose).content_id == sealed().content_id
    assert sealed(ts=8).content_id != sealed().content_id


def test_envelopes_and_payloads_cannot_be_changed() -> None:
    with pytest.raises(AttributeError):
        sealed().ts = 9  # type: ignore[misc]
    with pytest.raises(ValidationError):
        PROPOSAL.round = 2


@pytest.mark.parametrize(
    "data",
    [
        pytest.param(b"", id="empty"),
        pytest.param(b"null", id="not an object"),
        pytest.param(b"\xff\xfe", id="not UTF-8"),
        pytest.param(b"\xef\xbb\xbf" + sealed().wire, id="byte order mark"),
        pytest.param(sealed().wire + b"{}", id="trailing bytes"),
        pytest.param(sealed().wire[:-1], id="cut off"),
        pytest.param(sealed().wire.replace(b'"ts":7', b'"ts":7,"ts":8'), id="duplicate key"),
        pytest.param(
            sealed().wire.replace(b'"round":1', b'"round":1,"round":9'), id="duplicate inside"
        ),
        pytest.param(sealed().wire.replace(b"1.25", b"NaN"), id="NaN"),
        pytest.param(sealed().wire.replace(b"1.25", b"1e999"), id="infinite"),
        pytest.param(sealed().wire.replace(b"-60", b"9" * 5000), id="endless digits"),
        pytest.param(sealed().wire.replace(b"-60", b"-60.0"), id="float for an integer"),
        pytest.param(sealed().wire.replace(b"-60", b'"-60"'), id="text for an integer"),
        pytest.param(sealed().wire.replace(b"-60", b"true"), id="bool for an integer"),
        pytest.param(sealed().wire.replace(b"tickLower", b"tick_lower"), id="python name"),
        pytest.param(sealed().wire.replace(b"\\u00b7", b"\\ud800"), id="lone surrogate"),
        pytest.param(b"[" * 300_000, id="deep nesting"),
        pytest.param(b'{"a":' * 40 + b"1" + b"}" * 40, id="nested too deep"),
        pytest.param(sealed().wire + b" " * MOST_BYTES, id="over a mebibyte"),
        pytest.param(altered(ts=1.0), id="ts is a float"),
        pytest.param(altered(ts=True), id="ts is a bool"),
        pytest.param(altered(ts=-1), id="ts is negative"),
        pytest.param(altered(ts=1 << 60), id="ts is beyond doubles"),
        pytest.param(altered(requestId="../etc/passwd"), id="id climbs"),
        pytest.param(altered(requestId=""), id="no id"),
        pytest.param(altered(requestId="r" * 65), id="long id"),
        pytest.param(altered(requestId="req\n1"), id="id with a line break"),
        pytest.param(altered(requestId=1), id="id is a number"),
        pytest.param(altered(to="banker"), id="unknown role"),
        pytest.param(altered(to=["cli"]), id="role is a list"),
        pytest.param(altered(kind="transfer_funds"), id="unknown kind"),
        pytest.param(altered(kind=None), id="no kind"),
        pytest.param(altered(payload=[]), id="payload is a list"),
        pytest.param(altered(kind="agent_thought"), id="payload of another kind"),
        pytest.param(altered(extra=1), id="extra field"),
    ],
)
def test_whatever_is_not_exactly_an_envelope_is_refused(data: bytes) -> None:
    with pytest.raises(EnvelopeError) as caught:
        REGISTRY.open(data)
    assert "\x1b" not in str(caught.value)
    assert len(str(caught.value)) < 300


def test_a_refusal_repeats_nothing_that_could_steer_a_terminal() -> None:
    hostile = "\x1b]52;c;ZXZpbA==\x07[@click=app.quit]"
    for data in (altered(kind=hostile), altered(payload={hostile: 1})):
        with pytest.raises(EnvelopeError) as caught:
            REGISTRY.open(data)
        assert "\x1b" not in str(caught.value)


def test_sealing_refuses_what_could_not_be_opened() -> None:
    thought = Note(text="hm")
    with pytest.raises(EnvelopeError, match="no kind"):
        sealed(thought, kind="trade_ready")
    with pytest.raises(EnvelopeError, match="cannot carry"):
        sealed(thought, kind=TradeKind.PROPOSAL)
    with pytest.raises(EnvelopeError, match="timestamp"):
        sealed(ts=-1)
    with pytest.raises(EnvelopeError, match="bytes"):
        sealed(Note(text="a" * MOST_BYTES), kind=TradeKind.PLAN_READY)
    unchecked = Candidate.model_construct(tick_lower=1, fee_yield=float("nan"))
    with pytest.raises(EnvelopeError, match="number"):
        sealed(PROPOSAL.model_copy(update={"candidates": (unchecked,)}))


def test_a_new_flow_adds_kinds_and_leaves_the_old_as_they_are() -> None:
    wider = REGISTRY.extend({"trade_ready": Note}, final=("trade_ready",))
    envelope = wider.seal(
        "req_2",
        sender=CRITIC,
        recipient=CLI,
        kind="trade_ready",
        payload=Note(text="sell"),
        ts=1,
    )
    assert wider.open(envelope.wire) == envelope
    assert wider.is_final("trade_ready")
    assert wider.is_final(TradeKind.PLAN_READY)
    assert wider.is_droppable(Kind.AGENT_THOUGHT)
    assert not wider.is_droppable("trade_ready")
    assert not REGISTRY.is_final("trade_ready")
    with pytest.raises(EnvelopeError):
        REGISTRY.open(envelope.wire)


def test_a_new_flow_adds_roles_and_kinds_that_may_be_lost() -> None:
    trader = Role("trader")
    wider = REGISTRY.extend({"price_seen": Note}, roles=[trader], droppable=["price_seen"])
    assert wider.roles == (CLI, STRATEGIST, CRITIC, trader)
    assert wider.is_droppable("price_seen")
    assert not REGISTRY.is_droppable("price_seen")
    seen = {"sender": trader, "recipient": CLI, "kind": "price_seen", "ts": 1}
    envelope = wider.seal("req_2", payload=Note(text="up"), **seen)  # type: ignore[arg-type]
    assert wider.open(envelope.wire) == envelope
    with pytest.raises(EnvelopeError, match="from and to"):
        REGISTRY.extend({"price_seen": Note}).open(envelope.wire)


@pytest.mark.parametrize("name", ["", "Trader", "a b", "r" * 21, "../cli", "trader\n"])
def test_a_role_is_a_short_plain_word(name: str) -> None:
    with pytest.raises(EnvelopeError, match="role"):
        Registry([Role(name)], {}, final=())


def test_a_kind_of_every_flow_cannot_be_made_to_carry_something_else() -> None:
    with pytest.raises(EnvelopeError, match="agent_thought"):
        Registry([CRITIC], {Kind.AGENT_THOUGHT: Note}, final=())


def test_nobody_may_speak_as_another() -> None:
    assert REGISTRY.open(sealed().wire, sender=STRATEGIST) == sealed()
    with pytest.raises(EnvelopeError, match="critic"):
        REGISTRY.open(sealed().wire, sender=CRITIC)


def test_every_flow_can_say_that_it_failed() -> None:
    failed = FlowFailed(stage="scout", cause=FailureCause.CRASHED, reason="It stopped.")
    envelope = sealed(failed, kind=Kind.FLOW_FAILED)
    assert REGISTRY.open(envelope.wire).payload == failed
    assert REGISTRY.is_final(Kind.FLOW_FAILED)


@given(st.binary(max_size=400))
def test_random_bytes_are_refused(data: bytes) -> None:
    with pytest.raises(EnvelopeError):
        REGISTRY.open(data)


@given(st.integers(0, len(sealed().wire) - 1), st.integers(0, 255))
def test_a_changed_byte_is_refused_or_another_valid_message(place: int, byte: int) -> None:
    data = bytearray(sealed().wire)
    data[place] = byte
    try:
        envelope = REGISTRY.open(bytes(data))
    except EnvelopeError:
        return
    assert REGISTRY.open(envelope.wire) == envelope


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
        lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
        max_leaves=20,
    )
)
@settings(max_examples=15)
def test_a_payload_of_any_other_shape_is_refused(value: object) -> None:
    try:
        data = canonical({**json.loads(sealed().wire), "payload": value})
    except ValueError:
        return
    with pytest.raises(EnvelopeError):
        REGISTRY.open(data)
