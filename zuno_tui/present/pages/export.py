"""What is handed to another signer: each transaction, until when, and what to do with the file."""

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
    expires_at: int
    steps: tuple[ExportedStep, ...]


def export_page(plan: ExportedPlan) -> Page:
    count = len(plan.steps)
    calls = "1 transaction" if count == 1 else f"{count} transactions"
    form, name = ("", "batch.json") if plan.for_safe else (" --format raw", "transactions.json")
    use = (
        "In the Safe's Transaction Builder: drop the file, check each line against this table, "
        "and have the owners sign."
        if plan.for_safe
        else "Give the list to your hardware wallet's program: check each line against this table, "
        "sign and send them in this order."
    )
    return Page(
        "Export",
        (
            (
                PageHeadline(f"{calls} to sign elsewhere", f"{plan.headline} · {plan.plan_id}"),
                Words(f"Sign before {minute_text(plan.expires_at)}.", "warn"),
                Words(f"Only {checksum(plan.sender)} may send it.", "plain"),
            ),
            (_table(plan),),
            (
                Words("NEXT", "title"),
                Words(
                    f"1. In a shell, write the file: zuno export {plan.plan_id}{form} > {name}",
                    "plain",
                ),
                Words(f"2. {use}", "plain"),
                Words(f"3. See what came of it: zuno outbox {plan.plan_id}", "plain"),
            ),
        ),
    )


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
