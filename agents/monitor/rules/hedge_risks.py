"""The rules about hedges: one that no longer fits its position, and one whose position is gone.

They suggest a command; nothing is argued, approved or sent by watching.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from agents.monitor.alerts.alert import AlertKind, Finding, Severity
from chain.base.number_words import percent

if TYPE_CHECKING:
    from agents.monitor.rules.risks import HeldHedge, Situation
    from agents.monitor.rules.thresholds import Thresholds
    from chain.contracts.networks import Address, Network

_CALMER = 0.8
"""A standing alert is over when it has drifted less than this part of the threshold."""
_DUST = 1e-9


def hedge_drifted(situation: Situation, thresholds: Thresholds, standing: bool) -> Finding | None:
    """By the coins the position holds now, which is how its worth moves with their price."""
    hedge = situation.hedge
    if hedge is None or not thresholds.hedge_drift:
        return None
    delta = _coins(situation, hedge.token)
    if delta is None:
        return None
    wanted = delta * hedge.ratio
    away = abs(hedge.short - wanted)
    largest = max(wanted, hedge.short)
    if largest <= _DUST or away < wanted * thresholds.hedge_drift * (_CALMER if standing else 1):
        return None
    drift = away / wanted if wanted > _DUST else None
    told = "" if drift is None else f", {percent(drift)} away"
    return Finding(
        AlertKind.HEDGE_DRIFTED,
        Severity.WARNING,
        f"{situation.name} holds {delta:.4g} {hedge.coin} and {hedge.short:.4g} is short for it:"
        f" its hedge of {hedge.ratio:.0%} would be {wanted:.4g}{told}.",
        "the hedge no longer fits what the position holds",
        situation.command("hedge"),
        {
            "delta": f"{delta:.6g}",
            "short": f"{hedge.short:.6g}",
            "wanted": f"{wanted:.6g}",
            "drift": None if drift is None else f"{drift:.4g}",
        },
    )


def hedge_stale(network: Network, position_id: int, hedge: HeldHedge) -> Finding | None:
    """Of a position that holds nothing in this wallet any more."""
    if abs(hedge.short) <= _DUST:
        return None
    return Finding(
        AlertKind.HEDGE_STALE,
        Severity.WARNING,
        f"#{position_id} holds nothing here any more, and {hedge.short:.4g} {hedge.coin} is still"
        " short for it. Hedge the position that took its place, or close what is short.",
        "the hedge has lost its position",
        f"zuno --network {network.name} positions",
        {"short": f"{hedge.short:.6g}"},
    )


def _coins(situation: Situation, token: Address) -> float | None:
    """Whole coins that the position holds; None where it is not one of the pair."""
    position, key = situation.position, situation.position.pool.key
    amounts = {key.currency0: position.amount0, key.currency1: position.amount1}
    for one in (situation.pair.base, situation.pair.quote):
        if one.address == token and one.decimals is not None:
            return float(amounts[token] / 10**one.decimals)
    return None
