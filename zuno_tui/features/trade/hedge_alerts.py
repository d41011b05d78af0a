"""What the monitor tells of hedges: when they drift, cost, run short of margin or lose their
position. Alerts suggest a command; nothing is argued, approved or sent by watching."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence, Set
from typing import TypeAlias

from msgspec import Struct

from agents.monitor.alerts.alert import Finding, Severity
from agents.monitor.rules.situation import Situation
from agents.monitor.rules.thresholds import Thresholds
from chain.base.units import percent
from chain.contracts.networks import Address, Network
from chain.exchange.public.margin import is_out_of_band
from chain.protocols.reference import PositionRef, position_label
from zuno_tui.features.trade.alert_kinds import TradeAlert

_CALMER = 0.8
"""A standing alert is over when it has drifted less than this part of the threshold."""
_CALMER_EDGE = 1.5
"""And when there is so much more margin."""
_DUST = 1e-9


class HedgeThresholds(Struct, frozen=True):
    hedge_drift: float = 0.2
    """A hedge has drifted when it is off by this share of what it should be. 0 switches it off."""
    hedge_margin: float = 0.15
    """A hedge is short of margin when so small a rise makes the venue close it."""
    hedge_funding: float = 0.0003
    """Funding has turned when being short costs this share of its worth a day."""


def hedge_thresholds(thresholds: Thresholds) -> HedgeThresholds:
    """What was set, and the rest by default."""
    known, said = HedgeThresholds.__struct_fields__, thresholds.of_features
    return HedgeThresholds(**{name: said[name] for name in known if name in said})


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
    rate: float = 1.0
    """Of what the contract is of, how much one of the position's coins is worth."""
    band: float = 0.0
    """How far it may be off before it is adjusted; 0 is the threshold that is set for all."""
    to_liquidation: float | None = None
    """By which share the price may rise before the venue closes it; None where nobody can tell."""
    funding_a_day: float | None = None
    """What the short pays, as a share of its worth; below 0 it is paid."""
    other_rate: float = 0.0
    """The same of the pool's other token; 0 where that is no coin of this contract."""
    wanted: str | None = None
    """The part somebody wanted closed while the venue did not answer, as it is typed."""
    others: tuple[HeldHedge, ...] = ()
    """Of the other coins of its position."""

    @property
    def legs(self) -> tuple[HeldHedge, ...]:
        return (self, *self.others)

    @property
    def flags(self) -> str:
        """Of the command that brings it back to its target."""
        target = "" if self.ratio == 1 else f" --target {self.ratio * 100:g}%"
        return f"{target} --band {self.band * 100:g}%" if self.band else target


class AttachedHedges(Struct, frozen=True):
    """By position, as a venue and the journal told of them for one look."""

    held: Mapping[PositionRef, HeldHedge]

    def refs(self, wallet: Address) -> Set[PositionRef]:
        return {ref for ref, hedge in self.held.items() if hedge.wallet == wallet}

    def findings(
        self, situation: Situation, thresholds: Thresholds, standing: Collection[str]
    ) -> Sequence[Finding]:
        hedge, own = self.held[situation.position.ref], hedge_thresholds(thresholds)
        return [
            found
            for kind, judge in _JUDGMENTS.items()
            if (found := _first(judge, situation, hedge, own, kind in standing)) is not None
        ]

    def of_gone(self, network: Network, ref: PositionRef) -> Sequence[Finding]:
        stale = hedge_stale(network, ref, self.held[ref])
        return () if stale is None else (stale,)


def hedge_drifted(
    situation: Situation, hedge: HeldHedge, thresholds: HedgeThresholds, standing: bool
) -> Finding | None:
    """By the coins the position holds now, which is how its worth moves with their price."""
    if not thresholds.hedge_drift:
        return None
    delta = _coins(situation, hedge)
    if delta is None:
        return None
    wanted = delta * hedge.ratio
    away = abs(hedge.short - wanted)
    largest, band = max(wanted, hedge.short), hedge.band or thresholds.hedge_drift
    calmer = band * (_CALMER if standing else 1)
    if largest <= _DUST or not is_out_of_band(hedge.short, wanted, calmer):
        return None
    drift = away / wanted if wanted > _DUST else None
    told = "" if drift is None else f", {percent(drift)} away"
    return Finding(
        TradeAlert.HEDGE_DRIFTED,
        Severity.WARNING,
        f"{situation.name} holds {delta:.4g} {hedge.coin} and {hedge.short:.4g} is short for it:"
        f" its hedge of {hedge.ratio:.0%} would be {wanted:.4g}{told}.",
        "the hedge no longer fits what the position holds",
        f"{situation.command('hedge')}{hedge.flags}",
        {
            "delta": f"{delta:.6g}",
            "short": f"{hedge.short:.6g}",
            "wanted": f"{wanted:.6g}",
            "drift": None if drift is None else f"{drift:.4g}",
        },
    )


def hedge_margin(
    situation: Situation, hedge: HeldHedge, thresholds: HedgeThresholds, standing: bool
) -> Finding | None:
    """How far the price may rise before the venue closes the short."""
    if hedge.to_liquidation is None or hedge.short <= _DUST:
        return None
    limit = thresholds.hedge_margin
    if hedge.to_liquidation >= limit * (_CALMER_EDGE if standing else 1):
        return None
    critical = hedge.to_liquidation < limit / 2
    return Finding(
        TradeAlert.HEDGE_MARGIN,
        Severity.CRITICAL if critical else Severity.WARNING,
        f"The hedge of {situation.name} is short of margin: {hedge.coin} may rise by about"
        f" {percent(max(hedge.to_liquidation, 0.0))}, and all else there move as far against the"
        " account, before the venue closes something."
        " Add margin there, or close a part.",
        "the account has little margin left",
        f"{situation.command('unhedge')} 50",
        {"toLiquidation": f"{hedge.to_liquidation:.4g}"},
    )


def hedge_funding(
    situation: Situation, hedge: HeldHedge, thresholds: HedgeThresholds, standing: bool
) -> Finding | None:
    """What it costs to stay short, where shorts pay."""
    if hedge.funding_a_day is None or hedge.short <= _DUST:
        return None
    limit = thresholds.hedge_funding
    if not limit or hedge.funding_a_day < limit * (_CALMER if standing else 1):
        return None
    return Finding(
        TradeAlert.HEDGE_FUNDING,
        Severity.INFO,
        f"Being short for {situation.name} costs {percent(hedge.funding_a_day)} a day by now:"
        f" funding of {hedge.coin} has turned.",
        "shorts pay funding",
        f"{situation.command('hedge')}{hedge.flags}",
        {"fundingADay": f"{hedge.funding_a_day:.4g}"},
    )


def hedge_wanted(
    situation: Situation, hedge: HeldHedge, _: HedgeThresholds, __: bool
) -> Finding | None:
    """It can only be known with the venue answering again."""
    if hedge.wanted is None or all(leg.short <= _DUST for leg in hedge.legs):
        return None
    return Finding(
        TradeAlert.HEDGE_WANTED,
        Severity.WARNING,
        f"You asked to close the hedge of {situation.name} while the venue did not answer."
        " It answers again; nothing was sent.",
        "a hedge waits to be closed",
        f"{situation.command('unhedge')}{hedge.wanted}",
        {},
    )


def hedge_stale(network: Network, position_id: PositionRef, hedge: HeldHedge) -> Finding | None:
    """Of a position that holds nothing in this wallet any more."""
    legs = [leg for leg in hedge.legs if abs(leg.short) > _DUST]
    if not legs:
        return None
    short = " and ".join(f"{leg.short:.4g} {leg.coin}" for leg in legs)
    return Finding(
        TradeAlert.HEDGE_STALE,
        Severity.WARNING,
        f"{position_label(position_id)} holds nothing here any more, and {short} is still"
        " short for it. Close the hedge, or hedge the position that took its place.",
        "the hedge has lost its position",
        f"zuno --network {network.name} unhedge {position_id}",
        {"short": f"{legs[0].short:.6g}"},
    )


def _coins(situation: Situation, hedge: HeldHedge) -> float | None:
    """What the position holds, in what the contract is of; None where it is not of the pair."""
    position, key = situation.position, situation.position.pool.key
    amounts = {key.currency0: position.amount0, key.currency1: position.amount1}
    if hedge.token not in amounts:
        return None
    total = 0.0
    for token in (situation.pair.base, situation.pair.quote):
        rate = hedge.rate if token.address == hedge.token else hedge.other_rate
        if rate and token.decimals is None:
            return None
        total += amounts[token.address] / 10 ** (token.decimals or 0) * rate
    return total


Judgment: TypeAlias = "Callable[[Situation, HeldHedge, HedgeThresholds, bool], Finding | None]"
"""Whether the matter stands; the flag says that its alert does, so that it is left less easily."""

_JUDGMENTS: Mapping[str, Judgment] = {
    TradeAlert.HEDGE_DRIFTED: hedge_drifted,
    TradeAlert.HEDGE_MARGIN: hedge_margin,
    TradeAlert.HEDGE_FUNDING: hedge_funding,
    TradeAlert.HEDGE_WANTED: hedge_wanted,
}


def _first(
    judge: Judgment,
    situation: Situation,
    hedge: HeldHedge,
    thresholds: HedgeThresholds,
    standing: bool,
) -> Finding | None:
    """The first coin for which it stands: one alert a position, whatever it holds."""
    legs = (hedge,) if judge is hedge_wanted else hedge.legs
    found = (judge(situation, leg, thresholds, standing) for leg in legs)
    return next(filter(None, found), None)
