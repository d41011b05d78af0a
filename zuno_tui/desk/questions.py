"""The typed word at the desk: whatever it signs or sends is asked here and answered here."""

from collections.abc import Awaitable, Callable

from msgspec import Struct

from chain.base.units import APPROVAL_SECONDS
from chain.wallet.secrets import Passphrase
from zuno_tui.desk.events import ConfirmationEnded, Event, Said
from zuno_tui.desk.jobs import Jobs, fault_words
from zuno_tui.gate.question import Question

ACTING = "apply"
"""The job that signs or sends: one at a time, whatever it does."""


class Act(Struct, frozen=True):
    """What the typed word does."""

    words: str
    """While it is done."""
    do: Callable[[Passphrase | None], Awaitable[None]]
    seconds: float
    cancellable: bool = False


class Questions:
    """One question at a time: the newest is the one that can be answered."""

    def __init__(
        self,
        tell: Callable[[Event], None],
        jobs: Jobs,
        clock: Callable[[], float],
        done: Callable[[], Awaitable[None]],
    ) -> None:
        self._tell = tell
        self._jobs = jobs
        self._clock = clock
        self._done = done
        """Awaited whenever something may have happened by our own hand."""
        self._asked: tuple[Question, Act] | None = None

    @property
    def is_answering(self) -> bool:
        return self._jobs.is_running(ACTING)

    def until(self, seconds_left: float) -> float:
        return self._clock() + min(seconds_left, APPROVAL_SECONDS)

    def put(self, question: Question, shown: Event, act: Act) -> None:
        self._asked = question, act
        self._tell(shown)

    def withdraw(self, approval_hash: str, words: str) -> None:
        """Nobody can answer it any more."""
        if self._asked is not None and self._asked[0].hash == approval_hash:
            self._asked = None
        self.end(approval_hash, words)

    def confirm(self, approval_hash: str, word: str, passphrase: Passphrase | None) -> None:
        """Do what was asked about last, if this is its hash and its word to the letter."""
        if self._asked is None:
            _wipe(passphrase)
            words = "Nothing is waiting under that hash. Ask again: apply. Nothing was signed."
            self.end(approval_hash, words)
            return
        question, act = self._asked
        objection = question.objection(
            approval_hash, word, has_passphrase=passphrase is not None, now=self._clock()
        )
        if objection is not None:
            _wipe(passphrase)
            self.end(approval_hash, f"{objection} {question.undone}")
            return
        self._asked = None
        started = self._jobs.start(
            ACTING,
            act.words,
            lambda _: self._act(question, act, passphrase),
            seconds=act.seconds,
            cancellable=act.cancellable,
        )
        if not started:
            _wipe(passphrase)
            self.end(approval_hash, f"Something else is being signed. {question.undone}")

    async def _act(self, question: Question, act: Act, passphrase: Passphrase | None) -> None:
        try:
            await act.do(passphrase)
        except Exception as error:
            self.end(question.hash, fault_words(error))
        finally:
            _wipe(passphrase)
            await self._done()

    def end(self, approval_hash: str, words: str) -> None:
        """No page waits for an answer that will not come."""
        self._tell(ConfirmationEnded(approval_hash, words))
        self._tell(Said(words, "warn"))


def _wipe(passphrase: Passphrase | None) -> None:
    if passphrase is not None:
        passphrase.wipe()
