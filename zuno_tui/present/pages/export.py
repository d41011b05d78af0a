"""What is handed to another signer: each transaction, until when, and what to do with the file."""

from collections.abc import Iterator

from msgspec import Struct

from chain.base.units import COIN, minute_text
from chain.contracts.addresses import checksum
from chain.contracts.networks import Address
from zuno_tui.present.pages.page import Page, PageCell, PageHeadline, PageTable, Words, page_columns
from zuno_tui.present.words import four_digits


class ExportedStep(Struct, frozen=True):
    title: str
    to: Address
    value: int
    """In the smallest units of the network's coin."""
    deadline: int | None
    """The last second at which the chain takes it."""


class ExportedPlan(Struct, frozen=True):
    plan_id: str
    headline: str
    coin: str
    sender: Address
    for_safe: bool
    """Whether it is written as a batch for a Safe."""
    has_own_key: bool
    """Whether the sender signs with a key of its own, and is no Safe then."""
    expires_at: int
    steps: tuple[ExportedStep, ...]


def export_page(plan: ExportedPlan) -> Page:
    count = len(plan.steps)
    calls = "1 transaction" if count == 1 else f"{count} transactions"
    return Page(
        "Export",
        (
            (
                PageHeadline(f"{calls} to sign elsewhere", f"{plan.headline} · {plan.plan_id}"),
                Words(f"Sign before {minute_text(plan.expires_at)}.", "warn"),
                Words(f"Only {checksum(plan.sender)} may send it.", "plain"),
                *_unfit(plan),
            ),
            (_table(plan),),
            (
                Words("NEXT", "title"),
                *(
                    Words(f"{place}. {words}", "plain")
                    for place, words in enumerate(_next_steps(plan), 1)
                ),
            ),
        ),
    )


def _unfit(plan: ExportedPlan) -> Iterator[Words]:
    """A batch is of use to a Safe alone."""
    if plan.for_safe and plan.has_own_key:
        yield Words("It signs with its own key: a Safe cannot send this batch.", "warn")
    elif plan.for_safe:
        yield Words("This batch is of use only if that address is a Safe.", "warn")


def _next_steps(plan: ExportedPlan) -> Iterator[str]:
    raw = f"zuno export {plan.plan_id} --format raw > transactions.json"
    if plan.for_safe and plan.has_own_key:
        yield f"Sign it here: zuno apply {plan.plan_id}"
        yield f"Or sign it in another program, from the list: {raw}"
    elif plan.for_safe:
        yield (
            "If it is a Safe: drop the saved file in its Transaction Builder, check each line "
            "against this table, and have the owners sign."
        )
        yield f"If it is not: give your wallet's program the list: {raw}"
    else:
        yield (
            "Give the saved list to your hardware wallet's program: check each line against this "
            "table, sign and send them in this order."
        )
    yield f"See what came of it: zuno outbox {plan.plan_id}"


def _table(plan: ExportedPlan) -> PageTable:
    columns = page_columns("#>", "STEP", "TO", f"VALUE {plan.coin}>", "DEADLINE")
    rows = tuple(
        (
            PageCell(str(place), "dim"),
            PageCell(step.title, "strong"),
            PageCell(checksum(step.to)),
            PageCell(four_digits(step.value / COIN), "warn" if step.value else "dim"),
            PageCell("none" if step.deadline is None else minute_text(step.deadline), "dim"),
        )
        for place, step in enumerate(plan.steps, 1)
    )
    return PageTable(columns, rows)
