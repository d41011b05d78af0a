"""The plan on the card: one at a time, with its approval, its progress and its result."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from zuno_tui.desk.events import PlanChanged
from zuno_tui.desk.views import PlanView

if TYPE_CHECKING:
    from collections.abc import Callable

    from zuno_tui.desk.bench import Tell
    from zuno_tui.desk.views import ApprovalView, ResultView


class Card:
    def __init__(self, tell: Tell, clock: Callable[[], float]) -> None:
        self._tell = tell
        self._clock = clock
        self._view: PlanView | None = None

    @property
    def view(self) -> PlanView | None:
        return self._view

    def show(self, view: PlanView | None) -> None:
        self._view = view
        self._tell(PlanChanged(view))

    def approved(self, approval: ApprovalView, token_id: int | None) -> None:
        if self._view is None or self._view.plan_id != approval.plan_id:
            self._view = unargued(approval, token_id=token_id, now=self._clock())
        self._change(approval, (), None)

    def unapproved(self) -> None:
        """What was approved has ended or moved too far."""
        self._change(None, (), None)

    def applying(self, approval: ApprovalView) -> None:
        """What is signed is on the card, even if another run of zuno approved it."""
        if self._view is None or self._view.plan_id != approval.plan_id:
            self._view = unargued(approval, token_id=None, now=self._clock())
        self._change(approval, (), None)

    def went_on(self, place: int, words: str) -> None:
        """A line a step: what became of it last."""
        if self._view is not None:
            before = self._view.progress
            self.show(replace(self._view, progress=(*before[:place], words, *before[place + 1 :])))

    def refused(self, result: ResultView) -> None:
        """Nothing was signed; what was approved may still be."""
        if self._view is not None:
            self._change(self._view.approval, self._view.progress, result)

    def ended(self, result: ResultView) -> None:
        if self._view is not None:
            self._change(None, self._view.progress, result)

    def _change(
        self, approval: ApprovalView | None, progress: tuple[str, ...], result: ResultView | None
    ) -> None:
        if self._view is not None:
            self.show(replace(self._view, approval=approval, progress=progress, result=result))


def unargued(approval: ApprovalView, *, token_id: int | None, now: float) -> PlanView:
    """A change nobody argued about: there is one option, and it is the approval itself."""
    return PlanView(
        plan_id=approval.plan_id,
        headline=approval.headline,
        recommendation="Asked for by you; nobody argued about it.",
        options=(),
        reasons=(),
        made_at=now,
        token_id=token_id,
    )
