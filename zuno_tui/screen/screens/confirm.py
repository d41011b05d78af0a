"""The page that signs transactions, follows them, and tells what came of them."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Sequence
from typing import ClassVar

from msgspec.structs import replace
from rich.cells import cell_len
from textual.binding import Binding, BindingType
from textual.content import Content

from chain.base.units import APPROVAL_SECONDS
from zuno_tui.desk.events import ConfirmationAsked, Event, PlanChanged, Said
from zuno_tui.desk.link import DeskLink
from zuno_tui.present.receipt_lines import (
    cost_words,
    detail_lines,
    receipt_lines,
    receipt_width,
    step_lines,
    term_lines,
)
from zuno_tui.present.views import SENT_AS, UNDOING, ApprovalView, PlanView
from zuno_tui.screen.links import can_link
from zuno_tui.screen.panes.authority import authority_lines, can_confirm
from zuno_tui.screen.panes.frame import heading, literal
from zuno_tui.screen.panes.receipt import contents
from zuno_tui.screen.panes.result import applied_lines, copied_hashes, result_title
from zuno_tui.screen.screens.typed_confirm import BACK, TypedConfirmScreen

_BLOCK_CELLS = 18
_FRAME_CELLS = 6
"""Of the frame before, behind and around a title."""


class ConfirmScreen(TypedConfirmScreen):
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("f2,ctrl+o", "details", "every byte", id="confirm.details"),
        Binding("y", "copy", "copy the hashes", id="confirm.copy"),
    ]

    def __init__(
        self,
        link: DeskLink,
        approval: ApprovalView,
        clock: Callable[[], float],
        key_clock: Callable[[], float] = time.monotonic,
    ) -> None:
        # By the network's clock as the desk told it, else by ours.
        told = approval.seconds_left
        left = approval.expires_at - clock() if told is None else told
        super().__init__(
            link,
            approval,
            clock,
            key_clock,
            seconds_left=left if 0 < left <= APPROVAL_SECONDS else APPROVAL_SECONDS,
            needs_passphrase=approval.needs_passphrase,
        )
        self._approval = approval
        self._plan: PlanView | None = None
        """What has been sent of it, and what came of that."""
        # What cannot be signed has no field to type into from the start.
        self._ended = not can_confirm(approval)

    def wanted_width(self) -> int:
        """Wider once blocks stand right of the steps, where the terminal is."""
        return receipt_width(self._approval) + (0 if self._plan is None else _BLOCK_CELLS)

    def refusal(self) -> str:
        return f"Nothing here can sign: {self._approval.signs_with}"

    def authority(self, width: int) -> Sequence[Content]:
        return list(authority_lines(self._approval, width))

    def sheet_lines(self, width: int, room: int) -> Sequence[Content]:
        """What is in the frame; where there is room left, the contracts and ends as well."""
        plan, approval = self._plan, self._approval
        if plan is not None and (result := plan.result) is not None:
            # What has been applied is approved no more, but is still what this page is about.
            plan = replace(plan, approval=approval)
            whole, links = self.has_class("-details"), can_link(os.environ)
            told = applied_lines(plan, result, width, links=links, whole=whole)
            return [Content(""), *told]
        if self.has_class("-details"):
            return [Content(""), *contents(detail_lines(approval, width))]
        progress = () if plan is None else plan.progress
        for brief in (False, True):
            body = [
                *([] if brief else [Content("")]),
                *contents(receipt_lines(approval, width, brief=brief)),
                Content(""),
                *contents(step_lines(approval, progress, width, brief=brief)),
                *map(literal, approval.below),
            ]
            if len(body) < room:
                break
        # In how many transactions it is sent, the steps have said.
        left = tuple(term for term in approval.terms if term[0] != SENT_AS)
        contracts = contents(term_lines(replace(approval, terms=left), width))
        terms = [Content(""), heading(approval.page.terms), *contracts]
        # Whoever lends the account sees who else may act for it, and how that is undone.
        lends = approval.page.all_terms or any(label == UNDOING for label, _ in approval.terms)
        fits = len(body) + len(terms) < room
        return [*body, *terms] if approval.terms and (fits or lends) else body

    def title_words(self) -> str:
        result = None if self._plan is None else self._plan.result
        if result is not None:
            return result_title(result, self._approval.headline)
        doing = "Sending" if self._confirmed else self._approval.page.doing
        whole = " · ".join(
            filter(None, (doing, self._approval.headline, cost_words(self._approval)))
        )
        # Half a cost is worse than none: it stands in the sheet, too.
        fits = cell_len(whole) + _FRAME_CELLS <= self._page_width
        return whole if fits else f"{doing} · {self._approval.headline}"

    def keys_words(self) -> str:
        result = None if self._plan is None else self._plan.result
        if self.has_class("-details"):
            return "f2 the receipt" if result is None else "f2 short hashes · y copies them"
        if result is None:
            return "f2 every byte"
        return "f2 whole hashes · y copies them" if result.sent else ""

    def hears(self, event: Event) -> bool:
        match event:
            case PlanChanged(view) if view is not None and view.plan_id == self._approval.plan_id:
                self._follow(view)
            case Said(words, tone) if self._confirmed and not self._ended and tone != "plain":
                self._say(words, "$warning")
            case ConfirmationAsked(approval):
                return approval.hash == self._approval.hash
            case _:
                pass
        return False

    def action_details(self) -> None:
        self.toggle_class("-details")
        self._sheet.scroll_home(animate=False)
        self._draw()

    def action_copy(self) -> None:
        """Through the terminal to the reader's clipboard."""
        result = None if self._plan is None else self._plan.result
        if result is not None and result.sent:
            self.app.copy_to_clipboard(copied_hashes(result.sent))
            self._say(f"Copied. {BACK[0].upper()}{BACK[1:]}.", "bold")

    def _follow(self, plan: PlanView) -> None:
        approval = plan.approval
        if not self._confirmed and (approval is None or approval.hash != self._approval.hash):
            self._end("This approval is no longer the plan's. Nothing was signed.")
            return
        if not plan.progress and plan.result is None:
            return
        self._plan = plan
        self.add_class("-sent")
        if plan.result is None:
            self._say(f"On its way. {BACK}; the sending goes on.")
            return
        self._ended = True
        self._close_fields()
        self.set_class(plan.result.done, "-done")
        self._sheet.scroll_home(animate=False)
        if plan.result.done:
            self._say(f"Done. {BACK}.", "bold $success")
        else:
            self._say(f"It stopped there. {BACK}.", "bold $warning")
