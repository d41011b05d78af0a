"""One thing the doctor looked at: how it is, and what to do when it is not well."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class State(StrEnum):
    WELL = "ok"
    CAUTION = "caution"
    BROKEN = "broken"


@dataclass(frozen=True, slots=True)
class Check:
    name: str
    state: State
    finding: str
    next_step: str = ""
    about_network: bool = False
