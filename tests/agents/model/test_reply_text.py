"""Whatever a model writes becomes a checked value without a trace of control, or is refused."""

import json
from typing import Annotated, Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel, ConfigDict, Field

from agents.bus.envelope import Payload
from agents.model.reply_text import (
    PROSE_LIMIT,
    UnsupportedSchemaError,
    UnusableReplyError,
    parse_reply,
    strict_schema,
    whole_text,
)
from chain.base.clean_text import Redactor, clean_text

NOTHING = Redactor()


class Shape(BaseModel):
    model_config = ConfigDict(extra="forbid")

    width_multiplier: Annotated[float, Field(ge=0.3, le=3.5, allow_inf_nan=False)]
    pool_index: Annotated[int, Field(ge=0, lt=12)] | None


class Reply(BaseModel):
    model_config = ConfigDict(extra="forbid")

    prose: Annotated[str, Field(max_length=220)]
    shapes: list[Shape]


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=15,
)
ALMOST = st.fixed_dictionaries(
    {
        "prose": st.text(max_size=230),
        "shapes": st.lists(
            st.fixed_dictionaries(
                {
                    "width_multiplier": st.floats() | st.integers() | st.text(max_size=3),
                    "pool_index": st.none() | st.integers() | st.floats() | st.booleans(),
                }
            ),
            max_size=4,
        ),
    }
)


@given(st.text() | (JSON | ALMOST).map(json.dumps))
def test_a_reply_is_within_its_bounds_and_clean_or_refused(raw: str) -> None:
    raw = whole_text([raw])
    complaint = ""
    try:
        read = parse_reply(raw, Reply, NOTHING)
    except UnusableReplyError as error:
        complaint = str(error)
    if complaint:
        assert len(complaint) < 1000
        assert complaint.isprintable()
        return
    for shape in read.value.shapes:
        assert 0.3 <= shape.width_multiplier <= 3.5
        assert shape.pool_index is None or 0 <= shape.pool_index < 12
    assert read.value.prose == clean_text(read.value.prose, limit=PROSE_LIMIT)
    assert parse_reply(read.text, Reply, NOTHING) == read


def test_the_longest_texts_are_cut_the_same_way_twice() -> None:
    class Long(BaseModel):
        prose: str

    key = "sk-canary-0123456789"
    redactor = Redactor((key,))
    raw = json.dumps({"prose": "https://a.example/b " * 150 + f"{key} " * 200})
    read = parse_reply(raw, Long, redactor)
    assert len(read.value.prose) == PROSE_LIMIT
    assert key not in read.text
    assert parse_reply(read.text, Long, redactor) == read
    assert parse_reply(read.text, Long, NOTHING) == read


def test_a_reply_in_wire_names() -> None:
    class Judged(Payload):
        prose_text: str
        chosen_index: int

    assert parse_reply('{"proseText": "a", "chosenIndex": 1}', Judged, NOTHING).value == Judged(
        prose_text="a", chosen_index=1
    )
    with pytest.raises(UnusableReplyError):
        parse_reply('{"prose_text": "a", "chosen_index": 1}', Judged, NOTHING)
    schema = strict_schema(Judged)
    assert schema["required"] == ["proseText", "chosenIndex"]


def test_schemas_that_cannot_be_asked_for_are_refused_before_anything_is_sent() -> None:
    class NumberFirst(BaseModel):
        width: float
        prose: str

    class Pair(BaseModel):
        prose: str
        pair: tuple[int, int]

    class Empty(BaseModel):
        pass

    for model in (NumberFirst, Pair, Empty):
        with pytest.raises(UnsupportedSchemaError):
            strict_schema(model)


def test_optional_fields_and_choices_survive_in_a_schema() -> None:
    class Choice(BaseModel):
        """Where the range leans."""

        prose: Annotated[str, Field(description="Two sentences.", max_length=220)]
        bias: Literal["neutral", "long-token"] | None
        shape: Shape

    schema = strict_schema(Choice)
    assert schema["properties"] == {
        "prose": {"type": "string", "description": "Two sentences. (at most 220 characters)"},
        "bias": {
            "anyOf": [{"type": "string", "enum": ["neutral", "long-token"]}, {"type": "null"}]
        },
        "shape": {"$ref": "#/$defs/Shape"},
    }
    assert schema["additionalProperties"] is False
    assert schema["description"] == "Where the range leans."


class Picked(BaseModel):
    model_config = ConfigDict(extra="forbid")

    prose: Annotated[str, Field(max_length=40)]
    index: Annotated[int, Field(ge=0, lt=5)]
    bias: Literal["neutral", "long"] = "neutral"


@pytest.mark.parametrize(
    "raw",
    [
        '{"prose": "Wide.", "index": 2.0}',
        '{"prose": "Wide.", "index": 2, "bias": null}',
        '```json\n{"prose": "Wide.", "index": 2}\n```',
        'Sure! {"note": 1} Here: {"prose": "Wide.", "index": 2} I hope that helps {you}.',
        '[{"prose": "Wide.", "index": 2}]',
    ],
)
def test_what_nothing_rests_on_is_mended(raw: str) -> None:
    read = parse_reply(raw, Picked, NOTHING)
    assert read.value == Picked(prose="Wide.", index=2, bias="neutral")
    assert parse_reply(read.text, Picked, NOTHING) == read


def test_prose_over_its_length_is_cut_at_a_word() -> None:
    read = parse_reply(json.dumps({"prose": "word " * 40, "index": 1}), Picked, NOTHING)
    assert read.value.prose == "word word word word word word word…"
    assert parse_reply(read.text, Picked, NOTHING) == read


@pytest.mark.parametrize(
    "raw",
    [
        '{"prose": "Wide.", "index": 2.5}',
        '{"prose": "Wide.", "index": "2"}',
        '{"prose": "Wide.", "index": true}',
        '{"prose": "Wide.", "index": 9}',
        '{"prose": "Wide.", "index": null}',
        '{"prose": "Wide.", "index": 2, "index": 3}',
        '{"prose": "Wide.", "index": 2, "bias": "short"}',
        '{"prose": "Wide.", "index": 2, "amount": 7}',
        '{"prose": "Wide.", "ind',
    ],
)
def test_what_a_choice_rests_on_is_not(raw: str) -> None:
    with pytest.raises(UnusableReplyError):
        parse_reply(raw, Picked, NOTHING)
