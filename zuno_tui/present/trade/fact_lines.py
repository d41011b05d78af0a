"""A run of the trade desk as single facts, each a line that says what it is about."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from zuno_tui.present.trade.views import TradeRunView


def fact_lines(view: TradeRunView) -> Iterator[str]:
    yield from _decided(view)
    if view.regime is not None:
        regime = view.regime
        yield f"regime: {regime.name}, risk budget {regime.budget}: {regime.why}. {regime.trust}"
    if view.anomalies is not None:
        found = ", ".join(one.replace("_", " ") for one in view.anomalies) or "nothing unusual"
        yield f"triage, anomalies: {found}"
    for card in view.experts:
        if card.confidence is not None:
            more = "; ".join(filter(None, (card.sees, card.says, card.levels)))
            yield f"{card.title} expert: {card.bias} {card.confidence:.0%}: {more}"
    if view.conflicts is not None:
        found = view.conflicts.dominant
        yield f"experts on balance: {found}, surest is {view.conflicts.strongest}"
        for one in view.conflicts.conflicts:
            yield f"conflict, {one.between}: {one.tiebreaker}"
        yield f"open question: {view.conflicts.question}"
    for row in view.ladder:
        if row.decision:
            parts = (row.decision, row.allocation, row.leverage, row.worth, row.why)
            yield f"ladder, {row.stage}: {', '.join(filter(None, parts))}"
    for lamp in view.lamps:
        yield " ".join(filter(None, (f"source {lamp.title}: {lamp.state}", lamp.age, lamp.says)))


def _decided(view: TradeRunView) -> Iterator[str]:
    told = view.verdict
    if told is None:
        return
    yield f"decision: {told.headline}: {told.reason}"
    yield from told.lines
    yield from (f"order, {order}" for order in told.orders)
    if told.against:
        yield f"against it: {told.against}"
    if view.mark:
        yield f"mark price: {view.mark}"
