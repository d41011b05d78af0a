"""What was approved and sent, the newest first, and where it stands."""

from collections.abc import Iterator, Sequence

from chain.contracts.addresses import shorten_address
from zuno_tui.present.history import moment_text
from zuno_tui.present.pages.page import (
    Block,
    Page,
    PageCell,
    PageHeadline,
    PageTable,
    Words,
    page_columns,
)
from zuno_tui.present.views import DispatchView, Tone

_DONE = frozenset(("included", "final"))


def state_tone(dispatch: DispatchView) -> Tone:
    if dispatch.actions:
        return "warn"
    done = all(state in _DONE for _, state, _ in dispatch.steps)
    return "good" if done and dispatch.steps else "plain"


def outbox_page(dispatches: Sequence[DispatchView]) -> Page:
    waiting = [dispatch for dispatch in dispatches if dispatch.actions]
    count = "1 needs you" if len(waiting) == 1 else f"{len(waiting)} need you"
    return Page(
        "Outbox",
        (
            (
                PageHeadline(
                    count if waiting else "Nothing waits for you.",
                    _counted(dispatches),
                    "warn" if waiting else "good",
                ),
                *_advice(dispatches),
            ),
            *_tables(dispatches),
            *_steps(dispatches),
            (
                Words("gas at most: by the signed bytes; what it really took: zuno history"),
                Words("One plan, step by step: zuno outbox PLAN"),
            ),
        ),
    )


def _advice(dispatches: Sequence[DispatchView]) -> Iterator[Words]:
    for dispatch in dispatches:
        for sentence in dispatch.advice:
            yield Words(f"! {sentence}", "warn")
        for action in dispatch.actions:
            yield Words(f"    zuno outbox {action} {dispatch.plan_id}")


def _counted(dispatches: Sequence[DispatchView]) -> str:
    sent = sum(dispatch.was_sent for dispatch in dispatches)
    rest = len(dispatches) - sent
    return f"{sent} sent" + (f" · {rest} approved and not sent" if rest else "")


def _tables(dispatches: Sequence[DispatchView]) -> Iterator[tuple[Block, ...]]:
    """What was only approved stands apart from what was sent."""
    for title, was_sent in (("APPROVED, NOT SENT", False), ("SENT", True)):
        if found := [each for each in dispatches if each.was_sent is was_sent]:
            yield (_table(title, found),)


def _table(title: str, dispatches: Sequence[DispatchView]) -> PageTable:
    sent = ("TRANSACTION@110",) if title == "SENT" else ()
    columns = page_columns(
        "TIME (UTC)", title, "WHERE IT STANDS", "GAS AT MOST>", *sent, "PLAN@130"
    )
    rows = []
    for dispatch in dispatches:
        hashes = [name for _, _, name in dispatch.steps if name]
        rows.append(
            (
                PageCell(moment_text(int(dispatch.time))[:16], "dim"),
                PageCell(dispatch.headline, "strong"),
                PageCell(dispatch.state, state_tone(dispatch)),
                PageCell(dispatch.most_gas or "–", "dim"),
                *((PageCell(shorten_address(hashes[-1]), "dim"),) if sent else ()),
                PageCell(dispatch.plan_id, "dim"),
            )
        )
    return PageTable(columns, tuple(rows))


def _steps(dispatches: Sequence[DispatchView]) -> Iterator[tuple[Block, ...]]:
    """Of the one that was asked for, and of those that need somebody."""
    for dispatch in dispatches:
        if len(dispatches) == 1 or dispatch.actions:
            rows = tuple(
                (PageCell(f"{place}. {name}"), PageCell(state), PageCell(sent or "–", "dim"))
                for place, (name, state, sent) in enumerate(dispatch.steps, 1)
            )
            columns = page_columns(f"STEPS OF {dispatch.plan_id}", "STATE", "TRANSACTION")
            yield (PageTable(columns, rows),)
