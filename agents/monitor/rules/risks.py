"""The rules by which a position is risky: one pure function a kind, in one table."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from typing import TYPE_CHECKING, Protocol, TypeAlias

from msgspec import Struct

from agents.monitor.alerts.alert import AlertKind, Finding
from agents.monitor.rules import change_risks, hedge_risks, range_risks, worth_risks
from agents.monitor.rules.baseline import Baseline

if TYPE_CHECKING:
    from agents.monitor.rules.excursions import RangeState
    from agents.monitor.rules.thresholds import Thresholds
    from chain.contracts.networks import Address, Network
    from chain.history.candle_volatility import Volatility
    from chain.positions.snapshot import PositionSnapshot
    from chain.tokens.pair import Pair


class HeldHedge(Struct, frozen=True):
    """What is short on a venue for one position."""

    wallet: Address
    coin: str
    token: Address
    """The coin, as the position's pool knows it."""
    ratio: float
    """Of the coins the position holds, what should be short."""
    short: float
    """Coins, with what still waits to be sold."""


class HedgeSource(Protocol):
    """Tells what is short on venues; it may not change anything there."""

    async def held_hedges(self) -> Mapping[int, HeldHedge] | None:
        """By position of one network; None where a venue cannot be read."""


class Situation(Struct, frozen=True):
    network: Network
    position: PositionSnapshot
    pair: Pair
    standing: RangeState
    out_since: float | None
    """The network's time at which the present excursion began."""
    baseline: Baseline
    others_there: int | None = None
    """The others' liquidity now where the baseline's was measured; None where that is unknown."""
    hook_code: str | None = None
    """What runs as the pool's hook; None where there is none."""
    volatility: Volatility | None = None
    """How much the price moves in a day; None where nobody can tell."""
    principal_usd: float | None = None
    fees_usd: float | None = None
    collect_usd: float | None = None
    """What collecting costs in gas."""
    price_difference: float | None = None
    """The larger of what its two tokens' price sources are apart; None with one source."""
    loss: float | None = None
    """The share of what went in that is gone, fees counted; None where it was not asked for."""

    hedge: HeldHedge | None = None
    """What is short for it; None where nothing ever was, or where that is unknown."""

    @property
    def name(self) -> str:
        return f"#{self.position.token_id} {self.pair.name}"

    def command(self, verb: str) -> str:
        return f"zuno --network {self.network.name} {verb} {self.position.token_id}"


Judgment: TypeAlias = "Callable[[Situation, Thresholds, bool], Finding | None]"
"""Whether the matter stands; the flag says that its alert does, so that it is left less easily."""


class AlertRule(Struct, frozen=True):
    """All there is to know about one kind of alert, so that no part of it can be forgotten."""

    resolved: str
    """Said when it no longer stands."""
    judge: Judgment | None = None
    """None for what is found elsewhere than in a position: a lost owner, a blind eye."""
    accept: Callable[[Baseline, PositionSnapshot], Baseline] | None = None
    """What acknowledging it makes the new normal."""


RULES: Mapping[AlertKind, AlertRule] = {
    AlertKind.OUT_OF_RANGE: AlertRule(
        "the price is back inside the range", range_risks.out_of_range
    ),
    AlertKind.NEAR_BOUNDARY: AlertRule(
        "the price is no longer near an edge", range_risks.near_boundary
    ),
    AlertKind.LIKELY_TO_LEAVE: AlertRule(
        "the range is wide enough again", range_risks.likely_to_leave
    ),
    AlertKind.FEES_WORTH_COLLECTING: AlertRule(
        "the fees were collected, or gas became more expensive", worth_risks.fees_worth_collecting
    ),
    AlertKind.POOL_DRAINED: AlertRule("the pool is as deep as it was", change_risks.pool_drained),
    AlertKind.FEE_CHANGED: AlertRule(
        "the fee is as it was, or was accepted", change_risks.fee_changed, Baseline.with_fees_of
    ),
    AlertKind.HOOK_CHANGED: AlertRule(
        "the hook is as it was, or was accepted", change_risks.hook_changed
    ),
    AlertKind.APPROVAL_CHANGED: AlertRule(
        "the permissions are as they were, or were accepted",
        change_risks.approval_changed,
        Baseline.with_custody_of,
    ),
    AlertKind.PRICE_DISAGREEMENT: AlertRule(
        "the price sources agree again", worth_risks.price_disagreement
    ),
    AlertKind.PRICE_LEVEL: AlertRule(
        "the price is on the other side of the level again", worth_risks.price_level
    ),
    AlertKind.LOSS_LEVEL: AlertRule(
        "the loss is smaller than the level again", worth_risks.loss_level
    ),
    AlertKind.HEDGE_DRIFTED: AlertRule(
        "the hedge fits what the position holds again", hedge_risks.hedge_drifted
    ),
    AlertKind.HEDGE_STALE: AlertRule("nothing is short for it any more"),
    AlertKind.OWNER_CHANGED: AlertRule("the position is back in this wallet"),
    AlertKind.PRICE_CROSSED: AlertRule("the price is on the other side again"),
    AlertKind.BLIND: AlertRule("the chain can be read again"),
}
"""One row a kind: every kind has one, or nothing starts."""

if set(RULES) != set(AlertKind):
    raise AssertionError(f"no rule for {', '.join(sorted(set(AlertKind) - set(RULES)))}")

_NONE_STANDING: frozenset[AlertKind] = frozenset()


def findings(
    situation: Situation,
    thresholds: Thresholds,
    standing: Collection[AlertKind] = _NONE_STANDING,
) -> list[Finding]:
    """All that is the matter, given the kinds whose alerts stand already."""
    judgments = (judge_kind(kind, situation, thresholds, kind in standing) for kind in RULES)
    return [finding for finding in judgments if finding is not None]


def judge_kind(
    kind: AlertKind, situation: Situation, thresholds: Thresholds, stands: bool
) -> Finding | None:
    """Whether one kind of matter stands; always None for what no position shows."""
    judge = RULES[kind].judge
    return None if judge is None else judge(situation, thresholds, stands)
