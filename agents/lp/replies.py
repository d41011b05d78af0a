"""What a model may answer: prose first, then choices within bounds. No field holds a result."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from agents.model.structured_reply import StructuredReply
from agents.numbers.shapes import (
    MAX_CANDIDATES,
    MAX_CENTER_OFFSET_TICKS,
    MAX_SURVEYED_POOLS,
    MAX_WIDTH_MULTIPLIER,
    MIN_CANDIDATES,
    MIN_WIDTH_MULTIPLIER,
)

_PROSE = 1_200
_SENTENCE = 400


class ScoutReply(StructuredReply):
    summary: str = Field(min_length=20, max_length=_PROSE)


class ProposedShape(StructuredReply):
    width_multiplier: float = Field(ge=MIN_WIDTH_MULTIPLIER, le=MAX_WIDTH_MULTIPLIER)
    center_offset_ticks: int = Field(ge=-MAX_CENTER_OFFSET_TICKS, le=MAX_CENTER_OFFSET_TICKS)
    pool_index: int = Field(default=0, ge=0, lt=MAX_SURVEYED_POOLS)
    exposure: Literal["neutral", "long-token"] = "neutral"


class PointAnswer(StructuredReply):
    point: int = Field(ge=1, le=100)
    words: str = Field(min_length=1, max_length=_SENTENCE)


class StrategistReply(StructuredReply):
    rationale: str = Field(min_length=20, max_length=_PROSE)
    answers: list[PointAnswer] = Field(default=[], max_length=40)
    shapes: list[ProposedShape] = Field(min_length=MIN_CANDIDATES, max_length=MAX_CANDIDATES)


class CandidateOpinion(StructuredReply):
    index: int = Field(ge=0, lt=MAX_CANDIDATES)
    verdict: Literal["accept", "revise", "veto"]
    reason: str = Field(min_length=1, max_length=_SENTENCE)


class CriticReply(StructuredReply):
    rationale: str = Field(min_length=20, max_length=_PROSE)
    judgments: list[CandidateOpinion] = Field(min_length=1, max_length=MAX_CANDIDATES)


class ArbiterReply(StructuredReply):
    rationale: str = Field(min_length=20, max_length=_PROSE)
    chosen_index: int = Field(ge=0, lt=MAX_CANDIDATES)
