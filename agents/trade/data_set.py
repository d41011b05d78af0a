"""The desk's data set: a line for each run, for what was sent of it, and for how it ended.

Numbers and codes alone: nothing that a model, a feed or a person has written is in it.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import TypeAlias

import msgspec
from msgspec import Struct

from agents.trade.plan import TradePlan
from chain.base.home import FOLDER_MODE, append_line, hold_lock

_LINES = "data-set.jsonl"
_OLDER = "data-set.older.jsonl"
_MOST_BYTES = 16_000_000
"""Of one file; a full one becomes the older one, and what was older is let go."""


class ExpertRow(Struct, frozen=True, rename="camel"):
    expert: str
    anomaly: str
    bias: str
    confidence: float
    fallback: bool
    """Whether it spoke by rules."""


class SourceRow(Struct, frozen=True, rename="camel"):
    name: str
    status: str
    numbers: dict[str, float]


class StageRow(Struct, frozen=True, rename="camel"):
    """What one stage of the ladder left of the decision."""

    stage: str
    decision: str
    allocation_pct: float
    leverage: float
    notional_usd: float
    codes: tuple[str, ...]


class RunRow(Struct, frozen=True, rename="camel", tag_field="row", tag="argued", kw_only=True):
    plan_id: str
    request_id: str
    time: int
    """By the person's clock."""
    market_time: int
    symbol: str
    venue: str
    mode: str
    objective: str
    mark: float
    snapshot_hash: str
    regime: str | None
    risk_budget_pct: float | None
    anomalies: tuple[str, ...]
    experts: tuple[ExpertRow, ...]
    sources: tuple[SourceRow, ...]
    dominant_signal: str | None
    conflicts: int
    decision: str
    by_failure: bool
    decided_by: str
    style: str
    stages: tuple[StageRow, ...]
    entry: float | None
    stop: float | None
    take_profit: float | None
    win_pct: float | None
    claimed_pct: float | None
    expected_pct: float | None
    hedge_ratio: float | None


class OrderRow(Struct, frozen=True, rename="camel"):
    client_id: str
    side: str
    type: str
    quantity: float
    price: float | None
    reduce_only: bool
    state: str
    filled: float
    average: float | None
    fees: float


class SentRow(Struct, frozen=True, rename="camel", tag_field="row", tag="sent"):
    plan_id: str
    time: int
    orders: tuple[OrderRow, ...]


class EndedRow(Struct, frozen=True, rename="camel", tag_field="row", tag="ended"):
    plan_id: str
    time: int
    how: str
    entry: float | None
    exit: float
    pnl_pct: float | None
    """Of what was opened, after fees; None where it was not opened here."""


DataSetRow: TypeAlias = RunRow | SentRow | EndedRow


def run_row(plan: TradePlan, request_id: str) -> RunRow:
    regime, odds, conflicts = plan.regime, plan.odds, plan.conflicts
    return RunRow(
        plan_id=plan.plan_id,
        request_id=request_id,
        time=plan.made_at,
        market_time=plan.market_time,
        symbol=plan.symbol,
        venue=plan.venue,
        mode=plan.mode.value,
        objective=plan.objective.value,
        mark=plan.mark,
        snapshot_hash=plan.snapshot_hash,
        regime=None if regime is None else regime.regime.value,
        risk_budget_pct=None if regime is None else regime.risk_budget_pct,
        anomalies=tuple(anomaly.value for anomaly in plan.anomalies),
        experts=tuple(
            ExpertRow(
                finding.expert.value,
                finding.anomaly,
                finding.bias.value,
                finding.confidence,
                finding.fallback,
            )
            for finding in plan.findings
        ),
        sources=tuple(
            SourceRow(section.name.value, section.status.value, section.numbers)
            for section in plan.sections
        ),
        dominant_signal=None if conflicts is None else conflicts.dominant_signal.value,
        conflicts=0 if conflicts is None else len(conflicts.conflicts),
        decision=plan.decision.value,
        by_failure=plan.by_failure,
        decided_by=plan.decided_by,
        style=plan.style.value,
        stages=tuple(
            StageRow(
                rung.stage,
                rung.decision.value,
                rung.allocation_pct,
                rung.leverage,
                rung.notional_usd,
                rung.notes,
            )
            for rung in plan.ladder
        ),
        entry=plan.entry,
        stop=plan.stop,
        take_profit=plan.take_profit,
        win_pct=None if odds is None else odds.win_pct,
        claimed_pct=None if odds is None else odds.claimed_pct,
        expected_pct=None if odds is None else odds.expected_pct,
        hedge_ratio=None if plan.hedge is None else plan.hedge.ratio,
    )


class DataSet:
    """Lines of one folder: only ever added to, by one process at a time."""

    def __init__(self, folder: Path, most_bytes: int = _MOST_BYTES) -> None:
        self._folder = folder
        self._most_bytes = most_bytes

    def add(self, row: DataSetRow) -> None:
        """On disk when it returns; raises OSError where it cannot be kept."""
        self._folder.mkdir(mode=FOLDER_MODE, parents=True, exist_ok=True)
        path, line = self._folder / _LINES, msgspec.json.encode(row)
        with hold_lock(self._folder / f"{_LINES}.lock"):
            if path.exists() and path.stat().st_size + len(line) > self._most_bytes:
                path.replace(self._folder / _OLDER)
            append_line(path, line)

    def rows(self) -> Iterator[DataSetRow]:
        """The oldest first; a line that was cut off is passed over."""
        for name in (_OLDER, _LINES):
            try:
                lines = (self._folder / name).read_bytes().splitlines()
            except FileNotFoundError:
                continue
            for line in lines:
                try:
                    yield msgspec.json.decode(line, type=DataSetRow)
                except msgspec.DecodeError:
                    continue
