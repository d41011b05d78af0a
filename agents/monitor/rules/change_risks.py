"""The rules about what others changed: a pool emptied, its fee, its hook, who may move a position.

A change stands until it is taken back or a person accepts it by acknowledging the alert.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import TYPE_CHECKING

from agents.monitor.alerts.alert import AlertKind, Finding, Severity
from agents.monitor.rules.baseline import protocol_fee_of
from chain.base.number_words import percent
from chain.base.units import PIPS
from chain.contracts.checksum import shortened

if TYPE_CHECKING:
    from agents.monitor.rules.risks import Situation
    from agents.monitor.rules.thresholds import Thresholds
    from chain.contracts.networks import Address, Network

_FEE_RATIO = 2
"""A hook may move a dynamic fee with every block: only this much of a change is news."""
CALMER_DEPTH = 0.8
"""A standing alert is over when less than this part of the threshold is gone."""


def pool_drained(situation: Situation, thresholds: Thresholds, standing: bool) -> Finding | None:
    """By the liquidity where the price was: a price that moved to a thin place drained nothing."""
    before, now = situation.baseline.others, situation.others_there
    if now is None or before == 0 or now >= before:
        return None
    gone = 1 - now / before
    if gone < thresholds.drained * (CALMER_DEPTH if standing else 1):
        return None
    return Finding(
        AlertKind.POOL_DRAINED,
        Severity.WARNING,
        f"{situation.name}: {percent(gone)} of the others' liquidity around the price has left the"
        " pool within a day.",
        "others left the pool",
        situation.command("recommend"),
        {"gone": round(gone, 4)},
    )


def fee_changed(situation: Situation, _: Thresholds, __: bool) -> Finding | None:
    pool, baseline = situation.position.pool, situation.baseline
    protocol = protocol_fee_of(situation.position)
    low, high = sorted((baseline.lp_fee, pool.lp_fee))
    if protocol == baseline.protocol_fee and (low == high or 0 < high < _FEE_RATIO * low):
        return None
    what = "the pool's fee" if low != high else "the protocol's share of the fee"
    return Finding(
        AlertKind.FEE_CHANGED,
        Severity.WARNING,
        f"{situation.name}: the fee went from {percent(baseline.lp_fee / PIPS)} to"
        f" {percent(pool.lp_fee / PIPS)}, the protocol's share from"
        f" {percent(max(baseline.protocol_fee) / PIPS)} to {percent(max(protocol) / PIPS)}.",
        f"{what} changed",
        situation.command("inspect"),
        {"lpFeePips": pool.lp_fee, "lpFeePipsBefore": baseline.lp_fee},
    )


def hook_changed(situation: Situation, _: Thresholds, __: bool) -> Finding | None:
    now = situation.hook_code
    if now == situation.baseline.hook_code:
        return None
    return Finding(
        AlertKind.HOOK_CHANGED,
        Severity.CRITICAL,
        f"{situation.name}: the code that runs as the pool's hook is not what it was. It may now"
        " do what nobody has looked at; see whether you can still leave.",
        "the hook's code changed",
        situation.command("exit-drill"),
        {"code": now, "codeBefore": situation.baseline.hook_code},
    )


def approval_changed(situation: Situation, _: Thresholds, __: bool) -> Finding | None:
    custody, baseline = situation.position.custody, situation.baseline
    if custody.approved == baseline.approved and custody.subscriber == baseline.subscriber:
        return None
    if custody.approved != baseline.approved and custody.approved is not None:
        told, severity = f"{shortened(custody.approved)} may move it now", Severity.CRITICAL
    elif custody.subscriber != baseline.subscriber and custody.subscriber is not None:
        told = f"{shortened(custody.subscriber)} is told of its changes now and can refuse them"
        severity = Severity.WARNING
    else:
        told, severity = "somebody who had a say in it no longer has", Severity.INFO
    return Finding(
        AlertKind.APPROVAL_CHANGED,
        severity,
        f"{situation.name}: {told}. If that was not you, take it back.",
        "who may touch the position changed",
        situation.command("inspect"),
        {"approved": custody.approved, "subscriber": custody.subscriber},
    )


def owner_changed(network: Network, position_id: int, owner: Address) -> Finding:
    """Of a position that left the wallet without being burned."""
    return Finding(
        AlertKind.OWNER_CHANGED,
        Severity.CRITICAL,
        f"#{position_id} left this wallet: it belongs to {shortened(owner)} now.",
        "the position belongs to somebody else",
        f"zuno --network {network.name} inspect {position_id}",
        {"owner": owner},
    )


def operators_changed(
    network: Network, before: Collection[Address], now: Collection[Address]
) -> Finding | None:
    """Of the wallet as a whole: an operator may move every position."""
    come, gone = sorted(set(now) - set(before)), sorted(set(before) - set(now))
    if not come and not gone:
        return None
    names = ", ".join(map(shortened, come or gone))
    told = f"{names} may move every position of it now" if come else f"{names} no longer may"
    return Finding(
        AlertKind.APPROVAL_CHANGED,
        Severity.CRITICAL if come else Severity.INFO,
        f"The wallet's operators changed: {told}. If that was not you, take it back.",
        "who may move all positions changed",
        f"zuno --network {network.name} positions",
        {"come": len(come), "gone": len(gone)},
    )
