"""The plan on the card: one at a time, with its approval, its progress and its result."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from zuno_tui.desk.events import PlanChanged

if TYPE_CHECKING:
    from zuno_tui.desk.bench import Tell
    from zuno_tui.desk.views import ApprovalView, PlanView, ResultView


class Card:
    def __init__(self, tell: Tell) -> None:
        self._tell = tell
        self._view: PlanView | None = None

    @property
    def view(self) -> PlanView | None:
        return self._view

    def show(self, view: PlanView | None) -> None:
        self._view = view
        self._tell(PlanChanged(view))

    def approved(self, approval: ApprovalView) -> None:
        self._change(approval, (), None)

    def unapproved(self) -> None:
        """What was approved has ended or moved too far."""
        self._change(None, (), None)

    def applying(self) -> None:
        if self._view is not None:
            self._change(self._view.approval, (), None)

    def went_on(self, words: str) -> None:
        if self._view is not None:
            view = self._view
            self.show(replace(view, progress=(*view.progress, words)))

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
