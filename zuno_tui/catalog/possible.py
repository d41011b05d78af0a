"""When a verb makes sense, and what the palette offers of it: by what stands on the desk."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

from zuno_tui.catalog.command import Suggestion

if TYPE_CHECKING:
    from zuno_tui.prompt.context import PhraseContext


def with_positions(context: PhraseContext) -> bool:
    return bool(context.positions)


def with_plan(context: PhraseContext) -> bool:
    return context.plan_id is not None


def with_alerts(context: PhraseContext) -> bool:
    return bool(context.alerts)


def with_sent(context: PhraseContext) -> bool:
    return bool(context.sent)


def with_market(context: PhraseContext) -> bool:
    return context.has_market


def of_selected(
    make: Callable[[int], Suggestion], *, v3: bool = False
) -> Callable[[PhraseContext], Iterable[Suggestion]]:
    """For the position under the cursor; one of v3 where that can be done with it."""

    def offered(context: PhraseContext) -> Iterable[Suggestion]:
        number = context.selected
        return () if number is None or (number < 0 and not v3) else (make(number),)

    return offered


def of_plan(make: Callable[[str], Suggestion]) -> Callable[[PhraseContext], Iterable[Suggestion]]:
    """For the plan on the card, where somebody argued for it."""
    return lambda context: (
        () if context.plan_id is None or not context.argued else (make(context.plan_id),)
    )


def always(*offered: Suggestion) -> Callable[[PhraseContext], Iterable[Suggestion]]:
    return lambda _: offered
