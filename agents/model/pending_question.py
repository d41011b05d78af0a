"""One question on its way: a busy server is waited for, a refusal learned from, all of it paid."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING

from msgspec.structs import replace

from agents.model.abilities import (
    AbilityMemory,
    ReplyForm,
    ServerAbilities,
    first_guess,
    without_refused,
)
from agents.model.budget import DebateBudget, Reservation, estimated_tokens
from agents.model.exchange import ModelCall, ModelExchange
from agents.model.faults import RequestRefusedError, TryLaterError
from agents.model.incoming_reply import Hearers, ModelCompletion
from agents.model.interface import ModelUnavailable, Unavailability, Usage

if TYPE_CHECKING:
    from agents.bus.envelope import Role
    from agents.model.question import Question
    from agents.model.settings import ModelSettings

_FIRST_PAUSE = 0.5
_MOST_REFUSALS = 12
"""More than there is to leave out."""
# Nothing was generated, so nothing is owed.
_FREE = frozenset((Unavailability.REJECTED, Unavailability.UNREACHABLE, Unavailability.OVERFLOWED))


class PendingQuestion:
    def __init__(
        self,
        role: Role,
        settings: ModelSettings,
        *,
        exchange: ModelExchange,
        budget: DebateBudget,
        memory: AbilityMemory,
        sleep: Callable[[float], Awaitable[None]],
        on_thinking: Callable[[], None],
    ) -> None:
        self._role = role
        self._settings = settings
        self._exchange = exchange
        self._budget = budget
        self._memory = memory
        self._sleep = sleep
        self._on_thinking = on_thinking
        self._recalled = memory.recall(settings)
        self._learned = self._recalled is None
        self._more_thinking = 0
        self.able = self._recalled or first_guess(settings)
        self.heard = False
        """Whether there was any sign of life."""

    @property
    def model(self) -> str:
        return self._settings.model

    async def completed(
        self, question: Question, on_text: Callable[[str], None], deadline: asyncio.Timeout
    ) -> tuple[ModelCompletion, Usage]:
        """One usable call; a thinker that ran out of tokens before its answer gets more, once."""
        knew = self.able.thinks
        completion, usage = await self._called(question, on_text, deadline)
        if completion.finish != "length" or completion.raw.strip() or completion.calls:
            return completion, usage
        self._learn(replace(self.able, thinks=True))
        self._more_thinking = int(knew)
        longer, more = await self._called(question, on_text, deadline)
        if longer.finish == "length" and not longer.raw.strip():
            raise ModelUnavailable(
                Unavailability.INVALID,
                f"The model thought until its {self._tokens():,} tokens were used up. "
                "Give it more: [model] thinking_tokens",
            )
        return longer, usage.plus(more)

    def loosen(self) -> None:
        """The server did not hold the model to the schema: put it in the prompt from now on."""
        if self.able.form_tried and self.able.form is ReplyForm.SCHEMA:
            self._learn(replace(self.able, form=ReplyForm.JSON))

    def keep(self) -> None:
        """Remember what the server took; for a reply that could be used."""
        if self._learned:
            self._memory.remember(self._settings, self.able)
            self._learned = False

    async def _called(
        self, question: Question, on_text: Callable[[str], None], deadline: asyncio.Timeout
    ) -> tuple[ModelCompletion, Usage]:
        refused = 0
        attempt = 0
        while True:
            reservation = self._reserve(question)
            # What is cancelled, stalls or breaks off has been generated: it stays counted in full.
            try:
                completion = await self._exchange.once(self._call(question), self._hearers(on_text))
            except RequestRefusedError as error:
                reservation.release()
                refused += 1
                self._learn_from(error, refused, question)
            except TryLaterError as error:
                reservation.release()
                attempt += not error.loading
                await self._pause(error, attempt, deadline)
            except ModelUnavailable as error:
                if error.reason in _FREE:
                    reservation.release()
                raise
            else:
                return completion, self._settle(reservation, question, completion)

    def _call(self, question: Question) -> ModelCall:
        return ModelCall(self._settings, question, self.able, self._tokens())

    def _tokens(self) -> int:
        settings = self._settings
        rounds = (1 if self.able.thinks else 0) + self._more_thinking
        wanted = settings.max_tokens + rounds * settings.thinking_tokens
        most = self.able.most_tokens
        return wanted if most is None else min(wanted, most)

    def _reserve(self, question: Question) -> Reservation:
        tokens_in = question.estimated_tokens()
        return self._budget.reserve(self._role, self._settings.model, tokens_in, self._tokens())

    def _hearers(self, on_text: Callable[[str], None]) -> Hearers:
        def text(piece: str) -> None:
            self.heard = self.heard or bool(piece)
            on_text(piece)

        def thought() -> None:
            self.heard = True
            self._on_thinking()

        return Hearers(text, thought)

    def _settle(
        self, reservation: Reservation, question: Question, completion: ModelCompletion
    ) -> Usage:
        called = (call.name + call.arguments for call in completion.calls)
        written = estimated_tokens(completion.raw, completion.thought, *called)
        usage = completion.usage or Usage(question.estimated_tokens(), written, estimated=True)
        reservation.settle(usage)
        self._learn(
            replace(
                self.able,
                thinks=self.able.thinks or bool(completion.thought),
                streams=self.able.streams and completion.streamed,
                form_tried=self.able.form_tried or not question.offers_tools(self.able),
            )
        )
        return usage

    def _learn(self, able: ServerAbilities) -> None:
        self._learned = self._learned or able != self.able
        self.able = able

    def _learn_from(self, error: RequestRefusedError, refused: int, question: Question) -> None:
        if self._recalled is not None and self._recalled.form_tried:
            # What was remembered does not hold any more: find out everything anew.
            self._memory.forget(self._settings)
            self._recalled = None
            fresh = first_guess(self._settings)
            if self.able != fresh:
                self._learn(fresh)
                return
        settings = self._settings
        able = without_refused(
            self.able,
            error.refusal,
            has_temperature=settings.temperature is not None,
            asked_tokens=self._tokens(),
            has_tools=question.offers_tools(self.able),
        )
        if able is None or refused > _MOST_REFUSALS:
            raise error.unavailable
        self._learn(able)

    async def _pause(self, busy: TryLaterError, attempt: int, deadline: asyncio.Timeout) -> None:
        pause = _FIRST_PAUSE * 2 ** (attempt - 1) if busy.seconds is None else busy.seconds
        if attempt >= self._settings.limits.attempts or pause >= _remaining(deadline):
            raise busy.unavailable
        await self._sleep(pause)


def _remaining(deadline: asyncio.Timeout) -> float:
    when = deadline.when()
    return float("inf") if when is None else when - asyncio.get_running_loop().time()
