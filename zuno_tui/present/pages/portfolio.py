"""Everything a person owns: what each position is worth, earned and came to."""

from zuno_tui.present.pages.cells import money_head
from zuno_tui.present.pages.page import (
    Cells,
    Page,
    PageCell,
    PageHeadline,
    PageTable,
    Words,
    page_columns,
)
from zuno_tui.present.portfolio import EarnedRow, PortfolioView, WholePortfolio, left_out


def portfolio_page(view: PortfolioView, whole: WholePortfolio) -> Page:
    unit = view.unit
    columns = page_columns(
        *("POSITION", money_head("WORTH+FEES", unit), "TODAY>@100", "7 D>", "30 D>@90"),
        *(money_head("ALL FEES", unit), money_head("VS HOLDING", unit), "NOTE@120"),
    )
    alerts = len(whole.alerts)
    attached = (
        line
        for entry in whole.entries
        for attachment in entry.attachments
        for line in attachment.lines
    )
    return Page(
        "Portfolio",
        (
            (
                PageHeadline(view.heading, view.place),
                *(Words(f"! {words}", "warn") for words in left_out(whole)),
            ),
            (PageTable(columns, tuple(map(_cells, view.rows)), (_cells(view.total),)),),
            tuple(Words(line, "plain") for line in attached),
            (
                *((Words(f"{_counted(alerts)}: zuno alerts", "warn"),) if alerts else ()),
                Words("Today, 7 d and 30 d are fees earned, collected or not."),
            ),
        ),
    )


def _counted(alerts: int) -> str:
    return "1 alert is open" if alerts == 1 else f"{alerts} alerts are open"


def _cells(row: EarnedRow) -> Cells:
    tone = row.tone if row.tone != "plain" else "dim"
    return (
        PageCell(row.name, "dim" if row.idle else "plain"),
        PageCell(row.worth),
        PageCell(row.today),
        PageCell(row.week),
        PageCell(row.month),
        PageCell(row.entry),
        PageCell(row.result, tone),
        PageCell(row.note, "dim"),
    )
