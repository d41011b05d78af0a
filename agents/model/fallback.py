"""A second model for when the first one's API fails; the answer names whoever gave it."""

from __future__ import annotations

from collections.abc import Callable
from collections.abc import Set as AbstractSet
from typing import TYPE_CHECKING

from agents.model.interface import (
    Answer,
    Model,
    ModelPrompt,
    ModelUnavailable,
    Reply,
    Unavailability,
)

if TYPE_CHECKING:
    from agents.bus.envelope import Role

# A model that answered badly, or may not be paid, is no failure of its API.
_OF_THE_API = frozenset(
    (
        Unavailability.NOT_SET,
        Unavailability.REJECTED,
        Unavailability.RATE_LIMITED,
        Unavailability.SERVER_ERROR,
        Unavailability.UNREACHABLE,
        Unavailability.DISCONNECTED,
        Unavailability.TIMED_OUT,
        Unavailability.STALLED,
    )
)


class ModelWithFallback:
    def __init__(self, first: Model, second: Model, roles: AbstractSet[Role]) -> None:
        """`roles` are those whose question goes on to the second."""
        self._first = first
        self._second = second
        self._roles = roles

    async def ask(
        self,
        role: Role,
        prompt: ModelPrompt,
        schema: type[Reply],
        on_prose: Callable[[str], None],
    ) -> Answer[Reply]:
        said: list[str] = []

        def hear(text: str) -> None:
            said.append(text)
            on_prose(text)

        try:
            return await self._first.ask(role, prompt, schema, hear)
        except ModelUnavailable as error:
            if role not in self._roles or error.reason not in _OF_THE_API:
                raise
            first = error
        # Words that were cut off are not followed by another's.
        heard = (lambda _: None) if said else on_prose
        try:
            return await self._second.ask(role, prompt, schema, heard)
        except ModelUnavailable as error:
            raise ModelUnavailable(error.reason, f"{first} {error}") from None
