"""The rules by which a position is risky: its range, what others changed, its worth."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from typing import TypeAlias

from msgspec import Struct

from agents.monitor.alerts.alert import AlertKind, Finding, Severity
from agents.monitor.rules import worth_risks
from agents.monitor.rules.baseline import Baseline, protocol_fee_of
from agents.monitor.rules.situation import Situation
from agents.monitor.rules.thresholds import Thresholds
from agents.numbers.edges import TickRange, edges_of, price_tick
from agents.numbers.regime import daily_ticks
from agents.numbers.survival import HOURS_PER_DAY, survival
from chain.base.units import PIPS, percent
from chain.contracts.addresses import shorten_address
from chain.contracts.networks import Address, Network
from chain.math.ticks import sqrt_price_at_tick
from chain.protocols.reference import PositionRef, position_label, position_name
from chain.protocols.snapshot import PositionSnapshot

_CALMER_EDGE = 1.5
"""A standing alert needs this much more distance from the edge before it is over."""
_JUST_OUTSIDE = 0.02
"""Of the range's width: so near the edge a position is often back, and time alone is no alarm."""
_CALMER_CHANCE = 0.1
"""And this much more chance to stay."""


def out_of_range(situation: Situation, thresholds: Thresholds, _: bool) -> Finding | None:
    """The excursion decides, not the moment: a price back by one tick is not back yet."""
    if not situation.standing.out:
        return None
    position = situation.position
    since = situation.out_since or float(position.block.timestamp)
    minutes = (position.block.timestamp - since) / 60
    identity = position.identity
    beyond = _beyond(position.pool.tick, identity.tick_lower, identity.tick_upper)
    widths = beyond / (identity.tick_upper - identity.tick_lower)
    long_out = minutes >= thresholds.critical_minutes and widths >= _JUST_OUTSIDE
    critical = long_out or widths >= thresholds.critical_distance
    price = situation.pair.price_text(position.pool.sqrt_price_x96)
    low, high = situation.pair.bounds(identity.tick_lower, identity.tick_upper)
    side, edge = ("below", low) if _is_low(situation, position.pool.tick) else ("above", high)
    # For how long is told by the alert's age: a figure in here would stand still between polls.
    where = "is out of range" if beyond else "is back at the edge, not yet in range"
    return Finding(
        AlertKind.OUT_OF_RANGE,
        Severity.CRITICAL if critical else Severity.WARNING,
        f"{situation.name} {where}:"
        f" {price}, {side if beyond else 'beside'} {edge}."
        f" The range is {low} – {high}; no fees outside it.",
        _left(situation, position.pool.tick),
        situation.command("recommend"),
        {
            "tick": position.pool.tick,
            "tickLower": identity.tick_lower,
            "tickUpper": identity.tick_upper,
            "minutesOut": round(minutes, 1),
            "widthsBeyond": round(widths, 3),
        },
    )


def find_exit(situation: Situation, tick: int, block: int) -> Finding:
    """The beginning of an excursion, told by the swap that made it."""
    identity = situation.position.identity
    price = situation.pair.price_text(sqrt_price_at_tick(tick))
    low, high = situation.pair.bounds(identity.tick_lower, identity.tick_upper)
    side, edge = ("below", low) if _is_low(situation, tick) else ("above", high)
    return Finding(
        AlertKind.OUT_OF_RANGE,
        Severity.WARNING,
        f"{situation.name} left its range: {price}, {side} {edge}."
        f" It did so in block {block}; the range is {low} – {high}.",
        _left(situation, tick),
        situation.command("recommend"),
        {"tick": tick, "tickLower": identity.tick_lower, "tickUpper": identity.tick_upper},
    )


def near_boundary(situation: Situation, thresholds: Thresholds, standing: bool) -> Finding | None:
    position = situation.position
    if situation.standing.out:
        return None
    lower, upper = position.identity.tick_lower, position.identity.tick_upper
    tick = position.pool.tick
    share = min(tick - lower, upper - tick) / (upper - lower)
    if share >= thresholds.near_edge * (_CALMER_EDGE if standing else 1):
        return None
    low, high = situation.pair.bounds(lower, upper)
    price = situation.pair.price_text(position.pool.sqrt_price_x96)
    nearer_lower = (tick - lower < upper - tick) is not situation.pair.inverted
    edge, limit = ("lower", low) if nearer_lower else ("upper", high)
    return Finding(
        AlertKind.NEAR_BOUNDARY,
        Severity.WARNING,
        f"{situation.name} is near the {edge} edge: {price} of {limit}."
        f" The range is {low} – {high}.",
        f"the price is near the {edge} edge",
        situation.command("recommend"),
        {"tick": tick, "tickLower": lower, "tickUpper": upper, "shareToEdge": round(share, 4)},
    )


def likely_to_leave(situation: Situation, thresholds: Thresholds, standing: bool) -> Finding | None:
    volatility = situation.volatility
    if situation.standing.out or volatility is None:
        return None
    identity = situation.position.identity
    ticks = TickRange(identity.tick_lower, identity.tick_upper)
    edges = edges_of(price_tick(situation.position.pool.sqrt_price_x96), ticks)
    chance = survival(edges, daily_ticks(volatility.daily_sigma), HOURS_PER_DAY)
    if chance >= thresholds.survival + (_CALMER_CHANCE if standing else 0):
        return None
    return Finding(
        AlertKind.LIKELY_TO_LEAVE,
        Severity.INFO,
        f"{situation.name} has a {percent(chance)} chance to stay in range for 24 h. Its price"
        f" moves {percent(volatility.daily_sigma)} a day ({volatility.source}).",
        "the range is narrow for how much the price moves",
        situation.command("recommend"),
        {"survival24h": round(chance, 4), "dailySigma": round(volatility.daily_sigma, 6)},
    )


def _left(situation: Situation, tick: int) -> str:
    return f"the price is {'below' if _is_low(situation, tick) else 'above'} the range"


def _is_low(situation: Situation, tick: int) -> bool:
    """By the middle, so that a price dancing on an edge keeps its side."""
    identity = situation.position.identity
    return (2 * tick < identity.tick_lower + identity.tick_upper) is not situation.pair.inverted


def _beyond(tick: int, lower: int, upper: int) -> int:
    """Ticks past the nearer edge; 0 inside."""
    return max(lower - tick, tick - upper + 1, 0)


# A change stands until it is taken back or a person accepts it by acknowledging the alert.
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
    told = [
        f"{name} went from {percent(before / PIPS)} to {percent(now / PIPS)}"
        for name, before, now in (
            ("the fee", baseline.lp_fee, pool.lp_fee),
            ("the protocol's share", max(baseline.protocol_fee), max(protocol)),
        )
        if before != now
    ]
    return Finding(
        AlertKind.FEE_CHANGED,
        Severity.WARNING,
        f"{situation.name}: {', '.join(told) or f'{what} changed'}.",
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
        f"{situation.name}: the code of the pool's hook has changed. It may now"
        " do things nobody has checked; see whether you can still close it.",
        "the hook's code changed",
        situation.command("exit-drill"),
        {"code": now, "codeBefore": situation.baseline.hook_code},
    )


def approval_changed(situation: Situation, _: Thresholds, __: bool) -> Finding | None:
    custody, baseline = situation.position.custody, situation.baseline
    if custody.approved == baseline.approved and custody.subscriber == baseline.subscriber:
        return None
    undo = " If that was not you, take it back."
    if custody.approved != baseline.approved and custody.approved is not None:
        told, severity = f"{shorten_address(custody.approved)} may move it now", Severity.CRITICAL
    elif custody.subscriber != baseline.subscriber and custody.subscriber is not None:
        subscriber = shorten_address(custody.subscriber)
        told = f"{subscriber} is now notified of its changes and can refuse them"
        severity = Severity.WARNING
    elif custody.subscriber != baseline.subscriber:
        told, severity, undo = "its subscription ended", Severity.INFO, ""
    else:
        told, severity, undo = "no other address may move it any more", Severity.INFO, ""
    return Finding(
        AlertKind.APPROVAL_CHANGED,
        severity,
        f"{situation.name}: {told}.{undo}",
        "the rights over the position changed",
        situation.command("inspect"),
        {"approved": custody.approved, "subscriber": custody.subscriber},
    )


def owner_changed(network: Network, position_id: PositionRef, owner: Address) -> Finding:
    """Of a position that left the wallet without being burned."""
    return Finding(
        AlertKind.OWNER_CHANGED,
        Severity.CRITICAL,
        f"{position_label(position_id)} is no longer in this wallet: it belongs to "
        f"{shorten_address(owner)}.",
        "the position belongs to somebody else",
        f"zuno --network {network.name} inspect {position_name(position_id)}",
        {"owner": owner},
    )


def operators_changed(
    network: Network, before: Collection[Address], now: Collection[Address]
) -> Finding | None:
    """Of the wallet as a whole: an operator may move every position."""
    come, gone = sorted(set(now) - set(before)), sorted(set(before) - set(now))
    if not come and not gone:
        return None
    names = ", ".join(map(shorten_address, come or gone))
    told = f"{names} may move every position of it now" if come else f"{names} no longer may"
    undo = " If that was not you, take it back." if come else ""
    return Finding(
        AlertKind.APPROVAL_CHANGED,
        Severity.CRITICAL if come else Severity.INFO,
        f"The wallet's operators changed: {told}.{undo}",
        "who may move all positions changed",
        f"zuno --network {network.name} positions",
        {"come": len(come), "gone": len(gone)},
    )


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


RULES: Mapping[str, AlertRule] = {
    AlertKind.OUT_OF_RANGE: AlertRule("the price is back inside the range", out_of_range),
    AlertKind.NEAR_BOUNDARY: AlertRule("the price is no longer near an edge", near_boundary),
    AlertKind.LIKELY_TO_LEAVE: AlertRule("the range is wide enough again", likely_to_leave),
    AlertKind.FEES_WORTH_COLLECTING: AlertRule(
        "the fees were collected, or gas became more expensive", worth_risks.fees_worth_collecting
    ),
    AlertKind.WITHDRAWN_WAITS: AlertRule(
        "what was withdrawn was collected, or gas became more expensive",
        worth_risks.withdrawn_waits,
    ),
    AlertKind.POOL_DRAINED: AlertRule("the pool is as deep as it was", pool_drained),
    AlertKind.FEE_CHANGED: AlertRule(
        "the fee is as it was, or was accepted", fee_changed, Baseline.with_fees_of
    ),
    AlertKind.HOOK_CHANGED: AlertRule("the hook is as it was, or was accepted", hook_changed),
    AlertKind.APPROVAL_CHANGED: AlertRule(
        "the permissions are as they were, or were accepted",
        approval_changed,
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
    AlertKind.OWNER_CHANGED: AlertRule("the position is back in this wallet"),
    AlertKind.PRICE_CROSSED: AlertRule("the price is on the other side again"),
    AlertKind.SETTING_UNKNOWN: AlertRule("the settings are understood again"),
    AlertKind.BLIND: AlertRule("the chain can be read again"),
}
"""One row a kind: every kind has one, or nothing starts."""

WHILE_EMPTY = (AlertKind.FEES_WORTH_COLLECTING, AlertKind.WITHDRAWN_WAITS)
"""What can be the matter with a position that has no liquidity."""

if set(RULES) != set(AlertKind):
    raise AssertionError(f"no rule for {', '.join(sorted(set(AlertKind) - set(RULES)))}")

_JUDGES = tuple((kind, rule.judge) for kind, rule in RULES.items() if rule.judge is not None)
_NONE_STANDING: frozenset[str] = frozenset()


def findings(
    situation: Situation, thresholds: Thresholds, standing: Collection[str] = _NONE_STANDING
) -> list[Finding]:
    """All that is the matter, given the kinds whose alerts stand already."""
    return [
        finding
        for kind, judge in _JUDGES
        if (finding := judge(situation, thresholds, kind in standing)) is not None
    ]


def judge_kind(
    kind: str, situation: Situation, thresholds: Thresholds, stands: bool
) -> Finding | None:
    """Whether one kind of matter stands; always None for what no position shows."""
    judge = RULES[kind].judge
    return None if judge is None else judge(situation, thresholds, stands)
