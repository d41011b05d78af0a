"""What an alert says in a row, from its figures and those of the last read of its position."""

from collections.abc import Mapping
from typing import NamedTuple

from chain.base.units import percent, usd
from chain.protocols.reference import position_label
from zuno_tui.present.views import AlertRow, PositionRow
from zuno_tui.present.words import round_usd, screen_words

_WITHDRAWN = "withdrawnUsd"
_MIDDLE = 0.5


class AlertWords(NamedTuple):
    words: str
    """What differs first; which position it is about stands in its own column."""
    brief: str
    """Less, where a line is short: the whole sentence stands on the alert's page."""


def alert_words(row: AlertRow, position: PositionRow | None) -> AlertWords:
    """With the position as it was read last; as it was when it was raised where none is known."""
    found = None
    if row.state != "resolved":
        found = _of_price(row, position) or _of_money(row, position)
    if found is None:
        named = "" if row.ref is None else f"{position_label(row.ref)} "
        words = row.message.removeprefix(named)
        if position is not None:
            words = words.removeprefix(f"{position.pair}").lstrip(": ")
        words = screen_words(words.partition(". ")[0].removesuffix("."))
        found = AlertWords(*2 * (f"{words[:1].upper()}{words[1:]}",))
    return AlertWords(*(f"{row.place}: {words}" for words in found)) if row.place else found


def _of_price(row: AlertRow, position: PositionRow | None) -> AlertWords | None:
    if row.kind == "likely_to_leave" and (chance := _number(row, "survival24h")):
        told = f"{percent(chance)} chance to stay"
        return AlertWords(f"{told} in range for 24 h", f"{told} for 24 h")
    if position is None or row.place:
        return None
    low, out = position.progress < _MIDDLE, position.standing == "out of range"
    edge = position.low if low else position.high
    if row.kind not in ("out_of_range", "near_boundary"):
        return None
    if out:
        side = "below" if low else "above"
        # A warning becomes critical when it is out for long, or far.
        out_words = "Out" if row.severity == "critical" else "Just out"
        told = f"{out_words}: {position.price}, {side} {edge}"
        return AlertWords(told, f"Out, {side} {edge}")
    if row.kind == "out_of_range":
        return AlertWords(f"Back at the edge: {position.price}", "Back at the edge")
    side = f"Near {'lower' if low else 'upper'} edge"
    return AlertWords(f"{side}: {position.price} of {edge}", f"{side} {edge}")


def _of_money(row: AlertRow, position: PositionRow | None) -> AlertWords | None:
    """In the unit of the desk where it read them; what collecting costs is known in dollars."""
    here = None if position is None or row.place else position
    if row.kind == "fees_worth_collecting" and row.fees is not None:
        told = f"{usd(row.fees) if here is None else here.fees} to collect"
        gas = _number(row, "gasUsd")
        in_dollars = here is None or here.fees.startswith("$")
        return AlertWords(f"{told}, costs {usd(gas)}" if gas and in_dollars else told, told)
    if row.kind == "withdrawn_waits":
        if here is not None and not here.fees.startswith("$"):
            apart_words = next((note for note in here.notes if note.endswith("withdrawn")), "")
            if apart_words:
                return AlertWords(f"{apart_words} + {here.fees} fees", apart_words)
        waiting, apart = _number(row, "waitingUsd"), _number(row, _WITHDRAWN)
        if waiting is not None and apart is not None:
            told = f"{round_usd(apart)} withdrawn + {round_usd(waiting - apart)} fees"
            return AlertWords(told, f"{round_usd(waiting)} waits")
    return None


def _number(row: AlertRow, name: str) -> float | None:
    numbers: Mapping[str, object] = row.numbers
    value = numbers.get(name)
    return float(value) if isinstance(value, int | float) else None
