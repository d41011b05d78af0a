"""The order in which a desk records what agents elsewhere say: nothing before what it answers.

Agents send to each other, and a copy to the desk. Copies come in any order; a message is let
through when its sender's earlier ones are, when all that it builds on is, and, where it is for
another agent elsewhere, in the order in which that agent took it.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from msgspec import Struct, field

if TYPE_CHECKING:
    from agents.bus.envelope import Envelope, Role
    from agents.mesh.frame import FlowStamp


class Copy(Struct, frozen=True):
    """What an agent elsewhere said, with its place in the request."""

    envelope: Envelope
    stamp: FlowStamp
    structural: bool
    """Whether it may not be lost."""


class Taken(Struct, frozen=True, forbid_unknown_fields=True):
    """An agent took a message of another as so-many-th."""

    place: int
    sender: str
    number: int


class _Voice(Struct):
    """One agent elsewhere."""

    copies: dict[int, Copy] = field(default_factory=dict)
    next_number: int = 0
    structural: int = 0
    """Of those let through, how many may not be lost."""
    taken: dict[int, Taken] = field(default_factory=dict)
    next_taken: int = 0


class RequestOrder:
    """What has come of one request, and what of it may be recorded by now."""

    def __init__(self, elsewhere: Iterable[Role]) -> None:
        self._voices: dict[str, _Voice] = {role: _Voice() for role in elsewhere}

    def add(self, copy: Copy) -> bool:
        """False where it has come before."""
        voice = self._voices[copy.envelope.sender]
        number = copy.stamp.number
        if number < voice.next_number or number in voice.copies:
            return False
        voice.copies[number] = copy
        return True

    def took(self, role: Role, taken: Taken) -> None:
        self._voices[role].taken.setdefault(taken.place, taken)

    def spoken(self, role: Role) -> bool:
        """Whether this agent has said or taken anything."""
        voice = self._voices[role]
        return bool(voice.copies or voice.taken or voice.next_number)

    @property
    def waiting(self) -> int:
        return sum(len(voice.copies) for voice in self._voices.values())

    def ready(self, *, without_lost_thoughts: bool = False) -> list[Envelope]:
        """All that may be recorded now, in its order."""
        found: list[Envelope] = []
        moved = True
        while moved:
            moved = False
            for voice in self._voices.values():
                copy = self._next(voice, skipping=without_lost_thoughts)
                while copy is not None and self._may_follow(copy):
                    self._let_through(voice, copy)
                    found.append(copy.envelope)
                    moved = True
                    copy = self._next(voice, skipping=without_lost_thoughts)
        return found

    def _next(self, voice: _Voice, *, skipping: bool) -> Copy | None:
        copy = voice.copies.get(voice.next_number)
        if copy is not None or not skipping or not voice.copies:
            return copy
        first = voice.copies[min(voice.copies)]
        # What is missing before it are thoughts alone where no structural one is unheard of.
        return first if first.stamp.structural - int(first.structural) == voice.structural else None

    def _may_follow(self, copy: Copy) -> bool:
        for role, count in copy.stamp.after.items():
            cause = self._voices.get(role)
            if cause is not None and cause.next_number < count:
                return False
        recipient = self._voices.get(copy.envelope.recipient)
        if recipient is None:
            return True
        taken = recipient.taken.get(recipient.next_taken)
        return taken is not None and (taken.sender, taken.number) == (
            copy.envelope.sender,
            copy.stamp.number,
        )

    def _let_through(self, voice: _Voice, copy: Copy) -> None:
        del voice.copies[copy.stamp.number]
        voice.next_number = copy.stamp.number + 1
        voice.structural = copy.stamp.structural
        recipient = self._voices.get(copy.envelope.recipient)
        if recipient is not None:
            recipient.next_taken += 1
