"""`zuno triage`: spikes a month on a file of hours, beside what every hour was followed by."""

from pathlib import Path

from msgspec import to_builtins

from agents.trade.triage import FOLLOWED_HOURS, FollowedMoves, read_traded_hours, triage_rates
from chain.base.table_file import TableError
from zuno_tui.present.answer import CommandAnswer
from zuno_tui.present.output import table
from zuno_tui.present.terminal import columns
from zuno_tui.settings import SettingsError

_COLUMNS = columns("month", "hours>", "spikes>", f"|{FOLLOWED_HOURS} h| after>")


def count_triage(path: Path) -> CommandAnswer:
    try:
        rates = triage_rates(read_traded_hours(path))
    except (TableError, OSError) as error:
        raise SettingsError(str(error)) from error
    spikes = sum(month.spikes for month in rates.months)
    return CommandAnswer(
        lines=(
            *table(
                _COLUMNS,
                [
                    (
                        month.month,
                        f"{month.hours:,}",
                        str(month.spikes),
                        "–" if month.followed is None else f"{month.followed:.2%}",
                    )
                    for month in rates.months
                ],
            ),
            "",
            f"{spikes} unconfirmed spikes in {len(rates.months)} months, "
            f"{spikes / len(rates.months):.1f} a month; of all hours {rates.atr_share:.1%} had the "
            f"range for one and {rates.volume_share:.1%} the volume.",
            *_moves_line("after a spike", rates.after_spikes),
            *_moves_line("after any hour", rates.after_all),
        ),
        document={"followedHours": FOLLOWED_HOURS, **to_builtins(rates)},
        remarks=(
            "Larger moves after a spike are what volatile hours in a row give by themselves: no "
            "edge is shown by this, and none is claimed.",
        ),
    )


def _moves_line(when: str, moves: FollowedMoves | None) -> tuple[str, ...]:
    if moves is None:
        return ()
    return (
        f"{FOLLOWED_HOURS} h {when}: {moves.size:.2%} on average, {moves.drift:+.2%} with its "
        f"sign, {moves.up:.0%} up, {moves.hours:,} times",
    )
